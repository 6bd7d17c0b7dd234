#ifndef GOODPUT_FIT_MODEL_FIT_HPP
#define GOODPUT_FIT_MODEL_FIT_HPP

// Finds the parameters of a throughput model that explain the measurements of a job on one GPU type. It
// works for any model that gives its terms and a prior (fit/throughput_terms.hpp): Pollux's (PolluxTerms),
// or one of your own.
//
// Method: Levenberg-Marquardt minimises the squared errors of the logarithms of computing and step times,
// starting from the prior's mean. Then the residuals give the scatter and the weights of stragglers. Both
// steps repeat until scatter and weights hardly change.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/log_step.hpp"
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/throughput_terms.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The scatter of steps about a model, and its degrees of freedom.
struct Scatter {
    double deviation = 0, freedom = 0;

    /// Computes the scatter from weighted squared errors. `parameters` reduces the degrees of freedom.
    Scatter(double squares, double weights, double parameters, double assumed_deviation = 0.03,
            double assumed_freedom = 2) {
        // The prior assumes a scatter of 3 %, worth two samples, because a perfect fit to few samples
        // proves little. Parameters take up less than one sample each, because their priors hold them back.
        freedom = weights - std::min(parameters, weights / 2) + assumed_freedom;
        deviation = std::sqrt((squares + assumed_freedom * square(assumed_deviation)) / freedom);
    }
};

/// Minimises roughly while the scatter or a weight still changes by more than 5 %, then once precisely.
/// Adds to `fit.iterations`. `adjust(scatter)` may change the scatter that the residuals at `x` imply, and
/// returns whether it changed the residuals otherwise.
template <ThroughputTerms Terms, class Fit, class Adjust>
FitStatus minimise_in_rounds(Minimise minimise, MinimiserBuffers& buffers,
                             ThroughputResiduals<Terms>& residuals, FitParameters& x, int max_iterations,
                             bool robust, Fit& fit, Adjust adjust) {
    const auto weigh = [&] {
        constexpr double much = 0.05;
        const WeighedRows weighed = residuals.weigh(x, robust);
        fit.stragglers = weighed.stragglers;
        double scatter = Scatter(weighed.squares, weighed.weights, residuals.parameters()).deviation;
        const bool adjusted = adjust(scatter);
        const double change = std::abs(std::log(scatter / residuals.scatter));
        residuals.scatter = scatter;
        return adjusted || change > much || weighed.largest_change > much;
    };
    weigh();
    bool settled = false;
    for (int round = 0;; ++round) {
        FitParameters y = residuals.to_units(x);
        const Minimisation found = minimise(residuals, std::span(y).first(residuals.terms.parameters()),
                                            {.max_iterations = max_iterations - fit.iterations,
                                             .relative_tolerance = 1e-11,
                                             .absolute_tolerance = settled ? 1e-5 : 1e-2,
                                             .rough = !settled},
                                            buffers);
        x = residuals.from_units(y.data());
        fit.iterations += found.iterations;
        if (settled || !is_fitted(found.status) || fit.iterations >= max_iterations) return found.status;
        settled = !weigh() || round == 7;
    }
}

}  // namespace detail

/// Terms that fit_model() can fit. They read samples, have a normal prior (a mean and a positive standard
/// deviation per parameter), and turn parameters into a model.
template <class Terms>
concept FittableTerms = ThroughputTerms<Terms> &&
    requires(const Terms& terms, std::span<const double> x, std::size_t i) {
    { terms.mean[i] } -> std::convertible_to<double>;
    { terms.deviation[i] } -> std::convertible_to<double>;
    { terms.model(x).iteration_seconds(Shape{}, BatchPlan{}) } -> std::convertible_to<double>;
};

/// Checks that a type is FittableTerms. If it is not, compilation fails with one line that names the wrong
/// function or member.
template <class Terms>
consteval bool terms_fit() {
    using X = std::span<const double>;
    using Features = typename detail::FeaturesOf<Terms>::type;
    static_assert(
        requires(const Terms& terms) {
            { terms.parameters() } -> std::convertible_to<std::size_t>;
        },
        "ThroughputTerms: parameters is missing, or is not: std::size_t parameters() const");
    static_assert(
        requires(const Terms& terms, X& x, const Features& features) {
            { terms.log_compute(x, features) } -> std::convertible_to<double>;
        },
        "ThroughputTerms: log_compute is missing, or is not: auto log_compute(const auto& x, const "
        "Features&) const, a number of x[i]'s type");
    static_assert(
        requires(const Terms& terms, X& x, const Features& features) {
            { terms.log_sync(x, features) } -> std::convertible_to<double>;
        },
        "ThroughputTerms: log_sync is missing, or is not: auto log_sync(const auto& x, const Features&) "
        "const, a number of x[i]'s type");
    static_assert(
        requires(const Terms& terms, X& x) {
            { terms.log_overlap(x) } -> std::convertible_to<double>;
        },
        "ThroughputTerms: log_overlap is missing, or is not: auto log_overlap(const auto& x) const, a number "
        "of x[i]'s type");
    static_assert(
        requires(const Terms& terms, std::size_t i) {
            { terms.mean[i] } -> std::convertible_to<double>;
            { terms.deviation[i] } -> std::convertible_to<double>;
        },
        "FittableTerms: mean or deviation is missing, or is no list of numbers, one for each parameter");
    static_assert(
        requires(const Terms& terms, X x) {
            { terms.model(x).iteration_seconds(Shape{}, BatchPlan{}) } -> std::convertible_to<double>;
        },
        "FittableTerms: model is missing, or is not: a ThroughputModel model(std::span<const double> x) "
        "const");
    return true;
}

/// The limits of a fit, and how it treats its samples.
struct ModelFitOptions {
    int max_iterations = 100;                         ///< total of all minimisations, at least 0
    bool robust = true;                               ///< give stragglers less weight
    std::string_view subject = "throughput samples";  ///< name of the samples in error messages
};

/// The parameters with the greatest posterior probability.
template <class Terms>
struct ModelFit {
    Terms terms;                       ///< the fitted terms
    std::vector<double> parameters{};  ///< the point with the least sum of squares
    std::vector<double> deviations{};  ///< posterior standard deviations
    double step_rmsle = 0;             ///< root mean square error of ln(step time), with equal weights
    double step_deviation = 0;         ///< standard deviation of ln(step time) about the model
    int samples = 0;                   ///< number of measurements
    int stragglers = 0;                ///< number of samples with reduced weight
    int iterations = 0;                ///< total of all minimisations
    /// How the fit ended; prior_kept means that the parameters are the prior's.
    FitStatus status = FitStatus::prior_kept;

    /// Returns the model with these parameters.
    [[nodiscard]] auto model() const { return terms.model(std::span<const double>(parameters)); }
};

/// Finds the parameters that explain `samples` of one job on one GPU type. The samples may be in any order
/// and contain duplicates. The sum of squares, in units of the prior's deviations and of the scatter, is
/// within negligible_squares of its minimum. Throws std::invalid_argument if there are no samples, if
/// samples or options are invalid, if a mean of the prior is not finite, or if a deviation is not positive.
template <FittableTerms Terms>
[[nodiscard]] ModelFit<Terms> fit_model(std::span<const ThroughputSample> samples, Terms terms,
                                        const ModelFitOptions& options = {},
                                        Minimise minimise = minimise_with_tiny_solver) {
    if (samples.empty()) bad_input(options.subject, "samples", "empty", "at least one measurement");
    for (const ThroughputSample& sample : samples) validate(sample, options.subject);
    const std::size_t count = terms.parameters();
    require_between(options.subject, "parameters", static_cast<long long>(count), 1,
                    static_cast<long long>(most_parameters));
    require_between(options.subject, "max_iterations", options.max_iterations, 0, 1 << 20);
    ModelFit<Terms> fit{.terms = terms, .samples = static_cast<int>(samples.size())};
    ThroughputResiduals<Terms> residuals(terms);
    for (std::size_t i = 0; i < count; ++i) {
        const double mean = terms.mean[i], deviation = terms.deviation[i];
        if (!std::isfinite(mean))
            bad_input(options.subject, "mean of parameter " + text_of(i), mean, "finite");
        require_positive(options.subject, "deviation of parameter " + text_of(i), deviation);
        residuals.mean[i] = mean;
        residuals.deviation[i] = deviation;
    }
    for (const ThroughputSample& sample : samples) residuals.rows.push_back(row_of<Terms>(sample, sample));
    FitParameters x = residuals.mean;
    MinimiserBuffers buffers;
    fit.status = detail::minimise_in_rounds(minimise, buffers, residuals, x, options.max_iterations,
                                            options.robust, fit, [&](double scatter) {
                                                fit.step_deviation = scatter;
                                                return false;
                                            });
    if (!is_fitted(fit.status) || !detail::all_finite(x)) {
        fit.status = FitStatus::prior_kept;
        x = residuals.mean;
    }
    double squares = 0;
    residuals.for_each_row(
        x, [&](const auto&, const RowErrors& errors) { squares += errors.step * errors.step; });
    fit.step_rmsle = std::sqrt(squares / fit.samples);
    Linearisation& there = buffers.there;
    there.find(residuals, residuals.to_units(x).data());
    const bool decomposed = there.decompose();
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        const double left = decomposed ? there.covariance_column(at)[at] : 1;
        fit.parameters.push_back(x[i]);
        fit.deviations.push_back(residuals.deviation[i] * std::sqrt(left));
    }
    return fit;
}

/// The overload for types that are not FittableTerms. It does not compile, and says in one line why.
template <class Terms>
requires(!FittableTerms<Terms>) ModelFit<Terms> fit_model(std::span<const ThroughputSample>, Terms terms,
                                                          const ModelFitOptions& = {}, Minimise = {}) {
    static_assert(terms_fit<Terms>());
    return {.terms = terms};
}

}  // namespace goodput::inline v0_1

#endif
