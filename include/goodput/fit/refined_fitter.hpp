#ifndef GOODPUT_FIT_REFINED_FITTER_HPP
#define GOODPUT_FIT_REFINED_FITTER_HPP

// Which parameters of RefinedThroughput explain the measurements of a job on one GPU type, and how sure are
// we of them?
//
// Problem. The parameters of greatest posterior probability: least squares in the logarithms of computing and
// step times over the samples, plus the prior's (fit/throughput_residuals.hpp has the residuals,
// refined_prior.hpp the prior). So everything that samples leave open is there all the same, from the prior,
// with the prior's uncertainty: a parameter is identified where the samples have halved its variance.
//
// A result that is not to be trusted gives way to the previous fit, or to the prior around the computing
// times (fit_status.hpp).
//
// detail/refined_fitter.hpp has the method. Cost: O(samples P^2) for each of some 10 to 30 iterations, with
// P = 11 + break points, at most 36.

#include <span>
#include <string_view>

#include "goodput/core/bodies.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/fit/refined_prior.hpp"

namespace goodput {

class TinyBackend;
namespace detail {
template <class Backend>
class RefinedFitting;
}

/// What a fit starts from, and how long it may take.
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

/// Fits again and again, without allocating as long as samples and batches stay as many. `Backend` minimises:
/// TinyBackend (fit/least_squares.hpp), or CeresBackend (fit/ceres_backend.hpp).
template <class Backend = TinyBackend>
class RefinedFitter {
public:
    RefinedFitter() = default;
    /// `backend` minimises the sum of squares.
    explicit RefinedFitter(Backend backend);

    /// The parameters that explain `samples` of one job on one GPU type, in any order, duplicates welcome.
    /// The model is always one that predicts; status says whether the samples or what was believed before
    /// made it. Refuses an empty set, bad samples and bad options, `fit` left as it is
    /// (std::invalid_argument).
    void fit(std::span<const ThroughputSample> samples, const RefinedFitOptions& options, RefinedFit& fit);

    /// The same, returned; allocates the result.
    [[nodiscard]] RefinedFit fit(std::span<const ThroughputSample> samples,
                                 const RefinedFitOptions& options = {}) {
        RefinedFit result;
        fit(samples, options, result);
        return result;
    }

private:
    detail::Kept<detail::RefinedFitting<Backend>> kept_;
};

/// As RefinedFitter::fit, for a single fit.
template <class Backend = TinyBackend>
[[nodiscard]] RefinedFit fit_refined(std::span<const ThroughputSample> samples,
                                     const RefinedFitOptions& options = {}) {
    return RefinedFitter<Backend>().fit(samples, options);
}

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/fit/detail/refined_fitter.hpp"
#endif

#endif
