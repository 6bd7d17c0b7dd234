#ifndef GOODPUT_PARALLEL_DETAIL_ZONED_CHAIN_HPP
#define GOODPUT_PARALLEL_DETAIL_ZONED_CHAIN_HPP

// A chain in the zones of a region: how long the messages between its stages and the reduction of their
// gradients take from zone to zone. A chain is a class of replicas (GPU type and tensor-parallel degree) for
// each stage.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::inline v0_1::detail {

/// A stage whose replicas are all of one class. Zones are indices into ZonedChain::zones.
struct ZonedStage {
    std::size_t begin = 0, end = 0, gpu_type = 0;
    int tensor_parallel = 1;
    double compute = 0;
    double bytes = 0;              // gradients of a shard
    std::vector<double> reduce{};  // seconds of that shard's reduction, by zone and zone of the next replica
    std::vector<double> forward{}, backward{};  // seconds of a micro-batch's messages to the next stage and
                                                // back, by zone and zone of that stage
};

/// The stages of a chain, and the zones that have GPUs.
struct ZonedChain {
    std::vector<std::size_t> zones{};
    std::vector<ZonedStage> stages{};

    /// `chain` lies in the division's region.
    ZonedChain(const PlanTask& task, const BatchDivision& division, const Chain& chain)
        : zones(division.region().cluster.zones_with_gpus()) {
        const StageTables& tables = division.common->tables;
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            const StageClass& own = tables.classes()[chain.classes[s]];
            ZonedStage& stage = stages.emplace_back();
            stage.begin = begin;
            stage.end = begin = chain.ends[s];
            stage.gpu_type = own.gpu_type;
            stage.tensor_parallel = own.tensor_parallel;
            stage.compute = tables.compute(chain.classes[s], stage.begin, stage.end);
            stage.bytes = tables.distinct_bytes()[tables.bytes_number(stage.begin, stage.end)] /
                          std::min(own.tensor_parallel, task.constants.most_shards);
            add_reduction(task, division, stage);
            if (s + 1 < chain.ends.size())
                add_messages(task, division, tables.classes()[chain.classes[s + 1]], stage);
        }
    }

private:
    void add_reduction(const PlanTask& task, const BatchDivision& division, ZonedStage& stage) const {
        for (const std::size_t a : zones)
            for (const std::size_t b : zones) {
                const BandwidthCurve* const link =
                    division.region().cluster.link({a, stage.gpu_type, 1}, {b, stage.gpu_type, 1});
                stage.reduce.push_back(division.replicas == 1 ? 0
                                       : link == nullptr      ? never
                                                              : reduce_seconds(stage.bytes, division.replicas,
                                                                               *link, task.constants));
            }
    }
    void add_messages(const PlanTask& task, const BatchDivision& division, const StageClass& next,
                      ZonedStage& stage) const {
        const ParallelCluster& cluster = division.region().cluster;
        const int microbatch = division.common->tables.microbatch();
        const double there = message_bytes(task.model, stage.end - 1, microbatch),
                     back = message_bytes(task.model, stage.end, microbatch);
        for (const std::size_t a : zones)
            for (const std::size_t b : zones) {
                const bool has_room = cluster.gpus[a][stage.gpu_type] >= stage.tensor_parallel &&
                                      cluster.gpus[b][next.gpu_type] >= next.tensor_parallel;
                const LinkEnd sender{a, stage.gpu_type, stage.tensor_parallel};
                const LinkEnd receiver{b, next.gpu_type, next.tensor_parallel};
                const auto seconds = [&](double bytes, const LinkEnd& from, const LinkEnd& to) {
                    return has_room ? message_seconds(bytes, cluster.link(from, to), task.constants) : never;
                };
                stage.forward.push_back(seconds(there, sender, receiver));
                stage.backward.push_back(seconds(back, receiver, sender));
            }
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
