// Our own policies: values against their formulas, and what they promise of plans.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

Cluster two_types() { return {{"slow", "fast"}, {{"slow-0", 0, 4}, {"slow-1", 0, 4}, {"fast-0", 1, 8}}}; }

Job random_job(support::Random& random, const std::string& name) {
    Job job{.name = name,
            .submitted_seconds = random.between(0, 1000),
            .restarts = random.integer(0, 4),
            .restart_cost_seconds = random.between(0, 200),
            .max_gpus = 8,
            .initial_batch = 32,
            .max_batch = 4096};
    job.types.assign(2, TypeLimits{.max_atomic_batch = 512});
    if (random.chance(0.8)) job.gradient = GradientStatistics{random.between(0.01, 2), random.between(0, 50)};
    if (random.chance(0.7)) job.remaining_examples = random.between(0, 1e6);
    if (random.chance(0.6)) job.placement = {{2, 1 << random.integer(0, 3)}};
    return job;
}

std::vector<Option> random_options(support::Random& random) {
    std::vector<Option> options;
    for (std::size_t type = 0; type < 2; ++type)
        for (int gpus = 1; gpus <= (type == 0 ? 4 : 8); gpus *= 2)
            options.push_back({{type, type == 0 ? 4 : 8, {1, gpus}},
                               {1, 0},
                               random.chance(0.1) ? 0 : random.between(0.1, 50),
                               Knowledge::projected});
    return options;
}

/// Values of several jobs' options in one round.
template <class P>
std::vector<std::vector<double>> values_of(const P& policy, const Cluster& cluster, double time,
                                           const std::vector<Job>& jobs,
                                           const std::vector<std::vector<Option>>& options) {
    const std::vector<Pool> pools = pools_of(cluster);
    const Round round{time, cluster, pools};
    std::vector<std::vector<double>> values;
    for (const auto& of_job : options) values.emplace_back(of_job.size());
    std::vector<Row> rows;
    for (std::size_t j = 0; j < jobs.size(); ++j) rows.push_back({jobs[j], options[j], values[j]});
    value_rows(policy, round, std::span<const Row>(rows));
    return values;
}

}  // namespace

TEST_CASE("values follow the formula: a power of the part of the best speed, less what a restart takes") {
    support::Random random(1);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 2000; ++trial) {
        const GoodputPolicy policy{.fairness_power = random.between(0.1, 1),
                                   .restart_weight = random.between(0, 3)};
        const Job job = random_job(random, "job");
        const std::vector<Option> options = random_options(random);
        const double now = 1000 + random.between(0, 3000), age = now - job.submitted_seconds;
        const double cost = policy.restart_weight * job.restart_cost_seconds;
        const double kept =
            age < job.restart_cost_seconds ? 1 : std::max(age - job.restarts * cost, 0.0) / (age + cost);
        double best = 0;
        for (const Option& option : options) best = std::max(best, option.goodput);
        const std::vector<double> values = values_of(policy, cluster, now, {job}, {options}).front();
        for (std::size_t k = 0; k < options.size(); ++k) {
            const bool held = job.placement.empty() ||
                              options[k].allotment == Allotment{1, 8, {1, job.placement.front().gpus}};
            const double speed = options[k].goodput / best * (held ? 1 : kept);
            CHECK(values[k] == doctest::Approx(std::pow(speed, policy.fairness_power)));
            CHECK(values[k] <= 1);
        }
    }
}

TEST_CASE("the unit of goodput does not matter, and a restart more makes every change worth less") {
    support::Random random(2);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 500; ++trial) {
        Job job = random_job(random, "job");
        job.placement = {{2, 2}};
        job.restart_cost_seconds = random.between(1, 200);
        std::vector<Option> options = random_options(random);
        const double now = job.submitted_seconds + random.between(300, 3000);
        const GoodputPolicy policy;
        const std::vector<double> values = values_of(policy, cluster, now, {job}, {options}).front();
        ++job.restarts;
        const std::vector<double> later = values_of(policy, cluster, now, {job}, {options}).front();
        for (Option& option : options) option.goodput *= 1000;
        const std::vector<double> scaled = values_of(policy, cluster, now, {job}, {options}).front();
        for (std::size_t k = 0; k < options.size(); ++k) {
            CHECK(scaled[k] == doctest::Approx(later[k]));
            if (options[k].allotment == Allotment{1, 8, {1, 2}})
                CHECK(later[k] == values[k]);
            else
                CHECK(later[k] <= values[k]);
        }
    }
}

TEST_CASE("the noise that is planned with is never less than the present one nor than the least") {
    support::Random random(3);
    for (int trial = 0; trial < 500; ++trial) {
        const GoodputPolicy policy{.noise_growth = random.between(1, 10),
                                   .initial_noise = random.chance(0.2) ? 0 : random.between(0.1, 100)};
        Job job = random_job(random, "job");
        const auto expected = policy.expected_gradient(job);
        if (!job.gradient) {
            CHECK(expected.has_value() == (policy.initial_noise > 0));
            continue;
        }
        REQUIRE(expected);
        const double now = job.gradient->variance / job.gradient->squared_norm;
        CHECK(expected->variance / expected->squared_norm ==
              doctest::Approx(std::max(now * policy.noise_growth, policy.initial_noise)));
    }
    const GoodputPolicy policy;
    Job without_signal{.name = "job", .gradient = GradientStatistics{0, 3}};
    CHECK(policy.expected_gradient(without_signal)->variance == 6);
    CHECK(policy.expected_gradient(without_signal)->squared_norm == 0);
}

TEST_CASE("options are valued by the noise to come, and run with the batch for the noise there is") {
    Snapshot snapshot{.time_seconds = 1000, .cluster = two_types()};
    Job job{.name = "job",
            .restart_cost_seconds = 30,
            .max_gpus = 8,
            .initial_batch = 32,
            .max_batch = 4096,
            .gradient = GradientStatistics{1, 0.5}};
    job.types.assign(2, TypeLimits{.max_atomic_batch = 512});
    snapshot.jobs = {job};
    JobModel model;
    model.types.assign(
        2, {.throughput = PolluxThroughput{0.05, 0.001, 0.1, 0.01, 0.02, 0.001, 1.5}, .most_replicas = 8});
    snapshot.models = {model};
    Scheduler<GoodputPolicy> scheduler;
    const Decision& decision = scheduler.plan(snapshot).decisions.front();
    const Shape shape = decision.option.allotment.shape;
    REQUIRE(shape.gpus > 0);
    const auto& throughput = std::get<PolluxThroughput>(model.types[0].throughput);
    const BestPlan now =
        best_batch_plan(throughput, NoiseScaleEfficiency{32, *job.gradient}, shape, batch_limits(job, 1));
    CHECK(decision.option.plan == now.plan);
    CHECK(decision.option.goodput == doctest::Approx(now.goodput));
    Scheduler<GoodputPolicy> short_sighted(GoodputPolicy{.noise_growth = 1, .initial_noise = 0});
    CHECK(short_sighted.plan(snapshot).decisions.front().option.allotment.shape.gpus <= shape.gpus);
}

TEST_CASE("with declared work, a job weighs more the fewer have less of it left, whatever their order") {
    support::Random random(4);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 300; ++trial) {
        const DeclaredGoodputPolicy policy;
        std::vector<Job> jobs;
        std::vector<std::vector<Option>> options;
        const int count = random.integer(1, 8);
        for (int j = 0; j < count; ++j) {
            jobs.push_back(random_job(random, "job-" + std::to_string(j)));
            jobs.back().placement.clear();
            options.push_back(random_options(random));
        }
        const auto values = values_of(policy, cluster, 5000, jobs, options);
        const auto seconds_left = [&](std::size_t j) {
            double best = 0;
            for (const Option& option : options[j]) best = std::max(best, option.goodput);
            return jobs[j].remaining_examples && best > 0 ? *jobs[j].remaining_examples / best : 1e300;
        };
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            std::size_t longer = 0;
            for (std::size_t i = 0; i < jobs.size(); ++i) longer += seconds_left(i) > seconds_left(j) ? 1 : 0;
            const double top = *std::max_element(values[j].begin(), values[j].end());
            // The best option of a job that waits has speed 1: what is left is the weight.
            if (top > 0) CHECK(top * top == doctest::Approx(2.0 * static_cast<double>(longer) + 1));
        }
        std::vector<Job> turned(jobs.rbegin(), jobs.rend());
        std::vector<std::vector<Option>> turned_options(options.rbegin(), options.rend());
        auto turned_values = values_of(policy, cluster, 5000, turned, turned_options);
        std::reverse(turned_values.begin(), turned_values.end());
        CHECK(turned_values == values);
    }
}

TEST_CASE("with declared work, nobody restarts for a rest that is shorter than the restart") {
    const Cluster cluster = two_types();
    Job job{.name = "job", .restart_cost_seconds = 60, .max_gpus = 8};
    job.types.assign(2, TypeLimits{.max_atomic_batch = 512});
    job.placement = {{2, 1}};
    std::vector<Option> options{{{1, 8, {1, 1}}, {1, 0}, 10, Knowledge::measured},
                                {{1, 8, {1, 8}}, {1, 0}, 70, Knowledge::measured}};
    const DeclaredGoodputPolicy policy;
    job.remaining_examples = 700;  // 10 s on the best option
    const auto near_end = values_of(policy, cluster, 1e4, {job}, {options}).front();
    CHECK(near_end[1] == 0);
    CHECK(near_end[0] > 0);
    job.remaining_examples = 7e5;
    const auto far_from_it = values_of(policy, cluster, 1e4, {job}, {options}).front();
    CHECK(far_from_it[1] > far_from_it[0]);
}

TEST_CASE("settings that make no sense are refused by name and value") {
    CHECK_NOTHROW(GoodputPolicy{}.validate());
    CHECK_NOTHROW(DeclaredGoodputPolicy{}.validate());
    CHECK_THROWS_WITH(GoodputPolicy{.fairness_power = 0}.validate(),
                      "policy goodput: p is 0, but must be above 0 and at most 1");
    CHECK_THROWS_AS(GoodputPolicy{.restart_weight = -1}.validate(), std::invalid_argument);
    CHECK_THROWS_AS(GoodputPolicy{.noise_growth = std::nan("")}.validate(), std::invalid_argument);
    CHECK_THROWS_AS(DeclaredGoodputPolicy{.usual_slowdown = 0}.validate(), std::invalid_argument);
}
