// An agent has its memory after its first steps, but for what a fit takes. A program of its own, because it
// counts allocations.

#include <cstddef>
#include <span>
#include <vector>

#include "allocation/counting_new.hpp"
#include "goodput/agent/training_agent.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::allocations_during;

TEST_CASE("Between fits an agent allocates nothing, whatever form of gradients it is given") {
    constexpr std::size_t parameters = 1000;
    const std::vector<float> gradient(parameters, 0.5f), moments(parameters, 0.1f);
    for (const Optimizer optimizer : {Optimizer::sgd, Optimizer::adam})
        for (const bool mean_given : {false, true})
            for (const int gradients : {1, 2}) {
                CAPTURE(mean_given);
                CAPTURE(gradients);
                TrainingAgent agent({.parameters = parameters,
                                     .group_sizes = {400, 600},
                                     .optimizer = optimizer,
                                     .initial_batch = 32 * gradients,
                                     .max_batch = 32 * gradients,
                                     .max_atomic_batch = 32,
                                     .mean_gradient_given = mean_given,
                                     .split_every = 0});
                agent.hold({.gpu_type = "a name that is too long to be stored in place"});
                double now = 0;
                const auto steps = [&](int count) {
                    for (int t = 0; t < count; ++t) {
                        agent.begin_step(now, {.adam_updates = optimizer == Optimizer::adam ? 100 : 0});
                        for (int q = 0; q < gradients; ++q)
                            agent.add_gradient(std::span<const float>(gradient),
                                               std::span<const float>(moments));
                        if (mean_given)
                            agent.add_mean_gradient(std::span<const float>(gradient),
                                                    std::span<const float>(moments));
                        now += 0.05;
                        agent.end_step(now);
                        agent.retune();
                    }
                };
                CHECK(allocations_during([&] { steps(700); }) > 0);
                // The last fit was at 640 timed steps, the next one is at 1,280.
                CHECK(allocations_during([&] { steps(500); }) == 0);
            }
}
