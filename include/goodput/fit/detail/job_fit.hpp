#ifndef GOODPUT_FIT_DETAIL_JOB_FIT_HPP
#define GOODPUT_FIT_DETAIL_JOB_FIT_HPP

// The function bodies of job_fit.hpp.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/detail/refined_fitting.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/refined_fit.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The work and the state of JobFitter.
class JobFitting {
public:
    explicit JobFitting(RefinedPopulation population = {}, Minimise minimise = minimise_with_tiny_solver)
        : population_(population), one_type_(minimise) {
        population_.validate("population");
    }

    void fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, RefinedFit& fit) {
        one_type_.fit(samples, options, fit);
    }

    void fit(std::span<const TypeSamples> measured, std::span<TypeFit> types, std::string_view subject,
             double reference_batch) {
        if (reference_batch != 0) require_reference_batch(subject, reference_batch);
        double log_batches = 0, count = 0;
        std::size_t measured_types = 0;
        for (std::size_t t = 0; t < types.size(); ++t) {
            const std::span<const ThroughputSample> samples = measured[t].samples;
            for (const ThroughputSample& sample : samples) {
                goodput::validate(sample, subject);
                log_batches += std::log(sample.plan.atomic_batch);
            }
            count += static_cast<double>(samples.size());
            measured_types += samples.empty() ? 0U : 1U;
        }
        if (measured_types == 0) return;
        RefinedFitOptions options;
        options.reference_batch = reference_batch > 0 ? reference_batch : std::exp(log_batches / count);
        options.subject = subject;
        options.prior = population_.prior();
        for (std::size_t t = 0; t < types.size(); ++t) {
            TypeFit& type = types[t];
            const std::span<const ThroughputSample> samples = measured[t].samples;
            if (samples.empty()) {
                type.fit.samples = 0;
                type.evidence = {};
            } else if (measured[t].changed || type.fit.samples == 0 ||
                       type.fit.reference_batch != options.reference_batch) {
                options.start = type.fit.samples > 0 ? &type.fit : nullptr;
                one_type_.fit(samples, options, type.fit);
                type.evidence = type.fit.evidence();
            }
        }
        for (std::size_t t = 0; t < types.size(); ++t) {
            const std::span<const ThroughputSample> samples = measured[t].samples;
            if (measured_types == 1 && !samples.empty()) continue;
            others_.clear();
            for (std::size_t s = 0; s < types.size(); ++s)
                if (s != t && types[s].fit.samples > 0) others_.push_back(types[s].evidence);
            options.prior = population_.prior(others_);
            if (samples.empty()) {
                set_to_prior(types, t, options);
            } else {
                options.start = &types[t].fit;
                one_type_.fit(samples, options, types[t].fit);
            }
        }
    }

private:
    /// Gives a type without measurements its prior. Its speed is the average of the others, with a factor
    /// of two (worth two other types) or the spread of the others as its uncertainty.
    static void set_to_prior(std::span<TypeFit> types, std::size_t t, const RefinedFitOptions& options) {
        double level = 0, squares = 0, count = 0, scatter = 0;
        for (const TypeFit& other : types) {
            if (other.fit.samples == 0) continue;
            const double log_seconds = std::log(other.fit.model.compute_seconds(options.reference_batch));
            level += log_seconds;
            squares += log_seconds * log_seconds;
            scatter += other.fit.step_deviation;
            count += 1;
        }
        const double spread = std::max(squares - level * level / count, 0.0);
        RefinedFit& fit = types[t].fit;
        fit.compute_rmsle = fit.step_rmsle = 0;
        fit.samples = fit.stragglers = fit.iterations = 0;
        fit.status = FitStatus::prior_kept;
        fit.prior = options.prior;
        fit.reference_batch = options.reference_batch;
        fit.reference_seconds = std::exp(level / count);
        fit.step_deviation = scatter / count;
        fit.degrees_of_freedom = 2;
        detail::set_to_prior(fit, {});
        // Only the level of computing is unknown. Three coordinates share it.
        const double level_variance =
            (2 * square(std::numbers::ln2) + spread) / (1 + count) * (1 + 1 / count);
        const auto shares_level = [](std::size_t at) {
            return at == computing_constant || at == computing_slope || at == node_level;
        };
        fit.covariance.assign(refined_parameters * refined_parameters, 0);
        for (std::size_t i = 0; i < refined_parameters; ++i)
            for (std::size_t j = 0; j < refined_parameters; ++j) {
                double& covariance = fit.covariance[i * refined_parameters + j];
                if (shares_level(i) && shares_level(j)) covariance = level_variance;
                if (i == j && i != computing_constant && i != computing_slope)
                    covariance += square(fit.prior.deviation[i]);
            }
    }

    RefinedPopulation population_;
    RefinedFitting one_type_;
    std::vector<std::array<ParameterEvidence, refined_parameters>> others_{};
};

}  // namespace detail

GOODPUT_BODY JobFitter::JobFitter(RefinedPopulation population) { kept_.set(detail::JobFitting(population)); }
GOODPUT_BODY JobFitter::JobFitter(RefinedPopulation population, Minimise minimise) {
    kept_.set(detail::JobFitting(population, minimise));
}

GOODPUT_BODY void JobFitter::fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options,
                                 RefinedFit& fit) {
    kept_.get().fit(samples, options, fit);
}

GOODPUT_BODY void JobFitter::fit_types(std::span<TypeFit> types, std::string_view subject,
                                       double reference_batch) {
    kept_.get().fit(measured_, types, subject, reference_batch);
}

}  // namespace goodput::inline v0_1

#endif
