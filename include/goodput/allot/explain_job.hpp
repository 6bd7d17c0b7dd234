#ifndef GOODPUT_ALLOT_EXPLAIN_JOB_HPP
#define GOODPUT_ALLOT_EXPLAIN_JOB_HPP

// Why a job got what it got.
//
// At the prices pi let the reduced value of option k be v_k - pi . a_k, and 0 for getting nothing. What
// a job wants is its option of largest value among those that fit the cluster (the cheapest of these where
// several are worth as much). If it got something of less value, then either
//
//   - the prices speak against it: what it got has the larger reduced value. The resource in the way is the
//     one that contributes most to the price of what is wanted beyond what was got; the wanted option would
//     have to be worth  pi . a_wanted + (largest reduced value of the job's other options, or of nothing);
//   - or they do not: at the prices the job would as soon have what it wants, but options are whole, and what
//     the others hold leaves too little. No worth would be the answer, only room: `no_room` names the
//     resource that lacks most, as a share of its capacity.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

/// No resource is in the way.
inline constexpr std::size_t no_resource = std::numeric_limits<std::size_t>::max();

/// Why a job has what it has.
enum class JobReason {
    got_wanted,  ///< nothing that fits the cluster is worth more to the job
    priced_out,  ///< what it got is better than what it wanted, at these prices
    no_room,     ///< the prices are not against it, but options are whole and too little is left
    within_gap,  ///< it would fit beside the others: the allotment is only proven to its gap, or not at all
    too_large,   ///< every option exceeds a capacity alone
    nothing_offered  ///< the job has no option
};

/// What a job wanted and why it did not get it.
struct JobExplanation {
    std::size_t job = 0;                       ///< index of the job
    JobReason reason = JobReason::got_wanted;  ///< why it has what it has
    std::size_t got = no_option;               ///< index of its option, or no_option
    /// Option of largest value that fits the cluster (no_option: getting nothing is best); too_large: the
    /// option of largest value.
    std::size_t wanted = no_option;
    /// The one in the way: see the reasons above; too_large: the capacity that `wanted` exceeds most.
    std::size_t resource = no_resource;
    double pays = 0;          ///< price of what it got
    double wanted_value = 0;  ///< what `wanted` is worth
    double wanted_price = 0;  ///< and what it costs
    /// From which worth on no other option of the job is better than `wanted` at these prices. Not more than
    /// wanted_value (up to rounding) where a price is not the reason, unless a third option is better.
    double worth_needed = 0;
    /// A job that got nothing, priced out: the option nearest to being given, of largest value for its price
    /// among those that fit the cluster. It would rather have that than nothing from a worth of its price on.
    std::size_t nearest = no_option;
    double nearest_value = 0;           ///< what `nearest` is worth
    double nearest_price = 0;           ///< and what it costs
    std::size_t options_too_large = 0;  ///< how many of its options exceed a capacity alone

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// Why `job` has what the result gives it. Linear in the job's options. A job that is none of the problem's,
/// a result of another problem, and one that is infeasible (see conflict.hpp) get std::invalid_argument.
[[nodiscard]] inline JobExplanation explain_job(const AllotmentProblem& problem, const AllotResult& result,
                                                std::size_t job);

namespace detail {

/// Index of the largest measure(r) above 0 over all resources; the first of equals.
template <class Measure>
std::size_t largest_resource(std::size_t resources, Measure measure) {
    std::size_t found = no_resource;
    double largest = 0;
    for (std::size_t r = 0; r < resources; ++r) {
        const double m = measure(r);
        if (m <= largest) continue;
        largest = m;
        found = r;
    }
    return found;
}

/// explain_job with the units that all jobs together take.
inline JobExplanation explain_job(const AllotmentProblem& problem, const AllotResult& result, std::size_t job,
                                  std::span<const double> taken) {
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

inline JobExplanation explain_job(const AllotmentProblem& problem, const AllotResult& result,
                                  std::size_t job) {
    detail::require_result_of(problem, result);
    if (job >= problem.jobs())
        bad_input("explanation", "job", job, "below the number of jobs, " + text_of(problem.jobs()));
    return detail::explain_job(problem, result, job, detail::units_taken(problem, result.choice));
}

inline std::string JobExplanation::report() const {
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
