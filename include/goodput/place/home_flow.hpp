#ifndef GOODPUT_PLACE_HOME_FLOW_HPP
#define GOODPUT_PLACE_HOME_FLOW_HPP

// Chooses which jobs keep nodes on which they already hold GPUs (their home nodes), so that the jobs keep
// the most GPUs in total. Without this, each node goes to the job that holds the most GPUs of it:
//
//     LeastMovesPlacer placer({.homes = homes_by_flow});
//
// Job j is to be placed on need_j whole nodes. Let x_jh be 1 if it gets node h, and held_jh the GPUs that
// it holds there already (with its data and container). Nothing else distinguishes nodes:
//
//     max sum held_jh x_jh,   sum_h x_jh <= need_j,   sum_j x_jh <= 1,   x in {0, 1}
//
// This is a transportation problem. Boost.Graph's successive shortest paths solve it as a min-cost flow
// source -> jobs -> nodes -> sink with costs (largest held - held). An arc job -> sink means that the job
// takes other nodes. It also keeps every vertex reachable, so that no potential overflows. The graph is
// first split into connected components. A component needs no flow if only its nodes or only its jobs are
// scarce.
//
// If no node is shared by jobs that run on several nodes, as after every placement of this library, no
// component needs the flow. It is meant for placements of other systems. Therefore goodput.hpp includes
// neither this header nor Boost.Graph.

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/connected_components.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/place/request.hpp"

namespace goodput::inline v0_1 {

/// Largest number of claims of a component for which the flow is used. The flow takes a quadratic number of
/// steps, about 5 ms for this many claims. In a larger component, each node goes to its largest holder,
/// which keeps 96 % of the GPUs that the flow would keep.
inline constexpr std::size_t home_flow_limit = 300;

/// Grants the claims that keep the most GPUs in place, for PlacementOptions::homes.
void homes_by_flow(std::vector<HomeClaim>& claims, std::span<const int> need);

// ---------------------------------------------------------------------------------------------------------

namespace detail::home_flow {

using Edge = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>::edge_descriptor;
struct Arc {
    int capacity = 0;
    std::int64_t cost = 0;
    Edge back{};
    int left = 0;  ///< capacity left
};
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Arc>;

// Solves one component. Its claims must be sorted by node, then job. Appends the granted claims.
inline void solve(std::span<const HomeClaim> claims, std::span<const int> need,
                  std::vector<HomeClaim>& granted) {
    std::vector<std::size_t> jobs;
    int most_held = 0;
    for (const HomeClaim& claim : claims) {
        jobs.push_back(claim.job);
        most_held = std::max(most_held, claim.held);
    }
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());

    const std::size_t source = jobs.size(), sink = source + 1;
    Graph graph(sink + 1);
    const auto add = [&](std::size_t from, std::size_t to, int capacity, int cost) {
        const Edge arc = boost::add_edge(from, to, {capacity, cost}, graph).first;
        graph[arc].back = boost::add_edge(to, from, {0, -cost, arc}, graph).first;
        return arc;
    };
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        add(source, j, need[jobs[j]], 0);
        add(j, sink, need[jobs[j]], most_held);
    }
    std::vector<Edge> arcs;
    for (std::size_t c = 0, node = 0; c < claims.size(); ++c) {
        if (c == 0 || claims[c].node != claims[c - 1].node) add(node = boost::add_vertex(graph), sink, 1, 0);
        const auto job = std::lower_bound(jobs.begin(), jobs.end(), claims[c].job) - jobs.begin();
        arcs.push_back(add(static_cast<std::size_t>(job), node, 1, most_held - claims[c].held));
    }
    boost::successive_shortest_path_nonnegative_weights(graph, source, sink,
                                                        boost::capacity_map(get(&Arc::capacity, graph))
                                                            .residual_capacity_map(get(&Arc::left, graph))
                                                            .weight_map(get(&Arc::cost, graph))
                                                            .reverse_edge_map(get(&Arc::back, graph)));
    for (std::size_t c = 0; c < claims.size(); ++c)
        if (graph[arcs[c]].left == 0) granted.push_back(claims[c]);
}

}  // namespace detail::home_flow

inline void homes_by_flow(std::vector<HomeClaim>& claims, std::span<const int> need) {
    std::erase_if(claims, [&](const HomeClaim& claim) { return need[claim.job] == 0; });
    // A component consists of jobs that are connected by nodes which both claim.
    std::ranges::sort(claims, {}, [](const HomeClaim& claim) { return std::tuple(claim.node, claim.job); });
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS> jobs(need.size());
    for (std::size_t c = 1; c < claims.size(); ++c)
        if (claims[c].node == claims[c - 1].node) boost::add_edge(claims[c].job, claims[c - 1].job, jobs);
    std::vector<std::size_t> component_of(need.size());
    boost::connected_components(
        jobs, boost::make_iterator_property_map(component_of.begin(), get(boost::vertex_index, jobs)));
    const auto component_at = [&](const HomeClaim& claim) { return component_of[claim.job]; };
    std::ranges::sort(claims, {}, [&](const HomeClaim& claim) {
        return std::tuple(component_at(claim), claim.node, claim.job);
    });
    std::vector<int> spare(need.begin(), need.end());
    for (const HomeClaim& claim : claims) --spare[claim.job];
    std::vector<HomeClaim> granted;
    for (std::size_t begin = 0, end = 0; begin < claims.size(); begin = end) {
        bool nodes_scarce = false, jobs_full = false;
        for (; end < claims.size() && component_at(claims[end]) == component_at(claims[begin]); ++end) {
            nodes_scarce |= end > begin && claims[end].node == claims[end - 1].node;
            jobs_full |= spare[claims[end].job] < 0;
        }
        const auto component = std::span<const HomeClaim>(claims).subspan(begin, end - begin);
        // If each node is claimed once, or if each job could take all nodes that it claims, the rule of the
        // largest holder is optimal.
        if (nodes_scarce && jobs_full && component.size() <= home_flow_limit)
            detail::home_flow::solve(component, need, granted);
        else
            granted.insert(granted.end(), component.begin(), component.end());
    }
    claims = std::move(granted);
}

}  // namespace goodput::inline v0_1

#endif
