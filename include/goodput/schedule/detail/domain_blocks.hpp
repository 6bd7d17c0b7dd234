#ifndef GOODPUT_SCHEDULE_DETAIL_DOMAIN_BLOCKS_HPP
#define GOODPUT_SCHEDULE_DETAIL_DOMAIN_BLOCKS_HPP

// Rows of the allotment problem for jobs that must stay within one domain of a topology, such as a rack.
//
// Let a domain have f whole free nodes of a pool. It then has floor(f / b) blocks of b nodes, and a job
// that takes n nodes of one domain uses at least floor(n / b) of them. So each number b > 1 of nodes that
// is offered to jobs that must stay within a domain of a level (Job::within) gives one row per pool:
//
//     sum over these jobs of floor(nodes / b)  <=  sum over the domains of floor(whole free nodes / b)
//
// Free nodes are those that pinned jobs (jobs that keep what they hold) leave. Jobs that stay within a
// domain of an inner level also stay within a domain of this level, so they count. A row that no allotment
// can exceed is left out.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// The rows for blocks of nodes in domains. It keeps its buffers.
class DomainBlocks {
public:
    /// The blocks of one number of nodes in one pool.
    struct Row {
        std::size_t level = 0;  ///< index of the level in the topology
        std::size_t pool = 0;
        int nodes = 0;        ///< nodes per block
        double capacity = 0;  ///< blocks that the domains have
    };

    /// Removes all rows.
    void clear() { rows_.clear(); }
    /// Finds the rows for the jobs' options. There are none if the topology does not belong to the cluster.
    void find(const Topology& topology, const Snapshot& snapshot, const OpenNodes& open,
              const Offers& offers);
    /// Sets the index of the first row in the problem.
    void begin(std::size_t first) { first_ = first; }

    /// The rows, sorted by level, pool, and nodes of a block.
    [[nodiscard]] std::span<const Row> rows() const { return rows_; }
    /// Whether a job may use any of the rows.
    [[nodiscard]] bool concern(const Job& job) const { return !rows_.empty() && !job.within.empty(); }

    /// Appends the blocks that an option of a job takes. `keeps` says that the job stays where it is with
    /// this option.
    void append_uses(const Job& job, std::size_t j, const Configuration& configuration, bool keeps,
                     const OpenNodes& open, std::vector<ResourceUse>& uses) const;

    /// Describes a row in words.
    [[nodiscard]] LimitRow describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const;

private:
    /// Returns the level whose domains the job must stay within, or the number of levels if there is none.
    [[nodiscard]] std::size_t level_of(const Job& job) const;

    std::size_t first_ = 0;
    std::vector<std::string> levels_;
    std::vector<Row> rows_;
};

inline void DomainBlocks::find(const Topology& topology, const Snapshot& snapshot, const OpenNodes& open,
                               const Offers& offers) {
    const Cluster& cluster = snapshot.cluster;
    const std::span<const Job> jobs = snapshot.jobs;
    rows_.clear();
    levels_.clear();
    for (const TopologyLevel& level : topology.levels) {
        if (level.domain_of.size() != cluster.nodes.size()) return;  // the placer refuses it
        levels_.push_back(level.name);
    }
    if (levels_.empty()) return;
    // By pool and level: the number of jobs by the largest number of nodes that they may take.
    std::vector<std::map<int, std::size_t>> asking(open.pools().size() * levels_.size());
    std::vector<int> most(open.pools().size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const std::size_t inner = level_of(jobs[j]);
        if (inner == levels_.size() || open.keeps(j)) continue;
        std::fill(most.begin(), most.end(), 0);
        PoolShare last{};
        std::size_t pool = open.pools().size();
        for (const Option& option : offers.options_of(j))
            for (const PoolShare& part : option.configuration.parts()) {
                if (!part.same_pool(last)) {
                    last = part;
                    pool = find_pool(open.pools(), part);
                }
                if (pool == open.pools().size() || part.shape.nodes < 2) continue;
                most[pool] = std::max(most[pool], part.shape.nodes);
                // Every offered size makes a row of this level and of all outer ones, because the jobs of
                // an inner level count in the rows of an outer one.
                for (std::size_t level = inner; level < levels_.size(); ++level)
                    asking[pool * levels_.size() + level].try_emplace(part.shape.nodes, 0);
            }
        for (pool = 0; pool < most.size(); ++pool)
            for (std::size_t level = inner; most[pool] > 0 && level < levels_.size(); ++level)
                ++asking[pool * levels_.size() + level][most[pool]];
    }
    for (std::size_t pool = 0; pool < open.pools().size(); ++pool)
        for (std::size_t level = 0; level < levels_.size(); ++level) {
            const std::map<int, std::size_t>& sizes = asking[pool * levels_.size() + level];
            if (sizes.empty()) continue;
            std::map<std::size_t, int> domains;
            for (const std::size_t node : open.pools()[pool].nodes)
                if (open.free_beside_kept(node, cluster) == cluster.nodes[node].gpus)
                    ++domains[topology.levels[level].domain_of[node]];
            for (const auto& offered : sizes) {
                const int nodes = offered.first;
                Row row{level, pool, nodes, 0};
                for (const auto& domain : domains) row.capacity += domain.second / nodes;
                double asked = 0;
                for (const auto& [size, count] : sizes) asked += static_cast<double>(count) * (size / nodes);
                if (asked > row.capacity) rows_.push_back(row);
            }
        }
}

inline std::size_t DomainBlocks::level_of(const Job& job) const {
    if (job.within.empty()) return levels_.size();
    return static_cast<std::size_t>(std::find(levels_.begin(), levels_.end(), job.within) - levels_.begin());
}

inline void DomainBlocks::append_uses(const Job& job, std::size_t j, const Configuration& configuration,
                                      bool keeps, const OpenNodes& open,
                                      std::vector<ResourceUse>& uses) const {
    // The capacity already excludes pinned jobs, and a job that stays on drained nodes takes nothing.
    if (!concern(job) || open.keeps(j) || (keeps && open.may_stay_on_drained(j))) return;
    const std::size_t inner = level_of(job);
    for (const PoolShare& part : configuration.parts()) {
        if (part.shape.nodes < 2) continue;
        const std::size_t pool = find_pool(open.pools(), part);
        for (std::size_t r = 0; r < rows_.size(); ++r)
            if (rows_[r].pool == pool && rows_[r].level >= inner && part.shape.nodes >= rows_[r].nodes)
                add_use(uses, 0, first_ + r, part.shape.nodes / rows_[r].nodes);
    }
}

inline LimitRow DomainBlocks::describe(std::size_t row, const Cluster& cluster, const OpenNodes& open) const {
    const Row& block = rows_[row];
    return {"the blocks of " + text_of(block.nodes) + " " +
                goodput::describe(open.pools()[block.pool], cluster) + " within one " + levels_[block.level],
            block.capacity == 1 ? "block" : "blocks", block.capacity};
}

}  // namespace goodput::inline v0_1::detail

#endif
