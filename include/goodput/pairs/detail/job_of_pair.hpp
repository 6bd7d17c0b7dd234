#ifndef GOODPUT_PAIRS_DETAIL_JOB_OF_PAIR_HPP
#define GOODPUT_PAIRS_DETAIL_JOB_OF_PAIR_HPP

// Represents two jobs as one, with what a Scheduler itself needs to know about a pair: where it may run,
// and what a move costs. The partners say what the pair is worth (paired_parts.hpp).

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/pairs/job_pair.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the job that represents the pair of jobs `a` and `b`, both planned, and that holds `held`.
inline Job job_of_pair(const JobPair& pair, const Job& a, const Job& b, const Placement& held) {
    Job both{.name = a.name + " + " + b.name,
             .submitted_seconds = std::min(a.submitted_seconds, b.submitted_seconds),
             .restart_cost_seconds = a.restart_cost_seconds + b.restart_cost_seconds,
             .max_gpus = std::min(a.max_gpus, b.max_gpus),
             .adaptivity = Adaptivity::gpus,
             .initial_batch = 1,
             .target_batch = 1};
    both.min_gpus = std::min(std::max(a.fewest_gpus(), b.fewest_gpus()), both.max_gpus);
    for (std::size_t t = 0; t < pair.parts.size(); ++t) {
        const TypeLimits &of_a = a.types[t], &of_b = b.types[t];
        TypeLimits& limits = both.types.emplace_back();
        if (!pair.runs_on(t) || std::min(of_a.max_atomic_batch, of_b.max_atomic_batch) == 0) continue;
        const auto replica = std::lcm<long long>(of_a.gpus_per_replica, of_b.gpus_per_replica);
        if (replica > both.max_gpus) continue;
        limits.max_atomic_batch = 1;
        limits.gpus_per_replica = static_cast<int>(replica);
        limits.max_nodes = std::min(of_a.max_nodes, of_b.max_nodes);
        limits.nodes_now = std::min(of_a.nodes_now, of_b.nodes_now);
    }
    both.spot_allowed = a.spot_allowed && b.spot_allowed;
    both.within = a.within.empty() ? b.within : a.within;
    both.checkpoints.emplace_back();  // the partners' options say what interruptions cost
    both.preemptible = !pair.together || (!a.keeps_what_it_holds() && !b.keeps_what_it_holds());
    both.placement = held;
    return both;
}

/// Returns whether two jobs, both planned, that do not run together now may do so.
inline bool may_pair(const JobPair& pair, const Job& a, const Job& b) {
    const auto is_plain = [](const Job& job) {
        return !job.keeps_what_it_holds() && !job.tasks && !job.host;
    };
    const bool apart = !a.within.empty() && !b.within.empty() && a.within != b.within;
    if (!is_plain(a) || !is_plain(b) || apart) return false;
    if (std::max(a.fewest_gpus(), b.fewest_gpus()) > std::min(a.max_gpus, b.max_gpus)) return false;
    return std::ranges::any_of(job_of_pair(pair, a, b, {}).types,
                               [](const TypeLimits& on) { return on.max_atomic_batch > 0; });
}

}  // namespace goodput::inline v0_1::detail

#endif
