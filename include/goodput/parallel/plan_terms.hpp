#ifndef GOODPUT_PARALLEL_PLAN_TERMS_HPP
#define GOODPUT_PARALLEL_PLAN_TERMS_HPP

// The terms that a plan's score and the search for plans share: the seconds of layers, messages and
// gradient reductions, and the bytes on a GPU. The defaults of ParallelConstants are exactly those of the
// published simulator (Sailor). The constants can also express what that simulator leaves out.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"

namespace goodput::inline v0_1 {

/// Constants in the formulas of time and memory, the same for all models and clusters.
struct ParallelConstants {
    double compute_factor = 1;            ///< factor on the measured times of layers
    double layer_overhead_seconds = 0;    ///< what timing a layer separately added to its time, forward and
                                          ///< backward together; subtracted from each layer, down to 0
    double stage_seconds = 0;             ///< added to each stage's computing of a micro-batch
    double send_factor = 1;               ///< factor on the link's seconds between stages
    double message_seconds = 0;           ///< added to each message between stages
    double message_seconds_per_byte = 0;  ///< added to each message for each of its bytes, whatever the
                                          ///< link
    double reduce_factor = 1;             ///< factor on the reduction of gradients among replicas
    double reduce_bucket_bytes = 5e8;     ///< gradients are reduced in pieces of this size
    int most_shards = 4;       ///< gradients are reduced in at most this many shards (a mistake of the
                               ///< published code, which has no sizes of wider tensor-parallel groups
                               ///< there)
    double fixed_bytes = 2e9;  ///< on every GPU, tensor_parallel 1
    double fixed_bytes_parallel = 3e9;     ///< on every GPU, tensor_parallel above 1
    double activation_factor = 1;          ///< factor on the profiled size of activations
    double parameter_factor = 1;           ///< factor on parameters and what goes with them
    bool whole_pipeline_in_flight = true;  ///< a stage keeps the activations of one micro-batch per stage
                                           ///< from itself to the last, even if an iteration has fewer
                                           ///< micro-batches (a mistake of the published code)
};

/// Returns the seconds that a layer takes for one micro-batch within a plan, forward and backward.
[[nodiscard]] inline double layer_seconds(const LayerTime& time, const ParallelConstants& constants = {}) {
    return std::max(constants.compute_factor * (time.forward_seconds + time.backward_seconds) -
                        constants.layer_overhead_seconds,
                    0.0);
}

/// Returns the bytes that stages exchange about the output of a layer, activations or their gradient. As in
/// the published code, these are the bytes that one GPU would send, whatever the tensor-parallel degrees.
[[nodiscard]] inline double message_bytes(const LayeredModel& model, std::size_t layer, int microbatch) {
    return model.sizes.at(1)[layer].output_floats * model.bytes_per_float * microbatch;
}

/// Returns how many times the seconds count in which stage `stage` (of `stages`, from 0) sends activations.
/// As in the published code, the second time represents what the stage receives.
[[nodiscard]] constexpr double forward_weight(std::size_t stage, std::size_t stages) {
    return stage == 0 && stages > 3 ? 2 : 1;
}
/// Returns how many times the seconds count in which it sends gradients back.
[[nodiscard]] constexpr double backward_weight(std::size_t stage, std::size_t stages) {
    return stage + 1 == stages ? 2 : 1;
}

/// Returns the seconds of a message of `bytes` from one stage to another over `link`; infinity without a
/// link.
[[nodiscard]] inline double message_seconds(double bytes, const BandwidthCurve* link,
                                            const ParallelConstants& constants = {}) {
    if (link == nullptr) return std::numeric_limits<double>::infinity();
    return constants.send_factor * link->seconds(bytes) + constants.message_seconds +
           constants.message_seconds_per_byte * bytes;
}

/// Returns the seconds of a ring all-reduce of `bytes` among `replicas`, with each message over `link`.
[[nodiscard]] inline double reduce_seconds(double bytes, int replicas, const BandwidthCurve& link,
                                           const ParallelConstants& constants = {}) {
    if (replicas <= 1 || !(bytes > 0)) return 0;
    const auto ring = [&](double part) { return 2 * (replicas - 1) * link.seconds(part / replicas); };
    const double full = std::floor(bytes / constants.reduce_bucket_bytes);
    const double rest = bytes - full * constants.reduce_bucket_bytes;
    return constants.reduce_factor *
           ((full > 0 ? full * ring(constants.reduce_bucket_bytes) : 0) + ring(rest));
}

/// Returns the number of micro-batches whose activations a stage keeps at once. `stages_left` counts the
/// stages from this one to the last, and a replica computes `microbatches` in all.
[[nodiscard]] constexpr std::size_t most_in_flight(std::size_t stages_left, double microbatches,
                                                   const ParallelConstants& constants = {}) {
    return constants.whole_pipeline_in_flight || microbatches >= static_cast<double>(stages_left)
               ? stages_left
               : static_cast<std::size_t>(microbatches);
}

/// Returns the bytes on one GPU of a stage that has these parameters, and these floats of activations per
/// sample, while `in_flight` micro-batches are being processed.
[[nodiscard]] inline double stage_bytes(double parameters, double activation_floats, int tensor_parallel,
                                        int microbatch, std::size_t in_flight, const LayeredModel& model,
                                        const ParallelConstants& constants = {}) {
    return constants.parameter_factor * parameters * model.bytes_per_parameter +
           constants.activation_factor * activation_floats * microbatch * model.bytes_per_float *
               static_cast<double>(in_flight) +
           (tensor_parallel > 1 ? constants.fixed_bytes_parallel : constants.fixed_bytes);
}
/// Returns the same for a stage of layers [begin, end). Layers whose sizes are unknown take no bytes.
[[nodiscard]] inline double stage_bytes(const LayeredModel& model, std::size_t begin, std::size_t end,
                                        LayerProfileKey key, std::size_t in_flight,
                                        const ParallelConstants& constants = {}) {
    double parameters = 0, activations = 0;
    if (const auto* const sizes = model.sizes_of(key.tensor_parallel))
        for (std::size_t l = begin; l < end; ++l) {
            parameters += (*sizes)[l].parameters;
            activations += (*sizes)[l].activation_floats;
        }
    return stage_bytes(parameters, activations, key.tensor_parallel, key.microbatch, in_flight, model,
                       constants);
}

}  // namespace goodput::inline v0_1

#endif
