// Tests what jobs of one kind learn from each other about their speed.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "goodput/schedule/detail/kind_of.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/sim/modelling.hpp"
#include "peers/sia/separate_models.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

const PolluxThroughput speed{0.05, 0.001, 0.08, 0.004, 0.03, 0.002, 1.8};

/// A measurement of a program whose steps take `times` times as long as those of `speed`.
ThroughputSample measured(Shape shape, int batch, double times = 1) {
    const double compute = speed.compute_seconds(batch),
                 step = speed.step_seconds(compute, speed.sync_seconds(shape));
    return {shape, {batch, 0}, times * step, times * (step - compute)};
}

Job run_of(const std::string& kind, const std::string& name, std::vector<double> rates = {0, 0}) {
    Job job{.name = name, .kind = kind, .max_gpus = 8, .initial_batch = 32, .max_batch = 4096};
    for (const double rate : rates) job.types.push_back({.max_atomic_batch = 256, .reference_rate = rate});
    return job;
}

const std::vector<Shape> shapes{{1, 1}, {1, 2}, {1, 4}, {2, 8}};
const std::vector<int> batches{16, 64, 256};

/// Returns a model's step times for all sizes, on all GPU types.
std::vector<double> steps_of(const JobModel& model) {
    std::vector<double> steps;
    for (const TypeModel& type : model.types) {
        steps.push_back(type.most_replicas);
        for (const Shape shape : shapes)
            for (const int batch : batches) steps.push_back(type.iteration_seconds(shape, {batch, 0}));
    }
    return steps;
}

/// Returns what is known of a job now.
std::vector<double> known(KindHistories& kinds, const Job& job) {
    kinds.refit(job);
    return steps_of(kinds.of(job).model());
}

void check_close(const std::vector<double>& a, const std::vector<double>& b, double epsilon = 1e-6) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == doctest::Approx(b[i]).epsilon(epsilon));
}

/// Returns histories that have met one run of each of these jobs.
KindHistories met(const std::vector<Job>& jobs) {
    KindHistories kinds;
    for (const Job& job : jobs) kinds.meet(job);
    return kinds;
}

}  // namespace

TEST_CASE("jobs of one kind share their measurements, and other jobs know nothing of them") {
    const Job one = run_of("bert", "one"), two = run_of("bert", "two"), other = run_of("resnet", "other");
    KindHistories kinds = met({one, two, other});
    CHECK(&kinds.of(one) == &kinds.of(two));
    CHECK(&kinds.of(one) != &kinds.of(other));
    for (const Shape shape : shapes)
        for (const int batch : batches) kinds.add(batch == 64 ? two : one, 1, measured(shape, batch));
    kinds.refit(two);
    for (const Job& job : {one, two})
        for (const Shape shape : shapes)
            CHECK(kinds.of(job).model().types[1].iteration_seconds(shape, {100, 0}) ==
                  doctest::Approx(speed.iteration_seconds(shape, {100, 0})).epsilon(0.05));
    kinds.refit(other);
    CHECK_FALSE(kinds.of(other).model().types[1].fitted);
    // A job that comes later starts with this knowledge.
    const Job late = run_of("bert", "late");
    kinds.meet(late);
    CHECK(known(kinds, late) == known(kinds, one));
    CHECK(kinds.of(late).has_measured(1, {1, 4}, 16));
}

TEST_CASE("without a stated kind, runs with the same limits and rates are of one kind") {
    support::Random random(1);
    for (int trial = 0; trial < 200; ++trial) {
        Job one = run_of("", "one", {100, 200}), two = one;
        two.name = "two";
        // These fields say nothing about the program.
        two.submitted_seconds = random.between(0, 1e6);
        two.max_gpus = random.integer(1, 64);
        two.restarts = random.integer(0, 9);
        two.max_batch = random.integer(32, 4096);
        two.done_examples = random.between(0, 1e6);
        CHECK(kind_of(one) == kind_of(two));
        const auto type = static_cast<std::size_t>(random.integer(0, 1));
        switch (random.integer(0, 5)) {
            case 0:
                two.initial_batch = random.integer(33, 100);
                break;
            case 1:
                two.types[type].max_atomic_batch = random.integer(257, 300);
                break;
            case 2:
                two.types[type].min_atomic_batch = random.integer(2, 30);
                break;
            case 3:
                two.types[type].gpus_per_replica = random.integer(2, 8);
                break;
            case 4:
                two.types[type].reference_rate = random.between(0, 99);
                break;
            default:
                two.adaptivity = Adaptivity::gpus;
                two.target_batch = random.integer(1, 100);
        }
        CHECK(kind_of(one) != kind_of(two));
        // A name that looks like a description is not treated as one.
        Job named = one;
        named.kind = kind_of(one);
        CHECK(kind_of(named) != kind_of(one));
        one.kind = two.kind = "bert";
        CHECK(kind_of(one) == kind_of(two));
    }
}

TEST_CASE(
    "a job whose step differs by more than a fourth leaves its kind, and each learns by itself from then "
    "on") {
    for (const double times : {0.5, 0.79, 0.81, 1.0, 1.24, 1.26, 4.0}) {
        CAPTURE(times);
        const bool leaves = times > 1.25 || times < 0.8;
        const Job one = run_of("bert", "one"), two = run_of("bert", "two"), three = run_of("bert", "three");
        KindHistories kinds = met({one, two, three});
        kinds.add(one, 0, measured({1, 1}, 64));
        const std::vector<double> before = known(kinds, one);
        kinds.add(two, 0, measured({1, 1}, 64, times));
        CHECK((&kinds.of(two) != &kinds.of(one)) == leaves);
        CHECK(&kinds.of(three) == &kinds.of(one));
        if (!leaves) continue;
        CHECK(known(kinds, one) == before);
        // From then on the job's own measurements are its only knowledge.
        KindHistories alone = met({run_of("another", "two")});
        alone.add(run_of("another", "two"), 0, measured({1, 1}, 64, times));
        CHECK(known(kinds, two) == known(alone, run_of("another", "two")));
        // Neither job influences the other any more, whatever it measures.
        kinds.add(two, 0, measured({1, 4}, 256, times));
        kinds.add(two, 1, measured({1, 1}, 16, times));
        kinds.add(two, 0, measured({1, 1}, 64, 100 * times));
        kinds.meet(two);
        CHECK(known(kinds, one) == before);
        const std::vector<double> own = known(kinds, two);
        kinds.add(three, 0, measured({1, 2}, 16));
        CHECK(known(kinds, two) == own);
        CHECK(known(kinds, one) != before);
        // Its next run belongs to the kind again.
        kinds.forget_unless([](const std::string& name) { return name != "two"; });
        kinds.meet(two);
        CHECK(&kinds.of(two) == &kinds.of(one));
    }
}

TEST_CASE("a job that leaves its kind keeps the rates that it declares") {
    const Job one = run_of("bert", "one", {500, 1000}), two = run_of("bert", "two", {500, 1000});
    KindHistories kinds = met({one, two});
    kinds.add(one, 0, measured({1, 1}, 64));
    kinds.add(two, 0, measured({1, 1}, 64, 2));
    REQUIRE(&kinds.of(one) != &kinds.of(two));
    JobHistory alone;
    alone.begin(two);
    alone.add(0, measured({1, 1}, 64, 2), "two");
    JobFitter fitter;
    alone.refit(fitter, "two");
    CHECK(known(kinds, two) == steps_of(alone.model()));
}

TEST_CASE("rates count whenever they come, as if they had been there from the start") {
    support::Random random(2);
    for (int trial = 0; trial < 20; ++trial) {
        const std::vector<double> rates{random.between(500, 2000), random.between(500, 2000)};
        const Job silent = run_of("bert", "job"), told = run_of("bert", "job", rates);
        KindHistories late = met({silent}), early = met({told});
        for (const Shape shape : {Shape{1, 1}, Shape{1, 4}}) {
            late.add(silent, 0, measured(shape, 64));
            early.add(told, 0, measured(shape, 64));
        }
        if (random.chance(0.5)) late.refit(silent);
        late.meet(told);
        check_close(known(late, told), known(early, told), 0.01);
        CHECK(late.of(told).model().types[1].most_replicas == 1);
        // Being told again changes nothing.
        const std::vector<double> before = known(late, told);
        for (int again = 0; again < 3; ++again) late.meet(told);
        CHECK(known(late, told) == before);
        // A corrected rate replaces the earlier one.
        const Job corrected = run_of("bert", "job", {rates[0], 2 * rates[1]});
        KindHistories right = met({corrected});
        for (const Shape shape : {Shape{1, 1}, Shape{1, 4}}) right.add(corrected, 0, measured(shape, 64));
        late.meet(corrected);
        check_close(known(late, corrected), known(right, corrected), 0.01);
    }
}

TEST_CASE("a declared rate gives way to the first measurement of the same step") {
    // The job declares ten times its real speed.
    const double seconds = measured({1, 1}, 256).step_seconds;
    const Job boasts = run_of("bert", "job", {10 * 256 / seconds, 0}), silent = run_of("bert", "job");
    KindHistories kinds = met({boasts}), honest = met({silent});
    CHECK_FALSE(kinds.of(boasts).has_measured(0, {1, 1}, 256));
    kinds.refit(boasts);
    CHECK(kinds.of(boasts).model().types[0].iteration_seconds({1, 1}, {256, 0}) ==
          doctest::Approx(seconds / 10).epsilon(0.1));
    for (const int batch : {256, 16}) {
        kinds.add(boasts, 0, measured({1, 1}, batch));
        honest.add(silent, 0, measured({1, 1}, batch));
    }
    // A job that contradicts a declared rate does not leave the kind for it.
    const Job other = run_of("bert", "other", {10 * 256 / seconds, 0});
    kinds.meet(other);
    CHECK(&kinds.of(other) == &kinds.of(boasts));
    CHECK(kinds.of(boasts).has_measured(0, {1, 1}, 256));
    CHECK(kinds.of(boasts).measured(0, {1, 1}, 256)->step_seconds == doctest::Approx(seconds));
    check_close(known(kinds, boasts), known(honest, silent), 0.01);
    // The measurement stays, whether the rate is declared again or changed.
    const std::vector<double> before = known(kinds, boasts);
    kinds.meet(run_of("bert", "job", {20 * 256 / seconds, 0}));
    CHECK(known(kinds, boasts) == before);
}

TEST_CASE("rates that no step can have do not count as measurements") {
    for (const double rate : {0.0, 1e-300, 1e300}) {
        CHECK(JobHistory::seconds_of_rate({.max_atomic_batch = 256, .reference_rate = rate}) == 0);
        const Job job = run_of("bert", "job", {rate, rate});
        KindHistories kinds = met({job});
        kinds.refit(job);
        CHECK_FALSE(kinds.of(job).model().types[0].fitted);
    }
    CHECK(JobHistory::seconds_of_rate({.reference_rate = 100}) == 0);  // the job does not run on that type
    CHECK(JobHistory::seconds_of_rate({.max_atomic_batch = 256, .reference_rate = 128}) == 2);
}

TEST_CASE("a job whose description changes is of another kind, which starts with what it knew") {
    Job one = run_of("", "one"), two = run_of("", "two");
    KindHistories kinds = met({one, two});
    kinds.add(one, 0, measured({1, 1}, 64));
    kinds.add(one, 0, measured({1, 2}, 64));
    const std::vector<double> before = known(kinds, one);
    one.types[0].max_atomic_batch = 512;
    kinds.meet(one);
    CHECK(&kinds.of(one) != &kinds.of(two));
    CHECK(known(kinds, one) == before);
    kinds.add(one, 0, measured({1, 4}, 512));
    CHECK(known(kinds, one) != before);
    CHECK(known(kinds, two) == before);
    // A kind that already exists accepts the job, but not what the job knew.
    const std::vector<double> larger = known(kinds, one);
    kinds.add(two, 1, measured({1, 1}, 16));
    two.types[0].max_atomic_batch = 512;
    kinds.meet(two);
    CHECK(&kinds.of(one) == &kinds.of(two));
    CHECK(known(kinds, two) == larger);
}

TEST_CASE("it does not matter in which order the jobs of a kind are met and measured") {
    support::Random random(3);
    for (int trial = 0; trial < 20; ++trial) {
        std::vector<Job> jobs;
        for (int j = 0; j < 5; ++j)
            jobs.push_back(run_of(j < 3 ? "bert" : "", "job-" + std::to_string(j), {800, 1600}));
        struct Told {
            std::size_t job, type;
            ThroughputSample sample;
        };
        std::vector<Told> all;
        for (int i = random.integer(1, 20); i > 0; --i)
            all.push_back({static_cast<std::size_t>(random.integer(0, 4)),
                           static_cast<std::size_t>(random.integer(0, 1)),
                           measured(shapes[static_cast<std::size_t>(random.integer(0, 3))],
                                    batches[static_cast<std::size_t>(random.integer(0, 2))],
                                    random.between(0.95, 1.05))});
        const auto models = [&] {
            KindHistories kinds = met(jobs);
            for (const Told& told : all)
                kinds.add(run_of(told.job < 3 ? "bert" : "", "job-" + std::to_string(told.job), {800, 1600}),
                          told.type, told.sample);
            return std::pair(known(kinds, run_of("bert", "job-0", {800, 1600})),
                             known(kinds, run_of("", "job-4", {800, 1600})));
        };
        const auto first = models();
        std::reverse(jobs.begin(), jobs.end());
        std::reverse(all.begin(), all.end());
        const auto second = models();
        check_close(first.first, second.first, 1e-3);
        check_close(first.second, second.second, 1e-3);
    }
}

TEST_CASE("jobs are forgotten, their kinds are not, until there are too many of them") {
    KindHistories kinds;
    const auto nobody = [](const std::string&) { return false; };
    const Job bert = run_of("bert", "one");
    kinds.meet(bert);
    kinds.add(bert, 0, measured({1, 1}, 64));
    const std::vector<double> before = known(kinds, bert);
    kinds.forget_unless(nobody);
    const Job later = run_of("bert", "two");
    kinds.meet(later);
    CHECK(known(kinds, later) == before);

    constexpr int most = static_cast<int>(KindHistories::most_kinds);
    const auto come_and_go = [&](int first, int count) {
        for (int k = first; k < first + count; ++k) {
            const Job job = run_of(std::to_string(k), "job");
            kinds.forget_unless([&](const std::string& name) { return name == "two"; });
            kinds.meet(job);
            kinds.add(job, 0, measured({1, 1}, 64));
            kinds.forget_unless([](const std::string&) { return true; });
        }
    };
    const auto remembered = [&](int k) {
        return kinds.of(run_of(std::to_string(k), "asks " + std::to_string(k))).has_measured(0, {1, 1}, 64);
    };
    come_and_go(0, 2 * most);
    // The kind of the job that still exists stays, and so do the kinds needed last.
    CHECK(known(kinds, later) == before);
    CHECK(remembered(2 * most - 1));
    CHECK(remembered(most + 10));
    CHECK_FALSE(remembered(most - 10));
    CHECK_FALSE(remembered(0));
}

TEST_CASE("however many jobs leave their kinds and end, no kind is forgotten because of them") {
    KindHistories kinds;
    const Job bert = run_of("bert", "first");
    kinds.meet(bert);
    kinds.add(bert, 0, measured({1, 1}, 64));
    for (std::size_t j = 0; j < 2 * KindHistories::most_kinds; ++j) {
        const Job job = run_of("resnet", "job-" + std::to_string(j));
        kinds.meet(job);
        kinds.add(job, 0, measured({1, 1}, 64, j == 0 ? 1 : 2));
        kinds.forget_unless([&](const std::string& name) { return name == job.name; });
    }
    kinds.meet(bert);
    CHECK(kinds.of(bert).has_measured(0, {1, 1}, 64));
}

TEST_CASE("news on trial are forgotten as if they had not come") {
    support::Random random(4);
    const auto random_job = [&] {
        return run_of(random.chance(0.5) ? "bert" : "resnet", "job-" + std::to_string(random.integer(0, 4)),
                      random.chance(0.5) ? std::vector<double>{0, 0} : std::vector<double>{500, 900});
    };
    const auto random_sample = [&] {
        return measured(shapes[static_cast<std::size_t>(random.integer(0, 3))],
                        batches[static_cast<std::size_t>(random.integer(0, 2))],
                        random.chance(0.2) ? 3 : random.between(0.9, 1.1));
    };
    for (int trial = 0; trial < 20; ++trial) {
        KindHistories tried, never_tried;
        for (int round = 0; round < 6; ++round) {
            const bool counts = random.chance(0.5);
            tried.begin_trial();
            for (int i = random.integer(0, 4); i > 0; --i) {
                const Job job = random_job();
                const auto type = static_cast<std::size_t>(random.integer(0, 1));
                const ThroughputSample sample = random_sample();
                const bool fits = random.chance(0.5);
                const auto tell = [&](KindHistories& kinds) {
                    kinds.meet(job);
                    kinds.add(job, type, sample);
                    if (fits) kinds.refit(job);
                };
                tell(tried);
                if (counts) tell(never_tried);
            }
            if (!counts) tried.undo();
        }
        // Questions asked now meet all jobs in the same way.
        for (int j = 0; j < 5; ++j)
            for (const char* kind : {"bert", "resnet"}) {
                const Job job = run_of(kind, "job-" + std::to_string(j));
                tried.meet(job);
                never_tried.meet(job);
                CHECK(known(tried, job) == known(never_tried, job));
            }
    }
}

TEST_CASE("undoing twice equals undoing once, and what is kept is not undone") {
    const Job job = run_of("bert", "job");
    KindHistories kinds = met({job});
    kinds.add(job, 0, measured({1, 1}, 64));
    const std::vector<double> before = known(kinds, job);
    kinds.begin_trial();
    kinds.add(job, 0, measured({1, 4}, 64));
    kinds.undo();
    kinds.undo();
    CHECK(known(kinds, job) == before);
    kinds.begin_trial();
    kinds.add(job, 0, measured({1, 4}, 64));
    kinds.forget_unless([](const std::string&) { return true; });
    kinds.undo();
    CHECK(kinds.of(job).has_measured(0, {1, 4}, 64));
}

TEST_CASE("jobs that were only asked about, and fits, are forgotten with a trial, too") {
    const Job one = run_of("bert", "one"), two = run_of("bert", "two"), moved = run_of("resnet", "two");
    const auto learned = [&](bool asked, bool fitted) {
        KindHistories kinds = met({one});
        kinds.add(one, 0, measured({1, 1}, 64));
        kinds.begin_trial();
        if (asked) (void)kinds.of(two);
        if (fitted) kinds.refit(one);
        kinds.undo();
        kinds.meet(moved);
        kinds.add(one, 0, measured({1, 4}, 64));
        return std::pair{known(kinds, one), known(kinds, moved)};
    };
    CHECK(learned(true, false) == learned(false, false));
    CHECK(learned(false, true) == learned(false, false));
}

TEST_CASE("an initial batch that no job can have is refused, and its kind is as it was") {
    KindHistories kinds;
    Job bad = run_of("bert", "bad");
    bad.initial_batch = std::numeric_limits<int>::max();
    CHECK_THROWS_WITH_AS(kinds.meet(bad), "job 'bad': initial_batch is 2147483647, but must be at most 2^30",
                         std::invalid_argument);
    const Job good = run_of("bert", "good");
    kinds.meet(good);
    kinds.add(good, 0, measured({1, 1}, 64));
    CHECK_NOTHROW(kinds.refit(good));
}

TEST_CASE("a bad measurement is refused and changes nothing") {
    const Job job = run_of("bert", "one");
    KindHistories kinds = met({job});
    CHECK_THROWS_WITH(kinds.add(job, 0, {{1, 1}, {8, 0}, 0.1, 0.2}),
                      "job 'one': sample.sync_seconds is 0.2, but must be below the time of the step, 0.1");
    kinds.refit(job);
    CHECK_FALSE(kinds.of(job).model().types[0].fitted);
    CHECK(kinds.of(job).fits().empty());
}

TEST_CASE("in a replay, jobs of one kind learn together with refined models, and alone with separate ones") {
    const Job one = run_of("bert", "one", {900, 0}), two = run_of("bert", "two", {900, 0});
    RefinedModels refined;
    JobHistory own;
    JobHistory* history = refined.begin(one);
    REQUIRE(history);
    CHECK(history->model().types[0].fitted);  // from the declared rate
    CHECK(refined.begin(two) == history);
    CHECK(refined.add(one, own, 1, measured({1, 2}, 64)) == history);
    CHECK(history->model().types[1].most_replicas == 2);
    CHECK(refined.add(two, own, 1, measured({1, 2}, 64, 2)) != history);
    CHECK(own.model().types.empty());

    peers::SeparateModels separate;
    CHECK(separate.begin(one) == nullptr);
    CHECK(separate.add(one, own, 1, measured({1, 2}, 64)) == nullptr);
    CHECK(own.model().types[1].most_replicas == 2);
}
