#ifndef GOODPUT_PROGRAM_PLAN_ROUND_HPP
#define GOODPUT_PROGRAM_PLAN_ROUND_HPP

// A line of `goodput plan`, read and checked.

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// Two jobs that may share GPUs, as a line says it.
struct RoundPair {
    std::array<std::size_t, 2> jobs{};                     ///< indices into the snapshot's jobs
    bool together = false;                                 ///< they do so now
    std::optional<int> gpus{};                             ///< with which the rates were measured
    std::map<std::size_t, std::array<double, 2>> rates{};  ///< by GPU type: examples/s of both together
    std::map<std::size_t, std::array<double, 2>> parts{};  ///< by GPU type: of their rates alone
};

struct Round {
    goodput::Snapshot snapshot{};                ///< without models
    std::vector<goodput::JobNews> news{};        ///< by job
    std::vector<std::string> warnings{};         ///< nodes and jobs that are set aside or left out, but for
                                                 ///< those that the plan names
    goodput::AllotOptions allot_options{};       ///< of the allotment
    std::vector<std::string> cancelled{};        ///< jobs that are gone without having ended
    goodput::Topology topology{};                ///< racks and zones, where nodes name several
    std::vector<goodput::TeamQuota> teams{};     ///< by name
    std::optional<double> budget_h{};            ///< dollars an hour of everybody together
    std::optional<double> spot_gpus{};           ///< most GPUs on spot nodes of everybody together
    std::vector<goodput::RentOffer> offers{};    ///< nodes that may be rented
    std::vector<RoundPair> pairs{};              ///< each two jobs once
    std::vector<goodput::Deadline> deadlines{};  ///< of jobs that have one
    std::vector<std::string> promised{};  ///< jobs with a deadline that say of a promise that it is kept
    std::vector<goodput::NodeTimes> node_times{};  ///< by node, if any says when it comes or goes
    double interval_s = 60;                        ///< from one round to the next
    double hour_worth = 10;                        ///< dollars, of an hour in which a job is not complete
};

/// What earlier rounds have named.
struct KnownNames {
    std::vector<std::string> gpu_types{};  ///< all so far, whose order stays as it is
    std::set<std::string> nodes{};         ///< of the last round
};

/// Reads a round, and warns of what it says in vain. New GPU types follow the known ones, in the order in
/// which the round names them. Jobs and nodes that make no sense are
/// set aside, as Scheduler::plan() does it, and warned of; a job without a name of its own is left out.
/// Refuses what no scheduler could make sense of, and all that where warnings are strict
/// (std::invalid_argument).
Round read_round(const Json& document, const KnownNames& known, Warnings& warnings);

}  // namespace cli

#endif
