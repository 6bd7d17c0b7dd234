#ifndef GOODPUT_PROGRAM_REPORT_GPU_LANES_HPP
#define GOODPUT_PROGRAM_REPORT_GPU_LANES_HPP

// The GPUs that jobs held over time, as blocks in one lane per GPU type. A replay knows how many GPUs a job
// held, but not which ones. Blocks are packed so that a job stays in place as long as it can.

#include <cstddef>
#include <span>
#include <vector>

#include "goodput/sim/replay_result.hpp"

namespace cli {

/// GPUs [first, first + gpus) of a lane that a job held for quanta of time [begin, end).
struct GpuBlock {
    std::size_t job = 0;
    long begin = 0, end = 0;
    int first = 0, gpus = 0;
};

/// Returns the blocks of one GPU type, ordered by their ends. The type has at most `gpus` GPUs, and
/// `capacity` says how many from when on. No two blocks have the same GPU at the same time.
[[nodiscard]] std::vector<GpuBlock> gpu_lane(std::span<const goodput::HeldPeriod> periods,
                                             std::size_t gpu_type, int gpus,
                                             std::span<const goodput::Capacity> capacity,
                                             double quantum_seconds);

}  // namespace cli

#endif
