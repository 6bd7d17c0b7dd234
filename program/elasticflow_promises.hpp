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
#include <cstdio>
#include <cstdlib>

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
                     .reserve_seconds = (getenv("RES")?atof(getenv("RES")):1.0)*world.slot_seconds()}) {
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
    /// Seconds until so many iterations are done on so many GPUs, from now on and in the worst case: rounds of
    /// a slot, and new ranks as long as there are any.
    [[nodiscard]] double seconds_of(double iterations, double rate, int gpus) const {
        const double slot = world_->slot_seconds(), work = iterations / rate;
        double seconds = work;
        for (double rounds = 0; rounds * slot < seconds;) {
            rounds = std::ceil(seconds / slot);
            seconds = work + world_->longest_starts(gpus, rounds);
            if (seconds > 8 * work + 8 * slot) return std::numeric_limits<double>::infinity();
        }
        return seconds;
    }
    /// A job with the speeds that it has at least, starts included.
    [[nodiscard]] goodput::DeadlineJob prudent(std::size_t job) const {
        const goodput::peers::ElasticflowJob& known = world_->job(job);
        goodput::DeadlineJob its{.name = known.name,
                                 .work_left = std::max(world_->left(job), 1e-9),
                                 .deadline_seconds = known.deadline_seconds - now_};
        const int most = std::min(known.speeds.most_gpus_elastic, world_->gpus_of_cluster());
        std::vector<double>& speeds = its.speed.emplace_back();
        for (int gpus = 1; gpus <= most; gpus *= 2) {
            const double rate = known.speeds.rate(gpus);
            speeds.push_back(rate > 0 ? its.work_left / seconds_of(its.work_left, rate, gpus) : 0);
        }
        return its;
    }

    void keep_promises() {
        jobs_.clear();
        who_.clear();
        promised_.clear();
        for (const std::size_t job : queue_.jobs()) {
            jobs_.push_back(prudent(job));
            if (!std::isfinite(jobs_.back().deadline_seconds)) continue;
            who_.push_back(jobs_.size() - 1);
            promised_.push_back(jobs_.back());
        }
        answers_.assign(jobs_.size(), {});
        const auto answers = promises_.plan(now_, cluster_, promised_);
        for (std::size_t k = 0; k < who_.size(); ++k) {
            answers_[who_[k]] = answers[k];
            broken_ += answers[k].promise == goodput::Promise::broken;
            if (answers[k].promise == goodput::Promise::refused) { if(getenv("V")) { const auto&J=promised_[k]; double b=0; for(double x:J.speed[0]) b=std::max(b,x); printf("   refused %s at %.0f window %.0f slack %.0f: %s\n",J.name.c_str(),now_,J.deadline_seconds,J.deadline_seconds-J.work_left/b,answers[k].why.c_str()); } }
            if (answers[k].promise == goodput::Promise::refused) world_->refuse(queue_.jobs()[who_[k]]);
        }
        std::size_t kept = 0;
        for (std::size_t k = 0; k < queue_.jobs().size(); ++k) {
            if (!world_->is_admitted(queue_.jobs()[k])) continue;
            queue_.jobs()[kept] = queue_.jobs()[k];
            jobs_[kept] = jobs_[k];
            answers_[kept++] = answers_[k];
        }
        queue_.jobs().resize(kept);
        jobs_.resize(kept);
        answers_.resize(kept);
    }

    /// GPUs of each job such that ends come soonest; at least what plans give now, or whatever is best.
    std::vector<int> shares(bool at_least_planned) {
        rest_.clear();
        std::vector<std::vector<int>> sizes(jobs_.size());
        for (std::size_t k = 0; k < jobs_.size(); ++k) {
            const std::vector<double>& speeds = jobs_[k].speed.front();
            const double least =
                at_least_planned && answers_[k].now ? 0.999999 * jobs_[k].speed_on(*answers_[k].now) : 0;
            rest_.add_job(least > 0);
            for (std::size_t power = 0; power < speeds.size(); ++power) {
                if (!(speeds[power] > least)) continue;
                sizes[k].push_back(1 << power);
                rest_.add_option(speeds[power] / jobs_[k].work_left, {{0, static_cast<double>(1 << power)}});
            }
        }
        static const int mode = getenv("VALUE") ? atoi(getenv("VALUE")) : 0;
        if (mode) {
            // GPU seconds left, at best
            std::vector<double> eff(jobs_.size()), gs(jobs_.size());
            for (std::size_t k = 0; k < jobs_.size(); ++k) {
                double e = 0;
                for (std::size_t p = 0; p < jobs_[k].speed.front().size(); ++p) e = std::max(e, jobs_[k].speed.front()[p] / (1 << p));
                eff[k] = e; gs[k] = jobs_[k].work_left / e;
            }
            for (std::size_t k = 0; k < jobs_.size(); ++k) {
                double w = 1;
                if (mode == 1) { w = 0; for (std::size_t o = 0; o < jobs_.size(); ++o) w += gs[o] >= gs[k]; }
                if (mode == 2) w = std::pow(gs[k], -0.5);
                if (mode == 3) w = std::pow(gs[k], -0.25);
                if (mode == 4) { w = 0; for (std::size_t o = 0; o < jobs_.size(); ++o) w += std::min(1.0, gs[o] / gs[k]); }
                if (mode == 5) w = 1;
                for (std::size_t o = 0; o < sizes[k].size(); ++o) rest_.set_value(k, o, w / eff[k] * jobs_[k].speed_on({0, sizes[k][o]}));
            }
        }
        const goodput::AllotResult& result = allotter_(rest_, {.most_states = std::size_t{1} << 14});
        std::vector<int> shares(jobs_.size());
        for (std::size_t k = 0; k < jobs_.size(); ++k)
            if (result.choice[k] != goodput::no_option) shares[k] = sizes[k][result.choice[k]];
        return shares;
    }
    /// Whether all promises can be kept with these shares for a while; then they are the plan.
    bool may_have(const std::vector<int>& shares) {
        const double slot = world_->slot_seconds();
        std::vector<std::optional<goodput::HeldGpus>> wanted;
        std::vector<goodput::DeadlineJob> promised;
        double first_end = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < jobs_.size(); ++k) {
            const goodput::HeldGpus held{0, shares[k]};
            if (shares[k] > 0)
                first_end = std::min(first_end, jobs_[k].work_left / jobs_[k].speed_on(held));
            if (!std::isfinite(jobs_[k].deadline_seconds)) continue;
            promised.push_back(jobs_[k]);
            wanted.push_back(shares[k] > 0 ? std::optional(held) : std::nullopt);
        }
        if (promised.empty()) return true;
        if (!std::isfinite(first_end)) first_end = slot;
        // Until somebody ends, when there is a round in any case; else for a slot.
        for (const double slots : {std::ceil(first_end / slot) + 1, 1.0})
            if (promises_.may_have(now_, cluster_, promised, wanted, slots * slot)) return true;
        return false;
    }
    std::vector<goodput::peers::ElasticflowRun> allot() {
        std::vector<int> given = shares(false);
        if (getenv("EAGER") || !may_have(given)) given = shares(true);
        if (const double next = promises_.next_change(now_); std::isfinite(next)) world_->decide_at(next);
        std::vector<goodput::peers::ElasticflowRun> runs;
        for (std::size_t k = 0; k < jobs_.size(); ++k)
            if (given[k] > 0) runs.push_back({queue_.jobs()[k], given[k]});
        std::stable_sort(runs.begin(), runs.end(),
                         [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
        return runs;
    }

    goodput::peers::ElasticflowWorld* world_;
    goodput::peers::ElasticflowQueue queue_;
    goodput::Promises promises_;
    goodput::ClusterOverTime cluster_;
    std::vector<goodput::DeadlineJob> jobs_;        // as queue_.jobs()
    std::vector<std::size_t> who_;
    std::vector<goodput::DeadlineJob> promised_;
    std::vector<goodput::PromiseAnswer> answers_;   // by these
    goodput::AllotmentProblem rest_;
    goodput::Allotter<> allotter_;
    double now_ = 0;
    std::size_t broken_ = 0;
};

}  // namespace cli

#endif
