#ifndef GOODPUT_SIM_APPLICATION_HPP
#define GOODPUT_SIM_APPLICATION_HPP

// The ground truth about an application in a replay: how long its steps take on each GPU type, how its
// gradient changes during training, and how much work it is. Jobs do not see it; they measure it while
// running.

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

namespace goodput::inline v0_1 {

/// An application on one GPU type. It does not run there if max_atomic_batch is 0.
struct ApplicationOnType {
    std::variant<PolluxThroughput, TabulatedThroughput> truth{};  ///< a model, or measurements
    int min_atomic_batch = 1;                                     ///< fewest examples per GPU and step
    int max_atomic_batch = 0;                                     ///< most examples, as the job declares it
    int max_nodes = std::numeric_limits<int>::max();              ///< largest number of nodes that a job
                                                                  ///< may be spread over
    double reference_rate = 0;  ///< examples/s of one GPU, known before the first run; 0 if unknown
    /// If false, jobs measure only their steps, and report no synchronisation.
    bool sync_measured = true;

    /// Returns the seconds of a step and of the synchronisation in it.
    [[nodiscard]] StepSeconds seconds(Shape shape, int atomic_batch) const {
        if (const auto* table = std::get_if<TabulatedThroughput>(&truth))
            return table->seconds(shape, atomic_batch);
        const PolluxThroughput& model = std::get<PolluxThroughput>(truth);
        const double compute = model.compute_seconds(atomic_batch);
        const double step = model.step_seconds(compute, model.sync_seconds(shape));
        return {step, step - compute};
    }
    /// Returns the largest number of examples that a GPU can really hold in this shape. The job declares
    /// max_atomic_batch for all shapes.
    [[nodiscard]] int largest_batch(Shape shape) const {
        const auto* table = std::get_if<TabulatedThroughput>(&truth);
        return table ? table->max_atomic_batch(shape) : max_atomic_batch;
    }
};

/// The metric of an application after each epoch, as its jobs see it during training.
struct MetricCurve {
    std::vector<double> by_epoch{};  ///< finite; empty if its jobs report none
    CurveTarget target{};            ///< target that the owners want
};

/// The gradient statistics by total batch size and epoch, and the progress at which each epoch ends.
class TrainingCurve {
public:
    TrainingCurve() = default;

    /// `batches` are ascending total batch sizes. `gradients[i][e]` are the statistics at batches[i] in
    /// epoch e. `progress[e]` is the number of iterations at the initial batch size when epoch e ends, and
    /// increases. Throws std::invalid_argument for other forms.
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

    /// Returns the number of epochs.
    [[nodiscard]] std::size_t epochs() const { return progress_.size(); }
    /// Returns the smallest tabulated total batch size, which efficiency is relative to.
    [[nodiscard]] int initial_batch() const { return batches_.front(); }
    /// Returns the largest tabulated total batch size.
    [[nodiscard]] int max_batch() const { return batches_.back(); }
    /// Returns the iterations at the initial batch size when epoch `epoch` (from 0) ends.
    [[nodiscard]] double progress_after(std::size_t epoch) const { return progress_[epoch]; }
    /// Returns the iterations at the initial batch size of the whole work.
    [[nodiscard]] double total_progress() const { return progress_.back(); }

    /// Returns the statistics at a total batch size: interpolated linearly between tabulated sizes,
    /// constant outside.
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

/// The true behaviour of a job of a trace.
struct Application {
    std::string name{};                      ///< name for messages and reports
    std::vector<ApplicationOnType> types{};  ///< by GPU type of the cluster
    TrainingCurve curve{};                   ///< gradient statistics and work
    MetricCurve metric{};                    ///< metric of as many epochs, or none
    double restart_seconds = 30;             ///< real cost of a start or restart
    double restart_cost_seconds = 30;        ///< cost that the policy is told
    double slowdown = 1;                     ///< factor by which progress is slower than the step times say
};

/// A job of a trace.
struct Submission {
    std::string name{};           ///< unique among the trace's jobs
    double time_seconds = 0;      ///< time of submission
    std::size_t application = 0;  ///< index into the replay's applications
    int gpus = 1;                 ///< GPUs that its owner asked for, which a policy without adaptation
                                  ///< gives
    /// Total batch size that its owner chose, the largest that a policy may plan with.
    int batch = 0;
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

}  // namespace goodput::inline v0_1

#endif
