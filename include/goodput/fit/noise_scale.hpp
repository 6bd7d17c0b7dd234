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
// have the true values as expectations. With a single gradient a step (n = 1) the one of the step before is
// taken as a second: n = 2 and twice the scale. That is biased, as the parameters have moved in between, and
// so the first step with several gradients after such a phase starts afresh.
//
// One step says next to nothing; the statistics are moving averages with the factor theta = 0.999^scale a
// step, corrected for the start at zero as in Adam. After N steps that is a mean of effectively (1 + theta) /
// (1 - theta) * (1 - theta^N) / (1 + theta^N) steps: of 924 after 1,000 steps at scale 1 (nearly a plain
// mean), never more than 1,999, and of 250 at scale 8. The true values may drift over about 1,000 / scale
// steps before the averages lag behind.
//
// With preconditioned training (Adam) the norms are those of the preconditioned gradients. Parameter groups
// with learning rates of their own take an estimator each, and their statistics are added.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput {

/// Norms of the gradients of one step.
struct GradientNorms {
    double mean_of_squares = 0;  ///< L, mean of the squared norms of the single gradients
    double square_of_mean = 0;   ///< T, squared norm of their mean
    int count = 0;               ///< n, at least 2
    double scale = 1;            ///< examples of the step over the initial batch size
};

class NoiseScaleEstimator {
public:
    /// `smoothing`: what is left of an average after one step at the initial batch size, in (0, 1).
    explicit NoiseScaleEstimator(double smoothing = 0.999) : smoothing_(smoothing) {
        if (!(smoothing > 0 && smoothing < 1))
            bad_input("noise scale estimator", "smoothing", smoothing, "between 0 and 1");
    }

    /// Takes in a step with several gradients. A step whose norms are not finite (an overflow of mixed
    /// precision) is skipped: false. Refuses negative norms, fewer than two gradients and a scale that is not
    /// positive (std::invalid_argument).
    bool observe(const GradientNorms& step) {
        if (!finite(step)) return false;
        if (differenced_) reset();
        return take(step);
    }

    /// Takes in a step with a single gradient, a batch of `scale` times the initial batch size, together with
    /// the step before it: squared norms of the previous gradient, of this one, and of their sum. Otherwise
    /// as observe().
    bool observe_pair(double previous_square, double square, double square_of_sum, double scale) {
        const GradientNorms step{(previous_square + square) / 2, square_of_sum / 4, 2, 2 * scale};
        if (!finite(step)) return false;
        differenced_ = true;
        return take(step);
    }

    /// The same from the gradient itself; the previous one is kept here. False for the first gradient of a
    /// phase, which has none before it, and for one that is not finite. Refuses an empty gradient
    /// and one of another size than before (std::invalid_argument).
    bool observe_single(std::span<const double> gradient, double scale) {
        if (gradient.empty())
            bad_input("noise scale estimator", "gradient", "empty", "one number a parameter");
        require_scale(scale);
        if (!previous_.empty() && previous_.size() != gradient.size())
            bad_input("noise scale estimator", "gradient's size", gradient.size(), text_of(previous_.size()));
        double square = 0, sum = 0;
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            square += gradient[i] * gradient[i];
            if (previous_.empty()) continue;
            const double both = gradient[i] + previous_[i];
            sum += both * both;
        }
        if (!std::isfinite(square)) return false;
        const bool paired = !previous_.empty() && observe_pair(previous_square_, square, sum, scale);
        previous_.assign(gradient.begin(), gradient.end());
        previous_square_ = square;
        return paired;
    }

    /// Forgets everything.
    void reset() {
        squared_norm_ = variance_ = weight_ = 0;
        previous_.clear();
        differenced_ = false;
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
    static bool finite(const GradientNorms& step) {
        require_scale(step.scale);
        require_between("noise scale estimator", "gradients a step", step.count, 2, 1 << 30);
        if (!std::isfinite(step.mean_of_squares) || !std::isfinite(step.square_of_mean)) return false;
        require_at_least("noise scale estimator", "mean of squared norms", step.mean_of_squares, 0);
        require_at_least("noise scale estimator", "squared norm of the mean", step.square_of_mean, 0);
        return true;
    }
    static void require_scale(double scale) { require_positive("noise scale estimator", "scale", scale); }

    bool take(const GradientNorms& step) {
        const double others = step.count - 1.0;
        const double squared_norm = (step.count * step.square_of_mean - step.mean_of_squares) / others;
        const double variance = (step.mean_of_squares - step.square_of_mean) * step.scale / others;
        if (!std::isfinite(squared_norm) || !std::isfinite(variance)) return false;
        const double theta = std::pow(smoothing_, step.scale);
        squared_norm_ = theta * squared_norm_ + (1 - theta) * squared_norm;
        variance_ = theta * variance_ + (1 - theta) * variance;
        weight_ = theta * weight_ + (1 - theta);
        return true;
    }

    double smoothing_;
    double squared_norm_ = 0, variance_ = 0;  ///< averages, not yet corrected for their start
    double weight_ = 0;                       ///< what a constant one would have become
    bool differenced_ = false;
    std::vector<double> previous_;  ///< gradient of the step before, in a differenced phase
    double previous_square_ = 0;
};

}  // namespace goodput

#endif
