#ifndef GOODPUT_FIT_NOISE_SCALE_HPP
#define GOODPUT_FIT_NOISE_SCALE_HPP

// How noisy is a job's gradient? Its squared norm and the trace of its covariance at the initial batch size
// M0, from norms that data-parallel training has at hand anyway (McCandlish et al. 2018, appendix A.1;
// Pollux, OSDI'21, section 3.1, and its released code).
//
// A step computes n gradients g_1 .. g_n (replicas times accumulated steps), which together are a batch of
// `scale` M0 examples. With L the mean of their squared norms and T the squared norm of their mean
//
//     sqr = (n T - L) / (n - 1)            var = (L - T) scale / (n - 1)
//
// have the true values as expectations. Where a step computes a single gradient, the one of the step before
// is taken as a second (differenced form): gradients of s1 M0 and s2 M0 examples count as n = 2 at the scale
// 4 / (1/s1 + 1/s2), which leaves both expectations right as long as the parameters stand still. They move,
// so that this form is biased, and the first step with several gradients after such a phase starts afresh.
//
// One step says next to nothing; the statistics are moving averages with the factor theta = 0.999^scale a
// step (to the power of the steps that it stands for), corrected for the start at zero as in Adam. After N
// steps that is a mean of effectively (1 + theta) / (1 - theta) * (1 - theta^N) / (1 + theta^N) steps: of 924
// after 1,000 steps at scale 1 (nearly a plain mean), never more than 1,999, and of 250 at scale 8. The true
// values may drift over about 1,000 / scale steps before the averages lag behind.
//
// Who has the norms already gives them to observe(); gradients, one by one without keeping them, are for
// GradientMeter (agent/gradient_meter.hpp), which also knows Adam's preconditioner. Parameter groups with
// learning rates of their own take an estimator each (agent/gradient_meter.hpp).
//
// What it cannot do: tell a gradient of the loss from what replicas have in common by mistake (one random
// seed for all); see a covariance that depends on the batch size.

#include <algorithm>
#include <cmath>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput {

/// Norms of the gradients of one step. With preconditioned training they are those of P^-1 g.
struct GradientNorms {
    double mean_of_squares = 0;  ///< L, mean of the squared norms of the single gradients
    double square_of_mean = 0;   ///< T, squared norm of their mean
    int count = 0;               ///< n, at least 2
    double scale = 1;            ///< examples of the step over the initial batch size
    bool differenced = false;    ///< from successive steps: see differenced_norms()
    /// Not to be averaged with what came before, because the preconditioner is another.
    bool restart = false;
    double steps = 1;  ///< it stands for so many steps, of which the others were not looked at; above 0
};

/// Norms of two gradients of successive steps with one gradient each: their squared norms and that of their
/// sum; each was computed from `..._scale` times the initial batch size, above 0.
[[nodiscard]] inline GradientNorms differenced_norms(double previous_square, double square,
                                                     double square_of_sum, double previous_scale,
                                                     double scale) {
    return {(previous_square + square) / 2, square_of_sum / 4, 2, 4 / (1 / previous_scale + 1 / scale), true};
}

/// All that a NoiseScaleEstimator remembers: kept with a job's checkpoint, it goes on as if nothing had been.
struct NoiseScaleState {
    double squared_norm = 0;  ///< average, not yet corrected for its start; may be negative
    double variance = 0;      ///< likewise
    double weight = 0;  ///< what an average of ones would have become, in [0, 1]; 0: nothing was taken in
    bool differenced = false;  ///< from differences of successive steps
};

/// Moving averages of a gradient's squared norm and variance, step by step.
class NoiseScaleEstimator {
public:
    /// `smoothing`: what is left of an average after one step at the initial batch size, in (0, 1).
    explicit NoiseScaleEstimator(double smoothing = 0.999) : smoothing_(smoothing) {
        if (!(smoothing > 0 && smoothing < 1))
            bad_input("noise scale estimator", "smoothing", smoothing, "between 0 and 1");
    }

    /// Takes in a step. One whose norms are not finite (an overflow of mixed precision) is skipped: false.
    /// Refuses negative norms, fewer than two gradients and a scale that is not positive
    /// (std::invalid_argument).
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

    /// Would observe() take these in? False where they are not finite or so large that the estimates are not.
    /// Refuses what observe() refuses.
    [[nodiscard]] static bool usable(const GradientNorms& step) {
        require_positive("noise scale estimator", "scale", step.scale);
        require_positive("noise scale estimator", "steps", step.steps);
        require_between("noise scale estimator", "gradients a step", step.count, 2, 1 << 30);
        if (!std::isfinite(step.mean_of_squares) || !std::isfinite(step.square_of_mean)) return false;
        require_at_least("noise scale estimator", "mean of squared norms", step.mean_of_squares, 0);
        require_at_least("noise scale estimator", "squared norm of the mean", step.square_of_mean, 0);
        // Far enough below the largest number for averages, and for sums over parameter groups.
        constexpr double most = 1e300;
        return step.count * step.square_of_mean <= most && step.mean_of_squares <= most &&
               step.mean_of_squares * step.scale <= most && step.square_of_mean * step.scale <= most;
    }

    /// Forgets everything. For whoever gives norms of preconditioned gradients himself: due when the
    /// preconditioner's moments start anew, as Adam's do when the batch size changes.
    void reset() {
        squared_norm_ = variance_ = weight_ = 0;
        differenced_ = false;
    }

    /// What it remembers.
    [[nodiscard]] NoiseScaleState state() const { return {squared_norm_, variance_, weight_, differenced_}; }

    /// Goes on from there. Refuses averages that are not finite and a weight outside [0, 1]
    /// (std::invalid_argument), and is unchanged then.
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

    /// Nothing has been taken in yet.
    [[nodiscard]] bool empty() const { return weight_ == 0; }

    /// The averages come from differences of successive steps, and are biased.
    [[nodiscard]] bool differenced() const { return differenced_; }

    /// The averages now: the squared norm at least 0, the variance at least 1e-6; both 0 while empty, which
    /// efficiency models read as "no statistics".
    [[nodiscard]] GradientStatistics statistics() const {
        if (empty()) return {};
        return {std::max(squared_norm_ / weight_, 0.0), std::max(variance_ / weight_, 1e-6)};
    }

private:
    double smoothing_;
    double squared_norm_ = 0, variance_ = 0;  ///< averages, not yet corrected for their start
    double weight_ = 0;                       ///< what a constant one would have become
    bool differenced_ = false;
};

}  // namespace goodput

#endif
