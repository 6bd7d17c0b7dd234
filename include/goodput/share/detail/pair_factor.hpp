#ifndef GOODPUT_SHARE_DETAIL_PAIR_FACTOR_HPP
#define GOODPUT_SHARE_DETAIL_PAIR_FACTOR_HPP

// Factors the linear systems of interior_point.hpp with pairs. They are symmetric and positive definite,
// and have the same entries in each iteration. If every group may run with every other one, the matrix is
// full. If each group has few partners, nearly all entries are 0. They stay 0 in the factor if the rows are
// in a suitable order, which is found once. The faster of a full and a sparse factor is used; per entry, a
// sparse one takes about ten times as long.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseCore>

namespace goodput::inline v0_1::detail {

/// A symmetric matrix that is summed up and factored again and again.
class PairFactor {
public:
    using Index = Eigen::Index;

    /// Sets the size of the matrix and the entries that may differ from 0: the diagonal and `entries`,
    /// which may be in any order and repeated.
    void pose(Index rows, std::vector<std::pair<Index, Index>> entries) {
        rows_ = rows;
        const double few = 0.1 * static_cast<double>(rows * rows);
        double different = static_cast<double>(entries.size() + static_cast<std::size_t>(rows));
        full_.resize(0, 0);
        if (different >= few) {
            full_.setZero(rows, rows);
            different = static_cast<double>(rows);
            for (const auto& [row, column] : entries)
                different += 1 - std::exchange(full_(std::max(row, column), std::min(row, column)), 1);
        }
        sparse_ = false;
        if (different < few) {
            std::vector<Eigen::Triplet<double, int>> triplets;
            for (Index row = 0; row < rows; ++row) entries.emplace_back(row, row);
            for (const auto& [row, column] : entries)
                triplets.emplace_back(static_cast<int>(std::max(row, column)),
                                      static_cast<int>(std::min(row, column)), 0);
            matrix_.resize(rows, rows);
            matrix_.setFromTriplets(triplets.begin(), triplets.end());
            ordered_.analyzePattern(matrix_);
            const auto size = static_cast<double>(rows);
            sparse_ = sparse_cost * ordered_.operations() < size * size * size / 3;
        }
        full_.resize(sparse_ ? 0 : rows, sparse_ ? 0 : rows);
    }
    /// Sets all entries to 0.
    void clear() {
        if (sparse_)
            std::fill_n(matrix_.valuePtr(), matrix_.nonZeros(), 0.0);
        else
            full_.setZero();
    }
    /// Adds to an entry. (row, column) and (column, row) are the same entry.
    void add(Index row, Index column, double amount) {
        if (row < column) std::swap(row, column);
        if (sparse_)
            matrix_.coeffRef(row, column) += amount;
        else
            full_(row, column) += amount;
    }
    /// Multiplies the diagonal by `diagonal` and factors the matrix. Returns whether it is positive
    /// definite.
    bool compute(double diagonal) {
        if (sparse_) {
            for (Index row = 0; row < rows_; ++row) matrix_.coeffRef(row, row) *= diagonal;
            ordered_.factorize(matrix_);
            return ordered_.info() == Eigen::Success;
        }
        full_.diagonal() *= diagonal;
        factor_.compute(full_);
        return factor_.info() == Eigen::Success;
    }
    /// Solves a system with the last factor.
    [[nodiscard]] Eigen::VectorXd solve(const Eigen::VectorXd& right) const {
        if (sparse_) return ordered_.solve(right);
        return factor_.solve(right);
    }

private:
    static constexpr double sparse_cost = 10;

    /// A sparse factor that knows its number of multiplications before it is computed.
    struct Ordered : Eigen::SimplicialLLT<Eigen::SparseMatrix<double>> {
        [[nodiscard]] double operations() const { return m_nonZerosPerCol.cast<double>().squaredNorm(); }
    };

    Index rows_ = 0;
    bool sparse_ = false;
    Eigen::SparseMatrix<double> matrix_;  // lower half
    Ordered ordered_;
    Eigen::MatrixXd full_;  // lower half
    Eigen::LLT<Eigen::MatrixXd> factor_;
};

}  // namespace goodput::inline v0_1::detail

#endif
