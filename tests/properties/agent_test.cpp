// Properties of an agent for any training: the units of gradients and of time make no difference, plans
// keep within their limits, a larger batch never has a smaller learning rate, and a restored agent goes on
// as the saved one would.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/agent/training_agent.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using support::Random;

namespace {

constexpr std::size_t agent_parameters = 24;

TrainingSettings random_settings(Random& random) {
    TrainingSettings settings{.parameters = agent_parameters};
    settings.initial_batch = random.integer(1, 100);
    settings.max_batch = settings.initial_batch * random.integer(1, 40);
    settings.max_atomic_batch = random.integer(8, 300);
    if (random.chance(0.3)) settings.group_sizes = {4, 20};
    if (random.chance(0.3)) settings.measure_every = random.integer(1, 4);
    settings.split_every = random.integer(0, 9);
    return settings;
}

struct RandomTraining {
    Random random;
    double time_unit = 1, gradient_unit = 1;  ///< powers of two, so exact
    double now = 0;

    void train(TrainingAgent& agent, int steps) {
        std::vector<float> one(agent_parameters);
        for (; steps > 0; --steps) {
            agent.begin_step(now);
            const BatchPlan plan = agent.plan();
            for (int q = agent.holding().gpus * (plan.accumulation_steps + 1); q > 0; --q) {
                for (float& g : one) g = static_cast<float>(gradient_unit * (0.2 + random.between(-1, 1)));
                agent.add_gradient(std::span<const float>(one));
            }
            now += time_unit * (0.01 + 0.001 * plan.atomic_batch);
            agent.end_step(now);
            agent.retune();
        }
    }
};

}  // namespace

TEST_CASE("Agents: plans keep within the limits, whatever was measured") {
    for_all(25, [](Case& c) {
        const TrainingSettings settings = random_settings(c.random);
        TrainingAgent agent(settings);
        RandomTraining training{Random(c.seed)};
        for (int holds = 0; holds < 3; ++holds) {
            const int gpus = c.random.integer(1, std::min(8, settings.initial_batch));
            agent.hold({.gpus = gpus});
            for (int i = 0; i < 20; ++i) {
                training.train(agent, 5);
                CHECK(agent.plan().atomic_batch <= settings.max_atomic_batch);
                // Rounding of the initial split may exceed both by less than one example per microbatch.
                const double rounding = gpus * (agent.plan().accumulation_steps + 1.0);
                CHECK(agent.total_batch() >= settings.initial_batch);
                CHECK(agent.total_batch() < settings.max_batch + rounding);
                CHECK(agent.learning_rate_factor() >= 1 - 1e-12);
                CHECK(agent.learning_rate_factor() <=
                      agent.total_batch() / settings.initial_batch * (1 + 1e-12));
            }
        }
    });
}

TEST_CASE("Agents: the unit of gradients makes no difference") {
    for_all(25, [](Case& c) {
        const TrainingSettings settings = random_settings(c.random);
        TrainingAgent one(settings), other(settings);
        for (auto [agent, unit] : {std::pair{&one, 1.0}, std::pair{&other, 64.0}}) {
            agent->hold({});
            RandomTraining{.random = Random(c.seed), .gradient_unit = unit}.train(*agent, 80);
        }
        // This ignores the floor under the variance, which no gradient here comes near.
        CHECK(other.plan() == one.plan());
        CHECK(other.learning_rate_factor() == doctest::Approx(one.learning_rate_factor()));
        CHECK(other.statistics().variance == doctest::Approx(4096 * one.statistics().variance));
    });
}

TEST_CASE("Agents: a restored agent goes on like the saved one") {
    for_all(25, [](Case& c) {
        TrainingSettings settings = random_settings(c.random);
        settings.measure_every = 1;
        TrainingAgent agent(settings), restored(settings);
        RandomTraining training{Random(c.seed)};
        agent.hold({.gpus = std::min(2, settings.initial_batch)});
        training.train(agent, c.random.integer(0, 60));
        restored.restore(agent.save());
        CHECK(restored.save() == agent.save());
        if (agent.holding().gpus < 2) return;  // a single gradient needs the one of the step before
        RandomTraining same = training;
        training.train(agent, 30);
        same.train(restored, 30);
        CHECK(restored.save() == agent.save());
    });
}
