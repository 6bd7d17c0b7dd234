#ifndef GOODPUT_POLICY_DETAIL_WORK_LEFT_HPP
#define GOODPUT_POLICY_DETAIL_WORK_LEFT_HPP

// How much a job has still to do, and how fast it would get there alone or with an equal share of the
// cluster: what policies of completion times ask of a row.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace goodput::detail {

/// The option of largest goodput, of equals one with fewest GPUs; null where none has any.
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

/// Examples that a job has still to do: as declared, else as jobs of its kind needed, else what takes
/// `assumed_seconds` on its best option.
inline double examples_left(const OptionRow& row, double assumed_seconds) {
    if (row.job.remaining_examples) return *row.job.remaining_examples;
    if (row.job.expected_examples) return *row.job.expected_examples;
    return assumed_seconds * best_goodput(row.options);
}

/// Share of its past progress that a job of that age keeps if it restarts now, in [0, 1] (Pollux, section
/// 4.1.1).
inline double kept_of_life(double age, int restarts, double cost) {
    return std::max(age - restarts * cost, 0.0) / std::max(age + cost, std::numeric_limits<double>::min());
}

/// Examples/s of a job that has 1 / jobs of the GPUs of every pool for itself, for a part of the time where
/// that is less than it needs (the isolated throughput of Gavel, OSDI'20, section 4): the sum over pools of
/// capacity / (jobs x GPUs) x goodput of the best option there, scaled down if these parts of the time are
/// more than all of it. If no pool has an option, the answer is its best goodput.
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

}  // namespace goodput::detail

#endif
