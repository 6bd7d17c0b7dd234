#ifndef GOODPUT_ALLOT_DETAIL_EXPLAIN_HPP
#define GOODPUT_ALLOT_DETAIL_EXPLAIN_HPP

// The bodies of explain.hpp.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

namespace detail {

GOODPUT_BODY JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices,
                                    std::size_t job, std::size_t got, std::span<const double> taken) {
    JobExplanation answer;
    answer.job = job;
    answer.got = got;
    const auto value = [&](std::size_t k) { return value_of(problem, job, k); };
    const auto uses = [&](std::size_t k) { return uses_of(problem, job, k); };
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
    // If there is no alternative, every value is enough, and so is the present one.
    answer.worth_needed = std::isfinite(other) ? answer.wanted_price + other : answer.wanted_value;

    // beyond: units of a resource that the wanted option takes in excess of what the job got. lacks: how
    // many of these units are missing.
    const auto beyond = [&](std::size_t r) {
        return units_of(uses(answer.wanted), r) - units_of(uses(answer.got), r);
    };
    const auto lacks = [&](std::size_t r) { return taken[r] + beyond(r) - problem.capacity[r]; };
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
        if (answer.resource != no_resource)
            answer.short_of =
                units_of(uses(answer.wanted), answer.resource) - problem.capacity[answer.resource];
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
            answer.resource = largest_resource(
                resources, [&](std::size_t r) { return beyond(r) <= 0 ? 0 : share(lacks(r), r); });
        }
        if (answer.resource != no_resource) answer.short_of = std::max(0.0, lacks(answer.resource));
    }
    return answer;
}

inline std::string option_text(std::size_t option) {
    return option == no_option ? "nothing" : "option " + text_of(option);
}

/// Solves the relaxation of the options that fit now, at various capacities.
class Relaxations {
public:
    Relaxations(const AllotmentProblem& problem, std::optional<std::chrono::nanoseconds> deadline)
        : clock_(deadline) {
        fitting_.capacity = problem.capacity;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            fitting_.add_job(problem.must(job));
            for (std::size_t k = 0; k < problem.options_of(job); ++k)
                if (fits_alone(problem.uses(job, k), problem.capacity))
                    fitting_.add_option(problem.value(job, k), problem.uses(job, k));
        }
        now_ = value();
    }

    /// Fills in what one unit more or fewer of a resource changes.
    void explain(ResourceExplanation& answer) {
        const double step = std::min(1.0, answer.capacity);
        double& capacity = fitting_.capacity[answer.resource];
        capacity = answer.capacity + 1;
        const double more = value();
        capacity = answer.capacity - step;
        const double fewer = step > 0 ? value() : -std::numeric_limits<double>::infinity();
        capacity = answer.capacity;
        answer.in_time = !clock_.late();
        answer.loss_of_fewer = std::numeric_limits<double>::infinity();
        if (!answer.in_time || !std::isfinite(now_)) return;
        answer.worth_of_more = std::max(0.0, more - now_);
        if (std::isfinite(fewer)) answer.loss_of_fewer = std::max(0.0, (now_ - fewer) / step);
    }

private:
    /// Returns the optimum, or -infinity if the jobs that must run do not fit or if time has run out.
    double value() {
        if (!clock_.late()) {
            const RelaxedAllotment relaxed = solver_.relax(fitting_, {.deadline = clock_.left()});
            if (found_allotment(relaxed.status)) return relaxed.objective;
        }
        return -std::numeric_limits<double>::infinity();
    }

    Clock clock_;
    AllotmentProblem fitting_;
    Allotter<> solver_;
    double now_ = 0;
};

}  // namespace detail

GOODPUT_BODY JobExplanation explain(const AllotmentProblem& problem, std::span<const double> prices,
                                    std::span<const std::size_t> choice, std::size_t job) {
    detail::require_choice_of(problem, prices.size(), choice.size());
    if (job >= problem.jobs())
        bad_input("explanation", "job", job, "below the number of jobs, " + text_of(problem.jobs()));
    return detail::explain(problem, prices, job, choice[job], detail::units_taken(problem, choice));
}

GOODPUT_BODY Explanation explain(const AllotmentProblem& problem, const AllotResult& result,
                                 std::optional<std::chrono::nanoseconds> deadline) {
    detail::require_result_of(problem, result);
    const std::vector<double> taken = detail::units_taken(problem, result.choice);
    Explanation answer;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        answer.jobs.push_back(detail::explain(problem, result.prices, job, result.choice[job], taken));
    detail::Relaxations relaxations(problem, deadline);
    for (std::size_t r = 0; r < taken.size(); ++r) {
        ResourceExplanation& resource = answer.resources.emplace_back();
        resource.resource = r;
        resource.price = result.prices[r];
        resource.capacity = problem.capacity[r];
        resource.idle = std::max(0.0, resource.capacity - taken[r]);
        relaxations.explain(resource);
    }
    return answer;
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

GOODPUT_BODY std::string ResourceExplanation::report() const {
    const std::string begin = "resource " + text_of(resource) + ": price " + rounded_text_of(price),
                      left =
                          ", " + rounded_text_of(idle) + " of " + rounded_text_of(capacity) + " units idle";
    if (!in_time) return begin + left + "; no time to find out what one more unit is worth";
    const std::string more = rounded_text_of(worth_of_more), fewer = rounded_text_of(loss_of_fewer);
    if (more == fewer) return begin + left;
    return begin + " (one more unit is worth " + more +
           (std::isinf(loss_of_fewer) ? ", none can be spared)" : ", one fewer loses " + fewer + ")") + left;
}

}  // namespace goodput::inline v0_1

#endif
