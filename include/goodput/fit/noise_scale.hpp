#ifndef GOODPUT_FIT_NOISE_SCALE_HPP
#define GOODPUT_FIT_NOISE_SCALE_HPP

// Estimates how noisy a job's gradient is: its squared norm and the trace of its covariance at the initial
// batch size M0, from norms that data-parallel training computes anyway (McCandlish et al. 2018, appendix
// A.1; Pollux, OSDI'21, section 3.1, and its released code).
//
// A step computes n gradients g_1 .. g_n (replicas times accumulated steps). Together they are a batch of
// `scale` M0 examples. With the mean L of their squared norms and the squared norm T of their mean,
//
//     sqr = (n T - L) / (n - 1)            var = (L - T) scale / (n - 1)
//
// have the true values as expectations. If a step computes a single gradient, the gradient of the previous
// step serves as a second one (differenced form). Gradients of s1 M0 and s2 M0 examples then count as n = 2
// at the scale 4 / (1/s1 + 1/s2). Both expectations would remain right if the parameters did not change
// between the steps. They do change, so this form is biased. Therefore the estimates start afresh at the
// first step with several gradients after such a phase.
//
// One step says next to nothing, so the statistics are moving averages. Their factor is theta = 0.999^scale
// per step (to the power of the number of steps that the step represents), corrected for the start at zero
// as in Adam. After N steps this is a mean of effectively (1 + theta) / (1 - theta) * (1 - theta^N) / (1 +
// theta^N) steps: 924 after 1,000 steps at scale 1 (nearly a plain mean), never more than 1,999, and 250 at
// scale 8. The averages lag behind if the true values drift within about 1,000 / scale steps.
//
// Training loops that already have the norms pass them to observe(). GradientMeter
// (agent/gradient_meter.hpp)
// takes gradients one by one without keeping them, and supports Adam's preconditioner. GroupedNoiseScale in
// the same header has one estimator per parameter group, for groups with their own learning rates.
//
// The estimator cannot tell a gradient of the loss from what replicas share by mistake, for example one
// random seed. It cannot see a covariance that depends on the batch size.

#include <algorithm>
#include <cmath>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1 {

/// The norms of the gradients of one step. With preconditioned training they are norms of P^-1 g.
struct GradientNorms {
    double mean_of_squares = 0;  ///< L, mean of the squared norms of the single gradients
    double square_of_mean = 0;   ///< T, squared norm of the mean gradient
    int count = 0;               ///< n, at least 2
    double scale = 1;            ///< examples of the step over the initial batch size
    bool differenced = false;    ///< the gradients are from successive steps (differenced_norms())
    /// The preconditioner has changed, so this step must not be averaged with earlier ones.
    bool restart = false;
    double steps = 1;  ///< steps that it represents, above 0; the others were not measured
};

/// Returns the norms of two successive steps with one gradient each, from the squared norms of both
/// gradients and of their sum. `previous_scale` and `scale` are the batch sizes over the initial batch
/// size, above 0.
[[nodiscard]] inline GradientNorms differenced_norms(double previous_square, double square,
                                                     double square_of_sum, double previous_scale,
                                                     double scale) {
    return {(previous_square + square) / 2, square_of_sum / 4, 2, 4 / (1 / previous_scale + 1 / scale), true};
}

/// The state of a NoiseScaleEstimator. Save it with a job's checkpoint, and the restored estimator
/// continues as if nothing had happened.
struct NoiseScaleState {
    double squared_norm = 0;  ///< average before correction for its start; may be negative
    double variance = 0;      ///< average before correction for its start; may be negative
    double weight = 0;  ///< what an average of ones would have become, in [0, 1]; 0 if no step was taken in
    bool differenced = false;  ///< whether the averages come from differences of successive steps
};

/// Moving averages of the squared norm and variance of a gradient.
class NoiseScaleEstimator {
public:
    /// `smoothing`, in (0, 1), is the factor on the averages per step at the initial batch size. Throws
    /// std::invalid_argument for any other value.
    explicit NoiseScaleEstimator(double smoothing = 0.999) : smoothing_(smoothing) {
        require_fraction("noise scale estimator", "smoothing", smoothing);
    }

    /// Takes in a step. Skips a step whose norms are not finite (an overflow of mixed precision) and
    /// returns false. Throws std::invalid_argument for negative norms, fewer than two gradients, or a scale
    /// that is not positive.
    bool observe(const GradientNorms& step) {
        const bool counts = usable(step);
        if (step.restart) reset();
        if (!counts) return false;
        if (differenced_ && !step.differenced) reset();
        differenced_ = step.differenced;
        const double others = step.count - 1.0;
        const double theta = std::pow(smoothing_, step.scale * step.steps);
        const auto average = [theta](double& value, double now) {
            value = theta * value + (1 - theta) * now;
        };
        average(squared_norm_, (step.count * step.square_of_mean - step.mean_of_squares) / others);
        average(variance_, (step.mean_of_squares - step.square_of_mean) * step.scale / others);
        average(weight_, 1);
        return true;
    }

    /// Whether observe() would take these norms in. Returns false if they are not finite, or so large that
    /// the estimates would not be finite. Throws the exceptions of observe().
    [[nodiscard]] static bool usable(const GradientNorms& step) {
        require_positive("noise scale estimator", "scale", step.scale);
        require_positive("noise scale estimator", "steps", step.steps);
        require_between("noise scale estimator", "gradients a step", step.count, 2, 1 << 30);
        if (!std::isfinite(step.mean_of_squares) || !std::isfinite(step.square_of_mean)) return false;
        require_at_least("noise scale estimator", "mean of squared norms", step.mean_of_squares, 0);
        require_at_least("noise scale estimator", "squared norm of the mean", step.square_of_mean, 0);
        // This leaves room for averages and for sums over parameter groups.
        constexpr double most = 1e300;
        return step.count * step.square_of_mean <= most && step.mean_of_squares <= most &&
               step.mean_of_squares * step.scale <= most && step.square_of_mean * step.scale <= most;
    }

    /// Forgets everything. A caller that passes norms of preconditioned gradients must call this when the
    /// preconditioner's moments start anew, for example Adam's after a change of the batch size.
    void reset() {
        squared_norm_ = variance_ = weight_ = 0;
        differenced_ = false;
    }

    /// Returns the state, to be saved.
    [[nodiscard]] NoiseScaleState state() const { return {squared_norm_, variance_, weight_, differenced_}; }

    /// Continues from a saved state. Throws std::invalid_argument and stays unchanged if an average is not
    /// finite, or if the weight is outside [0, 1].
    void restore(const NoiseScaleState& state) {
        if (!(std::abs(state.squared_norm) <= 1e300))
            bad_input("noise scale estimator", "squared norm", state.squared_norm, "within 1e300 of 0");
        if (!(std::abs(state.variance) <= 1e300))
            bad_input("noise scale estimator", "variance", state.variance, "within 1e300 of 0");
        if (!(state.weight >= 0 && state.weight <= 1))
            bad_input("noise scale estimator", "weight", state.weight, "between 0 and 1");
        squared_norm_ = state.squared_norm;
        variance_ = state.variance;
        weight_ = state.weight;
        differenced_ = state.differenced;
    }

    /// Whether no step has been taken in yet.
    [[nodiscard]] bool empty() const { return weight_ == 0; }

    /// Whether the averages come from differences of successive steps, and are therefore biased.
    [[nodiscard]] bool differenced() const { return differenced_; }

    /// Returns the present averages: the squared norm is at least 0, the variance at least 1e-6. Both are 0
    /// while the estimator is empty, which efficiency models read as "no statistics".
    [[nodiscard]] GradientStatistics statistics() const {
        if (empty()) return {};
        return {std::max(squared_norm_ / weight_, 0.0), std::max(variance_ / weight_, 1e-6)};
    }

private:
    double smoothing_;
    double squared_norm_ = 0, variance_ = 0;  ///< averages before correction for their start
    double weight_ = 0;                       ///< what an average of ones would have become
    bool differenced_ = false;
};

}  // namespace goodput::inline v0_1

#endif
