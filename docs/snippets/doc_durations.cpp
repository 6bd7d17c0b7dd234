// Jobs of many tasks: how much time they still need, and which job goes first, when only the first tasks
// have ended.

#include <goodput/sim/replay.hpp>
#include <goodput/sim/task_world.hpp>
#include <goodput/tasks/pilots.hpp>
#include <goodput/tasks/task_durations.hpp>
#include <goodput/tasks/task_history.hpp>
#include <iostream>

using namespace goodput;

int main() {
    // [estimate]
    TaskHistory sweeps;  // earlier jobs of the kind: minutes, quarters of an hour, and once hours
    for (const double scale : {1.0, 0.8, 3.0, 15.0, 1.5, 60.0}) {
        JobTasks past{{TaskSample{.tasks = 3}}, {}};
        for (const double seconds : {50.0, 60.0, 80.0}) past.strata[0].finish(scale * seconds);
        sweeps.add(past);
    }
    JobTasks tasks{{TaskSample{.tasks = 120}}, sweeps.usual()};
    const auto print = [&](const char* when, const DurationEstimate& estimate) {
        const Interval interval = remaining_interval(estimate, 0.9);
        std::cout << when << ": " << estimate.remaining_seconds / 3600 << " GPU hours, "
                  << interval.low / 3600 << " to " << interval.high / 3600 << "\n";
    };
    print("before it begins", *estimate_combined(tasks));
    tasks.strata[0].running_seconds = {300, 300, 300};
    print("three have been running for five minutes", *estimate_combined(tasks));
    tasks.strata[0].running_seconds = {400};
    tasks.strata[0].finish(310);
    tasks.strata[0].finish(370);
    print("two have ended", *estimate_combined(tasks));
    std::cout << "pilots: " << best_pilots(120, *tasks.usual) << ", published: " << published_pilots(120)
              << "\n";
    // [/estimate]

    // [replay]
    const Cluster cluster = cluster_of_single_gpus(4);
    std::vector<TaskJob> jobs;
    for (const double seconds : {600.0, 60.0, 20.0, 200.0, 40.0, 900.0}) {
        TaskJob job{.name = "sweep-" + std::to_string(jobs.size()), .kind = "sweep"};
        for (int t = 0; t < 30; ++t) job.task_seconds.push_back(seconds * (0.8 + 0.1 * (t % 5)));
        jobs.push_back(job);
    }
    for (const TaskEstimates estimates :
         {TaskEstimates::usual, TaskEstimates::own, TaskEstimates::combined}) {
        TaskWorld world(cluster, jobs, {{"sweep", sweeps}});
        double sum = 0;
        for (const JobOutcome& job :
             replay(cluster, world, Pilots{.estimates = estimates}, {.interval_seconds = 3600}).jobs)
            sum += *job.completed_seconds / 3600;
        std::cout << "average completion: " << sum / static_cast<double>(jobs.size()) << " h\n";
    }
    // [/replay]
    return 0;
}
