#ifndef GOODPUT_PLACE_TOPOLOGY_HPP
#define GOODPUT_PLACE_TOPOLOGY_HPP

// A topology says which nodes are close together: nodes are in racks, and racks in zones. A job that spans
// several of them has a cost.
//
// A topology is a tree over the nodes, given level by level from the inside (rack) to the outside (zone). A
// placement that touches d_l domains of level l costs
//
//     sum_l cost_l (d_l - 1)
//
// where cost_l is the cost of the level. So a job on one node or within one rack costs nothing. The caller
// chooses the unit: seconds per iteration, or just an order of preference.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1 {

/// One level of the tree, for example the racks.
struct TopologyLevel {
    std::string name{};  ///< name of the level, for messages
    double cost = 0;     ///< cost of every domain after the first, at least 0
    /// Domain of each node, in the order of Cluster::nodes. The numbers need not be consecutive.
    std::vector<std::size_t> domain_of{};
};

/// The levels from the inside to the outside. Nodes of one domain must also be in one domain of the next
/// level.
struct Topology {
    std::vector<TopologyLevel> levels{};  ///< empty if all nodes are equally close
};

/// Checks a topology. Throws std::invalid_argument if a cost is negative or not finite, if a level does not
/// have a domain for each node, or if domains are not nested. O(levels * nodes log nodes).
inline void validate(const Topology& topology, const Cluster& cluster) {
    for (std::size_t l = 0; l < topology.levels.size(); ++l) {
        const TopologyLevel& level = topology.levels[l];
        const auto subject = [&] { return "topology level '" + level.name + "'"; };
        require_at_least(subject, "cost", level.cost, 0);
        if (level.domain_of.size() != cluster.nodes.size())
            bad_input(subject(), "size of domain_of", level.domain_of.size(), "the number of nodes");
        if (l == 0) continue;
        const TopologyLevel& inner = topology.levels[l - 1];
        std::map<std::size_t, std::size_t> domain_around;
        for (std::size_t node = 0; node < level.domain_of.size(); ++node) {
            const std::size_t domain = inner.domain_of[node];
            if (domain_around.emplace(domain, level.domain_of[node]).first->second != level.domain_of[node])
                bad_input("topology level '" + inner.name + "'", "domain " + text_of(domain), "in several",
                          "in one domain of level '" + level.name + "'");
        }
    }
}

/// Returns the number of domains of a level that a placement touches.
[[nodiscard]] inline std::size_t domains(const TopologyLevel& level, const Placement& placement) {
    std::vector<std::size_t> touched;
    for (const NodeShare& share : placement) touched.push_back(level.domain_of[share.node]);
    std::sort(touched.begin(), touched.end());
    return static_cast<std::size_t>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

/// Returns the level with that name, or null if there is none, or if the name is empty.
[[nodiscard]] inline const TopologyLevel* find_level(const Topology& topology, std::string_view name) {
    const auto level = std::ranges::find(topology.levels, name, &TopologyLevel::name);
    return name.empty() || level == topology.levels.end() ? nullptr : &*level;
}

/// Whether a placement is in one domain of the level with that name; true if there is no such level.
[[nodiscard]] inline bool lies_within(const Topology& topology, const std::string& level,
                                      const Placement& placement) {
    const TopologyLevel* known = find_level(topology, level);
    return placement.size() < 2 || !known || domains(*known, placement) == 1;
}

/// Returns the nodes of the largest domain, in ascending order. Only nodes of the pool for which
/// `usable(node)` holds are considered. A job that must stay within one domain can get at most this many
/// whole nodes.
template <class Usable>
[[nodiscard]] std::vector<std::size_t> largest_domain(const TopologyLevel& level, const Pool& pool,
                                                      Usable usable) {
    std::map<std::size_t, std::vector<std::size_t>> domains;
    for (const std::size_t node : pool.nodes)
        if (usable(node)) domains[level.domain_of[node]].push_back(node);
    std::vector<std::size_t> largest;
    for (auto& [domain, nodes] : domains)
        if (nodes.size() > largest.size()) largest = std::move(nodes);
    return largest;
}

/// Returns for each node whether one of these jobs certainly keeps GPUs there (a pinned job). Then no other
/// job can have the whole node.
[[nodiscard]] inline std::vector<char> kept_nodes(const Cluster& cluster, std::span<const Job> jobs) {
    std::vector<char> kept(cluster.nodes.size(), 0);
    for (const Job& job : jobs)
        if (job.keeps_what_it_holds())
            for (const NodeShare& share : job.placement) kept[share.node] = 1;
    return kept;
}

namespace detail {

/// For jobs that must stay within one domain of a level: finds how many whole nodes of each pool the
/// domains of that level have.
class DomainSizes {
public:
    /// Counts the open nodes that no job keeps; `kept` is the result of kept_nodes(). O(nodes log nodes).
    DomainSizes(const TopologyLevel& level, const Cluster& cluster, std::span<const char> kept)
        : level_(level), cluster_(cluster), kept_(kept), pools_(pools_of(cluster)) {
        nodes_of_.resize(pools_.size());
        for (std::size_t pool = 0; pool < pools_.size(); ++pool) {
            int& most = most_.emplace_back(0);
            for (const std::size_t node : pools_[pool].nodes)
                if (!cluster.nodes[node].drained && !is_kept(node))
                    most = std::max(most, ++nodes_of_[pool][level.domain_of[node]]);
        }
    }
    /// Returns by GPU type the largest number of nodes that a job can have within a domain, or the number
    /// of nodes that it holds if this is larger. O(pools + nodes held).
    [[nodiscard]] std::vector<int> most_nodes(const Job& job) const {
        std::vector<int> most(job.types.size(), 1), held(job.types.size(), 0);
        const auto raise = [&](std::size_t type, int nodes) {
            if (type < most.size()) most[type] = std::max(most[type], nodes);
        };
        for (std::size_t pool = 0; pool < pools_.size(); ++pool) raise(pools_[pool].gpu_type, most_[pool]);
        // A kept node counts as free for the job that holds it.
        std::map<std::pair<std::size_t, std::size_t>, int> more;
        for (const NodeShare& share : job.placement) {
            const Node& node = cluster_.nodes[share.node];
            if (node.gpu_type < held.size()) raise(node.gpu_type, ++held[node.gpu_type]);
            if (node.drained || !is_kept(share.node)) continue;
            const std::size_t pool = find_pool(pools_, node), domain = level_.domain_of[share.node];
            const auto open = nodes_of_[pool].find(domain);
            raise(node.gpu_type, ++more[{pool, domain}] + (open == nodes_of_[pool].end() ? 0 : open->second));
        }
        return most;
    }

private:
    [[nodiscard]] bool is_kept(std::size_t node) const { return !kept_.empty() && kept_[node] != 0; }

    const TopologyLevel& level_;
    const Cluster& cluster_;
    std::span<const char> kept_;
    std::vector<Pool> pools_;
    std::vector<std::map<std::size_t, int>> nodes_of_;  // by pool, then domain
    std::vector<int> most_;                             // by pool: nodes of the domain that has the most
};

}  // namespace detail

/// Limits jobs that must stay within a domain (Job::within), so that they are not offered what cannot be
/// laid out. For each GPU type, the limit is the largest number of nodes that a domain has in any pool of
/// the type, or the number of nodes that the job holds if this is larger. TypeLimits::nodes_now is set to
/// the limit computed from the nodes that no other job keeps. TypeLimits::max_nodes is lowered to the limit
/// computed from all nodes, because a job may be waiting for kept ones. Other jobs are not changed; if the
/// level does not exist, no job is changed. The topology must belong to this cluster. `kept` is the result
/// of kept_nodes(), or empty if no node is kept. O(levels * nodes log nodes + jobs * pools).
inline void limit_to_domains(std::span<Job> jobs, const Topology& topology, const Cluster& cluster,
                             std::span<const char> kept = {}) {
    for (const TopologyLevel& level : topology.levels) {
        const auto stays = [&](const Job& job) { return job.within == level.name && job.set_aside.empty(); };
        if (std::none_of(jobs.begin(), jobs.end(), stays)) continue;
        const detail::DomainSizes all(level, cluster, {}), now(level, cluster, kept);
        for (Job& job : jobs) {
            if (!stays(job)) continue;
            const std::vector<int> most = all.most_nodes(job), most_now = now.most_nodes(job);
            for (std::size_t type = 0; type < most.size(); ++type) {
                job.types[type].max_nodes = std::min(job.types[type].max_nodes, most[type]);
                job.types[type].nodes_now = most_now[type];
            }
        }
    }
}
/// The same for one job.
inline void limit_to_domains(Job& job, const Topology& topology, const Cluster& cluster,
                             std::span<const char> kept = {}) {
    limit_to_domains(std::span<Job>(&job, 1), topology, cluster, kept);
}

/// Returns the cost of a placement's spread over the levels. Takes O(levels * nodes log nodes), where nodes
/// are those of the placement.
[[nodiscard]] inline double spread_cost(const Topology& topology, const Placement& placement) {
    double cost = 0;
    if (placement.size() < 2) return cost;
    for (const TopologyLevel& level : topology.levels)
        cost += level.cost * static_cast<double>(domains(level, placement) - 1);
    return cost;
}

/// Returns the sum over several placements.
[[nodiscard]] inline double spread_cost(const Topology& topology, std::span<const Placement> placements) {
    double cost = 0;
    for (const Placement& placement : placements) cost += spread_cost(topology, placement);
    return cost;
}

// Builds the topology of a cluster whose nodes name their rack and zone.

/// The place of a node, by names. A name is empty if it is not given.
struct NodeSite {
    std::string zone{};  ///< zone, which contains several racks
    std::string rack{};  ///< rack within its zone; racks of the same name in two zones are different
};

/// Returns the levels "rack" and "zone". A level exists only if a node names one. Nodes without a name form
/// one domain together. The costs are such that one more zone costs more than any number of racks. `sites`
/// is in the order of Cluster::nodes. O(nodes log nodes).
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

}  // namespace goodput::inline v0_1

#endif
