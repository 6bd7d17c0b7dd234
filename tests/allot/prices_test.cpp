// Tests the linear program that is solved between two passes over all options. For any columns its mixture
// and its prices must prove each other optimal, and it must end.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/price_master.hpp"
#include "goodput/core/detail/clock.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using goodput::detail::Clock;
using goodput::detail::PriceMaster;
using support::Random;

namespace {

struct Column {
    std::size_t block;
    double value;
    std::vector<double> usage;
};

/// Price ceiling of every resource; at this price no column is worth exceeding a capacity.
constexpr double ceiling = 1e4;

/// Returns the bound that the prices prove: no mixture of the columns is worth more.
double dual(std::span<const double> capacity, std::span<const Column> columns, std::size_t blocks,
            std::span<const double> prices) {
    std::vector<double> best(blocks, -std::numeric_limits<double>::infinity());
    for (const Column& column : columns) {
        double reduced = column.value;
        for (std::size_t r = 0; r < capacity.size(); ++r) reduced -= prices[r] * column.usage[r];
        best[column.block] = std::max(best[column.block], reduced);
    }
    double sum = 0;
    for (const double reduced : best) sum += reduced;
    for (std::size_t r = 0; r < capacity.size(); ++r) sum += prices[r] * capacity[r];
    return sum;
}

/// Returns the worth of the mixture, less a penalty at the ceilings for exceeding capacities.
double primal(std::span<const double> capacity, std::span<const Column> columns, std::size_t blocks,
              const PriceMaster& master) {
    std::vector<double> weights(blocks, 0), left(capacity.begin(), capacity.end());
    double sum = 0;
    master.for_each_weight([&](std::size_t i, double weight) {
        REQUIRE(weight >= 0);
        weights[columns[i].block] += weight;
        sum += weight * columns[i].value;
        for (std::size_t r = 0; r < left.size(); ++r) left[r] -= weight * columns[i].usage[r];
    });
    for (const double weight : weights) REQUIRE(std::abs(weight - 1) <= 1e-9);
    for (const double units : left) sum += ceiling * std::min(units, 0.0);
    return sum;
}

/// All numbers are small integers, some capacities are 0: many bases give the same mixture, and most pivots
/// gain nothing. Columns are added bit by bit, and the program is solved after each addition.
void solve_random_masters(Random& random, int most_resources, int most_blocks) {
    PriceMaster master;
    Clock clock;
    std::vector<double> capacity, ceilings;
    for (int r = random.integer(1, most_resources); r > 0; --r)
        capacity.push_back(random.chance(0.4) ? 0 : random.integer(1, 6));
    ceilings.assign(capacity.size(), ceiling);
    const auto blocks = static_cast<std::size_t>(random.integer(1, most_blocks));
    master.reset(capacity, ceilings, blocks);
    std::vector<Column> columns;
    const int wanted = random.integer(static_cast<int>(blocks), 40);
    const auto add = [&](std::size_t block) {
        Column column{block, static_cast<double>(random.integer(0, 5)), {}};
        for (std::size_t r = 0; r < capacity.size(); ++r)
            column.usage.push_back(random.chance(0.5) ? 0 : random.integer(1, 3));
        if (master.add_column(block, column.value, column.usage)) columns.push_back(column);
    };
    for (std::size_t block = 0; block < blocks; ++block) add(block);
    master.begin();
    for (int more = static_cast<int>(blocks); more < wanted; ++more) {
        add(static_cast<std::size_t>(random.integer(0, static_cast<int>(blocks) - 1)));
        master.solve(clock);
        for (const double price : master.prices()) REQUIRE((price >= -1e-9 && price <= ceiling + 1e-6));
        const double below = primal(capacity, columns, blocks, master),
                     above = dual(capacity, columns, blocks, master.prices());
        REQUIRE(above >= below - 1e-6);
        REQUIRE(above - below <= 1e-6 * (1 + std::abs(below)));
    }
}

}  // namespace

TEST_CASE("mixture and prices of the master prove each other the best, where most pivots gain nothing") {
    Random random(1977);
    for (int round = 0; round < 3000; ++round) {
        CAPTURE(round);
        solve_random_masters(random, 6, 4);
    }
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        solve_random_masters(random, 30, 12);
    }
}
