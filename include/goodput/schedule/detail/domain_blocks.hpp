#ifndef GOODPUT_SCHEDULE_DETAIL_DOMAIN_BLOCKS_HPP
#define GOODPUT_SCHEDULE_DETAIL_DOMAIN_BLOCKS_HPP

// Rows that say which jobs can stay within one domain of a topology side by side.
//
// A domain with f whole free nodes of a pool has floor(f / b) blocks of b nodes, and a job that takes n nodes
// of one domain uses up at least floor(n / b) of them. So every number b > 1 of nodes that is offered to jobs
// that have to stay within a domain of a level (Job::within) makes a row of each pool:
//
//     sum over these jobs of floor(nodes / b)  <=  sum over the domains of floor(whole free nodes / b)
//
// Free nodes are those that jobs which keep what they hold leave. Jobs that stay within a domain of a level
// further inside stay within one of this level, too, and count. A row that no allotment can exceed is left
// out.

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/option.hpp"
#include "goodput/core/resource_use.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput::detail {

/// Rows for blocks of nodes in domains. Keeps its buffers.
class DomainBlocks {
public:
    /// Blocks of one number of nodes in one pool.
    struct Row {
        std::size_t level = 0;  ///< of the topology
        std::size_t pool = 0;
        int nodes = 0;        ///< of a block
        double capacity = 0;  ///< blocks that the domains have
    };

    /// There are no rows any more.
    void clear() { rows_.clear(); }
    /// Finds the rows for what jobs are offered; options_of(j) gives what the job of that index is. Where the
    /// topology is not one of the cluster there are none.
    void find(const Topology& topology, const Cluster& cluster, std::span<const Job> jobs,
              const OpenNodes& open, const std::function<std::span<const Option>(std::size_t)>& options_of);
    /// The first row has the index `first` in the problem.
    void begin(std::size_t first) { first_ = first; }

    /// The rows, by level, pool, and nodes of a block.
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }
    /// Whether a job may take something of the rows.
    [[nodiscard]] bool concern(const Job& job) const { return !rows_.empty() && !job.within.empty(); }

    /// Appends the blocks that an option of a job takes; `keeps`: the job stays where it is with that.
    void append_uses(const Job& job, std::size_t j, const Configuration& configuration, bool keeps,
                     const OpenNodes& open, std::vector<ResourceUse>& uses) const;

    /// A row in words.
    [[nodiscard]] LimitRow describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const;

private:
    /// The level that a job has to stay within a domain of; the number of levels: of none.
    [[nodiscard]] std::size_t level_of(const Job& job) const;

    std::size_t first_ = 0;
    std::vector<std::string> levels_;
    std::vector<Row> rows_;
};

}  // namespace goodput::detail

#ifndef GOODPUT_COMPILED
#include "goodput/schedule/detail/domain_blocks_bodies.hpp"
#endif

#endif
