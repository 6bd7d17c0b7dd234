#ifndef GOODPUT_PLACE_REQUEST_HPP
#define GOODPUT_PLACE_REQUEST_HPP

// The request to a placement algorithm (placer), and its result.
//
// A request is one job, with its allotment and the nodes where it runs now. A job over several nodes takes
// whole nodes and shares none of them. A job on one node is never split. A job *holds its allotment* if its
// current placement has the pool and shape of the allotment. Even then it does not hold it in two cases:
// the job is over several nodes, and another job whose placement fits uses one of them; or it is on one
// node, and a pinned job over several nodes uses this node. Moving a job that holds its allotment has a
// cost. Any other job restarts anyway, so it may go anywhere. So may a job that is told to leave. A job that
// holds its allotment on a drained node stays as if it were pinned, and no other job is placed there. If
// another system pinned a job to several nodes that it shares with other jobs, its request says so
// (`shares_nodes`), and the job stays exactly where it is.
//
// Placers refuse (std::invalid_argument) impossible shapes, unknown or overfilled nodes, move costs outside
// 0 to 1e9 s, and pinned jobs whose part is not what they hold. A job whose pool does not exist or is too
// small is impossible.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/placement.hpp"

namespace goodput::inline v0_1 {

/// The request for one job. Its index in the list is its priority: a lower index is more important.
struct PlacementRequest {
    PoolShare part = {};     ///< GPUs to place; empty if the job gets nothing this round
    Placement current = {};  ///< nodes where it runs; empty if it does not run
    double move_cost = 0;    ///< seconds lost if a job that holds its allotment is moved; counted in ms
    bool pinned = false;     ///< whether it keeps exactly what it holds; ignored if the job does not run
    /// Name of a topology level; the job must stay within one domain of it, as with Job::within.
    std::string within = {};
    /// Whether it may not stay even if it holds its allotment; ignored for a pinned job.
    bool leaves = false;
    /// Whether it is pinned to nodes that it shares with other jobs. It takes the GPUs that it holds there,
    /// and other jobs may take the rest.
    bool shares_nodes = false;
    /// Seconds for which it needs its nodes. If it must get nodes that leave earlier
    /// (Node::leaves_seconds), it gets those that leave last.
    double needs_seconds = std::numeric_limits<double>::infinity();
};

/// A job with an allotment but without nodes. `why` tells whether it waits or is impossible.
struct UnplacedJob {
    std::size_t job = 0;  ///< index into the requests
    Verdict why;          ///< waits or impossible, with the reason
};

/// The placements of all jobs, the jobs that moved, and what is proven.
struct PlacementResult {
    /// Placement of each job; empty if it gets nothing, or is unplaced.
    std::vector<Placement> placements;
    std::vector<UnplacedJob> unplaced;  ///< jobs without nodes, ascending
    /// Jobs that held their allotment and now have other nodes, ascending.
    std::vector<std::size_t> moved;
    double move_cost = 0;        ///< seconds lost by the moved jobs
    double move_cost_bound = 0;  ///< lower bound on the move cost of any placement of the same jobs
    /// Whether it is proven that every placement leaves at least this many jobs without nodes (not counting
    /// impossible ones).
    bool fewest_unplaced_proven = true;
    std::size_t whole_free_nodes = 0;  ///< nodes that no job uses and that are not drained
    int largest_free_block = 0;        ///< largest number of free GPUs on one node

    /// Clears the result for a number of jobs. The placements keep their allocated memory.
    void start(std::size_t jobs) {
        placements.resize(jobs);
        for (Placement& placement : placements) placement.clear();
        unplaced.clear();
        moved.clear();
        move_cost = move_cost_bound = 0;
        fewest_unplaced_proven = true;
        whole_free_nodes = 0;
        largest_free_block = 0;
    }

    /// Brings moved and unplaced jobs into ascending order.
    void sort() {
        std::ranges::sort(moved);
        std::ranges::sort(unplaced, {}, &UnplacedJob::job);
    }

    /// Whether nothing better exists: neither fewer unplaced jobs nor, for the same jobs, cheaper moves.
    [[nodiscard]] bool proven() const { return fewest_unplaced_proven && move_cost <= move_cost_bound; }
    /// Returns one line for a log.
    [[nodiscard]] std::string report() const {
        std::size_t count = 0;
        for (const Placement& placement : placements) count += placement.empty() ? 0U : 1U;
        std::string line = text_of(count) + " jobs placed, " + text_of(unplaced.size()) + " not, " +
                           text_of(moved.size()) + " moved for " + text_of(move_cost) + " s";
        if (proven()) return line + " (proven least)";
        line += " (at least " + text_of(move_cost_bound) + " s";
        if (!fewest_unplaced_proven) line += "; perhaps more jobs can be placed";
        return line + ")";
    }
};

/// A claim to a node by a job that is about to start on whole nodes and already holds GPUs on this one.
struct HomeClaim {
    std::size_t job = 0;   ///< index into the needs of all jobs
    std::size_t node = 0;  ///< index of the node
    int held = 0;          ///< GPUs that the job holds on it
};

/// A function that removes the claims that are not to be granted. `need` is the number of nodes that each
/// job takes. The remaining claims are then granted one by one, in descending order of the GPUs held, until
/// each job has the nodes that it needs. Each node goes to one job.
using HomeChoice = void (*)(std::vector<HomeClaim>& claims, std::span<const int> need);

namespace detail {

/// Converts the cost of a move to the unit in which it is counted.
inline std::int64_t milliseconds(double seconds) { return std::llround(seconds * 1000); }

/// Distributes the GPUs of a part over its whole nodes: the first nodes are full, the last ones get the
/// rest, and every node gets at least one GPU.
inline void fill_whole_nodes(const PoolShare& part, Placement& placement) {
    std::sort(placement.begin(), placement.end());
    int left = part.shape.gpus, nodes_left = part.shape.nodes;
    for (NodeShare& share : placement) {
        share.gpus = std::min(part.gpus_per_node, left - --nodes_left);
        left -= share.gpus;
    }
}

}  // namespace detail

// The concepts of placement algorithms. Any type with the required function satisfies them.

/// Finds nodes for each job: `result = placer.place(cluster, requests)`, with one placement per request.
/// The call is not const, so that a placer may keep its buffers from round to round, but the answer must
/// not depend on them. LeastMovesPlacer and TopologyPlacer satisfy this.
template <class Algorithm>
concept Placer = requires(Algorithm& placer, const Cluster& cluster,
                          std::span<const PlacementRequest> requests) {
    { placer.place(cluster, requests) } -> std::convertible_to<PlacementResult>;
};

/// Checks a placer. If it does not fit, compilation fails with one line that says what is wrong with its
/// function.
template <class Algorithm>
consteval bool placer_fits() {
    static_assert(Placer<Algorithm>,
                  "Placer: place is missing, or is not: PlacementResult place(const Cluster&, "
                  "std::span<const PlacementRequest> requests)");
    return true;
}

/// A placer that can keep jobs within one domain of a level (Job::within), such as TopologyPlacer.
template <class Algorithm>
concept KnowsTopology = requires(const Algorithm& placer, const std::string& level,
                                 const Placement& placement) {
    { placer.lies_within(level, placement) } -> std::convertible_to<bool>;
};

}  // namespace goodput::inline v0_1

#endif
