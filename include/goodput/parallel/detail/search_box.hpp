#ifndef GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP
#define GOODPUT_PARALLEL_DETAIL_SEARCH_BOX_HPP

// The objects that the search for a plan divides and cuts. A division of the global batch is a micro-batch
// and a number of replicas. Its plans are divided into boxes, by the number of stages, the seconds of the
// largest stage and of gradient reduction, and the spending. Also bounds what replicas cost in addition to
// their GPUs: the dollars of traffic between zones, and whether more replicas than needed only cost more.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <numbers>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/detail/gpu_needs.hpp"
#include "goodput/parallel/detail/plan_goal.hpp"

namespace goodput::inline v0_1::detail {

/// Plans that are searched together.
struct SearchBox {
    double bound = 0;
    std::size_t division = 0;
    int last_replicas = 0;       // unless 0, the bound also covers all plans with up to this many replicas
    std::vector<double> gpus{};  // GPUs of each type per replica, as far as the spending allows
    std::vector<double> by_stages{};             // bounds by number of stages; larger numbers have no plans
    double low = 0, high = never;                // seconds of the largest stage
    double reduce_low = 0, reduce_high = never;  // seconds of gradient reduction
    double spend_low = 0, spend_high = never;
    std::vector<double> least_spending{};  // by number of stages; empty if only spend_low is known
    std::vector<double> price{};           // per GPU by type, in seconds per replica; then the slope
    bool priced = false;                   // the bound comes from the relaxation
    /// Returns the least spending of plans with that many stages.
    [[nodiscard]] double least_spending_of(std::size_t stages) const {
        return least_spending.empty() ? spend_low : std::max(spend_low, least_spending[stages]);
    }
    friend bool operator<(const SearchBox& a, const SearchBox& b) {  // the queue's top is the box with the
                                                                     // least bound
        if (a.bound != b.bound) return a.bound > b.bound;
        return std::tie(a.division, a.low, a.high) > std::tie(b.division, b.low, b.high);
    }
};

/// Weights of GPU types, to count GPUs while chains grow.
struct GpuTest {
    std::vector<double> weight{};  // by type
    std::vector<double> need{};    // mean need per replica of a stage, by class
    double least = 0;              // least need of any stage
};

/// What all divisions with the same region and micro-batch share.
struct MicrobatchTables {
    MicrobatchTables(const ZoneRegion& zone_region, StageTables stage_tables)
        : region(&zone_region), tables(std::move(stage_tables)), relaxation(tables) {}
    MicrobatchTables(const MicrobatchTables&) = delete;  // the relaxation refers to the tables
    MicrobatchTables& operator=(const MicrobatchTables&) = delete;

    const ZoneRegion* region;
    StageTables tables;
    std::optional<ClassMessages> cut{};  // messages that cross the cut, if the region has one
    ChainRelaxation relaxation;
    GpuNeeds needs{};
    std::vector<double> least_sum{};  // by number of stages: computing and sending
    long long most_replicas = 0;      // replicas that there are GPUs for
    std::vector<int> least_gpus{};    // least GPUs per replica, by type; 0 if no class has that type
    double message_usd = 0;  // least dollars of a micro-batch's messages between two zones, both ways
};

/// How the global batch is divided: a micro-batch, a number of replicas, and where the plans lie.
struct BatchDivision {
    int replicas = 0;
    double repeats = 0;          // micro-batches per replica, minus one
    std::vector<double> gpus{};  // GPUs of each type per replica
    std::size_t most_stages = 0;
    std::size_t most_in_flight = 0;  // micro-batches whose activations a stage keeps
    std::unique_ptr<ReduceTables> reduce{};
    MicrobatchTables* common = nullptr;
    ZoneCrossing crossing = ZoneCrossing::anything;
    double ring_usd = 0;      // least dollars of all gradients, each time they go from zone to zone
    double pipeline_usd = 0;  // least dollars of messages between zones, if all replicas send some
    std::vector<double> zone_spending{};  // most spending on GPUs in at most that many zones
    std::vector<double> least_reduce{};   // by stages left, layer
    double spend_low = 0;                 // least spending of one stage
    double low = 0;                       // least seconds of the largest stage
    std::vector<double> price{};          // the first ones, then the last good ones
    std::vector<GpuTest> tests{};
    std::vector<double> spending{};  // per replica, by class

    [[nodiscard]] const ZoneRegion& region() const { return *common->region; }
    /// Returns the micro-batches whose activations a stage keeps. `stages_left` counts the stages from this
    /// one to the last.
    [[nodiscard]] std::size_t in_flight(std::size_t stages_left) const {
        return std::min(stages_left, most_in_flight);
    }
    /// Every plan contains one of these messages, unless the result is nullptr.
    [[nodiscard]] const ClassMessages* cut() const {
        return crossing == ZoneCrossing::messages ? &*common->cut : nullptr;
    }
    /// Returns the least dollars of traffic of a plan that spends at least `spent` on GPUs. A pipeline that
    /// sends nothing between zones lies in one zone, and the GPUs of these zones limit the number of such
    /// pipelines. If they lie in several zones, the gradients of all stages go round these zones.
    [[nodiscard]] double traffic_usd(double spent) const {
        if (crossing == ZoneCrossing::anything) return 0;
        double least = never;
        for (std::size_t zones = 0; zones < zone_spending.size(); ++zones) {
            const double within = spent > 0 ? std::min(1.0, zone_spending[zones] / spent) : 1;
            const double ring = zones < 2 ? 0 : static_cast<double>(zones) * ring_usd;
            least = std::min(least, ring + (1 - within) * pipeline_usd);
        }
        return std::max(least, crossing == ZoneCrossing::gradients ? 2 * ring_usd : pipeline_usd / replicas);
    }
};

/// Sets lower bounds on the traffic between the zones of a division.
inline void add_traffic(const PlanTask& task, BatchDivision& division) {
    const ParallelCluster& cluster = division.region().cluster;
    std::vector<double>& within = division.zone_spending;
    for (const std::vector<int>& zone : cluster.gpus) {
        double all = 0;
        for (std::size_t t = 0; t < zone.size(); ++t) all += zone[t] * task.goal.weights()[t];
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
    for (const LayerSize& size : task.model.sizes.at(1))
        bytes += size.parameters * task.model.bytes_per_float;
    division.ring_usd = 2.0 * (division.replicas - 1) / division.replicas * bytes / 1e9 * usd;
    division.pipeline_usd = (division.repeats + 1) * division.replicas * division.common->message_usd;
}

/// Returns the least dollars of a micro-batch's messages, both ways, between two stages in two zones.
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

/// Whether more replicas with the same number of micro-batches per replica only cost more.
class ReplicaCosts {
public:
    /// The caller keeps the task alive.
    explicit ReplicaCosts(const PlanTask& task)
        : task_(task), detours_cost_more_(!task.goal.counts_traffic() || detours_cost_more(task.cluster)) {
        for (const LayerSize& size : task.model.sizes.at(1))
            bytes_ += size.parameters * task.model.bytes_per_float;
    }

    /// Whether a plan with more than `replicas` replicas in a region, up to `most`, is no better than one
    /// with a replica less.
    [[nodiscard]] bool grow_from(const ZoneRegion& region, int replicas, long long most) const {
        return detours_cost_more_ && reduces_slower_from(region, replicas, most);
    }

private:
    /// Whether a detour through another zone is never cheaper, so that a plan with a replica less costs no
    /// more.
    [[nodiscard]] static bool detours_cost_more(const ParallelCluster& cluster) {
        const auto& usd = cluster.usd_per_gigabyte;
        for (std::size_t a = 0; a < usd.size(); ++a)
            for (std::size_t b = 0; b < usd.size(); ++b)
                for (std::size_t by = 0; by < usd.size(); ++by)
                    if (usd[a][b] > usd[a][by] + usd[by][b]) return false;
        return true;
    }

    /// Whether a reduction among that many replicas or more takes longer with every further replica. It
    /// does if every link is at least as fast for larger messages, at all sizes that the largest stage may
    /// have. In a mixed stage, a replica less may leave shorter messages, which must not take longer.
    [[nodiscard]] bool reduces_slower_from(const ZoneRegion& region, int replicas, long long most) const {
        if (bytes_ <= 0) return true;
        const auto size_of = [](double message) { return std::log2(message) - std::log2(1e6); };
        const double high = size_of(std::min(bytes_, task_.constants.reduce_bucket_bytes) / replicas);
        const double low = size_of(std::min(bytes_ / static_cast<double>(task_.model.layers) / 8,
                                            task_.constants.reduce_bucket_bytes) /
                                   static_cast<double>(most));
        const auto there = [&](const LinkEnd& end) {
            return end.gpus == 1 && region.cluster.gpus[end.zone][end.gpu_type] > 0;
        };
        for (const auto& [ends, curve] : region.cluster.links) {
            if (!there(ends.first) || !there(ends.second)) continue;
            if (falls(curve, low) || falls(curve, high)) return false;
            if (task_.question.mixed_stages && shortens(curve, low, high)) return false;
        }
        return true;
    }
    /// Whether bandwidth falls with larger messages at that size.
    [[nodiscard]] static bool falls(const BandwidthCurve& curve, double size) {
        return 2 * curve.square * size + curve.linear < 0;
    }
    /// Whether a larger message takes less time at some size between `low` and `high`. It does if the
    /// bandwidth is smaller than its derivative with respect to the natural logarithm of the message. The
    /// difference of the two is a parabola.
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

    const PlanTask& task_;
    double bytes_ = 0;  // bytes of all gradients
    bool detours_cost_more_;
};

}  // namespace goodput::inline v0_1::detail

#endif
