// The useful part of a job's time: formulas against a simulation that does not use them, intervals against
// brute force, and the laws behind the published rules.

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "availability/interrupted_job.hpp"
#include "goodput/availability/availability.hpp"
#include "goodput/availability/usual_mechanisms.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double day = 86400;

}  // namespace

TEST_CASE("the useful share is what a simulation event by event finds") {
    int compared = 0;
    for (int i = 0; i < 150; ++i) {
        const test::InterruptedCase it = test::interrupted_case(i);
        const double share = useful_share(it.job, it.how, it.interval);
        REQUIRE(share >= 0);
        REQUIRE(share <= 1);
        const test::SimulatedShare seen =
            test::simulate(it.job, it.how, it.interval, static_cast<std::uint64_t>(i) + 5000, 0.004, 1e6);
        if (seen.share == 0 || seen.deviation > 0.005 * seen.share) continue;
        ++compared;
        INFO(it.how.name, ": ", share, ", simulated ", seen.share, " +- ", seen.deviation);
        CHECK(std::abs(share - seen.share) <= 4.5 * seen.deviation + 1e-9 * share);
    }
    CHECK(compared > 110);
}

TEST_CASE("no other interval is better than the best one") {
    for (int i = 0; i < 60; ++i) {
        const test::InterruptedCase it = test::interrupted_case(i);
        if (!it.how.saves) continue;
        const double longest = 30 * 3600 / it.job.per_hour;
        const Checkpointing best = best_checkpointing(it.job, it.how, longest);
        CHECK(best.interval_seconds <= longest);
        CHECK(best.availability == useful_share(it.job, it.how, best.interval_seconds));
        INFO(it.how.name, ": ", best.interval_seconds, " s, ", best.availability);
        double brute = 0;
        for (double interval = longest; interval > 1e-6 * longest; interval /= 1.01)
            brute = std::fmax(brute, useful_share(it.job, it.how, interval));
        CHECK(best.availability >= brute / 1.001);
    }
}

TEST_CASE("the best interval is Young's where checkpoints are cheap, and Daly's nearly everywhere") {
    for (const double cost : {1e-6, 1e-4, 1e-2, 0.1, 0.5}) {
        const Interruptions job{.per_hour = 0.25};
        const CheckpointMechanism how{.pause_seconds = cost * 3600 / job.per_hour};
        const Checkpointing best = best_checkpointing(job, how, 1e9);
        const double by_young = useful_share(job, how, test::young_interval(job, how));
        const double by_daly = useful_share(job, how, test::daly_interval(job, how));
        CHECK(best.availability >= by_young * (1 - 1e-12));
        CHECK(best.availability >= by_daly * (1 - 1e-12));
        CHECK(by_daly >= best.availability * (cost <= 0.1 ? 0.9999 : 0.99));
        // The next term of the expansion, which Young's rule leaves out.
        CHECK(std::abs(best.interval_seconds / test::young_interval(job, how) - 1) <= std::sqrt(cost));
    }
}

TEST_CASE("sums over Weibull periods join the closed form for periods that end at random") {
    support::Random random(3);
    for (int i = 0; i < 200; ++i) {
        test::InterruptedCase it = test::interrupted_case(i);
        it.job.shape = 1;
        const double closed = useful_share(it.job, it.how, it.interval);
        it.job.shape = 1 + 1e-9;
        const double summed = useful_share(it.job, it.how, it.interval);
        INFO(it.how.name);
        CHECK(std::abs(summed - closed) <= 2e-4 * closed + 1e-9);
    }
}

TEST_CASE("nodes alike are interrupted as one job that the first of them stops") {
    for (const double shape : {0.6, 1.0, 2.5, infinity}) {
        const Interruptions node{.per_hour = 0.1, .shape = shape, .off_seconds = 60};
        const Interruptions job = interruptions_of(node, 8);
        CHECK(job.shape == shape);
        CHECK(job.off_seconds == 60);
        test::Draws draws(11);
        double sum = 0;
        constexpr int periods = 40000;
        for (int i = 0; i < periods; ++i) {
            double first = infinity;
            for (int n = 0; n < 8; ++n) first = std::fmin(first, test::draw_live_seconds(node, draws));
            sum += first;
        }
        CHECK(sum / periods == doctest::Approx(3600 / job.per_hour).epsilon(0.03));
    }
    CHECK_THROWS_AS((void)interruptions_of({.per_hour = 1}, 0), std::invalid_argument);
}

TEST_CASE("more interruptions, dearer checkpoints and more time off are never better") {
    support::Random random(7);
    for (int i = 0; i < 300; ++i) {
        const test::InterruptedCase it = test::interrupted_case(i);
        const auto best = [&](const Interruptions& job, const CheckpointMechanism& how) {
            return best_checkpointing(job, how, 30 * day).availability;
        };
        const double now = best(it.job, it.how) * (1 + 1e-3) + 1e-12;
        Interruptions worse = it.job;
        worse.per_hour *= random.between(1, 4);
        INFO(it.how.name, ": ", now);
        // Without saves the interval is given, and shorter periods may happen to fit it better.
        if (it.how.saves) CHECK(best(worse, it.how) <= now);
        worse = it.job;
        worse.off_seconds += random.between(0, 1000);
        CHECK(best(worse, it.how) <= now);
        CheckpointMechanism dearer = it.how;
        dearer.restore_seconds += random.between(0, 1000);
        CHECK(best(it.job, dearer) <= now);
        dearer = it.how;
        dearer.pause_seconds *= random.between(1, 3);
        // A longer pause may cover writing that the job would otherwise wait for.
        if (it.how.write_seconds == 0) CHECK(best(it.job, dearer) <= now);
        dearer = it.how;
        dearer.kept *= random.unit();
        CHECK(best(it.job, dearer) <= now);
        CheckpointMechanism cheaper = it.how;
        cheaper.caught = 1;
        CHECK(best(it.job, cheaper) * (1 + 1e-3) + 1e-12 >= best(it.job, it.how));
    }
}

TEST_CASE("without interruptions only the checkpoints cost, and the longest interval is best") {
    const CheckpointMechanism how{.pause_seconds = 10, .write_seconds = 20, .write_slowdown = 0.5};
    CHECK(useful_share({}, how, 90) == doctest::Approx(0.8));
    CHECK(best_checkpointing({}, how, day).interval_seconds == day);
    CHECK(useful_share({}, {.saves = false}, day) == 1);
    const Checkpointing unsaved = best_checkpointing({.per_hour = 1}, {.saves = false}, 3600);
    CHECK(unsaved.interval_seconds == 3600);
    // An hour's work at once, with interruptions an hour apart on average.
    CHECK(unsaved.availability == doctest::Approx(1 / std::expm1(1.0)));
    CHECK(expected_seconds(100, unsaved) == doctest::Approx(100 * std::expm1(1.0)));
    CHECK(expected_seconds(0, {.availability = 0}) == 0);
    CHECK(expected_seconds(1, {.availability = 0}) == infinity);
}

TEST_CASE("the best of several mechanisms is the best one at its own interval") {
    for (const int nodes : {1, 4, 32}) {
        for (const double per_hour : {0.0, 1e-3, 0.1, 3.0}) {
            const Interruptions job = interruptions_of({.per_hour = per_hour, .off_seconds = 120}, nodes);
            const std::vector<CheckpointMechanism> usual =
                usual_mechanisms({.state_gib = 30.0 * nodes, .nodes = nodes});
            CHECK(usual.size() == (nodes == 1 ? 5 : 6));
            const Checkpointing best = best_checkpointing(job, usual, day);
            double most = 0;
            for (const CheckpointMechanism& how : usual)
                most = std::fmax(most, best_checkpointing(job, how, day).availability);
            CHECK(best.availability == most);
            // There are no interruptions to save against.
            if (per_hour == 0) CHECK(usual[best.mechanism].name == "none");
        }
    }
    CHECK_THROWS_AS((void)best_checkpointing({.per_hour = 1}, std::vector<CheckpointMechanism>{}, day),
                    std::invalid_argument);
    CHECK_THROWS_AS((void)usual_mechanisms({.state_gib = 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)usual_mechanisms({.noticed = 1.5}), std::invalid_argument);
    CHECK_THROWS_AS((void)usual_mechanisms({.storage_gib_per_second = std::nan("")}), std::invalid_argument);
}

TEST_CASE("a job that is soon done takes the checkpoints that are best until then") {
    // Two thirds of an interval may well remain without a checkpoint, and the long run's interval would be
    // too long for the rest.
    const Interruptions job{.per_hour = 0.0198};
    const CheckpointMechanism how{.pause_seconds = 5, .write_seconds = 120, .caught = 0.5};
    const double long_run = best_checkpointing(job, how, day).interval_seconds, left = 2396;
    const Checkpointing best = best_checkpointing_until_end(job, how, long_run, left);
    CHECK(best.availability > 1.001 * useful_share_until_end(job, how, long_run, left));
    for (double interval = 60; interval < 2 * left; interval *= 1.01)
        CHECK(useful_share_until_end(job, how, interval, left) <= best.availability);
    // Far from the end it is the long run's share, and a checkpoint never takes less than its writing.
    CHECK(best_checkpointing_until_end(job, how, long_run, 1e8).availability ==
          doctest::Approx(useful_share(job, how, long_run)).epsilon(1e-4));
    CHECK(useful_share_until_end(job, how, 1, left) == useful_share_until_end(job, how, 120, left));
    CHECK_THROWS_AS((void)useful_share_until_end(job, how, 60, 0), std::invalid_argument);
}

TEST_CASE("as many checkpoints are in flight at the beginning of a period as at its end") {
    support::Random random(6);
    for (int round = 0; round < 500; ++round) {
        std::vector<double> moves(static_cast<std::size_t>(random.integer(1, most_stored_every)));
        double sum = 0;
        for (double& move : moves)
            sum += move = random.chance(0.3) ? 0 : std::pow(10, random.between(-20, 0));
        if (sum == 0) sum = moves[0] = 1;
        for (double& move : moves) move /= sum;
        const double stays = random.chance(0.2)   ? 0
                             : random.chance(0.5) ? random.unit()
                                                  : 1 - std::pow(10, random.between(-15.5, 0));
        const std::vector<double> present = detail::ring_occupancy(moves, stays);
        const std::size_t m = moves.size();
        double all = 0;
        for (std::size_t s = 0; s < m; ++s) {
            double arrive = s == 0 ? 1 - stays : 0;
            for (std::size_t from = 0; from < m; ++from)
                arrive += stays * moves[(s + m - from) % m] * present[from];
            CHECK(present[s] >= 0);
            CHECK(std::abs(present[s] - arrive) <= 1e-12 * (present[s] + arrive));
            all += present[s];
        }
        CHECK(all == doctest::Approx(1).epsilon(1e-12));
    }
}

TEST_CASE("the lower part of a gamma distribution agrees with its special cases") {
    for (double x = 1e-6; x < 60; x *= 1.7) {
        CHECK(detail::lower_gamma_part(1, x) == doctest::Approx(-std::expm1(-x)).epsilon(1e-12));
        CHECK(detail::lower_gamma_part(0.5, x) == doctest::Approx(std::erf(std::sqrt(x))).epsilon(1e-12));
        for (const double a : {0.05, 0.7, 1.6, 8.0, 40.0}) {
            const double step = std::exp(a * std::log(x) - x - std::lgamma(a + 1));
            CHECK(std::abs(detail::lower_gamma_part(a, x) - step - detail::lower_gamma_part(a + 1, x)) <=
                  1e-13);
        }
    }
    // Large shapes, for which sums need thousands of terms: compares with the asymptotic expansion at the
    // shape itself, and with the normal distribution around it.
    for (const double a : {1e3, 1e5, 1e6, 1e8}) {
        CAPTURE(a);
        const double at_a = 0.5 + 1 / (3 * std::sqrt(2 * std::acos(-1.0) * a));
        CHECK(detail::lower_gamma_part(a, a) == doctest::Approx(at_a).epsilon(0.1 / a));
        for (const double deviations : {-5.0, -1.0, 1.0, 5.0}) {
            const double normal = std::erfc(-deviations / std::sqrt(2.0)) / 2;
            CHECK(std::abs(detail::lower_gamma_part(a, a + deviations * std::sqrt(a)) - normal) <
                  1 / std::sqrt(a));
        }
        CHECK(detail::lower_gamma_part(a, a / 2) < 1e-10);
        CHECK(detail::lower_gamma_part(a, 2 * a) > 1 - 1e-10);
    }
    CHECK(detail::lower_gamma_part(2, 0) == 0);
    CHECK(detail::lower_gamma_part(2, infinity) == 1);
}

TEST_CASE("bad interruptions, mechanisms and intervals are refused") {
    const double bad = std::nan("");
    CHECK_THROWS_AS(validate(Interruptions{.per_hour = -1}, "node"), std::invalid_argument);
    CHECK_THROWS_AS(validate(Interruptions{.per_hour = infinity}, "node"), std::invalid_argument);
    CHECK_THROWS_AS(validate(Interruptions{.shape = 0}, "node"), std::invalid_argument);
    CHECK_THROWS_AS(validate(Interruptions{.shape = bad}, "node"), std::invalid_argument);
    CHECK_THROWS_AS(validate(Interruptions{.off_seconds = bad}, "node"), std::invalid_argument);
    CHECK_THROWS_AS(validate(CheckpointMechanism{.pause_seconds = -1}), std::invalid_argument);
    CHECK_THROWS_AS(validate(CheckpointMechanism{.write_slowdown = 1.1}), std::invalid_argument);
    CHECK_THROWS_AS(validate(CheckpointMechanism{.kept = bad}), std::invalid_argument);
    CHECK_THROWS_AS(validate(CheckpointMechanism{.stored_every = 0}), std::invalid_argument);
    CHECK_THROWS_AS(validate(CheckpointMechanism{.stored_every = most_stored_every + 1}),
                    std::invalid_argument);
    CHECK_THROWS_AS((void)useful_share({}, {}, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)useful_share({}, {}, infinity), std::invalid_argument);
    CHECK_THROWS_AS((void)best_checkpointing({}, CheckpointMechanism{}, bad), std::invalid_argument);
}
