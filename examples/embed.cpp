// A scheduler's loop: jobs come, report how fast they are, and go; a node is drained, another one fails.
#include <algorithm>
#include <cmath>
#include <goodput/goodput.hpp>
#include <iostream>
#include <map>
using namespace goodput;
/// The policy: a job's speed relative to its best one, worth more with age. A move has to gain a quarter.
struct FairSpeed {
    void value_row(const Round& round, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        const double best = std::max(best_goodput(options), 1e-9);
        const double patience = 1 + round.age_of(job) / 3600;
        for (std::size_t k = 0; k < options.size(); ++k) {
            const bool stays = options[k].configuration.same_gpus(round.held_by(job));
            values[k] = patience * std::sqrt(options[k].goodput / best) * (stays ? 1 : 0.8);
        }
    }
};
static_assert(Policy<FairSpeed>);
auto make_scheduler() {
    return Scheduler<FairSpeed>().limited_by(TeamQuotas({{.team = "vision", .gpus = 6}}));
}

struct Loop {
    // GPU types, and nodes: {name, index of its GPU type, GPUs}
    Snapshot now{.cluster = {{"T4", "A100"}, {{"small-0", 0, 4}, {"small-1", 0, 4}, {"big-0", 1, 8}}}};
    decltype(make_scheduler()) scheduler = make_scheduler();
    JobMemory memory{};                      // what is known of the jobs, from round to round
    std::map<std::string, JobNews> heard{};  // by job: what it has reported since the last round
    void submit(const std::string& name, const std::string& kind, const std::string& team) {
        Job job{.name = name, .kind = kind, .submitted_seconds = now.time_seconds, .max_gpus = 8};
        job.restart_cost_seconds = 30;
        job.initial_batch = 128;  // of all its GPUs together; plans choose another, up to max_batch
        job.max_batch = 4096;
        job.types = {{.max_atomic_batch = 256}, {.max_atomic_batch = 512}};  // most examples on a GPU
        job.gradient = {.squared_norm = 1, .variance = 6};                   // at the initial batch
        job.team = team;
        now.jobs.push_back(job);
    }
    void end(std::string_view name) {
        std::erase_if(now.jobs, [&](auto& job) { return job.name == name; });
    }
    void drain(std::size_t node) { now.cluster.nodes[node].drained = true; }  // its jobs may stay
    void lose(std::size_t node) {  // it stays in the list, because placements are indices into it
        drain(node);
        for (Job& job : now.jobs)
            if (std::ranges::find(job.placement, node, &NodeShare::node) != job.placement.end())
                job.placement.clear();
    }

    void round(bool explain = false) {
        // [round]
        std::vector<JobNews> news;
        for (const Job& job : now.jobs) news.push_back(heard[job.name]);
        heard.clear();
        memory.take_in(now, news);  // fits models to all that was reported
        const Plan& plan = scheduler.plan(now);
        memory.keep(now, plan);
        for (const std::string& warning : plan.warnings) std::cerr << warning << "\n";
        std::cout << plan.report() << "; " << plan.limits[0].report() << "\n";
        if (explain)
            for (const DecisionExplanation& why : explain_plan(scheduler, now))
                std::cout << why.job << ": " << why.report(now.cluster) << "\n";
        // Stops come first, because a job may be given GPUs that another one still holds.
        for (std::size_t j = 0; j < now.jobs.size(); ++j)
            if (plan.decisions[j].stops()) std::cout << "  stop " << now.jobs[j].name << "\n";
        for (std::size_t j = 0; j < now.jobs.size(); ++j) carry_out(now.jobs[j], plan.decisions[j]);
        // [/round]
        now.time_seconds += 60;
    }
    /// Here you tell your launcher, and the job its batch. In this example jobs make their reports up.
    void carry_out(Job& job, const Decision& decision) {
        const Configuration& given = decision.option.configuration;
        const BatchPlan batch = decision.option.plan;
        job.restarts += decision.starts && job.attained_gpu_seconds > 0;  // the first start is none
        if (decision.starts)
            std::cout << "  start " << job.name << ": " << describe(now.cluster, given) << ", batch "
                      << batch.atomic_batch << "\n";
        job.placement = decision.placement;
        job.attained_gpu_seconds += 60.0 * given.gpus();
        if (given.empty()) return;
        const PoolShare& gpus = given.first();
        const double sync = given.gpus() > 1 ? 0.03 : 0;  // seconds of a step, and of synchronising in it
        const double step = sync + batch.atomic_batch * (gpus.gpu_type == 0 ? 0.0025 : 0.0004);
        heard[job.name].samples.push_back({gpus.gpu_type, {gpus.shape, batch, step, sync}});
    }
};

int main() {
    Loop loop;
    for (const char* name : {"boxes", "faces"}) loop.submit(name, "detector", "vision");
    loop.submit("bert", "language", "text");
    loop.round();
    loop.submit("tuning", "language", "text");
    loop.drain(0);
    loop.round();
    loop.lose(1);
    loop.round();
    loop.end("bert");
    loop.round(true);
    return 0;
}
