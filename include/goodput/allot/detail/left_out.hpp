#ifndef GOODPUT_ALLOT_DETAIL_LEFT_OUT_HPP
#define GOODPUT_ALLOT_DETAIL_LEFT_OUT_HPP

// Options that the compactor leaves out of a relaxation because they exceed a capacity far too much. The
// prices must be right for these options, too: at prices that only the other options determine, a job might
// want one of them.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/prices.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"

namespace goodput::inline v0_1::detail {

/// Returns a resource of which the uses take far too much, and the units that they take of it; 0 units if
/// there is no such resource. `sums` has a zero per resource, before and after.
inline ResourceUse far_too_much(std::span<const ResourceUse> uses, std::span<const double> capacity,
                                std::span<double> sums) {
    ResourceUse found{0, 0};
    for (const ResourceUse& use : uses) {
        const std::size_t r = use.resource;
        sums[r] += use.units;
        if (sums[r] > capacity[r] + Compactor::most_exceeding(capacity[r])) found = {use.resource, sums[r]};
    }
    for (const ResourceUse& use : uses) sums[use.resource] = 0;
    return found;
}

/// Raises prices until no job wants an option that was left out.
inline void price_out_what_is_left_out(const AllotmentProblem& problem, std::vector<double>& prices) {
    std::vector<double> sums(prices.size(), 0);
    // The options of one job that were left out, each with a resource of which it takes too much.
    std::vector<std::pair<std::size_t, ResourceUse>> left_out;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        left_out.clear();
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            if (const ResourceUse far = far_too_much(problem.uses(job, k), problem.capacity, sums);
                far.units > 0)
                left_out.emplace_back(k, far);
        if (left_out.empty()) continue;
        auto next = left_out.begin();
        const double best = best_reduced_value(problem, job, prices, [&](std::size_t k) {
            const bool stays = next == left_out.end() || next->first != k;
            if (!stays) ++next;
            return stays;
        });
        for (const auto& [k, far] : left_out) {
            double& price = prices[far.resource];
            const double missing = (reduced_value(problem, job, k, prices) - best) / far.units;
            if (missing > 0 && price < highest_price) price = std::min(price + missing, highest_price);
        }
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
