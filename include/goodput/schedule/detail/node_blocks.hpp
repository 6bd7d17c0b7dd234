#ifndef GOODPUT_SCHEDULE_DETAIL_NODE_BLOCKS_HPP
#define GOODPUT_SCHEDULE_DETAIL_NODE_BLOCKS_HPP

// Rows that say of the nodes of a pool what the sum of their GPUs does not.
//
// A node with f GPUs free has floor(f / b) blocks of b GPUs, and a job that takes t GPUs of one node uses up
// at least floor(t / b) of them. So for every size b that is offered in a pool
//
//     sum over all that is given, node by node, of floor(GPUs / b)  <=  sum over the nodes of floor(free / b)
//
// where free is what jobs that keep what they hold leave of the open nodes. Whole nodes are the largest size:
// a job over several nodes takes each of them wholly. Where every size below a whole node divides the next
// larger one, these rows say exactly what can be placed: the largest first, whole nodes before all, never
// gets stuck (place/detail/packing.hpp). Other sizes have to fulfil them as well, and may yet find no nodes.
//
// A row that another one implies is left out: one that takes at least as large a part of its capacity for
// every size. Where nodes have a power of two of GPUs and nobody keeps a part of one, the pool's GPUs imply
// all.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/option.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput::detail {

/// Rows for blocks of nodes. Keeps its buffers.
class NodeBlocks {
public:
    /// Blocks of one size in one pool.
    struct Row {
        std::size_t pool = 0;
        int size = 0;         ///< GPUs of a block
        double capacity = 0;  ///< blocks that are free beside the jobs that keep what they hold
    };

    /// Begins anew: no sizes are known.
    void begin(std::size_t pools) {
        if (sizes_.size() < pools) sizes_.resize(pools);
        for (std::vector<int>& sizes : sizes_) sizes.clear();
    }
    /// Whether there are no rows as long as all sizes are powers of two: so it is where all nodes are, and
    /// nobody keeps a part of one.
    [[nodiscard]] static bool are_plain(const Cluster& cluster, const OpenNodes& open);
    /// Whether all these options take powers of two on a node.
    [[nodiscard]] static bool are_powers_of_two(std::span<const Option> options);
    /// Takes note of the sizes of options that a job is offered.
    void note(std::span<const Option> options, std::span<const Pool> pools);
    /// Finds the rows for these sizes; the first has the index `first` in the problem.
    void find(const Cluster& cluster, const OpenNodes& open, std::size_t first);

    /// Pool by pool, the smaller blocks first.
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }

    /// Appends the blocks that an option takes; `pools` are those of OpenNodes.
    void append_uses(const Configuration& configuration, std::span<const Pool> pools,
                     std::vector<ResourceUse>& uses) const;
    /// Appends the blocks of open nodes that a job takes if it keeps what it holds.
    void append_uses_to_keep(std::size_t job, const Placement& placement, const Cluster& cluster,
                             const OpenNodes& open, std::vector<ResourceUse>& uses) const;

    /// A row in words.
    [[nodiscard]] LimitRow describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const;

private:
    static bool is_power_of_two(int number) { return (number & (number - 1)) == 0; }

    /// GPUs that nobody else can use on each node of a part.
    static int on_each_node(const PoolShare& part) {
        return part.shape.nodes > 1 ? part.gpus_per_node : part.shape.gpus;
    }

    void find_rows(const Cluster& cluster, const OpenNodes& open, std::size_t pool);
    /// How many nodes of the pool have how many GPUs free.
    void count_free(const Cluster& cluster, const OpenNodes& open, std::size_t pool);
    [[nodiscard]] double blocks_of(int size) const;
    /// Whatever keeps to the row `by` keeps to the row `other`. One without any blocks says nothing of the
    /// sizes that take none of them.
    static bool implies(const Row& by, const Row& other, std::span<const int> sizes);

    void append(std::size_t pool, int size, int nodes, std::vector<ResourceUse>& uses) const;
    /// Appends the blocks that a node with `free` GPUs has no more once `gpus` of them are taken.
    void append_lost(std::size_t pool, int free, int gpus, std::vector<ResourceUse>& uses) const;

    std::size_t first_ = 0;
    std::vector<Row> rows_;
    std::vector<std::size_t> first_of_pool_;         // by pool, and one more
    std::vector<std::vector<int>> sizes_;            // by pool: GPUs taken on a node, ascending
    std::vector<std::pair<int, std::size_t>> free_;  // GPUs free on a node, nodes, of one pool
    std::vector<Row> candidates_;                    // of one pool
};

}  // namespace goodput::detail

#ifndef GOODPUT_COMPILED
#include "goodput/schedule/detail/node_blocks_bodies.hpp"
#endif

#endif
