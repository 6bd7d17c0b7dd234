#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_TRAINING_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_TRAINING_HPP

// How a job of Shockwave's simulator really trains. Its batch follows its schedule late and in steps:
//
// - After every round in which it is in the cluster, running or not, a job looks at its own progress and
//   may wish for another batch. The wish comes true at the end of the next round in which the job runs.
// - gns doubles the batch once per wish. accordion goes to the largest batch and back to the first. A batch
//   whose speed was not measured is not taken.
// - A change rounds the epochs done up to whole ones, so each change gains a job part of an epoch.

#include <algorithm>
#include <cmath>

#include "peers/shockwave/shockwave_model.hpp"
#include "peers/shockwave/shockwave_profile.hpp"

namespace goodput::peers {

/// A job's progress in steps of its present batch.
class ShockwaveTraining {
public:
    /// The caller keeps `model` alive. It must have the speed with the job's first batch.
    ShockwaveTraining(const ShockwaveJob& job, const ShockwaveModel& model)
        : model_(&model),
          mode_(job.mode),
          gpus_(job.gpus),
          first_batch_(job.batch),
          batch_(job.batch),
          rate_(model.rate(job.gpus, job.batch).value()),
          steps_(job.steps) {}

    /// Examples per step.
    [[nodiscard]] int batch() const { return batch_; }
    /// Steps per second.
    [[nodiscard]] double rate() const { return rate_; }
    /// Steps of the whole job with its present batch.
    [[nodiscard]] double steps() const { return steps_; }
    /// Steps done; may exceed all steps after a change of the batch.
    [[nodiscard]] double steps_done() const { return done_; }
    /// Epochs done, including a part of one.
    [[nodiscard]] double epochs_done() const { return done_ / model_->epoch_steps(batch_); }

    /// Adds steps to those done.
    void progress(double steps) { done_ += steps; }

    /// Checks whether another batch is due.
    void make_wish() {
        const int epoch = static_cast<int>(std::ceil(epochs_done()));
        if (mode_ == ShockwaveMode::gns) {
            const int epochs = std::max(760, epoch + 2);
            const bool more = model_->gns_batch(gpus_, first_batch_, epoch, epochs) > batch_ ||
                              model_->gns_batch(gpus_, first_batch_, epoch + 1, epochs) > batch_;
            if (more && batch_ != model_->largest_batch) wish_ = Wish::larger;
        } else if (mode_ == ShockwaveMode::accordion && model_->critical) {
            const bool critical = model_->critical->contain(first_batch_, epoch, false);
            if (batch_ == first_batch_ && !critical && batch_ != model_->largest_batch) wish_ = Wish::larger;
            if (batch_ != first_batch_ && critical && batch_ != model_->smallest_batch) wish_ = Wish::smaller;
        }
    }

    /// Changes the batch, if the job wished for it.
    void fulfil_wish() {
        const Wish wish = wish_;
        wish_ = Wish::none;
        if (wish == Wish::none) return;
        int batch = wish == Wish::larger ? model_->largest_batch : first_batch_;
        if (mode_ == ShockwaveMode::gns) batch = 2 * batch_;
        const auto rate = model_->rate(gpus_, batch);
        if (!rate) return;
        const double epoch_before = model_->epoch_steps(batch_), epoch_now = model_->epoch_steps(batch);
        const double epochs = std::ceil(steps_ / epoch_before);
        steps_ = std::ceil(steps_ * (1 / (static_cast<double>(batch) / batch_)));
        if (std::ceil(steps_ / epoch_now) != epochs) steps_ = epochs * epoch_now;
        done_ = std::ceil(done_ / epoch_before) * epoch_now;
        batch_ = batch;
        rate_ = *rate;
    }

private:
    enum class Wish { none, larger, smaller };

    const ShockwaveModel* model_;
    ShockwaveMode mode_;
    int gpus_, first_batch_, batch_;
    double rate_;
    double steps_, done_ = 0;
    Wish wish_ = Wish::none;
};

}  // namespace goodput::peers

#endif
