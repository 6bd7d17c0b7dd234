#ifndef GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_PROMISES_HPP
#define GOODPUT_PROGRAM_WORLDS_ELASTICFLOW_PROMISES_HPP

// Our policy in ElasticFlow's world. Every admitted job has a promise with a plan behind it. GPUs that
// plans leave free go where the most jobs end sooner.
//
// Plans assume the longest starts that can occur: one per slot, because a slot is the shortest round of a
// job that continues, and on ranks that no job has had, as long as there are any. So a job always does at
// least the work of its plan. Rounds begin with events, and not where the slots of a plan begin, so changes
// may come a slot late. Therefore, starts planned for later than now do nothing for one slot. The cost of
// that slot changes a little with the work that is left, so a tenth of a slot is reserved before each
// deadline.
//
// A job that is refused waits, runs on what is left, and asks again as long as it could still be in time.
//
// A round gives each job at least what its plan says now. A job's progress, in GPU-seconds at its most
// efficient size, is worth the number of jobs that have at least as many of these left. That is the number
// of jobs that would end later without this progress, if jobs ran one after the other, the shortest first.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "peers/elasticflow/elasticflow_queue.hpp"
#include "peers/elasticflow/elasticflow_world.hpp"

namespace cli {

/// Plans each round of this world.
class ElasticflowPromises {
public:
    /// The caller keeps `world` alive. If a node's number of GPUs is not a power of two, the largest power
    /// of two is used.
    explicit ElasticflowPromises(goodput::peers::ElasticflowWorld& world)
        : world_(&world),
          queue_(world),
          promises_(
              {.admission = {.slot_seconds = world.slot_seconds(), .most_rounds = 20, .most_repairs = 1},
               .order = goodput::AskingOrder::weight_by_gpu_time,
               .reserve_seconds = 0.1 * world.slot_seconds(),
               .late_seconds = world.slot_seconds()}) {
        const auto gpus = static_cast<int>(std::bit_floor(static_cast<unsigned>(world.gpus_of_node())));
        const int nodes = world.gpus_of_cluster() / world.gpus_of_node();
        cluster_ = {{"GPU"}, {{0, nodes, gpus}}};
        rest_.capacity = {static_cast<double>(nodes * gpus)};
    }

    /// Returns the jobs that run in the next round.
    const goodput::Plan& plan(const goodput::Snapshot& snapshot) {
        now_ = snapshot.time_seconds;
        world_->decide(now_);
        queue_.jobs() = queue_.with(queue_.look(snapshot));
        keep_promises();
        return queue_.decide(snapshot, allot());
    }

private:
    struct Known {
        goodput::DeadlineJob job{};
        goodput::PromiseAnswer answer{};
        double best = 0;               // work per GPU-second at its most efficient size
        double least_gpu_seconds = 0;  // GPU-seconds left at that size
        double least_seconds =
            std::numeric_limits<double>::infinity();  // seconds left on its fastest size, without starts
    };

    /// Returns the seconds that the work takes at that rate before a deadline, with the longest starts.
    /// Returns infinity if it takes too long or never ends.
    [[nodiscard]] double seconds_of(double work, double rate, int gpus, double deadline_seconds) const {
        const double slot = world_->slot_seconds(), most = 8 * (work / rate + slot);
        double seconds = work / rate, rounds = 0;
        while (rounds * slot < seconds) {
            if (!(seconds < most)) return std::numeric_limits<double>::infinity();
            rounds = std::ceil(seconds / slot);
            seconds = work / rate + world_->longest_starts(gpus, rounds, std::ceil(deadline_seconds / slot));
        }
        return seconds;
    }
    [[nodiscard]] Known known(std::size_t job) const {
        const goodput::peers::ElasticflowJob& traced = world_->job(job);
        Known known{.job = {.name = traced.name,
                            .work_left = std::max(world_->left(job), 1e-9),
                            .deadline_seconds = traced.deadline_seconds - now_,
                            .speed = {{}}}};
        const int most = std::min(traced.speeds.most_gpus_elastic, static_cast<int>(rest_.capacity.front()));
        for (int gpus = 1; gpus <= most; gpus *= 2) {
            const double rate = traced.speeds.rate(gpus), work = known.job.work_left;
            const double speed =
                rate > 0 ? work / seconds_of(work, rate, gpus, known.job.deadline_seconds) : 0;
            known.job.speed.front().push_back(speed);
            known.best = std::max(known.best, speed / gpus);
            if (rate > 0) known.least_seconds = std::min(known.least_seconds, work / rate);
        }
        known.least_gpu_seconds = known.job.work_left / known.best;
        return known;
    }

    /// Drops the jobs that have no promise and can never get one.
    void keep_promises() {
        known_.clear();
        std::vector<goodput::DeadlineJob> promised;
        for (const std::size_t job : queue_.jobs()) {
            known_.push_back(known(job));
            if (has_deadline(known_.back())) promised.push_back(known_.back().job);
        }
        const std::vector<goodput::PromiseAnswer> answers = promises_.plan(now_, cluster_, promised);
        double change = std::numeric_limits<double>::infinity();
        auto answer = answers.begin();
        for (std::size_t k = 0; k < known_.size(); ++k) {
            if (!has_deadline(known_[k])) continue;
            change = std::min(change, answer->until_seconds);
            known_[k].answer = *answer++;
            if (known_[k].answer.promise == goodput::Promise::refused)
                world_->refuse(queue_.jobs()[k]);
            else
                world_->admit(queue_.jobs()[k]);
        }
        if (std::isfinite(change)) world_->decide_at(change);
        for (std::size_t k = known_.size(); k-- > 0;) {
            if (!has_deadline(known_[k]) || known_[k].answer.promise != goodput::Promise::refused ||
                known_[k].least_seconds <= known_[k].job.deadline_seconds)
                continue;
            known_.erase(known_.begin() + static_cast<std::ptrdiff_t>(k));
            queue_.jobs().erase(queue_.jobs().begin() + static_cast<std::ptrdiff_t>(k));
        }
    }
    [[nodiscard]] static bool has_deadline(const Known& known) {
        return std::isfinite(known.job.deadline_seconds);
    }

    std::vector<goodput::peers::ElasticflowRun> allot() {
        rest_.clear();
        std::vector<std::vector<int>> sizes(known_.size());
        for (std::size_t k = 0; k < known_.size(); ++k) {
            const auto& [job, answer, best, least_gpu_seconds, least_seconds] = known_[k];
            const double wait =
                static_cast<double>(std::count_if(known_.begin(), known_.end(), [&](const Known& other) {
                    return other.least_gpu_seconds >= known_[k].least_gpu_seconds;
                }));
            rest_.add_job(answer.now.has_value());
            for (int gpus = 1; gpus <= 1 << (job.speed.front().size() - 1); gpus *= 2) {
                const double speed = job.speed_on({0, gpus});
                if (!(speed > 0) || !goodput::keeps_plan(job, answer, speed, true, world_->slot_seconds()))
                    continue;
                sizes[k].push_back(gpus);
                rest_.add_option(wait * speed / best, {{0, static_cast<double>(gpus)}});
            }
        }
        const goodput::AllotResult& result = allotter_(rest_, {.most_states = std::size_t{1} << 14});
        std::vector<goodput::peers::ElasticflowRun> runs;
        for (std::size_t k = 0; k < known_.size(); ++k)
            if (result.choice[k] != goodput::no_option)
                runs.push_back({queue_.jobs()[k], sizes[k][result.choice[k]]});
        std::stable_sort(runs.begin(), runs.end(),
                         [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
        return runs;
    }

    goodput::peers::ElasticflowWorld* world_;
    goodput::peers::ElasticflowQueue queue_;
    goodput::Promises promises_;
    goodput::ClusterOverTime cluster_;
    std::vector<Known> known_;  // as queue_.jobs()
    goodput::AllotmentProblem rest_;
    goodput::Allotter<> allotter_;
    double now_ = 0;
};

}  // namespace cli

#endif
