#ifndef GOODPUT_AGENT_GRADIENT_METER_HPP
#define GOODPUT_AGENT_GRADIENT_METER_HPP

// Norms of a step's gradients, of all parameter groups in one pass over memory for each gradient. The sums
// are those of GradientStream (fit/gradient_stream.hpp):
//
//     L = (1/n) sum_q |P^-1 g_q|^2          T = |P^-1 (1/n) sum_q g_q|^2
//
// and what is different serves large models. Gradients come in pieces, as frameworks hold them, a tensor
// after the other. What has to be kept is kept in single precision:
//
//     the average is given (TrainingSettings::mean_gradient_given)   nothing
//     it is not                                                      the sum: 4 bytes a parameter
//     a step has a single gradient (differenced form)                that of the step before: 4 bytes
//     and with Adam, but for the first of these                      1 / P^2: 4 bytes more
//
// which is allocated in the first step of its kind. Sums are added up in double precision.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "goodput/agent/training_settings.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/gradient_preconditioner.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput {

/// What a step's gradients said.
enum class StepNorms {
    known,       ///< the norms are there
    waiting,     ///< a single gradient, which has to wait for that of the next step
    not_finite,  ///< an overflow: the optimiser leaves out such a step
    lost         ///< norms so large that no average could take them in
};

/// What the meter has to know of a step before its gradients.
struct MeteredStep {
    double scale_of_one = 1;        ///< examples of one gradient, over the initial batch size
    bool single = false;            ///< the step has one gradient in all, on all replicas together
    bool after_the_last = true;     ///< directly after the last step that was metered
    bool before_the_next = true;    ///< the next step may be paired with this one, if both are single
    double gradient_scale = 1;      ///< what gradients are multiplied by (loss scaling); above 0
    std::int64_t adam_updates = 0;  ///< with Adam: updates that the second moments have seen
};

/// Norms of the gradients of one step after the other.
class GradientMeter {
public:
    /// Takes sizes, optimiser and mean_gradient_given from `settings`, which validate() has accepted.
    explicit GradientMeter(const TrainingSettings& settings)
        : adam_{.beta2 = settings.adam_beta2, .epsilon = settings.adam_epsilon},
          adam_used_(settings.optimizer == Optimizer::adam),
          mean_given_(settings.mean_gradient_given),
          parameters_(settings.parameters),
          totals_(settings.groups() + 1, 0.0),
          mean_squares_(settings.groups(), 0.0),
          previous_squares_(settings.groups(), 0.0),
          pair_squares_(settings.groups(), 0.0),
          both_squares_(settings.groups(), 0.0) {
        for (std::size_t g = 0, end = 0; g < settings.groups(); ++g)
            ends_.push_back(end += settings.group_size(g));
    }

    /// Begins a step; one that was begun and not ended is dropped. Refuses scales that are not positive and
    /// negative updates (std::invalid_argument).
    void begin(const MeteredStep& step);

    /// Adds the next piece of a microbatch's mean gradient, in the order of the parameters; when all of them
    /// are there, the next piece is that of the next microbatch. Refuses a piece that goes beyond the last
    /// parameter (std::invalid_argument).
    template <std::floating_point Real>
    void add(std::span<const Real> piece) {
        add(piece, std::span<const Real>());
    }
    /// The same with the piece's second moments, as long as the optimiser's update has not changed them
    /// (only of Adam after five updates, else they are not read). Refuses another number of moments.
    template <std::floating_point Real, std::floating_point Moment>
    void add(std::span<const Real> piece, std::span<const Moment> second_moments);

    /// Adds the next piece of the mean of all gradients, where that is given; `scale` is what it is
    /// multiplied by.
    template <std::floating_point Real, std::floating_point Moment>
    void add_mean(std::span<const Real> piece, std::span<const Moment> second_moments, double scale);
    /// The squared norm of a group's part of it, by who has it already.
    void set_square_of_mean(std::size_t group, double square);

    /// Sum of this replica's gradients, to be summed over replicas in place; empty where the mean is given.
    [[nodiscard]] std::span<float> running_sum() {
        return mean_given_ || step_.single ? std::span<float>() : std::span<float>(kept_);
    }
    /// Sums of squared norms by group, then the number of gradients: to be summed over replicas in place.
    [[nodiscard]] std::span<double> totals() { return totals_; }
    /// Number of gradients that are complete, after a reduction those of all replicas.
    [[nodiscard]] int count() const { return static_cast<int>(totals_.back()); }

    /// Ends the step; fills in the norms of each group where they are known. Refuses a step without
    /// gradients, with an unfinished one, or whose mean is missing (std::invalid_argument).
    StepNorms end(std::span<GradientNorms> norms);

    /// Drops the step that is begun, and the gradient of the step before.
    void forget() { begun_ = has_previous_ = false; }

    /// In which metric the last norms were: a later one in another must not be averaged with them. To be kept
    /// with the estimates.
    struct Metric {
        bool preconditioned = false;  ///< P is not 1
        double scale = 0;             ///< then: of the step, because moments depend on it
        /// Same metric.
        friend bool operator==(const Metric&, const Metric&) = default;
    };
    /// None before the first norms.
    std::optional<Metric> reported{};

private:
    static constexpr std::size_t block_size = 512;  ///< numbers at a time: stays in the first cache
    using Block = std::array<double, block_size>;

    /// Calls `use(values, weights or null, first, size, group)` for the blocks of a piece that begins at
    /// parameter `first`.
    template <class Real, class Moment, class Use>
    void for_each_block(std::span<const Real> piece, std::span<const Moment> moments, std::size_t first,
                        double scale, const Use& use);
    /// Its own metric is not needed of a gradient that is only paired with the one before.
    [[nodiscard]] bool weighted() const { return preconditioned_ && keeps(); }
    [[nodiscard]] bool keeps() const { return !step_.single || step_.before_the_next; }
    [[nodiscard]] Metric metric() const {
        return {preconditioned_, preconditioned_ ? step_.scale_of_one * totals_.back() : 0};
    }
    void allocate();
    StepNorms end_single(std::span<GradientNorms> norms);
    StepNorms end_several(std::span<GradientNorms> norms);

    AdamPreconditioner<double> adam_;
    bool adam_used_, mean_given_;
    std::size_t parameters_;
    std::vector<std::size_t> ends_{};  ///< of each group
    std::vector<float> kept_{};        ///< the sum of the step, or the gradient of the step before
    std::vector<float> weights_{};     ///< 1 / P^2 that goes with it
    std::vector<double> totals_;
    std::vector<double> mean_squares_;                 ///< of the mean, by group
    std::vector<double> previous_squares_;             ///< of the step before, in its own metric
    std::vector<double> pair_squares_, both_squares_;  ///< of this one and of both, in the metric before
    MeteredStep step_{};
    std::size_t position_ = 0, mean_position_ = 0;
    Metric previous_metric_{};
    double previous_scale_ = 0;
    bool preconditioned_ = false, begun_ = false;
    bool has_previous_ = false, pairs_ = false;  ///< a gradient is kept; this step is paired with it
};

namespace detail {

/// Sum of weight value(i)^2, weights 1 where null. Eight partial sums: a processor then adds several at once.
template <class Value>
double sum_of_squares(std::size_t size, const double* weights, const Value& value) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    if (weights) {
        for (; i + 8 <= size; i += 8)
            for (std::size_t lane = 0; lane < 8; ++lane) {
                const double v = value(i + lane);
                sums[lane] += weights[i + lane] * (v * v);
            }
    } else {
        for (; i + 8 <= size; i += 8)
            for (std::size_t lane = 0; lane < 8; ++lane) {
                const double v = value(i + lane);
                sums[lane] += v * v;
            }
    }
    for (; i < size; ++i) {
        const double v = value(i);
        sums[0] += (weights ? weights[i] : 1) * (v * v);
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

}  // namespace detail

inline void GradientMeter::begin(const MeteredStep& step) {
    require_positive("gradients", "scale", step.scale_of_one);
    require_positive("gradients", "gradient scale", step.gradient_scale);
    require_at_least("gradients", "Adam's updates", static_cast<double>(step.adam_updates), 0);
    pairs_ = has_previous_ && step.after_the_last && step.single;
    has_previous_ = false;  // until this step, which takes its place, has ended
    step_ = step;
    adam_.step = step.adam_updates;
    preconditioned_ = adam_used_ && adam_.ready();
    std::fill(totals_.begin(), totals_.end(), 0);
    std::fill(mean_squares_.begin(), mean_squares_.end(), 0);
    std::fill(pair_squares_.begin(), pair_squares_.end(), 0);
    std::fill(both_squares_.begin(), both_squares_.end(), 0);
    position_ = mean_position_ = 0;
    begun_ = true;
}

inline void GradientMeter::allocate() {
    if (!mean_given_ || step_.single) {
        kept_.resize(parameters_);
        if (preconditioned_) weights_.resize(parameters_);
    }
}

template <class Real, class Moment, class Use>
void GradientMeter::for_each_block(std::span<const Real> piece, std::span<const Moment> moments,
                                   std::size_t first, double scale, const Use& use) {
    const double over = 1 / scale, correction = weighted() ? adam_.correction() : 1;
    const double epsilon = adam_.epsilon;
    std::size_t group = 0;
    while (ends_[group] <= first && group + 1 < ends_.size()) ++group;
    Block values, weights;
    for (std::size_t done = 0; done < piece.size();) {
        const std::size_t at = first + done;
        while (ends_[group] <= at) ++group;
        const std::size_t size = std::min({block_size, piece.size() - done, ends_[group] - at});
        const Real* const from = piece.data() + done;
        for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<double>(from[i]) * over;
        if (weighted()) {
            const Moment* const v = moments.data() + done;
            for (std::size_t i = 0; i < size; ++i) {
                const double root = std::sqrt(static_cast<double>(v[i]) * correction) + epsilon;
                weights[i] = 1 / (root * root);
            }
        }
        use(values.data(), weighted() ? weights.data() : nullptr, at, size, group);
        done += size;
    }
}

template <std::floating_point Real, std::floating_point Moment>
void GradientMeter::add(std::span<const Real> piece, std::span<const Moment> second_moments) {
    if (!begun_) bad_input("gradients", "step", "not begun", "begun before a gradient is added");
    if (piece.size() > parameters_ - position_)
        bad_input("gradients", "size of a piece", piece.size(),
                  "at most what is left of the gradient, " + text_of(parameters_ - position_));
    if (preconditioned_ && second_moments.size() != piece.size())
        bad_input("gradients", "number of second moments", second_moments.size(), text_of(piece.size()));
    if (step_.single && count() > 0)
        bad_input("gradients", "gradients of the step", 2, "1, as the plan says");
    allocate();
    const bool first = count() == 0;
    for_each_block(piece, second_moments, position_, step_.gradient_scale,
                   [&](const double* values, const double* weights, std::size_t at, std::size_t size,
                       std::size_t group) {
                       const auto value = [values](std::size_t i) { return values[i]; };
                       totals_[group] += detail::sum_of_squares(size, weights, value);
                       if (mean_given_ && !step_.single) return;
                       float* const kept = kept_.data() + at;
                       if (pairs_) {
                           Block before;
                           const bool weighted = previous_metric_.preconditioned;
                           if (weighted)
                               for (std::size_t i = 0; i < size; ++i)
                                   before[i] = static_cast<double>(weights_[at + i]);
                           const double* const metric = weighted ? before.data() : nullptr;
                           const auto sum = [values, kept](std::size_t i) {
                               return values[i] + static_cast<double>(kept[i]);
                           };
                           pair_squares_[group] += detail::sum_of_squares(size, metric, value);
                           both_squares_[group] += detail::sum_of_squares(size, metric, sum);
                       }
                       if (!keeps()) return;
                       if (step_.single || first) {
                           for (std::size_t i = 0; i < size; ++i) kept[i] = static_cast<float>(values[i]);
                           if (weights)
                               for (std::size_t i = 0; i < size; ++i)
                                   weights_[at + i] = static_cast<float>(weights[i]);
                       } else {
                           for (std::size_t i = 0; i < size; ++i) kept[i] += static_cast<float>(values[i]);
                       }
                   });
    position_ += piece.size();
    if (position_ < parameters_) return;
    position_ = 0;
    totals_.back() += 1;
}

template <std::floating_point Real, std::floating_point Moment>
void GradientMeter::add_mean(std::span<const Real> piece, std::span<const Moment> second_moments,
                             double scale) {
    require_positive("gradients", "scale of the mean", scale);
    if (!begun_) bad_input("gradients", "step", "not begun", "begun before its mean is given");
    if (!mean_given_) bad_input("gradients", "mean_gradient_given", false, "set in the settings");
    if (piece.size() > parameters_ - mean_position_)
        bad_input("gradients", "size of a piece of the mean", piece.size(),
                  "at most what is left of it, " + text_of(parameters_ - mean_position_));
    if (preconditioned_ && second_moments.size() != piece.size())
        bad_input("gradients", "number of second moments", second_moments.size(), text_of(piece.size()));
    if (!step_.single)
        for_each_block(piece, second_moments, mean_position_, scale,
                       [&](const double* values, const double* weights, std::size_t, std::size_t size,
                           std::size_t group) {
                           mean_squares_[group] += detail::sum_of_squares(
                               size, weights, [values](std::size_t i) { return values[i]; });
                       });
    mean_position_ += piece.size();
}

inline void GradientMeter::set_square_of_mean(std::size_t group, double square) {
    if (!begun_) bad_input("gradients", "step", "not begun", "begun before its mean is given");
    if (!mean_given_) bad_input("gradients", "mean_gradient_given", false, "set in the settings");
    if (group >= ends_.size()) bad_input("gradients", "group", group, "below " + text_of(ends_.size()));
    mean_squares_[group] = square;
    mean_position_ = parameters_;
}

inline StepNorms GradientMeter::end(std::span<GradientNorms> norms) {
    if (!begun_ || position_ != 0 || !(totals_.back() >= 1 && totals_.back() <= 1 << 30))
        bad_input("gradients", "step",
                  !begun_          ? "not begun"
                  : position_ != 0 ? "ended within a gradient"
                                   : "without gradients",
                  "given whole gradients, at least one");
    begun_ = false;
    for (std::size_t g = 0; g + 1 < totals_.size(); ++g)
        if (!std::isfinite(totals_[g])) return StepNorms::not_finite;
    const Metric measured = step_.single ? previous_metric_ : metric();
    const StepNorms result = step_.single ? end_single(norms) : end_several(norms);
    if (result != StepNorms::known) return result;
    for (const GradientNorms& each : norms)
        if (!NoiseScaleEstimator::usable(each)) return StepNorms::lost;
    for (GradientNorms& each : norms) each.restart = reported && *reported != measured;
    reported = measured;
    return result;
}

inline StepNorms GradientMeter::end_single(std::span<GradientNorms> norms) {
    if (pairs_)
        for (std::size_t g = 0; g < norms.size(); ++g)
            norms[g] = differenced_norms(previous_squares_[g], pair_squares_[g], both_squares_[g],
                                         previous_scale_, step_.scale_of_one);
    std::copy_n(totals_.begin(), previous_squares_.size(), previous_squares_.begin());
    previous_scale_ = step_.scale_of_one;
    previous_metric_ = metric();
    has_previous_ = keeps();
    return pairs_ ? StepNorms::known : StepNorms::waiting;
}

inline StepNorms GradientMeter::end_several(std::span<GradientNorms> norms) {
    const int gradients = count();
    if (gradients < 2) return StepNorms::waiting;
    if (mean_given_ && mean_position_ != parameters_)
        bad_input("gradients", "size of the mean gradient", mean_position_, text_of(parameters_));
    for (std::size_t g = 0, first = 0; g < norms.size(); first = ends_[g], ++g) {
        if (!mean_given_) {
            double square = 0;
            Block weights;
            for (std::size_t at = first; at < ends_[g]; at += block_size) {
                const std::size_t size = std::min(block_size, ends_[g] - at);
                if (preconditioned_)
                    for (std::size_t i = 0; i < size; ++i) weights[i] = static_cast<double>(weights_[at + i]);
                const float* const sum = kept_.data() + at;
                square +=
                    detail::sum_of_squares(size, preconditioned_ ? weights.data() : nullptr,
                                           [sum](std::size_t i) { return static_cast<double>(sum[i]); });
            }
            mean_squares_[g] = square / gradients / gradients;
        }
        norms[g] = {totals_[g] / gradients, mean_squares_[g], gradients, step_.scale_of_one * gradients};
    }
    return StepNorms::known;
}

}  // namespace goodput

#endif
