#ifndef GOODPUT_PROGRAM_PLAN_PARALLEL_PROFILES_HPP
#define GOODPUT_PROGRAM_PLAN_PARALLEL_PROFILES_HPP

// Large models as they were measured layer by layer, and the links between GPUs, in the files that Sailor
// published.

#include <string>
#include <vector>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"

namespace cli {

/// What a folder of profiles says.
struct ParallelProfiles {
    std::vector<goodput::LayeredModel> models{};  ///< their times by the cluster's types
    goodput::ParallelCluster cluster{};           ///< types, zones and links; no GPUs in it yet
};

/// Reads llm_info.json, profiles_tmp.json, multizone_bandwidths_het.json and communication_cost.json of a
/// folder, and ../configs/basic_cluster_config.json (GPUs of a node) where that is there. GPU types are those
/// of the published table and of that file. Anything missing or senseless, and with `strict` a field that is
/// given twice, is a std::runtime_error that names the file.
[[nodiscard]] ParallelProfiles read_parallel_profiles(const std::string& folder, bool strict = false);

}  // namespace cli

#endif
