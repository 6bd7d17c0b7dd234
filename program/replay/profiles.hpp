#ifndef GOODPUT_PROGRAM_REPLAY_PROFILES_HPP
#define GOODPUT_PROGRAM_REPLAY_PROFILES_HPP

// Measured applications: FOLDER/APPLICATION holds placements-TYPE.csv (placement,local_batch or
// local_bsz,step_time,sync_time; a placement has one digit a node, the GPUs used there), scalability-TYPE.csv
// (num_nodes,num_replicas,local_bsz,step_time,sync_time) and validation-BATCH.csv
// (progress,grad_sqr,grad_var; one row an epoch, progress in iterations at the least batch size). sync_time
// may be left out. constants.csv (restart_s,restart_cost_s,slowdown; one row, the last two columns may be
// missing) says what a start costs, what the policy is told of that, and by which factor progress is slower
// than the steps say. Columns are found by name.

#include <span>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"

namespace goodput::traces {

/// The applications of those names, on those GPU types; a type without a file of placements is one that the
/// application does not run on. Applications without constants.csv get 30 s and no slowdown, or if they are
/// called like one of Sia's what its public simulator has of that: their names are added to `as_published`,
/// if given. std::runtime_error for what is missing or makes no sense.
std::vector<goodput::Application> read_applications(const std::string& folder,
                                                    std::span<const std::string> names,
                                                    std::span<const std::string> gpu_types,
                                                    std::vector<std::string>* as_published = nullptr);

/// The GPU types that any application of a folder was measured on, by name.
std::vector<std::string> measured_gpu_types(const std::string& folder);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
