// A user's own worlds: with known rates of progress, a replay gives the times computed without it. In any
// world no job progresses without GPUs, and jobs never hold more than there is.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "sim/work_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::rigid_job;
using support::WorkWorld;

namespace {

/// A WorkWorld in which starts take time.
struct WorldWithStarts : WorkWorld {
    double start_seconds = 0;
    [[nodiscard]] double start(std::size_t, const Configuration&) const { return start_seconds; }
};

/// The same world with rounds that end as soon as no job has work left in them.
struct WorldThatShortens : WorldWithStarts {
    [[nodiscard]] double round_until(const RoundAhead& round) const {
        return round.until_last(
            [&](std::size_t job, const Configuration& held, double begin, double seconds) {
                return begin + std::min(left[job] / held.gpus(), seconds);
            });
    }
};

/// A world in which a job holds its GPUs and never does anything.
struct WorldThatStandsStill : WorkWorld {
    std::optional<double> train(std::size_t, const Configuration&, double, double) { return std::nullopt; }
    [[nodiscard]] double round_until(const RoundAhead& round) const {
        return round.running.empty() ? round.idle_until() : round.begin_seconds;
    }
};

static_assert(UnevenWorld<WorldThatShortens> && !UnevenWorld<WorkWorld>);
static_assert(World<WorkWorld> && !ReportingWorld<WorkWorld> && !PredictingWorld<WorkWorld> &&
              !StartingWorld<WorkWorld> && !SavingWorld<WorkWorld> && !FailingWorld<WorkWorld>);
static_assert(StartingWorld<WorldWithStarts> && !IsolatedTimes<WorldWithStarts>);

/// Computes without an engine when one-GPU jobs complete, first come, first served on `gpus` GPUs.
std::vector<double> completions_by_hand(const WorldWithStarts& world, int gpus, double interval,
                                        double first_decision) {
    std::vector<double> free_at(static_cast<std::size_t>(gpus), 0.0), completions;
    double last_start = 0;
    for (std::size_t j = 0; j < world.trace.size(); ++j) {
        const auto gpu = std::min_element(free_at.begin(), free_at.end());
        // The first decision when the job is there, a GPU is free, and the jobs before it have started.
        const double ready = std::max({world.trace[j].submitted_seconds, *gpu, last_start, first_decision});
        last_start = first_decision + std::ceil((ready - first_decision) / interval) * interval;
        completions.push_back(last_start + world.start_seconds + world.work[j]);
        *gpu = completions.back();
    }
    return completions;
}

/// Records and checks everything that the engine asks of a world.
struct WatchedWorld {
    struct Watched {
        double work = 0, done = 0, saved = 0;
        double trained_until = 0, gpu_seconds = 0;
        int starts = 0, saves = 0, fails = 0;
        bool complete = false;
    };
    std::vector<Job> trace{};
    std::vector<Watched> watched{};
    std::vector<double> rates{};  ///< rate on each GPU type
    double start_seconds = 0;

    [[nodiscard]] const std::vector<Job>& jobs() const { return trace; }
    [[nodiscard]] double done(std::size_t job) const { return watched[job].done / watched[job].work; }
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        Watched& of = watched[job];
        REQUIRE(!of.complete);
        REQUIRE(of.starts > 0);
        REQUIRE(held.gpus() == trace[job].max_gpus);
        REQUIRE(seconds > 0);
        REQUIRE(begin > trace[job].submitted_seconds - 1e-9);
        REQUIRE(begin > of.trained_until - 1e-6);
        of.trained_until = begin + seconds;
        of.gpu_seconds += held.gpus() * seconds;
        const double rate = rates[held.first().gpu_type] * held.gpus();
        const double needed = (of.work - of.done) / rate;
        of.complete = needed <= seconds;
        of.done = of.complete ? of.work : of.done + rate * seconds;
        return of.complete ? std::optional(begin + needed) : std::nullopt;
    }
    void report(std::size_t job, Job& known, JobModel& model) const {
        known.done_examples = watched[job].done;
        known.remaining_examples = watched[job].work - watched[job].done;
        model.types.clear();
    }
    double start(std::size_t job, const Configuration& held) {
        REQUIRE(!held.empty());
        REQUIRE(watched[job].done == watched[job].saved);  // only failures lose anything
        ++watched[job].starts;
        return start_seconds;
    }
    void save(std::size_t job) {
        ++watched[job].saves;
        watched[job].saved = watched[job].done;
    }
    void fail(std::size_t job) {
        ++watched[job].fails;
        watched[job].done = watched[job].saved;
    }
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        return sharers * watched[job].work;
    }
};

/// A policy that stops and starts jobs erratically.
struct Restless {
    double value(const Round& round, const Job& job, const Option& option) const {
        const double time = round.time_seconds + 7.0 * static_cast<double>(job.name.size());
        return 1 + std::sin(time * static_cast<double>(1 + option.configuration.first().gpu_type) +
                            std::sqrt(1 + job.submitted_seconds));
    }
};

WatchedWorld random_world(support::Random& random) {
    WatchedWorld world;
    world.rates = {1, random.between(1, 4)};
    world.start_seconds = random.chance(0.3) ? 0 : random.between(0, 150);
    double time = 0;
    for (int j = random.integer(1, 20); j > 0; --j) {
        time += random.between(0, 300);
        world.trace.push_back(rigid_job(world.trace.size(), time, 1 << random.integer(0, 3), 2));
        world.watched.push_back({.work = random.between(1, 5000)});
    }
    return world;
}

std::vector<Event> random_events(support::Random& random, const WatchedWorld& world) {
    std::vector<Event> events;
    for (int i = random.integer(0, 20); i > 0; --i) {
        const double time = random.between(1, 5000);
        const std::string node = "node-" + std::to_string(random.integer(0, 3));
        const std::string job =
            world.trace[static_cast<std::size_t>(random.unit() * static_cast<double>(world.trace.size()))]
                .name;
        const EventKind kinds[]{EventKind::node_fails, EventKind::node_drains, EventKind::job_fails};
        const EventKind kind = kinds[random.integer(0, 2)];
        events.push_back({time, kind, kind == EventKind::job_fails ? job : node});
        if (kind != EventKind::job_fails)
            events.push_back({time + random.between(0, 2000), EventKind::node_returns, node});
    }
    return events;
}

const Cluster two_types{{"slow", "fast"},
                        {{"node-0", 0, 4}, {"node-1", 0, 4}, {"node-2", 1, 8}, {"node-3", 1, 8}}};

/// Checks that jobs hold at no time more GPUs than there are.
void check_capacity(const ReplayResult& result) {
    std::vector<double> times;
    for (const HeldPeriod& period : result.held_periods) times.push_back(period.begin_seconds);
    for (const Capacity& capacity : result.capacity) times.push_back(capacity.seconds);
    for (const double time : times) {
        int held = 0, there = 0;
        for (const HeldPeriod& period : result.held_periods)
            if (period.begin_seconds <= time && time < period.end_seconds)
                held += period.configuration.gpus();
        for (const Capacity& capacity : result.capacity)
            if (capacity.seconds <= time) there = capacity.gpus;
        CHECK(held <= there);
    }
}

}  // namespace

TEST_CASE("jobs of known length complete when a list of times says that they do") {
    support::Random random(1);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        WorldWithStarts world;
        world.start_seconds = random.chance(0.3) ? 0 : random.integer(1, 200);
        const int gpus = random.integer(1, 5);
        const double interval = random.integer(10, 100);
        std::optional<double> first_decision;
        if (random.chance(0.5)) first_decision = random.integer(0, 1000);
        double time = 0;
        for (int j = random.integer(1, 40); j > 0; --j) {
            time += random.chance(0.1) ? random.integer(0, 20'000) : random.integer(0, 300);
            // Halves, so that no job completes exactly at a decision.
            world.add(time, 1, random.integer(1, 2000) + 0.5);
        }
        const std::vector<double> expected =
            completions_by_hand(world, gpus, interval, first_decision.value_or(interval));
        Cluster cluster{{"only"}, {}};
        for (int node = 0; node < gpus; ++node)
            cluster.nodes.push_back({"node-" + std::to_string(node), 0, 1});
        const ReplayResult result = replay(
            cluster, world, Fifo{}, {.interval_seconds = interval, .first_decision_seconds = first_decision});
        for (std::size_t j = 0; j < expected.size(); ++j) {
            CAPTURE(j);
            REQUIRE(result.jobs[j].completed_seconds);
            CHECK(*result.jobs[j].completed_seconds == doctest::Approx(expected[j]).epsilon(1e-12));
            CHECK(result.jobs[j].restarts == 0);
            CHECK(result.jobs[j].done == 1);
        }
    }
}

TEST_CASE("three functions are a world: no reports, starts without time, failures that lose nothing") {
    WorkWorld world;
    world.add(0, 2, 1000);
    const ReplayResult result =
        replay({{"only"}, {{"node", 0, 2}}}, world, Fifo{},
               {.events = {{.time_seconds = 100, .kind = EventKind::job_fails, .subject = "job-0"}}});
    REQUIRE(result.jobs[0].completed_seconds);
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(60 + 500));
    CHECK(result.jobs[0].failures == 1);
    CHECK(result.jobs[0].restarts == 1);
    CHECK(result.jobs[0].gpu_seconds == 2 * 540);  // to the end of the round
}

TEST_CASE("in any world no job progresses without GPUs or holds more than there is, whatever happens") {
    support::Random random(2);
    int stopped = 0, failed = 0, completed = 0;
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        WatchedWorld world = random_world(random);
        const ReplayOptions options{.interval_seconds = random.between(20, 90),
                                    .moves_restart = random.chance(0.5),
                                    .last_second = 20'000,
                                    .events = random_events(random, world)};
        const ReplayResult result = replay(two_types, world, Restless{}, options);
        check_capacity(result);
        double gpu_seconds = 0;
        for (std::size_t j = 0; j < result.jobs.size(); ++j) {
            const JobOutcome& job = result.jobs[j];
            const WatchedWorld::Watched& watched = world.watched[j];
            CHECK(watched.starts == (watched.starts == 0 ? 0 : job.restarts + 1));
            CHECK(watched.fails == job.failures);
            CHECK(watched.gpu_seconds <= job.gpu_seconds * (1 + 1e-9));
            CHECK(watched.complete == job.completed_seconds.has_value());
            CHECK(job.done == world.done(j));
            if (watched.starts == 0) CHECK(job.done == 0);
            gpu_seconds += job.gpu_seconds;
            stopped += watched.saves;
            failed += watched.fails;
            completed += watched.complete;
        }
        double there = 0;
        for (std::size_t c = 0; c < result.capacity.size(); ++c)
            there += result.capacity[c].gpus *
                     ((c + 1 < result.capacity.size() ? result.capacity[c + 1].seconds : result.end_seconds) -
                      result.capacity[c].seconds);
        // GPUs that fail within a round count as held to its end, by at most one round each.
        double lost = 0;
        for (const Event& event : options.events)
            lost += event.kind == EventKind::node_fails ? 8 * options.interval_seconds : 0;
        CHECK(gpu_seconds <= there + lost + 1e-6);
        const ReplayMetrics metrics = metrics_of(result, world);
        CHECK(metrics.utilisation <= 1 + 1e-12);
        CHECK((metrics.completed == 0) == (metrics.rho_mean == 0));
    }
    CHECK(stopped > 100);
    CHECK(failed > 20);
    CHECK(completed > 200);
}

TEST_CASE("equal worlds have equal replays, whatever the order of the events") {
    support::Random random(3);
    for (int round = 0; round < 10; ++round) {
        WatchedWorld world = random_world(random), again = world;
        ReplayOptions options{.last_second = 20'000, .events = random_events(random, world)};
        const ReplayResult first = replay(two_types, world, Restless{}, options);
        std::reverse(options.events.begin(), options.events.end());
        const ReplayResult second = replay(two_types, again, Restless{}, options);
        for (std::size_t j = 0; j < first.jobs.size(); ++j) {
            CHECK(first.jobs[j].completed_seconds == second.jobs[j].completed_seconds);
            CHECK(first.jobs[j].gpu_seconds == second.jobs[j].gpu_seconds);
        }
        CHECK(first.held_periods.size() == second.held_periods.size());
    }
}

TEST_CASE("finish-time fairness uses the isolated times that a world gives") {
    struct World : WorkWorld {
        [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
            return sharers * work[job];
        }
    } world;
    world.add(0, 1, 630);
    world.add(0, 1, 630);
    const ReplayResult result = replay({{"only"}, {{"node", 0, 1}}}, world, Fifo{});
    // From 60 to 690 and, after the decision at 720, to 1350: 2 sharers at first, and (2 x 690 + 660) / 1350.
    const std::vector<double> rho = finish_time_fairness(result, world);
    CHECK(rho[0] == doctest::Approx(690 / (2 * 630.0)));
    CHECK(rho[1] == doctest::Approx(1350 / (2040 / 1350.0 * 630)));
    const ReplayMetrics metrics = metrics_of(result, world);
    CHECK(metrics.rho_mean == doctest::Approx((rho[0] + rho[1]) / 2));
    CHECK(metrics.rho_p99 == std::max(rho[0], rho[1]));
    CHECK(metrics.effective_gpus == 0);  // the world does not say what one GPU does
}

TEST_CASE("anything that plans can decide, and is told if it forgets a job") {
    /// Every job waits for its turn on the only node, the last one first.
    struct LastFirst {
        std::size_t missing = 0;
        Plan plan(const Snapshot& snapshot) const {
            Plan plan;
            plan.decisions.resize(snapshot.jobs.size() - missing);
            if (plan.decisions.empty()) return plan;
            plan.decisions.back().option.configuration = {0, 1, {1, 1}};
            plan.decisions.back().placement = {{0, 1}};
            return plan;
        }
    };
    const Cluster cluster{{"only"}, {{"node", 0, 1}}};
    WorkWorld world;
    for (int j = 0; j < 3; ++j) world.add(0, 1, 100);
    WorkWorld again = world;
    const ReplayResult result = replay(cluster, world, LastFirst{}, {.interval_seconds = 100});
    for (std::size_t j = 0; j < 3; ++j)
        CHECK(*result.jobs[j].completed_seconds == doctest::Approx(400 - 100.0 * static_cast<double>(j)));
    WorkWorld once_more = again;
    CHECK_THROWS_WITH(replay(cluster, again, LastFirst{.missing = 1}),
                      "scheduler: number of decisions is 2, but must be that of jobs, 3");
    /// Gives all jobs the same GPU.
    struct ToEverybody {
        [[nodiscard]] static Plan plan(const Snapshot& snapshot) {
            Plan plan;
            plan.decisions.resize(snapshot.jobs.size());
            for (Decision& decision : plan.decisions) {
                decision.option.configuration = {0, 1, {1, 1}};
                decision.placement = {{0, 1}};
            }
            return plan;
        }
    };
    CHECK_THROWS_WITH(replay(cluster, once_more, ToEverybody{}),
                      "scheduler: GPUs given of node 'node' is 2, but must be at most 1");
}

TEST_CASE("more cores next to the same GPUs are no restart") {
    /// Gives the job another number of cores in every round.
    struct MoreCores {
        [[nodiscard]] static Plan plan(const Snapshot& snapshot) {
            const HostShare host{.cores_per_gpu = snapshot.time_seconds / 60};
            Plan plan;
            plan.decisions.resize(1);
            plan.decisions[0].option.configuration = {PoolShare{0, 1, {1, 1}}, host};
            plan.decisions[0].placement = {{0, 1}};
            return plan;
        }
    };
    WorkWorld world;
    world.add(0, 1, 200);
    const ReplayResult result = replay({{"only"}, {{"node", 0, 1}}}, world, MoreCores{});
    CHECK(*result.jobs[0].completed_seconds == doctest::Approx(260));
    CHECK(result.jobs[0].restarts == 0);
    REQUIRE(result.held_periods.size() == 4);
    CHECK(result.held_periods[3].configuration.host().cores_per_gpu == 4);
}

TEST_CASE("the first decision may come before the first interval is over, and no time stands still for it") {
    const Cluster cluster{{"only"}, {{"node", 0, 1}}};
    const auto completion = [&](double submitted, double first_decision) {
        WorkWorld world;
        world.add(submitted, 1, 100);
        const ReplayResult result = replay(
            cluster, world, Fifo{}, {.interval_seconds = 300, .first_decision_seconds = first_decision});
        REQUIRE(result.jobs[0].completed_seconds);
        return *result.jobs[0].completed_seconds;
    };
    CHECK(completion(0, 0) == 100);
    CHECK(completion(0.5, 1) == 101);
    CHECK(completion(2, 1) == 401);
    CHECK(completion(1e6, 1) == 1'000'201 + 100);
    CHECK(completion(0, 5000) == 5100);
    CHECK(completion(10'000, 5000) == 10'100 + 100);
    CHECK_THROWS_WITH(completion(0, -1),
                      "replay: first decision is -1, but must be a finite number of at least 0");
    CHECK_THROWS_WITH(completion(0, 1e13), "replay: first decision is 1e+13, but must be at most 1e+12");
}

TEST_CASE("worlds that cannot be replayed are refused with job, field and value") {
    const Cluster cluster{{"only"}, {{"node", 0, 1}}};
    WorkWorld world;
    world.add(0, 1, 100);
    WorkWorld again = world;
    CHECK(replay(cluster, world, Fifo{}).jobs[0].done == 1);
    CHECK_THROWS_WITH(replay(cluster, world, Fifo{}),
                      "job 'job-0': part that is done is 1, but must be at least 0 and below 1 before a "
                      "replay");
    again.add(-1, 1, 100);
    CHECK_THROWS_WITH(replay(cluster, again, Fifo{}),
                      "job 'job-1': time is -1, but must be a finite number of at least 0");
    WorldWithStarts endless;
    endless.add(0, 1, 100);
    endless.start_seconds = std::nan("");
    CHECK_THROWS_WITH(replay(cluster, endless, Fifo{}),
                      "world, job 'job-0': seconds of a start is nan, but must be a finite number of at "
                      "least 0");
    struct Backwards : WorkWorld {
        std::optional<double> train(std::size_t, const Configuration&, double, double) { return 3; }
    } backwards;
    backwards.add(0, 1, 100);
    CHECK_THROWS_WITH(replay(cluster, backwards, Fifo{}),
                      "world, job 'job-0': completion is 3, but must be a finite number of at least 60");
}

TEST_CASE("where rounds end early, jobs in a queue for one GPU follow each other without a gap") {
    support::Random random(7);
    for (int round = 0; round < 30; ++round) {
        CAPTURE(round);
        WorldThatShortens world;
        world.start_seconds = random.integer(0, 30);
        std::vector<double> expected;
        double time = 0;
        for (int i = random.integer(1, 12); i > 0; --i) {
            const double work = random.integer(1, 500);
            world.add(0, 1, work);
            expected.push_back(time += world.start_seconds + work);
        }
        const Cluster cluster{{"gpu"}, {{"node", 0, 1}}};
        WorldWithStarts of_one_length = world;
        const ReplayOptions options{.interval_seconds = 60, .first_decision_seconds = 0};
        const ReplayResult early = replay(cluster, world, Fifo{}, options);
        const ReplayResult late = replay(cluster, of_one_length, Fifo{}, options);
        for (std::size_t j = 0; j < expected.size(); ++j) {
            CHECK(early.jobs[j].completed_seconds == expected[j]);
            CHECK(late.jobs[j].completed_seconds >= expected[j]);
        }
        CHECK(early.end_seconds == time);
    }
}

TEST_CASE("failures split a round that ends early, and it still ends when it was to") {
    WorldThatShortens world;
    world.add(0, 1, 50);
    world.add(0, 1, 20);
    const Cluster cluster{{"gpu"}, {{"node", 0, 2}}};
    std::vector<double> decisions;
    const ReplayResult result =
        replay(cluster, world, Fifo{},
               {.interval_seconds = 60,
                .events = {{.time_seconds = 10, .kind = EventKind::job_fails, .subject = "job-0"}}},
               [&](double now, const Snapshot&, auto make_plan) {
                   decisions.push_back(now);
                   make_plan();
               });
    // This world loses nothing, and starts take no time.
    CHECK(decisions == std::vector<double>{0});
    CHECK(result.jobs[0].completed_seconds == 50);
    CHECK(result.jobs[0].failures == 1);
    CHECK(result.jobs[1].completed_seconds == 20);
    CHECK(result.end_seconds == 50);
}

TEST_CASE("a world that stands still ends its replay") {
    WorldThatStandsStill world;
    world.add(0, 1, 10);
    world.add(1000, 1, 10);
    const ReplayResult result = replay(Cluster{{"gpu"}, {{"node", 0, 2}}}, world, Fifo{},
                                       {.interval_seconds = 60, .most_idle_rounds = 5});
    CHECK(result.rounds == 6);
    CHECK(result.end_seconds == 0);
}

TEST_CASE("a world is told all about the round that it ends") {
    struct Told : WorldWithStarts {
        std::vector<std::vector<double>> rounds{};
        std::vector<double> trained{};
        double round_until(const RoundAhead& round) {
            std::vector<double>& told = rounds.emplace_back();
            told = {round.begin_seconds, round.latest_seconds, round.next_seconds};
            for (const RunningJob& job : round.running) {
                told.push_back(static_cast<double>(job.job));
                told.push_back(job.held->gpus());
                told.push_back(job.start_seconds);
            }
            return std::min({round.latest_seconds, round.next_seconds, round.begin_seconds + 45});
        }
        std::optional<double> train(std::size_t job, const Configuration& held, double begin,
                                    double seconds) {
            trained.push_back(seconds);
            return WorkWorld::train(job, held, begin, seconds);
        }
    } world;
    world.start_seconds = 50;
    world.add(0, 2, 110);
    world.add(70, 1, 10);
    const ReplayResult result = replay(Cluster{{"gpu"}, {{"node", 0, 2}}}, world, Fifo{},
                                       {.interval_seconds = 60, .first_decision_seconds = 0});
    const double never = std::numeric_limits<double>::infinity();
    CHECK(world.rounds == std::vector<std::vector<double>>{{0, 0, 0},
                                                           {0, 60, 70, 0, 2, 50},
                                                           {45, 105, 70, 0, 2, 5},
                                                           {70, 130, never, 0, 2, 0},
                                                           {115, 175, never, 1, 1, 50},
                                                           {160, 220, never, 1, 1, 5}});
    CHECK(world.trained == std::vector<double>{20, 45, 40});
    CHECK(result.jobs[0].completed_seconds == 105);
    CHECK(result.jobs[1].completed_seconds == 175);
}

TEST_CASE("a world must not end a round before it begins, nor leave it endless") {
    struct Wrong : WorkWorld {
        double end = 0;
        [[nodiscard]] double round_until(const RoundAhead&) const { return end; }
    };
    const std::pair<double, const char*> ends[]{{-1, "-1"}, {std::nan(""), "nan"}, {HUGE_VAL, "inf"}};
    for (const auto& [end, text] : ends) {
        Wrong world;
        world.end = end;
        world.add(0, 1, 10);
        CHECK_THROWS_WITH(
            replay(Cluster{{"gpu"}, {{"node", 0, 1}}}, world, Fifo{}),
            (std::string("world: end of a round is ") + text + ", but must be a finite number of at least 0")
                .c_str());
    }
}
