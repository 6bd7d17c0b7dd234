#ifndef GOODPUT_PLACE_DETAIL_HOME_NODES_HPP
#define GOODPUT_PLACE_DETAIL_HOME_NODES_HPP

// Which jobs keep which of the nodes that they are on? Jobs that take whole nodes anew need need_j nodes
// each, all nodes are alike, but some already hold GPUs of the job (its data and container are there):
//
//     max sum held_jh x_jh,   sum_h x_jh <= need_j,   sum_j x_jh <= 1,   x in {0, 1}
//
// A transportation problem, solved as a min-cost flow  source -> jobs -> classes of equal nodes -> sink  with
// costs (largest held - held) and an arc job -> sink for nodes taken anywhere. The graph is split into
// connected components first, and components without contention need no flow.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <tuple>
#include <vector>

#include "goodput/place/detail/cheapest_flow.hpp"

namespace goodput::detail {

/// Job `job` holds `held` GPUs on node `node` now and may keep the node.
struct HomeClaim {
    std::size_t job = 0;
    std::size_t node = 0;
    int held = 0;
};

struct HomeNode {
    std::size_t job = 0;
    std::size_t node = 0;
};

/// A component with more nodes and jobs than this is settled greedily: successive shortest paths take a
/// quadratic number of steps.
inline constexpr std::size_t home_flow_limit = 300;

/// Appends to `kept` who keeps which node, at most need[job] nodes a job and one job a node, with the most
/// GPUs held in all. `claims` has each (job, node) at most once.
void keep_home_nodes(std::vector<HomeClaim>& claims, std::span<const int> need, std::vector<HomeNode>& kept);

// ---------------------------------------------------------------------------------------------------------

namespace home_flow {

// One component: its claims, sorted by node, then job.
inline void solve(std::span<const HomeClaim> claims, std::span<const int> need, std::vector<HomeNode>& kept) {
    std::vector<std::size_t> jobs;
    std::vector<std::size_t> first;  // of each node's claims
    for (std::size_t c = 0; c < claims.size(); ++c) {
        jobs.push_back(claims[c].job);
        if (c == 0 || claims[c].node != claims[c - 1].node) first.push_back(c);
    }
    std::sort(jobs.begin(), jobs.end());
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    const auto rank = [&](std::size_t job) {
        return static_cast<std::size_t>(std::lower_bound(jobs.begin(), jobs.end(), job) - jobs.begin());
    };
    const auto of = [&](std::size_t begin) {
        std::size_t end = begin;
        while (end < claims.size() && claims[end].node == claims[begin].node) ++end;
        return claims.subspan(begin, end - begin);
    };
    const auto wish = [](const HomeClaim& claim) { return std::tie(claim.job, claim.held); };
    const auto less = [&](const HomeClaim& a, const HomeClaim& b) { return wish(a) < wish(b); };
    const auto alike = [&](std::size_t a, std::size_t b) {
        return std::ranges::equal(of(a), of(b), {}, wish, wish);
    };
    // Nodes with the same claims are one class.
    std::stable_sort(first.begin(), first.end(), [&](std::size_t a, std::size_t b) {
        return std::ranges::lexicographical_compare(of(a), of(b), less);
    });
    std::vector<std::size_t> class_start;
    for (std::size_t i = 0; i < first.size(); ++i)
        if (i == 0 || !alike(first[i], first[i - 1])) class_start.push_back(i);
    class_start.push_back(first.size());
    const std::size_t classes = class_start.size() - 1;

    const std::size_t source = jobs.size() + classes, sink = source + 1;
    CheapestFlow network(sink + 1);
    int most_held = 0;
    for (const HomeClaim& claim : claims) most_held = std::max(most_held, claim.held);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        network.add_arc(source, j, need[jobs[j]], 0);
        network.add_arc(j, sink, need[jobs[j]], most_held);
    }
    struct Arc {
        std::size_t job, node_class, arc;
    };
    std::vector<Arc> arcs;
    for (std::size_t k = 0; k < classes; ++k) {
        const int size = static_cast<int>(class_start[k + 1] - class_start[k]);
        for (const HomeClaim& claim : of(first[class_start[k]])) {
            const std::size_t j = rank(claim.job);
            arcs.push_back({claim.job, k, network.add_arc(j, jobs.size() + k, size, most_held - claim.held)});
        }
        network.add_arc(jobs.size() + k, sink, size, 0);
    }
    network.send(source, sink);
    for (const Arc& arc : arcs)
        for (int flow = network.flow(arc.arc); flow > 0; --flow)
            kept.push_back({arc.job, claims[first[class_start[arc.node_class]++]].node});
}

inline void greedy(std::span<const HomeClaim> claims, std::span<const int> need,
                   std::vector<HomeNode>& kept) {
    std::vector<HomeClaim> order(claims.begin(), claims.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const HomeClaim& a, const HomeClaim& b) { return a.held > b.held; });
    std::vector<int> left(need.begin(), need.end());
    std::vector<std::size_t> taken;
    for (const HomeClaim& claim : order) {
        const auto at = std::lower_bound(taken.begin(), taken.end(), claim.node);
        if (left[claim.job] == 0 || (at != taken.end() && *at == claim.node)) continue;
        taken.insert(at, claim.node);
        --left[claim.job];
        kept.push_back({claim.job, claim.node});
    }
}

}  // namespace home_flow

inline void keep_home_nodes(std::vector<HomeClaim>& claims, std::span<const int> need,
                            std::vector<HomeNode>& kept) {
    if (claims.empty()) return;
    // Components: jobs joined by the nodes that both claim.
    std::vector<std::size_t> root(need.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t job) {
        while (root[job] != job) job = root[job] = root[root[job]];
        return job;
    };
    const auto by_node = [](const HomeClaim& a, const HomeClaim& b) {
        return std::tie(a.node, a.job) < std::tie(b.node, b.job);
    };
    std::sort(claims.begin(), claims.end(), by_node);
    for (std::size_t c = 1; c < claims.size(); ++c) {
        if (claims[c].node != claims[c - 1].node) continue;
        const std::size_t a = find(claims[c].job), b = find(claims[c - 1].job);
        root[std::max(a, b)] = std::min(a, b);
    }
    for (std::size_t job = 0; job < root.size(); ++job) root[job] = find(job);
    std::sort(claims.begin(), claims.end(), [&](const HomeClaim& a, const HomeClaim& b) {
        return root[a.job] != root[b.job] ? root[a.job] < root[b.job] : by_node(a, b);
    });
    for (std::size_t begin = 0, end = 0; begin < claims.size(); begin = end) {
        std::size_t contested = 0;
        for (; end < claims.size() && root[claims[end].job] == root[claims[begin].job]; ++end)
            contested += end > begin && claims[end].node == claims[end - 1].node ? 1 : 0;
        const auto component = std::span<const HomeClaim>(claims).subspan(begin, end - begin);
        // Without contention, the nodes with the most GPUs held are best; greedy is exact there.
        if (contested == 0 || component.size() > home_flow_limit)
            home_flow::greedy(component, need, kept);
        else
            home_flow::solve(component, need, kept);
    }
}

}  // namespace goodput::detail

#endif
