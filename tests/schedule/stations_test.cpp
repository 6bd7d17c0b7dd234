// Tests what a caller may add to a round: factors on the goodput of options, and a station that runs once
// the nodes are chosen.

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

namespace stations {

using namespace goodput;

/// GPUs of type 0 are slow at night.
struct Night {
    double factor = 0.5;
    bool falls = true;
    int asked = 0;

    bool begin_round(const Round&) const { return falls; }
    void operator()(const Job&, Option& option) {
        ++asked;
        if (option.configuration.first().gpu_type == 0) option.goodput *= factor;
    }
};

/// The same effect as part of the predictor.
struct NightPredictor {
    GoodputPredictor predict{};
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        predict(job, model, options);
        for (Option& option : options)
            if (option.configuration.first().gpu_type == 0) option.goodput *= 0.5;
    }
};

/// Each node has room for `most` jobs. Jobs that keep what they hold come first.
struct FewJobs {
    int most = 2;
    std::vector<int> jobs{};  ///< number of jobs on each node

    void operator()(const Round& round, const AllotmentProblem&, std::span<PlacedJob> placed) {
        jobs.assign(round.cluster.nodes.size(), 0);
        for (const PlacedJob& job : placed)
            if (job.keeps) take({}, job.placement);
        for (PlacedJob& job : placed) {
            if (job.keeps) continue;
            if (std::all_of(job.placement.begin(), job.placement.end(),
                            [&](const NodeShare& share) { return has_room({}, share); })) {
                take({}, job.placement);
                continue;
            }
            job.option = no_option;
            job.why = "its node has too many jobs";
        }
    }
    [[nodiscard]] bool has_room(const Configuration&, const NodeShare& share) const {
        return jobs[share.node] < most;
    }
    void take(const Configuration&, const Placement& placement) {
        for (const NodeShare& share : placement) ++jobs[share.node];
    }
};

/// The same station, but it does not say what is left.
struct FewJobsSilently {
    FewJobs few{};
    void operator()(const Round& round, const AllotmentProblem& problem, std::span<PlacedJob> placed) {
        few(round, problem, placed);
    }
};

static_assert(GoodputFactor<Night> && KnowsRoom<FewJobs>);
static_assert(NodeStation<FewJobsSilently> && !KnowsRoom<FewJobsSilently>);

TEST_CASE("a factor changes goodput like a predictor that contains it") {
    support::Random random(91);
    auto counted = Scheduler<Sia>().counting(Night{});
    Scheduler<Sia, LeastMovesPlacer, Allotter<>, NightPredictor> known;
    auto by_day = Scheduler<Sia>().counting(Night{.falls = false});
    Scheduler<Sia> plain;
    int other = 0;
    for (int i = 0; i < 60; ++i) {
        const support::RandomRound round(random);
        const Plan &one = counted.plan(round.snapshot), &two = known.plan(round.snapshot);
        REQUIRE(one.objective == doctest::Approx(two.objective));
        for (std::size_t j = 0; j < round.snapshot.jobs.size(); ++j) {
            const auto mine = counted.options_of(j), theirs = known.options_of(j);
            REQUIRE(mine.size() == theirs.size());
            for (std::size_t k = 0; k < mine.size(); ++k) {
                REQUIRE(mine[k].configuration == theirs[k].configuration);
                REQUIRE(mine[k].goodput == theirs[k].goodput);
            }
        }
        const Plan &day = by_day.plan(round.snapshot), &without = plain.plan(round.snapshot);
        REQUIRE(day.objective == without.objective);
        other += day.objective != one.objective ? 1 : 0;
    }
    CHECK(other > 30);
}

TEST_CASE("several factors apply one after the other") {
    support::Random random(92);
    const support::RandomRound round(random);
    auto once = Scheduler<Sia>().counting(Night{.factor = 0.25});
    auto twice = Scheduler<Sia>().counting(Night{}).counting(Night{});
    CHECK(once.plan(round.snapshot).objective == twice.plan(round.snapshot).objective);
}

TEST_CASE("a station withdraws options, and free GPUs go to jobs that have room") {
    support::Random random(93);
    int taken_back = 0, others = 0, silently = 0;
    for (int i = 0; i < 150; ++i) {
        CAPTURE(i);
        const support::RandomRound round(random);
        const Snapshot& now = round.snapshot;
        auto few = Scheduler<GoodputPolicy>().after_nodes(FewJobs{1});
        const auto silent = Scheduler<GoodputPolicy>().after_nodes(FewJobsSilently{FewJobs{1}}).plan(now);
        const Plan free = Scheduler<GoodputPolicy>().plan(now);
        const Plan& plan = few.plan(now);
        REQUIRE(plan.faults.empty());
        std::vector<int> gpus(now.cluster.nodes.size(), 0), jobs(gpus), kept(gpus);
        double objective = 0;
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            objective += decision.value;
            silently += silent.decisions[j].placement.empty() && !decision.placement.empty() ? 1 : 0;
            for (const NodeShare& share : decision.placement) {
                gpus[share.node] += share.gpus;
                ++(now.jobs[j].keeps_what_it_holds() ? kept : jobs)[share.node];
            }
            if (decision.placement.empty()) {
                REQUIRE(decision.option.configuration.empty());
                REQUIRE(decision.verdict.outcome != Outcome::runs);
                REQUIRE_FALSE(decision.verdict.reason.empty());
                taken_back += decision.verdict.reason == "its node has too many jobs" ? 1 : 0;
                continue;
            }
            REQUIRE(decision.verdict.outcome == Outcome::runs);
            REQUIRE(decision.starts == (decision.placement != now.jobs[j].placement));
            REQUIRE(
                configuration_of(decision.placement, now.cluster).same_gpus(decision.option.configuration));
            others += !free.decisions[j].placement.empty() &&
                              !free.decisions[j].option.configuration.same_gpus(decision.option.configuration)
                          ? 1
                          : 0;
        }
        for (std::size_t n = 0; n < gpus.size(); ++n) {
            REQUIRE(gpus[n] <= now.cluster.nodes[n].gpus);
            REQUIRE(jobs[n] <= std::max(1 - kept[n], 0));
        }
        REQUIRE(plan.objective == doctest::Approx(objective));
        REQUIRE(plan.objective <= plan.bound * (1 + 1e-9) + 1e-9);
        REQUIRE(plan.objective >= silent.objective - 1e-9);
    }
    CHECK(taken_back > 50);
    CHECK(others > 2);
    CHECK(silently > 5);
}

TEST_CASE("a station that gives an option that does not exist is refused") {
    struct Wrong {
        void operator()(const Round&, const AllotmentProblem&, std::span<PlacedJob> placed) const {
            for (PlacedJob& job : placed) job.option = job.options.size();
        }
    };
    support::Random random(94);
    const support::RandomRound round(random);
    REQUIRE_FALSE(Scheduler<Sia>().plan(round.snapshot).decisions.empty());
    auto wrong = Scheduler<Sia>().after_nodes(Wrong{});
    CHECK_THROWS_AS((void)wrong.plan(round.snapshot), std::invalid_argument);
}

struct Member {
    Scheduler<Fifo, LeastMovesPlacer, Allotter<>, GoodputPredictor, Limits<SpotCap>> scheduler{
        {.policy = {.backfill = true}, .options = {.gap = 1e-6}, .limits = Limits(SpotCap(3))}};
};

TEST_CASE("parts given by name, in order or appended make the same scheduler") {
    support::Random random(95);
    Member member;
    const Scheduler<Fifo> plain({.backfill = true}, {.gap = 1e-6});
    auto behind = plain.limited_by(SpotCap(3));
    Scheduler in_order(Fifo{.backfill = true}, {.gap = 1e-6}, LeastMovesPlacer(), Allotter<>(),
                       GoodputPredictor(), Limits(SpotCap(3)));
    auto both =
        Scheduler<Fifo>({.backfill = true}, {.gap = 1e-6}).limited_by(SpotCap()).limited_by(SpotCap(3));
    for (int i = 0; i < 20; ++i) {
        const support::RandomRound round(random);
        const Plan& one = member.scheduler.plan(round.snapshot);
        for (const Plan* other :
             {&behind.plan(round.snapshot), &in_order.plan(round.snapshot), &both.plan(round.snapshot)}) {
            REQUIRE(one.objective == other->objective);
            for (std::size_t j = 0; j < round.snapshot.jobs.size(); ++j)
                REQUIRE(one.decisions[j].placement == other->decisions[j].placement);
        }
    }
}

}  // namespace stations
