#ifndef GOODPUT_PLACE_TOPOLOGY_HPP
#define GOODPUT_PLACE_TOPOLOGY_HPP

// Nodes stand in racks, racks in zones: what does it cost that a job spans several of them?
//
// A topology is a tree over the nodes, given level by level from the inside (rack) to the outside (zone). A
// placement that touches d_l domains of level l costs
//
//     sum_l cost_l (d_l - 1)
//
// so that a job on one node costs nothing, and within a rack nothing either. The unit is the caller's:
// seconds an iteration, or just an order of preference.

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

namespace goodput {

/// One level of the tree, for example the racks.
struct TopologyLevel {
    std::string name{};                    ///< for messages
    double cost = 0;                       ///< of every domain after the first, at least 0
    std::vector<std::size_t> domain_of{};  ///< by node, as Cluster::nodes; any numbers
};

/// From the inside to the outside; nodes of one domain are in one domain of the next level too.
struct Topology {
    std::vector<TopologyLevel> levels{};  ///< none: all nodes are equally close
};

/// Refuses costs that are negative or not finite, levels without a domain for each node, and domains that are
/// not nested (std::invalid_argument). O(levels * nodes log nodes).
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

/// How many domains of a level a placement touches.
[[nodiscard]] inline std::size_t domains(const TopologyLevel& level, const Placement& placement) {
    std::vector<std::size_t> touched;
    for (const NodeShare& share : placement) touched.push_back(level.domain_of[share.node]);
    std::sort(touched.begin(), touched.end());
    return static_cast<std::size_t>(std::unique(touched.begin(), touched.end()) - touched.begin());
}

/// Whether a placement lies in one domain of the level of that name. So it does where there is no such level.
[[nodiscard]] inline bool lies_within(const Topology& topology, const std::string& level,
                                      const Placement& placement) {
    return placement.size() < 2 || level.empty() ||
           std::all_of(topology.levels.begin(), topology.levels.end(), [&](const TopologyLevel& of) {
               return of.name != level || domains(of, placement) == 1;
           });
}

/// The nodes of a pool that lie in one domain of a level, of those that `usable(node)`: of the domain that
/// has the most of them, in ascending order. That many whole nodes a job can have that has to stay within
/// one.
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

/// By node, whether one of these jobs keeps GPUs of it in any case: nobody else can have the whole node.
[[nodiscard]] inline std::vector<char> kept_nodes(const Cluster& cluster, std::span<const Job> jobs) {
    std::vector<char> kept(cluster.nodes.size(), 0);
    for (const Job& job : jobs)
        if (job.keeps_what_it_holds())
            for (const NodeShare& share : job.placement) kept[share.node] = 1;
    return kept;
}

/// The nodes of a pool that a job can have as whole ones, given what it holds and which nodes are kept
/// (kept_nodes(); empty: none): the open ones that nobody else keeps, and if it has to stay within a domain
/// of a level (Job::within; empty, or no such level: anywhere) those of the domain that has the most. The
/// topology is one of this cluster. O(nodes log nodes).
[[nodiscard]] inline std::vector<std::size_t> nodes_within_reach(const Topology& topology,
                                                                 const std::string& within,
                                                                 const Cluster& cluster, const Pool& pool,
                                                                 const Placement& held,
                                                                 std::span<const char> kept = {}) {
    const auto usable = [&](std::size_t node) {
        const bool own =
            std::any_of(held.begin(), held.end(), [&](const NodeShare& share) { return share.node == node; });
        return !cluster.nodes[node].drained && (own || kept.empty() || kept[node] == 0);
    };
    for (const TopologyLevel& level : topology.levels)
        if (level.name == within && !within.empty()) return largest_domain(level, pool, usable);
    std::vector<std::size_t> nodes;
    std::copy_if(pool.nodes.begin(), pool.nodes.end(), std::back_inserter(nodes), usable);
    return nodes;
}

namespace detail {

/// How many whole nodes of each pool the domains of one level have for jobs that must stay within one.
class DomainSizes {
public:
    /// Counts the open nodes that no job keeps; `kept` as of kept_nodes(). O(nodes log nodes).
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
    /// By GPU type, the most nodes that a job can have within a domain, or holds. O(pools + nodes held).
    [[nodiscard]] std::vector<int> most_nodes(const Job& job) const {
        std::vector<int> most(job.types.size(), 1), held(job.types.size(), 0);
        const auto raise = [&](std::size_t type, int nodes) {
            if (type < most.size()) most[type] = std::max(most[type], nodes);
        };
        for (std::size_t pool = 0; pool < pools_.size(); ++pool) raise(pools_[pool].gpu_type, most_[pool]);
        // A node that is kept is open to a job that holds it.
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
    std::vector<int> most_;                             // by pool: those of the domain that has most
};

}  // namespace detail

/// Limits jobs that must stay within a domain (Job::within) to the most nodes within their reach of any pool
/// of the type, or to those that they hold, if they are more: a job is not offered what could not be laid
/// out. TypeLimits::nodes_now becomes what the nodes leave that are kept, max_nodes is lowered to what there
/// is without them: a job may be waiting for the difference. Other jobs stay as they are, and so do all where
/// there is no such level. The topology is one of this cluster; `kept` as of kept_nodes(), empty: no node is
/// kept. O(levels * nodes log nodes + jobs * pools).
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

/// What a placement costs by its spread over the levels. O(levels * nodes log nodes) of the placement.
[[nodiscard]] inline double spread_cost(const Topology& topology, const Placement& placement) {
    double cost = 0;
    if (placement.size() < 2) return cost;
    for (const TopologyLevel& level : topology.levels)
        cost += level.cost * static_cast<double>(domains(level, placement) - 1);
    return cost;
}

/// The sum over several placements.
[[nodiscard]] inline double spread_cost(const Topology& topology, std::span<const Placement> placements) {
    double cost = 0;
    for (const Placement& placement : placements) cost += spread_cost(topology, placement);
    return cost;
}

// The topology of a cluster whose nodes say by name in which rack and zone they stand.

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
