#ifndef GOODPUT_ALLOT_PRICES_HPP
#define GOODPUT_ALLOT_PRICES_HPP

// The prices. For prices pi >= 0 let every job take the option of largest value - pi . use. Then
//
//     D(pi) = sum_r pi_r C_r + sum_j max(0, max_k (v_jk - pi . a_jk))     (without the 0 for a job that must
//     run)
//
// is at least the value of any allotment, convex and piecewise linear in pi, and its least value equals the
// optimum of the linear relaxation. The least is found by cutting planes in price space (Kelley 1960;
// equivalently Dantzig-Wolfe column generation on the jobs): each evaluation gives a plane below D, a small
// linear program (PriceMaster) gives the next prices. Ends when plane and function meet, so prices and bound
// are exact up to rounding. An evaluation is one pass over the options; their number grows with the number of
// resources (about ten times), not with the number of jobs.

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/price_master.hpp"

namespace goodput::detail {

class PriceSearch {
public:
    /// Finds the prices of least bound. `start`: prices to begin from (may be empty). Stops early when
    /// `out_of_time()`.
    template <class OutOfTime>
    void run(const CompactProblem& problem, std::span<const double> start, OutOfTime out_of_time) {
        const std::size_t resources = problem.resources();
        low_.assign(resources, 0);
        ceiling_of(problem);
        passes_ = 0;
        choices_.clear();
        best_bound_ = std::numeric_limits<double>::infinity();
        best_prices_.assign(resources, 0);

        trial_.assign(resources, 0);
        evaluate(problem);
        fits_at_no_price_ = fits(problem);
        master_.reset(problem.capacity, low_, high_, column_value_, usage_);
        if (fits_at_no_price_ && best_bound_ - column_value_ <= problem.rounding()) return;
        if (start.size() == resources &&
            std::any_of(start.begin(), start.end(), [](double p) { return p > 0; })) {
            trial_.assign(start.begin(), start.end());
            for (std::size_t r = 0; r < resources; ++r) trial_[r] = std::clamp(trial_[r], 0.0, high_[r]);
            evaluate(problem);
            master_.add_column(column_value_, usage_);
        }
        while (!out_of_time()) {
            master_.solve();
            const double below = master_.objective();
            const std::span<const double> next = master_.prices();
            bool moved = false;
            for (std::size_t r = 0; r < resources; ++r) {
                const double price = std::clamp(next[r], 0.0, high_[r]);
                moved = moved || price != trial_[r];
                trial_[r] = price;
            }
            if (!moved) break;  // rounding has stopped the progress
            const double bound = evaluate(problem);
            if (bound - below <= problem.rounding()) break;
            master_.add_column(column_value_, usage_);
        }
        master_.solve();
    }

    [[nodiscard]] const std::vector<double>& prices() const { return best_prices_; }
    [[nodiscard]] double bound() const { return best_bound_; }
    [[nodiscard]] std::size_t passes() const { return passes_; }
    /// Whether the linear relaxation has a solution (jobs that must run may leave none).
    [[nodiscard]] bool relaxation_feasible() const { return master_.feasible(); }

    /// Calls visit(job, option, fraction) for the linear relaxation's optimal mixture of choices; options are
    /// those of the compact problem; a job's fractions sum to less than 1 where it partly gets nothing.
    template <class Visit>
    void for_each_fraction(const CompactProblem& problem, Visit visit) const {
        master_.for_each_weight([&](std::size_t column, double weight) {
            for (std::size_t job = 0; job < problem.jobs(); ++job)
                if (const std::uint32_t option = choices_[column * problem.jobs() + job]; option != none)
                    visit(job, option, weight);
        });
    }

private:
    /// D at the trial prices; keeps the choice as a column and the best prices.
    double evaluate(const CompactProblem& problem) {
        ++passes_;
        usage_.assign(problem.resources(), 0);
        column_value_ = 0;
        double reduced_sum = 0;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            double best = problem.must[job] ? -std::numeric_limits<double>::infinity() : 0;
            std::uint32_t chosen = none;
            for (std::uint32_t k = problem.first[job]; k < problem.first[job + 1]; ++k) {
                const double reduced = problem.reduced_value(k, trial_);
                if (reduced > best) {
                    best = reduced;
                    chosen = k;
                }
            }
            choices_.push_back(chosen);
            if (chosen == none) continue;
            reduced_sum += best;
            column_value_ += problem.value[chosen];
            for (const Use& use : problem.uses_of(chosen)) usage_[use.resource] += use.units;
        }
        double bound = reduced_sum;
        for (std::size_t r = 0; r < problem.resources(); ++r) bound += trial_[r] * problem.capacity[r];
        if (bound < best_bound_) {
            best_bound_ = bound;
            best_prices_ = trial_;
        }
        return bound;
    }

    [[nodiscard]] bool fits(const CompactProblem& problem) const {
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (usage_[r] > problem.capacity[r]) return false;
        return true;
    }

    /// No price need exceed what the whole of the values could pay for the smallest unit in use.
    void ceiling_of(const CompactProblem& problem) {
        high_.assign(problem.resources(), 0);
        for (std::size_t k = 0; k < problem.value.size(); ++k)
            for (const Use& use : problem.uses_of(static_cast<std::uint32_t>(k)))
                high_[use.resource] = std::max(high_[use.resource], 1 / use.units);
        for (double& high : high_) high *= 4 * problem.magnitude;
    }

    PriceMaster master_;
    std::vector<double> low_, high_, trial_, usage_, best_prices_;
    std::vector<std::uint32_t> choices_;  // by column and job
    double column_value_ = 0, best_bound_ = 0;
    std::size_t passes_ = 0;
    bool fits_at_no_price_ = false;
};

}  // namespace goodput::detail

#endif
