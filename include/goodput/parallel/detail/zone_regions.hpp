#ifndef GOODPUT_PARALLEL_DETAIL_ZONE_REGIONS_HPP
#define GOODPUT_PARALLEL_DETAIL_ZONE_REGIONS_HPP

// Every plan lies in one zone, or crosses between two groups of zones. Zones are joined pair by pair, those
// with the fastest links first. Each join makes a region with a cut between its two sides. Every plan has a
// smallest region that it lies in, and has replicas on both sides of that region's cut. Think of the
// replicas as a grid with a column per pipeline. Either some column has stages on both sides, so messages
// between two of its stages cross the cut. Or every column lies on one side, so the gradients of every
// stage cross it. A region's plans on one side alone have only the GPUs of that side.

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::inline v0_1::detail {

/// What crosses the cut of a region.
enum class ZoneCrossing {
    anything,   ///< no restriction: the region has no cut
    gradients,  ///< the gradients of every stage, but no messages between stages
    messages    ///< messages between the stages of some column
};

/// Zones whose plans are searched together.
struct ZoneRegion {
    ParallelCluster cluster{};  ///< the GPUs of these zones, and the links between them
    std::vector<bool> side{};   ///< by zone: on which side of the cut; empty without a cut

    [[nodiscard]] bool has_cut() const { return !side.empty(); }
    /// Whether the way from one zone to another crosses the cut.
    [[nodiscard]] bool crosses(std::size_t from, std::size_t to) const {
        return has_cut() && side[from] != side[to];
    }
};

/// Returns the part of a cluster that lies in some zones. Zones and types keep their indices.
inline ParallelCluster part_of(const ParallelCluster& cluster, const std::vector<std::size_t>& zones) {
    ParallelCluster part;
    part.types = cluster.types;
    part.zones = cluster.zones;
    part.usd_per_gigabyte = cluster.usd_per_gigabyte;
    part.gpus.assign(cluster.zones.size(), std::vector<int>(cluster.types.size(), 0));
    for (const std::size_t zone : zones) part.gpus[zone] = cluster.gpus[zone];
    const auto there = [&](const LinkEnd& end) { return part.gpus[end.zone][end.gpu_type] > 0; };
    for (const auto& link : cluster.links)
        if (there(link.first.first) && there(link.first.second)) part.links.insert(part.links.end(), link);
    return part;
}

/// Returns regions such that every plan belongs to exactly one of them, within a zone or across a cut. If
/// there are many zones, or if `whole`, returns a single region of all zones without a cut.
inline std::vector<ZoneRegion> zone_regions(const ParallelCluster& cluster, bool whole) {
    constexpr std::size_t most_zones = 8;
    constexpr double message = 1e7;  // bytes of the message that links are compared with
    const std::vector<std::size_t> used = cluster.zones_with_gpus();
    std::vector<ZoneRegion> regions;
    if (whole || used.size() > most_zones) {
        regions.push_back({part_of(cluster, used), {}});
        return regions;
    }
    for (const std::size_t zone : used) regions.push_back({part_of(cluster, {zone}), {}});
    std::vector<std::tuple<double, std::size_t, std::size_t>> pairs;
    for (std::size_t i = 0; i < used.size(); ++i)
        for (std::size_t j = i + 1; j < used.size(); ++j) pairs.emplace_back(never, used[i], used[j]);
    for (const auto& [ends, curve] : cluster.links)
        for (auto& [seconds, a, b] : pairs)
            if (std::minmax(ends.first.zone, ends.second.zone) == std::minmax(a, b) &&
                cluster.gpus[ends.first.zone][ends.first.gpu_type] > 0 &&
                cluster.gpus[ends.second.zone][ends.second.gpu_type] > 0)
                seconds = std::min(seconds, curve.seconds(message));
    std::sort(pairs.begin(), pairs.end());
    std::vector<std::vector<std::size_t>> group(cluster.zones.size());  // by zone: the zones that it is
                                                                        // joined to
    for (const std::size_t zone : used) group[zone] = {zone};
    for (const auto& [seconds, a, b] : pairs) {
        if (std::find(group[a].begin(), group[a].end(), b) != group[a].end()) continue;
        std::vector<std::size_t> both = group[a];
        both.insert(both.end(), group[b].begin(), group[b].end());
        ZoneRegion joined{part_of(cluster, both), std::vector<bool>(cluster.zones.size(), false)};
        for (const std::size_t zone : group[b]) joined.side[zone] = true;
        regions.push_back(std::move(joined));
        for (const std::size_t zone : both) group[zone] = both;
    }
    return regions;
}

}  // namespace goodput::inline v0_1::detail

#endif
