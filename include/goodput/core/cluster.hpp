#ifndef GOODPUT_CORE_CLUSTER_HPP
#define GOODPUT_CORE_CLUSTER_HPP

// The machines: nodes, each with GPUs of one type. Nodes of one GPU type and one size are interchangeable for
// an allotment and form a pool; a pool's GPUs are one resource of the allotment problem.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// One machine with GPUs of one type.
struct Node {
    std::string name{};        ///< its own among the cluster's nodes
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus = 0;              ///< GPUs that may be used now, at least 1
    bool drained = false;      ///< keeps what runs on it but takes nothing new
};

/// The healthy nodes now. A node that is lost, or drained at once, is simply left out; one that is drained
/// gently stays, marked as such, until its jobs have gone. It counts in its pool: whoever allots should offer
/// what is open (schedule/open_nodes.hpp).
struct Cluster {
    std::vector<std::string> gpu_types{};  ///< names; everything else names a type by its index here
    std::vector<Node> nodes{};             ///< in any order; placements name a node by its index here
};

/// The nodes of one GPU type and size.
struct Pool {
    std::size_t gpu_type = 0;          ///< index into Cluster::gpu_types
    int gpus_per_node = 0;             ///< size of each of its nodes
    std::vector<std::size_t> nodes{};  ///< indices into Cluster::nodes, ascending

    /// GPUs of all its nodes.
    [[nodiscard]] int gpus() const { return gpus_per_node * static_cast<int>(nodes.size()); }
};

/// Refuses duplicate or empty names, unknown GPU types and nodes without GPUs (std::invalid_argument).
inline void validate(const Cluster& cluster) {
    std::vector<const std::string*> names;
    names.reserve(cluster.nodes.size());
    for (const Node& node : cluster.nodes) {
        const std::string subject = "node '" + node.name + "'";
        if (node.name.empty()) bad_input("node", "name", "empty", "a name of its own");
        if (node.gpu_type >= cluster.gpu_types.size())
            bad_input(subject, "gpu_type", node.gpu_type, "an index into the cluster's GPU types");
        require_between(subject, "gpus", node.gpus, 1, 1 << 20);
        names.push_back(&node.name);
    }
    const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
    const auto equal = [](const std::string* a, const std::string* b) { return *a == *b; };
    std::sort(names.begin(), names.end(), less);
    const auto twice = std::adjacent_find(names.begin(), names.end(), equal);
    if (twice != names.end()) bad_input("node '" + **twice + "'", "name", "given twice", "a name of its own");
}

/// Index of the pool of that GPU type and node size, or pools.size() if there is none.
[[nodiscard]] inline std::size_t find_pool(std::span<const Pool> pools, std::size_t gpu_type,
                                           int gpus_per_node) {
    std::size_t index = 0;
    while (index < pools.size() &&
           (pools[index].gpu_type != gpu_type || pools[index].gpus_per_node != gpus_per_node))
        ++index;
    return index;
}

/// The pools of a cluster, ordered by GPU type, then node size.
[[nodiscard]] inline std::vector<Pool> pools_of(const Cluster& cluster) {
    std::vector<Pool> pools;
    for (std::size_t index = 0; index < cluster.nodes.size(); ++index) {
        const Node& node = cluster.nodes[index];
        const std::size_t pool = find_pool(pools, node.gpu_type, node.gpus);
        if (pool == pools.size()) pools.push_back({node.gpu_type, node.gpus, {}});
        pools[pool].nodes.push_back(index);
    }
    std::sort(pools.begin(), pools.end(), [](const Pool& a, const Pool& b) {
        return a.gpu_type != b.gpu_type ? a.gpu_type < b.gpu_type : a.gpus_per_node < b.gpus_per_node;
    });
    return pools;
}

}  // namespace goodput

#endif
