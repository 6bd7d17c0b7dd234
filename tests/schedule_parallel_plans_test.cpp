// Large models among ordinary jobs: what is allotted is the best of all configurations with their best plans,
// what is proven holds, and who runs goes on with its plan.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/parallel_plans.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"
#include "support/small_models.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::PlannedRound;
using support::Random;

namespace {

/// Value by goodput: concave, with a step, or with a part where more is worth nothing more.
struct ValueOfGoodput {
    int kind = 0;
    double value(const Round&, const Job&, const Option& option) const {
        if (option.goodput <= 0) return 0;
        const double speed = option.goodput / 10;
        return kind == 0 ? std::sqrt(speed) : kind == 1 ? speed * speed : std::floor(4 * speed) / 4 + 0.1;
    }
};

/// Ordinary jobs: declared rates, less for every further node.
struct DeclaredRates {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& part = option.configuration.first();
            option.plan = {1, 0};
            option.knowledge = Knowledge::measured;
            option.goodput =
                job.types[part.gpu_type].reference_rate * std::pow(part.shape.gpus, 0.8) / part.shape.nodes;
        }
    }
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>&) const {
        (*this)(job, model, options);
    }
};

/// Lists every configuration of one part a pool.
template <class Finder>
struct ListEverything {
    LargeModels<Finder> large;
    ListedShapes inner{};

    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        if (!large.find(job.name)) {
            inner.list(round, job, most_gpus, options);
            return;
        }
        const std::size_t first = options.size();
        std::vector<std::vector<PoolShare>> found{{}};
        for (const Pool& pool : round.pools) {
            const std::vector<std::vector<PoolShare>> before = found;
            detail::for_each_shape(job, pool, [&](Shape shape) {
                for (std::vector<PoolShare> parts : before) {
                    parts.push_back({pool.gpu_type, pool.gpus_per_node, shape});
                    found.push_back(std::move(parts));
                }
            });
        }
        for (const auto& parts : found)
            if (!parts.empty()) options.push_back({Configuration(parts), {}, 0, Knowledge::unknown});
        detail::sort_options(options, first);
    }
};

template <class Finder = PlanSearcher>
LargeModels<Finder> book_of(const PlannedRound& round, Finder finder = {}) {
    LargeModels<Finder> large(round.description, round.now.cluster.gpu_types, std::move(finder));
    for (std::size_t m = 0; m < round.models.size(); ++m) large.add(round.now.jobs[m].name, round.models[m]);
    return large;
}
template <class P, class Finder>
auto scheduler_of(P policy, AllotOptions options, LargeModels<Finder> large,
                  typename ParallelPlans<Finder>::Settings settings = {}) {
    return Scheduler(policy, options, LeastMovesPlacer{}, Allotter<>{},
                     PlannedGoodput<Finder, DeclaredRates>(large))
        .offering(ParallelPlans<Finder>(large, settings));
}
template <class P>
double best_of_all(const PlannedRound& round, P policy) {
    const LargeModels<PlanSearcher> large = book_of(round, PlanSearcher{.gap = 0});
    auto scheduler = Scheduler(policy, AllotOptions{.gap = 1e-9}, LeastMovesPlacer{}, Allotter<>{},
                               PlannedGoodput<PlanSearcher, DeclaredRates>(large))
                         .offering(ListEverything<PlanSearcher>{large});
    const Plan& plan = scheduler.plan(round.now);
    REQUIRE(plan.faults.empty());
    REQUIRE(plan.status == AllotStatus::optimal);
    return plan.objective;
}
void set_placements(Snapshot& now, const Plan& plan) {
    for (std::size_t j = 0; j < now.jobs.size(); ++j) now.jobs[j].placement = plan.decisions[j].placement;
}

template <class P>
void check_rounds(Random& random, P policy, int rounds) {
    for (int n = 0; n < rounds; ++n) {
        CAPTURE(n);
        PlannedRound round(random);
        const double best = best_of_all(round, policy);
        const LargeModels<PlanSearcher> large = book_of(round, PlanSearcher{.gap = 0});
        auto exact = scheduler_of(policy, {.gap = 1e-9}, large, {.most_single = 1000, .most_steps = 100000, .tolerance = 0});
        const Plan& plan = exact.plan(round.now);
        for (const PlanFault& fault : plan.faults) MESSAGE(fault.what);
        REQUIRE(plan.faults.empty());
        CHECK(plan.bound >= best * (1 - 1e-9));
        CHECK(plan.objective == doctest::Approx(best).epsilon(1e-6));
        CHECK(plan.bound == doctest::Approx(best).epsilon(1e-6));

        // With little effort the bound still holds.
        auto quick = scheduler_of(policy, {.gap = 1e-2}, book_of(round, PlanSearcher{.gap = 0.05}),
                                  {.halvings = 0, .most_lines = 1, .most_single = 0});
        const Plan& fast = quick.plan(round.now);
        CHECK(fast.faults.empty());
        CHECK(fast.bound >= best * (1 - 1e-9));
        // Our policy compares with the best that is listed.
        if (!RoundPolicy<P>) CHECK(fast.objective <= best * (1 + 1e-6));
    }
}

}  // namespace

TEST_CASE("a round's allotment is the best of all configurations with their best plans") {
    Random random(11);
    for (int kind = 0; kind < 3; ++kind) {
        CAPTURE(kind);
        check_rounds(random, ValueOfGoodput{kind}, 12);
    }
}

TEST_CASE("under our own policy, too") {
    Random random(12);
    check_rounds(random, GoodputPolicy{}, 20);
}
