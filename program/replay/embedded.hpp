#ifndef GOODPUT_PROGRAM_REPLAY_EMBEDDED_HPP
#define GOODPUT_PROGRAM_REPLAY_EMBEDDED_HPP

// What `goodput replay` replays without arguments: five applications, a cluster of 64 GPUs of three types,
// 160 jobs over eight hours.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"

namespace goodput::traces {

/// What the measurements of an application do not hold: the seconds that a start costs, what the policy is
/// told of it, and how much slower progress is than the step times say.
struct ApplicationConstants {
    double restart_seconds = 30;
    double restart_cost_seconds = 30;
    double slowdown = 1;
};
/// Those of an application of Sia's public simulator, by its name; none for others.
std::optional<ApplicationConstants> published_constants(const std::string& application);

/// The GPU types that the embedded applications were measured on.
inline constexpr std::array<const char*, 3> embedded_gpu_types{"T4", "A100", "2080Ti"};

/// The applications as fitted models, by GPU type of embedded_gpu_types.
std::vector<goodput::Application> embedded_applications();

/// `jobs` jobs that arrive at random (exponential gaps, 180 s in the mean), their application, GPUs and batch
/// size drawn from the mix of a public trace (Helios, Saturn cluster, as used to judge Sia). The same seed
/// gives the same jobs on any machine.
std::vector<goodput::Submission> embedded_workload(std::size_t jobs = 160, std::uint64_t seed = 1);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
