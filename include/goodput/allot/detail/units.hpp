#ifndef GOODPUT_ALLOT_DETAIL_UNITS_HPP
#define GOODPUT_ALLOT_DETAIL_UNITS_HPP

// Sums over the uses of an option as given, where one resource may stand several times; and whether a result
// belongs to a problem.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/error.hpp"

namespace goodput::detail {

inline double price_of(std::span<const ResourceUse> uses, std::span<const double> prices) {
    double sum = 0;
    for (const ResourceUse& use : uses) sum += prices[use.resource] * use.units;
    return sum;
}

/// What is left of an option's value after its price; 0 of no_option.
inline double reduced_value(const AllotmentProblem& problem, std::size_t job, std::size_t option,
                            std::span<const double> prices) {
    return option == no_option ? 0 : problem.value(job, option) - price_of(problem.uses(job, option), prices);
}

/// The best that a job can do at these prices with the options that admits(option) allows, all of them if it
/// is left out, or with nothing; -infinity if it must run and none is allowed.
template <class Admits = decltype([](std::size_t) { return true; })>
double best_reduced_value(const AllotmentProblem& problem, std::size_t job, std::span<const double> prices,
                          Admits admits = {}) {
    double best = problem.must(job) ? -std::numeric_limits<double>::infinity() : 0;
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        if (admits(k)) best = std::max(best, reduced_value(problem, job, k, prices));
    return best;
}

/// What no allotment is worth more than, by these prices (weak duality). All options count, those that exceed
/// a capacity alone as well, so that it also holds for larger capacities at what the additional units cost.
inline double bound_at(const AllotmentProblem& problem, std::span<const double> prices) {
    double bound = 0;
    for (std::size_t r = 0; r < prices.size(); ++r) bound += prices[r] * problem.capacity[r];
    for (std::size_t j = 0; j < problem.jobs(); ++j) bound += best_reduced_value(problem, j, prices);
    return bound;
}

/// Units of one resource.
inline double units_of(std::span<const ResourceUse> uses, std::size_t resource) {
    double sum = 0;
    for (const ResourceUse& use : uses)
        if (use.resource == resource) sum += use.units;
    return sum;
}

/// Whether units that are in use already leave room for an option. `ignored`: a resource that is not looked
/// at.
inline bool fits_beside(std::span<const ResourceUse> uses, std::span<const double> in_use,
                        std::span<const double> capacity, std::size_t ignored = no_option) {
    // Of few uses the sums are had more quickly by looking at all again.
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

/// Whether an option fits a cluster that is empty.
inline bool fits_alone(std::span<const ResourceUse> uses, std::span<const double> capacity,
                       std::size_t ignored = no_option) {
    return fits_beside(uses, {}, capacity, ignored);
}

/// Refuses prices and choices that are not this problem's.
inline void require_choice_of(const AllotmentProblem& problem, std::size_t prices, std::size_t choices) {
    if (choices != problem.jobs())
        bad_input("explanation", "number of choices", choices,
                  "the number of jobs, " + text_of(problem.jobs()));
    if (prices != problem.capacity.size())
        bad_input("explanation", "number of prices", prices,
                  "the number of capacities, " + text_of(problem.capacity.size()));
}

/// Refuses a result that is not this problem's, and one without an allotment.
inline void require_result_of(const AllotmentProblem& problem, const AllotResult& result) {
    if (result.status == AllotStatus::infeasible)
        bad_input("explanation", "status", "infeasible", "optimal or feasible; see conflict_of()");
    if (result.status == AllotStatus::unknown)
        bad_input("explanation", "status", "unknown", "optimal or feasible");
    require_choice_of(problem, result.prices.size(), result.choice.size());
}

/// Units of each resource that a choice takes.
inline std::vector<double> units_taken(const AllotmentProblem& problem, std::span<const std::size_t> choice) {
    std::vector<double> taken(problem.capacity.size(), 0);
    for (std::size_t job = 0; job < choice.size(); ++job)
        if (choice[job] != no_option)
            for (const ResourceUse& use : problem.uses(job, choice[job])) taken[use.resource] += use.units;
    return taken;
}

}  // namespace goodput::detail

#endif
