// Tests what the agent measures, decides and remembers, in simulated trainings.

#include "goodput/agent/training_agent.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/fit/noise_scale.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/throughput.hpp"
#include "support/noisy_quadratic.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace goodput;
using support::Noise;
using support::NoisyQuadratic;

namespace {

double relative_error(double estimate, double truth) { return std::abs(estimate / truth - 1); }

TrainingSettings settings_for(std::size_t parameters) {
    return {.parameters = parameters, .initial_batch = 32, .max_batch = 4096, .max_atomic_batch = 256};
}

/// Trains `steps` steps of the problem on what the agent holds. `seconds_of(shape, plan)`: duration of a
/// step.
template <class SecondsOf>
void train(TrainingAgent& agent, const NoisyQuadratic& problem, Noise& noise, int steps, double& now,
           const SecondsOf& seconds_of, bool retunes = true) {
    std::vector<double> one(problem.size());
    for (int t = 0; t < steps; ++t) {
        agent.begin_step(now);
        const BatchPlan plan = agent.plan();
        const int gradients = agent.holding().gpus * (plan.accumulation_steps + 1);
        for (int q = 0; q < gradients; ++q) {
            problem.sample(1.0 * plan.atomic_batch / agent.settings().initial_batch, noise, one);
            agent.add_gradient(std::span<const double>(one));
        }
        now += seconds_of(agent.holding().shape(), plan);
        agent.end_step(now);
        if (retunes) agent.retune();
    }
}

/// A world in which steps take what Pollux's model says, with noise of `scatter`. One step in fifty takes
/// three times as long.
struct World {
    PolluxThroughput truth{};
    double scatter = 0.05;
    support::Random* random = nullptr;

    double operator()(Shape shape, BatchPlan plan) const {
        const double slow = random->chance(0.02) ? 3 : 1;
        return truth.iteration_seconds(shape, plan) * slow * std::exp(random->between(-scatter, scatter));
    }
};

}  // namespace

TEST_CASE("The agent measures the noise scale of accumulated, replicated and single gradients") {
    const NoisyQuadratic problem(1000, 1, 4, 5);
    Noise noise(6);
    const auto second = [](Shape, BatchPlan) { return 1.0; };
    for (const int gpus : {1, 2, 8})
        for (const int most : {32, 8}) {
            CAPTURE(gpus);
            CAPTURE(most);
            TrainingSettings settings = settings_for(problem.size());
            settings.max_atomic_batch = most;
            settings.measure_every = 1;
            TrainingAgent agent(settings);
            agent.hold({.gpus = gpus});
            double now = 0;
            train(agent, problem, noise, 1000, now, second, false);
            CHECK(relative_error(agent.statistics().squared_norm, 1) < 0.05);
            CHECK(relative_error(agent.statistics().variance, 4) < 0.05);
            CHECK(relative_error(agent.noise_scale(), 4 * 32) < 0.07);
        }
}

TEST_CASE("With Adam, norms use its metric once it has seen five updates, whether the mean is given or not") {
    const NoisyQuadratic problem(50, 1, 4, 17);
    for (const auto& [updates, mean_given] : {std::pair{0, false}, {0, true}, {5, false}, {5, true}}) {
        Noise noise(18);
        TrainingSettings settings = settings_for(problem.size());
        settings.optimizer = Optimizer::adam;
        settings.adam_beta2 = 0.99;
        settings.adam_epsilon = 1e-3;
        settings.measure_every = 1;
        settings.mean_gradient_given = mean_given;
        TrainingAgent agent(settings);
        agent.hold({.gpus = 2});
        NoiseScaleEstimator expected(settings.noise_smoothing());
        GradientMeter meter({problem.size()});
        std::vector<double> moments(problem.size(), 0.1);
        for (int t = 0; t < 5; ++t) {
            const AdamPreconditioner<double> metric =
                AdamPreconditioner<double>{moments, updates + t, 0.99, 1e-3}.with_floor();
            const std::vector<std::vector<double>> gradients{problem.sample(0.5, noise),
                                                             problem.sample(0.5, noise)};
            std::vector<double> mean(problem.size());
            agent.begin_step(t, {.adam_updates = metric.step});
            for (const std::vector<double>& one : gradients) {
                if (updates == 0)
                    agent.add_gradient(std::span<const double>(one));
                else
                    agent.add_gradient(std::span<const double>(one), std::span<const double>(moments));
                for (std::size_t i = 0; i < one.size(); ++i) mean[i] += one[i] / 2;
            }
            if (mean_given)
                agent.add_mean_gradient(std::span<const double>(mean), std::span<const double>(moments));
            if (updates > 0)
                CHECK_THROWS_AS(agent.add_gradient(std::span<const double>(mean)), std::invalid_argument);
            CHECK(agent.end_step(t + 0.5));
            expected.observe(support::metered(meter, gradients, 1, metric).value());
            for (std::size_t i = 0; i < moments.size(); ++i)
                moments[i] = 0.99 * moments[i] + 0.01 * mean[i] * mean[i];
        }
        CHECK(agent.statistics().squared_norm ==
              doctest::Approx(expected.statistics().squared_norm).epsilon(1e-5));
        CHECK(agent.statistics().variance == doctest::Approx(expected.statistics().variance).epsilon(1e-5));
        CHECK_THROWS_AS(agent.begin_step(20, {.adam_updates = -1}), std::invalid_argument);
    }
}

TEST_CASE("Single gradients give the same statistics if only one step of eight is measured") {
    const NoisyQuadratic problem(2000, 1, 4, 25);
    Noise noise(26);
    TrainingSettings settings = settings_for(problem.size());
    settings.measure_every = 8;
    settings.split_every = 0;
    TrainingAgent agent(settings);
    agent.hold({});
    std::vector<double> one(problem.size());
    int wanted = 0;
    for (int t = 0; t < 4000; ++t) {
        agent.begin_step(t);
        wanted += agent.gradients_wanted() ? 1 : 0;
        problem.sample(1, noise, one);
        agent.add_gradient(std::span<const double>(one));
        agent.end_step(t + 0.5);
    }
    CHECK(wanted == 1000);  // counts pairs
    CHECK(relative_error(agent.statistics().variance, 4) < 0.05);
    CHECK(relative_error(agent.statistics().squared_norm, 1) < 0.1);
}

TEST_CASE("A lone gradient is halved now and then, which stays right if successive gradients are opposite") {
    const NoisyQuadratic problem(500, 1, 4, 75);
    for (const int split_every : {8, 0}) {
        CAPTURE(split_every);
        Noise noise(76);
        TrainingSettings settings = settings_for(problem.size());
        settings.split_every = split_every;
        TrainingAgent agent(settings);
        agent.hold({});
        int halved = 0;
        for (int t = 0; t < 8000; ++t) {
            agent.begin_step(t);
            const BatchPlan plan = agent.plan();
            CHECK(plan.total(1) == 32);
            CHECK(agent.gradients_wanted() == (plan.accumulation_steps == 1 || split_every == 0));
            halved += plan.accumulation_steps;
            for (int q = 0; q <= plan.accumulation_steps; ++q) {
                std::vector<double> one = problem.sample(plan.atomic_batch / 32.0, noise);
                // Parameters swing across the minimum: the gradients of successive steps have opposite
                // directions.
                for (double& value : one) value = t % 2 == 0 ? value : -value;
                agent.add_gradient(std::span<const double>(one));
            }
            CHECK(agent.end_step(t + 0.5));
            CHECK(agent.plan() == BatchPlan{32, 0});
        }
        if (split_every == 0) {
            CHECK(halved == 0);
            CHECK(agent.statistics().squared_norm < 0.1);
            continue;
        }
        CHECK(halved == 20 + (8000 - 2 * 20) / 8);  // one in two until twenty are known
        CHECK(relative_error(agent.statistics().squared_norm, 1) < 0.15);
        CHECK(relative_error(agent.statistics().variance, 4) < 0.05);
    }
}

TEST_CASE("Large models have their gradients halved more rarely") {
    for (const int measure_every : {0, 10}) {
        TrainingSettings settings = settings_for(2'000'000);
        settings.measure_every = measure_every;
        TrainingAgent agent(settings);
        agent.hold({});
        int halved = 0;
        for (int t = 0; t < 6400; ++t) {
            agent.begin_step(t);
            if (agent.plan().accumulation_steps == 1) {
                ++halved;
                agent.end_step(t + 0.5, {}, std::vector<GradientNorms>{{5, 3, 2, 1}});
            } else {
                agent.end_step(t + 0.5);
            }
        }
        CHECK(halved == (measure_every == 0 ? 20 + (6400 - 64) / 64 : 640));
    }
}

TEST_CASE("Replicas that sum totals and gradients know as much as one with all microbatches") {
    constexpr std::size_t n = 300;
    const NoisyQuadratic problem(n, 1, 4, 35);
    for (const bool mean_given : {false, true}) {
        CAPTURE(mean_given);
        Noise noise(36);
        TrainingSettings settings = settings_for(n);
        settings.group_sizes = {100, 200};
        settings.max_atomic_batch = 8;
        settings.measure_every = 1;
        TrainingAgent whole(settings);
        settings.mean_gradient_given = mean_given;
        std::vector<TrainingAgent> replicas(2, TrainingAgent(settings));
        whole.hold({.gpus = 2});
        for (TrainingAgent& replica : replicas) replica.hold({.gpus = 2});
        for (int t = 0; t < 50; ++t) {
            whole.begin_step(t);
            std::vector<double> mean(n);
            for (TrainingAgent& replica : replicas) {
                replica.begin_step(t);
                for (int q = 0; q <= replica.plan().accumulation_steps; ++q) {
                    const std::vector<double> one = problem.sample(0.25, noise);
                    whole.add_gradient(std::span<const double>(one));
                    replica.add_gradient(std::span<const double>(one));
                    for (std::size_t i = 0; i < n; ++i) mean[i] += one[i] / 4;
                }
            }
            // This stands for the all-reduce.
            for (std::size_t i = 0; i < replicas[0].totals().size(); ++i)
                replicas[0].totals()[i] = replicas[1].totals()[i] += replicas[0].totals()[i];
            for (std::size_t i = 0; i < replicas[0].running_sum().size(); ++i)
                replicas[0].running_sum()[i] = replicas[1].running_sum()[i] += replicas[0].running_sum()[i];
            CHECK(replicas[0].running_sum().empty() == mean_given);
            whole.end_step(t + 0.5);
            for (TrainingAgent& replica : replicas) {
                if (mean_given) replica.add_mean_gradient(std::span<const double>(mean));
                CHECK(replica.end_step(t + 0.5));
            }
        }
        for (std::size_t g = 0; g < 2; ++g) {
            CHECK(replicas[0].statistics(g).variance == replicas[1].statistics(g).variance);
            CHECK(replicas[0].statistics(g).variance ==
                  doctest::Approx(whole.statistics(g).variance).epsilon(1e-4));
            CHECK(replicas[0].statistics(g).squared_norm ==
                  doctest::Approx(whole.statistics(g).squared_norm).epsilon(1e-3));
        }
        CHECK(replicas[0].learning_rate_factor(1) == replicas[1].learning_rate_factor(1));
    }
}

TEST_CASE("At one batch size a training knows the same on one replica, on two, and if it moves in between") {
    constexpr std::size_t n = 100;
    const NoisyQuadratic problem(n, 1, 20, 37);
    for (const bool large : {false, true}) {
        CAPTURE(large);
        Noise noise(38);
        TrainingSettings settings = settings_for(large ? 2'000'000 : n);
        settings.mean_gradient_given = true;
        // Four trainings: on one replica, on one that accumulates, on two, and from one to two after 150
        // steps.
        std::vector<TrainingAgent> agents(4, TrainingAgent(settings));
        const auto start = [](TrainingAgent& agent, int gpus, BatchPlan plan) {
            agent.hold({.gpus = gpus});
            agent.adopt(plan);
        };
        start(agents[0], 1, {128, 0});
        start(agents[1], 1, {64, 1});
        start(agents[2], 2, {64, 0});
        start(agents[3], 1, {128, 0});
        for (int t = 0; t < 300; ++t) {
            if (t == 150) {
                TrainingAgent moved(settings);
                moved.restore(agents[3].save());
                start(moved, 2, {64, 0});
                agents[3] = std::move(moved);
            }
            const std::vector<double> first = problem.sample(2, noise), second = problem.sample(2, noise);
            double squares = 0, of_mean = 0;
            for (std::size_t i = 0; i < n; ++i) {
                squares += (first[i] * first[i] + second[i] * second[i]) / 2;
                of_mean += (first[i] + second[i]) * (first[i] + second[i]) / 4;
            }
            const std::vector<GradientNorms> norms{{squares, of_mean, 2, 4}};
            int looked_at = 0;
            for (TrainingAgent& agent : agents) {
                agent.begin_step(t);
                looked_at += agent.gradients_wanted() ? 1 : 0;
                if (agent.gradients_wanted())
                    agent.end_step(t + 0.5, {}, norms);
                else
                    agent.end_step(t + 0.5);
            }
            CHECK((looked_at == 0 || looked_at == 4));
            for (const TrainingAgent& agent : agents) {
                CHECK(agent.statistics().squared_norm == agents[0].statistics().squared_norm);
                CHECK(agent.statistics().variance == agents[0].statistics().variance);
                CHECK(agent.learning_rate_factor() == agents[0].learning_rate_factor());
                CHECK(agent.progress_steps() == agents[0].progress_steps());
            }
        }
        CHECK(agents[0].learning_rate_factor() > 1);
    }
}

TEST_CASE("A step whose gradient overflowed is neither counted nor remembered") {
    const NoisyQuadratic problem(64, 1, 4, 45);
    for (const int most : {32, 16}) {
        Noise noise(46);
        TrainingSettings settings = settings_for(problem.size());
        settings.max_atomic_batch = most;
        TrainingAgent agent(settings);
        agent.hold({});
        double now = 0;
        train(
            agent, problem, noise, 30, now, [](Shape, BatchPlan) { return 1.0; }, false);
        const GradientStatistics before = agent.statistics();
        const double progress = agent.progress_steps();
        std::vector<float> bad(problem.size(), 1);
        bad[7] = std::numeric_limits<float>::infinity();
        agent.begin_step(now, {.scale = 65536});
        for (int q = 0; q <= agent.plan().accumulation_steps; ++q)
            agent.add_gradient(std::span<const float>(bad));
        CHECK_FALSE(agent.end_step(now + 1));
        CHECK(agent.statistics().variance == before.variance);
        CHECK(agent.progress_steps() == progress);
        train(
            agent, problem, noise, 30, now, [](Shape, BatchPlan) { return 1.0; }, false);
        CHECK(std::isfinite(agent.statistics().variance));
    }
}

TEST_CASE("Without knowing speed or noise the agent ends within 10 % of the best plan") {
    support::Random random(51);
    for (int world = 0; world < 12; ++world) {
        CAPTURE(world);
        const double noise_over_signal = std::exp(random.between(0, 4));
        const NoisyQuadratic problem(200, 1, noise_over_signal, 52 + static_cast<unsigned>(world));
        Noise noise(53);
        const World clock{{random.between(0.005, 0.1), random.between(1e-4, 2e-3), random.between(0.02, 0.3),
                           0.005, random.between(0.005, 0.1), 0.002, 2},
                          0.05,
                          &random};
        for (const Holding& holding :
             {Holding{.gpus = 1}, Holding{.gpus = 4}, Holding{.nodes = 2, .gpus = 4}}) {
            TrainingAgent agent(settings_for(problem.size()));
            agent.hold(holding);
            double now = 0;
            train(agent, problem, noise, 1500, now, clock);
            const NoiseScaleEfficiency truth{32, {1, noise_over_signal}};
            const BestPlan best = best_batch_plan(clock.truth, truth, holding.shape(), {32, 4096, 1, 256});
            const double reached = detail::goodput_of(clock.truth, truth, holding.shape(), agent.plan());
            CHECK(reached > 0.9 * best.goodput);
            CHECK(relative_error(agent.goodput(), reached) < 0.25);
        }
    }
}

TEST_CASE("After a restart on other GPUs the agent goes on with what it knows") {
    support::Random random(61);
    const NoisyQuadratic problem(200, 1, 20, 62);
    Noise noise(63);
    const World clock{{0.02, 5e-4, 0.1, 0.005, 0.03, 0.002, 2}, 0.05, &random};
    TrainingAgent first(settings_for(problem.size()));
    first.hold({.gpu_type = "t4", .gpus = 2});
    double now = 0;
    train(first, problem, noise, 800, now, clock);

    TrainingAgent second(settings_for(problem.size()));
    second.restore(first.save());
    CHECK(second.useful_examples() == first.useful_examples());
    second.hold({.gpu_type = "t4", .gpus = 4});
    // The plan follows at once from what two GPUs have shown, and is not the initial batch.
    CHECK(second.total_batch() > 64);
    now = 0;  // another machine's clock
    train(second, problem, noise, 400, now, clock);
    const NoiseScaleEfficiency truth{32, {1, 20}};
    const BestPlan best = best_batch_plan(clock.truth, truth, {1, 4}, {32, 4096, 1, 256});
    CHECK(detail::goodput_of(clock.truth, truth, {1, 4}, second.plan()) > 0.9 * best.goodput);
    CHECK(second.useful_examples() > first.useful_examples());
}

TEST_CASE("After a restart the total batch stays unless another is so much better that changing pays") {
    support::Random random(64);
    const NoisyQuadratic problem(200, 1, 20, 65);
    Noise noise(66);
    const World clock{{0.02, 5e-4, 0.1, 0.005, 0.03, 0.002, 2}, 0.05, &random};
    TrainingSettings settings = settings_for(problem.size());
    TrainingAgent first(settings);
    first.hold({.gpus = 1});
    double now = 0;
    train(first, problem, noise, 800, now, clock);
    for (const int gpus : {2, 4, 8})
        for (const double gain : {1.0, 1.05, 100.0}) {
            CAPTURE(gpus);
            CAPTURE(gain);
            settings.retune_gain = gain;
            TrainingAgent second(settings);
            second.restore(first.save());
            second.hold({.gpus = gpus});
            const NoiseScaleEfficiency believed{32, second.statistics()};
            const double largest = 2 * second.step_times().largest_total_batch();
            const BestPlan best = best_batch_plan(*second.model(), believed, {1, gpus},
                                                  {32, static_cast<int>(std::min(4096.0, largest)), 1, 256});
            const double reached = detail::goodput_of(*second.model(), believed, {1, gpus}, second.plan());
            CHECK(reached * gain >= best.goodput * (1 - 1e-12));
            if (gain == 100) {
                CHECK(second.total_batch() >= first.total_batch());
                CHECK(second.total_batch() <
                      first.total_batch() + gpus * (second.plan().accumulation_steps + 1));
            }
        }
}

TEST_CASE("Under Adam, too, a restart or another batch keeps the total batch and the learning rate") {
    TrainingSettings settings = settings_for(50);
    settings.optimizer = Optimizer::adam;
    settings.measure_every = 1;
    const auto metered_steps = [](TrainingAgent& agent, int steps, double& now) {
        // Two gradients, the second minus half the first: norms do not depend on the batch.
        const std::vector<double> moments(50, 1.0);
        for (; steps > 0; --steps) {
            agent.begin_step(now, {.adam_updates = 1000});
            const int gradients = agent.holding().gpus * (agent.plan().accumulation_steps + 1);
            for (int q = 0; q < gradients; ++q) {
                std::vector<double> one(50, 0.05);
                for (std::size_t i = 0; i < one.size(); ++i)
                    one[i] += (i + static_cast<std::size_t>(q)) % 2 == 0 ? 0.3 : -0.3;
                agent.add_gradient(std::span<const double>(one), std::span<const double>(moments));
            }
            now += 0.1 + 0.001 * agent.plan().atomic_batch;
            agent.end_step(now);
        }
    };
    double now = 0;
    TrainingAgent agent(settings);
    agent.hold({.gpus = 2});
    metered_steps(agent, 60, now);
    REQUIRE(agent.learning_rate_factor() == 1);
    agent.adopt({64, 0});
    const double grown = agent.learning_rate_factor();
    REQUIRE(grown > 1.2);
    for (int step = 0; step < 60; ++step) {
        metered_steps(agent, 1, now);
        CAPTURE(step);
        // The metric has changed: until enough is measured in the new one, the agent uses what it knew.
        CHECK(agent.learning_rate_factor() > 1.1);
        TrainingAgent moved(settings);
        moved.restore(agent.save());
        CHECK(moved.save() == agent.save());
        CHECK(moved.learning_rate_factor() == agent.learning_rate_factor());
        CHECK(moved.report().has_value() == agent.report().has_value());
        moved.hold({.gpus = 4});
        CHECK(moved.total_batch() >= 128);
        CHECK(moved.learning_rate_factor() > 1.1);
    }
    for (const char* version : {"goodput-agent 2", "goodput-agent 4"})
        CHECK_THROWS_AS(agent.restore(version + agent.save().substr(15)), std::invalid_argument);
}

TEST_CASE("Norms given at every step count as one step each, those given at one of eight as eight") {
    support::Random random(81);
    for (const int every : {1, 8}) {
        TrainingSettings settings = settings_for(50);
        settings.measure_every = 8;
        TrainingAgent agent(settings);
        agent.hold({.gpus = 2});
        NoiseScaleEstimator expected(settings.noise_smoothing());
        for (int step = 0; step < 160; ++step) {
            agent.begin_step(step);
            if (step % every != 0) {
                agent.end_step(step + 0.5);
                continue;
            }
            GradientNorms norms{random.between(2, 3), random.between(1, 2), 2, 1};
            agent.end_step(step + 0.5, {}, std::span(&norms, 1));
            norms.steps = step == 0 ? 1 : every;
            expected.observe(norms);
        }
        CHECK(agent.statistics().squared_norm == doctest::Approx(expected.statistics().squared_norm));
        CHECK(agent.statistics().variance == doctest::Approx(expected.statistics().variance));
    }
}

TEST_CASE("A saved and restored agent answers the same, bit by bit") {
    support::Random random(71);
    const NoisyQuadratic problem(100, 1, 20, 72);
    Noise noise(73);
    const World clock{{0.02, 5e-4, 0.1, 0.005, 0.03, 0.002, 2}, 0.05, &random};
    TrainingSettings settings = settings_for(problem.size());
    settings.group_sizes = {40, 60};
    TrainingAgent agent(settings);
    double now = 0;
    for (const Holding& holding : {Holding{.gpu_type = "t4 of \"ours\"\n", .gpus = 2},
                                   Holding{.gpu_type = "a100", .gpus = 4, .max_atomic_batch = 512}}) {
        agent.hold(holding);
        train(agent, problem, noise, 300, now, clock);
    }
    TrainingAgent restored(settings);
    restored.restore(agent.save());
    CHECK(restored.save() == agent.save());
    CHECK(restored.plan() == agent.plan());
    CHECK(restored.goodput() == agent.goodput());
    CHECK(restored.efficiency() == agent.efficiency());
    CHECK(restored.progress_steps() == agent.progress_steps());
    CHECK(restored.report()->gpu_type == agent.report()->gpu_type);
    CHECK(restored.report()->sample.step_seconds == agent.report()->sample.step_seconds);
    CHECK(restored.report()->gradient.variance == agent.report()->gradient.variance);
    for (std::size_t g = 0; g < 2; ++g)
        CHECK(restored.learning_rate_factor(g) == agent.learning_rate_factor(g));
    // With several gradients per step the last step need not be remembered: both agents stay equal.
    for (int t = 0; t < 200; ++t) {
        const int gradients = 4 * (agent.plan().accumulation_steps + 1);
        const double seconds = clock(agent.holding().shape(), agent.plan());
        for (TrainingAgent* each : {&agent, &restored}) each->begin_step(now);
        for (int q = 0; q < gradients; ++q) {
            const std::vector<double> one = problem.sample(agent.plan().atomic_batch / 32.0, noise);
            for (TrainingAgent* each : {&agent, &restored}) each->add_gradient(std::span<const double>(one));
        }
        now += seconds;
        for (TrainingAgent* each : {&agent, &restored}) each->end_step(now);
        CHECK(agent.retune() == restored.retune());
    }
    CHECK(restored.save() == agent.save());
}

TEST_CASE("The report says how long the start took, from the caller's word until the first step ended") {
    const NoisyQuadratic problem(10, 1, 4, 91);
    Noise noise(92);
    const auto trained = [&](double first_step_at, const std::vector<double>& started) {
        TrainingAgent agent(settings_for(problem.size()));
        agent.hold({.gpus = 2});
        for (const double at : started) agent.started(at);
        double now = first_step_at;
        train(
            agent, problem, noise, 20, now, [](Shape, BatchPlan) { return 0.5; }, false);
        return agent.report().value().start_seconds;
    };
    CHECK(!trained(100, {}));
    CHECK(trained(100, {79.5}) == doctest::Approx(21));
    CHECK(trained(100, {20, 79.5}) == doctest::Approx(21));
    CHECK(trained(0, {0}) == doctest::Approx(0.5));
    CHECK(!trained(100, {1000}));  // from another clock

    TrainingAgent agent(settings_for(problem.size()));
    agent.hold({.gpus = 2});
    for (const double wrong : {std::numeric_limits<double>::infinity(), std::nan("")})
        CHECK_THROWS_WITH_AS(agent.started(wrong), doctest::Contains("started"), std::invalid_argument);
    agent.started(3);
    agent.begin_step(10);
    agent.drop_step();  // no step has ended
    double now = 20;
    train(
        agent, problem, noise, 20, now, [](Shape, BatchPlan) { return 0.5; }, false);
    CHECK(agent.report()->start_seconds == doctest::Approx(17.5));
    // The next start counts anew.
    agent.hold({.gpus = 2});
    train(
        agent, problem, noise, 20, now, [](Shape, BatchPlan) { return 0.5; }, false);
    CHECK(!agent.report()->start_seconds);
}
