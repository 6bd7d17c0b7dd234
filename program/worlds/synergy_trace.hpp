#ifndef GOODPUT_PROGRAM_WORLDS_SYNERGY_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_SYNERGY_TRACE_HPP

// Traces and profiles as published with Synergy.
//
// A trace is a CSV file of name, model, time of submission in seconds, iterations and GPUs, mostly without a
// header; a first line with arrival_s in the third place is one.
//
// Profiles are one JSON document. Of {"cpu_values": [cores], "mem_values_gb": [GB], "profiles": {"models":
// {"MODEL_1": {...}}}} are read, for every model of the trace: cpu_per_gpu_ideal, mem_gb_per_gpu_ideal,
// iter_time_s_at_fair_share, speedup_ideal_over_fair and tput, a row for each number of cores with a number
// for each size of memory. GB and GiB are not told apart, as published.

#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/sim/synergy_world.hpp"

namespace cli {

/// The jobs of a trace in the order of their times, with the profiles of their models. Speeds are made
/// relative to `share`, which goes with a GPU in proportion. std::runtime_error for files that cannot be read
/// or make no sense.
std::vector<goodput::SynergyJob> read_synergy_jobs(const std::string& trace, const std::string& profiles,
                                                   const goodput::HostShare& share);

}  // namespace cli

#endif
