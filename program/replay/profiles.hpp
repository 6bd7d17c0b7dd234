#ifndef GOODPUT_PROGRAM_REPLAY_PROFILES_HPP
#define GOODPUT_PROGRAM_REPLAY_PROFILES_HPP

// Measured applications. FOLDER/APPLICATION holds placements-TYPE.csv (placement,local_batch or
// local_bsz,step_time,sync_time; a placement has one digit per node, the number of GPUs used there),
// scalability-TYPE.csv (num_nodes,num_replicas,local_bsz,step_time,sync_time) and validation-BATCH.csv
// (progress,grad_sqr,grad_var; one row per epoch, progress in iterations at the smallest batch size).
// sync_time may be left out. constants.csv (restart_s,restart_cost_s,slowdown; one row, and the last two
// columns may be missing) gives the cost of a start, the cost that the policy assumes, and the factor by
// which progress is slower than the steps say. Columns are found by name.

#include <span>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"

namespace goodput::traces {

/// Reads the applications of those names for those GPU types. An application does not run on a type without
/// a file of placements. An application without constants.csv gets 30 s and no slowdown. If it has the name
/// of one of Sia's applications, it gets the constants of Sia's public simulator, and its name is added to
/// `as_published`, if given. Throws std::runtime_error for anything missing or invalid.
std::vector<goodput::Application> read_applications(const std::string& folder,
                                                    std::span<const std::string> names,
                                                    std::span<const std::string> gpu_types,
                                                    std::vector<std::string>* as_published = nullptr);

/// Returns the GPU types on which any application of a folder was measured, by name.
std::vector<std::string> measured_gpu_types(const std::string& folder);

}  // namespace goodput::traces

namespace cli {
using namespace goodput::traces;  // as the program calls it
}

#endif
