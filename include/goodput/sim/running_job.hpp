#ifndef GOODPUT_SIM_RUNNING_JOB_HPP
#define GOODPUT_SIM_RUNNING_JOB_HPP

// One job of a replay: it trains with the GPUs that it holds, measures its steps and its gradient, fits its
// models, and chooses its batch. The rules are those of Sia's public simulator.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>

#include "goodput/core/batch.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/fit/throughput_fit.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/schedule/job_history.hpp"
#include "goodput/sim/application.hpp"

namespace goodput {

class RunningJob {
public:
    /// `rigid`: runs with the GPUs and the batch size that its owner asked for.
    RunningJob(const Submission& submission, const Application& application, bool rigid, int most_gpus)
        : submission_(&submission),
          application_(&application),
          rigid_(rigid),
          history_(application.types.size()) {
        job_.name = submission.name;
        job_.submitted_seconds = submission.time_seconds;
        job_.restart_cost_seconds = application.restart_cost_seconds;
        job_.adaptivity = rigid ? Adaptivity::none : Adaptivity::batch;
        job_.max_gpus = rigid ? submission.gpus : most_gpus;
        job_.initial_batch = application.curve.initial_batch();
        job_.max_batch = std::max(job_.initial_batch, submission.batch);
        job_.target_batch = submission.batch;
        job_.single_gpu_accumulates = true;
        for (const ApplicationOnType& type : application.types) {
            TypeLimits limits;
            limits.min_atomic_batch = type.min_atomic_batch;
            limits.max_atomic_batch = type.max_atomic_batch;
            limits.max_nodes = type.max_nodes;
            limits.reference_rate = type.reference_rate;
            job_.types.push_back(limits);
        }
    }

    [[nodiscard]] bool complete() const { return completion_.has_value(); }
    [[nodiscard]] std::optional<double> completion_seconds() const { return completion_; }
    [[nodiscard]] int restarts() const { return std::max(starts_ - 1, 0); }
    [[nodiscard]] const Allotment& held() const { return held_; }
    [[nodiscard]] double gpu_seconds() const { return job_.attained_gpu_seconds; }
    [[nodiscard]] double progress() const { return progress_; }
    [[nodiscard]] const Submission& submission() const { return *submission_; }
    [[nodiscard]] const JobModel& model() const { return history_.model(); }

    /// The job as the policy sees it now.
    [[nodiscard]] const Job& view() {
        job_.restarts = restarts();
        job_.gradient = gradient_;
        job_.restarting = countdown_ > 0;
        job_.remaining_examples = (application_->curve.total_progress() - progress_) * job_.initial_batch;
        return job_;
    }

    /// Trains for `seconds` from `begin` on. The GPUs count as used for all of it, whatever happens within.
    void advance(double begin, double seconds, ThroughputFitter& fitter) {
        if (complete() || held_.empty()) return;
        job_.attained_gpu_seconds += held_.shape.gpus * seconds;
        double now = begin, left = seconds;
        const double waiting = std::min(countdown_, left);
        countdown_ -= waiting;
        now += waiting;
        left -= waiting;
        while (left > 0 && !complete()) {
            const auto total = static_cast<double>(plan_.total(held_.shape.gpus));
            const GradientStatistics gradient = application_->curve.gradient(total, epoch_);
            const StepSeconds times = on_type().seconds(held_.shape, plan_.atomic_batch);
            gradient_ = gradient;
            measure(times, fitter);
            const double efficiency =
                NoiseScaleEfficiency{static_cast<double>(job_.initial_batch), gradient}.efficiency(total);
            const double gain = efficiency * total / job_.initial_batch;
            const double iteration = times.step + plan_.accumulation_steps * (times.step - times.sync);
            const double rate = gain / iteration / application_->slowdown;
            const double goal = application_->curve.progress_after(epoch_);
            if (progress_ + rate * left < goal) {
                progress_ += rate * left;
                left = 0;
            } else {
                // Whole seconds, as published: epochs of a short job end on the clock's grid.
                const double needed = std::nearbyint((goal - progress_) / rate);
                progress_ = goal;
                now += needed;
                left -= needed;
                if (++epoch_ == application_->curve.epochs()) completion_ = now;
            }
            if (!complete()) choose_batch();
        }
    }

    /// Takes over what the plan gives; returns whether the job (re)starts. With `moves_restart` other nodes
    /// of the same shape are a restart, otherwise they cost nothing.
    bool hold(const Allotment& allotment, const Placement& placement, bool moves_restart) {
        const bool moved = moves_restart && placement != job_.placement;
        const bool starts = !allotment.empty() && (allotment != held_ || moved);
        held_ = allotment;
        job_.placement = placement;
        if (allotment.empty()) plan_ = {};
        if (starts) {
            ++starts_;
            countdown_ = application_->restart_seconds;
            choose_batch();
        }
        return starts;
    }

    void release() {
        held_ = {};
        job_.placement.clear();
    }

private:
    [[nodiscard]] const ApplicationOnType& on_type() const { return application_->types[held_.gpu_type]; }

    void measure(StepSeconds times, ThroughputFitter& fitter) {
        if (history_.has_measured(held_.gpu_type, held_.shape, plan_.atomic_batch)) return;
        history_.add(held_.gpu_type, {held_.shape, plan_, times.step, times.sync}, job_.name);
        history_.refit(fitter, job_.name);
    }

    /// The batch plan of largest goodput by the job's own model, or the initial batch while it has none for
    /// this GPU type.
    void choose_batch() {
        const Shape shape = held_.shape;
        const int largest =
            std::min(on_type().largest_batch(shape), job_.types[held_.gpu_type].max_atomic_batch);
        const BatchLimits limits{job_.initial_batch, application_->curve.max_batch(),
                                 on_type().min_atomic_batch, largest, job_.single_gpu_accumulates};
        const TypeModel& model = history_.model().types[held_.gpu_type];
        BestPlan best;
        if (!rigid_ && gradient_ && model.most_replicas > 0)
            best = std::visit(
                [&](const auto& throughput) {
                    const auto initial_batch = static_cast<double>(job_.initial_batch);
                    return best_batch_plan(throughput, NoiseScaleEfficiency{initial_batch, *gradient_}, shape,
                                           limits);
                },
                model.throughput);
        plan_ = best.goodput > 0 ? best.plan
                                 : share_of(rigid_ ? job_.target_batch : job_.initial_batch, shape, limits);
    }

    /// Divides a total batch size among the replicas, with as few accumulation steps as memory allows.
    static BatchPlan share_of(int total, Shape shape, const BatchLimits& limits) {
        const auto divide_up = [](int a, int b) { return (a + b - 1) / b; };
        const int load = std::max(divide_up(total, shape.gpus), limits.min_atomic_batch);
        int steps = divide_up(load, limits.max_atomic_batch) - 1;
        if (limits.single_gpu_accumulates && shape.gpus == 1 && load > limits.initial_batch)
            steps = std::max(steps, 1);
        return {divide_up(load, steps + 1), steps};
    }

    const Submission* submission_;
    const Application* application_;
    bool rigid_;
    Job job_;
    JobHistory history_;
    Allotment held_;
    BatchPlan plan_;
    std::optional<GradientStatistics> gradient_;
    std::optional<double> completion_;
    double countdown_ = 0;  ///< seconds until the restart under way is over
    double progress_ = 0;   ///< iterations at the initial batch size
    std::size_t epoch_ = 0;
    int starts_ = 0;
};

}  // namespace goodput

#endif
