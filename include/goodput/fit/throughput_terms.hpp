#ifndef GOODPUT_FIT_THROUGHPUT_TERMS_HPP
#define GOODPUT_FIT_THROUGHPUT_TERMS_HPP

// The residuals of every fit of a throughput model: what the model leaves unexplained of measured steps,
// and how that changes with its parameters.
//
// A model gives its terms as templates on the scalar: ln C for computing a microbatch, ln S for
// synchronising, and ln(gamma - 1) for their overlap. Then (Pollux, OSDI'21, section 3.2) a step, and an
// iteration with s accumulation steps before it, take
//
//     T = (C^gamma + S^gamma)^(1/gamma),      s C + T
//
// A sample has two residuals:
//
//     r_t = sqrt(w) (ln T - ln measured step) / scatter
//     r_c = sqrt(w / 2) (ln C - ln measured) / scatter
//
// It has only the first one if the computing part of the step was not measured, or if a single replica does
// nothing but compute. The weight w is smaller for stragglers. If the whole iteration was measured, s C + T
// replaces T. Each parameter adds one residual, (theta - mean) / deviation of its prior. This is also the
// unit in which the solver counts the parameter. Ceres' jets compute the derivatives of the terms.
//
// One more residual is always 0 but has a slope. Towards gamma = 1 the derivatives of the other residuals
// with respect to the overlap vanish exponentially, so J^T J alone promises too much and steps go too far.
// Near gamma = 1 the second derivative of the sum with respect to theta is about the first one, and this
// residual adds it to J^T J.
//
// PolluxTerms are the terms of Pollux's model, for fit_model(). The published fit minimises the same errors
// within bounds and without a prior (program/peers/sia/published_fit.hpp reproduces it exactly).

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/detail/touched_parameters.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The type that a model reads for a sample: Terms::Features if that exists, else the sample itself.
template <class Terms>
struct FeaturesOf {
    using type = ThroughputSample;
};
template <class Terms>
requires requires { typename Terms::Features; }
struct FeaturesOf<Terms> {
    using type = typename Terms::Features;
};

/// The largest number of parameters that one term of one sample may depend on.
template <class Terms>
constexpr int most_touched() {
    if constexpr (requires { Terms::most_touched; })
        return Terms::most_touched;
    else
        return most_parameters;
}

}  // namespace detail

/// The terms of a throughput model with at most 36 unbounded parameters theta: `x[i]` is parameter i, a
/// number or a Ceres jet. A term that depends on no parameter may be a number. A model may define a type
/// Features that it reads instead of the sample, and a constant most_touched, the largest number of
/// parameters that one term of one sample reads. log_sync() is called only for samples with at least two
/// replicas.
template <class Terms>
concept ThroughputTerms = requires(const Terms& terms, std::span<const double>& x,
                                   const typename detail::FeaturesOf<Terms>::type& features) {
    { terms.parameters() } -> std::convertible_to<std::size_t>;
    { terms.log_compute(x, features) } -> std::convertible_to<double>;
    { terms.log_sync(x, features) } -> std::convertible_to<double>;
    { terms.log_overlap(x) } -> std::convertible_to<double>;
};

/// A measurement in the form that residuals read.
template <class Terms>
struct ThroughputRow {
    typename detail::FeaturesOf<Terms>::type features{};  ///< what the model reads
    double log_compute = 0;                               ///< ln of the seconds of computing, if split
    double log_step = 0;                                  ///< ln of the seconds of the step or iteration
    double weight = 1;                                    ///< at most 1
    int further_steps = 0;  ///< accumulation steps before the last step that log_step includes
    bool alone = false;     ///< a single replica
    double scatter = 1;     ///< factor on the scatter of all rows, above 0
    bool split = true;      ///< computing was measured; if not, log_compute is that of the step
};

/// Converts a sample to a row with the features that the terms read.
template <class Terms>
[[nodiscard]] ThroughputRow<Terms> row_of(const ThroughputSample& sample,
                                          const typename detail::FeaturesOf<Terms>::type& features) {
    const std::optional<double> compute = sample.compute_seconds();
    return {.features = features,
            .log_compute = std::log(compute.value_or(sample.step_seconds / sample.microbatches())),
            .log_step = std::log(sample.step_seconds),
            .further_steps = sample.microbatches() - 1,
            .alone = sample.shape.gpus < 2,
            .split = compute.has_value()};
}

/// The errors of a row (ln of the modelled over the measured time), and the parts of its step.
struct RowErrors {
    double compute = 0 /**< error of computing */, step = 0; /**< error of the step */
    double sync_share = 0;                                   ///< d ln(step) / d ln S
    double by_overlap = 0;                                   ///< d ln(step) / d ln(gamma - 1)
    double excess = 0;                                       ///< ln(step) - ln C
    double log_ratio = 0;                                    ///< ln S - ln C
};

/// The rows after weights were assigned.
struct WeighedRows {
    int stragglers = 0;  ///< rows with reduced weight
    double weights = 0 /**< sum of the weights */,
           squares = 0;         /**< weighted sum of the step's squared errors */
    double largest_change = 0;  ///< largest change of a weight
};

/// The residuals of rows and of a prior.
template <ThroughputTerms Terms>
class ThroughputResiduals {
public:
    /// A measurement.
    using Row = ThroughputRow<Terms>;
    /// Has neither rows nor a prior.
    ThroughputResiduals() requires std::default_initializable<Terms>
    = default;
    /// Has terms, but neither rows nor a prior.
    explicit ThroughputResiduals(Terms model_terms) : terms(std::move(model_terms)) {}

    Terms terms{};                                               ///< terms of the model
    std::vector<Row> rows{};                                     ///< the measurements
    FitParameters mean{} /**< the prior's means */, deviation{}; /**< the prior's standard deviations */
    double scatter = 0.05;  ///< standard deviation of ln(step) about the model
    /// Number of parameters.
    [[nodiscard]] int parameters() const { return static_cast<int>(terms.parameters()); }
    /// Number of residuals.
    [[nodiscard]] int count() const {
        int count = parameters() + 1;
        for (const Row& row : rows) count += compute_weight(row) > 0 ? 2 : 1;
        return count;
    }
    /// See Residuals. y counts deviations from the prior's mean.
    void operator()(const double* y, double* residuals, double* jacobian) const;
    /// Converts parameters to the solver's units.
    [[nodiscard]] FitParameters to_units(const FitParameters& x) const {
        FitParameters y{};
        for (std::size_t i = 0; i < terms.parameters(); ++i) y[i] = (x[i] - mean[i]) / deviation[i];
        return y;
    }
    /// Converts parameters from the solver's units.
    [[nodiscard]] FitParameters from_units(const double* y) const {
        FitParameters x{};
        for (std::size_t i = 0; i < terms.parameters(); ++i) x[i] = mean[i] + y[i] * deviation[i];
        return x;
    }
    /// Returns the sum of squares at parameters x.
    [[nodiscard]] double squares(const FitParameters& x) const {
        double from_prior = 0, from_rows = 0;
        for (const double units : to_units(x)) from_prior += units * units;
        for_each_row(x, [&](const Row& row, const RowErrors& errors) {
            from_rows += row.weight / (row.scatter * row.scatter) *
                         (errors.step * errors.step + compute_weight(row) * errors.compute * errors.compute);
        });
        return from_prior + from_rows / (scatter * scatter);
    }
    /// Weight of the computing error relative to that of the step.
    [[nodiscard]] static double compute_weight(const Row& row) { return row.split && !row.alone ? 0.5 : 0; }

    /// Calls visit(row, RowErrors) for every row at parameters x.
    template <class Visit>
    void for_each_row(const FitParameters& x, Visit visit) const {
        std::span<const double> values(x.data(), terms.parameters());
        const double gamma = 1 + std::exp(terms.log_overlap(values));
        for (const Row& row : rows)
            visit(row, errors_of(row, terms.log_compute(values, row.features),
                                 row.alone ? 0 : terms.log_sync(values, row.features), gamma));
    }

    /// Gives each row whose error of the step at parameters x, divided by the row's own scatter, exceeds
    /// `limit` (stragglers, warm-up) the weight (limit / error)^2. The limit is four robust standard
    /// deviations. All other rows get the weight 1, and so do all rows if there are fewer than four or
    /// `robust` is false.
    WeighedRows weigh(const FitParameters& x, bool robust) {
        errors_.clear();
        for_each_row(x, [&](const Row& row, const RowErrors& errors) {
            errors_.push_back(std::abs(errors.step) / row.scatter);
        });
        double limit = std::numeric_limits<double>::infinity();
        if (robust && rows.size() >= 4) {
            sorted_ = errors_;
            const auto middle = sorted_.begin() + static_cast<std::ptrdiff_t>(rows.size() / 2);
            std::nth_element(sorted_.begin(), middle, sorted_.end());
            limit = 4 * std::max(1.4826 * *middle, 0.02);
        }
        WeighedRows weighed;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const double weight = errors_[i] > limit ? detail::square(limit / errors_[i]) : 1;
            weighed.largest_change = std::max(weighed.largest_change, std::abs(weight - rows[i].weight));
            rows[i].weight = weight;
            weighed.stragglers += weight < 1 ? 1 : 0;
            weighed.weights += weight;
            weighed.squares += weight * detail::square(errors_[i]);
        }
        return weighed;
    }

    /// Returns ln of a step, or of an iteration, over its computing time. See ThroughputRow::further_steps.
    [[nodiscard]] static double excess_of(const Row& row, double log_ratio, double gamma) {
        const double excess = row.alone ? 0 : detail::LogStep(log_ratio, gamma).excess;
        return row.further_steps > 0 ? std::log(row.further_steps + std::exp(excess)) : excess;
    }

private:
    std::vector<double> errors_{}, sorted_{};

    [[nodiscard]] RowErrors errors_of(const Row& row, double log_compute, double log_sync,
                                      double gamma) const {
        RowErrors errors{.compute = log_compute - row.log_compute};
        if (!row.alone) {
            errors.log_ratio = log_sync - log_compute;
            const detail::LogStep last(errors.log_ratio, gamma);
            const double step = row.further_steps > 0 ? std::exp(last.excess) : 1;
            const double part = step / (row.further_steps + step);  // of the iteration's time
            errors.excess = last.excess;
            errors.sync_share = part * last.sync_share;
            errors.by_overlap =
                part * (gamma - 1) * (last.sync_share * errors.log_ratio - last.excess) / gamma;
        }
        if (row.further_steps > 0) errors.excess = std::log(row.further_steps + std::exp(errors.excess));
        errors.step = log_compute + errors.excess - row.log_step;
        return errors;
    }
};

template <ThroughputTerms Terms>
void ThroughputResiduals<Terms>::operator()(const double* y, double* residuals, double* jacobian) const {
    const int own = parameters();
    const FitParameters x = from_units(y);
    std::copy_n(y, own, residuals);
    residuals[own] = 0;
    double* at = residuals + own + 1;
    const auto write = [&](const Row& row, const RowErrors& errors) {
        const double unit = std::sqrt(row.weight) / (scatter * row.scatter);
        *at++ = unit * errors.step;
        if (const double part = compute_weight(row); part > 0)
            *at++ = unit * std::sqrt(part) * errors.compute;
    };
    if (!jacobian) return for_each_row(x, write);

    const std::ptrdiff_t height = count();
    const auto slope_at = [&](std::ptrdiff_t row, std::size_t column) -> double& {
        return jacobian[row + static_cast<std::ptrdiff_t>(column) * height];
    };
    std::fill_n(jacobian, height * own, 0.0);
    for (std::size_t i = 0; i < terms.parameters(); ++i) slope_at(static_cast<std::ptrdiff_t>(i), i) = 1;
    using Touched = detail::TouchedParameters<detail::most_touched<Terms>()>;
    Touched for_overlap(x.data());
    const typename Touched::Scalar log_overlap(terms.log_overlap(for_overlap));
    const double gamma = 1 + std::exp(log_overlap.a);
    double pull = 0;  // half the derivative of the rows' sum by ln(gamma - 1)
    for (const Row& row : rows) {
        const auto line = at - residuals;
        Touched for_compute(x.data()), for_sync(x.data());
        const auto add = [&](std::ptrdiff_t to, const Touched& touched, const auto& term, double by) {
            touched.for_each_derivative(
                term, [&](std::size_t i, double slope) { slope_at(to, i) += by * slope * deviation[i]; });
        };
        const double unit = std::sqrt(row.weight) / (scatter * row.scatter);
        const typename Touched::Scalar log_compute(terms.log_compute(for_compute, row.features));
        RowErrors errors;
        if (row.alone) {
            errors = errors_of(row, log_compute.a, 0, gamma);
        } else {
            const typename Touched::Scalar log_sync(terms.log_sync(for_sync, row.features));
            errors = errors_of(row, log_compute.a, log_sync.a, gamma);
            add(line, for_sync, log_sync, unit * errors.sync_share);
            add(line, for_overlap, log_overlap, unit * errors.by_overlap);
            pull += unit * unit * errors.by_overlap * errors.step;
        }
        add(line, for_compute, log_compute, unit * (1 - errors.sync_share));
        if (const double part = compute_weight(row); part > 0)
            add(line + 1, for_compute, log_compute, unit * std::sqrt(part));
        write(row, errors);
    }
    for_overlap.for_each_derivative(log_overlap, [&](std::size_t i, double slope) {
        slope_at(own, i) = std::sqrt(std::max(pull, 0.0)) * slope * deviation[i];
    });
}

/// The terms of Pollux's model. The parameters are ln of alpha_c, beta_c, alpha_r, beta_r, alpha_n, beta_n,
/// and ln(gamma - 1).
struct PolluxTerms {
    static constexpr int most_touched = 2;  ///< parameters that one term reads

    std::array<double, 7> mean{};                                  ///< means of the prior
    std::array<double, 7> deviation{1, 1, 1.5, 1.5, 1.5, 1.5, 1};  ///< standard deviations of the prior

    /// The prior of a job that computes for about `seconds` at `batch`. Half of that time is constant.
    /// Synchronising takes an eighth of it on one node and a quarter on several nodes, plus a tenth of this
    /// for each additional replica.
    PolluxTerms(double seconds, double batch) {
        const double whole = std::log(seconds);
        mean = {whole - std::numbers::ln2,
                whole - std::numbers::ln2 - std::log(batch),
                whole - 3 * std::numbers::ln2,
                whole - 3 * std::numbers::ln2 - std::log(10.0),
                whole - 2 * std::numbers::ln2,
                whole - 2 * std::numbers::ln2 - std::log(10.0),
                0};
    }
    /// The prior around the middle of the samples, of which there must be at least one.
    explicit PolluxTerms(std::span<const ThroughputSample> samples) : PolluxTerms(1, 1) {
        double seconds = 0, batch = 0;
        for (const ThroughputSample& sample : samples) {
            const double step = sample.step_seconds / sample.microbatches();
            seconds += std::log(sample.compute_seconds().value_or(step));
            batch += std::log(sample.plan.atomic_batch);
        }
        const double count = std::max<double>(1, static_cast<double>(samples.size()));
        *this = PolluxTerms(std::exp(seconds / count), std::exp(batch / count));
    }

    /// Seven.
    [[nodiscard]] static std::size_t parameters() { return 7; }

    /// ln of the seconds of computing a microbatch.
    template <class X>
    [[nodiscard]] auto log_compute(X& x, const ThroughputSample& sample) const {
        using std::exp, std::log;
        return log(exp(x[0]) + exp(x[1]) * double(sample.plan.atomic_batch));
    }
    /// ln of the seconds of synchronising at least two replicas.
    template <class X>
    [[nodiscard]] auto log_sync(X& x, const ThroughputSample& sample) const {
        using std::exp, std::log;
        const std::size_t first = sample.shape.nodes > 1 ? 4 : 2;
        return log(exp(x[first]) + exp(x[first + 1]) * double(sample.shape.gpus - 2));
    }
    /// ln(gamma - 1).
    template <class X>
    [[nodiscard]] auto log_overlap(X& x) const {
        return x[6];
    }

    /// Returns the model with these parameters.
    [[nodiscard]] static PolluxThroughput model(std::span<const double> x) {
        return {.alpha_c = std::exp(x[0]),
                .beta_c = std::exp(x[1]),
                .alpha_n = std::exp(x[4]),
                .beta_n = std::exp(x[5]),
                .alpha_r = std::exp(x[2]),
                .beta_r = std::exp(x[3]),
                .gamma = 1 + std::exp(x[6])};
    }
};

}  // namespace goodput::inline v0_1

#endif
