#ifndef GOODPUT_HOSTS_DETAIL_HOST_NODES_HPP
#define GOODPUT_HOSTS_DETAIL_HOST_NODES_HPP

// Divides the cores and the memory of nodes among the jobs placed there.
//
// Each node divides its cores and memory exactly, as a small allotment problem: it has one option per
// variant (amounts per GPU that a job may get), and one row for the cores and one for the memory of each
// node. A job that runs on several nodes puts these nodes into one group. A node without such jobs is a
// separate problem with a handful of jobs.
//
// No job is slower than with its share. The share is the part of a node's cores and memory that corresponds
// to the job's part of its GPUs. More precisely, each job is at least as fast as with the fastest variant
// that takes no more than its share of each of its nodes. All shares together fit, because the GPUs do. If
// jobs that keep what they hold need more than their shares, the shares of the others are parts of what is
// left.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/hosts/detail/hosts_left.hpp"

namespace goodput::inline v0_1::detail {

/// A variant: amounts per GPU, with their value. An empty HostShare means the job's share of each node.
struct HostVariant {
    HostShare share{};
    double value = 0;
    /// Speed of the job with this share. No job is slower than with its share of its nodes.
    double speed = 0;
    std::size_t option = 0;  ///< index of the job's option that has this variant
};

/// A job that has nodes.
struct HostClaim {
    Placement placement{};                ///< the division may change it if `movable` or `may_pay`
    std::vector<HostVariant> variants{};  ///< at least one
    std::size_t chosen = 0;               ///< index of the chosen variant, before and after
    bool movable = false;                 ///< whether it may move to another node of its pool at no cost
    /// Whether it may move at a cost if a job would get nothing otherwise.
    bool may_pay = false;
    bool must = true;  ///< whether it keeps its GPUs whatever happens
};

/// Nodes, and the claims on them. Keeps its buffers between calls.
class HostNodes {
public:
    struct OfNode {
        std::size_t group = 0;              ///< group of nodes that jobs on several nodes link
        int free_gpus = 0;                  ///< free GPUs on the node
        std::vector<std::size_t> claims{};  ///< claims on the node
        HostAmounts share{};                ///< amount per GPU that no job keeps; infinity if it is not
                                            ///< counted
    };
    struct Group {
        std::vector<std::size_t> members{};
        double worth = 0;     ///< worth of the group's jobs when it was last divided
        HostAmounts price{};  ///< price per core and per GiB at that time, if the group is one node
    };

    /// Finds the groups of nodes, and divides the cores and memory of each group.
    void divide(const Cluster& cluster, std::span<HostClaim> claims) {
        cluster_ = &cluster;
        claims_ = claims;
        find_nodes();
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (!groups_[g].members.empty() && !as_wished(g)) solve(g);
    }

    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    [[nodiscard]] OfNode& node(std::size_t n) { return nodes_[n]; }
    [[nodiscard]] const OfNode& node(std::size_t n) const { return nodes_[n]; }
    [[nodiscard]] Group& group_of(std::size_t n) { return groups_[nodes_[n].group]; }
    [[nodiscard]] const Group& group_of(std::size_t n) const { return groups_[nodes_[n].group]; }
    [[nodiscard]] HostClaim& claim(std::size_t c) { return claims_[c]; }
    [[nodiscard]] const HostClaim& claim(std::size_t c) const { return claims_[c]; }
    [[nodiscard]] const Cluster& cluster() const { return *cluster_; }

    /// Returns the cores or memory of a node; 0 if it does not count them.
    [[nodiscard]] double capacity(std::size_t n, std::size_t resource) const {
        return host_capacity(cluster_->nodes[n], resource);
    }
    /// Returns what a variant takes of a node on which the job has `gpus` GPUs.
    [[nodiscard]] double units(const HostVariant& variant, std::size_t n, int gpus,
                               std::size_t resource) const {
        return host_units(cluster_->nodes[n], gpus, variant.share, resource);
    }
    /// Returns the least that any variant takes of a node on which the job has `gpus` GPUs.
    [[nodiscard]] double least_units(std::size_t c, std::size_t n, int gpus, std::size_t resource) const {
        double least = std::numeric_limits<double>::infinity();
        for (const HostVariant& variant : claims_[c].variants)
            least = std::min(least, units(variant, n, gpus, resource));
        return least;
    }
    [[nodiscard]] int gpus_on(std::size_t c, std::size_t n) const {
        for (const NodeShare& held : claims_[c].placement)
            if (held.node == n) return held.gpus;
        return 0;
    }
    /// Returns the number of jobs in a node's group that get nothing.
    [[nodiscard]] std::size_t unplaced_with(std::size_t n) const {
        std::size_t count = 0;
        for (const std::size_t member : group_of(n).members)
            for (const std::size_t c : nodes_[member].claims)
                count += claims_[c].chosen == no_option && claims_[c].placement.front().node == member;
        return count;
    }

    /// Divides the cores and memory of the node's group.
    void solve_with(std::size_t n) { solve(nodes_[n].group); }

    /// Returns the largest value minus price of the variants of a job on one node. The prices are those of
    /// a node that is a group of its own.
    [[nodiscard]] double reduced(std::size_t c, std::size_t n) const {
        double best = -std::numeric_limits<double>::infinity();
        for (const HostVariant& variant : claims_[c].variants) {
            double value = variant.value;
            for (std::size_t r = 0; r < host_resources; ++r)
                value -= group_of(n).price[r] * units(variant, n, claims_[c].placement.front().gpus, r);
            best = std::max(best, value);
        }
        return best;
    }

private:
    void find_nodes() {
        nodes_.resize(cluster_->nodes.size());
        root_.resize(nodes_.size());
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            root_[n] = n;
            nodes_[n].free_gpus = cluster_->nodes[n].gpus;
            nodes_[n].claims.clear();
        }
        for (std::size_t c = 0; c < claims_.size(); ++c)
            for (const NodeShare& held : claims_[c].placement) {
                nodes_[held.node].claims.push_back(c);
                // A job over several nodes has each of them for itself.
                int& free_gpus = nodes_[held.node].free_gpus;
                free_gpus -= claims_[c].placement.size() > 1 ? free_gpus : held.gpus;
                const std::size_t a = root_of(held.node), b = root_of(claims_[c].placement.front().node);
                root_[std::max(a, b)] = std::min(a, b);
            }
        groups_.assign(nodes_.size(), {});
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            nodes_[n].group = root_of(n);
            groups_[nodes_[n].group].members.push_back(n);
            find_share(n);
        }
    }
    std::size_t root_of(std::size_t n) {
        while (root_[n] != n) n = root_[n] = root_[root_[n]];
        return n;
    }
    /// Finds the share per GPU. Pinned jobs get what they need, and at least their share if they can use
    /// it.
    void find_share(std::size_t n) {
        const int gpus = cluster_->nodes[n].gpus;
        for (std::size_t r = 0; r < host_resources; ++r) {
            const double all = capacity(n, r), usual = all / gpus;
            double left = all;
            int free = gpus;
            for (const std::size_t c : nodes_[n].claims) {
                if (!claims_[c].must) continue;
                const int job_gpus = gpus_on(c, n);
                double most = 0;
                for (const HostVariant& variant : claims_[c].variants)
                    most = std::max(most, units(variant, n, job_gpus, r));
                free -= job_gpus;
                left -= std::max(least_units(c, n, job_gpus, r), std::min(job_gpus * usual, most));
            }
            nodes_[n].share[r] = all <= 0    ? std::numeric_limits<double>::infinity()
                                 : free <= 0 ? usual
                                             : std::min(usual, std::max(left, 0.0) / free);
        }
    }
    /// Returns the lowest speed that a job must get, from its share of each of its nodes; 0 if none of its
    /// variants takes as little.
    [[nodiscard]] double least_speed(std::size_t c) const {
        double best = 0;
        for (const HostVariant& variant : claims_[c].variants) {
            bool within = true;
            for (const NodeShare& held : claims_[c].placement)
                for (std::size_t r = 0; r < host_resources; ++r) {
                    const double all = capacity(held.node, r);
                    if (all <= 0) continue;
                    const double share =
                        claims_[c].must ? all / cluster_->nodes[held.node].gpus : nodes_[held.node].share[r];
                    within &= units(variant, held.node, held.gpus, r) <= held.gpus * share * (1 + 1e-9);
                }
            if (within) best = std::max(best, variant.speed);
        }
        return best * (1 - 1e-9);
    }

    /// Returns whether the nodes of a group have enough for the variants that were chosen before, and no
    /// job could have a better one.
    bool as_wished(std::size_t g) {
        for (const std::size_t n : groups_[g].members)
            for (std::size_t r = 0; r < host_resources; ++r) {
                if (capacity(n, r) <= 0) continue;
                double left = capacity(n, r);
                for (const std::size_t c : nodes_[n].claims)
                    left -= units(claims_[c].variants[claims_[c].chosen], n, gpus_on(c, n), r);
                if (left < -1e-12 * capacity(n, r)) return false;
            }
        double worth = 0;
        for (const std::size_t n : groups_[g].members)
            for (const std::size_t c : nodes_[n].claims) {
                const HostClaim& claim = claims_[c];
                const double value = claim.variants[claim.chosen].value;
                if (claim.variants[claim.chosen].speed < least_speed(c) ||
                    std::any_of(claim.variants.begin(), claim.variants.end(),
                                [&](const HostVariant& variant) { return variant.value > value; }))
                    return false;
                if (claim.placement.front().node == n) worth += value;
            }
        groups_[g].worth = worth;
        return true;
    }

    /// Divides what the nodes of a group have. Tries first with all jobs, each at its share or better. If
    /// that fails, tries without some jobs, and then also below the shares.
    void solve(std::size_t g) {
        Group& group = groups_[g];
        const AllotOptions exact{.gap = 1e-9, .most_states = 1 << 14};
        AllotResult result;
        for (const auto& [all_must, floors] : {std::pair{true, true}, {false, true}, {false, false}}) {
            pose(group.members, all_must, floors);
            result = solver_(problem_, exact);
            if (found_allotment(result.status)) break;
        }
        const bool found = found_allotment(result.status);
        for (std::size_t k = 0; k < jobs_.size(); ++k) {
            HostClaim& claim = claims_[jobs_[k]];
            if (!found)
                claim.chosen = claim.must ? std::min(claim.chosen, claim.variants.size() - 1) : no_option;
            else
                claim.chosen =
                    result.choice[k] == no_option ? no_option : variant_of_[first_of_[k] + result.choice[k]];
        }
        group.worth = found ? result.objective : 0;
        if (group.members.size() > 1) return;
        for (std::size_t r = 0; r < host_resources; ++r)
            group.price[r] = result.prices.empty() ? 0 : result.prices[r];
    }
    /// Sets up the allotment problem of these nodes. Its jobs are jobs_.
    void pose(std::span<const std::size_t> members, bool all_must, bool floors) {
        problem_.clear();
        problem_.capacity.clear();
        jobs_.clear();
        first_of_.clear();
        variant_of_.clear();
        row_of_.resize(nodes_.size());
        for (const std::size_t n : members) {
            row_of_[n] = static_cast<std::uint32_t>(problem_.capacity.size());
            for (std::size_t r = 0; r < host_resources; ++r) problem_.capacity.push_back(capacity(n, r));
        }
        for (const std::size_t n : members)
            for (const std::size_t c : nodes_[n].claims)
                if (claims_[c].placement.front().node == n) pose_job(c, all_must, floors);
    }
    void pose_job(std::size_t c, bool all_must, bool floors) {
        const HostClaim& claim = claims_[c];
        const double least = floors ? least_speed(c) : 0;
        problem_.add_job(all_must || claim.must);
        jobs_.push_back(c);
        first_of_.push_back(variant_of_.size());
        for (std::size_t v = 0; v < claim.variants.size(); ++v) {
            const HostVariant& variant = claim.variants[v];
            if (variant.speed < least) continue;
            uses_.clear();
            for (const NodeShare& held : claim.placement)
                for (std::size_t r = 0; r < host_resources; ++r)
                    if (const double taken = units(variant, held.node, held.gpus, r);
                        capacity(held.node, r) > 0 && taken > 0)
                        uses_.push_back({row_of_[held.node] + static_cast<std::uint32_t>(r), taken});
            problem_.add_option(variant.value, uses_);
            variant_of_.push_back(v);
        }
    }

    const Cluster* cluster_ = nullptr;
    std::span<HostClaim> claims_{};
    std::vector<OfNode> nodes_;
    std::vector<std::size_t> root_;  // by node, while groups are found
    std::vector<Group> groups_;      // groups; some have no nodes
    // the current problem, by job
    std::vector<std::size_t> jobs_, first_of_;
    std::vector<std::size_t> variant_of_;  // variant by option, job after job
    std::vector<std::uint32_t> row_of_;    // by node: row of its cores
    std::vector<ResourceUse> uses_;
    AllotmentProblem problem_;
    Allotter<> solver_;
};

}  // namespace goodput::inline v0_1::detail

#endif
