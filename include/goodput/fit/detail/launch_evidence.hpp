#ifndef GOODPUT_FIT_DETAIL_LAUNCH_EVIDENCE_HPP
#define GOODPUT_FIT_DETAIL_LAUNCH_EVIDENCE_HPP

// Do small batches keep the GPU waiting for the host? Compares, for the measured computing times t of batches
// b,
//
//     t = alpha + beta b        with        t = max(h, alpha + beta b)
//
// by the probability of the measurements under both, which is integrated over the parameters (Bayes factor).
// Where the host is the bottleneck, times scatter more, so both regimes have a scatter of their own. Each
// scatter has a conjugate prior and is integrated out, so the misfit of n times counts as Student's t does.
//
// With a floor, the prior is in ln h (flat), in the share of alpha, r = alpha / h, and in the batch at which
// beta b reaches what alpha leaves of h:
//
//     ln(r / (1 - r)) ~ N(0.3, 1)
//     ln(beta b / (h - alpha)) = 0 at b = b_1 e^k        k ~ N(ln(2 s / h), 1.5^2)
//
// b_1 is the smallest batch. The numbers come from the profiles on one A100 in docs/fit.md's data: there the
// line starts at six tenths of h in the median of twelve fits, and the batch grows as the host gets faster,
// because a short step consists of few small kernels (bert, cifar10, deepspeech2, imagenet, ncf, yolov3: mean
// 0.6 in k - ln(1 s / h), deviation 1.6). The times on the floor scatter by 4 to 12 %.
//
// The batches up to one of them, the split, lie on the floor, the others on the line. For each split and
// each share r out of a few, the misfit is a quadratic form in beta. So the integral over beta is that of a
// normal density over the interval that the split allows. If all batches lie on the floor, the prior of beta
// is cut off instead. The sum over all splits and shares gives the Bayes factor, and means and variances of
// ln h, ln alpha and ln beta. Where no batch lies on the line, the measurements bound the density of beta
// from one side only. Its mode would be at that bound, so its median is used.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "goodput/core/detail/log_gamma.hpp"
#include "goodput/core/detail/normal_distribution.hpp"
#include "goodput/fit/detail/launch_floor.hpp"
#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/detail/log_step.hpp"

namespace goodput::inline v0_1::detail {

/// A normal distribution within two bounds.
struct BoundedNormal {
    double mass = 0, mean = 0, variance = 0;

    BoundedNormal(double center, double deviation, double low, double high) {
        const double from = (low - center) / deviation, to = (high - center) / deviation;
        // In the tail that loses no digits.
        mass = from > 0 ? normal_below(-from) - normal_below(-to) : normal_below(to) - normal_below(from);
        if (!(mass > 1e-200)) {
            mass = 0;
            return;
        }
        const double at_from = normal_density(from), at_to = normal_density(to);
        const double shift = (at_from - at_to) / mass;
        const double spread =
            ((std::isfinite(from) ? from * at_from : 0) - (std::isfinite(to) ? to * at_to : 0)) / mass;
        mean = center + deviation * shift;
        variance = square(deviation) * std::max(1 + spread - shift * shift, 1e-6);
    }
};

/// The median of a normal distribution above a bound.
inline double median_above(double bound, double center, double deviation) {
    const double half = normal_below((center - bound) / deviation) / 2;
    double low = bound, high = std::max(bound, center) + 40 * deviation;
    for (int step = 0; step < 60; ++step) {
        const double middle = (low + high) / 2;
        (normal_below((center - middle) / deviation) > half ? low : high) = middle;
    }
    return low;
}

/// Weighs a floor against a straight line.
class LaunchEvidence {
public:
    explicit LaunchEvidence(LaunchPrior prior = {}) : prior_(prior) {
        for (int i = 0; i < shares; ++i) {
            const double z = 6.0 * i / (shares - 1) - 3;
            const double odds = std::exp(prior.share_logit + z), part = odds / (1 + odds);
            shares_[static_cast<std::size_t>(i)] = {-z * z / 2 - std::log(shares), part, std::log(part),
                                                    -std::log1p(odds)};
        }
        for (int i = 0; i < line_shares; ++i) {
            const double z = 8.0 * i / (line_shares - 1) - 4;
            // Both parameters have a deviation of 1, so ln(alpha / (beta reference)) has one of sqrt(2). The
            // density is that of z, of which the shares of a floor have steps of another width.
            line_shares_[static_cast<std::size_t>(i)] = {
                -z * z / 2 + std::log(8.0 / (line_shares - 1) * (shares - 1) / 6.0 / shares),
                1 / (1 + std::exp(-std::numbers::sqrt2 * z)), 0, 0};
        }
    }

    /// `times` need not be sorted. Fewer than three batches say nothing about a floor. Means and variances
    /// stay 0 where the odds are against a floor.
    [[nodiscard]] LaunchFloor operator()(std::span<const ComputingTime> times) {
        times_.assign(times.begin(), times.end());
        std::sort(times_.begin(), times_.end(),
                  [](const ComputingTime& a, const ComputingTime& b) { return a.batch < b.batch; });
        LaunchFloor floor;
        if (share_weights() < 3) return floor;
        parts_.clear();
        above_.assign(times_.size(), {});  // sums over all later times
        for (std::size_t i = times_.size() - 1; i > 0; --i) {
            above_[i - 1] = above_[i];
            above_[i - 1].add(times_[i]);
        }
        LineSums on;  // ln t on the floor, which has no slope
        for (std::size_t i = 0; i < times_.size(); ++i) {
            on.add(times_[i].weight, 0, times_[i].log_seconds);
            const bool last = i + 1 == times_.size();
            if ((last || times_[i + 1].batch > times_[i].batch))
                add_split(on, above_[i], times_[i].batch,
                          last ? std::numeric_limits<double>::infinity() : times_[i + 1].batch);
        }
        conclude(floor);
        return floor;
    }

private:
    /// One split with one share.
    struct Part {
        double log_weight, log_floor, log_constant, log_slope, slope_variance, floor_variance, split;
    };
    /// Sums over the times on the line, in units of the times themselves.
    struct Sums {
        double weight = 0, constant = 0, slope = 0;  ///< weighted sums of 1, 1/t and b/t
        double constant2 = 0, both = 0, slope2 = 0;  ///< and of 1/t^2, b/t^2 and b^2/t^2

        void add(const ComputingTime& time) {
            const double per = std::exp(-time.log_seconds), w = time.weight, b = time.batch;
            weight += w;
            constant += w * per;
            slope += w * b * per;
            constant2 += w * per * per;
            both += w * b * per * per;
            slope2 += w * b * b * per * per;
        }
        /// The weighted sum of ((alpha + beta b) / t - 1)^2.
        [[nodiscard]] double squares(double alpha, double beta) const {
            return std::max(weight - 2 * (alpha * constant + beta * slope) + alpha * alpha * constant2 +
                                2 * alpha * beta * both + beta * beta * slope2,
                            0.0);
        }
    };
    static constexpr int shares = 33, line_shares = 65;

    /// A part that alpha may have of h, or of the time at a reference batch.
    struct Share {
        double log_prior, part, log_part, log_rest;
    };
    /// ln of the probability of times with weighted squares, integrated over their scatter, and the scatter
    /// that the squares imply.
    class Misfit {
    public:
        /// `parameters` were fitted to times of this weight.
        Misfit(double weight, double parameters, double scatter, double freedom)
            : assumed_(freedom * square(scatter)),
              power_((weight + freedom) / 2),
              constant_(freedom / 2 * std::log(assumed_) + log_gamma(power_) - log_gamma(freedom / 2)),
              freedom_(weight - std::min(parameters, weight / 2) + freedom) {}
        [[nodiscard]] double log_probability(double squares) const {
            return constant_ - power_ * std::log(squares + assumed_);
        }
        [[nodiscard]] double variance(double squares) const { return (squares + assumed_) / freedom_; }

    private:
        double assumed_, power_, constant_, freedom_;
    };

    /// Lets all times of a batch weigh as much as one, because they share the deviation of the batch from any
    /// law. Returns the number of batches.
    std::size_t share_weights() {
        std::size_t batches = 0;
        for (std::size_t i = 0; i < times_.size();) {
            std::size_t end = i;
            double weight = 0;
            for (; end < times_.size() && times_[end].batch == times_[i].batch; ++end)
                weight += times_[end].weight;
            for (; i < end; ++i) times_[i].weight /= std::max(weight, 1.0);
            batches += 1;
        }
        return batches;
    }

    void add_split(const LineSums& on, const Sums& above, double split, double next) {
        const double height = std::exp(on.y), low = std::log(split), high = std::log(next);
        const Misfit floor(on.weight, 1, prior_.floor_scatter, LaunchPrior::floor_freedom);
        const double floor_variance = floor.variance(on.yy) / on.weight;
        const double log_floor = floor.log_probability(on.yy) + std::log(floor_variance) / 2;
        const double knee = std::log(times_.front().batch * prior_.seconds_by_floor) - on.y;
        const auto part_of = [&](const Share& share) {
            return Part{.log_weight = log_floor + share.log_prior,
                        .log_floor = on.y,
                        .log_constant = on.y + share.log_part,
                        .log_slope = share.log_rest + on.y,  // ln(h - alpha)
                        .slope_variance = 0,
                        .floor_variance = floor_variance,
                        .split = split};
        };
        if (!(above.weight > 0)) {  // all batches lie on the floor
            const BoundedNormal beyond(knee, prior_.knee_deviation, low, high);
            if (!(beyond.mass > 0)) return;
            const double middle = median_above(low, knee, prior_.knee_deviation);
            for (const Share& share : shares_) {
                Part part = part_of(share);
                part.log_weight += std::log(beyond.mass);
                part.log_slope -= middle;
                part.slope_variance = beyond.variance;
                parts_.push_back(part);
            }
            return;
        }
        const Misfit line(above.weight, 2, prior_.line_scatter, LaunchPrior::line_freedom);
        const double per_slope = 1 / std::sqrt(above.slope2);
        for (const Share& share : shares_) {
            constexpr double far = 7.1, least_mass = 1e-12;  // so far out there is less
            const double alpha = share.part * height,
                         beta = (above.slope - alpha * above.both) / above.slope2;
            if (!(beta > 0)) continue;
            const double squares = above.squares(alpha, beta);
            const double deviation = std::sqrt(line.variance(squares)) * per_slope / beta;
            Part part = part_of(share);
            const double center = part.log_slope - std::log(beta);
            if (low - center > far * deviation || center - high > far * deviation) continue;
            const BoundedNormal within(center, deviation, low, high);
            if (!(within.mass > least_mass)) continue;
            part.log_weight += line.log_probability(squares) +
                               std::log(within.mass * deviation / prior_.knee_deviation) -
                               square((center - knee) / prior_.knee_deviation) / 2;
            part.log_slope -= within.mean;
            part.slope_variance = within.variance;
            parts_.push_back(part);
        }
    }

    /// ln of the probability of all times on a line, in the same units as that of the parts.
    [[nodiscard]] double log_line() const {
        double log_batch = 0, weight = 0;
        Sums all;
        for (const ComputingTime& time : times_) {
            all.add(time);
            log_batch += time.weight * std::log(time.batch);
            weight += time.weight;
        }
        const double reference = std::exp(log_batch / weight);
        const Misfit line(weight, 2, prior_.line_scatter, LaunchPrior::line_freedom);
        double most = -std::numeric_limits<double>::infinity(), sum = 0;
        for (const Share& share : line_shares_) {
            const double r = share.part, slope = (1 - r) / reference;
            const double curve =
                r * r * all.constant2 + 2 * r * slope * all.both + slope * slope * all.slope2;
            const double level = (r * all.constant + slope * all.slope) / curve;
            const double squares = all.squares(level * r, level * slope);
            const double log_weight = share.log_prior + line.log_probability(squares) +
                                      std::log(line.variance(squares) / weight) / 2;
            sum =
                log_weight > most ? sum * std::exp(most - log_weight) + 1 : sum + std::exp(log_weight - most);
            most = std::max(most, log_weight);
        }
        return most + std::log(sum);
    }

    void conclude(LaunchFloor& floor) const {
        double most = -std::numeric_limits<double>::infinity();
        for (const Part& part : parts_) most = std::max(most, part.log_weight);
        if (!std::isfinite(most)) return;
        double sum = 0;
        std::array<double, 3> first{}, second{};
        double best = 0, of_split = 0;
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const Part& part = parts_[i];
            const double weight = std::exp(part.log_weight - most);
            sum += weight;
            of_split = i > 0 && parts_[i - 1].split == part.split ? of_split + weight : weight;
            if (of_split > best) {
                best = of_split;
                floor.split = part.split;
            }
        }
        floor.log_odds = most + std::log(sum) - log_line();
        if (!(floor.log_odds > 0)) return;
        const auto values = [](const Part& part) {
            return std::array<double, 3>{part.log_floor, part.log_constant, part.log_slope};
        };
        for (const Part& part : parts_) {
            const double weight = std::exp(part.log_weight - most) / sum;
            for (std::size_t k = 0; k < 3; ++k) first[k] += weight * values(part)[k];
        }
        for (const Part& part : parts_) {
            const double weight = std::exp(part.log_weight - most) / sum;
            const std::array<double, 3> within{part.floor_variance, 0, part.slope_variance};
            for (std::size_t k = 0; k < 3; ++k)
                second[k] += weight * (square(values(part)[k] - first[k]) + within[k]);
        }
        floor.mean = first;
        floor.variance = second;
    }

    LaunchPrior prior_;
    std::array<Share, shares> shares_{};            ///< over three deviations on both sides
    std::array<Share, line_shares> line_shares_{};  ///< the same without a floor, over four deviations
    std::vector<ComputingTime> times_{};
    std::vector<Part> parts_{};
    std::vector<Sums> above_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
