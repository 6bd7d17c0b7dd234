#ifndef GOODPUT_SHARE_DETAIL_PRICE_SYSTEM_HPP
#define GOODPUT_SHARE_DETAIL_PRICE_SYSTEM_HPP

// The linear system that is left of all jobs: in the changes of the types' prices, and of the level where
// there is one,
//
//     matrix dprice - column dlevel = right,   column . dprice + corner dlevel = level_right.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace goodput::detail {

class PriceSystem {
public:
    void reset(std::size_t types) {
        types_ = types;
        matrix.assign(types * types, 0);
        column.assign(types, 0);
        corner = 0;
    }
    /// Cholesky's factor in place, with the level taken out.
    void factor() {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n; ++t)
            for (std::size_t k = 0; k <= t && corner > 0; ++k)
                matrix[t * n + k] += column[t] * column[k] / corner;
        for (std::size_t t = 0; t < n; ++t) {
            const double before = matrix[t * n + t];
            for (std::size_t k = 0; k <= t; ++k) {
                double sum = matrix[t * n + k];
                for (std::size_t i = 0; i < k; ++i) sum -= matrix[t * n + i] * matrix[k * n + i];
                matrix[t * n + k] =
                    k < t ? sum / matrix[k * n + k] : std::sqrt(std::max(sum, 1e-15 * before));
            }
        }
    }
    /// Makes `right` the change of the prices, and answers that of the level.
    double solve(std::vector<double>& right, double level_right) const {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n && corner > 0; ++t) right[t] -= column[t] * level_right / corner;
        for (std::size_t t = 0; t < n; ++t) {
            for (std::size_t k = 0; k < t; ++k) right[t] -= matrix[t * n + k] * right[k];
            right[t] /= matrix[t * n + t];
        }
        for (std::size_t t = n; t-- > 0;) {
            for (std::size_t k = t + 1; k < n; ++k) right[t] -= matrix[k * n + t] * right[k];
            right[t] /= matrix[t * n + t];
        }
        if (corner <= 0) return 0;
        double level = level_right / corner;
        for (std::size_t t = 0; t < n; ++t) level += column[t] * right[t] / corner;
        return level;
    }

    std::vector<double> matrix{};  ///< lower half, by rows
    std::vector<double> column{};
    double corner = 0;  ///< 0: no level

private:
    std::size_t types_ = 0;
};

}  // namespace goodput::detail

#endif
