// Compares time, memory and cost of parallelism plans with a second implementation, replica by replica, and
// with cases worked out by hand.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "goodput/parallel/plan_score.hpp"
#include "goodput/parallel/refined_constants.hpp"
#include "parallel/parallel_claims.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::ParallelCase;
using support::Random;

namespace {

/// Equal layers, one type with four GPUs per node, and links of 1 GB/s wherever a link is needed.
ParallelCase even_case(std::size_t layers) {
    ParallelCase asked;
    asked.model.layers = layers;
    asked.model.sizes[1].assign(layers, {1e6, 250e6, 1e6});  // a message of 1 GB takes a second
    asked.model.sizes[2].assign(layers, {0.5e6, 250e6, 0.5e6});
    asked.model.times.push_back({{{1, 1}, {layers, {1, 2, 0.25}}}, {{1, 2}, {layers, {0.5, 1, 0.125}}}});
    asked.cluster = {{{"type", 4, 16, 3600}}, {"zone"}, {{64}}, {}, {{0}}};
    for (const int from : {1, 2, 4})
        for (const int to : {1, 2, 4}) asked.cluster.links[{{0, 0, from}, {0, 0, to}}] = {0, 0, 1};
    asked.global_batch = 8;
    return asked;
}

/// Returns a plan with one layer per stage.
ParallelPlan chain(const ParallelCase& asked, int replicas) {
    ParallelPlan plan{1, asked.global_batch, {}};
    for (std::size_t l = 0; l < asked.model.layers; ++l) plan.stages.push_back({l, l, {{0, 1, 0, replicas}}});
    return plan;
}

PlanScore score_of(const ParallelCase& asked, const ParallelPlan& plan) {
    return score_plan(asked.model, asked.cluster, plan, asked.constants);
}

std::string fault_text(const ParallelCase& asked, const ParallelPlan& plan) {
    return fault_of(asked.model, asked.cluster, plan).value_or("");
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("seconds, dollars and bytes of any plan are those of the second implementation") {
    support::ParallelShape shape;
    shape.most_layers = 8;
    shape.most_gpus = 64;
    shape.most_degree = 4;
    shape.missing_profiles = 0.03;
    shape.missing_links = 0.01;
    int finite = 0, refused = 0, infinite = 0, full = 0;
    for (std::uint64_t seed = 0; seed < 600; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        ParallelCase asked = support::random_parallel_case(random, shape);
        for (int repeat = 0; repeat < 20; ++repeat) {
            CAPTURE(repeat);
            const ParallelPlan plan = support::random_parallel_plan(random, asked, random.integer(1, 9));
            const support::ReferenceScore expected = support::reference_score(asked, plan);
            const PlanScore score = score_of(asked, plan);
            CAPTURE(support::line_of(plan));
            REQUIRE(score.fault.has_value() == !support::reference_valid(asked, plan));
            if (!expected.clear) continue;
            REQUIRE(score.fits == expected.fits);
            REQUIRE(score.stages.size() == plan.stages.size());
            for (std::size_t s = 0; s < plan.stages.size(); ++s)
                REQUIRE(std::abs(score.stages[s].memory_bytes - expected.bytes[s]) <=
                        1e-9 * expected.bytes[s]);
            refused += score.fault.has_value();
            full += !score.fits;
            if (std::isinf(expected.seconds)) {
                ++infinite;
                REQUIRE(std::isinf(score.iteration_seconds));
                REQUIRE(score.throughput() == 0);
                continue;
            }
            ++finite;
            REQUIRE(std::abs(score.iteration_seconds - expected.seconds) <= 1e-9 * expected.seconds);
            REQUIRE(std::abs(score.compute_usd - expected.compute_usd) <= 1e-9 * expected.compute_usd);
            REQUIRE(std::abs(score.traffic_usd - expected.traffic_usd) <= 1e-9 * expected.traffic_usd);
        }
    }
    // Random cases prove something only if all kinds occur among them.
    CHECK(finite > 4000);
    CHECK(refused > 500);
    CHECK(infinite > 500);
    CHECK(full > 500);
}

TEST_CASE("a single stage computes and sends nothing") {
    const ParallelCase asked = even_case(1);
    const PlanScore score = score_of(asked, chain(asked, 1));
    CHECK(score.stages[0].send_seconds == 0);
    CHECK(score.stages[0].reduce_seconds == 0);
    CHECK(score.iteration_seconds == doctest::Approx(8 * 3 + 0.25));
    CHECK(score.compute_usd == doctest::Approx(8 * 3 + 0.25));
    CHECK(score.traffic_usd == 0);
    CHECK(!score.fault);
}

TEST_CASE("the first stage's sending counts twice from the fourth stage on, the last one's always") {
    for (const std::size_t layers : {2U, 3U, 4U, 5U}) {
        CAPTURE(layers);
        const ParallelCase asked = even_case(layers);
        const PlanScore score = score_of(asked, chain(asked, 1));
        const double first = layers > 3 ? 2 : 1;
        CHECK(score.stages.front().send_seconds == doctest::Approx(first));
        for (std::size_t s = 1; s + 1 < layers; ++s)
            CHECK(score.stages[s].send_seconds == doctest::Approx(2));
        CHECK(score.stages.back().send_seconds == doctest::Approx(2));
        const auto count = static_cast<double>(layers);
        CHECK(score.iteration_seconds == doctest::Approx(7 * 5 + 3 * count + first + 2 * (count - 1) + 0.25));
    }
}

TEST_CASE("gradients are reduced bucket by bucket, in as many shards as the narrower neighbour has") {
    ParallelCase asked = even_case(1);
    asked.model.sizes[1][0].parameters = 300e6;  // 1.2e9 bytes: two full buckets and 2e8
    const double whole = 2 * 3 * (2 * 5e8 + 2e8) / 4 / 1e9;
    CHECK(score_of(asked, chain(asked, 4)).stages[0].reduce_seconds == doctest::Approx(whole));
    ParallelPlan plan = chain(asked, 4);
    plan.stages[0].replicas = {{0, 2, 0, 4}};
    CHECK(score_of(asked, plan).stages[0].reduce_seconds == doctest::Approx(whole / 2));
    plan.stages[0].replicas = {{0, 2, 0, 3}, {0, 1, 0, 1}};
    CHECK(score_of(asked, plan).stages[0].reduce_seconds == doctest::Approx(whole));
    // If bandwidth grows with the message, buckets matter: 1 GB/s at 125 MB, less for the rest.
    asked.cluster.links[{{0, 0, 1}, {0, 0, 1}}] = {0, 0.5, 1 - 0.5 * std::log2(125)};
    CHECK(score_of(asked, chain(asked, 4)).stages[0].reduce_seconds ==
          doctest::Approx(2 * 2 * 3 * 0.125 + 2 * 3 * 0.05 / (1 + 0.5 * std::log2(50.0 / 125))));
    // A message of exactly one bucket counts as one bucket, whichever way buckets are counted.
    asked.model.sizes[1][0].parameters = 125e6;
    CHECK(score_of(asked, chain(asked, 4)).stages[0].reduce_seconds == doctest::Approx(2 * 3 * 0.125));
    CHECK(score_of(asked, chain(asked, 1)).stages[0].reduce_seconds == 0);
}

TEST_CASE("memory: earlier stages hold more micro-batches, and a byte too much does not fit") {
    ParallelCase asked = even_case(3);
    const ParallelPlan plan = chain(asked, 1);
    const PlanScore score = score_of(asked, plan);
    for (std::size_t s = 0; s < 3; ++s)
        CHECK(score.stages[s].memory_bytes ==
              doctest::Approx(24e6 + 4e6 * static_cast<double>(3 - s) + 2e9).epsilon(1e-12));
    asked.cluster.types[0].memory_gib = (score.stages[0].memory_bytes + 1) / 1073741824.0;
    CHECK(score_of(asked, plan).fits);
    asked.cluster.types[0].memory_gib = (score.stages[0].memory_bytes - 1) / 1073741824.0;
    CHECK(!score_of(asked, plan).fits);
    CHECK(!score_of(asked, plan).stages[0].fits);
    CHECK(score_of(asked, plan).stages[1].fits);
}

TEST_CASE("memory: no more micro-batches are under way than exist, except in the published formula") {
    ParallelCase asked = even_case(6);
    for (const int batch : {1, 2, 4, 6, 7, 12, 64})
        for (const int replicas : {1, 2}) {
            CAPTURE(batch);
            CAPTURE(replicas);
            asked.global_batch = batch;
            const ParallelPlan plan = chain(asked, replicas);
            for (const bool published : {true, false}) {
                asked.constants.whole_pipeline_in_flight = published;
                const PlanScore score = score_of(asked, plan);
                const int all = (batch + replicas - 1) / replicas;
                for (int s = 0; s < 6; ++s) {
                    const int under_way = published ? 6 - s : std::min(6 - s, all);
                    CHECK(score.stages[static_cast<std::size_t>(s)].memory_bytes ==
                          doctest::Approx(24e6 + 4e6 * under_way + 2e9).epsilon(1e-12));
                }
            }
        }
    CHECK(ParallelConstants().whole_pipeline_in_flight);
    CHECK_FALSE(refined_constants().whole_pipeline_in_flight);
}

TEST_CASE("messages have the size that one GPU would hand on, however wide the group is") {
    ParallelCase asked = even_case(3);
    asked.model.sizes[1][2].output_floats = 2500e6;  // the last layer hands on ten times as much,
    asked.model.sizes[2][2].output_floats = 1250e6;  // half of it on each of two GPUs
    ParallelPlan plan{1, asked.global_batch, {{0, 1, {{0, 2, 0, 1}}}, {2, 2, {{0, 2, 0, 1}}}}};
    const PlanScore score = score_of(asked, plan);
    CHECK(score.stages[0].send_seconds == doctest::Approx(1));
    // Published formula: gradients take the time of the stage's own first layer, twice in the last stage.
    CHECK(score.stages[1].send_seconds == doctest::Approx(2 * 10));
    asked.model.sizes[2][0].output_floats = asked.model.sizes[2][1].output_floats = 1;
    CHECK(score_of(asked, plan).iteration_seconds == score.iteration_seconds);
}

TEST_CASE("dollars of gradients are those of the boundary, not of the stage's own first layer") {
    ParallelCase asked = even_case(3);
    asked.model.sizes[1][0].output_floats = 500e6;
    asked.model.sizes[1][2].output_floats = 25e9;  // no message of the last layer is ever sent
    asked.cluster.zones = {"here", "there"};
    asked.cluster.gpus = {{8}, {8}};
    asked.cluster.usd_per_gigabyte = {{0, 0.5}, {0.25, 0}};
    for (const std::size_t from : {0U, 1U})
        for (const std::size_t to : {0U, 1U}) asked.cluster.links[{{from, 0, 1}, {to, 0, 1}}] = {0, 0, 1};
    ParallelPlan plan{1, asked.global_batch, {{0, 0, {{0, 1, 0, 1}}}, {1, 2, {{0, 1, 1, 1}}}}};
    CHECK(score_of(asked, plan).traffic_usd == doctest::Approx(8 * 2 * (0.5 + 0.25)));
    plan.stages = {{0, 1, {{0, 1, 0, 1}}}, {2, 2, {{0, 1, 1, 1}}}};
    CHECK(score_of(asked, plan).traffic_usd == doctest::Approx(8 * (0.5 + 0.25)));
}

TEST_CASE("all neighbours reduce as large a part as the narrowest replica of the stage has") {
    ParallelCase asked = even_case(1);
    asked.model.sizes[1][0].parameters = 100e6;
    asked.cluster.zones = {"here", "there"};
    asked.cluster.gpus = {{64}, {64}};
    asked.cluster.usd_per_gigabyte = {{0, 0}, {0, 0}};
    const auto link = [&](std::size_t from, std::size_t to, double speed) {
        asked.cluster.links[{{from, 0, 1}, {to, 0, 1}}] = {0, 0, speed};
    };
    link(0, 0, 1);
    link(0, 1, 1);
    link(1, 1, 0.125);
    // The slow neighbours are two replicas of two GPUs each. A replica far from them has one GPU.
    ParallelPlan plan{1, 8, {{0, 0, {{0, 1, 0, 1}, {0, 2, 0, 1}, {0, 2, 1, 2}}}}};
    CHECK(score_of(asked, plan).stages[0].reduce_seconds == doctest::Approx(2 * 3 * 0.1 / 0.125));
    plan.stages[0].replicas[0].tensor_parallel = 2;
    CHECK(score_of(asked, plan).stages[0].reduce_seconds == doctest::Approx(2 * 3 * 0.05 / 0.125));
}

TEST_CASE("bytes between zones cost, forward, backward and around the ring") {
    ParallelCase asked = even_case(2);
    asked.cluster.zones = {"here", "there"};
    asked.cluster.gpus = {{8}, {8}};
    asked.cluster.usd_per_gigabyte = {{0, 0.5}, {0.25, 0}};
    for (const std::size_t from : {0U, 1U})
        for (const std::size_t to : {0U, 1U}) asked.cluster.links[{{from, 0, 1}, {to, 0, 1}}] = {0, 0, 1};
    ParallelPlan plan = chain(asked, 1);
    plan.stages[1].replicas[0].zone = 1;
    CHECK(score_of(asked, plan).traffic_usd == doctest::Approx(8 * (0.5 + 0.25)));
    plan = chain(asked, 2);
    for (PlanStage& stage : plan.stages) stage.replicas = {{0, 1, 0, 1}, {0, 1, 1, 1}};
    // Replicas hand on within their own zone. Each of the two stages reduces 4 MB both ways.
    CHECK(score_of(asked, plan).traffic_usd == doctest::Approx(2 * (0.5 + 0.25) * 0.004));
}

TEST_CASE("a plan without measurements, or with a message that cannot be sent, takes for ever") {
    ParallelCase asked = even_case(2);
    const ParallelPlan plan = chain(asked, 2);
    REQUIRE(std::isfinite(score_of(asked, plan).iteration_seconds));
    BandwidthCurve& curve = asked.cluster.links[{{0, 0, 1}, {0, 0, 1}}];
    curve.constant = 0;
    CHECK(std::isinf(score_of(asked, plan).iteration_seconds));
    curve.constant = -1;
    CHECK(std::isinf(score_of(asked, plan).iteration_seconds));
    asked.cluster.links.erase({{0, 0, 1}, {0, 0, 1}});
    CHECK(std::isinf(score_of(asked, plan).iteration_seconds));
    CHECK(score_of(asked, plan).throughput() == 0);
    asked = even_case(2);
    asked.model.times[0].erase({1, 1});
    CHECK(std::isinf(score_of(asked, plan).iteration_seconds));
}

TEST_CASE("a fault is named: layers, replicas, nodes, profiles, GPUs") {
    const ParallelCase asked = even_case(4);
    const ParallelPlan good = chain(asked, 2);
    CHECK(fault_text(asked, good).empty());
    const auto with = [&](const std::function<void(ParallelPlan&)>& change) {
        ParallelPlan plan = good;
        change(plan);
        const std::string fault = fault_text(asked, plan);
        CHECK(fault == score_of(asked, plan).fault.value_or(""));
        return fault;
    };
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages.erase(plan.stages.begin()); }), "layer 0"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages.erase(plan.stages.begin() + 1); }), "stage 2"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages.pop_back(); }), "layer 3"));
    CHECK(contains(with([](ParallelPlan& plan) { std::swap(plan.stages[1], plan.stages[2]); }), "stage 2"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages[1].last_layer = 2; }), "stage 3"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages[2].replicas[0].count = 3; }), "3 replicas"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages[2].replicas[0].tensor_parallel = 8; }),
                   "groups of 8"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.stages[2].replicas[0].tensor_parallel = 4; }),
                   "tensor_parallel 4"));
    CHECK(contains(with([](ParallelPlan& plan) { plan.microbatch = 2; }), "micro-batch 2"));
    CHECK(contains(with([](ParallelPlan& plan) {
                       for (PlanStage& stage : plan.stages) stage.replicas[0].count = 17;
                   }),
                   "it takes 68 type in zone, which has 64"));
    CHECK(with([](ParallelPlan& plan) {
              for (PlanStage& stage : plan.stages) stage.replicas[0].count = 16;
          }).empty());
}

TEST_CASE("invalid indices and counts below 1 are bad input") {
    const ParallelCase asked = even_case(2);
    const auto check_refused = [&](const std::function<void(ParallelPlan&)>& change) {
        ParallelPlan plan = chain(asked, 2);
        change(plan);
        CHECK_THROWS_AS((void)score_of(asked, plan), std::invalid_argument);
        CHECK_THROWS_AS((void)fault_of(asked.model, asked.cluster, plan), std::invalid_argument);
    };
    check_refused([](ParallelPlan& plan) { plan.stages.clear(); });
    check_refused([](ParallelPlan& plan) { plan.microbatch = 0; });
    check_refused([](ParallelPlan& plan) { plan.global_batch = 0; });
    check_refused([](ParallelPlan& plan) { plan.stages[1].last_layer = 2; });
    check_refused([](ParallelPlan& plan) { plan.stages[1].first_layer = 2; });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas.clear(); });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas[0].count = 0; });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas[0].count = -1; });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas[0].gpu_type = 1; });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas[0].zone = 1; });
    check_refused([](ParallelPlan& plan) { plan.stages[0].replicas[0].tensor_parallel = 0; });
}
