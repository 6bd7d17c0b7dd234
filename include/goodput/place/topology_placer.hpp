#ifndef GOODPUT_PLACE_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_TOPOLOGY_PLACER_HPP

// Chooses, among placements with equally few moves, one whose jobs are close together (topology.hpp).
//
// An inner placer (least_moves.hpp) decides which jobs stay, which move, and which nodes have room left for
// jobs on parts of nodes. These decisions remain. But jobs that are placed on new whole nodes may exchange
// these among each other and with wholly free nodes, which needs no further moves.
// detail/topology_placer.hpp says how this is done, and what is proven.

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"

namespace goodput::inline v0_1 {

namespace detail {
class TopologyPlacing;
}

/// The cost of the spread of all jobs, and a lower bound on it, given which jobs move.
struct Spread {
    double cost = 0;  ///< cost of all jobs, in the unit of TopologyLevel::cost
    /// Lower bound for any choice among the nodes that the inner placer left for the jobs.
    double bound = 0;
    /// Whether it is proven that the jobs on new whole nodes cannot be closer together.
    [[nodiscard]] bool proven() const { return cost <= bound * (1 + 1e-12); }
};

/// The placer that the opening comment describes. It satisfies Placer. The topology must belong to the
/// cluster that the next place() gets.
class TopologyPlacer {
public:
    /// Makes a placer for a topology. Without levels it answers as LeastMovesPlacer does. `options` limit
    /// the effort of the inner placer.
    explicit TopologyPlacer(Topology topology = {}, PlacementOptions options = {})
        : topology_(std::move(topology)), options_(options) {}

    /// Replaces the topology, for example when nodes came or went.
    void set_topology(Topology topology) { topology_ = std::move(topology); }

    /// Sets the time after which the next place() stops its search for more room and returns the best
    /// answer so far. If no time is set, it always searches to its fixed limits, with the same answer on
    /// every machine.
    void set_time(std::optional<std::chrono::nanoseconds> time) { time_ = time; }

    /// The topology of the next place().
    [[nodiscard]] const Topology& topology() const { return topology_; }

    /// Returns the inner placer's answer, with other nodes for some jobs if these cost less; valid until
    /// the next call. Throws std::invalid_argument if the topology does not belong to this cluster, and in
    /// all cases in which the inner placer throws.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

    /// Whether a placement is in one domain of the level with that name; true if there is no such level.
    [[nodiscard]] bool lies_within(const std::string& level, const Placement& placement) const {
        return goodput::lies_within(topology_, level, placement);
    }

    /// Warns of jobs that must stay within a domain of a level that does not exist.
    void warn(std::span<const Job> jobs, std::vector<std::string>& warnings) const {
        std::map<std::string_view, NameList> in_vain;
        for (const Job& job : jobs)
            if (!job.within.empty() && !find_level(topology_, job.within)) in_vain[job.within].add(job.name);
        for (const auto& [level, named] : in_vain)
            warnings.push_back(named.text("job") + ": has to stay within one " + std::string(level) +
                               ", but no node says its " + std::string(level) +
                               ", so it may be laid out anywhere");
    }

    /// The spread of the last place().
    [[nodiscard]] const Spread& spread() const { return spread_; }

private:
    Topology topology_;
    PlacementOptions options_;
    std::optional<std::chrono::nanoseconds> time_;
    Spread spread_;
    detail::HiddenState<detail::TopologyPlacing> kept_;
};

static_assert(Placer<TopologyPlacer>);

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/place/detail/topology_placer.hpp"
#endif

#endif
