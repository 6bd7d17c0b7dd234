#ifndef GOODPUT_CORE_CLUSTER_HPP
#define GOODPUT_CORE_CLUSTER_HPP

// The machines: nodes, each with GPUs of one type. Nodes of one GPU type and one size are interchangeable for
// an allotment and form a pool, spot nodes one of their own, and those of each group; a pool's GPUs are one
// resource of the allotment problem.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

/// One machine with GPUs of one type.
struct Node {
    std::string name{};                 ///< unique among the cluster's nodes
    std::size_t gpu_type = 0;           ///< index into Cluster::gpu_types
    int gpus = 0;                       ///< GPUs that may be used now, at least 1
    bool drained = false;               ///< keeps what runs on it but takes nothing new
    double cores = 0;                   ///< CPU cores of the node; 0: not counted
    double memory_gib = 0;              ///< host memory of the node; 0: not counted
    double dollars_per_hour = 0;        ///< what the whole node costs
    double interruptions_per_hour = 0;  ///< how often it is expected to be lost
    bool spot = false;                  ///< the provider may take it back: a pool apart from others like it
    int group = 0;  ///< at least 0; nodes of another number here are a pool apart, though alike in all else
    /// Seconds from now until the node is announced to leave. Jobs that need nodes for longer avoid it.
    double leaves_seconds = std::numeric_limits<double>::infinity();

    /// The pool that it is in.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus, spot, group}; }
};

/// The nodes now. A node that is lost stays in the list, drained, and no job's placement names it any more:
/// to erase it would renumber all placements behind it. One that is drained gently stays likewise, until its
/// jobs have gone. Both count in their pools: whoever allots should offer what is open
/// (schedule/detail/open_nodes.hpp).
struct Cluster {
    std::vector<std::string> gpu_types{};  ///< names; everything else names a type by its index here
    std::vector<Node> nodes{};             ///< in any order; placements name a node by its index here
};

/// The nodes of one GPU type, size and group, all spot or none.
struct Pool {
    std::size_t gpu_type = 0;          ///< index into Cluster::gpu_types
    int gpus_per_node = 0;             ///< size of each of its nodes
    std::vector<std::size_t> nodes{};  ///< indices into Cluster::nodes, ascending
    bool spot = false;                 ///< Node::spot of each of them
    int group = 0;                     ///< Node::group of each of them

    /// What names it.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus_per_node, spot, group}; }
    /// GPUs of all its nodes.
    [[nodiscard]] int gpus() const { return gpus_per_node * static_cast<int>(nodes.size()); }
    /// GPUs of it in that shape.
    [[nodiscard]] PoolShare share(Shape shape) const { return {gpu_type, gpus_per_node, shape, spot, group}; }
};

/// A pool's nodes in words: "spot A100 nodes of 8 GPUs"; what each costs where that sets them apart.
[[nodiscard]] inline std::string describe(const Pool& pool, const Cluster& cluster) {
    std::string text = (pool.spot ? "spot " : "") + cluster.gpu_types[pool.gpu_type] + " nodes of " +
                       text_of(pool.gpus_per_node) + (pool.gpus_per_node == 1 ? " GPU" : " GPUs");
    if (pool.group < 0 && !pool.nodes.empty())
        text += " at " + rounded_text_of(cluster.nodes[pool.nodes.front()].dollars_per_hour) + " dollars";
    return text;
}

/// Whether a node is one of a pool's, or one of the pool that a share is of.
[[nodiscard]] constexpr bool is_node_of(const Node& node, const PoolId& pool) { return PoolId(node) == pool; }

/// Most GPUs that a cluster may have in all: sums of GPUs are ints everywhere.
inline constexpr int most_gpus_of_cluster = 1 << 30;

/// Refuses an unknown GPU type, no GPUs, more than `left`, cores, memory and prices that are negative or not
/// finite, interruptions beyond what validate(Interruptions) lets pass, and a departure that is NaN
/// (std::invalid_argument).
inline void validate(const Node& node, const Cluster& cluster, int left = most_gpus_of_cluster) {
    const auto subject = [&] { return "node '" + node.name + "'"; };
    if (node.gpu_type >= cluster.gpu_types.size())
        bad_input(subject(), "gpu_type", node.gpu_type, "an index into the cluster's GPU types");
    require_between(subject, "gpus", node.gpus, 1, 1 << 20);
    if (node.gpus > left)
        bad_input(subject(), "gpus", node.gpus,
                  "at most " + text_of(left) + ": the nodes before it have all that a cluster may have");
    require_at_least(subject, "cores", node.cores, 0);
    require_at_least(subject, "memory_gib", node.memory_gib, 0);
    require_at_least(subject, "dollars_per_hour", node.dollars_per_hour, 0);
    require_between(subject, "interruptions_per_hour", node.interruptions_per_hour, 0,
                    most_interruptions_per_hour);
    if (std::isnan(node.leaves_seconds))
        bad_input(subject(), "leaves_seconds", node.leaves_seconds, "a number");
}

/// Refuses what validate(Node) refuses of any node, and more than most_gpus_of_cluster in all.
inline void validate_nodes(const Cluster& cluster) {
    int left = most_gpus_of_cluster;
    for (const Node& node : cluster.nodes) {
        validate(node, cluster, left);
        left -= node.gpus;
    }
}

namespace detail {

/// Refuses empty names and names given twice of what is a `kind`; reorders `names`.
inline void require_own_names(std::string_view kind, std::vector<const std::string*>& names) {
    const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
    const auto equal = [](const std::string* a, const std::string* b) { return *a == *b; };
    std::sort(names.begin(), names.end(), less);
    if (!names.empty() && names.front()->empty()) bad_input(kind, "name", "empty", "a name of its own");
    if (const auto twice = std::adjacent_find(names.begin(), names.end(), equal); twice != names.end())
        bad_input(std::string(kind) + " '" + **twice + "'", "name", "given twice", "a name of its own");
}

}  // namespace detail

/// Refuses duplicate or empty names, unknown GPU types, nodes without GPUs, and too many
/// (std::invalid_argument). `names` is room to work in.
inline void validate(const Cluster& cluster, std::vector<const std::string*>& names) {
    validate_nodes(cluster);
    names.clear();
    for (const Node& node : cluster.nodes) names.push_back(&node.name);
    detail::require_own_names("node", names);
}
/// The same.
inline void validate(const Cluster& cluster) {
    std::vector<const std::string*> names;
    names.reserve(cluster.nodes.size());
    validate(cluster, names);
}

/// Index of a pool, of that of a share or of a node, or pools.size() if there is none. The pools are in the
/// order of pools_of().
[[nodiscard]] inline std::size_t find_pool(std::span<const Pool> pools, const PoolId& id) {
    const auto at = std::ranges::lower_bound(pools, id, {}, [](const Pool& pool) { return PoolId(pool); });
    return at == pools.end() || PoolId(*at) != id ? pools.size()
                                                  : static_cast<std::size_t>(at - pools.begin());
}

/// Makes `pools` those of a cluster, ordered by GPU type, then node size, spot last, then group. Pools that
/// were there before keep their memory.
inline void find_pools(const Cluster& cluster, std::vector<Pool>& pools) {
    for (Pool& pool : pools) pool.nodes.clear();
    for (std::size_t index = 0; index < cluster.nodes.size(); ++index) {
        const Node& node = cluster.nodes[index];
        auto at =
            std::ranges::lower_bound(pools, PoolId(node), {}, [](const Pool& pool) { return PoolId(pool); });
        if (at == pools.end() || !is_node_of(node, *at))
            at = pools.insert(at, {node.gpu_type, node.gpus, {}, node.spot, node.group});
        at->nodes.push_back(index);
    }
    std::erase_if(pools, [](const Pool& pool) { return pool.nodes.empty(); });
}
/// The pools of a cluster, ordered by GPU type, then node size, spot last, then group.
[[nodiscard]] inline std::vector<Pool> pools_of(const Cluster& cluster) {
    std::vector<Pool> pools;
    find_pools(cluster, pools);
    return pools;
}

}  // namespace goodput

#endif
