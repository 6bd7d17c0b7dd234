#ifndef GOODPUT_TESTS_SUPPORT_NOISY_QUADRATIC_HPP
#define GOODPUT_TESTS_SUPPORT_NOISY_QUADRATIC_HPP

// A quadratic loss with noisy gradients whose covariance is known, and the errors of the noise scale that is
// estimated on it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "support/random.hpp"

namespace support {

/// Draws independent numbers of mean 0 and variance 1, the same on every platform. Each draw gives two
/// numbers, because tests need millions.
class Noise {
public:
    explicit Noise(std::uint64_t seed) : state_(seed) {}

    double operator()() {
        if (half_) {
            half_ = false;
            return from(word_ & 0xffffffffu);
        }
        state_ += 0x9e3779b97f4a7c15u;  // splitmix64
        word_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9u;
        word_ = (word_ ^ (word_ >> 27)) * 0x94d049bb133111ebu;
        word_ ^= word_ >> 31;
        half_ = true;
        return from(word_ >> 32);
    }

private:
    static double from(std::uint64_t bits) {  // uniform, with variance 1
        return (static_cast<double>(bits) - 0x1.fffffffep30) * (2 * 1.7320508075688772 * 0x1.0p-32);
    }

    std::uint64_t state_, word_ = 0;
    bool half_ = false;
};

/// Gradients at a point where curvatures differ by up to a factor of 55. At the initial batch size the noise
/// has covariance D + u u^T, where D is diagonal and u, a direction that all parameters share, has the part
/// `common` of the trace. The larger this part, the fewer independent numbers a gradient gives: tr(C)^2 /
/// tr(C^2).
struct NoisyQuadratic {
    std::vector<double> gradient, deviation, shared;

    NoisyQuadratic(std::size_t dimensions, double squared_norm, double variance, std::uint64_t seed,
                   double common = 0.03) {
        Random random(seed);
        double squares = 0, noises = 0, shares = 0;
        for (std::size_t i = 0; i < dimensions; ++i) {
            const double curvature = std::exp(random.between(-2, 2)), distance = random.between(-1, 1);
            gradient.push_back(curvature * distance);
            deviation.push_back(std::exp(random.between(-1, 1)));
            shared.push_back(random.between(-1, 1));
            squares += gradient.back() * gradient.back();
            noises += deviation.back() * deviation.back();
            shares += shared.back() * shared.back();
        }
        for (double& g : gradient) g *= std::sqrt(squared_norm / squares);
        for (double& d : deviation) d *= std::sqrt((1 - common) * variance / noises);
        for (double& u : shared) u *= std::sqrt(common * variance / shares);
    }

    [[nodiscard]] std::size_t size() const { return gradient.size(); }

    /// Returns the true statistics of P^-1 g.
    template <class P = goodput::AdamPreconditioner<double>>
    [[nodiscard]] goodput::GradientStatistics statistics(const P& metric = {}) const {
        goodput::GradientStatistics truth;
        for (std::size_t i = 0; i < size(); ++i) {
            const double over = metric.ready() ? metric.inverse(i) : 1;
            truth.squared_norm += gradient[i] * gradient[i] * over * over;
            truth.variance += (deviation[i] * deviation[i] + shared[i] * shared[i]) * over * over;
        }
        return truth;
    }

    /// Draws a gradient of a batch of `scale` times the initial batch size.
    void sample(double scale, Noise& noise, std::span<double> out) const {
        const double part = 1 / std::sqrt(scale), along = part * noise();
        for (std::size_t i = 0; i < size(); ++i)
            out[i] = gradient[i] + part * deviation[i] * noise() + along * shared[i];
    }
    [[nodiscard]] std::vector<double> sample(double scale, Noise& noise) const {
        std::vector<double> out(size());
        sample(scale, noise, out);
        return out;
    }

    /// Returns the norms of a step of `gradients` gradients, together `scale` initial batches.
    [[nodiscard]] goodput::GradientNorms step(int gradients, double scale, Noise& noise) const {
        std::vector<double> one(size()), mean(size());
        double squares = 0, square_of_mean = 0;
        for (int q = 0; q < gradients; ++q) {
            sample(scale / gradients, noise, one);
            for (std::size_t i = 0; i < size(); ++i) {
                mean[i] += one[i] / gradients;
                squares += one[i] * one[i];
            }
        }
        for (const double m : mean) square_of_mean += m * m;
        return {squares / gradients, square_of_mean, gradients, scale};
    }
};

/// Returns the norms of one parameter group from a step with these gradients and `scale` times the initial
/// batch size, or none if the meter learns nothing from the step.
template <class P = goodput::AdamPreconditioner<double>>
std::optional<goodput::GradientNorms> metered(goodput::GradientMeter& meter,
                                              const std::vector<std::vector<double>>& gradients, double scale,
                                              const P& metric = {}) {
    meter.begin({.scale_of_one = scale / static_cast<double>(gradients.size()),
                 .single = gradients.size() == 1,
                 .preconditioned = metric.ready()});
    for (const std::vector<double>& gradient : gradients)
        meter.add(std::span<const double>(gradient), metric);
    goodput::GradientNorms norms;
    if (meter.end(std::span(&norms, 1)) != goodput::StepNorms::known) return {};
    return norms;
}

/// Relative errors of an estimate.
struct NoiseScaleErrors {
    double squared_norm = 0, variance = 0, noise_scale = 0;

    [[nodiscard]] double largest() const { return std::max({squared_norm, variance, noise_scale}); }
};

/// Returns the errors after 1,000 steps of 1,000 parameters at the initial batch size. The true noise scale
/// is 4 initial batches. Each step meters `replicas` gradients (1: differences of successive ones) in the
/// metric of SGD, or of an Adam whose moments follow these gradients. Adam's metric changes with every step,
/// so the truth is averaged over the steps like the estimate.
inline NoiseScaleErrors noise_scale_errors(int replicas, bool adam, std::uint64_t seed,
                                           double common = 0.03) {
    constexpr int steps = 1000;
    constexpr std::size_t dimensions = 1000;
    const NoisyQuadratic problem(dimensions, 1, 4, seed, common);
    Noise noise(seed + 1000);
    goodput::GradientMeter meter({dimensions});
    goodput::NoiseScaleEstimator estimator;
    std::vector<std::vector<double>> gradients(static_cast<std::size_t>(replicas),
                                               std::vector<double>(dimensions));
    std::vector<double> second_moments(dimensions);
    goodput::GradientStatistics truth, before;  // in the metrics of this step and the previous one
    double norm = 0, variance = 0, weight = 0;  // averages of the truth
    for (int t = 0; t < steps; ++t) {
        const goodput::AdamPreconditioner<double> metric{second_moments, adam ? t : 0, 0.999, 1e-8};
        before = truth;
        if (adam || t == 0) truth = problem.statistics(metric);
        for (std::vector<double>& one : gradients) problem.sample(1.0 / replicas, noise, one);
        if (const auto norms = metered(meter, gradients, 1, metric); norms && estimator.observe(*norms)) {
            if (norms->restart) norm = variance = weight = 0;
            const double theta = std::pow(0.999, norms->scale);
            const goodput::GradientStatistics& now = norms->differenced ? before : truth;
            norm = theta * norm + (1 - theta) * now.squared_norm;
            variance = theta * variance + (1 - theta) * now.variance;
            weight = theta * weight + (1 - theta);
        }
        if (adam)
            for (std::size_t i = 0; i < dimensions; ++i) {
                double mean = 0;
                for (const std::vector<double>& one : gradients) mean += one[i] / replicas;
                second_moments[i] = 0.999 * second_moments[i] + 0.001 * mean * mean;
            }
    }
    const goodput::GradientStatistics found = estimator.statistics();
    const auto error = [](double estimate, double exact) { return std::abs(estimate / exact - 1); };
    return {error(found.squared_norm * weight, norm), error(found.variance * weight, variance),
            error(found.variance / found.squared_norm, variance / norm)};
}

}  // namespace support

#endif
