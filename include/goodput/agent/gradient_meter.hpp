#ifndef GOODPUT_AGENT_GRADIENT_METER_HPP
#define GOODPUT_AGENT_GRADIENT_METER_HPP

// Norms of a step's gradients, of all parameter groups in one pass over memory for each gradient. The sums
// are those of GradientStream (fit/gradient_stream.hpp):
//
//     L = (1/n) sum_q |P^-1 g_q|^2          T = |P^-1 (1/n) sum_q g_q|^2
//
// and what is different serves large models. Gradients come in pieces, as frameworks hold them, a tensor
// after the other. What has to be kept is kept in single precision:
//
//     the average is given (TrainingSettings::mean_gradient_given)   nothing
//     it is not                                                      the sum: 4 bytes a parameter
//     a step has a single gradient (differenced form)                that of the step before: 4 bytes
//     and with Adam, but for the first of these                      1 / P^2: 4 bytes more
//
// which is allocated in the first step of its kind. Sums are added up in double precision.

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "goodput/agent/training_settings.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/gradient_preconditioner.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput {

/// What a step's gradients said.
enum class StepNorms {
    known,       ///< the norms are there
    waiting,     ///< a single gradient, which has to wait for that of the next step
    not_finite,  ///< an overflow: the optimiser leaves out such a step
    lost         ///< norms so large that no average could take them in
};

/// What the meter has to know of a step before its gradients.
struct MeteredStep {
    double scale_of_one = 1;        ///< examples of one gradient, over the initial batch size
    bool single = false;            ///< the step has one gradient in all, on all replicas together
    bool after_the_last = true;     ///< directly after the last step that was metered
    bool before_the_next = true;    ///< the next step may be paired with this one, if both are single
    double gradient_scale = 1;      ///< what gradients are multiplied by (loss scaling); above 0
    std::int64_t adam_updates = 0;  ///< with Adam: updates that the second moments have seen
};

/// Norms of the gradients of one step after the other.
class GradientMeter {
public:
    /// Takes sizes, optimiser and mean_gradient_given from `settings`, which validate() has accepted.
    explicit GradientMeter(const TrainingSettings& settings)
        : adam_{.beta2 = settings.adam_beta2, .epsilon = settings.adam_epsilon},
          adam_used_(settings.optimizer == Optimizer::adam),
          mean_given_(settings.mean_gradient_given),
          parameters_(settings.parameters),
          totals_(settings.groups() + 1, 0.0),
          mean_squares_(settings.groups(), 0.0),
          mean_square_set_(settings.groups(), false),
          previous_squares_(settings.groups(), 0.0),
          pair_squares_(settings.groups(), 0.0),
          both_squares_(settings.groups(), 0.0) {
        for (std::size_t g = 0, end = 0; g < settings.groups(); ++g)
            ends_.push_back(end += settings.group_size(g));
    }

    /// Begins a step; one that was begun and not ended is dropped. Refuses scales that are not positive and
    /// negative updates (std::invalid_argument).
    void begin(const MeteredStep& step);

    /// Adds the next piece of a microbatch's mean gradient, in the order of the parameters; when all of them
    /// are there, the next piece is that of the next microbatch. Refuses a piece that goes beyond the last
    /// parameter (std::invalid_argument).
    template <std::floating_point Real>
    void add(std::span<const Real> piece) {
        add(piece, std::span<const Real>());
    }
    /// The same with the piece's second moments, as long as the optimiser's update has not changed them
    /// (only of Adam after five updates, else they are not read). Refuses another number of moments.
    template <std::floating_point Real, std::floating_point Moment>
    void add(std::span<const Real> piece, std::span<const Moment> second_moments);

    /// Adds the next piece of the mean of all gradients, where that is given; `scale` is what it is
    /// multiplied by.
    template <std::floating_point Real, std::floating_point Moment>
    void add_mean(std::span<const Real> piece, std::span<const Moment> second_moments, double scale);
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
    std::optional<Metric> reported{};

private:
    static constexpr std::size_t block_size = 512;  ///< numbers at a time: stays in the first cache
    using Block = std::array<double, block_size>;

    /// Calls `use(values, weights or null, first, size, group)` for the blocks of a piece that begins at
    /// parameter `first`.
    template <class Real, class Moment, class Use>
    void for_each_block(std::span<const Real> piece, std::span<const Moment> moments, std::size_t first,
                        double scale, const Use& use);
    /// Its own metric is not needed of a gradient that is only paired with the one before.
    [[nodiscard]] bool weighted() const { return preconditioned_ && keeps(); }
    [[nodiscard]] bool keeps() const { return !step_.single || step_.before_the_next; }
    [[nodiscard]] Metric metric() const {
        return {preconditioned_, preconditioned_ ? step_.scale_of_one * totals_.back() : 0};
    }
    void allocate();
    StepNorms end_single(std::span<GradientNorms> norms);
    StepNorms end_several(std::span<GradientNorms> norms);

    AdamPreconditioner<double> adam_;
    bool adam_used_, mean_given_;
    std::size_t parameters_;
    std::vector<std::size_t> ends_{};  ///< of each group
    std::vector<float> kept_{};        ///< the sum of the step, or the gradient of the step before
    std::vector<float> weights_{};     ///< 1 / P^2 that goes with it
    std::vector<double> totals_;
    std::vector<double> mean_squares_;                 ///< of the mean, by group
    std::vector<bool> mean_square_set_;                ///< by group, which of them were given as such
    std::vector<double> previous_squares_;             ///< of the step before, in its own metric
    std::vector<double> pair_squares_, both_squares_;  ///< of this one and of both, in the metric before
    MeteredStep step_{};
    std::size_t position_ = 0, mean_position_ = 0;
    Metric previous_metric_{};
    double previous_scale_ = 0;
    bool preconditioned_ = false, begun_ = false;
    bool has_previous_ = false, pairs_ = false;  ///< a gradient is kept; this step is paired with it
};

}  // namespace goodput

#include "goodput/agent/detail/gradient_meter.hpp"

#endif
