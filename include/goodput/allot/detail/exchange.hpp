#ifndef GOODPUT_ALLOT_DETAIL_EXCHANGE_HPP
#define GOODPUT_ALLOT_DETAIL_EXCHANGE_HPP

// Local search on an allotment. The code calls each job a copy, because equal jobs form groups. A job takes
// another option. If that does not fit, another job makes room for it by changing its own option: either to
// what the first job gave up (a swap), or to anything else (an ejection).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

class Exchange {
public:
    /// Makes an allotment of choices that exceed capacities. First it takes options away until everything
    /// fits, beginning with the copies that would lose least at these prices with another option. Then each
    /// copy without an option (`none`) gets the option with which the allotment is worth most. Returns
    /// false if one of them finds no option. Once `most_work` options have been looked at, or time has run
    /// out, no job changes its option to make room for another.
    bool repair(const CompactProblem& problem, std::span<const double> prices, Incumbent& incumbent,
                std::size_t most_work, Clock& clock) {
        work_ = 0;
        most_work_ = most_work;
        index(problem, incumbent);
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            const auto holds = [&] { return incumbent.left[r] >= -problem.tolerance[r]; };
            if (holds()) continue;
            cheapest_.clear();
            for (const std::uint32_t copy : users_[r])
                cheapest_.push_back({loss_of(problem, prices, incumbent, copy, r), copy});
            std::sort(cheapest_.begin(), cheapest_.end());
            for (auto cheapest = cheapest_.begin(); cheapest != cheapest_.end() && !holds(); ++cheapest)
                set(problem, incumbent, cheapest->second, none);
        }
        for (std::uint32_t copy = 0; copy < incumbent.choice.size(); ++copy)
            if (incumbent.choice[copy] == none &&
                !step(problem, incumbent, copy, -std::numeric_limits<double>::infinity(), clock))
                return false;
        return true;
    }
    /// Improves the result of the last repair() until no exchange improves it, or until the work limit or
    /// the time is used up. Begins with the copy at which the last call ended.
    void improve(const CompactProblem& problem, Incumbent& incumbent, Clock& clock) {
        for (std::size_t in_vain = 0; in_vain < incumbent.choice.size() && !over(clock); ++in_vain, ++next_) {
            if (next_ >= incumbent.choice.size()) next_ = 0;
            while (step(problem, incumbent, next_, least_gain * problem.magnitude, clock)) in_vain = 0;
        }
        incumbent.recount(problem);
    }
    /// Makes the next improve() begin with the first copy, so that it does not depend on earlier calls.
    void reset() { next_ = 0; }
    /// Returns the number of options looked at since repair() began.
    [[nodiscard]] std::size_t work() const { return work_; }

private:
    static constexpr double least_gain = 1e-12;

    bool over(Clock& clock) { return work_ >= most_work_ || clock.late(64); }

    void index(const CompactProblem& problem, const Incumbent& incumbent) {
        group_.resize(incumbent.choice.size());
        // users_ never shrinks, so that the inner vectors keep their memory.
        users_.resize(std::max(users_.size(), problem.resources()));
        for (auto& users : users_) users.clear();
        best_.assign(problem.groups(), -std::numeric_limits<double>::infinity());
        for (std::uint32_t group = 0; group < problem.groups(); ++group) {
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                best_[group] = std::max(best_[group], problem.value[k]);
            for (std::uint32_t copy = problem.first_copy[group]; copy < problem.first_copy[group + 1];
                 ++copy) {
                group_[copy] = group;
                if (incumbent.choice[copy] != none) enlist(problem, copy, incumbent.choice[copy]);
            }
        }
    }
    struct Change {
        double gain;
        std::uint32_t option, other, others_option;
    };

    /// Returns the loss at these prices, per unit of `resource` released, if a copy takes an option that
    /// does not use the resource.
    double loss_of(const CompactProblem& problem, std::span<const double> prices, const Incumbent& incumbent,
                   std::uint32_t copy, std::size_t resource) const {
        const std::uint32_t now = incumbent.choice[copy];
        const auto units = [&](std::uint32_t option) { return units_of(problem.uses_of(option), resource); };
        double best = -std::numeric_limits<double>::infinity();
        for (std::uint32_t k = problem.first[group_[copy]]; k < problem.first[group_[copy] + 1]; ++k)
            if (units(k) == 0) best = std::max(best, problem.reduced_value(k, prices));
        return (problem.reduced_value(now, prices) - best) / units(now);
    }

    void enlist(const CompactProblem& problem, std::uint32_t copy, std::uint32_t option) {
        for (const ResourceUse& use : problem.uses_of(option)) users_[use.resource].push_back(copy);
    }
    void set(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy, std::uint32_t option) {
        if (const std::uint32_t now = incumbent.choice[copy]; now != none)
            for (const ResourceUse& use : problem.uses_of(now)) std::erase(users_[use.resource], copy);
        incumbent.set(problem, copy, option);
        if (option != none) enlist(problem, copy, option);
    }

    /// Makes the change of a copy's option after which the allotment is worth most. The copy may have no
    /// option yet. Returns false if no change gains more than `least`.
    bool step(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy, double least,
              Clock& clock) {
        const std::uint32_t group = group_[copy], now = incumbent.choice[copy];
        const double value = now == none ? 0 : problem.value[now];
        Change best{least, none, none, none};
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
            if (k != now) look(problem, incumbent, copy, k, problem.value[k] - value, best, clock);
        if (best.option == none) return false;
        if (best.other != none) set(problem, incumbent, best.other, none);
        set(problem, incumbent, copy, best.option);
        if (best.other != none) set(problem, incumbent, best.other, best.others_option);
        return true;
    }

    /// Updates `best` with the best change in which the copy takes `option`, which is worth `gain` more
    /// than its present one.
    void look(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy, std::uint32_t option,
              double gain, Change& best, Clock& clock) {
        ++work_;
        const std::uint32_t now = incumbent.choice[copy];
        std::size_t short_of = problem.resources();
        const bool fits = problem.each_change(now, option, [&](std::size_t r, double units) {
            const double lacking = units - incumbent.left[r] - problem.tolerance[r];
            if (units <= 0 || lacking <= 0) return true;
            const bool first = short_of == problem.resources();
            short_of = r;
            return first;
        });
        if (short_of == problem.resources()) {
            if (gain > best.gain) best = {gain, option, none, none};
            return;
        }
        if (!fits) return;  // one job is unlikely to make room in two resources
        if (over(clock)) return;
        // Set the option first, so that the other users of the resource may take what this copy releases.
        incumbent.set(problem, copy, option);
        for (const std::uint32_t other : users_[short_of]) {
            if (other == copy) continue;
            const std::uint32_t group = group_[other], current = incumbent.choice[other];
            ++work_;
            if (gain + best_[group] - problem.value[current] <= best.gain) continue;
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                ++work_;
                const double sum = gain + problem.value[k] - problem.value[current];
                if (sum > best.gain && makes_room(problem, incumbent, current, k))
                    best = {sum, option, other, k};
            }
        }
        incumbent.set(problem, copy, now);
    }
    /// Returns whether every capacity holds once `option` replaces `now`.
    static bool makes_room(const CompactProblem& problem, const Incumbent& incumbent, std::uint32_t now,
                           std::uint32_t option) {
        return problem.each_change(now, option, [&](std::size_t r, double units) {
            return units <= incumbent.left[r] + problem.tolerance[r];
        });
    }

    std::vector<std::uint32_t> group_;                        // group of each copy
    std::vector<double> best_;                                // largest value of each group
    std::vector<std::vector<std::uint32_t>> users_;           // copies that use each resource
    std::vector<std::pair<double, std::uint32_t>> cheapest_;  // loss and copy, in order of loss
    std::uint32_t next_ = 0;                                  ///< copy with which improve() begins
    std::size_t work_ = 0, most_work_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
