// Shares of time under every objective: constraints, certificates computed anew, and closed forms.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "share/share_cases.hpp"
#include "share/share_oracle.hpp"
#include "share/share_random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::for_share_problems;
using support::Random;

namespace {

constexpr double gap = 1e-7;  // default of ShareOptions

void check_shares(const ShareProblem& problem, const ShareResult& result) {
    REQUIRE(support::share_violation(problem, result.shares) <= 1e-12);
    const std::vector<double> rates = support::share_rates(problem, result.shares);
    REQUIRE(result.rates.size() == rates.size());
    for (std::size_t j = 0; j < rates.size(); ++j)
        CHECK(result.rates[j] == doctest::Approx(rates[j]).epsilon(1e-12));
    REQUIRE(result.prices.size() == problem.types());
    for (std::size_t t = 0; t < problem.types(); ++t) {
        CHECK(std::isfinite(result.prices[t]));
        CHECK(result.prices[t] >= 0);
    }
}

template <class Objective>
void check_levels(const ShareProblem& problem, const Objective& objective) {
    const ShareResult result = share_time(problem, objective);
    check_shares(problem, result);
    CHECK(result.status == ShareStatus::optimal);
    const double least = support::share_least_level(problem, objective, result.rates);
    if (std::isinf(least)) {
        CHECK(result.objective == 0);
        return;
    }
    double number = least;
    if constexpr (NumberedObjective<Objective>) number = objective.number_of(least);
    CHECK(result.objective == doctest::Approx(number).epsilon(1e-12));
    CHECK(support::share_level_gap(problem, objective, result) <= 2 * gap);
}

template <class Objective>
void check_sum(const ShareProblem& problem, const Objective& objective) {
    const ShareResult result = share_time(problem, objective);
    check_shares(problem, result);
    CHECK(result.status == ShareStatus::optimal);
    double sum = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        for (std::size_t t = 0; t < problem.types(); ++t)
            if (result.of(j)[t] > 0) sum += result.of(j)[t] * objective.value(problem, j, t);
    CHECK(result.objective == doctest::Approx(sum).epsilon(1e-12));
    CHECK(support::share_sum_gap(problem, objective, result) >= -1e-8);
    CHECK(support::share_sum_gap(problem, objective, result) <= 2 * gap);
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        CHECK(result.rates[j] >= support::share_deadline_rate(problem, result, j) * (1 - 1e-6));
}

/// A levelled objective whose needs do not depend on the cluster, so that levels and prices can be compared
/// between clusters.
struct LeastOfSteps {
    double rate_for(const ShareProblem& problem, std::size_t job, double level) const {
        return level * problem.jobs[job].weight;
    }
    double level_at(const ShareProblem& problem, std::size_t job, double rate) const {
        return rate / problem.jobs[job].weight;
    }
};

/// Checks that objectives and bounds agree within a tolerance.
void check_same(const ShareResult& a, const ShareResult& b, double tolerance) {
    CHECK(b.objective == doctest::Approx(a.objective).epsilon(tolerance));
    CHECK(b.bound == doctest::Approx(a.bound).epsilon(tolerance));
}

std::string message_of(const ShareProblem& problem, const ShareOptions& options = {}) {
    try {
        (void)share_time(problem, MaxMin(), options);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("shares by level keep every constraint, and the prices prove them without the solver") {
    for_share_problems(150, {}, [](const ShareProblem& problem, Random&) {
        check_levels(problem, MaxMin());
        check_levels(problem, Makespan());
        check_levels(problem, FinishTimeFairness());
        check_levels(problem, LeastOfSteps());
        check_levels(blind(problem), MaxMinTime());
    });
}

TEST_CASE("sums keep every constraint, and the prices prove them without the solver") {
    for (const bool deadlines : {false, true}) {
        int met = 0, dropped = 0;
        for_share_problems(200, {.deadlines = deadlines}, [&](const ShareProblem& problem, Random&) {
            check_sum(problem, SumOfRates());
            check_sum(problem, SumPerDollar());
            ++(share_time(problem, SumOfRates()).deadlines_met ? met : dropped);
        });
        CHECK(met > 50);
        CHECK((dropped > 0) == deadlines);
    }
}

TEST_CASE("rates that differ by ten orders of magnitude change nothing of that") {
    for_share_problems(60, {.most_jobs = 30, .decades = 5}, [](const ShareProblem& problem, Random&) {
        check_levels(problem, MaxMin());
        check_levels(problem, FinishTimeFairness());
        check_sum(problem, SumOfRates());
    });
}

TEST_CASE("Nash welfare keeps every constraint, and the conjugates of logarithms prove it") {
    for_share_problems(200, {}, [](const ShareProblem& problem, Random&) {
        const ShareResult result = share_time(problem, NashWelfare());
        check_shares(problem, result);
        CHECK(result.status == ShareStatus::optimal);
        double welfare = 0, weights = 0;
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            if (support::share_top_rate(problem, j) <= 0) continue;
            welfare += problem.jobs[j].weight * std::log(result.rates[j]);
            weights += problem.jobs[j].weight;
        }
        CHECK(std::abs(welfare - result.objective) <= 1e-9 * (1 + weights));
        CHECK(support::share_nash_gap(problem, result) >= -1e-8);
        CHECK(support::share_nash_gap(problem, result) <= 2 * gap);
    });
}

TEST_CASE("on one GPU type the least level, the least total time and welfare are known") {
    for_share_problems(300, {.most_types = 1, .most_jobs = 12}, [](ShareProblem problem, Random&) {
        std::vector<ShareJob> runners;
        for (std::size_t j = 0; j < problem.jobs.size(); ++j)
            if (support::share_usable(problem, j, 0)) runners.push_back(problem.jobs[j]);
        problem.jobs = runners;
        const double gpus = problem.gpus[0];
        double shortest = 0, work = 0;  // seconds of the longest job alone, GPU seconds of all jobs
        std::vector<double> caps;
        for (const ShareJob& job : problem.jobs) {
            if (job.rates[0] <= 0) continue;
            shortest = std::max(shortest, job.steps_left / job.rates[0]);
            work += job.workers * job.steps_left / job.rates[0];
        }
        if (gpus <= 0 || work <= 0) return;
        CHECK(share_time(problem, Makespan()).objective ==
              doctest::Approx(std::max(shortest, work / gpus)).epsilon(2 * gap));

        // With MaxMin a level is GPUs over weight.
        double weights = 0, least_cap = support::infinite;
        for (const ShareJob& job : problem.jobs) {
            if (job.rates[0] <= 0) continue;
            weights += job.weight;
            least_cap = std::min(least_cap, job.workers / job.weight);
        }
        CHECK(share_time(problem, MaxMin()).objective ==
              doctest::Approx(std::min(gpus / weights, least_cap)).epsilon(2 * gap));

        // Welfare gives GPUs by weight, to no job more than it can use: again a water level.
        double low = 0, high = gpus / weights + 1e9;
        const auto taken = [&](double level) {
            double sum = 0;
            for (const ShareJob& job : problem.jobs)
                if (job.rates[0] > 0) sum += std::min(double(job.workers), level * job.weight);
            return sum;
        };
        for (int step = 0; step < 200; ++step) {
            const double middle = 0.5 * (low + high);
            (taken(middle) <= gpus ? low : high) = middle;
        }
        const ShareResult nash = share_time(problem, NashWelfare());
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            const ShareJob& job = problem.jobs[j];
            if (job.rates[0] <= 0) continue;
            const double share = std::min(1.0, low * job.weight / job.workers);
            CHECK(nash.of(j)[0] == doctest::Approx(share).epsilon(1e-3));
        }
    });
}

TEST_CASE("two jobs, each faster on another type, swap what they are worse at") {
    ShareProblem problem{.gpus = {1, 1},
                         .jobs = {{.rates = {4, 1}, .steps_left = 8}, {.rates = {1, 4}, .steps_left = 8}}};
    for (const ShareResult& result : {share_time(problem, MaxMin()), share_time(problem, SumOfRates()),
                                      share_time(problem, Makespan()), share_time(problem, NashWelfare())}) {
        CHECK(result.of(0)[0] == doctest::Approx(1));
        CHECK(result.of(1)[1] == doctest::Approx(1));
    }
    CHECK(share_time(problem, MaxMin()).objective == doctest::Approx(4 / 2.5));
    CHECK(share_time(problem, Makespan()).objective == doctest::Approx(2));
    CHECK(share_time(problem, NashWelfare()).objective == doctest::Approx(2 * std::log(4)));
}

TEST_CASE("equal jobs have equal shares, two hundred of them as well") {
    for_share_problems(40, {.most_jobs = 20}, [](const ShareProblem& problem, Random&) {
        ShareProblem twice = problem;
        const std::size_t jobs = problem.jobs.size();
        for (std::size_t j = 0; j < jobs; ++j) twice.jobs.push_back(problem.jobs[j]);
        for (const ShareResult& result :
             {share_time(twice, MaxMin()), share_time(twice, FinishTimeFairness()),
              share_time(twice, SumOfRates()), share_time(twice, NashWelfare())})
            for (std::size_t j = 0; j < jobs; ++j)
                for (std::size_t t = 0; t < problem.types(); ++t)
                    CHECK(result.of(j)[t] == doctest::Approx(result.of(j + jobs)[t]).epsilon(1e-6));
    });
    ShareProblem problem{.gpus = {30, 7},
                         .jobs = std::vector<ShareJob>(200, {.workers = 2, .rates = {1, 3}})};
    const ShareResult result = share_time(problem, MaxMin());
    for (std::size_t j = 0; j < 200; ++j) {
        CHECK(result.of(j)[0] == doctest::Approx(30 / 400.0));
        CHECK(result.of(j)[1] == doctest::Approx(7 / 400.0));
    }
}

TEST_CASE("neither the order of jobs nor the unit of steps matters") {
    for_share_problems(
        80, {.most_jobs = 30, .deadlines = true}, [](const ShareProblem& problem, Random& random) {
            ShareProblem other = problem;
            std::vector<std::size_t> from(problem.jobs.size());
            for (std::size_t j = 0; j < from.size(); ++j) from[j] = j;
            for (std::size_t j = from.size(); j > 1; --j)
                std::swap(from[j - 1], from[static_cast<std::size_t>(random.integer(0, int(j) - 1))]);
            for (std::size_t j = 0; j < from.size(); ++j) other.jobs[j] = problem.jobs[from[j]];
            check_same(share_time(problem, MaxMin()), share_time(other, MaxMin()), 2 * gap);
            check_same(share_time(problem, FinishTimeFairness()), share_time(other, FinishTimeFairness()),
                       2 * gap);
            const ShareResult before = share_time(problem, SumOfRates()),
                              after = share_time(other, SumOfRates());
            CHECK(before.deadlines_met == after.deadlines_met);
            check_same(before, after, 2 * gap);

            double logarithms = 0;
            for (std::size_t j = 0; j < other.jobs.size(); ++j) {
                // Each job counts its steps in a different unit.
                const double factor = std::pow(10, random.integer(-6, 6));
                for (double& rate : other.jobs[j].rates) rate *= factor;
                other.jobs[j].steps_left *= factor;
                if (support::share_top_rate(other, j) > 0)
                    logarithms += other.jobs[j].weight * std::log(factor);
            }
            check_same(share_time(problem, MaxMin()), share_time(other, MaxMin()), 2 * gap);
            check_same(share_time(problem, Makespan()), share_time(other, Makespan()), 2 * gap);
            check_same(share_time(problem, FinishTimeFairness()), share_time(other, FinishTimeFairness()),
                       2 * gap);
            const ShareResult nash = share_time(problem, NashWelfare()),
                              moved = share_time(other, NashWelfare());
            CHECK(moved.status == nash.status);
            CHECK(std::abs(moved.objective - logarithms - nash.objective) <=
                  1e-6 * (1 + std::abs(logarithms)));
            for (std::size_t j = 0; j < other.jobs.size(); ++j)
                if (const double top = support::share_top_rate(problem, from[j]); top > 0)
                    CHECK(moved.rates[j] / support::share_top_rate(other, j) ==
                          doctest::Approx(nash.rates[from[j]] / top).epsilon(1e-3));
        });
}

TEST_CASE("more GPUs are never worse, and prices equal their worth at the margin") {
    for_share_problems(100, {.most_jobs = 25}, [](const ShareProblem& given, Random& random) {
        const auto type = static_cast<std::size_t>(random.integer(0, int(given.types()) - 1));
        if (given.gpus[type] <= 0) return;
        // Leaves out jobs that would fit with a few GPUs more, or no longer with a few less.
        ShareProblem most = given, least = given;
        most.gpus[type] *= 1.05;
        least.gpus[type] *= 0.95;
        ShareProblem problem = given;
        problem.jobs.clear();
        for (std::size_t j = 0; j < given.jobs.size(); ++j)
            if (most.can_run(j) == least.can_run(j)) problem.jobs.push_back(given.jobs[j]);
        // The price lies between the changes of the objective for a little less and a little more, even at
        // its kinks.
        const auto check_price = [&](const auto& objective, double sign) {
            const double step = 0.05 * problem.gpus[type];
            const ShareResult here = share_time(problem, objective);
            if (here.objective == 0) return;
            ShareProblem more = problem, less = problem;
            more.gpus[type] += step;
            less.gpus[type] -= step;
            const double gain = sign * (share_time(more, objective).objective - here.objective),
                         loss = sign * (here.objective - share_time(less, objective).objective);
            const double rounding = 3 * gap * (std::abs(here.objective) + double(problem.jobs.size()) * 10);
            CHECK(gain >= -rounding);
            CHECK(gain <= here.prices[type] * step + rounding);
            CHECK(loss >= here.prices[type] * step - rounding);
        };
        check_price(SumOfRates(), 1);
        check_price(SumPerDollar(), 1);
        check_price(NashWelfare(), 1);
        check_price(LeastOfSteps(), 1);
        check_price(Makespan(), -1);
    });
}

TEST_CASE("deadlines are met when they are said to be met, and dropped together when they cannot be met") {
    ShareProblem problem{.gpus = {1},
                         .jobs = {{.rates = {10}, .steps_left = 60}, {.rates = {1}, .steps_left = 6}}};
    CHECK(share_time(problem, SumOfRates()).objective == doctest::Approx(10));
    problem.jobs[1].deadline_seconds = 12;  // needs half of the time
    ShareResult result = share_time(problem, SumOfRates());
    CHECK(result.deadlines_met);
    CHECK(result.of(1)[0] == doctest::Approx(0.5));
    CHECK(result.objective == doctest::Approx(5.5));
    problem.jobs[0].deadline_seconds = 12;  // needs exactly the rest
    result = share_time(problem, SumOfRates());
    CHECK(result.deadlines_met);
    CHECK(result.objective == doctest::Approx(5.5));
    problem.jobs[0].deadline_seconds = 11.9;
    result = share_time(problem, SumOfRates());
    CHECK(!result.deadlines_met);
    CHECK(result.objective == doctest::Approx(10));
    CHECK(result.status == ShareStatus::optimal);
    problem.jobs[0].deadline_seconds = 5;  // more than its top rate
    CHECK(!share_time(problem, SumOfRates()).deadlines_met);
    problem.jobs[0].deadline_seconds.reset();
    problem.jobs[1].rates = {0};  // runs nowhere
    CHECK(!share_time(problem, SumOfRates()).deadlines_met);
}

TEST_CASE("shares by rule are what the rules say") {
    const ShareProblem problem{.gpus = {2, 6},
                               .jobs = {{.workers = 2, .rates = {1, 3}},
                                        {.workers = 1, .rates = {5, 2}},
                                        {.workers = 4, .rates = {9, 1}},
                                        {.workers = 4, .rates = {9, 1}}}};
    const ShareResult isolated = share_isolated(problem);
    CHECK(isolated.of(0)[0] == doctest::Approx(0.25));  // two GPUs, four sharers, two workers
    CHECK(isolated.of(0)[1] == doctest::Approx(0.75));
    CHECK(isolated.of(1)[0] == doctest::Approx(0.25));  // {0.5, 1.5} GPUs exceed its time: scaled down
    CHECK(isolated.of(1)[1] == doctest::Approx(0.75));
    CHECK(isolated.of(2)[1] == doctest::Approx(0.375));
    CHECK(support::share_violation(problem, isolated.shares) <= 1e-12);
    const ShareResult proportional = share_proportionally(problem);
    for (std::size_t j = 0; j < 4; ++j) CHECK(proportional.of(j)[1] == doctest::Approx(0.75));
    const ShareResult in_order = share_in_order(problem);
    CHECK(in_order.shares == std::vector<double>{0, 1, 1, 0, 0, 1, 0, 0});
    CHECK(in_order.rates == std::vector<double>{3, 5, 1, 0});
    CHECK(in_order.objective == doctest::Approx(9));
}

TEST_CASE("bad input is refused with job, field and value") {
    const auto with = [](auto change) {
        ShareProblem problem{.gpus = {4}, .jobs = {{.name = "bert", .rates = {1}}}};
        change(problem);
        return message_of(problem);
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(with([](ShareProblem&) {}).empty());
    CHECK(with([](ShareProblem& p) { p.jobs[0].workers = 0; }) ==
          "job 'bert': gpus is 0, but must be between 1 and 1048576");
    CHECK(with([](ShareProblem& p) { p.jobs[0].weight = 0; }) ==
          "job 'bert': weight is 0, but must be between 1e-9 and 1e9");
    CHECK(with([&](ShareProblem& p) { p.jobs[0].rates[0] = nan; }).find("job 'bert': rate is nan") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].rates[0] = -1; }).find("job 'bert': rate is -1") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].rates[0] = 1e300; }).find("job 'bert': rate is 1e+300") == 0);
    CHECK(with([](ShareProblem& p) {
              p.jobs[0].rates.push_back(1);
          }).find("job 'bert': number of rates is 2") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].rates[0] = 1e-13; }).find("job 'bert': rate is 1e-13") == 0);
    CHECK(with([](ShareProblem& p) { p.gpus[0] = 1e-13; }).find("share problem: gpus is 1e-13") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].steps_left = -2; }).find("job 'bert': left is -2") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].age_seconds = -2; }).find("job 'bert': age_s is -2") == 0);
    CHECK(with([](ShareProblem& p) {
              p.jobs[0].isolated_seconds = -2;
          }).find("job 'bert': isolated_s is -2") == 0);
    CHECK(with([](ShareProblem& p) { p.jobs[0].deadline_seconds = 0; }).find("job 'bert': deadline_s is 0") ==
          0);
    CHECK(with([](ShareProblem& p) { p.gpus[0] = -1; }).find("share problem: gpus is -1") == 0);
    CHECK(with([](ShareProblem& p) {
              p.dollars_per_hour = {1, 2};
          }).find("share problem: number of prices is 2") == 0);
    CHECK(with([](ShareProblem& p) { p.dollars_per_hour = {0}; }).find("share problem: price_h is 0") == 0);
    CHECK(message_of({}, {.gap = 0}).find("share options: gap is 0") == 0);
    CHECK(message_of({}, {.gap = nan}).find("share options: gap is nan") == 0);
}

TEST_CASE("no jobs, no types, no GPUs and jobs that can run nowhere get nothing, which is proven") {
    std::vector<ShareProblem> problems(5);
    problems[1].gpus = {4, 0};
    problems[2].jobs = {{.steps_left = 5}};
    problems[3] = {.gpus = {0, 0}, .jobs = {{.rates = {1, 2}, .steps_left = 5}}};
    problems[4] = {.gpus = {3, 0}, .jobs = {{.rates = {0, 2}, .steps_left = 5}}};
    for (const ShareProblem& problem : problems) {
        const auto check_nothing = [&](const ShareResult& result) {
            if (result.status == ShareStatus::infeasible) {
                CHECK(!problem.jobs.empty());
                CHECK(std::isinf(result.objective));
                CHECK(std::isinf(result.bound));
            } else {
                CHECK(result.status == ShareStatus::optimal);
                CHECK(result.objective == 0);
                CHECK(result.bound == 0);
            }
            CHECK(result.shares == std::vector<double>(problem.jobs.size() * problem.types(), 0));
            CHECK(result.rates == std::vector<double>(problem.jobs.size(), 0));
        };
        check_nothing(share_time(problem, MaxMin()));
        check_nothing(share_time(problem, Makespan()));
        check_nothing(share_time(problem, FinishTimeFairness()));
        check_nothing(share_time(problem, SumOfRates()));
        check_nothing(share_time(problem, NashWelfare()));
    }
}

TEST_CASE("if no job can run no time is told, and a job that can run is served next to one that cannot") {
    const ShareProblem never{
        .gpus = {0, 2},
        .jobs = {{.rates = {3, 0}, .steps_left = 6}, {.workers = 4, .rates = {5, 7}, .steps_left = 6}}};
    for (const ShareResult& result :
         {share_time(never, Makespan()), share_time(never, FinishTimeFairness())}) {
        CHECK(result.status == ShareStatus::infeasible);
        CHECK(std::isinf(result.objective));
        CHECK(std::isinf(result.bound));
        CHECK(result.rates == std::vector<double>{0, 0});
    }
    CHECK(share_time(never, MaxMin()).objective == 0);
    CHECK(share_time(never, SumOfRates()).objective == 0);
    ShareProblem done = never;
    for (ShareJob& job : done.jobs) job.steps_left = 0;
    CHECK(share_time(done, Makespan()).objective == 0);
    CHECK(share_time(done, Makespan()).status == ShareStatus::optimal);

    // Nor if the job that could run has no steps left, whichever of the two comes first.
    done.gpus[0] = 1;
    for (const std::size_t waiting : {0u, 1u}) {
        ShareProblem mixed = done;
        std::swap(mixed.jobs[0], mixed.jobs[waiting]);
        mixed.jobs[1 - waiting].steps_left = 5;
        CHECK(share_time(mixed, Makespan()).status == ShareStatus::infeasible);
    }

    // Sixteen workers never run on four GPUs, even if a share would fit. The other job runs as if alone.
    const ShareProblem gang{
        .gpus = {4, 4},
        .jobs = {{.workers = 16, .rates = {10, 1}, .steps_left = 9}, {.rates = {3, 0}, .steps_left = 9}}};
    for (const ShareResult& result :
         {share_time(gang, MaxMin()), share_time(gang, Makespan()), share_time(gang, FinishTimeFairness()),
          share_time(gang, SumOfRates()), share_time(gang, NashWelfare()), share_in_order(gang),
          share_isolated(gang), share_proportionally(gang)}) {
        CHECK(result.rates[0] == 0);
        CHECK(result.of(0)[0] + result.of(0)[1] == 0);
        CHECK(result.rates[1] > 0);
        CHECK(result.status == ShareStatus::optimal);
    }
    CHECK(share_time(gang, Makespan()).objective == doctest::Approx(3));
    CHECK(!gang.can_run(0));
    CHECK(gang.can_run(1));
}

TEST_CASE("the price of a type without GPUs is what a trace of them is worth, to a GPU") {
    int priced = 0;
    for_share_problems(120, {.most_types = 4, .most_jobs = 12}, [&](ShareProblem problem, Random& random) {
        const auto type = static_cast<std::size_t>(random.integer(0, int(problem.types()) - 1));
        problem.gpus[type] = 0;
        const auto check_price = [&](const auto& objective, double sign) {
            const ShareOptions options{.gap = 1e-9};
            const ShareResult here = share_time(problem, objective, options);
            if (here.status != ShareStatus::optimal || here.objective == 0) return;
            ShareProblem more = problem;
            more.gpus[type] = 1e-3;
            for (ShareJob& job : more.jobs) {
                const auto j = static_cast<std::size_t>(&job - more.jobs.data());
                if (!problem.can_run(j)) job.rates[type] = 0;  // the job does not count
            }
            const double gain = sign * (share_time(more, objective, options).objective - here.objective);
            const double rounding = 1e-8 * (std::abs(here.objective) + double(problem.jobs.size()));
            CHECK(gain <= here.prices[type] * 1e-3 + rounding);
            if (gain > 1e3 * rounding) ++priced;
        };
        check_price(NashWelfare(), 1);
        check_price(LeastOfSteps(), 1);
        check_price(Makespan(), -1);
    });
    CHECK(priced > 30);
    const ShareProblem fast{.gpus = {0, 8}, .jobs = {{.rates = {64, 16}, .steps_left = 3200}}};
    const ShareResult result = share_time(fast, Makespan());
    CHECK(result.objective == doctest::Approx(200));
    CHECK(result.prices[0] == doctest::Approx(200 * (64 - 16) / 16.0));  // slope of 3200 / rate
    CHECK(result.prices[1] == doctest::Approx(0));
    CHECK(share_time(fast, SumOfRates()).prices[0] == doctest::Approx(64 - 16));
}

TEST_CASE("one job may be a billion million times as fast on one type as another job on another") {
    ShareProblem problem{.gpus = {1e6, 3}, .jobs = {}};
    for (int j = 0; j < 200; ++j)
        problem.jobs.push_back({.workers = 2, .rates = {1e-6, 1e9}, .steps_left = 1e12});
    problem.jobs.push_back({.rates = {1e-6, 0}, .steps_left = 1e-3});
    check_levels(problem, MaxMin());
    check_levels(problem, Makespan());
    check_sum(problem, SumOfRates());
    CHECK(share_time(problem, SumOfRates()).objective == doctest::Approx(1.5e9));
    CHECK(share_time(problem, NashWelfare()).status == ShareStatus::optimal);
}

TEST_CASE("the same problem gets the same bytes, and a report says what is proven") {
    Random random(8);
    const ShareProblem problem = support::random_share_problem(random);
    const ShareResult a = share_time(problem, MaxMin()), b = share_time(problem, MaxMin());
    CHECK(a.shares == b.shares);
    CHECK(a.prices == b.prices);
    CHECK(a.report().find("optimal: objective ") == 0);
    CHECK(a.report().find(text_of(a.iterations) + " iterations") != std::string::npos);
}
