// Estimates how often nodes are interrupted from observations: intervals hold as often as they say, the shape
// is right, and alarms are as rare as stated.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "availability/interrupted_job.hpp"
#include "goodput/availability/interruption_change.hpp"
#include "goodput/availability/interruption_fit.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

/// Observes several nodes for `seconds` each.
ObservedPeriods observe(const Interruptions& node, int nodes, double seconds, std::uint64_t seed) {
    test::Draws draws(seed);
    ObservedPeriods seen;
    for (int n = 0; n < nodes; ++n) {
        double left = seconds;
        while (true) {
            const double live = std::max(test::draw_live_seconds(node, draws), 1e-3);
            if (live >= left) {
                seen.running_seconds.push_back(left);
                break;
            }
            seen.live_seconds.push_back(live);
            seen.off_seconds.push_back(-node.off_seconds * std::log(draws.next()));
            left -= live;
        }
    }
    return seen;
}

}  // namespace

TEST_CASE("intervals hold as often as they say, where the truth is drawn from the prior") {
    const InterruptionPrior prior{.per_hour = 0.05, .off_seconds = 300, .spread = 1, .shape_spread = 0.4};
    for (const bool weibull : {false, true}) {
        int rates = 0, shapes = 0, offs = 0;
        constexpr int draws = 400;
        support::Random random(5);
        for (int i = 0; i < draws; ++i) {
            const auto normal = [&] {
                return std::sqrt(-2 * std::log(1 - random.unit())) *
                       std::cos(2 * std::acos(-1.0) * random.unit());
            };
            // A gamma distribution with shape 2 and median 1, times a random median.
            const auto factor = [&](double shape) {
                const double gamma = -std::log((1 - random.unit()) * (1 - random.unit())) / 1.6783469900;
                return std::pow(gamma, 1 / shape) * std::exp(prior.spread * normal());
            };
            Interruptions node{.off_seconds = prior.off_seconds / factor(1)};
            if (weibull) node.shape = std::exp(prior.shape_spread * normal());
            node.per_hour = prior.per_hour * factor(node.shape);
            const ObservedPeriods seen =
                observe(node, 4, 40 * 3600 / prior.per_hour / 8, static_cast<std::uint64_t>(i) + 77);
            const InterruptionFit fit =
                fit_interruptions(seen, prior, {.coverage = 0.8, .clear_evidence = weibull ? 0.0 : 1e9});
            const auto within = [](const Interval& interval, double value) {
                return interval.low <= value && value <= interval.high;
            };
            rates += within(fit.per_hour, node.per_hour);
            shapes += within({fit.shape.low / 1.02, fit.shape.high * 1.02}, node.shape);
            offs += within(fit.off_seconds, node.off_seconds);
        }
        CAPTURE(weibull);
        // Three standard deviations of that many draws are 6 %. If the shape is not clear, the fit uses 1.
        CHECK(std::abs(rates / double{draws} - 0.8) <= (weibull ? 0.08 : 0.06));
        CHECK(std::abs(offs / double{draws} - 0.8) <= 0.06);
        if (weibull) CHECK(std::abs(shapes / double{draws} - 0.8) <= 0.09);
    }
}

TEST_CASE("much data decides the rate and the shape, little data leaves the prior") {
    for (const double shape : {0.6, 1.0, 2.5, forever}) {
        const Interruptions node{.per_hour = 0.4, .shape = shape, .off_seconds = 90};
        const InterruptionFit fit = fit_interruptions(observe(node, 40, 3600 * 50, 3));
        CAPTURE(shape);
        CHECK(fit.interruptions.per_hour == doctest::Approx(0.4).epsilon(0.1));
        CHECK(fit.interruptions.off_seconds == doctest::Approx(90).epsilon(0.12));
        CHECK((fit.weibull_evidence > 3) == (shape != 1));
        if (std::isinf(shape))
            CHECK(fit.interruptions.shape > 20);
        else
            CHECK(fit.interruptions.shape == doctest::Approx(shape).epsilon(0.1));
        if (std::isinf(shape)) continue;
        CHECK(fit.per_hour.low < 0.4);
        CHECK(fit.per_hour.high > 0.4);
    }
    const InterruptionPrior prior{.per_hour = 0.01, .off_seconds = 60};
    const InterruptionFit nothing = fit_interruptions({}, prior);
    CHECK(nothing.interruptions.per_hour == doctest::Approx(0.01).epsilon(0.15));
    CHECK(nothing.interruptions.shape == 1);
    CHECK(nothing.interruptions.off_seconds == doctest::Approx(60).epsilon(0.15));
    CHECK(std::abs(nothing.weibull_evidence) < 1e-9);
    // A year without any interruption.
    const InterruptionFit quiet = fit_interruptions({.running_seconds = {3600.0 * 8760}}, prior);
    CHECK(quiet.interruptions.per_hour < 2.0 / 8760);
    CHECK(quiet.per_hour.high < nothing.interruptions.per_hour);
}

TEST_CASE("if interruptions are random, rate and interval are those of the gamma distribution") {
    const InterruptionPrior prior{.per_hour = 0.1, .spread = 0};
    const InterruptionFit fit =
        fit_interruptions({.live_seconds = {3600}, .running_seconds = {1800}}, prior, {.coverage = 0.9});
    // Gamma with shape 2 + 1: P(3, x) = 1 - e^-x (1 + x + x x / 2).
    const double hours = 1.6783469900166605 / 0.1 + 1.5;
    for (const auto& [rate, part] :
         {std::pair{fit.per_hour.low, 0.05}, {fit.interruptions.per_hour, 0.5}, {fit.per_hour.high, 0.95}}) {
        const double x = rate * hours;
        CHECK(1 - std::exp(-x) * (1 + x + x * x / 2) == doctest::Approx(part).epsilon(1e-9));
    }
}

TEST_CASE("work that could begin again at once is a time off of 0") {
    const InterruptionPrior prior{.off_seconds = 60, .spread = 0};
    const InterruptionFit fit = fit_interruptions({.off_seconds = {0, 0, 30}}, prior);
    // The rate has a gamma distribution with shape 2 + 3, whose median is 4.6709.
    CHECK(fit.interruptions.off_seconds ==
          doctest::Approx((1.6783469900166605 * 60 + 30) / 4.670908882).epsilon(1e-6));
    CHECK(fit.off_seconds.low < fit.interruptions.off_seconds);
    CHECK(fit.off_seconds.high > fit.interruptions.off_seconds);
    // Times off that are just above 0 give nearly the same.
    const InterruptionFit little = fit_interruptions({.off_seconds = {1e-9, 1e-9, 30}}, prior);
    CHECK(little.interruptions.off_seconds == doctest::Approx(fit.interruptions.off_seconds));
}

TEST_CASE("the order of periods and the unit of time do not matter") {
    const Interruptions node{.per_hour = 0.4, .shape = 0.5, .off_seconds = 90};
    ObservedPeriods seen = observe(node, 10, 3600 * 50, 9);
    const InterruptionPrior prior{.per_hour = 0.3};
    const InterruptionFit fit = fit_interruptions(seen, prior);
    std::ranges::reverse(seen.live_seconds);
    std::ranges::reverse(seen.running_seconds);
    const InterruptionFit turned = fit_interruptions(seen, prior);
    CHECK(turned.interruptions.per_hour == doctest::Approx(fit.interruptions.per_hour));
    CHECK(turned.interruptions.shape == doctest::Approx(fit.interruptions.shape));
    for (std::vector<double>* times : {&seen.live_seconds, &seen.running_seconds, &seen.off_seconds})
        for (double& t : *times) t *= 60;
    const InterruptionFit slower =
        fit_interruptions(seen, {.per_hour = 0.3 / 60, .off_seconds = prior.off_seconds * 60});
    CHECK(slower.interruptions.per_hour * 60 == doctest::Approx(fit.interruptions.per_hour));
    CHECK(slower.interruptions.shape == doctest::Approx(fit.interruptions.shape));
    CHECK(slower.weibull_evidence == doctest::Approx(fit.weibull_evidence));
}

TEST_CASE("false alarms are at least as rare as stated, however time is cut into pieces") {
    for (const double shape : {1.0, 0.7, 2.0}) {
        for (const bool pieces : {false, true}) {
            const Interruptions node{.per_hour = 0.5, .shape = shape};
            double interruptions = 0;
            constexpr int alarms = 120;
            test::Draws draws(41);
            for (int alarm = 0; alarm < alarms; ++alarm) {
                InterruptionWatch watch(node, 50);
                while (!watch.changed()) {
                    const double live = test::draw_live_seconds(node, draws);
                    double from = 0;
                    for (; pieces && from + 1000 < live && !watch.changed(); from += 1000)
                        watch.observe(from, from + 1000, false);
                    if (watch.changed()) break;
                    watch.observe(from, live, true);
                    ++interruptions;
                }
            }
            INFO("shape ", shape, ", in pieces: ", pieces);
            // Times between alarms are nearly exponential; three standard deviations of their mean are 27 %.
            CHECK(interruptions / alarms >= 50 * 0.73);
            CHECK(interruptions / alarms <= 50 * 8);
        }
    }
}

TEST_CASE("a change is seen after a few interruptions, or after their absence, with the time since when") {
    const Interruptions before{.per_hour = 0.5};
    for (const double factor : {0.2, 4.0}) {
        double delay = 0, off = 0;
        constexpr int runs = 60;
        test::Draws draws(8);
        for (int run = 0; run < runs; ++run) {
            InterruptionWatch watch(before, 200);
            int seen = 0;
            for (; seen < 40 && !watch.changed(); ++seen)
                watch.observe(test::draw_live_seconds(before, draws));
            if (watch.changed()) continue;
            Interruptions after = before;
            after.per_hour *= factor;
            int more = 0;
            for (; !watch.changed(); ++more) watch.observe(test::draw_live_seconds(after, draws));
            delay += more;
            off += std::abs(static_cast<double>(watch.since()) - 40);
            CHECK((watch.factor() > 1) == (factor > 1));
        }
        CAPTURE(factor);
        CHECK(delay / runs < (factor > 1 ? 12 : 5));
        CHECK(off / runs < 10);
    }
    // No interruption for forty times the expected period.
    InterruptionWatch watch(before, 200);
    watch.observe(0, 40 * 7200, false);
    CHECK(watch.changed());
    CHECK(watch.factor() < 1);
    InterruptionWatch alternating({.per_hour = 1, .shape = forever}, 200);
    for (int i = 0; i < 1000; ++i) alternating.observe(3600);
    CHECK(!alternating.changed());
}

TEST_CASE("bad observations, priors and watches are refused") {
    const double bad = std::nan("");
    CHECK_THROWS_AS((void)fit_interruptions({.live_seconds = {0}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({.live_seconds = {bad}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({.running_seconds = {-1}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({.off_seconds = {forever}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({}, {.per_hour = 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({}, {.spread = bad}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_interruptions({}, {}, {.coverage = 1}), std::invalid_argument);
    CHECK_THROWS_AS(InterruptionWatch({.per_hour = 0}), std::invalid_argument);
    CHECK_THROWS_AS(InterruptionWatch({.per_hour = 1}, 0.5), std::invalid_argument);
    InterruptionWatch watch({.per_hour = 1});
    CHECK_THROWS_AS(watch.observe(10, 5, true), std::invalid_argument);
    CHECK_THROWS_AS(watch.observe(bad), std::invalid_argument);
}
