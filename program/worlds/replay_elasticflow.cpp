#include "worlds/replay_elasticflow.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "peers/elasticflow/elasticflow_edf_rounds.hpp"
#include "peers/elasticflow/elasticflow_rounds.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"
#include "replay/any_planner.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_options.hpp"
#include "replay/replay_rows.hpp"
#include "replay/sizes.hpp"
#include "replay/workload.hpp"
#include "worlds/elasticflow_promises.hpp"
#include "worlds/elasticflow_trace.hpp"

namespace cli {

namespace {

using goodput::peers::ElasticflowEdf;
using goodput::peers::ElasticflowJob;
using goodput::peers::ElasticflowRounds;
using goodput::peers::ElasticflowSlips;
using goodput::peers::ElasticflowWorld;

struct ElasticflowPolicy {
    std::string_view name{};
    AnyPlanner (*planner)(ElasticflowWorld& world) = nullptr;
    bool only_named = false;  ///< runs only if it is named
};

/// ElasticFlow with admission, without some of its mistakes.
template <bool OneByOne, bool SmallestGrowth>
AnyPlanner corrected(ElasticflowWorld& world) {
    return any_planner(
        ElasticflowRounds(world, true, {.refuses_together = !OneByOne, .largest_growth = !SmallestGrowth}));
}

constexpr std::array elasticflow_policies{
    ElasticflowPolicy{"edf", [](auto& world) { return any_planner(ElasticflowEdf(world, false)); }},
    ElasticflowPolicy{"edf-accessctrl", [](auto& world) { return any_planner(ElasticflowEdf(world, true)); }},
    ElasticflowPolicy{"ef", [](auto& world) { return any_planner(ElasticflowRounds(world, false)); }},
    ElasticflowPolicy{"ef-accessctrl",
                      [](auto& world) { return any_planner(ElasticflowRounds(world, true)); }},
    ElasticflowPolicy{"ef-accessctrl-fixed", corrected<true, false>, true},
    ElasticflowPolicy{"ef-accessctrl-margin", corrected<false, true>, true},
    ElasticflowPolicy{"ef-accessctrl-fixed-margin", corrected<true, true>, true},
    ElasticflowPolicy{"goodput", [](auto& world) { return any_planner(ElasticflowPromises(world)); }, true},
};

/// Returns the cluster that the trace was made for, which is the default.
goodput::Cluster cluster_of(const ReplayCommand& command, const ElasticflowTrace& trace) {
    return plain_cluster(command, trace.gpu_type + ":" + goodput::text_of(trace.nodes) + "x" +
                                      goodput::text_of(trace.gpus_per_node));
}

/// Applies --trace-seed and --load. Deadlines keep their distance from submissions, and the clock has whole
/// seconds.
void change_times(const ReplayCommand& command, std::vector<ElasticflowJob>& jobs) {
    if (!command.trace_seed && command.load == 1) return;
    for (ElasticflowJob& job : jobs) job.deadline_seconds -= job.submitted_seconds;
    if (command.trace_seed) shuffle_jobs(jobs, &ElasticflowJob::submitted_seconds, *command.trace_seed);
    for (ElasticflowJob& job : jobs) {
        job.submitted_seconds = std::round(job.submitted_seconds / command.load);
        job.deadline_seconds += job.submitted_seconds;
    }
}

DeadlineCounts counts_of(const ElasticflowWorld& world) {
    DeadlineCounts counts;
    for (std::size_t j = 0; j < world.jobs().size(); ++j) {
        counts.jobs.push_back({world.is_admitted(j), world.has_met(j)});
        counts.admitted += world.is_admitted(j);
        counts.met += world.has_met(j);
        counts.work_done += world.work_is_done_by_deadline(j);
    }
    return counts;
}

}  // namespace

std::string elasticflow_policy_names() { return names_of(elasticflow_policies); }

int run_elasticflow_replay(const ReplayCommand& command, std::ostream& out) {
    require_files(command);
    const auto policies = chosen(elasticflow_policies, command.policies, "policy", "elasticflow");
    ElasticflowTrace trace = read_elasticflow_trace(command.workload);
    const goodput::Cluster cluster = cluster_of(command, trace);
    const std::string speeds = std::filesystem::is_directory(command.profiles)
                                   ? command.profiles + "/throughputs.json"
                                   : command.profiles;
    read_elasticflow_speeds(speeds, cluster.gpu_types.front(), trace.jobs);
    change_times(command, trace.jobs);
    const double slot = command.own_rounds ? trace.slot_seconds : command.interval_seconds;
    std::vector<std::string> names, kinds;
    for (const ElasticflowJob& job : trace.jobs) {
        names.push_back(job.name);
        kinds.push_back(job.model);
    }
    ReplayRows rows(command, out, names, cluster.gpu_types,
                    warnings_of_sizes(kinds, ElasticflowWorld(cluster, trace.jobs, slot),
                                      "work counts in iterations, speeds in iterations a second"));
    for (const ElasticflowPolicy& policy : policies) {
        ElasticflowWorld world(cluster, trace.jobs, slot);
        // The world says how long rounds are. A job that waits for nothing has been refused.
        PolicyReplay replay = replay_in(
            world, policy.planner(world), std::string(policy.name), cluster, world,
            {.interval_seconds = 1e12, .moves_restart = command.moves == "restart", .most_idle_rounds = 1});
        replay.deadlines = counts_of(world);
        rows.add(std::move(replay));
    }
    return rows.finish();
}

}  // namespace cli
