#ifndef GOODPUT_SIM_WORLD_HPP
#define GOODPUT_SIM_WORLD_HPP

// The jobs of a replay, and how they really behave. replay() (replay.hpp) has the clock, the cluster, the
// decisions and the records. A world knows the jobs, by their index in the trace. It is a struct with three
// functions:
//
//   jobs() const                        all jobs as the scheduler first sees them, by time of submission: a
//                                       list or span that the world keeps, whose length does not change
//   train(job, held, begin, seconds)    trains the job for `seconds` from `begin` on with what it holds.
//                                       Returns when its work was done, or nothing if some is left
//   done(job) const                     the part of its work that is done, from 0 to 1
//
// train() is called only while the job holds GPUs and has started. A completion after the end of these
// seconds is allowed (a world may round), but the job no longer holds its GPUs then. A world may also have
//
//   report(job, known, model)           fills in what the job tells the scheduler before a decision. `known`
//                                       comes from jobs(), with restarts, GPU time and placement of the
//                                       replay. `model` comes from the decision before, or from another job:
//                                       fill it in completely. Without it, the job reports nothing new, and
//                                       no model
//   predictor() const                   the OptionPredictor of the decisions; GoodputPredictor by default
//   start(job, held)                    starts or restarts the job with these GPUs. Returns the seconds until
//                                       it trains; 0 by default
//   round_until(round)                  the end of the round that begins now (RoundAhead), not before its
//                                       beginning. Called once per round, after its decision. Submissions
//                                       and events wait for the end of the round. train() is called in every
//                                       round, even in a round of length 0. Without it, all rounds last as
//                                       long as the interval
//   save(job)                           a decision or a drained node stops the job, after it has saved its
//                                       state
//   fail(job)                           the job falls back to its last saved state. Without it, failures lose
//                                       no work
//   save_like(job, chosen)              sets how the job saves its state (Checkpointing). Called after every
//                                       decision that gives the job GPUs
//   train_beside(job, partner)          sets the job, by index, that shares this job's GPUs from now on, or
//                                       nothing (std::optional<std::size_t>). Called after every decision.
//                                       Without it, plans in which jobs share GPUs are refused
//   lost_gpu_seconds(job) const         GPU-seconds so far of its checkpoints and of work repeated after
//                                       failures, without starts, which the engine counts; 0 by default
//   isolated_seconds(job, sharers) const   how long the job would have taken alone with its share of a
//                                       cluster that `sharers` jobs share on average. Finish-time fairness is
//                                       relative to it (metrics.hpp)
//   one_gpu_seconds(job) const          how long the job would have taken on one GPU of the best type for it
//
// A replay changes its world. Make a new world for each replay.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/concepts.hpp"

namespace goodput::inline v0_1 {

/// A job that holds GPUs in a round.
struct RunningJob {
    std::size_t job = 0;                  ///< its index in jobs()
    const Configuration* held = nullptr;  ///< never null
    double start_seconds = 0;             ///< time until it trains
};

/// A round that begins.
struct RoundAhead {
    double begin_seconds = 0;               ///< now
    double latest_seconds = 0;              ///< end of a round that lasts as long as the interval
    double next_seconds = 0;                ///< next submission or event; infinity if there is none
    std::span<const RunningJob> running{};  ///< all jobs that hold GPUs

    /// Returns the end of a round in which no job runs: the next submission or event.
    [[nodiscard]] double idle_until() const {
        return std::isinf(next_seconds) ? latest_seconds : std::max(next_seconds, begin_seconds);
    }
    /// Returns the end of a round that lasts until no job has anything left to do in it. `busy_until(job,
    /// held, begin, seconds)` returns when that is so for a job that trains from `begin` on for at most
    /// `seconds`.
    template <class BusyUntil>
    [[nodiscard]] double until_last(const BusyUntil& busy_until) const {
        if (running.empty()) return idle_until();
        double end = begin_seconds;
        for (const auto& [job, held, start_seconds] : running) {
            const double begin = begin_seconds + start_seconds;
            end =
                std::max(end, busy_until(job, *held, begin, latest_seconds - begin_seconds - start_seconds));
        }
        return std::min(end, latest_seconds);
    }
};

/// Jobs and their true behaviour.
template <class W>
concept World = requires(W& world, const W& asked, std::size_t job, const Configuration& held, double begin,
                         double seconds) {
    { asked.jobs() } -> std::convertible_to<std::span<const Job>>;
    { world.train(job, held, begin, seconds) } -> std::convertible_to<std::optional<double>>;
    { asked.done(job) } -> std::convertible_to<double>;
    // jobs() must not return a copy, because it is called very often.
    requires !std::same_as<decltype(asked.jobs()), std::vector<Job>>;
};

/// A world whose jobs tell the scheduler what they have measured and done.
template <class W>
concept ReportingWorld = World<W> && requires(W& world, std::size_t job, Job& known, JobModel& model) {
    world.report(job, known, model);
};
/// A world with its own predictor of options.
template <class W>
concept PredictingWorld = World<W> && requires(const W& world) {
    { world.predictor() } -> OptionPredictor;
};
/// A world in which starts take time.
template <class W>
concept StartingWorld = World<W> && requires(W& world, std::size_t job, const Configuration& held) {
    { world.start(job, held) } -> std::convertible_to<double>;
};
/// A world that says when each round ends.
template <class W>
concept UnevenWorld = World<W> && requires(W& world, const RoundAhead& round) {
    { world.round_until(round) } -> std::convertible_to<double>;
};
/// A world whose jobs save their state when they are stopped.
template <class W>
concept SavingWorld = World<W> && requires(W& world, std::size_t job) {
    world.save(job);
};
/// A world in which failures lose work.
template <class W>
concept FailingWorld = World<W> && requires(W& world, std::size_t job) {
    world.fail(job);
};

/// A world whose jobs save their state as the last decision says.
template <class W>
concept CheckpointingWorld = World<W> && requires(W& world, std::size_t job, const Checkpointing& chosen) {
    world.save_like(job, chosen);
};
/// A world in which two jobs can train on the same GPUs.
template <class W>
concept PairingWorld = World<W> && requires(W& world, std::size_t job, std::optional<std::size_t> partner) {
    world.train_beside(job, partner);
};
/// A world that reports what checkpoints and failures have cost.
template <class W>
concept LosingWorld = World<W> && requires(const W& asked, std::size_t job) {
    { asked.lost_gpu_seconds(job) } -> std::convertible_to<double>;
};

/// Provides what metrics_of() needs for the fairness of a replay, by the index of a job in its trace:
/// seconds above 0, or infinity for a job that cannot run. A world with this function provides its own
/// isolated times.
template <class T>
concept IsolatedTimes = requires(const T& times, std::size_t job, double sharers) {
    { times.isolated_seconds(job, sharers) } -> std::convertible_to<double>;
};

/// Fails to compile for a type that is not quite a world, with a one-line reason that names the wrong
/// function: one of the three, or one of the optional names, which would otherwise be ignored silently. For
/// an overloaded function it only checks that one of the overloads fits.
template <class W>
consteval bool world_fits() {
    static_assert(
        requires(const W& asked) {
            { asked.jobs() } -> std::convertible_to<std::span<const Job>>;
            requires !std::same_as<decltype(asked.jobs()), std::vector<Job>>;
        },
        "World: jobs is missing, or is not: a list of Job that the world keeps, by reference or as "
        "a span: jobs() const");
    static_assert(
        requires(W & world, std::size_t job, const Configuration& held, double seconds) {
            { world.train(job, held, seconds, seconds) } -> std::convertible_to<std::optional<double>>;
        },
        "World: train is missing, or is not: std::optional<double> train(std::size_t job, const "
        "Configuration& held, double begin, double seconds)");
    static_assert(
        requires(const W& asked, std::size_t job) {
            { asked.done(job) } -> std::convertible_to<double>;
        },
        "World: done is missing, or is not: double done(std::size_t job) const");
    if constexpr (World<W>) {
        static_assert(
            ReportingWorld<W> || !requires { &W::report; },
            "ReportingWorld: this world's report is not: void report(job, Job&, JobModel&)");
        static_assert(
            PredictingWorld<W> || !requires { &W::predictor; },
            "PredictingWorld: this world's predictor is not: an OptionPredictor predictor() const");
        static_assert(
            StartingWorld<W> || !requires { &W::start; },
            "StartingWorld: this world's start is not: double start(job, const Configuration&)");
        static_assert(
            UnevenWorld<W> || !requires { &W::round_until; },
            "UnevenWorld: this world's round_until is not: double round_until(const RoundAhead&)");
        static_assert(
            SavingWorld<W> || !requires { &W::save; },
            "SavingWorld: this world's save is not: void save(job)");
        static_assert(
            FailingWorld<W> || !requires { &W::fail; },
            "FailingWorld: this world's fail is not: void fail(job)");
        static_assert(
            CheckpointingWorld<W> || !requires { &W::save_like; },
            "CheckpointingWorld: this world's save_like is not: void save_like(job, const Checkpointing&)");
        static_assert(
            PairingWorld<W> || !requires { &W::train_beside; },
            "PairingWorld: this world's train_beside is not: void train_beside(job, "
            "std::optional<std::size_t> partner)");
        static_assert(
            LosingWorld<W> || !requires { &W::lost_gpu_seconds; },
            "LosingWorld: this world's lost_gpu_seconds is not: double lost_gpu_seconds(job) const");
        static_assert(
            IsolatedTimes<W> || !requires { &W::isolated_seconds; },
            "IsolatedTimes: this world's isolated_seconds is not: double isolated_seconds(job, "
            "sharers) const");
    }
    return true;
}

/// Returns the predictor of a world's decisions.
template <World W>
[[nodiscard]] auto predictor_of(const W& world) {
    if constexpr (PredictingWorld<W>)
        return world.predictor();
    else
        return GoodputPredictor();
}

}  // namespace goodput::inline v0_1

#endif
