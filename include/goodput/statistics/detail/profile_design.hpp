#ifndef GOODPUT_STATISTICS_DETAIL_PROFILE_DESIGN_HPP
#define GOODPUT_STATISTICS_DETAIL_PROFILE_DESIGN_HPP

// Computes how much a measurement reduces the uncertainty about a list of targets (times of options that a
// job may use later), and how much that is worth.
//
// Targets and measurements have a joint normal distribution with covariance K. A measurement y with scatter
// s subtracts u u^T from K, where u = cov(., y) / sqrt(var y + s^2), whatever its outcome is. The variance
// criterion looks at the target x_k itself. The regret criterion looks at the difference g_k x_k - g_b x_b
// between a target k and the best target b, where g is the goodput. In both cases r_k is the variance of
// this quantity that measurements have removed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include <Eigen/Core>

#include "goodput/core/detail/normal_distribution.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the expected gain from learning which of two choices is better. One choice is believed to be
/// worse than the other by `shortfall`, which is at least 0. Learning changes their difference by a normal
/// amount with this variance.
inline double decision_value(double shortfall, double variance) {
    if (!(variance > 0)) return 0;
    const double deviation = std::sqrt(variance), z = shortfall / deviation;
    return std::max(deviation * (normal_density(z) - z * normal_below(-z)), 0.0);
}

struct ProfileTarget {
    double weight = 1;
    /// Goodput as a fraction of the best target's; used for the regret only, as is shortfall.
    double goodput = 1;
    double shortfall = 0;  ///< by how much its value is below the best target's, in units of the best goodput
    double learnable = 0;  ///< r_k of the opening comment if no uncertainty were left
    double learnt = 0;     ///< r_k after the measurements taken so far
};

/// One or two rows of the covariance that are measured together.
struct ProfileMeasurement {
    Eigen::Index first = 0, rows = 1;
    /// Scatter of the last row; that of the first of two rows is sqrt(2) times as large (RefinedProblem).
    double scatter = 0;
};

/// Targets and measurements with their covariance. The targets are the first rows.
struct ProfileDesign {
    bool regret = false;
    std::size_t best = 0;  ///< best target; for the regret only
    std::vector<ProfileTarget> targets{};
    Eigen::MatrixXd covariance{};

    /// Must be called once targets and covariance are set.
    void start() {
        effect_.setZero(covariance.rows(), 2);
        for (std::size_t k = 0; k < targets.size(); ++k) {
            const double own = covariance(row(k), row(k)), shared = covariance(row(k), row(best));
            const double goodput = targets[k].goodput;
            targets[k].learnable =
                regret ? goodput * goodput * own - 2 * goodput * shared + covariance(row(best), row(best))
                       : own;
            targets[k].learnt = 0;
        }
    }

    /// Returns the gain of all targets together from a measurement.
    [[nodiscard]] double gain(const ProfileMeasurement& measurement) {
        measure(measurement, row(targets.size()));
        double sum = 0;
        for (std::size_t k = 0; k < targets.size(); ++k) sum += gain_of(k);
        return sum;
    }

    struct Taken {
        std::size_t target = 0;        ///< the target that gains most
        double before = 0, after = 0;  ///< its standard deviation before and after
    };

    Taken take(const ProfileMeasurement& measurement) {
        measure(measurement, covariance.rows());
        Taken most;
        for (std::size_t k = 1; k < targets.size(); ++k)
            if (gain_of(k) > gain_of(most.target)) most.target = k;
        for (std::size_t k = 0; k < targets.size(); ++k) targets[k].learnt += taken_from(k);
        most.before = deviation(most.target);
        covariance.noalias() -= effect_ * effect_.transpose();
        most.after = deviation(most.target);
        return most;
    }

    /// The gain that is still possible.
    [[nodiscard]] double left() const {
        double sum = 0;
        for (const ProfileTarget& target : targets)
            sum += target.weight * (value(target, target.learnable) - value(target, target.learnt));
        return std::max(sum, 0.0);
    }

    /// The remaining standard deviation of a target.
    [[nodiscard]] double deviation(std::size_t k) const {
        return std::sqrt(std::max(covariance(row(k), row(k)), 0.0));
    }

private:
    static Eigen::Index row(std::size_t k) { return static_cast<Eigen::Index>(k); }

    [[nodiscard]] double value(const ProfileTarget& target, double variance) const {
        return regret ? decision_value(target.shortfall, variance) : variance;
    }

    [[nodiscard]] double taken_from(std::size_t k) const {
        if (!regret) return effect_.row(row(k)).squaredNorm();
        return (targets[k].goodput * effect_.row(row(k)) - effect_.row(row(best))).squaredNorm();
    }

    [[nodiscard]] double gain_of(std::size_t k) const {
        const ProfileTarget& target = targets[k];
        return target.weight * (value(target, target.learnt + taken_from(k)) - value(target, target.learnt));
    }

    /// Sets effect_ to u of the first rows, one column per measured row.
    void measure(const ProfileMeasurement& measurement, Eigen::Index rows) {
        auto first = effect_.col(0).head(rows), second = effect_.col(1).head(rows);
        const Eigen::Index step = measurement.first + measurement.rows - 1;
        const double variance = measurement.scatter * measurement.scatter;
        double shared = 0;  // u of the first measured row at the second
        first.setZero();
        if (measurement.rows == 2) {
            const double deviation =
                std::sqrt(covariance(measurement.first, measurement.first) + 2 * variance);
            first = covariance.col(measurement.first).head(rows) / deviation;
            shared = covariance(step, measurement.first) / deviation;
        }
        const double rest = std::max(covariance(step, step) - shared * shared, 0.0) + variance;
        second = (covariance.col(step).head(rows) - shared * first) / std::sqrt(rest);
    }

    Eigen::MatrixX2d effect_{};  // buffer
};

}  // namespace goodput::inline v0_1::detail

#endif
