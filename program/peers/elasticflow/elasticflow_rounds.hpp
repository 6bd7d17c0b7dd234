#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_ROUNDS_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_ROUNDS_HPP

// ElasticFlow (ASPLOS'23), without and with admission, as in its public simulator: a planner of its world.
// Every job gets its minimum satisfactory share (elasticflow_share.hpp), by deadline. The remaining GPUs go
// where GPU time grows most.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/schedule/snapshot.hpp"
#include "peers/elasticflow/elasticflow_queue.hpp"
#include "peers/elasticflow/elasticflow_share.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"

namespace goodput::peers {

/// The mistakes of the published code that are kept.
struct ElasticflowSlips {
    /// With admission, the new jobs of a round are admitted or refused together, and a single job that is
    /// already late causes all jobs with deadlines to be refused. Without this mistake, jobs are tried one
    /// by one, and only jobs that are on time without the new job count.
    bool refuses_together = true;
    /// Free GPUs go to the job whose GPU time grows most per GPU. By the paper, they go where it grows
    /// least.
    bool largest_growth = true;
};

/// Plans each round of this world.
///
/// Published, and kept in any case: without admission, each job's next change is an event, even if plans
/// have changed since.
class ElasticflowRounds {
public:
    /// The caller keeps `world` alive.
    ElasticflowRounds(ElasticflowWorld& world, bool admission, const ElasticflowSlips& slips = {})
        : world_(&world),
          queue_(world),
          admission_(admission),
          slips_(slips),
          standings_(world.jobs().size()) {
        world.follow({.ends_as_planned = true, .met_as_planned = admission});
    }

    /// Returns the jobs that run in the next round.
    const Plan& plan(const Snapshot& snapshot) {
        now_ = snapshot.time_seconds;
        world_->decide(now_);
        welcome(queue_.look(snapshot));
        for (const std::size_t job : queue_.jobs()) {
            of(job).gpus = of(job).plan.gpus.at(now_);
            world_->end_at(job, of(job).plan.end, of(job).plan.planned_end);
        }
        std::vector<std::size_t> by_submission = queue_.jobs();
        std::sort(by_submission.begin(), by_submission.end());
        for (const std::size_t job : by_submission)
            if (of(job).gpus > 0)
                queue_.start(job);
            else if (!admission_ && !queue_.has_started(job))
                expect_start(job);
        give_the_rest();
        const std::vector<ElasticflowRun> runs = admission_ ? of_all() : of_started();
        expect_changes();
        return queue_.decide(snapshot, runs);
    }

private:
    static constexpr double never = std::numeric_limits<double>::infinity();

    struct Standing {
        int gpus = 0;  ///< GPUs now
        ElasticflowPlan plan{};
        int next_gpus = 0;       ///< the next size
        ElasticflowPlan next{};  ///< the plan with that size now
        double growth = 0;  ///< growth of GPU-seconds per GPU with that size; the job with most growth gets
                            ///< it
    };

    [[nodiscard]] Standing& of(std::size_t job) { return standings_[job]; }
    [[nodiscard]] ElasticflowNeed need(std::size_t job) const {
        return {&world_->job(job).speeds, world_->left(job), world_->job(job).deadline_seconds,
                world_->gpus_of_cluster(), world_->slot_seconds()};
    }
    /// Whether all jobs meet their deadlines with their shares.
    bool estimate(std::vector<std::size_t>& jobs) {
        queue_.by_deadline(jobs);
        free_ = GpuSteps(now_, world_->gpus_of_cluster());
        bool kept = true;
        for (const std::size_t job : jobs) {
            of(job).plan = MinimumShare(need(job), free_).plan();
            free_ = of(job).plan.free;
            kept &= of(job).plan.planned_end <= world_->job(job).deadline_seconds;
        }
        return kept;
    }
    void welcome(const std::vector<std::size_t>& fresh) {
        if (admission_ && !slips_.refuses_together) return welcome_one_by_one(fresh);
        std::vector<std::size_t> all = queue_.with(fresh);
        if (!estimate(all) && admission_ && !fresh.empty()) {
            all = queue_.jobs();
            for (const std::size_t job : fresh)
                if (world_->job(job).deadline_seconds < never)
                    world_->refuse(job);
                else
                    all.push_back(job);
            estimate(all);
        }
        queue_.jobs() = all;
    }
    void welcome_one_by_one(const std::vector<std::size_t>& fresh) {
        const auto is_late = [&](std::size_t job) {
            return of(job).plan.planned_end > world_->job(job).deadline_seconds;
        };
        for (const std::size_t job : fresh) {
            estimate(queue_.jobs());
            std::vector<std::size_t> in_time{job};
            for (const std::size_t other : queue_.jobs())
                if (!is_late(other)) in_time.push_back(other);
            std::vector<std::size_t> all = queue_.with({job});
            estimate(all);
            if (std::any_of(in_time.begin(), in_time.end(), is_late) &&
                world_->job(job).deadline_seconds < never)
                world_->refuse(job);
            else
                queue_.jobs() = all;
        }
        estimate(queue_.jobs());
    }

    void give_the_rest() {
        int rest = world_->gpus_of_cluster();
        for (const std::size_t job : queue_.jobs()) rest -= of(job).gpus;
        if (rest == 0) return;
        for (const std::size_t job : queue_.jobs()) look_at_next_size(job, rest);
        const auto by_growth = [&] {
            std::stable_sort(queue_.jobs().begin(), queue_.jobs().end(),
                             [&](std::size_t a, std::size_t b) { return of(a).growth > of(b).growth; });
        };
        by_growth();
        while (rest > 0) {
            const auto taker = std::find_if(queue_.jobs().begin(), queue_.jobs().end(), [&](std::size_t job) {
                const int more = of(job).next_gpus - of(job).gpus;
                return more > 0 && more <= rest;
            });
            if (taker == queue_.jobs().end()) break;
            Standing& taking = of(*taker);
            rest -= taking.next_gpus - taking.gpus;
            taking.gpus = taking.next_gpus;
            taking.plan = taking.next;
            free_ = taking.plan.free;
            queue_.start(*taker);
            world_->end_at(*taker, taking.plan.end, taking.plan.planned_end);
            // A job with its largest size keeps its place in the order.
            for (const std::size_t job : queue_.jobs())
                if (next_size(job) > of(job).gpus)
                    look_at_next_size(job, rest);
                else
                    of(job).next_gpus = of(job).gpus;
            by_growth();
        }
    }
    [[nodiscard]] int next_size(std::size_t job) {
        const ElasticflowSpeeds& speeds = world_->job(job).speeds;
        return speeds.size_above(of(job).gpus, speeds.most_gpus_elastic);
    }
    void look_at_next_size(std::size_t job, int rest) {
        Standing& standing = of(job);
        standing.next_gpus = next_size(job);
        const int more = standing.next_gpus - standing.gpus;
        standing.growth = -never;
        if (more == 0 || more > rest) return;
        GpuSteps free = free_;
        const double end = standing.plan.end;
        free.cut(end);
        int before = 0;
        for (const GpuSteps::Step& step : standing.plan.gpus.steps()) {
            free.cut(step.seconds, world_->gpus_of_cluster());
            free.add(step.seconds, end, step.gpus - before);
            before = step.gpus;
        }
        free.merge();
        standing.next = MinimumShare(need(job), free).plan(standing.next_gpus);
        standing.growth =
            standing.gpus == 0
                ? never
                : (standing.next.gpus.gpu_seconds(standing.next.end) - standing.plan.gpus.gpu_seconds(end)) /
                      (slips_.largest_growth ? more : -more);
    }

    [[nodiscard]] std::vector<ElasticflowRun> runs_of(std::span<const std::size_t> jobs) {
        std::vector<ElasticflowRun> runs;
        for (const std::size_t job : jobs)
            if (of(job).gpus > 0) runs.push_back({job, of(job).gpus});
        return runs;
    }
    std::vector<ElasticflowRun> of_all() {
        std::stable_sort(queue_.jobs().begin(), queue_.jobs().end(),
                         [&](std::size_t a, std::size_t b) { return of(a).gpus > of(b).gpus; });
        return runs_of(queue_.jobs());
    }
    /// Whole nodes come first, in the order in which jobs have started, then the others by size.
    std::vector<ElasticflowRun> of_started() {
        std::vector<ElasticflowRun> runs = runs_of(queue_.started());
        const auto size = [&](const ElasticflowRun& run) {
            return std::min(run.gpus, world_->gpus_of_node());
        };
        std::stable_sort(runs.begin(), runs.end(),
                         [&](const auto& a, const auto& b) { return size(a) > size(b); });
        return runs;
    }

    /// Adds an event at the beginning of a waiting job's share.
    void expect_start(std::size_t job) {
        for (const GpuSteps::Step& step : of(job).plan.gpus.steps())
            if (step.gpus > 0) return world_->change_at(step.seconds);
    }
    void expect_changes() {
        double first = never;
        for (const std::size_t job : admission_ ? queue_.jobs() : queue_.started())
            for (const GpuSteps::Step& step : of(job).plan.gpus.steps())
                if (step.seconds > now_) {
                    if (!admission_) world_->change_at(step.seconds);
                    first = std::min(first, step.seconds);
                    break;
                }
        if (admission_ && first < world_->first_event()) world_->change_at(first);
    }

    ElasticflowWorld* world_;
    ElasticflowQueue queue_;
    bool admission_;
    ElasticflowSlips slips_;
    std::vector<Standing> standings_;  // by job of the world
    GpuSteps free_;                    // free GPUs next to all plans
    double now_ = 0;
};

}  // namespace goodput::peers

#endif
