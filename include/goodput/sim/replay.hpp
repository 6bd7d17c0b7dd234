#ifndef GOODPUT_SIM_REPLAY_HPP
#define GOODPUT_SIM_REPLAY_HPP

// What if this trace had run under that policy? Rounds of fixed length: in each, first every job trains with
// what it holds, then the policy decides for all jobs submitted by then. So the first decision is at the end
// of the first round, and GPUs freed within a round idle until its end.
//
// Simultaneous: training, completions, events (their order: events.hpp), submissions, the decision; jobs by
// submission, those of one time by name. So equal inputs give equal outcomes to the last digit, and neither
// the order of the events nor that of simultaneous submissions matters. Events split the training of the jobs
// that they strike, and of no others.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/application.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/modelling.hpp"
#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/running_job.hpp"

namespace goodput {

/// Rounds, limits and what happens on the way.
struct ReplayOptions {
    double interval_seconds = 60;  ///< from one decision to the next
    int most_gpus_per_job = 64;    ///< that any job may hold
    bool moves_restart =
        true;  ///< other nodes of the same shape cost a restart; Sia's public simulator has them free
    double last_second = 1e9;  ///< jobs that are not complete by then stay incomplete
    /// After so many rounds in which no job ran, with no submission or event to come, the rest stays
    /// incomplete.
    std::size_t most_idle_rounds = 10'000;
    AllotOptions allot{};  ///< gap and deadline of every allotment
    /// What happens on the way; in any order.
    std::vector<Event> events{};
    /// Seconds of training from one checkpoint to the next within an epoch; may be infinite.
    double checkpoint_seconds = 1800;
};

/// Replays a trace (submissions in the order of their times) under a policy. `observe(time, snapshot,
/// make_plan)` is called once a round and has to call make_plan() once, which returns the plan: the place for
/// a clock or a progress bar. Refuses submissions out of order or of one name, unknown applications, events
/// of unknown jobs and nodes and options that are not positive (std::invalid_argument); Scheduler::plan's
/// exceptions pass through, while what the policy does wrong is counted. The cluster lists every GPU type
/// that nodes may be added of, those without nodes at the start, too.
template <class Modelling = RefinedModels, Policy P, class Observe>
ReplayResult replay(const Cluster& cluster, std::span<const Application> applications,
                    std::span<const Submission> submissions, P policy, const ReplayOptions& options,
                    Observe observe);

/// The same without an observer.
template <class Modelling = RefinedModels, Policy P>
ReplayResult replay(const Cluster& cluster, std::span<const Application> applications,
                    std::span<const Submission> submissions, P policy, const ReplayOptions& options = {}) {
    return replay<Modelling>(cluster, applications, submissions, std::move(policy), options,
                             [](double, const Snapshot&, auto make_plan) { make_plan(); });
}

namespace detail {

/// Seconds; far more than what is lost where times of decades are added up.
inline constexpr double shortest_interval = 1e-3;
inline constexpr double longest_time = 1e12;

inline void validate_replay(const Cluster& cluster, std::span<const Application> applications,
                            std::span<const Submission> submissions, const ReplayOptions& options) {
    validate(cluster);
    require_at_least("replay", "interval", options.interval_seconds, shortest_interval);
    if (options.interval_seconds > longest_time)
        bad_input("replay", "interval", options.interval_seconds, "at most " + text_of(longest_time));
    require_between("replay", "most GPUs a job", options.most_gpus_per_job, 1,
                    std::numeric_limits<int>::max());
    if (std::isnan(options.last_second)) bad_input("replay", "last second", options.last_second, "a number");
    if (!(options.checkpoint_seconds > 0))
        bad_input("replay", "seconds from checkpoint to checkpoint", options.checkpoint_seconds, "above 0");
    for (const Application& application : applications) {
        const std::string subject = "application '" + application.name + "'";
        if (application.types.size() != cluster.gpu_types.size())
            bad_input(subject, "GPU types", application.types.size(),
                      "as many as the cluster's, " + text_of(cluster.gpu_types.size()));
        require_at_least(subject, "restart", application.restart_seconds, 0);
        require_positive(subject, "slowdown", application.slowdown);
    }
    double last = 0;
    std::vector<const std::string*> names;
    for (const Submission& submission : submissions) {
        const auto subject = [&] { return "job '" + submission.name + "'"; };
        names.push_back(&submission.name);
        require_at_least(subject, "time", submission.time_seconds, last);
        last = submission.time_seconds;
        if (last > longest_time) bad_input(subject(), "time", last, "at most " + text_of(longest_time));
        if (submission.application >= applications.size())
            bad_input(subject(), "application", submission.application, "one of those given");
        require_between(subject, "num_replicas", submission.gpus, 1, 1 << 20);
        require_between(subject, "batch_size", submission.batch, 1, 1 << 30);
    }
    require_own_names("job", names);
}

/// The jobs' order: by time, then by name.
inline std::vector<std::size_t> order_of(std::span<const Submission> submissions) {
    std::vector<std::size_t> order(submissions.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Submission &first = submissions[a], &second = submissions[b];
        if (first.time_seconds != second.time_seconds) return first.time_seconds < second.time_seconds;
        return name_before(first.name, second.name);
    });
    return order;
}

/// Turns the sequence of decisions into segments of constant allotment.
class SegmentRecorder {
public:
    explicit SegmentRecorder(std::size_t jobs) : open_(jobs) {}
    void set(std::size_t job, const Configuration& configuration, double now,
             std::vector<Segment>& segments) {
        Segment& open = open_[job];
        if (open.configuration == configuration) return;
        if (!open.configuration.empty()) {
            open.end_seconds = now;
            segments.push_back(open);
        }
        open = {job, configuration, now, now};
    }

private:
    std::vector<Segment> open_;
};

}  // namespace detail

template <class Modelling, Policy P, class Observe>
ReplayResult replay(const Cluster& cluster, std::span<const Application> applications,
                    std::span<const Submission> submissions, P policy, const ReplayOptions& options,
                    Observe observe) {
    detail::validate_replay(cluster, applications, submissions, options);
    Scheduler<P, LeastMovesPlacer, Allotter<>, typename Modelling::Predictor> scheduler(std::move(policy),
                                                                                        options.allot);
    Modelling modelling;
    std::vector<RunningJob<Modelling>> jobs;
    jobs.reserve(submissions.size());
    for (const Submission& submission : submissions)
        jobs.emplace_back(submission, applications[submission.application], modelling, runs_rigid_jobs<P>,
                          options.most_gpus_per_job, options.checkpoint_seconds);
    const std::vector<std::size_t> order = detail::order_of(submissions);
    detail::Timeline timeline(cluster, options.events, submissions);
    ReplayResult result;
    result.capacity.push_back({0, timeline.gpus()});
    detail::SegmentRecorder recorder(jobs.size());
    JobSizes sizes;
    Snapshot snapshot;
    snapshot.cluster = cluster;
    std::vector<std::size_t> active;
    std::size_t submitted = 0, idle_rounds = 0;
    double now = 0;
    while ((submitted < jobs.size() || !active.empty()) && now < options.last_second) {
        const double next_submission = submitted < jobs.size() ? submissions[order[submitted]].time_seconds
                                                               : std::numeric_limits<double>::infinity();
        const double something = std::min({next_submission, timeline.next_seconds(), options.last_second});
        if (active.empty() && something - now > 2 * options.interval_seconds)
            now += (std::floor((something - now) / options.interval_seconds) - 1) * options.interval_seconds;
        const double begin = now;
        now += options.interval_seconds;
        const std::span<const detail::Happening> happenings = timeline.until(now);
        for (const std::size_t index : active) {
            RunningJob<Modelling>& job = jobs[index];
            double at = begin, left = options.interval_seconds;
            for (const detail::Happening& happening : happenings) {
                if (!timeline.strikes(happening, index, job.placement())) continue;
                const double until_then = std::clamp(happening.time_seconds - at, 0.0, left);
                job.advance(at, until_then);
                at = happening.time_seconds;
                left -= until_then;
                if (job.complete()) break;
                if (happening.kind == EventKind::job_fails) {
                    job.fail();
                } else {
                    job.lose_nodes();
                    recorder.set(index, {}, at, result.segments);
                }
            }
            job.advance(at, left);
            if (!job.complete()) continue;
            // Its last second is a whole one, as published, which may end after the round; the GPUs do not
            // stay.
            recorder.set(index, {}, std::min(*job.completion_seconds(), now), result.segments);
            job.release();
        }
        std::erase_if(active, [&](std::size_t index) { return jobs[index].complete(); });
        if (!happenings.empty()) {
            for (const detail::Happening& happening : happenings)
                if (timeline.note(happening))
                    result.capacity.push_back({happening.time_seconds, timeline.gpus()});
            const std::vector<std::size_t> moved_to = timeline.settle();
            snapshot.cluster = timeline.cluster();
            if (!moved_to.empty())
                for (const std::size_t index : active)
                    jobs[index].follow(moved_to, snapshot.cluster.nodes.size());
            if (timeline.gpus() != result.capacity.back().gpus)
                result.capacity.push_back({now, timeline.gpus()});
        }
        while (submitted < jobs.size() && submissions[order[submitted]].time_seconds <= now)
            active.push_back(order[submitted++]);
        if (active.empty()) continue;

        ++result.rounds;
        snapshot.time_seconds = now;
        // Assigned, not made anew, so that what the last round's jobs had reserved is used again.
        snapshot.jobs.resize(active.size());
        snapshot.models.resize(active.size());
        for (std::size_t j = 0; j < active.size(); ++j) {
            snapshot.jobs[j] = jobs[active[j]].view();
            snapshot.models[j] = jobs[active[j]].model();
        }
        sizes.expect(snapshot);
        observe(now, std::as_const(snapshot), [&]() -> const Plan& {
            const Plan& plan = scheduler.plan(snapshot);
            sizes.note(snapshot, plan);
            for (std::size_t i = 0; i < active.size(); ++i) {
                const Decision& decision = plan.decisions[i];
                jobs[active[i]].hold(decision.option.configuration, decision.placement,
                                     options.moves_restart);
                recorder.set(active[i], decision.option.configuration, now, result.segments);
            }
            result.faults += plan.faults.size();
            if (result.first_fault.empty() && !plan.faults.empty())
                result.first_fault = plan.faults.front().report(snapshot);
            return plan;
        });
        const bool any_runs = std::any_of(active.begin(), active.end(),
                                          [&](std::size_t index) { return !jobs[index].held().empty(); });
        idle_rounds = any_runs ? 0 : idle_rounds + 1;
        if (idle_rounds > options.most_idle_rounds && submitted == jobs.size() &&
            std::isinf(timeline.next_seconds()))
            break;
    }
    for (std::size_t index = 0; index < jobs.size(); ++index) {
        recorder.set(index, {}, now, result.segments);
        const RunningJob<Modelling>& job = jobs[index];
        result.jobs.push_back({job.submission().time_seconds, job.completion_seconds(), job.restarts(),
                               job.gpu_seconds(), job.migrations(), job.failures(), job.done()});
    }
    result.end_seconds = now;
    return result;
}

}  // namespace goodput

#endif
