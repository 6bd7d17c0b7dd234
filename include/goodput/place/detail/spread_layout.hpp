#ifndef GOODPUT_PLACE_DETAIL_SPREAD_LAYOUT_HPP
#define GOODPUT_PLACE_DETAIL_SPREAD_LAYOUT_HPP

// Brings jobs of one pool that get new whole nodes close together (topology_placer.hpp, steps 1 to 4).
//
// A job roams if it takes whole nodes and does not stay where it runs. Roaming jobs exchange their nodes
// among each other and with wholly free ones. For jobs that must stay within a domain, such as a rack,
// nodes on which no job stays can be exchanged, too: everything that was to be placed on such a node moves
// to another node in one piece. So all exchangeable nodes are alike, and whether each such job (a wish of
// the search) finds a domain depends only on the number of these nodes in each domain. The search goes from
// the innermost level outwards, and in each level from the largest job to the smallest. Within its limit it
// is exact: for a job of an outer level it only matters how many nodes of its domain the jobs of inner
// levels leave, not which.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/place/detail/node_choice.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the level with a domain that must contain all nodes of a request, or the number of levels if the
/// nodes may be anywhere.
inline std::size_t level_within(const Topology& topology, const PlacementRequest& request) {
    const TopologyLevel* level = find_level(topology, request.within);
    return request.part.shape.nodes < 2 || !level ? topology.levels.size()
                                                  : static_cast<std::size_t>(level - topology.levels.data());
}

/// Lays out roaming jobs. It keeps its buffers from call to call.
class SpreadLayout {
public:
    /// Lays out the roaming jobs of a pool again, unless they cannot be closer together. Jobs that find no
    /// domain lose their placement and are appended to `homeless`. Returns how much the other jobs cost
    /// above their bounds, where the bound of a job is its cost if it could use all the nodes. After the
    /// deadline, jobs that may be anywhere are not brought closer together.
    double lay_out(const Cluster& cluster, const Topology& topology, const Pool& pool,
                   std::span<const PlacementRequest> requests, PlacementResult& result,
                   std::vector<std::size_t>& homeless, Clock& clock) {
        clock_ = &clock;
        const std::size_t homeless_before = homeless.size();
        if (std::any_of(pool.nodes.begin(), pool.nodes.end(),
                        [&](std::size_t n) { return std::isfinite(cluster.nodes[n].leaves_seconds); })) {
            const std::vector<Placement> placements = result.placements;
            const double above = lay_out(cluster, topology, pool, requests, result, homeless, true);
            if (homeless.size() == homeless_before) return above;
            result.placements = placements;
            homeless.resize(homeless_before);
        }
        return lay_out(cluster, topology, pool, requests, result, homeless, false);
    }

private:
    static constexpr std::size_t tries = 400;         // pairs laid out again, per pool
    static constexpr std::size_t most_steps = 2'000;  // domains tried in one search

    struct Roamer {
        std::size_t job = 0, level = 0, nodes = 0;
        double alone = 0;  // lower bound on its cost
    };
    enum Content : char { nothing, restarting, staying };

    // `staying_nodes` excludes free nodes that leave before the roaming jobs have ended, if the other nodes
    // suffice.
    double lay_out(const Cluster& cluster, const Topology& topology, const Pool& pool,
                   std::span<const PlacementRequest> requests, PlacementResult& result,
                   std::vector<std::size_t>& homeless, bool staying_nodes);
    [[nodiscard]] bool gather(const Cluster& cluster, const Pool& pool, const PlacementResult& result,
                              bool staying_nodes);
    void bound_alone();
    void lay_out_all(std::vector<std::size_t>& homeless);
    void settle_all(std::vector<std::size_t>& homeless);
    bool settle(std::size_t wish, bool skips);
    void move_contents();
    void exchange_pairs();
    [[nodiscard]] bool lawful() const;
    [[nodiscard]] double cost() const;
    bool take(const Roamer& roamer);
    void put(const Roamer& roamer, NodeChoice::Range range);
    void put(const Roamer& roamer, std::span<const std::size_t> nodes);
    [[nodiscard]] const Placement& placement(const Roamer& roamer) const {
        return (*placements_)[roamer.job];
    }
    [[nodiscard]] double cost_of(const Roamer& roamer) const {
        return spread_cost(*topology_, placement(roamer));
    }
    [[nodiscard]] bool may_lie_anywhere(const Roamer& roamer) const {
        return roamer.level == topology_->levels.size();
    }

    Clock* clock_ = nullptr;
    const Topology* topology_ = nullptr;
    std::span<const PlacementRequest> requests_;
    std::vector<Placement>* placements_ = nullptr;
    std::vector<Placement> before_;
    std::vector<Roamer> roaming_;           // jobs that must stay within a domain first, then the largest
    NodeChoice choice_;                     // nodes that may be exchanged
    std::vector<Content> content_;          // by node, without the roaming jobs
    std::vector<std::size_t> wishes_;       // jobs of a search, as indices into roaming_
    std::vector<std::size_t> unfulfilled_;  // wishes that found no domain
    std::size_t reserved_ = 0;              // nodes that jobs other than the wishes need
    std::size_t steps_ = 0;
};

// ---------------------------------------------------------------------------------------------------------

inline double SpreadLayout::lay_out(const Cluster& cluster, const Topology& topology, const Pool& pool,
                                    std::span<const PlacementRequest> requests, PlacementResult& result,
                                    std::vector<std::size_t>& homeless, bool staying_nodes) {
    topology_ = &topology;
    requests_ = requests;
    placements_ = &result.placements;
    if (!gather(cluster, pool, result, staying_nodes)) return 0;
    before_ = result.placements;
    const std::vector<Roamer> roaming_before = roaming_;
    const std::size_t homeless_before = homeless.size();
    const bool was_lawful = lawful();
    const double cost_before = cost();
    if (!was_lawful || !clock_->late()) lay_out_all(homeless);
    bound_alone();
    exchange_pairs();
    // If the inner placer's nodes cost no more, they stay.
    if (was_lawful && (homeless.size() > homeless_before || cost() >= cost_before)) {
        result.placements = before_;
        homeless.resize(homeless_before);
        roaming_ = roaming_before;
        bound_alone();
    }
    double above = 0;
    for (const Roamer& roamer : roaming_) above += cost_of(roamer) - roamer.alone;
    return above;
}

// Finds the roaming jobs and the exchangeable nodes. Returns false if it makes no difference which nodes
// any job gets.
inline bool SpreadLayout::gather(const Cluster& cluster, const Pool& pool, const PlacementResult& result,
                                 bool staying_nodes) {
    roaming_.clear();
    content_.assign(cluster.nodes.size(), nothing);
    bool wide = false, bound = false;
    for (std::size_t job = 0; job < requests_.size(); ++job) {
        const PlacementRequest& request = requests_[job];
        const Placement& placement = result.placements[job];
        if (placement.empty() || !request.part.same_pool(pool.share({}))) continue;
        const std::size_t level = level_within(*topology_, request);
        const bool bound_here = level < topology_->levels.size();
        const bool may_stay =
            request.pinned ||
            (!request.leaves && (!bound_here || domains(topology_->levels[level], placement) == 1));
        const bool stays = placement == request.current && may_stay;
        const bool whole = request.part.occupied_gpus() == request.part.shape.nodes * pool.gpus_per_node;
        const bool free_to_go =
            bound_here || !std::binary_search(result.moved.begin(), result.moved.end(), job);
        if (whole && !stays && free_to_go) {
            roaming_.push_back({job, level, placement.size(), 0});
            wide |= placement.size() > 1;
            bound |= bound_here;
            continue;
        }
        for (const NodeShare& share : placement)
            content_[share.node] = std::max(content_[share.node], stays || whole ? staying : restarting);
    }
    if (!wide) return false;
    double longest = 0;
    // Number of nodes, including those to which the contents of other nodes must move.
    std::size_t needed = 0;
    for (const Roamer& roamer : roaming_) {
        longest = std::max(longest, requests_[roamer.job].needs_seconds);
        needed += roamer.nodes;
    }
    const auto is_brief = [&](std::size_t node) { return cluster.nodes[node].leaves_seconds < longest; };
    std::vector<std::size_t> nodes, brief;
    for (const std::size_t node : pool.nodes) {
        if (cluster.nodes[node].drained || content_[node] > (bound ? restarting : nothing)) continue;
        needed += content_[node] == restarting ? 1U : 0U;
        (staying_nodes && content_[node] == nothing && is_brief(node) ? brief : nodes).push_back(node);
    }
    if (nodes.size() < needed) nodes.insert(nodes.end(), brief.begin(), brief.end());
    std::vector<char> occupied(content_.size());
    for (std::size_t node = 0; node < occupied.size(); ++node)
        occupied[node] = content_[node] != nothing || is_brief(node);
    choice_.start(*topology_, std::move(nodes), std::move(occupied));
    std::stable_sort(roaming_.begin(), roaming_.end(), [](const Roamer& a, const Roamer& b) {
        return a.level != b.level ? a.level < b.level : a.nodes > b.nodes;
    });
    return true;
}

// For each level, bounds the cost of a job: finds the fewest domains that together have as many nodes as it
// needs.
inline void SpreadLayout::bound_alone() {
    const auto nodes = choice_.nodes();
    std::vector<std::size_t> sizes;
    for (Roamer& roamer : roaming_) roamer.alone = 0;
    for (const TopologyLevel& level : topology_->levels) {
        sizes.clear();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (i == 0 || level.domain_of[nodes[i]] != level.domain_of[nodes[i - 1]]) sizes.push_back(0);
            ++sizes.back();
        }
        std::sort(sizes.rbegin(), sizes.rend());
        for (Roamer& roamer : roaming_) {
            std::size_t held = sizes.front(), d = 0;
            while (held < roamer.nodes) held += sizes[++d];
            roamer.alone += level.cost * static_cast<double>(d);
        }
    }
}

inline void SpreadLayout::lay_out_all(std::vector<std::size_t>& homeless) {
    choice_.make_all_available();
    if (!may_lie_anywhere(roaming_.front())) settle_all(homeless);
    for (const std::size_t node : choice_.nodes())
        if (content_[node] == restarting) choice_.make_available(node, false);
    // Next node to take once the deadline has passed.
    std::size_t next = 0;
    for (const Roamer& roamer : roaming_) {
        if (!may_lie_anywhere(roamer)) continue;
        if (!clock_->late(choice_.nodes().size()))
            take(roamer);
        else
            put(roamer, choice_.take_next(next, roamer.nodes));
    }
    move_contents();
}

// Finds nodes for all roaming jobs that must stay within a domain. If the search does not find nodes for
// all of them, gives nodes to the jobs that find a domain one after the other. The remaining ones are
// homeless.
inline void SpreadLayout::settle_all(std::vector<std::size_t>& homeless) {
    wishes_.clear();
    unfulfilled_.clear();
    reserved_ = 0;
    for (std::size_t r = 0; r < roaming_.size(); ++r)
        if (may_lie_anywhere(roaming_[r]))
            reserved_ += roaming_[r].nodes;
        else
            wishes_.push_back(r);
    for (const std::size_t node : choice_.nodes()) reserved_ += content_[node] == restarting ? 1U : 0U;
    steps_ = most_steps;
    if (settle(0, false)) return;
    settle(0, true);
    for (std::size_t i = unfulfilled_.size(); i-- > 0;) {
        const auto at = roaming_.begin() + static_cast<std::ptrdiff_t>(unfulfilled_[i]);
        (*placements_)[at->job].clear();
        homeless.push_back(at->job);
        roaming_.erase(at);
    }
}

// Finds nodes for the wishes from index `wish` on. If `skips`, a job that finds no domain is added to
// unfulfilled_, and no earlier choice is undone.
inline bool SpreadLayout::settle(std::size_t wish, bool skips) {
    if (wish == wishes_.size()) return true;
    const Roamer& roamer = roaming_[wishes_[wish]];
    const bool outermost = roamer.level + 1 == topology_->levels.size();
    std::vector<std::pair<std::size_t, std::size_t>> seen;  // domains that are equivalent for the search
    if (choice_.number_available() >= reserved_ + roamer.nodes)
        for (const auto& range : choice_.domains_for(roamer.level, roamer.nodes)) {
            const std::size_t node = choice_.nodes()[range.begin];
            const std::pair like{outermost ? 0 : topology_->levels[roamer.level + 1].domain_of[node],
                                 range.available};
            if (std::find(seen.begin(), seen.end(), like) != seen.end()) continue;
            seen.push_back(like);
            if (steps_ == 0 && !skips) return false;
            steps_ -= steps_ > 0 ? 1 : 0;
            put(roamer, range);
            if (settle(wish + 1, skips)) return true;
            choice_.make_available(placement(roamer), true);
        }
    if (!skips) return false;
    unfulfilled_.push_back(wishes_[wish]);
    return settle(wish + 1, skips);
}

// Moves the contents of nodes that were given to roaming jobs to other nodes.
inline void SpreadLayout::move_contents() {
    std::vector<std::pair<std::size_t, std::size_t>> moves;
    std::vector<char> given(content_.size(), 0);
    for (const Roamer& roamer : roaming_)
        for (const NodeShare& share : placement(roamer)) given[share.node] = 1;
    auto next = choice_.nodes().begin();
    for (const std::size_t node : choice_.nodes()) {
        if (content_[node] != restarting || !given[node]) continue;
        while (!choice_.is_available(*next)) ++next;
        choice_.make_available(*next, false);
        moves.push_back({node, *next});
    }
    if (moves.empty()) return;
    std::sort(moves.begin(), moves.end());
    std::vector<char> roams(placements_->size(), 0);
    for (const Roamer& roamer : roaming_) roams[roamer.job] = 1;
    for (std::size_t job = 0; job < placements_->size(); ++job) {
        Placement& placement = (*placements_)[job];
        if (placement.size() != 1) continue;
        const auto move = std::lower_bound(moves.begin(), moves.end(),
                                           std::pair<std::size_t, std::size_t>{placement[0].node, 0});
        if (!roams[job] && move != moves.end() && move->first == placement[0].node)
            placement[0].node = move->second;
    }
}

inline void SpreadLayout::exchange_pairs() {
    std::size_t left = tries;
    for (std::size_t a = 0; a < roaming_.size() && left > 0; ++a)
        for (std::size_t b = 0; b < roaming_.size() && left > 0 && !clock_->late(choice_.nodes().size());
             ++b) {
            const Roamer &first = roaming_[a], &second = roaming_[b];
            if (cost_of(first) <= first.alone) break;
            if (a == b) continue;
            --left;
            const Placement first_before = placement(first), second_before = placement(second);
            const double cost = cost_of(first) + cost_of(second);
            choice_.make_available(first_before, true), choice_.make_available(second_before, true);
            const bool first_taken = take(first), second_taken = first_taken && take(second);
            if (second_taken && cost_of(first) + cost_of(second) < cost) continue;
            if (first_taken) choice_.make_available(placement(first), true);
            if (second_taken) choice_.make_available(placement(second), true);
            (*placements_)[first.job] = first_before, (*placements_)[second.job] = second_before;
            choice_.make_available(first_before, false), choice_.make_available(second_before, false);
        }
}

// Whether every roaming job is within one domain of its level.
inline bool SpreadLayout::lawful() const {
    return std::all_of(roaming_.begin(), roaming_.end(), [&](const Roamer& roamer) {
        return may_lie_anywhere(roamer) || domains(topology_->levels[roamer.level], placement(roamer)) == 1;
    });
}

inline double SpreadLayout::cost() const {
    double cost = 0;
    for (const Roamer& roamer : roaming_) cost += cost_of(roamer);
    return cost;
}

// Takes nodes for one job. Returns false, and changes nothing, if no domain has enough.
inline bool SpreadLayout::take(const Roamer& roamer) {
    NodeChoice::Range range = choice_.everywhere();
    if (!may_lie_anywhere(roamer)) {
        const std::vector<NodeChoice::Range> domains = choice_.domains_for(roamer.level, roamer.nodes);
        if (domains.empty()) return false;
        range = domains.front();
    }
    put(roamer, range);
    return true;
}

// Puts a job on nodes of a range. Its placement already contains the number of GPUs on each node.
inline void SpreadLayout::put(const Roamer& roamer, NodeChoice::Range range) {
    put(roamer, choice_.take(roamer.level, range, roamer.nodes, requests_[roamer.job].current));
}
inline void SpreadLayout::put(const Roamer& roamer, std::span<const std::size_t> nodes) {
    Placement& placement = (*placements_)[roamer.job];
    for (std::size_t i = 0; i < nodes.size(); ++i) placement[i].node = nodes[i];
}

}  // namespace goodput::inline v0_1::detail

#endif
