#ifndef GOODPUT_PARALLEL_PLAN_TERMS_HPP
#define GOODPUT_PARALLEL_PLAN_TERMS_HPP

// The terms that a plan's score and the search for plans share: seconds of layers, messages and reductions of
// gradients, bytes on a GPU. The defaults of ParallelConstants are the published simulator's (Sailor), to the
// letter; what it leaves out can be said there.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"

namespace goodput {

/// What holds for all models and clusters in the formulas of time and memory.
struct ParallelConstants {
    double compute_factor = 1;  ///< computing takes that many times what the layers took by themselves
    double layer_overhead_seconds = 0;    ///< what timing a layer by itself added to its time, forward and
                                          ///< backward together; taken off each layer, down to 0
    double stage_seconds = 0;             ///< added to each stage's computing of a micro-batch
    double send_factor = 1;               ///< between stages: the link's seconds take that many times as long
    double message_seconds = 0;           ///< added to each message between stages
    double message_seconds_per_byte = 0;  ///< added to it for each of its bytes, whatever the link
    double reduce_factor = 1;             ///< of gradients among replicas
    double reduce_bucket_bytes = 5e8;     ///< gradients are reduced in pieces of that size
    int most_shards = 4;       ///< gradients are reduced in that many shards at most (a slip of the published
                               ///< code, which has no sizes of wider tensor-parallel groups there)
    double fixed_bytes = 2e9;  ///< on every GPU, tensor_parallel 1
    double fixed_bytes_parallel = 3e9;     ///< on every GPU, tensor_parallel above 1
    double activation_factor = 1;          ///< activations take that many times their profiled size
    double parameter_factor = 1;           ///< parameters and what goes with them, the same
    bool whole_pipeline_in_flight = true;  ///< activations are kept of one micro-batch for each stage from
                                           ///< here to the last, even where an iteration has fewer (a slip of
                                           ///< the published code)
};

/// Seconds that a layer takes for one micro-batch within a plan, forward and backward.
[[nodiscard]] inline double layer_seconds(const LayerTime& time, const ParallelConstants& constants = {}) {
    return std::max(constants.compute_factor * (time.forward_seconds + time.backward_seconds) -
                        constants.layer_overhead_seconds,
                    0.0);
}

/// Bytes that stages exchange about the output of a layer, activations or their gradient: those that one GPU
/// would hand on, whatever the tensor-parallel degree of either stage (so the published code).
[[nodiscard]] inline double message_bytes(const LayeredModel& model, std::size_t layer, int microbatch) {
    return model.sizes.at(1)[layer].output_floats * model.bytes_per_float * microbatch;
}

/// How many times the seconds of activations count that stage `stage` of `stages`, from 0, hands on. So the
/// published code; the second time stands for what is received.
[[nodiscard]] constexpr double forward_weight(std::size_t stage, std::size_t stages) {
    return stage == 0 && stages > 3 ? 2 : 1;
}
/// The same for gradients that it hands back.
[[nodiscard]] constexpr double backward_weight(std::size_t stage, std::size_t stages) {
    return stage + 1 == stages ? 2 : 1;
}

/// Seconds of a message of `bytes` from one stage to another over `link`; infinity without a link.
[[nodiscard]] inline double message_seconds(double bytes, const BandwidthCurve* link,
                                            const ParallelConstants& constants = {}) {
    if (link == nullptr) return std::numeric_limits<double>::infinity();
    return constants.send_factor * link->seconds(bytes) + constants.message_seconds +
           constants.message_seconds_per_byte * bytes;
}

/// Seconds of a ring all-reduce of `bytes` among `replicas`, each of whose messages goes over `link`.
[[nodiscard]] inline double reduce_seconds(double bytes, int replicas, const BandwidthCurve& link,
                                           const ParallelConstants& constants = {}) {
    if (replicas <= 1 || !(bytes > 0)) return 0;
    const auto ring = [&](double part) { return 2 * (replicas - 1) * link.seconds(part / replicas); };
    const double full = std::floor(bytes / constants.reduce_bucket_bytes);
    const double rest = bytes - full * constants.reduce_bucket_bytes;
    return constants.reduce_factor *
           ((full > 0 ? full * ring(constants.reduce_bucket_bytes) : 0) + ring(rest));
}

/// Micro-batches whose activations a stage keeps at once, with so many stages from this one to the last, if
/// a replica computes `microbatches` of them in all.
[[nodiscard]] constexpr std::size_t most_in_flight(std::size_t stages_left, double microbatches,
                                                   const ParallelConstants& constants = {}) {
    return constants.whole_pipeline_in_flight || microbatches >= static_cast<double>(stages_left)
               ? stages_left
               : static_cast<std::size_t>(microbatches);
}

/// Bytes on one GPU of a stage with so many parameters and floats of activations a sample there, while
/// `in_flight` micro-batches are under way.
[[nodiscard]] inline double stage_bytes(double parameters, double activation_floats, int tensor_parallel,
                                        int microbatch, std::size_t in_flight, const LayeredModel& model,
                                        const ParallelConstants& constants = {}) {
    return constants.parameter_factor * parameters * model.bytes_per_parameter +
           constants.activation_factor * activation_floats * microbatch * model.bytes_per_float *
               static_cast<double>(in_flight) +
           (tensor_parallel > 1 ? constants.fixed_bytes_parallel : constants.fixed_bytes);
}

namespace detail {

inline constexpr double bytes_per_gib = 1024.0 * 1024 * 1024;

}  // namespace detail

}  // namespace goodput

#endif
