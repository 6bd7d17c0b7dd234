#ifndef GOODPUT_EXAMPLES_CLI_REPLAY_UNDER_HPP
#define GOODPUT_EXAMPLES_CLI_REPLAY_UNDER_HPP

// The replay behind replay_with_models.hpp.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "progress.hpp"
#include "replay_with_models.hpp"
#include "stopwatch.hpp"

namespace cli {

template <class Modelling, goodput::Policy P>
PolicyReplay replay_under(P policy, const std::string& name, const Scene& scene,
                          const ReplayCommand& command) {
    goodput::ReplayOptions options;
    options.interval_seconds = command.interval_seconds;
    options.moves_restart = command.moves == "restart";
    options.events = scene.events;
    // A year after the last submission whoever waits would wait for ever.
    options.last_second =
        (scene.submissions.empty() ? 0 : scene.submissions.back().time_seconds) + 365 * 86400.0;
    PolicyReplay replay;
    replay.policy = name;
    std::vector<double> milliseconds;
    RoundRecorder recorder(scene.submissions, options.moves_restart);
    ProgressBar progress(name);
    goodput::SiaWorld<Modelling> world(
        scene.cluster, scene.applications, scene.submissions,
        {.rigid = goodput::runs_rigid_jobs<P>, .checkpoint_seconds = command.checkpoint_seconds});
    replay.result = goodput::replay(
        scene.cluster, world, std::move(policy), options,
        [&](double now, const goodput::Snapshot& snapshot, auto make_plan) {
            const Stopwatch stopwatch;
            const goodput::Plan& plan = make_plan();
            milliseconds.push_back(stopwatch.milliseconds());
            replay.policy_seconds += milliseconds.back() / 1000;
            recorder.note(snapshot, plan);
            const auto submitted =
                std::upper_bound(scene.submissions.begin(), scene.submissions.end(), now,
                                 [](double time, const auto& job) { return time < job.time_seconds; });
            progress.show(
                static_cast<std::size_t>(submitted - scene.submissions.begin()) - snapshot.jobs.size(),
                scene.submissions.size());
        });
    replay.rounds = recorder.record();
    replay.metrics = goodput::metrics_of(replay.result, scene.shares);
    replay.milliseconds_median = goodput::quantile(milliseconds, 0.5);
    replay.milliseconds_p99 = goodput::quantile(milliseconds, 0.99);
    return replay;
}

}  // namespace cli

#endif
