// The cheapest greatest flow against Boost.Graph's on random networks: as much flow, at the same cost, within
// the capacities, and what enters a vertex leaves it.

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/successive_shortest_path_nonnegative_weights.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "goodput/place/detail/cheapest_flow.hpp"

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
using Graph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<boost::edge_capacity_t, int,
                    boost::property<boost::edge_residual_capacity_t, int,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor,
                                                    boost::property<boost::edge_weight_t, std::int64_t>>>>>;

Traits::edge_descriptor add_arc(Graph& graph, std::size_t from, std::size_t to, int capacity,
                                std::int64_t cost) {
    const auto forward = boost::add_edge(from, to, graph).first;
    const auto backward = boost::add_edge(to, from, graph).first;
    boost::put(boost::edge_capacity, graph, forward, capacity);
    boost::put(boost::edge_capacity, graph, backward, 0);
    boost::put(boost::edge_weight, graph, forward, cost);
    boost::put(boost::edge_weight, graph, backward, -cost);
    boost::put(boost::edge_reverse, graph, forward, backward);
    boost::put(boost::edge_reverse, graph, backward, forward);
    return forward;
}

struct RandomArc {
    std::size_t from, to;
    int capacity;
    std::int64_t cost;
};

}  // namespace

TEST_CASE("the cheapest flow is as great and as cheap as Boost.Graph's") {
    std::mt19937 random(7);
    const auto draw = [&](int low, int high) { return std::uniform_int_distribution(low, high)(random); };
    long long all_flow = 0;
    for (int trial = 0; trial < 400; ++trial) {
        CAPTURE(trial);
        const auto vertices = static_cast<std::size_t>(draw(2, 12));
        const std::size_t source = vertices - 1, sink = vertices - 2;
        std::vector<RandomArc> arcs;
        for (int a = draw(0, 40); a > 0; --a) {
            const auto from = static_cast<std::size_t>(draw(0, static_cast<int>(vertices) - 1));
            const auto to = static_cast<std::size_t>(draw(0, static_cast<int>(vertices) - 1));
            if (from != to && to != source && from != sink)
                arcs.push_back({from, to, draw(0, 9), draw(0, 20)});
        }
        // Boost's potentials overflow at vertices out of reach: there is a dear arc to each.
        for (std::size_t v = 0; v < vertices - 1; ++v) arcs.push_back({source, v, 1, 1000});
        goodput::detail::CheapestFlow ours(vertices);
        Graph graph(vertices);
        std::vector<std::size_t> numbers;
        std::vector<Traits::edge_descriptor> edges;
        for (const RandomArc& arc : arcs) {
            numbers.push_back(ours.add_arc(arc.from, arc.to, arc.capacity, arc.cost));
            edges.push_back(add_arc(graph, arc.from, arc.to, arc.capacity, arc.cost));
        }
        const std::int64_t cost = ours.send(source, sink);
        boost::successive_shortest_path_nonnegative_weights(graph, source, sink);
        std::vector<int> enters(vertices, 0), theirs(vertices, 0);
        std::int64_t sum = 0, theirs_sum = 0;
        for (std::size_t a = 0; a < arcs.size(); ++a) {
            const int flow = ours.flow(numbers[a]);
            CHECK(flow >= 0);
            CHECK(flow <= arcs[a].capacity);
            enters[arcs[a].to] += flow;
            enters[arcs[a].from] -= flow;
            sum += flow * arcs[a].cost;
            const int their_flow = boost::get(boost::edge_capacity, graph, edges[a]) -
                                   boost::get(boost::edge_residual_capacity, graph, edges[a]);
            theirs[arcs[a].to] += their_flow;
            theirs_sum += their_flow * arcs[a].cost;
        }
        CHECK(cost == theirs_sum);
        CHECK(sum == cost);
        CHECK(enters[sink] == theirs[sink]);
        for (std::size_t v = 0; v + 2 < vertices; ++v) CHECK(enters[v] == 0);
        all_flow += enters[sink];
    }
    CHECK(all_flow > 2000);
}
