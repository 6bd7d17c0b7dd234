// Water filling: the lexicographically best levels, flat and with entities.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"
#include "share/share_cases.hpp"
#include "share/share_lexicographic.hpp"
#include "share/share_oracle.hpp"
#include "share/share_random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::for_share_problems;
using support::Random;

namespace {

double level_of(const ShareProblem& problem, std::size_t job, double rate) {
    return support::share_top_rate(problem, job) > 0 ? MaxMin().level_at(problem, job, rate) : 0;
}

/// Checks that constraints are kept, and that every job has the level that the result claims.
void check_shares(const ShareProblem& problem, const ShareResult& result) {
    REQUIRE(support::share_violation(problem, result.shares) <= 1e-12);
    const std::vector<double> rates = support::share_rates(problem, result.shares);
    REQUIRE(result.levels.size() == problem.jobs.size());
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        CHECK(result.rates[j] == doctest::Approx(rates[j]).epsilon(1e-12));
        CHECK(level_of(problem, j, rates[j]) >= result.levels[j] * (1 - 1e-7) - 1e-9 * problem.all_gpus());
    }
}

/// An objective that counts only one job's rate.
struct RateOf {
    std::size_t job;
    double value(const ShareProblem& problem, std::size_t j, std::size_t type) const {
        return j == job ? problem.jobs[j].rates[type] : 0;
    }
};

/// Returns the parts of `gpus` if all of `wanted` rise together, each at the speed of its weight.
std::vector<double> filled(double gpus, const std::vector<double>& wanted,
                           const std::vector<double>& weights) {
    double low = 0, high = 0;
    for (std::size_t k = 0; k < wanted.size(); ++k) high = std::max(high, wanted[k] / weights[k]);
    const auto at = [&](double clock) {
        std::vector<double> got;
        for (std::size_t k = 0; k < wanted.size(); ++k)
            got.push_back(std::min(wanted[k], weights[k] * clock));
        return got;
    };
    const auto sum = [](const std::vector<double>& numbers) {
        double all = 0;
        for (const double number : numbers) all += number;
        return all;
    };
    if (sum(at(high)) <= gpus) return at(high);
    for (int step = 0; step < 200; ++step) {
        const double middle = 0.5 * (low + high);
        (sum(at(middle)) <= gpus ? low : high) = middle;
    }
    return at(low);
}

/// On one type: entities rise by weight. Each entity's GPUs go to its jobs by weight, or in their order.
std::vector<double> levels_by_hand(const ShareProblem& problem, const ShareHierarchy& hierarchy) {
    const std::size_t jobs = problem.jobs.size(), entities = hierarchy.entities.size();
    const auto runs = [&](std::size_t j) { return support::share_usable(problem, j, 0); };
    std::vector<double> wanted(entities, 0), weights;
    for (std::size_t j = 0; j < jobs; ++j)
        if (runs(j)) wanted[hierarchy.entity_of[j]] += problem.jobs[j].workers;
    for (const ShareEntity& entity : hierarchy.entities) weights.push_back(entity.weight);
    std::vector<double> of_entity = filled(problem.gpus[0], wanted, weights), levels(jobs, 0);
    for (std::size_t e = 0; e < entities; ++e) {
        std::vector<std::size_t> members;
        std::vector<double> workers, own;
        for (std::size_t j = 0; j < jobs; ++j) {
            if (!runs(j) || hierarchy.entity_of[j] != e) continue;
            members.push_back(j);
            workers.push_back(problem.jobs[j].workers);
            own.push_back(problem.jobs[j].weight);
        }
        std::vector<double> got;
        if (hierarchy.entities[e].in_order) {
            for (const double number : workers) {
                got.push_back(std::min(number, of_entity[e]));
                of_entity[e] -= got.back();
            }
        } else {
            got = filled(of_entity[e], workers, own);
        }
        for (std::size_t k = 0; k < members.size(); ++k) levels[members[k]] = got[k] / own[k];
    }
    return levels;
}

std::string message_of(const ShareProblem& problem, const ShareHierarchy& hierarchy) {
    try {
        (void)fill_water(problem, hierarchy);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("water keeps every constraint, and its lowest level is the largest minimum") {
    for_share_problems(150, {}, [](const ShareProblem& problem, Random&) {
        const ShareResult water = fill_water(problem), least = share_time(problem, MaxMin());
        check_shares(problem, water);
        CHECK(water.status == ShareStatus::optimal);
        CHECK(water.objective == doctest::Approx(least.objective).epsilon(1e-6));
        CHECK(water.bound >= water.objective * (1 - 1e-12));
        if (water.objective > 0)
            CHECK(support::share_level_bound(problem, MaxMin(), water.prices, water.objective * (1 - 1e-9)) <=
                  water.objective * (1 + 1e-6));
    });
}

TEST_CASE("levels are the lexicographic best that an exact method finds, whatever the gap") {
    int compared = 0, proven = 0;
    for (int seed = 0; seed < 2000; ++seed) {
        CAPTURE(seed);
        Random random(static_cast<std::uint64_t>(seed));
        const ShareProblem problem = support::random_crowded_problem(random);
        ShareHierarchy hierarchy;
        if (random.chance(0.6)) hierarchy = support::random_hierarchy(random, problem.jobs.size());
        const std::vector<double> exact = support::lexicographic_levels(problem, hierarchy);
        const ShareResult found = fill_water(problem, hierarchy, {.gap = random.chance(0.5) ? 1e-7 : 1e-8});
        if (found.status == ShareStatus::optimal) ++proven;
        for (std::size_t j = 0; j < exact.size(); ++j) {
            const double top = support::share_top_rate(problem, j);
            if (top <= 0) {
                CHECK(found.levels[j] == 0);
                continue;
            }
            // An amount that is tiny compared with what the job could have counts as nothing.
            const double size = std::max(exact[j], 1e-3 * MaxMin().level_at(problem, j, top));
            CHECK(std::abs(found.levels[j] - exact[j]) <= 1e-4 * size);
            ++compared;
        }
    }
    CHECK(compared > 8000);
    CHECK(proven >= 1990);
}

TEST_CASE("no job can rise unless another one of at most its level falls") {
    int stopped = 0;
    for_share_problems(400, {.most_types = 4, .most_jobs = 12}, [&](const ShareProblem& problem, Random&) {
        const ShareResult water = fill_water(problem, {}, {.gap = 1e-8});
        check_shares(problem, water);
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            const double rate = MaxMin().rate_for(problem, j, water.levels[j]);
            if (rate >= support::share_top_rate(problem, j) * (1 - 1e-6)) continue;  // already at its top
            ShareProblem others = problem;
            for (std::size_t k = 0; k < problem.jobs.size(); ++k) {
                others.jobs[k].deadline_seconds.reset();
                if (k == j || water.levels[k] > water.levels[j] * (1 + 1e-7) || water.levels[k] <= 0)
                    continue;
                others.jobs[k].steps_left = MaxMin().rate_for(problem, k, water.levels[k]) * (1 - 1e-7);
                others.jobs[k].deadline_seconds = 1;
            }
            const ShareResult risen = share_time(others, RateOf{j});
            REQUIRE(risen.deadlines_met);
            // If all others fall by that little, one job may gain much more.
            CHECK(risen.objective <= rate * (1 + 1e-3));
            ++stopped;
        }
    });
    CHECK(stopped > 700);
}

TEST_CASE("on one GPU type water filling is progressive filling, within entities as well") {
    for_share_problems(
        400, {.most_types = 1, .most_jobs = 25}, [](const ShareProblem& problem, Random& random) {
            if (problem.gpus[0] <= 0) return;
            ShareHierarchy alone;  // every job is an entity
            for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
                alone.entities.push_back({.weight = problem.jobs[j].weight});
                alone.entity_of.push_back(j);
            }
            const auto check = [&](const ShareResult& result, const ShareHierarchy& hierarchy) {
                check_shares(problem, result);
                CHECK(result.status == ShareStatus::optimal);
                const std::vector<double> expected = levels_by_hand(problem, hierarchy);
                for (std::size_t j = 0; j < expected.size(); ++j)
                    CHECK(std::abs(result.levels[j] - expected[j]) <=
                          1e-5 * expected[j] + 1e-6 * problem.gpus[0]);
            };
            check(fill_water(problem), alone);
            const ShareHierarchy hierarchy = support::random_hierarchy(random, problem.jobs.size());
            check(fill_water(problem, hierarchy), hierarchy);
        });
}

TEST_CASE("entities of one job each change nothing, nor does one entity of all jobs by weight") {
    for_share_problems(100, {.most_types = 4, .most_jobs = 20}, [](const ShareProblem& problem, Random&) {
        ShareHierarchy each,
            all{.entities = {{.name = "all"}}, .entity_of = std::vector<std::size_t>(problem.jobs.size(), 0)};
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            each.entities.push_back({.weight = problem.jobs[j].weight});
            each.entity_of.push_back(j);
        }
        const ShareResult flat = fill_water(problem, {}, {.gap = 1e-8});
        const ShareResult one_each = fill_water(problem, each, {.gap = 1e-8});
        const ShareResult together = fill_water(problem, all, {.gap = 1e-8});
        for (std::size_t j = 0; j < problem.jobs.size(); ++j)
            CHECK(one_each.levels[j] == doctest::Approx(flat.levels[j]).epsilon(1e-4));
        CHECK(together.objective == doctest::Approx(flat.objective).epsilon(1e-6));
    });
}

TEST_CASE("hierarchies on several types keep every constraint") {
    for_share_problems(150, {}, [](const ShareProblem& problem, Random& random) {
        const ShareHierarchy hierarchy = support::random_hierarchy(random, problem.jobs.size());
        const ShareResult result = fill_water(problem, hierarchy);
        check_shares(problem, result);
        CHECK(result.status == ShareStatus::optimal);
    });
}

TEST_CASE("in an entity in order the first job has all, and the next what it cannot use") {
    const ShareProblem problem{
        .gpus = {6},
        .jobs = {{.workers = 2, .rates = {1}}, {.workers = 2, .rates = {1}}, {.workers = 4, .rates = {1}}}};
    const ShareHierarchy hierarchy{.entities = {{.name = "queue", .in_order = true}, {.name = "other"}},
                                   .entity_of = {0, 0, 1}};
    const ShareResult result = fill_water(problem, hierarchy);
    CHECK(result.levels[0] == doctest::Approx(2));
    CHECK(result.levels[1] == doctest::Approx(1));
    CHECK(result.levels[2] == doctest::Approx(3));
}

TEST_CASE("equal jobs are on one level, in whatever order and unit of steps") {
    for_share_problems(
        60, {.most_types = 4, .most_jobs = 15}, [](const ShareProblem& problem, Random& random) {
            ShareProblem twice = problem;
            const std::size_t jobs = problem.jobs.size();
            for (std::size_t j = jobs; j-- > 0;) twice.jobs.push_back(problem.jobs[j]);
            for (ShareJob& job : twice.jobs) {
                const double factor = std::pow(10, random.integer(-5, 5));
                for (double& rate : job.rates) rate *= factor;
            }
            const ShareResult result = fill_water(twice, {}, {.gap = 1e-8});
            check_shares(twice, result);
            for (std::size_t j = 0; j < jobs; ++j)
                CHECK(result.levels[j] == doctest::Approx(result.levels[2 * jobs - 1 - j]).epsilon(1e-5));
        });
}

TEST_CASE("a level that rounding keeps from being found leaves every job where it is") {
    // The gap is smaller than rounding allows. The jobs still have what the result claims.
    for (const int seed : {6, 183, 448, 525, 1234}) {
        CAPTURE(seed);
        Random random(static_cast<std::uint64_t>(seed));
        const ShareProblem problem = support::random_share_problem(random);
        for (const double gap : {1e-8, 1e-9, 1e-12})
            check_shares(problem, fill_water(problem, {}, {.gap = gap}));
    }
}

TEST_CASE("GPUs that no job can use stay free, and a problem without water is no error") {
    std::vector<ShareProblem> problems(4);
    problems[1].gpus = {4, 0};
    problems[2].jobs = {{}};
    problems[3] = {.gpus = {0, 3}, .jobs = {{.rates = {1, 0}}}};
    for (const ShareProblem& problem : problems) {
        const ShareResult result = fill_water(problem);
        CHECK(result.objective == 0);
        CHECK(result.status == ShareStatus::optimal);
        CHECK(result.shares == std::vector<double>(problem.jobs.size() * problem.types(), 0));
        CHECK(result.levels == std::vector<double>(problem.jobs.size(), 0));
    }
}

TEST_CASE("bad hierarchies are refused with their subject") {
    const ShareProblem problem{.gpus = {4}, .jobs = {{.name = "bert", .rates = {1}}}};
    CHECK(message_of(problem, {.entities = {{.name = "a", .weight = 0}}, .entity_of = {0}})
              .find("entity 'a': weight is 0") == 0);
    CHECK(message_of(problem, {.entities = {{.name = "a"}}, .entity_of = {1}})
              .find("job 'bert': entity is 1") == 0);
    CHECK(message_of(problem, {.entities = {{.name = "a"}}, .entity_of = {}})
              .find("hierarchy: number of jobs with an entity is 0") == 0);
    CHECK_THROWS_AS((void)fill_water(problem, {}, {.gap = 0}), std::invalid_argument);
}
