#ifndef GOODPUT_EXAMPLES_CLI_PROFILES_HPP
#define GOODPUT_EXAMPLES_CLI_PROFILES_HPP

// Measured applications: FOLDER/APPLICATION holds placements-TYPE.csv (placement,local_batch or
// local_bsz,step_time,sync_time; a placement has one digit a node, the GPUs used there), scalability-TYPE.csv
// (num_nodes,num_replicas,local_bsz,step_time,sync_time) and validation-BATCH.csv
// (progress,grad_sqr,grad_var; one row an epoch, progress in iterations at the least batch size). sync_time
// may be left out. Columns are found by name.

#include <span>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"

namespace cli {

/// The applications of those names, on those GPU types; a type without a file of placements is one that the
/// application does not run on. std::runtime_error for what is missing or makes no sense.
std::vector<goodput::Application> read_applications(const std::string& folder,
                                                    std::span<const std::string> names,
                                                    std::span<const std::string> gpu_types);

/// The GPU types that any application of a folder was measured on, by name.
std::vector<std::string> measured_gpu_types(const std::string& folder);

}  // namespace cli

#endif
