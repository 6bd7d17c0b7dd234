#ifndef GOODPUT_COMPILED_C_ROUND_HPP
#define GOODPUT_COMPILED_C_ROUND_HPP

// A round of the C interface as the scheduler takes it, checked.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "goodput/availability/rent_offer.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/goodput.h"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::c {

struct RoundInput {
    Snapshot snapshot{};          ///< its models: only of jobs that bring their own
    std::vector<JobNews> news{};  ///< by job
    std::vector<std::string> cancelled{};
    std::vector<std::string> warnings{};  ///< of nodes that are set aside, but for those that a plan names
    Topology topology{};
    std::vector<TeamQuota> teams{};
    std::optional<double> budget_h{}, spot_gpus{}, deadline_ms{};
};

/// The measurement, checked, as one of replicas of `gpus_per_replica` GPUs each.
[[nodiscard]] ThroughputSample sample_of(const goodput_sample& from, const std::string& subject,
                                         int gpus_per_replica);

/// What may be rented, checked; the GPU types are those of the last round.
[[nodiscard]] std::vector<RentOffer> read_offers(const goodput_rent_question& question,
                                                 const Cluster& cluster);

/// Reads a round; `gpu_types` are those of the rounds before it. std::invalid_argument for what makes no
/// sense.
[[nodiscard]] RoundInput read_round(const goodput_round& round, const std::vector<std::string>& gpu_types);

}  // namespace goodput::c

#endif
