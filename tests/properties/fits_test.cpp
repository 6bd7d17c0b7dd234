// Properties of any fit: models stay within their bounds, and explain the measurements no worse than the
// model that the fit began with.

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/memory/memory_fit.hpp"
#include "peers/pollux/throughput_fit.hpp"
#include "peers/sia/published_fit.hpp"

#include "properties.hpp"

using namespace goodput;
using namespace goodput::peers;
using properties::Case;
using properties::for_all;
using support::Random;

namespace {

using Samples = std::vector<ThroughputSample>;

double some_seconds(Random& random, double low, double high) {
    return low * std::exp(random.unit() * std::log(high / low));
}

PolluxThroughput random_model(Random& random) {
    PolluxThroughput model;
    model.alpha_c = some_seconds(random, 0.005, 0.5);
    model.beta_c = some_seconds(random, 1e-4, 1e-2);
    model.alpha_r = some_seconds(random, 0.002, 0.2);
    model.beta_r = model.alpha_r * some_seconds(random, 0.005, 0.3);
    model.alpha_n = model.alpha_r * some_seconds(random, 1.1, 20);
    model.beta_n = model.alpha_n * some_seconds(random, 0.005, 0.3);
    model.gamma = random.between(1, 10);
    return model;
}

/// A few measurements of a job that roughly follows the model. Some of them make no sense.
Samples random_samples(Random& random) {
    const PolluxThroughput model = random_model(random);
    const double noise = random.chance(0.5) ? 0.05 : 0.9;
    Samples samples;
    const int most = random.integer(1, 20), most_nodes = random.integer(1, 4);
    for (int i = 0; i < most; ++i) {
        const int nodes = random.integer(1, most_nodes), gpus = nodes * random.integer(1, 8);
        const int batch = random.integer(1, 256);
        const Shape shape{nodes, gpus};
        const double compute = model.compute_seconds(batch) * (1 + noise * random.between(-1, 1));
        const double step = model.iteration_seconds(shape, {batch, 0}) * (1 + noise * random.between(-1, 1));
        samples.push_back({shape, {batch, 0}, std::max(step, compute), std::max(step - compute, 0.0)});
    }
    return samples;
}

/// The sum that throughput_fit.hpp minimises, without its prior on gamma. The prior is at most 81 times
/// omega squared, the mean square of the computing times about a line.
double squares(const PolluxThroughput& model, const Samples& samples) {
    double sum = 0;
    for (const ThroughputSample& sample : samples) {
        const double compute = model.compute_seconds(sample.plan.atomic_batch);
        const double step = model.step_seconds(compute, model.sync_seconds(sample.shape));
        sum += std::pow(std::log(compute / (sample.step_seconds - sample.sync_seconds)), 2) / 2 +
               std::pow(std::log(step / sample.step_seconds), 2);
    }
    return sum;
}

/// The published objective, for a model whose parameters are all positive.
double published_objective(const PolluxThroughput& m, const Samples& samples) {
    double compute_squares = 0, step_squares = 0;
    for (const ThroughputSample& s : samples) {
        const double compute = m.compute_seconds(s.plan.atomic_batch);
        const double further = std::max(s.shape.gpus - 2.0, 1e-8);
        const double sync = s.shape.nodes > 1  ? m.alpha_n + m.beta_n * further
                            : s.shape.gpus > 1 ? m.alpha_r + m.beta_r * further
                                               : 1e-8;
        compute_squares += std::pow(std::log(compute / (s.step_seconds - s.sync_seconds)), 2);
        step_squares += std::pow(std::log(m.step_seconds(compute, sync) / s.step_seconds), 2);
    }
    const auto count = static_cast<double>(samples.size());
    return std::sqrt(compute_squares / count) + std::sqrt(step_squares / count) +
           1e-3 * std::pow(m.gamma - 1, 2) +
           1e-2 * (std::pow(m.beta_n / m.alpha_n, 2) + std::pow(m.beta_r / m.alpha_r, 2));
}

void check_bounds(const PolluxThroughput& m) {
    for (const double seconds : {m.alpha_c, m.beta_c, m.alpha_n, m.beta_n, m.alpha_r, m.beta_r}) {
        REQUIRE(std::isfinite(seconds));
        REQUIRE(seconds >= 0);
    }
    REQUIRE(m.gamma >= 1);
    REQUIRE(m.gamma <= 10);
}

}  // namespace

TEST_CASE("fits: the throughput model explains the measurements no worse than the model that it began with") {
    for_all(10, [](Case& one) {
        const Samples samples = random_samples(one.random);
        ThroughputFitter fitter;
        const ThroughputFit cold = fitter.fit(samples, {.robust = false});
        check_bounds(cold.model);
        // Starts from a model without overlap, for which the prior on gamma costs nothing. Anything that
        // the prior costs the fit beyond the sum below only makes this check harder for the fit.
        PolluxThroughput start = random_model(one.random);
        start.gamma = 1;
        for (std::size_t i = 0; i < 7; ++i)
            if (!cold.identified[i]) {  // taken from the prior, whatever the start
                auto values = parameters_of(start);
                values[i] = parameters_of(cold.model)[i];
                start = model_of(values);
            }
        const ThroughputFit warm = fitter.fit(samples, {.start = start, .robust = false});
        check_bounds(warm.model);
        const double before = squares(start, samples);
        REQUIRE(squares(warm.model, samples) <= before * (1 + 1e-9) + 1e-9);
        // A second fit that starts where the first one ended is no worse either.
        PolluxThroughput end = cold.model;
        if (end.gamma > 1) return;
        const ThroughputFit again = fitter.fit(samples, {.start = end, .robust = false});
        one.count("fitted on from their end");
        REQUIRE(squares(again.model, samples) <= squares(end, samples) * (1 + 1e-6) + 1e-9);
    });
}

TEST_CASE(
    "fits: the throughput model stays within its bounds whatever is measured, and weighing stragglers "
    "down leaves the same for the same samples") {
    for_all(10, [](Case& one) {
        const Samples samples = random_samples(one.random);
        ThroughputFitter kept;
        (void)kept.fit(random_samples(one.random));
        const ThroughputFit fit = kept.fit(samples), fresh = fit_throughput(samples);
        check_bounds(fit.model);
        REQUIRE(std::isfinite(fit.step_rmsle));
        REQUIRE(parameters_of(fit.model) == parameters_of(fresh.model));
        for (const auto& row : fit.covariance)
            for (const double entry : row) REQUIRE(std::isfinite(entry));
        for (std::size_t i = 0; i < 7; ++i) REQUIRE(fit.covariance[i][i] >= 0);
    });
}

TEST_CASE(
    "fits: the published fit ends with an objective that is its model's, and no worse than its start's") {
    for_all(10, [](Case& one) {
        const Samples samples = random_samples(one.random);
        PublishedFitter fitter;
        const PolluxThroughput model = fitter.fit(samples);
        check_bounds(model);
        const double objective = published_objective(model, samples);
        REQUIRE(fitter.end().objective == doctest::Approx(objective).epsilon(1e-6));
        // The held parameters of two blocks that were never measured add 0.01 each.
        const PolluxThroughput start{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 1.001};
        const bool one_batch = std::all_of(samples.begin(), samples.end(), [&](const ThroughputSample& s) {
            return s.plan.atomic_batch == samples.front().plan.atomic_batch;
        });
        if (one_batch) return;  // then the fit begins with its own alpha_c
        REQUIRE(objective <= published_objective(start, samples) + 0.02);
    });
}

TEST_CASE("fits: the memory model underestimates no measurement, in whatever order they come") {
    for_all(2, [](Case& one) {
        Random& random = one.random;
        std::vector<MemorySample> samples;
        const double fixed = some_seconds(random, 1e6, 1e10), slope = some_seconds(random, 1e3, 1e8);
        for (int left = random.integer(1, 12); left > 0; --left) {
            const int batch = random.integer(1, 512);
            samples.push_back({batch, (fixed + slope * batch) * random.between(0.8, 1.2)});
        }
        const MemoryFitOptions options{.tolerance = random.chance(0.5) ? 0.01 : random.between(0, 0.3)};
        const MemoryFit fit = fit_memory(samples, options);
        REQUIRE(fit.model.fixed_bytes >= 0);
        REQUIRE(fit.model.bytes_per_example >= 0);
        for (const MemorySample& sample : samples)
            REQUIRE(fit.model.bytes(sample.atomic_batch) >=
                    (1 - options.tolerance) * sample.bytes * (1 - 1e-9));
        std::reverse(samples.begin(), samples.end());
        const MemoryFit reversed = fit_memory(samples, options);
        REQUIRE(reversed.model.bytes(100) == doctest::Approx(fit.model.bytes(100)).epsilon(1e-9));
    });
}

TEST_CASE("fits: speed by cores and memory rises with both, keeps to the measurements and never asks twice") {
    for_all(10, [](Case& one) {
        Random& random = one.random;
        const HostSpeedModel truth{
            .compute_seconds = some_seconds(random, 0.01, 10),
            .preparation_seconds = random.chance(0.2) ? 0 : some_seconds(random, 0.01, 100),
            .core_power = random.between(0.5, 1.2),
            .storage_seconds = random.chance(0.2) ? 0 : some_seconds(random, 0.01, 100),
            .cached_gib = some_seconds(random, 1, 1000)};
        // Without scatter, the measurements agree with each other and with the rule that the slowest part
        // decides.
        const double scatter = random.chance(0.5) ? 0 : random.between(0, 0.3);
        std::vector<HostShare> shares;
        std::vector<HostSample> samples;
        for (int left = random.integer(1, 12); left > 0; --left) {
            shares.push_back({random.integer(1, 32) * 1.0, random.integer(1, 16) * 16.0});
            if (random.chance(0.6))
                samples.push_back(
                    {shares.back(), truth.speed(shares.back()) * (1 + scatter * random.between(-1, 1))});
        }
        const HostFit fit(samples);
        for (const HostShare& share : shares) {
            const HostForecast here = fit.forecast(share);
            const Interval range = here.interval(random.between(0.1, 0.99));
            REQUIRE(range.low <= here.speed);
            REQUIRE(here.speed <= range.high);
            for (const HostShare& other : shares)
                if (other.cores_per_gpu >= share.cores_per_gpu &&
                    other.memory_gib_per_gpu >= share.memory_gib_per_gpu)
                    REQUIRE(fit.forecast(other).speed >= here.speed * (1 - 1e-12));
        }
        if (scatter == 0)
            for (const HostSample& sample : samples)
                REQUIRE(fit.forecast(sample.share).speed == doctest::Approx(sample.speed).epsilon(1e-9));
        const HostProfile profile = next_host_share(fit, shares);
        if (profile.next) {
            one.count("asked for another");
            REQUIRE(!fit.has_measured(*profile.next));
        }
        std::reverse(samples.begin(), samples.end());
        const HostForecast reversed = HostFit(samples).forecast(shares.front());
        REQUIRE(reversed.speed == doctest::Approx(fit.forecast(shares.front()).speed).epsilon(1e-6));
    });
}
