// Chooses nodes with the fewest moves, and finds moves that make room.

#include <goodput/moves/defragment.hpp>
#include <goodput/place/least_moves.hpp>
#include <goodput/place/topology_placer.hpp>
#include <iostream>

using namespace goodput;

int main() {
    // [place]
    const Cluster cluster{{"A100"}, {{"a", 0, 8}, {"b", 0, 8}, {"c", 0, 8}, {"d", 0, 8}}};
    const auto on = [](std::size_t node, int gpus) { return Placement{{node, gpus}}; };
    const auto block = [](int gpus) { return PoolShare{0, 8, {1, gpus}}; };  // on one node
    const std::vector<PlacementRequest> requests{
        {.part = block(4), .current = on(0, 4), .move_cost = 60},
        {.part = block(2), .current = on(1, 2), .move_cost = 30},
        {.part = block(1), .current = on(2, 1), .move_cost = 20},
        {.part = block(4), .current = on(3, 4), .move_cost = 90, .pinned = true},
        {.part = {0, 8, {2, 16}}},  // starts, on two whole nodes
    };
    LeastMovesPlacer placer;
    const PlacementResult result = placer.place(cluster, requests);
    for (std::size_t job = 0; job < requests.size(); ++job)
        for (const NodeShare& share : result.placements[job])
            std::cout << "job " << job << ": " << share.gpus << " GPUs of " << cluster.nodes[share.node].name
                      << "\n";
    std::cout << result.report() << "\n";
    // [/place]

    // [defragment]
    const std::vector<PlacementRequest> running(requests.begin(), requests.end() - 1);
    Defragmenter defragmenter;
    const DefragmentPlan plan = defragmenter.plan(cluster, running, std::vector{whole_nodes(0, 8, 2)});
    for (const DefragmentMove& move : plan.moves)
        std::cout << "move job " << move.job << " from " << cluster.nodes[move.from.node].name << " to "
                  << cluster.nodes[move.to.node].name << "\n";
    std::cout << plan.report() << "\n";
    // [/defragment]

    // [topology]
    const Topology racks{{{.name = "rack", .cost = 1, .domain_of = {0, 1, 0, 1}}}};  // by node
    TopologyPlacer close(racks);
    const PlacementResult together =
        close.place(cluster, std::vector<PlacementRequest>{{.part = {0, 8, {2, 16}}}});
    std::cout << cluster.nodes[together.placements[0][0].node].name << " and "
              << cluster.nodes[together.placements[0][1].node].name << ", spread " << close.spread().cost
              << "\n";
    // [/topology]
    return 0;
}
