#ifndef GOODPUT_PAIRS_PAIR_MODEL_HPP
#define GOODPUT_PAIRS_PAIR_MODEL_HPP

// How fast two jobs are that run on the same GPU at the same time, also where nobody has measured them
// together. Of each job and GPU type three numbers are known, as far as they are known, and the part of the
// GPU's memory that it takes. A step of job a beside job b takes
//
//     1 + sensitivity_a pressure_b + crowding_a crowding_b
//
// times as long as alone, and both run only where memory_a + memory_b <= 1. The first term is the GPU:
// kernels of both wait for each other, and a job of many long kernels keeps the other waiting more than it
// waits itself. So two numbers are needed: sensitivities and pressures differ by far. The second term is what
// is not the GPU, first of all the host: jobs that keep it busy lose beside their like, both in the same way.
// Sums of what either loses fit measurements better than products do, or a queueing model of kernels with
// weights.
//
// The numbers are known as logarithms with errors, so an estimate comes with an interval (first order).
// fit_pair_model() (pair_fit.hpp) finds them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "goodput/core/sample.hpp"
#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// What a job uses of one GPU type, and how well that is known.
struct PairUse {
    /// Natural logarithms of sensitivity, pressure and crowding, as far as they are known: means.
    std::array<double, 3> mean_log{};
    std::array<std::array<double, 3>, 3> covariance{};  ///< of these logarithms
    double memory = 0;            ///< at the peak, as a part of the GPU's memory, in [0, 1]
    double memory_deviation = 0;  ///< standard deviation of it; 0 where it was measured
};

/// Two jobs on one GPU of a type at the same time.
struct PairEstimate {
    bool fits = false;                   ///< whether the memory of both fits; false: all else is 0
    std::array<double, 2> parts{};       ///< speeds as parts of those alone, in [0, 1]
    std::array<double, 2> deviations{};  ///< standard deviations of what would be measured

    /// Where the speed of the first (0) or of the second (1) would be measured, as a part of that alone:
    /// within so many standard deviations, and in [0, 1]. 1.645: with a probability of 0.9.
    [[nodiscard]] Interval interval(std::size_t of, double deviations_wide = 1.645) const {
        const double width = deviations_wide * deviations[of];
        return {std::max(parts[of] - width, 0.0), std::min(parts[of] + width, 1.0)};
    }
};

namespace detail {

/// The speed beside another job as a part of that alone, and its derivatives by the logarithms.
struct PartOfSpeed {
    double part = 1;
    std::array<double, 3> by_own{}, by_other{};
};

/// Of a job beside another, whose logarithms begin at `own` and `other`.
inline PartOfSpeed part_of_speed(const double* own, const double* other) {
    constexpr double most = 30;  // beyond, a job stands still
    const double gpu = std::exp(std::min(own[0] + other[1], most));
    const double host = std::exp(std::min(own[2] + other[2], most));
    const double part = 1 / (1 + gpu + host), slope = -part * part;
    return {part, {slope * gpu, 0, slope * host}, {0, slope * gpu, slope * host}};
}

/// The variance of a number with these derivatives by uncertain ones.
inline double variance_of(const std::array<double, 3>& slopes,
                          const std::array<std::array<double, 3>, 3>& covariance) {
    double sum = 0;
    for (std::size_t i = 0; i < slopes.size(); ++i)
        for (std::size_t k = 0; k < slopes.size(); ++k) sum += slopes[i] * covariance[i][k] * slopes[k];
    return std::max(sum, 0.0);
}

}  // namespace detail

/// What kinds of jobs use of GPU types. A kind is a model with its batch size, say: jobs of one kind are
/// alike.
struct PairModel {
    std::size_t types = 0;          ///< number of GPU types
    std::vector<PairUse> uses{};    ///< by kind, then by GPU type
    std::vector<double> scatter{};  ///< by GPU type: standard deviation of parts measured about the model's
    /// How many standard deviations of the memory of both are left free beyond it, at least 0. With 0 a pair
    /// of unknown memory is more likely to fit than not where it is said to.
    double careful = 0;

    /// What a kind uses of a GPU type.
    [[nodiscard]] const PairUse& use(std::size_t kind, std::size_t type) const {
        return uses[kind * types + type];
    }
    /// Whether the memory of both fits.
    [[nodiscard]] bool fits(std::array<std::size_t, 2> kinds, std::size_t type) const {
        const PairUse &first = use(kinds[0], type), &second = use(kinds[1], type);
        const double reserve = careful * std::hypot(first.memory_deviation, second.memory_deviation);
        return first.memory + second.memory + reserve <= 1 + 1e-12;
    }
    /// How fast jobs of these kinds are together on a GPU type; of one kind: two jobs of it. Exchanging the
    /// two exchanges the answer's.
    [[nodiscard]] PairEstimate estimate(std::array<std::size_t, 2> kinds, std::size_t type) const {
        const PairUse* const of[] = {&use(kinds[0], type), &use(kinds[1], type)};
        PairEstimate result{.fits = fits(kinds, type)};
        for (std::size_t i = 0; i < 2 && result.fits; ++i) {
            const PairUse &own = *of[i], &other = *of[1 - i];
            const detail::PartOfSpeed at = detail::part_of_speed(own.mean_log.data(), other.mean_log.data());
            result.parts[i] = at.part;
            result.deviations[i] =
                std::sqrt(detail::variance_of(at.by_own, own.covariance) +
                          detail::variance_of(at.by_other, other.covariance) + scatter[type] * scatter[type]);
        }
        return result;
    }
};

/// Two jobs of a problem as a pair that may share GPUs, with the rates that the model expects; kinds[i] is
/// the kind of jobs[i]. On a type where their memory does not fit, and on one where the model expects that
/// they gain nothing that they would not have in turns, the rates are {0, 0}. None where that is so on every
/// type, for one and the same job, and for different numbers of workers.
[[nodiscard]] inline std::optional<SharePair> offered_pair(const ShareProblem& problem,
                                                           std::array<std::size_t, 2> jobs,
                                                           const PairModel& model,
                                                           std::array<std::size_t, 2> kinds) {
    if (jobs[0] == jobs[1] || problem.jobs[jobs[0]].workers != problem.jobs[jobs[1]].workers)
        return std::nullopt;
    SharePair pair{.jobs = jobs, .rates{problem.types(), {0, 0}}};
    bool any = false;
    for (std::size_t t = 0; t < problem.types(); ++t) {
        const PairEstimate together = model.estimate(kinds, t);
        for (std::size_t i = 0; i < 2; ++i)
            pair.rates[t][i] = together.parts[i] * problem.jobs[jobs[i]].rates[t];
        if (together.fits && pair_gains(problem, pair, t))
            any = true;
        else
            pair.rates[t] = {0, 0};
    }
    if (!any) return std::nullopt;
    return pair;
}

}  // namespace goodput::inline v0_1

#endif
