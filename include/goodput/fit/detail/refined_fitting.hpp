#ifndef GOODPUT_FIT_DETAIL_REFINED_FITTING_HPP
#define GOODPUT_FIT_DETAIL_REFINED_FITTING_HPP

// The fit of one GPU type for job_fit.hpp.
//
// Method:
// 1. Start from a previous fit, or in closed form at three overlaps, of which the best is used.
// 2. Minimise with Levenberg-Marquardt or another minimiser (fit/minimise.hpp).
// 3. Compute the scatter s from the residuals, and for step times alone also from the prior of the shapes'
//    own factors. Give samples beyond four robust standard deviations (stragglers, warm-up) the weight (4 s
//    / error)^2. Repeat from 2 until scatter and weights hardly change.
// 4. Give every shape with several replicas its own factors on computing and synchronising: what its
//    residuals say, shrunk towards 1 by the prior of such factors (a linear mixed model with the laws as
//    fixed effects and the shapes as random effects).
// 5. Compute the covariance: the inverse of the sum's second derivatives, where samples of one shape count
//    as correlated.
//
// If the computing times are more probable with a least time of the host's launches than without one
// (launch_evidence.hpp), 1 to 5 follow once more with that time as a parameter. The steps that take it have a
// scatter of their own.
//
// The prior of how computing scales with replicas (alone, straggling) holds only as long as it is likely.
// Beyond two of the prior's deviations it pulls no harder, and the fit starts from the measured scaling.
//
// At the end the sum of squares, in units of the prior's deviations and of the scatter, could fall by less
// than negligible_squares. No parameter is further from its optimum than about a thirtieth of its
// deviation.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/launch_evidence.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/detail/refined_problem.hpp"
#include "goodput/fit/detail/refined_start.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/model_fit.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput::inline v0_1::detail {

inline void require_reference_batch(std::string_view subject, double batch) {
    if (!(batch >= 1 && batch <= 1 << 30)) bad_input(subject, "reference_batch", batch, "between 1 and 2^30");
}

inline void validate(const RefinedFitOptions& options) {
    if (options.reference_batch != 0) require_reference_batch(options.subject, options.reference_batch);
    require_between(options.subject, "max_iterations", options.max_iterations, 0, 1 << 20);
    const RefinedPrior& prior = options.prior;
    for (std::size_t i = 0; i < refined_parameters; ++i) {
        if (std::isfinite(prior.mean[i]) && std::isfinite(prior.deviation[i]) && prior.deviation[i] > 0)
            continue;
        const std::string name(refined_parameter_names[i]);
        if (!std::isfinite(prior.mean[i]))
            bad_input(options.subject, "prior.mean of " + name, prior.mean[i], "finite");
        require_positive(options.subject, "prior.deviation of " + name, prior.deviation[i]);
    }
    require_positive(options.subject, "prior.break_deviation", prior.break_deviation);
    require_positive(options.subject, "prior.sync_deviation", prior.sync_deviation);
    require_positive(options.subject, "prior.compute_deviation", prior.compute_deviation);
}

/// Sets `fit` to the model and covariance of its prior at its reference, with break points at `breaks`. If
/// the prior gives no valid model, uses the prior of an unknown job, and moves a reference time that is out
/// of range to the nearest valid one.
inline void set_to_prior(RefinedFit& fit, std::span<const double> breaks) {
    RefinedProblem without_samples;
    without_samples.residuals.terms.breaks.assign(breaks.begin(), breaks.end());
    const FitParameters& mean = without_samples.residuals.mean;
    const std::size_t count = without_samples.parameters();
    const auto write = [&] {
        without_samples.set_prior(fit.prior, fit.reference_batch, fit.reference_seconds);
        without_samples.residuals.terms.write(mean, fit.model);
        fit.coordinates.assign(mean.begin(), mean.begin() + static_cast<std::ptrdiff_t>(count));
    };
    fit.model.shapes.clear();
    fit.shape_variances.clear();
    write();
    if (!is_valid(fit.model)) {
        fit.prior = RefinedPopulation().prior();
        // The model's times are fixed fractions of the reference time. This fraction keeps all of them well
        // within their limits.
        constexpr double part = 1e-2;
        fit.reference_seconds =
            std::clamp(fit.reference_seconds, least_compute_seconds / part, most_model_seconds * part);
        write();
    }
    fit.covariance.assign(count * count, 0);
    for (std::size_t i = 0; i < count; ++i)
        fit.covariance[i * count + i] = square(without_samples.residuals.deviation[i]);
    fit.identified.fill(false);
}

/// Fits one GPU type many times. Keeps its buffers.
class RefinedFitting {
public:
    explicit RefinedFitting(Minimise minimise) : minimise_(minimise) {}
    /// Copies the minimiser only, because all other members are buffers.
    RefinedFitting(const RefinedFitting& other) : RefinedFitting(other.minimise_) {}
    RefinedFitting& operator=(const RefinedFitting&) = delete;

    void fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, RefinedFit& fit);

private:
    /// A shape's own factors: the normal equations, then ln of both factors.
    struct ShapeSums {
        double compute_compute = 0, compute_sync = 0, sync_sync = 0;
        double compute = 0, sync = 0;
        int samples = 0;
    };

    void begin(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, bool warm,
               RefinedFit& fit);
    void begin_with(const LaunchFloor& floor, std::span<const ThroughputSample> samples, RefinedFit& fit);
    /// Minimises from the start in x_. Returns whether `fit` then explains the samples, and is whole.
    bool finish(const RefinedFitOptions& options, const FitParameters& fallback, RefinedFit& fit);
    [[nodiscard]] FitParameters warm_start() const;
    bool adjust(RefinedFit& fit, double& scatter);
    [[nodiscard]] bool holds(const RefinedFit& fit) const;
    void add_shape_factors(RefinedFit& fit);
    void estimate_covariance(RefinedFit& fit);
    void fall_back(std::span<const ThroughputSample> samples, bool warm, RefinedFit& fit) const;

    Minimise minimise_;
    MinimiserBuffers buffers_{};
    RefinedProblem problem_{};
    FitParameters x_{};  ///< the current coordinates
    std::vector<ShapeSums> shape_sums_{};
    RefinedFit previous_{};  ///< the start of the last fit
    LaunchEvidence evidence_{};
    std::vector<ComputingTime> computing_times_{};
    RefinedFit without_floor_{};
    double explained_ = 0;                ///< weighted mean of the squared errors of the last fit
    double without_floor_explained_ = 0;  ///< the same of the fit without a floor
};

inline void RefinedFitting::fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options,
                                RefinedFit& fit) {
    detail::validate(options);
    if (samples.empty()) bad_input(options.subject, "samples", "empty", "at least one measurement");
    for (const ThroughputSample& sample : samples) goodput::validate(sample, options.subject);
    const bool warm = options.start && is_whole(*options.start);
    begin(samples, options, warm, fit);
    const FitParameters fallback = warm ? x_ : problem_.residuals.mean;
    if (!finish(options, fallback, fit)) return fall_back(samples, warm, fit);
    problem_.list_computing_times(x_, computing_times_);
    const LaunchFloor floor = evidence_(computing_times_);
    if (!(floor.log_odds > 0)) return;
    without_floor_ = fit;
    without_floor_explained_ = explained_;
    begin_with(floor, samples, fit);
    if (!finish(options, problem_.residuals.mean, fit) || !holds(fit)) fit = without_floor_;
}

/// Whether a fit with a floor explains samples well enough that were measured several times at each batch.
/// They tell the scatter from the levels of single batches, which the fit without a floor has as factors. The
/// Bayesian information criterion decides.
inline bool RefinedFitting::holds(const RefinedFit& fit) const {
    constexpr double often = 4;
    const auto samples = static_cast<double>(fit.samples);
    if (samples < often * static_cast<double>(problem_.batches.size())) return true;
    const double fewer =
        static_cast<double>(without_floor_.coordinates.size()) - static_cast<double>(fit.coordinates.size());
    const double worse = std::log(explained_ / without_floor_explained_);
    return !(samples * worse >= fewer * std::log(samples));
}

inline bool RefinedFitting::finish(const RefinedFitOptions& options, const FitParameters& fallback,
                                   RefinedFit& fit) {
    fit.status =
        minimise_in_rounds(minimise_, buffers_, problem_.residuals, x_, options.max_iterations,
                           options.robust, fit, [&](double& scatter) { return adjust(fit, scatter); });
    fit.coordinates.assign(x_.begin(), x_.begin() + problem_.residuals.parameters());
    problem_.residuals.terms.write(x_, fit.model);
    // The minimisation accepts a sum that is larger by up to this much.
    constexpr double tolerance = 1e-6;
    const bool better =
        is_fitted(fit.status) && all_finite(x_) &&
        explains_as_well(problem_.residuals.squares(x_), problem_.residuals.squares(fallback) + tolerance);
    if (better) {
        add_shape_factors(fit);
        estimate_covariance(fit);
    }
    return better && is_whole(fit);
}

/// Sets up the samples again, with a floor. Starts from the fit without one, in x_: a start from the previous
/// fit's floor would let the result depend on the order of measurements.
inline void RefinedFitting::begin_with(const LaunchFloor& floor, std::span<const ThroughputSample> samples,
                                       RefinedFit& fit) {
    const FitParameters before = x_;
    const double scatter = problem_.residuals.scatter;
    problem_.read(samples, &floor);
    problem_.set_prior(fit.prior, fit.reference_batch, fit.reference_seconds);
    problem_.believe(floor);
    fit.prior.mean[computing_constant] = floor.mean[1] - std::log(fit.reference_seconds);
    fit.prior.mean[computing_slope] = floor.mean[2] - std::log(fit.reference_seconds / fit.reference_batch);
    for (const RefinedParameter at : {computing_constant, computing_slope})
        fit.prior.deviation[at] = problem_.residuals.deviation[at];
    x_ = problem_.residuals.mean;
    for (std::size_t i = 0; i < refined_parameters; ++i)
        if (i != computing_constant && i != computing_slope) x_[i] = before[i];
    problem_.residuals.scatter = scatter;
    fit.stragglers = 0;
}

/// Sets up the samples, their prior and the start.
inline void RefinedFitting::begin(std::span<const ThroughputSample> samples, const RefinedFitOptions& options,
                                  bool warm, RefinedFit& fit) {
    problem_.read(samples);
    // Copied, because `fit` may be the previous fit.
    if (warm) previous_ = *options.start;
    double log_batches = 0;
    for (const ThroughputSample& sample : samples) log_batches += std::log(sample.plan.atomic_batch);
    const double middle_batch = std::exp(log_batches / static_cast<double>(samples.size()));
    fit.reference_batch = options.reference_batch > 0 ? options.reference_batch : middle_batch;
    const Line line = line_of_computing(problem_, fit.reference_batch);
    fit.reference_seconds = line.at(fit.reference_batch);
    fit.prior = options.prior;
    fit.samples = static_cast<int>(samples.size());
    fit.iterations = fit.stragglers = 0;
    fit.status = FitStatus::converged;
    problem_.set_prior(options.prior, fit.reference_batch, fit.reference_seconds);
    const bool had_floor = warm && previous_.model.launch_seconds > 0;
    problem_.residuals.scatter = warm && !had_floor ? previous_.step_deviation : 0.05;
    x_ = warm ? warm_start() : cold_start(problem_, line);
    // The line above a floor is no start for a line through all batches.
    if (had_floor) set_line(problem_, line, x_);
}

/// Returns to the previous fit, or to the prior. Its errors are computed with equal weights for all
/// samples.
inline void RefinedFitting::fall_back(std::span<const ThroughputSample> samples, bool warm,
                                      RefinedFit& fit) const {
    const int iterations = fit.iterations;
    if (warm) {
        fit = previous_;
        fit.identified.fill(false);
    } else {
        fit.prior = problem_.believed;
        set_to_prior(fit, problem_.residuals.terms.breaks);
        fit.step_deviation = 0.05;
        fit.degrees_of_freedom = 2;
    }
    fit.status = warm ? FitStatus::start_kept : FitStatus::prior_kept;
    fit.iterations = iterations;
    fit.stragglers = 0;
    fit.samples = static_cast<int>(samples.size());
    double compute = 0, computes = 0, step = 0;
    for (const ThroughputSample& sample : samples) {
        if (const std::optional<double> seconds = sample.compute_seconds()) {
            compute += square(std::log(fit.model.compute_seconds(sample.plan.atomic_batch) *
                                       fit.model.compute_factor(sample.shape) / *seconds));
            computes += 1;
        }
        step += square(
            std::log(fit.model.iteration_seconds(sample.shape, sample.timed_plan()) / sample.step_seconds));
    }
    fit.compute_rmsle = std::sqrt(compute / std::max(computes, 1.0));
    fit.step_rmsle = std::sqrt(step / fit.samples);
    fit.step_deviation = std::max(fit.step_deviation, fit.step_rmsle);
}

/// Returns the previous fit's coordinates. Break points that it did not have start at the prior's mean.
inline FitParameters RefinedFitting::warm_start() const {
    const std::vector<double>& before = previous_.coordinates;
    FitParameters x = problem_.residuals.mean;
    std::copy_n(before.begin(), std::size_t{refined_parameters}, x.begin());
    const std::vector<double>& breaks = problem_.residuals.terms.breaks;
    for (std::size_t i = 0; i < breaks.size(); ++i)
        for (std::size_t j = 0; j < previous_.model.batches.size(); ++j)
            if (previous_.model.batches[j].batch == breaks[i])
                x[refined_parameters + i] = before[refined_parameters + j];
    return x;
}

/// The additional adjustment per round for this model (minimise_in_rounds).
inline bool RefinedFitting::adjust(RefinedFit& fit, double& scatter) {
    // Laws with as many parameters as shapes pass through all shapes, so they seem to leave no room for
    // factors of the shapes. With more shapes, the samples of one shape share its factors, which do not
    // average out.
    if (problem_.residuals.terms.launches) scatter = problem_.divide_scatter(x_);
    scatter = std::sqrt(square(scatter) + problem_.own_variance(x_));
    const bool loosened = problem_.loosen(x_);
    for (const RefinedParameter at : {alone_factor, straggling_exponent})
        fit.prior.deviation[at] = problem_.residuals.deviation[at];
    return loosened;
}

/// Solves two ridge equations per shape, linear around the solution of the laws, for ln of its factors on
/// computing and synchronising.
inline void RefinedFitting::add_shape_factors(RefinedFit& fit) {
    const auto& residuals = problem_.residuals;
    const double unit = 1 / square(residuals.scatter);
    shape_sums_.assign(problem_.shapes.size(), {});
    residuals.for_each_row(x_, [&](const RefinedRow& row, const RowErrors& errors) {
        ShapeSums& sums = shape_sums_[row.features.shape_index];
        const double weight = unit * row.weight / square(row.scatter),
                     half = weight * residuals.compute_weight(row);
        const double share = errors.sync_share, rest = 1 - share;
        sums.compute_compute += weight * rest * rest + half;
        sums.compute_sync += weight * rest * share;
        sums.sync_sync += weight * share * share;
        sums.compute -= weight * rest * errors.step + half * errors.compute;
        sums.sync -= weight * share * errors.step;
        sums.samples += 1;
    });
    fit.model.shapes.clear();
    fit.shape_variances.clear();
    for (std::size_t i = 0; i < shape_sums_.size(); ++i) {
        ShapeSums& sums = shape_sums_[i];
        if (problem_.shapes[i].alone()) {
            sums.compute = sums.sync = 0;
            continue;
        }
        const double compute_compute = sums.compute_compute + 1 / square(fit.prior.compute_deviation);
        const double sync_sync = sums.sync_sync + 1 / square(fit.prior.sync_deviation);
        const double determinant = compute_compute * sync_sync - square(sums.compute_sync);
        const double compute = (sync_sync * sums.compute - sums.compute_sync * sums.sync) / determinant;
        sums.sync = (compute_compute * sums.sync - sums.compute_sync * sums.compute) / determinant;
        sums.compute = compute;
        fit.model.shapes.push_back({problem_.shapes[i].shape, std::exp(sums.compute), std::exp(sums.sync)});
        fit.shape_variances.push_back({sync_sync / determinant, compute_compute / determinant});
    }
    double squared_compute = 0, computes = 0, squared_step = 0, weighted_step = 0, weights = 0;
    double weighted_floor = 0, floor_weights = 0, launch_batch = 0;
    residuals.for_each_row(x_, [&](const RefinedRow& row, const RowErrors& errors) {
        const ShapeSums& sums = shape_sums_[row.features.shape_index];
        const double excess =
            residuals.excess_of(row, errors.log_ratio + sums.sync - sums.compute, fit.model.gamma);
        const double step = errors.step + sums.compute + excess - errors.excess;
        if (row.split) {
            squared_compute += square(errors.compute + sums.compute);
            computes += 1;
        }
        squared_step += square(step);
        const bool waits = problem_.waits_for_host(x_, row);
        if (waits) launch_batch = std::max(launch_batch, row.features.batch.batch);
        (waits ? weighted_floor : weighted_step) += row.weight * square(step);
        (waits ? floor_weights : weights) += row.weight;
    });
    fit.compute_rmsle = std::sqrt(squared_compute / std::max(computes, 1.0));
    fit.step_rmsle = std::sqrt(squared_step / fit.samples);
    const Scatter scatter(weighted_step, weights,
                          static_cast<double>(problem_.parameters() + fit.model.shapes.size()));
    fit.step_deviation = scatter.deviation;
    fit.degrees_of_freedom = scatter.freedom;
    explained_ = (weighted_step + weighted_floor) / (weights + floor_weights);
    const Scatter on_floor(weighted_floor, floor_weights, 1, LaunchPrior().floor_scatter,
                           LaunchPrior::floor_freedom);
    fit.launch_deviation = problem_.residuals.terms.launches ? on_floor.deviation : 0;
    fit.launch_freedom = problem_.residuals.terms.launches ? on_floor.freedom : 1;
    fit.launch_batch = problem_.residuals.terms.launches ? launch_batch : 0;
}

inline void RefinedFitting::estimate_covariance(RefinedFit& fit) {
    // Samples of one shape share its factor, so m samples of one shape say less than m samples of m shapes.
    // Their weight is divided by 1 + (m - 1) rho, where rho is the correlation due to the factor on
    // computing.
    const double own = square(fit.prior.compute_deviation);
    const double correlation = own / (own + square(problem_.residuals.scatter));
    for (RefinedRow& row : problem_.residuals.rows)
        if (!row.alone) row.weight /= 1 + (shape_sums_[row.features.shape_index].samples - 1) * correlation;
    const FitParameters& deviation = problem_.residuals.deviation;
    Linearisation& there = buffers_.there;
    there.find(problem_.residuals, problem_.residuals.to_units(x_).data());
    fit.covariance.clear();
    if (!there.decompose()) return;  // the fit is not whole, so it will not be trusted
    const std::size_t count = problem_.parameters();
    for (std::size_t i = 0; i < count; ++i) {
        const Eigen::VectorXd& column = there.covariance_column(static_cast<Eigen::Index>(i));
        for (std::size_t j = 0; j < count; ++j)
            fit.covariance.push_back(deviation[i] * column[static_cast<Eigen::Index>(j)] * deviation[j]);
    }
    for (std::size_t i = 0; i < refined_parameters; ++i)
        fit.identified[i] = fit.covariance[i * count + i] < 0.5 * square(fit.prior.deviation[i]);
}

}  // namespace goodput::inline v0_1::detail

#endif
