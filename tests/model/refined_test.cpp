// The laws of the refined throughput model, and the case in which it is Pollux's model.

#include "goodput/model/throughput.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <vector>

#include "goodput/model/pipeline.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using doctest::Approx;

namespace {

using support::Random;

RefinedThroughput random_model(Random& random) {
    RefinedThroughput model;
    model.alpha_c = random.between(0, 0.2);
    model.beta_c = random.between(0.0001, 0.01);
    double batch = 0;
    for (int left = random.integer(0, 12); left > 0; --left)
        model.batches.push_back({batch += random.between(0.5, 30), random.between(0.5, 2)});
    model.alone = random.between(0.5, 1.5);
    model.straggling = random.between(-0.1, 0.2);
    model.node_seconds = random.between(0, 0.1);
    model.node_gpus = random.between(-1, 1);
    model.network_seconds = random.between(0, 0.5);
    model.network_gpus = random.between(-1, 1);
    model.network_nodes = random.between(-1, 1);
    model.network_ring = random.between(0.5, 2);
    model.gamma = random.between(1, 10);
    return model;
}

Shape random_shape(Random& random) {
    const int nodes = random.integer(1, 8);
    return {nodes, nodes * random.integer(1, 8)};
}

}  // namespace

TEST_CASE("Computing takes the least time or the line, whichever is longer; 0 changes nothing") {
    Random random(9);
    for (int i = 0; i < 500; ++i) {
        CAPTURE(i);
        const RefinedThroughput line = random_model(random);
        RefinedThroughput least = line;
        least.launch_seconds = line.line_seconds(random.between(1, 200));
        RefinedThroughput more = least;
        more.launch_seconds *= 1.5;
        for (int asked = 0; asked < 20; ++asked) {
            const int batch = random.integer(1, 300);
            const Shape shape = random_shape(random);
            const BatchPlan plan{batch, random.integer(0, 3)};
            CHECK(line.compute_seconds(batch) == line.line_seconds(batch));
            CHECK(least.compute_seconds(batch) ==
                  std::max(least.launch_seconds, line.compute_seconds(batch)));
            CHECK(least.iteration_seconds(shape, plan) >= line.iteration_seconds(shape, plan));
            CHECK(more.iteration_seconds(shape, plan) >= least.iteration_seconds(shape, plan));
            if (line.compute_seconds(batch) >= least.launch_seconds)
                CHECK(least.iteration_seconds(shape, plan) == line.iteration_seconds(shape, plan));
        }
        if (!line.batches.empty()) continue;
        // Without factors, time never falls with the batch.
        for (int batch = 1; batch < 300; ++batch)
            CHECK(least.compute_seconds(batch + 1) >= least.compute_seconds(batch));
    }
}

// Only the line, no straggling, and laws that do not depend on the number of replicas: the model then equals
// Pollux's with beta_n = beta_r = 0.
TEST_CASE("where every refinement is neutral it is Pollux's model") {
    Random random(1);
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        const PolluxThroughput pollux{.alpha_c = random.between(0, 1),
                                      .beta_c = random.between(0, 0.1),
                                      .alpha_n = random.between(0, 1),
                                      .alpha_r = random.between(0, 1),
                                      .gamma = random.between(1, 10)};
        RefinedThroughput refined{.alpha_c = pollux.alpha_c,
                                  .beta_c = pollux.beta_c,
                                  .node_seconds = pollux.alpha_r,
                                  .network_seconds = pollux.alpha_n,
                                  .gamma = pollux.gamma};
        if (random.chance(0.5)) refined.batches = {{3, 1}, {17.5, 1}, {64, 1}};
        if (random.chance(0.5)) refined.shapes = {{{1, 1}, 1, 1}, {{2, 8}, 1, 1}};
        const Shape shape = random_shape(random);
        const BatchPlan plan{random.integer(1, 200), random.integer(0, 5)};
        CHECK(refined.iteration_seconds(shape, plan) ==
              Approx(pollux.iteration_seconds(shape, plan)).epsilon(1e-13));
    }
}

TEST_CASE("computing is the line times the factor at measured batches, straight between, continuous") {
    Random random(2);
    for (int i = 0; i < 500; ++i) {
        CAPTURE(i);
        const RefinedThroughput model = random_model(random);
        const auto line = [&](double batch) { return model.alpha_c + model.beta_c * batch; };
        const std::vector<BatchFactor>& known = model.batches;
        for (std::size_t j = 0; j < known.size(); ++j) {
            const double at = known[j].batch, there = model.compute_seconds(at);
            CHECK(there == Approx(line(at) * known[j].factor).epsilon(1e-13));
            CHECK(model.compute_seconds(std::nextafter(at, 0)) == Approx(there).epsilon(1e-12));
            CHECK(model.compute_seconds(std::nextafter(at, 1e9)) == Approx(there).epsilon(1e-12));
            if (j == 0) continue;
            const double share = random.unit(), from = known[j - 1].batch;
            CHECK(model.compute_seconds(from + share * (at - from)) ==
                  Approx((1 - share) * model.compute_seconds(from) + share * there).epsilon(1e-12));
        }
        const double first = known.empty() ? 1 : known.front().factor;
        const double last = known.empty() ? 1 : known.back().factor;
        CHECK(model.compute_seconds(0.25) == Approx(line(0.25) * first).epsilon(1e-13));
        CHECK(model.compute_seconds(1000) == Approx(line(1000) * last).epsilon(1e-13));
    }
}

TEST_CASE("each law of the shape: what it multiplies, and where it is one") {
    Random random(3);
    for (int i = 0; i < 500; ++i) {
        CAPTURE(i);
        const RefinedThroughput model = random_model(random);
        CHECK(model.sync_seconds({1, 1}) == 0);
        CHECK(model.sync_seconds({1, 2}) == Approx(model.node_seconds));
        CHECK(model.sync_seconds({2, 2}) == Approx(model.network_seconds));
        CHECK(model.sync_seconds({1, 8}) == Approx(model.node_seconds * std::pow(4, model.node_gpus)));
        // Replicas per node and nodes each have a law of their own.
        CHECK(model.sync_seconds({2, 8}) == Approx(model.network_seconds * std::pow(4, model.network_gpus)));
        CHECK(model.sync_seconds({8, 8}) ==
              Approx(model.network_seconds * std::pow(4, model.network_nodes) * model.network_ring));
        CHECK(model.compute_factor({1, 1}) == model.alone);
        CHECK(model.compute_factor({2, 8}) == Approx(std::pow(8, model.straggling)));
        CHECK(model.compute_factor({1, 8}) == model.compute_factor({8, 8}));
    }
}

TEST_CASE("a measured shape has factors of its own, and changes no other") {
    Random random(4);
    for (int i = 0; i < 500; ++i) {
        CAPTURE(i);
        const RefinedThroughput laws = random_model(random);
        RefinedThroughput model = laws;
        for (int nodes = 1; nodes <= 3; ++nodes)
            for (int gpus = nodes; gpus <= 4 * nodes; ++gpus)
                if (random.chance(0.3))
                    model.shapes.push_back({{nodes, gpus}, random.between(0.5, 2), random.between(0, 2)});
        for (int nodes = 1; nodes <= 4; ++nodes)
            for (int gpus = nodes; gpus <= 4 * nodes; ++gpus) {
                const Shape shape{nodes, gpus};
                const auto own = std::find_if(model.shapes.begin(), model.shapes.end(),
                                              [&](const ShapeFactor& at) { return at.shape == shape; });
                const bool measured = own != model.shapes.end();
                CHECK(model.compute_factor(shape) ==
                      Approx(laws.compute_factor(shape) * (measured ? own->compute : 1)));
                CHECK(model.sync_seconds(shape) ==
                      Approx(laws.sync_seconds(shape) * (measured ? own->sync : 1)));
            }
    }
}

TEST_CASE("an iteration: steps without synchronising, then one that overlaps") {
    Random random(5);
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        const RefinedThroughput model = random_model(random);
        const Shape shape = random_shape(random);
        const BatchPlan plan{random.integer(1, 200), random.integer(0, 5)};
        const double compute = model.compute_seconds(plan.atomic_batch) * model.compute_factor(shape);
        const double sync = model.sync_seconds(shape), gamma = model.gamma;
        const double step = std::pow(std::pow(compute, gamma) + std::pow(sync, gamma), 1 / gamma);
        CHECK(model.iteration_seconds(shape, plan) ==
              Approx(plan.accumulation_steps * compute + step).epsilon(1e-12));
    }
}

TEST_CASE("a pipeline of stages that are computed along a broken line") {
    Random random(6);
    for (int i = 0; i < 200; ++i) {
        CAPTURE(i);
        const RefinedThroughput stage = random_model(random);
        const PipelineThroughput pipeline(stage, 4);
        const Shape shape = random_shape(random);
        const BatchPlan plan{random.integer(1, 100), random.integer(0, 40)};
        CHECK(pipeline.iteration_seconds(shape, plan) ==
              Approx(3 * (4 + plan.accumulation_steps) * stage.compute_seconds(plan.atomic_batch) *
                         stage.compute_factor(shape) +
                     stage.sync_seconds(shape)));
    }
}
