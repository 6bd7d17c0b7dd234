#ifndef GOODPUT_SCHEDULE_DETAIL_HOST_DIVISION_HPP
#define GOODPUT_SCHEDULE_DETAIL_HOST_DIVISION_HPP

// Which of its variants of cores and memory a job gets once its nodes are known.
//
// The allotment counts cores and memory as sums over a pool, and a node may not have what its jobs were
// allotted. So every node divides anew what it has among its jobs, exactly: one option a variant, and one row
// for the cores and one for the memory of each node. Jobs over several nodes tie these together; without them
// each node is a problem of its own, of a handful of jobs.
//
// If every job has a variant that takes no more than its share of each of its nodes (the part of the node's
// cores and memory that its GPUs are of the node's), then all these together fit, because the GPUs do. So
// nobody loses its GPUs, and what is above that share is taken back where it is worth least.
//
// Then jobs of which that is said change places between nodes, where a node with high prices has a
// job that pays much, and one with low prices a job of as many GPUs that pays little. With the prices of a
// node before,
//
//     prices . capacity + sum over its jobs of (largest value less price)
//
// is at least what any jobs on it can be worth together, so the change of this number bounds what a swap can
// gain. The best few are tried, with both nodes divided anew, as long as that finds something.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::detail {

/// So much beside each GPU, worth that. An empty share stands for the job's part of each node.
struct HostVariant {
    HostShare share{};
    double value = 0;
};

/// A job that has nodes.
struct HostClaim {
    Placement placement{};                ///< may be changed by the division, if `movable`
    std::vector<HostVariant> variants{};  ///< at least one
    std::size_t chosen = 0;               ///< of the variants: before and after
    bool movable = false;                 ///< may go to another node of its pool
    bool must = true;                     ///< keeps its GPUs whatever happens
};

/// Divides cores and memory. Keeps its buffers.
class HostDivision {
public:
    /// Sets `chosen`, and `placement` of those that move: `chosen` is no_option for a job whose node cannot
    /// give the least of its variants beside the others. Placements must not take more GPUs than nodes have.
    void divide(const Cluster& cluster, std::span<HostClaim> claims) {
        cluster_ = &cluster;
        claims_ = claims;
        nodes_.assign(cluster.nodes.size(), {});
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            nodes_[n].root = n;
            nodes_[n].free_gpus = cluster.nodes[n].gpus;
        }
        for (std::size_t c = 0; c < claims_.size(); ++c)
            for (const NodeShare& held : claims_[c].placement) {
                nodes_[held.node].claims.push_back(c);
                nodes_[held.node].free_gpus -= held.gpus;
                join(held.node, claims_[c].placement.front().node);
            }
        for (std::size_t n = 0; n < nodes_.size(); ++n) nodes_[root_of(n)].members.push_back(n);
        for (std::size_t n = 0; n < nodes_.size(); ++n)
            if (nodes_[n].root == n && !as_wished(n)) solve(n);
        if (std::any_of(claims_.begin(), claims_.end(), [](const HostClaim& claim) { return claim.movable; }))
            swap_places();
    }

private:
    static constexpr std::size_t resources = 2;  // cores, memory
    static constexpr std::size_t most_partners = 64, most_tries = 12;

    struct NodeState {
        std::size_t root = 0;                ///< of the nodes that jobs tie together
        int free_gpus = 0;                   ///< on it
        std::vector<std::size_t> claims{};   ///< on it
        std::vector<std::size_t> members{};  ///< of a root: all that are tied to it
        double price[resources] = {0, 0};    ///< of a core and of a GiB, when it was divided last
        double worth = 0;                    ///< of its jobs, then
        double slack = 0;                    ///< by how much they could be worth more at these prices
    };

    std::size_t root_of(std::size_t n) {
        while (nodes_[n].root != n) n = nodes_[n].root = nodes_[nodes_[n].root].root;
        return n;
    }
    void join(std::size_t a, std::size_t b) {
        a = root_of(a);
        b = root_of(b);
        nodes_[std::max(a, b)].root = std::min(a, b);
    }

    [[nodiscard]] double capacity(std::size_t node, std::size_t resource) const {
        return resource == 0 ? cluster_->nodes[node].cores : cluster_->nodes[node].memory_gib;
    }
    /// What a variant takes of a node with so many of the job's GPUs.
    [[nodiscard]] double units(const HostVariant& variant, std::size_t node, int gpus,
                               std::size_t resource) const {
        const double a_gpu = resource == 0 ? variant.share.cores_per_gpu : variant.share.memory_gib_per_gpu;
        return gpus * (variant.share.empty() ? capacity(node, resource) / cluster_->nodes[node].gpus : a_gpu);
    }

    /// What the nodes tied to a root have left with the variants that are chosen is enough, and no job could
    /// have a better one of it.
    bool as_wished(std::size_t root) {
        for (const std::size_t n : nodes_[root].members)
            for (std::size_t r = 0; r < resources; ++r) {
                if (capacity(n, r) <= 0) continue;
                double left = capacity(n, r);
                for (const std::size_t c : nodes_[n].claims)
                    left -= units(claims_[c].variants[claims_[c].chosen], n, gpus_on(c, n), r);
                if (left < -capacity_tolerance(capacity(n, r))) return false;
            }
        double worth = 0;
        for (const std::size_t n : nodes_[root].members)
            for (const std::size_t c : nodes_[n].claims) {
                const HostClaim& claim = claims_[c];
                const double value = claim.variants[claim.chosen].value;
                if (std::any_of(claim.variants.begin(), claim.variants.end(),
                                [&](const HostVariant& variant) { return variant.value > value; }))
                    return false;
                if (claim.placement.front().node == n) worth += value;
            }
        nodes_[root].worth = worth;
        return true;
    }
    [[nodiscard]] int gpus_on(std::size_t c, std::size_t node) const {
        for (const NodeShare& held : claims_[c].placement)
            if (held.node == node) return held.gpus;
        return 0;
    }

    /// Divides what the nodes tied to a root have.
    void solve(std::size_t root) {
        NodeState& state = nodes_[root];
        pose(state.members);
        const AllotOptions exact{.gap = 1e-9, .most_states = 1 << 14};
        AllotResult result = solver_(problem_, exact);
        if (!found_allotment(result.status)) {
            for (std::size_t k = 0; k < jobs_.size(); ++k) problem_.set_must(k, claims_[jobs_[k]].must);
            result = solver_(problem_, exact);
        }
        for (std::size_t k = 0; k < jobs_.size(); ++k)
            claims_[jobs_[k]].chosen = found_allotment(result.status)
                                           ? result.choice[k]
                                           : (claims_[jobs_[k]].must ? claims_[jobs_[k]].chosen : no_option);
        state.worth = result.objective;
        for (std::size_t m = 0; m < state.members.size(); ++m)
            for (std::size_t r = 0; r < resources; ++r)
                nodes_[state.members[m]].price[r] =
                    result.prices.empty() ? 0 : result.prices[resources * m + r];
        state.slack = state.members.size() == 1 ? bound_of(root) - state.worth : 0;
    }
    /// The problem of these nodes, in which everybody keeps its GPUs; its jobs are jobs_.
    void pose(std::span<const std::size_t> members) {
        problem_.clear();
        problem_.capacity.clear();
        jobs_.clear();
        row_of_.resize(nodes_.size());
        for (const std::size_t n : members) {
            row_of_[n] = static_cast<std::uint32_t>(problem_.capacity.size());
            for (std::size_t r = 0; r < resources; ++r)
                problem_.capacity.push_back(std::max(capacity(n, r), 0.0));
        }
        for (const std::size_t n : members)
            for (const std::size_t c : nodes_[n].claims) {
                const HostClaim& claim = claims_[c];
                if (claim.placement.front().node != n) continue;
                problem_.add_job(true);
                jobs_.push_back(c);
                for (const HostVariant& variant : claim.variants) {
                    uses_.clear();
                    for (const NodeShare& held : claim.placement)
                        for (std::size_t r = 0; r < resources; ++r)
                            if (const double taken = units(variant, held.node, held.gpus, r);
                                capacity(held.node, r) > 0 && taken > 0)
                                uses_.push_back({row_of_[held.node] + static_cast<std::uint32_t>(r), taken});
                    problem_.add_option(variant.value, uses_);
                }
            }
    }

    // --- Changing places ---------------------------------------------------------------------------------

    /// A job that may leave its node: it lies on that one alone.
    [[nodiscard]] bool may_leave(std::size_t c) const {
        return claims_[c].movable && claims_[c].chosen != no_option && claims_[c].placement.size() == 1;
    }
    /// At the prices of a node: the largest value less price of the job's variants.
    [[nodiscard]] double reduced(std::size_t c, std::size_t node) const {
        double best = -std::numeric_limits<double>::infinity();
        for (const HostVariant& variant : claims_[c].variants) {
            double value = variant.value;
            for (std::size_t r = 0; r < resources; ++r)
                value -= nodes_[node].price[r] * units(variant, node, claims_[c].placement.front().gpus, r);
            best = std::max(best, value);
        }
        return best;
    }
    /// What a node asks for its GPUs' share of it, a GPU.
    [[nodiscard]] double dearness(std::size_t node) const {
        double sum = 0;
        for (std::size_t r = 0; r < resources; ++r) sum += nodes_[node].price[r] * capacity(node, r);
        return sum / cluster_->nodes[node].gpus;
    }

    /// A swap that may gain: a job of the dear node against one of the cheap node, or against free GPUs.
    struct Swap {
        std::size_t cheap = 0;          ///< the other node
        std::size_t leaves = 0;         ///< a job of the dear node
        std::size_t comes = no_option;  ///< a job of the cheap node, or nobody
        double most_gain = 0;
    };

    void swap_places() {
        order_.clear();
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            const Node& node = cluster_->nodes[n];
            const bool alone = nodes_[root_of(n)].members.size() == 1;
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
                if (tries_left == 0) return;
            }
            if (!any) return;
        }
    }

    /// Lets a node change jobs with cheap nodes of its pool while that gains.
    bool improve(std::size_t a, std::size_t& tries_left) {
        bool any = false;
        for (bool again = true; again;) {
            again = false;
            swaps_.clear();
            // On large clusters some of all, the cheapest among them.
            const std::size_t stride = 1 + order_.size() / most_partners;
            for (std::size_t k = order_.size(); k > 0; k -= std::min(k, stride)) {
                const std::size_t b = order_[k - 1];
                const Node &here = cluster_->nodes[a], &there = cluster_->nodes[b];
                if (b != a && there.gpu_type == here.gpu_type && there.gpus == here.gpus &&
                    there.spot == here.spot && there.group == here.group)
                    find_swaps(a, b);
            }
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
        const double size = std::abs(nodes_[a].worth) + std::abs(nodes_[b].worth);
        const auto note = [&](std::size_t leaves, std::size_t comes, double gain) {
            if (gain > 1e-6 * size) swaps_.push_back({b, leaves, comes, gain});
        };
        // What the present allotments leave of the bounds at these prices can be had as well.
        const double slack = nodes_[a].slack + nodes_[b].slack;
        for (const std::size_t leaves : nodes_[a].claims) {
            if (!may_leave(leaves)) continue;
            const int gpus = claims_[leaves].placement.front().gpus;
            const double out = reduced(leaves, b) - reduced(leaves, a) + slack;
            if (gpus <= nodes_[b].free_gpus) note(leaves, no_option, out);
            for (const std::size_t comes : nodes_[b].claims)
                if (may_leave(comes) && claims_[comes].placement.front().gpus == gpus)
                    note(leaves, comes, out + reduced(comes, a) - reduced(comes, b));
        }
    }
    [[nodiscard]] double bound_of(std::size_t node) const {
        double bound = 0;
        for (std::size_t r = 0; r < resources; ++r) bound += nodes_[node].price[r] * capacity(node, r);
        for (const std::size_t c : nodes_[node].claims) bound += reduced(c, node);
        return bound;
    }

    /// Divides both nodes after the swap, and takes it back if that is worth no more.
    bool try_swap(std::size_t a, const Swap& swap) {
        const std::size_t b = swap.cheap;
        const double before = nodes_[a].worth + nodes_[b].worth;
        const std::size_t placed = unplaced_on(a) + unplaced_on(b);
        kept_.clear();
        for (const std::size_t n : {a, b})
            for (const std::size_t c : nodes_[n].claims) kept_.push_back({c, claims_[c].chosen});
        const NodeState before_a = nodes_[a], before_b = nodes_[b];
        go(swap.leaves, a, b);
        if (swap.comes != no_option) go(swap.comes, b, a);
        solve(a);
        solve(b);
        const double gain = nodes_[a].worth + nodes_[b].worth - before;
        if (gain > 1e-9 * std::abs(before) && unplaced_on(a) + unplaced_on(b) <= placed) return true;
        go(swap.leaves, b, a);
        if (swap.comes != no_option) go(swap.comes, a, b);
        nodes_[a] = before_a;
        nodes_[b] = before_b;
        for (const auto& [c, chosen] : kept_) claims_[c].chosen = chosen;
        return false;
    }
    [[nodiscard]] std::size_t unplaced_on(std::size_t node) const {
        return static_cast<std::size_t>(
            std::count_if(nodes_[node].claims.begin(), nodes_[node].claims.end(),
                          [&](std::size_t c) { return claims_[c].chosen == no_option; }));
    }
    void go(std::size_t c, std::size_t from, std::size_t to) {
        NodeShare& held = claims_[c].placement.front();
        std::erase(nodes_[from].claims, c);
        nodes_[to].claims.push_back(c);
        nodes_[from].free_gpus += held.gpus;
        nodes_[to].free_gpus -= held.gpus;
        held.node = to;
    }

    const Cluster* cluster_ = nullptr;
    std::span<HostClaim> claims_{};
    std::vector<NodeState> nodes_;
    std::vector<std::size_t> jobs_;      // claims of the problem
    std::vector<std::uint32_t> row_of_;  // by node: that of its cores
    std::vector<ResourceUse> uses_;
    std::vector<std::size_t> order_;  // nodes that may change jobs
    std::vector<Swap> swaps_;
    std::vector<std::pair<std::size_t, std::size_t>> kept_;  // claim, variant
    AllotmentProblem problem_;
    Allotter<> solver_;
};

}  // namespace goodput::detail

#endif
