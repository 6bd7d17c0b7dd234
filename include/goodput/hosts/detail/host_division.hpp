#ifndef GOODPUT_HOSTS_DETAIL_HOST_DIVISION_HPP
#define GOODPUT_HOSTS_DETAIL_HOST_DIVISION_HPP

// Chooses each job's variant (its cores and memory per GPU) once its nodes are known. It may also move jobs
// between nodes.
//
// The allotment counts cores and memory as sums over a pool, so a node may lack what its jobs were
// allotted. Therefore every node divides what it has anew (host_nodes.hpp), and jobs move between nodes of
// one pool, for two reasons.
//
// First, a job may get nothing because its node has too little for it. It then moves to a node that has
// enough. It takes GPUs that are free there, changes places with jobs of that node, or the two nodes swap
// everything. Jobs that lose time by moving may move only for this reason.
//
// Second, cores and memory have a price on each node, their worth to its jobs. A node with high prices may
// have a job that takes much at these prices, and a node with low prices a job with as many GPUs that takes
// little. The two exchange their places if the total worth grows. With the prices of a node before the
// swap,
//
//     prices . capacity + sum over its jobs of (largest value less price)
//
// is an upper bound on what any jobs on the node can be worth together. So the change of this number is an
// approximate bound on what a swap can gain. The best few swaps are tried, with both nodes divided anew,
// until none gains.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/hosts/detail/host_nodes.hpp"

namespace goodput::inline v0_1::detail {

/// Divides cores and memory among jobs. Keeps its buffers between calls.
class HostDivision {
public:
    /// Sets `chosen` of all claims, and `placement` of the jobs that move. `chosen` becomes no_option for a
    /// job whose smallest variant its node cannot provide together with what the other jobs get. Placements
    /// must not take more GPUs than nodes have. After `end` no more jobs move; if there is no `end`,
    /// everything that may be better is tried.
    void divide(const Cluster& cluster, std::span<HostClaim> claims,
                std::optional<std::chrono::steady_clock::time_point> end = {}) {
        end_ = end;
        wished_.clear();
        for (const HostClaim& claim : claims) wished_.push_back(claim.variants[claim.chosen]);
        any_pays_ = std::ranges::any_of(
            claims, [](const HostClaim& claim) { return claim.may_pay && !claim.movable; });
        nodes_.divide(cluster, claims);
        for (std::size_t c = 0; c < claims.size(); ++c)
            if (claims[c].chosen == no_option && !late()) find_room(c);
        for (std::size_t c = 0; c < claims.size(); ++c)
            if (claims[c].movable && claims[c].chosen != no_option)
                for (std::size_t node = 0; node < claims[c].placement.size() && is_short(c) && !late();
                     ++node)
                    if (!find_more(c)) break;
        if (std::any_of(claims.begin(), claims.end(), [](const HostClaim& claim) { return claim.movable; }))
            swap_places();
    }

private:
    static constexpr std::size_t most_partners = 64, most_tries = 12, most_rooms = 48, most_looks = 2048;

    /// A move of a job from one node to another.
    struct Move {
        std::size_t claim = 0, from = 0, to = 0;
    };

    // --- Trials -----------------------------------------------------------------------------------------

    /// Makes the moves and divides both nodes. Undoes the moves unless `better(worth, unplaced)` is true
    /// for the worth of the groups of both nodes and the number of their jobs that get nothing.
    template <class Better>
    bool try_moves(std::size_t a, std::size_t b, std::span<const Move> moves, Better better) {
        const HostNodes::Group group_a = nodes_.group_of(a), group_b = nodes_.group_of(b);
        chosen_.clear();
        for (const HostNodes::Group& group : {group_a, group_b})
            for (const std::size_t member : group.members)
                for (const std::size_t c : nodes_.node(member).claims)
                    chosen_.emplace_back(c, nodes_.claim(c).chosen);
        const auto apply = [&](bool back) {
            if (moves.empty()) exchange_all(a, b);
            for (const Move& move : moves)
                back ? go(move.claim, move.to, move.from) : go(move.claim, move.from, move.to);
        };
        apply(false);
        nodes_.solve_with(a);
        if (!are_one(a, b)) nodes_.solve_with(b);
        if (better(worth_of(a, b), unplaced_on(a, b))) return true;
        apply(true);
        nodes_.group_of(a) = group_a;
        nodes_.group_of(b) = group_b;
        for (const auto& [c, chosen] : chosen_) nodes_.claim(c).chosen = chosen;
        return false;
    }
    /// Returns whether two nodes are in the same group. A job that runs on several nodes puts them into one
    /// group.
    [[nodiscard]] bool are_one(std::size_t a, std::size_t b) const {
        return nodes_.node(a).group == nodes_.node(b).group;
    }
    [[nodiscard]] double worth_of(std::size_t a, std::size_t b) const {
        return nodes_.group_of(a).worth + (are_one(a, b) ? 0 : nodes_.group_of(b).worth);
    }
    [[nodiscard]] std::size_t unplaced_on(std::size_t a, std::size_t b) const {
        return nodes_.unplaced_with(a) + (are_one(a, b) ? 0 : nodes_.unplaced_with(b));
    }
    /// Moves a job that lies on one node.
    void go(std::size_t c, std::size_t from, std::size_t to) {
        NodeShare& held = nodes_.claim(c).placement.front();
        std::erase(nodes_.node(from).claims, c);
        nodes_.node(to).claims.push_back(c);
        nodes_.node(from).free_gpus += held.gpus;
        nodes_.node(to).free_gpus -= held.gpus;
        held.node = to;
    }
    /// Exchanges everything on two nodes. No job may lie on both.
    void exchange_all(std::size_t a, std::size_t b) {
        HostNodes::OfNode &here = nodes_.node(a), &there = nodes_.node(b);
        const auto relabel = [&](std::size_t from, std::size_t to) {
            for (const std::size_t c : nodes_.node(from).claims) {
                Placement& placement = nodes_.claim(c).placement;
                for (NodeShare& held : placement)
                    if (held.node == from) held.node = to;
                std::sort(placement.begin(), placement.end());
            }
        };
        relabel(a, b);
        relabel(b, a);
        std::swap(here.claims, there.claims);
        std::swap(here.free_gpus, there.free_gpus);
        if (here.group == there.group) return;
        std::replace(nodes_.group_of(a).members.begin(), nodes_.group_of(a).members.end(), a, b);
        std::replace(nodes_.group_of(b).members.begin(), nodes_.group_of(b).members.end(), b, a);
        std::swap(here.group, there.group);
    }

    // --- Room for jobs that get nothing -----------------------------------------------------------------

    void find_room(std::size_t c) {
        if (!nodes_.claim(c).movable && !nodes_.claim(c).may_pay) return;
        for (const bool pay : {false, true}) {
            if (pay && !any_pays_) break;
            // Each pass looks for another node in place of one that is too small for the job.
            for (std::size_t round = 0; round < nodes_.claim(c).placement.size(); ++round) {
                if (nodes_.claim(c).chosen != no_option || !find_room_once(c, pay)) break;
            }
        }
    }
    bool find_room_once(std::size_t c, bool pay) {
        const std::size_t a = tightest_node(c);
        const bool lacking = lacks(c, a) > 1e-9;
        std::size_t tries_left = most_rooms;
        for (std::size_t look = 0; look < looks() && tries_left > 0; ++look) {
            const std::size_t b = looked_at(look, a);
            if (b == a || !are_alike(a, b)) continue;
            for (const auto find :
                 {&HostDivision::find_free, &HostDivision::find_whole, &HostDivision::find_partners}) {
                // A node that has no more cannot hold all jobs either.
                if (find == &HostDivision::find_whole && lacking && has_as_much(a, b)) continue;
                if (!(this->*find)(c, a, b, pay)) continue;
                --tries_left;
                const std::size_t before = unplaced_on(a, b);
                const std::ptrdiff_t short_before = shortage(c);
                if (try_moves(a, b, moves_, [&](double, std::size_t unplaced) {
                        return unplaced < before ||
                               // This must not leave another job with nothing.
                               (unplaced == before && nodes_.claim(c).chosen == no_option &&
                                shortage(c) < short_before);
                    }))
                    return true;
            }
        }
        return false;
    }
    /// Returns how many nodes a job examines. On large clusters it examines only some nodes, which follow
    /// its own in the list, so that the time does not grow with the square of the number of nodes.
    [[nodiscard]] std::size_t looks() const { return std::min(nodes_.size(), most_looks); }
    [[nodiscard]] std::size_t looked_at(std::size_t look, std::size_t own) const {
        return nodes_.size() <= most_looks ? look : (own + look) % nodes_.size();
    }
    /// Proposes to move a job that gets nothing onto free GPUs of node b. Returns whether that is possible.
    bool find_free(std::size_t c, std::size_t a, std::size_t b, bool pay) {
        moves_.assign(1, {c, a, b});
        return may_leave(c, pay) && nodes_.claim(c).placement.front().gpus <= nodes_.node(b).free_gpus &&
               least_fits(b, c, {});
    }
    /// Proposes to exchange everything on both nodes, which an empty `moves_` means. Returns whether that
    /// is possible.
    bool find_whole(std::size_t c, std::size_t a, std::size_t b, bool pay) {
        moves_.clear();
        const auto may_all = [&](std::size_t from, std::size_t other) {
            return std::all_of(
                nodes_.node(from).claims.begin(), nodes_.node(from).claims.end(),
                [&](std::size_t each) { return may_move(each, pay) && nodes_.gpus_on(each, other) == 0; });
        };
        return may_all(a, b) && may_all(b, a) && least_of_all_fits(a, b, c) && least_of_all_fits(b, a, c);
    }
    /// Proposes to exchange the job for jobs of the other node that free enough GPUs: as few as possible,
    /// the largest first. Returns whether that is possible.
    bool find_partners(std::size_t c, std::size_t a, std::size_t b, bool pay) {
        if (!may_leave(c, pay)) return false;
        const int gpus = nodes_.claim(c).placement.front().gpus;
        moves_.assign(1, {c, a, b});
        int left = nodes_.node(b).free_gpus, room = nodes_.node(a).free_gpus + gpus;
        std::vector<std::size_t> partners;
        for (const std::size_t other : nodes_.node(b).claims)
            if (may_leave(other, pay)) partners.push_back(other);
        std::stable_sort(partners.begin(), partners.end(), [&](std::size_t x, std::size_t y) {
            return nodes_.gpus_on(x, b) > nodes_.gpus_on(y, b);
        });
        std::vector<std::size_t> leaving;
        for (const std::size_t other : partners) {
            const int other_gpus = nodes_.gpus_on(other, b);
            if (other_gpus > room || (left >= gpus && least_fits(b, c, leaving))) continue;
            left += other_gpus;
            room -= other_gpus;
            leaving.push_back(other);
            moves_.push_back({other, b, a});
        }
        return !leaving.empty() && left >= gpus && least_fits(b, c, leaving);
    }

    /// Returns whether both nodes are of one pool and accept jobs.
    [[nodiscard]] bool are_alike(std::size_t a, std::size_t b) const {
        const Node &here = nodes_.cluster().nodes[a], &there = nodes_.cluster().nodes[b];
        return there.gpu_type == here.gpu_type && there.gpus == here.gpus && there.spot == here.spot &&
               there.group == here.group && !here.drained && !there.drained;
    }
    /// Returns whether one node has as many cores and as much memory as the other.
    [[nodiscard]] bool has_as_much(std::size_t a, std::size_t b) const {
        for (std::size_t r = 0; r < host_resources; ++r)
            if (nodes_.capacity(a, r) != nodes_.capacity(b, r)) return false;
        return true;
    }
    /// Returns whether the job may change its nodes: at no cost or, if `pay`, also at a cost.
    [[nodiscard]] bool may_move(std::size_t c, bool pay) const {
        return nodes_.claim(c).movable || (pay && nodes_.claim(c).may_pay);
    }
    /// Returns whether the job may change its nodes and runs on one node.
    [[nodiscard]] bool may_leave(std::size_t c, bool pay) const {
        return may_move(c, pay) && nodes_.claim(c).placement.size() == 1;
    }
    /// Returns whether a node has units(r) of each resource r. A resource of which the node states no
    /// amount is not checked.
    template <class Units>
    [[nodiscard]] bool has(std::size_t n, Units units) const {
        for (std::size_t r = 0; r < host_resources; ++r) {
            const double all = nodes_.capacity(n, r);
            if (all > 0 && units(r) > all * (1 + 1e-9)) return false;
        }
        return true;
    }
    /// Adds up the units of resource r that jobs of node `from` would need at least on node `to`. It counts
    /// the job `also` and all jobs that get anything, except those in `leave`.
    [[nodiscard]] double least_of_all(std::size_t from, std::size_t to, std::size_t also, std::size_t r,
                                      std::span<const std::size_t> leave = {}) const {
        double units = 0;
        for (const std::size_t c : nodes_.node(from).claims)
            if ((c == also || nodes_.claim(c).chosen != no_option) &&
                std::find(leave.begin(), leave.end(), c) == leave.end())
                units += nodes_.least_units(c, to, nodes_.gpus_on(c, from), r);
        return units;
    }
    /// Returns whether a node has the minimum for an arriving job and for its other jobs, without the jobs
    /// that leave.
    [[nodiscard]] bool least_fits(std::size_t n, std::size_t comes,
                                  std::span<const std::size_t> leave) const {
        return has(n, [&](std::size_t r) {
            return nodes_.least_units(comes, n, nodes_.claim(comes).placement.front().gpus, r) +
                   least_of_all(n, n, no_option, r, leave);
        });
    }
    [[nodiscard]] bool least_of_all_fits(std::size_t from, std::size_t to, std::size_t also) const {
        return has(to, [&](std::size_t r) { return least_of_all(from, to, also, r); });
    }
    /// Returns how much a node lacks to give this job and the node's other jobs their minimum, as a
    /// fraction of what the node has.
    [[nodiscard]] double lacks(std::size_t c, std::size_t n) const {
        double lacking = 0;
        for (std::size_t r = 0; r < host_resources; ++r)
            if (const double all = nodes_.capacity(n, r); all > 0)
                lacking = std::max(lacking, least_of_all(n, n, c, r) / all - 1);
        return lacking;
    }
    /// Returns how many of the job's nodes lack something.
    [[nodiscard]] std::ptrdiff_t shortage(std::size_t c) const {
        return std::ranges::count_if(nodes_.claim(c).placement,
                                     [&](const NodeShare& held) { return lacks(c, held.node) > 1e-9; });
    }
    [[nodiscard]] std::size_t tightest_node(std::size_t c) const {
        const Placement& placement = nodes_.claim(c).placement;
        return std::max_element(placement.begin(), placement.end(),
                                [&](const NodeShare& x, const NodeShare& y) {
                                    return lacks(c, x.node) < lacks(c, y.node);
                                })
            ->node;
    }

    /// Returns whether the job's cores and memory are worth less to it than those that it was allotted.
    [[nodiscard]] bool is_short(std::size_t c) const {
        const HostClaim& claim = nodes_.claim(c);
        return claim.chosen != no_option && claim.variants[claim.chosen].value < wished_[c].value;
    }
    /// Looks for a node that has the amounts that were allotted to the job, and exchanges everything on it
    /// with everything on a node of the job that has less. Keeps the exchange if the total worth grows. For
    /// a job on several nodes it is enough that the worth does not fall, because one more of its nodes then
    /// has enough.
    bool find_more(std::size_t c) {
        const auto has_wished = [&](std::size_t n, int gpus) {
            return has(n, [&](std::size_t r) { return nodes_.units(wished_[c], n, gpus, r); });
        };
        const Placement placement = nodes_.claim(c).placement;
        std::size_t tries_left = most_rooms;
        for (const NodeShare& held : placement) {
            if (has_wished(held.node, held.gpus)) continue;
            for (std::size_t look = 0; look < looks() && tries_left > 0; ++look) {
                const std::size_t a = held.node, b = looked_at(look, a);
                if (b == a || !are_alike(a, b) || !has_wished(b, held.gpus) || !find_whole(c, a, b, false))
                    continue;
                --tries_left;
                const std::size_t before = unplaced_on(a, b);
                const double worth_before = worth_of(a, b), size = 1e-9 * std::abs(worth_before);
                if (try_moves(a, b, moves_, [&](double worth, std::size_t unplaced) {
                        return unplaced <= before && (placement.size() > 1 ? worth >= worth_before - size
                                                                           : worth > worth_before + size);
                    }))
                    return true;
            }
        }
        return false;
    }

    // --- Swaps that gain --------------------------------------------------------------------------------

    /// Returns the price of a GPU's share of a node's cores and memory.
    [[nodiscard]] double dearness(std::size_t n) const {
        double sum = 0;
        for (std::size_t r = 0; r < host_resources; ++r)
            sum += nodes_.group_of(n).price[r] * nodes_.capacity(n, r);
        return sum / nodes_.cluster().nodes[n].gpus;
    }

    /// A swap that may gain: a job on the expensive node for a job on the cheap node, or for free GPUs.
    struct Swap {
        std::size_t cheap = 0;          ///< the other node
        std::size_t leaves = 0;         ///< a job of the expensive node
        std::size_t comes = no_option;  ///< a job of the cheap node, or no_option for free GPUs
        double most_gain = 0;
    };

    void swap_places() {
        order_.clear();
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            const Node& node = nodes_.cluster().nodes[n];
            const bool alone = nodes_.group_of(n).members.size() == 1;
            if (alone && !node.drained && (node.cores > 0 || node.memory_gib > 0)) order_.push_back(n);
        }
        std::size_t tries_left = 512 + 4 * order_.size();
        for (int pass = 0; pass < 4; ++pass) {
            const auto dearer = [&](std::size_t a, std::size_t b) { return dearness(a) > dearness(b); };
            std::stable_sort(order_.begin(), order_.end(), dearer);
            bool any = false;
            const std::vector<std::size_t> dear = order_;
            for (const std::size_t a : dear) {
                if (dearness(a) <= 0) break;
                any |= improve(a, tries_left);
                if (tries_left == 0 || late()) return;
            }
            if (!any) return;
        }
    }

    /// Exchanges jobs of a node with jobs on cheaper nodes of its pool while that gains.
    bool improve(std::size_t a, std::size_t& tries_left) {
        bool any = false;
        for (bool again = true; again;) {
            again = false;
            swaps_.clear();
            // On large clusters examine only some of the nodes, including the cheapest.
            const std::size_t stride = 1 + order_.size() / most_partners;
            for (std::size_t k = order_.size(); k > 0; k -= std::min(k, stride))
                if (const std::size_t b = order_[k - 1]; b != a && are_alike(a, b)) find_swaps(a, b);
            std::stable_sort(swaps_.begin(), swaps_.end(),
                             [](const Swap& x, const Swap& y) { return x.most_gain > y.most_gain; });
            for (std::size_t s = 0; s < std::min(most_tries, swaps_.size()) && !again; ++s) {
                if (tries_left == 0) return any;
                --tries_left;
                again = try_swap(a, swaps_[s]);
            }
            any |= again;
        }
        return any;
    }

    void find_swaps(std::size_t a, std::size_t b) {
        const double size = std::abs(nodes_.group_of(a).worth) + std::abs(nodes_.group_of(b).worth);
        const auto note = [&](std::size_t leaves, std::size_t comes, double gain) {
            if (gain > 1e-6 * size) swaps_.push_back({b, leaves, comes, gain});
        };
        const auto may_go = [&](std::size_t c) {
            return may_leave(c, false) && nodes_.claim(c).chosen != no_option;
        };
        for (const std::size_t leaves : nodes_.node(a).claims) {
            if (!may_go(leaves)) continue;
            const int gpus = nodes_.claim(leaves).placement.front().gpus;
            const double out = nodes_.reduced(leaves, b) - nodes_.reduced(leaves, a);
            if (gpus <= nodes_.node(b).free_gpus) note(leaves, no_option, out);
            for (const std::size_t comes : nodes_.node(b).claims)
                if (may_go(comes) && nodes_.claim(comes).placement.front().gpus == gpus)
                    note(leaves, comes, out + nodes_.reduced(comes, a) - nodes_.reduced(comes, b));
        }
    }

    bool try_swap(std::size_t a, const Swap& swap) {
        const std::size_t b = swap.cheap, placed = unplaced_on(a, b);
        const double before = worth_of(a, b);
        moves_.assign(1, {swap.leaves, a, b});
        if (swap.comes != no_option) moves_.push_back({swap.comes, b, a});
        return try_moves(a, b, moves_, [&](double worth, std::size_t unplaced) {
            return worth - before > 1e-9 * std::abs(before) && unplaced <= placed;
        });
    }

    [[nodiscard]] bool late() const { return end_ && std::chrono::steady_clock::now() >= *end_; }

    std::optional<std::chrono::steady_clock::time_point> end_;
    bool any_pays_ = false;  // whether any job has a cost of moving
    HostNodes nodes_;
    std::vector<HostVariant> wished_;  // by claim
    std::vector<Move> moves_;
    std::vector<std::pair<std::size_t, std::size_t>> chosen_;  // choices before a try, by claim
    std::vector<std::size_t> order_;                           // nodes that may exchange jobs
    std::vector<Swap> swaps_;
};

}  // namespace goodput::inline v0_1::detail

#endif
