#ifndef GOODPUT_CORE_INTERRUPTIONS_HPP
#define GOODPUT_CORE_INTERRUPTIONS_HPP

// How nodes are lost while jobs run on them, and the ways in which a job can save its state against that.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"

namespace goodput {

/// Most checkpoints from one in storage to the next.
inline constexpr int most_stored_every = 64;
/// The most frequent interruptions an hour that validate() lets pass.
inline constexpr double most_interruptions_per_hour = 1e15;
/// The longest times off, pauses and the like that validate() lets pass.
inline constexpr double longest_checkpoint_seconds = 1e15;
/// The least shape of live periods: below it nearly all of them are over at once, and few last for ever.
inline constexpr double least_live_shape = 0.05;

/// How something that runs (a node, a job, a device) alternates between live periods and time off. Live
/// periods are independent of each other, each with a Weibull distribution.
struct Interruptions {
    double per_hour = 0;     ///< 1 / hours that a live period lasts on average; 0: it is never interrupted
    double shape = 1;        ///< of the Weibull distribution: 1 strikes at random, infinity: all equally long
    double off_seconds = 0;  ///< on average from an interruption until work could begin again, restoring not
                             ///< included
};

/// One way to save the state of a job.
struct CheckpointMechanism {
    std::string name{};          ///< what it is called in explanations
    double pause_seconds = 0;    ///< training stands still for so long at every checkpoint
    double write_seconds = 0;    ///< from the end of the pause until the checkpoint is safe, training goes
                                 ///< on; the next checkpoint waits for that
    double write_slowdown = 0;   ///< part of its speed that training loses in these seconds; 0 to 1
    double restore_seconds = 0;  ///< from the start after an interruption to the first step
    double caught = 0;           ///< part of the interruptions at which all work can still be saved (notice,
                                 ///< just in time); 0 to 1
    double memory_gib_per_gpu = 0;  ///< host memory that it takes beside each GPU
    bool saves = true;              ///< false: no checkpoint before all the work is done
    double kept = 1;                ///< part of the interruptions that its checkpoints outlive; 0 to 1. Below
                                    ///< 1 in a peer's memory, which may be lost together with the node
    int stored_every = 1;           ///< every so many checkpoints one goes to storage, which keeps it always

    /// In the order of its parts.
    friend auto operator<=>(const CheckpointMechanism&, const CheckpointMechanism&) = default;
};

/// How a job saves its state: with which of its mechanisms, how often, and what is left of its time.
struct Checkpointing {
    std::size_t mechanism = 0;    ///< index into the mechanisms that it was chosen from
    double interval_seconds = 0;  ///< of training between two checkpoints; infinite: there are none
    double availability = 1;      ///< useful part of its time; 0 to 1
};

/// Refuses negative or excessive rates and times, and shapes below `least_live_shape`
/// (std::invalid_argument).
inline void validate(const Interruptions& interruptions, std::string_view subject) {
    require_between(subject, "interruptions.per_hour", interruptions.per_hour, 0,
                    most_interruptions_per_hour);
    require_between(subject, "interruptions.off_seconds", interruptions.off_seconds, 0,
                    longest_checkpoint_seconds);
    if (!(interruptions.shape >= least_live_shape))
        bad_input(subject, "shape", interruptions.shape, "at least 0.05");
}

/// Refuses negative or excessive times, and parts beyond 1 (std::invalid_argument naming the mechanism, and
/// the owner, for example "job 'a'", where there is one).
template <MessageSubject Subject = std::string_view>
void validate(const CheckpointMechanism& mechanism, const Subject& owner = {}) {
    const auto of = [&] {
        const std::string whose(detail::text_of_subject(owner));
        return whose + (whose.empty() ? "" : ", ") + "checkpoint mechanism '" + mechanism.name + "'";
    };
    require_between(of, "pause_seconds", mechanism.pause_seconds, 0, longest_checkpoint_seconds);
    require_between(of, "write_seconds", mechanism.write_seconds, 0, longest_checkpoint_seconds);
    require_between(of, "restore_seconds", mechanism.restore_seconds, 0, longest_checkpoint_seconds);
    require_at_least(of, "memory_gib_per_gpu", mechanism.memory_gib_per_gpu, 0);
    require_between(of, "write_slowdown", mechanism.write_slowdown, 0, 1);
    require_between(of, "caught", mechanism.caught, 0, 1);
    require_between(of, "kept", mechanism.kept, 0, 1);
    require_between(of, "stored_every", mechanism.stored_every, 1, most_stored_every);
}

}  // namespace goodput

#endif
