#ifndef GOODPUT_PARALLEL_DETAIL_REPLICA_COSTS_HPP
#define GOODPUT_PARALLEL_DETAIL_REPLICA_COSTS_HPP

// What replicas cost beside their GPUs: dollars of traffic between zones at least, and whether more replicas
// than are needed only cost more.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/plan_goal.hpp"
#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Sets what traffic between the zones of a division comes to at least.
inline void add_traffic(const LayeredModel& model, const PlanGoal& goal, BatchDivision& division) {
    const ParallelCluster& cluster = division.region().cluster;
    std::vector<double>& within = division.zone_spending;
    for (const std::vector<int>& zone : cluster.gpus) {
        double all = 0;
        for (std::size_t t = 0; t < zone.size(); ++t) all += zone[t] * goal.weights()[t];
        within.push_back(all);
    }
    std::sort(within.begin(), within.end(), std::greater<>());
    within.insert(within.begin(), 0);
    std::partial_sum(within.begin(), within.end(), within.begin());
    double usd = never, bytes = 0;
    const std::vector<std::size_t> zones = cluster.zones_with_gpus();
    for (const std::size_t a : zones)
        for (const std::size_t b : zones)
            if (a != b) usd = std::min(usd, cluster.usd_per_gigabyte[a][b]);
    for (const LayerSize& size : model.sizes.at(1)) bytes += size.parameters * model.bytes_per_float;
    division.ring_usd = 2.0 * (division.replicas - 1) / division.replicas * bytes / 1e9 * usd;
    division.pipeline_usd = (division.repeats + 1) * division.replicas * division.common->message_usd;
}

/// Dollars of a micro-batch's messages there and back between two stages in two zones, at least.
[[nodiscard]] inline double least_message_usd(const LayeredModel& model, const ZoneRegion& region,
                                              const StageTables& tables) {
    double bytes = never, usd = never;
    for (std::size_t l = 0; l + 1 < tables.layers(); ++l)
        bytes = std::min(bytes, message_bytes(model, l, tables.microbatch()));
    const auto& prices = region.cluster.usd_per_gigabyte;
    const std::vector<std::size_t> zones = region.cluster.zones_with_gpus();
    for (const std::size_t a : zones)
        for (const std::size_t b : zones)
            if (a != b) usd = std::min(usd, prices[a][b] + prices[b][a]);
    return bytes < never && usd < never ? bytes / 1e9 * usd : 0;
}

/// Whether more replicas only cost more, where they compute as many micro-batches each.
class ReplicaCosts {
public:
    /// `mixed`: replicas of other classes may help in a stage. Model and constants have to outlive it.
    ReplicaCosts(const LayeredModel& model, const ParallelCluster& cluster, const PlanGoal& goal, bool mixed,
                 const ParallelConstants& constants)
        : model_(model),
          constants_(constants),
          mixed_(mixed),
          detours_cost_more_(!goal.counts_traffic() || detours_cost_more(cluster)) {
        for (const LayerSize& size : model.sizes.at(1)) bytes_ += size.parameters * model.bytes_per_float;
    }

    /// Whether a plan with more than so many replicas in a region, up to `most`, is no better than one with a
    /// replica less.
    [[nodiscard]] bool grow_from(const ZoneRegion& region, int replicas, long long most) const {
        return detours_cost_more_ && reduces_slower_from(region, replicas, most);
    }

private:
    /// Whether traffic by way of another zone is nowhere cheaper, so that a plan with a replica less costs no
    /// more.
    [[nodiscard]] static bool detours_cost_more(const ParallelCluster& cluster) {
        const auto& usd = cluster.usd_per_gigabyte;
        for (std::size_t a = 0; a < usd.size(); ++a)
            for (std::size_t b = 0; b < usd.size(); ++b)
                for (std::size_t by = 0; by < usd.size(); ++by)
                    if (usd[a][b] > usd[a][by] + usd[by][b]) return false;
        return true;
    }

    /// Whether a reduction among that many replicas or more takes longer, the more there are: where every
    /// link is at least as fast for larger messages, at all sizes that the largest stage may have. In a mixed
    /// stage a replica less may leave shorter messages: these take no longer.
    [[nodiscard]] bool reduces_slower_from(const ZoneRegion& region, int replicas, long long most) const {
        if (bytes_ <= 0) return true;
        const auto size_of = [](double message) { return std::log2(message) - std::log2(1e6); };
        const double high = size_of(std::min(bytes_, constants_.reduce_bucket_bytes) / replicas);
        const double low = size_of(
            std::min(bytes_ / static_cast<double>(model_.layers) / 8, constants_.reduce_bucket_bytes) /
            static_cast<double>(most));
        const auto there = [&](const LinkEnd& end) {
            return end.gpus == 1 && region.cluster.gpus[end.zone][end.gpu_type] > 0;
        };
        for (const auto& [ends, curve] : region.cluster.links) {
            if (!there(ends.first) || !there(ends.second)) continue;
            if (falls(curve, low) || falls(curve, high)) return false;
            if (mixed_ && shortens(curve, low, high)) return false;
        }
        return true;
    }
    /// Whether bandwidth falls with messages of that size.
    [[nodiscard]] static bool falls(const BandwidthCurve& curve, double size) {
        return 2 * curve.square * size + curve.linear < 0;
    }
    /// Whether larger messages take less time at some size between both: where the bandwidth is less than its
    /// slope by the natural logarithm of the message. The difference of both is a parabola.
    [[nodiscard]] static bool shortens(const BandwidthCurve& curve, double low, double high) {
        const auto at = [&](double size) {
            return (curve.square * size + curve.linear) * size + curve.constant <
                   (2 * curve.square * size + curve.linear) / std::numbers::ln2;
        };
        if (at(low) || at(high)) return true;
        const double lowest =
            curve.square > 0 ? 1 / std::numbers::ln2 - curve.linear / (2 * curve.square) : low;
        return lowest > low && lowest < high && at(lowest);
    }

    const LayeredModel& model_;
    const ParallelConstants& constants_;
    double bytes_ = 0;  // of all gradients
    bool mixed_, detours_cost_more_;
};

}  // namespace goodput::detail

#endif
