#ifndef GOODPUT_SHARE_WATER_FILLING_HPP
#define GOODPUT_SHARE_WATER_FILLING_HPP

// Largest minimum, and then the largest minimum of all who can still rise, and so on: the lexicographic best,
// which leaves nothing idle that anybody could use (Gavel, section 4.3; MaxMin in objectives.hpp stops at
// the first level). With entities, what an entity has is split among its jobs: by weight, or all to the first
// that can still rise.
//
// Water rises in every job at a speed that is its part of its entity's weight. A job stops rising when it
// runs on its fastest type all the time, which its entity knows beforehand, or when the types that it could
// use are full, which is what the prices of a level tell: jobs whose rate has a price there have stopped. A
// level ends only when another type is full, so that there are no more levels than types, and one. Gavel's
// code finds who has stopped by an integer program a level.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/share/detail/level_search.hpp"
#include "goodput/share/detail/share_program.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/result.hpp"

namespace goodput {

/// Some jobs that share what is theirs.
struct ShareEntity {
    std::string name{};     ///< for messages
    double weight = 1;      ///< above 0
    bool in_order = false;  ///< the first job that can rise has all of its weight; otherwise all by weight
};

/// Who belongs to which entity.
struct ShareHierarchy {
    std::vector<ShareEntity> entities{};   ///< none: every job is one, with its own weight
    std::vector<std::size_t> entity_of{};  ///< by job: index of its entity
};

/// Shares by water filling. A job's level is workers * rate / (weight * proportional rate); the objective is
/// the lowest level. Its bound is proven by prices; with entities, where the lowest level may come last, the
/// status says whether every level was. Refuses what ShareProblem::validate() does, entities of weights that
/// are not above 0, and jobs without one where there are entities (std::invalid_argument).
[[nodiscard]] ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy = {},
                                     const ShareOptions& options = {});

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// How high the water is in the jobs of one entity when it has got so much, and the other way round. Water is
/// counted as workers * rate / proportional rate.
class EntityWater {
public:
    /// Heights that miss the highest by the part `gap` count as that.
    EntityWater(double weight, bool in_order, double gap) : weight_(weight), in_order_(in_order), gap_(gap) {}

    /// A job that is at `low` and can rise to `high`; in the order of the problem.
    void add(std::size_t job, double weight, double low, double high) {
        members_.push_back({job, weight, low, high, 0, 0});
    }
    /// After the last job.
    void begin() {
        if (in_order_) {
            double start = 0;
            for (Member& member : members_) {
                member.start = start;
                start = member.full = start + (member.high - member.low) / weight_;
            }
            return;
        }
        // By weight: the clock of the entity runs faster as jobs are full.
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
    /// When the last job is full.
    [[nodiscard]] double end() const {
        double end = 0;
        for (const Member& member : members_) end = std::max(end, member.full);
        return end;
    }

    struct Member {
        std::size_t job;
        double weight, low, high;
        double start, full;  // what the entity has got when it begins to rise, and when it is full
    };
    [[nodiscard]] const std::vector<Member>& members() const { return members_; }

    [[nodiscard]] double height(const Member& member, double got) const {
        if (got >= member.full) return member.high;
        if (in_order_) return member.low + std::max(got - member.start, 0.0) * weight_;
        auto turn = std::upper_bound(turns_.begin(), turns_.end(), got,
                                     [](double value, const Turn& of) { return value < of.got; });
        if (turn != turns_.begin()) --turn;
        const double clock = turn->clock + (got - turn->got) * turn->speed;
        return std::min(member.high, member.low + member.weight * clock);
    }
    [[nodiscard]] double got_at(const Member& member, double height) const {
        if (height >= member.high * (1 - gap_)) return std::numeric_limits<double>::infinity();
        if (in_order_) return member.start + (height - member.low) / weight_;
        const double clock = (height - member.low) / member.weight;
        auto turn = std::upper_bound(turns_.begin(), turns_.end(), clock,
                                     [](double value, const Turn& of) { return value < of.clock; });
        if (turn != turns_.begin()) --turn;
        return turn->got + (clock - turn->clock) / turn->speed;
    }

private:
    struct Turn {
        double clock, got, speed;
    };
    double weight_;
    bool in_order_;
    double gap_;
    std::vector<Member> members_;
    std::vector<Turn> turns_;
};

}  // namespace detail

inline ShareResult fill_water(const ShareProblem& problem, const ShareHierarchy& hierarchy,
                              const ShareOptions& options) {
    problem.validate();
    require_positive("share options", "gap", options.gap);
    const std::size_t jobs = problem.jobs.size();
    const bool flat = hierarchy.entities.empty();
    if (!flat && hierarchy.entity_of.size() != jobs)
        bad_input("hierarchy", "number of jobs with an entity", hierarchy.entity_of.size(), text_of(jobs));
    for (const ShareEntity& entity : hierarchy.entities)
        require_positive([&] { return "entity '" + entity.name + "'"; }, "weight", entity.weight);
    for (std::size_t j = 0; j < jobs && !flat; ++j)
        if (hierarchy.entity_of[j] >= hierarchy.entities.size())
            bad_input("job '" + problem.jobs[j].name + "'", "entity", hierarchy.entity_of[j],
                      "an index into the entities");

    detail::ShareProgram program(problem);
    std::vector<double> one(jobs), height(jobs, 0), top(jobs);  // rate of one unit of height
    std::vector<char> rising(jobs, 0);
    for (std::size_t j = 0; j < jobs; ++j) {
        one[j] = proportional_rate(problem, j) / problem.jobs[j].workers;
        rising[j] = program.top_rate(j) > 0;
        top[j] = rising[j] ? program.top_rate(j) / one[j] : 0;
    }
    ShareResult result;
    result.types = problem.types();
    result.shares.assign(jobs * problem.types(), 0);
    result.rates.assign(jobs, 0);
    result.prices.assign(problem.types(), 0);
    result.levels.assign(jobs, 0);
    bool proven = true;
    double below = 0;  // what entities have got in the levels before
    for (std::size_t stage = 0; stage <= jobs; ++stage) {
        // What rises now, and by which clock.
        std::vector<detail::EntityWater> waters;
        std::vector<std::pair<std::size_t, std::size_t>> place(jobs);
        for (const ShareEntity& entity : hierarchy.entities)
            waters.emplace_back(entity.weight, entity.in_order, options.gap);
        bool any = false;
        for (std::size_t j = 0; j < jobs; ++j) {
            if (!rising[j]) continue;
            any = true;
            const double weight = problem.jobs[j].weight;
            if (flat) waters.emplace_back(weight, false, options.gap);
            const std::size_t water = flat ? waters.size() - 1 : hierarchy.entity_of[j];
            place[j] = {water, waters[water].members().size()};
            waters[water].add(j, weight, height[j], top[j]);
        }
        if (!any) break;
        double end = 0;
        for (detail::EntityWater& water : waters) {
            water.begin();
            end = std::max(end, water.end());
        }
        const auto need = [&](std::size_t j, double got) {
            if (!rising[j]) return one[j] * height[j];
            const detail::EntityWater& water = waters[place[j].first];
            return one[j] * water.height(water.members()[place[j].second], got);
        };
        const auto got_at = [&](std::size_t j, double rate) {
            // Who has stopped stays where he is.
            if (!rising[j])
                return rate >= one[j] * height[j] * (1 - options.gap)
                           ? std::numeric_limits<double>::infinity()
                           : 0.0;
            const detail::EntityWater& water = waters[place[j].first];
            return water.got_at(water.members()[place[j].second], rate / one[j]);
        };
        detail::HighestLevel best =
            detail::highest_level(problem, program, need, got_at, end, end, options, below);
        const bool found = best.bound - best.reached <= options.gap * (best.bound + below);
        proven = proven && found;
        below += best.reached;
        result.iterations += best.result.iterations;
        if (stage == 0) result.prices = best.prices;
        // Where nobody can rise, or rounding would have somebody fall below what he has, everybody stays.
        if (stage == 0 || best.reached > 0) {
            result.shares = std::move(best.result.shares);
            result.rates = std::move(best.result.rates);
        } else if (!found) {
            break;
        }
        std::size_t risers = 0, stopped = 0;
        double push = 0;
        if (stage == 0) result.bound = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < jobs; ++j) {
            if (!rising[j]) continue;
            ++risers;
            if (stage == 0)
                result.bound = std::min(result.bound, need(j, best.bound) / one[j] / problem.jobs[j].weight);
            push = std::max(push, best.push[j]);
            height[j] = std::max(height[j], need(j, best.reached) / one[j]);
        }
        for (std::size_t j = 0; j < jobs; ++j) {
            if (!rising[j]) continue;
            const bool full = height[j] >= top[j] * (1 - 1e-9);
            // In the middle of all answers one of the two is clearly above 0.
            const bool held = best.push[j] * static_cast<double>(risers) > best.slack[j];
            if (!full && !held && best.push[j] < push) continue;
            rising[j] = 0;
            ++stopped;
        }
        if (stopped == 0) break;
    }
    result.objective = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < jobs; ++j) {
        result.levels[j] = height[j] / problem.jobs[j].weight;
        if (program.top_rate(j) > 0) result.objective = std::min(result.objective, result.levels[j]);
    }
    if (!std::isfinite(result.objective)) result.objective = result.bound = 0;
    if (flat)
        detail::set_status(result, options.gap);
    else  // who waits in an entity rises after the first level, whose bound says nothing of him
        result.bound = std::max(result.bound, result.objective);
    if (!proven) result.status = ShareStatus::feasible;
    return result;
}

}  // namespace goodput

#endif
