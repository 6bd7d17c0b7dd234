#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_THROUGHPUT_FIT_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_THROUGHPUT_FIT_HPP

// Finds the seven parameters of PolluxThroughput that explain the measurements of a job on one GPU type,
// and says which of them the measurements do not determine.
//
// Problem. Each sample has a shape (n nodes, K replicas), a batch b, a step time t and in it a
// synchronising time, so that c = t - sync was spent computing. With the model's computing time a and step
// T, minimise
//
//     sum (ln a - ln c)^2 / 2 + sum (ln T - ln t)^2 + omega^2 (gamma - 1)^2
//     over alphas, betas >= 0 and 1 <= gamma <= 10
//
// Logarithms make an error of one per cent count the same for a step of 10 ms and for one of 10 s. The step
// weighs twice, because options are judged by it. The last term keeps gamma near no overlap where it makes
// little difference: omega is the samples' scatter about a straight line in the batch, which makes it a
// prior on gamma with standard deviation 1, and lets exact samples be fitted exactly.
//
// Method. (1) Start in closed form (pollux_start.hpp), or from a previous fit. (2) Ceres Solver's
// Levenberg-Marquardt within bounds (box_backend.hpp). (3) Samples far outside the scatter of the others
// (stragglers) are weighted down and (2) repeated.
//
// Parameters that the samples leave open (see ThroughputFit::identified) come from a prior: the rules of
// the released code of Pollux (OSDI'21) and Sia (SOSP'23):
//
//     a single batch size                    alpha_c is half the (geometric) mean computing time
//     never several nodes                    alpha_n, beta_n are 1.1 times alpha_r, beta_r
//     never several replicas on one node     synchronising within a node is free: alpha_r = beta_r = 1e-8 s
//     a single number of replicas            the beta of that block is 1e-8 s
//     too few sorts of samples for gamma     gamma = 1: no overlap
//
// A result that cannot be trusted is replaced by the previous fit or the prior (minimise.hpp,
// throughput_prior.hpp).
//
// Cost: O(samples) for each of typically 5 to 15 iterations. A local minimum is not proven to be the global
// one.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/throughput.hpp"
#include "peers/pollux/box_backend.hpp"
#include "peers/pollux/pollux_residuals.hpp"
#include "peers/pollux/pollux_start.hpp"
#include "peers/pollux/throughput_prior.hpp"

namespace goodput::peers {

/// The names of PolluxThroughput's parameters, in the order of ThroughputFit::identified and ::covariance.
inline constexpr std::array<std::string_view, 7> throughput_parameter_names{
    "alpha_c", "beta_c", "alpha_n", "beta_n", "alpha_r", "beta_r", "gamma"};

/// The start of a fit, and limits on its time.
struct FitOptions {
    std::optional<PolluxThroughput> start{};          ///< a previous fit of this job, to start from
    int max_iterations = 200;                         ///< for all minimisations together, at most 2^20
    bool robust = true;                               ///< weigh stragglers down
    std::string_view subject = "throughput samples";  ///< subject of messages about bad samples
};

/// The seven parameters, with their errors and covariance.
struct ThroughputFit {
    PolluxThroughput model;  ///< the parameters that explain the samples best
    /// By parameter: determined by the samples (given those that are not); otherwise taken from the prior.
    std::array<bool, 7> identified{};
    double compute_rmsle = 0;  ///< root mean square error of ln(computing time), every sample counted alike
    double step_rmsle = 0;     ///< the same of ln(step time)
    int samples = 0;           ///< number of measurements
    int stragglers = 0;        ///< samples weighted down
    int iterations = 0;        ///< of all minimisations together
    FitStatus status = FitStatus::prior_kept;  ///< how it ended
    /// Covariance of the parameters in their own units, the prior's uncertainty included.
    std::array<std::array<double, 7>, 7> covariance{};
    double step_deviation = 0;      ///< standard deviation of ln(step time) about the model
    double degrees_of_freedom = 1;  ///< degrees of freedom of that deviation

    /// Returns one line: how the fit ended, how good it is, and what comes from the prior.
    [[nodiscard]] std::string report() const;
};

/// Fits repeatedly, and keeps its buffers. Functions that fit are templates, so the solver is compiled only
/// where they are called, not wherever this header is included.
class ThroughputFitter {
public:
    /// Returns the parameters that explain `samples` of one job on one GPU type. Samples may be in any
    /// order, and repeated. The model always predicts; status says whether it comes from the samples or
    /// from earlier beliefs. Throws std::invalid_argument for an empty set, bad samples, an invalid start
    /// (model/job_model.hpp, and gamma at most 10) and a negative limit of iterations. `backend` minimises.
    template <class Backend = BoxBackend>
    [[nodiscard]] ThroughputFit fit(std::span<const ThroughputSample> samples, const FitOptions& options = {},
                                    const Backend& backend = {});

private:
    void read(std::span<const ThroughputSample> samples, std::string_view subject);
    template <class Backend>
    void solve(ThroughputFit& fit, const FitOptions& options, const Backend& backend);
    void read_errors(const PolluxThroughput& model);
    [[nodiscard]] int weigh_stragglers_down();
    template <class = void>
    void estimate_covariance(ThroughputFit& fit) const;
    void complete(ThroughputFit& fit) const;
    void set_errors(ThroughputFit& fit) const;
    [[nodiscard]] bool trustworthy(const ThroughputFit& fit, const PolluxThroughput& fallback) const;
    template <class = void>
    void fall_back(ThroughputFit& fit, const PolluxThroughput& fallback, FitStatus status);

    std::vector<PolluxRow> rows_;
    std::vector<double> compute_errors_, step_errors_;  ///< of the last solve, by row, without a sign
    std::vector<double> sorted_;
    PolluxResiduals residuals_;
    Eigen::MatrixXd hessian_;  ///< J^T J at the last solve's end
};

/// Fits once, as ThroughputFitter::fit does.
template <class = void>
[[nodiscard]] ThroughputFit fit_throughput(std::span<const ThroughputSample> samples,
                                           const FitOptions& options = {}) {
    return ThroughputFitter().fit(samples, options);
}

/// Throws for a start that is not a valid model.
inline void validate_start(const PolluxThroughput& start, std::string_view subject) {
    const std::array<double, 7> values = parameters_of(start);
    for (std::size_t i = 0; i < 7; ++i)
        require_at_least(subject, std::string("start.").append(throughput_parameter_names[i]), values[i],
                         i == gamma_index ? 1 : 0);
    if (start.gamma > 10) bad_input(subject, "start.gamma", start.gamma, "at most 10");
    validate(start, [&] { return std::string(subject) + ": start"; });
}

/// Completes a previous fit where the samples now determine what they left open then.
inline PolluxThroughput warm_start(const PolluxThroughput& previous, const PolluxThroughput& cold,
                                   const PolluxResiduals& residuals) {
    std::array<double, 7> start = parameters_of(previous);
    const std::array<double, 7> fresh = parameters_of(cold);
    for (std::size_t i = 0; i < 7; ++i)
        if (residuals.held[i]) start[i] = fresh[i];
    return model_of(start);
}

template <class Backend>
ThroughputFit ThroughputFitter::fit(std::span<const ThroughputSample> samples, const FitOptions& options,
                                    const Backend& backend) {
    if (options.start) validate_start(*options.start, options.subject);
    require_between(options.subject, "max_iterations", options.max_iterations, 0, 1 << 20);
    read(samples, options.subject);
    residuals_.held = left_open(residuals_.rows);

    const PolluxThroughput by_line = computing_start(residuals_.rows, residuals_.held[0]);
    const double freedom = std::max(1.0, static_cast<double>(rows_.size()) - 2);
    residuals_.gamma_weight = std::sqrt(residuals_.parts(by_line)[0] / freedom) / compute_weight;

    ThroughputFit fit;
    fit.samples = static_cast<int>(samples.size());
    for (std::size_t i = 0; i < 7; ++i) fit.identified[i] = !residuals_.held[i];
    fit.model =
        options.start ? warm_start(*options.start, by_line, residuals_) : cold_start(residuals_, by_line);
    const PolluxThroughput prior = throughput_prior(samples), fallback = options.start ? fit.model : prior;
    solve(fit, options, backend);
    for (int again = 0; options.robust && again < 3 && is_fitted(fit.status); ++again) {
        const int stragglers = weigh_stragglers_down();
        if (stragglers == 0) break;
        fit.stragglers = stragglers;
        solve(fit, options, backend);
    }
    estimate_covariance(fit);
    complete(fit);
    if (!trustworthy(fit, fallback))
        fall_back(fit, options.start ? *options.start : prior,
                  options.start ? FitStatus::start_kept : FitStatus::prior_kept);
    return fit;
}

/// Whether `fit` is a model, knows its uncertainty, and explains the samples, as weighted now, at least as
/// well as its fallback.
inline bool ThroughputFitter::trustworthy(const ThroughputFit& fit, const PolluxThroughput& fallback) const {
    bool finite = std::isfinite(fit.step_deviation);
    for (std::size_t i = 0; i < 7; ++i) {
        for (const double covariance : fit.covariance[i]) finite = finite && std::isfinite(covariance);
        finite = finite && fit.covariance[i][i] >= 0;
    }
    return finite && is_fitted(fit.status) && is_valid(fit.model) &&
           detail::explains_as_well(residuals_.squares_of(fit.model), residuals_.squares_of(fallback));
}

/// Returns a fit that learnt nothing: `fallback` with a prior's covariance, and its errors on equally
/// weighted samples.
template <class>
void ThroughputFitter::fall_back(ThroughputFit& fit, const PolluxThroughput& fallback, FitStatus status) {
    fit.model = fallback;
    fit.status = status;
    fit.stragglers = 0;
    fit.identified.fill(false);
    residuals_.held.fill(true);
    hessian_.setZero(7, 7);
    for (PolluxRow& row : rows_) row.weight_step = 1;
    read_errors(fit.model);
    estimate_covariance(fit);
    set_errors(fit);
}

/// Divides samples into blocks by what synchronises: one replica, several on one node, several nodes.
inline void ThroughputFitter::read(std::span<const ThroughputSample> samples, std::string_view subject) {
    if (samples.empty()) bad_input(subject, "samples", "empty", "at least one measurement");
    const auto block_of = [](const ThroughputSample& sample) -> std::size_t {
        return sample.shape.gpus < 2 ? 0 : sample.shape.nodes < 2 ? 1 : 2;
    };
    std::array<std::size_t, 3> size{};
    double log_seconds = 0, batches = 0;
    for (const ThroughputSample& sample : samples) {
        validate(sample, subject);
        ++size[block_of(sample)];
        log_seconds += std::log(sample.step_seconds - sample.sync_seconds);
        batches += sample.plan.atomic_batch;
    }
    rows_.resize(samples.size());
    std::array<std::size_t, 3> next{0, size[0], size[0] + size[1]};
    for (const ThroughputSample& sample : samples)
        rows_[next[block_of(sample)]++] = {.batch = static_cast<double>(sample.plan.atomic_batch),
                                           .further = std::max(sample.shape.gpus - 2.0, 0.0),
                                           .compute = sample.step_seconds - sample.sync_seconds,
                                           .step = sample.step_seconds,
                                           .log_compute = std::log(sample.step_seconds - sample.sync_seconds),
                                           .log_step = std::log(sample.step_seconds),
                                           .weight_compute = sample.compute_seconds() ? compute_weight : 0};
    const std::span<const PolluxRow> all(rows_);
    residuals_.rows = {all.first(size[0]), all.subspan(size[0], size[1]), all.last(size[2])};
    // The unit is the mean computing time, but a clock that went wrong must not set it.
    const double count = static_cast<double>(samples.size()), most = 1e3 * std::exp(log_seconds / count);
    double seconds = 0;
    for (const ThroughputSample& sample : samples)
        seconds += std::min(sample.step_seconds - sample.sync_seconds, most);
    const double mean = seconds / count;
    residuals_.scale = {mean, seconds / batches, mean, mean, mean, mean};
}

template <class Backend>
void ThroughputFitter::solve(ThroughputFit& fit, const FitOptions& options, const Backend& backend) {
    for (int again = 0; again < 3; ++again) {
        PolluxPoint x = residuals_.coordinates(fit.model);
        const Minimisation found =
            backend.minimise(residuals_, residuals_.box(fit.model), x,
                             {.max_iterations = options.max_iterations - fit.iterations,
                              .relative_tolerance = 1e-6,
                              .absolute_tolerance = 1e-18 * static_cast<double>(rows_.size())});
        fit.iterations += found.iterations;
        fit.status = found.status;
        Linearisation there;
        there.find(residuals_, x.data());
        there.decompose();
        hessian_ = there.hessian();
        if (!is_fitted(fit.status)) break;
        fit.model = residuals_.natural(x);
        if (!restart_synchronising(residuals_, fit.model)) break;
    }
    read_errors(fit.model);
}

/// Computes the errors of every row at `model`.
inline void ThroughputFitter::read_errors(const PolluxThroughput& model) {
    compute_errors_.resize(rows_.size());
    step_errors_.resize(rows_.size());
    std::size_t next = 0;
    residuals_.for_each_row(model, [&](const PolluxRow& row, const PolluxErrors& errors) {
        compute_errors_[next] = row.weight_compute > 0 ? std::abs(errors.compute) : 0;
        step_errors_[next++] = std::abs(errors.step);
    });
}

/// Reduces the weights of samples outside six robust standard deviations by their distance, and returns
/// their number. If they are too many to be outliers, reduces only that of a sample that is twice as far
/// out as any other.
inline int ThroughputFitter::weigh_stragglers_down() {
    const std::size_t count = rows_.size();
    if (count < 4) return 0;
    const auto limit_of = [&](const std::vector<double>& errors) {
        sorted_ = errors;
        const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(count / 2);
        std::nth_element(sorted_.begin(), middle, sorted_.end());
        return std::max(6 * 1.4826 * *middle, 0.05);
    };
    double limit_compute = limit_of(compute_errors_), limit_step = limit_of(step_errors_);
    double first = 0, second = 0;
    std::size_t out = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double far = std::max(compute_errors_[i] / limit_compute, step_errors_[i] / limit_step);
        out += far > 1 ? 1 : 0;
        second = std::max(second, std::min(far, first));
        first = std::max(first, far);
    }
    if (out == 0) return 0;
    if (out > std::max<std::size_t>(1, count / 8)) {
        if (first < 2 * second) return 0;
        limit_compute *= second;
        limit_step *= second;
        out = 1;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (rows_[i].weight_compute > 0)
            rows_[i].weight_compute = compute_weight * std::min(1.0, limit_compute / compute_errors_[i]);
        rows_[i].weight_step = std::min(1.0, limit_step / step_errors_[i]);
    }
    return static_cast<int>(out);
}

/// Completes the fit after the minimum is found: exact zeros, the prior of an unmeasured network, errors.
inline void ThroughputFitter::complete(ThroughputFit& fit) const {
    std::array<double, 7> values = parameters_of(fit.model);
    for (std::size_t i = 0; i < 6; ++i)
        if (fit.identified[i] && values[i] <= 2 * residuals_.zero(i)) values[i] = 0;
    if (!fit.identified[gamma_index]) values[gamma_index] = 1;
    fit.model = model_of(values);
    if (residuals_.rows.network.empty()) {
        fit.model.alpha_n = std::max(free_seconds, 1.1 * fit.model.alpha_r);
        fit.model.beta_n = std::max(free_seconds, 1.1 * fit.model.beta_r);
    }
    set_errors(fit);
}

inline void ThroughputFitter::set_errors(ThroughputFit& fit) const {
    const auto mean_square = [&](const std::vector<double>& errors) {
        return std::inner_product(errors.begin(), errors.end(), errors.begin(), 0.0) / fit.samples;
    };
    fit.compute_rmsle = std::sqrt(mean_square(compute_errors_));
    fit.step_rmsle = std::sqrt(mean_square(step_errors_));
}

/// Returns (J^T J / s^2 + prior)^-1 in units in which the parameters are about one.
template <class>
void ThroughputFitter::estimate_covariance(ThroughputFit& fit) const {
    // A scatter of 3 %, worth two samples, is assumed beforehand: a perfect fit to few samples proves
    // little.
    constexpr double assumed_deviation = 0.03, assumed_freedom = 2;
    const auto fitted = std::count(fit.identified.begin(), fit.identified.end(), true);
    const double freedom = std::max(0.0, static_cast<double>(fit.samples) - static_cast<double>(fitted));
    double squares = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) squares += square(rows_[i].weight_step * step_errors_[i]);
    fit.degrees_of_freedom = freedom + assumed_freedom;
    fit.step_deviation =
        std::sqrt((squares + assumed_freedom * square(assumed_deviation)) / fit.degrees_of_freedom);

    // Standard deviations before any measurement, in units of the mean computing time. About half of that
    // time is constant. Times that were never measured may well be half as long as computing. gamma has its
    // own unit.
    std::array<double, 7> prior{10, 10, 10, 10, 10, 10, 1};
    if (residuals_.held[0]) prior[0] = 0.29;
    const std::array<double, 7> values = parameters_of(fit.model);
    for (const std::size_t alpha : {std::size_t{2}, std::size_t{4}}) {
        if (residuals_.held[alpha]) prior[alpha] = 0.5;
        if (residuals_.held[alpha + 1])
            prior[alpha + 1] =
                residuals_.held[alpha] ? 0.05 : 0.1 * values[alpha] / residuals_.scale[alpha] + 1e-3;
    }
    // The solver's coordinates have these units, except gamma.
    PolluxPoint unit;
    for (int i = 0; i < 6; ++i) unit[i] = residuals_.scale[static_cast<std::size_t>(i)];
    unit[gamma_index] = -square(fit.model.gamma);
    Eigen::Matrix<double, 7, 7> precision = hessian_ / square(fit.step_deviation);
    prior[gamma_index] /= square(fit.model.gamma);
    for (int i = 0; i < 7; ++i) precision(i, i) += 1 / square(prior[static_cast<std::size_t>(i)]);
    const Eigen::Matrix<double, 7, 7> covariance =
        unit.asDiagonal() * precision.llt().solve(Eigen::Matrix<double, 7, 7>::Identity()) *
        unit.asDiagonal();
    for (int i = 0; i < 7; ++i)
        for (int j = 0; j < 7; ++j)
            fit.covariance[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = covariance(i, j);
}

inline std::string ThroughputFit::report() const {
    return detail::report_of(*this, throughput_parameter_names);
}

}  // namespace goodput::peers

#endif
