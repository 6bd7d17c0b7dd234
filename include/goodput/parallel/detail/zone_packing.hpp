#ifndef GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP
#define GOODPUT_PARALLEL_DETAIL_ZONE_PACKING_HPP

// Bounds how fast a chain can be, given that all its stages must find room, with a search over the zones
// that each stage touches. A chain is a class of replicas (GPU type and tensor-parallel degree) for each
// stage. The replicas of a stage that touches several zones go from zone to zone over the links between
// them. Every zone that a stage touches exchanges messages with some zone of the next stage. Stages that
// touch only some zones must find room in these.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::inline v0_1::detail {

/// Bounds chains whose stages are of one class each, in a few zones.
class ZonePacking {
public:
    /// The caller keeps the task alive.
    explicit ZonePacking(const PlanTask& task) : task_(task) {}

    /// Returns a lower bound on the seconds per iteration, without updates, of a chain that lies in the
    /// division's region. Returns 0 if `steps` steps do not suffice to know one. May return `never` for any
    /// bound from `enough` on.
    [[nodiscard]] double least_seconds(const BatchDivision& division, const Chain& chain, double enough,
                                       int steps) {
        region_ = &division.region();
        repeats_ = division.repeats;
        replicas_ = division.replicas;
        const std::vector<std::size_t> all = cluster().zones_with_gpus();
        parts_.clear();
        for (const std::size_t zone : all) parts_.push_back({zone});
        if (parts_.size() <= most_zones && search(division, chain, enough, steps))
            return known_seconds(enough);
        // Treat each side of the cut as one zone. That tells less, but leaves few ways.
        parts_.assign(2, {});
        for (const std::size_t zone : all) parts_[region_->side[zone] ? 1 : 0].push_back(zone);
        return search(division, chain, enough, steps) ? known_seconds(enough) : 0;
    }

private:
    static constexpr std::size_t most_zones = 6;

    struct Stage {
        std::size_t gpu_type = 0;
        int tensor_parallel = 1;
        double compute = 0;
        const std::vector<double>* reduce = nullptr;  // by set of zones; never if the set has no room
        std::vector<std::size_t> sets{};              // sets with room, those of few zones first
        std::vector<double> forward{}, backward{};    // to the next stage and back, by zone and zone of that
                                                      // stage
        double least_forward = 0, least_backward = 0;
        double least_behind = 0;                       // computing and sending of all later stages
        double largest_behind = 0, reduce_behind = 0;  // lower bounds on the largest of any later stage
    };

    [[nodiscard]] const ParallelCluster& cluster() const { return region_->cluster; }
    [[nodiscard]] std::size_t zones() const { return parts_.size(); }
    [[nodiscard]] double known_seconds(double enough) const { return best_ < enough ? best_ : never; }

    /// Searches all ways through the parts. Returns false if there are too many.
    [[nodiscard]] bool search(const BatchDivision& division, const Chain& chain, double enough, int steps) {
        prepare(division, chain);
        best_ = enough;
        steps_ = steps;
        sets_.assign(stages_.size(), 0);
        place(0, 0, 0, 0, 0);
        return steps_ >= 0;
    }
    /// Calls visit(a, b, zone, zone) for all zones of all pairs of parts.
    template <class Visit>
    void for_each_pair(Visit visit) const {
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b)
                for (const std::size_t x : parts_[a])
                    for (const std::size_t y : parts_[b]) visit(a, b, x, y);
    }

    void prepare(const BatchDivision& division, const Chain& chain) {
        const StageTables& tables = division.common->tables;
        stages_.clear();
        std::size_t begin = 0;
        for (std::size_t s = 0; s < chain.ends.size(); ++s) {
            const StageClass& stage_class = tables.classes()[chain.classes[s]];
            Stage stage;
            stage.gpu_type = stage_class.gpu_type;
            stage.tensor_parallel = stage_class.tensor_parallel;
            stage.compute = tables.compute(chain.classes[s], begin, chain.ends[s]);
            const double bytes = tables.distinct_bytes()[tables.bytes_number(begin, chain.ends[s])] /
                                 std::min(stage_class.tensor_parallel, task_.constants.most_shards);
            stage.reduce = &reduce_by_set(stage_class, bytes);
            add_sets(stage, division.crossing);
            if (s + 1 < chain.ends.size())
                add_messages(stage, stage_class, tables.classes()[chain.classes[s + 1]], chain.ends[s],
                             tables.microbatch());
            stages_.push_back(std::move(stage));
            begin = chain.ends[s];
        }
        for (std::size_t s = stages_.size() - 1; s-- > 0;) {
            const Stage& next = stages_[s + 1];
            // The messages over the boundary in front of `next` count with this stage.
            stages_[s].least_behind =
                next.least_behind + next.compute + next.least_forward + next.least_backward;
            stages_[s].largest_behind =
                std::max(next.largest_behind, next.compute + next.least_forward + stages_[s].least_backward);
            double least = never;
            for (const std::size_t set : next.sets) least = std::min(least, (*next.reduce)[set]);
            stages_[s].reduce_behind = std::max(next.reduce_behind, least);
        }
    }

    void add_sets(Stage& stage, ZoneCrossing crossing) const {
        std::size_t first = 0;  // zones on the first side of the cut
        for (std::size_t z = 0; z < zones(); ++z)
            if (crossing == ZoneCrossing::gradients && !region_->side[parts_[z].front()])
                first |= std::size_t{1} << z;
        const std::vector<double>& reduce = *stage.reduce;
        for (std::size_t set = 1; set < reduce.size(); ++set)
            if (reduce[set] < never &&
                (crossing != ZoneCrossing::gradients || ((set & first) != 0 && (set & ~first) != 0)))
                stage.sets.push_back(set);
        std::stable_sort(stage.sets.begin(), stage.sets.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(std::popcount(a), reduce[a]) < std::pair(std::popcount(b), reduce[b]);
        });
    }

    /// Returns lower bounds on the seconds of a stage's gradient reduction, by the set of zones that it
    /// touches.
    const std::vector<double>& reduce_by_set(const StageClass& stage_class, double bytes) {
        std::vector<double>& reduce = known_[std::tuple(region_, zones(), stage_class.gpu_type,
                                                        stage_class.tensor_parallel, replicas_, bytes)];
        if (!reduce.empty()) return reduce;
        std::vector<double> link(zones() * zones(), never);
        std::vector<int> room(zones());
        for (std::size_t a = 0; a < zones(); ++a)
            for (const std::size_t zone : parts_[a])
                room[a] += cluster().gpus[zone][stage_class.gpu_type] / stage_class.tensor_parallel;
        for_each_pair([&](std::size_t a, std::size_t b, std::size_t x, std::size_t y) {
            const BandwidthCurve* const curve =
                cluster().link({x, stage_class.gpu_type, 1}, {y, stage_class.gpu_type, 1});
            double& least = link[a * zones() + b];
            if (curve != nullptr)
                least = std::min(least, reduce_seconds(bytes, replicas_, *curve, task_.constants));
        });
        reduce.assign(std::size_t{1} << zones(), never);
        for (std::size_t set = 1; set < reduce.size(); ++set) reduce[set] = least_walk(set, link, room);
        return reduce;
    }
    /// Returns the least limit on the seconds of links within which a walk visits all zones of a set with
    /// all replicas. The replicas of a stage follow each other from zone to zone.
    [[nodiscard]] double least_walk(std::size_t set, const std::vector<double>& link,
                                    const std::vector<int>& room) const {
        if (std::popcount(set) > replicas_) return never;
        long long all = 0;
        for (std::size_t z = 0; z < zones(); ++z)
            if ((set >> z) & 1) {
                if (room[z] == 0) return never;
                all += room[z];
            }
        if (all < replicas_) return never;
        if (replicas_ == 1) return 0;
        std::vector<double> seconds;
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b)
                if (((set >> a) & 1) && ((set >> b) & 1) && link[a * zones() + b] < never)
                    seconds.push_back(link[a * zones() + b]);
        std::sort(seconds.begin(), seconds.end());
        const auto suffices = [&](double most) { return walk_exists(set, link, room, most); };
        const auto found = std::partition_point(seconds.begin(), seconds.end(),
                                                [&](double most) { return !suffices(most); });
        return found == seconds.end() ? never : *found;
    }
    /// Whether links of at most `most` seconds may allow a walk through exactly the zones of a set, with
    /// one step per replica. A zone without a link within itself is left at once, so it holds at most every
    /// other replica. A zone that the walk cannot return to holds one.
    [[nodiscard]] bool walk_exists(std::size_t set, const std::vector<double>& link,
                                   const std::vector<int>& room, double most) const {
        std::vector<std::size_t> reached(zones(), 0);  // by zone, a bit for each zone reached
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b)
                if (a != b && ((set >> a) & 1) && ((set >> b) & 1) && link[a * zones() + b] <= most)
                    reached[a] |= std::size_t{1} << b;
        for (std::size_t by = 0; by < zones(); ++by)
            for (std::size_t a = 0; a < zones(); ++a)
                if ((reached[a] >> by) & 1) reached[a] |= reached[by];
        long long replicas = 0;
        for (std::size_t z = 0; z < zones(); ++z)
            if ((set >> z) & 1) {
                const bool stays = link[z * zones() + z] <= most, returns = (reached[z] >> z) & 1;
                replicas += std::min(room[z], stays ? replicas_ : returns ? (replicas_ + 1) / 2 : 1);
            }
        if (replicas < replicas_) return false;
        // Try to order all zones so that each is reached from the one before.
        std::size_t left = set;
        while (left != 0) {
            // Take a zone that reaches all remaining zones. If there are several, they reach each other, so
            // any of them will do.
            bool found = false;
            for (std::size_t z = 0; z < zones() && !found; ++z)
                if (((left >> z) & 1) && (left & ~(reached[z] | (std::size_t{1} << z))) == 0) {
                    left &= ~(std::size_t{1} << z);
                    found = true;
                }
            if (!found) return false;
        }
        return true;
    }

    void add_messages(Stage& stage, const StageClass& from, const StageClass& to, std::size_t layer,
                      int microbatch) const {
        stage.forward.assign(zones() * zones(), never);
        stage.backward = stage.forward;
        const double there = message_bytes(task_.model, layer - 1, microbatch),
                     back = message_bytes(task_.model, layer, microbatch);
        for_each_pair([&](std::size_t a, std::size_t b, std::size_t x, std::size_t y) {
            if (cluster().gpus[x][from.gpu_type] < from.tensor_parallel ||
                cluster().gpus[y][to.gpu_type] < to.tensor_parallel)
                return;
            const LinkEnd sender{x, from.gpu_type, from.tensor_parallel},
                receiver{y, to.gpu_type, to.tensor_parallel};
            double &forward = stage.forward[a * zones() + b], &backward = stage.backward[a * zones() + b];
            forward =
                std::min(forward, message_seconds(there, cluster().link(sender, receiver), task_.constants));
            backward =
                std::min(backward, message_seconds(back, cluster().link(receiver, sender), task_.constants));
        });
        stage.least_forward = *std::min_element(stage.forward.begin(), stage.forward.end());
        stage.least_backward = *std::min_element(stage.backward.begin(), stage.backward.end());
    }
    /// Returns the seconds of messages if every zone of either set exchanges messages with some zone of the
    /// other.
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

    /// Chooses zones for stage s and all later ones. `open` is what stage s - 1 is known to take before its
    /// own sending.
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
            if ((steps_ & 4095) == 4095 && task_.stop()) steps_ = 0;
            double here = stage.compute, next_sum = sum + stage.compute, next_largest = largest;
            if (s > 0) {
                const double forward =
                    exchange(stages_[s - 1].forward, sets_[s - 1], set) * forward_weight(s - 1, count);
                const double backward =
                    exchange(stages_[s - 1].backward, sets_[s - 1], set) * backward_weight(s, count);
                next_largest = std::max(largest, open + forward);
                here += backward;
                next_sum += forward + backward;
            }
            const double next_reduce = std::max(reduce, (*stage.reduce)[set]);
            const double behind =
                s + 1 < count ? stage.least_behind + stage.least_forward + stage.least_backward : 0;
            if (repeats_ * std::max({next_largest, here, stage.largest_behind}) + next_sum + behind +
                    std::max(next_reduce, stage.reduce_behind) >=
                best_)
                continue;
            sets_[s] = set;
            if (has_room(s)) place(s + 1, next_largest, here, next_sum, next_reduce);
        }
        sets_[s] = 0;
    }
    /// Whether the stages up to s find room: those within some zones need no more GPUs than these zones
    /// have.
    [[nodiscard]] bool has_room(std::size_t s) const {
        const std::size_t type = stages_[s].gpu_type;
        for (std::size_t within = 1; within < (std::size_t{1} << zones()); ++within) {
            if ((sets_[s] & ~within) != 0) continue;
            long long need = 0, there = 0;
            for (std::size_t t = 0; t <= s; ++t)
                if (stages_[t].gpu_type == type && (sets_[t] & ~within) == 0)
                    need += static_cast<long long>(stages_[t].tensor_parallel) * replicas_;
            for (std::size_t z = 0; z < zones(); ++z)
                for (const std::size_t zone : parts_[z])
                    if ((within >> z) & 1) there += cluster().gpus[zone][type];
            if (need > there) return false;
        }
        return true;
    }

    const PlanTask& task_;
    const ZoneRegion* region_ = nullptr;
    std::vector<std::vector<std::size_t>> parts_{};  // zones that count as one; sets have a bit per part
    std::map<std::tuple<const ZoneRegion*, std::size_t, std::size_t, int, int, double>, std::vector<double>>
        known_{};
    std::vector<Stage> stages_{};
    std::vector<std::size_t> sets_{};
    double repeats_ = 0, best_ = 0;
    int replicas_ = 0;
    int steps_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
