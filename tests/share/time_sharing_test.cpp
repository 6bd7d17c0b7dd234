// From shares of time to rounds: in the long run every job has its share, whatever happens in between.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/share/time_sharing.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Jobs of one size on nodes that it divides, so that every share of time is possible.
struct SharedCluster {
    explicit SharedCluster(Random& random) {
        const std::size_t types = static_cast<std::size_t>(random.integer(1, 3));
        const int workers = 1 << random.integer(0, 2);
        for (std::size_t t = 0; t < types; ++t) {
            now.cluster.gpu_types.push_back("type-" + std::to_string(t));
            for (int node = random.integer(1, 3); node > 0; --node)
                now.cluster.nodes.push_back({"node-" + std::to_string(t) + "-" + std::to_string(node), t, 4});
        }
        for (int j = random.integer(2, 14); j > 0; --j) {
            Job job{.name = std::to_string(now.jobs.size())};
            job.min_gpus = job.max_gpus = workers;
            job.adaptivity = Adaptivity::none;
            job.initial_batch = job.target_batch = 1;
            job.weight = random.integer(1, 3);
            rates.emplace_back();
            for (std::size_t t = 0; t < types; ++t) {
                rates.back().push_back(random.chance(0.15) ? 0 : std::exp(random.between(0, 2)));
                job.types.push_back({.max_atomic_batch = rates.back().back() > 0 ? 1 : 0});
            }
            now.jobs.push_back(job);
        }
        for (std::size_t t = 0; t < types; ++t) problem.gpus.push_back(0);
        for (const Node& node : now.cluster.nodes) problem.gpus[node.gpu_type] += node.gpus;
        for (std::size_t j = 0; j < rates.size(); ++j)
            problem.jobs.push_back({.name = now.jobs[j].name,
                                    .workers = workers,
                                    .weight = now.jobs[j].weight,
                                    .rates = rates[j]});
    }

    [[nodiscard]] auto predictor() const {
        return [this](const Job& job, const JobModel&, std::span<Option> options,
                      const std::optional<GradientStatistics>& = {}) {
            for (Option& option : options) {
                option.plan = {1, 0};
                option.goodput = rates[static_cast<std::size_t>(std::stoi(job.name))]
                                      [option.configuration.first().gpu_type];
                option.knowledge = Knowledge::measured;
            }
        };
    }

    /// Returns the rates by job over `rounds` rounds.
    template <class Sharing>
    std::vector<double> run(Sharing& sharing, int rounds, int plans_a_round = 1) {
        std::vector<double> done(rates.size(), 0);
        for (int round = 0; round < rounds; ++round) {
            for (int again = 1; again < plans_a_round; ++again) static_cast<void>(sharing.plan(now));
            const Plan& plan = sharing.plan(now);
            REQUIRE(plan.faults.empty());
            for (std::size_t j = 0; j < rates.size(); ++j) {
                const Decision& decision = plan.decisions[j];
                now.jobs[j].placement = decision.placement;
                if (!decision.placement.empty())
                    done[j] += rates[j][decision.option.configuration.first().gpu_type];
            }
            now.time_seconds += interval;
        }
        for (double& rate : done) rate /= rounds;
        return done;
    }

    static constexpr double interval = 360;
    Snapshot now{};
    std::vector<std::vector<double>> rates{};
    ShareProblem problem{};
};

template <class O>
void check_long_run(O objective, std::uint64_t seed, int plans_a_round = 1) {
    Random random(seed);
    SharedCluster of(random);
    const ShareResult shares = share_time(of.problem, objective);
    TimeSharing<O, decltype(of.predictor())> sharing(objective, SharedCluster::interval, of.predictor());
    const std::vector<double> rates = of.run(sharing, 600, plans_a_round);
    for (std::size_t j = 0; j < rates.size(); ++j) {
        CAPTURE(seed);
        CAPTURE(j);
        CHECK(rates[j] >= 0.99 * shares.rates[j]);
    }
}

}  // namespace

TEST_CASE("in the long run every job runs at 99 % of its shares' rate, or faster") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        check_long_run(MaxMin(), seed);
        check_long_run(NashWelfare(), 100 + seed);
    }
}

TEST_CASE("planning several times in one second gives the same in the long run") {
    for (std::uint64_t seed = 0; seed < 12; ++seed) check_long_run(MaxMin(), seed, 2 + seed % 2);
}

TEST_CASE("what is owed does not depend on how often it is booked, while no job runs too far ahead") {
    Random random(8);
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Snapshot now;
        now.cluster.gpu_types = {"a", "b"};
        now.jobs = {Job{.name = "one"}, Job{.name = "two"}};
        Plan plan;
        plan.decisions.resize(2);
        TimeAccounts seldom(360), often(360);
        for (int round = 0; round < 20; ++round) {
            ShareResult shares;
            shares.types = 2;
            for (std::size_t j = 0; j < 2; ++j) {
                const double first = random.between(0, 1);
                shares.shares.push_back(first);
                shares.shares.push_back(random.between(0, 1 - first));
                plan.decisions[j].option.configuration = {};
                if (random.chance(0.7))
                    plan.decisions[j].option.configuration =
                        Configuration(random.chance(0.5) ? 0u : 1u, 4, {1, 1});
            }
            const double start = now.time_seconds, end = start + random.between(0, 360);
            seldom.settle(now);
            seldom.note(now, plan, shares);
            often.settle(now);
            often.note(now, plan, shares);
            for (int part = random.integer(0, 5); part > 0; --part) {
                now.time_seconds = end - (end - start) * part / 6.0;
                often.settle(now);
                if (random.chance(0.5)) often.settle(now);
            }
            now.time_seconds = end;
            Snapshot other = now;
            seldom.settle(now);
            often.settle(other);
            for (std::size_t j = 0; j < 2; ++j)
                for (std::size_t t = 0; t < 2; ++t) {
                    CHECK(other.jobs[j].owed_seconds[t] ==
                          doctest::Approx(now.jobs[j].owed_seconds[t]).epsilon(1e-9).scale(1));
                    CHECK(now.jobs[j].owed_seconds[t] >= -3 * 360 - 1e-9);
                }
        }
    }
}

TEST_CASE("jobs that come later are not behind, and those that are gone are forgotten") {
    Random random(5);
    SharedCluster of(random);
    TimeSharing<MaxMin, decltype(of.predictor())> sharing({}, SharedCluster::interval, of.predictor());
    of.run(sharing, 50);
    // The last job leaves and comes back: its past is forgotten, and every job has its share again.
    const Job last = of.now.jobs.back();
    of.now.jobs.pop_back();
    std::vector<double> rate_of_last = of.rates.back();
    of.rates.pop_back();
    of.run(sharing, 50);
    of.now.jobs.push_back(last);
    of.now.jobs.back().placement.clear();
    of.rates.push_back(rate_of_last);
    const ShareResult shares = share_time(of.problem, MaxMin());
    const std::vector<double> rates = of.run(sharing, 600);
    for (std::size_t j = 0; j < rates.size(); ++j) CHECK(rates[j] >= 0.98 * shares.rates[j]);
}

TEST_CASE("what is owed decides, and no GPU idles that some job can use") {
    Snapshot now;
    now.cluster = {{"A"}, {{"a", 0, 1}}};
    for (const char* name : {"first", "second"}) {
        Job job{.name = name};
        job.adaptivity = Adaptivity::none;
        job.initial_batch = job.target_batch = 1;
        job.types = {{.max_atomic_batch = 1}};
        now.jobs.push_back(job);
    }
    const auto same = [](const Job&, const JobModel&, std::span<Option> options,
                         const std::optional<GradientStatistics>& = {}) {
        for (Option& option : options) {
            option.plan = {1, 0};
            option.goodput = 1;
        }
    };
    Scheduler<TimeShares<>, LeastMovesPlacer, Allotter<>, decltype(same)> scheduler(TimeShares<>(), {}, {},
                                                                                    {}, same);
    now.jobs[0].owed_seconds = {10};
    now.jobs[1].owed_seconds = {400};
    CHECK(scheduler.plan(now).decisions[0].placement.empty());
    CHECK_FALSE(scheduler.plan(now).decisions[1].placement.empty());
    now.jobs[1].owed_seconds = {-4000};
    CHECK_FALSE(scheduler.plan(now).decisions[0].placement.empty());
    now.jobs.erase(now.jobs.begin());
    CHECK_FALSE(scheduler.plan(now).decisions[0].placement.empty());
    now.jobs[0].owed_seconds = {std::nan("")};
    now.strict = true;
    CHECK_THROWS_WITH_AS(static_cast<void>(scheduler.plan(now)),
                         "job 'second': owed_seconds is nan, but must be finite", std::invalid_argument);
}
