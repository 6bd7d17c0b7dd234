// One scheduler over several rounds: why every job has what it has, what happens if a node is lost, and
// what one more node would be worth.

#include <algorithm>
#include <chrono>
#include <goodput/policy/goodput_policy.hpp>
#include <goodput/schedule/explain_plan.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>
#include <vector>

using namespace goodput;

int main() {
    Snapshot now;
    now.cluster = {{"A100"}, {{"big-0", 0, 8}, {"big-1", 0, 8}}};
    for (const char* name : {"vision", "speech", "language"}) {
        Job job{.name = name,
                .restart_cost_seconds = 30,
                .max_gpus = 16,
                .initial_batch = 256,
                .max_batch = 8192};
        job.types = {{.max_atomic_batch = 256}};
        job.gradient = {.squared_norm = 1, .variance = 20};
        now.jobs.push_back(job);
        const PolluxThroughput speed{
            .alpha_c = 0.1, .beta_c = 0.001, .alpha_n = 0.2, .alpha_r = 0.05, .gamma = 2};
        now.models.push_back({{{.throughput = speed, .most_replicas = 8}}});
    }
    // [rounds]
    using namespace std::chrono_literals;
    Scheduler<GoodputPolicy> scheduler({.fairness_power = 0.5}, {.gap = 1e-4, .deadline = 50ms});
    std::vector<int> starts(now.jobs.size());
    for (now.time_seconds = 60; now.time_seconds <= 180; now.time_seconds += 60) {
        if (now.time_seconds == 180) now.cluster.nodes[1].drained = true;
        const Plan& plan = scheduler.plan(now);
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            Job& job = now.jobs[j];
            const Decision& decision = plan.decisions[j];
            if (decision.starts) job.restarts = starts[j]++;  // the first start is no restart
            job.placement = decision.placement;               // start or stop the job here
        }
        std::cout << "second " << now.time_seconds << ": " << plan.report() << "\n";
    }
    // [/rounds]

    // [why]
    for (const DecisionExplanation& why : explain_plan(scheduler, now))
        std::cout << why.job << ": " << why.report(now.cluster) << "\n";
    // [/why]

    const auto runs_on = [](const Job& job, std::size_t node) {
        return std::any_of(job.placement.begin(), job.placement.end(),
                           [&](const NodeShare& share) { return share.node == node; });
    };
    now.cluster.nodes[1].drained = true;  // it stays in the list, so that the others keep their indices
    for (Job& job : now.jobs)
        if (runs_on(job, 1)) job.placement.clear();

    // [what_if]
    const double as_it_is = scheduler.plan(now).objective;
    Snapshot larger = now;
    larger.cluster.nodes.push_back({"new", 0, 4});  // no larger shape: values remain comparable
    const double with_one_more = plan(larger, scheduler.policy()).objective;
    std::cout << "value " << as_it_is << ", with one more node " << with_one_more << "\n";
    // [/what_if]
    return 0;
}
