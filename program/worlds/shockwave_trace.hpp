#ifndef GOODPUT_PROGRAM_WORLDS_SHOCKWAVE_TRACE_HPP
#define GOODPUT_PROGRAM_WORLDS_SHOCKWAVE_TRACE_HPP

// Traces, speeds and batch schedules of Shockwave's comparison.
//
// A trace has one JSON document per line: job (its number), model, batch, gpus, mode (static, accordion,
// gns), steps, arrival (seconds).
//
// A folder has two documents. throughputs.json: {table: {model: {gpus: {batch: steps per second}}}}.
// dynamic.json: dataset_examples, largest_batch and smallest_batch by model; gns_stages by model, GPUs and
// first batch, [[first epoch, factor], ...]; accordion_critical by model, either period and head, or
// head_by_start_batch, later and later_profile_only ([[first epoch, end], ...]).

#include <string>
#include <vector>

#include "peers/shockwave/shockwave_profile.hpp"
#include "peers/shockwave/shockwave_world.hpp"

namespace cli {

/// Reads the jobs of a trace in the order of their times, named by their number. Throws std::runtime_error
/// for a file that cannot be read or is invalid.
std::vector<goodput::peers::ShockwaveJob> read_shockwave_jobs(const std::string& trace);

/// Reads the models of a folder, with the speeds of one of its tables. Throws std::runtime_error for files
/// that cannot be read or are invalid, and std::invalid_argument for a table that does not exist.
goodput::peers::ShockwaveModels read_shockwave_models(const std::string& folder, const std::string& table);

}  // namespace cli

#endif
