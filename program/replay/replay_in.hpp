#ifndef GOODPUT_PROGRAM_REPLAY_REPLAY_IN_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAY_IN_HPP

// Replays in any world, and records everything that the tables and the page show.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "plan/stopwatch.hpp"
#include "replay/progress.hpp"
#include "report/figures.hpp"

namespace cli {

/// Runs one replay. `alone` has the isolated times of the world's jobs. The replay ends a year after the
/// last submission: a job that still waits then would wait forever.
template <goodput::World W, class Decider, goodput::IsolatedTimes Times,
          goodput::Renter R = goodput::RentEverything>
PolicyReplay replay_in(W& world, Decider decider, const std::string& name, const goodput::Cluster& cluster,
                       const Times& alone, goodput::ReplayOptions options, R renter = {}) {
    const std::span<const goodput::Job> jobs = world.jobs();
    options.last_second = (jobs.empty() ? 0 : jobs.back().submitted_seconds) + 365 * 86400.0;
    PolicyReplay replay;
    replay.policy = name;
    std::vector<double> milliseconds;
    RoundRecorder recorder(jobs, options.moves_restart);
    ProgressBar progress(name);
    replay.result = goodput::replay(
        cluster, world, std::move(decider), options,
        [&](double now, const goodput::Snapshot& snapshot, auto make_plan) {
            const Stopwatch stopwatch;
            const goodput::Plan& plan = make_plan();
            milliseconds.push_back(stopwatch.milliseconds());
            replay.policy_seconds += milliseconds.back() / 1000;
            recorder.note(snapshot, plan);
            const auto submitted =
                std::upper_bound(jobs.begin(), jobs.end(), now,
                                 [](double time, const auto& job) { return time < job.submitted_seconds; });
            progress.show(static_cast<std::size_t>(submitted - jobs.begin()) - snapshot.jobs.size(),
                          jobs.size());
        },
        std::move(renter));
    replay.rounds = recorder.record();
    replay.metrics = goodput::metrics_of(replay.result, alone);
    replay.milliseconds_median = goodput::quantile(milliseconds, 0.5);
    replay.milliseconds_p99 = goodput::quantile(milliseconds, 0.99);
    return replay;
}

}  // namespace cli

#endif
