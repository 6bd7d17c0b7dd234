#ifndef GOODPUT_AVAILABILITY_INTERRUPTION_CHANGE_HPP
#define GOODPUT_AVAILABILITY_INTERRUPTION_CHANGE_HPP

// Tests whether interruptions still come at the fitted rate. The caller chooses how rare false alarms are.
//
// Suppose that from some moment on, the hazard is f times the fitted one. Let h be the cumulative fitted
// hazard since then, which is the expected number of interruptions. Then n interruptions are f^n e^(-(f -
// 1) h) times as likely as under the fit. The Shiryaev-Roberts statistic R is the integral of that ratio
// over all possible moments of the change. It is updated piece by piece:
//
//     R <- f^n (R e^(-(f - 1) h) + (1 - e^(-(f - 1) h)) / (f - 1))    over a piece that ends with n = 0 or 1,
//
// and averaged here over several f. While nothing has changed, R minus the number of interruptions expected
// so far is a martingale. Therefore at least A interruptions pass on average before R first reaches A,
// however time is divided into pieces (Pollak, Annals of Statistics 13, 1985; Shiryaev, Theory of
// Probability and its Applications 8, 1963).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "goodput/availability/live_periods.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// Watches nodes (or a job) with fitted interruptions, and detects when the interruptions change. All nodes
/// of one kind may report to one watch, in the order of time.
class InterruptionWatch {
public:
    /// As long as `expected` (its rate must be above 0) is true, there is on average at most one false
    /// alarm per `between_false_alarms` (at least 1) interruptions. Throws std::invalid_argument for bad
    /// input.
    explicit InterruptionWatch(const Interruptions& expected, double between_false_alarms = 200)
        : expected_(expected), threshold_(between_false_alarms) {
        validate(expected, "watch");
        require_at_least("watch", "interruptions.per_hour", expected.per_hour, 1e-12);
        require_between("watch", "between_false_alarms", between_false_alarms, 1, 1e12);
    }

    /// Reports a piece of a live period (the time between two interruptions), from `from_seconds` to
    /// `to_seconds` after its beginning. `interrupted` says whether an interruption ended the piece. Report
    /// periods that still run from time to time, because the absence of interruptions is information, too.
    void observe(double from_seconds, double to_seconds, bool interrupted) {
        if (!(from_seconds >= 0 && to_seconds >= from_seconds && to_seconds <= longest_checkpoint_seconds))
            bad_input("watch", "to_seconds", to_seconds, "at least where the piece begins, and finite");
        const double expected = std::min(hazard(to_seconds) - hazard(from_seconds), 700.0);
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double f = factors[i], fade = std::exp(-(f - 1) * expected);
            Statistic& updated = statistics_[i];
            updated.ratio = (interrupted ? f : 1) * (updated.ratio * fade + (1 - fade) / (f - 1));
            updated.ratio = std::min(updated.ratio, 1e300);
            // The most likely moment of change is that of the smallest logarithm of the ratio.
            updated.log_ratio += (interrupted ? std::log(f) : 0) - (f - 1) * expected;
            if (updated.log_ratio <= 0) {
                updated.log_ratio = 0;
                updated.since = pieces_ + 1;
            }
        }
        ++pieces_;
    }
    /// Reports a whole live period that an interruption ended.
    void observe(double live_seconds) { observe(0, live_seconds, true); }

    /// Returns R: how much more likely the observations are if something has changed, summed over all
    /// possible moments of change.
    [[nodiscard]] double statistic() const {
        double sum = 0;
        for (const Statistic& each : statistics_) sum += each.ratio;
        return sum / static_cast<double>(factors.size());
    }
    /// Returns whether an alarm is due. If so, fit again to the observations after the first since()
    /// pieces, and begin another watch.
    [[nodiscard]] bool changed() const { return statistic() >= threshold_; }
    /// Returns the number of pieces observed before the most likely moment of the change.
    [[nodiscard]] std::size_t since() const { return likeliest().since; }
    /// Returns the rate since then divided by the fitted rate: the most likely one of `factors`.
    [[nodiscard]] double factor() const {
        return factors[static_cast<std::size_t>(&likeliest() - statistics_.data())];
    }

    /// The factors f on the rate that are tested.
    static constexpr std::array<double, 6> factors{0.125, 0.25, 0.5, 2, 4, 8};

private:
    struct Statistic {
        double ratio = 0;
        double log_ratio = 0;  ///< logarithm of the ratio since `since`
        std::size_t since = 0;
    };

    [[nodiscard]] const Statistic& likeliest() const {
        return *std::ranges::max_element(statistics_, {}, &Statistic::ratio);
    }
    /// Returns the number of interruptions expected in the first `seconds` of a live period, as if an
    /// interruption did not end it.
    [[nodiscard]] double hazard(double seconds) const {
        // If all periods are equally long, there is no hazard before their end, so only their mean is
        // watched.
        if (std::isinf(expected_.shape)) return seconds * expected_.per_hour / 3600;
        return LivePeriods(expected_).hazard(seconds);
    }

    Interruptions expected_;
    double threshold_;
    std::size_t pieces_ = 0;
    std::array<Statistic, factors.size()> statistics_{};
};

}  // namespace goodput::inline v0_1

#endif
