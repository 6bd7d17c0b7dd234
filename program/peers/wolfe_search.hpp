#ifndef GOODPUT_EXAMPLES_CLI_PEERS_WOLFE_SEARCH_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_WOLFE_SEARCH_HPP

// How far along a descent direction? Moré and Thuente's search (ACM Transactions on Mathematical Software 20,
// 1994): a step t in [0, most] with, for phi(t) the objective along the direction,
//
//     phi(t) <= phi(0) + 1e-3 t phi'(0)  and  |phi'(t)| <= 0.9 |phi'(0)|
//
// The search keeps an interval of steps that holds such a one, with `best` the end of least value and `other`
// the opposite end. A new step is the minimiser of a cubic or quadratic through what is known at `best` and
// at the trial (section 4 of the paper), and an interval that has not shrunk to two thirds in two steps is
// bisected. Until a step with enough decrease and a slope that is no longer negative is seen, interpolation
// is of phi(t) - 1e-3 t phi'(0), whose minimiser satisfies the first condition.
//
// It also ends where rounding errors leave nothing to gain, or at `most` if the objective falls until there.

#include <algorithm>
#include <cmath>

namespace goodput::peers {

struct StepValue {
    double step = 0, value = 0, slope = 0;
};

/// The next trial inside [least, most], by interpolation; updates the interval's ends and `bracketed`,
/// whether the interval is known to hold a minimiser.
inline double next_step(StepValue& best, StepValue& other, const StepValue& trial, bool& bracketed,
                        double least, double most) {
    struct Cubic {
        double theta, root;
    };
    // Of the cubic through values and slopes of two steps: where it is least, in the form p / q.
    const auto cubic = [](const StepValue& a, const StepValue& b) {
        const double theta = 3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
        const double scale = std::max({std::abs(theta), std::abs(a.slope), std::abs(b.slope)});
        const double squared = (theta / scale) * (theta / scale) - (a.slope / scale) * (b.slope / scale);
        return Cubic{theta, scale * std::sqrt(std::max(squared, 0.0))};
    };
    const auto nearer = [](double to, double a, double b) {
        return std::abs(a - to) < std::abs(b - to) ? a : b;
    };
    const auto farther = [](double from, double a, double b) {
        return std::abs(a - from) > std::abs(b - from) ? a : b;
    };
    const auto secant = [&] {
        return trial.step + trial.slope / (trial.slope - best.slope) * (best.step - trial.step);
    };
    const bool turned = trial.slope * (best.slope < 0 ? -1.0 : 1.0) < 0;

    double next = 0;
    if (trial.value > best.value) {
        const auto [theta, size] = cubic(best, trial);
        const double root = trial.step < best.step ? -size : size;
        const double part = (root - best.slope + theta) / (root - best.slope + root + trial.slope);
        const double length = trial.step - best.step;
        const double by_cubic = best.step + part * length;
        const double mean_slope = (best.value - trial.value) / length;
        const double by_quadratic = best.step + best.slope / (mean_slope + best.slope) / 2 * length;
        next = std::abs(by_cubic - best.step) < std::abs(by_quadratic - best.step)
                   ? by_cubic
                   : by_cubic + (by_quadratic - by_cubic) / 2;
        bracketed = true;
    } else if (turned) {
        const auto [theta, size] = cubic(best, trial);
        const double root = trial.step > best.step ? -size : size;
        const double part = (root - trial.slope + theta) / (root - trial.slope + root + best.slope);
        next = farther(trial.step, trial.step + part * (best.step - trial.step), secant());
        bracketed = true;
    } else if (std::abs(trial.slope) < std::abs(best.slope)) {
        // The cubic may fall for ever, or have its minimum on the wrong side of the trial.
        const auto [theta, size] = cubic(best, trial);
        const double root = trial.step > best.step ? -size : size;
        const double part = (root - trial.slope + theta) / (root + (best.slope - trial.slope) + root);
        const double by_cubic = part < 0 && root != 0    ? trial.step + part * (best.step - trial.step)
                                : trial.step > best.step ? most
                                                         : least;
        if (bracketed) {
            const double limit = trial.step + 0.66 * (other.step - trial.step);
            next = nearer(trial.step, by_cubic, secant());
            next = trial.step > best.step ? std::min(limit, next) : std::max(limit, next);
        } else {
            next = std::clamp(farther(trial.step, by_cubic, secant()), least, most);
        }
    } else if (bracketed) {
        const auto [theta, size] = cubic(trial, other);
        const double root = trial.step > other.step ? -size : size;
        const double part = (root - trial.slope + theta) / (root - trial.slope + root + other.slope);
        next = trial.step + part * (other.step - trial.step);
    } else {
        next = trial.step > best.step ? most : least;
    }

    if (trial.value > best.value) {
        other = trial;
    } else {
        if (turned) other = best;
        best = trial;
    }
    return next;
}

/// Ask for step(), evaluate there, tell() what was found, until done().
class WolfeSearch {
public:
    /// `slope` < 0 at step 0; 0 < `first` <= `most`.
    WolfeSearch(double value, double slope, double first, double most)
        : start_{0, value, slope},
          best_(start_),
          other_(start_),
          step_(first),
          longest_(most),
          most_(first + 4 * first),
          width_(most),
          width_before_(2 * most) {}

    [[nodiscard]] double step() const { return step_; }
    [[nodiscard]] bool done() const { return done_; }

    void tell(double value, double slope) {
        const double wanted_slope = enough * start_.slope;
        const double wanted = start_.value + step_ * wanted_slope;
        if (value <= wanted && slope >= 0) decreased_ = true;
        const bool meets_both = value <= wanted && std::abs(slope) <= flat * -start_.slope;
        const bool falls_to_the_end = step_ == longest_ && value <= wanted && slope <= wanted_slope;
        done_ = meets_both || falls_to_the_end || (bracketed_ && exhausted());
        if (done_) return;

        const StepValue trial{step_, value, slope};
        if (!decreased_ && value <= best_.value && value > wanted) {
            const auto tilted = [&](const StepValue& at, double sign) {
                return StepValue{at.step, at.value - sign * at.step * wanted_slope,
                                 at.slope - sign * wanted_slope};
            };
            StepValue best = tilted(best_, 1), other = tilted(other_, 1);
            step_ = next_step(best, other, tilted(trial, 1), bracketed_, least_, most_);
            best_ = tilted(best, -1);
            other_ = tilted(other, -1);
        } else {
            step_ = next_step(best_, other_, trial, bracketed_, least_, most_);
        }
        narrow();
    }

private:
    static constexpr double enough = 1e-3, flat = 0.9, narrow_enough = 0.1;

    [[nodiscard]] bool exhausted() const {
        return step_ <= least_ || step_ >= most_ || most_ - least_ <= narrow_enough * most_;
    }

    void narrow() {
        if (bracketed_) {
            const double width = std::abs(other_.step - best_.step);
            if (width >= 0.66 * width_before_) step_ = best_.step + 0.5 * (other_.step - best_.step);
            width_before_ = width_;
            width_ = width;
            least_ = std::min(best_.step, other_.step);
            most_ = std::max(best_.step, other_.step);
        } else {
            least_ = step_ + 1.1 * (step_ - best_.step);
            most_ = step_ + 4 * (step_ - best_.step);
        }
        step_ = std::clamp(step_, 0.0, longest_);
        if (bracketed_ && exhausted()) step_ = best_.step;
    }

    StepValue start_, best_, other_;
    double step_, longest_;
    double least_ = 0, most_;  ///< where the next step may be
    double width_, width_before_;
    bool bracketed_ = false, decreased_ = false, done_ = false;
};

}  // namespace goodput::peers

#endif
