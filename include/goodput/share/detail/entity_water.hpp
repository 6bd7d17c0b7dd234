#ifndef GOODPUT_SHARE_DETAIL_ENTITY_WATER_HPP
#define GOODPUT_SHARE_DETAIL_ENTITY_WATER_HPP

// Divides what an entity gets among its jobs (water_filling.hpp).

#include <algorithm>
#include <cstddef>
#include <vector>

namespace goodput::inline v0_1::detail {

/// Computes the heights of one entity's jobs from `got`, what entities have got so far per unit of weight.
/// A height is workers * rate / proportional rate.
class EntityWater {
public:
    EntityWater(double weight, bool in_order) : weight_(weight), in_order_(in_order) {}

    /// Adds a job that is at `low` and can rise to `high`. Call in the order of the problem's jobs.
    void add(double weight, double low, double high) { members_.push_back({weight, low, high, 0, 0}); }
    /// Call after adding the last job.
    void begin() {
        if (in_order_) {
            double start = 0;
            for (Member& member : members_) {
                member.start = start;
                start = member.full = start + (member.high - member.low) / weight_;
            }
            return;
        }
        // By weight: each job that becomes full makes the others rise faster.
        std::vector<Member*> order;
        double weights = 0;
        for (Member& member : members_) {
            order.push_back(&member);
            weights += member.weight;
        }
        const auto room = [](const Member* member) { return (member->high - member->low) / member->weight; };
        std::stable_sort(order.begin(), order.end(),
                         [&](const Member* a, const Member* b) { return room(a) < room(b); });
        double clock = 0, got = 0;
        for (Member* member : order) {
            turns_.push_back({clock, got, weight_ / weights});
            got += (room(member) - clock) * weights / weight_;
            clock = room(member);
            member->full = got;
            weights -= member->weight;
        }
    }
    struct Member {
        double weight, low, high;
        double start, full;  // what the entity has got when the job begins to rise, and when it is full
    };
    [[nodiscard]] const std::vector<Member>& members() const { return members_; }

    /// Returns the height of a job, at most its `high`.
    [[nodiscard]] double height(const Member& member, double got) const {
        if (got >= member.full) return member.high;
        if (in_order_) return member.low + std::max(got - member.start, 0.0) * weight_;
        auto turn = std::upper_bound(turns_.begin(), turns_.end(), got,
                                     [](double value, const Turn& other) { return value < other.got; });
        if (turn != turns_.begin()) --turn;
        const double clock = turn->clock + (got - turn->got) * turn->speed;
        return std::min(member.high, member.low + member.weight * clock);
    }

private:
    struct Turn {
        double clock, got, speed;
    };
    double weight_;
    bool in_order_;
    std::vector<Member> members_;
    std::vector<Turn> turns_;
};

}  // namespace goodput::inline v0_1::detail

#endif
