#ifndef GOODPUT_CORE_OPTION_HPP
#define GOODPUT_CORE_OPTION_HPP

// What a job could get, and what that would be worth to its progress. What it is worth under a policy is the
// policy's to say (policy/concepts.hpp).

#include <algorithm>
#include <span>

#include "goodput/core/batch.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput {

/// How sure the models are of an option's goodput.
enum class Knowledge {
    measured,   ///< the job's own model of this GPU type; a refined one up to the replicas that were measured
    projected,  ///< beyond those, or another GPU type's model, scaled to this one
    unknown     ///< no measurement of the job at all
};

/// One thing that a job could get: a configuration, with the best batch plan for it and what that is worth in
/// useful examples a second.
struct Option {
    Configuration configuration{};  ///< GPUs, by pool and shape
    BatchPlan plan{};               ///< of largest goodput there; {0, 0}: none respects the job's limits
    /// Examples/s at the initial batch size's efficiency, or 1 per replica where the knowledge is unknown. It
    /// compares options of one job. To compare jobs, divide by best_goodput(): an example of one job is not
    /// an example of another, and a job of unknown speed is not a slow one.
    double goodput = 0;
    Knowledge knowledge = Knowledge::unknown;  ///< where the goodput comes from
    /// How the job saves its state there, as an index into Job::checkpoints (their number: the assumed one),
    /// and what is useful of its time: the goodput is that of this part. Where nothing is interrupted: all.
    Checkpointing checkpointing{};
};

/// The largest goodput among a job's options; 0 if no option has any.
[[nodiscard]] inline double best_goodput(std::span<const Option> options) {
    double best = 0;
    for (const Option& option : options) best = std::max(best, option.goodput);
    return best;
}

}  // namespace goodput

#endif
