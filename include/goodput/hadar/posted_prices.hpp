#ifndef GOODPUT_HADAR_POSTED_PRICES_HPP
#define GOODPUT_HADAR_POSTED_PRICES_HPP

// Finds an allotment online: jobs come one after another. Each job at once takes the option whose value
// exceeds its price most, or leaves for good. Prices rise exponentially with use, so that the remaining
// units are kept for jobs that need them more. This is the primal-dual scheme of OASiS (Bao et al.,
// INFOCOM'18), which Hadar (IPDPS'24) adopts. With u_r the units of resource r in use, C_r its capacity,
// full_r the use at which its price is highest (C_r as published), and a_r the units of an option,
//
//     price_r = L_r (U_r / L_r)^(u_r / full_r)        admit if   value - sum price_r a_r > 0
//
//     U_r   largest value / a_r of all options. At this price no job gains, so none takes what is not there.
//     L_r   smallest value / a_r, so every job gains at this price. It is at most D / (2 R C_r), where R is
//           the number of resources that options use, and D the objective if jobs choose without prices,
//           densest first (PostedOrder). So at the prices of an empty cluster, all capacities together cost
//           at most half the value of the best allotment.
//
// The final prices prove a bound for any allotment (weak duality, as for every price vector >= 0):
//
//     bound = sum over jobs of max(0, largest value - price * uses) + sum C_r price_r
//
// and, whatever the order of the jobs, best <= 2 alpha objective with alpha = max_r max(1, ln(U_r / L_r)),
// as published for jobs that are small compared with the capacities. For real sizes, let g_r be the
// greatest common divisor of the a_r (0 if they are not whole numbers), and m_r the largest a_r. full_r is
// the least use at which an option of m_r units finds no room: the first multiple of g_r above C_r - m_r.
// (For jobs of one GPU this is C_r, the published exponent.) Then an option that finds no room is worth no
// more than its price. One admission raises sum C_r price_r by at most
// (C_r / m_r) ((U_r / L_r)^(m_r / full_r) - 1) times the price of the option taken. The largest of these
// factors replaces ln(U_r / L_r): see ratio(). OASiS and Hadar guess U and L beforehand; here they come
// from the problem.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::inline v0_1 {

/// The order in which jobs are asked.
enum class PostedOrder {
    as_listed,     ///< as they arrive; no answer depends on later jobs
    densest_first  ///< by their largest value relative to the part of the capacities that the option takes
};

/// An AllotmentSolver that asks every job once, at prices that rise with use. It keeps its buffers.
class PostedPrices {
public:
    /// The settings of the solver.
    struct Settings {
        PostedOrder order = PostedOrder::as_listed;  ///< order of the jobs
        /// Whether jobs to which no option was worth its price finally get what is left, in the same order
        /// and at no price. The next round can take these units back, so they need not be kept for other
        /// jobs.
        bool fills_idle = true;
    };

    PostedPrices() = default;
    /// Makes a solver with these settings.
    explicit PostedPrices(Settings settings) : settings_(settings) {}

    /// Whether units that are worth their price to no job must stay idle. If so, nothing may give them away
    /// afterwards either.
    [[nodiscard]] bool keeps_idle() const { return !settings_.fills_idle; }

    /// Returns an allotment that respects all constraints, with the bound of the final prices, which are in
    /// AllotResult::prices. Jobs that must run come first. The status is optimal if the bound proves `gap`,
    /// else feasible; it is unknown if jobs that must run find no room in this order. The solver looks at
    /// all options a few times: for the range of prices, for the allotment and for the bound. Its time is
    /// linear in the problem except for a sort, so it ignores the deadline. Throws std::invalid_argument
    /// for invalid numbers.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        options.validate();
        problem.validate();
        result_.choice.assign(problem.jobs(), no_option);
        result_.objective = 0;
        result_.passes = 1;
        used_.assign(problem.capacity.size(), 0);
        order_jobs(problem);
        find_price_range(problem);
        bool all_must_run = true;
        for (const bool must : {true, false})
            for (const std::size_t job : order_)
                if (problem.must(job) == must) all_must_run &= admit(problem, job, 1) || !must;
        find_prices(problem);
        if (settings_.fills_idle)
            for (const std::size_t job : order_)
                if (result_.choice[job] == no_option) admit(problem, job, 0);
        prove(problem, options);
        if (!all_must_run) {
            result_.choice.assign(problem.jobs(), no_option);
            result_.objective = 0;
            result_.status = AllotStatus::unknown;
            result_.stopped = StopReason::states;
        }
        return result_;
    }

    /// Returns 2 alpha of the last problem: no allotment is worth more than this times the objective, if
    /// every option is small compared with the capacities.
    [[nodiscard]] double published_ratio() const { return 2 * alpha_; }
    /// Returns the same factor for the sizes of the last problem. It is infinite if there is no guarantee:
    /// options take nearly a whole capacity, or jobs must run.
    [[nodiscard]] double ratio() const { return 2 * factor_; }
    /// Returns one line for a log about the last problem.
    [[nodiscard]] std::string report() const {
        return result_.report() + "; competitive ratio 2 alpha = " + rounded_text_of(published_ratio()) +
               ", for jobs of these sizes " + rounded_text_of(ratio());
    }

private:
    /// Prices of an empty and of a full resource. `most` is 0 if no job wants any.
    struct Range {
        double least = 0, most = 0;
        double largest_units = 0;                               // largest units of an option
        double step = std::numeric_limits<double>::infinity();  // granule of units, 0 if there is none
        double full = 0;                                        // use at which the price is `most`
    };

    void order_jobs(const AllotmentProblem& problem) {
        density_.assign(problem.jobs(), 0);
        for (std::size_t job = 0; job < problem.jobs(); ++job)
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                double part = 0;
                for (const ResourceUse& use : problem.uses(job, k))
                    if (use.units > 0) part += use.units / problem.capacity[use.resource];
                density_[job] = std::max(density_[job], problem.value(job, k) / std::max(part, 1e-9));
            }
        by_density_.resize(problem.jobs());
        std::iota(by_density_.begin(), by_density_.end(), std::size_t{0});
        std::stable_sort(by_density_.begin(), by_density_.end(),
                         [&](std::size_t a, std::size_t b) { return density_[a] > density_[b]; });
        order_ = by_density_;
        if (settings_.order == PostedOrder::as_listed)
            std::iota(order_.begin(), order_.end(), std::size_t{0});
    }

    void find_price_range(const AllotmentProblem& problem) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        range_.assign(problem.capacity.size(), {infinity});
        // Find what jobs get without prices, densest first. It is a lower bound on the best allotment.
        for (const std::size_t job : by_density_) admit(problem, job, 0);
        const double without_prices = result_.objective;
        result_.choice.assign(problem.jobs(), no_option);
        result_.objective = 0;
        used_.assign(problem.capacity.size(), 0);

        bool promised = true;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            promised &= !problem.must(job);
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                const double value = problem.value(job, k);
                if (value <= 0 || !detail::fits_alone(problem.uses(job, k), problem.capacity)) continue;
                for (const ResourceUse& use : problem.uses(job, k)) {
                    if (use.units <= 0) continue;
                    Range& range = range_[use.resource];
                    const double density = std::clamp(value / use.units, 1e-200, 1e200);
                    range.least = std::min(range.least, density);
                    range.most = std::max(range.most, density);
                    range.step = detail::common_granule(range.step, use.units);
                    range.largest_units = std::max(range.largest_units, use.units);
                }
            }
        }
        const auto wanted = static_cast<double>(
            std::count_if(range_.begin(), range_.end(), [](const Range& r) { return r.most > 0; }));
        alpha_ = factor_ = 1;
        for (std::size_t r = 0; r < range_.size(); ++r) {
            Range& range = range_[r];
            if (range.most == 0) {
                range = {};
                continue;
            }
            const double capacity = problem.capacity[r];
            if (without_prices > 0)
                range.least = std::clamp(without_prices / (2 * wanted * capacity), 1e-200, range.least);
            const double left = capacity - range.largest_units;
            range.full = range.step > 0 ? range.step * (std::floor(left / range.step + 1e-9) + 1) : left;
            const bool small = range.full > 1e-9 * capacity;
            if (!small) range.full = capacity;
            const double growth = std::log(range.most / range.least);
            alpha_ = std::max(alpha_, growth);
            factor_ = std::max(factor_, small ? capacity / range.largest_units *
                                                    std::expm1(growth * range.largest_units / range.full)
                                              : infinity);
        }
        if (!promised) factor_ = infinity;
    }
    [[nodiscard]] double price(std::size_t resource) const {
        const Range& range = range_[resource];
        if (range.most == 0) return 0;
        return std::min(range.most, range.least * std::exp(std::log(range.most / range.least) *
                                                           used_[resource] / range.full));
    }

    /// Gives a job the option with the largest value less `part` times its price, if this difference is
    /// above 0. A job that must run gets an option in any case. Returns whether it got something.
    bool admit(const AllotmentProblem& problem, std::size_t job, double part) {
        std::size_t best = no_option;
        double most = problem.must(job) ? -std::numeric_limits<double>::infinity() : 0;
        for (std::size_t k = 0; k < problem.options_of(job); ++k) {
            if (!detail::fits_beside(problem.uses(job, k), used_, problem.capacity)) continue;
            double payoff = problem.value(job, k);
            if (part > 0)
                for (const ResourceUse& use : problem.uses(job, k))
                    payoff -= part * price(use.resource) * use.units;
            if (payoff <= most) continue;
            most = payoff;
            best = k;
        }
        if (best == no_option) return false;
        result_.choice[job] = best;
        result_.objective += problem.value(job, best);
        for (const ResourceUse& use : problem.uses(job, best)) used_[use.resource] += use.units;
        return true;
    }

    void find_prices(const AllotmentProblem& problem) {
        result_.prices.assign(problem.capacity.size(), 0);
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) result_.prices[r] = price(r);
    }

    /// Sets the bound: the smaller one of the bounds with these prices and without prices.
    void prove(const AllotmentProblem& problem, const AllotOptions& options) {
        const std::vector<double> no_prices(problem.capacity.size(), 0);
        double bound = 0, free = 0;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r)
            bound += problem.capacity[r] * result_.prices[r];
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const auto fits = [&](std::size_t k) {
                return detail::fits_alone(problem.uses(job, k), problem.capacity);
            };
            bound += detail::best_reduced_value(problem, job, result_.prices, fits);
            free += detail::best_reduced_value(problem, job, no_prices, fits);
        }
        result_.bound = std::max(result_.objective, std::min(bound, free));
        const bool proven = result_.gap() <= options.enough(result_.bound);
        result_.status = proven ? AllotStatus::optimal : AllotStatus::feasible;
        result_.stopped = proven ? StopReason::proven : StopReason::states;
    }

    Settings settings_{};
    AllotResult result_;
    std::vector<Range> range_;     // by resource
    std::vector<double> used_;     // by resource
    std::vector<double> density_;  // by job
    std::vector<std::size_t> by_density_, order_;
    double alpha_ = 1, factor_ = 1;
};

}  // namespace goodput::inline v0_1

#endif
