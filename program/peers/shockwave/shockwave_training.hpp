#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_TRAINING_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_TRAINING_HPP

// How a job of Shockwave's simulator really trains. Its batch follows its schedule late and by steps:
//
//   After every round that it is in the cluster for, running or not, a job looks at its own progress and may
//   wish for another batch. At the end of the next round in which it runs the wish comes true.
//   gns doubles the batch once a wish; accordion goes to the largest and back to the first. A batch whose
//   speed was not measured is not taken.
//   A change rounds the epochs done up to whole ones, so that a job gains part of an epoch by each.

#include <algorithm>
#include <cmath>

#include "peers/shockwave/shockwave_model.hpp"
#include "peers/shockwave/shockwave_profile.hpp"

namespace goodput::peers {

/// A job's progress in steps of its present batch.
class ShockwaveTraining {
public:
    /// `model` has to outlive it and to know the speed with the job's first batch.
    ShockwaveTraining(const ShockwaveJob& job, const ShockwaveModel& model)
        : model_(&model),
          mode_(job.mode),
          gpus_(job.gpus),
          first_batch_(job.batch),
          batch_(job.batch),
          rate_(model.rate(job.gpus, job.batch).value()),
          steps_(job.steps) {}

    /// Examples of a step.
    [[nodiscard]] int batch() const { return batch_; }
    /// Steps a second.
    [[nodiscard]] double rate() const { return rate_; }
    /// Of the whole job, if it went on with its present batch.
    [[nodiscard]] double steps() const { return steps_; }
    /// Of these; may be more than all after a change of the batch.
    [[nodiscard]] double steps_done() const { return done_; }
    /// Epochs done, with a part of one.
    [[nodiscard]] double epochs_done() const { return done_ / model_->epoch_steps(batch_); }

    /// So many steps more are done.
    void progress(double steps) { done_ += steps; }

    /// Looks whether another batch is due.
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

    /// Changes the batch, if that is wished for.
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
