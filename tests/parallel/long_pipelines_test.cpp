// Plans pipelines of many equal layers on several GPU types. Two things make the search hard: millions of
// orders of the stages are equally good, and the prices pay for half a stage although only whole stages can
// be bought.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/parallel_planner.hpp"
#include "parallel/parallel_claims.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::ParallelCase;
using support::Random;

namespace {

/// Equal layers; a GPU holds one to four. `gpus`: GPUs of each type for one replica, roughly.
ParallelCase equal_layers(Random& random, std::size_t layers, std::size_t types, int gpus,
                          int most_replicas) {
    ParallelCase asked;
    asked.model.name = "model";
    asked.model.layers = layers;
    const double parameters = support::random_scale(random, 2e7, 2e8),
                 activation = support::random_scale(random, 1e6, 1e7), output = 5e6;
    for (const int degree : {1, 2, 4})
        asked.model.sizes[degree].assign(
            layers, {std::floor(parameters / degree), output, std::floor(activation / degree)});
    asked.cluster.zones = {"zone"};
    asked.cluster.gpus.emplace_back();
    asked.cluster.usd_per_gigabyte = {{0}};
    const int replicas = random.integer(1, most_replicas);
    for (std::size_t t = 0; t < types; ++t) {
        const double layer_gib = parameters * asked.model.bytes_per_parameter / (1 << 30);
        asked.cluster.types.push_back(
            {"type-" + std::to_string(t), 4, 3 + layer_gib * random.between(1.2, 5), random.between(1, 5)});
        asked.cluster.gpus.front().push_back(random.integer(gpus / 2, gpus) * replicas +
                                             random.integer(0, replicas - 1));
        auto& times = asked.model.times.emplace_back();
        const double second = support::random_scale(random, 2e-3, 1e-2);
        for (const int microbatch : {1, 2})
            for (const int degree : {1, 2, 4}) {
                const double forward =
                    second * (0.3 + microbatch) / std::pow(degree, random.between(0.4, 0.9));
                times[{microbatch, degree}].assign(layers, {forward, 2 * forward, 0.1 * forward});
            }
    }
    for (std::size_t a = 0; a < types; ++a)
        for (std::size_t b = 0; b < types; ++b) {
            const double speed = support::random_scale(random, 1, 30);
            for (const int from : {1, 2, 4})
                for (const int to : {1, 2, 4})
                    asked.cluster.links[{{0, a, from}, {0, b, to}}] = {0, 0.1 * speed, speed};
        }
    asked.constants.fixed_bytes = asked.constants.fixed_bytes_parallel = 1e9;
    asked.global_batch = 1 << random.integer(3, 8);
    return asked;
}

}  // namespace

TEST_CASE("few equal layers: a proven plan is the best of all plans") {
    int proven = 0;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        ParallelCase asked = equal_layers(random, static_cast<std::size_t>(random.integer(4, 5)), 2, 5, 2);
        asked.model.times.front().erase({2, 1});
        const support::AllParallelPlans all(asked, 60000);
        if (!all.complete() || !all.clear()) continue;
        PlanQuestion question = support::random_plan_question(random, asked, all.plans());
        question.mixed_stages = false;
        const PlanAnswer answer = find_plan(
            asked.model, asked.cluster, question, [] { return false; }, asked.constants);
        const auto broken = broken_claims(asked, question, answer, support::all_rivals(asked, all));
        CHECK_MESSAGE(broken.empty(), support::joined(broken));
        CHECK((answer.status == PlanStatus::optimal || answer.status == PlanStatus::none));
        proven += answer.status == PlanStatus::optimal;
    }
    CHECK(proven > 20);
}

TEST_CASE("many equal layers: the plan is proven within few partial plans, and no plan near it is better") {
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const auto layers = static_cast<std::size_t>(random.integer(20, 34)),
                   types = static_cast<std::size_t>(random.integer(1, 2));
        const ParallelCase asked = equal_layers(random, layers, types, 60 / static_cast<int>(types), 8);
        PlanQuestion question{.global_batch = asked.global_batch};
        if (random.chance(0.3)) question.objective = PlanObjective::cost;
        question.most_searched = 5'000'000;
        const PlanAnswer answer = find_plan(
            asked.model, asked.cluster, question, [] { return false; }, asked.constants);
        CHECK((answer.status == PlanStatus::optimal || answer.status == PlanStatus::none));
        std::vector<ParallelPlan> drawn;
        const auto plans = support::nearby_plans(random, asked, answer, 300, drawn);
        const support::Rivals rivals{plans, false,
                                     [&](const support::KnownPlan& known) { return drawn[known.number]; }};
        const auto broken = broken_claims(asked, question, answer, rivals);
        CHECK_MESSAGE(broken.empty(), support::joined(broken));
    }
}
