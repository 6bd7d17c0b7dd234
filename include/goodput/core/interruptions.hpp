#ifndef GOODPUT_CORE_INTERRUPTIONS_HPP
#define GOODPUT_CORE_INTERRUPTIONS_HPP

// How nodes are lost while jobs run on them, and how a job can save its state against such losses.

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// The largest CheckpointMechanism::stored_every.
inline constexpr int most_stored_every = 64;
/// The largest number of interruptions per hour that validate() accepts.
inline constexpr double most_interruptions_per_hour = 1e15;
/// The longest time off, pause or other duration that validate() accepts.
inline constexpr double longest_checkpoint_seconds = 1e15;
/// The smallest accepted Interruptions::shape. Below it nearly all live periods end at once, and a few last
/// forever.
inline constexpr double least_live_shape = 0.05;

/// How a node, job or device alternates between live periods and time off. Live periods are independent and
/// have a Weibull distribution.
struct Interruptions {
    double per_hour = 0;  ///< 1 / (mean length of a live period in hours); 0 means never interrupted
    double shape = 1;  ///< shape of the Weibull distribution; 1 is memoryless, infinity means equal lengths
    /// Mean seconds from an interruption until work could begin again, not counting the restore.
    double off_seconds = 0;
};

/// One way to save the state of a job.
struct CheckpointMechanism {
    std::string name{};        ///< name in explanations
    double pause_seconds = 0;  ///< seconds that training stands still at every checkpoint
    /// Seconds from the end of the pause until the checkpoint is safe. Training goes on meanwhile. The next
    /// checkpoint waits until this one is safe.
    double write_seconds = 0;
    double write_slowdown = 0;   ///< fraction of its speed that training loses during the write, 0 to 1
    double restore_seconds = 0;  ///< seconds from the start after an interruption to the first step
    /// Fraction of interruptions, 0 to 1, that leave time to save all work (after a notice, or just in
    /// time).
    double caught = 0;
    double memory_gib_per_gpu = 0;  ///< host memory per GPU that the mechanism takes in addition
    bool saves = true;              ///< false: writes no checkpoint before all work is done
    /// Fraction of interruptions that its checkpoints survive, 0 to 1. It is below 1 for a checkpoint in
    /// the memory of another node, which may be lost at the same time.
    double kept = 1;
    int stored_every = 1;  ///< every n-th checkpoint goes to storage, where it is never lost

    /// Compares member by member.
    friend auto operator<=>(const CheckpointMechanism&, const CheckpointMechanism&) = default;
};

/// How a job saves its state: the mechanism, the interval, and the useful part of its time.
struct Checkpointing {
    std::size_t mechanism = 0;    ///< index into the mechanisms from which it was chosen
    double interval_seconds = 0;  ///< seconds of training between two checkpoints; infinite if there are none
    double availability = 1;      ///< useful fraction of the job's time, 0 to 1
};

/// Throws std::invalid_argument if a rate or time is negative or too large, or if the shape is below
/// `least_live_shape`.
inline void validate(const Interruptions& interruptions, std::string_view subject) {
    require_between(subject, "interruptions.per_hour", interruptions.per_hour, 0,
                    most_interruptions_per_hour);
    require_between(subject, "interruptions.off_seconds", interruptions.off_seconds, 0,
                    longest_checkpoint_seconds);
    if (!(interruptions.shape >= least_live_shape))
        bad_input(subject, "shape", interruptions.shape, "at least 0.05");
}

/// Throws std::invalid_argument if a time is negative or too large, or if a fraction exceeds 1. The message
/// names the mechanism and, if given, its owner, for example "job 'a'".
template <MessageSubject Subject = std::string_view>
void validate(const CheckpointMechanism& mechanism, const Subject& owner = {}) {
    const auto subject = [&] {
        const std::string whose(detail::text_of_subject(owner));
        return whose + (whose.empty() ? "" : ", ") + "checkpoint mechanism '" + mechanism.name + "'";
    };
    require_between(subject, "pause_seconds", mechanism.pause_seconds, 0, longest_checkpoint_seconds);
    require_between(subject, "write_seconds", mechanism.write_seconds, 0, longest_checkpoint_seconds);
    require_between(subject, "restore_seconds", mechanism.restore_seconds, 0, longest_checkpoint_seconds);
    require_at_least(subject, "memory_gib_per_gpu", mechanism.memory_gib_per_gpu, 0);
    require_between(subject, "write_slowdown", mechanism.write_slowdown, 0, 1);
    require_between(subject, "caught", mechanism.caught, 0, 1);
    require_between(subject, "kept", mechanism.kept, 0, 1);
    require_between(subject, "stored_every", mechanism.stored_every, 1, most_stored_every);
}

}  // namespace goodput::inline v0_1

#endif
