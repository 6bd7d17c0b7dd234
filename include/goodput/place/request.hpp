#ifndef GOODPUT_PLACE_REQUEST_HPP
#define GOODPUT_PLACE_REQUEST_HPP

// What a placement algorithm is asked and what it answers.
//
// A request is one job: what it was allotted and where it runs now. A job over several nodes takes whole
// nodes and shares none of them; a job on one node is never split. A job *holds its allotment* if its current
// placement has the allotment's pool and shape and, for a job over several nodes, if none of these nodes is
// shared with another job that keeps its allotment. Such a job moves at a cost; any other job restarts in any
// case and is free to go anywhere, and so is one that is told to leave. On a drained node a job that holds
// its allotment stays as if it were pinned, and nothing else is put there. Other systems let a job over
// several nodes share them: a request says so (`shares_nodes`), and such a job stays exactly where it is.

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

namespace goodput {

/// One job. Its index in the list is its priority: the lower, the more important.
struct PlacementRequest {
    PoolShare part = {};      ///< empty: the job gets nothing this round
    Placement current = {};   ///< empty: it runs nowhere
    double move_cost = 0;     ///< seconds lost if a job that holds its allotment is moved; counted in ms
    bool pinned = false;      ///< keeps exactly what it holds; without effect on a job that runs nowhere
    std::string within = {};  ///< as Job::within
    bool leaves = false;      ///< does not stay for holding its allotment; without effect on a pinned job
    /// It is pinned to nodes that it shares: it takes the GPUs that it holds there, and others the rest.
    bool shares_nodes = false;
    /// How long it needs its nodes. Of nodes that leave earlier (Node::leaves_seconds) it gets the last ones.
    double needs_seconds = std::numeric_limits<double>::infinity();
};

/// A job with an allotment but without nodes: `why` tells whether it waits or is impossible.
struct UnplacedJob {
    std::size_t job = 0;  ///< index into the requests
    Verdict why;          ///< waits or impossible, with the reason
};

/// Where everybody is, who moved, and what is proven of it.
struct PlacementResult {
    std::vector<Placement> placements;   ///< by job; empty: gets nothing, or is unplaced
    std::vector<UnplacedJob> unplaced;   ///< ascending
    std::vector<std::size_t> moved;      ///< jobs that held their allotment and now lie elsewhere, ascending
    double move_cost = 0;                ///< seconds, of the moved jobs
    double move_cost_bound = 0;          ///< no placement of the same jobs moves for less
    bool fewest_unplaced_proven = true;  ///< no placement leaves fewer jobs out (impossible ones aside)
    std::size_t whole_free_nodes = 0;    ///< nodes that nobody uses and that are not drained
    int largest_free_block = 0;          ///< most GPUs that are free on one node

    /// Empties it for that many jobs; what their placements have allocated stays.
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

    /// Nothing better exists: neither fewer unplaced jobs nor, for the same jobs, cheaper moves.
    [[nodiscard]] bool proven() const { return fewest_unplaced_proven && move_cost <= move_cost_bound; }
    /// One line for a log.
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

/// A job that takes whole nodes anew holds GPUs on a node already, and may keep the node.
struct HomeClaim {
    std::size_t job = 0;   ///< an index into the needs of all jobs
    std::size_t node = 0;  ///< index of the node
    int held = 0;          ///< GPUs
};

/// Takes out claims that are not to be granted; `need` is how many nodes each job takes. Of the others
/// whoever holds most on a node comes first, until each job has what it needs and each node is one job's.
using HomeChoice = void (*)(std::vector<HomeClaim>& claims, std::span<const int> need);

namespace detail {

/// What a cost of moves counts as.
inline std::int64_t milliseconds(double seconds) { return std::llround(seconds * 1000); }

/// Gives the nodes of a part over whole nodes their GPUs: the first are full, the last take the rest, but no
/// node gets nothing.
inline void fill_whole_nodes(const PoolShare& part, Placement& placement) {
    std::sort(placement.begin(), placement.end());
    int left = part.shape.gpus, nodes_left = part.shape.nodes;
    for (NodeShare& share : placement) {
        share.gpus = std::min(part.gpus_per_node, left - --nodes_left);
        left -= share.gpus;
    }
}

}  // namespace detail

// What a placement algorithm has to answer. Any type with the function satisfies the concept.

/// Which nodes does each job get: `result = placer.place(cluster, requests)`, one placement a request. Not
/// const, so that a placer may keep its buffers from round to round; the answer must not depend on them.
/// Satisfied by LeastMovesPlacer and TopologyPlacer.
template <class Algorithm>
concept Placer = requires(Algorithm& placer, const Cluster& cluster,
                          std::span<const PlacementRequest> requests) {
    { placer.place(cluster, requests) } -> std::convertible_to<PlacementResult>;
};

/// Does not compile for what is not quite a placer, and says in one line what is wrong with its function.
template <class Algorithm>
consteval bool placer_fits() {
    static_assert(Placer<Algorithm>,
                  "Placer: place is missing, or is not: PlacementResult place(const Cluster&, "
                  "std::span<const PlacementRequest> requests)");
    return true;
}

/// A placer that can keep jobs within one domain of a level (Job::within): TopologyPlacer.
template <class Algorithm>
concept KnowsTopology = requires(const Algorithm& placer, const std::string& level,
                                 const Placement& placement) {
    { placer.lies_within(level, placement) } -> std::convertible_to<bool>;
};

}  // namespace goodput

#endif
