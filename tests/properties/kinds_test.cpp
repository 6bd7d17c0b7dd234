// Properties of what jobs of a kind tell each other about their speed: names and other kinds make no
// difference, nor do jobs that left their kind, nor what was undone.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/schedule/job_kinds.hpp"

#include "peers/sia/separate_models.hpp"
#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using support::Random;

namespace {

/// Uses the published form, which is fitted fast. Which jobs share what does not depend on the form.
struct SharedSpeeds : KindHistories {
    SharedSpeeds() : KindHistories(peers::ExactHistoryFitter()) {}
};

constexpr std::array<Shape, 4> kind_shapes{Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}};
constexpr std::array<int, 3> kind_batches{16, 64, 256};
const PolluxThroughput kind_speed{0.05, 0.001, 0.08, 0.004, 0.03, 0.002, 1.8};

Job job_of_kind(const std::string& kind, const std::string& name) {
    Job job{.name = name, .kind = kind, .max_gpus = 8, .initial_batch = 32, .max_batch = 4096};
    job.types.assign(2, {.max_atomic_batch = 256});
    return job;
}

/// A job and a measurement of it.
struct Measurement {
    Job job;
    std::size_t type;
    ThroughputSample sample;
    bool refit;
};

template <std::size_t count, class Value>
Value one_of(Random& random, const std::array<Value, count>& values) {
    return values[static_cast<std::size_t>(random.integer(0, static_cast<int>(count) - 1))];
}

/// Runs of three programs. Most runs of a program differ by less than a fourth.
std::vector<Measurement> random_measurements(Random& random, double odd) {
    std::vector<Measurement> all;
    for (int count = random.integer(1, 25); count > 0; --count) {
        const int program = random.integer(0, 2);
        Measurement one{job_of_kind("kind " + std::to_string(program),
                                    std::to_string(program) + std::to_string(random.integer(0, 2))),
                        static_cast<std::size_t>(random.integer(0, 1)),
                        {one_of(random, kind_shapes), {one_of(random, kind_batches), 0}},
                        random.chance(0.3)};
        for (TypeLimits& limits : one.job.types)
            limits.reference_rate = random.chance(0.2) ? random.between(500, 900) : 0;
        const double times = (1 + program) * (random.chance(odd) ? 3 : random.between(0.95, 1.05));
        one.sample.step_seconds = times * kind_speed.iteration_seconds(one.sample.shape, one.sample.plan);
        one.sample.sync_seconds = one.sample.step_seconds * random.between(0, 0.5);
        all.push_back(one);
    }
    return all;
}

template <class Histories>
void tell(Histories& histories, const Measurement& one) {
    histories.meet(one.job);
    histories.add(one.job, one.type, one.sample);
    if (one.refit) histories.refit(one.job);
}
template <class Histories>
void tell_all(Histories& histories, const std::vector<Measurement>& all) {
    for (const Measurement& one : all) tell(histories, one);
}

/// Returns all that the histories say of a job: models before and after the next fit, and measurements.
template <class Histories>
std::vector<double> said_of(Histories& histories, const Job& job) {
    std::vector<double> said;
    const auto look = [&] {
        for (const TypeModel& type : histories.of(job).model().types) {
            said.insert(said.end(), {1.0 * type.most_replicas, 1.0 * type.last_plan.atomic_batch});
            for (const Shape shape : kind_shapes)
                for (const int batch : kind_batches)
                    said.push_back(type.iteration_seconds(shape, {batch, 1}));
        }
    };
    look();
    for (std::size_t t = 0; t < job.types.size(); ++t)
        for (const Shape shape : kind_shapes)
            for (const int batch : kind_batches) {
                const ThroughputSample* const sample = histories.of(job).measured(t, shape, batch);
                said.push_back(sample ? sample->step_seconds : 0);
                said.push_back(sample ? sample->sync_seconds : 0);
            }
    histories.refit(job);
    look();
    return said;
}

/// Returns the same job with another name and kind, which sort in another order than before.
Job renamed(Job job) {
    const auto turned = [](std::string name) {
        for (char& letter : name) letter = static_cast<char>('z' - (letter - '0') % 16);
        return name;
    };
    job.name = "job " + turned(job.name);
    job.kind = "batch " + turned(job.kind);
    return job;
}

template <class Histories>
void check_undone(Case& one, double odd) {
    Histories tried, never_tried;
    std::vector<Measurement> met;
    for (int round = one.random.integer(1, 4); round > 0; --round) {
        const std::vector<Measurement> all = random_measurements(one.random, odd);
        const bool counts = one.random.chance(0.5);
        tried.begin_trial();
        tell_all(tried, all);
        if (counts) {
            tell_all(never_tried, all);
            met.insert(met.end(), all.begin(), all.end());
        } else {
            tried.undo();
            one.count("undone");
        }
        if (one.random.chance(0.3)) {
            const auto keep = [&](const std::string& name) { return name.ends_with("0"); };
            tried.forget_unless(keep);
            never_tried.forget_unless(keep);
            std::erase_if(met, [&](const Measurement& known) { return !keep(known.job.name); });
        }
    }
    for (const Measurement& a : met) {
        REQUIRE(said_of(tried, a.job) == said_of(never_tried, a.job));
        for (const Measurement& b : met)
            REQUIRE((&tried.of(a.job) == &tried.of(b.job)) ==
                    (&never_tried.of(a.job) == &never_tried.of(b.job)));
    }
}

}  // namespace

TEST_CASE("kinds: rounds that are undone leave everything as if they had never been, bit for bit") {
    for_all(10, [](Case& one) { check_undone<SharedSpeeds>(one, 0.1); });
    for_all(40, [](Case& one) { check_undone<KindHistories>(one, 0.1); });
}

TEST_CASE("kinds: names and jobs of other kinds make no difference, bit for bit") {
    for_all(10, [](Case& one) {
        const std::vector<Measurement> all = random_measurements(one.random, 0.1);
        SharedSpeeds together, apart, other;
        tell_all(together, all);
        const std::string kind = all.front().job.kind;
        for (Measurement measurement : all) {
            if (measurement.job.kind == kind) tell(apart, measurement);
            measurement.job = renamed(measurement.job);
            tell(other, measurement);
        }
        for (const Measurement& measurement : all) {
            const std::vector<double> said = said_of(together, measurement.job);
            REQUIRE(said_of(other, renamed(measurement.job)) == said);
            if (measurement.job.kind == kind) REQUIRE(said_of(apart, measurement.job) == said);
        }
    });
}

TEST_CASE("kinds: it does not matter which job of a kind measured what, if all are the same program") {
    for_all(10, [](Case& one) {
        const std::vector<Measurement> all = random_measurements(one.random, 0);
        SharedSpeeds histories, other;
        for (Measurement measurement : all) {
            tell(histories, measurement);
            measurement.job.name = measurement.job.kind + std::to_string(one.random.integer(0, 5));
            tell(other, measurement);
        }
        for (const Measurement& measurement : all) {
            const Job late = job_of_kind(measurement.job.kind, "late " + measurement.job.kind);
            histories.meet(late);
            other.meet(late);
            REQUIRE(said_of(histories, late) == said_of(other, late));
            REQUIRE(&histories.of(late) == &histories.of(measurement.job));
        }
    });
}

TEST_CASE("kinds: a job of another speed changes no model of the others from then on, whatever it measures") {
    for_all(10, [](Case& one) {
        const std::vector<Measurement> all = random_measurements(one.random, 0);
        SharedSpeeds without, with;
        tell_all(without, all);
        Measurement odd =
            all[static_cast<std::size_t>(one.random.integer(0, static_cast<int>(all.size()) - 1))];
        odd.job.name = "odd";
        without.meet(odd.job);
        with = without;
        const double times =
            one.random.chance(0.5) ? one.random.between(1.26, 100) : one.random.between(0.01, 0.79);
        const ThroughputSample* const known =
            with.of(odd.job).measured(odd.type, odd.sample.shape, odd.sample.plan.atomic_batch);
        if (!known) {  // the model predicted this measurement, so it was left out
            one.count("without a measurement to deviate from");
            return;
        }
        odd.sample.step_seconds = times * known->step_seconds;
        odd.sample.sync_seconds = 0;
        for (int measured = one.random.integer(1, 20); measured > 0; --measured) {
            tell(with, odd);
            odd.type = static_cast<std::size_t>(one.random.integer(0, 1));
            odd.sample.shape = one_of(one.random, kind_shapes);
            odd.sample.step_seconds *= one.random.between(0.5, 2);
        }
        for (const Measurement& measurement : all) {
            REQUIRE(&with.of(measurement.job) != &with.of(odd.job));
            REQUIRE(said_of(with, measurement.job) == said_of(without, measurement.job));
        }
    });
}

TEST_CASE("kinds: jobs are forgotten, but not their kinds, and never a job that is present") {
    for_all(10, [](Case& one) {
        const std::vector<Measurement> all = random_measurements(one.random, 0.1);
        SharedSpeeds kept, forgetful;
        tell_all(kept, all);
        forgetful = kept;
        const bool crowded = one.random.chance(0.01);  // more kinds come than are remembered
        for (std::size_t k = 0; crowded && k < 2 * SharedSpeeds::most_kinds; ++k)
            forgetful.meet(job_of_kind("other " + std::to_string(k), "passes by"));
        const auto stays = [&](const std::string& name) { return name.ends_with("0"); };
        forgetful.forget_unless(stays);
        for (const Measurement& measurement : all) {
            if (stays(measurement.job.name)) {
                REQUIRE(said_of(forgetful, measurement.job) == said_of(kept, measurement.job));
            } else if (!crowded) {
                const Job next = job_of_kind(measurement.job.kind, "next");
                for (SharedSpeeds* histories : {&kept, &forgetful}) {
                    histories->forget_unless([](const std::string& name) { return name != "next"; });
                    histories->meet(next);
                }
                REQUIRE(said_of(forgetful, next) == said_of(kept, next));
            }
        }
    });
}
