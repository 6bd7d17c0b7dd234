#ifndef GOODPUT_SIM_STEP_ROUND_HPP
#define GOODPUT_SIM_STEP_ROUND_HPP

// Rounds of whole steps, as Gavel's simulator has them and Shockwave's, which is built on it: a job does as
// many steps as fit into a round, and the round lasts until the last job has done its last step.

#include <algorithm>
#include <cmath>

namespace goodput {

/// Steps that a job does in a round, and when it has done the last one.
struct StepRound {
    double steps = 0;        ///< a whole number; below 0 for a job that has done more than all of its steps
    double end_seconds = 0;  ///< on the clock of the trace
};

/// The steps that fit into `seconds` from `begin` on at `rate` (above 0) steps a second, if `left` are left.
[[nodiscard]] inline StepRound step_round(double begin, double seconds, double rate, double left) {
    // A round that ends with a step may come out a rounding error short of it.
    constexpr double rounding = 1e-6;
    const double steps = std::min(std::floor(rate * seconds + rounding), left);
    return {steps, std::max(begin, begin + steps / rate)};
}

/// What came of the last round in which a job held GPUs.
struct RoundRun {
    double end_seconds = 0;  ///< when it had done its last step
    double ran_seconds = 0;  ///< that count as run, see RoundStarts
    double steps = 0;        ///< that count as done
    double rate = 0;         ///< steps a second at which it did them
    int batch = 0;           ///< examples a step, where the world knows of them
    bool empty = false;      ///< it could not do anything
};

/// From when on the time of a round counts as run: from the end of the last round in which anybody ran. So a
/// time in which nobody does counts for the job that comes after it, as in these simulators.
class RoundStarts {
public:
    /// To be called for every job of a round that begins then and lasts so long.
    [[nodiscard]] double start_of(double begin, double seconds) {
        constexpr double rounding = 1e-6;
        if (begin > begin_) start_ = begin > end_ + rounding ? end_ : begin;
        begin_ = begin;
        end_ = std::max(end_, begin + seconds);
        return start_;
    }

private:
    double begin_ = -1, start_ = 0, end_ = 0;
};

}  // namespace goodput

#endif
