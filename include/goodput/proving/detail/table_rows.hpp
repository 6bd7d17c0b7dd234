#ifndef GOODPUT_PROVING_DETAIL_TABLE_ROWS_HPP
#define GOODPUT_PROVING_DETAIL_TABLE_ROWS_HPP

// The two loops in which the dynamic programs for knapsacks spend their time. They are written so that
// compilers vectorise them without permission to reorder sums.

#include <algorithm>
#include <cstddef>

namespace goodput::inline v0_1::detail {

/// Sets `result` at each position to the larger of `numbers` and of `row` plus `worth`. `result` may be
/// `numbers` itself. The loop reads four positions before it writes any of them, so the compiler may use
/// vector instructions.
inline void larger_of(const double* numbers, const double* row, double worth, double* result,
                      std::size_t count) {
    std::size_t q = 0;
    for (; q + 4 <= count; q += 4) {
        const double a = row[q] + worth, b = row[q + 1] + worth, c = row[q + 2] + worth,
                     d = row[q + 3] + worth;
        const double e = numbers[q], f = numbers[q + 1], g = numbers[q + 2], h = numbers[q + 3];
        result[q] = e < a ? a : e;
        result[q + 1] = f < b ? b : f;
        result[q + 2] = g < c ? c : g;
        result[q + 3] = h < d ? d : h;
    }
    for (; q < count; ++q) result[q] = std::max(numbers[q], row[q] + worth);
}

/// Returns the largest sum of two numbers at the same position, or 0 if that is larger. Four separate
/// maxima keep the loop's steps independent.
inline double largest_sum(const double* left, const double* right, std::size_t count) {
    double a = 0, b = 0, c = 0, d = 0;
    std::size_t q = 0;
    for (; q + 4 <= count; q += 4) {
        a = std::max(a, left[q] + right[q]);
        b = std::max(b, left[q + 1] + right[q + 1]);
        c = std::max(c, left[q + 2] + right[q + 2]);
        d = std::max(d, left[q + 3] + right[q + 3]);
    }
    for (; q < count; ++q) a = std::max(a, left[q] + right[q]);
    return std::max(std::max(a, b), std::max(c, d));
}

}  // namespace goodput::inline v0_1::detail

#endif
