#ifndef GOODPUT_DEADLINES_CLUSTER_OVER_TIME_HPP
#define GOODPUT_DEADLINES_CLUSTER_OVER_TIME_HPP

// The nodes that are there now, and those that are announced to come or to go.

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// Equal nodes that are there between two moments.
struct NodesOverTime {
    std::size_t gpu_type = 0;                                        ///< index into the names of types
    int nodes = 1;                                                   ///< how many
    int gpus_per_node = 1;                                           ///< at least 1
    double from_seconds = 0;                                         ///< from now; 0 or less: they are there
    double until_seconds = std::numeric_limits<double>::infinity();  ///< from now
    bool operator==(const NodesOverTime&) const = default;           ///< the same in all
};

/// A cluster over time. A job has GPUs of one type, and a power of two of them: within one node as far as the
/// largest power of two that fits the largest node of the type, and beyond that several blocks of this size.
struct ClusterOverTime {
    std::vector<std::string> gpu_types{};  ///< names
    std::vector<NodesOverTime> nodes{};    ///< in any order
};

/// Refuses unknown GPU types, negative numbers of nodes, nodes without GPUs, more than 2^30 GPUs, and moments
/// that are not numbers (std::invalid_argument with nodes, field and value).
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
        gpus += static_cast<double>(group.nodes) * group.gpus_per_node;
        if (gpus > 1 << 30) bad_input(subject, "nodes", group.nodes, "such that all GPUs are at most 2^30");
        if (std::isnan(group.from_seconds))
            bad_input(subject, "from_seconds", group.from_seconds, "a number");
        if (std::isnan(group.until_seconds))
            bad_input(subject, "until_seconds", group.until_seconds, "a number");
    }
}

}  // namespace goodput

#endif
