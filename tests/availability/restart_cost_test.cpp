// The cost of a restart, estimated from reported starts and the size of a checkpoint, against measured
// restarts.

#include "goodput/availability/restart_cost.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "support/random.hpp"

#include <doctest/doctest.h>

using goodput::estimated_restart_seconds;
using goodput::RestartReports;

TEST_CASE("A job without reports is expected to need 30 s, plus the time for its size") {
    CHECK(estimated_restart_seconds({}) == doctest::Approx(30));
    CHECK(estimated_restart_seconds({{}, 10}) == doctest::Approx(50));
    CHECK(estimated_restart_seconds({{30}, 10}) == doctest::Approx(50));
    CHECK(estimated_restart_seconds({{8}}) == doctest::Approx(10));  // (3 + 8) / 1.1
    CHECK(estimated_restart_seconds({{0}}) == doctest::Approx(30.0 / 11));
}

TEST_CASE("One report nearly settles what a start takes, many settle it, and their order does not matter") {
    support::Random random(61);
    for (int world = 0; world < 1000; ++world) {
        const double truth = std::exp(random.between(std::log(0.1), std::log(3600)));
        RestartReports reports;
        double before = std::abs(estimated_restart_seconds(reports) - truth);
        for (int n = 1; n <= 50; ++n) {
            reports.start_seconds.push_back(truth);
            const double away = std::abs(estimated_restart_seconds(reports) - truth);
            CHECK(away <= before + 1e-9);
            CHECK(away <= std::abs(30 - truth) * 0.1 / n + 1e-9);
            before = away;
        }
        reports.start_seconds = {random.between(0, 100), random.between(0, 100), random.between(0, 100)};
        reports.checkpoint_gib = random.between(0, 100);
        const double seconds = estimated_restart_seconds(reports);
        std::reverse(reports.start_seconds.begin(), reports.start_seconds.end());
        CHECK(estimated_restart_seconds(reports) == doctest::Approx(seconds));
        // The estimate grows with every report and with the size.
        reports.start_seconds[1] += 1;
        CHECK(estimated_restart_seconds(reports) == doctest::Approx(seconds + 1 / 3.1));
        reports.checkpoint_gib += 1;
        CHECK(estimated_restart_seconds(reports) == doctest::Approx(seconds + 1 / 3.1 + 2));
        CHECK(std::isfinite(estimated_restart_seconds({std::vector<double>(100, 1e7), 1e6})));
    }
}

TEST_CASE("One start of a measured model predicts its next restart to within a quarter") {
    struct Model {
        double first_start, gib, next_total;
    };
    for (const Model& model : {Model{16.0, 0.191, 15.4}, Model{21.1, 1.224, 25.4}}) {
        CHECK(std::abs(estimated_restart_seconds({{model.first_start}, model.gib}) / model.next_total - 1) <
              0.25);
    }
    // Only the size is known.
    CHECK(std::abs(estimated_restart_seconds({{}, 8.7}) / 52 - 1) < 0.25);
}

TEST_CASE("Impossible starts and sizes are refused with their field and value") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double wrong : {-1.0, std::nan(""), infinity, 1.1e7}) {
        CHECK_THROWS_WITH_AS((void)estimated_restart_seconds({{20, wrong}}),
                             doctest::Contains("start_seconds"), std::invalid_argument);
        CHECK_THROWS_WITH_AS((void)estimated_restart_seconds({{}, wrong}),
                             doctest::Contains("checkpoint_gib"), std::invalid_argument);
    }
}
