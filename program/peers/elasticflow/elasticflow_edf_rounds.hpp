#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EDF_ROUNDS_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_EDF_ROUNDS_HPP

// Earliest deadline first, without and with admission, as in ElasticFlow's public simulator: a planner of
// its world.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/schedule/snapshot.hpp"
#include "peers/elasticflow/elasticflow_edf.hpp"
#include "peers/elasticflow/elasticflow_queue.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"

namespace goodput::peers {

/// Plans each round of this world.
///
/// With admission, a new job is refused if any job is late in the plan of all jobs with it. Published, and
/// kept: a job that is already late causes all new jobs to be refused until it ends. A job without GPUs in
/// a round without an admission keeps its old end.
class ElasticflowEdf {
public:
    /// The caller keeps `world` alive.
    ElasticflowEdf(ElasticflowWorld& world, bool admission)
        : world_(&world), queue_(world), admission_(admission), plans_(world.jobs().size()) {
        world.follow({.starts_take_time = admission});
    }

    /// Returns the jobs that run in the next round.
    const Plan& plan(const Snapshot& snapshot) {
        world_->decide(snapshot.time_seconds);
        const std::vector<std::size_t> fresh = queue_.look(snapshot);
        std::vector<ElasticflowRun> runs =
            admission_ ? admit(snapshot.time_seconds, fresh) : welcome(snapshot.time_seconds, fresh);
        return queue_.decide(snapshot, runs);
    }

private:
    /// Plans the jobs, the earliest deadline first. Returns whether all of them meet their deadlines.
    bool estimate(std::vector<std::size_t>& jobs, double now) {
        queue_.by_deadline(jobs);
        GpuSteps free(now, world_->gpus_of_cluster());
        bool kept = true;
        for (const std::size_t job : jobs) {
            plans_[job] = edf_plan(world_->job(job).speeds, world_->left(job), free,
                                   world_->gpus_of_cluster(), world_->slot_seconds());
            free = plans_[job].free;
            kept &= plans_[job].end <= world_->job(job).deadline_seconds;
        }
        return kept;
    }
    [[nodiscard]] int gpus_now(std::size_t job, double now) const { return plans_[job].gpus.at(now); }
    void adopt(std::size_t job, double now) {
        const ElasticflowPlan& plan = plans_[job];
        if (queue_.has_started(job) || gpus_now(job, now) > 0)
            world_->end_at(job, plan.end, plan.end);
        else
            world_->plan_end(job, plan.end, plan.end);
        if (gpus_now(job, now) > 0) queue_.start(job);
    }
    [[nodiscard]] std::vector<ElasticflowRun> runs(double now) const {
        std::vector<ElasticflowRun> runs;
        for (const std::size_t job : queue_.jobs())
            if (gpus_now(job, now) > 0) runs.push_back({job, gpus_now(job, now)});
        return runs;
    }

    std::vector<ElasticflowRun> welcome(double now, const std::vector<std::size_t>& fresh) {
        if (fresh.empty()) {
            estimate(queue_.jobs(), now);
        } else {
            std::vector<std::size_t> all = queue_.with(fresh);
            estimate(all, now);
            queue_.jobs() = queue_.with(fresh);
        }
        for (const std::size_t job : queue_.jobs()) adopt(job, now);
        std::vector<ElasticflowRun> largest_first = runs(now);
        std::stable_sort(largest_first.begin(), largest_first.end(),
                         [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
        return largest_first;
    }
    std::vector<ElasticflowRun> admit(double now, const std::vector<std::size_t>& fresh) {
        bool admitted = false;
        std::vector<ElasticflowPlan> before;
        for (const std::size_t job : fresh) {
            std::vector<std::size_t> all = queue_.with({job});
            before = plans_;
            if (!estimate(all, now)) {
                plans_ = before;
                world_->refuse(job);
                continue;
            }
            admitted = true;
            queue_.jobs().push_back(job);
            for (const std::size_t each : queue_.jobs()) adopt(each, now);
        }
        if (!admitted) {
            estimate(queue_.jobs(), now);
            for (const std::size_t job : queue_.jobs())
                if (gpus_now(job, now) > 0) adopt(job, now);
        }
        return runs(now);
    }

    ElasticflowWorld* world_;
    ElasticflowQueue queue_;
    bool admission_;
    std::vector<ElasticflowPlan> plans_;  // by job of the world
};

}  // namespace goodput::peers

#endif
