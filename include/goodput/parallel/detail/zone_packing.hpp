#ifndef GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP
#define GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP

// How fast the gradients of a chain's stages can be reduced at most, given that all stages have to lie
// somewhere: neighbours of a stage in different zones reduce over the link between them. If no stage may need
// more than some seconds, each lies within zones joined by links that are fast enough, and all stages
// together must find room in them.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"

namespace goodput::detail {

/// Room for stages of one class each in several zones.
class ZonePacking {
public:
    ZonePacking(const LayeredModel& model, const ParallelCluster& cluster, bool mixed,
                const ParallelConstants& constants)
        : cluster_(cluster), constants_(constants), on_(!mixed && cluster.zones.size() > 1) {
        for (const LayerSize& size : model.sizes.at(1))
            bytes_.push_back(bytes_.back() + size.parameters * model.bytes_per_float);
    }

    /// Seconds of the slowest reduction at least, whatever zones the stages lie in; 0 where nothing is known.
    [[nodiscard]] double least_reduce(const StageTables& tables, const Chain& chain, int replicas) {
        if (!on_ || replicas <= 1) return 0;
        stages_.clear();
        times_.assign(1, 0);
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            const StageClass& its = tables.classes()[chain.classes[s]];
            Stage stage{its.gpu_type, its.tensor_parallel, {}};
            const double bytes = (bytes_[chain.ends[s]] - bytes_[begin]) /
                                 std::min(its.tensor_parallel, constants_.most_shards);
            const std::size_t zones = cluster_.zones.size();
            stage.seconds.assign(zones * zones, never);
            for (std::size_t a = 0; a < zones; ++a)
                for (std::size_t b = 0; b < zones; ++b)
                    if (const BandwidthCurve* link =
                            cluster_.link({a, its.gpu_type, 1}, {b, its.gpu_type, 1});
                        link != nullptr && a != b) {
                        // Neighbours come in one order or the other.
                        const double seconds = goodput::reduce_seconds(bytes, replicas, *link, constants_);
                        for (const std::size_t at : {a * zones + b, b * zones + a})
                            stage.seconds[at] = std::min(stage.seconds[at], seconds);
                        times_.push_back(seconds);
                    }
            stages_.push_back(std::move(stage));
            begin = chain.ends[s];
        }
        std::sort(times_.begin(), times_.end());
        times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
        const auto first = std::partition_point(times_.begin(), times_.end(),
                                                [&](double seconds) { return !fits(replicas, seconds); });
        return first == times_.end() ? never : *first;
    }

private:
    struct Stage {
        std::size_t gpu_type = 0;
        int tensor_parallel = 1;
        std::vector<double> seconds{};  // by zone and zone
    };

    /// Whether all stages find room, each within zones joined by links of at most `seconds`. True also where
    /// it takes too long to tell.
    bool fits(int replicas, double seconds) {
        const std::size_t zones = cluster_.zones.size();
        group_.assign(stages_.size(), {});
        for (std::size_t s = 0; s < stages_.size(); ++s) {
            std::vector<std::size_t>& group = group_[s];
            group.resize(zones);
            std::iota(group.begin(), group.end(), std::size_t{0});
            for (std::size_t a = 0; a < zones; ++a)
                for (std::size_t b = 0; b < zones; ++b)
                    if (stages_[s].seconds[a * zones + b] <= seconds && group[a] != group[b])
                        std::replace(group.begin(), group.end(), std::size_t{group[b]},
                                     std::size_t{group[a]});
        }
        left_ = cluster_.gpus;
        steps_ = 2000;
        return place(0, replicas);
    }
    /// Gives stage s and those behind it room: GPUs of a group of zones as if they were one, in groups of the
    /// size of a replica. Stages whose groups differ share zones, so each takes from its own zones in order.
    bool place(std::size_t s, int replicas) {
        if (s == stages_.size() || --steps_ < 0) return true;
        const Stage& stage = stages_[s];
        const std::size_t zones = cluster_.zones.size();
        for (std::size_t g = 0; g < zones; ++g) {
            int room = 0;
            for (std::size_t z = 0; z < zones; ++z)
                if (group_[s][z] == g) room += left_[z][stage.gpu_type] / stage.tensor_parallel;
            if (room < replicas) continue;
            if (same_groups_from(s)) {
                // All that follow see the same groups: which of their zones is used does not matter to them,
                // as long as replicas are of one size; else a remainder may be lost, and more fits than that.
                std::vector<int> taken(zones, 0);
                int wanted = replicas;
                for (std::size_t z = 0; z < zones && wanted > 0; ++z) {
                    if (group_[s][z] != g) continue;
                    const int here = std::min(wanted, left_[z][stage.gpu_type] / stage.tensor_parallel);
                    taken[z] = here * stage.tensor_parallel;
                    left_[z][stage.gpu_type] -= taken[z];
                    wanted -= here;
                }
                const bool found = place(s + 1, replicas);
                for (std::size_t z = 0; z < zones; ++z) left_[z][stage.gpu_type] += taken[z];
                if (found) return true;
                continue;
            }
            return true;  // groups differ: not worth telling
        }
        return false;
    }
    /// Whether stages from s on have the same groups and, on its type, replicas of the same size.
    [[nodiscard]] bool same_groups_from(std::size_t s) const {
        for (std::size_t t = s + 1; t < stages_.size(); ++t)
            if (group_[t] != group_[s] || (stages_[t].gpu_type == stages_[s].gpu_type &&
                                           stages_[t].tensor_parallel != stages_[s].tensor_parallel))
                return false;
        return true;
    }

    const ParallelCluster& cluster_;
    const ParallelConstants& constants_;
    bool on_;
    std::vector<double> bytes_{0};
    std::vector<Stage> stages_{};
    std::vector<double> times_{};
    std::vector<std::vector<std::size_t>> group_{};
    std::vector<std::vector<int>> left_{};
    int steps_ = 0;
};

}  // namespace goodput::detail

#endif
