#ifndef GOODPUT_EXAMPLES_CLI_ELASTICFLOW_PROMISES_HPP
#define GOODPUT_EXAMPLES_CLI_ELASTICFLOW_PROMISES_HPP

// Ours in ElasticFlow's world: whoever is admitted has a promise with a plan behind it, and what the plan
// leaves goes where jobs end soonest.
//
// Plans foresee the longest starts: a round of a slot, the shortest there is for a job that goes on, may cost
// every job the start on GPUs that nobody had, and one such round in as many as a slot has seconds the
// longest one. So whatever submissions come, a job does at least the work of its plan.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "peers/elasticflow_queue.hpp"
#include "peers/elasticflow_world.hpp"

namespace cli {

/// Plans each round of such a world.
class ElasticflowPromises {
public:
    /// `world` has to outlive it.
    explicit ElasticflowPromises(goodput::peers::ElasticflowWorld& world)
        : world_(&world),
          queue_(world),
          promises_({.admission = {.slot_seconds = world.slot_seconds()},
                     .reserve_seconds = world.slot_seconds()}) {
        const auto block = static_cast<int>(std::bit_floor(static_cast<unsigned>(world.gpus_of_node())));
        cluster_ = {{"GPU"}, {{0, world.gpus_of_cluster() / world.gpus_of_node(), block}}};
        rest_.capacity = {static_cast<double>(cluster_.nodes.front().nodes * block)};
    }

    /// Who runs in the next round.
    const goodput::Plan& plan(const goodput::Snapshot& snapshot) {
        now_ = snapshot.time_seconds;
        world_->decide(now_);
        queue_.jobs() = queue_.with(queue_.look(snapshot));
        keep_promises();
        return queue_.decide(snapshot, allot());
    }

    /// Promises that could not be kept so far.
    [[nodiscard]] std::size_t broken() const { return broken_; }

private:
    /// A job with the speeds that it has at least, starts included.
    [[nodiscard]] goodput::DeadlineJob prudent(std::size_t job) const {
        const goodput::peers::ElasticflowJob& known = world_->job(job);
        goodput::DeadlineJob its{.name = known.name,
                                 .work_left = std::max(world_->left(job), 0.0),
                                 .deadline_seconds = known.deadline_seconds - now_};
        const double slot = world_->slot_seconds();
        const bool ends_in_this_round = its.deadline_seconds <= slot;
        std::vector<double>& speeds = its.speed.emplace_back();
        for (int gpus = 1; gpus <= std::min(known.speeds.most_gpus_elastic, world_->gpus_of_cluster()); gpus *= 2) {
            const double rate = known.speeds.rate(gpus);
            double start = world_->longest_start(gpus, ends_in_this_round && world_->forgets_now());
            const double seconds = rate > 0 ? std::max(its.work_left, 1e-9) / rate : 0;
            if (!ends_in_this_round)
                start += (world_->longest_start(gpus, true) - world_->longest_start(gpus, false)) / slot;
            const double rounds = ends_in_this_round ? 1 : std::ceil(seconds / std::max(slot - start, 1e-9));
            speeds.push_back(rate * seconds / (seconds + rounds * start));
        }
        for (double& speed : speeds)
            if (!std::isfinite(speed)) speed = 0;
        return its;
    }

    void keep_promises() {
        jobs_.clear();
        std::vector<goodput::DeadlineJob> promised;
        std::vector<std::size_t> who;
        for (const std::size_t job : queue_.jobs()) {
            jobs_.push_back(prudent(job));
            if (!std::isfinite(jobs_.back().deadline_seconds)) continue;
            who.push_back(jobs_.size() - 1);
            promised.push_back(jobs_.back());
        }
        answers_.assign(jobs_.size(), {});
        const auto answers = promises_.plan(now_, cluster_, promised);
        double change = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < who.size(); ++k) {
            answers_[who[k]] = answers[k];
            change = std::min(change, answers[k].until_seconds);
            broken_ += answers[k].promise == goodput::Promise::broken;
            if (answers[k].promise == goodput::Promise::refused) world_->refuse(queue_.jobs()[who[k]]);
        }
        if (std::isfinite(change)) world_->decide_at(change);
    }

    /// What plans give, or more of it, and the rest, so that the jobs' ends come soonest.
    std::vector<goodput::peers::ElasticflowRun> allot() {
        rest_.clear();
        std::vector<std::size_t> who;
        std::vector<std::vector<int>> sizes;
        for (std::size_t k = 0; k < jobs_.size(); ++k) {
            const goodput::DeadlineJob& job = jobs_[k];
            if (!world_->is_admitted(queue_.jobs()[k])) continue;
            const auto& least = answers_[k].now;
            who.push_back(queue_.jobs()[k]);
            sizes.emplace_back();
            rest_.add_job(least.has_value());
            for (std::size_t power = 0; power < job.speed.front().size(); ++power) {
                const double speed = job.speed.front()[power];
                if (!(speed > (least ? 0.999999 * job.speed_on(*least) : 0))) continue;
                sizes.back().push_back(1 << power);
                rest_.add_option(speed / std::max(job.work_left, 1e-9),
                                 {{0, static_cast<double>(1 << power)}});
            }
        }
        std::erase_if(queue_.jobs(), [&](std::size_t job) { return !world_->is_admitted(job); });
        const goodput::AllotResult& result = allotter_(rest_, {.most_states = std::size_t{1} << 14});
        std::vector<goodput::peers::ElasticflowRun> runs;
        for (std::size_t k = 0; k < who.size(); ++k)
            if (result.choice[k] != goodput::no_option) runs.push_back({who[k], sizes[k][result.choice[k]]});
        std::stable_sort(runs.begin(), runs.end(),
                         [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
        return runs;
    }

    goodput::peers::ElasticflowWorld* world_;
    goodput::peers::ElasticflowQueue queue_;
    goodput::Promises promises_;
    goodput::ClusterOverTime cluster_;
    std::vector<goodput::DeadlineJob> jobs_;        // as queue_.jobs()
    std::vector<goodput::PromiseAnswer> answers_;   // by these
    goodput::AllotmentProblem rest_;
    goodput::Allotter<> allotter_;
    double now_ = 0;
    std::size_t broken_ = 0;
};

}  // namespace cli

#endif
