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
// Where a job finds no domain so, the inner placer is asked again, without it and, domain by domain, with
// those told to leave who hold the nodes that are cheapest to vacate; the best answer by the order of
// least_moves.hpp counts. So nobody is left out, or moves, for a job that then gets no nodes, and a job that
// runs as it should loses its nodes only to more jobs that get some. It is a search over few answers: with
// jobs left out, PlacementResult::fewest_unplaced_proven is true only if the inner placer had to leave out
// as many with no regard to domains.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/bodies.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/place/detail/spread_layout.hpp"
#include "goodput/place/detail/within_domains.hpp"
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
                                 const Topology& topology, LeastMovesPlacer& inner, Spread& spread);

private:
    PlacementResult result_;
    std::vector<Pool> pools_;
    SpreadLayout layout_;
};

inline const PlacementResult& TopologyPlacing::place(const Cluster& cluster,
                                                     std::span<const PlacementRequest> requests,
                                                     const Topology& topology, LeastMovesPlacer& inner,
                                                     Spread& spread) {
    result_ = inner.place(cluster, requests);
    validate(topology, cluster);
    spread = {};
    if (topology.levels.empty()) return result_;
    find_pools(cluster, pools_);
    double above = 0;  // the costs less the bounds of all jobs that are laid out anew
    const bool bound_to_domains =
        std::any_of(requests.begin(), requests.end(), [&](const PlacementRequest& request) {
            return level_within(topology, request) < topology.levels.size();
        });
    if (bound_to_domains) {
        result_ = WithinDomains(inner, layout_, topology, cluster, pools_, requests).place(above);
    } else {
        std::vector<std::size_t> none;
        for (const Pool& pool : pools_)
            above += layout_.lay_out(cluster, topology, pool, requests, result_, none);
    }
    spread.cost = spread_cost(topology, result_.placements);
    spread.bound = std::max(spread.cost - above, 0.0);
    return result_;
}

}  // namespace detail

GOODPUT_BODY const PlacementResult& TopologyPlacer::place(const Cluster& cluster,
                                                          std::span<const PlacementRequest> requests) {
    return kept_.get().place(cluster, requests, topology_, inner_, spread_);
}

}  // namespace goodput

#endif
