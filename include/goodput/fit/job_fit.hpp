#ifndef GOODPUT_FIT_JOB_FIT_HPP
#define GOODPUT_FIT_JOB_FIT_HPP

// A job's models on all GPU types, each fitted to its own measurements and to what the others say.
//
// Every type with measurements is fitted under the prior of a job of which nothing is known; what its
// measurements alone say (RefinedFit::evidence) makes the priors of the others (refined_prior.hpp); under
// these each is fitted again, from where it stands. A type without measurements gets the prior itself as its
// model. So a job that ran on one GPU of each type and on many of a single one has models of all, with
// intervals that say which is which.
//
// Incremental: a type whose measurements have not changed keeps its evidence as long as the reference batch
// stays, in whose unit it is, and every fit starts from the last one. Cost: two fits of a few iterations for
// the type that changed, one for each other.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/refined_fitter.hpp"

namespace goodput {

/// What is known of a job on one GPU type.
struct TypeFit {
    RefinedFit fit{};  ///< fit.samples is 0 where the type was never measured
    std::array<ParameterEvidence, refined_parameters> evidence{};  ///< of its own measurements
};

/// Fits all GPU types of a job together, again and again, without allocating once it has met its largest job.
template <class Backend = TinyBackend>
class JobFitter {
public:
    /// `population`: what is believed of jobs before anything is measured; refused where validate() says so
    /// (std::invalid_argument).
    explicit JobFitter(RefinedPopulation population = {}, Backend backend = {})
        : population_(population), fitter_(std::move(backend)) {
        population_.validate("population");
    }

    /// Fits `types[t]` to `samples_of(t)`, a range of the measurements on GPU type t (empty where there are
    /// none); `changed(t)` says whether they differ from those of the last call with these `types`. Without
    /// any measurement of the job on any type nothing happens. `reference_batch`: the atomic batch at which
    /// half of the computing time is expected to be constant; 0: the geometric mean of the samples'. A type
    /// whose samples no fit explains keeps its last fit, or gets the prior's (FitStatus). Refuses bad samples
    /// and batches, and leaves `types` as they are (std::invalid_argument naming `subject`).
    template <class SamplesOf, class Changed>
    void operator()(SamplesOf samples_of, std::span<TypeFit> types, std::string_view subject, Changed changed,
                    double reference_batch = 0) {
        if (reference_batch != 0) detail::require_reference_batch(subject, reference_batch);
        double log_batches = 0, count = 0;
        std::size_t measured = 0;
        for (std::size_t t = 0; t < types.size(); ++t) {
            const std::span<const ThroughputSample> samples = samples_of(t);
            for (const ThroughputSample& sample : samples) {
                validate(sample, subject);
                log_batches += std::log(sample.plan.atomic_batch);
            }
            count += static_cast<double>(samples.size());
            measured += samples.empty() ? 0 : 1;
        }
        if (measured == 0) return;
        RefinedFitOptions options;
        options.reference_batch = reference_batch > 0 ? reference_batch : std::exp(log_batches / count);
        options.subject = subject;
        options.prior = population_.prior();
        for (std::size_t t = 0; t < types.size(); ++t) {
            TypeFit& type = types[t];
            const std::span<const ThroughputSample> samples = samples_of(t);
            if (samples.empty()) {
                type = {};
            } else if (changed(t) || type.fit.samples == 0 ||
                       type.fit.reference_batch != options.reference_batch) {
                options.start = type.fit.samples > 0 ? &type.fit : nullptr;
                fitter_.fit(samples, options, type.fit);
                type.evidence = type.fit.evidence();
            }
        }
        for (std::size_t t = 0; t < types.size(); ++t) {
            const std::span<const ThroughputSample> samples = samples_of(t);
            if (measured == 1 && !samples.empty()) continue;
            others_.clear();
            for (std::size_t s = 0; s < types.size(); ++s)
                if (s != t && types[s].fit.samples > 0) others_.push_back(types[s].evidence);
            options.prior = population_.prior(others_);
            if (samples.empty()) {
                set_to_prior(types, t, options);
            } else {
                options.start = &types[t].fit;
                fitter_.fit(samples, options, types[t].fit);
            }
        }
    }

    /// The same, everything changed, with `samples[t]` for type t; as many as `types`.
    void operator()(std::span<const std::vector<ThroughputSample>> samples, std::span<TypeFit> types,
                    std::string_view subject = "throughput samples") {
        if (samples.size() != types.size())
            bad_input(subject, "GPU types with samples", samples.size(), text_of(types.size()));
        (*this)([&](std::size_t t) -> std::span<const ThroughputSample> { return samples[t]; }, types,
                subject, [](std::size_t) { return true; });
    }

private:
    /// A type of which nothing is measured: as fast as the others on average, give or take a factor of two
    /// (worth two other types) or what they differ by.
    static void set_to_prior(std::span<TypeFit> types, std::size_t t, const RefinedFitOptions& options) {
        double level = 0, squares = 0, count = 0, scatter = 0;
        for (const TypeFit& other : types) {
            if (other.fit.samples == 0) continue;
            const double its = std::log(other.fit.model.compute_seconds(options.reference_batch));
            level += its;
            squares += its * its;
            scatter += other.fit.step_deviation;
            count += 1;
        }
        const double spread = std::max(squares - level * level / count, 0.0);
        RefinedFit& fit = types[t].fit;
        fit = {};
        fit.prior = options.prior;
        fit.reference_batch = options.reference_batch;
        fit.reference_seconds = std::exp(level / count);
        fit.step_deviation = scatter / count;
        fit.degrees_of_freedom = 2;
        detail::set_to_prior(fit, {});
        // What is not known of computing is its level, which three coordinates share.
        const double level_variance =
            (2 * detail::square(std::numbers::ln2) + spread) / (1 + count) * (1 + 1 / count);
        const auto shares_level = [](std::size_t at) {
            return at == computing_constant || at == computing_slope || at == node_level;
        };
        fit.covariance.assign(refined_parameters * refined_parameters, 0);
        for (std::size_t i = 0; i < refined_parameters; ++i)
            for (std::size_t j = 0; j < refined_parameters; ++j) {
                double& covariance = fit.covariance[i * refined_parameters + j];
                if (shares_level(i) && shares_level(j)) covariance = level_variance;
                if (i == j && i != computing_constant && i != computing_slope)
                    covariance += detail::square(fit.prior.deviation[i]);
            }
    }

    RefinedPopulation population_;
    RefinedFitter<Backend> fitter_;
    std::vector<std::array<ParameterEvidence, refined_parameters>> others_{};
};

}  // namespace goodput

#endif
