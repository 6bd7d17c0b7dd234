#include <goodput/place/concepts.hpp>

using namespace goodput;

struct Right {
    PlacementResult place(const Cluster&, std::span<const PlacementRequest>) { return {}; }
};
static_assert(Placer<Right>);

struct Missing {};
// says: Placer
// says: placer.place(cluster, requests)
static_assert(Placer<Missing>);

struct ReturnsPlacements {
    std::vector<Placement> place(const Cluster&, std::span<const PlacementRequest>) { return {}; }
};
// says: Placer
// says: placer.place(cluster, requests)
// says: PlacementResult
static_assert(Placer<ReturnsPlacements>);

struct OfAVector {
    PlacementResult place(const Cluster&, const std::vector<PlacementRequest>&) { return {}; }
};
// says: Placer
// says: placer.place(cluster, requests)
static_assert(Placer<OfAVector>);

struct ChangesCluster {
    PlacementResult place(Cluster&, std::span<const PlacementRequest>) { return {}; }
};
// says: Placer
// says: placer.place(cluster, requests)
// says: const
static_assert(Placer<ChangesCluster>);
