// No job waits for ever: a job of many GPUs among short ones that keep coming starts within the bound that
// policy/ageing.hpp states, under every policy.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "goodput/policy/ageing.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random_round.hpp"

#include "properties.hpp"
#include "random_plans.hpp"

namespace ageing {

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::OneOf;
using support::Random;

using Patient =
    OneOf<GoodputPolicy, DeclaredGoodputPolicy, Ageing<Sia>, Ageing<Pollux>, Ageing<Optimus>, Ageing<Fifo>,
          Ageing<ShortestRemainingTime>, Ageing<LeastAttainedService>, Ageing<Tiresias>>;

constexpr double longest_wait = 2400, round_seconds = 60;

struct SetWait {
    double seconds;
    void operator()(GoodputPolicy& policy) const { policy.longest_wait_seconds = seconds; }
    void operator()(DeclaredGoodputPolicy& policy) const { policy.undeclared.longest_wait_seconds = seconds; }
    template <class P>
    void operator()(Ageing<P>& policy) const {
        policy.longest_wait_seconds = seconds;
        if constexpr (requires { policy.policy.backfill; }) policy.policy.backfill = true;
    }
};

/// Short jobs of one GPU that come as soon as others have gone, and a few jobs of many GPUs.
struct Storm {
    Storm(Random& of, const Patient& policy) : random(of), scheduler(policy, {.most_states = 20'000}) {
        now.cluster.gpu_types = {"gpu"};
        const int nodes = random.integer(1, 3);
        for (int n = 0; n < nodes; ++n) now.cluster.nodes.push_back({"node-" + std::to_string(n), 0, 4});
        gpus = 4 * nodes;
    }

    Job& add(int size, double examples) {
        Job job{.name = "job-" + std::to_string(count++), .submitted_seconds = now.time_seconds};
        job.restart_cost_seconds = 10;
        job.min_gpus = job.max_gpus = size;
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 64;
        job.types = {{.max_atomic_batch = 64}};
        job.weight = random.between(0.5, 2);
        job.remaining_examples = examples;
        now.jobs.push_back(job);
        now.models.push_back(
            {{{.throughput = PolluxThroughput{0.1, 0.01, 0, 0, 0, 0, 1}, .most_replicas = 16}}});
        return now.jobs.back();
    }
    /// Runs a round, and calls started(job) for each job that holds GPUs.
    template <class Started>
    void go_on(double pinned, Started started) {
        int waiting = 0;
        for (const Job& job : now.jobs) waiting += job.placement.empty() && job.max_gpus == 1;
        for (; waiting < gpus; ++waiting) add(1, short_examples).preemptible = !random.chance(pinned);
        const Plan& plan = scheduler.plan(now);
        REQUIRE(plan.faults.empty());
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            Job& job = now.jobs[j];
            const Decision& decision = plan.decisions[j];
            job.restarts += decision.starts && job.attained_gpu_seconds > 0;
            job.placement = decision.placement;
            if (job.placement.empty()) continue;
            started(job);
            job.attained_gpu_seconds += round_seconds * decision.option.configuration.gpus();
            job.remaining_examples =
                std::max(0.0, *job.remaining_examples -
                                  decision.option.goodput * (round_seconds - (decision.starts ? 10.0 : 0.0)));
        }
        for (std::size_t j = now.jobs.size(); j-- > 0;)
            if (*now.jobs[j].remaining_examples <= 0) {
                now.jobs.erase(now.jobs.begin() + static_cast<std::ptrdiff_t>(j));
                now.models.erase(now.models.begin() + static_cast<std::ptrdiff_t>(j));
            }
        now.time_seconds += round_seconds;
    }

    static constexpr double short_examples = 10000;  // two or three rounds
    Random& random;
    Snapshot now{};
    int gpus = 0, count = 0;
    Scheduler<Patient> scheduler;
};

struct Gang {
    std::string name;
    double submitted = 0;
    int gpus = 0;
    double started = -1;
};

}  // namespace ageing

using namespace ageing;

TEST_CASE("ageing: a job of many GPUs starts within the stated bound, whatever short jobs come") {
    for_all(250, [](Case& one) {
        Patient policy = properties::random_policy<Patient>(one.random);
        std::visit(SetWait{longest_wait}, policy.rule);
        CAPTURE(policy.rule.index());
        Storm storm(one.random, policy);
        const double pinned = one.random.chance(0.5) ? 0 : 0.5;
        // Short jobs that keep what they hold do so until they end.
        const double longest_kept = pinned > 0 ? 4 * round_seconds : 0;
        std::vector<Gang> gangs;
        std::map<std::string, double> old;  // when the jobs were submitted
        const int most_gangs = one.random.integer(1, 3);
        for (int round = 0; round < 250; ++round) {
            if (static_cast<int>(gangs.size()) < most_gangs && one.random.chance(0.05)) {
                const int size = one.random.chance(0.5) ? storm.gpus : 4;
                const Job& gang = storm.add(size, 1e9);
                gangs.push_back({gang.name, storm.now.time_seconds, size});
            }
            storm.go_on(pinned, [&](const Job& job) {
                for (Gang& gang : gangs)
                    if (gang.name == job.name && gang.started < 0) gang.started = storm.now.time_seconds;
            });
            for (const Job& job : storm.now.jobs)
                if (storm.now.time_seconds - job.submitted_seconds >= longest_wait)
                    old.emplace(job.name, job.submitted_seconds);
        }
        if (old.size() > gangs.size()) one.count("in which short jobs waited for long, too");
        for (const Gang& gang : gangs) {
            CAPTURE(gang.name);
            CAPTURE(gang.submitted);
            double bound = longest_wait + longest_kept + round_seconds;
            for (const auto& [name, submitted] : old)
                if (name != gang.name && submitted < gang.submitted + longest_wait)
                    bound += (longest_wait + std::max(0.0, gang.submitted - submitted)) / 24 + longest_kept +
                             round_seconds;
            const double end = storm.now.time_seconds;
            if (gang.submitted + bound > end) continue;
            one.count("jobs of many GPUs");
            REQUIRE(gang.started >= 0);
            REQUIRE(gang.started - gang.submitted <= bound);
            if (gang.started - gang.submitted >= longest_wait) one.count("that started by the rule");
            if (old.size() > 1) continue;
            // From then on the job gets its share of the time, except for a turn and what is kept aside.
            for (const Job& job : storm.now.jobs)
                if (job.name == gang.name)
                    REQUIRE(job.attained_gpu_seconds / gang.gpus >=
                            (end - gang.submitted - longest_wait) / 24 - longest_wait / 24 -
                                4 * (longest_kept + round_seconds));
        }
    });
}

TEST_CASE("ageing: before a job is as old as that, values are those of the policy; then one is worth most") {
    for_all(20, [](Case& one) {
        Patient without = properties::random_policy<Patient>(one.random), with = without;
        std::visit(SetWait{1e300}, without.rule);
        const double wait = one.random.between(100, 6000);
        std::visit(SetWait{wait}, with.rule);
        CAPTURE(with.rule.index());
        Snapshot snapshot = support::RandomRound(one.random, {.packs = true}).snapshot;
        for (Job& job : snapshot.jobs) {
            job.weight = std::exp(one.random.between(-3, 3));
            job.attained_gpu_seconds = one.random.chance(0.5) ? 0 : one.random.between(0, 1e4);
        }
        Scheduler<Patient> scheduler(without, {.most_states = 20'000}), aged(with, {.most_states = 20'000});
        static_cast<void>(scheduler.plan(snapshot));
        const Plan& plan = aged.plan(snapshot);
        std::size_t raised = 0;
        double all = 0;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            double most = 0;
            for (const double value : scheduler.values_of(j)) most = std::max(most, value);
            all += most;
        }
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            bool more = false;
            for (std::size_t k = 0; k < aged.values_of(j).size(); ++k) {
                const double before = scheduler.values_of(j)[k], now = aged.values_of(j)[k];
                if (now > before + 1e-9 * (1 + std::abs(before))) {
                    more = true;
                    REQUIRE(now > 1.9 * all);
                } else {
                    // Only a job that would keep what it gets may be held back.
                    REQUIRE((now == doctest::Approx(before) || (now == 0 && !job.preemptible)));
                }
            }
            if (!more) continue;
            ++raised;
            REQUIRE(snapshot.time_seconds - job.submitted_seconds >= wait);
            one.count("in which a job is overdue");
            // Next to what others keep there is room for one of its options, or it must wait for that room.
            std::vector<double> left = aged.problem().capacity;
            for (std::size_t i = 0; i < snapshot.jobs.size(); ++i)
                if (aged.problem().must(i))
                    for (const ResourceUse& use : aged.problem().uses(i, 0)) left[use.resource] -= use.units;
            bool room = false;
            for (std::size_t k = 0; k < aged.options_of(j).size(); ++k) {
                const std::span<const ResourceUse> uses = aged.problem().uses(j, k);
                room |= aged.options_of(j)[k].goodput > 0 &&
                        std::all_of(uses.begin(), uses.end(),
                                    [&](const ResourceUse& use) { return use.units <= left[use.resource]; });
            }
            if (plan.status == AllotStatus::optimal)
                REQUIRE((aged.allotted().choice[j] != no_option) == room);
        }
        REQUIRE(raised <= 1);
    });
}

TEST_CASE("ageing: settings that make no sense are refused") {
    CHECK_THROWS_WITH_AS((Ageing<Sia>{.longest_wait_seconds = 0}.validate()),
                         "policy ageing: longest_wait_seconds is 0, but must be a finite number above 0",
                         std::invalid_argument);
    CHECK_THROWS_AS((Ageing<Sia>{.policy = {.fairness_power = 0}}.validate()), std::invalid_argument);
    CHECK_THROWS_AS((GoodputPolicy{.longest_wait_seconds = std::nan("")}.validate()), std::invalid_argument);
    CHECK_NOTHROW((GoodputPolicy{.longest_wait_seconds = INFINITY}.validate()));
    static_assert(Ageing<Fifo>::rigid_jobs && !Ageing<Sia>::rigid_jobs);
    static_assert(GrowthLimit<Ageing<Sia>> && !GrowthLimit<Ageing<Fifo>>);
}
