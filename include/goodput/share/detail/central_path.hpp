#ifndef GOODPUT_SHARE_DETAIL_CENTRAL_PATH_HPP
#define GOODPUT_SHARE_DETAIL_CENTRAL_PATH_HPP

// The steps of Mehrotra's predictor-corrector method (1992), an interior-point method, and the products of
// slack and price that they shrink.

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <Eigen/Core>

namespace goodput::inline v0_1::detail {

/// Slacks (what is left of limits) of one kind, the prices of these limits, and the changes of both. In the
/// end, the slack or the price of each limit is 0.
struct SlacksAndPrices {
    Eigen::ArrayXXd slack{}, price{}, dslack{}, dprice{};
    Eigen::ArrayXXd wanted{};  ///< the products' targets, less the products of the changes
    Eigen::ArrayXd weights{};  ///< by row: the number of jobs that it represents

    void reset(const Eigen::ArrayXd& of_rows, Eigen::Index columns) {
        weights = of_rows;
        slack = dslack = dprice = Eigen::ArrayXXd::Zero(of_rows.size(), columns);
        price = Eigen::ArrayXXd::Ones(of_rows.size(), columns);
    }
    /// Sum of all products of slack and price after steps of these sizes.
    [[nodiscard]] double products(double primal, double dual) const {
        double sum = 0;
        for (Eigen::Index i = 0; i < slack.cols(); ++i)
            sum += ((slack.col(i) + primal * dslack.col(i)) * (price.col(i) + dual * dprice.col(i)) * weights)
                       .sum();
        return sum;
    }
    [[nodiscard]] Eigen::ArrayXXd ratio() const { return slack / price; }
    /// Change of the slack at an unchanged price.
    [[nodiscard]] Eigen::ArrayXXd gain() const { return wanted / price - slack; }
};

/// Takes Mehrotra's steps from the method's present point. Returns whether they converged: the mean product
/// of slack and price is within `accuracy`, and rows are violated by at most `most_error`, both relatively.
template <class Method>
bool follow_centre(Method& method, double accuracy, double most_error, std::size_t& iterations) {
    constexpr std::size_t most_iterations = 200;
    for (; iterations < most_iterations; ++iterations) {
        const double error_before = method.error_;
        method.measure();
        const double centre = method.centre_, size = method.worth_ / method.products_;
        if (centre <= accuracy * size && method.error_ <= most_error) return true;
        // If rounding keeps rows from holding this well, further steps only make them worse.
        if (centre <= 0.1 * accuracy * size && method.error_ >= 0.5 * error_before && !method.lacks_pairs())
            return false;
        if (!method.factor()) return false;
        // First go straight towards the end, to see how far that leads. Then correct the direction
        // accordingly.
        method.find_direction(0, 0);
        const double part = std::clamp(method.centre_after_step() / centre, 0.0, 1.0);
        // If the first step does not get close to the end, the correction is not worth much, so it is
        // limited.
        method.find_direction(centre * part * part * part, 3 * centre);
        if (!std::isfinite(method.centre_after_step())) return false;
        if (method.centre_after_step() > 2 * centre && centre <= 1e-4 * size) {
            // The corrected direction leads away from the end: go without the correction.
            method.find_direction(0.3 * centre, 0);
            // If limits leave no room, rounding decides: stop here rather than go back.
            if (!(method.centre_after_step() <= 2 * centre)) return false;
        }
        method.let_pairs_join(centre);
    }
    return false;
}

}  // namespace goodput::inline v0_1::detail

#endif
