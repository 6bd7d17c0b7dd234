#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_MODEL_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_MODEL_HPP

// A kind of model in Shockwave's simulator (NSDI'23): how fast it trains with a number of GPUs and a batch,
// and which batch each epoch has under the two published schedules.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace goodput::peers {

/// How a job's batch changes while it trains.
enum class ShockwaveMode {
    constant,
    accordion,  ///< the largest batch except in critical epochs
    gns         ///< grows with the gradient noise
};

/// From this epoch on, the batch is the first batch times the factor.
struct GnsStage {
    int first_epoch = 0;
    int factor = 1;
};

/// The epochs in which accordion keeps the first batch.
struct CriticalEpochs {
    struct Span {
        int first = 0, end = 0;
    };
    int period = 0;                             ///< the first `head` epochs of every period; 0 for none
    int head = 0;                               ///< with a period
    std::map<int, int> head_of_batch{};         ///< without a period: number of first epochs, by first batch
    std::vector<Span> later{};                  ///< these epochs in addition
    std::vector<Span> later_of_profile_only{};  ///< these only when a profile is made

    /// Whether an epoch is critical.
    [[nodiscard]] bool contain(int first_batch, int epoch, bool of_profile) const {
        if (period > 0) return epoch % period < head;
        const auto found = head_of_batch.find(first_batch);
        const auto within = [&](const Span& span) { return epoch >= span.first && epoch < span.end; };
        return (found != head_of_batch.end() && epoch < found->second) ||
               std::any_of(later.begin(), later.end(), within) ||
               (of_profile &&
                std::any_of(later_of_profile_only.begin(), later_of_profile_only.end(), within));
    }
};

/// A kind of model.
struct ShockwaveModel {
    double examples = 1;                            ///< examples in its data set, at least 1
    int smallest_batch = 1, largest_batch = 1;      ///< limits of the schedules
    std::map<std::pair<int, int>, double> rates{};  ///< steps per second of all GPUs, by GPUs and batch
    std::optional<CriticalEpochs> critical{};       ///< without them, accordion changes nothing
    std::map<std::pair<int, int>, std::vector<GnsStage>> stages{};  ///< by GPUs and first batch

    /// Returns the steps per epoch.
    [[nodiscard]] double epoch_steps(int batch) const { return std::ceil(examples / batch); }
    /// Returns the steps per second of that many GPUs together, or nothing if they were not measured.
    [[nodiscard]] std::optional<double> rate(int gpus, int batch) const {
        const auto found = rates.find({gpus, batch});
        return found == rates.end() || !(found->second > 0) ? std::nullopt : std::optional(found->second);
    }
    /// Returns the batch that growing gradient noise asks for in an epoch of a job with that many epochs.
    /// Published, and kept: the last epoch has the first batch again, if it is beyond the first stage.
    [[nodiscard]] int gns_batch(int gpus, int first_batch, int epoch, int epochs) const {
        const auto found = stages.find({gpus, first_batch});
        if (found == stages.end() || found->second.empty() || epochs <= found->second.front().first_epoch)
            return first_batch;
        const GnsStage* stage = nullptr;
        for (const GnsStage& reached : found->second)
            if (epoch >= reached.first_epoch) stage = &reached;
        if (!stage || (epoch == epochs - 1 && stage != &found->second.front())) return first_batch;
        return static_cast<int>(
            std::min(static_cast<long long>(first_batch) * stage->factor, 0LL + largest_batch));
    }
};

}  // namespace goodput::peers

#endif
