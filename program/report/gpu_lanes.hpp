#ifndef GOODPUT_PROGRAM_REPORT_GPU_LANES_HPP
#define GOODPUT_PROGRAM_REPORT_GPU_LANES_HPP

// Who held which GPUs when, as blocks in one lane a GPU type. A replay says how many GPUs a job held and not
// which: blocks are packed so that a job stays where it is as long as it can.

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

/// The blocks of one GPU type, which has `gpus` at most, and by `capacity` how many from when on; by the time
/// at which they end. No two of them have a GPU at the same time.
[[nodiscard]] std::vector<GpuBlock> gpu_lane(std::span<const goodput::HeldPeriod> periods,
                                             std::size_t gpu_type, int gpus,
                                             std::span<const goodput::Capacity> capacity,
                                             double quantum_seconds);

}  // namespace cli

#endif
