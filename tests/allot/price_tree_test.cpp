// Tests the search that prices again at every node (allot/detail/price_tree.hpp), its simplex method
// (dual_simplex.hpp) and its covers (cover_rows.hpp) each alone. The solver would use the search of the core
// first and might never reach them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/compactor.hpp"
#include "goodput/allot/detail/cover_rows.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/first_allotment.hpp"
#include "goodput/allot/detail/price_tree.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/rounding_rows.hpp"
#include "goodput/core/detail/clock.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"
#include "support/trials.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::detail;
using support::Random;

namespace {

/// A problem as the tree receives it, with a first allotment if one is found.
struct Posed {
    Clock clock{std::nullopt};
    CompactProblem problem;
    Relaxation relaxation;
    Incumbent incumbent;
    bool possible = false, found = false;

    explicit Posed(const AllotmentProblem& given) {
        Compactor compactor;
        possible = compactor.assign(given, problem, false, clock);
        if (!possible) return;
        relaxation.solve(problem, false, clock);
        FirstAllotment first;
        found = first(problem, relaxation, incumbent, clock, [](Incumbent&) { return false; });
    }
};

/// Makes jobs whose values are weight x GPUs to a power, with quotas, licences, and cores and memory that
/// differ by job, so that several rows bind. Every fourth job is like the one before it.
AllotmentProblem many_rows_problem(Random& random, int jobs, int rows) {
    AllotmentProblem problem;
    const auto extra = static_cast<std::uint32_t>(rows - 2);
    problem.capacity.assign(static_cast<std::size_t>(rows), 0);
    std::vector<ResourceUse> uses;
    for (int job = 0; job < jobs; ++job) {
        if (job % 4 == 3) {
            problem.add_job_like(problem.jobs() - 1);
            continue;
        }
        problem.add_job(random.chance(0.1));
        const double weight = random.between(1, 10), power = random.between(0.5, 0.95);
        std::vector<double> of_gpu(extra, 0);
        for (double& units : of_gpu)
            if (random.chance(0.4))
                units = random.chance(0.5) ? 1 : std::round(100 * random.between(1, 6)) / 100;
        for (std::uint32_t pool = 0; pool < 2; ++pool)
            for (int n = 1; n <= 16; n *= 2) {
                uses.assign(1, {pool, static_cast<double>(n)});
                for (std::uint32_t r = 0; r < extra; ++r)
                    if (of_gpu[r] > 0) uses.push_back({2 + r, n * of_gpu[r]});
                problem.add_option(weight * (1 + 0.5 * pool) * std::pow(n, power), uses);
            }
    }
    for (double& units : problem.capacity) units = std::round(jobs * random.between(1, 4));
    return problem;
}

/// Makes jobs of teams that share a few pools. The worth of a GPU differs by job, pool and size at random, so
/// a better allotment found during the search rules out many options.
AllotmentProblem teams_problem(Random& random) {
    AllotmentProblem problem;
    const int pools = random.integer(2, 4), teams = random.integer(0, 4), jobs = random.integer(10, 60);
    for (int pool = 0; pool < pools; ++pool) problem.capacity.push_back(random.integer(8, 64));
    for (int team = 0; team < teams; ++team) problem.capacity.push_back(random.integer(10, 80));
    std::vector<ResourceUse> uses;
    for (int job = 0; job < jobs; ++job) {
        problem.add_job();
        const int team = random.integer(0, std::max(teams - 1, 0));
        for (int pool = 0; pool < pools; ++pool)
            for (int gpus = 1; gpus <= 16; gpus *= 2) {
                if (random.chance(0.25)) continue;
                uses.assign(1, {static_cast<std::uint32_t>(pool), static_cast<double>(gpus)});
                if (teams > 0)
                    uses.push_back({static_cast<std::uint32_t>(pools + team),
                                    static_cast<double>(gpus * random.integer(1, 2))});
                problem.add_option(random.integer(50, 150) * std::pow(gpus, 0.6), uses);
            }
    }
    return problem;
}

}  // namespace

TEST_CASE("the tree alone proves what brute force finds, of odd small problems") {
    Random random(4728);
    support::BruteForce brute_force;
    int searched = 0;
    for (int round = 0; round < support::trials(20'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given = support::small_problem(random);
        Posed posed(given);
        if (!posed.found) continue;
        const double best = brute_force(given);
        AllotOptions options;
        options.gap = 0;
        PriceTree<> tree;
        const SearchOutcome outcome =
            tree.run(posed.problem, posed.relaxation, posed.incumbent, options, posed.clock);
        const double rounding = 1e-11 * (1e-300 + support::scale_of(given));
        REQUIRE(outcome.stopped == StopReason::proven);
        CHECK(std::abs(posed.incumbent.value - best) <= rounding);
        CHECK(outcome.bound >= best - rounding);
        CHECK(outcome.bound - posed.incumbent.value <= 2 * posed.problem.rounding() + rounding);
        if (outcome.nodes > 0) ++searched;
    }
    CHECK(searched > 0);
}

TEST_CASE("a job is split among the options that the latest incumbent leaves, however many it rules out") {
    Random random(5);
    for (int round = 0; round < support::trials(1'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given = teams_problem(random);
        const AllotResult result = allot(given, {.gap = 0, .most_states = std::size_t{1} << 16});
        // Sanitizers report an access to a split that is no longer in the list.
        const double rounding = 1e-11 * support::scale_of(given);
        CHECK(result.bound >= result.objective - rounding);
        if (result.status == AllotStatus::optimal) CHECK(result.bound - result.objective <= rounding);
    }
}

TEST_CASE(
    "the tree alone agrees with the core's search on problems with many rows, in one go and in many turns") {
    Random random(20261129);
    for (int round = 0; round < support::trials(600); ++round) {
        CAPTURE(round);
        const AllotmentProblem given = many_rows_problem(random, random.integer(4, 14), random.integer(3, 9));
        AllotOptions options;
        options.gap = 0;
        const AllotResult expected = allot(given, options);
        Posed posed(given);
        if (!posed.found) continue;
        REQUIRE(expected.status == AllotStatus::optimal);
        const double rounding = 1e-11 * support::scale_of(given);
        Incumbent again = posed.incumbent;
        PriceTree<> tree;
        const SearchOutcome outcome =
            tree.run(posed.problem, posed.relaxation, posed.incumbent, options, posed.clock);
        CHECK(outcome.stopped == StopReason::proven);
        CHECK(std::abs(posed.incumbent.value - expected.objective) <= rounding);
        CHECK(std::abs(outcome.bound - expected.objective) <= rounding);
        PriceTree<> in_turns;
        AllotOptions turn = options;
        turn.most_states = 64;
        SearchOutcome last;
        double bound = std::numeric_limits<double>::infinity();
        for (int turns = 0; turns < 100'000; ++turns) {
            last = in_turns.run(posed.problem, posed.relaxation, again, turn, posed.clock);
            CHECK(last.bound <= bound + rounding);
            CHECK(last.bound >= expected.objective - rounding);
            bound = last.bound;
            if (last.stopped == StopReason::proven) break;
        }
        CHECK(last.stopped == StopReason::proven);
        CHECK(again.value == posed.incumbent.value);
    }
}

TEST_CASE(
    "the simplex method finds the relaxation's bound, whatever basis it begins with and whatever was "
    "forbidden") {
    Random random(20261130);
    for (int round = 0; round < support::trials(2'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given =
            random.chance(0.5) ? many_rows_problem(random, random.integer(2, 30), random.integer(3, 12))
                               : support::small_problem(random);
        Posed posed(given);
        if (!posed.possible || posed.problem.groups() == 0 || !posed.relaxation.complete() ||
            !posed.relaxation.feasible())
            continue;
        const CompactProblem& problem = posed.problem;
        const double rounding = 1e-8 * (1e-300 + problem.magnitude);
        DualSimplex simplex;
        simplex.assign(problem, {});
        if (random.chance(0.5)) {
            simplex.begin(posed.relaxation.mixture(), posed.relaxation.prices());
        } else {
            std::vector<double> amounts(problem.count), prices(problem.resources());
            for (double& amount : amounts) amount = random.chance(0.3) ? random.unit() : 0;
            for (double& price : prices) price = random.integer(0, 1);
            simplex.begin(amounts, prices);
        }
        const double nothing = -std::numeric_limits<double>::infinity();
        const auto end = simplex.solve(nothing, posed.clock);
        REQUIRE(end == DualSimplex::End::optimal);
        CHECK(std::abs(simplex.bound() - posed.relaxation.bound()) <= rounding);
        double value = 0;
        std::vector<double> left = problem.capacity;
        for (std::uint32_t k = 0; k < problem.count; ++k) {
            CHECK(simplex.amount(k) >= -1e-6);
            value += simplex.amount(k) * problem.value[k];
            for (const ResourceUse& use : problem.uses_of(k))
                left[use.resource] -= simplex.amount(k) * use.units;
        }
        CHECK(std::abs(value - simplex.bound()) <= rounding);
        for (std::size_t r = 0; r < left.size(); ++r) CHECK(left[r] >= -1e-6 * (1 + problem.capacity[r]));
        // Forbidding options never raises the bound, and allowing them again restores it.
        double bound = simplex.bound();
        for (int step = 0; step < 4; ++step) {
            const auto group =
                static_cast<std::size_t>(random.integer(0, static_cast<int>(problem.groups()) - 1));
            const std::uint32_t kept =
                problem.first[group] +
                static_cast<std::uint32_t>(
                    random.integer(0, static_cast<int>(problem.first[group + 1] - problem.first[group]) - 1));
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                if (k != kept) simplex.limit(k, 0, 0);
            const auto limited = simplex.solve(nothing, posed.clock);
            if (limited == DualSimplex::End::infeasible || limited == DualSimplex::End::unfinished) break;
            CHECK(simplex.bound() <= bound + rounding);
            bound = simplex.bound();
        }
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
                simplex.limit(k, 0, problem.copies(group));
        CHECK(simplex.solve(nothing, posed.clock) == DualSimplex::End::optimal);
        CHECK(std::abs(simplex.bound() - posed.relaxation.bound()) <= rounding);
    }
}

namespace {

/// Returns how many copies at most take an option of at least their threshold, over all choices within the
/// cover's capacity.
std::size_t most_above(const CompactProblem& problem, const Cover& cover, std::size_t copy, double left) {
    if (copy == problem.job.size()) return 0;
    std::size_t group = 0;
    while (problem.first_copy[group + 1] <= copy) ++group;
    std::size_t most = 0;
    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
        double units = 0;
        for (const ResourceUse& use : problem.uses_of(k))
            if (use.resource == cover.resource) units = use.units;
        if (units > left + problem.tolerance[cover.resource]) continue;
        most = std::max(most, (units >= cover.threshold[group] ? 1 : 0) +
                                  most_above(problem, cover, copy + 1, left - units));
    }
    return most;
}

}  // namespace

TEST_CASE("a cover cuts the relaxation's mixture off and no allotment") {
    Random random(20261131);
    int found = 0;
    CoverSearch covers;
    for (int round = 0; round < support::trials(20'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given = support::small_problem(random, 3, 2'000);
        Posed posed(given);
        if (!posed.possible) continue;
        const auto amounts = posed.relaxation.mixture();
        for (std::size_t r = 0; r < posed.problem.resources(); ++r) {
            if (!covers.find(posed.problem, r, amounts)) continue;
            ++found;
            const Cover& cover = covers.cover();
            CHECK(cover.resource == r);
            CHECK(most_above(posed.problem, cover, 0, posed.problem.capacity[r]) <= cover.most);
            FurtherRows rows;
            CoverSearch::add_row(posed.problem, cover, rows);
            const FurtherRow row = rows[0];
            double taken = 0;
            for (const auto& term : row.terms) taken += term.units * amounts[term.option];
            CHECK(taken > row.capacity);
        }
    }
    CHECK(found > support::trials(20'000) / 100);
}

namespace {

/// Returns the most units of a row over all choices within the capacities, or -infinity if there is none.
double most_taken(const CompactProblem& problem, const FurtherRow& row, std::size_t copy,
                  std::vector<double>& left) {
    if (copy == problem.job.size()) return 0;
    std::size_t group = 0;
    while (problem.first_copy[group + 1] <= copy) ++group;
    double most = -std::numeric_limits<double>::infinity();
    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
        bool fits = true;
        for (const ResourceUse& use : problem.uses_of(k))
            fits = fits && use.units <= left[use.resource] + problem.tolerance[use.resource];
        if (!fits) continue;
        double units = 0;
        for (const auto& term : row.terms)
            if (term.option == k) units = term.units;
        for (const ResourceUse& use : problem.uses_of(k)) left[use.resource] -= use.units;
        most = std::max(most, units + most_taken(problem, row, copy + 1, left));
        for (const ResourceUse& use : problem.uses_of(k)) left[use.resource] += use.units;
    }
    return most;
}

}  // namespace

TEST_CASE(
    "a row by mixed-integer rounding cuts the relaxation's mixture off and no allotment, row upon row") {
    Random random(20261132);
    int found = 0;
    RoundingRows rounding;
    for (int round = 0; round < support::trials(10'000); ++round) {
        CAPTURE(round);
        const AllotmentProblem given =
            random.chance(0.5) ? support::small_problem(random, 3, 500)
                               : many_rows_problem(random, random.integer(2, 3), random.integer(3, 5));
        Posed posed(given);
        if (!posed.possible || posed.problem.groups() == 0 || !posed.relaxation.feasible()) continue;
        const CompactProblem& problem = posed.problem;
        rounding.begin(problem);
        FurtherRows further;
        std::vector<double> amounts(problem.count);
        for (int pass = 0; pass < 3; ++pass) {
            DualSimplex simplex;
            simplex.assign(problem, further);
            simplex.begin(posed.relaxation.mixture(), posed.relaxation.prices());
            if (simplex.solve(-std::numeric_limits<double>::infinity(), posed.clock) !=
                DualSimplex::End::optimal)
                break;
            for (std::uint32_t k = 0; k < problem.count; ++k) amounts[k] = simplex.amount(k);
            const FurtherRows before = further;
            for (std::size_t row = 0; row < simplex.rows(); ++row) {
                if (!rounding.find(problem, before, simplex, row, amounts)) continue;
                ++found;
                const FurtherRow& its = rounding.row();
                std::vector<double> left = problem.capacity;
                CHECK(most_taken(problem, its, 0, left) <= its.capacity);
                double taken = 0;
                for (const auto& term : its.terms) {
                    CHECK(term.units > 0);
                    taken += term.units * amounts[term.option];
                }
                CHECK(taken > its.capacity);
                further.add(its);
            }
            if (further.size() == before.size()) break;
        }
    }
    CHECK(found > support::trials(10'000) / 10);
}
