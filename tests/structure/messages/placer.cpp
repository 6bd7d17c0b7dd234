#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    PlacementResult place(const Cluster&, std::span<const PlacementRequest>) { return {}; }
};
Snapshot now;
Plan right = plan(now, Sia{}, {}, Right{});

struct Missing {};
// says: Placer: place is missing, or is not:
// says: PlacementResult place(const Cluster&, std::span<const PlacementRequest> requests)
Plan missing = plan(now, Sia{}, {}, Missing{});

struct ReturnsPlacements {
    std::vector<Placement> place(const Cluster&, std::span<const PlacementRequest>) { return {}; }
};
// says: Placer: place is missing, or is not: PlacementResult place(
Plan returns_placements = plan(now, Sia{}, {}, ReturnsPlacements{});

struct OfAVector {
    PlacementResult place(const Cluster&, const std::vector<PlacementRequest>&) { return {}; }
};
// says: Placer: place is missing, or is not:
Plan of_a_vector = plan(now, Sia{}, {}, OfAVector{});

struct ChangesCluster {
    PlacementResult place(Cluster&, std::span<const PlacementRequest>) { return {}; }
};
// says: Placer: place is missing, or is not:
Scheduler<Sia, ChangesCluster> changes_cluster;
