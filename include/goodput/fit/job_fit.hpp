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
// Of one type: which parameters of RefinedThroughput explain the measurements, and how sure are we of them?
// Those of greatest posterior probability: least squares in the logarithms of computing and step times over
// the samples, plus the prior's (fit/throughput_terms.hpp has the residuals, refined_prior.hpp the prior,
// detail/refined_fitting.hpp the method). So everything that samples leave open is there all the same, from
// the prior, with the prior's uncertainty: a parameter is identified where the samples have halved its
// variance. A result that is not to be trusted gives way to the previous fit, or to the prior around the
// computing times (minimise.hpp).
//
// Incremental: a type whose measurements have not changed keeps its evidence as long as the reference batch
// stays, in whose unit it is, and every fit starts from the last one. Cost: two fits for the type that
// changed, one for each other; each O(samples P^2) for some 10 to 30 iterations, a few where it goes on from
// the last one, with P = 11 + break points, at most 36.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/refined_fit.hpp"

namespace goodput {

/// What the fit of one GPU type starts from, and how long it may take.
struct RefinedFitOptions {
    RefinedPrior prior = RefinedPopulation().prior();  ///< what is believed without measurements
    /// A previous fit of this job on this type, to start from; one that no fitter can have written counts as
    /// none.
    const RefinedFit* start = nullptr;
    double reference_batch = 0;  ///< the same for all types of a job; 0: the geometric mean of the samples'
    int max_iterations = 100;    ///< of all minimisations together, at most 2^20
    bool robust = true;          ///< weigh stragglers down
    std::string_view subject = "throughput samples";  ///< whom messages about bad samples name
};

/// What is known of a job on one GPU type.
struct TypeFit {
    RefinedFit fit{};  ///< fit.samples is 0 where the type was never measured
    std::array<ParameterEvidence, refined_parameters> evidence{};  ///< of its own measurements
};

namespace detail {

/// The measurements of a job on one GPU type, and whether they differ from those of the fit before.
struct TypeSamples {
    std::span<const ThroughputSample> samples{};
    bool changed = true;
};
class JobFitting;

}  // namespace detail

/// Fits all GPU types of a job together, or one by itself, again and again; keeps its buffers: once it has
/// met its largest job, only TinySolver allocates.
class JobFitter {
public:
    JobFitter() = default;
    /// `population`: what is believed of jobs before anything is measured; refused where validate() says so
    /// (std::invalid_argument).
    explicit JobFitter(RefinedPopulation population);
    /// The same; `minimise` minimises, minimise_with_ceres (fit/ceres_backend.hpp) for one.
    JobFitter(RefinedPopulation population, Minimise minimise);

    /// Fits `types[t]` to `samples_of(t)`, a range of the measurements on GPU type t (empty where there are
    /// none); `changed(t)` says whether they differ from those of the last call with these `types`. Without
    /// any measurement of the job on any type nothing happens. `reference_batch`: the atomic batch at which
    /// half of the computing time is expected to be constant; 0: the geometric mean of the samples'. A type
    /// whose samples no fit explains keeps its last fit, or gets the prior's (FitStatus). Refuses bad samples
    /// and batches, and leaves `types` as they are (std::invalid_argument naming `subject`).
    template <class SamplesOf, class Changed>
    void operator()(SamplesOf samples_of, std::span<TypeFit> types, std::string_view subject, Changed changed,
                    double reference_batch = 0) {
        measured_.clear();
        for (std::size_t t = 0; t < types.size(); ++t) measured_.push_back({samples_of(t), changed(t)});
        fit_types(types, subject, reference_batch);
    }

    /// The same, everything changed, with `samples[t]` for type t; as many as `types`.
    void operator()(std::span<const std::vector<ThroughputSample>> samples, std::span<TypeFit> types,
                    std::string_view subject = "throughput samples") {
        if (samples.size() != types.size())
            bad_input(subject, "GPU types with samples", samples.size(), text_of(types.size()));
        (*this)([&](std::size_t t) -> std::span<const ThroughputSample> { return samples[t]; }, types,
                subject, [](std::size_t) { return true; });
    }

    /// The parameters that explain `samples` of one job on one GPU type, in any order, duplicates welcome,
    /// under the prior of the options. The model is always one that predicts; status says whether the samples
    /// or what was believed before made it. Refuses an empty set, bad samples and bad options, `fit` left as
    /// it is (std::invalid_argument).
    void fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, RefinedFit& fit);

    /// The same, returned; allocates the result.
    [[nodiscard]] RefinedFit fit(std::span<const ThroughputSample> samples,
                                 const RefinedFitOptions& options = {}) {
        RefinedFit result;
        fit(samples, options, result);
        return result;
    }

private:
    void fit_types(std::span<TypeFit> types, std::string_view subject, double reference_batch);

    std::vector<detail::TypeSamples> measured_{};
    detail::Kept<detail::JobFitting> kept_;
};

/// As JobFitter::fit, for a single fit.
[[nodiscard]] inline RefinedFit fit_refined(std::span<const ThroughputSample> samples,
                                            const RefinedFitOptions& options = {}) {
    return JobFitter().fit(samples, options);
}

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/fit/detail/job_fit.hpp"
#endif

#endif
