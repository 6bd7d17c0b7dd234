#ifndef GOODPUT_SCHEDULE_DETAIL_WHY_NO_OPTION_HPP
#define GOODPUT_SCHEDULE_DETAIL_WHY_NO_OPTION_HPP

// Says in a sentence for a job's owner why the job has no option (makers.hpp).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Returns for example "1, 2, 4, 8 GPUs". If there are many sizes, names those around `wanted`.
inline std::string text_of_sizes(const std::vector<int>& sizes, int wanted) {
    constexpr std::size_t most = 8;
    if (sizes.empty()) return "none";
    const auto above =
        static_cast<std::size_t>(std::lower_bound(sizes.begin(), sizes.end(), wanted) - sizes.begin());
    const std::size_t first =
        sizes.size() <= most ? 0 : std::min(above - std::min(above, most / 2), sizes.size() - most);
    const std::size_t last = std::min(first + most, sizes.size());
    std::string text = first > 0 ? "..., " : "";
    for (std::size_t i = first; i < last; ++i) text += (i > first ? ", " : "") + text_of(sizes[i]);
    if (last < sizes.size()) text += ", ...";
    return text + (text == "1" ? " GPU" : " GPUs");
}

/// Returns the sizes that a job could hold on a GPU type without its limits on GPUs: "8, 16 GPUs on T4 (in
/// replicas of 4)". For a job of a fixed size, names the largest number of GPUs that it could hold. Empty
/// if there are no open nodes.
inline std::string text_of_offers(const Job& job, const Cluster& cluster, std::span<const Pool> pools,
                                  std::size_t type) {
    Job freed = job;
    freed.adaptivity = Adaptivity::gpus;
    freed.min_gpus = 1;
    freed.max_gpus = std::numeric_limits<int>::max();
    const TypeLimits& limits = job.types[type];
    std::vector<int> sizes;
    long long most = 0;
    bool cut = false;
    for (const Pool& pool : pools) {
        if (pool.gpu_type != type || pool.nodes.empty()) continue;
        const auto nodes = static_cast<long long>(pool.nodes.size());
        cut |= nodes > limits.most_nodes();
        most = std::max(most, std::min<long long>(nodes, limits.most_nodes()) * pool.gpus_per_node);
        for_each_shape(freed, pool, [&](Shape shape) { sizes.push_back(shape.gpus); });
    }
    if (most == 0) return {};
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    std::string text = has_fixed_gpus(job) ? "at most " + text_of(most) + (most == 1 ? " GPU" : " GPUs")
                                           : text_of_sizes(sizes, job.min_gpus);
    text += " on " + cluster.gpu_types[type];
    const std::string replicas =
        limits.gpus_per_replica > 1 ? "in replicas of " + text_of(limits.gpus_per_replica) : "";
    const int spread_over = limits.most_nodes();
    std::string spread =
        cut ? "on at most " + text_of(spread_over) + (spread_over == 1 ? " node" : " nodes") : "";
    if (cut && spread_over < limits.max_nodes)
        spread += " of one " + job.within + " together with jobs that keep what they hold";
    if (replicas.empty() && spread.empty()) return text;
    return text + " (" + replicas + (replicas.empty() || spread.empty() ? "" : ", ") + spread + ")";
}

}  // namespace detail

inline std::string why_no_option(const Job& job, const Cluster& cluster, std::span<const Pool> pools) {
    std::string offers;
    bool usable = false;
    for (std::size_t type = 0; type < job.types.size(); ++type) {
        if (job.types[type].max_atomic_batch == 0) continue;
        usable = true;
        const std::string offer = detail::text_of_offers(job, cluster, pools, type);
        if (!offer.empty()) offers += (offers.empty() ? "" : "; ") + offer;
    }
    bool any = false;
    for (const Pool& pool : pools) detail::for_each_shape(job, pool, [&](Shape) { any = true; });
    if (any) return "it is offered none of the shapes that it may hold";
    if (!usable) return "it has no batch size on any GPU type: it can run nowhere";
    const bool kept_off = !job.spot_allowed &&
                          std::any_of(pools.begin(), pools.end(), [](const Pool& pool) { return pool.spot; });
    if (offers.empty() && kept_off)
        return "no open node on demand has GPUs of a type that it can use, and it may not have spot nodes";
    if (offers.empty()) return "no open node has GPUs of a type that it can use";
    if (detail::has_fixed_gpus(job))
        return "it takes " + text_of(job.max_gpus) + (job.max_gpus == 1 ? " GPU" : " GPUs") +
               ", no more and no fewer; there are " + offers;
    return "offered are " + offers + ": none is within " + text_of(job.min_gpus) + " to " +
           text_of(job.max_gpus);
}

}  // namespace goodput::inline v0_1

#endif
