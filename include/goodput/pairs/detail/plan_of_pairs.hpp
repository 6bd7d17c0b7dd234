#ifndef GOODPUT_PAIRS_DETAIL_PLAN_OF_PAIRS_HPP
#define GOODPUT_PAIRS_DETAIL_PLAN_OF_PAIRS_HPP

// What the plan of a PairsRound (pairs_round.hpp) says about the jobs themselves.

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/pairs/detail/paired_parts.hpp"
#include "goodput/pairs/detail/pairs_round.hpp"
#include "goodput/pairs/job_pair.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

inline void PairsRound::take_plan() {
    plan_ = engine_.last_plan();
    plan_.warnings.insert(plan_.warnings.end(), warnings_.begin(), warnings_.end());
    leave_as_it_is();
    plan_.decisions.resize(jobs().size());
    if (pairing_->pairs.empty()) return;
    std::erase_if(plan_.faults, [&](const PlanFault& fault) { return fault.job >= jobs().size(); });
    const std::size_t limits = plan_.limits.size() - pairing_->places;
    plan_.limits.resize(limits);
    std::erase_if(plan_.conflicts, [&](const LimitConflict& conflict) { return conflict.limit >= limits; });
    for (LimitConflict& conflict : plan_.conflicts) name_jobs_of_pairs(conflict.jobs);
    for (std::size_t i = 0; i < pairing_->planned.size(); ++i)
        if (runs(i)) give(i);
    plan_.move_cost_seconds = 0;
    for (std::size_t j = 0; j < jobs().size(); ++j) {
        if (engine_.is_set_aside(j)) continue;
        Decision& decision = plan_.decisions[j];
        decision.action = action_of(jobs()[j].placement, decision.placement, real_.cluster);
        decision.starts = decision.action == Action::start || decision.action == Action::move ||
                          decision.action == Action::restart;
        plan_.move_cost_seconds += move_cost_of(real_, j, decision.placement);
    }
    plan_.bound = std::max(bound_, plan_.objective);
    if (plan_.bound - plan_.objective <= options_.enough(plan_.bound))
        plan_.status = AllotStatus::optimal;
    else if (plan_.status == AllotStatus::optimal)
        plan_.status = AllotStatus::feasible;
}

inline void PairsRound::name_jobs_of_pairs(std::vector<std::size_t>& named) const {
    std::set<std::size_t> all;
    for (const std::size_t job : named)
        if (job < jobs().size())
            all.insert(job);
        else
            for (const std::size_t partner : pairing_->pair(job - jobs().size()).jobs) all.insert(partner);
    named.assign(all.begin(), all.end());
}

inline void PairsRound::leave_as_it_is() {
    for (const auto& [job, partner] : left_) {
        Decision& decision = plan_.decisions[job];
        const Decision& partner_decision = plan_.decisions[partner];
        decision.option.configuration = partner_decision.option.configuration;
        decision.placement = partner_decision.placement;
        decision.action = partner_decision.action;
        decision.verdict.outcome = partner_decision.verdict.outcome;
        if (!partner_decision.placement.empty()) {
            decision.shares_with = partner;
            plan_.decisions[partner].shares_with = job;
        }
    }
}

inline void PairsRound::give(std::size_t index) {
    const JobPair& pair = pairing_->pair(index);
    const Decision& given = engine_.last_plan().decisions[job_of(index)];
    const std::size_t k = chosen(index);
    const Configuration& configuration = engine_.options_of(job_of(index))[k].configuration;
    const std::array<double, 2>& parts = pair.parts[configuration.first().gpu_type];
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t j = pair.jobs[i];
        const Job& job = jobs()[j];
        Decision& decision = plan_.decisions[j];
        decision = {};
        decision.option.configuration = configuration;
        if (const std::size_t alone = find_option(engine_.options_of(j), configuration); alone != no_index)
            decision.option = engine_.options_of(j)[alone];
        // As in the Scheduler: the policy may have valued a forecast, but the job runs at its present
        // state. It keeps its batch plan if that is about as good.
        const bool keeps_plan = joints_.predictor.keep_running_plan && job.running_plan.atomic_batch > 0 &&
                                configuration_of(job.placement, real_.cluster).same_gpus(configuration);
        if (joints_.policy.expected_gradient || keeps_plan)
            predict_one(joints_, real_, j, keeps_plan, decision.option);
        decision.option.goodput *= parts[i];
        decision.part_of_speed = parts[i];
        decision.option.configuration = given.option.configuration;
        if (const OnBoth* on = pairing_->find(pairing_->planned[index], configuration);
            on && given.value != 0)
            decision.value = on->values[i];
        decision.placement = given.placement;
        decision.shares_with = pair.jobs[1 - i];
        decision.verdict.reason = "shares " + describe(real_.cluster, given.option.configuration) +
                                  " with '" + jobs()[pair.jobs[1 - i]].name + "': " + rounded(parts[i]) +
                                  " of its speed alone, " + rounded(parts[0] + parts[1]) + " together";
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
