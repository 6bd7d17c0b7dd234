// fit_model() fits every model that provides its terms: Pollux's, and one that a user writes.

#include "goodput/fit/model_fit.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/fit/throughput_terms.hpp"
#include "peers/pollux/throughput_fit.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace model_fit_tests {

using namespace goodput;

const std::array shapes{Shape{1, 1}, Shape{1, 2},  Shape{1, 4}, Shape{1, 8},
                        Shape{2, 8}, Shape{2, 16}, Shape{4, 16}};
const std::array batches{16, 32, 64, 128};

PolluxThroughput random_pollux(support::Random& random) {
    const auto factor = [&](double least, double most) {
        return std::exp(random.between(std::log(least), std::log(most)));
    };
    const double seconds = factor(0.01, 1);
    return {seconds * factor(0.2, 0.8),  seconds * factor(0.2, 0.8) / 64, seconds * factor(0.1, 1),
            seconds * factor(0.01, 0.1), seconds * factor(0.05, 0.5),     seconds * factor(0.005, 0.05),
            random.between(1.1, 4)};
}

std::vector<ThroughputSample> measured(const PolluxThroughput& truth, support::Random& random, double noise,
                                       bool split) {
    std::vector<ThroughputSample> samples;
    for (const Shape shape : shapes)
        for (const int batch : batches) {
            const double off = std::exp(noise * random.between(-1, 1));
            const double compute = truth.compute_seconds(batch) * off;
            const double step = std::max(truth.iteration_seconds(shape, {batch, 0}) * off, compute);
            ThroughputSample sample{.shape = shape, .plan = {batch, 0}, .step_seconds = step};
            sample.sync_known = split || shape.gpus < 2;
            sample.sync_seconds = sample.sync_known ? step - compute : 0;
            samples.push_back(sample);
        }
    return samples;
}

double error_of(const PolluxThroughput& model, const PolluxThroughput& truth) {
    double sum = 0, count = 0;
    for (const Shape shape : {Shape{1, 3}, Shape{1, 6}, Shape{2, 12}, Shape{4, 32}})
        for (const int batch : {24, 96}) {
            const BatchPlan plan{batch, 1};
            sum += std::abs(
                std::log(model.iteration_seconds(shape, plan) / truth.iteration_seconds(shape, plan)));
            count += 1;
        }
    return sum / count;
}

/// Every further replica on a node slows computing down by a fraction.
struct ContendedTerms {
    std::array<double, 5> mean{-3, -7, -4, 0, 0}, deviation{2, 2, 2, 0.3, 1};
    [[nodiscard]] static std::size_t parameters() { return 5; }
    static double further(const Shape& shape) { return static_cast<double>(shape.gpus) / shape.nodes - 1; }
    template <class X>
    auto log_compute(X& x, const ThroughputSample& of) const {
        using std::exp, std::log;
        return log(exp(x[0]) + exp(x[1]) * double(of.plan.atomic_batch)) + x[3] * further(of.shape);
    }
    template <class X>
    auto log_sync(X& x, const ThroughputSample&) const {
        return x[2];
    }
    template <class X>
    auto log_overlap(X& x) const {
        return x[4];
    }
    struct Model {
        std::array<double, 5> at;
        [[nodiscard]] double iteration_seconds(Shape shape, BatchPlan plan) const {
            const double compute =
                (std::exp(at[0]) + std::exp(at[1]) * plan.atomic_batch) * std::exp(at[3] * further(shape));
            const double gamma = 1 + std::exp(at[4]), sync = shape.gpus > 1 ? std::exp(at[2]) : 0;
            return plan.accumulation_steps * compute +
                   std::pow(std::pow(compute, gamma) + std::pow(sync, gamma), 1 / gamma);
        }
    };
    [[nodiscard]] static Model model(std::span<const double> x) { return {{x[0], x[1], x[2], x[3], x[4]}}; }
};

}  // namespace model_fit_tests

TEST_CASE("Pollux's model is found again from its own steps, whether their parts are known or not") {
    using namespace model_fit_tests;
    support::Random random(3);
    for (const bool split : {true, false}) {
        double exact = 0, noisy = 0, published = 0;
        for (int round = 0; round < 50; ++round) {
            const PolluxThroughput truth = random_pollux(random);
            const auto clean = measured(truth, random, 0, split), rough = measured(truth, random, 0.1, split);
            const ModelFit<PolluxTerms> fit = fit_model(std::span(clean), PolluxTerms(clean));
            CAPTURE(round);
            CHECK(fit.status == FitStatus::converged);
            exact += error_of(fit.model(), truth) / 50;
            noisy += error_of(fit_model(std::span(rough), PolluxTerms(rough)).model(), truth) / 50;
            published += error_of(peers::fit_throughput(rough).model, truth) / 50;
        }
        CAPTURE(split);
        MESSAGE("error ", exact, ", of noisy steps ", noisy, ", by the published model's fit ", published);
        CHECK(exact < 0.01);
        CHECK(noisy < 0.05);
        CHECK(noisy < 1.1 * published);
    }
}

TEST_CASE("A user's own model is fitted by the same call, accumulation steps and stragglers included") {
    using namespace model_fit_tests;
    support::Random random(4);
    int right = 0;
    for (int round = 0; round < 50; ++round) {
        const ContendedTerms::Model truth{{random.between(-4, -2), random.between(-8, -6),
                                           random.between(-5, -3), random.between(0, 0.1),
                                           random.between(-1, 1)}};
        std::vector<ThroughputSample> samples;
        for (const Shape shape : shapes)
            for (const int batch : batches) {
                ThroughputSample sample{.shape = shape, .plan = {batch, random.integer(0, 3)}};
                sample.whole_iteration = true;
                sample.sync_known = false;
                sample.step_seconds = truth.iteration_seconds(shape, sample.plan) *
                                      std::exp(0.01 * random.between(-1, 1)) * (random.chance(0.05) ? 3 : 1);
                samples.push_back(sample);
            }
        const ModelFit<ContendedTerms> fit = fit_model(std::span(std::as_const(samples)), ContendedTerms{});
        CAPTURE(round);
        CHECK(fit.status == FitStatus::converged);
        bool near = std::abs(fit.parameters[3] - truth.at[3]) < 0.01;
        for (const Shape shape : {Shape{1, 3}, Shape{4, 32}})
            for (const int steps : {0, 15})
                near = near && std::abs(std::log(fit.model().iteration_seconds(shape, {48, steps}) /
                                                 truth.iteration_seconds(shape, {48, steps}))) < 0.05;
        right += near ? 1 : 0;
    }
    // If stragglers hit the few steps that tell parameters apart, the fit may end in another minimum.
    CHECK(right >= 48);
}

TEST_CASE("No samples and bad ones are refused by name") {
    using namespace model_fit_tests;
    const std::vector<ThroughputSample> none, bad{{{1, 1}, {16, 0}, -1, 0}};
    CHECK_THROWS_WITH_AS((void)fit_model(std::span(none), PolluxTerms(none), {.subject = "job 'a'"}),
                         "job 'a': samples is empty, but must be at least one measurement",
                         std::invalid_argument);
    CHECK_THROWS_AS((void)fit_model(std::span(bad), PolluxTerms(1, 16)), std::invalid_argument);
}

TEST_CASE("Invalid priors and options out of range are refused by name") {
    using namespace model_fit_tests;
    support::Random random(3);
    const auto samples = measured(random_pollux(random), random, 0, true);
    const auto refused = [&](auto change, const std::string& naming) {
        PolluxTerms terms{std::span<const ThroughputSample>(samples)};
        ModelFitOptions options{.subject = "job 'a'"};
        change(terms, options);
        CAPTURE(naming);
        try {
            (void)fit_model(std::span<const ThroughputSample>(samples), terms, options);
            FAIL_CHECK("accepted");
        } catch (const std::invalid_argument& error) {
            CHECK(std::string(error.what()).find("job 'a': " + naming) == 0);
        }
    };
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
          -std::numeric_limits<double>::infinity()}) {
        refused([&](auto& terms, auto&) { terms.mean[3] = bad; }, "mean of parameter 3 is");
        refused([&](auto& terms, auto&) { terms.deviation[6] = bad; }, "deviation of parameter 6 is");
    }
    for (const double bad : {0.0, -1.0})
        refused([&](auto& terms, auto&) { terms.deviation[0] = bad; }, "deviation of parameter 0 is");
    refused([](auto&, auto& options) { options.max_iterations = -1; }, "max_iterations is -1");
}

namespace model_fit_tests {

/// Declares fewer touched parameters than one of its terms reads.
struct TooFewTouched : PolluxTerms {
    static constexpr int most_touched = 1;
    using PolluxTerms::PolluxTerms;
};

}  // namespace model_fit_tests

TEST_CASE("Terms that read more parameters than they declare are refused") {
    using namespace model_fit_tests;
    support::Random random(4);
    const auto samples = measured(random_pollux(random), random, 0, true);
    CHECK_THROWS_WITH_AS((void)fit_model(std::span<const ThroughputSample>(samples),
                                         TooFewTouched{std::span<const ThroughputSample>(samples)}),
                         doctest::Contains("most_touched"), std::invalid_argument);
}
