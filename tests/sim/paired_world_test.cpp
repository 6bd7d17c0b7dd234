// Two jobs on the same GPUs in a replay: what plans may say about them, how Gavel's world trains them, how
// they count, and Gavel's rounds and policies of pairs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/queue.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "peers/gavel/packed_shares.hpp"
#include "peers/gavel/python_random.hpp"
#include "peers/gavel/share_question.hpp"
#include "peers/gavel/time_shared_rounds.hpp"
#include "replay/workload.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

static_assert(PairingWorld<GavelWorld> && PairedWorld<GavelWorld>);

namespace {

GavelJob job_of(std::string name, std::string program, double steps, std::vector<double> rates = {1},
                int gpus = 1, double submitted_seconds = 0) {
    return {.name = std::move(name),
            .program = std::move(program),
            .submitted_seconds = submitted_seconds,
            .gpus = gpus,
            .steps = steps,
            .rates = std::move(rates)};
}

/// What a job shall have: GPUs of a node, alone or with another job.
struct Given {
    std::size_t node = 0;
    int gpus = 0;
    std::optional<std::size_t> partner{};
};

Plan plan_of(const Snapshot& snapshot, const std::vector<Given>& given) {
    Plan plan;
    plan.decisions.resize(snapshot.jobs.size());
    for (std::size_t j = 0; j < std::min(given.size(), plan.decisions.size()); ++j) {
        Decision& decision = plan.decisions[j];
        decision.shares_with = given[j].partner;
        if (given[j].gpus == 0) continue;
        decision.placement = {{given[j].node, given[j].gpus}};
        decision.option.configuration = configuration_of(decision.placement, snapshot.cluster);
        decision.option.plan = {1, 0};
    }
    find_actions(snapshot, plan);
    return plan;
}

/// Decides what a function returns.
struct Decider {
    std::function<Plan(const Snapshot&)> make;
    Plan last{};
    const Plan& plan(const Snapshot& snapshot) { return last = make(snapshot); }
};

/// Two jobs with one GPU each. Alone each does 1 step/s, together they do 0.5 and 0.25.
GavelWorld two_jobs(const Cluster& cluster, double first_steps, double second_steps) {
    const std::vector<GavelPair> pairs{{.programs = {"p", "q"}, .rates = {{0.5, 0.25}}}};
    return {cluster, {job_of("a", "p", first_steps), job_of("b", "q", second_steps)}, pairs};
}

/// A world that knows no pairs.
struct LonelyWorld {
    std::vector<Job> trace{Job{.name = "a"}, Job{.name = "b"}};
    [[nodiscard]] const std::vector<Job>& jobs() const { return trace; }
    [[nodiscard]] double done(std::size_t) const { return 0; }
    std::optional<double> train(std::size_t, const Configuration&, double begin, double) { return begin; }
};
static_assert(World<LonelyWorld> && !PairingWorld<LonelyWorld>);

}  // namespace

TEST_CASE("two jobs on the same GPUs do the steps of their pair, until both have done their last one") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    GavelWorld world = two_jobs(cluster, 60, 40);
    const ReplayResult result = replay(cluster, world, Decider{[](const Snapshot& snapshot) {
                                           if (snapshot.jobs.size() == 2)
                                               return plan_of(snapshot, {{0, 1, 1}, {0, 1, 0}});
                                           return plan_of(snapshot, {{0, 1}});
                                       }},
                                       {.interval_seconds = 100});
    // Rounds of 50 and 25 steps, then of 10 and 15 steps, which take 20 and 60 s.
    CHECK(result.jobs[0].completed_seconds == 160);
    CHECK(result.jobs[1].completed_seconds == 160);
    CHECK(result.rounds == 2);
}

TEST_CASE("a job goes on alone where it is, without a restart, when its partner is complete") {
    const Cluster cluster = cli::parse_cluster("gpu:1x1");
    GavelWorld world = two_jobs(cluster, 50, 100);
    const ReplayResult result = replay(cluster, world, Decider{[](const Snapshot& snapshot) {
                                           if (snapshot.jobs.size() == 2)
                                               return plan_of(snapshot, {{0, 1, 1}, {0, 1, 0}});
                                           return plan_of(snapshot, {{0, 1}});
                                       }},
                                       {.interval_seconds = 100});
    CHECK(result.jobs[0].completed_seconds == 100);
    CHECK(result.jobs[1].completed_seconds == 175);
    CHECK(result.jobs[1].restarts == 0);
    // The GPU counts once: half of it for each job, then all of it for the second.
    CHECK(result.jobs[0].gpu_seconds == 50);
    CHECK(result.jobs[1].gpu_seconds == 50 + 75);
    CHECK(metrics_of(result).utilisation == 1);
    REQUIRE(result.held_periods.size() == 3);
    CHECK(result.held_periods[0].beside == 1);
    CHECK(result.held_periods[1].beside == 0);
    CHECK(!result.held_periods[2].beside);
}

TEST_CASE("after its partner's completion a job is charged for all their GPUs") {
    // Rounds of one length: the second job trains for 100 s next to the first, which needs 30 s.
    struct Halves : LonelyWorld {
        std::vector<double> left{30, 1000};
        void train_beside(std::size_t, std::optional<std::size_t>) {}
        [[nodiscard]] double done(std::size_t job) const { return left[job] > 0 ? 0 : 1; }
        std::optional<double> train(std::size_t job, const Configuration&, double begin, double seconds) {
            const double needed = left[job];
            left[job] -= seconds;
            return left[job] <= 0 ? std::optional(begin + needed) : std::nullopt;
        }
    };
    Halves world;
    const Cluster cluster = cli::parse_cluster("gpu:1x2");
    const ReplayResult result = replay(cluster, world, Decider{[](const Snapshot& snapshot) {
                                           if (snapshot.jobs.size() == 2)
                                               return plan_of(snapshot, {{0, 2, 1}, {0, 2, 0}});
                                           return plan_of(snapshot, {{0, 2}});
                                       }},
                                       {.interval_seconds = 100, .first_decision_seconds = 0});
    CHECK(result.jobs[0].completed_seconds == 30);
    CHECK(result.jobs[1].completed_seconds == 1000);
    CHECK(result.jobs[0].gpu_seconds == 100);
    CHECK(result.jobs[1].gpu_seconds == 100 + 1800);
    CHECK(metrics_of(result).utilisation == 1);
    CHECK(metrics_of(result).queueing_hours == 0);
}

TEST_CASE("plans in which two jobs have the same GPUs and do not both say so are refused") {
    const Cluster cluster = cli::parse_cluster("gpu:2x2");
    const auto refused = [&](const std::vector<Given>& given) {
        GavelWorld world(cluster, {job_of("a", "p", 100), job_of("b", "p", 100), job_of("c", "p", 100)},
                         std::vector<GavelPair>{{.programs = {"p", "p"}, .rates = {{1, 1}}}});
        try {
            replay(cluster, world,
                   Decider{[&](const Snapshot& snapshot) { return plan_of(snapshot, given); }},
                   {.last_second = 60});
        } catch (const std::invalid_argument& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK(refused({{0, 2, 1}, {0, 2, 0}, {1, 2}}) == "");
    CHECK(refused({{0, 2}, {0, 2}, {1, 2}}) ==
          "scheduler: GPUs given of node 'gpu-0' is 4, but must be at most 2");
    CHECK(refused({{0, 2, 1}, {0, 2, 0}, {0, 2}}) ==
          "scheduler: GPUs given of node 'gpu-0' is 4, but must be at most 2");
    CHECK(refused({{0, 2, 1}, {0, 2}, {1, 2}}) ==
          "scheduler, job 'a': shares_with is 1, but must be the index of a job that shares with it");
    CHECK(refused({{0, 2, 1}, {0, 2, 2}, {0, 2, 0}}) ==
          "scheduler, job 'a': shares_with is 1, but must be the index of a job that shares with it");
    CHECK(refused({{0, 2, 1}, {1, 2, 0}}) ==
          "scheduler, job 'a': shares_with is 1, but must be the index of a job that has the same GPUs");
    CHECK(refused({{0, 2, 1}, {0, 1, 0}}) ==
          "scheduler, job 'a': shares_with is 1, but must be the index of a job that has the same GPUs");
    CHECK(refused({{0, 0, 1}, {0, 0, 0}}) ==
          "scheduler, job 'a': shares_with is 1, but must be the index of a job that has the same GPUs");
    CHECK(refused({{0, 2, 0}}) ==
          "scheduler, job 'a': shares_with is 0, but must be the index of another job");
    CHECK(refused({{0, 2, 3}}) ==
          "scheduler, job 'a': shares_with is 3, but must be the index of another job");
    LonelyWorld world;
    CHECK_THROWS_WITH(replay(cluster, world, Decider{[](const Snapshot& snapshot) {
                                 return plan_of(snapshot, {{0, 2, 1}, {0, 2, 0}});
                             }}),
                      "scheduler, job 'a': shares_with is 1, but must be none, since the world's jobs do not "
                      "share GPUs");
}

TEST_CASE("pairs that make no sense are refused, and those that are not measured do nothing") {
    const Cluster cluster = cli::parse_cluster("gpu:2x1,other:1x1");
    const std::vector<GavelJob> jobs{job_of("a", "p", 10, {1, 1}), job_of("b", "q", 10, {1, 1})};
    CHECK_THROWS_WITH(
        GavelWorld(cluster, jobs, std::vector<GavelPair>{{.programs = {"p", "q"}, .rates = {{1, 1}}}}),
        "pair of 'p' and 'q': number of rates is 1, but must be between 2 and 2");
    CHECK_THROWS_WITH(
        GavelWorld(cluster, jobs, std::vector<GavelPair>{{.programs = {"p", "q"}, .rates = {{1, -1}, {}}}}),
        "pair of 'p' and 'q': steps a second is -1, but must be a finite number of at least 0");
    GavelWorld world(cluster, jobs,
                     std::vector<GavelPair>{{.programs = {"q", "p"}, .rates = {{0.25, 0.5}, {0.25, 0}}},
                                            {.programs = {"p", "q"}, .gpus = 2, .rates = {{9, 9}, {9, 9}}}});
    CHECK(world.pair_rate(0, 1, 0) == 0.5);
    CHECK(world.pair_rate(1, 0, 0) == 0.25);
    CHECK(world.pair_rate(1, 0, 1) == 0);
    CHECK(world.pair_rate(0, 0, 0) == 0);
    const Configuration held = configuration_of({{2, 1}}, cluster);
    world.train_beside(0, 1);
    world.train_beside(1, 0);
    const RunningJob running[]{{0, &held, 0}};
    CHECK(world.round_until({.latest_seconds = 100, .running = running}) == 0);
    CHECK(!world.train(0, held, 0, 100));
    CHECK(world.last_run(0).empty);
    CHECK(world.steps_left(0) == 10);
    CHECK(GavelWorld(cluster, jobs).pair_rate(0, 1, 0) == 0);
}

TEST_CASE("in random worlds each job does the steps of its rates, and each GPU counts once") {
    support::Random random(37);
    std::size_t together = 0;
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        const Cluster cluster = cli::parse_cluster(random.chance(0.5) ? "a:3x2,b:2x4" : "b:2x1,a:2x2");
        const std::size_t types = cluster.gpu_types.size();
        std::vector<GavelJob> jobs;
        double time = 0;
        for (int i = 0; i < random.integer(2, 12); ++i) {
            time += random.chance(0.5) ? random.between(0, 300) : 0;
            std::vector<double> rates;
            for (std::size_t t = 0; t < types; ++t) rates.push_back(random.between(0.1, 3));
            jobs.push_back(job_of("job-" + std::to_string(10 + i),
                                  std::string(1, "pqr"[random.integer(0, 2)]), random.integer(1, 2000), rates,
                                  random.integer(1, 2), time));
        }
        std::vector<GavelPair> pairs;
        for (const char* programs : {"pp", "pq", "rp", "qr", "rr"})
            for (const int gpus : {1, 2}) {
                GavelPair& pair = pairs.emplace_back(GavelPair{
                    .programs = {std::string(1, programs[0]), std::string(1, programs[1])}, .gpus = gpus});
                for (std::size_t t = 0; t < types; ++t) {
                    std::array<double, 2>& rates = pair.rates.emplace_back();
                    for (double& rate : rates) rate = random.between(0.01, 2);
                    if (programs[0] == programs[1]) rates[1] = rates[0];
                    if (random.chance(0.2)) rates[0] = 0;
                }
            }
        GavelWorld world(cluster, jobs, pairs);
        // Decides anything that fits: jobs on nodes with free GPUs, then others that join them.
        const auto decide = [&](const Snapshot& snapshot) {
            std::vector<int> left;
            for (const Node& node : cluster.nodes) left.push_back(node.gpus);
            std::vector<Given> given(snapshot.jobs.size());
            for (std::size_t j = 0; j < given.size(); ++j) {
                const int gpus = snapshot.jobs[j].max_gpus;
                const auto n = static_cast<std::size_t>(random.integer(0, static_cast<int>(left.size()) - 1));
                if (left[n] >= gpus) {
                    left[n] -= gpus;
                    given[j] = {n, gpus};
                    continue;
                }
                for (std::size_t other = 0; other < j; ++other)
                    if (given[other].gpus == gpus && !given[other].partner && given[j].gpus == 0) {
                        given[j] = {given[other].node, gpus, other};
                        given[other].partner = j;
                    }
            }
            return plan_of(snapshot, given);
        };

        struct Round {
            double begin = 0;
            std::vector<std::size_t> jobs{};  // indices in the world
            std::vector<Decision> decisions{};
            std::vector<double> left{};  // steps left
        } last;
        double gpu_seconds = 0;
        const auto check_round = [&] {
            double end = last.begin;  // last step of any job
            for (std::size_t j = 0; j < last.jobs.size(); ++j)
                if (!last.decisions[j].placement.empty())
                    end = std::max(end, world.last_run(last.jobs[j]).end_seconds);
            for (std::size_t j = 0; j < last.jobs.size(); ++j) {
                const Decision& decision = last.decisions[j];
                const auto rate_of = [&](std::size_t i, const GavelJob& job, const GavelJob* partner) {
                    const std::size_t type = last.decisions[i].option.configuration.first().gpu_type;
                    if (!partner) return job.rates[type];
                    for (const GavelPair& pair : pairs) {
                        if (pair.gpus != job.gpus || std::min(pair.rates[type][0], pair.rates[type][1]) <= 0)
                            continue;
                        if (pair.programs == std::array{job.program, partner->program})
                            return pair.rates[type][0];
                        if (pair.programs == std::array{partner->program, job.program})
                            return pair.rates[type][1];
                    }
                    return 0.0;
                };
                const auto steps_of = [&](std::size_t i) {
                    const GavelJob& job = jobs[last.jobs[i]];
                    const auto partner = last.decisions[i].shares_with;
                    const double rate = rate_of(i, job, partner ? &jobs[last.jobs[*partner]] : nullptr);
                    return std::min(std::floor(rate * 360 + 1e-6), last.left[i]);
                };
                double expected = 0;
                if (!decision.placement.empty()) {
                    expected = steps_of(j);
                    const int gpus = jobs[last.jobs[j]].gpus;
                    if (expected < gpus || (decision.shares_with && steps_of(*decision.shares_with) < gpus))
                        expected = 0;
                    if (decision.shares_with) ++together;
                    gpu_seconds += (end - last.begin) * gpus * (decision.shares_with ? 0.5 : 1);
                }
                CHECK(last.left[j] - world.steps_left(last.jobs[j]) == expected);
            }
        };
        const ReplayResult result =
            replay(cluster, world, Decider{decide}, {.interval_seconds = 360, .last_second = 1e6},
                   [&](double now, const Snapshot& snapshot, auto make_plan) {
                       check_round();
                       const Plan& plan = make_plan();
                       last = {.begin = now, .decisions = plan.decisions};
                       for (const Job& job : snapshot.jobs) {
                           last.jobs.push_back(world.index_of(job.name));
                           last.left.push_back(world.steps_left(last.jobs.back()));
                       }
                   });
        check_round();
        double attained = 0, held = 0, there = 0;
        for (const JobOutcome& job : result.jobs) attained += job.gpu_seconds;
        CHECK(attained == doctest::Approx(gpu_seconds));
        for (const HeldPeriod& period : result.held_periods)
            held += period.counted_gpus() * (period.end_seconds - period.begin_seconds);
        CHECK(held <= attained * (1 + 1e-9));
        for (const Node& node : cluster.nodes) there += node.gpus * result.end_seconds;
        CHECK(attained <= there * (1 + 1e-9));
        CHECK(metrics_of(result).utilisation <= 1 + 1e-9);
    }
    CHECK(together > 200);
}

TEST_CASE("a pair has its share of the rounds, and no job runs in two units of a round") {
    const Cluster cluster = cli::parse_cluster("gpu:2x1");
    const std::vector<GavelPair> pairs{{.programs = {"p", "p"}, .rates = {{0.75, 0.75}}}};
    GavelWorld world(cluster, {job_of("a", "p", 3000), job_of("b", "p", 3000), job_of("c", "p", 3000)},
                     pairs);
    // a and b together in half of the rounds, b alone in the other half, c always.
    const SharePolicy policy{.shares =
                                 [](const ShareQuestion& question) {
                                     Shares shares(question.jobs.size() + question.pairs.size(), {0.0});
                                     if (question.jobs.size() < 3) return Shares(shares.size(), {1.0});
                                     REQUIRE(question.pairs.size() == 3);
                                     CHECK(question.pairs[0].jobs == std::array<std::size_t, 2>{0, 1});
                                     CHECK(question.pairs[0].rates[0] == std::array{0.75, 0.75});
                                     shares[1][0] = 0.5;
                                     shares[2][0] = 1;
                                     shares[3][0] = 0.5;
                                     return shares;
                                 },
                             .fills_gaps = false,
                             .pairs = true};
    int rounds = 0, both = 0, alone = 0, third = 0;
    replay(cluster, world, TimeSharedRounds<GavelWorld>(world, policy, {100, 500}),
           {.interval_seconds = 100, .last_second = 1900},
           [&](double, const Snapshot& snapshot, auto make_plan) {
               const Plan& plan = make_plan();
               if (snapshot.jobs.size() < 3) return;
               ++rounds;
               both += plan.decisions[0].shares_with == 1 ? 1 : 0;
               alone += !plan.decisions[1].placement.empty() && !plan.decisions[1].shares_with ? 1 : 0;
               third += plan.decisions[2].placement.empty() ? 0 : 1;
               CHECK(plan.decisions[0].placement.empty() == !plan.decisions[0].shares_with);
           });
    CHECK(rounds == 20);
    CHECK(both == 10);
    CHECK(alone == 10);
    CHECK(third == 20);
}

TEST_CASE("Gavel's rounds of pairs give no more than there is and complete every job") {
    support::Random random(12);
    std::size_t together = 0;
    for (int round = 0; round < 30; ++round) {
        CAPTURE(round);
        const Cluster cluster = cli::parse_cluster(random.chance(0.5) ? "a:3x4,b:5x1" : "a:4x1,b:2x2");
        std::vector<GavelJob> jobs;
        double time = 0;
        const int gpus_at_most = random.integer(1, 2);
        for (int i = random.integer(1, 30); i > 0; --i) {
            time += random.between(0, 300);
            const int gpus = random.integer(1, gpus_at_most);
            jobs.push_back(job_of("job-" + std::to_string(100 - i),
                                  std::string(1, "pqr"[random.integer(0, 2)]), gpus * random.integer(1, 2000),
                                  {random.between(0.5, 3), random.between(0.5, 3)}, gpus, time));
        }
        std::vector<GavelPair> pairs;
        for (const char* programs : {"pp", "pq", "rp", "qr", "qq"})
            pairs.push_back({.programs = {std::string(1, programs[0]), std::string(1, programs[1])},
                             .rates = {{random.between(0.3, 2), random.between(0.3, 2)}, {0.5, 0.5}}});
        SharePolicy policy{.shares = GandivaShares(), .pairs = true};
        if (random.chance(0.5)) policy = {.shares = fifo_packed_shares, .fills_gaps = false, .pairs = true};
        GavelWorld world(cluster, jobs, pairs);
        const ReplayResult result =
            replay(cluster, world, TimeSharedRounds<GavelWorld>(world, policy, {360, 1920}),
                   {.interval_seconds = 360, .last_second = 1e7},
                   [&](double, const Snapshot& snapshot, auto make_plan) {
                       const Plan& plan = make_plan();  // replay() checks its nodes
                       for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                           together += plan.decisions[j].shares_with ? 1 : 0;
                   });
        for (const JobOutcome& job : result.jobs) CHECK(job.completed_seconds.has_value());
        CHECK(metrics_of(result).utilisation <= 1 + 1e-9);
    }
    CHECK(together > 100);
}

TEST_CASE("first come, first served, packed: the next one joins the job that it goes best with, or waits") {
    ShareQuestion question{.gpus = {1, 1}};
    for (std::size_t j = 0; j < 4; ++j) question.jobs.push_back({.job = j, .gpus = 1, .rates = {1, 2}});
    question.pairs = {
        {.jobs = {0, 2}, .rates = {{0.9, 0.9}, {1.6, 1.5}}},  // 1.55 on the fast type, where 0 is
        {.jobs = {1, 2}, .rates = {{0.8, 0.9}, {0, 0}}},      // 1.7 on the slow type, where 1 is
        {.jobs = {0, 3}, .rates = {{0, 0}, {1.5, 1.5}}}};     // 1.5 is not more than 1.5
    CHECK(fifo_packed_shares(question) == Shares{{0, 1}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {0, 0}});
    question.pairs[2].rates[1] = {1.5, 1.6};
    CHECK(fifo_packed_shares(question) == Shares{{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {1, 0}, {0, 1}});
    question.pairs[1].rates[0] = {0.5, 0.5};
    question.pairs[0].rates[1] = {1, 1};  // 2 finds no partner, so 3 does not pass it
    CHECK(fifo_packed_shares(question) == Shares{{0, 1}, {1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}});
}

TEST_CASE(
    "Gandiva pairs only if there are too few GPUs, tries a pair and parts it if it is worse than turns") {
    ShareQuestion question{.gpus = {1}};
    for (std::size_t j = 0; j < 2; ++j) question.jobs.push_back({.job = j, .gpus = 1, .rates = {1}});
    question.pairs = {{.jobs = {0, 1}, .rates = {{0.4, 0.5}}}};
    GandivaShares gandiva;
    CHECK(gandiva(question) == Shares{{0}, {0}, {1}});
    question.pairs[0].rates[0] = {0.6, 0.5};
    CHECK(gandiva(question) == Shares{{0}, {0}, {1}});
    question.gpus = {2};
    CHECK(gandiva(question) == Shares{{1}, {1}, {0}});
    // With many jobs, each is in one unit. Good pairs stay together, bad ones are parted.
    support::Random random(3);
    ShareQuestion many{.gpus = {4, 4}};
    for (std::size_t j = 0; j < 31; ++j)
        many.jobs.push_back({.job = j, .gpus = random.integer(1, 2), .rates = {1, 2}});
    std::map<std::size_t, bool> good;
    for (std::size_t a = 0; a < many.jobs.size(); ++a)
        for (std::size_t b = a + 1; b < many.jobs.size(); ++b) {
            if (many.jobs[a].gpus != many.jobs[b].gpus) continue;
            good[many.pairs.size()] = random.chance(0.5);
            const double part = good[many.pairs.size()] ? 0.8 : 0.2;
            many.pairs.push_back({.jobs = {a, b}, .rates = {{part, part}, {part, part}}});
        }
    GandivaShares of_many;
    std::vector<std::size_t> kept;
    for (int round = 0; round < 10; ++round) {
        const Shares shares = of_many(many);
        std::vector<int> units_of(many.jobs.size());
        std::vector<double> used(2);
        std::vector<std::size_t> now;
        for (std::size_t u = 0; u < shares.size(); ++u) {
            if (shares[u][0] <= 0) continue;
            const bool pair = u >= many.jobs.size();
            const std::array<std::size_t, 2> jobs =
                pair ? many.pairs[u - many.jobs.size()].jobs : std::array{u, u};
            ++units_of[jobs[0]];
            if (pair) ++units_of[jobs[1]];
            if (pair && good[u - many.jobs.size()]) now.push_back(u);
            for (std::size_t t = 0; t < 2; ++t) used[t] += shares[u][t] * many.jobs[jobs[0]].gpus;
        }
        for (const int units : units_of) CHECK(units == 1);
        for (const double gpus : used) CHECK(gpus <= 4 + 1e-9);
        for (const std::size_t pair : kept) CHECK(std::find(now.begin(), now.end(), pair) != now.end());
        CHECK(now.size() >= kept.size());
        kept = now;
    }
    CHECK(kept.size() >= 10);
}

TEST_CASE("pairs are drawn as Python does it") {
    // random.Random(0) in Python: sample(range(n), 2) for these ten n.
    PythonRandom random(0);
    std::vector<std::pair<std::size_t, std::size_t>> drawn;
    for (const std::size_t n : {3U, 21U, 22U, 50U, 3U, 21U, 22U, 50U, 2U, 2U})
        drawn.push_back(random.two_of(n));
    CHECK(drawn ==
          std::vector<std::pair<std::size_t, std::size_t>>{
              {1, 2}, {1, 8}, {16, 15}, {25, 19}, {1, 2}, {18, 6}, {16, 4}, {18, 8}, {0, 1}, {0, 1}});
}
