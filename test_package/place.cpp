#include <goodput/place/least_moves.hpp>
#include <iostream>
#include <vector>

void place() {
    const goodput::Cluster cluster{{"a100"}, {{"n0", 0, 8}, {"n1", 0, 8}}};
    const std::vector<goodput::PlacementRequest> one{{.part = goodput::pool_share_of({{1, 8}}, cluster)}};
    std::cout << report(goodput::LeastMovesPlacer{}.place(cluster, one)) << "\n";
}
