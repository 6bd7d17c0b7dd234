#ifndef GOODPUT_AGENT_GRADIENT_METER_HPP
#define GOODPUT_AGENT_GRADIENT_METER_HPP

// Turns gradients into the norms from which the gradient noise scale is estimated (noise_scale.hpp). It
// does so for all parameter groups in one pass over memory per gradient, without keeping the gradients.
// With the n gradients g_q of a step and the optimiser's metric P, it computes for each group:
//
//     L = (1/n) sum_q |P^-1 g_q|^2          T = |P^-1 (1/n) sum_q g_q|^2
//
// If a step has a single gradient, it is paired with the step before it (differenced form). Both gradients
// are then measured in the metric P from before the earlier one. A later metric contains the earlier
// gradient (Adam's v does) and makes that gradient look smaller: on a quadratic function by 8 % of the
// squared norm over the first thirty steps.
//
// Gradients come in pieces, as frameworks hold them: one tensor after the other. Between the pieces the
// meter keeps the following in single precision:
//
//     the average is given                             nothing
//     the average is not given                         the sum: 4 bytes per parameter
//     a step has a single gradient (differenced form)  the previous gradient: 4 bytes per parameter
//     Adam, except in the first of these cases         in addition 1 / P^2: 4 bytes per parameter
//
// The first step of each of these kinds allocates this memory. Sums are computed in double precision.
//
// In data-parallel training every replica adds its own microbatches. Before end() the replicas sum
// running_sum() and totals() among themselves.
//
// An optimiser that divides gradients by a diagonal matrix P is affected by the noise of P^-1 g. Therefore
// the noise scale of its training is computed from norms in this metric (Pollux's released code,
// gradient_noise_scale.py):
//
//     SGD     P = 1
//     Adam    P_i = sqrt(v_i / (1 - beta2^step)) + epsilon       once step >= 5; before, v is too poor: P = 1
//
// Take P as it was before the optimiser's update. If v contained the measured gradient, large gradients
// would be divided by themselves.
//
// Such a v knows nothing of an entry that has had no gradient for a while, for example of a token embedding's
// rare rows. Their next gradient is then divided by almost nothing: squared norms of 1e13 were seen. Two
// rules, which TrainingAgent applies, prevent this:
//
// a) with_floor(): v_i counts as at least a fifth of its mean over the tensor. The mean of v is the mean
//    of g^2. So the expected squared norm is at most five times the number of entries, however rarely each
//    of them has a gradient. For a dense tensor the floor changes little.
// b) bounded_norms(): where v is known, the squared norm of a step's mean gradient is about the number of
//    parameters. A step above twice that number keeps the ratio of its norms, and counts for that number.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput::inline v0_1 {

/// The metric of Adam and AdamW. With step = 0 it is also the metric of SGD, P = 1.
template <std::floating_point Real>
struct AdamPreconditioner {
    /// Adam's second moments v, one per parameter, without the correction for their start at zero.
    std::span<const Real> second_moments{};
    std::int64_t step = 0;  ///< number of updates that v has seen
    double beta2 = 0.999;   ///< in (0, 1)
    double epsilon = 1e-8;  ///< above 0
    /// Second moments below this one count as this one; 0: no floor. with_floor() sets it.
    double least_moment = 0;

    /// Whether v has seen enough updates.
    [[nodiscard]] bool ready() const { return step >= 5; }

    /// 1 / P_i.
    [[nodiscard]] double inverse(std::size_t i) const { return inverse(i, correction()); }

    /// The same with correction() computed once for all parameters.
    [[nodiscard]] double inverse(std::size_t i, double correction) const {
        const double moment = std::max(static_cast<double>(second_moments[i]), least_moment);
        return 1 / (std::sqrt(moment * correction) + epsilon);
    }

    /// Returns this metric for the entries of one tensor, with a fifth of their mean as the least moment.
    [[nodiscard]] AdamPreconditioner with_floor() const {
        AdamPreconditioner floored = *this;
        if (!ready() || second_moments.empty()) return floored;
        std::array<double, 8> sums{};
        for (std::size_t i = 0; i < second_moments.size(); ++i)
            sums[i % sums.size()] += static_cast<double>(second_moments[i]);
        double sum = 0;
        for (const double part : sums) sum += part;
        floored.least_moment = 0.2 * sum / static_cast<double>(second_moments.size());
        return floored;
    }

    /// The factor that corrects v for its start at zero.
    [[nodiscard]] double correction() const {
        return -1 / std::expm1(static_cast<double>(step) * std::log(beta2));
    }

    /// Throws std::invalid_argument if the number of moments is not the number of parameters, or if a
    /// setting is out of range.
    void check(std::size_t parameters) const {
        require_fraction("Adam", "beta2", beta2);
        require_positive("Adam", "epsilon", epsilon);
        require_at_least("Adam", "step", static_cast<double>(step), 0);
        if (!(least_moment >= 0)) bad_input("Adam", "least moment", least_moment, "at least 0");
        if (ready() && second_moments.size() != parameters)
            bad_input("Adam", "number of second moments", second_moments.size(), text_of(parameters));
    }
};

/// Returns norms in Adam's metric of which one step cannot spoil an average. Both norms are divided by the
/// same number if the squared norm of the mean is above two per parameter, so their ratio remains. Groups of
/// less than a thousand parameters count as a thousand, because their norms exceed that by chance.
[[nodiscard]] inline GradientNorms bounded_norms(GradientNorms norms, std::size_t parameters) {
    const double most = 2 * std::max(static_cast<double>(parameters), 1000.0);
    if (!(norms.square_of_mean > most) || !std::isfinite(norms.square_of_mean)) return norms;
    norms.mean_of_squares *= most / norms.square_of_mean;
    norms.square_of_mean = most;
    return norms;
}

/// The result of metering the gradients of a step.
enum class StepNorms {
    known,       ///< the norms have been computed
    waiting,     ///< a single gradient, which must wait for the gradient of the next step
    not_finite,  ///< an overflow; the optimiser skips such a step
    lost         ///< norms too large to be averaged
};

/// Properties of a step that the meter must know before the step's gradients.
struct MeteredStep {
    double scale_of_one = 1;      ///< examples per gradient over the initial batch size
    bool single = false;          ///< whether the step has one gradient in total, over all replicas
    bool after_the_last = true;   ///< whether this step directly follows the last metered step
    bool before_the_next = true;  ///< whether the next step may be paired with this one if both are single
    double gradient_scale = 1;    ///< factor by which the gradients were multiplied (loss scaling), above 0
    bool preconditioned = false;  ///< whether P is not 1, because the step's preconditioners are ready()
};

/// Measures the norms of the gradients of successive steps.
class GradientMeter {
public:
    /// `group_sizes` holds the number of parameters of each group. If `mean_given`, the caller passes the
    /// mean of a step's gradients; else the meter sums the gradients. Throws std::invalid_argument if there
    /// is no group or a group is empty.
    explicit GradientMeter(std::vector<std::size_t> group_sizes, bool mean_given = false)
        : mean_given_(mean_given),
          ends_(std::move(group_sizes)),
          totals_(ends_.size() + 1, 0.0),
          mean_squares_(ends_.size(), 0.0),
          mean_square_set_(ends_.size(), false),
          previous_squares_(ends_.size(), 0.0),
          pair_squares_(ends_.size(), 0.0),
          both_squares_(ends_.size(), 0.0) {
        for (std::size_t& end : ends_) {
            if (end == 0) bad_input("gradients", "parameters of a group", end, "at least 1");
            parameters_ = end += parameters_;
        }
        if (ends_.empty()) bad_input("gradients", "parameter groups", ends_.size(), "at least 1");
    }

    /// Begins a step, and drops a step that has not ended. Throws std::invalid_argument if a scale is not
    /// positive.
    void begin(const MeteredStep& step);

    /// Adds the next piece of a microbatch's mean gradient, in the order of the parameters. After the last
    /// parameter, the next piece belongs to the next microbatch. `metric` is the part of P for this piece,
    /// from before the optimiser's update; it is not kept. Throws std::invalid_argument if the piece goes
    /// beyond the last parameter, if check() rejects the metric, or if the metric is ready() and the step
    /// is not `preconditioned`, or the reverse.
    template <std::floating_point Real, std::floating_point Moment = Real>
    void add(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric = {});

    /// Adds the next piece of the mean of all gradients, if the caller gives the mean. `scale` is the
    /// factor by which the mean was multiplied.
    template <std::floating_point Real, std::floating_point Moment = Real>
    void add_mean(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric = {},
                  double scale = 1);
    /// Sets the squared norm of a group's part of the mean, in place of add_mean(). It must then be set for
    /// all groups.
    void set_square_of_mean(std::size_t group, double square);

    /// Returns the sum of this replica's gradients. The caller replaces it by the sum over all replicas, in
    /// place. It is empty if the caller gives the mean or the step has a single gradient.
    [[nodiscard]] std::span<float> running_sum() {
        return mean_given_ || step_.single ? std::span<float>() : std::span<float>(kept_);
    }
    /// Returns the sums of squared norms by group, followed by the number of gradients. The caller replaces
    /// them by the sums over all replicas, in place.
    [[nodiscard]] std::span<double> totals() { return totals_; }
    /// Returns the number of complete gradients; once totals() are summed over replicas, the number over
    /// all of them.
    [[nodiscard]] int count() const { return static_cast<int>(totals_.back()); }

    /// Ends the step. Writes the norms of each group if they are known. Throws std::invalid_argument if the
    /// step has no gradient, an unfinished one, or no mean although the mean is given by the caller.
    StepNorms end(std::span<GradientNorms> norms);

    /// Drops the present step and the gradient of the previous step.
    void forget() { begun_ = has_previous_ = false; }

    /// The metric of the last norms. Norms in another metric must not be averaged with them, so save this
    /// together with the estimates.
    struct Metric {
        bool preconditioned = false;  ///< whether P is not 1
        double scale = 0;  ///< if preconditioned: the step's scale_of_one, because the moments depend on it
        /// Equal metrics.
        friend bool operator==(const Metric&, const Metric&) = default;
    };
    /// The metric of the last norms; empty before the first norms.
    [[nodiscard]] const std::optional<Metric>& reported() const { return reported_; }
    /// Forgets as forget() does, and continues as if the last norms had been in this metric.
    void restore(const std::optional<Metric>& reported) {
        forget();
        reported_ = reported;
    }

private:
    static constexpr std::size_t block_size = 512;  ///< numbers per block; a block fits the first-level cache
    using Block = std::array<double, block_size>;

    /// Divides a piece that begins at parameter `first` into blocks. Calls `use(values, weights or null,
    /// first, size, group)` for each of them.
    template <class Real, class Moment, class Use>
    void for_each_block(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric,
                        std::size_t first, double scale, const Use& use);
    /// Whether the gradient needs its own metric. A gradient that is only paired with the previous one is
    /// measured in the metric of the previous one.
    [[nodiscard]] bool weighted() const { return step_.preconditioned && keeps(); }
    [[nodiscard]] bool keeps() const { return !step_.single || step_.before_the_next; }
    [[nodiscard]] Metric metric() const {
        return {step_.preconditioned, step_.preconditioned ? step_.scale_of_one * totals_.back() : 0};
    }
    /// Throws std::invalid_argument if a piece of this size or metric is not possible while `left`
    /// parameters are missing.
    template <class Moment>
    void require_piece(std::size_t size, std::size_t left, const AdamPreconditioner<Moment>& metric) const;
    StepNorms end_single(std::span<GradientNorms> norms);
    StepNorms end_several(std::span<GradientNorms> norms);

    bool mean_given_;
    std::size_t parameters_ = 0;
    std::vector<std::size_t> ends_;  ///< end of each group
    std::vector<float> kept_{};      ///< the sum of the step's gradients, or the previous gradient
    std::vector<float> weights_{};   ///< 1 / P^2 that belongs to kept_
    std::vector<double> totals_;
    std::vector<double> mean_squares_;      ///< squared norms of the mean, by group
    std::vector<bool> mean_square_set_;     ///< by group: whether set_square_of_mean() was called
    std::vector<double> previous_squares_;  ///< squared norms of the previous gradient, in its own metric
    /// Squared norms of this gradient and of the sum, in the previous metric.
    std::vector<double> pair_squares_, both_squares_;
    MeteredStep step_{};
    std::size_t position_ = 0, mean_position_ = 0;
    Metric previous_metric_{};
    std::optional<Metric> reported_{};
    double previous_scale_ = 0;
    bool begun_ = false;
    /// Whether kept_ holds a previous gradient; whether this step is paired with it.
    bool has_previous_ = false, pairs_ = false;
};

/// Estimates the noise scale of a model whose parameters form groups with their own learning rates. It has
/// one estimator per group (fit/noise_scale.hpp). Squared norms and traces of covariances add up over
/// groups, so the job's statistics are the sums over its groups. Learning-rate rules use the statistics of
/// each group.
class GroupedNoiseScale {
public:
    /// `smoothing` is as in NoiseScaleEstimator. Throws std::invalid_argument if there are no groups.
    explicit GroupedNoiseScale(std::size_t groups, double smoothing = 0.999)
        : groups_(groups, NoiseScaleEstimator(smoothing)) {
        if (groups == 0) bad_input("noise scale", "parameter groups", groups, "at least 1");
    }

    /// Number of groups.
    [[nodiscard]] std::size_t size() const { return groups_.size(); }

    /// Takes in the norms of a step, one entry per group. If the norms of any group are not finite, it
    /// skips the step in all groups and returns false, because the optimiser skips it, too. Throws
    /// std::invalid_argument and stays unchanged if the number of groups is wrong, or if
    /// NoiseScaleEstimator::observe() rejects the norms.
    bool observe(std::span<const GradientNorms> step) {
        if (step.size() != groups_.size())
            bad_input("noise scale", "parameter groups of a step", step.size(), text_of(groups_.size()));
        bool finite = true;
        for (const GradientNorms& norms : step) finite = NoiseScaleEstimator::usable(norms) && finite;
        for (std::size_t g = 0; g < step.size(); ++g) {
            if (finite)
                groups_[g].observe(step[g]);
            else if (step[g].restart)
                groups_[g].reset();
        }
        return finite;
    }

    /// Returns the statistics of one group; `group` must be below size().
    [[nodiscard]] GradientStatistics statistics(std::size_t group) const {
        return groups_[group].statistics();
    }

    /// Returns the state of a group's estimator; `group` must be below size().
    [[nodiscard]] NoiseScaleState state(std::size_t group) const { return groups_[group].state(); }
    /// Restores the state of a group's estimator; `group` must be below size(). Throws the exceptions of
    /// NoiseScaleEstimator::restore().
    void restore(std::size_t group, const NoiseScaleState& state) { groups_[group].restore(state); }

    /// Returns the sums over all groups, as efficiency models and the scheduler expect them. Zero before
    /// the first step.
    [[nodiscard]] GradientStatistics statistics() const {
        GradientStatistics sum;
        for (const NoiseScaleEstimator& group : groups_) sum += group.statistics();
        return sum;
    }

private:
    std::vector<NoiseScaleEstimator> groups_;
};

}  // namespace goodput::inline v0_1

#include "goodput/agent/detail/gradient_meter.hpp"

#endif
