#ifndef GOODPUT_ALLOT_DETAIL_EXPLAIN_JOB_HPP
#define GOODPUT_ALLOT_DETAIL_EXPLAIN_JOB_HPP

// The bodies behind explain_job.hpp.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/explain_job.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

namespace detail {

/// explain_job with the units that all jobs together take.
GOODPUT_BODY JobExplanation explain_job(const AllotmentProblem& problem, const AllotResult& result,
                                        std::size_t job, std::span<const double> taken) {
    const std::span<const double> prices = result.prices;
    JobExplanation answer;
    answer.job = job;
    answer.got = result.choice[job];
    const auto value = [&](std::size_t k) { return k == no_option ? 0 : problem.value(job, k); };
    const auto uses = [&](std::size_t k) {
        return k == no_option ? std::span<const ResourceUse>() : problem.uses(job, k);
    };
    const auto reduced = [&](std::size_t k) { return reduced_value(problem, job, k, prices); };
    const auto choose = [&](auto admits) {
        std::size_t best = no_option;
        bool any = !problem.must(job);
        for (std::size_t k = 0; k < problem.options_of(job); ++k) {
            if (!admits(k)) continue;
            if (any && (value(k) < value(best) || (value(k) == value(best) && reduced(k) <= reduced(best))))
                continue;
            best = k;
            any = true;
        }
        return best;
    };
    const auto fits = [&](std::size_t k) { return fits_alone(uses(k), problem.capacity); };
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        if (!fits(k)) ++answer.options_too_large;
    answer.wanted = choose(fits);
    const bool none_fits = answer.options_too_large == problem.options_of(job);
    if (none_fits) answer.wanted = choose([](std::size_t) { return true; });
    answer.pays = price_of(uses(answer.got), prices);
    answer.wanted_value = value(answer.wanted);
    answer.wanted_price = price_of(uses(answer.wanted), prices);
    const double other = best_reduced_value(problem, job, prices,
                                            [&](std::size_t k) { return k != answer.wanted && fits(k); });
    // Without an alternative any worth will do, this one too.
    answer.worth_needed = std::isfinite(other) ? answer.wanted_price + other : answer.wanted_value;

    const auto beyond = [&](std::size_t r) {
        return units_of(uses(answer.wanted), r) - units_of(uses(answer.got), r);
    };
    const std::size_t resources = problem.capacity.size();
    const auto share = [&](double units, std::size_t r) {
        return problem.capacity[r] > 0 ? units / problem.capacity[r]
               : units > 0             ? std::numeric_limits<double>::infinity()
                                       : 0;
    };
    if (problem.options_of(job) == 0) {
        answer.reason = JobReason::nothing_offered;
    } else if (none_fits && answer.wanted != no_option) {
        answer.reason = JobReason::too_large;
        answer.resource = largest_resource(resources, [&](std::size_t r) {
            const double units = units_of(uses(answer.wanted), r);
            return units > problem.capacity[r] + capacity_tolerance(problem.capacity[r]) ? share(units, r)
                                                                                         : 0;
        });
    } else if (answer.wanted == no_option || value(answer.got) >= answer.wanted_value) {
        answer.reason = JobReason::got_wanted;
    } else {
        std::vector<double> others(taken.begin(), taken.end());
        for (const ResourceUse& use : uses(answer.got)) others[use.resource] -= use.units;
        const double rounding = 1e-9 * (std::abs(answer.wanted_value) + answer.wanted_price +
                                        std::abs(value(answer.got)) + answer.pays);
        if (fits_beside(uses(answer.wanted), others, problem.capacity)) {
            answer.reason = JobReason::within_gap;
        } else if (reduced(answer.wanted) < reduced(answer.got) - rounding) {
            answer.reason = JobReason::priced_out;
            answer.resource =
                largest_resource(resources, [&](std::size_t r) { return prices[r] * beyond(r); });
            for (std::size_t k = 0; answer.got == no_option && k < problem.options_of(job); ++k) {
                if (!fits(k) || value(k) <= 0) continue;
                const double price = price_of(uses(k), prices);
                // The larger ratio, without dividing by a price of 0.
                if (answer.nearest != no_option &&
                    value(k) * answer.nearest_price <= answer.nearest_value * price)
                    continue;
                answer.nearest = k;
                answer.nearest_value = value(k);
                answer.nearest_price = price;
            }
        } else {
            answer.reason = JobReason::no_room;
            answer.resource = largest_resource(resources, [&](std::size_t r) {
                return beyond(r) <= 0 ? 0 : share(taken[r] + beyond(r) - problem.capacity[r], r);
            });
        }
    }
    return answer;
}

inline std::string option_text(std::size_t option) {
    return option == no_option ? "nothing" : "option " + text_of(option);
}

}  // namespace detail

GOODPUT_BODY JobExplanation explain_job(const AllotmentProblem& problem, const AllotResult& result,
                                        std::size_t job) {
    detail::require_result_of(problem, result);
    if (job >= problem.jobs())
        bad_input("explanation", "job", job, "below the number of jobs, " + text_of(problem.jobs()));
    return detail::explain_job(problem, result, job, detail::units_taken(problem, result.choice));
}

GOODPUT_BODY std::string JobExplanation::report() const {
    const std::string subject =
        "job " + text_of(job) + " got " + detail::option_text(got) + " at price " + rounded_text_of(pays);
    const std::string in_the_way = resource == no_resource ? "" : ", resource " + text_of(resource);
    const std::string instead = " instead of " + detail::option_text(wanted) + " (worth " +
                                rounded_text_of(wanted_value) + ", price " + rounded_text_of(wanted_price) +
                                ")";
    switch (reason) {
        case JobReason::got_wanted:
            return subject + ": nothing that fits the cluster is worth more to it";
        case JobReason::priced_out:
            if (nearest != no_option)
                return subject + ": priced out" + in_the_way + "; nearest is " +
                       detail::option_text(nearest) + " (worth " + rounded_text_of(nearest_value) +
                       ", price " + rounded_text_of(nearest_price) + ")";
            return subject + instead + ": priced out" + in_the_way + "; would have to be worth " +
                   rounded_text_of(worth_needed);
        case JobReason::no_room:
            return subject + instead + ": no room" + in_the_way + "; the prices are not against it";
        case JobReason::within_gap:
            return subject + instead + ": there is room; the allotment is not proven to be the best";
        case JobReason::too_large:
            return "job " + text_of(job) + ": every option exceeds a capacity alone, " +
                   detail::option_text(wanted) + (resource == no_resource ? "" : " that of resource ") +
                   (resource == no_resource ? "" : text_of(resource));
        case JobReason::nothing_offered:
            break;
    }
    return "job " + text_of(job) + ": offers no option";
}

}  // namespace goodput

#endif
