#ifndef GOODPUT_PROGRAM_REPLAY_EMBEDDED_HPP
#define GOODPUT_PROGRAM_REPLAY_EMBEDDED_HPP

// The built-in trace that `goodput replay` replays without arguments: five applications, a cluster of 64
// GPUs of three types, and 160 jobs over eight hours.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"

namespace goodput::traces {

/// Constants that the measurements of an application do not contain: the seconds that a start costs, the
/// seconds that the policy assumes, and how much slower progress is than the step times say.
struct ApplicationConstants {
    double restart_seconds = 30;
    double restart_cost_seconds = 30;
    double slowdown = 1;
};
/// Returns the constants of an application of Sia's public simulator, by its name, or nothing for other
/// names.
std::optional<ApplicationConstants> published_constants(const std::string& application);

/// The GPU types that the embedded applications were measured on.
inline constexpr std::array<const char*, 3> embedded_gpu_types{"T4", "A100", "2080Ti"};

/// Returns the applications as fitted models, with the GPU types of embedded_gpu_types.
std::vector<goodput::Application> embedded_applications();

/// Returns `jobs` jobs that arrive at random (exponential gaps with a mean of 180 s). Their application,
/// GPUs and batch size are drawn from the mix of a public trace (Helios, Saturn cluster, as used to
/// evaluate Sia). The same seed gives the same jobs on any machine.
std::vector<goodput::Submission> embedded_workload(std::size_t jobs = 160, std::uint64_t seed = 1);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
