#ifndef GOODPUT_STATISTICS_DETAIL_JOINT_POSTERIOR_HPP
#define GOODPUT_STATISTICS_DETAIL_JOINT_POSTERIOR_HPP

// Computes how the errors of a job's predicted times correlate, over shapes, batches and GPU types. T is
// the time of an iteration, C its computing time, S its synchronising time and b its atomic batch.
//
// Parameters. The fit of a GPU type is normal in its coordinates (the logarithms of its parameters). The
// information of its samples alone is its precision without that of the prior, L_t = covariance^-1 - diag(1
// / deviation^2). According to the population (refined_prior.hpp), parameter i of all n types has the joint
// covariance types^2 I + jobs^2 1 1^T, where `types` and `jobs` are standard deviations between types and
// between jobs. Its inverse is (I - 1 1^T jobs^2 / (types^2 + n jobs^2)) / types^2. The inverse of the sum
// of both precisions is the covariance of all parameters of all types. For measured types it contains a
// little more information than their fits, because a fit uses only single parameters of other types. The
// speed of a type that was never measured is not a parameter. Its variance is added to the three
// coordinates that depend on it.
//
// Times. ln C and ln S of a configuration are linear in the parameters and in independent terms. These
// terms are the factors by which a shape deviates from the model in C and in S, and the deviation of the
// computing time between measured batches. The latter is the random walk of forecast.hpp. On a type without
// measurements it is a stationary process with the same increments, whose covariance is variance * e^(-|ln
// b - ln b'| / ln 4). The time of an iteration is
//
//     ln T = ln C + h(ln S - ln C, gamma),    h = ln(s + (1 + (S / C)^gamma)^(1 / gamma))
//
// with the number s of accumulation steps and the overlap gamma. It is taken as linear in r = ln S - ln C,
// which is normal, and in ln(gamma - 1). A synchronising time that is hidden behind computing has no slope
// at the mean of r, but may turn out to be visible, so slopes are averaged over the distribution of r. For
// the information of a measurement about r, the mean slope counts (the best linear predictor, by Stein's
// lemma). For the uncertainty of an iteration's time due to r, once r is nearly known, the mean square of
// the slope counts. The slopes with respect to ln C and ln S add up to one, because multiplying both times
// by a factor multiplies T by this factor.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/statistics/fitted_slopes.hpp"

namespace goodput::inline v0_1::detail {

/// The covariance of the logarithms of times. Each time is a row; rows are added one by one. Keeps its
/// buffers.
class JointPosterior {
public:
    /// Forgets all rows. Takes O((types * parameters)^3). `types` must outlive the rows. Throws
    /// std::invalid_argument if a type has no fit, not even from the prior.
    void read(std::span<const TypeFit> types, const RefinedPopulation& population);

    /// These functions append the logarithm of a computing time, of the time of a measured step, or of the
    /// time of a predicted iteration.
    void add_compute(std::size_t type, Shape shape, BatchPlan plan) { add(type, shape, plan, compute); }
    void add_step(std::size_t type, Shape shape, BatchPlan plan) {
        add(type, shape, {plan.atomic_batch, 0}, step);
    }
    void add_iteration(std::size_t type, Shape shape, BatchPlan plan) { add(type, shape, plan, iteration); }

    /// Returns the covariance of all rows in the order in which they were added. It excludes the scatter of
    /// future measurements.
    void covariance(Eigen::MatrixXd& result) const;

private:
    enum Time { compute, step, iteration };
    struct Row {
        std::size_t type = 0;
        Shape shape{};
        double log_batch = 0;
        double by_compute = 0, by_sync = 0;  ///< derivatives of ln T by ln C and ln S
    };

    void add(std::size_t type, Shape shape, BatchPlan plan, Time time);
    /// Returns the part of the covariance of two rows that does not come from parameters.
    [[nodiscard]] double own(const Row& a, const Row& b) const;
    /// Index of a type's parameter among all parameters.
    [[nodiscard]] Eigen::Index at(std::size_t type, std::size_t parameter) const {
        return static_cast<Eigen::Index>(first_[type] + parameter);
    }

    std::span<const TypeFit> types_{};
    std::vector<std::size_t> first_{};  ///< index of a type's first parameter
    Eigen::MatrixXd parameters_{};      ///< covariance of all types' parameters
    std::vector<Row> rows_{};
    std::vector<double> derivatives_{};  ///< derivatives by the parameters, row after row
    Eigen::VectorXd by_compute_{}, by_sync_{};
};

inline void JointPosterior::read(std::span<const TypeFit> types, const RefinedPopulation& population) {
    types_ = types;
    rows_.clear();
    derivatives_.clear();
    first_.clear();
    std::size_t count = 0;
    for (const TypeFit& type : types) {
        const RefinedFit& fit = type.fit;
        if (!is_whole(fit))
            bad_input("profile runs", "types.fit", "of no measurement of the job",
                      "fitted, or predicted from other types");
        first_.push_back(count);
        count += fit.coordinates.size();
    }
    const auto all = static_cast<Eigen::Index>(count);
    parameters_.setZero(all, all);
    const auto inverse_of = [](const auto& covariance, std::string_view wrong) -> Eigen::MatrixXd {
        const Eigen::LLT<Eigen::MatrixXd> root(covariance);
        if (root.info() != Eigen::Success)
            bad_input("profile runs", "types.fit.covariance", wrong, "positive definite");
        return root.solve(Eigen::MatrixXd::Identity(covariance.rows(), covariance.rows()));
    };
    for (std::size_t t = 0; t < types.size(); ++t) {
        const RefinedFit& fit = types[t].fit;
        if (fit.samples == 0) continue;
        const auto own = static_cast<Eigen::Index>(fit.coordinates.size());
        parameters_.block(at(t, 0), at(t, 0), own, own) =
            inverse_of(Eigen::Map<const Eigen::MatrixXd>(fit.covariance.data(), own, own), "not");
        for (std::size_t i = 0; i < refined_parameters; ++i)
            parameters_(at(t, i), at(t, i)) -= 1 / square(fit.prior.deviation[i]);
    }
    const auto number = static_cast<double>(types.size());
    for (std::size_t i = 0; i < refined_parameters; ++i) {
        const double between = square(population.types[i]), shared = square(population.jobs[i]);
        for (std::size_t t = 0; t < types.size(); ++t) {
            parameters_(at(t, i), at(t, i)) += 1 / between;
            for (std::size_t s = 0; s < types.size(); ++s)
                parameters_(at(t, i), at(s, i)) -= shared / (between * (between + number * shared));
        }
    }
    parameters_ = inverse_of(parameters_, "together with the population's not");
    for (std::size_t t = 0; t < types.size(); ++t) {
        const RefinedFit& fit = types[t].fit;
        if (fit.samples > 0) continue;
        constexpr std::array<RefinedParameter, 3> leveled{computing_constant, computing_slope, node_level};
        const double level = fit.covariance[refined_parameters * computing_constant + computing_slope];
        for (const RefinedParameter a : leveled)
            for (const RefinedParameter b : leveled) parameters_(at(t, a), at(t, b)) += level;
    }
}

inline void JointPosterior::add(std::size_t type, Shape shape, BatchPlan plan, Time time) {
    const RefinedFit& fit = types_[type].fit;
    const RefinedThroughput& model = fit.model;
    const double batch = plan.atomic_batch;
    by_compute_.setZero(parameters_.rows());
    by_sync_.setZero(parameters_.rows());
    for_each_compute_slope(fit, shape, batch, [&](std::size_t parameter, double slope) {
        by_compute_[at(type, parameter)] += slope;
    });
    Row row{type, shape, std::log(batch), 1, 0};
    if (time != compute && shape.gpus > 1) {
        for_each_sync_slope(shape, [&](RefinedParameter parameter, double feature) {
            by_sync_[at(type, parameter)] = feature;
        });
        const Row ratio{type, shape, row.log_batch, -1, 1};
        by_sync_ -= by_compute_;
        const double ratio_deviation =
            std::sqrt(std::max(by_sync_.dot(parameters_ * by_sync_) + own(ratio, ratio), 1e-8));
        const Eigen::Index overlap = at(type, overlap_level);
        const double overlap_deviation = std::sqrt(std::max(parameters_(overlap, overlap), 1e-8));
        const double log_ratio = std::log(model.sync_seconds(shape) /
                                          (model.compute_seconds(batch) * model.compute_factor(shape)));
        const auto log_time = [&](double ratio_change, double overlap_change) {
            const double gamma = 1 + (model.gamma - 1) * std::exp(overlap_change);
            return std::log(plan.accumulation_steps +
                            std::exp(LogStep(log_ratio + ratio_change, gamma).excess));
        };
        const auto mean_slope = [](double high, double low, double by) { return (high - low) / (2 * by); };
        if (time == step) {
            row.by_sync =
                mean_slope(log_time(ratio_deviation, 0), log_time(-ratio_deviation, 0), ratio_deviation);
        } else {
            const auto squared_slope = [&](double ratio_change) {
                const LogStep at(log_ratio + ratio_change, model.gamma);
                const double seconds = std::exp(at.excess);
                return square(at.sync_share * seconds / (plan.accumulation_steps + seconds));
            };
            // The Gauss-Hermite rule with three points.
            const double far = std::sqrt(3.0) * ratio_deviation;
            row.by_sync = std::sqrt((4 * squared_slope(0) + squared_slope(far) + squared_slope(-far)) / 6);
        }
        row.by_compute = 1 - row.by_sync;
        by_compute_ += row.by_sync * by_sync_;
        by_compute_[overlap] +=
            mean_slope(log_time(0, overlap_deviation), log_time(0, -overlap_deviation), overlap_deviation);
    }
    rows_.push_back(row);
    derivatives_.insert(derivatives_.end(), by_compute_.begin(), by_compute_.end());
}

inline void JointPosterior::covariance(Eigen::MatrixXd& result) const {
    const auto count = static_cast<Eigen::Index>(rows_.size());
    const Eigen::Map<const Eigen::MatrixXd> derivatives(derivatives_.data(), parameters_.rows(), count);
    result.noalias() = derivatives.transpose() * (parameters_ * derivatives);
    double* value = result.data();
    for (const Row& a : rows_)
        for (const Row& b : rows_) *value++ += own(a, b);
}

inline double JointPosterior::own(const Row& a, const Row& b) const {
    if (a.type != b.type) return 0;
    const RefinedFit& fit = types_[a.type].fit;
    double sum = a.by_compute * b.by_compute * unmeasured_covariance(fit, a.log_batch, b.log_batch);
    if (a.shape != b.shape || a.shape.gpus < 2) return sum;
    const auto [of_compute, of_sync] = fit.factor_variances(a.shape);
    return sum + a.by_compute * b.by_compute * of_compute + a.by_sync * b.by_sync * of_sync;
}

}  // namespace goodput::inline v0_1::detail

#endif
