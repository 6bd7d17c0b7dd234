// Uses the component place: places two jobs.

#include <goodput/place/least_moves.hpp>

#include <vector>

int main() {
    const goodput::Cluster cluster{{"a100"}, {{"n0", 0, 8}, {"n1", 0, 8}}};
    // The second job runs on n0 and stays there, so the first gets n1.
    const std::vector<goodput::PlacementRequest> requests{
        {.part = goodput::pool_share_of({{1, 8}}, cluster)},
        {.part = goodput::pool_share_of({{0, 4}}, cluster), .current = {{0, 4}}}};
    const goodput::PlacementResult result = goodput::LeastMovesPlacer{}.place(cluster, requests);
    return result.proven() && result.moved.empty() && result.placements[0][0].node == 1 ? 0 : 1;
}
