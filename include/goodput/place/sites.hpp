#ifndef GOODPUT_PLACE_SITES_HPP
#define GOODPUT_PLACE_SITES_HPP

// The topology of a cluster whose nodes say by name in which rack and zone they stand.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "goodput/place/topology.hpp"

namespace goodput {

/// Where a node stands, by name; empty where nothing is said.
struct NodeSite {
    std::string zone{};  ///< several racks
    std::string rack{};  ///< one of its zone: racks of one name in two zones are two
};

/// The levels "rack" and "zone", each only if a node names its own; nodes that name none stand together. One
/// zone more costs more than any number of racks. `sites` by node, as Cluster::nodes. O(nodes log nodes).
[[nodiscard]] inline Topology topology_of(std::span<const NodeSite> sites) {
    std::map<std::pair<std::string, std::string>, std::size_t> racks;
    std::map<std::string, std::size_t> zones;
    TopologyLevel rack{"rack", 1, {}}, zone{"zone", 1.0 + static_cast<double>(sites.size()), {}};
    for (const NodeSite& site : sites) {
        rack.domain_of.push_back(racks.try_emplace({site.zone, site.rack}, racks.size()).first->second);
        zone.domain_of.push_back(zones.try_emplace(site.zone, zones.size()).first->second);
    }
    const auto names = [&](std::string NodeSite::*name) {
        return std::any_of(sites.begin(), sites.end(),
                           [&](const NodeSite& site) { return !(site.*name).empty(); });
    };
    Topology topology;
    if (names(&NodeSite::rack)) topology.levels.push_back(std::move(rack));
    if (names(&NodeSite::zone)) topology.levels.push_back(std::move(zone));
    return topology;
}

}  // namespace goodput

#endif
