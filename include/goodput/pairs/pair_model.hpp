#ifndef GOODPUT_PAIRS_PAIR_MODEL_HPP
#define GOODPUT_PAIRS_PAIR_MODEL_HPP

// Estimates how fast two jobs run on the same GPU at the same time, even if they were never measured
// together. Each job has three uncertain numbers per GPU type, and takes a fraction of the GPU's memory. A
// step of job a, while it shares with job b, takes
//
//     1 + sensitivity_a pressure_b + crowding_a crowding_b
//
// times as long as alone. Both run only if memory_a + memory_b <= 1. The first term is the GPU: the kernels
// of both jobs wait for each other, and a job of many long kernels keeps the other waiting longer than it
// waits itself. So two numbers are needed: sensitivities and pressures differ widely. The second term is
// everything except the GPU, above all the host: jobs that keep it busy slow each other down, both in the
// same way. Adding the two losses fits measurements better than multiplying them, and better than a
// queueing model of weighted kernels.
//
// The numbers are known as logarithms with errors, so an estimate has an interval (to first order).
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
    /// Means of the natural logarithms of sensitivity, pressure and crowding.
    std::array<double, 3> mean_log{};
    std::array<std::array<double, 3>, 3> covariance{};  ///< covariance of these logarithms
    double memory = 0;            ///< at the peak, as a fraction of the GPU's memory, in [0, 1]
    double memory_deviation = 0;  ///< standard deviation of `memory`; 0 if it was measured
};

/// Two jobs on one GPU of a type at the same time.
struct PairEstimate {
    bool fits = false;                   ///< whether the memory of both fits; if not, all else is 0
    std::array<double, 2> parts{};       ///< speeds as fractions of the speeds alone, in [0, 1]
    std::array<double, 2> deviations{};  ///< standard deviations of what would be measured

    /// Interval in which the speed of the first (0) or the second job (1) would be measured, as a fraction
    /// of its speed alone: this many standard deviations to both sides, within [0, 1]. 1.645 gives a
    /// probability of 0.9.
    [[nodiscard]] Interval interval(std::size_t which, double deviations_wide = 1.645) const {
        const double width = deviations_wide * deviations[which];
        return {std::max(parts[which] - width, 0.0), std::min(parts[which] + width, 1.0)};
    }
};

namespace detail {

/// A job's speed while sharing, as a fraction of its speed alone, and its derivatives with respect to the
/// logarithms.
struct PartOfSpeed {
    double part = 1;
    std::array<double, 3> by_own{}, by_other{};
};

/// Returns the speed of a job while sharing with another; their logarithms begin at `own` and `other`.
inline PartOfSpeed part_of_speed(const double* own, const double* other) {
    constexpr double most = 30;  // with exponents above this, a job stands still
    const double gpu = std::exp(std::min(own[0] + other[1], most));
    const double host = std::exp(std::min(own[2] + other[2], most));
    const double part = 1 / (1 + gpu + host), slope = -part * part;
    return {part, {slope * gpu, 0, slope * host}, {0, slope * gpu, slope * host}};
}

/// Returns the variance of a number that has these derivatives with respect to uncertain numbers.
inline double variance_of(const std::array<double, 3>& slopes,
                          const std::array<std::array<double, 3>, 3>& covariance) {
    double sum = 0;
    for (std::size_t i = 0; i < slopes.size(); ++i)
        for (std::size_t k = 0; k < slopes.size(); ++k) sum += slopes[i] * covariance[i][k] * slopes[k];
    return std::max(sum, 0.0);
}

}  // namespace detail

/// What kinds of jobs use of GPU types. Jobs of one kind are alike, such as those of one model with one
/// batch size.
struct PairModel {
    std::size_t types = 0;        ///< number of GPU types
    std::vector<PairUse> uses{};  ///< by kind, then by GPU type
    /// By GPU type: standard deviation of measured fractions about the model's.
    std::vector<double> scatter{};
    /// Reserve of memory, in standard deviations of what both jobs take, at least 0. With 0, a pair of
    /// uncertain memory that is said to fit is more likely to fit than not.
    double careful = 0;

    /// What a kind uses of a GPU type.
    [[nodiscard]] const PairUse& use(std::size_t kind, std::size_t type) const {
        return uses[kind * types + type];
    }
    /// Returns whether the memory of both fits.
    [[nodiscard]] bool fits(std::array<std::size_t, 2> kinds, std::size_t type) const {
        const PairUse &first = use(kinds[0], type), &second = use(kinds[1], type);
        const double reserve = careful * std::hypot(first.memory_deviation, second.memory_deviation);
        return first.memory + second.memory + reserve <= 1 + 1e-12;
    }
    /// Returns how fast jobs of these kinds are together on a GPU type. Both kinds may be the same.
    /// Exchanging the kinds exchanges the two speeds.
    [[nodiscard]] PairEstimate estimate(std::array<std::size_t, 2> kinds, std::size_t type) const {
        const PairUse* const both[] = {&use(kinds[0], type), &use(kinds[1], type)};
        PairEstimate result{.fits = fits(kinds, type)};
        for (std::size_t i = 0; i < 2 && result.fits; ++i) {
            const PairUse &own = *both[i], &other = *both[1 - i];
            const detail::PartOfSpeed at = detail::part_of_speed(own.mean_log.data(), other.mean_log.data());
            result.parts[i] = at.part;
            result.deviations[i] =
                std::sqrt(detail::variance_of(at.by_own, own.covariance) +
                          detail::variance_of(at.by_other, other.covariance) + scatter[type] * scatter[type]);
        }
        return result;
    }
};

/// Returns two jobs of a problem as a pair that may share GPUs, with the rates that the model expects;
/// kinds[i] is the kind of jobs[i]. The rates are {0, 0} on a type where their memory does not fit, or
/// where the model expects no gain over taking turns. Returns nothing if that is so on every type, if both
/// jobs are the same, or if they have different numbers of workers.
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
