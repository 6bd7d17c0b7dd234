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

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/fit/refined_fitter.hpp"
#include "goodput/fit/refined_prior.hpp"

namespace goodput {

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
template <class Backend>
class JobFitting;

}  // namespace detail

/// Fits all GPU types of a job together, again and again, without allocating once it has met its largest job.
template <class Backend = TinyBackend>
class JobFitter {
public:
    JobFitter() = default;
    /// `population`: what is believed of jobs before anything is measured; refused where validate() says so
    /// (std::invalid_argument). `backend` minimises, see RefinedFitter.
    explicit JobFitter(RefinedPopulation population);
    /// The same, with a backend.
    JobFitter(RefinedPopulation population, Backend backend);

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
        fit(types, subject, reference_batch);
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
    void fit(std::span<TypeFit> types, std::string_view subject, double reference_batch);

    std::vector<detail::TypeSamples> measured_{};
    detail::Kept<detail::JobFitting<Backend>> kept_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/fit/detail/job_fit.hpp"
#endif

#endif
