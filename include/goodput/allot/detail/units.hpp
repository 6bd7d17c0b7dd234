#ifndef GOODPUT_ALLOT_DETAIL_UNITS_HPP
#define GOODPUT_ALLOT_DETAIL_UNITS_HPP

// Sums over the options of a problem as given. Checks that a result belongs to a problem.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/resource_uses.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1::detail {

/// Returns an option's value; 0 for no_option.
inline double value_of(const AllotmentProblem& problem, std::size_t job, std::size_t option) {
    return option == no_option ? 0 : problem.value(job, option);
}
/// Returns what an option uses; nothing for no_option.
inline std::span<const ResourceUse> uses_of(const AllotmentProblem& problem, std::size_t job,
                                            std::size_t option) {
    return option == no_option ? std::span<const ResourceUse>() : problem.uses(job, option);
}
/// Returns an option's value less its price; 0 for no_option.
inline double reduced_value(const AllotmentProblem& problem, std::size_t job, std::size_t option,
                            std::span<const double> prices) {
    return value_of(problem, job, option) - price_of(uses_of(problem, job, option), prices);
}

/// Returns the best reduced value that a job can have at these prices: with an option that admits(option)
/// allows (by default all of them), or with nothing. Returns -infinity if the job must run and no option is
/// allowed.
template <class Admits = decltype([](std::size_t) { return true; })>
double best_reduced_value(const AllotmentProblem& problem, std::size_t job, std::span<const double> prices,
                          Admits admits = {}) {
    double best = problem.must(job) ? -std::numeric_limits<double>::infinity() : 0;
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        if (admits(k)) best = std::max(best, reduced_value(problem, job, k, prices));
    return best;
}

/// Returns the bound that these prices give: no allotment is worth more (weak duality). All options count,
/// including those that alone exceed a capacity. So the bound also holds for larger capacities, if the
/// price of the additional units is added.
inline double bound_at(const AllotmentProblem& problem, std::span<const double> prices) {
    double bound = 0;
    for (std::size_t r = 0; r < prices.size(); ++r) bound += prices[r] * problem.capacity[r];
    for (std::size_t j = 0; j < problem.jobs(); ++j) bound += best_reduced_value(problem, j, prices);
    return bound;
}

/// Returns whether an option fits next to the units already in use. `ignored`: a resource that does not
/// count.
inline bool fits_beside(std::span<const ResourceUse> uses, std::span<const double> in_use,
                        std::span<const double> capacity, std::size_t ignored = no_option) {
    // If there are few uses, adding them up again for each is faster than keeping sums.
    std::vector<double> sums;
    if (uses.size() > 32) {
        sums.assign(capacity.size(), 0);
        for (const ResourceUse& use : uses) sums[use.resource] += use.units;
    }
    for (const ResourceUse& use : uses) {
        const std::size_t r = use.resource;
        if (r == ignored || use.units == 0) continue;
        const double units = sums.empty() ? units_of(uses, r) : sums[r];
        if ((in_use.empty() ? 0 : in_use[r]) + units > capacity[r] + capacity_tolerance(capacity[r]))
            return false;
    }
    return true;
}

/// Returns whether an option fits an empty cluster.
inline bool fits_alone(std::span<const ResourceUse> uses, std::span<const double> capacity,
                       std::size_t ignored = no_option) {
    return fits_beside(uses, {}, capacity, ignored);
}

/// Refuses prices and choices whose numbers do not match the problem.
inline void require_choice_of(const AllotmentProblem& problem, std::size_t prices, std::size_t choices) {
    if (choices != problem.jobs())
        bad_input("explanation", "number of choices", choices,
                  "the number of jobs, " + text_of(problem.jobs()));
    if (prices != problem.capacity.size())
        bad_input("explanation", "number of prices", prices,
                  "the number of capacities, " + text_of(problem.capacity.size()));
}

/// Refuses a result that does not match the problem, and a result without an allotment.
inline void require_result_of(const AllotmentProblem& problem, const AllotResult& result) {
    if (result.status == AllotStatus::infeasible)
        bad_input("explanation", "status", "infeasible", "optimal or feasible; see conflict_of()");
    if (result.status == AllotStatus::unknown)
        bad_input("explanation", "status", "unknown", "optimal or feasible");
    require_choice_of(problem, result.prices.size(), result.choice.size());
}

/// Returns the units of each resource that the chosen options take.
inline std::vector<double> units_taken(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
    std::vector<double> taken(problem.capacity.size(), 0);
    for (std::size_t job = 0; job < choice.size(); ++job)
        for (const ResourceUse& use : uses_of(problem, job, choice[job])) taken[use.resource] += use.units;
    return taken;
}

}  // namespace goodput::inline v0_1::detail

#endif
