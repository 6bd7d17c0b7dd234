// Tests what jobs that have ended say about the sizes of those still running.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

Job job_of(const std::string& kind, const std::string& name, std::optional<double> done = {}) {
    Job job{.name = name, .kind = kind, .initial_batch = 32, .max_batch = 64, .done_examples = done};
    job.types = {{.max_atomic_batch = 64}};
    return job;
}

/// Returns the jobs after one round with them, in which no job holds or held anything.
std::vector<Job> looked_at(JobSizes& sizes, std::vector<Job> jobs, double time = 0) {
    Snapshot snapshot{.time_seconds = time, .cluster = {{"GPU"}, {{"node", 0, 4}}}, .jobs = std::move(jobs)};
    sizes.expect(snapshot);
    return snapshot.jobs;
}

/// Lets one job of each size complete.
void complete(JobSizes& sizes, const std::string& kind, const std::vector<double>& of) {
    std::vector<Job> jobs;
    for (const double size : of)
        jobs.push_back(job_of(kind, kind + " of old " + std::to_string(jobs.size()), size));
    looked_at(sizes, jobs);
    looked_at(sizes, {});
}

/// Returns the expectation for a job that has done `done` examples, with no other job of its kind.
std::optional<double> expected(JobSizes& sizes, const std::string& kind, double done) {
    const auto result = looked_at(sizes, {job_of(kind, "asked", done)}).front().expected_examples;
    sizes.end("asked");
    return result;
}

/// Returns the examples served per completion if jobs with these residual sizes are served until each has
/// had d examples.
double examples_for_a_completion(const std::vector<double>& residuals, double d) {
    double served = 0;
    int complete = 0;
    for (const double residual : residuals) {
        served += std::min(residual, d);
        complete += residual <= d ? 1 : 0;
    }
    return complete > 0 ? served / complete : std::numeric_limits<double>::infinity();
}

std::vector<double> random_sizes(support::Random& random, int count) {
    std::vector<double> sizes;
    for (int i = 0; i < count; ++i) sizes.push_back(std::exp2(random.between(0, 30)));
    return sizes;
}

}  // namespace

TEST_CASE("if all jobs of a kind are equal, exactly the work left is expected") {
    for (const int count : {1, 7, 64}) {
        JobSizes sizes;
        complete(sizes, "bert", std::vector<double>(static_cast<std::size_t>(count), 1000));
        for (const double done : {0.0, 1.0, 400.0, 899.0})
            CHECK(expected(sizes, "bert", done).value() == doctest::Approx(1000 - done));
        // No job is expected to be nearer to its end than a tenth of the size.
        CHECK(expected(sizes, "bert", 950).value() == doctest::Approx(100));
        CHECK(expected(sizes, "bert", 1150).value() == doctest::Approx(100));
    }
}

TEST_CASE("nothing is expected of a job that has come further than all others of its kind") {
    JobSizes sizes;
    CHECK_FALSE(expected(sizes, "bert", 0));
    CHECK_FALSE(expected(sizes, "bert", 10));
    complete(sizes, "bert", {1000});
    CHECK(expected(sizes, "bert", 0));
    CHECK_FALSE(expected(sizes, "resnet", 0));
    CHECK_FALSE(expected(sizes, "bert", 1201));  // the job has outlived all of them
    CHECK_FALSE(expected(sizes, "bert", 1e300));
    // An expectation that a caller left in the job is removed.
    Job job = job_of("resnet", "job");
    job.expected_examples = 7;
    CHECK_FALSE(looked_at(sizes, {job}).front().expected_examples);
}

TEST_CASE("expected work is the Gittins index of the residual sizes: no other time to stop is better") {
    support::Random random(1);
    for (int trial = 0; trial < 300; ++trial) {
        JobSizes sizes;
        const std::vector<double> ended = random_sizes(random, random.integer(0, 64));
        complete(sizes, "bert", ended);
        const double done = random.chance(0.3) ? 0 : std::exp2(random.between(0, 30));
        std::vector<Job> jobs{job_of("bert", "asked", done)};
        std::vector<double> residuals;
        for (const double size : ended)
            if (1.2 * size > done) residuals.push_back(std::max(size - done, 0.1 * size));
        for (const double reached : random_sizes(random, random.integer(0, 10))) {
            jobs.push_back(job_of("bert", "running " + std::to_string(jobs.size()), reached));
            // A job that has not ended counts as twice the next power of two that it has not reached.
            if (reached > done && !ended.empty())
                residuals.push_back(2 * std::exp2(std::ceil(std::log2(reached))) - done);
        }
        const std::optional<double> index = looked_at(sizes, jobs).front().expected_examples;
        REQUIRE(index.has_value() == !residuals.empty());
        if (!index) continue;
        double least = std::numeric_limits<double>::infinity();
        for (const double d : residuals) least = std::min(least, examples_for_a_completion(residuals, d));
        CHECK(*index == doctest::Approx(least).epsilon(1e-9));
        for (int other = 0; other < 50; ++other) {
            const double d = std::exp2(random.between(-4, 32));
            CHECK(*index <= examples_for_a_completion(residuals, d) * (1 + 1e-9));
        }
    }
}

TEST_CASE("a job's reports are believed; for other jobs goodput is summed up, without their restarts") {
    support::Random random(2);
    for (int trial = 0; trial < 100; ++trial) {
        JobSizes sizes;
        Snapshot snapshot{.cluster = {{"GPU"}, {{"node", 0, 4}}}};
        snapshot.jobs = {job_of("bert", "reports"), job_of("bert", "is silent")};
        double done = 0, rate = 0, restarting = 0;
        for (int round = 0; round < 30; ++round) {
            const double reported = 1e6 * round, passed = random.between(1, 100);
            snapshot.time_seconds += passed;
            const double restarted = std::min(restarting, passed);
            restarting -= restarted;
            done += rate * (passed - restarted);
            snapshot.jobs[0].done_examples = reported;
            snapshot.jobs[1].done_examples.reset();
            snapshot.jobs[1].restart_cost_seconds = random.between(0, 200);
            sizes.expect(snapshot);
            CHECK(snapshot.jobs[0].done_examples == reported);
            CHECK(snapshot.jobs[1].done_examples.value() == doctest::Approx(done));
            Plan plan;
            plan.decisions.resize(2);
            rate = 0;
            for (Decision& decision : plan.decisions) {
                if (random.chance(0.3)) continue;  // the job waits
                decision.placement = {{0, 1}};
                decision.option.goodput = random.between(1, 100);
                decision.option.knowledge = random.chance(0.2) ? Knowledge::unknown : Knowledge::measured;
                decision.starts = random.chance(0.2);
            }
            if (const Decision& own = plan.decisions[1]; !own.placement.empty()) {
                // A goodput that counts replicas because nothing is known is not a rate.
                rate = own.option.knowledge == Knowledge::unknown ? 0 : own.option.goodput;
                if (own.starts) restarting = snapshot.jobs[1].restart_cost_seconds;
            }
            sizes.note(snapshot, plan);
        }
    }
}

TEST_CASE("jobs that are gone have shown their size, jobs that were cancelled have not") {
    JobSizes sizes;
    Snapshot snapshot{.time_seconds = 0, .cluster = {{"GPU"}, {{"node", 0, 4}}}};
    snapshot.jobs = {job_of("bert", "complete"), job_of("resnet", "cancelled"), job_of("yolo", "waits")};
    sizes.expect(snapshot);
    Plan plan;
    plan.decisions.resize(3);
    for (std::size_t j = 0; j < 2; ++j) {
        plan.decisions[j].placement = {{0, 1}};
        plan.decisions[j].option.goodput = 10;
        plan.decisions[j].option.knowledge = Knowledge::measured;
        plan.decisions[j].starts = true;
    }
    sizes.note(snapshot, plan);
    for (int round = 0; round < 2; ++round) {
        snapshot.time_seconds += 100;
        for (Job& job : snapshot.jobs) job.done_examples.reset();
        sizes.expect(snapshot);
        for (Decision& decision : plan.decisions) decision.starts = false;
        sizes.note(snapshot, plan);
    }
    sizes.end("cancelled");
    sizes.end("nobody");
    // It ended between 200 s and 300 s, so the middle of that round is the best guess.
    looked_at(sizes, {}, 300);
    CHECK(expected(sizes, "bert", 0).value() == doctest::Approx(2500));
    CHECK_FALSE(expected(sizes, "resnet", 0));
    CHECK_FALSE(expected(sizes, "yolo", 0));
}

TEST_CASE(
    "neither the order of the jobs nor a copy matters, and the same rounds give the same expectations") {
    support::Random random(3);
    for (int trial = 0; trial < 30; ++trial) {
        JobSizes one, same, turned;
        std::vector<Job> jobs;
        int next = 0;
        for (int round = 0; round < 40; ++round) {
            std::erase_if(jobs, [&](const Job&) { return random.chance(0.1); });
            for (int born = random.integer(0, 2); born > 0; --born) {
                jobs.push_back(
                    job_of("kind " + std::to_string(random.integer(0, 3)), std::to_string(next++)));
                if (random.chance(0.5)) jobs.back().done_examples = 0;
            }
            std::map<std::string, double> rates;
            for (Job& job : jobs) {
                rates[job.name] = random.chance(0.3) ? 0 : random.between(1, 100);
                if (job.done_examples) *job.done_examples += random.between(0, 1000);
            }
            std::vector<Job> shuffled = jobs;
            for (std::size_t j = 1; j < shuffled.size(); ++j)
                std::swap(shuffled[j],
                          shuffled[static_cast<std::size_t>(random.integer(0, static_cast<int>(j)))]);
            const auto told = [&](JobSizes& sizes, const std::vector<Job>& those) {
                Snapshot snapshot{.time_seconds = 60.0 * round, .jobs = those};
                sizes.expect(snapshot);
                Plan plan;
                std::map<std::string, std::optional<double>> result;
                for (const Job& job : snapshot.jobs) {
                    result[job.name] = job.expected_examples;
                    Decision& decision = plan.decisions.emplace_back();
                    if (rates[job.name] > 0) decision.placement = {{0, 1}};
                    decision.option.goodput = rates[job.name];
                }
                sizes.note(snapshot, plan);
                return result;
            };
            // A round that is undone after all is forgotten together with the copy that was told about it.
            JobSizes before = one;
            told(one,
                 std::vector<Job>(jobs.begin(), jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2)));
            one = before;
            const auto expectations = told(one, jobs);
            CHECK(told(same, jobs) == expectations);
            CHECK(told(turned, shuffled) == expectations);
        }
    }
}

TEST_CASE("the last sizes of a kind count, at most most_sizes of them") {
    JobSizes sizes;
    complete(sizes, "bert", std::vector<double>(JobSizes::most_sizes, 1000));
    complete(sizes, "bert", std::vector<double>(JobSizes::most_sizes - 1, 10));
    // One of the old sizes is left.
    CHECK(expected(sizes, "bert", 20).value() == doctest::Approx(980));
    complete(sizes, "bert", {10});
    CHECK_FALSE(expected(sizes, "bert", 20));
    CHECK(expected(sizes, "bert", 0).value() == doctest::Approx(10));
    // However many jobs run, their progress so far counts, thinned out.
    support::Random random(5);
    complete(sizes, "resnet", {1});
    const std::vector<double> reached = random_sizes(random, 2000);
    std::vector<Job> jobs{job_of("resnet", "asked", 500)};
    std::vector<double> residuals;
    for (const double done : reached) {
        jobs.push_back(job_of("resnet", std::to_string(jobs.size()), done));
        if (done > 500) residuals.push_back(2 * std::exp2(std::ceil(std::log2(done))) - 500);
    }
    double least = std::numeric_limits<double>::infinity();
    for (const double d : residuals) least = std::min(least, examples_for_a_completion(residuals, d));
    CHECK(looked_at(sizes, jobs).front().expected_examples.value() == doctest::Approx(least).epsilon(0.2));
}

TEST_CASE("at most most_kinds kinds are remembered, those that were met last") {
    JobSizes sizes;
    constexpr int most = static_cast<int>(JobSizes::most_kinds), many = most - 24, later = 100;
    const auto jobs_of = [&](int first, int count, const std::string& name, std::optional<double> done) {
        std::vector<Job> jobs;
        for (int k = first; k < first + count; ++k)
            jobs.push_back(job_of(std::to_string(k), name + std::to_string(k), done));
        return jobs;
    };
    looked_at(sizes, jobs_of(0, many, "a", 1000));
    looked_at(sizes, jobs_of(many, later, "b", 1000));
    looked_at(sizes, {});
    // The first kinds have made room for the others.
    const auto known = [&](int first, int count) {
        JobSizes copy = sizes;
        const std::vector<Job> jobs = looked_at(copy, jobs_of(first, count, "c", {}));
        return std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.expected_examples; });
    };
    CHECK(known(many, later) == later);
    CHECK(known(0, many) == most - later);
    // Kinds of present jobs are kept, however many. Once the jobs are gone, most_kinds kinds are left.
    looked_at(sizes, jobs_of(0, 2 * most, "x", 10));
    looked_at(sizes, jobs_of(0, 2 * most, "d", 20));
    std::vector<Job> jobs = jobs_of(0, 2 * most, "e", {});
    for (const Job& job : jobs_of(0, 2 * most, "d", 30)) jobs.push_back(job);
    const std::vector<Job> all = looked_at(sizes, jobs);
    CHECK(std::all_of(all.begin(), all.begin() + std::ptrdiff_t{2 * most},
                      [](const Job& job) { return job.expected_examples.has_value(); }));
    looked_at(sizes, {});
    CHECK(known(0, 2 * most) == most);
}

TEST_CASE("kinds that come and go for long leave no more than is remembered") {
    JobSizes sizes;
    for (int round = 0; round < 2000; ++round)
        looked_at(sizes, {job_of(std::to_string(round), "job " + std::to_string(round), 100)}, 60.0 * round);
    CHECK(expected(sizes, "1990", 0).value() == doctest::Approx(100));
    CHECK_FALSE(expected(sizes, "100", 0));
}

TEST_CASE("jobs without a stated kind are of one kind if their limits and rates are alike") {
    JobSizes sizes;
    complete(sizes, "", {1000});
    CHECK(expected(sizes, "", 0).value() == doctest::Approx(1000));
    const auto expects_something = [&](auto change) {
        Job job = job_of("", "job");
        change(job);
        JobSizes copy = sizes;
        return looked_at(copy, {job}).front().expected_examples.has_value();
    };
    CHECK(expects_something([](Job& job) { job.max_gpus = 16; }));
    CHECK_FALSE(expects_something([](Job& job) { job.kind = "bert"; }));
    CHECK_FALSE(expects_something([](Job& job) { job.initial_batch = 16; }));
    CHECK_FALSE(expects_something([](Job& job) { job.types[0].max_atomic_batch = 32; }));
    CHECK_FALSE(expects_something([](Job& job) { job.types[0].min_atomic_batch = 2; }));
    CHECK_FALSE(expects_something([](Job& job) { job.types[0].gpus_per_replica = 2; }));
    CHECK_FALSE(expects_something([](Job& job) { job.types[0].reference_rate = 100; }));
    CHECK_FALSE(expects_something([](Job& job) {
        job.adaptivity = Adaptivity::gpus;
        job.target_batch = 32;
    }));
}

TEST_CASE("no report of a job and no clock lead to an invalid expectation") {
    support::Random random(4);
    const double most = std::numeric_limits<double>::max();
    const std::vector<double> numbers{
        0, std::numeric_limits<double>::denorm_min(), 1e-300, 1, 1e12, 1e18, 1e300, most / 2, most};
    const auto number = [&] {
        return numbers[static_cast<std::size_t>(random.integer(0, static_cast<int>(numbers.size()) - 1))];
    };
    for (int trial = 0; trial < 100; ++trial) {
        JobSizes sizes;
        Scheduler<GoodputPolicy> scheduler;
        std::map<std::string, Placement> held;
        for (int round = 0; round < 20; ++round) {
            Snapshot snapshot{.cluster = {{"GPU"}, {{"node", 0, 4}}}};
            snapshot.time_seconds = random.chance(0.5) ? number() : -number();
            for (int j = 0; j < 6; ++j) {
                if (random.chance(0.2)) continue;
                snapshot.jobs.push_back(job_of(random.chance(0.5) ? "a" : "b", std::to_string(j)));
                if (random.chance(0.5)) snapshot.jobs.back().done_examples = number();
                snapshot.jobs.back().restart_cost_seconds = number();
            }
            // A round that the scheduler refuses leaves nothing behind that would cause further refusals.
            if (random.chance(0.1)) {
                Snapshot refused = snapshot;
                refused.strict = true;
                const double bad =
                    random.chance(0.5) ? std::nan("") : std::numeric_limits<double>::infinity();
                const auto count = static_cast<int>(refused.jobs.size());
                if (random.chance(0.5) || count == 0)
                    refused.time_seconds = bad;
                else
                    refused.jobs[static_cast<std::size_t>(random.integer(0, count - 1))].done_examples =
                        random.chance(0.5) ? -1 : bad;
                sizes.expect(refused);
                CHECK_THROWS_AS((void)scheduler.plan(refused), std::invalid_argument);
            }
            sizes.expect(snapshot);
            CHECK_NOTHROW(sizes.note(snapshot, scheduler.plan(snapshot)));
        }
    }
}

TEST_CASE("the gradient that one job of a kind measured first is usual for its kind, and for no other") {
    JobSizes sizes;
    Job spoilt = job_of("vision", "spoilt"), first = job_of("vision", "first");
    spoilt.gradient = GradientStatistics{std::nan(""), 1};
    first.gradient = GradientStatistics{2, 8};
    CHECK(!looked_at(sizes, {spoilt})[0].usual_gradient);
    looked_at(sizes, {first}, 60);
    first.gradient = GradientStatistics{1, 500};
    const std::vector<Job> later =
        looked_at(sizes, {first, job_of("vision", "fresh"), job_of("speech", "other")}, 120);
    REQUIRE(later[1].usual_gradient);
    CHECK(later[1].usual_gradient->squared_norm == 2);
    CHECK(later[1].usual_gradient->variance == 8);
    CHECK(!later[2].usual_gradient);
}

TEST_CASE("the order of the jobs does not say whose gradient is usual, nor do jobs that ask twice") {
    for (const bool turned : {false, true}) {
        JobSizes sizes;
        std::vector<Job> jobs{job_of("vision", "a"), job_of("vision", "b"), job_of("vision", "c")};
        jobs[1].gradient = GradientStatistics{2, 8};
        jobs[2].gradient = GradientStatistics{3, 9};
        if (turned) std::reverse(jobs.begin(), jobs.end());
        for (int time = 0; time < 2; ++time)
            for (const Job& job : looked_at(sizes, jobs, 60)) {
                REQUIRE(job.usual_gradient);
                CHECK(job.usual_gradient->squared_norm == 2);
            }
    }
}

TEST_CASE("for more jobs than are remembered, the order of the list does not matter") {
    std::vector<std::optional<double>> expected;
    for (const bool turned : {false, true}) {
        JobSizes sizes;
        std::vector<Job> jobs;
        for (std::size_t j = 0; j <= JobSizes::most_sizes; ++j) {
            jobs.push_back(job_of("vision", "job-" + std::to_string(j)));
            jobs.back().done_examples = j == 0 ? 1e6 : 10;
        }
        if (turned) std::reverse(jobs.begin(), jobs.end());
        looked_at(sizes, jobs);
        looked_at(sizes, {}, 60);
        Job late = job_of("vision", "late");
        late.done_examples = 100;
        expected.push_back(looked_at(sizes, {late}, 120)[0].expected_examples);
    }
    REQUIRE(expected[0]);
    CHECK(expected[0] == expected[1]);
}
