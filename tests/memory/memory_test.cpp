// Memory models never underestimate a measurement beyond the tolerance, and say which batch still fits.

#include "goodput/memory/memory_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/memory/memory.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double giga = 1e9;

std::vector<MemorySample> measure(const MemoryModel& truth, const std::vector<int>& batches) {
    std::vector<MemorySample> samples;
    for (const int b : batches) samples.push_back({b, truth.bytes(b)});
    return samples;
}

double squares(const std::vector<MemorySample>& samples, double fixed, double slope) {
    double sum = 0;
    for (const MemorySample& s : samples) sum += std::pow(fixed + slope * s.atomic_batch - s.bytes, 2);
    return sum;
}

}  // namespace

TEST_CASE("The largest atomic batch is the last that fits") {
    support::Random random(1);
    for (int round = 0; round < 5000; ++round) {
        const MemoryModel model{
            random.between(0, 20) * giga, std::exp(random.between(0, 24)),
            random.chance(0.2) ? random.integer(1, 100) : std::numeric_limits<int>::max()};
        const GpuMemory gpu{random.between(1, 80) * giga, random.chance(0.5) ? 0.05 : random.between(0, 0.5)};
        const int largest = largest_atomic_batch(model, gpu);
        if (largest > 0) {
            CHECK(model.bytes(largest) <= gpu.usable_bytes());
            CHECK(fits(model, gpu, {largest, 3}).outcome == Outcome::runs);
        }
        if (largest < std::min(model.most_atomic_batch, 1 << 30))
            CHECK(model.bytes(largest + 1.0) > gpu.usable_bytes());
        if (largest < 1 << 30) CHECK(fits(model, gpu, {largest + 1, 0}).outcome == Outcome::impossible);
    }
    // Exactly at the limit.
    CHECK(largest_atomic_batch({4, 2}, {16, 0}) == 6);
    CHECK(largest_atomic_batch({4, 2}, {std::nextafter(16, 0), 0}) == 5);
    CHECK(largest_atomic_batch({14, 2}, {16, 0}) == 1);
    CHECK(largest_atomic_batch({14.5, 2}, {16, 0}) == 0);
    CHECK(largest_atomic_batch({1, 0}, {16, 0}) == 1 << 30);
    CHECK(largest_atomic_batch({1, 0, 24}, {16, 0}) == 24);
    CHECK(largest_atomic_batch({1, 1e-300}, {16, 0}) == 1 << 30);
}

TEST_CASE("A plan that does not fit is refused with what it takes, what there is and what would fit") {
    const MemoryModel model{4 * giga, 0.25 * giga};
    const GpuMemory gpu{16 * giga, 0.05};
    const Verdict verdict = fits(model, gpu, {64, 1});
    CHECK(verdict.outcome == Outcome::impossible);
    CHECK(
        verdict.reason ==
        "an atomic batch of 64 takes 20 GB, and 15.2 GB are usable (16 GB less a margin of 5 %); the largest "
        "that fits is 44");
    CHECK(fits(model, gpu, {44, 7}).outcome == Outcome::runs);
    CHECK(fits(model, gpu, {44, 7}).reason.empty());
    const std::string none = fits({20 * giga, 1}, gpu, {1, 0}).reason;
    CHECK(none.find("not even one example fits") != std::string::npos);
    const std::string unknown = fits({giga, 0, 32}, gpu, {33, 0}).reason;
    CHECK(unknown.find("beyond the largest that has been measured") != std::string::npos);
    CHECK(unknown.find("32") != std::string::npos);

    CHECK_THROWS_AS((void)fits(model, gpu, {0, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)fits(model, gpu, {1, -1}), std::invalid_argument);
    CHECK_THROWS_AS((void)fits({-1, 1}, gpu, {1, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)fits({1, std::nan("")}, gpu, {1, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)largest_atomic_batch(model, {0, 0}), std::invalid_argument);
    CHECK_THROWS_AS((void)largest_atomic_batch(model, {giga, 1}), std::invalid_argument);
    CHECK_THROWS_AS((void)largest_atomic_batch(model, {giga, -0.1}), std::invalid_argument);
    CHECK_THROWS_AS((void)largest_atomic_batch({1, 1, 0}, gpu), std::invalid_argument);
}

TEST_CASE("Two measurements or more of a line give back the line") {
    support::Random random(2);
    for (int round = 0; round < 500; ++round) {
        const MemoryModel truth{random.between(0.1, 20) * giga, random.between(0.01, 2) * giga};
        std::vector<int> batches{random.integer(1, 10), random.integer(20, 200)};
        for (int i = random.integer(0, 6); i > 0; --i) batches.push_back(random.integer(1, 200));
        const MemoryFit fit = fit_memory(measure(truth, batches));
        CHECK(fit.knowledge == MemoryKnowledge::measured);
        CHECK(fit.model.fixed_bytes == doctest::Approx(truth.fixed_bytes));
        CHECK(fit.model.bytes_per_example == doctest::Approx(truth.bytes_per_example));
        CHECK(fit.least_batch == *std::min_element(batches.begin(), batches.end()));
        CHECK(fit.most_batch == *std::max_element(batches.begin(), batches.end()));
        CHECK(fit.largest_excess < 1e-9);
        const GpuMemory gpu{40 * giga};
        CHECK(std::abs(largest_atomic_batch(fit.model, gpu) - largest_atomic_batch(truth, gpu)) <= 1);
    }
}

TEST_CASE("No measurement is underestimated beyond the tolerance, whatever the measurements") {
    support::Random random(3);
    for (int round = 0; round < 5000; ++round) {
        std::vector<MemorySample> samples;
        for (int i = random.integer(1, 8); i > 0; --i)
            samples.push_back({random.integer(1, 30), random.between(1, 20) * giga});
        const MemoryFitOptions options{random.chance(0.5) ? giga : 0,
                                       random.chance(0.3) ? 0.0 : random.between(0, 0.2)};
        const MemoryFit fit = fit_memory(samples, options);
        CHECK(fit.largest_shortfall <= options.tolerance + 1e-12);
        CHECK(fit.model.bytes_per_example >= 0);
        CHECK(fit.model.fixed_bytes >= options.least_fixed_bytes * (1 - 1e-12));
        for (const MemorySample& s : samples) {
            CHECK(fit.model.bytes(s.atomic_batch) >= s.bytes * (1 - options.tolerance) * (1 - 1e-12));
            CHECK(fit.model.most_atomic_batch >= s.atomic_batch);
        }
    }
}

TEST_CASE("Of all lines that do not underestimate it is the one of least squares") {
    support::Random random(4);
    int compared = 0;
    for (int round = 0; round < 1000; ++round) {
        std::vector<MemorySample> samples;
        for (int i = random.integer(2, 7); i > 0; --i) {
            const int batch = random.integer(1, 30);
            samples.push_back({batch, 5 + batch * random.between(0.5, 1.5)});
        }
        const MemoryFitOptions options{random.chance(0.5) ? 3.0 : 0.0, random.chance(0.5) ? 0.0 : 0.05};
        const MemoryFit fit = fit_memory(samples, options);
        if (fit.knowledge != MemoryKnowledge::measured) continue;
        ++compared;
        const double least = squares(samples, fit.model.fixed_bytes, fit.model.bytes_per_example);
        for (int i = 0; i < 300; ++i) {
            // Any slope with the lowest line that covers everything, or with a line a little higher.
            const double slope = random.chance(0.5)
                                     ? std::max(0.0, fit.model.bytes_per_example + random.between(-0.2, 0.2))
                                     : random.between(0, 3);
            double fixed = options.least_fixed_bytes;
            for (const MemorySample& s : samples)
                fixed = std::max(fixed, s.bytes * (1 - options.tolerance) - slope * s.atomic_batch);
            if (random.chance(0.5)) fixed += random.between(0, 1);
            CHECK(squares(samples, fixed, slope) >= least * (1 - 1e-9) - 1e-9);
        }
    }
    CHECK(compared > 800);
}

TEST_CASE("One measurement: no line through it that respects the declared fixed part rises faster") {
    support::Random random(5);
    for (int round = 0; round < 1000; ++round) {
        const MemoryModel truth{random.between(0.1, 20) * giga, random.between(0.01, 2) * giga};
        const int batch = random.integer(1, 50);
        const double declared = truth.fixed_bytes * random.unit();
        const MemoryFit fit = fit_memory(measure(truth, {batch}), {.least_fixed_bytes = declared});
        CHECK(fit.knowledge == MemoryKnowledge::fixed_assumed);
        CHECK(fit.model.bytes(batch) == doctest::Approx(truth.bytes(batch)));
        for (const int larger : {batch + 1, 2 * batch, 100 * batch})
            CHECK(fit.model.bytes(larger) >= truth.bytes(larger) * (1 - 1e-12));
        // If the measured batch fits, the answer never exceeds the truth.
        const GpuMemory gpu{truth.bytes(batch) * random.between(1.0001, 4), 0};
        CHECK(largest_atomic_batch(fit.model, gpu) <= largest_atomic_batch(truth, gpu));
        CHECK(largest_atomic_batch(fit.model, gpu) >= batch);
    }
    // Several measurements of one batch size count as one: the largest.
    const MemoryFit fit =
        fit_memory(std::vector<MemorySample>{{8, 10 * giga}, {8, 12 * giga}, {8, 11 * giga}},
                   {.least_fixed_bytes = 4 * giga});
    CHECK(fit.knowledge == MemoryKnowledge::fixed_assumed);
    CHECK(fit.model.bytes_per_example == doctest::Approx(giga));
}

TEST_CASE("Measurements without growth bound nothing: the model is flat and ends where they end") {
    const std::vector<std::vector<MemorySample>> cases{
        {{4, 10 * giga}, {8, 10 * giga}, {16, 10 * giga}},                 // constant
        {{4, 12 * giga}, {8, 11 * giga}, {16, 10 * giga}},                 // falling
        {{4, 12 * giga}, {16, 12.05 * giga}},                              // less than the tolerance
        {{4, 12 * giga}, {16, 12 * giga}, {4, 9 * giga}, {16, 5 * giga}},  // contradictory
    };
    for (const std::vector<MemorySample>& samples : cases) {
        const MemoryFit fit = fit_memory(samples);
        double most = 0;
        for (const MemorySample& s : samples) most = std::max(most, s.bytes);
        CHECK(fit.knowledge == MemoryKnowledge::no_growth);
        CHECK(fit.model.bytes_per_example == 0);
        CHECK(fit.model.fixed_bytes == most);
        CHECK(largest_atomic_batch(fit.model, {80 * giga}) == 16);
        CHECK(largest_atomic_batch(fit.model, {8 * giga}) == 0);
    }
    // The same if all memory is declared fixed.
    const std::vector<MemorySample> one{{4, 10 * giga}};
    const MemoryFit fit = fit_memory(one, {.least_fixed_bytes = 10 * giga});
    CHECK(fit.knowledge == MemoryKnowledge::no_growth);
    CHECK(largest_atomic_batch(fit.model, {80 * giga}) == 4);
}

TEST_CASE("Contradictory measurements that grow are covered, and the excess is told") {
    const std::vector<MemorySample> samples{{8, 6 * giga}, {8, 9 * giga}, {32, 20 * giga}, {32, 16 * giga}};
    const MemoryFit fit = fit_memory(samples, {.tolerance = 0});
    CHECK(fit.knowledge == MemoryKnowledge::measured);
    CHECK(fit.model.bytes(8) == doctest::Approx(9 * giga));
    CHECK(fit.model.bytes(32) == doctest::Approx(20 * giga));
    CHECK(fit.largest_excess == doctest::Approx(0.5));
    CHECK(fit.largest_shortfall == doctest::Approx(0));
}

TEST_CASE("What cannot be a measurement of memory is refused") {
    const std::vector<MemorySample> good{{8, giga}};
    CHECK_THROWS_AS((void)fit_memory({}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(std::vector<MemorySample>{{0, giga}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(std::vector<MemorySample>{{8, 0}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(std::vector<MemorySample>{{8, std::nan("")}}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(good, {.tolerance = 1}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(good, {.least_fixed_bytes = -1}), std::invalid_argument);
    CHECK_THROWS_AS((void)fit_memory(good, {.least_fixed_bytes = 2 * giga}), std::invalid_argument);
}
