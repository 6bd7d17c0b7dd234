#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_QUEUE_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_QUEUE_HPP

// The common parts of the published planners of ElasticFlow's world: the list of admitted jobs, whose order
// decides between equal jobs, and plans from numbers of GPUs.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"

namespace goodput::peers {

/// Jobs by their index in the world.
class ElasticflowQueue {
public:
    /// The caller keeps `world` alive.
    explicit ElasticflowQueue(ElasticflowWorld& world) : world_(&world), seen_(world.jobs().size()) {}

    /// Drops the jobs that have ended. Returns the new jobs, by submission.
    std::vector<std::size_t> look(const Snapshot& snapshot) {
        const auto ended = [&](std::size_t job) { return world_->has_ended(job); };
        std::erase_if(jobs_, ended);
        std::erase_if(started_, ended);
        std::vector<std::size_t> fresh;
        for (const Job& job : snapshot.jobs) {
            const std::size_t index = world_->index_of(job.name);
            if (!seen_[index]) fresh.push_back(index);
            seen_[index] = true;
        }
        std::sort(fresh.begin(), fresh.end());
        return fresh;
    }
    /// The admitted jobs that have not ended.
    [[nodiscard]] std::vector<std::size_t>& jobs() { return jobs_; }
    [[nodiscard]] const std::vector<std::size_t>& jobs() const { return jobs_; }
    [[nodiscard]] std::vector<std::size_t> with(const std::vector<std::size_t>& fresh) const {
        std::vector<std::size_t> all = jobs_;
        all.insert(all.end(), fresh.begin(), fresh.end());
        return all;
    }
    void by_deadline(std::vector<std::size_t>& jobs) const {
        std::stable_sort(jobs.begin(), jobs.end(), [&](std::size_t a, std::size_t b) {
            return world_->job(a).deadline_seconds < world_->job(b).deadline_seconds;
        });
    }

    /// Returns those that have had GPUs, in the order in which they first got them.
    [[nodiscard]] const std::vector<std::size_t>& started() const { return started_; }
    [[nodiscard]] bool has_started(std::size_t job) const {
        return std::find(started_.begin(), started_.end(), job) != started_.end();
    }
    void start(std::size_t job) {
        if (!has_started(job)) started_.push_back(job);
    }

    /// Returns the plan that gives these jobs their GPUs, placed in that order.
    const Plan& decide(const Snapshot& snapshot, std::span<const ElasticflowRun> runs) {
        const std::vector<Placement>& placements = world_->place(runs);
        plan_ = {};
        plan_.decisions.resize(snapshot.jobs.size());
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const std::size_t job = world_->index_of(snapshot.jobs[j].name);
            Decision& decision = plan_.decisions[j];
            decision.placement = placements[job];
            decision.option.configuration = configuration_of(decision.placement, snapshot.cluster);
            decision.option.plan = {1, 0};
            decision.option.knowledge = Knowledge::measured;
            if (decision.placement.empty())
                decision.verdict = {Outcome::waits, world_->is_admitted(job)
                                                        ? "others need the GPUs first to keep their deadlines"
                                                        : "it was refused: a deadline would be missed"};
            else
                decision.option.goodput = world_->job(job).speeds.rate(shape_of(decision.placement).gpus);
        }
        find_actions(snapshot, plan_);
        return plan_;
    }

private:
    ElasticflowWorld* world_;
    std::vector<std::size_t> jobs_, started_;
    std::vector<bool> seen_;
    Plan plan_;
};

}  // namespace goodput::peers

#endif
