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

/// What the nodes of a pool (see Cluster) have in common, which names it in every round.
struct PoolId {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of its nodes
    bool spot = false;         ///< nodes that the provider may take back (Node::spot)
    int group = 0;             ///< Node::group

    /// In the order of pools_of().
    friend constexpr auto operator<=>(const PoolId&, const PoolId&) = default;
};

/// GPUs of a pool in a shape: what a placement lays out on nodes.
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
    /// The pool.
    [[nodiscard]] constexpr operator PoolId() const { return {gpu_type, gpus_per_node, spot, group}; }
    /// Whether both are of one pool.
    [[nodiscard]] constexpr bool same_pool(const PoolId& other) const { return PoolId(*this) == other; }

    /// Same pool, same shape.
    friend constexpr bool operator==(const PoolShare&, const PoolShare&) = default;
    /// By pool, then shape.
    friend constexpr auto operator<=>(const PoolShare& a, const PoolShare& b) {
        const auto order = PoolId(a) <=> PoolId(b);
        return order != 0 ? order : a.shape <=> b.shape;
    }
};

}  // namespace goodput

#endif
