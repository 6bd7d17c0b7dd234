#ifndef GOODPUT_HADAR_DETAIL_PARTS_TRIED_HPP
#define GOODPUT_HADAR_DETAIL_PARTS_TRIED_HPP

// Selects the pools and sizes that are tried by makers (OptionMaker) of configurations with several parts.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput::inline v0_1::detail {

/// Returns at most `most` pools that a job can use: the fastest ones by the rates that its owner declared.
inline std::vector<std::size_t> fastest_pools(const Round& round, const Job& job, std::size_t most) {
    std::vector<std::size_t> pools;
    for (std::size_t p = 0; p < round.pools.size(); ++p)
        if (!round.pools[p].nodes.empty() && job.types[round.pools[p].gpu_type].max_atomic_batch > 0)
            pools.push_back(p);
    std::stable_sort(pools.begin(), pools.end(), [&](std::size_t a, std::size_t b) {
        return job.types[round.pools[a].gpu_type].reference_rate >
               job.types[round.pools[b].gpu_type].reference_rate;
    });
    if (pools.size() > most) pools.resize(most);
    std::sort(pools.begin(), pools.end());
    return pools;
}

/// Thins a list longer than `most` to `most` evenly spaced entries, including the first and the last.
template <class T>
void thin_out(std::vector<T>& list, std::size_t most) {
    if (list.size() <= most) return;
    std::vector<T> left;
    for (std::size_t i = 0; i < most; ++i)
        left.push_back(std::move(list[most > 1 ? i * (list.size() - 1) / (most - 1) : 0]));
    list = std::move(left);
}

}  // namespace goodput::inline v0_1::detail

#endif
