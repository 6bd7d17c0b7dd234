#ifndef GOODPUT_AVAILABILITY_INTERRUPTION_CHANGE_HPP
#define GOODPUT_AVAILABILITY_INTERRUPTION_CHANGE_HPP

// Whether interruptions still come as was fitted, with a stated rate of false alarms.
//
// If from some moment on the hazard is f times what was fitted, n interruptions in the cumulative hazard h
// (the number that was to be expected) are f^n e^(-(f - 1) h) times as likely. The Shiryaev-Roberts statistic
// is the integral of that ratio over all moments of change,
//
//     R <- f^n (R e^(-(f - 1) h) + (1 - e^(-(f - 1) h)) / (f - 1))    over a piece that ends with n = 0 or 1,
//
// here averaged over several f. While nothing has changed, R less the interruptions expected so far is a
// martingale: on average at least A interruptions pass before R first reaches A (Pollak, Annals of Statistics
// 13, 1985; Shiryaev, Theory of Probability and its Applications 8, 1963), however time is cut into pieces.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "goodput/availability/live_periods.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

/// Watches nodes (or a job) whose interruptions were fitted, and says when they are others. All nodes of one
/// kind may report to one watch, in the order of time.
class InterruptionWatch {
public:
    /// While `expected` (a rate above 0) holds, there is on average at most one false alarm in
    /// `between_false_alarms` interruptions (at least 1). Bad input is refused (std::invalid_argument).
    explicit InterruptionWatch(const Interruptions& expected, double between_false_alarms = 200)
        : expected_(expected), threshold_(between_false_alarms) {
        validate(expected, "watch");
        require_at_least("watch", "interruptions.per_hour", expected.per_hour, 1e-12);
        require_between("watch", "between_false_alarms", between_false_alarms, 1, 1e12);
    }

    /// A piece of a live period, from `from_seconds` to `to_seconds` after its beginning; `interrupted` at
    /// its end or not. Report what has run so far now and then: interruptions that stay away are news as
    /// well.
    void observe(double from_seconds, double to_seconds, bool interrupted) {
        if (!(from_seconds >= 0 && to_seconds >= from_seconds && to_seconds <= longest_checkpoint_seconds))
            bad_input("watch", "to_seconds", to_seconds, "at least where the piece begins, and finite");
        const double expected = std::min(hazard(to_seconds) - hazard(from_seconds), 700.0);
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double f = factors[i], fade = std::exp(-(f - 1) * expected);
            Statistic& its = statistics_[i];
            its.ratio = (interrupted ? f : 1) * (its.ratio * fade + (1 - fade) / (f - 1));
            its.ratio = std::min(its.ratio, 1e300);
            // The most likely moment of change is where the logarithm of the ratio was least.
            its.log_ratio += (interrupted ? std::log(f) : 0) - (f - 1) * expected;
            if (its.log_ratio <= 0) {
                its.log_ratio = 0;
                its.since = pieces_ + 1;
            }
        }
        ++pieces_;
    }
    /// A whole live period that an interruption has ended.
    void observe(double live_seconds) { observe(0, live_seconds, true); }

    /// R: how much more likely what was seen is if something has changed, summed over all moments at which it
    /// may have.
    [[nodiscard]] double statistic() const {
        double sum = 0;
        for (const Statistic& its : statistics_) sum += its.ratio;
        return sum / static_cast<double>(factors.size());
    }
    /// Whether an alarm is due: fit anew what was seen since(), and begin another watch.
    [[nodiscard]] bool changed() const { return statistic() >= threshold_; }
    /// How many pieces were observed before the change, if there was one.
    [[nodiscard]] std::size_t since() const { return likeliest().since; }
    /// How many times as often as fitted interruptions come since then: the likeliest of a few factors.
    [[nodiscard]] double factor() const {
        return factors[static_cast<std::size_t>(&likeliest() - statistics_.data())];
    }

    /// The changes of rate that are looked for.
    static constexpr std::array<double, 6> factors{0.125, 0.25, 0.5, 2, 4, 8};

private:
    struct Statistic {
        double ratio = 0;
        double log_ratio = 0;  ///< since `since`
        std::size_t since = 0;
    };

    [[nodiscard]] const Statistic& likeliest() const {
        return *std::ranges::max_element(statistics_, {}, &Statistic::ratio);
    }
    /// How many interruptions are expected in so many seconds of a live period that goes on anyway.
    [[nodiscard]] double hazard(double seconds) const {
        // Periods all equally long have no hazard before their end: there only their mean is watched.
        if (std::isinf(expected_.shape)) return seconds * expected_.per_hour / 3600;
        return LivePeriods(expected_).hazard(seconds);
    }

    Interruptions expected_;
    double threshold_;
    std::size_t pieces_ = 0;
    std::array<Statistic, factors.size()> statistics_{};
};

}  // namespace goodput

#endif
