// Tests what is remembered of a job: one sample per configuration, repeated samples averaged, models
// refitted only after a change.

#include <cmath>
#include <string>

#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "peers/sia/separate_models.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

const PolluxThroughput truth{0.05, 0.001, 0.08, 0.004, 0.03, 0.002, 1.8};

ThroughputSample sample_of(Shape shape, int batch) {
    const double compute = truth.compute_seconds(batch),
                 step = truth.step_seconds(compute, truth.sync_seconds(shape));
    return {shape, {batch, 0}, step, step - compute};
}

}  // namespace

TEST_CASE("the models of a history predict what was measured, on the types where it was measured") {
    JobFitter fitter;
    JobHistory history(3);
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}, Shape{4, 16}})
        for (const int batch : {16, 64, 256}) history.add(1, sample_of(shape, batch), "job");
    history.refit(fitter, "job");
    const JobModel& model = history.model();
    REQUIRE(model.types.size() == 3);
    CHECK(model.types[0].most_replicas == 0);
    CHECK(model.types[1].most_replicas == 16);
    CHECK(model.types[1].last_plan == BatchPlan{256, 0});
    for (const Shape shape : {Shape{1, 3}, Shape{2, 6}, Shape{3, 12}})
        CHECK(model.types[1].iteration_seconds(shape, {100, 2}) ==
              doctest::Approx(truth.iteration_seconds(shape, {100, 2})).epsilon(0.01));
}

TEST_CASE("a repeated measurement is averaged, not counted as another one") {
    JobFitter fitter;
    JobHistory noisy(1), once(1);
    support::Random random(1);
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}})
        for (const int batch : {16, 64}) {
            const ThroughputSample exact = sample_of(shape, batch);
            once.add(0, exact, "job");
            for (int repeat = 0; repeat < 100; ++repeat) {
                ThroughputSample sample = exact;
                const double noise = (random.unit() - 0.5) * 0.1 * exact.step_seconds;
                sample.step_seconds += noise;
                noisy.add(0, sample, "job");
            }
            CHECK(noisy.has_measured(0, shape, batch));
        }
    CHECK(!noisy.has_measured(0, {1, 3}, 16));
    noisy.refit(fitter, "job");
    once.refit(fitter, "job");
    const double a = noisy.model().types[0].iteration_seconds({1, 4}, {32, 0});
    const double b = once.model().types[0].iteration_seconds({1, 4}, {32, 0});
    CHECK(a == doctest::Approx(b).epsilon(0.02));
}

TEST_CASE("refined models: one for every GPU type, fitted together, and again only when something changed") {
    JobFitter fitter;
    JobHistory history(3);
    history.refit(fitter, "job");
    CHECK(history.fits().empty());
    CHECK_FALSE(history.model().types[1].fitted);
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}, Shape{4, 16}})
        for (const int batch : {16, 64, 256}) history.add(1, sample_of(shape, batch), "job");
    history.add(0, sample_of({1, 1}, 64), "job");
    history.refit(fitter, "job");
    const JobModel& model = history.model();
    for (const TypeModel& type : model.types) {
        CHECK(type.refined());
        CHECK(type.fitted);
    }
    CHECK(model.types[2].most_replicas == 0);
    for (const Shape shape : {Shape{1, 4}, Shape{2, 8}, Shape{4, 16}})
        CHECK(model.types[1].iteration_seconds(shape, {64, 2}) ==
              doctest::Approx(truth.iteration_seconds(shape, {64, 2})).epsilon(0.02));
    // The type known from one GPU borrows from the other, and lies nearer to the truth than an empty model.
    CHECK(model.types[0].iteration_seconds({2, 8}, {64, 0}) ==
          doctest::Approx(truth.iteration_seconds({2, 8}, {64, 0})).epsilon(0.5));
    const double before = model.types[1].iteration_seconds({2, 8}, {64, 0});
    history.refit(fitter, "job");
    CHECK(history.model().types[1].iteration_seconds({2, 8}, {64, 0}) == before);
}

TEST_CASE("a history is bounded: the oldest measurement of the fullest shape goes first") {
    JobHistory history(1);
    for (int batch = 1; batch <= 200; ++batch) history.add(0, sample_of({1, 1}, batch), "job");
    for (int batch = 1; batch <= 56; ++batch) history.add(0, sample_of({1, 2}, batch), "job");
    CHECK(history.has_measured(0, {1, 1}, 1));
    history.add(0, sample_of({1, 4}, 8), "job");
    CHECK_FALSE(history.has_measured(0, {1, 1}, 1));
    CHECK(history.has_measured(0, {1, 1}, 2));
    CHECK(history.has_measured(0, {1, 2}, 1));
    CHECK(history.has_measured(0, {1, 4}, 8));
}

TEST_CASE("an impossible measurement is refused and leaves the history as it was") {
    JobHistory history(1);
    CHECK_THROWS_WITH(history.add(0, {{1, 1}, {8, 0}, 0.1, 0.2}, "job 'x'"),
                      "job 'x': sample.sync_seconds is 0.2, but must be below the time of the step, 0.1");
    CHECK_THROWS_AS(history.add(0, {{2, 1}, {8, 0}, 0.1, 0}, "job 'x'"), std::invalid_argument);
    CHECK_THROWS_AS(history.add(0, {{1, 1}, {8, 0}, std::nan(""), 0}, "job 'x'"), std::invalid_argument);
    CHECK(history.model().types[0].most_replicas == 0);
}

TEST_CASE("until the next refit, a measurement does not change the model") {
    JobHistory history(1);
    JobFitter fitter;
    history.add(0, sample_of({1, 2}, 16), "job");
    // A job with nothing fitted runs like a job with nothing known.
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}}}};
    snapshot.jobs = {{.name = "job", .max_gpus = 4, .initial_batch = 32, .max_batch = 64}};
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}};
    const Plan unknown = plan(snapshot);
    REQUIRE(unknown.decisions[0].verdict.outcome == Outcome::runs);
    snapshot.models = {history.model()};
    const Plan unfitted = plan(snapshot);
    CHECK(unfitted.decisions[0].verdict.outcome == Outcome::runs);
    CHECK(unfitted.decisions[0].placement == unknown.decisions[0].placement);
    CHECK(unfitted.decisions[0].option.knowledge == Knowledge::unknown);

    history.refit(fitter, "job");
    CHECK(history.model().types.at(0).most_replicas == 2);
    history.add(0, sample_of({1, 4}, 16), "job");
    CHECK(history.model().types.at(0).most_replicas == 2);
    history.refit(fitter, "job");
    CHECK(history.model().types.at(0).most_replicas == 4);
    // A measurement that changes no average still counts as the newest.
    ThroughputSample again = sample_of({1, 4}, 16);
    again.plan.accumulation_steps = 3;
    history.add(0, again, "job");
    CHECK(history.model().types.at(0).last_plan == BatchPlan{16, 0});
    history.refit(fitter, "job");
    CHECK(history.model().types.at(0).last_plan == BatchPlan{16, 3});

    const auto check_each = [&](auto fitter) {
        JobHistory history(2);
        history.add(1, sample_of({1, 2}, 16), "job");
        history.add(1, sample_of({2, 8}, 64), "job");
        CHECK(history.model().types.at(1).most_replicas == 0);
        CHECK(history.model().types.at(1).last_plan == BatchPlan{});
        history.refit(fitter, "job");
        CHECK(history.model().types.at(1).most_replicas == 8);
        CHECK(history.model().types.at(1).last_plan == BatchPlan{64, 0});
    };
    check_each(peers::ExactHistoryFitter());
    check_each(peers::PublishedHistoryFitter());
    check_each(JobFitter());
}

TEST_CASE("a job that declares its rates has models of all GPU types before it runs") {
    support::Random random(5);
    for (int trial = 0; trial < 50; ++trial) {
        Job job{.name = "job", .max_gpus = 8, .initial_batch = random.integer(8, 256), .max_batch = 1 << 14};
        for (std::size_t t = 0; t < 3; ++t)
            job.types.push_back({.max_atomic_batch = random.integer(64, 4096),
                                 .reference_rate = t == 2 ? 0 : random.between(10, 10000)});
        JobHistory history;
        CHECK_FALSE(history.begun());
        history.begin(job);
        CHECK(history.begun());
        history.begin(job);
        JobFitter fitter;
        history.refit(fitter, job.name);
        REQUIRE(history.model().types.size() == 3);
        for (std::size_t t = 0; t < 3; ++t) {
            const TypeModel& type = history.model().types[t];
            CHECK(type.fitted);
            CHECK(history.fits()[t].fit.samples == (t == 2 ? 0 : 1));
            if (t == 2) continue;
            const double largest = job.types[t].max_atomic_batch;
            CHECK(largest / type.compute_seconds(largest) ==
                  doctest::Approx(job.types[t].reference_rate).epsilon(0.05));
            // Half of the time at the initial batch does not depend on the batch.
            const auto& fitted = std::get<RefinedThroughput>(type.throughput);
            CHECK(fitted.alpha_c == doctest::Approx(fitted.beta_c * job.initial_batch).epsilon(0.1));
        }
    }
}

TEST_CASE("Unmeasured parts of a step are taken from steps with measured parts") {
    JobHistory history(1);
    const auto add = [&](double step, std::optional<double> sync) {
        history.add(0, {{1, 4}, {32, 0}, step, sync.value_or(0), {}, sync.has_value()}, "job");
    };
    const auto known = [&] { return *history.measured(0, {1, 4}, 32); };
    add(0.4, std::nullopt);
    CHECK_FALSE(known().sync_known);
    CHECK_FALSE(known().compute_seconds());
    add(0.6, 0.12);  // a fifth of the step
    CHECK(known().sync_known);
    CHECK(known().step_seconds == doctest::Approx(0.5));
    CHECK(known().sync_seconds == doctest::Approx(0.1));
    add(0.8, std::nullopt);
    CHECK(known().step_seconds == doctest::Approx(0.6));
    CHECK(known().sync_seconds == doctest::Approx(0.12));
    CHECK_THROWS_WITH(history.add(0, {{1, 4}, {32, 0}, 0.5, 0.1, {}, false}, "job 'x'"),
                      "job 'x': sample.sync_seconds is 0.1, but must be 0 where it is unknown");
}
