#ifndef GOODPUT_TESTS_SUPPORT_RANDOM_ROUND_HPP
#define GOODPUT_TESTS_SUPPORT_RANDOM_ROUND_HPP

// Random scheduling rounds, and the checks that every plan has to pass. For tests: includes doctest.

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/schedule/snapshot.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace support {

struct RoundKind {
    double drained = 0;  ///< chance that a node is drained
    double kept = 0.2;   ///< chance that a running job keeps what it holds
    /// If true, every plan within the rows can be placed, and no job has a fixed number of GPUs.
    bool packs = false;
};

/// Clusters of several GPU types and node sizes with jobs of all kinds, some of them running.
class RandomRound {
public:
    explicit RandomRound(Random& random, RoundKind kind = {}) : kind_(kind) {
        using namespace goodput;
        snapshot.time_seconds = 5000;
        const int types = random.integer(1, 3);
        for (int t = 0; t < types; ++t) {
            snapshot.cluster.gpu_types.push_back("type-" + std::to_string(t));
            const int nodes = random.integer(1, 6),
                      size = std::vector<int>{
                          1, 2, 4, 8, 6, 7, 5, 3}[static_cast<std::size_t>(random.integer(0, 7))];
            for (int n = 0; n < nodes; ++n)
                snapshot.cluster.nodes.push_back(
                    {"node-" + std::to_string(t) + "-" + std::to_string(n), static_cast<std::size_t>(t),
                     random.chance(0.1) ? 2 * size : size, kind.drained > 0 && random.chance(kind.drained)});
        }
        used_.resize(snapshot.cluster.nodes.size());
        const int jobs = random.integer(0, 25);
        for (int j = 0; j < jobs; ++j) {
            snapshot.jobs.push_back(random_job(random, j));
            snapshot.models.push_back(random_model(random, snapshot.jobs.back()));
        }
    }
    goodput::Snapshot snapshot;

private:
    goodput::Job random_job(Random& random, int index) {
        using namespace goodput;
        Job job{.name = "job-" + std::to_string(index), .submitted_seconds = random.between(0, 5000)};
        job.restarts = random.integer(0, 3);
        job.restart_cost_seconds = random.between(0, 100);
        job.adaptivity = static_cast<Adaptivity>(random.integer(0, kind_.packs ? 1 : 2));
        job.min_gpus = random.integer(1, 2);
        job.max_gpus = std::max(job.min_gpus + random.integer(0, 20), kind_.packs ? 3 : 1);
        job.initial_batch = 1 << random.integer(4, 8);
        job.max_batch = job.initial_batch << random.integer(0, 5);
        job.target_batch = job.initial_batch << random.integer(0, 3);
        // Half of the jobs that keep their batch have no largest batch; the others' is larger by at least 4.
        if (job.adaptivity != Adaptivity::batch)
            job.max_batch = index % 2 == 0 ? 0 : std::max(job.max_batch, job.target_batch + 4);
        for (std::size_t t = 0; t < snapshot.cluster.gpu_types.size(); ++t) {
            TypeLimits limits{.min_atomic_batch = random.integer(1, 4)};
            limits.max_atomic_batch =
                random.chance(0.1) ? 0 : limits.min_atomic_batch + random.integer(0, 200);
            if (random.chance(0.15)) limits.gpus_per_replica = 1 << random.integer(1, 2);
            job.types.push_back(limits);
        }
        if (random.chance(0.8))
            job.gradient = GradientStatistics{random.between(0.1, 2), random.between(0.1, 20)};
        if (random.chance(0.5)) job.remaining_examples = random.between(1e3, 1e7);
        if (random.chance(0.5)) hold_something(random, job);
        if (!job.placement.empty() && may_keep(job)) {
            job.preemptible = !random.chance(kind_.kept);
            job.restarting = random.chance(0.1);
        }
        return job;
    }

    /// Gives the job a part of a node, or now and then several nodes, which are sometimes shared with others.
    void hold_something(Random& random, goodput::Job& job) {
        const std::vector<goodput::Node>& nodes = snapshot.cluster.nodes;
        const auto first = static_cast<std::size_t>(random.integer(0, static_cast<int>(used_.size()) - 1));
        const int replica = job.types[nodes[first].gpu_type].gpus_per_replica;
        if (!random.chance(0.3)) {
            const int gpus = std::min(1 << random.integer(0, 3), nodes[first].gpus);
            if (used_[first] + gpus <= nodes[first].gpus && gpus % replica == 0)
                job.placement = {{first, gpus}};
        } else {
            const bool share = random.chance(0.1);
            const int most = random.integer(2, 3),
                      gpus = share ? (nodes[first].gpus + 1) / 2 : nodes[first].gpus;
            for (std::size_t n = first; n < nodes.size() && static_cast<int>(job.placement.size()) < most;
                 ++n)
                if (nodes[n].gpu_type == nodes[first].gpu_type && nodes[n].gpus == nodes[first].gpus &&
                    used_[n] + gpus <= nodes[n].gpus)
                    job.placement.push_back({n, gpus});
            if (job.placement.size() < 2 || goodput::shape_of(job.placement).gpus % replica != 0)
                job.placement.clear();
            else if (random.chance(0.8))
                job.max_gpus = std::max(job.max_gpus, goodput::shape_of(job.placement).gpus);
        }
        for (const goodput::NodeShare& held : job.placement) used_[held.node] += held.gpus;
    }

    /// Returns whether a job may keep what it holds: whole nodes, or GPUs of a single node.
    [[nodiscard]] bool may_keep(const goodput::Job& job) const {
        bool whole = true;
        for (const goodput::NodeShare& held : job.placement)
            whole &= held.gpus == snapshot.cluster.nodes[held.node].gpus;
        return whole || job.placement.size() == 1;
    }

    goodput::JobModel random_model(Random& random, const goodput::Job& job) const {
        using namespace goodput;
        JobModel model;
        if (random.chance(0.2)) return model;
        model.types.resize(job.types.size());
        for (TypeModel& type : model.types) {
            if (random.chance(0.3)) continue;
            type.most_replicas = 1 << random.integer(0, 3);
            type.throughput = PolluxThroughput{random.between(0.01, 0.3), random.between(0.0001, 0.01),
                                               random.between(0, 0.3),    random.between(0, 0.01),
                                               random.between(0, 0.1),    random.between(0, 0.01),
                                               random.between(1, 5)};
        }
        return model;
    }

    RoundKind kind_;
    std::vector<int> used_;
};

/// Checks that a decision's action fits what the job holds before and after.
inline void check_action(const goodput::Job& job, const goodput::Decision& decision,
                         const goodput::Cluster& cluster) {
    using goodput::Action;
    using goodput::Placement;
    const bool holds = !job.placement.empty(), gets = !decision.placement.empty();
    CHECK((decision.action == Action::wait) == (!holds && !gets));
    CHECK((decision.action == Action::start) == (!holds && gets));
    CHECK((decision.action == Action::stop) == (holds && !gets));
    CHECK((decision.action == Action::stay) == (holds && decision.placement == job.placement));
    CHECK(decision.starts == (gets && decision.placement != job.placement));
    if (decision.action != Action::move && decision.action != Action::restart) return;
    // Compares GPUs per type and, as a shape belongs to one pool, nodes per pool; not which nodes these are.
    const auto shape = [&](const Placement& placement) {
        std::map<std::tuple<std::size_t, int, bool>, std::pair<int, int>> pools;
        for (const goodput::NodeShare& share : placement) {
            const goodput::Node& node = cluster.nodes[share.node];
            auto& [nodes, gpus] = pools[{node.gpu_type, node.gpus, node.spot}];
            ++nodes;
            gpus += share.gpus;
        }
        std::vector<std::tuple<std::size_t, int, int>> parts;
        for (const auto& [pool, of] : pools) parts.emplace_back(std::get<0>(pool), of.first, of.second);
        return parts;
    };
    CHECK((decision.action == Action::move) == (shape(job.placement) == shape(decision.placement)));
}

/// Checks GPUs of nodes, job limits, batch plans, drained nodes and jobs that keep what they hold. A job for
/// which has_failed(j) is true has to keep what it holds, if it holds something.
template <class HasFailed>
void check_plan(const goodput::Snapshot& snapshot, const goodput::Plan& plan, HasFailed has_failed) {
    using namespace goodput;
    REQUIRE(plan.decisions.size() == snapshot.jobs.size());
    std::vector<int> used(snapshot.cluster.nodes.size()), holders(used);
    for (const Job& job : snapshot.jobs)
        for (const NodeShare& share : job.placement) ++holders[share.node];
    double objective = 0;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        const Decision& decision = plan.decisions[j];
        CAPTURE(job.name);
        check_action(job, decision, snapshot.cluster);
        if (decision.placement.empty()) {
            CHECK(decision.option.configuration.empty());
            CHECK(decision.verdict.outcome != Outcome::runs);
            CHECK(!decision.verdict.reason.empty());
            continue;
        }
        objective += decision.value;
        const Configuration& configuration = decision.option.configuration;
        CHECK(decision.verdict.outcome == Outcome::runs);
        CHECK(configuration_of(decision.placement, snapshot.cluster).same_gpus(configuration));
        // A job over several nodes has them alone, unless it shared them before.
        const bool shares = decision.placement == job.placement &&
                            std::ranges::any_of(job.placement, [&](const NodeShare& share) {
                                return holders[share.node] > 1;
                            });
        for (const NodeShare& share : decision.placement) {
            const bool alone = configuration.first().shape.nodes > 1 && !has_failed(j) && !shares;
            used[share.node] += alone ? snapshot.cluster.nodes[share.node].gpus : share.gpus;
            if (snapshot.cluster.nodes[share.node].drained) CHECK(decision.placement == job.placement);
        }
        if (job.keeps_what_it_holds() || has_failed(j)) {
            CHECK(decision.placement == job.placement);
            continue;
        }
        const TypeLimits& limits = job.types[configuration.first().gpu_type];
        CHECK(configuration.gpus() >= job.min_gpus);
        CHECK(configuration.gpus() <= job.max_gpus);
        CHECK(configuration.gpus() % limits.gpus_per_replica == 0);
        if (job.adaptivity == Adaptivity::none) CHECK(configuration.gpus() == job.max_gpus);
        const int replicas = configuration.gpus() / limits.gpus_per_replica;
        const BatchPlan& batch = decision.option.plan;
        CHECK(batch.atomic_batch >= limits.min_atomic_batch);
        CHECK(batch.atomic_batch <= limits.max_atomic_batch);
        CHECK(batch.accumulation_steps >= 0);
        if (job.adaptivity == Adaptivity::batch && job.gradient && limits.gpus_per_replica == 1) {
            if (decision.option.knowledge != Knowledge::unknown)
                CHECK(batch.total(replicas) >= job.initial_batch);
        }
        if (job.max_batch > 0) CHECK(batch.total(replicas) <= job.max_batch);
        // Rounding a replica's share up adds less than one example per microbatch and replica. If this would
        // exceed the largest batch, the share is rounded down.
        if (job.adaptivity != Adaptivity::batch) {
            const bool down = job.max_batch > 0 && job.target_batch + replicas > job.max_batch;
            CHECK(batch.total(replicas) >
                  (down ? std::min(job.target_batch, job.max_batch) - replicas : job.target_batch - 1));
            CHECK(batch.total(replicas) < job.target_batch + replicas * (batch.accumulation_steps + 1));
        }
    }
    for (std::size_t node = 0; node < used.size(); ++node)
        CHECK(used[node] <= snapshot.cluster.nodes[node].gpus);
    CHECK(plan.objective == doctest::Approx(objective));
    CHECK(plan.bound >= plan.objective - 1e-9);
    for (const PoolPrice& price : plan.prices) CHECK(price.price >= 0);
}

/// The same for a policy that fails for no job.
inline void check_plan(const goodput::Snapshot& snapshot, const goodput::Plan& plan) {
    check_plan(snapshot, plan, [](std::size_t) { return false; });
}

/// Gives every job the placement of the plan.
inline void apply(const goodput::Plan& plan, goodput::Snapshot& snapshot) {
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
        snapshot.jobs[j].placement = plan.decisions[j].placement;
}

}  // namespace support

#endif
