// Speed by cores and memory from few measurements: recovered surfaces, honest intervals, next measurements.

#include "goodput/hosts/host_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/core/host.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/hosts/host_speed.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

double normal_number(support::Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.unit();
    return sum;
}

HostSpeedModel random_host_speed(support::Random& random) {
    const double computing = std::exp(random.between(-5, 3));
    const double knee = 4 * std::exp(normal_number(random)), power = random.between(0.7, 1);
    return {computing, computing * std::pow(knee, power), power,
            computing * std::exp(2 * normal_number(random)), 64 * std::exp(normal_number(random))};
}

std::vector<HostShare> host_shares_of(const std::vector<double>& cores, const std::vector<double>& memories) {
    std::vector<HostShare> shares;
    for (const double count : cores)
        for (const double gib : memories) shares.push_back({count, gib});
    return shares;
}

/// Measures the chosen shares until no further one is asked for.
template <class Measure>
std::vector<HostSample> profile_host(const std::vector<HostShare>& shares, Measure measure) {
    std::vector<HostSample> samples;
    for (;;) {
        const auto next = next_host_share(HostFit(samples), shares).next;
        if (!next) return samples;
        samples.push_back({*next, measure(*next)});
    }
}

bool encloses(const Interval& range, double truth) { return range.low <= truth && truth <= range.high; }

/// Returns the message of a refusal.
template <class Call>
std::string host_refusal(Call call) {
    try {
        call();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

const std::vector<HostShare> usual_shares =
    host_shares_of({1, 2, 3, 4, 6, 8, 12, 24}, {16, 32, 64, 128, 256});

}  // namespace

TEST_CASE("An iteration takes as long as the slowest of computing, preparing and reading") {
    const HostSpeedModel model{
        .compute_seconds = 1, .preparation_seconds = 8, .storage_seconds = 4, .cached_gib = 100};
    CHECK(model.seconds({4, 100}) == 2);
    CHECK(model.seconds({8, 100}) == 1);
    CHECK(model.seconds({24, 200}) == 1);
    CHECK(model.seconds({8, 25}) == 3);
    CHECK(model.seconds({2, 25}) == 4);
    CHECK(model.seconds({24, 0}) == 4);
    CHECK(model.speed({0, 200}) == 0);
    CHECK(HostSpeedModel{}.seconds({0, 0}) == 1);
    validate(model, "job");
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_AS(validate(HostSpeedModel{.compute_seconds = 0}, "job"), std::invalid_argument);
    CHECK_THROWS_AS(validate(HostSpeedModel{.preparation_seconds = nan}, "job"), std::invalid_argument);
    CHECK_THROWS_AS(validate(HostSpeedModel{.storage_seconds = -1}, "job"), std::invalid_argument);
    CHECK_THROWS_AS(validate(HostSpeedModel{.cached_gib = 0}, "job"), std::invalid_argument);
    CHECK(host_refusal([] { validate(HostSpeedModel{.core_power = 3}, "job 'a'"); }) ==
          "job 'a': core_power is 3, but must be above 0 and at most 2");
}

TEST_CASE("Surfaces are recovered from the measurements that are chosen") {
    support::Random random(1);
    std::size_t points = 0;
    constexpr int rounds = 30;
    for (int round = 0; round < rounds; ++round) {
        const HostSpeedModel truth = random_host_speed(random);
        const auto samples =
            profile_host(usual_shares, [&](const HostShare& share) { return truth.speed(share); });
        points += samples.size();
        const HostFit fit(samples);
        std::vector<double> errors;
        for (const HostShare& share : usual_shares)
            errors.push_back(std::abs(fit.forecast(share).speed / truth.speed(share) - 1));
        std::sort(errors.begin(), errors.end());
        CHECK(errors[errors.size() / 2] < 0.03);
        CHECK(errors.back() < 0.15);
        for (const HostSample& sample : samples)
            CHECK(fit.forecast(sample.share).speed == doctest::Approx(sample.speed));
    }
    CHECK(points < 9 * rounds);  // out of 40 each
}

TEST_CASE("Intervals of 90 % hold the truth of 90 % of 1,000 surfaces, measured with a scatter of 2 %") {
    support::Random random(2);
    int held = 0, asked = 0;
    for (int round = 0; round < 1000; ++round) {
        const HostSpeedModel truth = random_host_speed(random);
        std::vector<HostSample> samples;
        for (const std::size_t i : {39u, 2u, 17u, 13u, 35u})
            samples.push_back(
                {usual_shares[i], truth.speed(usual_shares[i]) * std::exp(0.02 * normal_number(random))});
        const HostFit fit(samples);
        for (int i = 0; i < 4; ++i) {
            const HostShare share{std::exp(random.between(0, 3)), std::exp(random.between(2.8, 5.5))};
            held += encloses(fit.forecast(share).interval(0.9), truth.speed(share));
            ++asked;
        }
    }
    MESSAGE("held: " << held << " of " << asked);
    CHECK(held >= 0.9 * asked);
}

TEST_CASE("Speed never falls with cores or memory, and intervals hold it") {
    support::Random random(3);
    for (int round = 0; round < 20; ++round) {
        std::vector<HostSample> samples;
        for (int i = random.integer(0, 8); i > 0; --i)
            samples.push_back({{random.between(1, 24), random.between(8, 300)}, random.between(0.1, 3)});
        const HostFit fit(samples);
        for (int i = 0; i < 20; ++i) {
            const HostShare share{random.between(0.5, 30), random.between(4, 400)};
            const HostForecast here = fit.forecast(share);
            const HostShare more{share.cores_per_gpu * random.between(1, 2),
                                 share.memory_gib_per_gpu * random.between(1, 2)};
            CHECK(fit.forecast(more).speed >= here.speed * (1 - 1e-12));
            for (const double coverage : {1e-300, 0.01, 0.5, 0.9, 0.999})
                CHECK(encloses(here.interval(coverage), here.speed));
            CHECK(here.interval(0.5).high <= here.interval(0.9).high);
        }
    }
}

TEST_CASE("Two equal measurements tell all between them, a third one tells what cores do with any memory") {
    const HostFit flat(std::vector<HostSample>{{{1, 16}, 5}, {{24, 256}, 5}});
    for (const HostShare& share : usual_shares) {
        CHECK(flat.forecast(share).speed == doctest::Approx(5));
        CHECK(flat.forecast(share).expected_error < 1e-9);
    }
    CHECK(!next_host_share(flat, usual_shares).next);
    // 64 GiB allow more than the speed measured with two cores, so the two cores limit that speed.
    const HostFit fit(std::vector<HostSample>{{{24, 64}, 5}, {{2, 64}, 1}});
    CHECK(fit.forecast({2, 256}).speed == doctest::Approx(1));
    CHECK(fit.forecast({2, 256}).expected_error < 1e-9);
    CHECK(fit.forecast({24, 64}).speed == doctest::Approx(5));
}

TEST_CASE("Without measurements the largest share is next, and the same measurements give the same fit") {
    const HostProfile first = next_host_share(HostFit(), usual_shares);
    REQUIRE(first.next);
    CHECK(*first.next == HostShare{24, 256});
    CHECK(first.largest_error > 0.5);
    CHECK(std::isfinite(first.largest_error));
    const std::vector<HostSample> samples{{{4, 64}, 1}, {{8, 64}, 1.7}};
    CHECK(HostFit(samples).forecast({6, 100}).logarithms == HostFit(samples).forecast({6, 100}).logarithms);
    // Another unit gives the same.
    const std::vector<HostSample> in_thousands{{{4, 64}, 1e-3}, {{8, 64}, 1.7e-3}};
    CHECK(HostFit(in_thousands).forecast({6, 100}).speed ==
          doctest::Approx(HostFit(samples).forecast({6, 100}).speed / 1000));
    CHECK(HostFit(samples).samples() == 2);
    CHECK(HostFit(samples).has_measured({8, 64}));
    CHECK(!HostFit(samples).has_measured({8, 65}));
}

TEST_CASE("Extreme, constant and contradictory measurements give a model that predicts") {
    const std::vector<std::vector<HostSample>> all{
        {{{1e-6, 1e-6}, 1e-12}},
        {{{1e6, 1e6}, 1e12}, {{1e-6, 1e-6}, 1e-12}},
        {{{1, 16}, 1e12}, {{24, 256}, 1e-12}},
        {{{4, 64}, 1}, {{4, 64}, 2}, {{4, 64}, 0.1}},
        std::vector<HostSample>(50, {{3, 62.5}, 1}),
        {{{2, 64}, 3}, {{4, 64}, 1}, {{8, 64}, 2}, {{8, 32}, 2.5}}};
    for (const auto& samples : all) {
        const HostFit fit(samples);
        double last = 0;
        for (const HostShare& share : {HostShare{1e-6, 1e-6}, {1, 16}, {4, 64}, {24, 256}, {1e6, 1e6}}) {
            const HostForecast forecast = fit.forecast(share);
            CHECK(std::isfinite(forecast.speed));
            CHECK(forecast.speed > 0);
            CHECK(forecast.speed >= last);
            CHECK(std::isfinite(forecast.expected_error));
            CHECK(std::isfinite(forecast.interval(0.99).high));
            CHECK(forecast.interval(0.99).low > 0);
            last = forecast.speed;
        }
        CHECK(std::isfinite(next_host_share(fit, usual_shares).largest_error));
    }
    const HostFit contradictory(std::vector<HostSample>{{{2, 64}, 4}, {{4, 64}, 1}});
    CHECK(contradictory.forecast({2, 64}).speed == doctest::Approx(2));
    CHECK(contradictory.forecast({4, 64}).speed == doctest::Approx(2));
}

TEST_CASE("A fit's points say what the fit says, with factor 1 at the reference") {
    const HostSpeedModel truth{
        .compute_seconds = 0.1, .preparation_seconds = 0.9, .storage_seconds = 0.8, .cached_gib = 90};
    const auto samples =
        profile_host(usual_shares, [&](const HostShare& share) { return truth.speed(share); });
    const HostFit fit(samples);
    HostNeeds needs{.least = {1, 16}, .most = {24, 256}};
    needs.speed = host_speed_points(fit, needs.least, needs.most, {3, 64});
    CHECK(needs.speed.size() <= 36);
    validate(needs, "job");
    CHECK(needs.factor({3, 64}) == doctest::Approx(1));
    for (const HostShare& share : usual_shares) {
        const double factor = fit.forecast(share).speed / fit.forecast({3, 64}).speed;
        CHECK(needs.factor(share) == doctest::Approx(factor).epsilon(0.15));
    }
    CHECK(host_speed_points(fit, {2, 64}, {2, 64}, {2, 64}).size() == 1);
    CHECK(host_speed_points(fit, {2, 64}, {2, 64}, {2, 64}).front().factor == 1);
}

TEST_CASE("Bad measurements, options and questions are refused with field and value") {
    const auto with = [](HostSample sample) {
        return host_refusal([&] { (void)HostFit(std::vector<HostSample>{sample}, {.subject = "job 'a'"}); });
    };
    CHECK(with({{0, 64}, 1}) == "job 'a': cores is 0, but must be between 1e-06 and 1e+06");
    CHECK(with({{4, -1}, 1}) == "job 'a': memory_gib is -1, but must be between 1e-06 and 1e+06");
    CHECK(with({{4, 64}, 0}) == "job 'a': speed is 0, but must be between 1e-12 and 1e+12");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK(with({{4, 64}, std::nan("")}).find("speed is nan") != std::string::npos);
    CHECK(with({{infinity, 64}, 1}).find("cores is inf") != std::string::npos);
    CHECK_THROWS_AS((void)HostFit({}, {.deviation = 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)HostFit({}, {.form_deviation = infinity}), std::invalid_argument);
    const HostFit fit;
    CHECK_THROWS_AS((void)fit.forecast({0, 64}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit.forecast({1, 64}).interval(1), std::invalid_argument);
    CHECK_THROWS_AS((void)next_host_share(fit, {}), std::invalid_argument);
    CHECK_THROWS_AS((void)next_host_share(fit, usual_shares, 0), std::invalid_argument);
    CHECK_THROWS_AS((void)host_speed_points(fit, {4, 64}, {2, 64}, {2, 64}), std::invalid_argument);
    CHECK_THROWS_AS((void)host_speed_points(fit, {2, 64}, {2, 32}, {2, 64}), std::invalid_argument);
}

TEST_SUITE("data") {
    TEST_CASE("The tables of 12 models are known to 3 % from a sixth of their entries") {
        std::ifstream file(std::string(GOODPUT_DATA_DIR) + "/synergy/profiles/profiles.json");
        if (!file) return;
        const auto document = nlohmann::json::parse(file);
        const std::vector<double> cores = document.at("cpu_values"), memories = document.at("mem_values_gb");
        const auto shares = host_shares_of(cores, memories);
        std::size_t models = 0, points = 0;
        for (const auto& entry : document.at("profiles").at("models").items()) {
            const std::string& name = entry.key();
            if (!name.ends_with("_1")) continue;
            CAPTURE(name);
            const std::vector<std::vector<double>> table = entry.value().at("tput");
            const auto measured = [&](const HostShare& share) {
                const auto at = std::find(shares.begin(), shares.end(), share) - shares.begin();
                return table[static_cast<std::size_t>(at) / memories.size()]
                            [static_cast<std::size_t>(at) % memories.size()];
            };
            const auto samples = profile_host(shares, measured);
            const HostFit fit(samples);
            std::vector<double> errors;
            std::size_t held = 0;
            for (const HostShare& share : shares) {
                const HostForecast forecast = fit.forecast(share);
                errors.push_back(std::abs(forecast.speed / measured(share) - 1));
                held += encloses(forecast.interval(0.9), measured(share));
            }
            std::sort(errors.begin(), errors.end());
            CHECK(samples.size() <= 15);
            CHECK(errors[errors.size() / 2] < 0.03);
            CHECK(errors.back() < 0.05);
            CHECK(held >= shares.size() * 9 / 10);
            ++models;
            points += samples.size();
        }
        CHECK(models == 12);
        CHECK(points * 6 <= models * shares.size());
    }
}
