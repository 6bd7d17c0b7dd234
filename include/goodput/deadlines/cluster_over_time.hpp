#ifndef GOODPUT_DEADLINES_CLUSTER_OVER_TIME_HPP
#define GOODPUT_DEADLINES_CLUSTER_OVER_TIME_HPP

// The nodes that exist now, and those that are announced to come or to go.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// Equal nodes that exist between two moments.
struct NodesOverTime {
    std::size_t gpu_type = 0;                                        ///< index into
                                                                     ///< ClusterOverTime::gpu_types
    int nodes = 1;                                                   ///< number of nodes
    int gpus_per_node = 1;                                           ///< at least 1
    double from_seconds = 0;                                         ///< seconds from now; the nodes exist
                                                                     ///< already if this is 0 or less
    double until_seconds = std::numeric_limits<double>::infinity();  ///< seconds from now
    int taken = 0;  ///< GPUs per node that other jobs hold meanwhile, at most gpus_per_node
    bool operator==(const NodesOverTime&) const = default;  ///< whether all fields are equal
};

/// A cluster over time. A job has GPUs of one type. Up to the size of the type's largest node, its GPUs lie
/// on one node. A number that is neither a power of two nor a whole node takes as much room as the next
/// larger such number. A job with more GPUs than one node has takes whole nodes of the largest size. If its
/// number of GPUs is a power of two but not a multiple of that size, the job takes several blocks instead,
/// each with the largest power of two that fits on such a node. If jobs may use whole nodes of different
/// sizes, give each node size a type of its own.
struct ClusterOverTime {
    std::vector<std::string> gpu_types{};  ///< names of the types
    std::vector<NodesOverTime> nodes{};    ///< nodes in any order
};

/// Throws std::invalid_argument, with the nodes, the field and the value, for unknown GPU types, negative
/// numbers of nodes, nodes without GPUs, more than 2^30 GPUs, and moments that are not numbers.
inline void validate(const ClusterOverTime& cluster) {
    double gpus = 0;
    for (std::size_t k = 0; k < cluster.nodes.size(); ++k) {
        const NodesOverTime& group = cluster.nodes[k];
        const std::string subject = "nodes[" + text_of(k) + "]";
        if (group.gpu_type >= cluster.gpu_types.size())
            bad_input(subject, "gpu_type", group.gpu_type,
                      "below the number of GPU types, " + text_of(cluster.gpu_types.size()));
        if (group.nodes < 0) bad_input(subject, "nodes", group.nodes, "at least 0");
        if (group.gpus_per_node < 1) bad_input(subject, "gpus_per_node", group.gpus_per_node, "at least 1");
        if (group.taken < 0 || group.taken > group.gpus_per_node)
            bad_input(subject, "taken", group.taken, "0 to " + text_of(group.gpus_per_node));
        gpus += static_cast<double>(group.nodes) * group.gpus_per_node;
        if (gpus > 1 << 30) bad_input(subject, "nodes", group.nodes, "such that all GPUs are at most 2^30");
        if (std::isnan(group.from_seconds))
            bad_input(subject, "from_seconds", group.from_seconds, "a number");
        if (std::isnan(group.until_seconds))
            bad_input(subject, "until_seconds", group.until_seconds, "a number");
    }
}

}  // namespace goodput::inline v0_1

#endif
