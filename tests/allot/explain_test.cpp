// Explanations say what is so: what is said to be priced out is wanted from the worth on that is named, what
// is said to have no room has none, and prices hold over the capacities that are named and not beyond.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/explain.hpp"
#include "support/allot_oracle.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The same problem with another value of one option.
AllotmentProblem with_value(const AllotmentProblem& problem, std::size_t job, std::size_t option,
                            double value) {
    AllotmentProblem other;
    other.capacity = problem.capacity;
    for (std::size_t j = 0; j < problem.jobs(); ++j) {
        other.add_job(problem.must(j));
        for (std::size_t k = 0; k < problem.options_of(j); ++k)
            other.add_option(j == job && k == option ? value : problem.value(j, k), problem.uses(j, k));
    }
    return other;
}

/// Whether the option, after its price, is better than all others of the job that fit the cluster.
bool preferred(const AllotmentProblem& problem, std::size_t job, std::size_t option,
               const std::vector<double>& prices) {
    const double reduced = support::reduced_value(problem, job, option, prices);
    if (!problem.must(job) && reduced <= 0) return false;
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        if (k != option && support::fits_alone(problem, job, k) &&
            support::reduced_value(problem, job, k, prices) >= reduced)
            return false;
    return true;
}

double largest_value_that_fits(const AllotmentProblem& problem, std::size_t job) {
    double largest = problem.must(job) ? -infinity : 0;
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        if (support::fits_alone(problem, job, k)) largest = std::max(largest, problem.value(job, k));
    return largest;
}

double smallest_value(const AllotmentProblem& problem) {
    double smallest = infinity;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            if (problem.value(job, k) != 0) smallest = std::min(smallest, std::abs(problem.value(job, k)));
    return smallest;
}

/// Units that an option takes of a resource.
double units_of(const AllotmentProblem& problem, std::size_t job, std::size_t option, std::size_t resource) {
    double units = 0;
    if (option == no_option) return 0;
    for (const ResourceUse& use : problem.uses(job, option))
        if (use.resource == resource) units += use.units;
    return units;
}

/// The relaxation at another capacity of a resource, of the options that fit the cluster then.
RelaxedAllotment relaxed_at(AllotmentProblem problem, std::size_t resource, double capacity,
                            Allotter<>& solver) {
    problem.capacity[resource] = capacity;
    return solver.relax(support::without_too_large(problem));
}

AllotmentProblem random_problem(Random& random, int round) {
    return round % 40 == 0 ? support::cluster_problem(random, 64) : support::small_problem(random);
}

}  // namespace

TEST_CASE("the reason of a job is the true one") {
    Random random(1);
    Allotter<> solver;
    std::size_t count[6] = {};
    for (int round = 0; round < support::trials(20'000); ++round) {
        const AllotmentProblem problem = random_problem(random, round);
        const AllotResult result = solver(problem, {.gap = 0});
        if (result.status == AllotStatus::infeasible) continue;
        CAPTURE(round);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            CAPTURE(job);
            const JobExplanation why = explain_job(problem, result, job);
            ++count[static_cast<std::size_t>(why.reason)];
            REQUIRE(why.job == job);
            REQUIRE(why.got == result.choice[job]);
            const double got = why.got == no_option ? 0 : problem.value(job, why.got);
            const double most = largest_value_that_fits(problem, job);
            std::size_t too_large = 0;
            for (std::size_t k = 0; k < problem.options_of(job); ++k)
                too_large += support::fits_alone(problem, job, k) ? 0 : 1;
            REQUIRE(why.options_too_large == too_large);
            if (why.wanted != no_option) REQUIRE(why.wanted_value == problem.value(job, why.wanted));
            if (why.got != no_option)
                REQUIRE(why.pays ==
                        doctest::Approx(problem.value(job, why.got) -
                                        support::reduced_value(problem, job, why.got, result.prices)));
            switch (why.reason) {
                case JobReason::nothing_offered:
                    REQUIRE(problem.options_of(job) == 0);
                    break;
                case JobReason::too_large:
                    REQUIRE(too_large == problem.options_of(job));
                    REQUIRE(units_of(problem, job, why.wanted, why.resource) >
                            problem.capacity[why.resource]);
                    break;
                case JobReason::got_wanted:
                    REQUIRE(got >= most);
                    break;
                case JobReason::priced_out:
                case JobReason::no_room:
                case JobReason::within_gap: {
                    REQUIRE(got < most);
                    REQUIRE(why.wanted_value == most);
                    REQUIRE(support::fits_alone(problem, job, why.wanted));
                    std::vector<std::size_t> instead = result.choice;
                    instead[job] = why.wanted;
                    const bool room = !std::isnan(support::value_of(problem, instead));
                    REQUIRE(room == (why.reason == JobReason::within_gap));
                    if (room) break;
                    REQUIRE(why.resource < problem.capacity.size());
                    REQUIRE(units_of(problem, job, why.wanted, why.resource) >
                            units_of(problem, job, why.got, why.resource));
                    const double reduced_got =
                        why.got == no_option ? 0
                                             : support::reduced_value(problem, job, why.got, result.prices);
                    const double reduced_wanted =
                        support::reduced_value(problem, job, why.wanted, result.prices);
                    const double rounding = 1e-8 * (std::abs(most) + why.wanted_price + std::abs(got));
                    if (why.reason == JobReason::priced_out) {
                        REQUIRE(reduced_wanted < reduced_got);
                        REQUIRE(result.prices[why.resource] > 0);
                        for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
                            const auto part = [&](std::size_t of) {
                                return result.prices[of] * (units_of(problem, job, why.wanted, of) -
                                                            units_of(problem, job, why.got, of));
                            };
                            REQUIRE(part(r) <= part(why.resource));
                        }
                    } else {
                        REQUIRE(reduced_wanted >= reduced_got - rounding);
                        double used = 0;
                        for (std::size_t j = 0; j < problem.jobs(); ++j)
                            used += units_of(problem, j, instead[j], why.resource);
                        REQUIRE(used > problem.capacity[why.resource]);
                    }
                    break;
                }
            }
            REQUIRE(why.report().find("job " + text_of(job)) == 0);
        }
    }
    for (const JobReason seen : {JobReason::got_wanted, JobReason::priced_out, JobReason::no_room,
                                 JobReason::too_large, JobReason::nothing_offered})
        CHECK(count[static_cast<std::size_t>(seen)] > support::trials(1'000));
    CHECK(count[static_cast<std::size_t>(JobReason::within_gap)] == 0);  // gap 0
}

TEST_CASE("a wanted option is the job's choice at these prices from the worth on that is named") {
    Random random(2);
    Allotter<> solver;
    int priced_out = 0;
    for (int round = 0; round < support::trials(20'000); ++round) {
        const AllotmentProblem problem = random_problem(random, round);
        const AllotResult result = solver(problem, {.gap = 0});
        if (result.status == AllotStatus::infeasible) continue;
        CAPTURE(round);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const JobExplanation why = explain_job(problem, result, job);
            if (why.reason != JobReason::priced_out) continue;
            ++priced_out;
            REQUIRE(why.worth_needed > why.wanted_value);
            const double step = 1e-9 * (std::abs(why.worth_needed) + why.wanted_price);
            const AllotmentProblem above = with_value(problem, job, why.wanted, why.worth_needed + step);
            const AllotmentProblem below = with_value(problem, job, why.wanted, why.worth_needed - step);
            REQUIRE(preferred(above, job, why.wanted, result.prices));
            REQUIRE(!preferred(below, job, why.wanted, result.prices));
        }
    }
    CHECK(priced_out > support::trials(2'000));
}

TEST_CASE("a price holds over the range of capacities that is named, and no farther") {
    Random random(3);
    Allotter<> solver, ranging, relaxer;
    int ends[4] = {}, ranges = 0, points = 0, outside = 0;
    for (int round = 0; round < support::trials(6'000); ++round) {
        const AllotmentProblem problem = random_problem(random, round);
        const AllotResult result = solver(problem, {.gap = 1e-2});
        if (result.status == AllotStatus::infeasible) continue;
        CAPTURE(round);
        const double scale = support::scale_of(problem);
        const double dual = support::bound_at(support::without_too_large(problem), result.prices);
        const std::vector<std::size_t> choice = result.choice;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
            CAPTURE(r);
            const double present = problem.capacity[r];
            const ResourceExplanation range = explain_resource(problem, result, r, ranging);
            ++ranges;
            ++ends[static_cast<std::size_t>(range.least_end)];
            ++ends[static_cast<std::size_t>(range.most_end)];
            REQUIRE(range.price == result.prices[r]);
            REQUIRE(range.capacity == present);
            double used = 0;
            for (std::size_t job = 0; job < problem.jobs(); ++job)
                used += units_of(problem, job, choice[job], r);
            REQUIRE(range.idle == doctest::Approx(present - used).epsilon(1e-9).scale(present + 1));
            REQUIRE(range.least >= 0);
            REQUIRE(range.least <= present);
            REQUIRE(range.most >= present);
            REQUIRE((range.most == infinity) == (range.most_end == RangeEnd::unlimited));
            if (range.most_end == RangeEnd::unlimited) REQUIRE(range.price * present <= 1e-11 * scale);
            if (range.least == range.most) ++points;
            CAPTURE(range.report());
            // Inside, the relaxation's value lies on the line with the price as slope.
            const double most = std::min(range.most, 2 * present + 20);
            for (const double at : {0.001, 0.3, 0.7, 0.999}) {
                const double capacity = range.least + at * (most - range.least);
                const RelaxedAllotment relaxed = relaxed_at(problem, r, capacity, relaxer);
                CAPTURE(capacity);
                const double expected = dual + range.price * (capacity - present);
                if (relaxed.status == AllotStatus::infeasible) {
                    REQUIRE(capacity - range.least <= 1e-8 * (1 + present));
                    continue;
                }
                REQUIRE(std::abs(relaxed.objective - expected) <= 1e-9 * (scale + std::abs(expected)));
            }
            // Outside it lies below, unless other options fit there; where values differ so much that
            // rounding of the large ones hides the small ones, that cannot be seen.
            const double step = 0.01 * (1 + present);
            if (smallest_value(problem) < 1e-6 * scale) continue;
            if (range.price > 0 && range.price * step < 1e-8 * scale) continue;
            if (range.most_end == RangeEnd::price) {
                const AllotmentProblem fitting = support::without_too_large(problem);
                AllotmentProblem larger = fitting;
                larger.capacity[r] = range.most + step;
                const double expected = dual + range.price * (range.most + step - present);
                REQUIRE(relaxer.relax(larger).objective <= expected - 1e-12 * scale);
                ++outside;
            }
            if (range.least_end == RangeEnd::price && range.least > 0) {
                const double capacity = std::max(0.0, range.least - step);
                const RelaxedAllotment relaxed = relaxed_at(problem, r, capacity, relaxer);
                const double expected = dual + range.price * (capacity - present);
                if (relaxed.status != AllotStatus::infeasible)
                    REQUIRE(relaxed.objective <= expected - 1e-12 * scale);
                ++outside;
            }
            if (range.least_end == RangeEnd::capacity && range.least > 1e-6) {
                const RelaxedAllotment relaxed = relaxed_at(problem, r, range.least * 0.999, relaxer);
                REQUIRE(relaxed.status == AllotStatus::infeasible);
                ++outside;
            }
        }
    }
    CHECK(ranges > support::trials(10'000));
    CHECK(outside > support::trials(3'000));
    CHECK(points <
          ranges / 100);  // prices lie at a corner, so that they hold for more than the present capacity
    for (const int of_end : ends) CHECK(of_end > 100);
}

TEST_CASE(
    "three GPUs for two jobs: who is priced out, what he would have to be worth, how far the price goes") {
    AllotmentProblem problem;
    problem.capacity = {3};
    problem.add_job();
    problem.add_option(4, {{0, 1}});
    problem.add_option(7, {{0, 2}});
    problem.add_job();
    problem.add_option(3.5, {{0, 1}});
    problem.add_option(5, {{0, 2}});
    const AllotResult result = allot(problem);
    REQUIRE(result.choice == std::vector<std::size_t>{1, 0});
    const Explanation why = explain(problem, result);
    CHECK(why.jobs[0].reason == JobReason::got_wanted);
    CHECK(why.jobs[1].reason == JobReason::priced_out);
    CHECK(why.jobs[1].wanted == 1);
    CHECK(why.jobs[1].resource == 0);
    const double price = result.prices[0];  // anything from 1.5 (one more GPU) to 3 (one less)
    CHECK(why.jobs[1].worth_needed == doctest::Approx(3.5 + price));
    CHECK(why.jobs[1].report() == "job 1 got option 0 at price " + rounded_text_of(price) +
                                      " instead of option 1 (worth 5, price " + rounded_text_of(2 * price) +
                                      "): priced out, resource 0; would have to be worth " +
                                      rounded_text_of(3.5 + price));
    const ResourceExplanation& gpus = why.resources[0];
    CHECK(gpus.idle == 0);
    CHECK(gpus.least == doctest::Approx(price == doctest::Approx(3) ? 2 : 3));
    CHECK(gpus.most == doctest::Approx(price == doctest::Approx(1.5) ? 4 : 3));
    CHECK(gpus.report().find("resource 0: price ") == 0);
}

TEST_CASE("what no prices explain is no room, and what a gap leaves is said to be that") {
    AllotmentProblem problem;
    problem.capacity = {3};
    for (int job = 0; job < 2; ++job) {
        problem.add_job();
        problem.add_option(1, {{0, 2}});
    }
    AllotResult result = allot(problem, {.gap = 0});
    const std::size_t loser = result.choice[0] == no_option ? 0 : 1;
    const JobExplanation why = explain_job(problem, result, loser);
    CHECK(why.reason == JobReason::no_room);
    CHECK(why.resource == 0);
    CHECK(why.worth_needed == doctest::Approx(why.wanted_value));

    result.choice = {no_option, no_option};
    result.status = AllotStatus::feasible;
    CHECK(explain_job(problem, result, 0).reason == JobReason::within_gap);
}

TEST_CASE("a price lies between what one more unit is worth and what one fewer loses, in the relaxation") {
    Random random(7);
    Allotter<> solver, relaxer;
    int kinks = 0, smooth = 0, spared = 0;
    for (int round = 0; round < support::trials(5000); ++round) {
        const AllotmentProblem problem = random_problem(random, round);
        AllotResult result = solver(problem, {.gap = 0});
        if (!found_allotment(result.status)) continue;
        // Prices that a deadline cut off do not change what units are worth.
        if (round % 3 == 0) result = Allotter<>()(problem, {.deadline = std::chrono::nanoseconds(0)});
        if (!found_allotment(result.status)) continue;
        CAPTURE(round);
        const AllotmentProblem fitting = support::without_too_large(problem);
        double scale = 0;
        for (std::size_t job = 0; job < fitting.jobs(); ++job)
            for (const double value : fitting.values(job)) scale += std::abs(value);
        const RelaxedAllotment now = relaxer.relax(fitting);
        if (!found_allotment(now.status)) continue;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
            CAPTURE(r);
            const ResourceExplanation said = explain_resource(problem, result, r);
            const double present = problem.capacity[r], step = 1e-4 * (1 + present),
                         rounding = 1e-9 * scale + 1e-12;
            if (round % 3 != 0) {
                REQUIRE(said.worth_of_more <= said.price);
                REQUIRE(said.price <= said.loss_of_fewer);
            }
            REQUIRE(said.worth_of_more >= 0);
            // Concave: units are worth at most the slope, and on the first of them just that.
            AllotmentProblem other = fitting;
            other.capacity[r] = present + step;
            const double gain = relaxer.relax(other).objective - now.objective;
            REQUIRE(gain <= said.worth_of_more * step + rounding);
            other.capacity[r] = present + step * 1e-2;
            const double first = relaxer.relax(other).objective - now.objective;
            REQUIRE(first >= said.worth_of_more * step * 1e-2 - rounding);
            if (present <= step) continue;
            const auto fewer = [&](double units) {
                AllotmentProblem less = fitting;
                less.add_job(true);
                less.add_option(0, {{static_cast<std::uint32_t>(r), units}});
                return relaxer.relax(less);
            };
            const RelaxedAllotment less = fewer(step * 1e-2);
            if (!found_allotment(less.status)) continue;
            ++spared;
            REQUIRE(std::isfinite(said.loss_of_fewer));
            REQUIRE(now.objective - less.objective <= said.loss_of_fewer * step * 1e-2 + rounding);
            REQUIRE(now.objective - less.objective >= said.loss_of_fewer * step * 1e-2 - rounding);
            ++(said.loss_of_fewer > said.worth_of_more + 1e-6 * scale ? kinks : smooth);
        }
    }
    CHECK(kinks > support::trials(300));
    CHECK(smooth > support::trials(300));
    CHECK(spared > support::trials(600));
}

TEST_CASE("the solver that found the result may explain it") {
    Random random(8);
    for (int round = 0; round < 500; ++round) {
        const AllotmentProblem problem = support::small_problem(random);
        Allotter<> own, other;
        const AllotResult& reference = own(problem, {.gap = 0});
        if (!found_allotment(reference.status)) continue;
        const AllotResult kept = reference;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
            CAPTURE(round);
            const ResourceExplanation expected = explain_resource(problem, kept, r, other);
            Allotter<> same;
            const ResourceExplanation said = explain_resource(problem, same(problem, {.gap = 0}), r, same);
            REQUIRE(said.price == expected.price);
            REQUIRE(said.idle == expected.idle);
            REQUIRE(said.least == doctest::Approx(expected.least).epsilon(1e-6));
            if (std::isfinite(expected.most))
                REQUIRE(said.most == doctest::Approx(expected.most).epsilon(1e-6));
        }
    }
}

TEST_CASE("a job that got nothing is told what is nearest to its price, not what is dearest") {
    AllotmentProblem problem;
    problem.capacity = {4};
    problem.add_job();
    problem.add_option(40, {{0, 4}});
    problem.add_job();
    problem.add_option(9, {{0, 1}});
    problem.add_option(12, {{0, 4}});
    const AllotResult result = allot(problem, {.gap = 0});
    REQUIRE(result.choice == std::vector<std::size_t>{0, no_option});
    const JobExplanation why = explain_job(problem, result, 1);
    CHECK(why.reason == JobReason::priced_out);
    CHECK(why.wanted == 1);
    CHECK(why.nearest == 0);
    CHECK(why.nearest_value == 9);
    CHECK(why.nearest_price == doctest::Approx(result.prices[0]));
    CHECK(why.report() ==
          "job 1 got nothing at price 0: priced out, resource 0; nearest is option 0 (worth "
          "9, price " +
              rounded_text_of(result.prices[0]) + ")");
    CHECK(explain_job(problem, result, 0).nearest == no_option);
}

TEST_CASE("a range that begins with no capacity at all begins at 0, not at -0") {
    AllotmentProblem problem;
    problem.capacity = {4};
    problem.add_job(true);
    problem.add_option(1, {{0, 0}});
    const ResourceExplanation idle = explain_resource(problem, allot(problem), 0);
    CHECK(!std::signbit(idle.least));
    CHECK(idle.report() == "resource 0: price 0, 4 of 4 units idle; the price holds from capacity 0 upward");
}

TEST_CASE("a deadline leaves the prices, and of each resource all of the range or nothing") {
    Random random(31);
    AllotmentProblem problem = support::hard_problem(random, 200);
    const AllotResult result = allot(problem, {.gap = 1e-2});
    const auto explained = [&](std::optional<std::chrono::nanoseconds> deadline) {
        return explain(problem, result, deadline);
    };
    const Explanation all = explained(std::nullopt);
    using namespace std::chrono_literals;
    for (const auto deadline : {0ns, 100'000ns, 1'000'000ns, 10'000'000ns, std::chrono::nanoseconds::max()}) {
        const Explanation some = explained(deadline);
        REQUIRE(some.jobs.size() == problem.jobs());
        REQUIRE(some.resources.size() == 4);
        bool time_left = true;
        for (std::size_t r = 0; r < 4; ++r) {
            const ResourceExplanation &got = some.resources[r], &whole = all.resources[r];
            CHECK(got.price == whole.price);
            CHECK(got.idle == whole.idle);
            if (got.most_end != RangeEnd::deadline) {
                CHECK(time_left);
                CHECK(got.report() == whole.report());
                continue;
            }
            time_left = false;
            CHECK(got.least_end == RangeEnd::deadline);
            CHECK(got.least == got.capacity);
            CHECK(got.most == got.capacity);
            CHECK(got.worth_of_more == 0);
            CHECK(std::isinf(got.loss_of_fewer));
            CHECK(got.report().find("no time to find out how far the price holds") != std::string::npos);
        }
        if (deadline == 0ns) CHECK_FALSE(time_left);
        if (deadline == std::chrono::nanoseconds::max()) CHECK(time_left);
    }
}

TEST_CASE("a job that could have more, in an allotment that is not the best, is told so") {
    AllotmentProblem problem;
    problem.capacity = {4};
    problem.add_job();
    problem.add_option(3, {{0, 2}});
    AllotResult result = allot(problem);
    result.choice = {no_option};
    result.objective = 0;
    result.status = AllotStatus::feasible;
    const JobExplanation why = explain_job(problem, result, 0);
    CHECK(why.reason == JobReason::within_gap);
    CHECK(why.report().ends_with("there is room; the allotment is not proven to be the best"));
}

TEST_CASE("an option without a job is refused") {
    AllotmentProblem problem;
    problem.capacity = {1};
    const auto add = [&] { problem.add_option(1, {{0, 1}}); };
    CHECK_THROWS_WITH(
        add(), "allotment problem: number of jobs is 0, but must be at least 1 when an option is added");
    CHECK(problem.options() == 0);
    problem.add_job();
    add();
    problem.clear();
    CHECK_THROWS_AS(add(), std::invalid_argument);
}

TEST_CASE("explanations of what is not there are refused") {
    AllotmentProblem problem;
    problem.capacity = {1};
    problem.add_job(true);
    problem.add_option(1, {{0, 1}});
    AllotResult result = allot(problem);
    Allotter<> solver;
    CHECK_THROWS_AS(static_cast<void>(explain_job(problem, result, 1)), std::invalid_argument);
    CHECK_THROWS_AS(static_cast<void>(explain_resource(problem, result, 1, solver)), std::invalid_argument);
    AllotResult priceless = result;
    priceless.prices.clear();
    CHECK_THROWS_WITH(static_cast<void>(explain(problem, priceless)),
                      "explanation: number of prices is 0, but must be the number of capacities, 1");
    problem.add_job(true);
    CHECK_THROWS_AS(static_cast<void>(explain(problem, result)), std::invalid_argument);
    CHECK_THROWS_WITH(
        static_cast<void>(explain_job(problem, allot(problem), 0)),
        "explanation: status is infeasible, but must be optimal or feasible; see conflict_of()");
    CHECK_THROWS_AS(static_cast<void>(explain(problem, allot(problem))), std::invalid_argument);
}
