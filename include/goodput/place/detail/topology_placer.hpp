#ifndef GOODPUT_PLACE_DETAIL_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_DETAIL_TOPOLOGY_PLACER_HPP

// The bodies behind topology_placer.hpp. Choosing n_j nodes for each job so that the sum of spread costs is
// least is NP-hard (do jobs of n_j nodes fit racks of a_d nodes, none of them split?).
// Method, by pool:
//
//  1. Jobs that have to stay within one domain of a level (PlacementRequest::within) come first; they may
//     also have nodes on which nobody stays, see detail/spread_layout.hpp.
//  2. Then the largest jobs first. A job goes into one domain of the outermost level if it fits into one:
//     into that which costs it least inside, of these the one with the fewest nodes to spare, so that large
//     free pieces stay; otherwise it fills the largest domains up and the rest goes best fit. The same
//     inside.
//  3. Pairs of jobs, one of which costs more than it would alone, are laid out anew in both orders.
//  4. If the inner placer's nodes were as cheap, they stay.
//
// Spread::bound sums what each job would cost if it had all these nodes for itself, level by level: cost =
// bound proves the choice of nodes best for what the inner placer left to choose from. Not proven, and not
// looked at: other ways to make room that move as few jobs and leave better nodes. Complexity O(jobs * nodes)
// of those that are to be chosen, for the first steps and, with its limited number of tries, for step 3.
//
// Pools do not share nodes, so each is placed by itself where a job has to stay within a domain. The search
// for other ways to make room is limited in all (PlacingEffort) and ends at the caller's deadline.
//
// Where a job finds no domain so, the inner placer is asked again, without it and, domain by domain, with
// those told to leave who hold the nodes that are cheapest to vacate; the best answer by the order of
// least_moves.hpp counts. So nobody is left out, or moves, for a job that then gets no nodes, and a job that
// runs as it should loses its nodes only to more jobs that get some. It is a search over few answers: with
// jobs left out, PlacementResult::fewest_unplaced_proven is true only if the inner placer had to leave out
// as many with no regard to domains.

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

namespace goodput {

namespace detail {

/// What TopologyPlacer does and keeps.
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
    double above = 0;  // the costs less the bounds of all jobs that are laid out anew
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

// Places pool by pool, each on a cluster of its nodes and those that its jobs hold elsewhere. Returns by how
// much jobs that were laid out anew cost more than each would alone.
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
    std::sort(all.moved.begin(), all.moved.end());
    std::sort(all.unplaced.begin(), all.unplaced.end(),
              [](const UnplacedJob& a, const UnplacedJob& b) { return a.job < b.job; });
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

}  // namespace goodput

#endif
