#ifndef GOODPUT_SCHEDULE_DETAIL_ROUND_STATIONS_HPP
#define GOODPUT_SCHEDULE_DETAIL_ROUND_STATIONS_HPP

// Implements some steps of a round (round.hpp): checking the solver's answer, using free GPUs, running
// the user's station, and saying why a job has nothing and how much of the limits is used.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/reasons.hpp"
#include "goodput/schedule/detail/round.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

inline void RoundState::give_leftovers(const Snapshot& snapshot, std::span<const std::size_t> taken_back,
                                       const StationJoint& room, const Clock& clock) {
    if (!fills_up_) return;
    if (joints_.solver.keeps_idle && joints_.solver.keeps_idle(joints_.solver.part)) return;
    // Using idle GPUs is worth exceeding the deadline by a few milliseconds.
    constexpr std::chrono::nanoseconds least = std::chrono::milliseconds(5);
    std::optional<std::chrono::nanoseconds> time = clock.left();
    if (time) time = std::max(*time, least);
    leftovers_.offer(snapshot, open_, offers_, rows_, chosen_, joints_.placer, plan_, taken_back, room,
                     Clock(time), [&](std::size_t j, std::size_t option, const Placement& placement) {
                         give(snapshot, j, option, placement);
                     });
}

inline void RoundState::give(const Snapshot& snapshot, std::size_t j, std::size_t option,
                             const Placement& placement) {
    Decision& decision = plan_.decisions[j];
    const bool had_nodes = !decision.placement.empty();
    if (had_nodes && option == chosen_[j] && placement == decision.placement) return;
    const double value = decision.value, paid = move_cost_of(snapshot, j, decision.placement);
    if (!had_nodes || option != chosen_[j]) {
        give_nothing(decision);
        choose(snapshot, j, option);
    }
    chosen_[j] = option;
    decision.placement = placement;
    plan_.objective += decision.value - value;
    plan_.move_cost_seconds += move_cost_of(snapshot, j, placement) - paid;
}

inline void RoundState::run_station(const Snapshot& snapshot, const Clock& clock) {
    placed_.clear();
    for (std::size_t j = 0; j < plan_.decisions.size(); ++j)
        if (!plan_.decisions[j].placement.empty())
            placed_.push_back({j,
                               options_of(j),
                               open_.keeps(j),
                               chosen_[j],
                               plan_.decisions[j].placement,
                               {},
                               shares_nodes(snapshot, j)});
    const StationJoint& station = joints_.station;
    if (station.set_time) station.set_time(station.part, clock.left());
    station.run(station.part, round_of(snapshot), problem(), placed_);
    bool any_other = false;
    taken_back_.clear();
    for (PlacedJob& placed : placed_) {
        const std::size_t j = placed.job;
        any_other |= placed.option != chosen_[j];
        if (placed.option != no_option) {
            if (placed.option >= options_of(j).size())
                bad_input("station", "option of job " + text_of(j), placed.option, "one of its options");
            give(snapshot, j, placed.option, placed.placement);
            continue;
        }
        plan_.move_cost_seconds -= move_cost_of(snapshot, j, plan_.decisions[j].placement);
        lose_nodes(j, {Outcome::waits, std::move(placed.why)});
        taken_back_.push_back(j);
    }
    if (station.has_room && any_other) give_leftovers(snapshot, taken_back_, station, clock);
}

inline void RoundState::check_allotted() {
    const std::size_t jobs = problem().jobs();
    if (allotted_.choice.size() != jobs)
        bad_input("solver", "number of choices", allotted_.choice.size(), "that of jobs, " + text_of(jobs));
    if (allotted_.prices.size() != rows_.problem.capacity.size())
        bad_input("solver", "number of prices", allotted_.prices.size(),
                  "that of capacities, " + text_of(rows_.problem.capacity.size()));
    if (!found_allotment(allotted_.status)) {
        if (allotted_.status == AllotStatus::infeasible && allotted_.stopped == StopReason::proven)
            bad_input("snapshot", "placements of jobs that keep what they hold",
                      std::string_view("more GPUs than there are"), "within the cluster");
        keep_only();
        return;
    }
    fills_up_ = true;
    for (std::size_t j = 0; j < jobs; ++j)
        if (allotted_.choice[j] != no_option && allotted_.choice[j] >= problem().options_of(j))
            bad_input("solver", "choice of job " + text_of(j), allotted_.choice[j], "one of its options");
}

inline void RoundState::keep_only() {
    allotted_.status = AllotStatus::feasible;
    allotted_.objective = allotted_.bound = 0;
    for (std::size_t j = 0; j < problem().jobs(); ++j) {
        const bool keeps = open_.keeps(j);
        const double kept = keeps ? problem().value(j, 0) : 0;
        double best = kept;
        for (const double value : problem().values(j)) best = std::max(best, value);
        allotted_.choice[j] = keeps ? 0 : no_option;
        allotted_.objective += kept;
        allotted_.bound += best;
    }
}

inline void RoundState::say_why_not(const Snapshot& snapshot) {
    const MakerJoint& maker = joints_.maker;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        if (allotted_.choice[j] != no_option) continue;
        const Job& job = snapshot.jobs[j];
        Verdict& verdict = plan_.decisions[j].verdict;
        verdict.outcome = why_not(snapshot, j, open_, offers_, rows_, allotted_.prices, verdict.reason);
        if (maker.why_none && options_of(j).empty() && !has_failed(j))
            if (std::string why = maker.why_none(maker.part, round_for(job, round_of(snapshot), open_), job);
                !why.empty())
                verdict.reason = std::move(why);
        if ((maker.lets_wait && maker.lets_wait(maker.part, job)) ||
            (verdict.outcome == Outcome::impossible && could_run_later(snapshot, j)))
            verdict.outcome = Outcome::waits;
    }
}

inline bool RoundState::could_run_later(const Snapshot& snapshot, std::size_t j) {
    if (std::ranges::all_of(snapshot.jobs[j].types,
                            [](const TypeLimits& limits) { return limits.nodes_now >= limits.max_nodes; }))
        return false;
    Job later = snapshot.jobs[j];
    for (TypeLimits& limits : later.types) limits.nodes_now = limits.max_nodes;
    const std::vector<int> any(later.types.size(), std::numeric_limits<int>::max());
    std::vector<Option> options;
    return contained([&] {
               const Round round = round_for(later, round_of(snapshot), open_);
               joints_.maker.list(joints_.maker.part, round, later, any, options);
           }) &&
           std::ranges::any_of(options, [&](Option& option) {
               return predict_one(joints_, snapshot, j, false, option) && option.goodput > 0;
           });
}

inline void RoundState::count_limits() {
    plan_.conflicts = rows_.conflicts;
    plan_.limits.clear();
    if (limit_rows().empty()) return;
    for (std::size_t l = 0; l < limit_rows().size(); ++l) {
        const LimitRow& row = limit_rows()[l];
        plan_.limits.push_back({row.name, row.unit, row.capacity, 0, allotted_.prices[rows_.pools() + l]});
    }
    if (!joints_.maker.ask && std::any_of(plan_.limits.begin(), plan_.limits.end(),
                                          [](const LimitUse& limit) { return limit.price > 0; })) {
        const double above = std::max(bound_at(problem(), allotted_.prices) - plan_.objective, 0.0);
        for (LimitUse& limit : plan_.limits)
            if (limit.price > 0) limit.most_of_one_more = limit.price + above;
    }
    for (std::size_t j = 0; j < plan_.decisions.size(); ++j) {
        if (plan_.decisions[j].placement.empty()) continue;
        for (const ResourceUse& use : problem().uses(j, chosen_[j]))
            if (const std::size_t limit = rows_.limit_of(use.resource); limit < limit_rows().size())
                plan_.limits[limit].used += use.units;
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
