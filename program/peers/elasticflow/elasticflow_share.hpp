#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_SHARE_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_SHARE_HPP

// ElasticFlow's minimum satisfactory share of one job, as its public simulator plans it: the fewest GPUs
// with which the job keeps its deadline, among those that earlier jobs have left.
//
// - A level is one of the job's sizes. If fewer GPUs are free, it means the largest size that fits.
// - The job gets the lowest level at which it meets its deadline, as late as possible, and the level below
//   before that. If no level is enough, the job is late: it gets the highest level until its deadline, then
//   as much as it can use of the free GPUs, and finally of the whole cluster.
//
// Published, and kept: plans hold steps of 0 GPUs at times when only other jobs change. They count as
// changes of this job, and its GPU time is counted up to them. A given first piece ignores a deadline
// within it. The free GPUs after a late end may be those of an earlier time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "peers/elasticflow/elasticflow_job.hpp"
#include "peers/elasticflow/elasticflow_steps.hpp"

namespace goodput::peers {

/// The job whose share is planned, and its cluster.
struct ElasticflowNeed {
    const ElasticflowSpeeds* speeds = nullptr;
    double left = 0;  ///< iterations
    double deadline = std::numeric_limits<double>::infinity();
    int gpus_of_cluster = 0;
    double slot = 0;  ///< seconds
};

/// Plans one such share.
class MinimumShare {
public:
    /// Plans from the first step of `free` on. The caller keeps `free` alive.
    MinimumShare(const ElasticflowNeed& need, const GpuSteps& free)
        : need_(need),
          free_(free),
          start_(free.steps().front().seconds),
          from_(start_),
          left_(need.left),
          due_(whole_slots(start_, need.deadline, need.slot)) {
        plan_.free = free;
        plan_.gpus = GpuSteps(start_, 0);
        if (due_ < start_ || plan_.free.has(due_)) return;
        before_ = plan_.free.at(due_);
        plan_.free[due_] = before_;
    }

    /// Returns the share. With `first`, the job gets that many GPUs, which are free, up to the next change,
    /// whatever follows.
    ElasticflowPlan plan(std::optional<int> first = {}) {
        if (!(first && begins_with(*first)) && !keeps_deadline()) run_late(first);
        plan_.free.merge();
        plan_.gpus.merge();
        return std::move(plan_);
    }

private:
    [[nodiscard]] double rate(int gpus) const { return need_.speeds->rate(gpus); }
    /// Returns the size that a level means with that many free GPUs.
    [[nodiscard]] int within(int level, int free) const {
        return std::min(level, need_.speeds->size_within(std::min(free, need_.speeds->most_gpus_elastic)));
    }
    /// Returns the seconds of a piece between two steps. The last piece before the deadline ends with it.
    [[nodiscard]] double seconds(double begin, double end) const {
        return (end == due_ ? need_.deadline : end) - begin;
    }
    void end_at(double planned, double end) {
        plan_.planned_end = planned;
        plan_.end = end;
        if (!free_.has(end)) plan_.free[end] = before_;
    }

    /// Gives the job the first piece. Returns whether the job is done within it.
    bool begins_with(int gpus) {
        plan_.gpus[start_] = gpus;
        const auto& steps = free_.steps();
        const double next = steps.size() > 1 ? steps[1].seconds : due_;
        const double planned = std::ceil(start_ + left_ / rate(gpus));
        const double end = whole_slots(start_, planned, need_.slot);
        const int here = plan_.free[start_];
        plan_.free[start_] = here - gpus;
        if (next >= end && need_.deadline >= planned) {
            before_ = here;
            end_at(planned, end);
            return true;
        }
        left_ -= seconds(start_, next) * rate(gpus);
        from_ = next;
        plan_.gpus[from_] = 0;
        return false;
    }

    bool keeps_deadline() {
        const int most = std::min(need_.speeds->most_gpus_elastic, need_.gpus_of_cluster);
        int below = 0;
        for (int level = need_.speeds->size_above(0, most); level != below;
             below = std::exchange(level, need_.speeds->size_above(level, most))) {
            for (const GpuSteps::Step& step : plan_.free.steps())
                if (step.seconds < due_) plan_.gpus[step.seconds];
            highest_ = level;
            if (const std::optional<double> point = latest_point(level)) {
                return take_levels(*point, below, level);
            }
        }
        return false;
    }
    /// Returns the latest time from which that level is enough, counted back from the deadline, or nothing
    /// if it never is.
    [[nodiscard]] std::optional<double> latest_point(int level) const {
        double done = 0, end = due_;
        const auto& steps = plan_.free.steps();
        for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
            if (step->seconds >= due_) continue;
            if (step->seconds < from_) break;
            if (const int gpus = within(level, step->gpus); gpus > 0) {
                done += seconds(step->seconds, end) * rate(gpus);
                if (done >= left_) return step->seconds;
            }
            end = step->seconds;
        }
        return std::nullopt;
    }
    /// Takes the levels' GPUs. The sums of work are in a different order than in latest_point(), so the
    /// work may fall a little short. Then the job continues after the deadline, where GPUs are free there.
    bool take_levels(double point, int below, int level) {
        double begin = from_;
        const auto gpus_at = [&](double time) {
            return within(time >= point ? level : below, plan_.free[time]);
        };
        const auto take = [&](int gpus) {
            plan_.gpus[begin] = gpus;
            plan_.free[begin] -= gpus;
        };
        int gpus = 0;
        bool done = false;
        const GpuSteps pieces = plan_.free;
        for (const GpuSteps::Step& step : pieces.steps()) {
            if (step.seconds > due_) break;
            if (step.seconds <= from_) continue;
            gpus = gpus_at(begin);
            take(gpus);
            const double work = seconds(begin, step.seconds) * rate(gpus);
            done = gpus > 0 && begin >= point && work >= left_;
            if (done) break;
            left_ -= gpus > 0 ? work : 0;
            begin = step.seconds;
        }
        if (!done) take(gpus = gpus_at(begin));
        if (gpus == 0) {
            from_ = begin;
            return false;
        }
        const double rest = std::ceil(left_ / rate(gpus)), end = begin + whole_slots(0, rest, need_.slot);
        before_ = need_.gpus_of_cluster;
        for (const GpuSteps::Step& step : free_.steps())
            if (step.seconds >= from_ && step.seconds < end) before_ = step.gpus;
        end_at(begin + rest, end);
        return true;
    }

    void run_late(std::optional<int> first) {
        run_at_highest_level();
        double begin = std::max(due_, from_);
        const GpuSteps pieces = plan_.free;
        for (const GpuSteps::Step& step : pieces.steps()) {
            if (step.seconds <= due_) continue;
            const int gpus = within(need_.speeds->most_gpus_elastic, plan_.free[begin]);
            if (gpus == 0) {
                plan_.gpus[std::exchange(begin, step.seconds)] = 0;
                continue;
            }
            plan_.gpus[begin] = gpus;
            const double work = (step.seconds - begin) * rate(gpus);
            if (work >= left_) {
                const double planned = std::ceil(begin + left_ / rate(gpus));
                const double end = whole_slots(start_, planned, need_.slot);
                for (const GpuSteps::Step& given : free_.steps())
                    if (given.seconds >= due_ && given.seconds < end) before_ = given.gpus;
                plan_.free.add(begin, end, -gpus);
                if (begin != end) plan_.free[begin] = before_ - gpus;
                end_at(planned, end);
                return;
            }
            left_ -= work;
            for (const GpuSteps::Step& given : free_.steps())
                if (given.seconds < begin) before_ = plan_.free[given.seconds];
            plan_.free.add(begin, step.seconds, -gpus);
            begin = step.seconds;
        }
        const int most =
            need_.speeds->size_within(std::min(need_.speeds->most_gpus_elastic, need_.gpus_of_cluster));
        const int gpus = first.value_or(most);
        plan_.gpus[begin] = gpus;
        plan_.free[begin] = need_.gpus_of_cluster - gpus;
        before_ = need_.gpus_of_cluster;
        const double planned = std::ceil(begin + left_ / rate(gpus));
        plan_.planned_end = planned;
        plan_.end = whole_slots(start_, planned, need_.slot);
        plan_.free[plan_.end] = need_.gpus_of_cluster;
    }
    void run_at_highest_level() {
        double begin = from_;
        const GpuSteps pieces = plan_.free;
        for (const GpuSteps::Step& step : pieces.steps()) {
            if (step.seconds > due_) break;
            if (step.seconds <= from_) continue;
            const int gpus = within(highest_, plan_.free[begin]);
            plan_.gpus[begin] = gpus;
            plan_.free[begin] -= gpus;
            if (gpus > 0) left_ -= seconds(begin, step.seconds) * rate(gpus);
            begin = step.seconds;
        }
    }

    ElasticflowNeed need_;
    const GpuSteps& free_;
    double start_, from_;  // start of the plan, and of what is still to be planned
    double left_;          // iterations
    double due_;           // the deadline in whole slots
    int before_ = 0;       // free GPUs just before the last point examined
    int highest_ = 0;      // highest level tried
    ElasticflowPlan plan_;
};

}  // namespace goodput::peers

#endif
