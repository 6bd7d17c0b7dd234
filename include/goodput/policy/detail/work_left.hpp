#ifndef GOODPUT_POLICY_DETAIL_WORK_LEFT_HPP
#define GOODPUT_POLICY_DETAIL_WORK_LEFT_HPP

// Computes how much work a job has left, and how fast it would run alone or with an equal share of the
// cluster. Policies that use completion times need this.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the option with the largest goodput; among equal ones, one with the fewest GPUs. Null if no
/// option has goodput.
inline const Option* best_option(std::span<const Option> options) {
    const Option* best = nullptr;
    for (const Option& option : options) {
        const double most = best ? best->goodput : 0;
        if (option.goodput > most ||
            (best && option.goodput == most && option.configuration.gpus() < best->configuration.gpus()))
            best = &option;
    }
    return best;
}

/// Returns the examples that a job has left: the declared ones, or else the expectation from jobs of its
/// kind, or else as many as take `assumed_seconds` on its best option.
inline double examples_left(const OptionRow& row, double assumed_seconds) {
    if (const auto& left = row.job.examples_left()) return *left;
    return assumed_seconds * best_goodput(row.options);
}

/// Returns the factor by which a restart now lowers the value of a job's speed, in [0, 1]: the seconds that
/// the job has worked so far over its age after the restart (Pollux, section 4.1.1).
inline double kept_of_life(double age, int restarts, double cost) {
    return std::max(age - restarts * cost, 0.0) / std::max(age + cost, std::numeric_limits<double>::min());
}

/// Returns the examples per second of a job that has 1 / `jobs` of the GPUs of every pool for itself (the
/// isolated throughput of Gavel, OSDI'20, section 4). If that is less than the job needs at once, it is
/// taken to have as many GPUs as it needs for a part of the time. The result is the sum over pools of
/// capacity / (jobs * GPUs) * goodput of the best option there. It is scaled down if the parts of the time
/// add up to more than 1. If no pool has an option, returns the job's best goodput.
inline double isolated_goodput(const Round& round, const OptionRow& row, std::size_t jobs) {
    double time = 0, rate = 0;
    for (std::size_t p = 0; p < round.pools.size(); ++p) {
        const Option* best = nullptr;
        for (const Option& option : row.options) {
            const PoolShare& part = option.configuration.first();
            if (option.goodput > 0 && option.configuration.is_single() &&
                part.same_pool(round.pools[p].share({})) && (!best || option.goodput > best->goodput))
                best = &option;
        }
        if (!best) continue;
        const double part = round.pools[p].gpus() / (static_cast<double>(std::max<std::size_t>(jobs, 1)) *
                                                     best->configuration.gpus());
        time += part;
        rate += part * best->goodput;
    }
    return rate > 0 ? rate / std::max(1.0, time) : best_goodput(row.options);
}

}  // namespace goodput::inline v0_1::detail

#endif
