#ifndef GOODPUT_FIT_JOB_FIT_HPP
#define GOODPUT_FIT_JOB_FIT_HPP

// Fits a job's models on all GPU types, each to its own measurements and to the evidence from the other
// types.
//
// First, every measured type is fitted under the prior of an unknown job. The evidence of each type
// (RefinedFit::evidence: what its measurements alone say) then forms the priors of the other types
// (refined_prior.hpp). Finally each type is fitted again under its new prior, starting from the first fit.
// A type without measurements gets its prior as its model. So a job that ran on one GPU of each type, and
// on many GPUs of a single type, has models of all types, with intervals that tell how certain each is.
//
// The fit of one type finds the parameters of RefinedThroughput with the greatest posterior probability,
// and their uncertainty. It minimises the squared errors of the logarithms of computing and step times over
// the samples, plus the prior's terms (the residuals are in fit/throughput_terms.hpp, the prior in
// refined_prior.hpp, the method in detail/refined_fitting.hpp). Whatever the samples leave open keeps the
// prior's value and uncertainty. If small batches may wait for the host (detail/launch_evidence.hpp), a
// second fit with a least computing time follows, and takes the place of the first one if it holds. A
// parameter is identified if the samples have halved its variance. A result that cannot be trusted is
// replaced by the previous fit, or by the prior around the measured computing times (minimise.hpp).
//
// Fits are incremental. A type whose measurements have not changed keeps its evidence as long as the
// reference batch, its unit, stays the same. Every fit starts from the last one. The cost is two fits for
// the changed type and one for each other type. A fit takes O(samples P^2) per iteration, with P = 11 +
// break points, at most 36. It takes 10 to 30 iterations, or a few if it continues from the last fit.

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

namespace goodput::inline v0_1 {

/// The start of the fit of one GPU type, and its limits.
struct RefinedFitOptions {
    RefinedPrior prior = RefinedPopulation().prior();  ///< belief before any measurement
    /// A previous fit of this job on this type, as the start. A fit that no fitter can have written is
    /// ignored.
    const RefinedFit* start = nullptr;
    /// The same for all types of a job; 0: the geometric mean of the samples' batches.
    double reference_batch = 0;
    int max_iterations = 100;                         ///< total of all minimisations, at most 2^20
    bool robust = true;                               ///< give stragglers less weight
    std::string_view subject = "throughput samples";  ///< name of the samples in error messages
};

/// The knowledge about a job on one GPU type.
struct TypeFit {
    RefinedFit fit{};  ///< fit.samples is 0 if the type was never measured
    std::array<ParameterEvidence, refined_parameters> evidence{};  ///< what the type's own measurements say
};

namespace detail {

/// The measurements of a job on one GPU type, and whether they differ from those of the previous fit.
struct TypeSamples {
    std::span<const ThroughputSample> samples{};
    bool changed = true;
};
class JobFitting;

}  // namespace detail

/// Fits all GPU types of a job together, or one type by itself. Use one fitter many times, because it keeps
/// its buffers: after its largest job only TinySolver allocates.
class JobFitter {
public:
    JobFitter() = default;
    /// `population` is the belief about jobs before any measurement. Throws std::invalid_argument if
    /// RefinedPopulation::validate() rejects it.
    explicit JobFitter(RefinedPopulation population);
    /// The same with another minimiser, for example minimise_with_ceres (fit/ceres_backend.hpp).
    JobFitter(RefinedPopulation population, Minimise minimise);

    /// Fits `types[t]` to `samples_of(t)`, the range of measurements on GPU type t, which may be empty.
    /// `changed(t)` says whether they differ from those of the last call with these `types`. Does nothing
    /// if the job has no measurement on any type. `reference_batch` is the atomic batch at which half of
    /// the computing time is expected to be constant; 0 means the geometric mean of the samples' batches. A
    /// type whose samples no fit explains keeps its last fit, or gets the prior (see FitStatus). Throws
    /// std::invalid_argument, which names `subject`, and leaves `types` unchanged if a sample or the batch
    /// is invalid.
    template <class SamplesOf, class Changed>
    void operator()(SamplesOf samples_of, std::span<TypeFit> types, std::string_view subject, Changed changed,
                    double reference_batch = 0) {
        measured_.clear();
        for (std::size_t t = 0; t < types.size(); ++t) measured_.push_back({samples_of(t), changed(t)});
        fit_types(types, subject, reference_batch);
    }

    /// The same for `samples[t]` of type t, all of them changed. Throws std::invalid_argument if the spans
    /// differ in length.
    void operator()(std::span<const std::vector<ThroughputSample>> samples, std::span<TypeFit> types,
                    std::string_view subject = "throughput samples") {
        if (samples.size() != types.size())
            bad_input(subject, "GPU types with samples", samples.size(), text_of(types.size()));
        (*this)([&](std::size_t t) -> std::span<const ThroughputSample> { return samples[t]; }, types,
                subject, [](std::size_t) { return true; });
    }

    /// Finds the parameters that explain `samples` of one job on one GPU type under the prior of the
    /// options. The samples may be in any order and contain duplicates. The resulting model can always
    /// predict; fit.status says whether it comes from the samples or from earlier beliefs. Throws
    /// std::invalid_argument and leaves `fit` unchanged if there are no samples, or if samples or options
    /// are invalid.
    void fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, RefinedFit& fit);

    /// The same, but returns the fit and allocates it.
    [[nodiscard]] RefinedFit fit(std::span<const ThroughputSample> samples,
                                 const RefinedFitOptions& options = {}) {
        RefinedFit result;
        fit(samples, options, result);
        return result;
    }

private:
    void fit_types(std::span<TypeFit> types, std::string_view subject, double reference_batch);

    std::vector<detail::TypeSamples> measured_{};
    detail::HiddenState<detail::JobFitting> kept_;
};

/// Fits once, as JobFitter::fit does.
[[nodiscard]] inline RefinedFit fit_refined(std::span<const ThroughputSample> samples,
                                            const RefinedFitOptions& options = {}) {
    return JobFitter().fit(samples, options);
}

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/fit/detail/job_fit.hpp"
#endif

#endif
