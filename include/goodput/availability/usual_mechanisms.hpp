#ifndef GOODPUT_AVAILABILITY_USUAL_MECHANISMS_HPP
#define GOODPUT_AVAILABILITY_USUAL_MECHANISMS_HPP

// Estimates what the usual checkpoint mechanisms cost a job, from the size of its state and a few
// bandwidths.

#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// A job's state and the bandwidths for saving it. The defaults are orders of magnitude of today's
/// clusters, not measurements: use your own numbers.
struct CheckpointCosts {
    double state_gib = 1;                    ///< parameters and optimizer state of the whole job
    int nodes = 1;                           ///< number of nodes on which the job runs
    int gpus_per_node = 8;                   ///< GPUs of the job on each node
    double storage_gib_per_second = 2;       ///< bandwidth of one writer to shared storage
    double node_storage_gib_per_second = 1;  ///< bandwidth of each of several nodes that write at once
    double copy_gib_per_second = 10;         ///< bandwidth from one GPU to its host
    double network_gib_per_second = 5;       ///< bandwidth from one node to another
    /// Seconds from the end of an interruption until restoring begins: starting processes, loading
    /// libraries.
    double start_seconds = 30;
    double write_slowdown = 0.02;  ///< fraction of the speed that is lost while a checkpoint leaves the host
    /// Fraction of interruptions in which a node and the node with its checkpoint are lost together.
    double peer_lost = 0.02;
    /// One in this many checkpoints in a peer's memory goes to storage as well.
    int peer_stored_every = 8;
    double noticed = 0.7;  ///< fraction of interruptions that leave time to save
};

/// Returns the usual mechanisms with these costs: `full` (training stops until the whole state is in
/// storage), `sharded` (every node writes its part), `asynchronous` (the state is copied to the hosts and
/// written while training continues), `peer` (it is kept in the memory of another node, and from time to
/// time in storage), `just in time` (sharded, when an interruption is noticed, and from time to time in
/// case one is not), `none`. Throws std::invalid_argument for sizes, bandwidths and counts that are not
/// above 0, and for fractions beyond 1.
[[nodiscard]] inline std::vector<CheckpointMechanism> usual_mechanisms(const CheckpointCosts& costs) {
    constexpr std::string_view subject = "checkpoint costs";
    require_positive(subject, "state_gib", costs.state_gib);
    require_between(subject, "nodes", costs.nodes, 1, 1 << 20);
    require_between(subject, "gpus_per_node", costs.gpus_per_node, 1, 1 << 20);
    require_positive(subject, "storage_gib_per_second", costs.storage_gib_per_second);
    require_positive(subject, "node_storage_gib_per_second", costs.node_storage_gib_per_second);
    require_positive(subject, "copy_gib_per_second", costs.copy_gib_per_second);
    require_positive(subject, "network_gib_per_second", costs.network_gib_per_second);
    require_at_least(subject, "start_seconds", costs.start_seconds, 0);
    require_between(subject, "peer_lost", costs.peer_lost, 0, 1);

    const double nodes = costs.nodes, gpus = nodes * costs.gpus_per_node, state = costs.state_gib;
    const double alone = state / costs.storage_gib_per_second;
    const double together = state / nodes / costs.node_storage_gib_per_second;
    const double copy = state / gpus / costs.copy_gib_per_second;
    const double to_peer = state / nodes / costs.network_gib_per_second;
    std::vector<CheckpointMechanism> usual{
        {.name = "full", .pause_seconds = alone, .restore_seconds = costs.start_seconds + alone},
        {.name = "sharded", .pause_seconds = together, .restore_seconds = costs.start_seconds + together},
        {.name = "asynchronous",
         .pause_seconds = copy,
         .write_seconds = together,
         .write_slowdown = costs.write_slowdown,
         .restore_seconds = costs.start_seconds + together,
         .memory_gib_per_gpu = state / gpus},
        {.name = "peer",
         .pause_seconds = copy,
         .write_seconds = to_peer,
         .write_slowdown = costs.write_slowdown,
         .restore_seconds = costs.start_seconds + to_peer,
         .memory_gib_per_gpu = 2 * state / gpus,
         .kept = 1 - costs.peer_lost,
         .stored_every = costs.peer_stored_every},
        {.name = "just in time",
         .pause_seconds = together,
         .restore_seconds = costs.start_seconds + together,
         .caught = costs.noticed},
        {.name = "none", .restore_seconds = costs.start_seconds, .saves = false}};
    if (costs.nodes == 1) usual.erase(usual.begin() + 3);  // a single node has no peer
    for (const CheckpointMechanism& mechanism : usual) validate(mechanism);
    return usual;
}

}  // namespace goodput::inline v0_1

#endif
