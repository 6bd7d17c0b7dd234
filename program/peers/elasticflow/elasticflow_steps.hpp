#ifndef GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_STEPS_HPP
#define GOODPUT_PROGRAM_PEERS_ELASTICFLOW_ELASTICFLOW_STEPS_HPP

// Numbers of GPUs over time: the free ones, or those of one job.

#include <algorithm>
#include <vector>

namespace goodput::peers {

/// A step function of numbers of GPUs over time.
class GpuSteps {
public:
    struct Step {
        double seconds = 0;
        int gpus = 0;
    };

    GpuSteps() = default;
    GpuSteps(double seconds, int gpus) : steps_{{seconds, gpus}} {}

    /// The steps, by time.
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
    [[nodiscard]] bool has(double seconds) const {
        const auto at = std::lower_bound(steps_.begin(), steps_.end(), seconds, before);
        return at != steps_.end() && at->seconds == seconds;
    }
    /// Returns the GPUs from exactly that time on. Makes such a step, with 0 GPUs, if there is none.
    int& operator[](double seconds) {
        auto at = std::lower_bound(steps_.begin(), steps_.end(), seconds, before);
        if (at == steps_.end() || at->seconds != seconds) at = steps_.insert(at, {seconds, 0});
        return at->gpus;
    }
    /// Returns the GPUs at any time: those of the last step up to then; `otherwise` before the first step.
    [[nodiscard]] int at(double seconds, int otherwise = 0) const {
        const auto after =
            std::upper_bound(steps_.begin(), steps_.end(), seconds,
                             [](double time, const Step& step) { return time < step.seconds; });
        return after == steps_.begin() ? otherwise : (after - 1)->gpus;
    }
    /// Adds a step there, as if the time between its neighbours had been cut. `otherwise` is the number of
    /// GPUs before the first step.
    void cut(double seconds, int otherwise = 0) {
        if (has(seconds)) return;
        const int gpus = at(seconds, otherwise);
        (*this)[seconds] = gpus;
    }
    /// Adds GPUs to the steps from `begin` on and before `end`.
    void add(double begin, double end, int gpus) {
        for (Step& step : steps_)
            if (step.seconds >= begin && step.seconds < end) step.gpus += gpus;
    }
    /// Drops steps at which nothing changes.
    void merge() {
        steps_.erase(std::unique(steps_.begin(), steps_.end(),
                                 [](const Step& a, const Step& b) { return a.gpus == b.gpus; }),
                     steps_.end());
    }
    /// Returns the GPU-seconds until `end`, counted from the first step on. A last step after the end
    /// counts backwards.
    [[nodiscard]] double gpu_seconds(double end) const {
        double sum = 0;
        for (std::size_t i = 0; i < steps_.size(); ++i)
            sum +=
                steps_[i].gpus * ((i + 1 < steps_.size() ? steps_[i + 1].seconds : end) - steps_[i].seconds);
        return sum;
    }

private:
    static bool before(const Step& step, double seconds) { return step.seconds < seconds; }

    std::vector<Step> steps_;
};

/// The plan of one job, and what is left for later jobs.
struct ElasticflowPlan {
    GpuSteps gpus{};         ///< GPUs of the job
    GpuSteps free{};         ///< free GPUs without them
    double end = 0;          ///< planned end, as an event of the clock
    double planned_end = 0;  ///< planned end, not rounded to slots
};

}  // namespace goodput::peers

#endif
