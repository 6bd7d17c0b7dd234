#ifndef GOODPUT_SCHEDULE_OPTIONS_HPP
#define GOODPUT_SCHEDULE_OPTIONS_HPP

// Which allotments a job can be offered on a cluster. On one node: the node's size divided by 2 as long as it
// is even, and 1 (8, 4, 2, 1; 6, 3, 1), because sizes that divide one another always pack; over several
// nodes: whole nodes only. So whatever fits the capacities can be placed (Sia, section 3.4). A job that
// cannot change its number of GPUs gets just that number, on as few nodes as hold it.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/core/shape.hpp"

namespace goodput {

/// Appends every allotment that the job may hold on the pools, smallest first within a pool; of those with
/// more than `most_gpus(gpu_type)` GPUs only the smallest, if no other is left.
template <class MostGpus>
void append_options(const Job& job, std::span<const Pool> pools, MostGpus most_gpus,
                    std::vector<Option>& options);

/// Puts what the job holds in its place among its options, which begin at `first`, unless it is there: if it
/// is a shape of the pools and no larger than most_gpus(gpu_type), or if there is no other option.
template <class MostGpus>
void insert_held(const Job& job, const Allotment& held, std::span<const Pool> pools, MostGpus most_gpus,
                 std::size_t first, std::vector<Option>& options);

namespace detail {

/// Calls visit(shape) for the shapes of a job on a pool.
template <class Visit>
void for_each_shape(const Job& job, const Pool& pool, Visit visit) {
    const TypeLimits& limits = job.types[pool.gpu_type];
    if (limits.max_atomic_batch == 0 || pool.nodes.empty()) return;
    const int nodes =
        std::min(static_cast<int>(std::min<std::size_t>(pool.nodes.size(), 1 << 20)), limits.max_nodes);
    const int size = pool.gpus_per_node;
    const auto offer = [&](Shape shape) {
        if (shape.gpus >= job.min_gpus && shape.gpus <= job.max_gpus &&
            shape.gpus % limits.gpus_per_replica == 0)
            visit(shape);
    };
    if (job.adaptivity == Adaptivity::none) {
        const int needed = (job.max_gpus + size - 1) / size;
        if (needed <= nodes) offer({needed, job.max_gpus});
        return;
    }
    int least = size;
    while (least % 2 == 0) least /= 2;
    if (least > 1) offer({1, 1});
    for (int gpus = least; gpus <= size; gpus *= 2) offer({1, gpus});
    for (int n = 2; n <= nodes && n * size <= job.max_gpus; ++n) offer({n, n * size});
}

}  // namespace detail

template <class MostGpus>
void append_options(const Job& job, std::span<const Pool> pools, MostGpus most_gpus,
                    std::vector<Option>& options) {
    const std::size_t first = options.size();
    int fewest = std::numeric_limits<int>::max();
    for (const Pool& pool : pools) {
        const int most = most_gpus(pool.gpu_type);
        detail::for_each_shape(job, pool, [&](Shape shape) {
            fewest = std::min(fewest, shape.gpus);
            if (shape.gpus <= most)
                options.push_back({{pool.gpu_type, pool.gpus_per_node, shape}, {}, 0, Knowledge::unknown});
        });
    }
    if (options.size() > first) return;
    for (const Pool& pool : pools)
        detail::for_each_shape(job, pool, [&](Shape shape) {
            if (shape.gpus == fewest)
                options.push_back({{pool.gpu_type, pool.gpus_per_node, shape}, {}, 0, Knowledge::unknown});
        });
}

template <class MostGpus>
void insert_held(const Job& job, const Allotment& held, std::span<const Pool> pools, MostGpus most_gpus,
                 std::size_t first, std::vector<Option>& options) {
    const std::size_t pool = find_pool(pools, held.gpu_type, held.gpus_per_node);
    if (held.empty() || pool == pools.size()) return;
    if (options.size() > first && held.shape.gpus > most_gpus(held.gpu_type)) return;
    bool is_shape = false;
    detail::for_each_shape(job, pools[pool], [&](Shape shape) { is_shape |= shape == held.shape; });
    const auto place = std::lower_bound(
        options.begin() + static_cast<std::ptrdiff_t>(first), options.end(), held,
        [](const Option& option, const Allotment& allotment) { return option.allotment < allotment; });
    if (!is_shape || (place != options.end() && place->allotment == held)) return;
    options.insert(place, {held, {}, 0, Knowledge::unknown});
}

}  // namespace goodput

#endif
