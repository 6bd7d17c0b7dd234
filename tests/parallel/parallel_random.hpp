#ifndef GOODPUT_TESTS_PARALLEL_PARALLEL_RANDOM_HPP
#define GOODPUT_TESTS_PARALLEL_PARALLEL_RANDOM_HPP

// Draws small models, clusters, plans and questions of every shape: even layers and one that outweighs all
// others, profiles with gaps, memory too small for anything, links that are missing or pass no message. A
// source needs unit(), between(), integer() and chance(), as support::Random has them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/parallel/plan_question.hpp"
#include "goodput/parallel/refined_constants.hpp"
#include "parallel/parallel_reference.hpp"
#include "support/random.hpp"

namespace support {

/// The ranges that random cases are drawn from.
struct ParallelShape {
    int least_layers = 1, most_layers = 5;
    int most_types = 3, least_zones = 1, most_zones = 2;
    int most_gpus = 7;
    int most_degree = 2;            ///< a power of two
    double missing_profiles = 0.1;  ///< the share of profiles that are missing
    double missing_links = 0.03;
    bool wild_links = true;  ///< bandwidth may fall as messages grow, and may be negative
};

template <class Source>
double random_scale(Source& random, double low, double high) {
    return low * std::pow(high / low, random.unit());
}

/// One number per layer: all alike, each different, or one that outweighs all others.
template <class Source>
std::vector<double> random_weights(Source& random, std::size_t layers) {
    std::vector<double> weights(layers, 1);
    const int style = random.integer(0, 3);
    for (double& weight : weights) {
        if (style == 1) weight = random.between(0.5, 1.5);
        if (style == 2) weight = random_scale(random, 0.05, 5);
    }
    if (style == 3) weights[static_cast<std::size_t>(random.integer(0, static_cast<int>(layers) - 1))] = 5;
    return weights;
}

template <class Source>
goodput::LayeredModel random_layered_model(Source& random, const ParallelShape& shape, std::size_t types) {
    goodput::LayeredModel model;
    model.name = "model";
    model.layers = static_cast<std::size_t>(random.integer(shape.least_layers, shape.most_layers));
    model.bytes_per_float = random.chance(0.8) ? 4 : 2;
    model.bytes_per_parameter = random.chance(0.8) ? 24 : 20;
    const auto parameters = random_weights(random, model.layers),
               output = random_weights(random, model.layers), kept = random_weights(random, model.layers),
               work = random_weights(random, model.layers);
    const double size = random_scale(random, 1e6, 5e8), message = random_scale(random, 1e4, 1e7),
                 activation = random_scale(random, 1e6, 5e8), second = random_scale(random, 1e-3, 0.3);
    // The group may split up what a layer hands on, as with the last layer's scores of all words.
    const bool cut_up = random.chance(0.3);
    for (int degree = 1; degree <= shape.most_degree; degree *= 2) {
        if (degree > 1 && random.chance(0.05)) continue;
        auto& sizes = model.sizes[degree];
        for (std::size_t l = 0; l < model.layers; ++l)
            sizes.push_back({std::floor(parameters[l] * size / degree),
                             std::floor(output[l] * message / (cut_up ? degree : 1)),
                             std::floor(kept[l] * activation / degree)});
    }
    for (std::size_t t = 0; t < types; ++t) {
        auto& type = model.times.emplace_back();
        const double slowness = random_scale(random, 0.3, 3), overhead = random.between(0, 0.5),
                     sharing = random.between(0.3, 1.2), backward = random.between(0.8, 3),
                     update = random.between(0, 0.5);
        for (int microbatch = 1; microbatch <= 2; ++microbatch)
            for (int degree = 1; degree <= shape.most_degree; degree *= 2) {
                if (random.chance(shape.missing_profiles)) continue;
                auto& times = type[{microbatch, degree}];
                for (std::size_t l = 0; l < model.layers; ++l) {
                    const double forward = second * slowness * work[l] * (overhead + microbatch) /
                                           std::pow(degree, sharing) * random.between(0.9, 1.1);
                    times.push_back({forward, backward * forward, update * forward});
                }
            }
    }
    if (types > 1 && random.chance(0.05)) model.times.pop_back();
    return model;
}

template <class Source>
goodput::BandwidthCurve random_curve(Source& random, const ParallelShape& shape) {
    if (shape.wild_links && random.chance(0.15))
        return {random.between(-0.5, 0.5), random.between(-3, 3), random.between(-5, 20)};
    const double constant = random_scale(random, 0.3, 30);
    if (random.chance(0.3)) return {0, 0, constant};
    return {constant * random.between(-0.005, 0.02), constant * random.between(0, 0.12), constant};
}

template <class Source>
goodput::ParallelCluster random_parallel_cluster(Source& random, const ParallelShape& shape, int types,
                                                 double needed_gib) {
    goodput::ParallelCluster cluster;
    const int zones = random.integer(shape.least_zones, shape.most_zones);
    const bool priced = random.chance(0.85);
    for (int t = 0; t < types; ++t)
        cluster.types.push_back({"type-" + std::to_string(t), 1 << random.integer(0, 2),
                                 needed_gib * random_scale(random, 0.3, 4),
                                 priced ? random.between(0.5, 12) : 0});
    for (int z = 0; z < zones; ++z) {
        cluster.zones.push_back("zone-" + std::to_string(z));
        cluster.gpus.emplace_back(static_cast<std::size_t>(types), 0);
        cluster.usd_per_gigabyte.emplace_back(static_cast<std::size_t>(zones), 0.0);
    }
    for (int gpus = random.integer((shape.most_gpus + 1) / 2, shape.most_gpus); gpus > 0; --gpus)
        ++cluster.gpus[static_cast<std::size_t>(random.integer(0, zones - 1))]
                      [static_cast<std::size_t>(random.integer(0, types - 1))];
    if (random.chance(0.6))
        for (std::size_t from = 0; from < cluster.zones.size(); ++from)
            for (std::size_t to = 0; to < cluster.zones.size(); ++to)
                if (from != to || random.chance(0.05))
                    cluster.usd_per_gigabyte[from][to] = random_scale(random, 1e-4, 0.1);
    const double missing = random.chance(0.4) ? 0 : shape.missing_links;
    const auto ends = [&](auto each) {
        for (std::size_t zone = 0; zone < cluster.zones.size(); ++zone)
            for (std::size_t type = 0; type < cluster.types.size(); ++type)
                for (int gpus = 1; gpus <= shape.most_degree; gpus *= 2)
                    each(goodput::LinkEnd{zone, type, gpus});
    };
    const bool alike = random.chance(0.3);
    const goodput::BandwidthCurve one = random_curve(random, shape);
    ends([&](const goodput::LinkEnd& from) {
        ends([&](const goodput::LinkEnd& to) {
            const goodput::BandwidthCurve curve = alike ? one : random_curve(random, shape);
            if (!random.chance(missing)) cluster.links[{from, to}] = curve;
        });
    });
    return cluster;
}

template <class Source>
goodput::ParallelConstants random_parallel_constants(Source& random) {
    goodput::ParallelConstants constants;
    if (random.chance(0.4)) return constants;
    if (random.chance(0.25)) return goodput::refined_constants(random.between(0, 5e9));
    constants.compute_factor = random.between(0.8, 1.3);
    if (random.chance(0.5)) constants.stage_seconds = random_scale(random, 1e-4, 0.1);
    if (random.chance(0.3)) constants.layer_overhead_seconds = random_scale(random, 1e-4, 0.05);
    if (random.chance(0.3)) constants.message_seconds = random_scale(random, 1e-5, 0.01);
    if (random.chance(0.3)) constants.message_seconds_per_byte = random_scale(random, 1e-12, 1e-9);
    constants.send_factor = random.between(0.3, 2);
    constants.reduce_factor = random.between(0.3, 2);
    constants.reduce_bucket_bytes = random_scale(random, 2e7, 1e9);
    constants.most_shards = 1 << random.integer(0, 3);
    constants.fixed_bytes = random.between(0, 4e9);
    constants.fixed_bytes_parallel = random.between(0, 5e9);
    constants.activation_factor = random.between(0.7, 1.5);
    constants.whole_pipeline_in_flight = random.chance(0.4);
    constants.parameter_factor = random.between(0.7, 1.5);
    return constants;
}

template <class Source>
ParallelCase random_parallel_case(Source& random, const ParallelShape& shape = {}) {
    ParallelCase asked;
    const int types = random.integer(1, shape.most_types);
    asked.model = random_layered_model(random, shape, static_cast<std::size_t>(types));
    asked.constants = random_parallel_constants(random);
    const auto layers = asked.model.layers;
    const double needed = ParallelReference(asked).memory({0, layers - 1, {}}, {}, 1, 1);
    asked.cluster = random_parallel_cluster(random, shape, types, std::ldexp(std::max(needed, 1e8), -30));
    asked.global_batch = random.chance(0.3) ? random.integer(1, 4) : random.integer(1, 64);
    return asked;
}

/// Draws a plan with at most `most_replicas` replicas per stage. Most have no fault if there are enough GPUs.
template <class Source>
goodput::ParallelPlan random_parallel_plan(Source& random, const ParallelCase& asked, int most_replicas) {
    goodput::ParallelPlan plan{random.integer(1, 2), asked.global_batch, {}};
    const bool equal = random.chance(0.9);
    const int replicas = random.integer(1, most_replicas);
    const double cutting = random.unit();
    std::size_t first = 0;
    const auto index = [&](std::size_t below) {
        return static_cast<std::size_t>(random.integer(0, static_cast<int>(below) - 1));
    };
    for (std::size_t l = 0; l < asked.model.layers; ++l) {
        if (l + 1 < asked.model.layers && !random.chance(cutting)) continue;
        goodput::PlanStage& stage = plan.stages.emplace_back();
        stage.first_layer = first;
        stage.last_layer = l;
        first = l + 1;
        for (int left = equal ? replicas : random.integer(1, most_replicas); left > 0;) {
            goodput::ReplicaGroup group{index(asked.cluster.types.size()),
                                        1 << random.integer(0, random.chance(0.3) ? 2 : 1),
                                        index(asked.cluster.zones.size()), random.integer(1, left)};
            const int most = asked.cluster.types[group.gpu_type].gpus_per_node;
            if (random.chance(0.95)) group.tensor_parallel = std::min(group.tensor_parallel, most);
            left -= group.count;
            stage.replicas.push_back(group);
        }
    }
    return plan;
}

/// The value of a plan to a question, and the size of the largest terms of the sum behind it.
struct PlanWorth {
    double value = 0, size = 0;
};

inline PlanWorth worth_of(const goodput::PlanQuestion& question, const KnownPlan& plan) {
    if (question.objective == goodput::PlanObjective::throughput) return {1 / plan.seconds, 1 / plan.seconds};
    if (question.objective == goodput::PlanObjective::cost) return {plan.usd, plan.usd};
    const double reward = question.reward * std::pow(plan.seconds, -question.power);
    double price = 0;
    for (std::size_t t = 0; t < plan.gpus.size(); ++t) price += question.price[t] * plan.gpus[t];
    return {reward - price, reward + price};
}

/// Draws a question. As a rule, some of the plans keep its limits.
template <class Source>
goodput::PlanQuestion random_plan_question(Source& random, const ParallelCase& asked,
                                           const std::vector<KnownPlan>& plans) {
    goodput::PlanQuestion question;
    question.global_batch = asked.global_batch;
    constexpr std::array objectives{goodput::PlanObjective::throughput, goodput::PlanObjective::cost,
                                    goodput::PlanObjective::reward};
    question.objective = objectives[static_cast<std::size_t>(random.integer(0, 2))];
    question.mixed_stages = random.chance(0.5);
    const auto some = [&]() -> const KnownPlan* {
        return plans.empty()
                   ? nullptr
                   : &plans[static_cast<std::size_t>(random.integer(0, static_cast<int>(plans.size()) - 1))];
    };
    if (question.objective == goodput::PlanObjective::reward) {
        const bool free = random.chance(0.1);
        for (std::size_t t = 0; t < asked.cluster.types.size(); ++t)
            question.price.push_back(free || random.chance(0.1) ? 0 : random.between(0.1, 3));
        const KnownPlan* const plan = some();
        if (random.chance(0.5)) question.power = random.between(0.2, 1);
        question.reward = random_scale(random, 0.3, 10) *
                          (plan == nullptr ? 1 : 4 * std::pow(std::max(plan->seconds, 1e-9), question.power));
    } else if (random.chance(0.4)) {
        const KnownPlan* const plan = some();
        question.most_usd = (plan == nullptr ? 1 : plan->usd) * random.between(0.9, 1.2);
    }
    if (random.chance(0.4)) {
        const KnownPlan* const plan = some();
        question.least_throughput =
            (plan == nullptr ? 1 : 1 / std::max(plan->seconds, 1e-9)) * random.between(0.8, 1.1);
    }
    if (random.chance(0.2)) question.gap = random.between(0, 0.3);
    return question;
}

/// Returns the same case with types and zones in another order: type_to and zone_to give the new indices.
inline ParallelCase renumbered(const ParallelCase& asked, const std::vector<std::size_t>& type_to,
                               const std::vector<std::size_t>& zone_to) {
    ParallelCase other = asked;
    goodput::ParallelCluster& cluster = other.cluster;
    other.model.times.assign(type_to.size(), {});
    for (std::size_t t = 0; t < type_to.size(); ++t) {
        if (t < asked.model.times.size()) other.model.times[type_to[t]] = asked.model.times[t];
        cluster.types[type_to[t]] = asked.cluster.types[t];
    }
    for (std::size_t z = 0; z < zone_to.size(); ++z) {
        cluster.zones[zone_to[z]] = asked.cluster.zones[z];
        for (std::size_t t = 0; t < type_to.size(); ++t)
            cluster.gpus[zone_to[z]][type_to[t]] = asked.cluster.gpus[z][t];
        for (std::size_t y = 0; y < zone_to.size(); ++y)
            cluster.usd_per_gigabyte[zone_to[z]][zone_to[y]] = asked.cluster.usd_per_gigabyte[z][y];
    }
    cluster.links.clear();
    const auto moved = [&](const goodput::LinkEnd& end) {
        return goodput::LinkEnd{zone_to[end.zone], type_to[end.gpu_type], end.gpus};
    };
    for (const auto& [ends, curve] : asked.cluster.links)
        cluster.links[{moved(ends.first), moved(ends.second)}] = curve;
    return other;
}

inline std::vector<std::size_t> reversed_order(std::size_t count) {
    std::vector<std::size_t> to(count);
    for (std::size_t i = 0; i < count; ++i) to[i] = count - 1 - i;
    return to;
}

/// Draws a plan that differs a little: a layer or a replica goes elsewhere, a stage or a replica is added
/// or removed, or the micro-batch changes. The plan may have any fault.
template <class Source>
goodput::ParallelPlan random_neighbour(Source& random, const ParallelCase& asked,
                                       const goodput::ParallelPlan& plan) {
    std::vector<ReferenceStage> stages = reference_stages(plan);
    const auto index = [&](std::size_t below) {
        return static_cast<std::size_t>(random.integer(0, static_cast<int>(below) - 1));
    };
    const auto replica = [&] {
        return ReferenceReplica{index(asked.cluster.types.size()),
                                1 << random.integer(0, random.chance(0.3) ? 2 : 1),
                                index(asked.cluster.zones.size())};
    };
    int microbatch = plan.microbatch;
    for (int changes = random.integer(1, 3); changes > 0; --changes) {
        ReferenceStage& stage = stages[index(stages.size())];
        const auto at = static_cast<std::size_t>(&stage - stages.data());
        switch (random.integer(0, 7)) {
            case 0:  // a layer goes to the next stage, or back
                if (at + 1 == stages.size()) break;
                if (random.chance(0.5) && stage.last > stage.first) {
                    --stage.last;
                    --stages[at + 1].first;
                } else if (stages[at + 1].last > stages[at + 1].first) {
                    ++stage.last;
                    ++stages[at + 1].first;
                }
                break;
            case 1:
                stage.replicas[index(stage.replicas.size())] = replica();
                break;
            case 2:
                stage.replicas.assign(stage.replicas.size(), replica());
                break;
            case 3:
                for (ReferenceStage& each : stages)
                    each.replicas.push_back(random.chance(0.5) ? each.replicas.back() : replica());
                break;
            case 4:
                if (stage.replicas.size() == 1) break;
                for (ReferenceStage& each : stages) each.replicas.pop_back();
                break;
            case 5: {  // one stage becomes two
                if (stage.first == stage.last) break;
                ReferenceStage rest = stage;
                stage.last = stage.first + index(stage.last - stage.first);
                rest.first = stage.last + 1;
                if (random.chance(0.5)) rest.replicas.assign(rest.replicas.size(), replica());
                stages.insert(stages.begin() + static_cast<std::ptrdiff_t>(at) + 1, rest);
                break;
            }
            case 6:  // two stages become one
                if (at + 1 == stages.size()) break;
                stage.last = stages[at + 1].last;
                stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(at) + 1);
                break;
            default:
                microbatch = random.chance(0.5) ? 3 - std::min(microbatch, 2) : microbatch;
                if (!stage.replicas.empty())
                    std::swap(stage.replicas.front(), stage.replicas[index(stage.replicas.size())]);
        }
    }
    return plan_of(stages, microbatch, plan.global_batch);
}

}  // namespace support

#endif
