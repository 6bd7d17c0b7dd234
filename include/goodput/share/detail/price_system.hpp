#ifndef GOODPUT_SHARE_DETAIL_PRICE_SYSTEM_HPP
#define GOODPUT_SHARE_DETAIL_PRICE_SYSTEM_HPP

// The linear system that is left of all jobs: in the changes of the types' prices, and of the level where
// there is one,
//
//     matrix dprice - column dlevel = right,   column . dprice + corner dlevel = level_right.

#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace goodput::detail {

class PriceSystem {
public:
    void reset(Eigen::Index types) {
        matrix.setZero(types, types);
        column.setZero(types);
        corner = 0;
    }
    /// Factorises the matrix, with the level taken out.
    void factor() {
        if (corner > 0) matrix.selfadjointView<Eigen::Lower>().rankUpdate(column, 1 / corner);
        // Where the other prices determine one, rounding should not leave less than nothing for it.
        matrix.diagonal() *= 1 + 1e-15;
        factor_.compute(matrix);
    }
    /// Makes `right` the change of the prices, and answers that of the level.
    double solve(std::vector<double>& right, double level_right) const {
        Eigen::Map<Eigen::VectorXd> change(right.data(), column.size());
        if (corner > 0) change -= column * (level_right / corner);
        factor_.solveInPlace(change);
        return corner > 0 ? (level_right + column.dot(change)) / corner : 0;
    }

    Eigen::MatrixXd matrix{};  ///< lower half
    Eigen::VectorXd column{};
    double corner = 0;  ///< 0: no level

private:
    Eigen::LDLT<Eigen::MatrixXd> factor_{};
};

}  // namespace goodput::detail

#endif
