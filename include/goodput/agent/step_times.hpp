#ifndef GOODPUT_AGENT_STEP_TIMES_HPP
#define GOODPUT_AGENT_STEP_TIMES_HPP

// The durations of a job's steps, by GPU type, shape and batch plan, and the model that explains them.
//
// The latest 32 steps of each (GPU type, shape, plan) are kept. Their medians are one measurement, so a few
// disturbed steps do not change it. At most 64 such combinations are kept; the one that ran longest ago is
// dropped.
//
// A fit (fit/job_fit.hpp) is due as soon as a plan has run long enough to be trusted. It is due again when
// the plan has run twice as many steps as at its last fit, and after a thousand more steps at the latest.
// This makes about ten fits while a plan is used, each of 0.1 to 1 ms. Every fit starts afresh from the
// measurements, so measurements that are saved with a checkpoint give the same model again.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Throws std::invalid_argument if the total batch is below `least` or too large to be counted.
inline void require_total(std::string_view subject, BatchPlan plan, Shape shape, int least) {
    const double total = 1.0 * plan.atomic_batch * (plan.accumulation_steps + 1.0) * shape.gpus;
    if (!(total >= least && total <= 0x1p60))
        bad_input(subject, "total batch", total, "between " + text_of(least) + " and 2^60");
}

}  // namespace detail

/// The latest step times of one combination of GPU type, shape and plan.
struct TimedPlan {
    static constexpr std::size_t kept = 32;  ///< steps kept

    std::size_t gpu_type = 0;       ///< index into StepTimes::gpu_types()
    Shape shape{};                  ///< nodes and replicas
    BatchPlan plan{};               ///< batch plan
    bool sync_known = false;        ///< whether the synchronising part was timed in all steps
    bool whole_iteration = false;   ///< whether all microbatches were timed together
    std::int64_t steps = 0;         ///< number of steps timed so far
    std::int64_t fitted_steps = 0;  ///< `steps` at the last fit; 0 if never fitted
    std::int64_t last_used = 0;     ///< when it last ran, counted in timed steps of all plans
    /// Ring buffer: seconds of the last microbatch, or of the iteration.
    std::array<double, kept> step_seconds{};
    std::array<double, kept> sync_seconds{};  ///< ring buffer: synchronising part of step_seconds, if known

    /// Whether these are the times of this GPU type, shape and plan.
    [[nodiscard]] bool is_of(std::size_t type, Shape on, BatchPlan ran) const {
        return gpu_type == type && shape == on && plan == ran;
    }
    /// Returns the medians of the kept steps.
    [[nodiscard]] ThroughputSample sample() const {
        ThroughputSample sample{
            .shape = shape, .plan = plan, .sync_known = sync_known, .whole_iteration = whole_iteration};
        sample.step_seconds = median(step_seconds);
        if (sync_known) {
            std::array<double, kept> computing{};
            for (std::size_t i = 0; i < kept; ++i) computing[i] = step_seconds[i] - sync_seconds[i];
            // The medians of two parts need not add up. Fits use the step and its computing part.
            sample.sync_seconds =
                std::clamp(sample.step_seconds - median(computing), 0.0, 0.999999 * sample.step_seconds);
        }
        return sample;
    }

    /// Number of steps kept.
    [[nodiscard]] std::size_t size() const {
        return static_cast<std::size_t>(std::clamp<std::int64_t>(steps, 0, kept));
    }

private:
    [[nodiscard]] double median(std::array<double, kept> values) const {
        if (size() == 0) return 0;
        const auto end = values.begin() + static_cast<std::ptrdiff_t>(size());
        const auto middle = values.begin() + static_cast<std::ptrdiff_t>(size() / 2);
        std::nth_element(values.begin(), middle, end);
        if (size() % 2 == 1) return *middle;
        return (*middle + *std::max_element(values.begin(), middle)) / 2;
    }
};

/// The step times of one job on everything it has held, and its fitted models.
class StepTimes {
public:
    static constexpr std::size_t most_plans = 64;      ///< combinations kept at once
    static constexpr std::size_t most_gpu_types = 16;  ///< GPU types that a job may have held

    /// Makes an empty record. The times of a plan are used once it has run `least_steps` steps.
    explicit StepTimes(int least_steps) : least_steps_(least_steps) {
        plans_.reserve(most_plans);
        gpu_types_.reserve(most_gpu_types);
    }

    /// Returns the index of a GPU type, and adds the type if it is new. Throws std::invalid_argument if
    /// there would be more than most_gpu_types.
    std::size_t type_index(const std::string& gpu_type) {
        const auto found = std::find(gpu_types_.begin(), gpu_types_.end(), gpu_type);
        if (found != gpu_types_.end()) return static_cast<std::size_t>(found - gpu_types_.begin());
        if (gpu_types_.size() == most_gpu_types)
            bad_input("step times", "number of GPU types", gpu_types_.size() + 1,
                      "at most " + text_of(most_gpu_types));
        gpu_types_.push_back(gpu_type);
        samples_.emplace_back().reserve(most_plans);
        models_.emplace_back();
        if (fitted_) fit();  // gives the new type a prior from the other types
        return gpu_types_.size() - 1;
    }

    /// Takes in one step; `type` comes from type_index(). Returns whether it fitted the models again.
    bool add(std::size_t type, const ThroughputSample& step) {
        TimedPlan& timed = find(type, step);
        const auto at = static_cast<std::size_t>(timed.steps % static_cast<std::int64_t>(TimedPlan::kept));
        timed.step_seconds[at] = step.step_seconds;
        timed.sync_seconds[at] = step.sync_seconds;
        ++timed.steps;
        timed.last_used = ++steps_;
        if (timed.steps < least_steps_) return false;
        const std::int64_t due = std::min(2 * timed.fitted_steps, timed.fitted_steps + 1000);
        if (timed.fitted_steps > 0 && timed.steps < due) return false;
        collect();
        fit();
        return true;
    }

    /// Names of the GPU types.
    [[nodiscard]] std::span<const std::string> gpu_types() const { return gpu_types_; }
    /// The kept combinations.
    [[nodiscard]] std::span<const TimedPlan> plans() const { return plans_; }
    /// Returns the model of a type, which was measured on it or predicted from other types. Returns null
    /// before the first fit.
    [[nodiscard]] const RefinedThroughput* model(std::size_t type) const {
        return fitted_ ? &models_[type].fit.model : nullptr;
    }

    /// Returns the medians if the plan has run long enough on this shape, else nothing.
    [[nodiscard]] std::optional<ThroughputSample> measured(std::size_t type, Shape shape,
                                                           BatchPlan plan) const {
        for (const TimedPlan& timed : plans_)
            if (timed.is_of(type, shape, plan) && timed.steps >= least_steps_) return timed.sample();
        return std::nullopt;
    }
    /// Returns the largest total batch that has run long enough; 0 if there is none.
    [[nodiscard]] double largest_total_batch() const {
        double largest = 0;
        for (const TimedPlan& timed : plans_)
            if (timed.steps >= least_steps_)
                largest = std::max(largest, static_cast<double>(timed.plan.total(timed.shape.gpus)));
        return largest;
    }

    /// Passes all kept state to `archive`, which writes or reads it (agent/detail/saved_text.hpp). After
    /// reading, checks the state (std::invalid_argument) and repeats the last fit.
    template <class Self, class Archive>
    static void for_each_field(Self& self, Archive& archive) {
        const auto ran = [&archive](auto& shape, auto& plan) {
            archive("nodes", shape.nodes);
            archive("gpus", shape.gpus);
            archive("local_batch", plan.atomic_batch);
            archive("accumulation", plan.accumulation_steps);
        };
        archive.list("gpu_types", self.gpu_types_, most_gpu_types,
                     [&](auto& name) { archive("name", name); });
        archive.list("timed", self.plans_, most_plans, [&](auto& timed) {
            archive("type", timed.gpu_type);
            ran(timed.shape, timed.plan);
            archive("sync_known", timed.sync_known);
            archive("whole_iteration", timed.whole_iteration);
            archive("steps", timed.steps);
            archive("fitted_steps", timed.fitted_steps);
            archive("last_used", timed.last_used);
            for (std::size_t i = 0; i < timed.size(); ++i) {
                archive("step_s", timed.step_seconds[i]);
                archive("sync_s", timed.sync_seconds[i]);
            }
        });
        archive.list("fitted", self.samples_, most_gpu_types, [&](auto& samples) {
            archive.list("samples", samples, most_plans, [&](auto& sample) {
                ran(sample.shape, sample.plan);
                archive("step_s", sample.step_seconds);
                archive("sync_s", sample.sync_seconds);
                archive("sync_known", sample.sync_known);
                archive("whole_iteration", sample.whole_iteration);
            });
        });
        if constexpr (!std::is_const_v<Self>) self.take_up();
    }

private:
    TimedPlan& find(std::size_t type, const ThroughputSample& step) {
        for (TimedPlan& timed : plans_) {
            if (!timed.is_of(type, step.shape, step.plan)) continue;
            if (timed.sync_known != step.sync_known || timed.whole_iteration != step.whole_iteration) {
                // Times of parts and of whole iterations must not be mixed in one median.
                timed.steps = timed.fitted_steps = 0;
                timed.sync_known = step.sync_known;
                timed.whole_iteration = step.whole_iteration;
            }
            return timed;
        }
        if (plans_.size() == most_plans)
            plans_.erase(std::ranges::min_element(plans_, {}, &TimedPlan::last_used));
        plans_.push_back({.gpu_type = type,
                          .shape = step.shape,
                          .plan = step.plan,
                          .sync_known = step.sync_known,
                          .whole_iteration = step.whole_iteration});
        return plans_.back();
    }

    void collect() {
        for (auto& samples : samples_) samples.clear();
        for (TimedPlan& timed : plans_) {
            if (timed.steps < least_steps_) continue;
            samples_[timed.gpu_type].push_back(timed.sample());
            timed.fitted_steps = timed.steps;
        }
    }

    /// Checks the state that was read, and makes the record ready to continue from it.
    void take_up() {
        constexpr std::string_view subject = "saved agent";
        for (auto name = gpu_types_.begin(); name != gpu_types_.end(); ++name)
            if (name->empty() || std::find(gpu_types_.begin(), name, *name) != name)
                bad_input(subject, "gpu_types", *name, "a name of its own");
        if (samples_.size() != gpu_types_.size())
            bad_input(subject, "fitted", samples_.size(), text_of(gpu_types_.size()));
        for (const TimedPlan& timed : plans_) {
            if (timed.gpu_type >= gpu_types_.size())
                bad_input(subject, "timed.type", timed.gpu_type, "below " + text_of(gpu_types_.size()));
            detail::require_total(subject, timed.plan, timed.shape, 1);
            require_between(subject, "timed.steps", timed.steps, 0, std::int64_t{1} << 60);
            require_between(subject, "timed.fitted_steps", timed.fitted_steps, 0, timed.steps);
            require_between(subject, "timed.last_used", timed.last_used, 0, std::int64_t{1} << 60);
            for (std::size_t i = 0; i < timed.size(); ++i)
                validate(ThroughputSample{.shape = timed.shape,
                                          .plan = timed.plan,
                                          .step_seconds = timed.step_seconds[i],
                                          .sync_seconds = timed.sync_seconds[i],
                                          .sync_known = timed.sync_known,
                                          .whole_iteration = timed.whole_iteration},
                         subject);
            steps_ = std::max(steps_, timed.last_used);
        }
        models_.resize(gpu_types_.size());
        bool any = false;
        for (std::vector<ThroughputSample>& samples : samples_) {
            for (const ThroughputSample& sample : samples) validate(sample, subject);
            any = any || !samples.empty();
            samples.reserve(most_plans);
        }
        if (any) fit();
    }

    void fit() {
        // The next fit must not start from the last one.
        for (TypeFit& type : models_) type.fit.samples = 0;
        JobFitter()([this](std::size_t t) -> std::span<const ThroughputSample> { return samples_[t]; },
                    std::span(models_), "step times", [](std::size_t) { return true; });
        fitted_ = true;
    }

    int least_steps_;
    std::vector<std::string> gpu_types_{};
    std::vector<TimedPlan> plans_{};
    std::vector<std::vector<ThroughputSample>> samples_{};
    std::vector<TypeFit> models_{};
    std::int64_t steps_ = 0;
    bool fitted_ = false;
};

}  // namespace goodput::inline v0_1

#endif
