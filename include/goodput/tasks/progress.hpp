#ifndef GOODPUT_TASKS_PROGRESS_HPP
#define GOODPUT_TASKS_PROGRESS_HPP

// How far is a job, whatever batch sizes it has used? One step at S times the initial batch size M0 makes as
// much progress as gain(S) steps at M0 (efficiency.hpp), so that
//
//     progress += gain(S)                        a step, in scale-invariant iterations
//     useful examples = progress M0              what goodput counts a second of
//     epochs          = progress M0 / dataset
//
// A job trained at M0 throughout has progress = its steps. In the validation runs published with Sia, batch
// sizes of one application differ by up to 128 times, and at equal final progress their metrics by 1 % (four
// applications of six) to 7 %.

#include <algorithm>
#include <limits>

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

    /// Epochs so far over a data set of `dataset_examples`, above 0.
    [[nodiscard]] double epochs(double dataset_examples) const {
        require_positive("progress", "dataset", dataset_examples);
        return examples() / dataset_examples;
    }

    /// Useful examples still to do of a job that is declared to take `total_examples` (epochs times data
    /// set): what Job::remaining_examples holds; never below 0.
    [[nodiscard]] double remaining_examples(double total_examples) const {
        require_at_least("progress", "total examples", total_examples, 0);
        return std::max(total_examples - examples(), 0.0);
    }

    /// Seconds until `total_examples` are done at `goodput` useful examples a second; infinite at goodput 0.
    [[nodiscard]] double remaining_seconds(double total_examples, double goodput) const {
        require_at_least("progress", "goodput", goodput, 0);
        const double remaining = remaining_examples(total_examples);
        if (remaining == 0) return 0;
        return goodput > 0 ? remaining / goodput : std::numeric_limits<double>::infinity();
    }
};

/// Scale-invariant iterations that `examples` useful examples are, with an initial batch above 0.
[[nodiscard]] inline double iterations_of(double examples, double initial_batch) {
    require_positive("progress", "initial batch", initial_batch);
    require_at_least("progress", "examples", examples, 0);
    return examples / initial_batch;
}

}  // namespace goodput

#endif
