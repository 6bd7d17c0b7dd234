#ifndef GOODPUT_PLACE_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_TOPOLOGY_PLACER_HPP

// Among placements with equally few moves, one whose jobs are close together (topology.hpp).
//
// Wraps a placer. What stays where it is, what moves and which nodes have room left for blocks is the inner
// placer's choice and remains; but the jobs that take whole nodes anew may exchange them among each other and
// with wholly free nodes, at no move more. Choosing these n_j nodes for each so that the sum of spread costs
// is least is NP-hard (do jobs of n_j nodes fit racks of a_d nodes, none of them split?). Method, by pool:
//
//  1. The largest jobs first. A job goes into one domain of the outermost level if it fits into one: into
//     that which costs it least inside, of these the one with the fewest nodes to spare, so that large free
//     pieces stay; otherwise it fills the largest domains up and the rest goes best fit. The same inside.
//  2. Pairs of jobs, one of which costs more than it would alone, are laid out anew in both orders.
//  3. If the inner placer's nodes were as cheap, they stay.
//
// Spread::bound sums what each job would cost if it had all these nodes for itself, level by level: cost =
// bound proves the choice of nodes best for what the inner placer left to choose from. Not proven, and not
// looked at: other ways to make room that move as few jobs and leave better nodes. Complexity O(jobs * nodes)
// of those that are to be chosen, for step 1 and, with its limited number of tries, for step 2.
//
// A job that has to stay within one domain of a level (PlacementRequest::within) comes before all others in
// step 1, and leaving the domain costs more than anything else. If in the end it lies in several, it gets
// free nodes of one domain, even if it held its allotment; if no domain has as many, it is left without
// nodes. So the wish is never disregarded, but a job may wait although another choice of nodes for others
// would serve it.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/place/concepts.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/topology.hpp"

namespace goodput {

/// What the spread of all jobs costs, and a lower bound of it, given who moves.
struct Spread {
    double cost = 0;   ///< of all jobs, in the unit of TopologyLevel::cost
    double bound = 0;  ///< no choice of nodes costs less
    /// No other nodes for those who are to be placed anew are closer.
    [[nodiscard]] bool proven() const { return cost <= bound * (1 + 1e-12); }
};

/// The placer described above; a Placer itself. The topology is that of the cluster of the next place().
template <Placer Inner = LeastMovesPlacer>
class TopologyPlacer {
public:
    /// Wraps `inner`; without levels it answers as that does.
    explicit TopologyPlacer(Topology topology = {}, Inner inner = Inner())
        : topology_(std::move(topology)), inner_(std::move(inner)) {}

    /// For when nodes came or went.
    void set_topology(Topology topology) { topology_ = std::move(topology); }

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
    static constexpr std::size_t tries = 400;  // pairs laid out anew, a pool

    struct Range {
        std::size_t begin = 0, end = 0, available = 0;
    };

    void gather(const Cluster& cluster, const Pool& pool, std::span<const PlacementRequest> requests,
                const PlacementResult& result);
    void improve(std::span<const PlacementRequest> requests, PlacementResult& result);
    void take(std::size_t job, std::span<const PlacementRequest> requests, PlacementResult& result);
    void give_back(const Placement& placement);
    void keep_within(const Cluster& cluster, std::span<const PlacementRequest> requests,
                     PlacementResult& result);
    [[nodiscard]] Placement lay_within(const Cluster& cluster, const PlacementRequest& request) const;
    double choose(std::size_t level, Range range, std::size_t nodes, const Placement& home, bool dry);
    [[nodiscard]] std::vector<Range> split(std::size_t level, Range range) const;
    [[nodiscard]] double cost_of(const PlacementResult& result, std::size_t job,
                                 std::span<const PlacementRequest> requests) const {
        constexpr double forbidden = 1e9;
        const Placement& placement = result.placements[job];
        return spread_cost(topology_, placement) +
               (lies_within(requests[job].within, placement) ? 0 : forbidden);
    }

    Topology topology_;
    Inner inner_;
    PlacementResult result_;
    Spread spread_;
    std::vector<Pool> pools_;
    std::vector<int> free_;             // by node, beside the result's placements
    std::vector<std::size_t> roaming_;  // jobs that may get other nodes, those over most nodes first
    std::vector<std::size_t> nodes_;    // theirs and the free ones, domain by domain
    std::vector<char> available_;       // by node
    std::vector<std::size_t> chosen_;
    std::vector<double> alone_;  // by roaming job: bound of its cost
};

static_assert(Placer<TopologyPlacer<>>);

// ---------------------------------------------------------------------------------------------------------

template <Placer Inner>
const PlacementResult& TopologyPlacer<Inner>::place(const Cluster& cluster,
                                                    std::span<const PlacementRequest> requests) {
    PlacementResult& result = result_;
    result = inner_.place(cluster, requests);
    validate(topology_, cluster);
    spread_ = {};
    if (topology_.levels.empty()) return result;
    free_ = free_gpus(cluster, result.placements);
    available_.assign(cluster.nodes.size(), 0);
    double below = 0;  // the costs less the bounds of all roaming jobs
    find_pools(cluster, pools_);
    for (const Pool& pool : pools_) {
        gather(cluster, pool, requests, result);
        if (roaming_.empty()) continue;
        improve(requests, result);
        for (std::size_t r = 0; r < roaming_.size(); ++r)
            below += spread_cost(topology_, result.placements[roaming_[r]]) - alone_[r];
    }
    keep_within(cluster, requests, result);
    spread_.cost = spread_cost(topology_, result.placements);
    spread_.bound = std::max(spread_.cost - below, 0.0);
    return result;
}

template <Placer Inner>
void TopologyPlacer<Inner>::gather(const Cluster& cluster, const Pool& pool,
                                   std::span<const PlacementRequest> requests,
                                   const PlacementResult& result) {
    roaming_.clear();
    nodes_.clear();
    alone_.clear();
    bool wide = false;
    for (std::size_t job = 0; job < requests.size(); ++job) {
        const PoolShare& a = requests[job].part;
        const Placement& placement = result.placements[job];
        if (!a.same_pool(pool.share({})) || placement.empty()) continue;
        if (a.occupied_gpus() != a.shape.nodes * a.gpus_per_node || placement == requests[job].current)
            continue;
        if (std::binary_search(result.moved.begin(), result.moved.end(), job)) continue;
        roaming_.push_back(job);
        wide |= placement.size() > 1;
        for (const NodeShare& share : placement) nodes_.push_back(share.node);
    }
    if (!wide) return roaming_.clear();
    for (const std::size_t node : pool.nodes)
        if (free_[node] == cluster.nodes[node].gpus) nodes_.push_back(node), available_[node] = 1;
    std::sort(nodes_.begin(), nodes_.end(), [&](std::size_t a, std::size_t b) {
        for (std::size_t l = topology_.levels.size(); l-- > 0;) {
            const auto& domain_of = topology_.levels[l].domain_of;
            if (domain_of[a] != domain_of[b]) return domain_of[a] < domain_of[b];
        }
        return a < b;
    });
    std::stable_sort(roaming_.begin(), roaming_.end(), [&](std::size_t a, std::size_t b) {
        const bool a_free = requests[a].within.empty(), b_free = requests[b].within.empty();
        return a_free != b_free ? b_free : result.placements[a].size() > result.placements[b].size();
    });
    // Level by level, the fewest domains that have as many nodes.
    std::vector<std::vector<std::size_t>> sizes(topology_.levels.size());
    for (std::size_t l = 0; l < sizes.size(); ++l) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            const auto& domain_of = topology_.levels[l].domain_of;
            if (i == 0 || domain_of[nodes_[i]] != domain_of[nodes_[i - 1]]) sizes[l].push_back(0);
            ++sizes[l].back();
        }
        std::sort(sizes[l].rbegin(), sizes[l].rend());
    }
    for (const std::size_t job : roaming_) {
        double cost = 0;
        for (std::size_t l = 0; l < sizes.size(); ++l) {
            std::size_t held = sizes[l].front(), d = 0;
            while (held < result.placements[job].size()) held += sizes[l][++d];
            cost += topology_.levels[l].cost * static_cast<double>(d);
        }
        alone_.push_back(cost);
    }
}

template <Placer Inner>
void TopologyPlacer<Inner>::improve(std::span<const PlacementRequest> requests, PlacementResult& result) {
    const auto total = [&] {
        double cost = 0;
        for (const std::size_t job : roaming_) cost += cost_of(result, job, requests);
        return cost;
    };
    std::vector<Placement> before;
    const double cost_before = total();
    for (const std::size_t job : roaming_) before.push_back(result.placements[job]);
    for (const std::size_t job : roaming_) give_back(result.placements[job]);
    for (const std::size_t job : roaming_) take(job, requests, result);

    std::size_t left = tries;
    for (std::size_t a = 0; a < roaming_.size() && left > 0; ++a)
        for (std::size_t b = 0; b < roaming_.size() && left > 0; ++b) {
            const std::size_t first = roaming_[a], second = roaming_[b];
            if (cost_of(result, first, requests) <= alone_[a]) break;
            if (a == b) continue;
            --left;
            const Placement of_first = result.placements[first], of_second = result.placements[second];
            const double cost = cost_of(result, first, requests) + cost_of(result, second, requests);
            give_back(of_first), give_back(of_second);
            take(first, requests, result), take(second, requests, result);
            if (cost_of(result, first, requests) + cost_of(result, second, requests) < cost) continue;
            give_back(result.placements[first]), give_back(result.placements[second]);
            for (const Placement* p : {&of_first, &of_second})
                for (const NodeShare& share : *p) available_[share.node] = 0;
            result.placements[first] = of_first, result.placements[second] = of_second;
        }
    if (total() < cost_before) return;
    for (std::size_t r = 0; r < roaming_.size(); ++r) result.placements[roaming_[r]] = before[r];
}

// Jobs that must stay within a domain and do not: other nodes, or none.
template <Placer Inner>
void TopologyPlacer<Inner>::keep_within(const Cluster& cluster, std::span<const PlacementRequest> requests,
                                        PlacementResult& result) {
    const std::size_t unplaced_before = result.unplaced.size();
    for (std::size_t job = 0; job < requests.size(); ++job) {
        const PlacementRequest& request = requests[job];
        Placement& placement = result.placements[job];
        if (lies_within(request.within, placement) || (request.pinned && placement == request.current))
            continue;
        const bool held = placement == request.current;
        placement.clear();
        free_ = free_gpus(cluster, result.placements);
        placement = lay_within(cluster, request);
        const auto moved = std::lower_bound(result.moved.begin(), result.moved.end(), job);
        const bool counted = moved != result.moved.end() && *moved == job;
        if (placement.empty()) {
            result.unplaced.push_back(
                {job,
                 {Outcome::waits, "no " + request.within + " has " + text_of(request.part.shape.nodes) +
                                      " whole nodes for it that are free"}});
            if (!counted) continue;
            result.moved.erase(moved);
            result.move_cost -= request.move_cost;
        } else if (held && !counted) {
            result.moved.insert(moved, job);
            result.move_cost += request.move_cost;
        }
    }
    if (result.unplaced.size() > unplaced_before) {
        std::sort(result.unplaced.begin(), result.unplaced.end(),
                  [](const UnplacedJob& a, const UnplacedJob& b) { return a.job < b.job; });
        result.fewest_unplaced_proven = false;
    }
    result.move_cost_bound = std::min(result.move_cost_bound, result.move_cost);
    free_ = free_gpus(cluster, result.placements);
    result.whole_free_nodes = 0;
    result.largest_free_block = 0;
    for (std::size_t node = 0; node < free_.size(); ++node) {
        if (cluster.nodes[node].drained) continue;
        result.whole_free_nodes += free_[node] == cluster.nodes[node].gpus ? 1 : 0;
        result.largest_free_block = std::max(result.largest_free_block, free_[node]);
    }
}

// Free nodes of one domain for a request over several: of the domain that has the fewest to spare.
template <Placer Inner>
Placement TopologyPlacer<Inner>::lay_within(const Cluster& cluster, const PlacementRequest& request) const {
    const auto level = std::find_if(topology_.levels.begin(), topology_.levels.end(),
                                    [&](const TopologyLevel& of) { return of.name == request.within; });
    std::map<std::size_t, std::vector<std::size_t>> free_of;
    for (std::size_t node = 0; node < cluster.nodes.size(); ++node)
        if (is_node_of(cluster.nodes[node], request.part) && !cluster.nodes[node].drained &&
            free_[node] == cluster.nodes[node].gpus)
            free_of[level->domain_of[node]].push_back(node);
    const auto needed = static_cast<std::size_t>(request.part.shape.nodes);
    const std::vector<std::size_t>* best = nullptr;
    for (const auto& [domain, nodes] : free_of)
        if (nodes.size() >= needed && (!best || nodes.size() < best->size())) best = &nodes;
    Placement placement;
    int left = request.part.shape.gpus;
    for (std::size_t i = 0; best && i < needed; ++i) {
        const int gpus = std::min(left, request.part.gpus_per_node);
        placement.push_back({(*best)[i], gpus});
        left -= gpus;
    }
    return placement;
}

template <Placer Inner>
void TopologyPlacer<Inner>::give_back(const Placement& placement) {
    for (const NodeShare& share : placement) available_[share.node] = 1;
}

// Nodes for one job, whose placement tells how many and how many GPUs of each.
template <Placer Inner>
void TopologyPlacer<Inner>::take(std::size_t job, std::span<const PlacementRequest> requests,
                                 PlacementResult& result) {
    Placement& placement = result.placements[job];
    chosen_.clear();
    choose(topology_.levels.size(), {0, nodes_.size(), 0}, placement.size(), requests[job].current, false);
    std::sort(chosen_.begin(), chosen_.end());
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
        placement[i].node = chosen_[i];
        available_[chosen_[i]] = 0;
    }
}

// The domains of the level below `level` in a range of nodes_, with how many of their nodes are available.
template <Placer Inner>
auto TopologyPlacer<Inner>::split(std::size_t level, Range range) const -> std::vector<Range> {
    std::vector<Range> parts;
    const auto& domain_of = topology_.levels[level - 1].domain_of;
    for (std::size_t i = range.begin; i < range.end; ++i) {
        if (i == range.begin || domain_of[nodes_[i]] != domain_of[nodes_[i - 1]]) parts.push_back({i, i, 0});
        parts.back().end = i + 1;
        parts.back().available += available_[nodes_[i]] ? 1 : 0;
    }
    return parts;
}

// Chooses available nodes in a range (`dry`: only says what that costs), within domains of levels below.
template <Placer Inner>
double TopologyPlacer<Inner>::choose(std::size_t level, Range range, std::size_t nodes, const Placement& home,
                                     bool dry) {
    if (level == 0) {
        if (dry) return 0;
        const auto is_home = [&](std::size_t node) {
            return std::any_of(home.begin(), home.end(), [&](NodeShare s) { return s.node == node; });
        };
        for (const bool at_home : {true, false})
            for (std::size_t i = range.begin; i < range.end && nodes > 0; ++i) {
                if (!available_[nodes_[i]] || is_home(nodes_[i]) != at_home) continue;
                chosen_.push_back(nodes_[i]);
                --nodes;
            }
        return 0;
    }
    std::vector<Range> parts = split(level, range);
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Range& a, const Range& b) { return a.available > b.available; });
    double cost = 0;
    for (std::size_t next = 0; nodes > 0; ++next) {
        if (next > 0) cost += topology_.levels[level - 1].cost;
        if (parts[next].available < nodes) {
            cost += choose(level - 1, parts[next], parts[next].available, home, dry);
            nodes -= parts[next].available;
            continue;
        }
        // Fits into one domain: the cheapest inside, then the fullest.
        std::size_t best = next;
        double least = choose(level - 1, parts[next], nodes, home, true);
        for (std::size_t i = next + 1; i < parts.size() && parts[i].available >= nodes; ++i) {
            const double inside = choose(level - 1, parts[i], nodes, home, true);
            if (inside <= least) least = inside, best = i;
        }
        cost += dry ? least : choose(level - 1, parts[best], nodes, home, false);
        nodes = 0;
    }
    return cost;
}

}  // namespace goodput

#endif
