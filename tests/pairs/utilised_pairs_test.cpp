// Speeds of pairs from how busy each job keeps the GPU alone, and from pairs that were seen.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/pairs/utilised_pairs.hpp"
#include "pairs/h100_pairs.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

constexpr std::array modes{GpuSharing::time_slicing, GpuSharing::mps};

/// Jobs of any utilisation, some of it unknown, and pairs of them that were seen.
struct SomePairs {
    std::vector<UtilisedJob> jobs{};
    std::vector<SeenPair> seen{};

    explicit SomePairs(Random& random) {
        const auto count = static_cast<std::size_t>(random.integer(1, 7));
        for (std::size_t j = 0; j < count; ++j) {
            jobs.push_back({.name = "job-" + std::to_string(j)});
            if (random.chance(0.8))
                jobs.back().utilisation = random.chance(0.2) ? random.integer(0, 1) : random.unit();
        }
        for (int pairs = random.integer(0, 8); pairs > 0; --pairs)
            seen.push_back({{any_of(random), any_of(random)}, {random.unit(), random.between(0, 1.2)}});
    }
    [[nodiscard]] std::size_t any_of(Random& random) const {
        return static_cast<std::size_t>(random.integer(0, static_cast<int>(jobs.size()) - 1));
    }
};

}  // namespace

TEST_CASE("jobs that keep the GPU busy share it, and those that hardly use it lose little") {
    for (const GpuSharing sharing : modes) {
        const double together = sharing == GpuSharing::mps ? 1.2 : 0.9;
        const auto busy = parts_by_utilisation({1, 1}, sharing);
        CHECK(busy[0] == doctest::Approx(together / 2));
        CHECK(busy[1] == busy[0]);
        const auto idle = parts_by_utilisation({0, 0}, sharing);
        CHECK(idle == std::array<double, 2>{1, 1});
        const auto beside_idle = parts_by_utilisation({1, 0}, sharing);
        CHECK(beside_idle[1] == doctest::Approx(1));
        CHECK(beside_idle[0] > 0.94);  // who keeps it busy loses nothing to one that does not use it
    }
}

TEST_CASE("a job that is slack while it waits and one that works then bound the estimate") {
    // Half of the GPU beside a busy one: 0.45 of it are left (max-min); or kernels take 2.22 times as long.
    const auto parts = parts_by_utilisation({0.5, 1}, GpuSharing::time_slicing);
    CHECK(parts[0] == doctest::Approx((0.45 / 0.5 + 1 / (1 + 0.5 * (2 / 0.9 - 1))) / 2));
    CHECK(detail::part_with_slack(0.5, 1, 0.9) == doctest::Approx(0.9));
    CHECK(detail::part_without_slack(0.5, 1, 0.9) == doctest::Approx(1 / (1 + 0.5 * (2 / 0.9 - 1))));
}

TEST_CASE("without slack, kernels wait as long as the other has some to run") {
    Random random(3);
    for (int trial = 0; trial < 200; ++trial) {
        const double a = random.unit(), b = random.unit(), together = random.between(0.8, 1.5);
        const double k = 2 / together - 1;
        double slower_a = 1, slower_b = 1;  // by the equations themselves
        for (int step = 0; step < 500; ++step) {
            slower_a = 1 + k * b * slower_b / (1 - b + b * slower_b);
            slower_b = 1 + k * a * slower_a / (1 - a + a * slower_a);
        }
        CHECK(detail::part_without_slack(a, b, together) ==
              doctest::Approx(1 / (1 - a + a * slower_a)).epsilon(1e-6));
    }
}

TEST_CASE("parts are in [0, 1], symmetric, and fall as either job keeps the GPU busier") {
    for (const GpuSharing sharing : modes)
        for (int a = 0; a <= 40; ++a)
            for (int b = 0; b <= 40; ++b) {
                const double of_a = a / 40.0, of_b = b / 40.0;
                const auto parts = parts_by_utilisation({of_a, of_b}, sharing);
                for (const double part : parts) {
                    REQUIRE(part >= 0.4);
                    REQUIRE(part <= 1);
                }
                const auto swapped = parts_by_utilisation({of_b, of_a}, sharing);
                REQUIRE(swapped[0] == parts[1]);
                REQUIRE(swapped[1] == parts[0]);
                if (a == b) REQUIRE(parts[0] == parts[1]);
                if (a == 40) continue;
                const auto busier = parts_by_utilisation({(a + 1) / 40.0, of_b}, sharing);
                REQUIRE(busier[0] <= parts[0] + 1e-12);
                REQUIRE(busier[1] <= parts[1] + 1e-12);
            }
}

TEST_CASE("estimates are parts, with or without pairs seen, and do not depend on order") {
    Random random(5);
    for (int trial = 0; trial < 300; ++trial) {
        const SomePairs some(random);
        const GpuSharing sharing = modes[static_cast<std::size_t>(random.integer(0, 1))];
        const UtilisedPairs pairs(some.jobs, some.seen, sharing);
        CHECK(pairs.assumed_utilisation() >= 0);
        CHECK(pairs.assumed_utilisation() <= 1);
        std::vector<UtilisedJob> backwards(some.jobs.rbegin(), some.jobs.rend());
        std::vector<SeenPair> turned;
        const std::size_t last = some.jobs.size() - 1;
        for (const SeenPair& pair : some.seen)
            turned.push_back({{last - pair.jobs[1], last - pair.jobs[0]}, {pair.parts[1], pair.parts[0]}});
        std::ranges::reverse(turned);
        const UtilisedPairs same(backwards, turned, sharing);
        for (std::size_t a = 0; a < some.jobs.size(); ++a)
            for (std::size_t b = 0; b < some.jobs.size(); ++b) {
                const PairEstimate together = pairs.estimate({a, b});
                CHECK(together.fits);
                const PairEstimate swapped = pairs.estimate({b, a});
                const PairEstimate turned_too = same.estimate({last - a, last - b});
                for (std::size_t i = 0; i < 2; ++i) {
                    CHECK(together.parts[i] > 0);
                    CHECK(together.parts[i] <= 1);
                    CHECK(together.deviations[i] > 0);
                    CHECK(together.deviations[i] < 1);
                    CHECK(swapped.parts[1 - i] == together.parts[i]);
                    CHECK(turned_too.parts[i] == doctest::Approx(together.parts[i]).epsilon(1e-6));
                    CHECK(turned_too.deviations[i] == doctest::Approx(together.deviations[i]).epsilon(1e-6));
                }
                if (a == b) CHECK(together.parts[0] == together.parts[1]);
            }
    }
}

TEST_CASE("a pair seen moves the estimates of its jobs towards it, and makes them surer") {
    const std::vector<UtilisedJob> jobs{{"a", 0.9}, {"b", 0.9}, {"c", 0.9}, {"d", 0.9}};
    const UtilisedPairs before(jobs, {}, GpuSharing::time_slicing);
    const UtilisedPairs after(jobs, std::vector<SeenPair>{{{0, 1}, {0.8, 0.3}}}, GpuSharing::time_slicing);
    // a is not slowed, and slows.
    const PairEstimate usual = before.estimate({0, 2}), now = after.estimate({0, 2});
    CHECK(now.parts[0] > usual.parts[0] + 0.05);
    CHECK(now.parts[1] < usual.parts[1] - 0.02);
    CHECK(now.deviations[0] < usual.deviations[0]);
    // The pair itself.
    CHECK(std::abs(after.estimate({0, 1}).parts[0] - 0.8) < 0.6 * std::abs(usual.parts[0] - 0.8));
    // Others are as before.
    CHECK(after.estimate({2, 3}).parts[0] == before.estimate({2, 3}).parts[0]);
    CHECK(after.estimate({2, 3}).deviations[0] == before.estimate({2, 3}).deviations[0]);
}

TEST_CASE("a number that two pairs tell of is as sure as the equations say") {
    // b beside a and beside c: what b is slowed by, and what a and c slow others by, three numbers in two
    // rows.
    const std::vector<UtilisedJob> jobs{{"a", 0.8}, {"b", 0.8}, {"c", 0.8}, {"d", 0.8}};
    const std::vector<SeenPair> seen{{{0, 1}, {0.5, 0.5}}, {{2, 1}, {0.5, 0.5}}};
    const double usual = 0.09, row = std::pow(0.03 / 0.25, 2);  // variances
    const double of_slowed = 1 / (1 / usual + 2 / (usual + row));
    const PairEstimate together = UtilisedPairs(jobs, seen, GpuSharing::time_slicing).estimate({1, 3});
    const double slope = together.parts[0] * (1 - together.parts[0]);
    CHECK(together.deviations[0] ==
          doctest::Approx(std::hypot(slope * std::sqrt(of_slowed + usual), 0.03)).epsilon(1e-9));
}

TEST_CASE("many pairs seen say it whatever the utilisation") {
    // Additive truths that utilisation does not show; all pairs but one are seen.
    Random random(9);
    double worst = 0;
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<UtilisedJob> jobs;
        std::vector<double> slowed, slows;
        for (int j = 0; j < 8; ++j) {
            jobs.push_back({"job", random.between(0.6, 1)});
            slowed.push_back(random.between(-0.5, 0.5));
            slows.push_back(random.between(-0.5, 0.5));
        }
        const auto truth = [&](std::size_t a, std::size_t b) {
            const auto usual =
                parts_by_utilisation({*jobs[a].utilisation, *jobs[b].utilisation}, GpuSharing::time_slicing);
            return SeenPair{{a, b},
                            {1 / (1 + (1 / usual[0] - 1) * std::exp(slowed[a] + slows[b])),
                             1 / (1 + (1 / usual[1] - 1) * std::exp(slowed[b] + slows[a]))}};
        };
        std::vector<SeenPair> seen;
        for (std::size_t a = 0; a < jobs.size(); ++a)
            for (std::size_t b = a; b < jobs.size(); ++b)
                if (a != 2 || b != 5) seen.push_back(truth(a, b));
        const PairEstimate asked = UtilisedPairs(jobs, seen, GpuSharing::time_slicing).estimate({2, 5});
        for (std::size_t i = 0; i < 2; ++i) {
            worst = std::max(worst, std::abs(asked.parts[i] - truth(2, 5).parts[i]));
            CHECK(asked.deviations[i] < 0.06);
        }
    }
    CHECK(worst < 0.02);
}

TEST_CASE("a job of unknown utilisation counts as the mean of those known") {
    const std::vector<UtilisedJob> jobs{{"a", 0.2}, {"b", 0.6}, {"new", {}}, {"mean", 0.4}};
    const UtilisedPairs pairs(jobs, {}, GpuSharing::time_slicing);
    CHECK(pairs.assumed_utilisation() == doctest::Approx(0.4));
    CHECK(pairs.estimate({0, 2}).parts[0] == doctest::Approx(pairs.estimate({0, 3}).parts[0]));
    CHECK(pairs.estimate({0, 2}).deviations[0] > pairs.estimate({0, 3}).deviations[0]);
}

TEST_CASE("where no utilisation is known, jobs count as what was seen, or as busy") {
    const std::vector<UtilisedJob> jobs(4);
    const UtilisedPairs nothing(jobs, {}, GpuSharing::time_slicing);
    CHECK(nothing.assumed_utilisation() == 1);
    CHECK(!gain_is_likely(nothing.estimate({0, 1})));
    const UtilisedPairs seen(jobs, std::vector<SeenPair>{{{0, 1}, {0.9, 0.7}}}, GpuSharing::time_slicing);
    const double assumed = seen.assumed_utilisation();
    CHECK(parts_by_utilisation({assumed, assumed}, GpuSharing::time_slicing)[0] == doctest::Approx(0.8));
    // A pair that does not run says nothing of speeds.
    const std::vector<SeenPair> one_runs{{{0, 1}, {0.9, 0.7}}, {{2, 3}, {0, 0}}};
    CHECK(UtilisedPairs(jobs, one_runs, GpuSharing::time_slicing).assumed_utilisation() == assumed);
    CHECK(UtilisedPairs(jobs, std::vector<SeenPair>{{{0, 1}, {0, 0}}}, GpuSharing::time_slicing)
              .assumed_utilisation() == 1);
}

TEST_CASE("a gain that is not likely is not promised") {
    const auto promised = [](double a, double b, GpuSharing sharing) {
        return gain_is_likely(
            UtilisedPairs(std::vector<UtilisedJob>{{"a", a}, {"b", b}}, {}, sharing).estimate({0, 1}));
    };
    CHECK(promised(0.3, 0.3, GpuSharing::time_slicing));
    CHECK(promised(0.3, 1, GpuSharing::time_slicing));
    CHECK(!promised(1, 1, GpuSharing::time_slicing));
    CHECK(!promised(0.9, 1, GpuSharing::time_slicing));
    CHECK(promised(0.5, 1, GpuSharing::mps));
    // Expected, but unsure.
    const PairEstimate unsure{.fits = true, .parts = {0.6, 0.5}, .deviations = {0.1, 0.1}};
    const PairEstimate surer{.fits = true, .parts = {0.6, 0.5}, .deviations = {0.05, 0.05}};
    CHECK(!gain_is_likely(unsure));
    CHECK(gain_is_likely(surer));
}

TEST_CASE("large numbers of jobs and pairs are quick, and long chains settle") {
    Random random(11);
    std::vector<UtilisedJob> jobs;
    std::vector<SeenPair> seen;
    for (std::size_t j = 0; j < 20000; ++j) {
        jobs.push_back({"job", random.unit()});
        if (j > 0) seen.push_back({{j - 1, j}, {random.between(0.3, 1), random.between(0.3, 1)}});
    }
    const UtilisedPairs pairs(jobs, seen, GpuSharing::mps);
    for (std::size_t j = 1; j < jobs.size(); j += 99) CHECK(pairs.estimate({j - 1, j}).parts[0] > 0.2);
}

TEST_CASE("bad input is named") {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [value, text] : {std::pair{nan, "nan"}, {-0.1, "-0.1"}, {1.5, "1.5"}, {75.0, "75"}}) {
        const std::string of_job =
            std::string("job 'bert': gpu_utilisation is ") + text + ", but must be between 0 and 1";
        CHECK_THROWS_WITH_AS(
            UtilisedPairs(std::vector<UtilisedJob>{{"bert", value}}, {}, GpuSharing::time_slicing),
            of_job.c_str(), std::invalid_argument);
        CHECK_THROWS_AS((void)parts_by_utilisation({0.5, value}, GpuSharing::mps), std::invalid_argument);
    }
    const std::vector<UtilisedJob> jobs{{"a", 0.5}};
    const auto refused = [&](const SeenPair& pair, const char* sentence) {
        CHECK_THROWS_WITH_AS(UtilisedPairs(jobs, std::vector<SeenPair>{pair}, GpuSharing::time_slicing),
                             sentence, std::invalid_argument);
    };
    refused({{0, 1}, {1, 1}}, "pair seen: jobs is 1, but must be an index into the jobs");
    refused({{0, 0}, {1, 3}}, "job 'a' in a pair seen: part is 3, but must be between 0 and 2");
    refused({{0, 0}, {nan, 1}}, "job 'a' in a pair seen: part is nan, but must be between 0 and 2");
    const UtilisedPairs pairs(jobs, {}, GpuSharing::time_slicing);
    CHECK_THROWS_AS((void)pairs.estimate({0, 1}), std::invalid_argument);
}

TEST_SUITE("data") {
    TEST_CASE("pairs on an H100 are predicted from utilisation, and better with a pair known") {
        const auto read = [](GpuSharing sharing) {
            return support::read_h100_pairs(GOODPUT_DATA_DIR "/h100/pairs.csv", sharing);
        };
        const auto left_out = [](const support::H100Pairs& all, GpuSharing sharing, std::size_t known) {
            return support::h100_left_out(all, sharing, support::PairAnswer::utilisation, known);
        };
        const support::H100Pairs sliced = read(GpuSharing::time_slicing);
        REQUIRE(sliced.jobs.size() == 8);
        REQUIRE(sliced.pairs.size() == 16);
        const support::H100Errors none = left_out(sliced, GpuSharing::time_slicing, 0);
        const support::H100Errors one = left_out(sliced, GpuSharing::time_slicing, 1);
        CHECK(none.mean() < 0.09);
        CHECK(one.mean() < 0.035);
        CHECK(10 * none.promised_in_vain <= none.lose);
        CHECK(10 * one.promised_in_vain <= one.lose);
        CHECK(none.covered() > 0.85);
        CHECK(one.covered() > 0.85);
        CHECK(2 * none.missed < none.gain);
        const support::H100Pairs at_once = read(GpuSharing::mps);
        REQUIRE(at_once.pairs.size() == 8);
        const support::H100Errors with_mps = left_out(at_once, GpuSharing::mps, 0);
        CHECK(with_mps.mean() < 0.115);
        CHECK(with_mps.promised_in_vain == 0);
    }
}
