#ifndef GOODPUT_PROGRAM_WORLDS_GAVEL_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_GAVEL_TRACE_HPP

// Traces and speeds as published with Gavel.
//
// A trace has a job a line, in cells that tabs separate: program, three cells and a flag of how it is
// launched, steps, GPUs, weight, deadline and time of submission in seconds. Launch and deadline are not
// used.
//
// Speeds are one JSON document, mostly compressed: {"TYPE": {"('PROGRAM', GPUS)": {"null": steps a second of
// all GPUs together, "('OTHER', GPUS)": [steps a second, those of the other]}}}: alone, and on the same GPUs
// as a job of another program. [0, 0]: they do not run together.

#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/sim/gavel_world.hpp"

namespace cli {

/// The jobs of a trace in the order of their times, called by the number of their line, from 0, with their
/// speeds on the cluster's GPU types. std::invalid_argument for a GPU type
/// without speeds, std::runtime_error for files that cannot be read or make no sense.
std::vector<goodput::GavelJob> read_gavel_jobs(const std::string& trace, const std::string& profiles,
                                               const goodput::Cluster& cluster);

/// How fast the programs of these jobs are on the same GPUs, where both have as many: each two once, those
/// that run together anywhere, with 0 where they do not. Refuses what read_gavel_jobs() refuses of speeds.
std::vector<goodput::GavelPair> read_gavel_pairs(const std::string& profiles, const goodput::Cluster& cluster,
                                                 std::span<const goodput::GavelJob> jobs);

}  // namespace cli

#endif
