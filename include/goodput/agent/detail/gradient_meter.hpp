#ifndef GOODPUT_AGENT_DETAIL_GRADIENT_METER_HPP
#define GOODPUT_AGENT_DETAIL_GRADIENT_METER_HPP

// The passes of GradientMeter over gradients, one block at a time.

#include "goodput/agent/gradient_meter.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Returns the sum of weight * value(i)^2. All weights are 1 if the pointer is null. The function keeps
/// eight partial sums, so that a processor adds several at the same time and rounding errors grow more
/// slowly.
template <class Value>
double sum_of_squares(std::size_t size, const double* weights, const Value& value) {
    const auto sum = [size](const auto& term) {
        std::array<double, 8> sums{};
        std::size_t i = 0;
        for (; i + 8 <= size; i += 8)
            for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += term(i + lane);
        for (; i < size; ++i) sums[0] += term(i);
        return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
    };
    const auto square = [&value](std::size_t i) {
        const double v = value(i);
        return v * v;
    };
    return weights ? sum([&](std::size_t i) { return weights[i] * square(i); }) : sum(square);
}

}  // namespace detail

inline void GradientMeter::begin(const MeteredStep& step) {
    require_positive("gradients", "scale", step.scale_of_one);
    require_positive("gradients", "gradient scale", step.gradient_scale);
    pairs_ = has_previous_ && step.after_the_last && step.single;
    // Set again when this step has ended, because its gradient replaces the previous one.
    has_previous_ = false;
    step_ = step;
    for (std::vector<double>* sums : {&totals_, &mean_squares_, &pair_squares_, &both_squares_})
        std::fill(sums->begin(), sums->end(), 0.0);
    std::fill(mean_square_set_.begin(), mean_square_set_.end(), false);
    position_ = mean_position_ = 0;
    begun_ = true;
}

template <class Moment>
void GradientMeter::require_piece(std::size_t size, std::size_t left,
                                  const AdamPreconditioner<Moment>& metric) const {
    if (!begun_) bad_input("gradients", "step", "not begun", "begun before a gradient is added");
    if (size > left)
        bad_input("gradients", "size of a piece", size,
                  "at most what is left of the gradient, " + text_of(left));
    metric.check(size);
    if (metric.ready() != step_.preconditioned)
        bad_input("gradients", "preconditioner", step_.preconditioned ? "missing or not ready" : "ready",
                  "as begin() was told of the whole step");
}

template <class Real, class Moment, class Use>
void GradientMeter::for_each_block(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric,
                                   std::size_t first, double scale, const Use& use) {
    const double over = 1 / scale;
    const double correction = weighted() ? metric.correction() : 0;
    std::size_t group = 0;
    while (ends_[group] <= first && group + 1 < ends_.size()) ++group;
    Block values, weights;
    for (std::size_t done = 0; done < piece.size();) {
        const std::size_t at = first + done;
        while (ends_[group] <= at) ++group;
        const std::size_t size = std::min({block_size, piece.size() - done, ends_[group] - at});
        const Real* const from = piece.data() + done;
        for (std::size_t i = 0; i < size; ++i) values[i] = static_cast<double>(from[i]) * over;
        if (weighted())
            for (std::size_t i = 0; i < size; ++i) {
                const double part = metric.inverse(done + i, correction);
                weights[i] = part * part;
            }
        use(values.data(), weighted() ? weights.data() : nullptr, at, size, group);
        done += size;
    }
}

template <std::floating_point Real, std::floating_point Moment>
void GradientMeter::add(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric) {
    require_piece(piece.size(), parameters_ - position_, metric);
    if (step_.single && count() > 0)
        bad_input("gradients", "gradients of the step", 2, "1, as the plan says");
    if (!mean_given_ || step_.single) {
        kept_.resize(parameters_);
        if (step_.preconditioned) weights_.resize(parameters_);
    }
    const bool first = count() == 0;
    for_each_block(piece, metric, position_, step_.gradient_scale,
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
                           const double* const then = weighted ? before.data() : nullptr;
                           const auto sum = [values, kept](std::size_t i) {
                               return values[i] + static_cast<double>(kept[i]);
                           };
                           pair_squares_[group] += detail::sum_of_squares(size, then, value);
                           both_squares_[group] += detail::sum_of_squares(size, then, sum);
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
void GradientMeter::add_mean(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric,
                             double scale) {
    require_positive("gradients", "scale of the mean", scale);
    if (!mean_given_) bad_input("gradients", "mean_given", false, "told to the meter beforehand");
    require_piece(piece.size(), parameters_ - mean_position_, metric);
    if (!step_.single)
        for_each_block(piece, metric, mean_position_, scale,
                       [&](const double* values, const double* weights, std::size_t, std::size_t size,
                           std::size_t group) {
                           mean_squares_[group] += detail::sum_of_squares(
                               size, weights, [values](std::size_t i) { return values[i]; });
                       });
    mean_position_ += piece.size();
}

inline void GradientMeter::set_square_of_mean(std::size_t group, double square) {
    if (!begun_) bad_input("gradients", "step", "not begun", "begun before its mean is given");
    if (!mean_given_) bad_input("gradients", "mean_given", false, "told to the meter beforehand");
    if (group >= ends_.size()) bad_input("gradients", "group", group, "below " + text_of(ends_.size()));
    mean_squares_[group] = square;
    mean_square_set_[group] = true;
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
    for (GradientNorms& each : norms) each.restart = reported_ && *reported_ != measured;
    reported_ = measured;
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
    if (mean_given_ && mean_position_ != parameters_) {
        const auto set = std::count(mean_square_set_.begin(), mean_square_set_.end(), true);
        if (set == 0)
            bad_input("gradients", "size of the mean gradient", mean_position_, text_of(parameters_));
        if (set < std::ssize(mean_square_set_))
            bad_input("gradients", "groups whose square of the mean is given", set,
                      "all of them, " + text_of(mean_square_set_.size()));
    }
    for (std::size_t g = 0, first = 0; g < norms.size(); first = ends_[g], ++g) {
        if (!mean_given_) {
            double square = 0;
            Block weights;
            for (std::size_t at = first; at < ends_[g]; at += block_size) {
                const std::size_t size = std::min(block_size, ends_[g] - at);
                if (step_.preconditioned)
                    for (std::size_t i = 0; i < size; ++i) weights[i] = static_cast<double>(weights_[at + i]);
                const float* const sum = kept_.data() + at;
                square +=
                    detail::sum_of_squares(size, step_.preconditioned ? weights.data() : nullptr,
                                           [sum](std::size_t i) { return static_cast<double>(sum[i]); });
            }
            mean_squares_[g] = square / gradients / gradients;
        }
        norms[g] = {totals_[g] / gradients, mean_squares_[g], gradients, step_.scale_of_one * gradients};
    }
    return StepNorms::known;
}

}  // namespace goodput::inline v0_1

#endif
