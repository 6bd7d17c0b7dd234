#ifndef GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_FIT_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_FIT_HPP

// The throughput fit of Sia's public simulator (SOSP'23; that of Pollux, OSDI'21, with a looser stop), to
// replay what it would have decided. throughput_fit.hpp fits the same model better and faster.
//
// Problem. A sample has a computing time c and a step time t; a(b) and T are the model's. The fit minimises
//
//     rms(ln a - ln c) + rms(ln T - ln t) + 0.001 (gamma - 1)^2
//                                         + 0.01 ((beta_n / alpha_n)^2 + (beta_r / alpha_r)^2)
//     over alphas, betas >= 1e-8 and 1 <= gamma <= 10
//
// where rms is the root mean square. What the samples cannot determine is held before the fit,
//
//     a single batch size                     alpha_c at half the mean computing time
//     never several nodes                     alpha_n = beta_n = 1e-8
//     never several replicas on one node      alpha_r = beta_r = 1e-8
//     never more than two replicas            beta_n = beta_r = 1e-8
//
// and after it an unmeasured network is at least 1.1 times as slow as a node (alpha and beta each).
//
// Method. L-BFGS-B by its authors (bounded_quasi_newton.hpp) with ten pairs, from always the same start
// (0.1 s and 0.01 s, gamma 1.001), until an iteration lowers the objective by less than 1e-5 or the
// projected gradient is below 1e-5. The point at which it stops is part of the replay. The objective has
// kinks where one of the norms is 0; its derivative there is taken as 0. With one sample, or as many
// samples as parameters, the minimum itself is such a kink, and the fit stops somewhere near it.
//
// If a result is not a model, or its objective is above the start's, the prior replaces it
// (throughput_prior.hpp), and end() says so. The released code has no such rule; we know no valid samples
// with which it matters.
//
// Cost: O(samples) for each of typically 20 to 60 evaluations.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/throughput.hpp"
#include "peers/pollux/pollux_residuals.hpp"
#include "peers/pollux/throughput_prior.hpp"
#include "peers/sia/bounded_quasi_newton.hpp"
#include "peers/sia/published_sync.hpp"

namespace goodput::peers {

/// How a published fit ended.
struct PublishedFitEnd {
    double objective = 0;  ///< of the returned model
    int iterations = 0;    ///< of the quasi-Newton method
    int evaluations = 0;   ///< of the objective with its gradient
    /// Never start_kept. iteration_limit can also mean that no step along the steepest descent helped.
    FitStatus status = FitStatus::prior_kept;
};

/// Minimises as published: the default backend of PublishedFitter. Tests can pass a worse one.
struct QuasiNewtonBackend {
    template <class Evaluate>
    [[nodiscard]] QuasiNewtonResult minimise(const QuasiNewtonVector& lower, const QuasiNewtonVector& upper,
                                             const QuasiNewtonVector& start, Evaluate&& evaluate) const {
        return minimise_within(lower, upper, start, evaluate);
    }
};

/// Fits repeatedly, and keeps its buffers.
class PublishedFitter {
public:
    /// Returns the parameters that the published fit finds for `samples` of one job on one GPU type. It
    /// ignores accumulation steps. The order of the samples changes rounding errors, and with them the
    /// point at which a fit with kinks stops. The model always predicts. end() says whether it comes from
    /// the samples or only from the prior. Throws std::invalid_argument naming `subject` for an empty set
    /// or bad samples. `backend` minimises.
    template <class Backend = QuasiNewtonBackend>
    [[nodiscard]] PolluxThroughput fit(std::span<const ThroughputSample> samples,
                                       std::string_view subject = "throughput samples",
                                       const Backend& backend = {});

    /// How the last fit ended.
    [[nodiscard]] const PublishedFitEnd& end() const { return end_; }

private:
    using Parameters = QuasiNewtonVector;

    // A sample as the objective needs it, and its contribution to the derivatives.
    struct Row {
        double batch, further;
        double log_compute, log_step;
        std::size_t alpha;  ///< index of the synchronising parameter; 0 for a single replica
        double compute, sync, sync_share, by_gamma;
        double compute_error, step_error;
    };

    [[nodiscard]] double objective(const Parameters& parameters, Parameters& gradient);

    std::vector<Row> rows_;
    PublishedFitEnd end_;
};

template <class Backend>
PolluxThroughput PublishedFitter::fit(std::span<const ThroughputSample> samples, std::string_view subject,
                                      const Backend& backend) {
    if (samples.empty()) bad_input(subject, "samples", "empty", "at least one measurement");
    constexpr double least = published_least, infinite = std::numeric_limits<double>::infinity();
    rows_.clear();
    rows_.reserve(samples.size());
    bool one_batch = true, network = false, node = false, beyond_two = false;
    double seconds = 0;
    for (const ThroughputSample& sample : samples) {
        validate(sample, subject);
        const auto [nodes, gpus] = sample.shape;
        const double compute = sample.step_seconds - sample.sync_seconds;
        one_batch = one_batch && sample.plan.atomic_batch == samples.front().plan.atomic_batch;
        network = network || nodes > 1;
        node = node || (nodes == 1 && gpus > 1);
        beyond_two = beyond_two || gpus > 2;
        seconds += compute;
        Row row{};
        row.batch = sample.plan.atomic_batch;
        row.further = published_further(gpus);
        row.log_compute = std::log(compute);
        row.log_step = std::log(sample.step_seconds);
        row.alpha = nodes > 1 ? 2 : gpus > 1 ? 4 : 0;
        rows_.push_back(row);
    }

    Parameters start{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};
    Parameters lower, upper;
    lower.fill(least);
    upper.fill(infinite);
    lower[gamma_index] = 1;
    upper[gamma_index] = 10;
    const auto hold = [&](std::size_t i, double value) { start[i] = lower[i] = upper[i] = value; };
    if (one_batch) hold(0, seconds / static_cast<double>(samples.size()) / 2);
    if (!network) hold(2, least);
    if (!network || !beyond_two) hold(3, least);
    if (!node) hold(4, least);
    if (!node || !beyond_two) hold(5, least);

    const QuasiNewtonResult found = backend.minimise(
        lower, upper, start,
        [&](const Parameters& parameters, Parameters& gradient) { return objective(parameters, gradient); });
    end_ = {found.value, found.iterations, found.evaluations,
            found.converged ? FitStatus::converged : FitStatus::iteration_limit};
    PolluxThroughput model = model_of(found.point);
    Parameters unused;
    if (!network) {
        model.alpha_n = std::max(model.alpha_n, 1.1 * model.alpha_r);
        model.beta_n = std::max(model.beta_n, 1.1 * model.beta_r);
        end_.objective = objective(parameters_of(model), unused);
    }
    if (!is_valid(model) || !(found.value <= objective(start, unused))) {
        end_.status = FitStatus::prior_kept;
        model = throughput_prior(samples);
        end_.objective = objective(parameters_of(model), unused);
    }
    return model;
}

inline double PublishedFitter::objective(const Parameters& parameters, Parameters& gradient) {
    const auto& [alpha_c, beta_c, alpha_n, beta_n, alpha_r, beta_r, gamma] = parameters;
    const double count = static_cast<double>(rows_.size());
    double compute_squares = 0, step_squares = 0;
    for (Row& row : rows_) {
        row.compute = alpha_c + beta_c * row.batch;
        row.sync = row.alpha == 0 ? published_least + published_least * row.further
                                  : parameters[row.alpha] + parameters[row.alpha + 1] * row.further;
        const double log_compute = std::log(row.compute), log_ratio = std::log(row.sync) - log_compute;
        const detail::LogStep step(log_ratio, gamma);
        row.sync_share = step.sync_share;
        row.by_gamma = (step.sync_share * log_ratio - step.excess) / gamma;
        row.compute_error = log_compute - row.log_compute;
        row.step_error = log_compute + step.excess - row.log_step;
        compute_squares += row.compute_error * row.compute_error;
        step_squares += row.step_error * row.step_error;
    }
    const double compute_norm = std::sqrt(compute_squares / count);
    const double step_norm = std::sqrt(step_squares / count);
    const double of_compute = compute_norm > 0 ? 1 / (count * compute_norm) : 0;
    const double of_step = step_norm > 0 ? 1 / (count * step_norm) : 0;

    gradient.fill(0);
    for (const Row& row : rows_) {
        const double step_error = of_step * row.step_error;
        const double by_compute =
            (of_compute * row.compute_error + step_error * (1 - row.sync_share)) / row.compute;
        gradient[0] += by_compute;
        gradient[1] += by_compute * row.batch;
        gradient[gamma_index] += step_error * row.by_gamma;
        if (row.alpha == 0) continue;
        const double by_sync = step_error * row.sync_share / row.sync;
        gradient[row.alpha] += by_sync;
        gradient[row.alpha + 1] += by_sync * row.further;
    }
    double value = compute_norm + step_norm + 1e-3 * (gamma - 1) * (gamma - 1);
    gradient[gamma_index] += 2e-3 * (gamma - 1);
    for (const std::size_t alpha : {std::size_t{2}, std::size_t{4}}) {
        const double ratio = parameters[alpha + 1] / parameters[alpha];
        value += 1e-2 * ratio * ratio;
        gradient[alpha] -= 2e-2 * ratio * ratio / parameters[alpha];
        gradient[alpha + 1] += 2e-2 * ratio / parameters[alpha];
    }
    return value;
}

}  // namespace goodput::peers

#endif
