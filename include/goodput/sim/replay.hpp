#ifndef GOODPUT_SIM_REPLAY_HPP
#define GOODPUT_SIM_REPLAY_HPP

// What if this trace had run under that policy? Rounds of fixed length: in each, first every job trains with
// what it holds, then the policy decides for all jobs submitted by then. So the first decision is at the end
// of the first round (which may be shorter than the others), and GPUs freed within a round idle until its
// end. A world may have its rounds end earlier, as soon as nobody has anything left to do in them, or
// with whatever a decision should follow (world.hpp).
//
// Simultaneous: training, completions, events (their order: events.hpp), submissions, the decision; jobs by
// submission, those of one time by name. So equal inputs give equal outcomes to the last digit, and neither
// the order of the events nor that of simultaneous submissions matters. Events split the training of the jobs
// that they strike, and of no others.
//
// How jobs train is said by a world (world.hpp): Sia's is in sia_world.hpp.

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

namespace goodput {

/// Rounds, limits and what happens on the way.
struct ReplayOptions {
    double interval_seconds = 60;  ///< from one decision to the next; at most, if the world shortens rounds
    /// When the first decision is, at least 0; the others follow in steps of the interval. None: after one
    /// interval. A world that shortens rounds has it with the first submission.
    std::optional<double> first_decision_seconds{};
    bool moves_restart =
        true;  ///< other nodes of the same shape cost a restart; Sia's public simulator has them free
    double last_second = 1e9;  ///< jobs that are not complete by then stay incomplete
    /// After so many rounds in which no job ran, with no submission or event to come, or so many of no length
    /// (world.hpp), the rest stays incomplete.
    std::size_t most_idle_rounds = 10'000;
    /// Gap and deadline of every allotment, where replay() makes the scheduler.
    AllotOptions allot{};
    /// What happens on the way; in any order.
    std::vector<Event> events{};
    /// Nodes that a renter (renter.hpp) may have beside those of the cluster.
    std::vector<RentOffer> offers{};
};

/// What decides in a replay: a Scheduler, or anything that makes a Plan of a snapshot.
template <class S>
concept Planner = requires(S& planner, const Snapshot& snapshot) {
    { planner.plan(snapshot) } -> std::convertible_to<const Plan&>;
};

/// The observer of a replay that nobody observes: calls make_plan() and nothing else.
inline constexpr auto unobserved = [](double, const Snapshot&, auto make_plan) { make_plan(); };

/// Replays the jobs of a world, as a scheduler of one's own decides. `observe(time, snapshot, make_plan)` is
/// called once a round and has to call make_plan() once, which returns the plan: the place for a clock or a
/// progress bar. Refuses jobs out of order or of one name, worlds whose jobs are complete already, events of
/// unknown jobs and nodes and options that are not positive (std::invalid_argument); Scheduler::plan's
/// exceptions pass through, while what the policy does wrong is counted. The cluster lists every GPU type
/// that nodes may be added of, those without nodes at the start, too.
///
/// `renter`: says how many nodes of ReplayOptions::offers there are; nobody asks it where there are none.
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

/// The same where something is not quite a world, or neither a policy nor what makes plans: it does not
/// compile, and says in one line why.
template <class W, class S, class Observe = decltype(unobserved), class R = RentEverything>
requires(!World<W> || !(Planner<S> || Policy<S>)) ReplayResult
    replay(const Cluster&, W&, S, const ReplayOptions& = {}, Observe = unobserved, R = {}) {
    static_assert(world_fits<W>());
    if constexpr (!Planner<S>) static_assert(policy_fits<S>());
    return {};
}

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The replay behind its joints (detail/replay.hpp).
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
    joints.renter = {&renter, [](void* of, const Snapshot& snapshot, std::span<const RentOffer> offers,
                                 std::span<const int> rented) {
                         return std::span<const int>(static_cast<R*>(of)->rent(snapshot, offers, rented));
                     }};
    joints.observer = {const_cast<std::remove_const_t<Observe>*>(&observe),
                       [](void* of, double time, const Snapshot& snapshot, const detail::MakePlan& make) {
                           (*static_cast<Observe*>(of))(time, snapshot, make);
                       }};
    return detail::replay_through(joints, cluster, options);
}

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/sim/detail/replay.hpp"
#endif

#endif
