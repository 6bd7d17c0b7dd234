#ifndef GOODPUT_HOSTS_DIVIDED_HOSTS_HPP
#define GOODPUT_HOSTS_DIVIDED_HOSTS_HPP

// A station (a part that runs once the nodes of jobs are known) that divides the cores and the memory of
// each node among the jobs placed there. It does so only if configurations say how many cores and how much
// memory go with their GPUs. If every job gets its share of a node, each node has enough whenever the pool
// as a whole has enough.
//
// The division of a node is exact to a relative gap of 1e-9 (1e-6 if the policy does not look at speeds).
// With more than 8 different shares in a pool, a share may count as the next smaller one.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/hosts/detail/host_division.hpp"
#include "goodput/hosts/detail/hosts_left.hpp"
#include "goodput/schedule/concepts.hpp"

namespace goodput::inline v0_1 {

/// Gives each job a variant of its allotted option that its nodes can provide: the same GPUs with other
/// cores or memory. To make this possible, jobs may move to other nodes: at first only those that start
/// anyway or move at no cost, and others if a job would otherwise get nothing. If no cores and memory are
/// found for a job, its option is withdrawn. If another limit counts cores or memory and is exceeded, no
/// job gets more of it than it was allotted. Keeps its buffers between calls.
class DividedHosts {
public:
    /// Implements NodeStation.
    void operator()(const Round& round, const AllotmentProblem& problem, std::span<PlacedJob> placed) {
        if (std::none_of(placed.begin(), placed.end(), [](const PlacedJob& job) {
                return !job.options[job.option].configuration.host().empty();
            }))
            return;
        claims_.clear();
        for (const PlacedJob& job : placed) claim(round, problem, job);
        do division_.divide(round.cluster, claims_, end_);
        while (give_way(problem, placed, round.pools.size()));
        left_.clear();
        for (const Node& node : round.cluster.nodes) left_.push_back({node.cores, node.memory_gib});
        cluster_ = &round.cluster;
        for (std::size_t c = 0; c < claims_.size(); ++c) {
            const detail::HostClaim& claim = claims_[c];
            if (claim.chosen == no_option) {
                placed[c].option = no_option;
                placed[c].why =
                    "its nodes cannot give the cores and the memory that it needs in addition to those of "
                    "other jobs";
                continue;
            }
            placed[c].option = claim.variants[claim.chosen].option;
            placed[c].placement = claim.placement;
            take(placed[c].options[placed[c].option].configuration, placed[c].placement);
        }
    }

    /// Sets the time from now after which the next call moves no more jobs to other nodes. If no time is
    /// set, it searches up to its own limits.
    void set_time(std::optional<std::chrono::nanoseconds> time) {
        end_.reset();
        const auto now = std::chrono::steady_clock::now();
        // A time beyond the clock's range is no limit.
        if (time && *time < std::chrono::steady_clock::time_point::max() - now) end_ = now + *time;
    }

    /// Returns whether the node has enough left for the cores and memory that go with the GPUs of this
    /// share.
    [[nodiscard]] bool has_room(const Configuration& configuration, const NodeShare& share) const {
        const Node& node = cluster_->nodes[share.node];
        for (std::size_t r = 0; r < detail::host_resources; ++r) {
            const double all = detail::host_capacity(node, r);
            if (all > 0 && units(configuration, share, r) > left_[share.node][r] + 1e-9 * all) return false;
        }
        return true;
    }
    /// Takes the cores and memory of this configuration from the nodes.
    void take(const Configuration& configuration, const Placement& placement) {
        for (const NodeShare& share : placement)
            for (std::size_t r = 0; r < detail::host_resources; ++r)
                left_[share.node][r] -= units(configuration, share, r);
    }

private:
    [[nodiscard]] double units(const Configuration& configuration, const NodeShare& held,
                               std::size_t r) const {
        return detail::host_units(cluster_->nodes[held.node], held.gpus, configuration.host(), r);
    }

    /// Adds the claim of a job. Its variants are the options with the same GPUs and a value above 0.
    void claim(const Round& round, const AllotmentProblem& problem, const PlacedJob& placed) {
        const Job& job = round.jobs[placed.job];
        detail::HostClaim& claim = claims_.emplace_back();
        claim.placement = placed.placement;
        claim.must = placed.keeps;
        // A job on several nodes within one domain stays there.
        claim.may_pay =
            !placed.keeps && !placed.shares_nodes && (job.within.empty() || claim.placement.size() == 1);
        claim.movable = claim.may_pay && (placed.placement != job.placement || job.restart_cost_seconds == 0);
        for (std::size_t k = 0; k < placed.options.size(); ++k) {
            const Option& option = placed.options[k];
            const double value = problem.value(placed.job, k);
            const bool chosen = k == placed.option;
            if (!chosen && (!option.configuration.same_gpus(placed.options[placed.option].configuration) ||
                            (value <= 0 && !placed.keeps)))
                continue;
            if (chosen) claim.chosen = claim.variants.size();
            claim.variants.push_back({option.configuration.host(), value, option.goodput, k});
        }
        prefer_faster(claim);
    }
    /// A policy that ignores speeds values all variants equally. This adds a tiny value by speed, so that
    /// cores and memory that would be idle go to the job that gains most speed from them.
    static void prefer_faster(detail::HostClaim& claim) {
        double fastest = 0;
        const double worth = claim.variants.front().value;
        for (const detail::HostVariant& variant : claim.variants) {
            if (variant.value != worth) return;
            fastest = std::max(fastest, variant.speed);
        }
        if (!(fastest > 0)) return;
        for (detail::HostVariant& variant : claim.variants)
            variant.value += 1e-6 * (worth != 0 ? std::abs(worth) : 1) * variant.speed / fastest;
    }

    /// The division looks only at nodes, not at other limits. If the chosen variants exceed a limit, leaves
    /// out every variant that takes more of that limit than the allotted option, because the allotted
    /// options respect it. Returns whether it left any out.
    bool give_way(const AllotmentProblem& problem, std::span<const PlacedJob> placed, std::size_t pools) {
        taken_.assign(problem.capacity.size(), 0);
        for (std::size_t c = 0; c < claims_.size(); ++c)
            if (claims_[c].chosen != no_option)
                for (const ResourceUse& use :
                     problem.uses(placed[c].job, claims_[c].variants[claims_[c].chosen].option))
                    taken_[use.resource] += use.units;
        for (std::size_t row = pools; row < taken_.size(); ++row)
            if (taken_[row] > problem.capacity[row] * (1 + 1e-9) && leave_out(problem, placed, row))
                return true;
        return false;
    }
    /// Leaves out such variants for one row. Returns whether it left any out.
    bool leave_out(const AllotmentProblem& problem, std::span<const PlacedJob> placed, std::size_t row) {
        bool any = false;
        for (std::size_t c = 0; c < claims_.size(); ++c) {
            std::vector<detail::HostVariant>& variants = claims_[c].variants;
            const auto units_of = [&](std::size_t option) {
                double sum = 0;
                for (const ResourceUse& use : problem.uses(placed[c].job, option))
                    sum += use.resource == row ? use.units : 0;
                return sum;
            };
            const std::size_t allotted = placed[c].option;
            const double most = units_of(allotted) * (1 + 1e-12);
            any |= std::erase_if(variants, [&](const detail::HostVariant& variant) {
                       return units_of(variant.option) > most;
                   }) > 0;
            claims_[c].chosen = static_cast<std::size_t>(
                std::ranges::find(variants, allotted, &detail::HostVariant::option) - variants.begin());
        }
        return any;
    }

    std::optional<std::chrono::steady_clock::time_point> end_;
    const Cluster* cluster_ = nullptr;
    std::vector<double> taken_;              // by row
    std::vector<detail::HostAmounts> left_;  // by node
    std::vector<detail::HostClaim> claims_;  // by placed job
    detail::HostDivision division_;
};

static_assert(KnowsRoom<DividedHosts>);

}  // namespace goodput::inline v0_1

#endif
