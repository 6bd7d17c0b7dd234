// Explanations are true: an option that is called priced out is wanted from the named value on, an option
// said to have no room has none, and one unit more or fewer changes the optimum by the named amount.

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

/// Returns the same problem, except for the value of one option.
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

/// Returns whether the option, after paying the prices, is the job's best among those that fit the cluster.
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

/// Returns the units of a resource that an option takes.
double units_of(const AllotmentProblem& problem, std::size_t job, std::size_t option, std::size_t resource) {
    double units = 0;
    if (option == no_option) return 0;
    for (const ResourceUse& use : problem.uses(job, option))
        if (use.resource == resource) units += use.units;
    return units;
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
            const JobExplanation why = explain(problem, result.prices, result.choice, job);
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
                    REQUIRE(why.short_of == units_of(problem, job, why.wanted, why.resource) -
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
                        REQUIRE(why.short_of == doctest::Approx(used - problem.capacity[why.resource]));
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
    CHECK(count[static_cast<std::size_t>(JobReason::within_gap)] == 0);  // the gap is 0
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
            const JobExplanation why = explain(problem, result.prices, result.choice, job);
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

TEST_CASE("three GPUs for two jobs: who is priced out, the worth that would win, and what a GPU is worth") {
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
    const double price = result.prices[0];  // between 1.5 (one GPU more) and 3 (one GPU less)
    CHECK(why.jobs[1].worth_needed == doctest::Approx(3.5 + price));
    CHECK(why.jobs[1].report() == "job 1 got option 0 at price " + rounded_text_of(price) +
                                      " instead of option 1 (worth 5, price " + rounded_text_of(2 * price) +
                                      "): priced out, resource 0; would have to be worth " +
                                      rounded_text_of(3.5 + price));
    const ResourceExplanation& gpus = why.resources[0];
    CHECK(gpus.idle == 0);
    CHECK(gpus.worth_of_more == doctest::Approx(1.5));
    CHECK(gpus.loss_of_fewer == doctest::Approx(3));
    CHECK(gpus.report() == "resource 0: price " + rounded_text_of(price) +
                               " (one more unit is worth 1.5, one fewer loses 3), 0 of 3 units idle");
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
    const JobExplanation why = explain(problem, result.prices, result.choice, loser);
    CHECK(why.reason == JobReason::no_room);
    CHECK(why.resource == 0);
    CHECK(why.worth_needed == doctest::Approx(why.wanted_value));

    result.choice = {no_option, no_option};
    result.status = AllotStatus::feasible;
    CHECK(explain(problem, result.prices, result.choice, 0).reason == JobReason::within_gap);
}

TEST_CASE("a price lies between what one more unit is worth and what one fewer loses, in the relaxation") {
    Random random(7);
    Allotter<> solver, relaxer;
    int kinks = 0, smooth = 0, spared = 0;
    for (int round = 0; round < support::trials(5000); ++round) {
        const AllotmentProblem problem = random_problem(random, round);
        AllotResult result = solver(problem, {.gap = 0});
        if (!found_allotment(result.status)) continue;
        // A deadline can cut the search for prices short. The worth of a unit must be right even then.
        if (round % 3 == 0) result = Allotter<>()(problem, {.deadline = std::chrono::nanoseconds(0)});
        if (!found_allotment(result.status)) continue;
        CAPTURE(round);
        const AllotmentProblem fitting = support::without_too_large(problem);
        double scale = 0;
        for (std::size_t job = 0; job < fitting.jobs(); ++job)
            for (const double value : fitting.values(job)) scale += std::abs(value);
        const RelaxedAllotment now = relaxer.relax(fitting);
        if (!found_allotment(now.status)) continue;
        const Explanation why = explain(problem, result);
        REQUIRE(why.resources.size() == problem.capacity.size());
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) {
            CAPTURE(r);
            const ResourceExplanation& said = why.resources[r];
            const double present = problem.capacity[r], rounding = 1e-9 * scale + 1e-12;
            REQUIRE(said.resource == r);
            REQUIRE(said.in_time);
            REQUIRE(said.price == result.prices[r]);
            REQUIRE(said.capacity == present);
            double used = 0;
            for (std::size_t job = 0; job < problem.jobs(); ++job)
                used += units_of(problem, job, result.choice[job], r);
            REQUIRE(said.idle == doctest::Approx(present - used).epsilon(1e-9).scale(present + 1));
            if (round % 3 != 0) {
                REQUIRE(said.worth_of_more <= said.price + rounding);
                REQUIRE(said.price <= said.loss_of_fewer + rounding / std::min(1.0, present));
            }
            REQUIRE(said.worth_of_more >= 0);
            AllotmentProblem other = fitting;
            other.capacity[r] = present + 1;
            const double gain = relaxer.relax(other).objective - now.objective;
            REQUIRE(std::abs(gain - said.worth_of_more) <= rounding);
            if (present == 0) {
                REQUIRE(std::isinf(said.loss_of_fewer));
                continue;
            }
            // Takes up to one unit away: one more job must run and uses it. All options stay.
            const double step = std::min(1.0, present);
            AllotmentProblem fewer = fitting;
            fewer.add_job(true);
            fewer.add_option(0, {{static_cast<std::uint32_t>(r), step}});
            const RelaxedAllotment less = relaxer.relax(fewer);
            if (!found_allotment(less.status)) {
                REQUIRE(std::isinf(said.loss_of_fewer));
                continue;
            }
            ++spared;
            REQUIRE(std::abs((now.objective - less.objective) - said.loss_of_fewer * step) <= rounding);
            ++(said.loss_of_fewer > said.worth_of_more + 1e-6 * scale ? kinks : smooth);
        }
    }
    CHECK(kinks > support::trials(300));
    CHECK(smooth > support::trials(300));
    CHECK(spared > support::trials(600));
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
    const JobExplanation why = explain(problem, result.prices, result.choice, 1);
    CHECK(why.reason == JobReason::priced_out);
    CHECK(why.wanted == 1);
    CHECK(why.nearest == 0);
    CHECK(why.nearest_value == 9);
    CHECK(why.nearest_price == doctest::Approx(result.prices[0]));
    CHECK(why.report() ==
          "job 1 got nothing at price 0: priced out, resource 0; nearest is option 0 (worth "
          "9, price " +
              rounded_text_of(result.prices[0]) + ")");
    CHECK(explain(problem, result.prices, result.choice, 0).nearest == no_option);
}

TEST_CASE("a resource that no job needs is worth nothing, and one that all jobs need cannot be spared") {
    AllotmentProblem problem;
    problem.capacity = {4, 2};
    problem.add_job(true);
    problem.add_option(1, {{1, 2}});
    const Explanation why = explain(problem, allot(problem));
    CHECK(why.resources[0].report() == "resource 0: price 0, 4 of 4 units idle");
    CHECK(why.resources[1].report().ends_with(
        "(one more unit is worth 0, none can be spared), 0 of 2 units idle"));
}

TEST_CASE("after a deadline the prices remain, and each resource has all its other figures or none") {
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
            if (got.in_time) {
                CHECK(time_left);
                CHECK(got.report() == whole.report());
                continue;
            }
            time_left = false;
            CHECK(got.worth_of_more == 0);
            CHECK(std::isinf(got.loss_of_fewer));
            CHECK(got.report().ends_with("no time to find out what one more unit is worth"));
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
    const JobExplanation why = explain(problem, result.prices, result.choice, 0);
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

TEST_CASE("explanations of jobs and options that do not exist are refused") {
    AllotmentProblem problem;
    problem.capacity = {1};
    problem.add_job(true);
    problem.add_option(1, {{0, 1}});
    AllotResult result = allot(problem);
    CHECK_THROWS_AS(static_cast<void>(explain(problem, result.prices, result.choice, 1)),
                    std::invalid_argument);
    AllotResult priceless = result;
    priceless.prices.clear();
    CHECK_THROWS_WITH(static_cast<void>(explain(problem, priceless)),
                      "explanation: number of prices is 0, but must be the number of capacities, 1");
    problem.add_job(true);
    CHECK_THROWS_AS(static_cast<void>(explain(problem, result)), std::invalid_argument);
    CHECK_THROWS_WITH(
        static_cast<void>(explain(problem, allot(problem))),
        "explanation: status is infeasible, but must be optimal or feasible; see conflict_of()");
    CHECK_THROWS_AS(static_cast<void>(explain(problem, allot(problem))), std::invalid_argument);
}
