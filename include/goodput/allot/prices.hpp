#ifndef GOODPUT_ALLOT_PRICES_HPP
#define GOODPUT_ALLOT_PRICES_HPP

// The prices. For prices pi >= 0 let every job take the option of largest value - pi . use. Then
//
//     D(pi) = sum_r pi_r C_r + sum_j max_k (v_jk - pi . a_jk)     (k: getting nothing included, where
//     allowed)
//
// is at least the value of any allotment, convex and piecewise linear in pi, and its least value equals the
// optimum of the linear relaxation. The least is found by cutting planes in price space (Kelley 1960;
// equivalently Dantzig-Wolfe column generation on the jobs): each evaluation gives a plane below D, a small
// linear program (PriceMaster) gives the next prices. Ends when plane and function meet, so prices and bound
// are exact up to rounding. An evaluation is one pass over the hull options of the groups; the number of
// passes grows with the number of resources (about five times), not with the number of jobs.
//
// Planes alone would first jump between extremes. So the search begins at prices that are likely (the last
// round's, or a guess) and stays in a box around them, which grows where the prices press against it.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/price_master.hpp"

namespace goodput::detail {

class PriceSearch {
public:
    /// Finds the prices of least bound. `start`: prices to begin from (empty: a guess). Stops early when
    /// `out_of_time()`.
    template <class OutOfTime>
    void run(const CompactProblem& problem, std::span<const double> start, OutOfTime out_of_time) {
        const std::size_t resources = problem.resources();
        passes_ = 0;
        choices_.clear();
        best_bound_ = std::numeric_limits<double>::infinity();
        best_prices_.assign(resources, 0);
        usage_.assign(resources, 0);
        set_ceilings(problem);
        const bool warm = start.size() == resources;
        if (warm)
            trial_.assign(start.begin(), start.end());
        else
            guess(problem);
        set_box(warm ? 1.5 : 4);
        evaluate(problem);
        master_.reset(problem.capacity, low_, high_, column_value_, usage_);
        while (!out_of_time()) {
            master_.solve();
            const double below = master_.objective();
            const std::span<const double> next = master_.prices();
            bool moved = false;
            for (std::size_t r = 0; r < resources; ++r) {
                const double price = std::clamp(next[r], low_[r], high_[r]);
                moved = moved || price != trial_[r];
                trial_[r] = price;
            }
            const double bound = moved ? evaluate(problem) : below;
            if (moved) master_.add_column(column_value_, usage_);
            if (bound - below > problem.rounding()) continue;
            if (!widen_box() && !raise_ceilings()) break;
            master_.move_box(low_, high_);
        }
        master_.solve();
    }

    [[nodiscard]] const std::vector<double>& prices() const { return best_prices_; }
    [[nodiscard]] double bound() const { return best_bound_; }
    [[nodiscard]] std::size_t passes() const { return passes_; }
    /// Whether the linear relaxation has a solution (jobs that must run may leave none).
    [[nodiscard]] bool relaxation_feasible() const { return master_.feasible(); }

    /// The linear relaxation's optimal mixture of choices: by option, how many of its group's copies take it.
    void mixture(const CompactProblem& problem, std::vector<double>& copies) const {
        copies.assign(problem.value.size(), 0);
        master_.for_each_weight([&](std::size_t column, double weight) {
            const std::uint32_t* choice = choices_.data() + column * problem.groups();
            for (std::size_t group = 0; group < problem.groups(); ++group)
                copies[choice[group]] += weight * problem.copies(group);
        });
    }

private:
    /// D at the trial prices; keeps the choice as a column and the best prices.
    double evaluate(const CompactProblem& problem) {
        ++passes_;
        std::fill(usage_.begin(), usage_.end(), 0.0);
        column_value_ = 0;
        double reduced_sum = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            std::uint32_t chosen = problem.first[group];
            double best = problem.reduced_value(chosen, trial_);
            for (std::uint32_t k = chosen + 1; k < problem.end_hull[group]; ++k) {
                const double reduced = problem.reduced_value(k, trial_);
                if (reduced > best) {
                    best = reduced;
                    chosen = k;
                }
            }
            choices_.push_back(chosen);
            const double copies = problem.copies(group);
            reduced_sum += copies * best;
            column_value_ += copies * problem.value[chosen];
            for (const Use& use : problem.uses_of(chosen)) usage_[use.resource] += copies * use.units;
        }
        double bound = reduced_sum;
        for (std::size_t r = 0; r < problem.resources(); ++r) bound += trial_[r] * problem.capacity[r];
        if (bound < best_bound_) {
            best_bound_ = bound;
            best_prices_.assign(trial_.begin(), trial_.end());
        }
        return bound;
    }

    /// Above a resource's largest value per unit nobody uses it, so that no higher price is better (twice
    /// that, to be clear of ties). Jobs that must run are first driven to other options by all that the
    /// others are worth; prices that have to drive several on may be higher still, see raise_ceilings().
    void set_ceilings(const CompactProblem& problem) {
        raises_ = 0;
        ceiling_.assign(problem.resources(), 0);
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.end_hull[group]; ++k) {
                const double worth = problem.must[group] ? 4 * problem.magnitude : 2 * problem.value[k];
                for (const Use& use : problem.uses_of(k))
                    if (worth > ceiling_[use.resource] * use.units)
                        ceiling_[use.resource] = worth / use.units;
            }
    }

    /// Prices at which the capacities together cost a third of what the jobs could be worth at most.
    void guess(const CompactProblem& problem) {
        trial_.assign(problem.resources(), 0);
        const double share = problem.magnitude / (3 * static_cast<double>(problem.resources()));
        for (std::size_t r = 0; r < trial_.size(); ++r)
            trial_[r] = std::min(share / std::max(problem.capacity[r], 1e-300), ceiling_[r] / 4);
    }

    void set_box(double factor) {
        low_.assign(trial_.begin(), trial_.end());
        high_.assign(trial_.begin(), trial_.end());
        for (std::size_t r = 0; r < trial_.size(); ++r) {
            trial_[r] = std::min(trial_[r], ceiling_[r]);
            low_[r] = trial_[r] / factor;
            high_[r] = std::min(std::max(trial_[r] * factor, 1e-3 * ceiling_[r]), ceiling_[r]);
        }
    }

    /// Widens the sides that the prices press against; false if there are none.
    bool widen_box() {
        bool widened = false;
        for (std::size_t r = 0; r < trial_.size(); ++r) {
            if (low_[r] > 0 && trial_[r] <= low_[r]) {
                low_[r] = low_[r] > 1e-3 * ceiling_[r] ? low_[r] / 8 : 0;
                widened = true;
            } else if (high_[r] < ceiling_[r] && trial_[r] >= high_[r]) {
                high_[r] = std::min(8 * high_[r], ceiling_[r]);
                widened = true;
            }
        }
        return widened;
    }

    /// Where the jobs that must run do not fit at the ceilings, tries higher ones some times.
    bool raise_ceilings() {
        if (master_.feasible() || raises_ == 3) return false;
        ++raises_;
        for (std::size_t r = 0; r < ceiling_.size(); ++r) high_[r] = ceiling_[r] *= 1e3;
        return true;
    }

    PriceMaster master_;
    int raises_ = 0;
    std::vector<double> ceiling_, low_, high_, trial_, usage_, best_prices_;
    std::vector<std::uint32_t> choices_;  // by column and group
    double column_value_ = 0, best_bound_ = 0;
    std::size_t passes_ = 0;
};

}  // namespace goodput::detail

#endif
