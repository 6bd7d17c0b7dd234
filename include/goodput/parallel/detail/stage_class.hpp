#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_CLASS_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_CLASS_HPP

// A class of replicas is a GPU type and a tensor-parallel degree: sums over its layers, and the links between
// classes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/plan_terms.hpp"

namespace goodput::detail {

inline constexpr double never = std::numeric_limits<double>::infinity();

/// How many times gradients count that the last of several stages hands back.
inline constexpr double last_weight = backward_weight(1, 2);

/// A number whose bits all depend on all of `x`.
[[nodiscard]] constexpr std::uint64_t mixed_bits(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/// Replicas of one GPU type and tensor-parallel degree.
struct StageClass {
    std::size_t gpu_type = 0;
    int tensor_parallel = 1;
    std::vector<double> compute{};      ///< by layer: seconds of all layers before it, and of all
    std::vector<double> parameters{};   ///< the same of parameters on each GPU
    std::vector<double> activations{};  ///< the same of activations a sample
    std::vector<double> update{};       ///< by layer: seconds of the optimiser, if a stage begins there
};

/// Links between two classes in all zones that have GPUs of them.
inline std::vector<BandwidthCurve> links_between(const ParallelCluster& cluster, const StageClass& from,
                                                 const StageClass& to) {
    std::vector<BandwidthCurve> links;
    for (std::size_t a = 0; a < cluster.zones.size(); ++a) {
        if (cluster.gpus[a][from.gpu_type] < from.tensor_parallel) continue;
        for (std::size_t b = 0; b < cluster.zones.size(); ++b) {
            if (cluster.gpus[b][to.gpu_type] < to.tensor_parallel) continue;
            const BandwidthCurve* link =
                cluster.link({a, from.gpu_type, from.tensor_parallel}, {b, to.gpu_type, to.tensor_parallel});
            if (link != nullptr && std::find(links.begin(), links.end(), *link) == links.end())
                links.push_back(*link);
        }
    }
    return links;
}

}  // namespace goodput::detail

#endif
