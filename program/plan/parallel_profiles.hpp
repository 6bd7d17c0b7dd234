#ifndef GOODPUT_PROGRAM_PLAN_PARALLEL_PROFILES_HPP
#define GOODPUT_PROGRAM_PLAN_PARALLEL_PROFILES_HPP

// Reads large models that were measured layer by layer, and the links between GPUs, from files in Sailor's
// published format.

#include <string>
#include <vector>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"

namespace cli {

/// The contents of a folder of profiles.
struct ParallelProfiles {
    std::vector<goodput::LayeredModel> models{};  ///< their times are by the cluster's types
    goodput::ParallelCluster cluster{};           ///< types, zones and links; no GPUs yet
};

/// Reads llm_info.json, profiles_tmp.json, multizone_bandwidths_het.json and communication_cost.json of a
/// folder. Also reads ../configs/basic_cluster_config.json (GPUs per node) if it exists. The GPU types are
/// those of the published table and of that file. Throws std::runtime_error that names the file if anything
/// is missing or invalid, or, with `strict`, if a field occurs twice.
[[nodiscard]] ParallelProfiles read_parallel_profiles(const std::string& folder, bool strict = false);

}  // namespace cli

#endif
