#ifndef GOODPUT_ALLOT_DETAIL_EXCHANGE_HPP
#define GOODPUT_ALLOT_DETAIL_EXCHANGE_HPP

// Local search on an allotment: a job takes another option, and where that does not fit, another job makes
// room for it by taking another option itself, which may be what the first one gave up (a swap) or anything
// else (an ejection).

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

namespace goodput::detail {

class Exchange {
public:
    /// Makes an allotment of choices that exceed capacities: those that lose least at these prices by taking
    /// something else are left without an option until all fits. Copies without an option (none) then get
    /// the one for which the allotment is worth most; false if there is none for one of them. Once
    /// `most_work` options have been looked at, or it is late, nobody makes room for another any more.
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
            for (auto it = cheapest_.begin(); it != cheapest_.end() && !holds(); ++it)
                set(problem, incumbent, it->second, none);
        }
        for (std::uint32_t copy = 0; copy < incumbent.choice.size(); ++copy)
            if (incumbent.choice[copy] == none &&
                !step(problem, incumbent, copy, -std::numeric_limits<double>::infinity(), clock))
                return false;
        return true;
    }
    /// Improves what the last repair() made until no exchange does, or its work or the time is used up.
    /// Begins with the copy at which the last call ended.
    void improve(const CompactProblem& problem, Incumbent& incumbent, Clock& clock) {
        for (std::size_t in_vain = 0; in_vain < incumbent.choice.size() && !over(clock); ++in_vain, ++next_) {
            if (next_ >= incumbent.choice.size()) next_ = 0;
            while (step(problem, incumbent, next_, least_gain * problem.magnitude, clock)) in_vain = 0;
        }
        incumbent.recount(problem);
    }
    /// Begins with the first copy next time, whatever came before.
    void reset() { next_ = 0; }
    /// Options that were looked at since repair() began.
    [[nodiscard]] std::size_t work() const { return work_; }

private:
    static constexpr double least_gain = 1e-12;

    bool over(Clock& clock) { return work_ >= most_work_ || clock.late(64); }

    void index(const CompactProblem& problem, const Incumbent& incumbent) {
        group_.resize(incumbent.choice.size());
        users_.resize(std::max(users_.size(), problem.resources()));  // what is there keeps its memory
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

    /// What a copy loses, at these prices, for each unit of a resource that it gives back by taking an option
    /// without it.
    double loss_of(const CompactProblem& problem, std::span<const double> prices, const Incumbent& incumbent,
                   std::uint32_t copy, std::size_t resource) const {
        const std::uint32_t now = incumbent.choice[copy];
        const auto units_of = [&](std::uint32_t option) {
            for (const ResourceUse& use : problem.uses_of(option))
                if (use.resource == resource) return use.units;
            return 0.0;
        };
        double best = -std::numeric_limits<double>::infinity();
        for (std::uint32_t k = problem.first[group_[copy]]; k < problem.first[group_[copy] + 1]; ++k)
            if (units_of(k) == 0) best = std::max(best, problem.reduced_value(k, prices));
        return (problem.reduced_value(now, prices) - best) / units_of(now);
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

    /// Lets a copy, which may have no option yet, make the change for which the allotment is worth most.
    /// False if none is worth more than `least`.
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

    /// The best change in which the copy takes `option`, which is worth `gain` more than what it has.
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
        if (!fits) return;  // two resources are short: one job is unlikely to make room in both
        if (over(clock)) return;
        // The resource's users are looked at one after the other; what the copy gives back may serve them.
        incumbent.set(problem, copy, option);
        for (const std::uint32_t other : users_[short_of]) {
            if (other == copy) continue;
            const std::uint32_t group = group_[other], its = incumbent.choice[other];
            ++work_;
            if (gain + best_[group] - problem.value[its] <= best.gain) continue;
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                ++work_;
                const double sum = gain + problem.value[k] - problem.value[its];
                if (sum > best.gain && makes_room(problem, incumbent, its, k)) best = {sum, option, other, k};
            }
        }
        incumbent.set(problem, copy, now);
    }
    /// Whether every capacity holds once `now` is replaced by `option`.
    static bool makes_room(const CompactProblem& problem, const Incumbent& incumbent, std::uint32_t now,
                           std::uint32_t option) {
        return problem.each_change(now, option, [&](std::size_t r, double units) {
            return units <= incumbent.left[r] + problem.tolerance[r];
        });
    }

    std::vector<std::uint32_t> group_;                        // by copy
    std::vector<double> best_;                                // by group: its largest value
    std::vector<std::vector<std::uint32_t>> users_;           // by resource: copies that have some of it
    std::vector<std::pair<double, std::uint32_t>> cheapest_;  // by loss: copies
    std::uint32_t next_ = 0;                                  ///< copy
    std::size_t work_ = 0, most_work_ = 0;
};

}  // namespace goodput::detail

#endif
