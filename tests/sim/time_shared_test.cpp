// Gavel's and Shockwave's worlds: rounds that end early, whole steps, and the published rounds and policies
// on traces that can be computed by hand. tests/program/time_shared_test.cpp compares with published results;
// a stored plan is compared below.

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "json/json_files.hpp"
#include "peers/gavel/gavel_shares.hpp"
#include "peers/gavel/kept_nodes.hpp"
#include "peers/gavel/published_shares.hpp"
#include "peers/gavel/python_random.hpp"
#include "peers/gavel/time_shared_rounds.hpp"
#include "peers/shockwave/shockwave_rounds.hpp"
#include "peers/shockwave/shockwave_shares.hpp"
#include "peers/shockwave/shockwave_world.hpp"
#include "replay/workload.hpp"
#include "support/random.hpp"
#include "worlds/shockwave_trace.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

static_assert(World<GavelWorld> && ReportingWorld<GavelWorld> && PredictingWorld<GavelWorld> &&
              UnevenWorld<GavelWorld> && IsolatedTimes<GavelWorld> && TimeSharedWorld<GavelWorld>);
static_assert(World<ShockwaveWorld> && ReportingWorld<ShockwaveWorld> && PredictingWorld<ShockwaveWorld> &&
              UnevenWorld<ShockwaveWorld> && IsolatedTimes<ShockwaveWorld> &&
              TimeSharedWorld<ShockwaveWorld>);
static_assert(Planner<TimeSharedRounds<GavelWorld>> && Planner<TimeSharedRounds<ShockwaveWorld>>);

namespace {

GavelJob steady(std::string name, double submitted_seconds, int gpus, double steps,
                std::vector<double> rates = {1}) {
    return {.name = std::move(name),
            .program = "steady",
            .submitted_seconds = submitted_seconds,
            .gpus = gpus,
            .steps = steps,
            .rates = std::move(rates)};
}

/// Returns the seconds from submission to completion, infinity for jobs that are not complete.
std::vector<double> times_of(const ReplayResult& result) {
    std::vector<double> times;
    for (const JobOutcome& job : result.jobs)
        times.push_back(job.completed_seconds.value_or(std::numeric_limits<double>::infinity()) -
                        job.submitted_seconds);
    return times;
}

/// Returns the times at which a policy was asked, and the result.
template <class W, class Decider>
std::pair<std::vector<double>, ReplayResult> decisions_of(const Cluster& cluster, W& world, Decider decider,
                                                          ReplayOptions options) {
    std::vector<double> times;
    ReplayResult result =
        replay(cluster, world, std::move(decider), options, [&](double now, const Snapshot&, auto make_plan) {
            times.push_back(now);
            make_plan();
        });
    return {times, std::move(result)};
}

using Times = std::vector<double>;

/// A model whose epoch has 100 steps of 10 examples at 1 step per second, whatever the batch.
ShockwaveModels one_model() {
    ShockwaveModel model{.examples = 1000, .smallest_batch = 10, .largest_batch = 40};
    for (const int batch : {10, 20, 40}) model.rates[{1, batch}] = model.rates[{2, batch}] = 1;
    model.critical = CriticalEpochs{.head_of_batch = {{10, 2}}};
    model.stages[{1, 10}] = {{3, 2}, {5, 4}};
    return {{"model", model}};
}

ShockwaveJob shockwave_job(std::string name, double submitted_seconds, double steps,
                           ShockwaveMode mode = ShockwaveMode::constant) {
    return {.name = std::move(name),
            .model = "model",
            .submitted_seconds = submitted_seconds,
            .gpus = 1,
            .batch = 10,
            .mode = mode,
            .steps = steps};
}

/// A planner that runs the given jobs in each round.
class GivenRounds {
public:
    GivenRounds(const ShockwaveWorld& world, std::vector<std::vector<std::size_t>> rounds)
        : world_(&world), rounds_(std::move(rounds)) {}

    const Plan& plan(const Snapshot& snapshot) {
        plan_ = {};
        plan_.decisions.resize(snapshot.jobs.size());
        std::vector<WantedGpus> wanted(snapshot.jobs.size());
        if (round_ < rounds_.size())
            for (std::size_t j = 0; j < wanted.size(); ++j) {
                const std::size_t job = world_->index_of(snapshot.jobs[j].name);
                if (std::find(rounds_[round_].begin(), rounds_[round_].end(), job) != rounds_[round_].end())
                    wanted[j] = {world_->gpus(job), 0};
            }
        ++round_;
        place_on_kept_nodes(snapshot, wanted, plan_);
        return plan_;
    }

private:
    const ShockwaveWorld* world_;
    std::vector<std::vector<std::size_t>> rounds_;
    std::size_t round_ = 0;
    Plan plan_;
};

/// Follows given rounds, but lets the market plan each of them, too.
template <class Look>
struct AskedMarket {
    ShockwaveRounds market;
    GivenRounds given;
    Look look;

    const Plan& plan(const Snapshot& snapshot) {
        market.plan(snapshot);
        look(market);
        return given.plan(snapshot);
    }
};

/// The trace with published results, on its cluster.
struct Trace120 {
    std::string folder = std::string(GOODPUT_DATA_DIR) + "/shockwave";
    Cluster cluster = cli::parse_cluster("v100:32x1");
    ShockwaveModels models = cli::read_shockwave_models(folder, "tacc");
    ShockwaveWorld world{cluster, models, cli::read_shockwave_jobs(folder + "/traces/120.jsonl"), 120};
};

/// A stored program in the market's form.
struct StoredProgram {
    WindowProblem program{};
    std::vector<double> fair_finishes{};
    double objective = 0;
    double unfair_power = 0;
};

/// Returns the stored programs by the number of rounds that were over.
std::map<int, StoredProgram> stored_programs(const std::string& folder) {
    std::map<int, StoredProgram> programs;
    cli::read_json_lines_of(folder + "/program2-120.jsonl.gz", [&](const cli::Field& line) {
        StoredProgram& stored = programs[line["round"].count()];
        stored.program.gpus = line["gpus"].count();
        stored.program.rounds = line["rounds"].count();
        stored.program.round_seconds = line["round_s"].number();
        stored.program.longest_left_factor = line["k"].number();
        stored.objective = line["objective"].number();
        stored.unfair_power = line["lambda"].number();
        line["jobs"].for_each([&](const cli::Field& job) {
            stored.program.jobs.push_back({.name = std::to_string(job["job"].count()),
                                           .gpus = job["gpus"].count(),
                                           .epochs = job["epochs"].number(),
                                           .done_epochs = job["done"].number(),
                                           .epoch_seconds = job["epoch_s"].number(),
                                           .left_seconds = job["left_s"].number()});
            stored.fair_finishes.push_back(job["fair_finish"].number());
        });
    });
    return programs;
}

}  // namespace

TEST_CASE("a round ends with its last job, and without one with the next submission") {
    const Cluster cluster = cli::parse_cluster("gpu:2x1");
    GavelWorld world(cluster, {steady("a", 50, 1, 250), steady("b", 60, 1, 40), steady("c", 1000, 1, 10)});
    const auto [times, result] =
        decisions_of(cluster, world, ShortestRemainingTime{}, {.interval_seconds = 100});
    // a runs alone to 150, then with b, which ends at 190 in that round. The last round of a ends at 300.
    CHECK(times == Times{50, 150, 250, 1000});
    CHECK(times_of(result) == Times{250, 130, 10});
    CHECK(result.end_seconds == 1010);
}

TEST_CASE("rounds without running jobs do not end before something comes, or after the interval") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    const auto nobody = [](const Snapshot& snapshot) {
        Plan plan;
        plan.decisions.resize(snapshot.jobs.size());
        return plan;
    };
    struct Idle {
        decltype(nobody) make;
        Plan last{};
        const Plan& plan(const Snapshot& snapshot) { return last = make(snapshot); }
    };
    GavelWorld world(cluster, {steady("a", 0, 1, 10), steady("b", 500, 1, 10)});
    const auto [times, result] =
        decisions_of(cluster, world, Idle{nobody}, {.interval_seconds = 100, .most_idle_rounds = 3});
    CHECK(times == Times{0, 500, 600, 700});
    CHECK(result.jobs[0].completed_seconds == std::nullopt);
}

TEST_CASE("a job of Gavel's world does whole steps on the type that it holds") {
    const Cluster cluster = cli::parse_cluster("slow:2x1,fast:2x1");
    GavelWorld world(cluster, {steady("a", 0, 2, 1000, {0.7, 2}), steady("b", 0, 2, 1000, {1, 0})});
    const Configuration slow{0, 1, {2, 2}}, fast{1, 1, {2, 2}};
    const RunningJob running[]{{0, &slow, 0}};
    CHECK(world.round_until({.begin_seconds = 10, .latest_seconds = 110, .running = running}) ==
          10 + 70 / 0.7);
    CHECK(world.train(0, slow, 0, 99) == std::nullopt);
    CHECK(world.steps_left(0) == 1000 - 69);
    CHECK(world.train(0, fast, 99, 100) == std::nullopt);
    CHECK(world.steps_left(0) == 1000 - 69 - 200);
    CHECK(world.train(0, fast, 199, 1000) == 199 + 731 / 2.0);
    CHECK(world.done(0) == 1);
    CHECK(world.jobs()[1].types[1].max_atomic_batch == 0);
    CHECK(world.train(1, fast, 199, 100) == std::nullopt);  // does nothing where it cannot run
    CHECK(world.last_run(1).empty);
    CHECK(world.one_gpu_seconds(0) == 1000);
    // With half of two GPUs of each type, it has both types for half of the time.
    CHECK(world.isolated_seconds(0, 2) == 1000 / (0.5 * 0.7 + 0.5 * 2));
    CHECK(world.isolated_seconds(0, 1) == 1000 / (0.5 * 0.7 + 0.5 * 2));
}

TEST_CASE("a job with fewer steps left than GPUs is ended by the fifth round in which it does nothing") {
    const Cluster cluster = cli::parse_cluster("gpu:4x1");
    GavelWorld world(cluster, {steady("a", 0, 4, 103)});
    const auto [times, result] =
        decisions_of(cluster, world, ShortestRemainingTime{}, {.interval_seconds = 100});
    CHECK(times == Times{0, 100, 103, 106, 109, 112});
    CHECK(times_of(result) == Times{115});
    CHECK(world.done(0) == 100.0 / 103);
}

TEST_CASE("our policies give a job of four GPUs four nodes of one, or one of four") {
    for (const char* text : {"gpu:4x1", "gpu:2x2", "gpu:1x4", "other:1x8,gpu:4x1"}) {
        CAPTURE(text);
        const Cluster cluster = cli::parse_cluster(text);
        std::vector<double> rates(cluster.gpu_types.size(), 0.0);
        rates.back() = 1;
        GavelWorld world(cluster, {steady("a", 0, 4, 1000, rates), steady("b", 0, 1, 1000, rates)});
        const ReplayResult result =
            replay(cluster, world, DeclaredGoodputPolicy{}, {.interval_seconds = 100});
        CHECK(times_of(result)[0] <= 2000);
        CHECK(times_of(result)[1] <= 2000);
    }
}

TEST_CASE("worlds that make no sense are refused with job, field and value") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    CHECK_THROWS_WITH(GavelWorld(cluster, {steady("a", 0, 1, 10, {1, 2})}),
                      "job 'a': number of rates is 2, but must be between 1 and 1");
    CHECK_THROWS_WITH(GavelWorld(cluster, {steady("a", 0, 1, 2.5)}),
                      "job 'a': steps is 2.5, but must be a whole number");
    CHECK_THROWS_WITH(GavelWorld(cluster, {steady("a", 0, 1, 10, {-1})}),
                      "job 'a': steps a second is -1, but must be a finite number of at least 0");
    const ShockwaveModels models = one_model();
    ShockwaveJob job = shockwave_job("a", 0, 10);
    job.batch = 80;
    CHECK_THROWS_WITH(ShockwaveWorld(cluster, models, {job}, 120),
                      "job 'a': speed with batch 80 is unknown, but must be measured");
    job.model = "other";
    CHECK_THROWS_WITH(ShockwaveWorld(cluster, models, {job}, 120),
                      "job 'a': model is 'other', but must be a known one");
}

TEST_CASE("lists are shuffled as Python does it") {
    PythonRandom random(5);  // order of types in the first rounds of Gavel's simulator
    const char* expected[]{"vpk", "vpk", "pvk", "kvp", "pvk", "pkv"};
    for (const char* order : expected) {
        std::vector<char> types{'v', 'p', 'k'};
        random.shuffle(types);
        CHECK(std::string(types.begin(), types.end()) == order);
    }
}

TEST_CASE("shares: an equal part of each type, or the fastest type in the order of submission") {
    const ShareQuestion question{.gpus = {4, 2},
                                 .jobs = {{.job = 0, .gpus = 2, .rates = {1, 2}},
                                          {.job = 1, .gpus = 4, .rates = {1, 2}},
                                          {.job = 2, .gpus = 1, .rates = {1, 2}}}};
    CHECK(fifo_shares(question) == Shares{{0, 1}, {1, 0}, {0, 0}});
    const Shares isolated = isolated_shares(question);
    CHECK(isolated[0][0] == doctest::Approx(4 / 3.0 / 2));
    CHECK(isolated[0][1] == doctest::Approx(2 / 3.0 / 2));
    CHECK(isolated[1][0] == doctest::Approx(4 / 3.0 / 4));
    CHECK(isolated[2][0] + isolated[2][1] == doctest::Approx(1));
    ShareQuestion one{.gpus = {4}};
    for (std::size_t j = 0; j < 5; ++j) one.jobs.push_back({.job = j, .gpus = 3, .rates = {1}});
    CHECK(gandiva_fair_shares(one) == Shares(5, {0.8}));
}

TEST_CASE("shares are kept: a job with a share of 2/3 runs two rounds of three") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    GavelWorld world(cluster, {steady("a", 0, 1, 2000), steady("b", 0, 1, 1000)});
    const SharePolicy policy{.shares = [](const ShareQuestion& question) {
        return question.jobs.size() == 2 ? Shares{{2.0 / 3}, {1.0 / 3}} : Shares{{1}};
    }};
    std::map<std::string, double> ran;
    replay(cluster, world, TimeSharedRounds<GavelWorld>(world, policy, {100, 500}), {.interval_seconds = 100},
           [&](double now, const Snapshot& snapshot, auto make_plan) {
               const Plan& plan = make_plan();
               for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                   if (!plan.decisions[j].placement.empty() && now < 1500) ran[snapshot.jobs[j].name] += 1;
           });
    CHECK(ran["a"] == 10);
    CHECK(ran["b"] == 5);
}

TEST_CASE("a job that comes waits for the next computation of shares, and its GPUs idle") {
    const Cluster cluster = cli::parse_cluster("gpu:2x1");
    const auto run = [&](std::vector<GavelJob> jobs) {
        GavelWorld world(cluster, std::move(jobs));
        return times_of(replay(cluster, world,
                               TimeSharedRounds<GavelWorld>(world, {.shares = isolated_shares}, {100, 500}),
                               {.interval_seconds = 100}));
    };
    // Shares are computed at 0, which counts as never, so again at 100. b comes at 150, runs from 600 on.
    CHECK(run({steady("a", 0, 1, 1000), steady("z", 50, 1, 60), steady("b", 150, 1, 100)}) ==
          Times{1000, 110, 550});
    // No other job is there or to come: b starts at once.
    CHECK(run({steady("a", 0, 1, 250), steady("b", 300, 1, 100)}) == Times{250, 100});
}

TEST_CASE("published rounds give no more than there is and complete every job") {
    support::Random random(11);
    for (int round = 0; round < 40; ++round) {
        CAPTURE(round);
        const Cluster cluster = cli::parse_cluster(random.chance(0.5) ? "a:3x4,b:5x1" : "a:8x1,b:2x2,a:1x4");
        std::vector<GavelJob> jobs;
        double time = 0;
        for (int i = random.integer(1, 30); i > 0; --i) {
            time += random.between(0, 300);
            const int gpus = 1 << random.integer(0, 2);
            jobs.push_back(steady("job-" + std::to_string(100 - i), time, gpus,
                                  gpus * random.integer(1, 1000),
                                  {random.between(0.5, 3), random.chance(0.3) ? 0 : random.between(0.5, 3)}));
        }
        GavelWorld world(cluster, jobs);
        SharePolicy policy{.shares = isolated_shares,
                           .shuffles_types = random.chance(0.5),
                           .fills_gaps = true,
                           .stops = random.chance(0.3)};
        if (random.chance(0.4)) policy = {.shares = fifo_shares, .fills_gaps = false};
        const ReplayResult result =
            replay(cluster, world, TimeSharedRounds<GavelWorld>(world, policy, {360, 1920}),
                   {.interval_seconds = 360, .last_second = 1e7},
                   [&](double, const Snapshot& snapshot, auto make_plan) {
                       const Plan& plan = make_plan();  // replay() checks its nodes
                       for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                           const Configuration& held = plan.decisions[j].option.configuration;
                           if (held.empty()) continue;
                           CHECK(held.gpus() == snapshot.jobs[j].max_gpus);
                           CHECK(snapshot.jobs[j].types[held.first().gpu_type].max_atomic_batch == 1);
                       }
                   });
        for (const JobOutcome& job : result.jobs) CHECK(job.completed_seconds.has_value());
    }
}

TEST_CASE("a job of Shockwave's world loses 20 s per start, but not in the first round or a short one") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    const ShockwaveModels models = one_model();
    ShockwaveWorld world(cluster, models,
                         {shockwave_job("a", 0, 240), shockwave_job("b", 0, 240), shockwave_job("c", 0, 300)},
                         120);
    // a, b, b (120 - 20 and 120 steps), then the last 20 of b; a continues and loses 20 s, c does twice.
    const ReplayResult result =
        replay(cluster, world, GivenRounds(world, {{0}, {1}, {1}, {1}, {0}, {0}, {2}, {2}, {2}}),
               {.interval_seconds = 120});
    CHECK(times_of(result) == Times{520, 380, 840});
    CHECK(world.ran_seconds(0) == 120 + 100 + 20);
}

TEST_CASE("a job of Shockwave's world is ended after 1.5 times its isolated time") {
    const Cluster cluster = cli::parse_cluster("gpu:2x1");
    ShockwaveModels models = one_model();
    models["model"].stages.clear();
    models["model"].rates[{1, 40}] = 0.1;  // accordion changes to a batch that is far slower than planned
    models["model"].critical->head_of_batch = {{10, 0}};
    models["model"].critical->later_of_profile_only = {{0, 1000}};
    ShockwaveWorld world(cluster, models, {shockwave_job("a", 0, 1000, ShockwaveMode::accordion)}, 120);
    CHECK(world.profile(0).isolated_seconds == 1000);
    const ReplayResult result = replay(cluster, world, ShortestRemainingTime{}, {.interval_seconds = 120});
    // It ends with the first round that ends after 1500 s.
    CHECK(times_of(result)[0] > 1500);
    CHECK(times_of(result)[0] <= 1620);
}

TEST_CASE("a batch grows a round after the job's epochs ask for it, and epochs are rounded up") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    const ShockwaveModels models = one_model();
    ShockwaveWorld world(cluster, models, {shockwave_job("a", 0, 1000, ShockwaveMode::gns)}, 120);
    const ShockwaveProfile& profile = world.profile(0);
    CHECK(profile.batches == std::vector<int>{10, 10, 10, 20, 20, 40, 40, 40, 40, 10});
    CHECK(profile.isolated_seconds == 3 * 100 + 2 * 50 + 4 * 25 + 100);
    CHECK(profile.seconds_left(3.5) == doctest::Approx(25 + 50 + 4 * 25 + 100));
    CHECK(world.isolated_seconds(0, 7) == profile.isolated_seconds);

    std::vector<int> batches;
    std::vector<double> epochs;
    replay(cluster, world, ShortestRemainingTime{}, {.interval_seconds = 120},
           [&](double, const Snapshot&, auto make_plan) {
               make_plan();
               batches.push_back(world.training(0).batch());
               epochs.push_back(world.training(0).epochs_done());
           });
    // After 1.2 epochs, the job wishes for batch 20, because the epoch after the next has it. At the end of
    // that round 2.4 epochs count as 3. After 120 steps of 50 per epoch it wishes for 40.
    REQUIRE(batches.size() >= 5);
    CHECK(std::vector(batches.begin(), batches.begin() + 5) == std::vector<int>{10, 10, 20, 20, 40});
    const double expected[]{0, 1.2, 3, 5.4, 8};
    for (std::size_t round = 0; round < 5; ++round) CHECK(epochs[round] == doctest::Approx(expected[round]));
}

TEST_CASE("first come, first served promises more than there is where a holder has ended") {
    ShockwaveFifo fifo;
    const auto ask = [&](std::vector<std::pair<std::size_t, int>> jobs) {
        ShareQuestion question{.gpus = {4}};
        for (const auto& [job, gpus] : jobs)
            question.jobs.push_back({.job = job, .gpus = gpus, .rates = {1}});
        return fifo(question);
    };
    CHECK(ask({{0, 2}, {1, 2}, {2, 4}}) == Shares{{1}, {1}, {0}});
    CHECK(ask({{1, 2}, {2, 4}}) == Shares{{1}, {1}});  // when 0 is looked at, 1 does not count yet
}

TEST_CASE("the market keeps its plan until a job comes or goes, or an eighth round begins") {
    ShockwaveMarket market({.round_seconds = 100});
    const ShockwaveBuyer buyer{.gpus = 1,
                               .batches = std::vector<int>(50, 10),
                               .epoch_seconds = std::vector<double>(50, 99.6),
                               .examples = 1000};
    market.join(4, buyer);
    CHECK(market.choose(0, 2) == std::vector<std::size_t>{4});
    CHECK(market.program().jobs[0].epoch_seconds == 100);  // whole seconds
    CHECK_THROWS_AS(market.join(4, buyer), std::invalid_argument);
    CHECK_THROWS_AS(market.join(5, {}), std::invalid_argument);
    const auto done = [&] { return market.program().jobs[0].done_epochs; };
    for (int round = 1; round < 8; ++round) {
        market.ran(4, round, {.steps_per_second = 1, .batch = 10, .epochs_done = round});
        CHECK(market.choose(round, 2) == std::vector<std::size_t>{4});
        CHECK(done() == 0);
    }
    CHECK(market.choose(8, 2).size() == 1);
    CHECK(done() == 7);
    market.ran(4, 9, {.steps_per_second = 1, .batch = 10, .epochs_done = 9});
    market.join(2, buyer);
    std::vector<std::size_t> both = market.choose(9, 2);
    std::sort(both.begin(), both.end());
    CHECK(both == std::vector<std::size_t>{2, 4});
    market.leave(2);
    CHECK(market.choose(10, 2) == std::vector<std::size_t>{4});
    CHECK(done() == 9);
}

TEST_CASE("a job that trains twice as fast as its profile says is believed to need half the time") {
    ShockwaveMarket market({.round_seconds = 100});
    market.join(0, {.gpus = 1,
                    .batches = std::vector<int>(50, 10),
                    .epoch_seconds = std::vector<double>(50, 100),
                    .examples = 1000});
    market.ran(0, 1, {.steps_per_second = 2, .batch = 10, .epochs_done = 2});
    CHECK(market.choose(1, 1).size() == 1);
    CHECK(market.program().jobs[0].epoch_seconds == doctest::Approx(50));
    // As published: the epoch that it is in counts as seen.
    CHECK(market.program().jobs[0].left_seconds == doctest::Approx(47 * 50));
}

TEST_CASE("shares of the least total time are in the middle: no others have a larger product of slacks") {
    support::Random random(12);
    const auto near = [&](double share) { return share * (1 + random.between(-1e-3, 1e-3)); };
    int tried = 0;
    for (int trial = 0; trial < 30; ++trial) {
        ShareQuestion question{.gpus = {random.integer(2, 9), random.integer(2, 9)}};
        for (std::size_t j = 0; j < 6; ++j)
            question.jobs.push_back(
                {.job = j,
                 .gpus = random.integer(1, 2),
                 .rates = {random.between(1, 9), random.chance(0.3) ? 0 : random.between(1, 9)},
                 .steps_left = random.between(1e3, 1e6)});
        const double least = share_time(problem_of(question), Makespan()).objective;
        double low = 100, seconds = 1e6;  // the published search, from a million seconds down
        while (1.05 * low < seconds) (0.5 * (low + seconds) >= least ? seconds : low) = 0.5 * (low + seconds);
        // The slacks of all limits; minus infinity or NaN if one is violated.
        const auto log_product = [&](const Shares& shares) {
            double sum = 0;
            std::vector<double> left{1, 1};
            for (std::size_t j = 0; j < shares.size(); ++j) {
                const auto& job = question.jobs[j];
                double time = 1, rate = -job.steps_left / seconds;
                for (std::size_t t = 0; t < 2; ++t) {
                    if (job.rates[t] <= 0) continue;
                    sum += std::log(shares[j][t]);
                    time -= shares[j][t];
                    rate += job.rates[t] * shares[j][t];
                    left[t] -= job.gpus * shares[j][t] / question.gpus[t];
                }
                sum += std::log(time) + std::log(rate);
            }
            return sum + std::log(left[0]) + std::log(left[1]);
        };
        const Shares middle = makespan_shares(question);
        const double most = log_product(middle);
        REQUIRE(std::isfinite(most));
        for (int other = 0; other < 100; ++other) {
            Shares shares = middle;
            for (std::vector<double>& of_job : shares)
                for (double& share : of_job) share = near(share);
            CHECK_FALSE(log_product(shares) > most + 1e-9);
            ++tried;
        }
    }
    CHECK(tried == 3000);
}

TEST_SUITE_BEGIN("data");

TEST_CASE("Shockwave's stored plan gives the stored completion times") {
    const std::string folder = std::string(GOODPUT_DATA_DIR) + "/shockwave";
    const Cluster cluster = cli::parse_cluster("v100:32x1");
    const ShockwaveModels models = cli::read_shockwave_models(folder, "tacc");
    const std::vector<ShockwaveJob> jobs = cli::read_shockwave_jobs(folder + "/traces/120.jsonl");
    const auto rounds =
        cli::read_json_file(folder + "/plan-120-shockwave.json").get<std::vector<std::vector<std::size_t>>>();
    ShockwaveWorld world(cluster, models, jobs, 120);
    const ReplayResult result = replay(cluster, world, GivenRounds(world, rounds), {.interval_seconds = 120});
    std::size_t compared = 0;
    const cli::Json reference = cli::read_json_file(folder + "/reference-120.json");
    for (const cli::Json& run : reference["runs"]) {
        if (run["id"] != "120/shockwave/stored") continue;
        const Times times = times_of(result);
        for (std::size_t j = 0; j < jobs.size(); ++j)
            CHECK(std::abs(times[j] - run["jct_s"][j].get<double>()) < 0.02);
        CHECK(result.rounds == run["rounds"]);
        std::vector<double> rho = finish_time_fairness(result, world);
        CHECK(*std::max_element(rho.begin(), rho.end()) ==
              doctest::Approx(run["worst_ftf"].get<double>()).epsilon(1e-5));
        CHECK(metrics_of(result, world).unfair * 100 == doctest::Approx(run["unfair_percent"].get<double>()));
        compared += jobs.size();
    }
    CHECK(compared == 120);
}

TEST_CASE("profiles are those that Shockwave's simulator knows") {
    const std::string folder = std::string(GOODPUT_DATA_DIR) + "/shockwave";
    std::size_t compared = 0;
    for (const std::string trace : {"120", "220", "460", "900", "900b"}) {
        const std::string table = trace == "120" ? "tacc" : "wisr";
        CAPTURE(trace);
        const ShockwaveModels models = cli::read_shockwave_models(folder, table);
        const auto jobs = cli::read_shockwave_jobs(folder + "/traces/" + trace + ".jsonl");
        std::ifstream lines(folder + "/profiles/" + trace + "-" + table + ".jsonl");
        std::string line;
        for (const ShockwaveJob& job : jobs) {
            REQUIRE(std::getline(lines, line));
            const auto known = nlohmann::json::parse(line);
            const ShockwaveProfile profile = shockwave_profile(job, models.at(job.model));
            CHECK(profile.epochs() == known["epochs"]);
            CHECK(profile.isolated_seconds ==
                  doctest::Approx(known["isolated_s"].get<double>()).epsilon(1e-8));
            std::vector<int> batches;
            for (const auto& run : known["batches"])
                batches.insert(batches.end(), run[1].get<std::size_t>(), run[0].get<int>());
            CHECK(profile.batches == batches);
            ++compared;
        }
    }
    CHECK(compared == 120 + 220 + 460 + 900 + 900);
}

TEST_CASE("the market finds the best of the stored programs, and some better than what is stored") {
    WindowMarket market;
    std::size_t solved = 0;
    for (auto& [number, program] : stored_programs(Trace120().folder)) {
        const int round = number;  // no structured binding: a lambda of doctest captures it
        StoredProgram& stored = program;
        CAPTURE(round);
        ShockwaveMarket::weigh(stored.program, stored.fair_finishes, round,
                               {.unfair_power = stored.unfair_power}, false);
        const WindowShares shares = market.solve(stored.program);
        REQUIRE(shares.feasible);
        CHECK(shares.objective >= stored.objective - 1e-9 * std::max(1.0, std::abs(stored.objective)));
        CHECK(shares.objective == doctest::Approx(stored.objective).epsilon(1e-6));
        ++solved;
    }
    CHECK(solved == 63);
}

TEST_CASE("asked during the stored run, the market poses the programs that Shockwave posed") {
    Trace120 trace;
    const std::map<int, StoredProgram> stored = stored_programs(trace.folder);
    std::size_t compared = 0;
    const auto look = [&](const ShockwaveRounds& rounds) {
        const auto found = stored.find(rounds.round());
        if (found == stored.end()) return;
        CAPTURE(rounds.round());
        const WindowProblem &asked = rounds.market().program(), &known = found->second.program;
        REQUIRE(asked.jobs.size() == known.jobs.size());
        for (std::size_t j = 0; j < asked.jobs.size(); ++j) {
            const WindowJob &a = asked.jobs[j], &b = known.jobs[j];
            CAPTURE(b.name);
            CHECK(a.name == b.name);
            CHECK(a.gpus == b.gpus);
            CHECK(a.epochs == b.epochs);
            CHECK(a.done_epochs == b.done_epochs);
            CHECK(a.epoch_seconds == doctest::Approx(b.epoch_seconds).epsilon(1e-8));
            CHECK(a.left_seconds == doctest::Approx(b.left_seconds).epsilon(1e-8));
            CHECK(rounds.market().fair_finishes()[j] ==
                  doctest::Approx(found->second.fair_finishes[j]).epsilon(1e-8));
        }
        ++compared;
    };
    const auto rounds = cli::read_json_file(trace.folder + "/plan-120-shockwave.json")
                            .get<std::vector<std::vector<std::size_t>>>();
    replay(
        trace.cluster, trace.world,
        AskedMarket<decltype(look)>{ShockwaveRounds(trace.world, {}), GivenRounds(trace.world, rounds), look},
        {.interval_seconds = 120});
    CHECK(compared == stored.size());
}

TEST_CASE("the market comes out as published, and balanced slowdown better in all four measures") {
    const auto metrics = [](auto make_planner) {
        Trace120 trace;
        const ReplayResult result =
            replay(trace.cluster, trace.world, make_planner(trace.world), {.interval_seconds = 120});
        const std::vector<double> rho = finish_time_fairness(result, trace.world);
        return std::pair(metrics_of(result, trace.world), *std::max_element(rho.begin(), rho.end()));
    };
    const auto [published, published_worst] =
        metrics([](const ShockwaveWorld& world) { return ShockwaveRounds(world, {}); });
    // Equally good plans differ by as much as these tolerances.
    CHECK(published.makespan_hours * 3600 == doctest::Approx(24197).epsilon(0.03));
    CHECK(published.average_hours * 3600 == doctest::Approx(9958).epsilon(0.01));
    CHECK(std::abs(published_worst - 1.78) < 0.3);
    const auto [ours, ours_worst] = metrics([](const ShockwaveWorld&) { return BalancedSlowdown(); });
    CHECK(ours.makespan_hours * 3600 < 24197);
    CHECK(ours.average_hours * 3600 < 9958);
    CHECK(ours_worst < 1.78);
    CHECK(ours.unfair < 0.05);
}

TEST_SUITE_END();
