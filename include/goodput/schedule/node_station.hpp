#ifndef GOODPUT_SCHEDULE_NODE_STATION_HPP
#define GOODPUT_SCHEDULE_NODE_STATION_HPP

// What happens once the nodes are known. Rows are sums over a pool, and a node may not have what a sum
// promises: cores and memory beside GPUs, a disk, a link. A station looks at who lies where, and may give a
// job another of its options, other nodes, or nothing. It is a struct with
//
//   void operator()(const Round& round, const AllotmentProblem& problem, std::span<PlacedJob> placed)
//
// which is called once a round. One that knows what nodes have left has two functions more:
//
//   bool has_room(const Configuration& configuration, const NodeShare& share) const
//   void take(const Configuration& configuration, const Placement& placement)
//
// Then what its changes leave free is offered to those whose options it took back, and to those who wait
// (detail/leftovers.hpp), where it says that there is room.

#include <cstddef>
#include <span>
#include <string>

#include "goodput/allot/problem.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/policy/concepts.hpp"

namespace goodput {

/// A job that has found nodes.
struct PlacedJob {
    std::size_t job = 0;                ///< index into Round::jobs, and into the problem
    std::span<const Option> options{};  ///< all that it was offered, in the order of the problem
    bool keeps = false;                 ///< it keeps its GPUs on its nodes whatever happens
    std::size_t option = no_option;     ///< that it has nodes for; may be changed, no_option: taken back
    Placement placement{};              ///< may be changed
    std::string why{};                  ///< for the owner of a job whose option is taken back
    /// It goes on, on several nodes that it shares with others: no other nodes would be as good to it.
    bool shares_nodes = false;
};

/// Looks at who lies where.
template <class S>
concept NodeStation = requires(S& station, const Round& round, const AllotmentProblem& problem,
                               std::span<PlacedJob> placed) {
    station(round, problem, placed);
};

/// And knows what nodes have left then.
template <class S>
concept KnowsRoom = NodeStation<S> && requires(S& station, const Configuration& configuration,
                                               const NodeShare& share, const Placement& placement) {
    { station.has_room(configuration, share) } -> std::convertible_to<bool>;
    station.take(configuration, placement);
};

/// Leaves everybody what the nodes gave: the default.
struct NoNodeStation {
    /// Changes nothing.
    void operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob>) const {}
};

static_assert(NodeStation<NoNodeStation>);

}  // namespace goodput

#endif
