#ifndef GOODPUT_PROGRAM_PLAN_SAMPLES_HPP
#define GOODPUT_PROGRAM_PLAN_SAMPLES_HPP

// Reads measurements in the formats of `fit` and `plan`.

#include <algorithm>
#include <string>
#include <string_view>

#include "goodput/core/sample.hpp"
#include "json/json_fields.hpp"

namespace cli {

/// Reads and checks a measurement. Each replica has `gpus_per_replica` GPUs.
inline goodput::ThroughputSample read_sample(const Field& field, std::string_view subject,
                                             int gpus_per_replica = 1) {
    constexpr int most = 1 << 20;
    field.knows({"gpu_type", "nodes", "gpus", "local_batch", "accumulation", "step_s", "iteration_s",
                 "sync_s", "cores_per_gpu", "memory_gib_per_gpu"});
    goodput::ThroughputSample sample;
    sample.shape.nodes = field["nodes"].count(1, most);
    sample.shape.gpus = field["gpus"].count(1, most);
    sample.plan.atomic_batch = field["local_batch"].count(1, 1 << 30);
    field["accumulation"].into(sample.plan.accumulation_steps, 0, most);
    sample.whole_iteration = field["iteration_s"].given();
    const char* const timed = sample.whole_iteration ? "iteration_s" : "step_s";
    if (sample.whole_iteration && field["step_s"].given())
        field["step_s"].refuse("left out where iteration_s is given");
    if (!field[timed].given()) field[timed].refuse("a number unless iteration_s is given");
    sample.step_seconds = field[timed].number();
    sample.sync_known = field["sync_s"].given();
    if (sample.sync_known) sample.sync_seconds = field["sync_s"].number();
    if (sample.step_seconds < goodput::least_step_seconds || sample.step_seconds > goodput::most_step_seconds)
        field[timed].refuse("between " + goodput::text_of(goodput::least_step_seconds) + " and " +
                            goodput::text_of(goodput::most_step_seconds));
    if (sample.sync_seconds < 0 || sample.sync_seconds >= sample.step_seconds)
        field["sync_s"].refuse("at least 0 and below " + std::string(timed) + ", " +
                               goodput::text_of(sample.step_seconds));
    if (const Field cores = field["cores_per_gpu"]; cores.given())
        sample.host.set_cores(cores.number_at_least(0));
    if (const Field memory = field["memory_gib_per_gpu"]; memory.given())
        sample.host.set_memory(memory.number_at_least(0));
    if (sample.shape.gpus < sample.shape.nodes)
        field["gpus"].refuse("at least the number of nodes, " + goodput::text_of(sample.shape.nodes));
    if (sample.shape.gpus % gpus_per_replica != 0)
        field["gpus"].refuse("a multiple of gpus_per_replica, " + goodput::text_of(gpus_per_replica));
    sample.shape.gpus /= gpus_per_replica;
    sample.shape.nodes = std::min(sample.shape.nodes, sample.shape.gpus);
    validate(sample, subject);
    return sample;
}

/// Gradient statistics: sqr and var, or a noise scale in examples, which says the same of any batch.
inline goodput::GradientStatistics read_gradient(const Field& field, int initial_batch) {
    field.knows({"sqr", "var", "noise_scale"});
    const Field sqr = field["sqr"], var = field["var"], noise_scale = field["noise_scale"];
    if (!noise_scale.given()) return {sqr.number_at_least(0), var.number_at_least(0)};
    for (const Field& other : {sqr, var})
        if (other.given()) other.refuse("left out where noise_scale is given");
    return {1, noise_scale.number_at_least(0) / initial_batch};
}

}  // namespace cli

#endif
