#ifndef GOODPUT_CORE_CLUSTER_HPP
#define GOODPUT_CORE_CLUSTER_HPP

// The machines: nodes, each with GPUs of one type. Nodes with the same GPU type, size, spot flag and group
// (a number that the caller chooses) are interchangeable for an allotment and form a pool. The GPUs of a
// pool are one resource of the allotment problem.

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

namespace goodput::inline v0_1 {

/// One machine with GPUs of one type.
struct Node {
    std::string name{};                 ///< unique among the cluster's nodes
    std::size_t gpu_type = 0;           ///< index into Cluster::gpu_types
    int gpus = 0;                       ///< GPUs that may be used now, at least 1
    bool drained = false;               ///< drained: its jobs may stay, but no new job is placed on it
    double cores = 0;                   ///< CPU cores of the node; 0 means not counted
    double memory_gib = 0;              ///< host memory of the node; 0 means not counted
    double dollars_per_hour = 0;        ///< price of the whole node
    double interruptions_per_hour = 0;  ///< expected losses of the node per hour
    bool spot = false;                  ///< the provider may take it back; spot nodes form pools of their own
    /// The caller's number for the node, at least 0. Nodes with different numbers are in different pools,
    /// even if all else is equal.
    int group = 0;
    /// Seconds from now until the announced departure of the node. A job that would run longer than this
    /// avoids the node.
    double leaves_seconds = std::numeric_limits<double>::infinity();

    /// The node's pool.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus, spot, group}; }
};

/// The nodes at present. A lost node stays in the list, marked as drained, because erasing it would
/// renumber all placements that follow. No job's placement may name a lost node. A node whose jobs may
/// still finish stays in the list as well, also marked as drained. Drained nodes still count in
/// Pool::gpus(), so an allotter should offer only the nodes that are open, which means not drained
/// (schedule/detail/open_nodes.hpp).
struct Cluster {
    std::vector<std::string> gpu_types{};  ///< names of the types; all other code uses the index here
    std::vector<Node> nodes{};             ///< in any order; placements use the index here
};

/// The nodes with the same GPU type, size, spot flag and group.
struct Pool {
    std::size_t gpu_type = 0;          ///< index into Cluster::gpu_types
    int gpus_per_node = 0;             ///< size of each of its nodes
    std::vector<std::size_t> nodes{};  ///< indices into Cluster::nodes, ascending
    bool spot = false;                 ///< Node::spot of each of them
    int group = 0;                     ///< Node::group of each of them

    /// The identity of the pool.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus_per_node, spot, group}; }
    /// GPUs of all its nodes.
    [[nodiscard]] int gpus() const { return gpus_per_node * static_cast<int>(nodes.size()); }
    /// GPUs of this pool in the given shape.
    [[nodiscard]] PoolShare share(Shape shape) const { return {gpu_type, gpus_per_node, shape, spot, group}; }
};

/// Describes the nodes of a pool: "spot A100 nodes of 8 GPUs". Adds the price of a node if the pool was
/// split by price (a negative group).
[[nodiscard]] inline std::string describe(const Pool& pool, const Cluster& cluster) {
    std::string text = (pool.spot ? "spot " : "") + cluster.gpu_types[pool.gpu_type] + " nodes of " +
                       text_of(pool.gpus_per_node) + (pool.gpus_per_node == 1 ? " GPU" : " GPUs");
    if (pool.group < 0 && !pool.nodes.empty())
        text += " at " + rounded_text_of(cluster.nodes[pool.nodes.front()].dollars_per_hour) + " dollars";
    return text;
}

/// Whether a node belongs to a pool. A PoolShare converts to the identity of its pool.
[[nodiscard]] constexpr bool is_node_of(const Node& node, const PoolId& pool) { return PoolId(node) == pool; }

/// The largest number of GPUs that a cluster may have in total. Sums of GPUs are ints everywhere.
inline constexpr int most_gpus_of_cluster = 1 << 30;

/// Throws std::invalid_argument if a node is invalid. The GPU type must be known, and the node must have
/// between 1 and `left` GPUs. Cores, memory and price must be finite and not negative. Interruptions must
/// be in the range that validate(Interruptions) accepts, and the departure must not be NaN.
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

/// Throws std::invalid_argument if validate(Node) rejects a node, or if the cluster has more than
/// most_gpus_of_cluster GPUs.
inline void validate_nodes(const Cluster& cluster) {
    int left = most_gpus_of_cluster;
    for (const Node& node : cluster.nodes) {
        validate(node, cluster, left);
        left -= node.gpus;
    }
}

namespace detail {

/// Throws std::invalid_argument if a name is empty or given twice. `kind` is what the message calls the
/// named things, for example "node". Sorts `names`.
inline void require_own_names(std::string_view kind, std::vector<const std::string*>& names) {
    const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
    const auto equal = [](const std::string* a, const std::string* b) { return *a == *b; };
    std::sort(names.begin(), names.end(), less);
    if (!names.empty() && names.front()->empty()) bad_input(kind, "name", "empty", "a name of its own");
    if (const auto twice = std::adjacent_find(names.begin(), names.end(), equal); twice != names.end())
        bad_input(std::string(kind) + " '" + **twice + "'", "name", "given twice", "a name of its own");
}

}  // namespace detail

/// Throws std::invalid_argument if a name is empty or given twice, if a GPU type is unknown, if a node has
/// no GPUs, or if the cluster has too many. `names` is scratch space.
inline void validate(const Cluster& cluster, std::vector<const std::string*>& names) {
    validate_nodes(cluster);
    names.clear();
    for (const Node& node : cluster.nodes) names.push_back(&node.name);
    detail::require_own_names("node", names);
}
/// The same without scratch space.
inline void validate(const Cluster& cluster) {
    std::vector<const std::string*> names;
    names.reserve(cluster.nodes.size());
    validate(cluster, names);
}

/// Returns the index of the pool with this identity, or pools.size() if there is none. The pools must be in
/// the order of pools_of().
[[nodiscard]] inline std::size_t find_pool(std::span<const Pool> pools, const PoolId& id) {
    const auto at = std::ranges::lower_bound(pools, id, {}, [](const Pool& pool) { return PoolId(pool); });
    return at == pools.end() || PoolId(*at) != id ? pools.size()
                                                  : static_cast<std::size_t>(at - pools.begin());
}

/// Replaces `pools` by the pools of a cluster, ordered by GPU type, node size, spot (last) and group. Pools
/// that were in the list before keep their memory.
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
/// Returns the pools of a cluster, ordered by GPU type, node size, spot (last) and group.
[[nodiscard]] inline std::vector<Pool> pools_of(const Cluster& cluster) {
    std::vector<Pool> pools;
    find_pools(cluster, pools);
    return pools;
}

}  // namespace goodput::inline v0_1

#endif
