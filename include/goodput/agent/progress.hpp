#ifndef GOODPUT_AGENT_PROGRESS_HPP
#define GOODPUT_AGENT_PROGRESS_HPP

// How far is a job, whatever batch sizes it has used? One step at S times the initial batch size M0 makes as
// much progress as gain(S) steps at M0 (efficiency.hpp), so that
//
//     progress += gain(S)                        a step, in scale-invariant iterations
//     useful examples = progress M0              what goodput counts a second of
//
// A job trained at M0 throughout has progress = its steps. In the validation runs published with Sia, batch
// sizes of one application differ by up to 128 times, and at equal final progress their metrics by 1 % (four
// applications of six) to 7 %.

#include <algorithm>

#include "goodput/core/error.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/efficiency.hpp"

namespace goodput {

/// Steps and useful examples of one job.
struct Progress {
    double initial_batch = 1;  ///< M0, examples
    double iterations = 0;     ///< scale-invariant; may be set to go on from a checkpoint

    /// Adds `steps` steps at `scale` times the initial batch size with the statistics that hold there, and
    /// returns what they added. Without statistics (both zero) a step counts as one at M0 where it is larger:
    /// nothing says yet that more examples help. Refuses a scale that is not positive, negative steps, and
    /// statistics that are negative or not finite (std::invalid_argument).
    double advance(const GradientStatistics& gradient, double scale, double steps = 1) {
        require_positive("progress", "scale", scale);
        require_at_least("progress", "steps", steps, 0);
        validate(gradient, "progress");
        const bool known = gradient.squared_norm + gradient.variance > 0;
        const double added = steps * (known ? gain(gradient, scale) : std::min(scale, 1.0));
        iterations += added;
        return added;
    }

    /// Useful examples so far.
    [[nodiscard]] double examples() const { return iterations * initial_batch; }
};

}  // namespace goodput

#endif
