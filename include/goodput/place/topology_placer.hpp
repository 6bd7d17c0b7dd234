#ifndef GOODPUT_PLACE_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_TOPOLOGY_PLACER_HPP

// Among placements with equally few moves, one whose jobs are close together (topology.hpp).
//
// What stays where it is, what moves and which nodes have room left for blocks is the choice of an inner
// placer (least_moves.hpp) and remains; but the jobs that take whole nodes anew may exchange them among each
// other and with wholly free nodes, at no move more. Choosing these n_j nodes for each so that the sum of
// spread costs is least is NP-hard (do jobs of n_j nodes fit racks of a_d nodes, none of them split?).
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
#include <string>
#include <utility>
#include <vector>

#include "goodput/place/concepts.hpp"
#include "goodput/place/detail/spread_layout.hpp"
#include "goodput/place/detail/within_domains.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/topology.hpp"

namespace goodput {

/// What the spread of all jobs costs, and a lower bound of it, given who moves.
struct Spread {
    double cost = 0;   ///< of all jobs, in the unit of TopologyLevel::cost
    double bound = 0;  ///< no other choice among the nodes that the inner placer left for them costs less
    /// No other nodes for those who are to be placed anew are closer.
    [[nodiscard]] bool proven() const { return cost <= bound * (1 + 1e-12); }
};

/// The placer described above; a Placer itself. The topology is that of the cluster of the next place().
class TopologyPlacer {
public:
    /// Without levels it answers as LeastMovesPlacer does. `options`: how hard that tries.
    explicit TopologyPlacer(Topology topology = {}, PlacementOptions options = {})
        : topology_(std::move(topology)), inner_(options) {}

    /// For when nodes came or went.
    void set_topology(Topology topology) { topology_ = std::move(topology); }

    /// The topology of the next place().
    [[nodiscard]] const Topology& topology() const { return topology_; }

    /// As the inner placer answers, with other nodes where that is cheaper; valid until the next call. Throws
    /// std::invalid_argument for a topology that is not one of this cluster and for what the inner placer
    /// refuses.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

    /// Whether a placement lies in one domain of the level of that name; true where there is no such level.
    [[nodiscard]] bool lies_within(const std::string& level, const Placement& placement) const {
        return goodput::lies_within(topology_, level, placement);
    }

    /// Of the last place().
    [[nodiscard]] const Spread& spread() const { return spread_; }

private:
    Topology topology_;
    LeastMovesPlacer inner_;
    PlacementResult result_;
    Spread spread_;
    std::vector<Pool> pools_;
    detail::SpreadLayout layout_;
};

static_assert(Placer<TopologyPlacer>);

// ---------------------------------------------------------------------------------------------------------

inline const PlacementResult& TopologyPlacer::place(const Cluster& cluster,
                                                    std::span<const PlacementRequest> requests) {
    result_ = inner_.place(cluster, requests);
    validate(topology_, cluster);
    spread_ = {};
    if (topology_.levels.empty()) return result_;
    find_pools(cluster, pools_);
    double above = 0;  // the costs less the bounds of all jobs that are laid out anew
    const bool bound_to_domains =
        std::any_of(requests.begin(), requests.end(), [&](const PlacementRequest& request) {
            return detail::level_within(topology_, request) < topology_.levels.size();
        });
    if (bound_to_domains) {
        result_ = detail::WithinDomains(inner_, layout_, topology_, cluster, pools_, requests).place(above);
    } else {
        std::vector<std::size_t> none;
        for (const Pool& pool : pools_)
            above += layout_.lay_out(cluster, topology_, pool, requests, result_, none);
    }
    spread_.cost = spread_cost(topology_, result_.placements);
    spread_.bound = std::max(spread_.cost - above, 0.0);
    return result_;
}

}  // namespace goodput

#endif
