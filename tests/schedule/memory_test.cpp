// JobMemory: what it remembers of jobs from round to round.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace schedule_memory {

using namespace goodput;

Job job_of(const std::string& name, const std::string& kind = {}) {
    Job job{.name = name, .kind = kind, .max_gpus = 4, .initial_batch = 32, .max_batch = 512};
    job.types = {{.max_atomic_batch = 64, .reference_rate = 100},
                 {.max_atomic_batch = 128, .reference_rate = 400}};
    job.gradient = {.squared_norm = 1, .variance = 8};
    return job;
}

Snapshot snapshot_of(std::vector<Job> jobs, double time = 0) {
    Snapshot snapshot{.time_seconds = time,
                      .cluster = {{"T4", "A100"}, {{"a", 0, 4}, {"b", 0, 4}, {"c", 1, 4}}}};
    snapshot.jobs = std::move(jobs);
    return snapshot;
}

/// A step of a program that gets slower as the batch grows.
ThroughputSample sample_of(int gpus, int batch, double slowness = 1) {
    return {{1, gpus}, {batch, 0}, slowness * (0.1 + 0.01 * batch), gpus > 1 ? 0.01 : 0.0};
}

/// Returns everything that a memory has filled into a snapshot's jobs, as numbers.
std::vector<double> told(const Snapshot& snapshot) {
    std::vector<double> numbers;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        numbers.push_back(job.expected_examples.value_or(-1));
        numbers.push_back(job.done_examples.value_or(-1));
        numbers.push_back(job.largest_batch());
        numbers.push_back(job.running_plan.atomic_batch);
        for (const TypeModel& type : snapshot.models[j].types)
            for (const int gpus : {1, 2, 4}) numbers.push_back(type.iteration_seconds({1, gpus}, {32, 1}));
    }
    return numbers;
}

TEST_CASE("a round that is not kept leaves no trace") {
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
        JobMemory kept, tried;
        Scheduler<GoodputPolicy> scheduler, other;
        std::vector<Job> jobs;
        for (int round = 0; round < 12; ++round) {
            if (round % 3 == 0)
                jobs.push_back(job_of("job-" + std::to_string(round), below(2) ? "bert" : ""));
            if (round % 5 == 4) jobs.erase(jobs.begin());
            std::vector<JobNews> news(jobs.size()), false_news(jobs.size());
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                news[j].samples.push_back({0, sample_of(1 << below(3), 8 << below(4))});
                false_news[j].samples.push_back({1, sample_of(2, 16, 3)});
                false_news[j].wanted_batch = 40;
            }
            // The round to undo: other news, other jobs, and a plan that the caller does not keep.
            Snapshot never = snapshot_of(jobs, 60.0 * round + 20);
            never.jobs.push_back(job_of("never"));
            false_news.emplace_back();
            tried.take_in(never, false_news);

            Snapshot one = snapshot_of(jobs, 60.0 * round + 30), two = one;
            kept.take_in(one, news);
            tried.take_in(two, news);
            REQUIRE(told(one) == told(two));
            const Plan plan = scheduler.plan(one);
            kept.keep(one, plan);
            tried.keep(two, other.plan(two));
            for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].placement = plan.decisions[j].placement;
        }
    }
}

TEST_CASE("a batch that a job was seen to use overrides its owner's wish") {
    JobMemory memory;
    const auto largest = [&](JobNews news) {
        Snapshot snapshot = snapshot_of({job_of("a")});
        memory.take_in(snapshot, std::vector{std::move(news)});
        memory.keep(snapshot, plan(snapshot));
        return snapshot.jobs[0].largest_batch();
    };
    CHECK(largest({}) == 512);
    CHECK(largest({.wanted_batch = 64}) == 64);
    CHECK(largest({.samples = {{0, sample_of(2, 50)}}, .wanted_batch = 64}) == 100);
    CHECK(largest({.wanted_batch = 64}) == 100);
    CHECK(largest({.wanted_batch = 400}) == 400);
    CHECK(largest({.samples = {{0, sample_of(4, 250)}}, .wanted_batch = 64}) == 512);
}

TEST_CASE("a caller may reuse one snapshot in all rounds: filled-in fields never count as the caller's") {
    int set_aside = 0, went_on = 0;
    for (const unsigned seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
        JobMemory of_kept, of_fresh;
        Scheduler<GoodputPolicy> scheduler, other;
        Snapshot kept = snapshot_of({});
        std::vector<Job> declared;  // as the owners declare them, with what the jobs hold
        for (int round = 0; round < 15; ++round) {
            if (round % 3 == 0) {
                declared.push_back(job_of("job-" + std::to_string(round), below(2) ? "bert" : ""));
                if (below(2)) declared.back().done_examples = 0;  // the job reports its progress
                kept.jobs.push_back(declared.back());
            }
            if (round % 6 == 5) {
                declared.erase(declared.begin());
                kept.jobs.erase(kept.jobs.begin());
            }
            std::vector<JobNews> news(declared.size());
            for (std::size_t j = 0; j < declared.size(); ++j) {
                news[j].samples.push_back({0, sample_of(1 << below(3), 8 << below(4))});
                if (below(4) == 0)
                    news[j].samples.push_back({0, {{1, 1}, {8, 0}, 0.1, 0.2}});  // an impossible step
                if (below(4) == 0) news[j].wanted_batch = 32 + below(500);
                if (declared[j].done_examples)
                    kept.jobs[j].done_examples = *(declared[j].done_examples = 1000.0 * round + below(100));
            }
            kept.time_seconds = 60.0 * round;
            Snapshot fresh = snapshot_of(declared, kept.time_seconds);
            const bool is_kept = below(5) != 0;
            of_kept.take_in(kept, news);
            of_fresh.take_in(fresh, news);
            const auto check_same = [&] {
                REQUIRE(told(kept) == told(fresh));
                for (std::size_t j = 0; j < declared.size(); ++j) {
                    REQUIRE(kept.jobs[j].set_aside == fresh.jobs[j].set_aside);
                    set_aside += !kept.jobs[j].set_aside.empty();
                    went_on += round > 0 && *kept.jobs[j].done_examples > 0 && !declared[j].done_examples;
                }
            };
            check_same();
            if (!is_kept) {  // plan the same round again
                of_kept.take_in(kept, news);
                of_fresh.take_in(fresh = snapshot_of(declared, kept.time_seconds), news);
                check_same();
            }
            const Plan plan = scheduler.plan(kept);
            of_kept.keep(kept, plan);
            of_fresh.keep(fresh, other.plan(fresh));
            for (std::size_t j = 0; j < declared.size(); ++j) {
                declared[j].placement = kept.jobs[j].placement = plan.decisions[j].placement;
                declared[j].wanted_batch = fresh.jobs[j].wanted_batch;  // a wish stands until the next one
            }
        }
    }
    CHECK(set_aside > 0);
    CHECK(went_on > 0);
}

TEST_CASE("a wish for a smaller batch stands until another comes, and changes no limit") {
    JobMemory memory;
    Snapshot snapshot = snapshot_of({job_of("a")});
    const auto largest = [&](std::optional<int> wanted) {
        memory.take_in(snapshot, std::vector<JobNews>{{.wanted_batch = wanted}});
        memory.keep(snapshot, plan(snapshot));
        return snapshot.jobs[0].largest_batch();
    };
    CHECK(largest(64) == 64);
    CHECK(largest({}) == 64);
    CHECK(largest(256) == 256);
    CHECK(largest(4096) == 512);
    CHECK(snapshot.jobs[0].max_batch == 512);
    CHECK(largest(8) == 512);  // below the initial batch: the job is set aside, and its wish does not count
    CHECK(snapshot.jobs[0].set_aside == "job 'a': wanted_batch is 8, but must be at least initial_batch, 32");
    CHECK(largest({}) == 512);
    CHECK(snapshot.jobs[0].set_aside.empty());
}

TEST_CASE("jobs that the caller sets aside stay set aside") {
    JobMemory memory;
    Snapshot snapshot = snapshot_of({job_of("a"), job_of("b")});
    snapshot.jobs[1].set_aside = "not today";
    const std::vector<JobNews> news{{.samples = {{0, {{1, 1}, {8, 0}, 0.1, 0.2}}}}, {}};
    memory.take_in(snapshot, news);
    CHECK_FALSE(snapshot.jobs[0].set_aside.empty());
    CHECK(snapshot.jobs[1].set_aside == "not today");
    snapshot.jobs[0].set_aside = "the caller's word";
    memory.take_in(snapshot);
    CHECK(snapshot.jobs[0].set_aside == "the caller's word");
    CHECK(snapshot.jobs[1].set_aside == "not today");
}

TEST_CASE("a model that a job brings stays, and what its runs show is for its kind") {
    JobMemory memory;
    Snapshot snapshot = snapshot_of({job_of("a", "k"), job_of("b", "k")});
    snapshot.models.resize(2);
    snapshot.models[0].types = {{.throughput = PolluxThroughput{}, .most_replicas = 3}};
    memory.take_in(snapshot,
                   std::vector<JobNews>{{.samples = {{0, sample_of(1, 32)}}, .brings_model = true}, {}});
    CHECK(snapshot.models[0].types.size() == 1);
    CHECK(snapshot.models[0].types[0].most_replicas == 3);
    CHECK(snapshot.models[1].types.at(0).iteration_seconds({1, 1}, {32, 0}) ==
          doctest::Approx(sample_of(1, 32).step_seconds).epsilon(0.05));
}

TEST_CASE("a job with invalid news is set aside, and a strict round is refused") {
    const std::vector<JobNews> news{{.samples = {{0, {{1, 1}, {8, 0}, 0.1, 0.2}}}},
                                    {.samples = {{0, sample_of(1, 32)}}}};
    JobMemory memory, strict, innocent;
    Snapshot snapshot = snapshot_of({job_of("a"), job_of("b", "other")});
    memory.take_in(snapshot, news);
    CHECK(snapshot.jobs[0].set_aside ==
          "job 'a': sample.sync_seconds is 0.2, but must be below the time of the step, 0.1");
    CHECK(snapshot.jobs[1].set_aside.empty());
    CHECK(snapshot.models[0].types.empty());
    CHECK_FALSE(snapshot.models[1].types.empty());

    Snapshot refused = snapshot_of({job_of("a"), job_of("b", "other")});
    refused.strict = true;
    CHECK_THROWS_WITH(strict.take_in(refused, news),
                      "job 'a': sample.sync_seconds is 0.2, but must be below the time of the step, 0.1");
    Snapshot one = snapshot_of({job_of("c", "other")}), two = one;
    strict.take_in(one);
    innocent.take_in(two);
    CHECK(told(one) == told(two));  // nothing of the refused round remains

    // Not even the valid news before the invalid one remain.
    JobMemory half, none;
    Snapshot mixed = snapshot_of({job_of("a")}), plain = snapshot_of({job_of("a")});
    half.take_in(
        mixed, std::vector<JobNews>{{.samples = {{0, sample_of(4, 250)}, {0, {{1, 1}, {8, 0}, 0.1, 0.2}}}}});
    none.take_in(plain);
    CHECK_FALSE(mixed.jobs[0].set_aside.empty());
    half.keep(mixed, plan(mixed));
    none.keep(plain, plan(plain));
    Snapshot after = snapshot_of({job_of("a")}), same = after;
    const std::vector<JobNews> wants{{.wanted_batch = 64}};
    half.take_in(after, wants);
    none.take_in(same, wants);
    CHECK(told(after) == told(same));

    Snapshot three = snapshot_of({job_of("a")});
    CHECK_THROWS_WITH(innocent.take_in(three, news),
                      "job memory: news is 2, but must be one for each of the snapshot's jobs, or none");
}

TEST_CASE("a job that is gone is forgotten, except for what it has shown about its kind") {
    JobMemory memory;
    Snapshot first = snapshot_of({job_of("a", "k")});
    memory.take_in(first, std::vector<JobNews>{{.samples = {{0, sample_of(1, 32)}}, .wanted_batch = 50}});
    memory.keep(first, plan(first));
    Snapshot between = snapshot_of({});
    memory.take_in(between);
    memory.keep(between, plan(between));
    Snapshot last = snapshot_of({job_of("a", "k"), job_of("b", "other")});
    memory.take_in(last, std::vector<JobNews>{{.wanted_batch = 40}, {}});
    CHECK(last.jobs[0].largest_batch() == 40);  // it was seen to use no larger batch
    CHECK(last.models[0].types.at(0).iteration_seconds({1, 1}, {32, 0}) ==
          doctest::Approx(sample_of(1, 32).step_seconds).epsilon(0.05));
}

TEST_CASE("a measurement on an unknown GPU type costs its job the round, and nothing after it") {
    JobMemory memory, other;
    Snapshot wrong = snapshot_of({job_of("typo"), job_of("right")}), sound = wrong, strict = wrong;
    std::vector<JobNews> news(2);
    news[1].samples = {{0, sample_of(1, 32)}};
    other.take_in(sound, news);
    news[0].samples = {{99, sample_of(1, 32)}};
    memory.take_in(wrong, news);
    CHECK(wrong.jobs[0].set_aside.find("samples.gpu_type is 99") != std::string::npos);
    CHECK(wrong.jobs[1].set_aside.empty());
    const Plan plan = Scheduler<>().plan(wrong);
    CHECK(!plan.decisions[1].placement.empty());
    memory.keep(wrong, plan);
    strict.strict = true;
    CHECK_THROWS_AS(JobMemory().take_in(strict, news), std::invalid_argument);
    Snapshot next = snapshot_of({job_of("typo"), job_of("right")}, 60);
    memory.take_in(next);
    CHECK(next.jobs[0].set_aside.empty());
    CHECK(next.models[1].types[0].iteration_seconds({1, 1}, {32, 0}) ==
          sound.models[1].types[0].iteration_seconds({1, 1}, {32, 0}));
}

TEST_CASE("a memory that was saved and read back knows what it knew") {
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
        std::mt19937 random(seed);
        const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
        JobMemory lasting, restarted;
        Scheduler<GoodputPolicy> scheduler;
        std::vector<Job> jobs;
        for (int round = 0; round < 12; ++round) {
            if (round % 3 != 2)
                jobs.push_back(job_of("job " + std::to_string(round), below(2) ? "bert\n12:a" : ""));
            if (round % 4 == 3) jobs.erase(jobs.begin());
            std::vector<JobNews> news(jobs.size());
            for (JobNews& heard : news) {
                heard.samples.push_back({0, sample_of(1 << below(3), 8 << below(4), 1 + below(9) / 8)});
                if (below(3) == 0) heard.wanted_batch = 40 + below(100);
            }
            Snapshot one = snapshot_of(jobs, 60.0 * round), two = one;
            lasting.take_in(one, news);
            restarted.take_in(two, news);
            REQUIRE(told(one) == told(two));
            const Plan plan = scheduler.plan(one);
            lasting.keep(one, plan);
            restarted.keep(two, plan);
            for (std::size_t j = 0; j < jobs.size(); ++j) jobs[j].placement = plan.decisions[j].placement;

            const std::string saved = restarted.save();
            // What is on trial is not saved.
            Snapshot never = snapshot_of({job_of("never")}, 1e6);
            restarted.take_in(never);
            REQUIRE(restarted.save() == saved);
            REQUIRE(lasting.save() == saved);
            JobMemory next;
            next.load(saved);
            REQUIRE(next.save() == saved);
            CHECK((jobs.empty() || next.histories().find(jobs[0].name) != nullptr));
            CHECK(next.histories().find("never") == nullptr);
            restarted = next;
        }
    }
}

/// A memory saved by version 1, whose models had no least computing time: a step of 0.42 s on one GPU.
constexpr const char* saved_by_version_1 = R"(goodput job memory 1
1 0 0 1 1 1:a 0 0 0 0 1 24:batch 32/1-0x1@0/1-0x1@0 1 0 0: 0 0 0 1 1:a 32 0 0 1 1
24:batch 32/1-0x1@0/1-0x1@0 1 1 1:a 24:batch 32/1-0x1@0/1-0x1@0 0: 0 32 0 2 1 0 1 0 1 0 1 0 1
24:batch 32/1-0x1@0/1-0x1@0 32 2 0 0 0 1 32 0 1 1 1 1 1 32 0 0.42 0 0 0 1 0 0 0 0 0 0 0 0 0 2 1 0.21
0.006562499999999997 1 32 1 1 0 0.05250000000000002 0.5 0.10500000000000004 0.25 0.25 1 2 0 1 1 32 0 1
0.20999999999999996 0.006562499999999997 0 1 0 0.05249999999999999 0.5 0.105 0.25 0.25 1 2 0 0 1 0 0 2
-0.6931471805599452 2.222879999999827 -0.6931471805599455 2.222879999999811 0 1.010720000000162 0 inf
-2.0794415416798357 inf 0.5 inf 0.6931471805599453 inf 0.25 inf 0.25 inf 0 inf 0 inf 0.21
0.006562499999999997 1 32 1 1 0 0.05250000000000002 0.5 0.10500000000000004 0.25 0.25 1 2 0 0 0 0 0 0 0
0 0 0 0 0 2.220446049250313e-16 2.220446049250313e-16 1 0 1 0 0.026832815729997475 2.5
-0.6931471805599453 -0.6931471805599453 0 0 -2.0794415416798357 0.5 0.6931471805599453 0.25 0.25 0 0
1.4142135623730951 1.4142135623730951 0.21213203435596426 0.05830951894845301 1.4142135623730951
0.4301162633521313 0.7071067811865476 0.291547594742265 0.291547594742265 0.4301162633521313
1.118033988749895 0.1 0.15 0.05 32 0.42 12 -1.5606477482646683 -5.026383651064395 0 0
-2.9469421093845587 0.5 0.6931471805599453 0.25 0.25 0 0 0 144 1.0527791459856395 -0.9472208540142809
-0.04262493843064546 0 0 0 0 0 0 0 0 -0.009472208540143641 -0.9472208540142807 1.0527791459856357
-0.04262493843064411 0 0 0 0 0 0 0 0 -0.009472208540142779 -0.04262493843064546 -0.042624938430644105
0.043081877770621294 0 0 0 0 0 0 0 0 -0.00042624938430644655 0 0 0 0.0034000000000000002 0 0 0 0 0 0 0 0
0 0 0 0 2.0000000000000004 0 0 0 0 0 0 0 0 0 0 0 0 0.185 0 0 0 0 0 0 0 0 0 0 0 0 0.5000000000000001 0 0
0 0 0 0 0 0 0 0 0 0 0.08499999999999998 0 0 0 0 0 0 0 0 0 0 0 0 0.08499999999999998 0 0 0 0 0 0 0 0 0 0
0 0 0.185 0 0 0 0 0 0 0 0 0 0 0 0 1.2500000000000002 0 -0.009472208540143643 -0.009472208540142779
-0.0004262493843064465 0 0 0 0 0 0 0 0 0.00990527791459856 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
0.20999999999999996 0.006562499999999997 0 1 0 0.05249999999999999 0.5 0.105 0.25 0.25 1 2 0 0 0 0 0 0 0
0 0 0 0 0 0 0 0 0 0 3 0.026832815729997475 2 -0.6931471805599453 -0.6931471805599453 0 0
-2.0794415416798357 0.5 0.6931471805599453 0.25 0.25 0 0 1.327853450685131 1.3278534506851307
0.2109987427513617 0.05830951894845301 1.4142135623730951 0.4301162633521313 0.7071067811865476
0.291547594742265 0.291547594742265 0.4301162633521313 1.118033988749895 0.1 0.15 0.05 32
0.41999999999999993 11 -1.5606477482646686 -5.026383651064395 0 0 -2.946942109384559 0.5
0.6931471805599453 0.25 0.25 0 0 121 0.9609060278364028 0.9609060278364028 0 0 0.9609060278364028 0 0 0
0 0 0 0.9609060278364028 0.9609060278364028 0 0 0.9609060278364028 0 0 0 0 0 0 0 0 0.044520469442655315
0 0 0 0 0 0 0 0 0 0 0 0.0034000000000000002 0 0 0 0 0 0 0 0.9609060278364028 0.9609060278364028 0 0
2.960906027836403 0 0 0 0 0 0 0 0 0 0 0 0.185 0 0 0 0 0 0 0 0 0 0 0 0.5000000000000001 0 0 0 0 0 0 0 0 0
0 0 0.08499999999999998 0 0 0 0 0 0 0 0 0 0 0 0.08499999999999998 0 0 0 0 0 0 0 0 0 0 0 0.185 0 0 0 0 0
0 0 0 0 0 0 1.2500000000000002 0
)";

TEST_CASE("the memory of an earlier version is read, and its models have no least computing time") {
    JobMemory memory;
    memory.load(saved_by_version_1);
    const JobHistory* history = memory.histories().find("a");
    REQUIRE(history != nullptr);
    REQUIRE(history->model().types.size() == 2);
    for (const TypeModel& type : history->model().types) {
        const auto& refined = std::get<RefinedThroughput>(type.throughput);
        CHECK(refined.launch_seconds == 0);
        CHECK(refined.iteration_seconds({1, 1}, {32, 0}) > 0);
    }
    CHECK(history->model().types[0].iteration_seconds({1, 1}, {32, 0}) == doctest::Approx(0.42));
    // Now it writes the current version.
    const std::string saved = memory.save();
    CHECK(saved.starts_with("goodput job memory 2\n"));
    JobMemory next;
    next.load(saved);
    CHECK(next.save() == saved);
}

TEST_CASE("a text that no memory saved is refused, and the memory does not change") {
    JobMemory memory;
    Snapshot snapshot = snapshot_of({job_of("a", "k"), job_of("b")});
    memory.take_in(snapshot, std::vector<JobNews>{{.samples = {{0, sample_of(2, 32)}}, .wanted_batch = 50},
                                                  {.samples = {{1, sample_of(1, 16)}}}});
    memory.keep(snapshot, plan(snapshot));
    const std::string saved = memory.save();
    CHECK_THROWS_WITH_AS(memory.load("goodput job memory 3\n"),
                         doctest::Contains("saved memory: title is goodput job memory 3"),
                         std::invalid_argument);
    for (std::size_t length = 0; length < saved.size(); ++length)
        CHECK_THROWS_AS(memory.load(saved.substr(0, length)), std::invalid_argument);
    CHECK_THROWS_WITH_AS(memory.load(saved + " 7"), doctest::Contains("is '7', but must be the end"),
                         std::invalid_argument);
    CHECK(memory.save() == saved);
    // Any other character anywhere is either refused or gives a memory that can be saved and can plan.
    int taken = 0;
    for (std::size_t at = 0; at < saved.size(); ++at)
        for (const char other : {'-', '9', 'e', ' '}) {
            std::string changed = saved;
            changed[at] = other;
            JobMemory read;
            try {
                read.load(changed);
            } catch (const std::invalid_argument&) {
                continue;
            }
            ++taken;
            JobMemory again;
            again.load(read.save());
            CHECK(again.save() == read.save());
            Snapshot next = snapshot;
            read.take_in(next);
            CHECK(plan(next).faults.empty());
        }
    CHECK(taken > 10);
}

/// Jobs come one after another, each heavier than all before. Returns how many are stopped before they have
/// run for `least` seconds, and how many run at all.
std::array<int, 2> stopped_early(double minimum, double least) {
    JobMemory memory;
    Scheduler<GoodputPolicy> scheduler;
    Snapshot snapshot = snapshot_of({});
    std::map<std::string, double> started;
    int early = 0;
    double weight = 1;
    for (int round = 0; round < 30; ++round, snapshot.time_seconds += 60) {
        for (int i = 0; i < 2; ++i) {
            snapshot.jobs.push_back(job_of("job " + std::to_string(2 * round + i)));
            snapshot.jobs.back().min_gpus = 4;
            snapshot.jobs.back().restart_cost_seconds = 60;
            snapshot.jobs.back().submitted_seconds = snapshot.time_seconds;
            snapshot.jobs.back().weight = weight *= 3;
            snapshot.jobs.back().minimum_run_seconds = minimum;
        }
        memory.take_in(snapshot);
        const Plan& plan = scheduler.plan(snapshot);
        memory.keep(snapshot, plan);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Job& job = snapshot.jobs[j];
            const Decision& decision = plan.decisions[j];
            early += decision.stops() && snapshot.time_seconds < started.at(job.name) + least ? 1 : 0;
            if (decision.starts) started[job.name] = snapshot.time_seconds;
            job.placement = decision.placement;
        }
    }
    return {early, static_cast<int>(started.size())};
}

TEST_CASE("no job is stopped within its minimum run time, and it may be after that") {
    CHECK(stopped_early(0, 180)[0] > 10);
    const auto [early, started] = stopped_early(180, 180);
    CHECK(early == 0);
    CHECK(started > 10);
    // The next job comes as soon as the minimum has passed.
    CHECK(stopped_early(180, 181)[0] > 5);
}

TEST_CASE("measurements while a job shares its GPUs do not count for its speed alone") {
    const auto seconds_after = [](bool shares) {
        JobMemory memory;
        Snapshot snapshot = snapshot_of({job_of("a"), job_of("b", "other")});
        for (double slowness : {1.0, 1.2}) {
            memory.take_in(snapshot,
                           std::vector<JobNews>{{.samples = {{0, sample_of(1, 32, slowness)}}}, {}});
            Plan next = plan(snapshot);
            if (shares) next.decisions[0].shares_with = 1;
            memory.keep(snapshot, next);
            snapshot.time_seconds += 60;
        }
        memory.take_in(snapshot);
        return snapshot.models[0].types[0].iteration_seconds({1, 1}, {32, 0});
    };
    CHECK(seconds_after(true) == doctest::Approx(sample_of(1, 32).step_seconds).epsilon(0.05));
    CHECK(seconds_after(false) > 1.05 * seconds_after(true));
}

}  // namespace schedule_memory
