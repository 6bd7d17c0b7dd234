// Properties of any plan, for any cluster, jobs and, unless stated otherwise, policy. Searches keep few
// states, so a rare hard round ends early and is counted as not proven.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/schedule/scheduler.hpp"
#include "support/allot_random.hpp"
#include "support/random_round.hpp"

#include "properties.hpp"
#include "random_plans.hpp"

using namespace goodput;
using properties::AnyPolicy;
using properties::Case;
using properties::FixedValues;
using properties::for_all;
using properties::Relabelled;
using support::Random;
using support::RandomRound;

namespace {

using AnyScheduler = Scheduler<AnyPolicy>;

AllotOptions within(double gap) { return {.gap = gap, .most_states = 20'000}; }

/// Rounds in which anything that fits the pools can be placed, so a plan is worth what its allotment is.
constexpr support::RoundKind packs{.packs = true};

Snapshot random_snapshot(Random& random, support::RoundKind kind) {
    kind.drained = random.chance(0.3) ? 0.2 : 0;
    return RandomRound(random, kind).snapshot;
}

/// By how much sums of the last plan's values may be off.
double rounding(const AnyScheduler& scheduler) { return 1e-11 * support::scale_of(scheduler.problem()); }

/// Returns the proven plan of a round that packs; nothing if the search ended early.
const Plan* proven(AnyScheduler& scheduler, const Snapshot& snapshot, Case& one) {
    const Plan& plan = scheduler.plan(snapshot);
    if (plan.status != AllotStatus::optimal) {
        one.count("not proven");
        return nullptr;
    }
    REQUIRE(std::abs(plan.objective - scheduler.allotted().objective) <= rounding(scheduler));
    return &plan;
}

void require_same(const Plan& a, const Plan& b) {
    REQUIRE(a.decisions.size() == b.decisions.size());
    for (std::size_t j = 0; j < a.decisions.size(); ++j) {
        const Decision &first = a.decisions[j], &second = b.decisions[j];
        REQUIRE(first.option.configuration == second.option.configuration);
        REQUIRE(first.option.plan == second.option.plan);
        REQUIRE(first.option.goodput == second.option.goodput);
        REQUIRE(first.value == second.value);
        REQUIRE(first.placement == second.placement);
        REQUIRE(first.starts == second.starts);
        REQUIRE(first.verdict.outcome == second.verdict.outcome);
        REQUIRE(first.verdict.reason == second.verdict.reason);
    }
    REQUIRE(a.objective == b.objective);
    REQUIRE(a.bound == b.bound);
    REQUIRE(a.status == b.status);
    REQUIRE(a.move_cost_seconds == b.move_cost_seconds);
    for (std::size_t p = 0; p < a.prices.size(); ++p) REQUIRE(a.prices[p].price == b.prices[p].price);
}

std::size_t some_index(Random& random, std::size_t count) {
    return static_cast<std::size_t>(random.integer(0, static_cast<int>(count) - 1));
}

}  // namespace

TEST_CASE(
    "plans: no node is over-committed, no job is split against its shape, pinned jobs stay, limits and batch "
    "plans are respected, prices are not negative, and no bound lies below the objective") {
    for_all(2, [](Case& one) {
        const Snapshot snapshot = random_snapshot(one.random, {.packs = one.random.chance(0.5)});
        AnyScheduler scheduler(properties::random_policy(one.random), within(1e-4));
        const Plan& plan = scheduler.plan(snapshot);
        support::check_plan(snapshot, plan);
        const AllotResult& allotted = scheduler.allotted();
        REQUIRE(support::bound_at(support::without_too_large(scheduler.problem()), allotted.prices) >=
                allotted.objective - rounding(scheduler));
        if (plan.status != AllotStatus::optimal) one.count("not proven");
        for (const Decision& decision : plan.decisions) {
            if (decision.verdict.outcome != Outcome::waits) continue;
            one.count("in which a job waits");
            break;
        }
    });
}

TEST_CASE("plans: if sizes pack, anything that fits the pools is placed") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot = random_snapshot(one.random, packs);
        AnyScheduler scheduler(properties::random_policy(one.random), within(1e-4));
        const Plan& plan = scheduler.plan(snapshot);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            REQUIRE((scheduler.allotted().choice[j] == no_option) == plan.decisions[j].placement.empty());
    });
}

TEST_CASE(
    "plans: jobs, nodes and GPU types in another order, and jobs and nodes under other names, give the same "
    "objective, unless a policy serves jobs in their order") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot = random_snapshot(one.random, packs);
        const bool types_too = one.random.chance(0.5);
        const AnyPolicy policy =
            properties::random_policy(one.random, types_too ? properties::unordered_rules : AnyPolicy::rules);
        CAPTURE(policy.rule.index());
        const Relabelled other = properties::relabelled(snapshot, one.random, types_too);
        AnyScheduler scheduler(policy, within(0)), again(policy, within(0));
        const Plan *const before = proven(scheduler, snapshot, one), *const after =
                                                                         proven(again, other.snapshot, one);
        if (!before || !after) return;
        REQUIRE(std::abs(after->objective - before->objective) <= rounding(scheduler));
    });
}

TEST_CASE("plans: a single best plan is the same in any order and under any names") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot = random_snapshot(one.random, packs);
        const Relabelled other = properties::relabelled(snapshot, one.random);
        AnyScheduler scheduler({FixedValues{}}, within(0)), again({FixedValues{}}, within(0));
        const Plan *const before = proven(scheduler, snapshot, one), *const after =
                                                                         proven(again, other.snapshot, one);
        if (!before || !after) return;
        REQUIRE(std::abs(after->objective - before->objective) <= rounding(scheduler));
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            CAPTURE(j);
            const Decision &first = before->decisions[j], &second = after->decisions[other.job_to[j]];
            REQUIRE(second.option.configuration == other.moved(first.option.configuration));
            REQUIRE(second.option.plan == first.option.plan);
            REQUIRE(second.option.goodput == first.option.goodput);
            REQUIRE(second.value == first.value);
            REQUIRE(second.verdict.outcome == first.verdict.outcome);
        }
    });
}

TEST_CASE(
    "plans: values in another unit give the objective in that unit, the same decisions where one plan is "
    "best, and with a power of two the same prices in that unit") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot = random_snapshot(one.random, packs);
        const bool fixed = one.random.chance(0.5);
        const AnyPolicy policy = fixed ? AnyPolicy{} : properties::random_policy(one.random);
        AnyPolicy other = policy;
        other.factor = properties::random_factor(one.random);
        CAPTURE(other.factor);
        AnyScheduler scheduler(policy, within(0)), again(other, within(0));
        const Plan *const before = proven(scheduler, snapshot, one), *const after =
                                                                         proven(again, snapshot, one);
        if (!before || !after) return;
        REQUIRE(std::abs(after->objective - other.factor * before->objective) <=
                rounding(scheduler) * other.factor);
        if (fixed)
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                REQUIRE(after->decisions[j].option.configuration ==
                        before->decisions[j].option.configuration);
                REQUIRE(after->decisions[j].placement == before->decisions[j].placement);
            }
        int exponent = 0;
        if (std::frexp(other.factor, &exponent) != 0.5) return;
        one.count("with a power of two");
        for (std::size_t p = 0; p < before->prices.size(); ++p)
            REQUIRE(after->prices[p].price ==
                    doctest::Approx(other.factor * before->prices[p].price).epsilon(1e-9));
    });
}

TEST_CASE("plans: a further node never lowers the objective, if the values of options stay the same") {
    for_all(5, [](Case& one) {
        Snapshot snapshot = random_snapshot(one.random, packs);
        AnyScheduler scheduler({FixedValues{}}, within(0)), again({FixedValues{}}, within(0));
        const Plan* const before = proven(scheduler, snapshot, one);
        if (!before) return;
        for (int more = one.random.integer(1, 2); more > 0; --more) {
            std::vector<Node>& nodes = snapshot.cluster.nodes;
            Node node = nodes[some_index(one.random, nodes.size())];
            node.name = "further " + std::to_string(more);
            node.drained = false;
            if (one.random.chance(0.2)) node.gpus = 1 << one.random.integer(0, 3);
            nodes.push_back(node);
        }
        const Plan* const after = proven(again, snapshot, one);
        if (!after) return;
        REQUIRE(after->objective >= before->objective - rounding(again));
        if (after->objective > before->objective + rounding(again)) one.count("worth more");
    });
}

TEST_CASE(
    "plans: a job that leaves never lowers the total of the others, if the values of options stay the same; "
    "one that got nothing changes nothing") {
    for_all(5, [](Case& one) {
        Snapshot snapshot = random_snapshot(one.random, packs);
        if (snapshot.jobs.empty()) return;
        AnyScheduler scheduler({FixedValues{}}, within(0)), again({FixedValues{}}, within(0));
        const Plan* const before = proven(scheduler, snapshot, one);
        if (!before) return;
        const std::size_t leaves = some_index(one.random, snapshot.jobs.size());
        const bool waited = snapshot.jobs[leaves].placement.empty();
        snapshot.jobs.erase(snapshot.jobs.begin() + static_cast<std::ptrdiff_t>(leaves));
        snapshot.models.erase(snapshot.models.begin() + static_cast<std::ptrdiff_t>(leaves));
        const Plan* const after = proven(again, snapshot, one);
        if (!after) return;
        REQUIRE(after->objective >=
                before->objective - before->decisions[leaves].value - rounding(scheduler));
        if (!waited || !before->decisions[leaves].option.configuration.empty()) return;
        one.count("without a job that got nothing");
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            REQUIRE(after->decisions[j].option.configuration ==
                    before->decisions[j + (j >= leaves ? 1 : 0)].option.configuration);
    });
}

TEST_CASE(
    "plans: the same snapshot gets the same plan; after other rounds one that is as good within the gap, and "
    "the bounds of both hold for both") {
    for_all(5, [](Case& one) {
        const AnyPolicy policy = properties::random_policy(one.random);
        const double gap = one.random.chance(0.3) ? 0 : 1e-4;
        AnyScheduler kept(policy, within(gap));
        for (int before = one.random.integer(1, 3); before > 0; --before)
            (void)kept.plan(random_snapshot(one.random, {}));
        const Snapshot snapshot = random_snapshot(one.random, packs);
        AnyScheduler fresh(policy, within(gap)), other(policy, within(gap));
        const Plan& first = fresh.plan(snapshot);
        require_same(first, other.plan(snapshot));
        const Plan& warm = kept.plan(snapshot);
        support::check_plan(snapshot, warm);
        REQUIRE(warm.bound >= first.objective - rounding(fresh));
        REQUIRE(first.bound >= warm.objective - rounding(fresh));
        if (warm.status != AllotStatus::optimal || first.status != AllotStatus::optimal) {
            one.count("not proven");
            return;
        }
        REQUIRE(std::abs(warm.objective - first.objective) <= gap * std::abs(first.bound) + rounding(fresh));
    });
}

TEST_CASE("plans: if values call for no change, a round that went as planned is planned again unchanged") {
    for_all(5, [](Case& one) {
        Snapshot snapshot = RandomRound(one.random, packs).snapshot;
        AnyScheduler scheduler({FixedValues{}}, within(0));
        const Plan* plan = proven(scheduler, snapshot, one);
        if (!plan) return;
        support::apply(*plan, snapshot);
        plan = proven(scheduler, snapshot, one);
        if (!plan) return;
        REQUIRE(plan->move_cost_seconds == 0);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            REQUIRE(plan->decisions[j].placement == snapshot.jobs[j].placement);
            REQUIRE(!plan->decisions[j].starts);
        }
    });
}

TEST_CASE("plans: only ages count, not what the clock shows") {
    for_all(10, [](Case& one) {
        Snapshot snapshot = random_snapshot(one.random, packs);
        // Whole seconds are exact in floating point, so ages are exact, too.
        for (Job& job : snapshot.jobs) job.submitted_seconds = std::floor(job.submitted_seconds);
        const AnyPolicy policy = properties::random_policy(one.random);
        if (std::holds_alternative<FixedValues>(policy.rule)) return;  // knows jobs by submission
        AnyScheduler scheduler(policy, within(1e-4)), again(policy, within(1e-4));
        const Plan before = scheduler.plan(snapshot);
        const double shift = std::ldexp(one.random.integer(-100, 100), one.random.integer(0, 20));
        snapshot.time_seconds += shift;
        for (Job& job : snapshot.jobs) job.submitted_seconds += shift;
        require_same(again.plan(snapshot), before);
    });
}
