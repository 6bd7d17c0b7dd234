#include "worlds/replay_tasks.hpp"

#include <algorithm>
#include <array>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/sim/task_world.hpp"
#include "goodput/tasks/pilots.hpp"
#include "json/json_fields.hpp"
#include "json/json_files.hpp"
#include "replay/replay_in.hpp"
#include "replay/replay_options.hpp"
#include "replay/replay_rows.hpp"
#include "replay/workload.hpp"

namespace cli {

namespace {

struct TasksPolicy {
    std::string_view name{};
    goodput::TaskEstimates estimates = goodput::TaskEstimates::combined;
};
constexpr std::array tasks_policies{
    TasksPolicy{"history", goodput::TaskEstimates::usual},
    TasksPolicy{"own", goodput::TaskEstimates::own},
    TasksPolicy{"combined", goodput::TaskEstimates::combined},
};

/// Reads one job per line: {"name": "sweep-1", "kind": "sweep", "submitted_s": 60, "tasks": [12.5, 80]},
/// with strata if its tasks are of several kinds.
std::vector<goodput::TaskJob> read_task_jobs(const std::string& path) {
    std::vector<goodput::TaskJob> jobs;
    read_json_lines_of(path, [&](const Field& line) {
        goodput::TaskJob& job = jobs.emplace_back();
        job.name = line["name"].text();
        if (line["kind"].given()) job.kind = line["kind"].text();
        if (line["submitted_s"].given()) job.submitted_seconds = line["submitted_s"].number_at_least(0);
        line["tasks"].for_each([&](const Field& task) {
            if (!(task.number() >= goodput::least_task_seconds &&
                  task.number() <= goodput::most_task_seconds))
                task.refuse("seconds from " + goodput::text_of(goodput::least_task_seconds) + " to " +
                            goodput::text_of(goodput::most_task_seconds));
            job.task_seconds.push_back(task.number());
        });
        if (job.task_seconds.empty()) line["tasks"].refuse("at least one task");
        if (line["strata"].given())
            line["strata"].for_each([&](const Field& stratum) { job.strata.push_back(stratum.count()); });
    });
    std::ranges::stable_sort(jobs, {}, &goodput::TaskJob::submitted_seconds);
    return jobs;
}

}  // namespace

std::string tasks_policy_names() { return names_of(tasks_policies); }

int run_tasks_replay(const ReplayCommand& command, std::ostream& out) {
    if (command.workload.empty())
        goodput::bad_input("--workload", "file", "none", "given in the world tasks");
    const auto policies = chosen(tasks_policies, command.policies, "policy", "tasks");
    const goodput::Cluster cluster = plain_cluster(command, "gpu:64x1");
    std::vector<goodput::TaskJob> jobs = read_task_jobs(command.workload);
    const std::vector<std::string> names = shuffle_and_squeeze(command, jobs);
    ReplayRows rows(command, out, names, cluster.gpu_types);
    for (const TasksPolicy& policy : policies) {
        goodput::TaskWorld world(cluster, jobs);
        rows.add(replay_in(world, goodput::Pilots{.estimates = policy.estimates}, std::string(policy.name),
                           cluster, world, {.interval_seconds = command.interval_seconds}));
    }
    return rows.finish();
}

}  // namespace cli
