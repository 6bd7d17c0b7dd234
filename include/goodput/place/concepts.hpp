#ifndef GOODPUT_PLACE_CONCEPTS_HPP
#define GOODPUT_PLACE_CONCEPTS_HPP

// What a placement algorithm has to answer. Any type with the function satisfies the concept.

#include <concepts>
#include <span>
#include <string>

#include "goodput/core/cluster.hpp"
#include "goodput/place/request.hpp"

namespace goodput {

/// Which nodes does each job get: `result = placer.place(cluster, requests)`, one placement a request. Not
/// const, so that a placer may keep its buffers from round to round; the answer must not depend on them.
/// Satisfied by LeastMovesPlacer and TopologyPlacer.
template <class Algorithm>
concept Placer = requires(Algorithm& placer, const Cluster& cluster,
                          std::span<const PlacementRequest> requests) {
    { placer.place(cluster, requests) } -> std::convertible_to<PlacementResult>;
};

/// Does not compile for what is not quite a placer, and says in one line what is wrong with its function.
template <class Algorithm>
consteval bool placer_fits() {
    static_assert(Placer<Algorithm>,
                  "Placer: place is missing, or is not: PlacementResult place(const Cluster&, "
                  "std::span<const PlacementRequest> requests)");
    return true;
}

/// A placer that can keep jobs within one domain of a level (Job::within): TopologyPlacer.
template <class Algorithm>
concept KnowsTopology = requires(const Algorithm& placer, const std::string& level,
                                 const Placement& placement) {
    { placer.lies_within(level, placement) } -> std::convertible_to<bool>;
};

}  // namespace goodput

#endif
