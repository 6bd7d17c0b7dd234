#ifndef GOODPUT_AGENT_GRADIENT_GROUPS_HPP
#define GOODPUT_AGENT_GRADIENT_GROUPS_HPP

// The noise scale of a model whose parameters form groups with learning rates of their own: an estimator for
// each (noise_scale.hpp). Squared norms and traces of covariances add up over groups, so the statistics of
// the job are the sums of those of its groups; learning-rate rules look at each group alone
// (agent/learning_rate.hpp).

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/noise_scale.hpp"

namespace goodput {

/// One noise scale estimator a parameter group, and their sum.
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

    /// Forgets everything.
    void reset() {
        for (NoiseScaleEstimator& group : groups_) group.reset();
    }

private:
    std::vector<NoiseScaleEstimator> groups_;
};

}  // namespace goodput

#endif
