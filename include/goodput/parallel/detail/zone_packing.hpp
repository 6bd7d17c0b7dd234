#ifndef GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP
#define GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP

// How fast a chain can be at most, given that all its stages have to lie somewhere: a search over the zones
// that each stage touches. A stage that touches several zones reduces over links between them, every zone
// that it touches exchanges messages with some zone of the next stage, and stages that touch no other zones
// than a few must find room in these.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"

namespace goodput::detail {

/// Bounds on chains whose stages are of one class each, in few zones.
class ZonePacking {
public:
    ZonePacking(const LayeredModel& model, const ParallelCluster& cluster, bool mixed,
                const ParallelConstants& constants)
        : model_(model),
          cluster_(cluster),
          constants_(constants),
          on_(!mixed && cluster.zones.size() > 1 && cluster.zones.size() <= most_zones) {
        for (const LayerSize& size : model.sizes.at(1))
            bytes_.push_back(bytes_.back() + size.parameters * model.bytes_per_float);
    }

    /// Seconds of an iteration of the chain at least, without updates; `repeats` micro-batches follow the
    /// first. 0 where nothing is known; anything from `enough` on may be returned as never.
    [[nodiscard]] double least_seconds(const StageTables& tables, const Chain& chain, int replicas,
                                       double repeats, double enough) {
        if (!on_) return 0;
        prepare(tables, chain, replicas);
        repeats_ = repeats;
        replicas_ = replicas;
        const double least = with_needed_zones();
        if (least >= enough) return never;
        best_ = enough;
        steps_ = 2000;
        sets_.assign(stages_.size(), 0);
        place(0, 0, 0, 0, 0);
        if (steps_ < 0) return least;
        return best_ < enough ? std::max(best_, least) : never;
    }

private:
    static constexpr std::size_t most_zones = 6;

    struct Stage {
        std::size_t gpu_type = 0;
        int tensor_parallel = 1;
        double compute = 0;
        std::vector<double> reduce{};               // by set of zones; never where it has no room
        std::vector<std::size_t> sets{};            // those with room, few zones first
        std::vector<double> forward{}, backward{};  // to the next stage and back, by zone and its zone
        double least_forward = 0, least_backward = 0;
        double least_behind = 0;  // computing and sending of all stages behind this one
    };

    [[nodiscard]] std::size_t zones() const { return cluster_.zones.size(); }

    void prepare(const StageTables& tables, const Chain& chain, int replicas) {
        stages_.clear();
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            const StageClass& its = tables.classes()[chain.classes[s]];
            Stage stage;
            stage.gpu_type = its.gpu_type;
            stage.tensor_parallel = its.tensor_parallel;
            stage.compute = tables.compute(chain.classes[s], begin, chain.ends[s]);
            const double bytes = (bytes_[chain.ends[s]] - bytes_[begin]) /
                                 std::min(its.tensor_parallel, constants_.most_shards);
            add_sets(stage, bytes, replicas);
            if (s + 1 < chain.ends.size())
                add_messages(stage, its, tables.classes()[chain.classes[s + 1]], chain.ends[s],
                             tables.microbatch());
            stages_.push_back(std::move(stage));
            begin = chain.ends[s];
        }
        for (std::size_t s = stages_.size() - 1; s-- > 0;) {
            const Stage& next = stages_[s + 1];
            // What is sent over the boundary in front of `next` counts with this stage's.
            stages_[s].least_behind =
                next.least_behind + next.compute + next.least_forward + next.least_backward;
        }
    }

    void add_sets(Stage& stage, double bytes, int replicas) const {
        const auto link_seconds = [&](std::size_t a, std::size_t b) {
            const BandwidthCurve* link = cluster_.link({a, stage.gpu_type, 1}, {b, stage.gpu_type, 1});
            return link == nullptr ? never : reduce_seconds(bytes, replicas, *link, constants_);
        };
        std::vector<double> between(zones() * zones(), never);
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b)
                // Neighbours come in one order or the other.
                between[a * zones() + b] = std::min(link_seconds(a, b), link_seconds(b, a));
        stage.reduce.assign(std::size_t{1} << zones(), never);
        for (std::size_t set = 1; set < stage.reduce.size(); ++set) {
            int room = 0, touched = 0;
            for (std::size_t z = 0; z < zones(); ++z)
                if ((set >> z) & 1) {
                    const int here = cluster_.gpus[z][stage.gpu_type] / stage.tensor_parallel;
                    if (here == 0) touched += replicas;  // it cannot be touched
                    room += here;
                    ++touched;
                }
            if (room < replicas || touched > replicas) continue;
            stage.reduce[set] = replicas > 1 ? bottleneck(set, between) : 0;
            if (stage.reduce[set] < never) stage.sets.push_back(set);
        }
        std::stable_sort(stage.sets.begin(), stage.sets.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(std::popcount(a), stage.reduce[a]) <
                   std::pair(std::popcount(b), stage.reduce[b]);
        });
    }
    /// The slowest of the links that join a set of zones at best (a tree from its first zone); within a zone
    /// where it is only one.
    [[nodiscard]] double bottleneck(std::size_t set, const std::vector<double>& between) const {
        const auto first = static_cast<std::size_t>(std::countr_zero(set));
        std::size_t joined = std::size_t{1} << first;
        if (joined == set) return between[first * zones() + first];
        double slowest = 0;
        while (joined != set) {
            double least = never;
            std::size_t nearest = zones();
            for (std::size_t a = 0; a < zones(); ++a)
                for (std::size_t b = 0; b < zones(); ++b)
                    if (((joined >> a) & 1) && ((set & ~joined) >> b & 1) &&
                        between[a * zones() + b] < least) {
                        least = between[a * zones() + b];
                        nearest = b;
                    }
            if (nearest == zones()) return never;
            slowest = std::max(slowest, least);
            joined |= std::size_t{1} << nearest;
        }
        return slowest;
    }

    void add_messages(Stage& stage, const StageClass& from, const StageClass& to, std::size_t layer,
                      int microbatch) const {
        const double per_float = model_.bytes_per_float * microbatch;
        const double there = (*model_.sizes_of(from.tensor_parallel))[layer - 1].output_floats * per_float;
        const double back = (*model_.sizes_of(to.tensor_parallel))[layer].output_floats * per_float;
        stage.forward.assign(zones() * zones(), never);
        stage.backward = stage.forward;
        stage.least_forward = stage.least_backward = never;
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b) {
                const LinkEnd sender{a, from.gpu_type, from.tensor_parallel};
                const LinkEnd receiver{b, to.gpu_type, to.tensor_parallel};
                double& forward = stage.forward[a * zones() + b];
                double& backward = stage.backward[a * zones() + b];
                forward = message_seconds(there, cluster_.link(sender, receiver), constants_);
                backward = message_seconds(back, cluster_.link(receiver, sender), constants_);
                if (cluster_.gpus[a][from.gpu_type] < from.tensor_parallel ||
                    cluster_.gpus[b][to.gpu_type] < to.tensor_parallel)
                    continue;
                stage.least_forward = std::min(stage.least_forward, forward);
                stage.least_backward = std::min(stage.least_backward, backward);
            }
    }
    /// Every zone of either set exchanges messages with some zone of the other.
    [[nodiscard]] double exchange(const std::vector<double>& seconds, std::size_t from,
                                  std::size_t to) const {
        double slowest = 0;
        for (const bool back : {false, true})
            for (std::size_t a = 0; a < zones(); ++a) {
                if (!(((back ? to : from) >> a) & 1)) continue;
                double least = never;
                for (std::size_t b = 0; b < zones(); ++b)
                    if (((back ? from : to) >> b) & 1)
                        least = std::min(least, seconds[back ? b * zones() + a : a * zones() + b]);
                slowest = std::max(slowest, least);
            }
        return slowest;
    }

    /// Where the other zones have no room for all stages, a zone is touched. Then a stage lies in it and in
    /// others, and its reduction crosses its border; or a stage lies in it alone, and messages to or from a
    /// neighbour do.
    [[nodiscard]] double with_needed_zones() const {
        const std::size_t count = stages_.size();
        double sum = 0, reduce = 0, largest = 0;
        std::vector<double> alone(count);  // seconds of each stage, with the fastest links
        for (std::size_t s = 0; s < count; ++s) {
            alone[s] = stages_[s].compute + sent(s, stages_[s].least_forward) +
                       (s > 0 ? received(s, stages_[s - 1].least_backward) : 0);
            sum += alone[s];
            largest = std::max(largest, alone[s]);
            double least = never;
            for (const std::size_t set : stages_[s].sets) least = std::min(least, stages_[s].reduce[set]);
            reduce = std::max(reduce, least);
        }
        double bound = repeats_ * largest + sum + reduce;
        for (std::size_t z = 0; z < zones(); ++z) {
            if (!is_needed(z)) continue;
            double crossing = never;  // the least of any way
            for (std::size_t s = 0; s < count; ++s) {
                for (const std::size_t set : stages_[s].sets)
                    if (((set >> z) & 1) && std::popcount(set) > 1)
                        crossing = std::min(
                            crossing, repeats_ * largest + sum + std::max(reduce, stages_[s].reduce[set]));
                if (s + 1 == count) continue;
                for (const bool into : {false, true}) {
                    double forward = never, backward = never;
                    for (std::size_t other = 0; other < zones(); ++other) {
                        if (other == z) continue;
                        const std::size_t at = into ? other * zones() + z : z * zones() + other;
                        forward = std::min(forward, stages_[s].forward[at]);
                        backward = std::min(backward, stages_[s].backward[at]);
                    }
                    const double more = sent(s, forward) - sent(s, stages_[s].least_forward);
                    const double more_back =
                        received(s + 1, backward) - received(s + 1, stages_[s].least_backward);
                    const double slowest = std::max({largest, alone[s] + more, alone[s + 1] + more_back});
                    crossing = std::min(crossing, repeats_ * slowest + sum + more + more_back + reduce);
                }
            }
            // A plan of one stage in one zone crosses nothing; nor do stages that all lie in this one.
            bound = std::max(bound, crossing);
        }
        return bound;
    }
    [[nodiscard]] double sent(std::size_t s, double seconds) const {
        return s + 1 == stages_.size() ? 0 : s == 0 && stages_.size() > 3 ? 2 * seconds : seconds;
    }
    [[nodiscard]] double received(std::size_t s, double seconds) const {
        return s + 1 == stages_.size() ? 2 * seconds : seconds;
    }
    /// Whether neither the other zones alone nor this one alone have room for all stages.
    [[nodiscard]] bool is_needed(std::size_t zone) const {
        bool needed = false, alone = true;
        for (std::size_t type = 0; type < cluster_.types.size(); ++type) {
            long long need = 0, others = 0;
            for (const Stage& stage : stages_)
                if (stage.gpu_type == type) need += static_cast<long long>(stage.tensor_parallel) * replicas_;
            for (std::size_t z = 0; z < zones(); ++z)
                if (z != zone) others += cluster_.gpus[z][type];
            needed |= need > others;
            alone = alone && need <= cluster_.gpus[zone][type];
        }
        return needed && !alone;
    }

    /// Chooses zones for stage s and those behind it. `received`: what stage s - 1 is known to take before
    /// its own sending.
    void place(std::size_t s, double largest, double open, double sum, double reduce) {
        const std::size_t count = stages_.size();
        if (s == count) {
            const double seconds = repeats_ * std::max(largest, open) + sum + reduce;
            best_ = std::min(best_, seconds);
            return;
        }
        const Stage& stage = stages_[s];
        for (const std::size_t set : stage.sets) {
            if (--steps_ < 0) return;
            double here = stage.compute, its_sum = sum + stage.compute, its_largest = largest;
            if (s > 0) {
                const double forward =
                    exchange(stages_[s - 1].forward, sets_[s - 1], set) * (s == 1 && count > 3 ? 2 : 1);
                const double backward =
                    exchange(stages_[s - 1].backward, sets_[s - 1], set) * (s + 1 == count ? 2 : 1);
                its_largest = std::max(largest, open + forward);
                here += backward;
                its_sum += forward + backward;
            }
            const double its_reduce = std::max(reduce, stage.reduce[set]);
            const double behind =
                s + 1 < count ? stage.least_behind + stage.least_forward + stage.least_backward : 0;
            if (repeats_ * std::max(its_largest, here) + its_sum + behind + its_reduce >= best_) continue;
            sets_[s] = set;
            if (has_room(s)) place(s + 1, its_largest, here, its_sum, its_reduce);
        }
        sets_[s] = 0;
    }
    /// Whether stages up to s find room: those within some zones need no more than these have.
    [[nodiscard]] bool has_room(std::size_t s) const {
        const std::size_t type = stages_[s].gpu_type;
        for (std::size_t within = 1; within < (std::size_t{1} << zones()); ++within) {
            if ((sets_[s] & ~within) != 0) continue;
            long long need = 0, there = 0;
            for (std::size_t t = 0; t <= s; ++t)
                if (stages_[t].gpu_type == type && (sets_[t] & ~within) == 0)
                    need += static_cast<long long>(stages_[t].tensor_parallel) * replicas_;
            for (std::size_t z = 0; z < zones(); ++z)
                if ((within >> z) & 1) there += cluster_.gpus[z][type];
            if (need > there) return false;
        }
        return true;
    }

    const LayeredModel& model_;
    const ParallelCluster& cluster_;
    const ParallelConstants& constants_;
    bool on_;
    std::vector<double> bytes_{0};
    std::vector<Stage> stages_{};
    std::vector<std::size_t> sets_{};
    double repeats_ = 0, best_ = 0;
    int replicas_ = 0;
    int steps_ = 0;
};

}  // namespace goodput::detail

#endif
