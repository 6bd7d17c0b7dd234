#ifndef GOODPUT_PROGRAM_WORLDS_GAVEL_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_GAVEL_TRACE_HPP

// Traces and speeds in Gavel's published formats.
//
// A trace has one job per line, in cells separated by tabs: program, three cells and a flag of how it is
// launched, steps, GPUs, weight, deadline, and time of submission in seconds. Launch and deadline are not
// used.
//
// Speeds are one JSON document, usually compressed: {"TYPE": {"('PROGRAM', GPUS)": {"null": steps per
// second of all GPUs together, "('OTHER', GPUS)": [steps per second, those of the other job]}}}. The first
// is the speed alone, the second that on the same GPUs as a job of another program. [0, 0] means that they
// do not run together.

#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/gavel_world.hpp"

namespace cli {

/// Reads the jobs of a trace in the order of their times, named by the number of their line, from 0, with
/// their speeds on the cluster's GPU types. Throws std::invalid_argument for a GPU type without speeds, and
/// std::runtime_error for files that cannot be read or are invalid.
std::vector<goodput::GavelJob> read_gavel_jobs(const std::string& trace, const std::string& profiles,
                                               const goodput::Cluster& cluster);

/// Reads the speeds of these jobs' programs while sharing GPUs, for programs with the same number of GPUs.
/// Has an entry for every two programs that can run together on some type, with 0 on other types. Throws
/// the same errors about speeds as read_gavel_jobs().
std::vector<goodput::GavelPair> read_gavel_pairs(const std::string& profiles, const goodput::Cluster& cluster,
                                                 std::span<const goodput::GavelJob> jobs);

}  // namespace cli

#endif
