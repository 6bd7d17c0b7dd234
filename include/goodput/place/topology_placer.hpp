#ifndef GOODPUT_PLACE_TOPOLOGY_PLACER_HPP
#define GOODPUT_PLACE_TOPOLOGY_PLACER_HPP

// Among placements with equally few moves, one whose jobs are close together (topology.hpp).
//
// What stays where it is, what moves and which nodes have room left for blocks is the choice of an inner
// placer (least_moves.hpp) and remains; but the jobs that take whole nodes anew may exchange them among each
// other and with wholly free nodes, at no move more. detail/topology_placer.hpp says how, and what is proven.

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

namespace goodput {

namespace detail {
class TopologyPlacing;
}

/// What the spread of all jobs costs, and a lower bound of it, given who moves.
struct Spread {
    double cost = 0;   ///< of all jobs, in the unit of TopologyLevel::cost
    double bound = 0;  ///< no other choice among the nodes that the inner placer left for them costs less
    /// No other nodes for those who are to be placed anew are closer.
    [[nodiscard]] bool proven() const { return cost <= bound * (1 + 1e-12); }
};

/// The placer described above; a Placer itself. The topology is that of the cluster of the next place().
class TopologyPlacer {
public:
    /// Without levels it answers as LeastMovesPlacer does. `options`: how hard that tries.
    explicit TopologyPlacer(Topology topology = {}, PlacementOptions options = {})
        : topology_(std::move(topology)), options_(options) {}

    /// For when nodes came or went.
    void set_topology(Topology topology) { topology_ = std::move(topology); }

    /// The next place() gives up its search for more room after this time, and answers with the best that it
    /// has; none: it searches as far as it ever does, with the same answer on every machine.
    void set_time(std::optional<std::chrono::nanoseconds> time) { time_ = time; }

    /// The topology of the next place().
    [[nodiscard]] const Topology& topology() const { return topology_; }

    /// As the inner placer answers, with other nodes where that is cheaper; valid until the next call. Throws
    /// std::invalid_argument for a topology that is not one of this cluster and for what the inner placer
    /// refuses.
    const PlacementResult& place(const Cluster& cluster, std::span<const PlacementRequest> requests);

    /// Whether a placement lies in one domain of the level of that name; true where there is no such level.
    [[nodiscard]] bool lies_within(const std::string& level, const Placement& placement) const {
        return goodput::lies_within(topology_, level, placement);
    }

    /// Warns of jobs that have to stay within a domain of a level that there is none of.
    void warn(std::span<const Job> jobs, std::vector<std::string>& warnings) const {
        std::map<std::string_view, Whom> in_vain;
        for (const Job& job : jobs)
            if (!job.within.empty() &&
                std::none_of(topology_.levels.begin(), topology_.levels.end(),
                             [&](const TopologyLevel& level) { return level.name == job.within; }))
                in_vain[job.within].add(job.name);
        for (const auto& [level, named] : in_vain)
            warnings.push_back(named.text("job") + ": has to stay within one " + std::string(level) +
                               ", but no node says its " + std::string(level) +
                               ", so it may be laid out anywhere");
    }

    /// Of the last place().
    [[nodiscard]] const Spread& spread() const { return spread_; }

private:
    Topology topology_;
    PlacementOptions options_;
    std::optional<std::chrono::nanoseconds> time_;
    Spread spread_;
    detail::Kept<detail::TopologyPlacing> kept_;
};

static_assert(Placer<TopologyPlacer>);

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/place/detail/topology_placer.hpp"
#endif

#endif
