// Fuzzes a control loop over a changing world: nodes come, vanish and are drained; jobs come, grow, stop
// and report nonsense; the clock jumps. A kept scheduler and a new one refuse each snapshot with a reason
// or return a plan that can be carried out, with an explanation for every job.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"

#include "hosts/host_use.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"
#include "fuzz/support/world.hpp"

using namespace goodput;
using fuzz::check;
using fuzz::World;

namespace {

constexpr std::size_t most_rounds = 6;

void check_machines(const Snapshot& snapshot, const Plan& plan, std::size_t j, std::vector<int>& used,
                    std::vector<int>& holders) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    const Placement& placement = plan.decisions[j].placement;
    for (std::size_t i = 0; i < placement.size(); ++i) {
        const NodeShare& share = placement[i];
        check(share.node < nodes.size(), "a node that there is", static_cast<double>(share.node));
        check(i == 0 || placement[i - 1].node < share.node, "nodes ascend");
        check(share.gpus >= 1, "GPUs of every node", share.gpus);
        used[share.node] += share.gpus;
        ++holders[share.node];
        if (nodes[share.node].drained)
            check(placement == snapshot.jobs[j].placement, "nothing new comes to a drained node");
    }
}

void check_batch(const Job& job, const Option& option) {
    const TypeLimits& limits = job.types[option.configuration.first().gpu_type];
    const int replicas = option.configuration.gpus() / limits.gpus_per_replica;
    const BatchPlan& batch = option.plan;
    check(batch.accumulation_steps >= 0, "steps", batch.accumulation_steps);
    check(batch.atomic_batch >= limits.min_atomic_batch && batch.atomic_batch <= limits.max_atomic_batch,
          "an atomic batch within its limits", batch.atomic_batch);
    const auto total = batch.total(replicas);
    const bool tuned = job.adaptivity == Adaptivity::batch && job.gradient && limits.gpus_per_replica == 1;
    if (tuned && option.knowledge != Knowledge::unknown)
        check(total >= job.initial_batch && total <= job.max_batch, "a total batch within its limits",
              static_cast<double>(total));
    if (job.adaptivity != Adaptivity::batch) {
        const std::int64_t each = std::int64_t{replicas} * (batch.accumulation_steps + std::int64_t{1});
        check(total >= job.target_batch && total < job.target_batch + each, "the batch that it asked for",
              static_cast<double>(total), job.target_batch);
    }
}

void check_decision(const Snapshot& snapshot, const Plan& plan, std::size_t j, bool has_failed) {
    const Job& job = snapshot.jobs[j];
    const Decision& decision = plan.decisions[j];
    const Configuration& configuration = decision.option.configuration;
    check(std::isfinite(decision.value), "a value is a number", decision.value);
    const bool keeps = job.keeps_what_it_holds() ||
                       (has_failed && !configuration_of(job.placement, snapshot.cluster).empty());
    if (keeps) check(decision.placement == job.placement, "who keeps what it holds stays");
    check(decision.action == action_of(job.placement, decision.placement, snapshot.cluster),
          "the action leads from what the job holds to what it gets");
    if (decision.placement.empty()) {
        check(configuration.empty() && !decision.starts, "nothing is nothing");
        check(decision.verdict.outcome != Outcome::runs, "who has nothing does not run");
        check(!decision.verdict.reason.empty(), "and is told why");
        return;
    }
    check(decision.verdict.outcome == Outcome::runs && decision.verdict.reason.empty(), "who has GPUs runs");
    check(configuration_of(decision.placement, snapshot.cluster).same_gpus(configuration),
          "a placement of the configuration");
    check(decision.starts == (decision.placement != job.placement), "what starts");
    if (keeps) return;
    const TypeLimits& limits = job.types[configuration.first().gpu_type];
    check(configuration.gpus() >= job.min_gpus && configuration.gpus() <= job.max_gpus,
          "GPUs within the job's limits", configuration.gpus());
    check(configuration.gpus() % limits.gpus_per_replica == 0, "whole replicas", configuration.gpus());
    check(configuration.is_single(), "GPUs of one pool");
    check(configuration.first().shape.nodes <= limits.max_nodes, "nodes within the job's limit",
          configuration.first().shape.nodes);
    if (job.adaptivity == Adaptivity::none)
        check(configuration.gpus() == job.max_gpus, "the GPUs that it asked for", configuration.gpus());
    check(std::isfinite(decision.option.goodput) && decision.option.goodput > 0, "who runs makes progress",
          decision.option.goodput);
    check_batch(job, decision.option);
}

template <class AnyScheduler>
void check_plan(const AnyScheduler& scheduler, const Snapshot& snapshot, const Plan& plan) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    check(plan.decisions.size() == snapshot.jobs.size(), "a decision for each job");
    std::vector<int> used(nodes.size()), holders(nodes.size());
    double objective = 0, magnitude = 1;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        check_machines(snapshot, plan, j, used, holders);
        check_decision(snapshot, plan, j, scheduler.has_failed(j));
        objective += plan.decisions[j].value;
        double largest = 0;
        for (const double value : scheduler.values_of(j)) {
            check(std::isfinite(value), "values are numbers", value);
            largest = std::max(largest, std::abs(value));
        }
        magnitude += largest;
    }
    for (std::size_t node = 0; node < nodes.size(); ++node)
        check(used[node] <= nodes[node].gpus, "no node has more than its GPUs", used[node], nodes[node].gpus);
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Placement& placement = plan.decisions[j].placement;
        if (placement == snapshot.jobs[j].placement || placement.size() < 2) continue;
        for (const NodeShare& share : placement)
            check(holders[share.node] == 1, "a job over several nodes has them for itself");
    }
    check(std::abs(plan.objective - objective) <= 1e-9 * magnitude, "the objective is the sum of the values",
          plan.objective, objective);
    check(plan.bound >= plan.objective - 1e-9 * magnitude, "bound >= objective", plan.bound, plan.objective);
    check(std::isfinite(plan.bound), "the bound is a number", plan.bound);
    check(plan.move_cost_seconds >= 0, "moves cost nothing or something", plan.move_cost_seconds);
    for (const PoolPrice& price : plan.prices)
        check(std::isfinite(price.price) && price.price >= 0, "prices are numbers", price.price);
    for (const PlanFault& fault : plan.faults) {
        check(!fault.what.empty() && !fault.report(snapshot).empty(), "a fault says what is wrong");
        check(!fault.job || *fault.job < snapshot.jobs.size(), "a fault of a job");
    }
    check(!plan.report().empty(), "a report says something");
}

template <class AnyScheduler>
void check_explanations(const AnyScheduler& scheduler, const Snapshot& snapshot, const Plan& plan) {
    const std::vector<DecisionExplanation> why = explain_plan(scheduler, snapshot);
    check(why.size() == snapshot.jobs.size(), "an explanation for each job");
    for (std::size_t j = 0; j < why.size(); ++j) {
        check(why[j].job == snapshot.jobs[j].name, "it is about this job");
        check(why[j].outcome == plan.decisions[j].verdict.outcome, "it says what the plan says");
        check(why[j].got == plan.decisions[j].option.configuration, "and what the job got");
        check(!why[j].report(snapshot.cluster).empty(), "in words");
        if (why[j].wanted)
            check(std::isfinite(why[j].wanted->price_needed) && why[j].wanted->gpus_short >= 0,
                  "what would change it are numbers", why[j].wanted->price_needed);
    }
}

/// Adds teams, weights, prices, cores and memory, chosen by the names of jobs and nodes.
void add_what_is_limited(Snapshot& snapshot) {
    for (Node& node : snapshot.cluster.nodes) {
        node.dollars_per_hour = 2.5 * node.gpus;
        if (!node.name.empty() && node.name.back() % 2 == 0) node.cores = node.memory_gib = 4.0 * node.gpus;
    }
    for (Job& job : snapshot.jobs) {
        const int letter = job.name.empty() ? 0 : job.name.back();
        if (letter % 3 > 0) job.team = letter % 3 == 1 ? "one" : "two";
        if (letter % 4 == 0) job.weight = 2.5;
        if (letter % 5 == 0) job.host = HostNeeds{{1, 1}, {6, 8}, {{2, 2, 0.5}, {4, 4, 1}, {6, 8, 1.25}}};
    }
}

/// Limits that often bind.
auto tight_limits() {
    return std::tuple(TeamQuotas({{"one", 3, {{2}}, 11}, {"two", {}, {}, 5}}), Budget(40), HostCapacity());
}

void check_limits(const Snapshot& snapshot, const Plan& plan) {
    std::vector<double> most;
    for (const LimitUse& limit : plan.limits) {
        check(std::isfinite(limit.price) && limit.price >= 0, "the price of a limit is a number",
              limit.price);
        check(!limit.name.empty() && !limit.report().empty(), "a limit is named");
        most.push_back(limit.capacity);
    }
    for (const LimitConflict& conflict : plan.conflicts) {
        check(conflict.limit < most.size() && !conflict.jobs.empty(), "a conflict has a limit and jobs");
        check(conflict.kept > most[conflict.limit], "of which more is kept than there is");
        check(!conflict.report(snapshot, plan).empty(), "and is said");
        most[conflict.limit] = conflict.kept;
    }
    for (std::size_t l = 0; l < most.size(); ++l)
        check(plan.limits[l].used <= most[l] * (1 + 1e-8) + 1e-8, "no limit is exceeded", plan.limits[l].used,
              most[l]);
}

/// A node that counts cores or memory gives no more than it has. One that does not gives all that is asked.
void check_hosts(const Snapshot& snapshot, const Plan& plan) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    const support::HostUse use = support::host_use(snapshot, plan);
    const auto keeps_to = [](double given, double has) { return has == 0 || given <= has * (1 + 1e-6); };
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        check(keeps_to(use.cores[n], nodes[n].cores), "no node gives more cores than it has", use.cores[n],
              nodes[n].cores);
        check(keeps_to(use.memory_gib[n], nodes[n].memory_gib), "no node gives more memory than it has",
              use.memory_gib[n], nodes[n].memory_gib);
    }
}

bool same(const Plan& a, const Plan& b) {
    const auto same_decision = [](const Decision& one, const Decision& other) {
        return one.placement == other.placement && one.value == other.value &&
               one.option.configuration == other.option.configuration &&
               one.option.plan == other.option.plan && one.verdict.outcome == other.verdict.outcome &&
               one.verdict.reason == other.verdict.reason;
    };
    return a.objective == b.objective && a.bound == b.bound && a.status == b.status &&
           std::equal(a.decisions.begin(), a.decisions.end(), b.decisions.begin(), b.decisions.end(),
                      same_decision);
}

template <class Scheduler>
void round(Scheduler& kept, Scheduler& fresh, World& world, bool warm, bool limited) {
    Snapshot snapshot = world.snapshot();
    if (limited) add_what_is_limited(snapshot);
    Plan plan, anew;
    const bool good = fuzz::accepted([&] { plan = kept.plan(snapshot); });
    check(good == fuzz::accepted([&] { anew = fresh.plan(snapshot); }), "whatever came before");
    if (!good) return;
    check_plan(kept, snapshot, plan);
    check_limits(snapshot, plan);
    check_hosts(snapshot, plan);
    check_explanations(kept, snapshot, plan);
    if (!warm) check(same(plan, anew), "a plan is a function of the snapshot");
    world.carry_out(snapshot, plan);
}

/// Racks of two nodes each, by name, for the nodes that exist.
Topology racks(const Cluster& cluster) {
    TopologyLevel level{"rack", 1, {}};
    for (const Node& node : cluster.nodes)
        level.domain_of.push_back(static_cast<std::size_t>(node.name.back()) / 2);
    return {{level}};
}

template <class NodePlacer, class P>
void run(fuzz::Bytes bytes, World world, const P& policy, const AllotOptions& options) {
    const auto make = [&] {
        return std::apply(
            [&](auto... limits) {
                return Scheduler<P, NodePlacer>(policy, options)
                    .limited_by(limits...)
                    .offering(HostShares<>())
                    .counting(HostFactor())
                    .after_nodes(DividedHosts());
            },
            tight_limits());
    };
    using Loop = decltype(make());
    std::optional<Loop> kept;
    if (!fuzz::accepted([&] { kept.emplace(make()); })) return;
    const bool with_racks = options.gap > 0;
    std::size_t rounds = 0;
    const auto plan = [&] {
        Loop fresh = make();
        if constexpr (requires { fresh.placer().set_topology({}); }) {
            const Topology topology = with_racks ? racks(world.snapshot().cluster) : Topology{};
            kept->placer().set_topology(topology);
            fresh.placer().set_topology(topology);
        }
        round(*kept, fresh, world, options.warm_start, with_racks);
        ++rounds;
    };
    while (!bytes.empty() && rounds < most_rounds)
        if (world.change(bytes.record())) plan();
    plan();
}

using AnyRoundPolicy = std::variant<Pollux, DeclaredGoodputPolicy, Optimus, Fifo, LeastAttainedService,
                                    Tiresias, ShortestRemainingTime>;

/// Wraps the policies that value whole rounds, so that one scheduler is compiled instead of seven.
struct RoundOf {
    AnyRoundPolicy policy;

    void validate() const {
        std::visit(
            [](const auto& one) {
                if constexpr (requires { one.validate(); }) one.validate();
            },
            policy);
    }
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        std::visit([&](const auto& one) { one.value_round(round, rows); }, policy);
    }
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t gpu_type) const {
        return std::visit(
            [&](const auto& one) {
                if constexpr (GrowthLimit<decltype(one)>)
                    return one.most_gpus(job, model, gpu_type);
                else
                    return std::numeric_limits<int>::max();
            },
            policy);
    }
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        return std::visit(
            [&](const auto& one) -> std::optional<GradientStatistics> {
                if constexpr (GradientForecast<decltype(one)>) return one.expected_gradient(job);
                return job.gradient;
            },
            policy);
    }
};

AnyRoundPolicy round_policy(std::size_t kind, bool own, double first, double second) {
    switch (kind) {
        case 0:
            return own ? Pollux{first, second} : Pollux{};
        case 1:
            return own ? DeclaredGoodputPolicy{{.patience = 10 * first, .usual_seconds = 300 * second}}
                       : DeclaredGoodputPolicy{};
        case 2:
            return own ? Optimus{first * 1000} : Optimus{};
        case 3:
            return LeastAttainedService{.lead_gpu_seconds = own ? first * 1000 : 3600};
        case 4:
            return own ? Tiresias{{first * 1000, second * 1000}} : Tiresias{};
        case 5:
            return ShortestRemainingTime{.backfill = !own};
        default:
            return Fifo{.backfill = own};
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Bytes bytes(data, size);
    fuzz::Bytes head = bytes.record();
    const bool hostile = head.integer(0, 3) == 3;
    bytes.let_in_hostile(hostile);
    head.let_in_hostile(hostile);
    World world(head);
    const std::size_t kind = head.index(13);
    AllotOptions options{.gap = head.pick(std::array{1e-4, 0.0, 1e-2}), .memory_states = 2048};
    options.warm_start = head.flag();
    // Settings are mostly the defaults, and now and then arbitrary.
    const bool own = head.integer(0, 3) == 3;
    const double first = own ? head.number(-2, 2) : 0, second = own ? head.number(-2, 4) : 0;
    if (kind < 3)
        run<TopologyPlacer>(bytes, world, own ? Sia{first, second} : Sia{}, options);
    else if (kind < 6)
        run<LeastMovesPlacer>(
            bytes, world,
            own ? GoodputPolicy{.fairness_power = first, .restart_weight = second} : GoodputPolicy{},
            options);
    else
        run<LeastMovesPlacer>(bytes, world, RoundOf{round_policy(kind - 6, own, first, second)}, options);
    return 0;
}
