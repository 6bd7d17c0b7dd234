#ifndef GOODPUT_ALLOT_DETAIL_COVER_ROWS_HPP
#define GOODPUT_ALLOT_DETAIL_COVER_ROWS_HPP

// Finds covers of a resource: jobs that cannot all have a large option. Equal jobs are copies of a group.
// Let t_g be a number of units for each group g of some groups, its threshold. If any `most` + 1 copies
// together exceed the capacity when each takes its threshold, then
//
//     the number of copies that take an option of at least t_g units  <=  most.
//
// This row cuts off mixtures (solutions that split jobs) that the capacity alone allows. Greedy separation
// finds it from such a mixture. It takes jobs, each with a threshold, until the thresholds together exceed
// the capacity. Jobs come first if in the mixture few of their copies are below the threshold, relative to
// its size. Then it lowers thresholds as long as they still exceed the capacity. At last every other job
// joins at the largest threshold (an extended cover). Letchford and Souli, Operations Research Letters
// 47(2), 2019, choose thresholds by job in the same way.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/further_rows.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

struct Cover {
    std::size_t resource = 0;
    std::vector<double> threshold;  ///< by group; infinite if the group is not part of the cover
    std::size_t most = 0;           ///< number of copies that may take an option of at least their threshold
};

/// Finds covers. Keeps its memory.
class CoverSearch {
public:
    /// Looks for a cover of a resource that these amounts violate. `amounts`: how many copies take each
    /// option. Returns whether cover() now holds such a cover.
    bool find(const CompactProblem& problem, std::size_t resource, std::span<const double> amounts) {
        const double capacity = problem.capacity[resource] + problem.tolerance[resource];
        list_steps(problem, resource, amounts);
        members_.clear();
        for (std::uint32_t group = 0; group < problem.groups(); ++group) choose_step(problem, group);
        std::sort(members_.begin(), members_.end(), [](const Member& a, const Member& b) {
            return a.rate != b.rate ? a.rate < b.rate : a.group < b.group;
        });
        double sum = 0;
        std::size_t count = 0;
        while (count < members_.size() && sum <= capacity) {
            Member& member = members_[count++];
            const double lacking = (capacity - sum) / member.units;
            member.taken = std::min(member.copies, std::floor(lacking) + 1);
            sum += member.taken * member.units;
        }
        if (sum <= capacity) return false;
        members_.resize(count);
        drop_needless(capacity, sum);
        lower_thresholds(capacity, sum);
        return extend(problem, resource, amounts);
    }
    [[nodiscard]] const Cover& cover() const { return cover_; }

    /// Adds the row of a cover: a coefficient of 1 for every option of at least its threshold.
    static void add_row(const CompactProblem& problem, const Cover& cover, FurtherRows& rows) {
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (units_of(problem.uses_of(k), cover.resource) >= cover.threshold[group])
                    rows.add_term(k, 1);
        rows.close(static_cast<double>(cover.most), true);
    }

private:
    /// Number of a group's copies that take at least `units` units in the amounts.
    struct Step {
        double units, copies;
    };
    struct Member {
        std::uint32_t group;
        double units, copies, lacking, rate;
        double taken = 0;  // number of its copies that the cover counts
    };

    /// Fills steps_ by group, largest units first.
    void list_steps(const CompactProblem& problem, std::size_t resource, std::span<const double> amounts) {
        steps_.clear();
        first_step_.assign(1, 0);
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            const std::size_t first = steps_.size();
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (const double units = units_of(problem.uses_of(k), resource); units > 0)
                    steps_.push_back({units, amounts[k]});
            std::sort(steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end(),
                      [](const Step& a, const Step& b) { return a.units > b.units; });
            std::size_t kept = first;
            for (std::size_t i = first; i < steps_.size(); ++i) {
                if (i > first && steps_[i].units == steps_[kept - 1].units)
                    steps_[kept - 1].copies += steps_[i].copies;
                else {
                    const double above = i > first ? steps_[kept - 1].copies : 0;
                    steps_[kept++] = {steps_[i].units, steps_[i].copies + above};
                }
            }
            steps_.resize(kept);
            first_step_.push_back(kept);
        }
    }

    /// Chooses the group's threshold with the least lack per unit. The lack is the fraction of the group's
    /// copies that are below the threshold in the amounts.
    void choose_step(const CompactProblem& problem, std::uint32_t group) {
        const double copies = problem.copies(group);
        Member best{group, 0, copies, 0, std::numeric_limits<double>::infinity()};
        for (std::size_t i = first_step_[group]; i < first_step_[group + 1]; ++i) {
            const double lacking = std::max(0.0, copies - steps_[i].copies) / copies;
            const double rate = lacking / steps_[i].units;
            if (steps_[i].copies > 1e-9 && rate < best.rate)
                best = {group, steps_[i].units, copies, lacking, rate};
        }
        if (best.units > 0) members_.push_back(best);
    }

    /// Leaves out copies without which the others still exceed the capacity. Begins with the last ones.
    void drop_needless(double capacity, double& sum) {
        for (std::size_t i = members_.size(); i-- > 0;) {
            Member& member = members_[i];
            while (member.taken > 0 && sum - member.units > capacity) {
                sum -= member.units;
                --member.taken;
            }
        }
        std::erase_if(members_, [](const Member& member) { return member.taken == 0; });
    }

    /// Lowers thresholds as long as all of them together exceed the capacity. Begins with those whose step
    /// gains most copies in the amounts.
    void lower_thresholds(double capacity, double sum) {
        for (;;) {
            Member* chosen = nullptr;
            Step to{};
            double most = -1;
            for (Member& member : members_)
                for (std::size_t i = first_step_[member.group]; i < first_step_[member.group + 1]; ++i) {
                    const Step& step = steps_[i];
                    if (step.units >= member.units ||
                        sum - member.taken * (member.units - step.units) <= capacity)
                        continue;
                    const double gain = step.copies - (member.copies - member.lacking * member.copies);
                    if (gain <= most) continue;
                    most = gain;
                    chosen = &member;
                    to = step;
                }
            if (chosen == nullptr) return;
            sum -= chosen->taken * (chosen->units - to.units);
            chosen->units = to.units;
            chosen->lacking = std::max(0.0, chosen->copies - to.copies) / chosen->copies;
        }
    }

    /// Lets all other jobs join at the largest threshold. Returns whether the amounts violate the cover.
    bool extend(const CompactProblem& problem, std::size_t resource, std::span<const double> amounts) {
        cover_.resource = resource;
        double largest = 0, count = 0;
        for (const Member& member : members_) {
            largest = std::max(largest, member.units);
            count += member.taken;
        }
        cover_.most = static_cast<std::size_t>(count) - 1;
        cover_.threshold.assign(problem.groups(), std::numeric_limits<double>::infinity());
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::size_t i = first_step_[group]; i < first_step_[group + 1]; ++i)
                if (steps_[i].units >= largest) cover_.threshold[group] = steps_[i].units;
        // If the cover counts only some copies of a group, the group's own threshold would let the others
        // in, so it keeps the largest threshold.
        for (const Member& member : members_)
            if (member.taken == member.copies) cover_.threshold[member.group] = member.units;
        double taken = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (units_of(problem.uses_of(k), resource) >= cover_.threshold[group]) taken += amounts[k];
        return holds(problem) && taken > static_cast<double>(cover_.most) + least_broken;
    }
    /// Returns whether any most + 1 copies at their thresholds exceed the capacity.
    [[nodiscard]] bool holds(const CompactProblem& problem) {
        members_.clear();
        for (std::uint32_t group = 0; group < problem.groups(); ++group)
            if (!std::isinf(cover_.threshold[group]))
                members_.push_back(
                    {group, cover_.threshold[group], static_cast<double>(problem.copies(group)), 0, 0});
        std::sort(members_.begin(), members_.end(),
                  [](const Member& a, const Member& b) { return a.units < b.units; });
        double left = static_cast<double>(cover_.most) + 1, sum = 0;
        for (const Member& member : members_) {
            const double taken = std::min(left, member.copies);
            sum += taken * member.units;
            left -= taken;
        }
        return left == 0 &&
               sum > problem.capacity[cover_.resource] * (1 + 1e-9) + 2 * problem.tolerance[cover_.resource];
    }

    static constexpr double least_broken = 1e-3;
    Cover cover_;
    std::vector<Step> steps_;
    std::vector<std::size_t> first_step_;
    std::vector<Member> members_;
};

}  // namespace goodput::inline v0_1::detail

#endif
