#ifndef GOODPUT_HOSTS_DETAIL_HOSTING_HPP
#define GOODPUT_HOSTS_DETAIL_HOSTING_HPP

// Seventh station of a round: the cores and the memory of every node, divided among the jobs that lie there.
// Only where configurations say what goes with their GPUs: with everybody at its share of a node, what a pool
// has in sum each node has as well.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/hosts/detail/host_division.hpp"
#include "goodput/hosts/detail/hosts_left.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Keeps its buffers.
class Hosting {
public:
    /// Sets placements of jobs that change places: those that start in any case, or at no cost, and others
    /// where a job would get nothing otherwise. `give(job, option)` is told of jobs that get other options,
    /// by the index of the option: other cores or memory beside their GPUs, or other GPUs where their nodes
    /// cannot have them as they are; `give_nothing(job)` of those for which there is nothing at all.
    template <class Give, class GiveNothing>
    void find(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers, const Rows& rows,
              std::span<const std::size_t> choice, Plan& plan, Give give, GiveNothing give_nothing) {
        if (std::none_of(plan.decisions.begin(), plan.decisions.end(), [](const Decision& decision) {
                return !decision.option.configuration.host().empty();
            }))
            return;
        claims_.clear();
        of_.clear();
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            if (decision.placement.empty()) continue;
            const Job& job = snapshot.jobs[j];
            const bool keeps = open.keeps(j);
            HostClaim& claim = claims_.emplace_back();
            claim.placement = decision.placement;
            claim.must = keeps;
            // Several nodes in one domain stay there.
            claim.may_pay = !keeps && (job.within.empty() || claim.placement.size() == 1);
            claim.movable = claim.may_pay && (decision.starts || job.restart_cost_seconds == 0);
            OfClaim& of = of_.emplace_back(OfClaim{j, 0, {}});
            const std::span<const Option> options = offers.options_of(j);
            for (std::size_t k = 0; k < options.size(); ++k) {
                const bool chosen = k == choice[j];
                if (!chosen && (!options[k].configuration.same_gpus(options[choice[j]].configuration) ||
                                (rows.problem.value(j, k) <= 0 && !keeps)))
                    continue;
                if (chosen) claim.chosen = of.allotted = claim.variants.size();
                claim.variants.push_back(
                    {options[k].configuration.host(), rows.problem.value(j, k), options[k].goodput});
                of.options.push_back(k);
            }
            prefer_faster(claim);
        }
        do division_.divide(snapshot.cluster, claims_);
        while (give_way(rows));
        left_.find(snapshot.cluster, claims_);
        bool less_than_allotted = false;
        for (std::size_t c = 0; c < claims_.size(); ++c) {
            const std::size_t j = of_[c].job;
            Decision& decision = plan.decisions[j];
            const Job& job = snapshot.jobs[j];
            const double paid = move_cost_of(job, decision.placement, snapshot.cluster);
            std::size_t option = no_option;
            less_than_allotted |= claims_[c].chosen != of_[c].allotted;
            if (claims_[c].chosen != no_option)
                option = of_[c].options[claims_[c].chosen];
            else
                option = other_option(snapshot, open, offers, rows, j, true, claims_[c].placement);
            if (option == no_option) {
                plan.move_cost_seconds -= paid;
                give_nothing(j);
                continue;
            }
            if (option != choice[j]) give(j, option);
            decision.placement = claims_[c].placement;
            decision.starts = decision.placement != job.placement;
            plan.move_cost_seconds += move_cost_of(job, decision.placement, snapshot.cluster) - paid;
        }
        if (less_than_allotted) offer_what_is_left(snapshot, open, offers, rows, plan, give);
    }

private:
    struct OfClaim {
        std::size_t job = 0;
        std::size_t allotted = 0;            ///< of its variants
        std::vector<std::size_t> options{};  ///< by variant
    };
    /// Who holds the same GPUs, but on other nodes, pays for the move.
    static double move_cost_of(const Job& job, const Placement& placement, const Cluster& cluster) {
        const bool moves =
            !job.placement.empty() && placement != job.placement &&
            configuration_of(placement, cluster).same_gpus(configuration_of(job.placement, cluster));
        return moves ? move_cost(job) : 0;
    }

    /// What is free beside the placed jobs.
    class Left {
    public:
        void find(const Cluster& cluster, std::span<const HostClaim> claims) {
            cluster_ = &cluster;
            gpus_.clear();
            amounts_.clear();
            for (const Node& node : cluster.nodes) {
                gpus_.push_back(node.gpus);
                amounts_.push_back({node.cores, node.memory_gib});
            }
            for (const HostClaim& claim : claims)
                if (claim.chosen != no_option) take(claim.placement, claim.variants[claim.chosen].share);
        }
        void take(const Placement& placement, const HostShare& share) {
            for (const NodeShare& held : placement) {
                // A job over several nodes has them to itself.
                gpus_[held.node] -= placement.size() > 1 ? gpus_[held.node] : held.gpus;
                for (std::size_t r = 0; r < host_resources; ++r)
                    amounts_[held.node][r] -= units(held, share, r);
            }
        }
        [[nodiscard]] int gpus(std::size_t node) const { return gpus_[node]; }
        /// Most free GPUs of a node.
        [[nodiscard]] int most_free() const {
            return gpus_.empty() ? 0 : *std::max_element(gpus_.begin(), gpus_.end());
        }
        /// Whether it has so many GPUs, and what goes with them.
        [[nodiscard]] bool has(const NodeShare& wanted, const HostShare& share) const {
            if (gpus_[wanted.node] < wanted.gpus) return false;
            for (std::size_t r = 0; r < host_resources; ++r) {
                const double all = host_capacity(cluster_->nodes[wanted.node], r);
                if (all > 0 && units(wanted, share, r) > amounts_[wanted.node][r] + 1e-9 * all) return false;
            }
            return true;
        }

    private:
        [[nodiscard]] double units(const NodeShare& held, const HostShare& share, std::size_t r) const {
            const Node& node = cluster_->nodes[held.node];
            return held.gpus * (share.empty() ? host_capacity(node, r) / node.gpus : a_gpu_of(share, r));
        }
        const Cluster* cluster_ = nullptr;
        std::vector<int> gpus_;
        std::vector<HostAmounts> amounts_;
    };

    /// To jobs that wait, those of the largest values first.
    template <class Give>
    void offer_what_is_left(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers,
                            const Rows& rows, Plan& plan, Give give) {
        std::vector<std::pair<double, std::size_t>> waiting;
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            const auto values = rows.problem.values(j);
            if (plan.decisions[j].placement.empty() && !values.empty())
                waiting.emplace_back(-*std::max_element(values.begin(), values.end()), j);
        }
        std::sort(waiting.begin(), waiting.end());
        Placement placement;
        for (const auto& [value, j] : waiting) {
            const std::size_t option = other_option(snapshot, open, offers, rows, j, false, placement);
            if (option == no_option) continue;
            give(j, option);
            Decision& decision = plan.decisions[j];
            decision.placement = placement;
            decision.starts = placement != snapshot.jobs[j].placement;
            decision.verdict = {Outcome::runs, {}};
        }
    }

    /// The best option that a job can have of what is left, and its nodes; takes it. no_option if there is
    /// none. Who was allotted something is better off with anything that the policy does not forbid.
    std::size_t other_option(const Snapshot& snapshot, const OpenNodes& open, const Offers& offers,
                             const Rows& rows, std::size_t j, bool allotted, Placement& placement) {
        const std::span<const Option> options = offers.options_of(j);
        const auto worth = [&](std::size_t k) {
            return std::pair{rows.problem.value(j, k), options[k].goodput};
        };
        order_.clear();
        for (std::size_t k = 0; k < options.size(); ++k)
            if (options[k].configuration.is_single() && options[k].goodput > 0 &&
                (allotted ? worth(k).first >= 0 : worth(k).first > 0) &&
                left_.most_free() >= NodeLoads(options[k].configuration.first()).full)
                order_.push_back(k);
        std::stable_sort(order_.begin(), order_.end(),
                         [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
        for (const std::size_t k : order_) {
            const std::span<const ResourceUse> uses = rows.problem.uses(j, k);
            const bool limits_allow = std::all_of(uses.begin(), uses.end(), [&](const ResourceUse& use) {
                return use.resource < rows.pools() ||
                       taken_[use.resource] + use.units <= rows.problem.capacity[use.resource] * (1 + 1e-9);
            });
            if (!limits_allow || !find_nodes(snapshot, open, j, options[k].configuration, placement))
                continue;
            left_.take(placement, options[k].configuration.host());
            for (const ResourceUse& use : uses) taken_[use.resource] += use.units;
            return k;
        }
        return no_option;
    }
    /// Nodes that have what a configuration of one part says: those that the job holds, or of one node the
    /// one with the fewest free GPUs.
    bool find_nodes(const Snapshot& snapshot, const OpenNodes& open, std::size_t j,
                    const Configuration& configuration, Placement& placement) const {
        const Job& job = snapshot.jobs[j];
        const auto all_left = [&](const Placement& wanted) {
            return std::all_of(wanted.begin(), wanted.end(), [&](const NodeShare& share) {
                return left_.has(share, configuration.host()) &&
                       (wanted.size() == 1 ||
                        left_.gpus(share.node) == snapshot.cluster.nodes[share.node].gpus);
            });
        };
        const bool on_drained =
            std::any_of(job.placement.begin(), job.placement.end(),
                        [&](const NodeShare& share) { return snapshot.cluster.nodes[share.node].drained; });
        if (!job.placement.empty() &&
            configuration_of(job.placement, snapshot.cluster).same_gpus(configuration) &&
            (!on_drained || open.may_stay_on_drained(j)) && all_left(job.placement)) {
            placement = job.placement;
            return true;
        }
        const PoolShare& part = configuration.first();
        const std::span<const Pool> pools = open.pools_for(job);
        const std::size_t pool = find_pool(pools, part);
        if (pool == pools.size() || (part.shape.nodes > 1 && !job.within.empty())) return false;
        placement.clear();
        NodeLoads(part).for_each([&](int nodes, int gpus) {
            for (; nodes > 0; --nodes) {
                std::size_t best = no_index;
                for (const std::size_t node : pools[pool].nodes) {
                    const bool taken =
                        std::any_of(placement.begin(), placement.end(),
                                    [&](const NodeShare& share) { return share.node == node; });
                    if (!taken && all_left({{node, gpus}}) &&
                        (part.shape.nodes == 1 || left_.gpus(node) == part.gpus_per_node) &&
                        (best == no_index || left_.gpus(node) < left_.gpus(best)))
                        best = node;
                }
                if (best != no_index) placement.push_back({best, gpus});
            }
        });
        std::sort(placement.begin(), placement.end());
        return placement.size() == static_cast<std::size_t>(part.shape.nodes);
    }

    /// To a policy that does not look at speeds all variants are worth the same. What would be idle otherwise
    /// goes to who is faster with it.
    static void prefer_faster(HostClaim& claim) {
        double fastest = 0;
        const double worth = claim.variants.front().value;
        for (const HostVariant& variant : claim.variants) {
            if (variant.value != worth) return;
            fastest = std::max(fastest, variant.speed);
        }
        if (!(fastest > 0)) return;
        for (HostVariant& variant : claim.variants)
            variant.value += 1e-6 * (worth != 0 ? std::abs(worth) : 1) * variant.speed / fastest;
    }

    /// Nodes know nothing of other limits. Where these variants take more of one than there is, nobody gets
    /// one that takes more of it than what was allotted, which respects it, and the answer is true.
    bool give_way(const Rows& rows) {
        const AllotmentProblem& problem = rows.problem;
        taken_.assign(problem.capacity.size(), 0);
        for (std::size_t c = 0; c < claims_.size(); ++c)
            if (claims_[c].chosen != no_option)
                for (const ResourceUse& use : uses_of(problem, c, claims_[c].chosen))
                    taken_[use.resource] += use.units;
        for (std::size_t row = rows.pools(); row < taken_.size(); ++row)
            if (taken_[row] > problem.capacity[row] * (1 + 1e-9) && leave_out(problem, row)) return true;
        return false;
    }
    /// Whether anything was left out.
    bool leave_out(const AllotmentProblem& problem, std::size_t row) {
        bool any = false;
        for (std::size_t c = 0; c < claims_.size(); ++c) {
            HostClaim& claim = claims_[c];
            OfClaim& of = of_[c];
            const double most = units_of(uses_of(problem, c, of.allotted), row) * (1 + 1e-12);
            std::size_t kept = 0, allotted = 0;
            for (std::size_t v = 0; v < claim.variants.size(); ++v) {
                if (units_of(uses_of(problem, c, v), row) > most) continue;
                if (v == of.allotted) allotted = kept;
                claim.variants[kept] = claim.variants[v];
                of.options[kept++] = of.options[v];
            }
            any |= kept < claim.variants.size();
            claim.variants.resize(kept);
            of.options.resize(kept);
            claim.chosen = of.allotted = allotted;
        }
        return any;
    }
    [[nodiscard]] std::span<const ResourceUse> uses_of(const AllotmentProblem& problem, std::size_t claim,
                                                       std::size_t variant) const {
        return problem.uses(of_[claim].job, of_[claim].options[variant]);
    }

    std::vector<double> taken_;  // by row
    std::vector<std::size_t> order_;
    Left left_;
    std::vector<HostClaim> claims_;
    std::vector<OfClaim> of_;  // by claim
    HostDivision division_;
};

}  // namespace goodput::detail

#endif
