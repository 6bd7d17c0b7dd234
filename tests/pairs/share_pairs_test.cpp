// Shares of jobs alone and in pairs: constraints, and every objective against a linear program with all
// variables.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <vector>

#include <doctest/doctest.h>

#include "goodput/pairs/share_pairs.hpp"
#include "pairs/share_pair_oracle.hpp"

using namespace goodput;
using support::for_paired_problems;
using support::PairRows;

namespace {

constexpr double gap = 1e-7;  // of ShareOptions

void check_shares(const PairedShareProblem& problem, const ShareResult& result) {
    REQUIRE(support::pair_violation(problem, result) <= 1e-12);
    const std::vector<double> rates = support::pair_rates(problem, result);
    REQUIRE(result.rates.size() == rates.size());
    for (std::size_t j = 0; j < rates.size(); ++j)
        CHECK(result.rates[j] == doctest::Approx(rates[j]).epsilon(1e-12));
    for (const double price : result.prices) CHECK((std::isfinite(price) && price >= 0));
}

/// The best level by the definition; none where nobody counts.
template <class Objective>
double best_level(const PairedShareProblem& problem, const ShareProblem& alone, const Objective& objective,
                  double near) {
    // What is needed at a level may be any function: at the best level, the program with these needs is just
    // feasible.
    PairRows rows(problem);
    for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j)
        rows.ask(j, objective.rate_for(alone, j, near), 0);
    return rows.highest_level();
}

/// The problem with a rate alone for jobs that run only with others: the largest of theirs, everywhere.
PairedShareProblem compared(PairedShareProblem problem) {
    const PairRows rows(problem);
    std::vector<double> tops;
    for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j) tops.push_back(rows.top_rate(j));
    for (std::size_t j = 0; j < tops.size(); ++j)
        if (!problem.alone.can_run(j))
            for (double& rate : problem.alone.jobs[j].rates) rate = tops[j];
    return problem;
}

template <class Objective>
void check_levels(const PairedShareProblem& given, const Objective& objective) {
    const ShareResult result = share_time(given, objective);
    check_shares(given, result);
    const PairRows rows(given);
    const PairedShareProblem problem = compared(given);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j)
        if (rows.top_rate(j) > 0)
            least = std::min(least, objective.level_at(problem.alone, j, result.rates[j]));
    if (std::isinf(least) || least <= 0) return;
    CHECK(result.status == ShareStatus::optimal);
    double number = least;
    if constexpr (NumberedObjective<Objective>) number = objective.number_of(least);
    CHECK(result.objective == doctest::Approx(number).epsilon(1e-12));
    // With the needs of a level a little above, the program cannot have all of them.
    const double beyond = least * (1 + 4 * gap);
    CHECK(best_level(given, problem.alone, objective, beyond) <= 1);
}

template <class Objective>
void check_sum(const PairedShareProblem& problem, const Objective& objective) {
    const ShareResult result = share_time(problem, objective);
    check_shares(problem, result);
    CHECK(result.status == ShareStatus::optimal);
    const PairRows plain(problem);
    PairRows rows = plain;
    bool all_run = true;
    for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j) {
        const ShareJob& job = problem.alone.jobs[j];
        if (!job.deadline_seconds) continue;
        rows.ask(j, 0, job.steps_left / *job.deadline_seconds);
        all_run = all_run && (rows.top_rate(j) > 0 || job.steps_left <= 0);
    }
    if (result.deadlines_met) {
        for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j)
            CHECK(result.rates[j] >= support::share_deadline_rate(problem.alone, result, j) * (1 - 1e-6));
    } else {
        CHECK(!(all_run && rows.feasible()));
    }
    const PairRows& asked = result.deadlines_met ? rows : plain;
    const double best = asked.most(asked.valued([&](std::size_t j, std::size_t t, double rate) {
        ShareProblem with_rate = problem.alone;
        with_rate.jobs[j].rates[t] = rate;
        return objective.value(with_rate, j, t);
    }));
    CHECK(result.objective <= best * (1 + 1e-9));
    CHECK(result.objective >= best * (1 - 2 * gap));
    CHECK(result.bound >= best * (1 - 1e-9));
}

}  // namespace

TEST_CASE("no shares of jobs and pairs have a larger least level") {
    for_paired_problems(250, 9, [](const PairedShareProblem& problem) {
        check_levels(problem, MaxMin());
        check_levels(problem, Makespan());
        check_levels(problem, FinishTimeFairness());
    });
}

TEST_CASE("no shares of jobs and pairs have a larger sum, with deadlines or without") {
    for_paired_problems(250, 9, [](const PairedShareProblem& problem) {
        check_sum(problem, SumOfRates());
        check_sum(problem, SumPerDollar());
    });
}

TEST_CASE("no shares of jobs and pairs have a larger Nash welfare") {
    for_paired_problems(200, 8, [](const PairedShareProblem& problem) {
        const ShareResult result = share_time(problem, NashWelfare());
        check_shares(problem, result);
        CHECK(result.status == ShareStatus::optimal);
        // Welfare is concave: it is best where it is so along its slope.
        const PairRows rows(problem);
        double weights = 0;
        for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j)
            if (rows.top_rate(j) > 0) weights += problem.alone.jobs[j].weight;
        const double most = rows.most(rows.valued([&](std::size_t j, std::size_t, double rate) {
            return rate > 0 ? problem.alone.jobs[j].weight * rate / result.rates[j] : 0;
        }));
        CHECK(most <= weights * (1 + 1e-5));
        CHECK(result.bound - result.objective <= 2 * gap * weights);
    });
}

TEST_CASE("without pairs the shares are those of jobs alone") {
    for_paired_problems(100, 20, [](PairedShareProblem problem) {
        problem.pairs.clear();
        const ShareResult alone = share_time(problem.alone, MaxMin());
        const ShareResult paired = share_time(problem, MaxMin());
        CHECK(paired.objective == doctest::Approx(alone.objective).epsilon(3 * gap));
        const ShareResult water = fill_water(problem.alone);
        const ShareResult in_pairs = fill_water(problem);
        for (std::size_t j = 0; j < water.levels.size(); ++j)
            CHECK(in_pairs.levels[j] == doctest::Approx(water.levels[j]).epsilon(2e-6));
    });
}

TEST_CASE("pairs never make an objective worse, and those that gain nothing change nothing") {
    for_paired_problems(100, 25, [](PairedShareProblem problem) {
        const double alone = share_time(problem.alone, SumOfRates()).objective;
        const double paired = share_time(problem, SumOfRates()).objective;
        CHECK(paired >= alone * (1 - 3 * gap));
        std::erase_if(problem.pairs, [&](const SharePair& pair) {
            for (std::size_t t = 0; t < problem.alone.types(); ++t)
                if (pair_gains(problem.alone, pair, t)) return false;
            return true;
        });
        CHECK(share_time(problem, SumOfRates()).objective == doctest::Approx(paired).epsilon(3 * gap));
    });
}

TEST_CASE("prices say what a GPU more is worth") {
    for_paired_problems(60, 12, [](PairedShareProblem problem) {
        const ShareResult before = share_time(problem, SumOfRates());
        for (std::size_t t = 0; t < problem.alone.types(); ++t) {
            PairedShareProblem more = problem;
            more.alone.gpus[t] += 0.01 * std::max(more.alone.gpus[t], 1.0);
            bool same = problem.alone.gpus[t] > 0;  // jobs that run here run there, and no others
            for (std::size_t j = 0; j < problem.alone.jobs.size(); ++j)
                for (std::size_t u = 0; u < problem.alone.types(); ++u)
                    same = same && problem.alone.can_run(j, u) == more.alone.can_run(j, u);
            if (!same) continue;
            const ShareResult after = share_time(more, SumOfRates());
            const double added = more.alone.gpus[t] - problem.alone.gpus[t];
            if (before.deadlines_met == after.deadlines_met)
                CHECK(after.objective <=
                      before.bound + added * before.prices[t] * (1 + 1e-5) + 1e-6 * before.bound);
        }
    });
}

TEST_CASE("water in pairs rises as the definition says") {
    for_paired_problems(120, 7, [](const PairedShareProblem& problem) {
        const std::size_t jobs = problem.alone.jobs.size();
        for (const int entities : {0, 2}) {
            ShareHierarchy hierarchy;
            for (int e = 0; e < entities; ++e) {
                hierarchy.entities.push_back({.weight = 1.0 + e, .in_order = e == 1});
            }
            if (entities > 0)
                for (std::size_t j = 0; j < jobs; ++j) hierarchy.entity_of.push_back(j % 2);
            const ShareResult result = fill_water(problem, hierarchy);
            check_shares(problem, result);
            CHECK(result.status == ShareStatus::optimal);
            const std::vector<double> levels = support::paired_levels(problem, hierarchy);
            for (std::size_t j = 0; j < jobs; ++j)
                CHECK(result.levels[j] == doctest::Approx(levels[j]).epsilon(2e-6));
        }
    });
}

TEST_CASE("levels are those that the shares give, also where nothing is left for a job") {
    // The first job takes all of one type, the second all of the other: the third gets nothing.
    PairedShareProblem problem{{.gpus = {1, 1},
                                .jobs = {{.rates = {227.01872674831492, 26.040725124157458}},
                                         {.rates = {231.76289258481694, 16.169356560089934}},
                                         {.rates = {135.78206802063784, 20.377622239607263}}}},
                               {{{0, 1}, {{131.63001637579623, 150.94777620598424}, {13.3463, 3.37105}}},
                                {{0, 2}, {{55.03618298586599, 112.31929936578267}, {22.46305, 10.15298}}}}};
    const ShareHierarchy queue{{{.weight = 3, .in_order = true}}, {0, 0, 0}};
    const ShareResult result = fill_water(problem, queue);
    check_shares(problem, result);
    CHECK(result.status == ShareStatus::optimal);
    const std::vector<double> levels = support::paired_levels(problem, queue);
    for (std::size_t j = 0; j < 3; ++j) {
        CHECK(result.levels[j] == doctest::Approx(levels[j]).epsilon(2e-6).scale(1e-3));
        CHECK(result.levels[j] == doctest::Approx(result.rates[j] / proportional_rate(problem.alone, j)));
    }
    CHECK(result.objective == doctest::Approx(0).scale(1e-6));
}

TEST_CASE("a job that runs only with others counts in the least level") {
    PairedShareProblem problem{{.gpus = {1}, .jobs = {{.rates = {10}}, {.rates = {0}}}}, {}};
    problem.pairs.push_back({{0, 1}, {{4, 5}}});
    // A part x of the time together: levels are (10 (1 - x) + 4 x) / 10 and x.
    const ShareResult result = share_time(problem, MaxMin());
    CHECK(result.objective == doctest::Approx(1 / 1.6).epsilon(1e-6));
    CHECK(result.levels[1] == doctest::Approx(1 / 1.6).epsilon(1e-6));
    CHECK(fill_water(problem).objective == doctest::Approx(1 / 1.6).epsilon(1e-6));
}

TEST_CASE("a factor with a few entries is that of the whole matrix") {
    using Index = Eigen::Index;
    support::Random random(7);
    for (const bool few : {true, false}) {
        const Index rows = 60;
        std::vector<std::pair<Index, Index>> entries;
        for (Index i = 0; i < (few ? 60 : 2000); ++i)
            entries.emplace_back(random.integer(0, 59), random.integer(0, 59));
        detail::PairFactor factor;
        std::vector<Index> block_of;
        for (Index row = 0; row < rows; ++row) block_of.push_back(row / (few ? 1 : 2));
        factor.pose(block_of, entries);
        for (int again = 0; again < 2; ++again) {
            Eigen::MatrixXd matrix = Eigen::MatrixXd::Identity(rows, rows) * 100;
            factor.clear();
            for (Index row = 0; row < rows; ++row) factor.add_to_diagonal(row, 100);
            for (std::size_t k = 0; k < entries.size(); ++k) {
                const auto [row, column] = entries[k];
                const double amount = random.between(0, 1);
                factor.add(k, amount);
                matrix(row, column) += amount;
                if (row != column) matrix(column, row) += amount;
            }
            REQUIRE(factor.compute(1));
            const Eigen::VectorXd right = Eigen::VectorXd::LinSpaced(rows, -1, 1);
            CHECK((matrix * factor.solve(right) - right).norm() < 1e-10);
            factor.add_to_diagonal(3, -1e4);
            CHECK(!factor.compute(1));
        }
    }
}

TEST_CASE("many jobs with a few partners each have shares as good as their bound") {
    support::Random random(8);
    PairedShareProblem problem{{.gpus = {40, 30}}, {}};
    for (int j = 0; j < 200; ++j)
        problem.alone.jobs.push_back(
            {.name = std::to_string(j), .rates = {random.between(1, 9), random.between(1, 9)}});
    for (std::size_t j = 0; j < 200; ++j) {
        SharePair pair{{j, (j + 1) % 200}, {}};
        for (std::size_t t = 0; t < 2; ++t)
            pair.rates.push_back({problem.alone.jobs[pair.jobs[0]].rates[t] * random.between(0.5, 0.9),
                                  problem.alone.jobs[pair.jobs[1]].rates[t] * random.between(0.5, 0.9)});
        problem.pairs.push_back(pair);
    }
    for (const ShareResult& result : {share_time(problem, MaxMin()), share_time(problem, SumOfRates()),
                                      share_time(problem, NashWelfare())}) {
        check_shares(problem, result);
        CHECK(result.status == ShareStatus::optimal);
    }
}

TEST_CASE("jobs that run only together do so") {
    PairedShareProblem problem{{.gpus = {1}, .jobs = {{.rates = {0}}, {.rates = {0}}}}, {}};
    problem.pairs.push_back({{0, 1}, {{3, 4}}});
    const ShareResult result = share_time(problem, SumOfRates());
    CHECK(result.objective == doctest::Approx(7).epsilon(1e-6));
    CHECK(result.pair_shares[0] == doctest::Approx(1).epsilon(1e-6));
}

TEST_CASE("an idle cluster, no jobs and no GPUs have shares, too") {
    CHECK(share_time(PairedShareProblem{}, MaxMin()).shares.empty());
    PairedShareProblem problem{{.gpus = {0}, .jobs = {{.rates = {1}}, {.rates = {2}}}}, {}};
    problem.pairs.push_back({{0, 1}, {{1, 1}}});
    const ShareResult result = share_time(problem, MaxMin());
    CHECK(result.objective == 0);
    CHECK(result.pair_shares == std::vector<double>{0});
}

TEST_CASE("pairs that make no sense are refused with their jobs, field and value") {
    const PairedShareProblem good{
        {.gpus = {2}, .jobs = {{.name = "a", .rates = {1}}, {.name = "b", .rates = {2}}}},
        {{{0, 1}, {{1, 1}}}}};
    CHECK_NOTHROW(good.validate());
    const auto refuses = [&](auto spoil, const char* message) {
        PairedShareProblem bad = good;
        spoil(bad);
        CHECK_THROWS_WITH_AS(bad.validate(), message, std::invalid_argument);
    };
    refuses([](auto& p) { p.pairs[0].jobs[1] = 2; }, "pair 0: jobs is 2, but must be an index into the jobs");
    refuses([](auto& p) { p.pairs[0].jobs[1] = 0; },
            "pair of jobs 'a' and 'a': jobs is 0, but must be two different jobs");
    refuses([](auto& p) { p.alone.jobs[1].workers = 2; },
            "pair of jobs 'a' and 'b': gpus is 2, but must be 1, as many as the first has");
    refuses([](auto& p) { p.pairs[0].rates.clear(); },
            "pair of jobs 'a' and 'b': number of rates is 0, but must be that of GPU types, 1");
    refuses([](auto& p) { p.pairs[0].rates[0][1] = -1; },
            "pair of jobs 'a' and 'b': rate is -1, but must be a finite number of at least 0");
    refuses([](auto& p) { p.pairs[0].rates[0][1] = std::nan(""); },
            "pair of jobs 'a' and 'b': rate is nan, but must be a finite number of at least 0");
}
