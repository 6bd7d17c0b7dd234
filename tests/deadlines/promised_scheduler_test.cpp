// Rounds with deadlines: promises are kept under every policy, and jobs without deadlines get what is left.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::check_plan;
using support::Random;
using support::RandomRound;

namespace {

constexpr double round_seconds = 60;

/// A random cluster whose jobs have work left, and some of them deadlines; they are as fast as predicted.
struct DeadlineWorld {
    explicit DeadlineWorld(Random& random) : snapshot(RandomRound(random, {.packs = true}).snapshot) {
        for (Job& job : snapshot.jobs) {
            job.restart_cost_seconds = random.chance(0.3) ? 0 : random.between(0, 30);
            job.restarting = false;
            job.remaining_examples = random.between(1e3, 3e5);
            if (random.chance(0.6))
                deadlines[job.name] = {0, snapshot.time_seconds + random.between(60, 4000),
                                       random.chance(0.3)};
        }
    }
    [[nodiscard]] std::vector<Deadline> of_round() const {
        std::vector<Deadline> all;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            if (const auto its = deadlines.find(snapshot.jobs[j].name); its != deadlines.end()) {
                all.push_back(its->second);
                all.back().job = j;
            }
        return all;
    }
    /// Everybody runs as planned for so long. Who ends is gone; `ended(name, when)`.
    template <class Ended>
    void run(const Plan& plan, double round_seconds, Ended ended) {
        std::vector<Job> jobs;
        std::vector<JobModel> models;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Job job = snapshot.jobs[j];
            const Decision& decision = plan.decisions[j];
            const double begins = decision.starts ? job.restart_cost_seconds : 0,
                         rate = decision.placement.empty() ? 0 : decision.option.goodput,
                         seconds = rate > 0 ? begins + *job.remaining_examples / rate
                                            : std::numeric_limits<double>::infinity();
            job.placement = decision.placement;
            if (seconds <= round_seconds) {
                ended(job.name, snapshot.time_seconds + seconds);
                continue;
            }
            job.remaining_examples = *job.remaining_examples - rate * std::max(0.0, round_seconds - begins);
            jobs.push_back(job);
            models.push_back(snapshot.models[j]);
        }
        snapshot.jobs = std::move(jobs);
        snapshot.models = std::move(models);
        snapshot.time_seconds += round_seconds;
    }

    Snapshot snapshot;
    std::map<std::string, Deadline> deadlines{};
};

struct Counts {
    int promised = 0, refused = 0, must = 0, others = 0;
};

/// Rounds begin up to so many seconds late.
template <class P>
Counts play(Random& random, P policy, double late = 0) {
    Counts counts;
    DeadlineWorld world(random);
    const Scheduler<P> plain(std::move(policy));
    PromisedScheduler scheduler(plain, {.round_seconds = round_seconds, .margins = {1, 1, 1}});
    std::map<std::string, double> done_by;  // of those who were promised anything
    for (int round = 0; round < 70 && !world.snapshot.jobs.empty(); ++round) {
        const std::vector<Deadline> deadlines = world.of_round();
        const Plan& plan = scheduler.plan(world.snapshot, deadlines);
        check_plan(world.snapshot, plan);
        for (std::size_t k = 0; k < deadlines.size(); ++k) {
            const Job& job = world.snapshot.jobs[deadlines[k].job];
            const Decision& decision = plan.decisions[deadlines[k].job];
            const PromiseAnswer& answer = scheduler.answers()[k];
            INFO("round ", round, ", ", job.name, ": ", answer.why);
            CHECK(answer.promise != Promise::broken);
            if (answer.promise == Promise::kept) {
                CHECK(answer.done_by_seconds <= deadlines[k].deadline_seconds * (1 + 1e-9));
                if (answer.now && scheduler.enforced()) {
                    CHECK(!decision.placement.empty());
                    ++counts.must;
                }
                done_by[job.name] = answer.done_by_seconds;
            } else {
                CHECK(!answer.why.empty());
                CHECK(!done_by.contains(job.name));
                if (deadlines[k].or_never && !job.keeps_what_it_holds()) CHECK(decision.placement.empty());
            }
        }
        for (std::size_t j = 0; j < world.snapshot.jobs.size(); ++j)
            counts.others += !world.deadlines.contains(world.snapshot.jobs[j].name) &&
                             !plan.decisions[j].placement.empty();
        world.run(plan, round_seconds + random.between(0, late), [&](const std::string& name, double when) {
            const auto its = world.deadlines.find(name);
            if (its == world.deadlines.end()) return;
            if (done_by.contains(name)) {
                INFO(name);
                CHECK(when <= its->second.deadline_seconds + 1e-6 * when);
                ++counts.promised;
            }
        });
    }
    for (const Job& job : world.snapshot.jobs) {
        INFO(job.name);
        CHECK(!done_by.contains(job.name));
        counts.refused += world.deadlines.contains(job.name);
    }
    return counts;
}

}  // namespace

TEST_CASE(
    "whoever is promised an end in time has one, under values, under the published policy and in a queue") {
    Counts all;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        INFO("seed ", seed);
        Random random(seed);
        const Counts counts = seed % 3 == 0   ? play(random, Sia())
                              : seed % 3 == 1 ? play(random, GoodputPolicy())
                                              : play(random, Fifo());
        all.promised += counts.promised;
        all.refused += counts.refused;
        all.others += counts.others;
        all.must += counts.must;
    }
    MESSAGE(all.promised, " promises kept, ", all.refused, " refused, ", all.others, " rounds of others");
    CHECK(all.promised > 100);
    CHECK(all.refused > 20);
    CHECK(all.must > 100);
    CHECK(all.others > 500);
}

TEST_CASE("promises are kept though rounds begin late") {
    Counts all;
    for (std::uint64_t seed = 101; seed <= 140; ++seed) {
        INFO("seed ", seed);
        Random random(seed);
        all.promised += play(random, GoodputPolicy(), 10).promised;
    }
    CHECK(all.promised > 50);
}
