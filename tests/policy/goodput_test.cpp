// Our own policies: values against their formulas, and what they promise about plans.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
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
    if (random.chance(0.3)) job.expected_examples = random.between(0, 1e6);
    if (random.chance(0.5)) job.done_examples = random.between(0, 1e6);
    job.attained_gpu_seconds = random.between(0, 1e4);
    if (random.chance(0.6)) job.placement = {{2, 1 << random.integer(0, 3)}};
    return job;
}

GoodputPolicy random_policy(support::Random& random) {
    return {.fairness_power = random.between(0.1, 1),
            .order_power = random.between(0, 1.5),
            .sharpness = random.between(0.5, 6),
            .patience = random.between(0.5, 4),
            .restart_weight = random.between(0, 3),
            .horizon_seconds = random.between(100, 1e4),
            .usual_seconds = random.between(10, 1000)};
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

/// Returns the values of several jobs' options in one round.
template <class P>
std::vector<std::vector<double>> values_of(const P& policy, const Cluster& cluster, double time,
                                           const std::vector<Job>& jobs,
                                           const std::vector<std::vector<Option>>& options) {
    const std::vector<Pool> pools = pools_of(cluster);
    const Round round{time, cluster, pools};
    std::vector<std::vector<double>> values;
    for (const auto& of_job : options) values.emplace_back(of_job.size());
    std::vector<OptionRow> rows;
    for (std::size_t j = 0; j < jobs.size(); ++j) rows.push_back({jobs[j], options[j], values[j]});
    value_rows(policy, round, std::span<const OptionRow>(rows));
    return values;
}

/// Returns the first of the options with the largest goodput.
Option best_of(const std::vector<Option>& options) {
    Option best;
    for (const Option& option : options)
        if (option.goodput > best.goodput) best = option;
    return best;
}

/// Returns the seconds that a job needs on its best option, by the policy's head comment.
double seconds_needed(const GoodputPolicy& policy, const Job& job, const std::vector<Option>& options,
                      bool declared) {
    const Option best = best_of(options);
    if (best.goodput == 0) return std::numeric_limits<double>::infinity();
    if (declared && job.remaining_examples) return *job.remaining_examples / best.goodput;
    if (job.expected_examples) return *job.expected_examples / best.goodput;
    // The longer a job has run, the longer it will go on.
    const double usual = policy.usual_seconds;
    const double so_far = job.done_examples ? *job.done_examples / best.goodput
                                            : job.attained_gpu_seconds / best.configuration.gpus();
    return so_far <= usual ? usual : usual * std::exp2(std::ceil(std::log2(so_far / usual)));
}

/// Returns the values of a job's options if it is alone, by the head comment.
std::vector<double> values_alone(const GoodputPolicy& policy, double now, const Job& job,
                                 const std::vector<Option>& options, bool declared) {
    const double best = best_of(options).goodput, cost = policy.restart_weight * job.restart_cost_seconds;
    const double left = std::max(seconds_needed(policy, job, options, declared), job.restart_cost_seconds);
    const auto speed = [&](const Option& option) { return best > 0 ? option.goodput / best : 0; };
    const auto lost = [&](double at_speed) {
        return cost / (cost + 1 / (at_speed / left + 1 / policy.horizon_seconds));
    };
    const auto is_held = [&](const Option& option) {
        return !job.placement.empty() &&
               option.configuration == Configuration{1, 8, {1, job.placement.front().gpus}};
    };
    const double age = now - job.submitted_seconds;
    const double life_kept =
        age < job.restart_cost_seconds ? 1 : std::max(age - job.restarts * cost, 0.0) / (age + cost);
    double runs = job.placement.empty() ? 1 : 1 + lost(0);
    for (const Option& option : options)
        if (is_held(option)) runs = 1 + lost(speed(option));
    std::vector<double> values;
    for (const Option& option : options) {
        const double change = (1 - lost(speed(option))) * (job.placement.empty() ? 1 : life_kept);
        const double kept = is_held(option) ? 1 : change;
        values.push_back(runs * std::pow(speed(option) * kept, policy.fairness_power));
    }
    return values;
}

/// A cluster with one GPU, and jobs that want it; tells who holds the GPU after every round.
class OneGpu {
public:
    explicit OneGpu(int jobs) {
        snapshot.cluster = {{"GPU"}, {{"node", 0, 1}}};
        for (int j = 0; j < jobs; ++j) {
            Job job{.name = "job-" + std::to_string(j), .restart_cost_seconds = 30, .initial_batch = 32};
            job.max_batch = 64;
            job.types = {{.max_atomic_batch = 64}};
            snapshot.jobs.push_back(job);
        }
    }
    /// Returns the job that runs for the next minute.
    std::size_t round() {
        const Plan& plan = scheduler.plan(snapshot);
        std::size_t runs = snapshot.jobs.size();
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Job& job = snapshot.jobs[j];
            const Decision& decision = plan.decisions[j];
            if (decision.starts && job.done_examples.value_or(0) > 0) ++job.restarts;
            job.placement = decision.placement;
            if (decision.placement.empty()) continue;
            runs = j;
            goodput = decision.option.goodput;
            job.done_examples = job.done_examples.value_or(0) + 60 * goodput;
        }
        snapshot.time_seconds += 60;
        return runs;
    }

    Snapshot snapshot;
    double goodput = 0;  ///< goodput of the running job, examples/s

private:
    Scheduler<GoodputPolicy> scheduler;
};

}  // namespace

TEST_CASE("a job alone: a power of the part of the best speed, less what a start or a change takes") {
    support::Random random(1);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 2000; ++trial) {
        const GoodputPolicy policy = random_policy(random);
        const Job job = random_job(random, "job");
        const std::vector<Option> options = random_options(random);
        const double now = 1000 + random.between(0, 3000);
        const auto check = [&](const auto& valued, bool declared) {
            const std::vector<double> values = values_of(valued, cluster, now, {job}, {options}).front(),
                                      expected = values_alone(policy, now, job, options, declared);
            for (std::size_t k = 0; k < options.size(); ++k)
                CHECK(values[k] == doctest::Approx(expected[k]).epsilon(1e-9));
        };
        check(policy, false);
        check(DeclaredGoodputPolicy{policy}, true);
    }
}

TEST_CASE(
    "next to others a job's values are those alone times a power of how many are expected to outlast it") {
    support::Random random(5);
    const Cluster cluster = two_types();
    double largest_error = 0;
    for (int trial = 0; trial < 300; ++trial) {
        const GoodputPolicy policy = trial % 2 == 0 ? GoodputPolicy{} : random_policy(random);
        const bool declared = random.chance(0.5);
        std::vector<Job> jobs;
        std::vector<std::vector<Option>> options;
        std::vector<double> seconds;
        const int count = random.integer(1, 40);
        for (int j = 0; j < count; ++j) {
            jobs.push_back(random_job(random, "job-" + std::to_string(j)));
            options.push_back(random_options(random));
            if (j > 0 && random.chance(0.3)) {
                // Another run of the same job, or of one with small differences.
                jobs.back() = jobs[0];
                options.back() = options[0];
                if (random.chance(0.3)) jobs.back().restart_cost_seconds += 10;
                if (random.chance(0.3)) options.back().front().goodput *= 0.5;
                if (random.chance(0.3)) jobs.back().placement.clear();
            }
            const double needed = seconds_needed(policy, jobs.back(), options.back(), declared);
            // Jobs that need at most a second are all alike.
            seconds.push_back(
                std::max(1.0, jobs.back().placement.empty() ? needed : needed / policy.patience));
        }
        const auto values = declared ? values_of(DeclaredGoodputPolicy{policy}, cluster, 5000, jobs, options)
                                     : values_of(policy, cluster, 5000, jobs, options);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            // The policy rounds times to a sixteenth of a doubling.
            const double blur = std::exp2(policy.sharpness / 16);
            double least = 0, outlasting = 0, most = 0;
            for (std::size_t i = 0; i < jobs.size(); ++i) {
                if (i == j) continue;
                const double ratio = std::pow(seconds[j] / seconds[i], policy.sharpness);
                least += 1 / (1 + ratio * blur);
                outlasting += 1 / (1 + ratio);
                most += 1 / (1 + ratio / blur);
            }
            const auto weight = [&](double longer) { return std::pow(1 + 2 * longer, policy.order_power); };
            const std::vector<double> alone = values_alone(policy, 5000, jobs[j], options[j], declared);
            const auto best =
                static_cast<std::size_t>(std::max_element(alone.begin(), alone.end()) - alone.begin());
            if (alone[best] == 0) continue;
            const double found = values[j][best] / alone[best];
            CHECK(found >= weight(least) * (1 - 1e-9));
            CHECK(found <= weight(most) * (1 + 1e-9));
            if (trial % 2 == 0)
                largest_error = std::max(largest_error, std::abs(found / weight(outlasting) - 1));
            for (std::size_t k = 0; k < alone.size(); ++k)
                CHECK(values[j][k] == doctest::Approx(found * alone[k]).epsilon(1e-9));
        }
    }
    CHECK(largest_error < 0.06);
    CHECK(largest_error > 0);
}

TEST_CASE("neither the order of the jobs nor the unit of goodput changes a value") {
    support::Random random(2);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 300; ++trial) {
        const DeclaredGoodputPolicy policy{random_policy(random)};
        std::vector<Job> jobs;
        std::vector<std::vector<Option>> options;
        const int count = random.integer(1, 8);
        for (int j = 0; j < count; ++j) {
            jobs.push_back(random_job(random, "job-" + std::to_string(j)));
            options.push_back(random_options(random));
        }
        const auto values = values_of(policy, cluster, 5000, jobs, options);
        const std::vector<Job> turned(jobs.rbegin(), jobs.rend());
        const std::vector<std::vector<Option>> turned_options(options.rbegin(), options.rend());
        auto turned_values = values_of(policy, cluster, 5000, turned, turned_options);
        std::reverse(turned_values.begin(), turned_values.end());
        CHECK(turned_values == values);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            // A power of two, so that not even rounding differs.
            for (auto* examples :
                 {&jobs[j].remaining_examples, &jobs[j].expected_examples, &jobs[j].done_examples})
                if (*examples) **examples *= 1024;
            for (Option& option : options[j]) option.goodput *= 1024;
        }
        CHECK(values_of(policy, cluster, 5000, jobs, options) == values);
    }
}

TEST_CASE("a restart more makes every change worth less, and what the job holds worth the same") {
    support::Random random(3);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 500; ++trial) {
        Job job = random_job(random, "job");
        job.placement = {{2, 2}};
        job.restart_cost_seconds = random.between(1, 200);
        const std::vector<Option> options = random_options(random);
        const double now = job.submitted_seconds + random.between(300, 3000);
        const GoodputPolicy policy;
        const std::vector<double> values = values_of(policy, cluster, now, {job}, {options}).front();
        ++job.restarts;
        const std::vector<double> later = values_of(policy, cluster, now, {job}, {options}).front();
        for (std::size_t k = 0; k < options.size(); ++k) {
            if (options[k].configuration == Configuration{1, 8, {1, 2}})
                CHECK(later[k] == values[k]);
            else
                CHECK(later[k] <= values[k]);
        }
    }
}

TEST_CASE(
    "declared work counts if it is asked for, else what others of the kind have shown, else what is done") {
    const GoodputPolicy policy;
    const std::vector<Option> options{{{0, 8, {1, 1}}, {1, 0}, 4, Knowledge::measured},
                                      {{0, 8, {1, 4}}, {1, 0}, 10, Knowledge::measured}};
    const auto needed = [&](const Job& job) { return policy.expected_seconds(job, options, false); };
    const auto needed_as_declared = [&](const Job& job) {
        return policy.expected_seconds(job, options, true);
    };
    Job job{.name = "job"};
    CHECK(needed(job) == 300);
    CHECK(needed_as_declared(job) == 300);
    job.attained_gpu_seconds = 2000;  // 500 s on the four GPUs of the best option
    CHECK(needed(job) == 600);
    job.done_examples = 3000;  // 300 s so far
    CHECK(needed(job) == 300);
    job.done_examples = 3010;
    CHECK(needed(job) == 600);
    job.done_examples = 47000;  // 4700 s so far
    CHECK(needed(job) == 4800);
    job.expected_examples = 70;
    CHECK(needed(job) == 7);
    CHECK(needed_as_declared(job) == 7);
    job.remaining_examples = 50;
    CHECK(needed(job) == 7);
    CHECK(needed_as_declared(job) == 5);
    CHECK(std::isinf(policy.expected_seconds(job, {}, true)));
}

TEST_CASE("with work declared, the job with least left is worth most if the differences are large") {
    support::Random random(4);
    const Cluster cluster = two_types();
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<Job> jobs(static_cast<std::size_t>(random.integer(2, 10)));
        std::vector<double> seconds;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            seconds.push_back(10 * std::exp2(static_cast<double>(2 * j)));
            std::swap(seconds.back(),
                      seconds[static_cast<std::size_t>(random.integer(0, static_cast<int>(j)))]);
        }
        std::vector<std::vector<Option>> options(jobs.size(),
                                                 {{{1, 8, {1, 1}}, {1, 0}, 5, Knowledge::measured}});
        for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].remaining_examples = 5 * seconds[j];
        const auto values = values_of(DeclaredGoodputPolicy{}, cluster, 5000, jobs, options);
        const auto undeclared = values_of(GoodputPolicy{}, cluster, 5000, jobs, options);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const auto longer = static_cast<double>(
                std::count_if(seconds.begin(), seconds.end(), [&](double s) { return s > seconds[j]; }));
            CHECK(values[j][0] == doctest::Approx(1 + 2 * longer).epsilon(0.01));
            CHECK(undeclared[j][0] == undeclared[0][0]);
        }
    }
}

TEST_CASE("a job that waits is worth a start, however short it is against what the start costs") {
    const Cluster cluster = two_types();
    const std::vector<Option> options{{{1, 8, {1, 1}}, {1, 0}, 10, Knowledge::measured}};
    for (const double left : {0.0, 1.0, 1e3, 1e9})
        for (const double cost : {0.0, 60.0, 1e5, 1e9, 1e300}) {
            const Job job{.name = "job",
                          .restarts = 100,
                          .restart_cost_seconds = cost,
                          .remaining_examples = left,
                          .expected_examples = left};
            CHECK(values_of(GoodputPolicy{}, cluster, 1e4, {job}, {options}).front()[0] > 0);
            CHECK(values_of(DeclaredGoodputPolicy{}, cluster, 1e4, {job}, {options}).front()[0] > 0);
        }
    OneGpu one(1);
    one.snapshot.jobs[0].expected_examples = 0;
    one.snapshot.jobs[0].restart_cost_seconds = 1e9;
    CHECK(one.round() == 0);
}

TEST_CASE("equal jobs do not take turns") {
    SUBCASE("if their sizes are known, or guessed with errors of 30 %") {
        for (const double error : {0.0, 0.3}) {
            OneGpu one(2);
            support::Random random(6);
            std::size_t changes = 0, last = 2;
            for (int round = 0; round < 200; ++round) {
                for (Job& job : one.snapshot.jobs) {
                    // Jobs of ten hours each.
                    const double left = std::max(36000 * one.goodput - job.done_examples.value_or(0), 0.0);
                    if (one.goodput > 0) job.expected_examples = left * (1 + random.between(-error, error));
                }
                const std::size_t runs = one.round();
                REQUIRE(runs < 2);
                if (round > 0 && runs != last) ++changes;
                last = runs;
            }
            CHECK(changes == 0);
        }
    }
    SUBCASE("if nothing is known, except after one has run twice as long again") {
        OneGpu one(2);
        std::size_t changes = 0, last = 2;
        for (int round = 0; round < 200; ++round) {
            const std::size_t runs = one.round();
            REQUIRE(runs < 2);
            if (round > 0 && runs != last) ++changes;
            last = runs;
        }
        CHECK(changes <= 12);  // six doublings from 300 s exceed 12000 s
    }
}

TEST_CASE("a job of which nothing is known starts on one replica, any other on all it may hold") {
    const GoodputPolicy policy;
    Job job{.name = "job"};
    job.types = {{.max_atomic_batch = 8, .gpus_per_replica = 4}, {.max_atomic_batch = 8}};
    JobModel model;
    CHECK(policy.most_gpus(job, model, 0) == 4);
    CHECK(policy.most_gpus(job, model, 1) == 1);
    model.types.resize(2);
    CHECK(policy.most_gpus(job, model, 0) == 4);
    SUBCASE("a measurement on one type says something about the other") { model.types[1].most_replicas = 1; }
    SUBCASE("so does a model from jobs of its kind") { model.types[1].fitted = true; }
    if (model.types[1].fitted || model.types[1].most_replicas > 0) {
        CHECK(policy.most_gpus(job, model, 0) == std::numeric_limits<int>::max());
        CHECK(policy.most_gpus(job, model, 1) == std::numeric_limits<int>::max());
        CHECK(DeclaredGoodputPolicy{}.most_gpus(job, model, 0) == std::numeric_limits<int>::max());
    }
}

TEST_CASE("the noise that options are valued with is the measured one, before that what is usual") {
    support::Random random(7);
    for (int trial = 0; trial < 500; ++trial) {
        const GoodputPolicy policy{.initial_noise = random.chance(0.2) ? 0 : random.between(0.1, 100)};
        const Job job = random_job(random, "job");
        const auto expected = policy.expected_gradient(job);
        const auto with_declared = DeclaredGoodputPolicy{policy}.expected_gradient(job);
        REQUIRE(expected.has_value() == (job.gradient || policy.initial_noise > 0));
        REQUIRE(with_declared.has_value() == expected.has_value());
        if (!expected) continue;
        CHECK(expected->squared_norm == (job.gradient ? job.gradient->squared_norm : 1));
        CHECK(expected->variance == (job.gradient ? job.gradient->variance : policy.initial_noise));
        CHECK(with_declared->variance == expected->variance);
    }
}

TEST_CASE("options are valued by the noise to come, and run with the batch for the noise there is") {
    Snapshot snapshot{.time_seconds = 1000, .cluster = two_types()};
    Job job{.name = "job", .restart_cost_seconds = 30, .max_gpus = 8, .initial_batch = 32, .max_batch = 4096};
    job.types.assign(2, TypeLimits{.max_atomic_batch = 512});
    snapshot.jobs = {job};
    JobModel model;
    model.types.assign(
        2, {.throughput = PolluxThroughput{0.05, 0.001, 0.1, 0.01, 0.1, 0.01, 1.5}, .most_replicas = 8});
    snapshot.models = {model};
    const auto decision_with = [&](const GoodputPolicy& policy) {
        Scheduler<GoodputPolicy> scheduler(policy);
        return scheduler.plan(snapshot).decisions.front();
    };
    const Decision hopeful = decision_with({}), doubtful = decision_with({.initial_noise = 0});
    REQUIRE(doubtful.option.configuration.gpus() > 0);
    CHECK(hopeful.option.configuration.gpus() > doubtful.option.configuration.gpus());
    // On the same GPUs both settings run the same plan.
    snapshot.jobs[0].min_gpus = snapshot.jobs[0].max_gpus = hopeful.option.configuration.gpus();
    CHECK(decision_with({.initial_noise = 0}).option.plan == hopeful.option.plan);
    CHECK(decision_with({.initial_noise = 0}).option.goodput == hopeful.option.goodput);
    // Once the noise is measured, only the measurement counts.
    snapshot.jobs[0].gradient = GradientStatistics{1, 0.5};
    CHECK(decision_with({.initial_noise = 0}).value == decision_with({.initial_noise = 100}).value);
}

TEST_CASE("no numbers of jobs and options make a value negative, infinite or NaN") {
    support::Random random(8);
    const Cluster cluster = two_types();
    const double most = std::numeric_limits<double>::max(), least = std::numeric_limits<double>::denorm_min();
    const std::vector<double> numbers{0,    least, 1e-300, 1e-18, 0.5,      1,   60,
                                      1e12, 1e18,  1e100,  1e300, most / 2, most};
    const auto number = [&] {
        return numbers[static_cast<std::size_t>(random.integer(0, static_cast<int>(numbers.size()) - 1))];
    };
    for (int trial = 0; trial < 3000; ++trial) {
        GoodputPolicy policy;
        if (random.chance(0.3)) policy.restart_weight = number();
        if (random.chance(0.3)) policy.horizon_seconds = std::max(number(), 1.0);
        if (random.chance(0.3)) policy.usual_seconds = std::max(number(), 1e-3);
        if (random.chance(0.3)) policy.sharpness = std::max(number(), least);
        if (random.chance(0.3)) policy.patience = std::max(number(), least);
        if (random.chance(0.3)) policy.fairness_power = random.chance(0.5) ? 1 : least;
        policy.validate();
        std::vector<Job> jobs;
        std::vector<std::vector<Option>> options;
        const int count = random.integer(1, 4);
        for (int j = 0; j < count; ++j) {
            Job job = random_job(random, "job-" + std::to_string(j));
            if (random.chance(0.5)) job.submitted_seconds = random.chance(0.5) ? number() : -number();
            if (random.chance(0.5)) job.restart_cost_seconds = number();
            if (random.chance(0.5)) job.attained_gpu_seconds = number();
            if (random.chance(0.3)) job.restarts = std::numeric_limits<int>::max();
            for (auto* examples : {&job.remaining_examples, &job.expected_examples, &job.done_examples})
                if (random.chance(0.5)) *examples = number();
            jobs.push_back(job);
            options.push_back(random_options(random));
            for (Option& option : options.back())
                if (random.chance(0.5)) option.goodput = number();
        }
        const double now = random.chance(0.5) ? number() : -number();
        const auto check = [&](const auto& values) {
            for (const std::vector<double>& of_job : values)
                for (const double value : of_job) CHECK((std::isfinite(value) && value >= 0));
        };
        check(values_of(policy, cluster, now, jobs, options));
        check(values_of(DeclaredGoodputPolicy{policy}, cluster, now, jobs, options));
    }
}

TEST_CASE("settings that make no sense are refused by name and value") {
    CHECK_NOTHROW(GoodputPolicy{}.validate());
    CHECK_NOTHROW(DeclaredGoodputPolicy{}.validate());
    CHECK_NOTHROW(
        GoodputPolicy{.fairness_power = 1, .order_power = 0, .restart_weight = 0, .initial_noise = 0}
            .validate());
    CHECK_THROWS_WITH(GoodputPolicy{.fairness_power = 0}.validate(),
                      "policy goodput: p is 0, but must be above 0 and at most 1");
    const auto refused = [](const GoodputPolicy& policy, const std::string& name) {
        CAPTURE(name);
        try {
            DeclaredGoodputPolicy{policy}.validate();
            FAIL("accepted");
        } catch (const std::invalid_argument& error) {
            CHECK(std::string(error.what()).starts_with("policy goodput: " + name + " is "));
        }
    };
    for (const double bad : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        refused({.fairness_power = bad}, "p");
        refused({.order_power = bad}, "order");
        refused({.sharpness = bad}, "sharpness");
        refused({.patience = bad}, "patience");
        refused({.restart_weight = bad}, "restart");
        refused({.horizon_seconds = bad}, "horizon");
        refused({.usual_seconds = bad}, "usual");
        refused({.initial_noise = bad}, "noise");
    }
    refused({.fairness_power = 1.01}, "p");
    refused({.order_power = 8.5}, "order");
    refused({.sharpness = 0}, "sharpness");
    refused({.patience = 0}, "patience");
    refused({.horizon_seconds = 0}, "horizon");
    refused({.usual_seconds = 0}, "usual");
}
