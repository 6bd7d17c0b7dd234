#ifndef GOODPUT_POLICIES_POLLUX_HPP
#define GOODPUT_POLICIES_POLLUX_HPP

// Pollux's policy (Qiao et al., OSDI'21, section 4.2; where paper and released artifact differ, as in the
// artifact). It maximises the power mean of the speedups of all J active jobs,
//
//     ( 1/J * sum_j (speedup_j + e)^p )^(1/p)           p = 0: the geometric mean; e > 0 spares 0^p
//     speedup = factor * goodput / goodput on the fair share of ceil(C / J) of the cluster's C GPUs
//     factor  = max(age - restarts * cost, 0) / (age + cost)            1 for what the job holds already
//
// The mean increases with a sum over jobs, and a job that gets nothing has speedup 0. So the power mean is
// largest if the sum of these values is largest:
//
//     value = e^p - (speedup + e)^p   (p < 0)      log(speedup + e) - log(e)   (p = 0)
//             (speedup + e)^p - e^p   (p > 0)
//
// The lower p, the more even the speedups. As in Sia, which took this from Pollux, a job gets at most twice
// the number of GPUs on which it was measured.
//
// Differences from the published system:
// - The optimum replaces a genetic search over jobs and nodes. The numbers of GPUs on offer are those for
//   which nodes can always be found (ListedShapes).
// - GPUs of all types count the same, as in a cluster of one type: an option is compared with the fair
//   share of its own type. So on a mixed cluster the speeds of the types cancel out, and Pollux does not
//   look for the best type.
// - Goodput on the fair share is interpolated between the options offered, and proportional to GPUs beyond
//   the largest (published: predicted by the model, even for sizes that the job may not have yet).
// - The cost of a restart is the job's own, not 30 s for all jobs, and a start costs nothing. The published
//   factor also includes starts, and gives a job of age 0 nothing.
// - e is 0.01, not 0.001. For p = -1, every running job adds about e^p to the sum of the values, and the
//   allotment stops at a gap relative to this sum. With a smaller e, the differences between jobs would be
//   lost in the gap.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"
#include "goodput/policy/sia.hpp"

namespace goodput::inline v0_1 {

/// Maximises the power mean of the jobs' speedups. It is a RoundPolicy.
struct Pollux {
    double fairness_power = -1;  ///< p: the lower, the more even the speedups
    double idle_speedup = 0.01;  ///< e: added to every speedup

    /// Throws std::invalid_argument for settings with which values would not be finite.
    void validate() const {
        require_positive("policy pollux", "idle", idle_speedup);
        if (!std::isfinite(fairness_power) || !std::isfinite(std::pow(idle_speedup, fairness_power)))
            bad_input("policy pollux", "p", fairness_power, "a finite number for which idle^p is finite");
    }

    /// Returns twice the largest number of GPUs on which the job was measured, over all types; at least one
    /// replica.
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        return Sia{}.most_gpus(job, model, gpu_type);
    }

    /// Sets the values of all jobs' options.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        int gpus = 0;
        for (const Pool& pool : round.pools) gpus += pool.gpus();
        const auto jobs = static_cast<int>(rows.size());
        // If all nodes are drained, the fair share is one GPU, for jobs that may stay on drained nodes.
        for (const OptionRow& row : rows)
            value_row(round, row, std::clamp((gpus + jobs - 1) / jobs, 1, row.job.max_gpus));
    }

    /// Returns the goodput on `gpus` GPUs of a share's pool: interpolated between the options there, and
    /// proportional to the number of GPUs beyond the largest option. Returns 0 if there are no options.
    [[nodiscard]] static double goodput_at(std::span<const Option> options, const PoolShare& pool, int gpus) {
        Point below{0, 0}, above{std::numeric_limits<int>::max(), 0};
        for (const Option& option : options) {
            const PoolShare& there = option.configuration.first();
            if (option.goodput <= 0 || !there.same_pool(pool)) continue;
            const Point point{option.configuration.gpus(), option.goodput};
            if (point.gpus <= gpus && point.gpus > below.gpus) below = point;
            if (point.gpus >= gpus && point.gpus < above.gpus) above = point;
        }
        if (above.goodput <= 0) return below.gpus > 0 ? below.goodput * gpus / below.gpus : 0;
        if (above.gpus == below.gpus) return above.goodput;
        return below.goodput +
               (above.goodput - below.goodput) * (gpus - below.gpus) / (above.gpus - below.gpus);
    }

private:
    struct Point {
        int gpus = 0;
        double goodput = 0;
    };

    void value_row(const Round& round, const OptionRow& row, int fair_share) const {
        const Configuration held = round.held_by(row.job);
        const double factor =
            detail::kept_of_life(round.age_of(row.job), row.job.restarts, row.job.restart_cost_seconds);
        double fair = 0;
        for (std::size_t k = 0; k < row.options.size(); ++k) {
            const PoolShare& part = row.options[k].configuration.first();
            if (k == 0 || !part.same_pool(row.options[k - 1].configuration.first()))
                fair = goodput_at(row.options, part, fair_share);
            const bool stays = held.empty() || row.options[k].configuration.same_gpus(held);
            row.values[k] = row.options[k].goodput > 0
                                ? value_of(row.options[k].goodput / fair * (stays ? 1 : factor))
                                : 0;
        }
    }

    [[nodiscard]] double value_of(double speedup) const {
        const double e = idle_speedup, p = fairness_power;
        if (p == 0) return std::log1p(speedup / e);
        const double gain = std::pow(speedup + e, p) - std::pow(e, p);
        return p < 0 ? -gain : gain;
    }
};

static_assert(RoundPolicy<Pollux> && GrowthLimit<Pollux>);

}  // namespace goodput::inline v0_1

#endif
