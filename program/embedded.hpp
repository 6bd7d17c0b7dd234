#ifndef GOODPUT_EXAMPLES_CLI_EMBEDDED_HPP
#define GOODPUT_EXAMPLES_CLI_EMBEDDED_HPP

// What `goodput replay` replays without arguments: five applications, a cluster of 64 GPUs of three types,
// 160 jobs over eight hours.

#include <cstdint>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/application.hpp"

namespace cli {

/// What the measurements of an application do not hold: the seconds that a start costs, what the policy is
/// told of it, and how much slower progress is than the step times say. Figures of Sia's public simulator; 30
/// s and no slowdown for other names.
struct ApplicationConstants {
    double restart_seconds = 30;
    double restart_cost_seconds = 30;
    double slowdown = 1;
};
ApplicationConstants constants_of(const std::string& application);

/// 6 nodes with 4 T4, 2 with 8 A100, 3 with 8 RTX 2080 Ti.
goodput::Cluster embedded_cluster();

/// The applications as fitted models, by GPU type of embedded_cluster().
std::vector<goodput::Application> embedded_applications();

/// `jobs` jobs that arrive at random (exponential gaps, 180 s in the mean), their application, GPUs and batch
/// size drawn from the mix of a public trace (Helios, Saturn cluster, as used to judge Sia). The same seed
/// gives the same jobs on any machine.
std::vector<goodput::Submission> embedded_workload(std::size_t jobs = 160, std::uint64_t seed = 1);

}  // namespace cli

#endif
