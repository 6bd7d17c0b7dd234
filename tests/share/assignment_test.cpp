// Least-cost assignment: no permutation is cheaper, and the duals prove it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "goodput/share/assignment.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

struct Costs {
    std::size_t rows = 0;
    std::vector<std::size_t> places;
    std::vector<double> cost;  // by row, then by column

    double operator()(std::size_t row, std::size_t column) const {
        return cost[row * places.size() + column];
    }
};

/// With `steps` > 0, costs are whole numbers up to `steps`, so that many assignments tie.
Costs random_costs(Random& random, int most_rows, int most_columns, int most_places, int steps) {
    Costs costs;
    costs.rows = static_cast<std::size_t>(random.integer(0, most_rows));
    std::size_t room = 0;
    const int columns = random.integer(1, most_columns);
    for (int j = 0; j < columns || room < costs.rows; ++j) {
        costs.places.push_back(static_cast<std::size_t>(random.integer(0, most_places)));
        room += costs.places.back();
    }
    for (std::size_t i = 0; i < costs.rows * costs.places.size(); ++i)
        costs.cost.push_back(steps > 0 ? random.integer(-steps, steps) : random.between(-100, 100));
    return costs;
}

/// Tries all columns for one row after the other, and returns the least cost of all assignments.
double least_of_all(const Costs& costs, std::vector<std::size_t>& left, std::size_t row = 0) {
    if (row == costs.rows) return 0;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < left.size(); ++j) {
        if (left[j] == 0) continue;
        --left[j];
        best = std::min(best, costs(row, j) + least_of_all(costs, left, row + 1));
        ++left[j];
    }
    return best;
}

/// Checks everything that a reader of the certificate has to check.
void check_certificate(const Costs& costs, const Assignment& found, double rounding) {
    REQUIRE(found.column.size() == costs.rows);
    std::vector<std::size_t> taken(costs.places.size());
    double cost = 0, bound = 0;
    for (std::size_t i = 0; i < costs.rows; ++i) {
        REQUIRE(found.column[i] < costs.places.size());
        ++taken[found.column[i]];
        cost += costs(i, found.column[i]);
        bound += found.row_dual[i];
        bool feasible = true;
        for (std::size_t j = 0; j < costs.places.size(); ++j)
            feasible &=
                costs.places[j] == 0 || found.row_dual[i] + found.column_dual[j] <= costs(i, j) + rounding;
        CHECK(feasible);
    }
    for (std::size_t j = 0; j < costs.places.size(); ++j) {
        CHECK(taken[j] <= costs.places[j]);
        CHECK(found.column_dual[j] <= 0);
        if (taken[j] < costs.places[j]) CHECK(found.column_dual[j] == 0);
        bound += static_cast<double>(costs.places[j]) * found.column_dual[j];
    }
    CHECK(found.cost == doctest::Approx(cost).epsilon(1e-12));
    CHECK(std::abs(found.bound - bound) <= rounding);
    CHECK(std::abs(found.cost - found.bound) <= rounding);
}

}  // namespace

TEST_CASE("no assignment of a few rows costs less, with ties or without") {
    Random random(1);
    for (int round = 0; round < 4000; ++round) {
        const Costs costs = random_costs(random, 5, 5, 3, round % 2 == 0 ? 3 : 0);
        const Assignment found = least_cost_assignment(costs.rows, costs.places, costs);
        std::vector<std::size_t> left = costs.places;
        CHECK(found.cost == doctest::Approx(least_of_all(costs, left)).epsilon(1e-12));
        check_certificate(costs, found, 1e-9);
    }
}

TEST_CASE("the duals prove assignments that are too many to enumerate") {
    Random random(2);
    for (int round = 0; round < 40; ++round) {
        const Costs costs = random_costs(random, 150, 200, round % 2 == 0 ? 1 : 6, round % 3 == 0 ? 20 : 0);
        check_certificate(costs, least_cost_assignment(costs.rows, costs.places, costs), 1e-8);
    }
}

TEST_CASE("small costs decide where large ones tie, however large") {
    Random random(4);
    const double large = std::ldexp(1.0, 60);
    for (int round = 0; round < 2000; ++round) {
        Costs costs = random_costs(random, 5, 5, 2, 3);
        for (double& cost : costs.cost) {
            cost += 3;
            if (random.chance(0.5)) cost *= large;
        }
        // Finds the least sums, with large and small costs added up separately.
        using Sums = std::pair<double, double>;
        std::vector<std::size_t> left = costs.places;
        const auto add = [&](Sums sums, std::size_t row, std::size_t column) {
            (costs(row, column) >= large ? sums.first : sums.second) += costs(row, column);
            return sums;
        };
        const auto least = [&](auto&& self, std::size_t row, Sums sums) -> Sums {
            if (row == costs.rows) return sums;
            Sums best{std::numeric_limits<double>::infinity(), 0};
            for (std::size_t j = 0; j < left.size(); ++j) {
                if (left[j] == 0) continue;
                --left[j];
                best = std::min(best, self(self, row + 1, add(sums, row, j)));
                ++left[j];
            }
            return best;
        };
        const Assignment found = least_cost_assignment(costs.rows, costs.places, costs);
        Sums sums{};
        for (std::size_t i = 0; i < costs.rows; ++i) sums = add(sums, i, found.column[i]);
        CHECK(sums == least(least, 0, {}));
    }
}

TEST_CASE("costs in other units are the same assignment, however small or large the unit") {
    Random random(5);
    for (int round = 0; round < 200; ++round) {
        const Costs costs = random_costs(random, 12, 8, 3, round % 2 == 0 ? 3 : 0);
        const Assignment found = least_cost_assignment(costs.rows, costs.places, costs);
        for (const int power : {-1000, -300, 490}) {
            CAPTURE(power);
            Costs scaled = costs;
            for (double& cost : scaled.cost) cost = std::ldexp(cost, power);
            const Assignment same = least_cost_assignment(scaled.rows, scaled.places, scaled);
            CHECK(same.column == found.column);
            CHECK(same.cost == std::ldexp(found.cost, power));
        }
    }
}

TEST_CASE("a column of several places is as good as that many columns") {
    Random random(3);
    for (int round = 0; round < 100; ++round) {
        const Costs costs = random_costs(random, 20, 8, 5, 0);
        std::vector<std::size_t> column_of;
        for (std::size_t j = 0; j < costs.places.size(); ++j)
            column_of.insert(column_of.end(), costs.places[j], j);
        const Assignment apart = least_cost_assignment(
            costs.rows, std::vector<std::size_t>(column_of.size(), 1),
            [&](std::size_t row, std::size_t column) { return costs(row, column_of[column]); });
        CHECK(least_cost_assignment(costs.rows, costs.places, costs).cost ==
              doctest::Approx(apart.cost).epsilon(1e-12));
    }
}

TEST_CASE("costs that are not numbers and rows without a place are refused") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<std::size_t> none, two{1, 1};
    CHECK_THROWS_AS((void)least_cost_assignment(3, two, [](std::size_t, std::size_t) { return 1.0; }),
                    std::invalid_argument);
    for (const double bad : {nan, HUGE_VAL, -HUGE_VAL, 1e200})
        CHECK_THROWS_AS((void)least_cost_assignment(
                            2, two, [&](std::size_t i, std::size_t j) { return i + j == 2 ? bad : 1.0; }),
                        std::invalid_argument);
    CHECK(least_cost_assignment(0, none, [](std::size_t, std::size_t) { return 1.0; }).cost == 0);
}
