// Properties of the values of every policy of the library, for any round.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/hadar/hadar.hpp"
#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/tasks/pilots.hpp"
#include "support/random_round.hpp"

#include "properties.hpp"
#include "random_plans.hpp"

namespace policies {

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::OneOf;

/// From Optimus on, policies serve jobs in an order, and the GPU type listed first wins if it makes no
/// difference to a job. The last policy picks one of several best answers of its own program.
using AllPolicies = OneOf<Sia, GoodputPolicy, Pollux, DeclaredGoodputPolicy, Hadar, BalancedSlowdown, Optimus,
                          Fifo, ShortestRemainingTime, LeastAttainedService, Tiresias, Pilots, TimeShares<>>;
constexpr int unordered = 6, of_one_answer = AllPolicies::rules - 1;

/// Returns rounds in which GPU types are equal for many jobs: nothing is known of them, they have been
/// measured equally far, or they are equally fast with replicas of several sizes.
Snapshot round_with_ties(support::Random& random) {
    support::RoundKind kind{.drained = random.chance(0.3) ? random.between(0, 1) : 0,
                            .packs = random.chance(0.5)};
    Snapshot snapshot = support::RandomRound(random, kind).snapshot;
    const double alike = random.chance(0.5) ? 0.7 : 0;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        Job& job = snapshot.jobs[j];
        job.attained_gpu_seconds = random.chance(0.3) ? 0 : random.between(0, 1e5);
        if (random.chance(0.3)) job.done_examples = random.between(0, 1e6);
        if (random.chance(0.3)) job.expected_examples = random.between(0, 1e6);
        std::vector<TypeModel>& models = snapshot.models[j].types;
        for (std::size_t t = 1; t < models.size() && random.chance(alike); ++t) models[t] = models[0];
        if (random.chance(alike)) models.clear();
    }
    return snapshot;
}

}  // namespace policies

using namespace policies;

TEST_CASE("policies: jobs, nodes and GPU types in another order have the same values") {
    for_all(5, [](Case& one) {
        const Snapshot snapshot = round_with_ties(one.random);
        const bool types_too = one.random.chance(0.6);
        const AllPolicies policy =
            properties::random_policy<AllPolicies>(one.random, types_too ? unordered : of_one_answer);
        CAPTURE(policy.rule.index());
        const properties::Relabelled other = properties::relabelled(snapshot, one.random, types_too);
        const AllotOptions quick{.gap = 0.1, .most_states = 1};
        Scheduler<AllPolicies> scheduler(policy, quick), again(policy, quick);
        static_cast<void>(scheduler.plan(snapshot));
        static_cast<void>(again.plan(other.snapshot));
        double scale = 0;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            for (const double value : scheduler.values_of(j)) scale = std::max(scale, std::abs(value));
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            CAPTURE(snapshot.jobs[j].name);
            const std::span<const Option> options = scheduler.options_of(j),
                                          others = again.options_of(other.job_to[j]);
            REQUIRE(options.size() == others.size());
            for (std::size_t k = 0; k < options.size(); ++k) {
                const Configuration moved = other.moved(options[k].configuration);
                const auto same = std::find_if(others.begin(), others.end(), [&](const Option& option) {
                    return option.configuration == moved;
                });
                REQUIRE(same != others.end());
                CAPTURE(k);
                REQUIRE(options[k].goodput == same->goodput);
                const double value =
                    again.values_of(other.job_to[j])[static_cast<std::size_t>(same - others.begin())];
                REQUIRE(std::abs(value - scheduler.values_of(j)[k]) <= 1e-9 * scale);
            }
        }
    });
}

TEST_CASE("policies: nothing is a fault, even where all nodes are drained") {
    for_all(5, [](Case& one) {
        Snapshot snapshot = round_with_ties(one.random);
        if (one.random.chance(0.5))
            for (Node& node : snapshot.cluster.nodes) node.drained = true;
        AllPolicies policy = properties::random_policy<AllPolicies>(one.random);
        if (auto* const pollux = std::get_if<Pollux>(&policy.rule))
            pollux->fairness_power = one.random.between(-2, 2);
        if (auto* const sia = std::get_if<Sia>(&policy.rule); sia && one.random.chance(0.5))
            sia->fairness_power = 0.5, sia->unserved_penalty = -1.1;
        CAPTURE(policy.rule.index());
        Scheduler<AllPolicies> scheduler(policy, {.gap = 0.1, .most_states = 1});
        REQUIRE(scheduler.plan(snapshot).faults.empty());
    });
}
