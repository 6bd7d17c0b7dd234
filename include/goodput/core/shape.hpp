#ifndef GOODPUT_CORE_SHAPE_HPP
#define GOODPUT_CORE_SHAPE_HPP

// How many GPUs, over how many nodes. A shape says nothing of which nodes (that is a Placement) and nothing
// of the GPU type (that is a PoolShare).

#include <compare>
#include <cstddef>

namespace goodput {

/// `gpus` GPUs in all, spread over `nodes` nodes; {0, 0} is the shape of a job that holds nothing.
struct Shape {
    int nodes = 0;  ///< at most `gpus`
    int gpus = 0;   ///< in all, not per node

    /// By nodes, then GPUs.
    friend constexpr auto operator<=>(const Shape&, const Shape&) = default;
};

/// GPUs of a pool (see Cluster) in a shape: what a placement lays out on nodes. The pool is named by what its
/// nodes have in common, so that it means the same in every round.
struct PoolShare {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    Shape shape{};             ///< {0, 0}: nothing
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// Whether it gives the job nothing.
    [[nodiscard]] constexpr bool empty() const { return shape.gpus == 0; }

    /// GPUs that nobody else can use while this is held: a job over several nodes takes whole nodes.
    [[nodiscard]] constexpr int occupied_gpus() const {
        return shape.nodes > 1 ? shape.nodes * gpus_per_node : shape.gpus;
    }
    /// Whether both are of one pool.
    [[nodiscard]] constexpr bool same_pool(const PoolShare& other) const {
        return gpu_type == other.gpu_type && gpus_per_node == other.gpus_per_node && spot == other.spot &&
               group == other.group;
    }

    /// Same pool, same shape.
    friend constexpr bool operator==(const PoolShare&, const PoolShare&) = default;
    /// By pool, in the order of pools_of(), then shape.
    friend constexpr auto operator<=>(const PoolShare& a, const PoolShare& b) {
        if (const auto order = a.gpu_type <=> b.gpu_type; order != 0) return order;
        if (const auto order = a.gpus_per_node <=> b.gpus_per_node; order != 0) return order;
        if (const auto order = a.spot <=> b.spot; order != 0) return order;
        if (const auto order = a.group <=> b.group; order != 0) return order;
        return a.shape <=> b.shape;
    }
};

}  // namespace goodput

#endif
