#ifndef GOODPUT_PROGRAM_WORLDS_SYNERGY_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_SYNERGY_TRACE_HPP

// Traces and profiles in Synergy's published formats.
//
// A trace is a CSV file of name, model, time of submission in seconds, iterations and GPUs, usually without
// a header. A first line with arrival_s in the third cell is a header.
//
// Profiles are one JSON document. {"cpu_values": [cores], "mem_values_gb": [GB], "profiles": {"models":
// {"MODEL_1": {...}}}} has these fields for every model: cpu_per_gpu_ideal, mem_gb_per_gpu_ideal,
// iter_time_s_at_fair_share, speedup_ideal_over_fair, and tput with one row per number of cores and one
// number per size of memory. As published, GB and GiB are not distinguished.

#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/sim/synergy_world.hpp"

namespace cli {

/// Reads the jobs of a trace in the order of their times, with the profiles of their models. Speeds are
/// relative to `share`, the share of cores and memory that matches the GPUs. Throws std::runtime_error for
/// files that cannot be read or are invalid.
std::vector<goodput::SynergyJob> read_synergy_jobs(const std::string& trace, const std::string& profiles,
                                                   const goodput::HostShare& share);

}  // namespace cli

#endif
