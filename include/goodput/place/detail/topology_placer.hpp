#ifndef GOODPUT_PLACE_DETAIL_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_DETAIL_TOPOLOGY_PLACER_HPP

// Implements topology_placer.hpp. Each job j needs n_j nodes, and the sum of the jobs' spread costs
// is to be small. The least sum is NP-hard to find: the problem includes whether jobs of n_j nodes fit
// racks of a_d nodes without being split. The method, pool by pool, is:
//
// 1. Jobs that must stay within one domain of a level (PlacementRequest::within) come first. They may also
//    use nodes on which no job stays, see detail/spread_layout.hpp.
// 2. Then the largest jobs come first. If a job fits into one domain of the outermost level, it gets one.
//    Among these domains it takes the one with the least cost inside, then the one with the fewest nodes to
//    spare, so that large free pieces remain. A job that fits into no domain fills the largest domains, and
//    its rest goes to the domain with the fewest nodes to spare. The same is repeated inside each domain.
// 3. Pairs of jobs are laid out again in both orders if one of them costs more than it would alone.
// 4. If the nodes that the inner placer chose cost no more, they stay.
//
// Spread::bound is the sum of what each job would cost if it could use all these nodes, level by level. If
// the cost equals the bound, the choice of nodes is the best one among the nodes that the inner placer
// left. Other ways to make room, which move as few jobs but leave better nodes, are neither considered nor
// covered by the proof. Steps 1 and 2 take O(jobs * nodes) for the jobs and nodes concerned, and so does
// step 3 with its limited number of tries.
//
// Pools do not share nodes. Therefore, if any job must stay within a domain, each pool is placed by itself.
// The search for other ways to make room is limited over all pools together (PlacingEffort), and ends at
// the caller's deadline.
//
// If a job finds no domain in this way, the inner placer is called again: once without the job and then,
// domain by domain, with the instruction that the jobs on the nodes that are cheapest to vacate must leave.
// The best of these answers is used, in the order of goals of least_moves.hpp. So no job is left out, or
// moved, for a job that then gets no nodes, and a job that holds its allotment loses its nodes only if more
// jobs get some. The search covers few answers. If jobs are left out,
// PlacementResult::fewest_unplaced_proven is true only if the inner placer had to leave out as many jobs
// without regard to domains.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/place/detail/least_moves.hpp"
#include "goodput/place/detail/spread_layout.hpp"
#include "goodput/place/detail/within_domains.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/place/topology_placer.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// The algorithm and the buffers of TopologyPlacer.
class TopologyPlacing {
public:
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests,
                                 const Topology& topology, const PlacementOptions& options,
                                 std::optional<std::chrono::nanoseconds> time, Spread& spread);

private:
    double place_pools(const Cluster& cluster, std::span<const PlacementRequest> requests,
                       const Topology& topology, const Clock& clock);

    LeastMoves inner_;
    PlacementResult result_;
    std::vector<Pool> pools_;
    SpreadLayout layout_;
};

inline const PlacementResult& TopologyPlacing::place(
    const Cluster& cluster, std::span<const PlacementRequest> requests, const Topology& topology,
    const PlacementOptions& options, std::optional<std::chrono::nanoseconds> time, Spread& spread) {
    Clock clock(time);
    inner_.validate(cluster, requests);
    validate(topology, cluster);
    inner_.set_options(options);
    result_ = inner_.place(cluster, requests);
    spread = {};
    if (topology.levels.empty()) return result_;
    find_pools(cluster, pools_);
    double above = 0;  // sum of cost minus bound over all jobs that are laid out again
    const bool bound_to_domains =
        std::any_of(requests.begin(), requests.end(), [&](const PlacementRequest& request) {
            return level_within(topology, request) < topology.levels.size();
        });
    if (bound_to_domains) {
        above = place_pools(cluster, requests, topology, clock);
    } else {
        std::vector<std::size_t> homeless;
        for (const Pool& pool : pools_)
            above += layout_.lay_out(cluster, topology, pool, requests, result_, homeless, clock);
    }
    spread.cost = spread_cost(topology, result_.placements);
    spread.bound = std::max(spread.cost - above, 0.0);
    return result_;
}

// Places pool by pool, each on a cluster of its own nodes and of nodes that its jobs hold elsewhere.
// Returns how much the jobs that were laid out again cost above their bounds.
inline double TopologyPlacing::place_pools(const Cluster& cluster, std::span<const PlacementRequest> requests,
                                           const Topology& topology, const Clock& clock) {
    std::vector<std::vector<std::size_t>> jobs(pools_.size());
    for (std::size_t job = 0; job < requests.size(); ++job)
        if (const std::size_t pool = find_pool(pools_, requests[job].part);
            pool < pools_.size() && !requests[job].part.empty())
            jobs[pool].push_back(job);
    PlacementResult all;
    all.start(requests.size());
    for (UnplacedJob& unplaced : result_.unplaced)
        if (find_pool(pools_, requests[unplaced.job].part) == pools_.size())
            all.unplaced.push_back(std::move(unplaced));
    PlacingEffort effort(clock);
    double above = 0;
    std::int64_t move_cost = 0, bound = 0;
    std::vector<std::size_t> nodes, index_of(cluster.nodes.size());
    for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
        if (jobs[pool].empty()) continue;
        nodes = pools_[pool].nodes;
        for (const std::size_t job : jobs[pool])
            for (const NodeShare& share : requests[job].current)
                if (!is_node_of(cluster.nodes[share.node], pools_[pool])) nodes.push_back(share.node);
        std::sort(nodes.begin(), nodes.end());
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
        Cluster part{cluster.gpu_types, {}};
        Topology inside;
        for (const TopologyLevel& level : topology.levels)
            inside.levels.push_back({level.name, level.cost, {}});
        for (std::size_t n = 0; n < nodes.size(); ++n) {
            index_of[nodes[n]] = n;
            part.nodes.push_back(cluster.nodes[nodes[n]]);
            for (std::size_t level = 0; level < topology.levels.size(); ++level)
                inside.levels[level].domain_of.push_back(topology.levels[level].domain_of[nodes[n]]);
        }
        std::vector<PlacementRequest> asked;
        for (const std::size_t job : jobs[pool]) {
            asked.push_back(requests[job]);
            for (NodeShare& share : asked.back().current) share.node = index_of[share.node];
        }
        double above_here = 0;
        const std::vector<Pool> pools = pools_of(part);
        PlacementResult placed =
            WithinDomains(inner_, layout_, inside, part, pools, asked, effort).place(above_here);
        above += above_here;
        for (std::size_t j = 0; j < asked.size(); ++j) {
            for (NodeShare& share : placed.placements[j]) share.node = nodes[share.node];
            all.placements[jobs[pool][j]] = std::move(placed.placements[j]);
        }
        for (UnplacedJob& unplaced : placed.unplaced)
            all.unplaced.push_back({jobs[pool][unplaced.job], std::move(unplaced.why)});
        for (const std::size_t j : placed.moved) all.moved.push_back(jobs[pool][j]);
        move_cost += milliseconds(placed.move_cost);
        bound += milliseconds(placed.move_cost_bound);
        all.fewest_unplaced_proven &= placed.fewest_unplaced_proven;
    }
    all.sort();
    all.move_cost = static_cast<double>(move_cost) / 1000;
    all.move_cost_bound = static_cast<double>(bound) / 1000;
    const FreeSpace space = free_space(cluster, all.placements);
    all.whole_free_nodes = space.whole_nodes;
    all.largest_free_block = space.largest_block;
    result_ = std::move(all);
    return above;
}

}  // namespace detail

GOODPUT_BODY const PlacementResult& TopologyPlacer::place(const Cluster& cluster,
                                                          std::span<const PlacementRequest> requests) {
    return kept_.get().place(cluster, requests, topology_, options_, time_, spread_);
}

}  // namespace goodput::inline v0_1

#endif
