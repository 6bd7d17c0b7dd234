#ifndef GOODPUT_FIT_DETAIL_CHOLESKY_HPP
#define GOODPUT_FIT_DETAIL_CHOLESKY_HPP

// Linear algebra of fits: symmetric positive definite matrices of a dozen to some hundred rows, and nothing
// else. Loops of our own, because a general library takes ten times as long to compile for every user as
// these sixty lines do, and is no faster at this size.
//
// Matrices lie row by row in a span of n * n numbers; of symmetric ones only the lower triangle is read.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace goodput::detail {

/// Sum of products of the first `count` numbers of two rows. Four sums, which the processor adds side by
/// side.
inline double dot(const double* a, const double* b, std::size_t count) {
    double sum[4] = {0, 0, 0, 0};
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (std::size_t k = 0; k < 4; ++k) sum[k] += a[i + k] * b[i + k];
    for (; i < count; ++i) sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Writes L with L L^T = A over the lower triangle of A; whether A is positive definite (and finite). If not,
/// what is left in `a` means nothing.
[[nodiscard]] inline bool factorise(std::span<double> a, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        double* row = a.data() + i * n;
        for (std::size_t j = 0; j < i; ++j) {
            const double* other = a.data() + j * n;
            row[j] = (row[j] - dot(row, other, j)) / other[j];
        }
        const double rest = row[i] - dot(row, row, i);
        if (!(rest > 0) || !std::isfinite(rest)) return false;
        row[i] = std::sqrt(rest);
    }
    return true;
}

/// Replaces b by the x with L x = b.
inline void solve_lower(std::span<const double> l, std::span<double> b) {
    const std::size_t n = b.size();
    for (std::size_t i = 0; i < n; ++i) b[i] = (b[i] - dot(l.data() + i * n, b.data(), i)) / l[i * n + i];
}

/// Replaces b by the x with L^T x = b.
inline void solve_upper(std::span<const double> l, std::span<double> b) {
    const std::size_t n = b.size();
    for (std::size_t i = n; i-- > 0;) {
        b[i] /= l[i * n + i];
        for (std::size_t j = 0; j < i; ++j) b[j] -= l[i * n + j] * b[i];
    }
}

/// Replaces L by the whole inverse of L L^T.
inline void invert_factorised(std::span<double> l, std::size_t n) {
    // First the inverse of L transposed, in the upper triangle: row j has column j of the inverse.
    for (std::size_t j = 0; j < n; ++j) {
        const double diagonal = 1 / l[j * n + j];
        double* column = l.data() + j * n;
        for (std::size_t i = j + 1; i < n; ++i) {
            const double* row = l.data() + i * n;
            const double sum = row[j] * diagonal + dot(row + j + 1, column + j + 1, i - j - 1);
            column[i] = -sum / row[i];
        }
        // Rows below still need the diagonal of L: it goes last.
    }
    for (std::size_t j = 0; j < n; ++j) l[j * n + j] = 1 / l[j * n + j];
    // (L L^T)^-1 = L^-T L^-1: products of those rows. What is written is no longer read.
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i; j < n; ++j) {
            const double sum = dot(l.data() + i * n + j, l.data() + j * n + j, n - j);
            l[i * n + j] = sum;
        }
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) l[i * n + j] = l[j * n + i];
}

/// A matrix of any size, row by row. Keeps its memory.
class Matrix {
public:
    Matrix() = default;
    /// Zeros.
    Matrix(std::size_t rows, std::size_t columns) { clear(rows, columns); }

    /// Sets size and zeros.
    void clear(std::size_t rows, std::size_t columns) {
        rows_ = rows;
        columns_ = columns;
        values_.assign(rows * columns, 0.0);
    }
    [[nodiscard]] std::size_t rows() const { return rows_; }
    [[nodiscard]] std::size_t columns() const { return columns_; }
    [[nodiscard]] double& operator()(std::size_t i, std::size_t j) { return values_[i * columns_ + j]; }
    [[nodiscard]] double operator()(std::size_t i, std::size_t j) const { return values_[i * columns_ + j]; }
    [[nodiscard]] std::span<double> row(std::size_t i) { return all().subspan(i * columns_, columns_); }
    [[nodiscard]] std::span<const double> row(std::size_t i) const {
        return all().subspan(i * columns_, columns_);
    }
    /// All numbers, row by row.
    [[nodiscard]] std::span<double> all() { return values_; }
    [[nodiscard]] std::span<const double> all() const { return values_; }

private:
    std::size_t rows_ = 0, columns_ = 0;
    std::vector<double> values_{};
};

}  // namespace goodput::detail

#endif
