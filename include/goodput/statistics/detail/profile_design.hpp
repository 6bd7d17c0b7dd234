#ifndef GOODPUT_STATISTICS_DETAIL_PROFILE_DESIGN_HPP
#define GOODPUT_STATISTICS_DETAIL_PROFILE_DESIGN_HPP

// What would a measurement leave of the uncertainty about a list of targets, and what is that worth?
//
// Targets and measurements have one normal distribution with covariance K. A measurement y that scatters by s
// takes u u^T from it, u = cov(., y) / sqrt(var y + s^2), whatever its outcome. The criterion looks at x_k,
// or in the regret at the difference g_k x_k - g_b x_b of a target k and the best one b, g the goodputs: r_k
// is the variance that measurements have taken away there.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include <Eigen/Core>

namespace goodput::detail {

/// What knowing which of two is better gains, where one is thought to lie `shortfall` >= 0 below the other
/// and knowing moves their difference by a normal amount of this variance.
inline double decision_value(double shortfall, double variance) {
    if (!(variance > 0)) return 0;
    const double deviation = std::sqrt(variance), z = shortfall / deviation;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
    return std::max(deviation * (density - z / 2 * std::erfc(z / std::numbers::sqrt2)), 0.0);
}

struct ProfileTarget {
    double weight = 1;
    double goodput = 1;    ///< as a fraction of the best target's; for the regret only, as the next
    double shortfall = 0;  ///< of its value below the best target's, in the same unit
    double learnable = 0;  ///< r if nothing were uncertain any longer
    double learnt = 0;     ///< r of the measurements taken
};

/// One or two rows of the covariance that are measured at once.
struct ProfileMeasurement {
    Eigen::Index first = 0, rows = 1;
    double scatter = 0;  ///< of the last row; of the one before sqrt(2) times as much (RefinedProblem)
};

/// Targets are the first rows of the covariance.
struct ProfileDesign {
    bool regret = false;
    std::size_t best = 0;  ///< target, for the regret only
    std::vector<ProfileTarget> targets{};
    Eigen::MatrixXd covariance{};

    /// To be called once targets and covariance are set.
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

    /// What all targets together would gain from a measurement.
    [[nodiscard]] double gain(const ProfileMeasurement& measurement) {
        measure(measurement, row(targets.size()));
        double sum = 0;
        for (std::size_t k = 0; k < targets.size(); ++k) sum += gain_of(k);
        return sum;
    }

    struct Taken {
        std::size_t target = 0;        ///< that gains most
        double before = 0, after = 0;  ///< its deviation
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

    /// What there is left to gain.
    [[nodiscard]] double left() const {
        double sum = 0;
        for (const ProfileTarget& target : targets)
            sum += target.weight * (value(target, target.learnable) - value(target, target.learnt));
        return std::max(sum, 0.0);
    }

    /// Standard deviation of what is still uncertain of a target.
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

    /// Sets effect_ to u of the first rows, by measurement.
    void measure(const ProfileMeasurement& of, Eigen::Index rows) {
        auto first = effect_.col(0).head(rows), second = effect_.col(1).head(rows);
        const Eigen::Index step = of.first + of.rows - 1;
        const double variance = of.scatter * of.scatter;
        double shared = 0;  // u of the first measurement at the second
        first.setZero();
        if (of.rows == 2) {
            const double deviation = std::sqrt(covariance(of.first, of.first) + 2 * variance);
            first = covariance.col(of.first).head(rows) / deviation;
            shared = covariance(step, of.first) / deviation;
        }
        const double rest = std::max(covariance(step, step) - shared * shared, 0.0) + variance;
        second = (covariance.col(step).head(rows) - shared * first) / std::sqrt(rest);
    }

    Eigen::MatrixX2d effect_{};  // buffer
};

}  // namespace goodput::detail

#endif
