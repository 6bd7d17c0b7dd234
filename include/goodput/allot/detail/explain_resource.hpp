#ifndef GOODPUT_ALLOT_DETAIL_EXPLAIN_RESOURCE_HPP
#define GOODPUT_ALLOT_DETAIL_EXPLAIN_RESOURCE_HPP

// The bodies behind explain_resource.hpp.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/units.hpp"
#include "goodput/allot/explain_resource.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"

namespace goodput {

namespace detail {

/// The relaxation as a function of the capacity of one resource, with the options that fit the cluster now.
class CapacityRange {
public:
    /// Its memory may serve several resources of one problem; its time is that of all of them.
    CapacityRange(const AllotmentProblem& problem, Allotter<>& solver,
                  std::optional<std::chrono::nanoseconds> deadline)
        : problem_(problem), solver_(solver), clock_(deadline) {
        fitting_.capacity = problem.capacity;
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            fitting_.add_job(problem.must(job));
            double largest = 0;
            for (std::size_t k = 0; k < problem.options_of(job); ++k) {
                if (!fits_alone(problem.uses(job, k), problem.capacity)) continue;
                fitting_.add_option(problem.value(job, k), problem.uses(job, k));
                largest = std::max(largest, std::abs(problem.value(job, k)));
            }
            magnitude_ += largest;
        }
    }

    /// What a resource is worth at these prices, as far as there is the time; `taken`: units that jobs have.
    ResourceExplanation explain(std::span<const double> prices, std::size_t resource, double taken) {
        ResourceExplanation answer;
        answer.resource = resource;
        answer.price = prices[resource];
        answer.capacity = problem_.capacity[resource];
        answer.idle = std::max(0.0, answer.capacity - taken);
        if (!clock_.late()) look(prices, answer);
        if (!clock_.late()) return answer;
        answer.worth_of_more = 0;
        answer.loss_of_fewer = std::numeric_limits<double>::infinity();
        answer.least = answer.most = answer.capacity;
        answer.least_end = answer.most_end = RangeEnd::deadline;
        return answer;
    }

private:
    /// A value at a capacity, with the slope of a line through it.
    struct Point {
        double capacity = 0, value = 0, slope = 0;
        [[nodiscard]] double line(double at) const { return value + slope * (at - capacity); }
    };

    void look(std::span<const double> prices, ResourceExplanation& answer) {
        warm_ = false;
        resource_ = answer.resource;
        present_ = answer.capacity;
        const Point reported{present_, bound_at(fitting_, prices), answer.price};
        grow(reported, answer);
        shrink(reported, answer);
        limit_by_options(prices, answer);
        const std::optional<Point> now = solve(present_);
        if (!now || reported.value - now->value <= 1e-9 * magnitude_) return;
        // Prices that a deadline cut off: the slopes are those at the prices of the relaxation.
        ResourceExplanation uncut = answer;
        grow(*now, uncut);
        shrink(*now, uncut);
        answer.worth_of_more = uncut.worth_of_more;
        answer.loss_of_fewer = uncut.loss_of_fewer;
    }

    /// Each search after the first starts from the prices of the one before: what the solver did before is of
    /// no account.
    RelaxedAllotment relax_trial() {
        return solver_.relax(trial_, {.deadline = clock_.left(), .warm_start = std::exchange(warm_, true)});
    }

    [[nodiscard]] double tolerance() const { return 1e-11 * magnitude_; }

    /// The relaxation at another capacity; nothing where the jobs that must run do not fit, or it is late.
    std::optional<Point> solve(double capacity) {
        trial_ = fitting_;
        if (capacity >= present_) {
            trial_.capacity[resource_] = capacity;
        } else {
            // Less capacity with the same options: a job that must run holds the rest.
            trial_.add_job(true);
            trial_.add_option(0, {{static_cast<std::uint32_t>(resource_), present_ - capacity}});
        }
        const RelaxedAllotment relaxed = relax_trial();
        if (clock_.late() || !found_allotment(relaxed.status)) return std::nullopt;
        return Point{capacity, relaxed.objective, relaxed.prices[resource_]};
    }

    /// Newton's method from a point beyond the end towards the present capacity. Returns the end, which is
    /// `from` itself if the line touches there. `slope`: of the relaxation at the present capacity, on the
    /// side of the point.
    double end_of_line(const Point& present, Point point, double& slope) {
        slope = present.slope;
        for (int step = 0; step < most_steps; ++step) {
            const double above = present.line(point.capacity) - point.value;
            if (above <= tolerance()) {
                if (std::abs(point.capacity - present_) > 1e-9 * (1 + present_)) slope = present.slope;
                return point.capacity;
            }
            slope = (point.value - present.value) / (point.capacity - present_);
            if (point.slope == present.slope)
                break;  // rounding: no point of touch, the prices are not optimal
            const double next = point.capacity + above / (point.slope - present.slope);
            const bool between = point.capacity > present_ ? next < point.capacity && next > present_
                                                           : next > point.capacity && next < present_;
            if (!between) break;
            const std::optional<Point> found = solve(next);
            if (!found) break;
            point = *found;
        }
        return present_;
    }

    void grow(const Point& present, ResourceExplanation& answer) {
        // Beyond what all jobs together could ever use nothing is worth more.
        double all = 0;
        for (std::size_t job = 0; job < fitting_.jobs(); ++job) {
            double largest = 0;
            for (std::size_t k = 0; k < fitting_.options_of(job); ++k)
                largest = std::max(largest, units_of(fitting_.uses(job, k), resource_));
            all += largest;
        }
        answer.most_end = RangeEnd::unlimited;
        answer.most = std::numeric_limits<double>::infinity();
        answer.worth_of_more = 0;
        if (present.slope * std::max(all, present_) <= tolerance()) return;
        answer.most_end = RangeEnd::price;
        answer.most = present_;
        if (all <= present_) return;
        if (std::optional<Point> last = solve(all)) {
            last->slope = 0;
            answer.most = end_of_line(present, *last, answer.worth_of_more);
            answer.worth_of_more = std::clamp(answer.worth_of_more, 0.0, present.slope);
        }
    }

    void shrink(const Point& present, ResourceExplanation& answer) {
        const double least = least_capacity();
        std::optional<Point> first = solve(least);
        // Rounding may put the very least capacity on the wrong side.
        if (!first) first = solve(std::min(present_, least + 1e-9 * present_));
        answer.loss_of_fewer = std::numeric_limits<double>::infinity();
        answer.least = first ? end_of_line(present, *first, answer.loss_of_fewer) : present_;
        answer.loss_of_fewer = std::max(answer.loss_of_fewer, present.slope);
        answer.least_end = RangeEnd::price;
        if (answer.least <= least + 2e-9 * present_) {
            answer.least = least;
            answer.least_end = RangeEnd::capacity;
        }
        if (present_ <= least + 2e-9 * present_)
            answer.loss_of_fewer = std::numeric_limits<double>::infinity();
    }

    /// With how little of the resource the relaxation still has a solution.
    double least_capacity() {
        trial_.clear();
        trial_.capacity = fitting_.capacity;
        for (std::size_t job = 0; job < fitting_.jobs(); ++job) {
            if (!fitting_.must(job)) continue;
            trial_.add_job(true);
            for (std::size_t k = 0; k < fitting_.options_of(job); ++k)
                trial_.add_option(-units_of(fitting_.uses(job, k), resource_), fitting_.uses(job, k));
        }
        if (trial_.jobs() == 0) return 0;
        const RelaxedAllotment relaxed = relax_trial();
        return std::clamp(0 - relaxed.objective, 0.0, present_);  // 0 - 0 is 0, where -0 would be "-0"
    }

    void limit_by_options(std::span<const double> prices, ResourceExplanation& answer) const {
        for (std::size_t job = 0; job < problem_.jobs(); ++job) {
            const double best = best_reduced_value(fitting_, job, prices);
            for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
                const std::span<const ResourceUse> uses = problem_.uses(job, k);
                const double units = units_of(uses, resource_);
                if (!fits_alone(uses, problem_.capacity, resource_)) continue;
                const double price = price_of(uses, prices), value = problem_.value(job, k);
                const double rounding = 1e-12 * (std::abs(value) + price + magnitude_);
                const double regret = best - (value - price);
                if (fits_alone(uses, problem_.capacity)) {
                    if (units <= answer.least || regret > rounding) continue;
                    answer.least = std::min(units, present_);
                    answer.least_end = RangeEnd::options;
                } else if (units < answer.most && regret < -rounding) {
                    answer.most = units;
                    answer.most_end = RangeEnd::options;
                }
            }
        }
    }

    static constexpr int most_steps = 100;

    const AllotmentProblem& problem_;
    Allotter<>& solver_;
    Clock clock_;
    AllotmentProblem fitting_, trial_;
    std::size_t resource_ = 0;
    bool warm_ = false;
    double magnitude_ = 0, present_ = 0;
};

}  // namespace detail

GOODPUT_BODY ResourceExplanation explain_resource(const AllotmentProblem& problem, const AllotResult& result,
                                                  std::size_t resource, Allotter<>& solver,
                                                  std::optional<std::chrono::nanoseconds> deadline) {
    detail::require_result_of(problem, result);
    if (resource >= problem.capacity.size())
        bad_input("explanation", "resource", resource,
                  "below the number of capacities, " + text_of(problem.capacity.size()));
    const std::vector<double> prices = result.prices;  // may be the solver's own
    const double taken = detail::units_taken(problem, result.choice)[resource];
    return detail::CapacityRange(problem, solver, deadline).explain(prices, resource, taken);
}

GOODPUT_BODY ResourceExplanation explain_resource(const AllotmentProblem& problem, const AllotResult& result,
                                                  std::size_t resource,
                                                  std::optional<std::chrono::nanoseconds> deadline) {
    Allotter<> solver;
    return explain_resource(problem, result, resource, solver, deadline);
}

GOODPUT_BODY std::string ResourceExplanation::report() const {
    const std::string begin = "resource " + text_of(resource) + ": price " + rounded_text_of(price),
                      left =
                          ", " + rounded_text_of(idle) + " of " + rounded_text_of(capacity) + " units idle";
    if (most_end == RangeEnd::deadline) return begin + left + "; no time to find out how far the price holds";
    const std::string more = rounded_text_of(worth_of_more), fewer = rounded_text_of(loss_of_fewer);
    const std::string slopes = more == fewer ? ""
                               : std::isinf(loss_of_fewer)
                                   ? " (one more unit is worth " + more + ", none can be spared)"
                                   : " (one more unit is worth " + more + ", one fewer loses " + fewer + ")";
    const std::string text =
        begin + slopes + left + "; the price holds from capacity " + rounded_text_of(least);
    if (most_end == RangeEnd::unlimited) return text + " upward";
    return text + " to " + rounded_text_of(most);
}

}  // namespace goodput

#endif
