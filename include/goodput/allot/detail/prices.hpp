#ifndef GOODPUT_ALLOT_DETAIL_PRICES_HPP
#define GOODPUT_ALLOT_DETAIL_PRICES_HPP

// Finds the prices. C_r is the capacity of resource r. v_jk is the value of option k of job j, and a_jk the
// units that it uses. At prices pi >= 0 let every job take the option of largest value less price, v_jk -
// pi . a_jk. Then
//
//     D(pi) = sum_r pi_r C_r + sum_j max_k (v_jk - pi . a_jk)
//
// (where k includes getting nothing, if allowed) is at least the value of any allotment. D is convex and
// piecewise linear in pi, and its least value equals the optimum of the linear relaxation. Cutting planes
// in price space find this least value (Kelley 1960; the dual view of Dantzig-Wolfe column generation).
// Each evaluation of D gives a plane that lies below D, and a small linear program (PriceMaster) gives the
// next prices. The search ends when plane and function meet, so prices and bound are exact up to rounding.
// An evaluation is one pass over the options of all groups of equal jobs; options that are best at no
// prices (those below the concave hull) are skipped. The number of passes grows with the number of
// resources (about five per resource), not with the number of jobs.
//
// The prices that the linear program proposes vary widely while there are few planes. So each proposal is
// moved part of the way towards the best prices so far (Wentges 1997) until bound and planes are close. A
// warm search begins with the prices whose planes met in the last optimum. Their new planes are nearly all
// that it needs.
//
// The choices of one pass are a column of the linear program. Its solution weights the columns, so it may
// split a job between options: it is a mixture of choices.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/careful_bound.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/price_master.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Upper limit of prices. Options may use so small a part of a unit that nothing else limits the price of a
/// unit.
inline constexpr double highest_price = 1e100 * largest_number;

class PriceSearch {
public:
    /// Finds the prices of least bound. With `warm` it begins from the result of the last call, if that had
    /// the same number of resources, otherwise from a guess. Stops early if the clock says so.
    void run(const CompactProblem& problem, bool warm, Clock& clock) {
        const std::size_t resources = problem.resources();
        warm = warm && best_prices_.size() == resources;
        passes_ = 0;
        complete_ = false;
        raises_ = 0;
        settled_ = 0;
        choices_.clear();
        proposal_.clear();
        drawn_ = 0;
        best_bound_ = std::numeric_limits<double>::infinity();
        trial_.assign(resources, 0);
        deal_to_blocks(problem);
        set_ceilings(problem);
        if (!warm) start_.clear();
        if (start_.empty()) guess(problem);
        // Reserve memory for the usual number of passes, so that similar rounds need no more.
        points_.clear();
        points_.reserve(usual_passes * resources);
        choices_.reserve(usual_passes * problem.groups());
        master_.reserve(usual_passes * blocks_, usual_passes * resources);
        careful_bound_.reserve(resources);
        column_of_.clear();
        column_of_.reserve(usual_passes * blocks_);
        basic_.reserve(usual_passes);
        for (std::size_t at = 0; passes_ == 0 || at < start_.size(); at += resources) {
            for (std::size_t r = 0; r < resources; ++r) trial_[r] = std::min(start_[at + r], ceiling_[r]);
            if (!evaluate(problem, clock)) break;
            if (passes_ == 1) master_.reset(problem.capacity, ceiling_, blocks_);
            add_columns();
            if (passes_ == 1) master_.begin();
        }
        taught_ = true;  // no proposal so far can have failed to give a new column
        const std::size_t most_passes = std::max(usual_passes, most_choices / (problem.groups() + 1));
        while (passes_ < most_passes && !master_.exhausted() && !clock.late()) {
            master_.solve(clock);
            const double below = master_.objective();
            if (best_bound_ - below <= problem.rounding()) {
                if (!settle(problem, below, clock) || raise_ceilings()) continue;
                complete_ = !clock.late();
                break;
            }
            if (!move(below)) {
                if (raise_ceilings()) continue;
                complete_ = !clock.late();
                break;
            }
            if (!evaluate(problem, clock)) break;
            add_columns();
        }
        master_.polish(clock);
        start_.assign(best_prices_.begin(), best_prices_.end());
        basic_.assign(passes_, 0);
        master_.for_each_basic_column([&](std::size_t column) { basic_[column_of_[column].pass] = 1; });
        for (std::size_t pass = 0; pass < passes_; ++pass) {
            if (basic_[pass] == 0) continue;
            const auto point = points_.begin() + static_cast<std::ptrdiff_t>(pass * resources);
            start_.insert(start_.end(), point, point + static_cast<std::ptrdiff_t>(resources));
        }
    }

    [[nodiscard]] const std::vector<double>& prices() const { return best_prices_; }
    [[nodiscard]] double bound() const { return best_bound_; }
    [[nodiscard]] std::size_t passes() const { return passes_; }
    /// Returns whether the search ran to its end.
    [[nodiscard]] bool complete() const { return complete_; }
    /// Returns whether the linear relaxation has a solution (jobs that must run may make it infeasible). If
    /// the search was cut short, this only counts the columns found so far.
    [[nodiscard]] bool relaxation_feasible() const { return master_.feasible(); }

    /// Computes the optimal mixture of the linear relaxation: for each option, how many copies of its group
    /// take it.
    void mixture(const CompactProblem& problem, std::vector<double>& copies) const {
        copies.assign(problem.value.size(), 0);
        master_.for_each_weight([&](std::size_t column, double weight) {
            const auto [pass, block] = column_of_[column];
            const std::uint32_t* choice = choices_.data() + pass * problem.groups();
            for (std::size_t group = 0; group < problem.groups(); ++group)
                if (block_of_[group] == block) copies[choice[group]] += weight * problem.copies(group);
        });
    }

private:
    /// Evaluates D at the trial prices. Keeps the best prices and the choices, from which add_columns()
    /// makes columns. The first evaluation is always finished. A later one returns false if there is no
    /// time for it, and then does not count.
    bool evaluate(const CompactProblem& problem, Clock& clock) {
        ++passes_;
        points_.insert(points_.end(), trial_.begin(), trial_.end());
        usage_.assign(blocks_ * problem.resources(), 0);
        value_.assign(blocks_, 0);
        double reduced_sum = 0, size = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            if (clock.late(problem.first_use[problem.end_hull[group]] -
                           problem.first_use[problem.first[group]] + 1) &&
                passes_ > 1) {
                --passes_;
                points_.resize(passes_ * problem.resources());
                choices_.resize(passes_ * problem.groups());
                return false;
            }
            std::uint32_t chosen = problem.first[group];
            double best = problem.reduced_value(chosen, trial_);
            const auto look = [&](auto reduced_value) {
                for (std::uint32_t k = chosen + 1; k < problem.end_hull[group]; ++k) {
                    const double reduced = reduced_value(k);
                    if (reduced > best) {
                        best = reduced;
                        chosen = k;
                    }
                }
            };
            if (problem.single[group])
                look([&](std::uint32_t k) {
                    const ResourceUse& use = problem.main_use[k];
                    return problem.value[k] - trial_[use.resource] * use.units;
                });
            else
                look([&](std::uint32_t k) { return problem.reduced_value(k, trial_); });
            choices_.push_back(chosen);
            const double copies = problem.copies(group);
            reduced_sum += copies * best;
            size += std::abs(copies * best);
            value_[block_of_[group]] += copies * problem.value[chosen];
            double* const usage = usage_.data() + block_of_[group] * problem.resources();
            for (const ResourceUse& use : problem.uses_of(chosen)) usage[use.resource] += copies * use.units;
        }
        double bound = reduced_sum;
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            bound += trial_[r] * problem.capacity[r];
            size += trial_[r] * problem.capacity[r];
        }
        if (size > 4 * problem.magnitude)
            bound = careful_bound_(problem, trial_,
                                   std::span(choices_).subspan((passes_ - 1) * problem.groups()));
        const bool better = bound < best_bound_;
        if (better || passes_ == 1) {
            if (better) best_bound_ = bound;
            best_prices_.assign(trial_.begin(), trial_.end());
        }
        trial_bound_ = bound;
        return true;
    }

    /// Sets the next prices to try: the master's proposal, moved part of the way towards the best prices
    /// while the planes are far from the bound. If the last moved prices gave the master no new column, the
    /// proposal itself is next. If the unmoved proposal gave no new column either, rounding has stopped the
    /// progress, and the function returns false.
    bool move(double below) {
        constexpr double drawn = 0.3, close = 1e-3;
        const std::span<const double> next = master_.prices();
        const bool same = std::ranges::equal(next, proposal_);
        if ((same || !taught_) && drawn_ == 0) return false;
        drawn_ = !same && best_bound_ - below > close * std::abs(best_bound_) ? drawn : 0;
        proposal_.assign(next.begin(), next.end());
        for (std::size_t r = 0; r < trial_.size(); ++r) {
            const double price = next[r] == 0 ? 0 : next[r] + drawn_ * (best_prices_[r] - next[r]);
            trial_[r] = std::clamp(price, 0.0, ceiling_[r]);
        }
        return true;
    }

    /// Moves to the master's prices if these are as good as the best ones. The master's prices lie at a
    /// corner of the set of best prices, and prices at a corner stay best over a range of capacities.
    /// Returns false if the evaluation gave the master a new column and showed that its prices are not
    /// best.
    bool settle(const CompactProblem& problem, double below, Clock& clock) {
        if (settled_++ > 2 * trial_.size() || std::ranges::equal(master_.prices(), best_prices_)) return true;
        drawn_ = 0;
        for (std::size_t r = 0; r < trial_.size(); ++r)
            trial_[r] = std::clamp(master_.prices()[r], 0.0, ceiling_[r]);
        if (!evaluate(problem, clock)) return true;
        add_columns();
        if (trial_bound_ - below > problem.rounding()) return !taught_;
        best_prices_.assign(trial_.begin(), trial_.end());
        best_bound_ = trial_bound_;  // must belong to these prices: reduced costs are measured from it
        return true;
    }

    /// Sets an upper limit on each price. Above a resource's largest value per unit no job uses it, so no
    /// higher price is better (the limit is twice that, to stay clear of ties). If a job that must run uses
    /// the resource, the limit starts so high that the price can keep all other jobs off. An option that uses
    /// very few units would make this limit useless. So there is a second limit: at the best prices, the
    /// whole capacity of a resource costs no more than the values of all jobs together. That sum is
    /// multiplied by `far_above`, to cover jobs that must run.
    void set_ceilings(const CompactProblem& problem) {
        const double everything = problem.magnitude > 0 ? problem.magnitude : 1;
        ceiling_.assign(problem.resources(), 0);
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.end_hull[group]; ++k) {
                const double worth = problem.must[group] ? 4 * everything : 2 * problem.value[k];
                for (const ResourceUse& use : problem.uses_of(k))
                    if (worth > ceiling_[use.resource] * use.units)
                        ceiling_[use.resource] = std::min(worth / use.units, highest_price);
            }
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (problem.capacity[r] > 0)
                ceiling_[r] = std::min(ceiling_[r], far_above * everything / problem.capacity[r]);
    }

    /// Deals the groups to blocks. If there are many resources, most of them are shared by few jobs (a
    /// team's quota only by the team's jobs). The jobs with the same rarest resource form a block, and the
    /// choices of different blocks are mixed independently. So the same number of passes gives many more
    /// mixtures, and far fewer passes are needed.
    void deal_to_blocks(const CompactProblem& problem) {
        const std::size_t resources = problem.resources();
        blocks_ = 1;
        block_of_.assign(problem.groups(), 0);
        if (resources <= most_resources_in_one_block) return;
        groups_of_.assign(resources, 0);
        constexpr std::uint32_t unseen = none;
        rarest_.assign(resources, unseen);  // in this loop: the last group that used the resource
        for (std::uint32_t group = 0; group < problem.groups(); ++group)
            for (const ResourceUse& use : uses_of_group(problem, group))
                if (std::exchange(rarest_[use.resource], group) != group) ++groups_of_[use.resource];
        rarest_.assign(resources, unseen);  // in this loop: the block of the resource
        blocks_ = 0;
        for (std::uint32_t group = 0; group < problem.groups(); ++group) {
            std::size_t rare = resources;
            for (const ResourceUse& use : uses_of_group(problem, group))
                if (rare == resources || groups_of_[use.resource] < groups_of_[rare] ||
                    (groups_of_[use.resource] == groups_of_[rare] && use.resource < rare))
                    rare = use.resource;
            if (rare == resources) continue;  // it stays in the first block
            if (rarest_[rare] == unseen) rarest_[rare] = static_cast<std::uint32_t>(blocks_++ % most_blocks);
            block_of_[group] = rarest_[rare];
        }
        blocks_ = std::clamp<std::size_t>(blocks_, 1, most_blocks);
    }
    static std::span<const ResourceUse> uses_of_group(const CompactProblem& problem, std::uint32_t group) {
        return {problem.uses.data() + problem.first_use[problem.first[group]],
                problem.uses.data() + problem.first_use[problem.end_hull[group]]};
    }

    /// Adds the result of the last pass to the master, one column per block.
    void add_columns() {
        const std::size_t resources = trial_.size();
        taught_ = false;
        for (std::size_t block = 0; block < blocks_; ++block)
            if (master_.add_column(block, value_[block],
                                   std::span(usage_).subspan(block * resources, resources))) {
                column_of_.push_back({passes_ - 1, block});
                taught_ = true;
            }
    }

    /// Guesses prices: the capacities together cost a third of the largest possible sum of values.
    void guess(const CompactProblem& problem) {
        const double share = problem.magnitude / (3 * static_cast<double>(problem.resources()));
        for (std::size_t r = 0; r < problem.resources(); ++r)
            start_.push_back(problem.capacity[r] > 0 ? share / problem.capacity[r] : ceiling_[r]);
    }

    /// Raises the ceilings, at most three times, if the jobs that must run do not fit at the present ones.
    bool raise_ceilings() {
        if (master_.feasible() || raises_ == 3) return false;
        ++raises_;
        for (double& ceiling : ceiling_) ceiling *= 1e3;
        master_.move_ceilings(ceiling_);
        taught_ = true;
        return true;
    }

    static constexpr double far_above = 0x1p30;
    static constexpr std::size_t usual_passes = 64;
    static constexpr std::size_t most_resources_in_one_block = 8, most_blocks = 64;
    /// Largest number of entries of choices_, unless the usual number of passes needs more.
    static constexpr std::size_t most_choices = std::size_t{1} << 26;

    PriceMaster master_;
    CarefulBound careful_bound_;
    bool complete_ = true;
    int raises_ = 0;
    std::vector<double> ceiling_, trial_, usage_, best_prices_;
    std::vector<double> proposal_;        // the master's last proposal
    double drawn_ = 0;                    // how far the last trial moved from the proposal to the best prices
    std::vector<double> points_;          // prices of each pass, by resource
    std::vector<double> start_;           // points with which the next search begins
    std::vector<std::uint32_t> choices_;  // choice of each pass, by group
    double trial_bound_ = 0, best_bound_ = 0;
    std::size_t passes_ = 0, settled_ = 0;
    bool taught_ = true;  // whether the last pass gave the master a new column
    std::size_t blocks_ = 1;
    std::vector<std::uint32_t> block_of_, groups_of_, rarest_;  // by group; by resource; by resource
    std::vector<double> value_;                                 // value of the last pass, by block
    struct Origin {
        std::size_t pass, block;
    };
    std::vector<Origin> column_of_;    // origin of each column of the master
    std::vector<std::uint8_t> basic_;  // by pass: whether one of its columns is in the basis
};

}  // namespace goodput::inline v0_1::detail

#endif
