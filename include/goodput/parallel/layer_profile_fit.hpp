#ifndef GOODPUT_PARALLEL_LAYER_PROFILE_FIT_HPP
#define GOODPUT_PARALLEL_LAYER_PROFILE_FIT_HPP

// Estimates layer times that were not measured from those that were, and how certain the estimates are.
//
// Profiling a large model at each micro-batch and tensor-parallel degree on each GPU type takes hours, so
// profiles have gaps. The logarithm of a layer's time (forward, backward and update separately) is modelled
// as a sum of smooth functions of x = log2(micro-batch) and y = log2(degree),
//
//     ln t(type, x, y) = slope_x x + slope_y y + A(x) + B(y) + C(x, y)           the same on all GPU types
//                      + offset(type) + a_type(x) + b_type(y) + c_type(x, y)     a type's own
//                      + noise
//
// where A, B, a, b are each a random slope and a random smooth function, and C and c are small and smooth,
// all normally distributed (a Gaussian process, Rasmussen and Williams 2006, section 2). A gap between
// measurements on the same type is therefore interpolated. A type with a single measurement gets the other
// types' curves, scaled through that measurement, with the spread that such curves have between types. In
// the prior, time grows nearly in proportion to the micro-batch and falls somewhat with the degree. If a
// model's times are rougher or smoother than the prior says, the deviations grow or shrink with them (an
// inverse gamma distribution of the scale with 4 degrees of freedom, by layer and part).
//
// The prior's standard deviations were chosen by likelihood on the profiles of four models on two to seven
// GPU types. They were then widened until 90 % intervals held about 90 % of the left-out times, because
// consumer GPUs without fast links differ more from other GPUs than those differ among each other.
// benchmarks/accuracy/parallel_fit_check.cpp prints errors and coverage.
//
// All layers share the covariances. The cost is one Cholesky factorisation over all measurements (type,
// micro-batch, degree), about a hundred, and one solution per layer: milliseconds. Sizes are never
// estimated.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/core/error.hpp"
#include "goodput/parallel/layered_model.hpp"

namespace goodput::inline v0_1 {

/// Options that select the gaps to fill.
struct LayerProfileFitOptions {
    /// Fills a gap only if the standard deviation of ln(computing time of all layers) is at most this; at
    /// least 0, may be infinite.
    double most_deviation = 0.15;
    /// Micro-batches to fill; if empty, all that were measured on any type.
    std::vector<int> microbatches{};
    /// Degrees to fill, in the same way; degrees without known sizes are left out.
    std::vector<int> tensor_parallel{};
};

/// A gap, and how certain its times are.
struct FilledProfile {
    std::size_t gpu_type = 0;  ///< index into LayeredModel::times
    LayerProfileKey key{};     ///< micro-batch and degree
    /// Standard deviation of ln(forward + backward of all layers), which is about the relative error.
    double deviation = 0;
    /// The same deviation by layer, of its forward + backward.
    std::vector<double> layer_deviations{};
};

/// A model with its gaps filled.
struct LayerProfileFit {
    LayeredModel model{};                        ///< measured times are unchanged
    std::vector<FilledProfile> filled{};         ///< filled gaps by type, micro-batch, degree
    std::vector<FilledProfile> too_uncertain{};  ///< gaps that were left, in the same order
};

/// Returns the model with its gaps filled on all GPU types with at least one measurement. Throws
/// std::invalid_argument for bad models (LayeredModel::validate), for micro-batches below 1 or above 2^20,
/// for degrees below 1 or above 2^10, and for a limit that is negative or NaN.
[[nodiscard]] LayerProfileFit fill_layer_times(const LayeredModel& model,
                                               const LayerProfileFitOptions& options = {});

namespace detail {

/// A point at which a time was or could be measured.
struct ProfilePoint {
    std::size_t gpu_type = 0;      ///< index into LayeredModel::times
    LayerProfileKey key{};         ///< micro-batch and degree
    double batch = 0, degree = 0;  ///< log2

    ProfilePoint(std::size_t type, LayerProfileKey at)
        : gpu_type(type), key(at), batch(std::log2(at.microbatch)), degree(std::log2(at.tensor_parallel)) {}
};

/// The standard deviations of a sum of smooth functions of micro-batch and degree.
struct ProfileSpread {
    double offset, batch_slope, batch_bend, degree_slope, degree_bend, together;
};
inline constexpr ProfileSpread spread_of_all{2, 0.4, 0.1, 0.4, 0.2, 0.1};
inline constexpr ProfileSpread spread_of_type{0.8, 0.06, 0.05, 0.25, 0.15, 0.1};
inline constexpr double profile_noise = 0.03;
inline constexpr double profile_scale_freedom = 4;

inline double profile_square(double value) { return value * value; }

inline double profile_covariance(const ProfilePoint& p, const ProfilePoint& q) {
    // Correlations extend over about 2.5 doublings of the micro-batch and 1.2 of the degree. Slopes pivot
    // at about 4 samples and degree 2.
    const double near_batch = std::exp(-0.5 * profile_square((p.batch - q.batch) / 2.5)),
                 near_degree = std::exp(-0.5 * profile_square((p.degree - q.degree) / 1.2));
    const auto covariance = [&](const ProfileSpread& by) {
        return profile_square(by.offset) + profile_square(by.batch_slope) * (p.batch - 2) * (q.batch - 2) +
               profile_square(by.batch_bend) * near_batch +
               profile_square(by.degree_slope) * (p.degree - 1) * (q.degree - 1) +
               profile_square(by.degree_bend) * near_degree +
               profile_square(by.together) * near_batch * near_degree;
    };
    return covariance(spread_of_all) + (p.gpu_type == q.gpu_type ? covariance(spread_of_type) : 0);
}

/// One part of a layer's time, with the prior's slopes.
struct ProfilePart {
    double LayerTime::*seconds;
    double batch_slope, degree_slope;
};
inline constexpr std::array profile_parts{ProfilePart{&LayerTime::forward_seconds, 0.95, -0.7},
                                          ProfilePart{&LayerTime::backward_seconds, 0.95, -0.7},
                                          ProfilePart{&LayerTime::update_seconds, 0, -0.9}};

/// The medians and the standard deviations of logarithms at the requested points.
struct ProfileForecast {
    Eigen::VectorXd seconds, deviations;
};

/// Everything about measured points and gaps that does not depend on the layer.
class ProfilePosterior {
public:
    ProfilePosterior(std::vector<ProfilePoint> known, const std::vector<ProfilePoint>& asked)
        : known_(std::move(known)), asked_(asked) {
        const auto n = static_cast<Eigen::Index>(known_.size()), m = static_cast<Eigen::Index>(asked.size());
        const auto point = [](const std::vector<ProfilePoint>& points,
                              Eigen::Index i) -> const ProfilePoint& {
            return points[static_cast<std::size_t>(i)];
        };
        const auto among_known = [&](Eigen::Index i, Eigen::Index j) {
            return profile_covariance(point(known_, i), point(known_, j)) +
                   (i == j ? profile_square(profile_noise) : 0);
        };
        factor_.compute(Eigen::MatrixXd::NullaryExpr(n, n, among_known));
        if (factor_.info() != Eigen::Success)  // the noise on the diagonal rules this out
            bad_input("layer times", "covariance", "not", "positive definite");
        reduced_ = Eigen::MatrixXd::NullaryExpr(n, m, [&](Eigen::Index i, Eigen::Index j) {
            return profile_covariance(point(known_, i), point(asked_, j));
        });
        factor_.matrixL().solveInPlace(reduced_);
        deviations_.resize(m);
        for (Eigen::Index j = 0; j < m; ++j) {
            const double rest =
                profile_covariance(point(asked_, j), point(asked_, j)) - reduced_.col(j).squaredNorm();
            deviations_[j] = std::sqrt(profile_square(profile_noise) + std::max(rest, 0.0));
        }
    }

    /// Forecasts from one layer's `seconds` at the known points. A part that is 0 everywhere stays 0.
    [[nodiscard]] ProfileForecast forecast(const ProfilePart& part, const Eigen::VectorXd& seconds) const {
        ProfileForecast made{Eigen::VectorXd::Zero(deviations_.size()),
                             Eigen::VectorXd::Zero(deviations_.size())};
        if (!(seconds.maxCoeff() > 0)) return made;
        const auto expected = [&](const std::vector<ProfilePoint>& points) {
            return Eigen::ArrayXd::NullaryExpr(static_cast<Eigen::Index>(points.size()), [&](Eigen::Index i) {
                const ProfilePoint& point = points[static_cast<std::size_t>(i)];
                return part.batch_slope * point.batch + part.degree_slope * point.degree;
            });
        };
        Eigen::VectorXd residual = seconds.array().max(1e-9).log() - expected(known_);
        const double level = residual.mean();
        residual.array() -= level;
        factor_.matrixL().solveInPlace(residual);
        const double scale = (profile_scale_freedom + residual.squaredNorm()) /
                             (profile_scale_freedom + static_cast<double>(residual.size()));
        made.deviations = std::sqrt(scale) * deviations_;
        made.seconds = ((reduced_.transpose() * residual).array() + level + expected(asked_)).exp();
        return made;
    }

private:
    std::vector<ProfilePoint> known_;
    const std::vector<ProfilePoint>& asked_;
    Eigen::LLT<Eigen::MatrixXd> factor_{};
    Eigen::MatrixXd reduced_{};
    Eigen::VectorXd deviations_{};
};

/// Returns the combinations that were not measured, on types with a measurement.
inline std::vector<ProfilePoint> profile_gaps(const LayeredModel& model,
                                              const LayerProfileFitOptions& options) {
    std::set<int> microbatches(options.microbatches.begin(), options.microbatches.end()),
        degrees(options.tensor_parallel.begin(), options.tensor_parallel.end());
    for (const auto& type : model.times)
        for (const auto& [key, times] : type) {
            if (options.microbatches.empty()) microbatches.insert(key.microbatch);
            if (options.tensor_parallel.empty()) degrees.insert(key.tensor_parallel);
        }
    std::vector<ProfilePoint> gaps;
    for (std::size_t type = 0; type < model.times.size(); ++type)
        for (const int microbatch : microbatches)
            for (const int degree : degrees)
                if (!model.times[type].empty() && model.sizes_of(degree) != nullptr &&
                    model.times_of(type, {microbatch, degree}) == nullptr)
                    gaps.emplace_back(type, LayerProfileKey{microbatch, degree});
    return gaps;
}

}  // namespace detail

inline LayerProfileFit fill_layer_times(const LayeredModel& model, const LayerProfileFitOptions& options) {
    model.validate();
    const auto subject = [&] { return "model '" + model.name + "'"; };
    if (!(options.most_deviation >= 0))
        bad_input(subject(), "most_deviation", options.most_deviation, "a number of at least 0");
    for (const int microbatch : options.microbatches)
        require_between(subject, "microbatch to fill", microbatch, 1, 1 << 20);
    for (const int degree : options.tensor_parallel)
        require_between(subject, "tensor_parallel to fill", degree, 1, 1 << 10);

    LayerProfileFit fit;
    fit.model = model;
    const std::vector<detail::ProfilePoint> gaps = detail::profile_gaps(model, options);
    if (gaps.empty()) return fit;
    std::vector<detail::ProfilePoint> known;
    for (std::size_t type = 0; type < model.times.size(); ++type)
        for (const auto& [key, times] : model.times[type]) known.emplace_back(type, key);
    const detail::ProfilePosterior posterior(known, gaps);

    std::vector<std::vector<LayerTime>> times(gaps.size(), std::vector<LayerTime>(model.layers));
    std::vector<FilledProfile> made;
    for (const detail::ProfilePoint& gap : gaps)
        made.push_back({gap.gpu_type, gap.key, 0, std::vector<double>(model.layers, 0.0)});
    Eigen::VectorXd seconds(static_cast<Eigen::Index>(known.size()));
    for (std::size_t layer = 0; layer < model.layers; ++layer)
        for (const detail::ProfilePart& part : detail::profile_parts) {
            for (std::size_t i = 0; i < known.size(); ++i)
                seconds[static_cast<Eigen::Index>(i)] =
                    (*model.times_of(known[i].gpu_type, known[i].key))[layer].*part.seconds;
            const detail::ProfileForecast forecast = posterior.forecast(part, seconds);
            for (std::size_t g = 0; g < gaps.size(); ++g) {
                const auto at = static_cast<Eigen::Index>(g);
                times[g][layer].*part.seconds = forecast.seconds[at];
                // The errors of parts and layers are correlated, because a type's curve is wrong for all of
                // them, so deviations add up.
                if (part.seconds != &LayerTime::update_seconds)
                    made[g].layer_deviations[layer] += forecast.seconds[at] * forecast.deviations[at];
            }
        }
    for (std::size_t g = 0; g < gaps.size(); ++g) {
        double computing = 0, spread = 0;
        for (std::size_t layer = 0; layer < model.layers; ++layer) {
            const double own = times[g][layer].forward_seconds + times[g][layer].backward_seconds;
            double& deviation = made[g].layer_deviations[layer];
            computing += own;
            spread += deviation;
            deviation = own > 0 ? deviation / own : 0;
        }
        made[g].deviation = computing > 0 ? spread / computing : 0;
        if (made[g].deviation > options.most_deviation) {
            fit.too_uncertain.push_back(std::move(made[g]));
            continue;
        }
        fit.model.times[gaps[g].gpu_type][gaps[g].key] = std::move(times[g]);
        fit.filled.push_back(std::move(made[g]));
    }
    return fit;
}

}  // namespace goodput::inline v0_1

#endif
