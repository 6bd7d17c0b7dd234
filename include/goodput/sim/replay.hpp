#ifndef GOODPUT_SIM_REPLAY_HPP
#define GOODPUT_SIM_REPLAY_HPP

// Replays a trace under a policy, to show what would have happened. Rounds have a fixed length. In each
// round, first every job trains with what it holds, then the policy decides for all jobs submitted by then.
// So the first decision is at the end of the first round (which may be shorter than the others), and GPUs
// freed within a round are idle until its end. A world may let rounds end earlier: as soon as no job has
// anything left to do in them, or at an event that a decision should follow (world.hpp).
//
// The order at one time is: training, completions, events (their order: events.hpp), submissions, the
// decision. Jobs are ordered by submission, those of one time by name. So equal inputs give equal outcomes
// to the last digit, and neither the order of the events nor that of simultaneous submissions matters.
// Events split the training of the jobs that they strike, and of no others.
//
// A world (world.hpp) defines how jobs train. Sia's world is in sia_world.hpp.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/lost_time.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/detail/replay_joints.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/renter.hpp"
#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/world.hpp"

namespace goodput::inline v0_1 {

/// Options of a replay: rounds, limits and events.
struct ReplayOptions {
    double interval_seconds = 60;  ///< time from one decision to the next; an upper bound if the world
                                   ///< shortens rounds
    /// Time of the first decision, at least 0; the others follow in steps of the interval. Without a value,
    /// it is after one interval, or with the first submission in a world that shortens rounds.
    std::optional<double> first_decision_seconds{};
    bool moves_restart = true;  ///< whether a move to other nodes of the same shape costs a restart; in Sia's
                                ///< public simulator it is free
    double last_second = 1e9;   ///< jobs that are not complete by then stay incomplete
    /// The replay ends after this many rounds in which no job ran and no submission or event is to come, or
    /// after this many rounds of length 0 (world.hpp). Jobs then stay incomplete.
    std::size_t most_idle_rounds = 10'000;
    /// Gap and deadline of each allotment, if replay() makes the scheduler.
    AllotOptions allot{};
    /// The events, in any order.
    std::vector<Event> events{};
    /// Nodes that a renter (renter.hpp) may have in addition to those of the cluster.
    std::vector<RentOffer> offers{};
};

/// A decision maker in a replay: a Scheduler, or anything that makes a Plan from a snapshot.
template <class S>
concept Planner = requires(S& planner, const Snapshot& snapshot) {
    { planner.plan(snapshot) } -> std::convertible_to<const Plan&>;
};

/// The default observer: calls make_plan() and does nothing else.
inline constexpr auto unobserved = [](double, const Snapshot&, auto make_plan) { make_plan(); };

/// Replays the jobs of a world with the caller's scheduler. `observe(time, snapshot, make_plan)` is called
/// once per round, and must call make_plan() once, which returns the plan. It is the place for a clock or a
/// progress bar. `renter` says how many nodes of ReplayOptions::offers to rent; without offers it is not
/// asked. The cluster must list every GPU type that added nodes may have, even if it has no nodes at the
/// start.
///
/// Throws std::invalid_argument for jobs out of order or with duplicate names, worlds whose jobs are
/// already complete, events of unknown jobs and nodes, and options that are not positive. Exceptions of
/// Scheduler::plan() pass through. Faults of the policy are counted.
template <World W, Planner S, class Observe = decltype(unobserved), Renter R = RentEverything>
ReplayResult replay(const Cluster& cluster, W& world, S scheduler, const ReplayOptions& options = {},
                    Observe observe = unobserved, R renter = {});

/// Replays the jobs of a world under a policy, with the world's predictor and the time that interruptions
/// cost.
template <World W, Policy P, class Observe = decltype(unobserved), Renter R = RentEverything>
ReplayResult replay(const Cluster& cluster, W& world, P policy, const ReplayOptions& options = {},
                    Observe observe = unobserved, R renter = {}) {
    using Parts = SchedulerParts<P, LeastMovesPlacer, Allotter<>, decltype(predictor_of(world)), Limits<>,
                                 ListedShapes, Factors<LostTime>>;
    return replay(
        cluster, world,
        ChosenScheduler(
            Parts{.policy = std::move(policy), .options = options.allot, .predictor = predictor_of(world)}),
        options, std::move(observe), std::move(renter));
}

/// Explains a wrong argument: a type that is not quite a world, or that is neither a policy nor a planner,
/// fails to compile with a one-line reason.
template <class W, class S, class Observe = decltype(unobserved), class R = RentEverything>
requires(!World<W> || !(Planner<S> || Policy<S>)) ReplayResult
    replay(const Cluster&, W&, S, const ReplayOptions& = {}, Observe = unobserved, R = {}) {
    static_assert(world_fits<W>());
    if constexpr (!Planner<S>) static_assert(policy_fits<S>());
    return {};
}

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// Runs the replay through its joints (detail/replay.hpp).
ReplayResult replay_through(const ReplayJoints& joints, const Cluster& cluster, const ReplayOptions& options);

}  // namespace detail

template <World W, Planner S, class Observe, Renter R>
ReplayResult replay(const Cluster& cluster, W& world, S scheduler, const ReplayOptions& options,
                    Observe observe, R renter) {
    detail::ReplayJoints joints{.world = detail::world_joint(world)};
    joints.planner = {&scheduler, [](void* planner, const Snapshot& snapshot, Plan& kept) -> const Plan& {
                          S& it = *static_cast<S*>(planner);
                          if constexpr (std::is_lvalue_reference_v<decltype(it.plan(snapshot))>)
                              return it.plan(snapshot);
                          else
                              return kept = it.plan(snapshot);
                      }};
    joints.renter = {&renter, [](void* object, const Snapshot& snapshot, std::span<const RentOffer> offers,
                                 std::span<const int> rented) {
                         return std::span<const int>(static_cast<R*>(object)->rent(snapshot, offers, rented));
                     }};
    joints.observer = {const_cast<std::remove_const_t<Observe>*>(&observe),
                       [](void* object, double time, const Snapshot& snapshot, const detail::MakePlan& make) {
                           (*static_cast<Observe*>(object))(time, snapshot, make);
                       }};
    return detail::replay_through(joints, cluster, options);
}

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/sim/detail/replay.hpp"
#endif

#endif
