#ifndef GOODPUT_FIT_GRADIENT_STREAM_HPP
#define GOODPUT_FIT_GRADIENT_STREAM_HPP

// From gradients to the norms that the noise scale is estimated from (noise_scale.hpp), without keeping the
// gradients: of a step's n gradients only their running sum and the sum of their squared norms are needed,
//
//     L = (1/n) sum_q |P^-1 g_q|^2          T = |P^-1 (1/n) sum_q g_q|^2
//
// A step with a single gradient is paired with the one before (differenced form). Both are then measured in
// the metric P from before the earlier of them: later ones contain it (Adam's v does) and make it look
// smaller, on a quadratic the squared norm by 8 % over the first thirty steps.
//
// Cost: a pass over the parameters for each gradient and one for each step; memory: one double a parameter,
// and one more with Adam (1 / P^2); twice that for training with a single gradient a step. All of it is
// allocated in the first step of its kind, and nothing after.
//
// In data-parallel training every replica streams its own microbatches; running_sum(), sum_of_squares() and
// count() are what the replicas then add up among them, before end_step().

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/fit/gradient_preconditioner.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput {

/// One parameter group's gradients, step by step.
class GradientStream {
public:
    /// Refuses zero parameters (std::invalid_argument).
    explicit GradientStream(std::size_t parameters) : parameters_(parameters) {
        if (parameters == 0) bad_input("gradient stream", "parameters", parameters, "at least 1");
    }

    /// Numbers of one gradient.
    [[nodiscard]] std::size_t parameters() const { return parameters_; }

    /// Begins a step of `scale` times the initial batch size in all; a step begun and not ended is dropped.
    /// The preconditioner is read here and not after. Refuses a scale that is not positive, and a
    /// preconditioner that check() refuses (std::invalid_argument).
    template <GradientPreconditioner P = IdentityPreconditioner>
    void begin_step(double scale, const P& preconditioner = {}) {
        require_positive("gradient stream", "scale", scale);
        preconditioner.check(parameters_);
        const bool ready = preconditioner.ready();
        if (ready != preconditioned_ || (ready && scale != scale_)) ++metric_;
        if (ready) read_weights(preconditioner);
        preconditioned_ = ready;
        scale_ = scale;
        begun_ = true;
        count_ = 0;
        sum_of_squares_ = 0;
    }

    /// Adds the mean gradient of a microbatch; the microbatches of a step are equally large. Refuses one of
    /// another size than the parameters', and one outside a step (std::invalid_argument).
    void add(std::span<const double> gradient) { add_any(gradient); }
    /// The same in single precision; sums are kept in double.
    void add(std::span<const float> gradient) { add_any(gradient); }

    /// Norms of the step. Empty where it teaches nothing: a gradient is not finite, or it is the only one of
    /// the step and none came before it. Refuses to end a step without gradients (std::invalid_argument).
    std::optional<GradientNorms> end_step() {
        if (!begun_ || count_ == 0)
            bad_input("gradient stream", "step", begun_ ? "without gradients" : "not begun",
                      "begun and given at least one gradient");
        begun_ = false;
        if (!std::isfinite(sum_of_squares_)) return {};
        const bool pair = count_ == 1;
        const long long metric = pair ? previous_metric_ : metric_;
        std::optional<GradientNorms> norms = pair ? single() : several();
        if (!norms || !NoiseScaleEstimator::usable(*norms)) return {};
        norms->restart = reported_metric_ >= 0 && metric != reported_metric_;
        reported_metric_ = metric;
        return norms;
    }

    /// begin_step(), add() for each of `gradients` (spans of double or float, or what converts to them), and
    /// end_step().
    template <std::ranges::input_range Gradients, GradientPreconditioner P = IdentityPreconditioner>
    std::optional<GradientNorms> step(const Gradients& gradients, double scale,
                                      const P& preconditioner = {}) {
        begin_step(scale, preconditioner);
        for (const auto& gradient : gradients) add(gradient);
        return end_step();
    }

    /// Sum of the step's gradients so far, to be summed over replicas in place; meaningless before the first.
    [[nodiscard]] std::span<double> running_sum() { return sum_; }
    /// Sum of their squared norms, in the preconditioner's metric, and their number.
    [[nodiscard]] double sum_of_squares() const { return sum_of_squares_; }
    /// Number of the step's gradients so far.
    [[nodiscard]] int count() const { return count_; }
    /// Sets both to what all replicas have together, once running_sum() has been summed over them. Refuses a
    /// count below the own one, and to do so outside a step with gradients (std::invalid_argument).
    void set_totals(double sum_of_squares, int count) {
        if (!begun_ || count_ == 0)
            bad_input("gradient stream", "step", "without gradients", "begun and given at least one");
        require_between("gradient stream", "gradients of all replicas", count, count_, 1 << 30);
        sum_of_squares_ = sum_of_squares;
        count_ = count;
    }

    /// Drops the gradient of the step before and a step that is not ended, as after a restart of the job.
    void forget() { has_previous_ = begun_ = false; }

private:
    template <std::floating_point Real>
    void add_any(std::span<const Real> gradient);
    template <GradientPreconditioner P>
    void read_weights(const P& preconditioner);
    [[nodiscard]] GradientNorms several();
    [[nodiscard]] std::optional<GradientNorms> single();

    std::size_t parameters_;
    // Of the step, and of the last one with a single gradient (or on its way to become that).
    std::vector<double> sum_, previous_;
    std::vector<double> weights_, previous_weights_;  ///< 1 / P_i^2, where preconditioned
    double sum_of_squares_ = 0, previous_square_ = 0;
    double scale_ = 0, previous_scale_ = 0;
    bool preconditioned_ = false, previous_preconditioned_ = false;
    /// Counts metrics that must not be averaged with each other.
    long long metric_ = 0, previous_metric_ = 0;
    long long reported_metric_ = -1;  ///< of the last norms handed out
    int count_ = 0;
    bool begun_ = false, has_previous_ = false;
};

namespace detail {

/// Sum of weights[i] value(i)^2, or of value(i)^2 without weights. Four partial sums: a processor then does
/// not wait for one addition before the next, and rounding errors grow more slowly.
template <class Value>
double weighted_square(std::size_t size, const double* weights, const Value& value) {
    const auto sum = [size](const auto& term) {
        double a = 0, b = 0, c = 0, d = 0;
        std::size_t i = 0;
        for (; i + 4 <= size; i += 4) {
            a += term(i);
            b += term(i + 1);
            c += term(i + 2);
            d += term(i + 3);
        }
        for (; i < size; ++i) a += term(i);
        return (a + b) + (c + d);
    };
    const auto square = [&value](std::size_t i) {
        const double v = value(i);
        return v * v;
    };
    return weights ? sum([&](std::size_t i) { return weights[i] * square(i); }) : sum(square);
}

template <GradientPreconditioner P>
auto inverse_of(const P& preconditioner) {
    if constexpr (requires { preconditioner.inverse(std::size_t{0}, preconditioner.correction()); })
        return [&preconditioner, correction = preconditioner.correction()](std::size_t i) {
            return preconditioner.inverse(i, correction);
        };
    else
        return [&preconditioner](std::size_t i) { return preconditioner.inverse(i); };
}

}  // namespace detail

template <std::floating_point Real>
void GradientStream::add_any(std::span<const Real> gradient) {
    if (!begun_) bad_input("gradient stream", "step", "not begun", "begun before a gradient is added");
    if (gradient.size() != parameters_)
        bad_input("gradient stream", "gradient's size", gradient.size(), text_of(parameters_));
    sum_.resize(parameters_);
    if (count_ == 0)
        std::copy(gradient.begin(), gradient.end(), sum_.begin());
    else
        for (std::size_t i = 0; i < parameters_; ++i) sum_[i] += static_cast<double>(gradient[i]);
    sum_of_squares_ += detail::weighted_square(gradient.size(), preconditioned_ ? weights_.data() : nullptr,
                                               [&](std::size_t i) -> double { return gradient[i]; });
    ++count_;
}

template <GradientPreconditioner P>
void GradientStream::read_weights(const P& preconditioner) {
    weights_.resize(parameters_);
    const auto inverse = detail::inverse_of(preconditioner);
    for (std::size_t i = 0; i < parameters_; ++i) {
        const double over = inverse(i);
        weights_[i] = over * over;
    }
}

inline GradientNorms GradientStream::several() {
    has_previous_ = false;
    const double square = detail::weighted_square(parameters_, preconditioned_ ? weights_.data() : nullptr,
                                                  [this](std::size_t i) { return sum_[i]; });
    return {sum_of_squares_ / count_, square / count_ / count_, count_, scale_};
}

inline std::optional<GradientNorms> GradientStream::single() {
    std::optional<GradientNorms> norms;
    if (has_previous_) {
        const double* weights = previous_preconditioned_ ? previous_weights_.data() : nullptr;
        const double square =
            detail::weighted_square(parameters_, weights, [this](std::size_t i) { return sum_[i]; });
        const double both = detail::weighted_square(parameters_, weights,
                                                    [this](std::size_t i) { return sum_[i] + previous_[i]; });
        norms = differenced_norms(previous_square_, square, both, previous_scale_, scale_);
    }
    previous_.resize(parameters_);
    std::swap(previous_, sum_);
    if (preconditioned_) {
        previous_weights_.resize(parameters_);
        std::swap(previous_weights_, weights_);
    }
    previous_square_ = sum_of_squares_;
    previous_scale_ = scale_;
    previous_preconditioned_ = preconditioned_;
    previous_metric_ = metric_;
    has_previous_ = true;
    return norms;
}

}  // namespace goodput

#endif
