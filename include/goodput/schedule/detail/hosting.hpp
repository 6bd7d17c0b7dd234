#ifndef GOODPUT_SCHEDULE_DETAIL_HOSTING_HPP
#define GOODPUT_SCHEDULE_DETAIL_HOSTING_HPP

// Seventh station of a round: the cores and the memory of every node, divided among the jobs that lie there.
// Only where configurations say what goes with their GPUs: with everybody at its share of a node, what a pool
// has in sum each node has as well.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/schedule/detail/host_division.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/open_nodes.hpp"
#include "goodput/schedule/detail/placing.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::detail {

/// Keeps its buffers.
class Hosting {
public:
    /// Sets placements of jobs that change places: those that start in any case, or at no cost.
    /// `give(job, option)` is told of jobs that get other cores or memory beside their GPUs, by the index of
    /// the option; `give_nothing(job)` of those that their nodes cannot have.
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
            const bool keeps = open.keeps(j);
            HostClaim& claim = claims_.emplace_back();
            claim.placement = decision.placement;
            claim.must = keeps;
            claim.movable = !keeps && (decision.starts || snapshot.jobs[j].restart_cost_seconds == 0);
            OfClaim& of = of_.emplace_back(OfClaim{j, 0, {}});
            const std::span<const Option> options = offers.options_of(j);
            for (std::size_t k = 0; k < options.size(); ++k) {
                const bool chosen = k == choice[j];
                if (!chosen && (!options[k].configuration.same_gpus(options[choice[j]].configuration) ||
                                rows.problem.value(j, k) <= 0))
                    continue;
                if (chosen) claim.chosen = of.allotted = claim.variants.size();
                claim.variants.push_back({options[k].configuration.host(), rows.problem.value(j, k)});
                of.options.push_back(k);
            }
        }
        do division_.divide(snapshot.cluster, claims_);
        while (give_way(rows));
        for (std::size_t c = 0; c < claims_.size(); ++c) {
            const std::size_t j = of_[c].job;
            if (claims_[c].chosen == no_option) {
                give_nothing(j);
                continue;
            }
            if (plan.decisions[j].placement != claims_[c].placement) {
                const bool back = claims_[c].placement == snapshot.jobs[j].placement;
                if (back) plan.move_cost_seconds -= move_cost(snapshot.jobs[j]);
                plan.decisions[j].placement = claims_[c].placement;
                plan.decisions[j].starts = !back;
            }
            const std::size_t option = of_[c].options[claims_[c].chosen];
            if (option != choice[j]) give(j, option);
        }
    }

private:
    struct OfClaim {
        std::size_t job = 0;
        std::size_t allotted = 0;            ///< of its variants
        std::vector<std::size_t> options{};  ///< by variant
    };
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
    std::vector<HostClaim> claims_;
    std::vector<OfClaim> of_;  // by claim
    HostDivision division_;
};

}  // namespace goodput::detail

#endif
