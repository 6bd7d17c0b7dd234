// Properties of shares of time on random problems: constraints, certificates, and what changes nothing.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"
#include "properties.hpp"
#include "share/share_oracle.hpp"
#include "share/share_random.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::random_order;

namespace {

ShareProblem random_shares(Case& one) {
    support::ShareShape shape;
    shape.most_types = one.random.chance(0.5) ? 4 : 8;
    shape.most_jobs = one.random.chance(0.7) ? 12 : 60;
    shape.decades = one.random.between(0, 2.5);
    shape.deadlines = one.random.chance(0.5);
    return support::random_share_problem(one.random, shape);
}

void require_feasible(const ShareProblem& problem, const ShareResult& result) {
    REQUIRE(support::share_violation(problem, result.shares) <= 1e-12);
    const std::vector<double> rates = support::share_rates(problem, result.shares);
    for (std::size_t j = 0; j < rates.size(); ++j)
        REQUIRE(std::abs(result.rates[j] - rates[j]) <= 1e-12 * rates[j]);
    for (const double price : result.prices) REQUIRE((std::isfinite(price) && price >= 0));
}

/// Checks the gap of a proven result by an independent bound. Counts a result that is not proven.
void require_gap(Case& one, const ShareResult& result, double gap) {
    REQUIRE(gap >= -1e-7);
    if (result.status == ShareStatus::optimal)
        REQUIRE(gap <= 3e-7);
    else if (result.status == ShareStatus::feasible)
        one.count("not proven");
}

template <class Objective>
void require_level(Case& one, const ShareProblem& problem, const Objective& objective) {
    const ShareResult result = share_time(problem, objective);
    require_feasible(problem, result);
    require_gap(one, result, support::share_level_gap(problem, objective, result));
}

template <class Objective>
void require_sum(Case& one, const ShareProblem& problem, const Objective& objective) {
    const ShareResult result = share_time(problem, objective);
    require_feasible(problem, result);
    require_gap(one, result, support::share_sum_gap(problem, objective, result));
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        REQUIRE(result.rates[j] >= support::share_deadline_rate(problem, result, j) * (1 - 1e-6));
    if (!result.deadlines_met) one.count("without their deadlines");
}

}  // namespace

TEST_CASE("shares: constraints are kept, and prices prove the least level without the solver") {
    for_all(4, [](Case& one) {
        const ShareProblem problem = random_shares(one);
        require_level(one, problem, MaxMin());
        require_level(one, problem, Makespan());
        require_level(one, problem, FinishTimeFairness());
    });
}

TEST_CASE("shares: constraints and deadlines are kept, and prices prove sums without the solver") {
    for_all(2, [](Case& one) {
        const ShareProblem problem = random_shares(one);
        require_sum(one, problem, SumOfRates());
        require_sum(one, problem, SumPerDollar());
    });
}

TEST_CASE("shares: constraints are kept, and prices prove Nash welfare without the solver") {
    for_all(4, [](Case& one) {
        const ShareProblem problem = random_shares(one);
        const ShareResult result = share_time(problem, NashWelfare());
        require_feasible(problem, result);
        require_gap(one, result, support::share_nash_gap(problem, result));
    });
}

TEST_CASE("shares: jobs and GPU types in another order, and steps in other units, change no level") {
    for_all(4, [](Case& one) {
        const ShareProblem problem = random_shares(one);
        const std::vector<std::size_t> job_to = random_order(one.random, problem.jobs.size()),
                                       type_to = random_order(one.random, problem.types());
        ShareProblem other = problem;
        for (std::size_t t = 0; t < type_to.size(); ++t) other.gpus[type_to[t]] = problem.gpus[t];
        for (std::size_t j = 0; j < job_to.size(); ++j) {
            ShareJob& job = other.jobs[job_to[j]] = problem.jobs[j];
            const double factor = std::pow(10, one.random.between(-4, 4));
            for (std::size_t t = 0; t < type_to.size(); ++t)
                job.rates[type_to[t]] = factor * problem.jobs[j].rates[t];
            job.steps_left *= factor;
        }
        const auto require_same = [&](const auto& objective) {
            const ShareResult before = share_time(problem, objective), after = share_time(other, objective);
            if (before.status != ShareStatus::optimal || after.status != ShareStatus::optimal) {
                one.count("not proven");
                return;
            }
            REQUIRE(std::abs(before.objective - after.objective) <= 3e-7 * std::abs(before.objective));
        };
        require_same(MaxMin());
        require_same(Makespan());
        require_same(FinishTimeFairness());
    });
}

TEST_CASE("shares: another job never makes the least level higher, nor the sum of rates lower") {
    for_all(2, [](Case& one) {
        ShareProblem problem = random_shares(one);
        for (ShareJob& job : problem.jobs) job.deadline_seconds.reset();
        ShareProblem fewer = problem;
        fewer.jobs.pop_back();
        const double least = share_time(problem, MaxMin()).objective,
                     before = share_time(fewer, MaxMin()).objective;
        if (before > 0) REQUIRE(least <= before * (1 + 3e-7));
        const double sum = share_time(problem, SumOfRates()).objective;
        REQUIRE(sum >= share_time(fewer, SumOfRates()).objective * (1 - 3e-7));
    });
}

TEST_CASE("shares: water levels are as stated, and the lowest one is the largest minimum") {
    for_all(4, [](Case& one) {
        const ShareProblem problem = random_shares(one);
        const bool entities = one.random.chance(0.5);
        const ShareHierarchy hierarchy =
            entities ? support::random_hierarchy(one.random, problem.jobs.size()) : ShareHierarchy{};
        const ShareResult water = fill_water(problem, hierarchy);
        require_feasible(problem, water);
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            if (support::share_top_rate(problem, j) <= 0) continue;
            REQUIRE(MaxMin().level_at(problem, j, water.rates[j]) >=
                    water.levels[j] * (1 - 1e-6) - 1e-9 * problem.all_gpus());
        }
        if (water.status != ShareStatus::optimal) one.count("not proven");
        if (entities) return;
        const double least = share_time(problem, MaxMin()).objective;
        REQUIRE(std::abs(water.objective - least) <= 3e-7 * least);
    });
}
