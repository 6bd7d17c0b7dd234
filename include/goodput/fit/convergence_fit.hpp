#ifndef GOODPUT_FIT_CONVERGENCE_FIT_HPP
#define GOODPUT_FIT_CONVERGENCE_FIT_HPP

// Estimates a job's gradient noise scale phi from whole training runs at several batch sizes, without any
// gradient statistics. A training run at the total batch size B, with a learning rate that suits it,
// reaches its target after
//
//     examples(B) = A (phi + B)
//
// examples (McCandlish et al. 2018, section 2.3), so the efficiency at B relative to another batch size is
// that of NoiseScaleEfficiency. Examples may be in any unit, for example epochs. phi is in the unit of B.
//
// Relative errors count as normal: ln examples_i = ln A + ln(phi + B_i) + e_i, with e_i of variance
// scatter^2 + deviation_i^2 / (examples_i^2 runs_i). The scatter is how far batch sizes lie from the
// formula, however many runs are averaged. What two batch sizes leave open comes from priors:
//
//     ln A             no prior
//     ln(phi / G)      normal, mean 1, deviation 2; G is the geometric mean of the measured batch sizes
//     ln scatter       normal around ln 0.05, deviation 0.8: between 1.3 and 19 % in 90 of 100 workloads
//
// These priors are rounded and widened figures of the reference convergence points of MLPerf
// (mlcommons/logging, 2026; bert, deepseekv3_671b, dlrm, flux1, gpt3, llama2_70b_lora, llama31_405b,
// qwen35_397b_grpo, retinanet, rgat; ssd and gnn have the points of the last two). Their noise scales lie
// between 38 and 240,000 examples, but between 1.4 and 4.6 times the geometric mean of their batch sizes,
// except for one (deepseekv3_671b) of which only an upper end is known. The scatter is between 0.3 and 16
// %; 4 to 5 % is the most likely median. A prior relative to the batch sizes holds for tokens as for
// examples. It assumes that the batch sizes are ordinary ones for the job.
//
// The posterior distribution is summed on a grid of ln phi and ln scatter, ln A in closed form; the grid of
// ln phi narrows to where the distribution is. The noise scale is the median. It is finite and above 0
// whatever was measured. Runs at a single batch size leave it at the prior. If examples do not grow with
// the batch size, the measurements give no upper limit for it (`high_from_prior`).
//
// Time and memory are O(measurements).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "goodput/core/detail/normal_distribution.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"

namespace goodput::inline v0_1 {

/// The smallest number of examples of a training run.
inline constexpr double least_examples = 1e-18;
/// The largest number of examples of a training run.
inline constexpr double most_examples = 1e18;

/// The examples that training runs to the same target needed at one total batch size.
struct MeasuredTraining {
    double batch = 0;      ///< total batch size, from 1e-9 to 1e18
    double examples = 0;   ///< needed in the mean or median of the runs, in any unit, from 1e-18 to 1e18
    int runs = 1;          ///< number of runs whose mean this is
    double deviation = 0;  ///< standard deviation of one run; 0 if not known, which then counts as scatter
};

/// An estimate and its central interval.
struct ConvergenceEstimate {
    double median = 0;  ///< the estimate
    Interval range{};   ///< of the coverage that was asked for
};

/// Returns the noise scale of a job of which nothing is known but its usual batch size (1e-9 to 1e18, in any
/// unit): the prior of a ConvergenceFit. Throws std::invalid_argument for another size, and for a coverage
/// outside (0, 1).
[[nodiscard]] ConvergenceEstimate usual_noise_scale(double usual_batch, double coverage = 0.9);

/// The noise scale that measured training runs suggest, and the examples that they predict for other batch
/// sizes.
class ConvergenceFit {
public:
    /// Throws std::invalid_argument if there are no measurements, or if a number is out of its range.
    explicit ConvergenceFit(std::span<const MeasuredTraining> trainings,
                            std::string_view subject = "convergence fit");

    /// The gradient noise scale in the unit of batch sizes. `coverage` is in (0, 1).
    [[nodiscard]] ConvergenceEstimate noise_scale(double coverage = 0.9) const;

    /// The examples that one more training run at `batch` (1e-9 to 1e18) will need, the scatter included.
    [[nodiscard]] ConvergenceEstimate examples(double batch, double coverage = 0.9) const;

    /// Whether the measurements alone do not exclude an arbitrarily small noise scale. The lower end of its
    /// interval then comes from the prior.
    [[nodiscard]] bool low_from_prior() const { return low_from_prior_; }
    /// Whether the measurements alone do not exclude an arbitrarily large noise scale.
    [[nodiscard]] bool high_from_prior() const { return high_from_prior_; }

private:
    /// A point of the grid. `mean` and `variance` are of ln(examples / (phi + batch)) of one more training
    /// run.
    struct Node {
        double log_phi, probability, mean, variance;
    };

    std::vector<Node> nodes_{};  ///< the ones that matter, by log_phi
    double spacing_ = 0;         ///< of log_phi
    bool low_from_prior_ = false, high_from_prior_ = false;
};

namespace detail {

inline constexpr double noise_over_batch_mean = 1, noise_over_batch_deviation = 2;
inline constexpr double convergence_scatter = 0.05, convergence_scatter_deviation = 0.8;

/// Returns the median and the central interval of a number, given the distribution function of its
/// logarithm, which rises from 0 to 1 between `low` and `high`.
template <class Distribution>
ConvergenceEstimate central_estimate(const Distribution& distribution, double low, double high,
                                     double coverage) {
    require_fraction("convergence fit", "coverage", coverage);
    const auto at = [&](double part) {
        double below = low, above = high;
        while (above - below > 1e-9) {
            const double middle = below + (above - below) / 2;
            (distribution(middle) < part ? below : above) = middle;
        }
        return std::exp(below + (above - below) / 2);
    };
    return {at(0.5), {at((1 - coverage) / 2), at((1 + coverage) / 2)}};
}

/// A measurement as the fit sees it.
struct LogTraining {
    double batch, log_examples, variance;  ///< `variance` is that of ln examples, without the scatter

    [[nodiscard]] bool operator<(const LogTraining& other) const {
        return batch != other.batch                 ? batch < other.batch
               : log_examples != other.log_examples ? log_examples < other.log_examples
                                                    : variance < other.variance;
    }
};

/// The measurements' weights if the scatter is known.
struct ScatterWeights {
    double scatter, log_prior;
    std::vector<double> weights{};
    double total = 0, log_product = 0;  ///< sum of the weights, and of their logarithms

    ScatterWeights(double deviations, std::span<const LogTraining> trainings)
        : scatter(convergence_scatter * std::exp(convergence_scatter_deviation * deviations)),
          log_prior(-deviations * deviations / 2) {
        for (const LogTraining& training : trainings) {
            weights.push_back(1 / (scatter * scatter + training.variance));
            total += weights.back();
            log_product += std::log(weights.back());
        }
    }

    /// Returns the mean of ln A, given the estimate of each measurement.
    [[nodiscard]] double mean(std::span<const double> logs) const {
        double sum = 0;
        for (std::size_t i = 0; i < logs.size(); ++i) sum += weights[i] * logs[i];
        return sum / total;
    }
    /// Returns the logarithm of the likelihood times the prior of the scatter.
    [[nodiscard]] double log_likelihood(std::span<const double> logs, double mean) const {
        double squares = 0;
        for (std::size_t i = 0; i < logs.size(); ++i)
            squares += weights[i] * (logs[i] - mean) * (logs[i] - mean);
        return log_prior + (log_product - std::log(total) - squares) / 2;
    }
};

}  // namespace detail

inline ConvergenceEstimate usual_noise_scale(double usual_batch, double coverage) {
    require_between("usual noise scale", "usual_batch", usual_batch, 1e-9, 1e18);
    const double center = std::log(usual_batch) + detail::noise_over_batch_mean;
    const double far = 9 * detail::noise_over_batch_deviation;
    return detail::central_estimate(
        [&](double log_phi) {
            return detail::normal_below((log_phi - center) / detail::noise_over_batch_deviation);
        },
        center - far, center + far, coverage);
}

inline ConvergenceFit::ConvergenceFit(std::span<const MeasuredTraining> trainings, std::string_view subject) {
    if (trainings.empty()) bad_input(subject, "trainings", trainings.size(), "at least 1");
    std::vector<detail::LogTraining> logs;
    double center = 0;
    for (const MeasuredTraining& training : trainings) {
        require_between(subject, "batch", training.batch, 1e-9, 1e18);
        require_between(subject, "examples", training.examples, least_examples, most_examples);
        require_between(subject, "runs", training.runs, 1, 1 << 30);
        require_at_least(subject, "deviation", training.deviation, 0);
        const double relative = std::min(training.deviation / training.examples, 10.0);
        logs.push_back({training.batch, std::log(training.examples), relative * relative / training.runs});
    }
    std::sort(logs.begin(), logs.end());  // rounding errors do not depend on the order
    for (const detail::LogTraining& training : logs)
        center += std::log(training.batch) / static_cast<double>(logs.size());
    center += detail::noise_over_batch_mean;

    constexpr int points = 129, scatters = 33;
    constexpr double far = 4, negligible = 14;  // deviations; ln of a probability against the largest
    std::vector<detail::ScatterWeights> by_scatter;
    for (int j = 0; j < scatters; ++j) by_scatter.emplace_back(far * (2.0 * j / (scatters - 1) - 1), logs);
    const double width = detail::noise_over_batch_deviation;
    double low = std::min(center - width * far, std::log(logs.front().batch) - 7),
           high = std::max(center + width * far, std::log(logs.back().batch) + 9);
    std::vector<double> log_factors(logs.size()), log_probabilities;
    for (int pass = 0;; ++pass) {
        spacing_ = (high - low) / (points - 1);
        nodes_.clear();
        log_probabilities.clear();
        double top = -std::numeric_limits<double>::infinity();
        std::array<double, points> likeliest{};  // by phi, with the likeliest scatter
        for (std::size_t i = 0; i < points; ++i) {
            const double log_phi = low + spacing_ * static_cast<double>(i), phi = std::exp(log_phi);
            for (std::size_t k = 0; k < logs.size(); ++k)
                log_factors[k] = logs[k].log_examples - std::log(phi + logs[k].batch);
            const double log_prior = -std::pow((log_phi - center) / width, 2) / 2;
            likeliest[i] = -std::numeric_limits<double>::infinity();
            for (const detail::ScatterWeights& by : by_scatter) {
                const double mean = by.mean(log_factors),
                             log_likelihood = by.log_likelihood(log_factors, mean);
                likeliest[i] = std::max(likeliest[i], log_likelihood);
                log_probabilities.push_back(log_likelihood + log_prior);
                top = std::max(top, log_probabilities.back());
                nodes_.push_back({log_phi, 0, mean, 1 / by.total + by.scatter * by.scatter});
            }
        }
        if (pass == 0) {
            // As in a test of the ratio of likelihoods at 10 %.
            const double enough = *std::max_element(likeliest.begin(), likeliest.end()) - 2.71 / 2;
            low_from_prior_ = likeliest.front() > enough;
            high_from_prior_ = likeliest.back() > enough;
        }
        double total = 0;
        std::size_t kept = 0;
        for (std::size_t n = 0; n < nodes_.size(); ++n) {
            if (log_probabilities[n] < top - negligible) continue;
            nodes_[kept] = nodes_[n];
            nodes_[kept].probability = std::exp(log_probabilities[n] - top);
            total += nodes_[kept++].probability;
        }
        nodes_.resize(kept);
        for (Node& node : nodes_) node.probability /= total;
        const double first = nodes_.front().log_phi - spacing_, last = nodes_.back().log_phi + spacing_;
        if (pass == 8 || last - first > (high - low) / 2) return;
        low = first;
        high = last;
    }
}

inline ConvergenceEstimate ConvergenceFit::noise_scale(double coverage) const {
    // The probability of a point is spread evenly over the cell around it.
    const auto distribution = [&](double log_phi) {
        double below = 0;
        for (const Node& node : nodes_)
            below += node.probability * std::clamp((log_phi - node.log_phi) / spacing_ + 0.5, 0.0, 1.0);
        return below;
    };
    return detail::central_estimate(distribution, nodes_.front().log_phi - spacing_ / 2,
                                    nodes_.back().log_phi + spacing_ / 2, coverage);
}

inline ConvergenceEstimate ConvergenceFit::examples(double batch, double coverage) const {
    require_between("convergence fit", "batch", batch, 1e-9, 1e18);
    struct Part {
        double probability, mean, deviation;
    };
    std::vector<Part> parts;
    double low = 0, high = 0;
    for (const Node& node : nodes_) {
        const Part part{node.probability, node.mean + std::log(std::exp(node.log_phi) + batch),
                        std::sqrt(node.variance)};
        low = parts.empty() ? part.mean - 9 * part.deviation : std::min(low, part.mean - 9 * part.deviation);
        high =
            parts.empty() ? part.mean + 9 * part.deviation : std::max(high, part.mean + 9 * part.deviation);
        parts.push_back(part);
    }
    const auto distribution = [&](double log_examples) {
        double below = 0;
        for (const Part& part : parts)
            below += part.probability * detail::normal_below((log_examples - part.mean) / part.deviation);
        return below;
    };
    return detail::central_estimate(distribution, low, high, coverage);
}

}  // namespace goodput::inline v0_1

#endif
