#ifndef GOODPUT_AGENT_GRADIENT_METER_HPP
#define GOODPUT_AGENT_GRADIENT_METER_HPP

// From gradients to the norms that the noise scale is estimated from (noise_scale.hpp), of all parameter
// groups in one pass over memory for each gradient, without keeping the gradients:
//
//     L = (1/n) sum_q |P^-1 g_q|^2          T = |P^-1 (1/n) sum_q g_q|^2
//
// A step with a single gradient is paired with the one before (differenced form). Both are then measured in
// the metric P from before the earlier of them: later ones contain it (Adam's v does) and make it look
// smaller, on a quadratic the squared norm by 8 % over the first thirty steps.
//
// Gradients come in pieces, as frameworks hold them, a tensor after the other. What has to be kept is kept in
// single precision:
//
//     the average is given                             nothing
//     it is not                                        the sum: 4 bytes a parameter
//     a step has a single gradient (differenced form)  that of the step before: 4 bytes
//     and with Adam, but for the first of these        1 / P^2: 4 bytes more
//
// which is allocated in the first step of its kind. Sums are added up in double precision.
//
// In data-parallel training every replica adds its own microbatches; running_sum() and totals() are what the
// replicas then add up among them, before end().
//
// In which metric is a gradient's norm taken? An optimiser that divides gradients by a diagonal P sees the
// noise of P^-1 g, so that is what the noise scale of its training is computed from (Pollux's released code,
// gradient_noise_scale.py):
//
//     SGD     P = 1
//     Adam    P_i = sqrt(v_i / (1 - beta2^step)) + epsilon       once step >= 5; before, v is too poor: P = 1
//
// v must not contain the gradient that is measured yet, or large gradients divide themselves by themselves:
// take P before the optimiser's update.

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

namespace goodput {

/// The metric of Adam and AdamW; of SGD, too, whose P is 1, with no steps.
template <std::floating_point Real>
struct AdamPreconditioner {
    std::span<const Real> second_moments{};  ///< v, not corrected for its start; one a parameter
    std::int64_t step = 0;                   ///< updates that v has seen
    double beta2 = 0.999;                    ///< in (0, 1)
    double epsilon = 1e-8;                   ///< above 0

    /// Whether v has seen enough updates.
    [[nodiscard]] bool ready() const { return step >= 5; }

    /// 1 / P_i.
    [[nodiscard]] double inverse(std::size_t i) const { return inverse(i, correction()); }

    /// The same with correction() computed once for all parameters.
    [[nodiscard]] double inverse(std::size_t i, double correction) const {
        return 1 / (std::sqrt(static_cast<double>(second_moments[i]) * correction) + epsilon);
    }

    /// What v is multiplied by for its start at zero.
    [[nodiscard]] double correction() const {
        return -1 / std::expm1(static_cast<double>(step) * std::log(beta2));
    }

    /// Refuses another number of moments than parameters, and settings outside their ranges.
    void check(std::size_t parameters) const {
        if (!(beta2 > 0 && beta2 < 1)) bad_input("Adam", "beta2", beta2, "between 0 and 1");
        require_positive("Adam", "epsilon", epsilon);
        require_at_least("Adam", "step", static_cast<double>(step), 0);
        if (ready() && second_moments.size() != parameters)
            bad_input("Adam", "number of second moments", second_moments.size(), text_of(parameters));
    }
};

/// What a step's gradients said.
enum class StepNorms {
    known,       ///< the norms are there
    waiting,     ///< a single gradient, which has to wait for that of the next step
    not_finite,  ///< an overflow: the optimiser leaves out such a step
    lost         ///< norms so large that no average could take them in
};

/// What the meter has to know of a step before its gradients.
struct MeteredStep {
    double scale_of_one = 1;      ///< examples of one gradient, over the initial batch size
    bool single = false;          ///< the step has one gradient in all, on all replicas together
    bool after_the_last = true;   ///< directly after the last step that was metered
    bool before_the_next = true;  ///< the next step may be paired with this one, if both are single
    double gradient_scale = 1;    ///< what gradients are multiplied by (loss scaling); above 0
    bool preconditioned = false;  ///< P is not 1: the preconditioners of the step are ready()
};

/// Norms of the gradients of one step after the other.
class GradientMeter {
public:
    /// Of so many parameters in each group, and whether the mean of a step's gradients is given (else it is
    /// summed up). Refuses no groups, and empty ones (std::invalid_argument).
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

    /// Begins a step; one that was begun and not ended is dropped. Refuses scales that are not positive
    /// (std::invalid_argument).
    void begin(const MeteredStep& step);

    /// Adds the next piece of a microbatch's mean gradient, in the order of the parameters; when all of them
    /// are there, the next piece is that of the next microbatch. `metric` is the piece's part of P, from
    /// before the optimiser's update; it is not kept. Refuses a piece that goes beyond the last parameter, a
    /// metric that check() refuses, and one that is ready where the step is not or the other way round
    /// (std::invalid_argument).
    template <std::floating_point Real, std::floating_point Moment = Real>
    void add(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric = {});

    /// Adds the next piece of the mean of all gradients, where that is given; `scale` is what it is
    /// multiplied by.
    template <std::floating_point Real, std::floating_point Moment = Real>
    void add_mean(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric = {},
                  double scale = 1);
    /// The squared norm of a group's part of it, by who has it already; of all groups then.
    void set_square_of_mean(std::size_t group, double square);

    /// Sum of this replica's gradients, to be summed over replicas in place; empty where the mean is given.
    [[nodiscard]] std::span<float> running_sum() {
        return mean_given_ || step_.single ? std::span<float>() : std::span<float>(kept_);
    }
    /// Sums of squared norms by group, then the number of gradients: to be summed over replicas in place.
    [[nodiscard]] std::span<double> totals() { return totals_; }
    /// Number of gradients that are complete, after a reduction those of all replicas.
    [[nodiscard]] int count() const { return static_cast<int>(totals_.back()); }

    /// Ends the step; fills in the norms of each group where they are known. Refuses a step without
    /// gradients, with an unfinished one, or whose mean is missing (std::invalid_argument).
    StepNorms end(std::span<GradientNorms> norms);

    /// Drops the step that is begun, and the gradient of the step before.
    void forget() { begun_ = has_previous_ = false; }

    /// In which metric the last norms were: a later one in another must not be averaged with them. To be kept
    /// with the estimates.
    struct Metric {
        bool preconditioned = false;  ///< P is not 1
        double scale = 0;             ///< then: of the step, because moments depend on it
        /// Same metric.
        friend bool operator==(const Metric&, const Metric&) = default;
    };
    /// None before the first norms.
    [[nodiscard]] const std::optional<Metric>& reported() const { return reported_; }
    /// forget(), and goes on as if the last norms had been in that metric.
    void restore(const std::optional<Metric>& reported) {
        forget();
        reported_ = reported;
    }

private:
    static constexpr std::size_t block_size = 512;  ///< numbers at a time: stays in the first cache
    using Block = std::array<double, block_size>;

    /// Calls `use(values, weights or null, first, size, group)` for the blocks of a piece that begins at
    /// parameter `first`.
    template <class Real, class Moment, class Use>
    void for_each_block(std::span<const Real> piece, const AdamPreconditioner<Moment>& metric,
                        std::size_t first, double scale, const Use& use);
    /// Its own metric is not needed of a gradient that is only paired with the one before.
    [[nodiscard]] bool weighted() const { return step_.preconditioned && keeps(); }
    [[nodiscard]] bool keeps() const { return !step_.single || step_.before_the_next; }
    [[nodiscard]] Metric metric() const {
        return {step_.preconditioned, step_.preconditioned ? step_.scale_of_one * totals_.back() : 0};
    }
    /// Refuses a piece that cannot come next in what has `left` parameters to come.
    template <class Moment>
    void require_piece(std::size_t size, std::size_t left, const AdamPreconditioner<Moment>& metric) const;
    StepNorms end_single(std::span<GradientNorms> norms);
    StepNorms end_several(std::span<GradientNorms> norms);

    bool mean_given_;
    std::size_t parameters_ = 0;
    std::vector<std::size_t> ends_;  ///< of each group
    std::vector<float> kept_{};      ///< the sum of the step, or the gradient of the step before
    std::vector<float> weights_{};   ///< 1 / P^2 that goes with it
    std::vector<double> totals_;
    std::vector<double> mean_squares_;                 ///< of the mean, by group
    std::vector<bool> mean_square_set_;                ///< by group, which of them were given as such
    std::vector<double> previous_squares_;             ///< of the step before, in its own metric
    std::vector<double> pair_squares_, both_squares_;  ///< of this one and of both, in the metric before
    MeteredStep step_{};
    std::size_t position_ = 0, mean_position_ = 0;
    Metric previous_metric_{};
    std::optional<Metric> reported_{};
    double previous_scale_ = 0;
    bool begun_ = false;
    bool has_previous_ = false, pairs_ = false;  ///< a gradient is kept; this step is paired with it
};

/// The noise scale of a model whose parameters form groups with learning rates of their own: an estimator for
/// each (fit/noise_scale.hpp). Squared norms and traces of covariances add up over groups, so the statistics
/// of the job are the sums of those of its groups; learning-rate rules look at each group alone.
class GroupedNoiseScale {
public:
    /// `smoothing` as in NoiseScaleEstimator. Refuses zero groups (std::invalid_argument).
    explicit GroupedNoiseScale(std::size_t groups, double smoothing = 0.999)
        : groups_(groups, NoiseScaleEstimator(smoothing)) {
        if (groups == 0) bad_input("noise scale", "parameter groups", groups, "at least 1");
    }

    /// Number of groups.
    [[nodiscard]] std::size_t size() const { return groups_.size(); }

    /// Takes in a step: the norms of each group. A step that is not finite in any group is skipped in all of
    /// them, because the optimiser skips it too: false. Refuses another number of groups, and what
    /// NoiseScaleEstimator::observe() refuses, and is unchanged then (std::invalid_argument).
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

    /// Statistics of one group; `group` below size().
    [[nodiscard]] GradientStatistics statistics(std::size_t group) const {
        return groups_[group].statistics();
    }

    /// What the estimator of a group remembers; `group` below size().
    [[nodiscard]] NoiseScaleState state(std::size_t group) const { return groups_[group].state(); }
    /// Goes on from there; `group` below size(). Refuses what NoiseScaleEstimator::restore() refuses.
    void restore(std::size_t group, const NoiseScaleState& state) { groups_[group].restore(state); }

    /// Their sum: what efficiency models and the scheduler take. Zero before the first step.
    [[nodiscard]] GradientStatistics statistics() const {
        GradientStatistics sum;
        for (const NoiseScaleEstimator& group : groups_) {
            const GradientStatistics part = group.statistics();
            sum.squared_norm += part.squared_norm;
            sum.variance += part.variance;
        }
        return sum;
    }

private:
    std::vector<NoiseScaleEstimator> groups_;
};

}  // namespace goodput

#include "goodput/agent/detail/gradient_meter.hpp"

#endif
