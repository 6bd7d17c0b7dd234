#ifndef GOODPUT_PROGRAM_REPORT_PIPELINE_SCHEDULE_HPP
#define GOODPUT_PROGRAM_REPORT_PIPELINE_SCHEDULE_HPP

// The time at which each stage of a pipeline computes each micro-batch: one forward, one backward (1F1B,
// PipeDream-Flush).

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cli {

/// The times of a stage for every micro-batch, in seconds. A stage computes nothing while it sends.
struct PipelineStage {
    double forward = 0;
    double send_forward = 0;  ///< activations to the next stage
    double backward = 0;
    double send_backward = 0;  ///< gradients to the previous stage
};

/// A stage computes a micro-batch, then sends the result.
struct PipelineStep {
    std::size_t stage = 0;
    int microbatch = 0;  ///< from 0
    bool forward = true;
    double begin = 0;
    double computed = 0;
    double end = 0;  ///< including the sending
};

/// Returns all steps of an iteration, stage by stage in the order of time. A stage first computes one
/// micro-batch forward for each stage behind it. Then it alternates between forward and backward.
[[nodiscard]] inline std::vector<PipelineStep> pipeline_schedule(const std::vector<PipelineStage>& stages,
                                                                 int microbatches) {
    const std::size_t count = stages.size(), all = static_cast<std::size_t>(microbatches);
    std::vector<std::vector<PipelineStep>> steps(count);
    std::vector<std::vector<double>> forward_end(count, std::vector<double>(all, -1)),
        backward_end = forward_end;
    std::vector<std::size_t> forwards(count, 0), backwards(count, 0);
    for (std::size_t left = 2 * count * all; left > 0;) {
        for (std::size_t s = 0; s < count; ++s) {
            for (;;) {
                const std::size_t warm_up = std::min(all, count - 1 - s);
                const bool forward = forwards[s] < all && forwards[s] - backwards[s] <= warm_up;
                const std::size_t m = forward ? forwards[s] : backwards[s];
                if (m == all) break;
                const double arrived = forward
                                           ? (s == 0 ? 0 : forward_end[s - 1][m])
                                           : (s + 1 == count ? forward_end[s][m] : backward_end[s + 1][m]);
                if (arrived < 0) break;  // it waits for a step that has not come yet
                const double begin = std::max(arrived, steps[s].empty() ? 0 : steps[s].back().end);
                const double computed = begin + (forward ? stages[s].forward : stages[s].backward);
                const double end = computed + (forward ? stages[s].send_forward : stages[s].send_backward);
                steps[s].push_back({s, static_cast<int>(m), forward, begin, computed, end});
                (forward ? forward_end : backward_end)[s][m] = end;
                ++(forward ? forwards : backwards)[s];
                --left;
            }
        }
    }
    std::vector<PipelineStep> result;
    for (const auto& of_stage : steps) result.insert(result.end(), of_stage.begin(), of_stage.end());
    return result;
}

}  // namespace cli

#endif
