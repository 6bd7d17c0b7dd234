#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_PROFILE_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_PROFILE_HPP

// A job of Shockwave's simulator as its owner states it, and its profile: what is known about it
// beforehand.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"
#include "peers/shockwave/shockwave_model.hpp"

namespace goodput::peers {

/// A job of a trace.
struct ShockwaveJob {
    std::string name{};            ///< unique name
    std::string model{};           ///< name in ShockwaveModels
    double submitted_seconds = 0;  ///< seconds from the start of the trace
    int gpus = 1;                  ///< GPUs that it runs on, never more or fewer
    int batch = 1;                 ///< examples per step in the first epoch, of all GPUs together
    ShockwaveMode mode = ShockwaveMode::constant;
    double steps = 1;  ///< all its work with that batch: a whole number of at least 1
};

/// The expected course of a job. Its real course differs somewhat (ShockwaveTraining).
struct ShockwaveProfile {
    std::vector<int> batches{};     ///< by epoch
    std::vector<double> seconds{};  ///< by epoch: seconds of training alone on its GPUs
    std::vector<double> left{};     ///< seconds from the begin of an epoch to the job's end; 0 after the last
    double isolated_seconds = 0;    ///< seconds of all epochs
    double epoch_examples = 1;      ///< examples per epoch

    [[nodiscard]] int epochs() const { return static_cast<int>(batches.size()); }
    /// Returns the seconds left after that many epochs. Parts of epochs count in proportion.
    [[nodiscard]] double seconds_left(double epochs_done) const {
        const double whole = std::floor(epochs_done);
        if (whole >= epochs()) return 0;
        const auto epoch = static_cast<std::size_t>(whole);
        return left[epoch] - (epochs_done - whole) * seconds[epoch];
    }
};

/// Returns the profile of a job. Throws std::invalid_argument if the speed was not measured with all of its
/// batches.
[[nodiscard]] inline ShockwaveProfile shockwave_profile(const ShockwaveJob& job,
                                                        const ShockwaveModel& model) {
    constexpr double most_epochs = 1 << 20;
    const double all = std::ceil(job.steps / model.epoch_steps(job.batch));
    if (!(all <= most_epochs))
        bad_input("job '" + job.name + "'", "number of epochs", all, "at most " + text_of(most_epochs));
    const int epochs = static_cast<int>(all);
    ShockwaveProfile profile;
    profile.epoch_examples = model.examples;
    for (int epoch = 0; epoch < epochs; ++epoch) {
        int batch = job.batch;
        if (job.mode == ShockwaveMode::gns)
            batch = model.gns_batch(job.gpus, job.batch, epoch, epochs);
        else if (job.mode == ShockwaveMode::accordion && model.critical && epoch > epochs * 0.3 &&
                 !model.critical->contain(job.batch, epoch, true))
            batch = model.largest_batch;
        const auto rate = model.rate(job.gpus, batch);
        if (!rate)
            bad_input("job '" + job.name + "'", "speed with batch " + text_of(batch), "unknown", "measured");
        profile.batches.push_back(batch);
        profile.seconds.push_back(model.examples / batch / *rate);
        profile.isolated_seconds += profile.seconds.back();
    }
    profile.left.assign(profile.seconds.size() + 1, 0);
    for (std::size_t epoch = profile.seconds.size(); epoch-- > 0;)
        profile.left[epoch] = profile.left[epoch + 1] + profile.seconds[epoch];
    return profile;
}

}  // namespace goodput::peers

#endif
