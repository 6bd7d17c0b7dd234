#ifndef GOODPUT_SIM_DETAIL_PAID_CHECKPOINTS_HPP
#define GOODPUT_SIM_DETAIL_PAID_CHECKPOINTS_HPP

// The checkpoints of one job that cost what its mechanism says: training stands still, then a write goes on
// beside it, and only at its end is the state safe: in storage, or in a memory that a failure may take, too.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "goodput/core/interruptions.hpp"

namespace goodput::detail {

/// What a job goes back to.
struct TrainingState {
    double progress = 0;
    std::size_t epoch = 0;
};

/// Where a job stands between two checkpoints, and what they have cost it.
class PaidCheckpoints {
public:
    /// From now on it saves its state like this, after every `interval_seconds` of training, if at all.
    void choose(const CheckpointMechanism& mechanism, double interval_seconds) {
        mechanism_ = mechanism;
        interval_ = mechanism.saves ? interval_seconds : std::numeric_limits<double>::infinity();
    }
    [[nodiscard]] const CheckpointMechanism& mechanism() const { return mechanism_; }

    /// Part of its full speed at which it trains now.
    [[nodiscard]] double speed() const {
        if (pausing_ > 0) return 0;
        return writing_ > 0 ? 1 - mechanism_.write_slowdown : 1;
    }
    /// Seconds for which that stays so; above 0.
    [[nodiscard]] double unchanged_seconds() const {
        if (pausing_ > 0) return pausing_;
        if (writing_ > 0) return writing_;  // the next checkpoint waits for the last one
        return std::max(interval_ - trained_, shortest);
    }
    /// So many seconds pass on `gpus` GPUs, at most unchanged_seconds() but for rounding, and lead to `now`.
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

    /// The state is safe, as when a decision stops the job.
    void save(const TrainingState& now) {
        safe_ = now;
        store();
        forget();
    }
    /// Goes back. `caught`: this time everything could still be saved; `kept`: checkpoints that are not in
    /// storage have outlived it.
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
    /// GPU-seconds of pauses, slower training and work that had to be done again.
    [[nodiscard]] double lost_gpu_seconds() const { return lost_; }

private:
    static constexpr double shortest = 1e-6;  // seconds; what rounding leaves is none

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
    double trained_ = 0;                // since the last pause
    double pausing_ = 0, writing_ = 0;  // seconds left
    double before_mark_ = 0;            // GPU-seconds of work in the state being saved that is not safe yet
    double since_mark_ = 0;             // GPU-seconds of work behind it
    double in_memory_ = 0;              // GPU-seconds of work in safe states behind the one in storage
    int since_stored_ = 0;              // checkpoints since that one
    double lost_ = 0;
    TrainingState mark_{}, safe_{}, stored_{};
};

}  // namespace goodput::detail

#endif
