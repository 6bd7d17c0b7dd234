// Jobs that have to stay within one rack or zone: never in two, whatever else happens.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

/// `racks` racks of four nodes of eight GPUs, two racks a zone.
struct Hall {
    Cluster cluster{{"a100"}, {}};
    Topology topology{{{"rack", 1, {}}, {"zone", 10, {}}}};

    explicit Hall(std::size_t racks) {
        for (std::size_t n = 0; n < 4 * racks; ++n) {
            cluster.nodes.push_back({"node" + std::to_string(n), 0, 8});
            topology.levels[0].domain_of.push_back(n / 4);
            topology.levels[1].domain_of.push_back(n / 8);
        }
    }
};

PlacementRequest wide(int nodes, std::string within = {}) {
    PlacementRequest request{.part = {0, 8, {nodes, 8 * nodes}}};
    request.within = std::move(within);
    return request;
}

std::vector<int> left_by(const Cluster& cluster, const std::vector<Placement>& placements) {
    std::vector<int> left;
    for (const Node& node : cluster.nodes) left.push_back(node.gpus);
    for (const Placement& placement : placements)
        for (const NodeShare& share : placement) left[share.node] -= share.gpus;
    return left;
}

}  // namespace

TEST_CASE("a job that has to stay within a rack never lies in two, round after round") {
    support::Random random(5);
    for (int run = 0; run < 40; ++run) {
        const Hall hall(static_cast<std::size_t>(random.integer(1, 5)));
        TopologyPlacer<> placer(hall.topology);
        std::vector<PlacementRequest> requests(8);
        int placed = 0;
        for (int round = 0; round < 30; ++round) {
            int left = 32 * static_cast<int>(hall.topology.levels[0].domain_of.back() + 1);
            for (PlacementRequest& request : requests) {
                if (random.chance(0.3) || request.part.empty()) {
                    const Placement held = request.current;
                    request = wide(random.integer(1, 5));
                    request.current = held;
                    request.move_cost = random.integer(0, 50);
                    if (random.chance(0.3)) request.part.shape = {1, 1 << random.integer(0, 2)};
                    if (random.chance(0.5)) request.within = random.chance(0.5) ? "rack" : "zone";
                }
                if (request.part.shape.gpus > left) request.part = {};
                left -= request.part.empty() ? 0 : request.part.shape.nodes * 8;
            }
            const PlacementResult result = placer.place(hall.cluster, requests);
            const std::vector<int> free = left_by(hall.cluster, result.placements);
            CHECK(*std::min_element(free.begin(), free.end()) >= 0);
            CHECK(result.largest_free_block == *std::max_element(free.begin(), free.end()));
            for (std::size_t j = 0; j < requests.size(); ++j) {
                CHECK(lies_within(hall.topology, requests[j].within, result.placements[j]));
                const bool unplaced = std::any_of(result.unplaced.begin(), result.unplaced.end(),
                                                  [&](const UnplacedJob& u) { return u.job == j; });
                CHECK(unplaced == (result.placements[j].empty() && !requests[j].part.empty()));
                placed += result.placements[j].size() > 1 && !requests[j].within.empty() ? 1 : 0;
                requests[j].current = result.placements[j];
            }
        }
        CHECK(placed > 0);
    }
}

TEST_CASE(
    "nodes of one rack are found for it where others can go elsewhere, and it waits where none has room") {
    const Hall hall(2);
    TopologyPlacer<> placer(hall.topology);
    // Six nodes anew: the one that has to stay within a rack gets a whole rack, though it comes last.
    std::vector<PlacementRequest> requests{wide(2), wide(2), wide(4, "rack")};
    const PlacementResult all = placer.place(hall.cluster, requests);
    CHECK(all.unplaced.empty());
    CHECK(lies_within(hall.topology, "rack", all.placements[2]));

    // Two nodes of each rack are held by jobs that may not move.
    for (std::size_t rack = 0; rack < 2; ++rack) {
        requests[rack].current = {{4 * rack, 8}, {4 * rack + 1, 8}};
        requests[rack].pinned = true;
    }
    const PlacementResult held = placer.place(hall.cluster, requests);
    REQUIRE(held.unplaced.size() == 1);
    CHECK(held.unplaced[0].why.outcome == Outcome::waits);
    CHECK(held.unplaced[0].why.reason == "no rack has 4 whole nodes for it that are free");
    CHECK(held.whole_free_nodes == 4);
    requests[2].within = "zone";
    CHECK(placer.place(hall.cluster, requests).unplaced.empty());
    requests[2].within = "building";  // no such level: all nodes are in one
    CHECK(placer.place(hall.cluster, requests).unplaced.empty());
}

TEST_CASE("a job that is told to stay within a rack leaves nodes that it holds in two") {
    const Hall hall(2);
    TopologyPlacer<> placer(hall.topology);
    std::vector<PlacementRequest> requests{wide(2, "rack")};
    requests[0].current = {{0, 8}, {4, 8}};
    requests[0].move_cost = 30;
    const PlacementResult moved = placer.place(hall.cluster, requests);
    CHECK(lies_within(hall.topology, "rack", moved.placements[0]));
    CHECK(moved.moved == std::vector<std::size_t>{0});
    CHECK(moved.move_cost == 30);
    requests[0].pinned = true;
    CHECK(placer.place(hall.cluster, requests).placements[0] == requests[0].current);
}

TEST_CASE("no more nodes are offered to it than a domain has") {
    Hall hall(2);
    hall.cluster.gpu_types.push_back("t4");
    Job job{.name = "gang", .within = "rack"};
    job.types.resize(2);
    job.types[0].max_nodes = 3;
    limit_to_domains(job, hall.topology, hall.cluster);
    CHECK(job.types[0].max_nodes == 3);
    job.types[0].max_nodes = 100;
    limit_to_domains(job, hall.topology, hall.cluster);
    CHECK(job.types[0].max_nodes == 4);
    job.within = "zone";
    job.types[0].max_nodes = 100;
    limit_to_domains(job, hall.topology, hall.cluster);
    CHECK(job.types[0].max_nodes == 8);
}
