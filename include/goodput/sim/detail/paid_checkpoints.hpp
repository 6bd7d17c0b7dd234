#ifndef GOODPUT_SIM_DETAIL_PAID_CHECKPOINTS_HPP
#define GOODPUT_SIM_DETAIL_PAID_CHECKPOINTS_HPP

// The checkpoints of one job, with the cost that its mechanism states. Training pauses, and then a write
// goes on during training. The state is safe only at the end of the write: in storage, or in a memory that
// a failure may take as well.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1::detail {

/// The state that a job goes back to.
struct TrainingState {
    double progress = 0;
    std::size_t epoch = 0;
};

/// A job's progress between two checkpoints, and what checkpoints have cost it.
class PaidCheckpoints {
public:
    /// Makes the job save its state with this mechanism from now on, after every `interval_seconds` of
    /// training, if at all.
    void choose(const CheckpointMechanism& mechanism, double interval_seconds) {
        mechanism_ = mechanism;
        interval_ = mechanism.saves ? interval_seconds : std::numeric_limits<double>::infinity();
    }
    [[nodiscard]] const CheckpointMechanism& mechanism() const { return mechanism_; }

    /// Returns the part of its full speed at which it trains now.
    [[nodiscard]] double speed() const {
        if (pausing_ > 0) return 0;
        return writing_ > 0 ? 1 - mechanism_.write_slowdown : 1;
    }
    /// Returns the seconds for which speed() stays the same; above 0.
    [[nodiscard]] double unchanged_seconds() const {
        if (pausing_ > 0) return pausing_;
        if (writing_ > 0) return writing_;  // the next checkpoint waits for the last one
        return std::max(interval_ - trained_, shortest);
    }
    /// Advances the job by `seconds` on `gpus` GPUs to the state `now`. `seconds` exceeds
    /// unchanged_seconds() by rounding at most.
    void pass(double seconds, int gpus, const TrainingState& now) {
        const double gpu_seconds = seconds * gpus;
        if (pausing_ > 0) {
            pausing_ -= seconds;
            lost_ += gpu_seconds;
            if (pausing_ <= shortest) begin_write();
            return;
        }
        trained_ += seconds;
        since_mark_ += speed() * gpu_seconds;
        if (writing_ > 0) {
            lost_ += mechanism_.write_slowdown * gpu_seconds;
            writing_ -= seconds;
            if (writing_ <= shortest) end_write();
        }
        if (writing_ > 0 || interval_ - trained_ > shortest) return;
        mark_ = now;
        before_mark_ = since_mark_;
        since_mark_ = 0;
        pausing_ = mechanism_.pause_seconds;
        if (pausing_ <= shortest) begin_write();
    }

    /// Makes the state safe, as when a decision stops the job.
    void save(const TrainingState& now) {
        safe_ = now;
        store();
        forget();
    }
    /// Returns the state that the job goes back to. `caught`: everything could still be saved this time.
    /// `kept`: checkpoints that are not in storage survived.
    [[nodiscard]] TrainingState fail(const TrainingState& now, bool caught, bool kept) {
        if (caught) {
            save(now);
            return safe_;
        }
        lost_ += before_mark_ + since_mark_;
        if (!kept) {
            lost_ += in_memory_;
            safe_ = stored_;
            store();
        }
        forget();
        return safe_;
    }
    /// Returns the GPU-seconds of pauses, slower training and repeated work.
    [[nodiscard]] double lost_gpu_seconds() const { return lost_; }

private:
    static constexpr double shortest = 1e-6;  // seconds; a shorter time is a rounding error

    void begin_write() {
        pausing_ = trained_ = 0;
        writing_ = mechanism_.write_seconds;
        if (writing_ <= shortest) end_write();
    }
    void end_write() {
        safe_ = mark_;
        in_memory_ += before_mark_;
        writing_ = before_mark_ = 0;
        if (++since_stored_ >= mechanism_.stored_every) store();
    }
    void store() {
        stored_ = safe_;
        in_memory_ = 0;
        since_stored_ = 0;
    }
    void forget() { trained_ = pausing_ = writing_ = before_mark_ = since_mark_ = 0; }

    CheckpointMechanism mechanism_{};
    double interval_ = std::numeric_limits<double>::infinity();
    double trained_ = 0;                // seconds since the last pause
    double pausing_ = 0, writing_ = 0;  // seconds left
    double before_mark_ = 0;            // GPU-seconds of work in the state being saved that is not safe yet
    double since_mark_ = 0;             // GPU-seconds of work behind it
    double in_memory_ = 0;              // GPU-seconds of work in safe states after the one in storage
    int since_stored_ = 0;              // checkpoints since the one in storage
    double lost_ = 0;
    TrainingState mark_{}, safe_{}, stored_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
