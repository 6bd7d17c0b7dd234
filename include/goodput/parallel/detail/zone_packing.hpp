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

#include "goodput/parallel/detail/zoned_chain.hpp"

namespace goodput::inline v0_1::detail {

/// Bounds chains whose stages are of one class each, in a few zones.
class ZonePacking {
public:
    /// The caller keeps the task alive.
    explicit ZonePacking(const PlanTask& task) : task_(task) {}

    /// Returns a lower bound on the seconds per iteration, without updates, of a chain that lies in the
    /// division's region. Returns 0 if `steps` steps do not suffice to know one. May return `never` for any
    /// bound from `enough` on.
    [[nodiscard]] double least_seconds(const BatchDivision& division, const ZonedChain& chain, double enough,
                                       int steps) {
        division_ = &division;
        chain_ = &chain;
        parts_.clear();
        for (std::size_t z = 0; z < chain.zones.size(); ++z) parts_.push_back({z});
        if (parts_.size() <= most_zones && search(enough, steps)) return known_seconds(enough);
        // Treat each side of the cut as one zone. That tells less, but leaves few ways.
        parts_.assign(2, {});
        for (std::size_t z = 0; z < chain.zones.size(); ++z)
            parts_[region().side[chain.zones[z]] ? 1 : 0].push_back(z);
        return search(enough, steps) ? known_seconds(enough) : 0;
    }

private:
    static constexpr std::size_t most_zones = 6;

    struct Stage {
        const ZonedStage* own = nullptr;
        const std::vector<double>* reduce = nullptr;  // by set of zones; never if the set has no room
        std::vector<std::size_t> sets{};              // sets with room, those of few zones first
        std::vector<double> forward{}, backward{};    // to the next stage and back, by zone and zone of that
                                                      // stage
        double least_forward = 0, least_backward = 0;
        double least_behind = 0;                       // computing and sending of all later stages
        double largest_behind = 0, reduce_behind = 0;  // lower bounds on the largest of any later stage
    };

    [[nodiscard]] const ZoneRegion& region() const { return division_->region(); }
    [[nodiscard]] int replicas() const { return division_->replicas; }
    [[nodiscard]] std::size_t zones() const { return parts_.size(); }
    /// Returns the GPUs of a type in a zone of the chain.
    [[nodiscard]] int gpus_of(std::size_t zone, std::size_t type) const {
        return region().cluster.gpus[chain_->zones[zone]][type];
    }
    [[nodiscard]] double known_seconds(double enough) const { return best_ < enough ? best_ : never; }

    /// Searches all ways through the parts. Returns false if there are too many.
    [[nodiscard]] bool search(double enough, int steps) {
        prepare();
        best_ = enough;
        steps_ = steps;
        sets_.assign(stages_.size(), 0);
        place(0, 0, 0, 0, 0);
        return steps_ >= 0;
    }
    /// Returns the least seconds from any zone of one part to any zone of another, given those from zone to
    /// zone.
    [[nodiscard]] std::vector<double> by_parts(const std::vector<double>& by_zones) const {
        std::vector<double> seconds(zones() * zones(), never);
        for (std::size_t a = 0; a < zones(); ++a)
            for (std::size_t b = 0; b < zones(); ++b)
                for (const std::size_t x : parts_[a])
                    for (const std::size_t y : parts_[b]) {
                        double& least = seconds[a * zones() + b];
                        least = std::min(least, by_zones[x * chain_->zones.size() + y]);
                    }
        return seconds;
    }

    void prepare() {
        stages_.clear();
        for (const ZonedStage& own : chain_->stages) {
            Stage& stage = stages_.emplace_back();
            stage.own = &own;
            stage.reduce = &reduce_by_set(own);
            add_sets(stage);
            if (own.forward.empty()) continue;
            stage.forward = by_parts(own.forward);
            stage.backward = by_parts(own.backward);
            stage.least_forward = *std::min_element(stage.forward.begin(), stage.forward.end());
            stage.least_backward = *std::min_element(stage.backward.begin(), stage.backward.end());
        }
        for (std::size_t s = stages_.size() - 1; s-- > 0;) {
            const Stage& next = stages_[s + 1];
            // The messages over the boundary in front of `next` count with this stage.
            stages_[s].least_behind =
                next.least_behind + next.own->compute + next.least_forward + next.least_backward;
            stages_[s].largest_behind = std::max(
                next.largest_behind, next.own->compute + next.least_forward + stages_[s].least_backward);
            double least = never;
            for (const std::size_t set : next.sets) least = std::min(least, (*next.reduce)[set]);
            stages_[s].reduce_behind = std::max(next.reduce_behind, least);
        }
    }

    void add_sets(Stage& stage) const {
        const ZoneCrossing crossing = division_->crossing;
        std::size_t first = 0;  // zones on the first side of the cut
        for (std::size_t z = 0; z < zones(); ++z)
            if (crossing == ZoneCrossing::gradients && !region().side[chain_->zones[parts_[z].front()]])
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
    const std::vector<double>& reduce_by_set(const ZonedStage& stage) {
        std::vector<double>& reduce = known_[std::tuple(&region(), zones(), stage.gpu_type,
                                                        stage.tensor_parallel, replicas(), stage.bytes)];
        if (!reduce.empty()) return reduce;
        const std::vector<double> link = by_parts(stage.reduce);
        std::vector<int> room(zones());
        for (std::size_t a = 0; a < zones(); ++a)
            for (const std::size_t zone : parts_[a])
                room[a] += gpus_of(zone, stage.gpu_type) / stage.tensor_parallel;
        reduce.assign(std::size_t{1} << zones(), never);
        for (std::size_t set = 1; set < reduce.size(); ++set) reduce[set] = least_walk(set, link, room);
        return reduce;
    }
    /// Returns the least limit on the seconds of links within which a walk visits all zones of a set with
    /// all replicas. The replicas of a stage follow each other from zone to zone.
    [[nodiscard]] double least_walk(std::size_t set, const std::vector<double>& link,
                                    const std::vector<int>& room) const {
        if (std::popcount(set) > replicas()) return never;
        long long all = 0;
        for (std::size_t z = 0; z < zones(); ++z)
            if ((set >> z) & 1) {
                if (room[z] == 0) return never;
                all += room[z];
            }
        if (all < replicas()) return never;
        if (replicas() == 1) return 0;
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
        long long most_replicas = 0;
        for (std::size_t z = 0; z < zones(); ++z)
            if ((set >> z) & 1) {
                const bool stays = link[z * zones() + z] <= most, returns = (reached[z] >> z) & 1;
                most_replicas += std::min(room[z], stays ? replicas() : returns ? (replicas() + 1) / 2 : 1);
            }
        if (most_replicas < replicas()) return false;
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
            const double seconds = division_->repeats * std::max(largest, open) + sum + reduce;
            best_ = std::min(best_, seconds);
            return;
        }
        const Stage& stage = stages_[s];
        for (const std::size_t set : stage.sets) {
            if (--steps_ < 0) return;
            if ((steps_ & 4095) == 4095 && task_.stop()) steps_ = 0;
            double here = stage.own->compute, next_sum = sum + stage.own->compute, next_largest = largest;
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
            if (division_->repeats * std::max({next_largest, here, stage.largest_behind}) + next_sum +
                    behind + std::max(next_reduce, stage.reduce_behind) >=
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
        const std::size_t type = stages_[s].own->gpu_type;
        for (std::size_t within = 1; within < (std::size_t{1} << zones()); ++within) {
            if ((sets_[s] & ~within) != 0) continue;
            long long need = 0, there = 0;
            for (std::size_t t = 0; t <= s; ++t)
                if (stages_[t].own->gpu_type == type && (sets_[t] & ~within) == 0)
                    need += static_cast<long long>(stages_[t].own->tensor_parallel) * replicas();
            for (std::size_t z = 0; z < zones(); ++z)
                for (const std::size_t zone : parts_[z])
                    if ((within >> z) & 1) there += gpus_of(zone, type);
            if (need > there) return false;
        }
        return true;
    }

    const PlanTask& task_;
    const BatchDivision* division_ = nullptr;
    const ZonedChain* chain_ = nullptr;
    std::vector<std::vector<std::size_t>> parts_{};  // zones that count as one; sets have a bit per part
    std::map<std::tuple<const ZoneRegion*, std::size_t, std::size_t, int, int, double>, std::vector<double>>
        known_{};
    std::vector<Stage> stages_{};
    std::vector<std::size_t> sets_{};
    double best_ = 0;
    int steps_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
