// Sia's values against the published worked example, and against its formulas written independently.

#include <cmath>
#include <string>
#include <vector>

#include "goodput/policy/sia.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

Cluster three_types() {
    return {{"aws", "dgx-ext", "rtx"}, {{"aws-0", 0, 4}, {"dgx-ext-0", 1, 8}, {"rtx-0", 2, 8}}};
}

Job job_on(const Cluster& cluster, Placement placement, double submitted, int restarts, double cost) {
    Job job{.name = "job",
            .submitted_seconds = submitted,
            .restarts = restarts,
            .restart_cost_seconds = cost,
            .max_gpus = 8};
    job.types.assign(cluster.gpu_types.size(), TypeLimits{.max_atomic_batch = 64});
    job.placement = std::move(placement);
    return job;
}

Option option(std::size_t type, int gpus_per_node, int gpus, double goodput) {
    return {{type, gpus_per_node, {1, gpus}}, {1, 0}, goodput, Knowledge::measured};
}

std::vector<double> values_of(const Sia& policy, const Cluster& cluster, double time, const Job& job,
                              const std::vector<Option>& options) {
    const std::vector<Pool> pools = pools_of(cluster);
    const Round round{time, cluster, pools};
    std::vector<double> values(options.size());
    policy.value_row(round, job, options, values);
    return values;
}

}  // namespace

TEST_CASE("the worked example of the public simulator: weights at second 480 of saturn/workload-1") {
    const Cluster cluster = three_types();
    const Job job = job_on(cluster, {{0, 1}}, 401, 0, 30);
    const std::vector<Option> options{option(0, 4, 1, 1),       option(0, 4, 2, 1.33498),
                                      option(1, 8, 1, 6.89926), option(1, 8, 2, 9.21034),
                                      option(2, 8, 1, 2.26694), option(2, 8, 2, 3.02631)};
    const std::vector<double> weights{1, 1.02, 0.45, 0.39, 0.78, 0.68};
    const std::vector<double> values = values_of({}, cluster, 480, job, options);
    for (std::size_t k = 0; k < weights.size(); ++k) CHECK(1.1 - values[k] == doctest::Approx(weights[k]));
}

TEST_CASE("values follow the published formulas, for either sign of the fairness power") {
    support::Random random(1);
    const Cluster cluster = three_types();
    for (int round = 0; round < 2000; ++round) {
        Sia policy;
        policy.fairness_power = random.chance(0.7) ? -random.between(0.1, 2) : random.between(0.1, 2);
        policy.unserved_penalty =
            policy.fairness_power < 0 ? random.between(1.01, 3) : -random.between(1.01, 3);
        policy.rounding = random.chance(0.5) ? 0.01 : 0;
        const bool holds = random.chance(0.6);
        const double submitted = random.between(0, 1000), age = random.between(0, 3000),
                     cost = random.between(0, 200);
        const int restarts = random.integer(0, 5);
        const Job job = job_on(cluster, holds ? Placement{{1, 2}} : Placement{}, submitted, restarts, cost);
        std::vector<Option> options;
        for (std::size_t type = 0; type < 3; ++type)
            for (const int gpus : {1, 2, 4})
                options.push_back(
                    option(type, type == 0 ? 4 : 8, gpus, random.chance(0.1) ? 0 : random.between(0.1, 50)));
        double least = 1e300;
        for (const Option& o : options)
            if (o.goodput > 0) least = std::min(least, o.goodput);
        const double factor = age < cost ? 1 : std::max(age - restarts * cost, 0.0) / (age + cost);
        const std::vector<double> values = values_of(policy, cluster, submitted + age, job, options);
        for (std::size_t k = 0; k < options.size(); ++k) {
            if (options[k].goodput == 0) {
                CHECK(values[k] == 0);
                continue;
            }
            const bool held = holds && options[k].configuration == Configuration{1, 8, {1, 2}};
            const double speedup = options[k].goodput / least * (holds && !held ? factor : 1);
            double weight = std::min(std::pow(speedup, policy.fairness_power), 3000.0);
            const double expected = policy.fairness_power < 0 ? policy.unserved_penalty - weight
                                                              : weight - policy.unserved_penalty;
            CHECK(std::abs(values[k] - expected) <= (policy.rounding > 0 ? 0.00501 : 1e-9 * (1 + weight)));
        }
    }
}

TEST_CASE("a job starts on one replica and at most doubles what it has been measured on") {
    const Cluster cluster = three_types();
    Job job = job_on(cluster, {}, 0, 0, 30);
    job.types[2].gpus_per_replica = 8;
    JobModel model;
    const Sia policy;
    CHECK(policy.most_gpus(job, model, 0) == 1);
    CHECK(policy.most_gpus(job, model, 2) == 8);
    model.types.resize(3);
    model.types[1].most_replicas = 6;
    CHECK(policy.most_gpus(job, model, 0) == 12);
    CHECK(policy.most_gpus(job, model, 2) == 12);
    model.types[2].most_replicas = 2;
    CHECK(policy.most_gpus(job, model, 0) == 32);
}

TEST_CASE("settings under which no job would be served are refused by name and value") {
    CHECK_NOTHROW(Sia{}.validate());
    CHECK_THROWS_WITH(Sia{.fairness_power = 0}.validate(),
                      "policy sia: p is 0, but must be a finite number other than 0");
    CHECK_THROWS_WITH(Sia{.unserved_penalty = 0.5}.validate(),
                      "policy sia: lambda is 0.5, but must be above 1 where p < 0");
    CHECK_THROWS_WITH((Sia{.fairness_power = 0.5, .unserved_penalty = 1.1}.validate()),
                      "policy sia: lambda is 1.1, but must be below -1 where p > 0");
    CHECK_THROWS_AS(Sia{.rounding = -1}.validate(), std::invalid_argument);
}

TEST_CASE("a job of which nothing is known has the same values in whichever order its GPU types are listed") {
    // A replica takes one GPU of the first type and two of the other; each counts as 1.
    for (const bool swapped : {false, true}) {
        CAPTURE(swapped);
        const std::size_t small = swapped ? 1 : 0, large = swapped ? 0 : 1;
        Cluster cluster{{"", ""}, {{"node-0", 0, 2}, {"node-1", 1, 2}}};
        Job job = job_on(cluster, {}, 0, 0, 0);
        job.types[large].gpus_per_replica = 2;
        std::vector<Option> options{option(small, 2, 1, 1), option(large, 2, 2, 1)};
        if (swapped) std::swap(options[0], options[1]);
        for (const double value : values_of({}, cluster, 60, job, options))
            CHECK(value == doctest::Approx(0.1));
    }
}
