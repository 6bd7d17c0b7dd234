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

#include "goodput/allot/detail/clock.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"

namespace goodput::detail {

class Exchange {
public:
    /// Improves an allotment until no exchange does, `most_work` options have been looked at, or it is late.
    /// Copies without an option (none) get one first; false if that fails for one. Begins with the copy at
    /// which the last call ended.
    bool operator()(const CompactProblem& problem, Incumbent& incumbent, std::size_t most_work,
                    Clock& clock) {
        work_ = 0;
        most_work_ = most_work;
        index(problem, incumbent);
        for (std::uint32_t copy = 0; copy < incumbent.choice.size(); ++copy)
            if (incumbent.choice[copy] == none && !serve(problem, incumbent, copy, clock)) return false;
        for (std::size_t in_vain = 0; in_vain < incumbent.choice.size() && !over(clock); ++in_vain, ++next_) {
            if (next_ >= incumbent.choice.size()) next_ = 0;
            while (step(problem, incumbent, next_, clock)) in_vain = 0;
        }
        incumbent.recount(problem);
        return true;
    }
    /// Begins with the first copy next time, whatever came before.
    void reset() { next_ = 0; }
    /// Options that the last call looked at.
    [[nodiscard]] std::size_t work() const { return work_; }

    /// Makes an allotment of choices that exceed capacities: those that lose least at these prices by taking
    /// something else are left without an option until all fits, and are then served like copies without one.
    bool repair(const CompactProblem& problem, std::span<const double> prices, Incumbent& incumbent,
                std::size_t most_work, Clock& clock) {
        index(problem, incumbent);
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            if (incumbent.left[r] >= -problem.tolerance[r]) continue;
            cheapest_.clear();
            for (const std::uint32_t copy : users_[r])
                cheapest_.push_back({loss_of(problem, prices, incumbent, copy, r), copy});
            std::sort(cheapest_.begin(), cheapest_.end());
            for (const auto& [loss, copy] : cheapest_) {
                if (incumbent.left[r] >= -problem.tolerance[r]) break;
                set(problem, incumbent, copy, none);
            }
        }
        return (*this)(problem, incumbent, most_work, clock);
    }

private:
    static constexpr double least_gain = 1e-12;

    bool over(Clock& clock) { return work_ >= most_work_ || clock.late(64); }

    void index(const CompactProblem& problem, const Incumbent& incumbent) {
        group_.resize(incumbent.choice.size());
        users_.resize(problem.resources());
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
    /// What a copy loses, at these prices, for each unit of a resource that it gives back by taking an option
    /// without it.
    double loss_of(const CompactProblem& problem, std::span<const double> prices, const Incumbent& incumbent,
                   std::uint32_t copy, std::size_t resource) const {
        const std::uint32_t now = incumbent.choice[copy];
        double given_back = 0, best = -std::numeric_limits<double>::infinity();
        for (const ResourceUse& use : problem.uses_of(now))
            if (use.resource == resource) given_back = use.units;
        for (std::uint32_t k = problem.first[group_[copy]]; k < problem.first[group_[copy] + 1]; ++k) {
            bool without = true;
            for (const ResourceUse& use : problem.uses_of(k)) without = without && use.resource != resource;
            if (without) best = std::max(best, problem.reduced_value(k, prices));
        }
        return (problem.reduced_value(now, prices) - best) / given_back;
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

    /// Gives a copy without an option the one for which the allotment is worth most.
    bool serve(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy, Clock& clock) {
        const std::uint32_t group = group_[copy];
        Change best{-std::numeric_limits<double>::infinity(), none, none, none};
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
            look(problem, incumbent, copy, k, problem.value[k], best, clock);
        if (best.option == none) return false;
        carry_out(problem, incumbent, copy, best);
        return true;
    }
    bool step(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy, Clock& clock) {
        const std::uint32_t group = group_[copy], now = incumbent.choice[copy];
        Change best{least_gain * problem.magnitude, none, none, none};
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
            if (k != now)
                look(problem, incumbent, copy, k, problem.value[k] - problem.value[now], best, clock);
        if (best.option == none) return false;
        carry_out(problem, incumbent, copy, best);
        return true;
    }

    struct Change {
        double gain;
        std::uint32_t option, other, others_option;
    };

    void carry_out(const CompactProblem& problem, Incumbent& incumbent, std::uint32_t copy,
                   const Change& change) {
        if (change.other != none) set(problem, incumbent, change.other, none);
        set(problem, incumbent, copy, change.option);
        if (change.other != none) set(problem, incumbent, change.other, change.others_option);
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
