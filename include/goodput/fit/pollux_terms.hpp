#ifndef GOODPUT_FIT_POLLUX_TERMS_HPP
#define GOODPUT_FIT_POLLUX_TERMS_HPP

// The terms of Pollux's throughput model (model/throughput.hpp; OSDI'21, section 3.2), to be fitted by
// fit_model(). The published fit minimises the same errors within bounds and without a prior
// (program/peers/sia/published_fit.hpp has it to the letter).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <type_traits>

#include "goodput/core/sample.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput {

/// Parameters: ln of alpha_c, beta_c, alpha_r, beta_r, alpha_n, beta_n, and ln(gamma - 1).
struct PolluxTerms {
    static constexpr int most_touched = 2;  ///< parameters that a term reads

    std::array<double, 7> mean{};                                  ///< what is believed beforehand
    std::array<double, 7> deviation{1, 1, 1.5, 1.5, 1.5, 1.5, 1};  ///< standard deviations of that

    /// Believed of a job that computes for about so many seconds at a batch: half of that whatever the batch;
    /// synchronising takes an eighth on a node and a quarter over several, and a tenth of it more for each
    /// further replica.
    PolluxTerms(double seconds, double batch) {
        const double whole = std::log(seconds);
        mean = {whole - std::numbers::ln2,
                whole - std::numbers::ln2 - std::log(batch),
                whole - 3 * std::numbers::ln2,
                whole - 3 * std::numbers::ln2 - std::log(10.0),
                whole - 2 * std::numbers::ln2,
                whole - 2 * std::numbers::ln2 - std::log(10.0),
                0};
    }
    /// The same of the middle of samples, at least one.
    explicit PolluxTerms(std::span<const ThroughputSample> samples) : PolluxTerms(1, 1) {
        double seconds = 0, batch = 0;
        for (const ThroughputSample& sample : samples) {
            const double step = sample.step_seconds / sample.microbatches();
            seconds += std::log(sample.compute_seconds().value_or(step));
            batch += std::log(sample.plan.atomic_batch);
        }
        const double count = std::max<double>(1, static_cast<double>(samples.size()));
        *this = PolluxTerms(std::exp(seconds / count), std::exp(batch / count));
    }

    /// Seven.
    [[nodiscard]] static std::size_t parameters() { return 7; }

    /// ln of the seconds of computing a microbatch.
    template <class X>
    [[nodiscard]] auto log_compute(X& x, const ThroughputSample& of) const {
        using std::exp, std::log;
        return log(exp(x[0]) + exp(x[1]) * double(of.plan.atomic_batch));
    }
    /// ln of the seconds of synchronising at least two replicas.
    template <class X>
    [[nodiscard]] auto log_sync(X& x, const ThroughputSample& of) const {
        using std::exp, std::log;
        const std::size_t first = of.shape.nodes > 1 ? 4 : 2;
        return log(exp(x[first]) + exp(x[first + 1]) * double(of.shape.gpus - 2));
    }
    /// ln(gamma - 1).
    template <class X>
    [[nodiscard]] auto log_overlap(X& x) const {
        return x[6];
    }

    /// The model of these parameters.
    [[nodiscard]] static PolluxThroughput model(std::span<const double> x) {
        return {.alpha_c = std::exp(x[0]),
                .beta_c = std::exp(x[1]),
                .alpha_n = std::exp(x[4]),
                .beta_n = std::exp(x[5]),
                .alpha_r = std::exp(x[2]),
                .beta_r = std::exp(x[3]),
                .gamma = 1 + std::exp(x[6])};
    }
};

}  // namespace goodput

#endif
