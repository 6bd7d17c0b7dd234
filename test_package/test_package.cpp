#include <goodput/fit/job_fit.hpp>
#include <goodput/place/home_flow.hpp>
#include <goodput/place/least_moves.hpp>
#include <iostream>

// A fit, and a placement that grants home nodes by a flow.
int main() {
    // {nodes, GPUs}, {batch a GPU, accumulation}, seconds
    const goodput::ThroughputSample samples[] = {{{1, 1}, {128, 0}, 0.31}, {{1, 2}, {128, 0}, 0.34}};
    std::cout << goodput::fit_refined(samples).report() << "\n";

    const goodput::Cluster cluster{{"a100"}, {{"n0", 0, 8}, {"n1", 0, 4}}};
    // The second job runs on n0 and stays there, so the first gets n1.
    const goodput::PlacementRequest requests[] = {
        {.part = goodput::pool_share_of({{1, 4}}, cluster)},
        {.part = goodput::pool_share_of({{0, 8}}, cluster), .current = {{0, 8}}}};
    const goodput::PlacementResult placed =
        goodput::LeastMovesPlacer({.homes = goodput::homes_by_flow}).place(cluster, requests);
    std::cout << "the first job runs on " << cluster.nodes[placed.placements[0][0].node].name << "\n";
    return placed.moved.empty() && placed.placements[0][0].node == 1 ? 0 : 1;
}
