#ifndef GOODPUT_SIM_APPLICATION_HPP
#define GOODPUT_SIM_APPLICATION_HPP

// The truth about an application in a replay: how long its steps take on each GPU type, how its gradient
// changes while it trains, how much work it is. Jobs do not see it; they measure it by running.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/throughput.hpp"
#include "goodput/sim/tabulated.hpp"
#include "goodput/tasks/learning_curve.hpp"

namespace goodput {

/// An application on one GPU type; max_atomic_batch 0: it does not run there.
struct ApplicationOnType {
    std::variant<PolluxThroughput, TabulatedThroughput> truth{};  ///< a model, or measurements
    int min_atomic_batch = 1;                                     ///< least examples per GPU and step
    int max_atomic_batch = 0;                                     ///< most, as the job declares it
    int max_nodes = std::numeric_limits<int>::max();              ///< over which a job may be spread
    double reference_rate = 0;  ///< examples/s of one GPU, known before the first run; 0: unknown
    bool sync_measured = true;  ///< false: jobs measure their steps alone, and report no synchronisation

    /// Seconds of a step and of the synchronisation in it.
    [[nodiscard]] StepSeconds seconds(Shape shape, int atomic_batch) const {
        if (const auto* table = std::get_if<TabulatedThroughput>(&truth))
            return table->seconds(shape, atomic_batch);
        const PolluxThroughput& model = std::get<PolluxThroughput>(truth);
        const double compute = model.compute_seconds(atomic_batch);
        const double step = model.step_seconds(compute, model.sync_seconds(shape));
        return {step, step - compute};
    }
    /// Most examples a GPU can really hold in that shape; the job declares max_atomic_batch for all shapes.
    [[nodiscard]] int largest_batch(Shape shape) const {
        const auto* table = std::get_if<TabulatedThroughput>(&truth);
        return table ? table->max_atomic_batch(shape) : max_atomic_batch;
    }
};

/// What an application's metric is after every epoch, as its jobs see it while they train.
struct MetricCurve {
    std::vector<double> by_epoch{};  ///< finite; empty: its jobs report none
    CurveTarget target{};            ///< at which owners want it
};

/// Gradient statistics by total batch size and epoch, and the progress that ends each epoch.
class TrainingCurve {
public:
    TrainingCurve() = default;

    /// `batches`: ascending total batch sizes; `gradients[i][e]`: statistics at batches[i] in epoch e;
    /// `progress[e]`: iterations at the initial batch size done when epoch e ends, rising. Refuses other
    /// forms (std::invalid_argument).
    TrainingCurve(std::vector<int> batches, std::vector<std::vector<GradientStatistics>> gradients,
                  std::vector<double> progress)
        : batches_(std::move(batches)), gradients_(std::move(gradients)), progress_(std::move(progress)) {
        const char* subject = "training curve";
        if (batches_.empty() || gradients_.size() != batches_.size())
            bad_input(subject, "number of batch sizes", batches_.size(),
                      "at least 1 and as many as rows of gradients");
        for (std::size_t i = 0; i < batches_.size(); ++i) {
            require_between(subject, "batch size", batches_[i], i == 0 ? 1 : batches_[i - 1] + 1LL,
                            std::numeric_limits<int>::max());
            if (gradients_[i].size() != progress_.size())
                bad_input(subject, "number of epochs", gradients_[i].size(),
                          "the same at every batch size, " + text_of(progress_.size()));
            for (const GradientStatistics& gradient : gradients_[i]) validate(gradient, subject);
        }
        double last = 0;
        for (const double progress_now : progress_) {
            require_at_least(subject, "progress", progress_now, last);
            last = progress_now;
        }
        require_positive(subject, "progress of the last epoch", last);
    }

    /// Number of epochs.
    [[nodiscard]] std::size_t epochs() const { return progress_.size(); }
    /// The smallest total batch size tabulated: what efficiency is relative to.
    [[nodiscard]] int initial_batch() const { return batches_.front(); }
    /// The largest total batch size tabulated.
    [[nodiscard]] int max_batch() const { return batches_.back(); }
    /// Iterations at the initial batch size that finish epoch `epoch` (from 0).
    [[nodiscard]] double progress_after(std::size_t epoch) const { return progress_[epoch]; }
    /// Iterations at the initial batch size that are all of the work.
    [[nodiscard]] double total_progress() const { return progress_.back(); }

    /// Statistics at a total batch size: linear between the tabulated ones, constant outside.
    [[nodiscard]] GradientStatistics gradient(double batch, std::size_t epoch) const {
        const auto above =
            static_cast<std::size_t>(std::ranges::lower_bound(batches_, batch) - batches_.begin());
        if (above == 0) return gradients_.front()[epoch];
        if (above == batches_.size()) return gradients_.back()[epoch];
        const GradientStatistics &low = gradients_[above - 1][epoch], &high = gradients_[above][epoch];
        const double part = (batch - batches_[above - 1]) / (batches_[above] - batches_[above - 1]);
        return {low.squared_norm + part * (high.squared_norm - low.squared_norm),
                low.variance + part * (high.variance - low.variance)};
    }

private:
    std::vector<int> batches_;
    std::vector<std::vector<GradientStatistics>> gradients_;
    std::vector<double> progress_;
};

/// What a job of a trace really does.
struct Application {
    std::string name{};                      ///< for messages and reports
    std::vector<ApplicationOnType> types{};  ///< by GPU type of the cluster
    TrainingCurve curve{};                   ///< gradient statistics and work
    MetricCurve metric{};                    ///< of as many epochs, or none
    double restart_seconds = 30;             ///< what a start or restart really costs
    double restart_cost_seconds = 30;        ///< what the policy is told that it costs
    double slowdown = 1;                     ///< progress is slower than the step times say by this factor
};

/// One job of a trace.
struct Submission {
    std::string name{};           ///< unique among the trace's jobs
    double time_seconds = 0;      ///< when it is submitted
    std::size_t application = 0;  ///< index into the replay's applications
    int gpus = 1;                 ///< that its owner asked for: what a policy without adaptation gives
    int batch = 0;  ///< total batch size that its owner chose: the largest that a policy may plan with
};

namespace detail {

/// Divides a total batch size among the replicas, with as few accumulation steps as memory allows.
inline BatchPlan share_of(int total, Shape shape, const BatchLimits& limits) {
    const auto divide_up = [](int a, int b) { return (a + b - 1) / b; };
    const int load = std::max(divide_up(total, shape.gpus), limits.min_atomic_batch);
    int steps = divide_up(load, limits.max_atomic_batch) - 1;
    if (limits.single_gpu_accumulates && shape.gpus == 1 && load > limits.initial_batch)
        steps = std::max(steps, 1);
    return {divide_up(load, steps + 1), steps};
}

}  // namespace detail

}  // namespace goodput

#endif
