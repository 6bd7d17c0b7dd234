#ifndef GOODPUT_EXAMPLES_TRAINING_ADVISER_HPP
#define GOODPUT_EXAMPLES_TRAINING_ADVISER_HPP

// What the first process does with a step's norms and seconds: noise scale, step times by plan, and from both
// the plan with the best goodput on the processes there are.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "goodput/core/batch.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"

namespace training {

/// Measures, and chooses plans.
class Adviser {
public:
    /// `limits`: what the training may do. `smoothing`: of the noise scale. `gain`: a plan is changed for one
    /// whose goodput is so many times larger.
    Adviser(goodput::BatchLimits limits, double smoothing, double gain)
        : limits_(limits), gain_(gain), noise_{goodput::NoiseScaleEstimator(smoothing)} {}

    /// What a checkpoint keeps of it, as it is.
    struct Noise {
        goodput::NoiseScaleEstimator average;
        int steps = 0;
    };
    [[nodiscard]] Noise& noise() { return noise_; }

    /// Takes in a step on `shape` with `plan`. A plan's first two steps are warm-up, and their times left
    /// out.
    void observe(goodput::Shape shape, goodput::BatchPlan plan, double seconds, double sync_seconds,
                 const std::optional<goodput::GradientNorms>& norms) {
        if (norms) noise_.steps += noise_.average.observe(*norms) ? 1 : 0;
        Times& times = times_[{shape.nodes, shape.gpus, plan.atomic_batch, plan.accumulation_steps}];
        if (++times.steps <= 2) return;
        const std::size_t at = static_cast<std::size_t>(times.steps) % kept;
        if (times.seconds.size() < kept) {
            times.seconds.push_back(seconds);
            times.sync.push_back(sync_seconds);
        } else {
            times.seconds[at] = seconds;
            times.sync[at] = sync_seconds;
        }
    }

    /// The medians of the last steps, by shape and plan.
    [[nodiscard]] std::vector<goodput::ThroughputSample> samples() const {
        std::vector<goodput::ThroughputSample> all;
        for (const auto& [key, times] : times_) {
            if (times.seconds.size() < 3) continue;
            const double step = median(times.seconds);
            all.push_back(
                {{key[0], key[1]}, {key[2], key[3]}, step, std::min(median(times.sync), 0.99 * step)});
        }
        return all;
    }

    /// The plan to use from now on: another than `now` only where it pays, and at most twice as large a
    /// batch. Leaps on the noise scale of a few dozen steps made some trainings diverge, and a doubling is
    /// measured before the next.
    [[nodiscard]] goodput::BatchPlan choose(goodput::Shape shape, goodput::BatchPlan now) {
        const std::vector<std::vector<goodput::ThroughputSample>> measured{samples()};
        if (measured[0].empty() || noise_.steps < least_steps) return now;
        fitter_(measured, types_);
        goodput::BatchLimits limits = limits_;
        limits.max_batch = std::min(limits.max_batch, static_cast<int>(2 * now.total(shape.gpus)));
        const auto best = goodput::best_batch_plan(types_[0].fit.model, efficiency(), shape, limits);
        const double present = goodput::detail::goodput_of(types_[0].fit.model, efficiency(), shape, now);
        return best.goodput > gain_ * present ? best.plan : now;
    }

    /// Statistics of the gradient at the initial batch size; none in the first steps, which say too little:
    /// the noise scale of a few steps is often infinite, and the learning rate by it as large as it can be.
    [[nodiscard]] goodput::GradientStatistics statistics() const {
        return noise_.steps < least_steps ? goodput::GradientStatistics{} : noise_.average.statistics();
    }
    /// What they say of larger batches.
    [[nodiscard]] goodput::NoiseScaleEfficiency efficiency() const {
        return {static_cast<double>(limits_.initial_batch), statistics()};
    }

private:
    static constexpr std::size_t kept = 15;
    static constexpr int least_steps = 20;
    struct Times {
        int steps = 0;
        std::vector<double> seconds{}, sync{};
    };
    static double median(std::vector<double> values) {
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
        std::nth_element(values.begin(), middle, values.end());
        return *middle;
    }

    goodput::BatchLimits limits_;
    double gain_;
    Noise noise_;
    std::map<std::array<int, 4>, Times> times_;
    goodput::JobFitter<> fitter_;
    std::vector<goodput::TypeFit> types_ = std::vector<goodput::TypeFit>(1);
};

}  // namespace training

#endif
