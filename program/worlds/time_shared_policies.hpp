#ifndef GOODPUT_PROGRAM_WORLDS_TIME_SHARED_POLICIES_HPP
#define GOODPUT_PROGRAM_WORLDS_TIME_SHARED_POLICIES_HPP

// Policies for jobs with a fixed number of GPUs and known speeds, in any world of such jobs: Gavel's
// published programs with its rounds, Hadar, and ours.

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "goodput/availability/lost_time.hpp"
#include "goodput/hadar/hadar.hpp"
#include "goodput/hadar/posted_prices.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/share/time_sharing.hpp"
#include "peers/gavel/gavel_shares.hpp"
#include "peers/gavel/published_shares.hpp"
#include "peers/gavel/share_question.hpp"
#include "peers/gavel/time_shared_rounds.hpp"
#include "replay/any_planner.hpp"

namespace cli {

/// A policy of a world: its planner, in rounds with these rules.
template <class World>
struct TimeSharedPolicy {
    std::string_view name{};
    AnyPlanner (*planner)(const World& world, goodput::peers::TimeSharedRules rules) = nullptr;
    bool only_named = false;  ///< runs only if it is named
    bool pairs = false;       ///< needs the speeds of jobs that share GPUs
};

/// A policy of shares of time, in published rounds.
template <class World>
AnyPlanner in_rounds(const World& world, goodput::peers::SharePolicy shares,
                     goodput::peers::TimeSharedRules rules) {
    return any_planner(goodput::peers::TimeSharedRounds<World>(world, std::move(shares), rules));
}

/// A published policy that is a linear program.
template <class World, auto Make>
constexpr TimeSharedPolicy<World> program_of(std::string_view name) {
    return {name, [](auto& world, auto rules) { return in_rounds<World>(world, {.shares = Make()}, rules); }};
}

/// The same for jobs that may share their GPUs with one other job. Gaps are the time in which no job has a
/// share.
template <class World, auto Make, bool FillsGaps = true>
constexpr TimeSharedPolicy<World> packed_program_of(std::string_view name) {
    return {name,
            [](auto& world, auto rules) {
                return in_rounds<World>(world, {.shares = Make(), .fills_gaps = FillsGaps, .pairs = true},
                                        rules);
            },
            true, true};
}

/// A policy of the library, with the world's predictor.
template <class World, class Policy>
AnyPlanner scheduled(const World& world, Policy policy) {
    using Parts = goodput::SchedulerParts<Policy, goodput::LeastMovesPlacer, goodput::Allotter<>,
                                          decltype(world.predictor()), goodput::Limits<>,
                                          goodput::ListedShapes, goodput::Factors<goodput::LostTime>>;
    return any_planner(
        goodput::ChosenScheduler(Parts{.policy = std::move(policy), .predictor = world.predictor()}));
}
template <class World, class Policy>
constexpr TimeSharedPolicy<World> ours(std::string_view name) {
    return {name, [](auto& world, auto) { return scheduled<World>(world, Policy()); }};
}

/// Jobs take turns on GPUs, by the shares of an objective and by what they are owed.
template <class World, class Objective>
constexpr TimeSharedPolicy<World> in_turns(std::string_view name) {
    return {name, [](auto& world, auto rules) {
                return any_planner(goodput::TimeSharing<Objective, decltype(world.predictor())>(
                    {}, rules.interval_seconds, world.predictor()));
            }};
}

/// Hadar: jobs with utilities, served at prices that rise with use.
template <class Maker = goodput::ListedShapes, class World>
AnyPlanner at_posted_prices(const World& world) {
    using Parts = goodput::SchedulerParts<goodput::Hadar, goodput::LeastMovesPlacer, goodput::PostedPrices,
                                          decltype(world.predictor()), goodput::Limits<>, Maker>;
    return any_planner(goodput::ChosenScheduler(Parts{.predictor = world.predictor()}));
}

/// Gavel's linear programs.
template <class World>
inline constexpr std::array gavel_programs{
    program_of<World, [] { return goodput::peers::best_shares(goodput::MaxMin()); }>("max_min"),
    program_of<World, [] { return goodput::peers::water_filling_shares; }>("water_filling"),
    program_of<World, [] { return goodput::peers::FairFinishShares(); }>("finish_time_fairness"),
    program_of<World, [] { return goodput::peers::makespan_shares; }>("makespan"),
    program_of<World, [] { return goodput::peers::best_shares(goodput::SumOfRates()); }>("sum"),
    program_of<World, [] { return goodput::peers::AlloxShares(1); }>("allox"),
};
template <class World>
inline constexpr TimeSharedPolicy<World> gavel_isolated{
    "isolated", [](auto& world, auto rules) {
        return in_rounds<World>(world, {.shares = goodput::peers::isolated_shares, .shuffles_types = true},
                                rules);
    }};

/// Returns the entries of several lists in one.
template <class T, std::size_t... N>
constexpr auto concatenated(const std::array<T, N>&... lists) {
    std::array<T, (N + ...)> all{};
    std::size_t at = 0;
    const auto append = [&](const auto& list) {
        for (const T& entry : list) all[at++] = entry;
    };
    (append(lists), ...);
    return all;
}

}  // namespace cli

#endif
