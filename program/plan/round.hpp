#ifndef GOODPUT_PROGRAM_PLAN_ROUND_HPP
#define GOODPUT_PROGRAM_PLAN_ROUND_HPP

// Reads and checks a line of `goodput plan`.

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
#include "goodput/pairs/utilised_pairs.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// Two jobs that may share GPUs, as a line gives them.
struct RoundPair {
    std::array<std::size_t, 2> jobs{};                     ///< indices into the snapshot's jobs
    bool together = false;                                 ///< they share GPUs now
    std::optional<int> gpus{};                             ///< GPUs with which the rates were measured
    std::map<std::size_t, std::array<double, 2>> rates{};  ///< by GPU type: examples/s of both while sharing
    std::map<std::size_t, std::array<double, 2>> parts{};  ///< by GPU type: the same as fractions of their
                                                           ///< rates alone
    bool on_offer = false;                                 ///< one of the two names the other in shares_with

    /// Whether nobody says how fast the two are together.
    [[nodiscard]] bool is_estimated() const { return on_offer && rates.empty() && parts.empty(); }
};

/// Part of the time in which the GPU is busy while a job runs alone, as far as its line says it.
struct JobUtilisation {
    std::optional<double> everywhere{};
    std::map<std::size_t, double> by_type{};  ///< by GPU type, instead of that

    [[nodiscard]] std::optional<double> on(std::size_t gpu_type) const {
        const auto at = by_type.find(gpu_type);
        return at == by_type.end() ? everywhere : std::optional(at->second);
    }
};

struct Round {
    goodput::Snapshot snapshot{};             ///< without models
    std::vector<goodput::JobNews> news{};     ///< by job
    std::vector<std::string> warnings{};      ///< nodes and jobs that are set aside or left out, except those
                                              ///< that the plan names
    goodput::AllotOptions allot_options{};    ///< options of the allotment
    std::vector<std::string> cancelled{};     ///< jobs that are gone without having ended
    goodput::Topology topology{};             ///< racks and zones, if nodes name several
    std::vector<goodput::TeamQuota> teams{};  ///< by name
    std::optional<double> budget_h{};         ///< dollars per hour of all jobs together
    std::optional<double> spot_gpus{};        ///< most GPUs on spot nodes of all jobs together
    std::vector<goodput::RentOffer> offers{};                         ///< nodes that may be rented
    std::vector<RoundPair> pairs{};                                   ///< each pair of jobs once
    std::vector<JobUtilisation> utilisation{};                        ///< by job
    goodput::GpuSharing sharing = goodput::GpuSharing::time_slicing;  ///< how pairs share GPUs
    std::vector<goodput::Deadline> deadlines{};                       ///< deadlines of the jobs that have one
    std::vector<std::string> promised{};  ///< jobs with a deadline whose line says that a promise is kept
    std::vector<goodput::NodeTimes> node_times{};  ///< by node; empty if none says when it comes or goes
    double interval_s = 60;                        ///< seconds from one round to the next
    double hour_worth = 10;                        ///< dollars per hour in which a job is not complete
};

/// Names from earlier rounds.
struct KnownNames {
    std::vector<std::string> gpu_types{};  ///< all GPU types so far, in a fixed order
    std::set<std::string> nodes{};         ///< nodes of the last round
};

/// Reads a round, and warns about statements without effect. New GPU types follow the known ones, in the
/// order in which the round names them. Invalid jobs and nodes are set aside, as in Scheduler::plan(), with
/// a warning. A job without a name of its own is left out. Throws std::invalid_argument for a round that no
/// scheduler can use and, if warnings are strict, for all of the above.
Round read_round(const Json& document, const KnownNames& known, Warnings& warnings);

}  // namespace cli

#endif
