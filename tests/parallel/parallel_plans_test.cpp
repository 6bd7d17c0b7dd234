// Plans large models among ordinary jobs. The allotment is the best over all configurations with their best
// plans, what is called proven is true, and a running job goes on with its plan.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/parallel_plans.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "parallel/small_models.hpp"
#include "support/pool_uses.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::PlannedRound;
using support::Random;

namespace {

/// Values goodput by a concave function, by one with a step, or by one that is flat over a stretch.
struct ValueOfGoodput {
    int kind = 0;
    double value(const Round&, const Job&, const Option& option) const {
        if (option.goodput <= 0) return 0;
        const double speed = option.goodput / 10;
        return kind == 0 ? std::sqrt(speed) : kind == 1 ? speed * speed : std::floor(4 * speed) / 4 + 0.1;
    }
};

/// Rates of ordinary jobs as declared, reduced for every node after the first.
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

/// Lists every configuration that has one part per pool.
template <class Finder>
struct ListEverything {
    LargeModels<Finder> large;
    std::size_t most_pools = std::numeric_limits<std::size_t>::max();  // not for ParallelPlans
                                                                       // ParallelPlans' list
    ListedShapes inner{};

    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) {
        ParallelPlans<Finder>(large).predict(job, gradient, options, ask);
    }
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
        ParallelPlans<Finder>(large).list(round, job, most_gpus, options);
        std::vector<Configuration> listed;
        for (std::size_t k = first; k < options.size(); ++k) listed.push_back(options[k].configuration);
        for (const auto& parts : found)
            if (!parts.empty() && parts.size() <= most_pools &&
                !detail::contains(listed, Configuration(parts)))
                options.push_back({Configuration(parts), {}, 0, Knowledge::unknown});
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
    return Scheduler(policy, options, LeastMovesPlacer{}, Allotter<>{}, DeclaredRates())
        .offering(ParallelPlans<Finder>(large, settings));
}
template <class P>
double best_of_all(const PlannedRound& round, P policy, std::size_t most_pools) {
    const LargeModels<PlanSearcher> large = book_of(round, PlanSearcher{.gap = 0});
    auto scheduler =
        Scheduler(policy, AllotOptions{.gap = 1e-9}, LeastMovesPlacer{}, Allotter<>{}, DeclaredRates())
            .offering(ListEverything<PlanSearcher>{large, most_pools});
    const Plan& plan = scheduler.plan(round.now);
    REQUIRE(plan.faults.empty());
    REQUIRE(plan.status == AllotStatus::optimal);
    return plan.objective;
}
void set_placements(Snapshot& now, const Plan& plan) {
    for (std::size_t j = 0; j < now.jobs.size(); ++j) now.jobs[j].placement = plan.decisions[j].placement;
}

template <class P>
void check_planned_rounds(Random& random, P policy, int rounds) {
    for (int n = 0; n < rounds; ++n) {
        CAPTURE(n);
        PlannedRound round(random);
        // Either all configurations, or only those of a single pool.
        const std::size_t most_pools = random.chance(0.5) ? 8 : 1;
        CAPTURE(most_pools);
        const double best = best_of_all(round, policy, most_pools);
        const LargeModels<PlanSearcher> large = book_of(round, PlanSearcher{.gap = 0});
        auto exact = scheduler_of(
            policy, {.gap = 1e-9}, large,
            {.most_pools = most_pools, .most_single = 1000, .most_steps = 100000, .tolerance = 0});
        const Plan& plan = exact.plan(round.now);
        for (const PlanFault& fault : plan.faults) MESSAGE(fault.what);
        REQUIRE(plan.faults.empty());
        CHECK(plan.bound >= best * (1 - 1e-9));
        CHECK(plan.objective == doctest::Approx(best).epsilon(1e-6));
        CHECK(plan.bound == doctest::Approx(best).epsilon(1e-6));

        // The bound holds for a search with little effort, too.
        auto quick =
            scheduler_of(policy, {.gap = 1e-2}, book_of(round, PlanSearcher{.gap = 0.05}),
                         {.halvings = 0, .most_pools = most_pools, .most_curves = 1, .most_single = 0});
        const Plan& fast = quick.plan(round.now);
        CHECK(fast.faults.empty());
        CHECK(fast.bound >= best * (1 - 1e-9));
        // The goodput policy's values depend on the best listed option, so they cannot be compared here.
        if (!RoundPolicy<P>) CHECK(fast.objective <= best * (1 + 1e-6));
    }
}

}  // namespace

TEST_CASE("a round's allotment is the best of all configurations with their best plans") {
    Random random(11);
    for (int kind = 0; kind < 3; ++kind) {
        CAPTURE(kind);
        check_planned_rounds(random, ValueOfGoodput{kind}, 12);
    }
}

TEST_CASE("under our own policy, too") {
    Random random(12);
    check_planned_rounds(random, GoodputPolicy{}, 20);
}

TEST_CASE("a running job is offered what it holds, with the same plan, and goes on without a restart") {
    Random random(13);
    int ran = 0;
    for (int n = 0; n < 20; ++n) {
        CAPTURE(n);
        PlannedRound round(random);
        const LargeModels<PlanSearcher> large = book_of(round);
        auto scheduler = scheduler_of(GoodputPolicy{}, {.gap = 1e-4}, large);
        set_placements(round.now, scheduler.plan(round.now));
        round.now.time_seconds += 60;
        std::vector<ParallelPlan> before;
        for (std::size_t m = 0; m < round.models.size(); ++m) {
            const auto& held = scheduler.last_plan().decisions[m].option.configuration;
            const ParallelPlan* plan = large.plan_of(round.now.jobs[m].name, held);
            REQUIRE(held.empty() == (plan == nullptr));
            before.push_back(plan ? *plan : ParallelPlan{});
        }
        const Plan& plan = scheduler.plan(round.now);
        REQUIRE(plan.faults.empty());
        for (std::size_t m = 0; m < round.models.size(); ++m) {
            const Decision& decision = plan.decisions[m];
            if (round.now.jobs[m].placement.empty() || decision.starts) continue;
            ++ran;
            const ParallelPlan* now = large.plan_of(round.now.jobs[m].name, decision.option.configuration);
            REQUIRE(now);
            CHECK(*now == before[m]);
            const auto options = scheduler.options_of(m);
            CHECK(std::any_of(options.begin(), options.end(), [&](const Option& option) {
                return option.configuration.same_gpus(decision.option.configuration);
            }));
        }
        for (const DecisionExplanation& why : explain_plan(scheduler, round.now))
            CHECK(!why.report(round.now.cluster).empty());
    }
    CHECK(ran > 5);
}

TEST_CASE("a placement fits the plan: groups within nodes, a stage on as few nodes as possible") {
    Random random(14);
    int placed = 0;
    for (int n = 0; n < 30; ++n) {
        CAPTURE(n);
        PlannedRound round(random);
        const LargeModels<PlanSearcher> large = book_of(round);
        auto scheduler = scheduler_of(ValueOfGoodput{0}, {.gap = 1e-3}, large);
        const Plan& plan = scheduler.plan(round.now);
        for (std::size_t m = 0; m < round.models.size(); ++m) {
            const Decision& decision = plan.decisions[m];
            const ParallelPlan* its = large.plan_of(round.now.jobs[m].name, decision.option.configuration);
            if (!its || decision.placement.empty()) continue;
            const auto layout = place_plan(*its, decision.placement, round.now.cluster,
                                           [&](std::size_t type) { return large.home_of(type); });
            REQUIRE(layout);
            ++placed;
            CHECK(layout->proven);
            std::vector<int> used(round.now.cluster.nodes.size());
            int stage_nodes = 0;
            for (std::size_t s = 0; s < its->stages.size(); ++s) {
                std::size_t j = 0;
                for (const ReplicaGroup& group : its->stages[s].replicas)
                    for (int i = 0; i < group.count; ++i, ++j) {
                        const std::size_t node = layout->nodes[s][j];
                        used[node] += group.tensor_parallel;
                        CHECK(large.home_of(round.now.cluster.nodes[node].gpu_type) ==
                              PlanHome{group.zone, group.gpu_type});
                    }
                REQUIRE(layout->nodes[s].size() == j);
                std::vector<std::size_t> nodes = layout->nodes[s];
                std::sort(nodes.begin(), nodes.end());
                stage_nodes += static_cast<int>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
            }
            CHECK(layout->stage_nodes == stage_nodes);
            for (const NodeShare& share : decision.placement) {
                CHECK(used[share.node] <= share.gpus);
                used[share.node] = 0;
            }
            CHECK(std::all_of(used.begin(), used.end(), [](int gpus) { return gpus == 0; }));
        }
    }
    CHECK(placed > 20);
}

TEST_CASE("a plan is laid out on as few nodes per stage as any layout needs") {
    Random random(15);
    const auto home = [](std::size_t type) { return std::optional<PlanHome>({0, type}); };
    for (int n = 0; n < 300; ++n) {
        CAPTURE(n);
        // Nodes have 4 GPUs, and all replicas of a stage have the same degree.
        Cluster cluster{{"a"}, {}};
        Placement placement;
        const auto nodes = static_cast<std::size_t>(random.integer(1, 3));
        for (std::size_t k = 0; k < nodes; ++k) {
            cluster.nodes.push_back({std::to_string(k), 0, 4});
            placement.push_back({k, nodes == 1 ? 1 << random.integer(0, 2) : 4});
        }
        int left = 0;
        for (const NodeShare& share : placement) left += share.gpus;
        ParallelPlan plan;
        const int replicas = random.integer(1, 3);
        for (std::size_t s = 0; s < 3; ++s) {
            const int degree = 1 << random.integer(0, 2);
            if (replicas * degree > left || degree > placement[0].gpus) continue;
            left -= replicas * degree;
            plan.stages.push_back({s, s, {{0, degree, 0, replicas}}});
        }
        if (plan.stages.empty()) continue;
        // Try all assignments of replicas to nodes.
        int fewest = std::numeric_limits<int>::max();
        std::vector<int> free;
        for (const NodeShare& share : placement) free.push_back(share.gpus);
        const auto count = [&](auto&& self, std::size_t s, int j, unsigned on, int cost) -> void {
            if (s == plan.stages.size()) {
                fewest = std::min(fewest, cost);
                return;
            }
            if (j == replicas) {
                self(self, s + 1, 0, 0, cost);
                return;
            }
            for (std::size_t k = 0; k < nodes; ++k) {
                const int degree = plan.stages[s].replicas[0].tensor_parallel;
                if (free[k] < degree) continue;
                free[k] -= degree;
                const bool is_new = (on >> k & 1U) == 0;
                self(self, s, j + 1, on | 1U << k, cost + (is_new ? 1 : 0));
                free[k] += degree;
            }
        };
        count(count, 0, 0, 0, 0);
        const auto layout = place_plan(plan, placement, cluster, home);
        REQUIRE(layout);
        CHECK(layout->proven);
        CHECK(layout->stage_nodes == fewest);
        const auto greedy = place_plan(plan, placement, cluster, home, 0);
        REQUIRE(greedy);
        CHECK(greedy->stage_nodes >= fewest);
        CHECK_FALSE(greedy->proven);
    }
}

TEST_CASE("if nothing fits, the verdict repeats the planner's reason") {
    Random random(16);
    PlannedRound round(random);
    std::vector<double> slowness(round.now.cluster.gpu_types.size(), 1);
    round.models[0].model = support::small_model(2, 400, slowness);
    const LargeModels<PlanSearcher> large = book_of(round);
    auto scheduler = scheduler_of(GoodputPolicy{}, {}, large);
    const Plan& plan = scheduler.plan(round.now);
    const Verdict& verdict = plan.decisions[0].verdict;
    CHECK(verdict.outcome == Outcome::impossible);
    CHECK(verdict.reason.find("GiB") != std::string::npos);
    CHECK(plan.faults.empty());
}

TEST_CASE("a policy that does not depend on goodput alone is named as a fault, and the plan is made") {
    struct ByGpus {
        double value(const Round&, const Job&, const Option& option) const {
            return option.goodput / std::sqrt(option.configuration.gpus());
        }
    };
    Random random(17);
    PlannedRound round(random);
    auto scheduler = scheduler_of(ByGpus{}, {}, book_of(round));
    const Plan& plan = scheduler.plan(round.now);
    REQUIRE(!plan.faults.empty());
    CHECK(plan.faults[0].what.find("goodput") != std::string::npos);
}

TEST_CASE("limits, Sia's policy and jobs of a fixed size keep what they promise") {
    Random random(18);
    for (int n = 0; n < 15; ++n) {
        CAPTURE(n);
        PlannedRound round(random);
        for (Node& node : round.now.cluster.nodes) node.dollars_per_hour = node.gpus;
        Job& fixed = round.now.jobs[0];
        fixed.min_gpus = fixed.max_gpus = std::min(fixed.max_gpus, 4);
        const LargeModels<PlanSearcher> large = book_of(round);
        auto scheduler = scheduler_of(Sia{.rounding = 0}, {.gap = 1e-3}, large)
                             .limited_by(Budget(5), Licences("one", 1, {}));
        const Plan& plan = scheduler.plan(round.now);
        for (const PlanFault& fault : plan.faults) MESSAGE(fault.what);
        CHECK(plan.faults.empty());
        CHECK(plan.objective <= plan.bound * (1 + 1e-9) + 1e-9);
        int spent = 0;
        for (const Decision& decision : plan.decisions) spent += decision.option.configuration.gpus();
        CHECK(spent <= 5);
        const int given = plan.decisions[0].option.configuration.gpus();
        CHECK((given == 0 || given == fixed.max_gpus));
    }
}

TEST_CASE("Sia's hybrid-parallel jobs are large models with one layer per stage") {
    // The stages are equal, each fills a GPU, and links cost nothing.
    constexpr int stages = 4, microbatch = 2, batch = 96;
    constexpr std::array alpha{0.01, 0.03}, beta{0.004, 0.01};
    Snapshot now{.time_seconds = 100};
    now.cluster.gpu_types = {"A100", "V100"};
    for (int n = 0; n < 3; ++n) now.cluster.nodes.push_back({"a-" + std::to_string(n), 0, 8});
    for (int n = 0; n < 3; ++n) now.cluster.nodes.push_back({"v-" + std::to_string(n), 1, 4});
    Job job{.name = "gpt", .max_gpus = 24, .adaptivity = Adaptivity::gpus, .initial_batch = batch};
    job.target_batch = batch;
    JobModel known;
    LayeredModel model = support::small_model(stages, 10, {1, 1}, 1);
    for (std::size_t t = 0; t < 2; ++t) {
        job.types.push_back({microbatch, microbatch, stages});
        TypeModel& type = known.types.emplace_back();
        type.throughput = PolluxThroughput{alpha[t], beta[t], 0, 0, 0, 0, 1};
        type.most_replicas = 4;
        const double forward = alpha[t] + beta[t] * microbatch;
        model.times[t] = {{{microbatch, 1}, std::vector<LayerTime>(stages, {forward, 2 * forward, 0})}};
    }
    ParallelCluster description = support::small_description(now.cluster.gpu_types, {8, 4}, 16);
    for (auto& [ends, curve] : description.links) curve = {0, 0, 1e12};
    now.jobs = {job};
    const std::vector<Pool> pools = pools_of(now.cluster);
    const std::vector<double> capacity;
    const Round round{now.time_seconds, now.cluster, pools, capacity};
    std::vector<Option> published, planned;
    ListedShapes().list(round, job, std::vector<int>{64, 64}, published);
    planned = published;
    GoodputPredictor()(job, known, published);
    LargeModels large(description, now.cluster.gpu_types);
    large.add("gpt", {model, batch});
    ParallelPlans(large).predict(job, job.gradient, planned, [](std::span<Option>) {});
    REQUIRE(published.size() == 7);  // 4, 8, 16 and 24 A100; 4, 8 and 12 V100
    for (std::size_t k = 0; k < published.size(); ++k) {
        const Configuration& configuration = published[k].configuration;
        CAPTURE(configuration.gpus());
        CHECK(planned[k].goodput == doctest::Approx(published[k].goodput).epsilon(1e-6));
        CHECK(planned[k].plan == published[k].plan);
        const ParallelPlan* plan = large.plan_of("gpt", configuration);
        REQUIRE(plan);
        CHECK(plan->stages.size() == stages);
        CHECK(plan->stages[0].replica_count() == configuration.gpus() / stages);
    }
}
