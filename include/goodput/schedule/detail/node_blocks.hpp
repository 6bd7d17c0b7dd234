#ifndef GOODPUT_SCHEDULE_DETAIL_NODE_BLOCKS_HPP
#define GOODPUT_SCHEDULE_DETAIL_NODE_BLOCKS_HPP

// Rows of the allotment problem for constraints on single nodes, which the sum of a pool's GPUs does not
// express.
//
// A node with f free GPUs has floor(f / b) blocks of b GPUs, and a job that takes t GPUs of a node uses at
// least floor(t / b) of these blocks. So for every size b that is offered in a pool
//
//     sum over all given GPUs, node by node, of floor(GPUs / b)  <=  sum over the nodes of floor(free / b)
//
// where free are the GPUs of open nodes that pinned jobs (jobs that keep what they hold) leave. The largest
// size is the whole node: a job over several nodes takes each of them as a whole. If every size below a
// whole node divides the next larger one, these rows are exact: placing the largest first, whole nodes
// before all others, never fails (place/detail/packing.hpp). Other sizes must satisfy the rows, too, but
// may still find no nodes.
//
// A row is left out if another row implies it: the other row must be filled to at least the same fraction
// of its capacity by every size. If all nodes have a power of two of GPUs, all sizes are powers of two and
// no pinned job keeps part of a node, the row of the pool's GPUs implies all these rows.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput::inline v0_1::detail {

/// The rows for blocks of nodes. It keeps its buffers.
class NodeBlocks {
public:
    /// The blocks of one size in one pool.
    struct Row {
        std::size_t pool = 0;
        int size = 0;         ///< GPUs per block
        double capacity = 0;  ///< free blocks, without those of pinned jobs
    };

    /// Starts again without any sizes.
    void begin(std::size_t pools) {
        if (sizes_.size() < pools) sizes_.resize(pools);
        for (std::vector<int>& sizes : sizes_) sizes.clear();
    }
    /// Whether sizes that are all powers of two need no rows: all nodes have powers of two of GPUs, and no
    /// pinned job keeps part of a node.
    [[nodiscard]] static bool are_plain(const Cluster& cluster, const OpenNodes& open);
    /// Whether all these options take powers of two of GPUs per node.
    [[nodiscard]] static bool are_powers_of_two(std::span<const Option> options);
    /// Notes the sizes of a job's options.
    void note(std::span<const Option> options, std::span<const Pool> pools);
    /// Finds the rows for the noted sizes. The first row has the index `first` in the problem.
    void find(const Cluster& cluster, const OpenNodes& open, std::size_t first);

    /// The rows, by pool and then by ascending size.
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }

    /// Appends the blocks that an option takes. `pools` are those of OpenNodes.
    void append_uses(const Configuration& configuration, std::span<const Pool> pools,
                     std::vector<ResourceUse>& uses) const;
    /// Appends the blocks of open nodes that a job takes if it keeps what it holds.
    void append_uses_to_keep(std::size_t job, const Placement& placement, const Cluster& cluster,
                             const OpenNodes& open, std::vector<ResourceUse>& uses) const;

    /// Describes a row in words.
    [[nodiscard]] LimitRow describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const;

private:
    static bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

    /// Returns the GPUs that a part takes from other jobs on each of its nodes.
    static int on_each_node(const PoolShare& part) {
        return part.shape.nodes > 1 ? part.gpus_per_node : part.shape.gpus;
    }

    void find_rows(const Cluster& cluster, const OpenNodes& open, std::size_t pool);
    /// Counts the nodes of the pool by the number of their free GPUs.
    void count_free(const Cluster& cluster, const OpenNodes& open, std::size_t pool);
    [[nodiscard]] double blocks_of(int size) const;
    /// Whether every allotment that satisfies `by` satisfies `other`. Sizes that take no blocks of `by`
    /// must take none of `other` either.
    static bool implies(const Row& by, const Row& other, std::span<const int> sizes);

    void append(std::size_t pool, int size, int nodes, std::vector<ResourceUse>& uses) const;
    /// Appends the blocks that a node with `free` GPUs loses if `gpus` of them are taken.
    void append_lost(std::size_t pool, int free, int gpus, std::vector<ResourceUse>& uses) const;

    std::size_t first_ = 0;
    std::vector<Row> rows_;
    std::vector<std::size_t> first_of_pool_;  // by pool, with one more entry for the end
    std::vector<std::vector<int>> sizes_;     // by pool: GPUs taken on a node, ascending
    // For one pool: GPUs free on a node, and number of such nodes.
    std::vector<std::pair<int, std::size_t>> free_;
    std::vector<Row> candidates_;  // rows of one pool
};

inline bool NodeBlocks::are_plain(const Cluster& cluster, const OpenNodes& open) {
    if (open.any_shares_nodes()) return false;
    for (const Pool& pool : open.pools()) {
        if (!is_power_of_two(pool.gpus_per_node)) return false;
        for (const std::size_t node : pool.nodes)
            if (const int free = open.free_beside_kept(node, cluster); free > 0 && free < pool.gpus_per_node)
                return false;
    }
    return true;
}

inline bool NodeBlocks::are_powers_of_two(std::span<const Option> options) {
    for (const Option& option : options)
        for (const PoolShare& part : option.configuration.parts())
            if (!is_power_of_two(on_each_node(part))) return false;
    return true;
}

inline void NodeBlocks::note(std::span<const Option> options, std::span<const Pool> pools) {
    PoolShare last{};
    std::size_t pool = pools.size();
    for (const Option& option : options)
        for (const PoolShare& part : option.configuration.parts()) {
            if (!part.same_pool(last)) {
                last = part;
                pool = find_pool(pools, part);
            }
            if (pool == pools.size()) continue;
            const int size = on_each_node(part);
            std::vector<int>& sizes = sizes_[pool];
            const auto at = std::lower_bound(sizes.begin(), sizes.end(), size);
            if (at == sizes.end() || *at != size) sizes.insert(at, size);
        }
}

inline void NodeBlocks::find(const Cluster& cluster, const OpenNodes& open, std::size_t first) {
    first_ = first;
    rows_.clear();
    first_of_pool_.assign(1, 0);
    for (std::size_t pool = 0; pool < open.pools().size(); ++pool) {
        find_rows(cluster, open, pool);
        first_of_pool_.push_back(rows_.size());
    }
}

inline void NodeBlocks::append_uses(const Configuration& configuration, std::span<const Pool> pools,
                                    std::vector<ResourceUse>& uses) const {
    if (rows_.empty()) return;
    for (const PoolShare& part : configuration.parts())
        append(find_pool(pools, part), on_each_node(part), part.shape.nodes, uses);
}

inline void NodeBlocks::append_uses_to_keep(std::size_t job, const Placement& placement,
                                            const Cluster& cluster, const OpenNodes& open,
                                            std::vector<ResourceUse>& uses) const {
    if (rows_.empty() || open.keeps(job)) return;  // pinned jobs are already excluded from the free GPUs
    const bool shares = open.shares_nodes(job);
    if (!shares && !open.may_stay_on_drained(job)) {
        append_uses(configuration_of(placement, cluster), open.pools(), uses);
        return;
    }
    for (const NodeShare& share : placement) {
        const Node& node = cluster.nodes[share.node];
        if (node.drained) continue;
        const std::size_t pool = find_pool(open.pools(), node);
        // The job cannot be moved, so it takes all blocks that the node loses through its share. Another
        // job that shares the node takes at least as many blocks as it would on any node.
        if (shares && open.first_sharing(share.node) == job)
            append_lost(pool, open.free_beside_kept(share.node, cluster), share.gpus, uses);
        else
            append(pool, !shares && open.is_spread(placement, share) ? node.gpus : share.gpus, 1, uses);
    }
}

inline LimitRow NodeBlocks::describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const {
    const Pool& pool = open.pools()[rows_[row].pool];
    const std::string nodes = goodput::describe(pool, cluster);
    if (rows_[row].size == pool.gpus_per_node)
        return {"the wholly free " + nodes, rows_[row].capacity == 1 ? "node" : "nodes", rows_[row].capacity};
    return {"the free blocks of " + text_of(rows_[row].size) + " GPUs on " + nodes,
            rows_[row].capacity == 1 ? "block" : "blocks", rows_[row].capacity};
}

inline void NodeBlocks::find_rows(const Cluster& cluster, const OpenNodes& open, std::size_t pool) {
    const std::vector<int>& sizes = sizes_[pool];
    if (sizes.empty() || sizes.back() == 1) return;
    count_free(cluster, open, pool);
    candidates_.assign(1, {pool, 1, blocks_of(1)});  // row of the pool's GPUs, which the problem already has
    for (const int size : sizes)
        if (size > 1) candidates_.push_back({pool, size, blocks_of(size)});
    const bool shared = std::ranges::any_of(
        open.pools()[pool].nodes, [&](std::size_t node) { return open.first_sharing(node) != no_index; });
    // If jobs share nodes, what they take of a row is not proportional to their size, so no row implies
    // another.
    for (std::size_t c = candidates_.size(); !shared && c-- > 1;)
        if (std::any_of(candidates_.begin(), candidates_.end(), [&](const Row& other) {
                return &other != &candidates_[c] && implies(other, candidates_[c], sizes);
            }))
            candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(c));
    rows_.insert(rows_.end(), candidates_.begin() + 1, candidates_.end());
}

inline void NodeBlocks::count_free(const Cluster& cluster, const OpenNodes& open, std::size_t pool) {
    free_.clear();
    for (const std::size_t node : open.pools()[pool].nodes) {
        const int gpus = open.free_beside_kept(node, cluster);
        const auto known =
            std::find_if(free_.begin(), free_.end(), [&](const auto& entry) { return entry.first == gpus; });
        if (known == free_.end())
            free_.emplace_back(gpus, 1);
        else
            ++known->second;
    }
}

inline double NodeBlocks::blocks_of(int size) const {
    double blocks = 0;
    for (const auto& [gpus, nodes] : free_) blocks += static_cast<double>(nodes) * (gpus / size);
    return blocks;
}

inline bool NodeBlocks::implies(const Row& by, const Row& other, std::span<const int> sizes) {
    return std::all_of(sizes.begin(), sizes.end(), [&](int size) {
        const int of_other = size / other.size, of_by = size / by.size;
        return of_other == 0 || (of_by > 0 && of_other * by.capacity <= of_by * other.capacity);
    });
}

inline void NodeBlocks::append(std::size_t pool, int size, int nodes, std::vector<ResourceUse>& uses) const {
    if (pool + 1 >= first_of_pool_.size()) return;
    for (std::size_t row = first_of_pool_[pool]; row < first_of_pool_[pool + 1]; ++row)
        if (const int blocks = size / rows_[row].size; blocks > 0)
            add_use(uses, 0, first_ + row, static_cast<double>(nodes) * blocks);
}

inline void NodeBlocks::append_lost(std::size_t pool, int free, int gpus,
                                    std::vector<ResourceUse>& uses) const {
    if (pool + 1 >= first_of_pool_.size()) return;
    for (std::size_t row = first_of_pool_[pool]; row < first_of_pool_[pool + 1]; ++row) {
        const int size = rows_[row].size;
        if (const int blocks = free / size - std::max(free - gpus, 0) / size; blocks > 0)
            add_use(uses, 0, first_ + row, blocks);
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
