#ifndef GOODPUT_PARALLEL_DETAIL_LARGE_JOB_HPP
#define GOODPUT_PARALLEL_DETAIL_LARGE_JOB_HPP

// What a round knows about one large model: which GPUs it may use, what it was offered, and what the
// planner answered.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/configuration_search.hpp"
#include "goodput/parallel/detail/plan_values.hpp"
#include "goodput/parallel/large_models.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1::detail {

inline bool contains(const std::vector<Configuration>& list, const Configuration& configuration) {
    return std::find(list.begin(), list.end(), configuration) != list.end();
}

/// A question at prices that the planner was asked.
struct AskedReward {
    double reward = 0, power = 1;
    std::vector<double> price{};  // prices per GPU, by pool; infinite for pools that it was not about
    friend bool operator==(const AskedReward&, const AskedReward&) = default;
};

/// The state of one job in one round. The next round may keep the answers.
struct LargeJob {
    PoolChoices choices{};
    std::vector<PoolShare> pools{};  // all open GPUs that the job may use, by pool
    ThroughputCeiling ceiling{};
    std::vector<Configuration> offered{};  // listed, or appended at prices while worth it
    std::vector<Configuration> learned{};  // configurations that the planner was asked about
    Configuration known{};                 // a configuration that has a plan
    std::vector<AskedReward> asked{};
    PlanValues values{};
    std::vector<std::string> why{};
    Configuration held{};
    int least = 0, most = 0;  // limits on GPUs
    std::size_t version = 0;  // version of the job's model in the book

    /// Finds the GPUs that the job may use.
    template <class Finder>
    void look_around(const LargeModels<Finder>& large, const Round& round, const Job& job) {
        version = large.version_of(job.name);
        Job any = job;  // a part may have any number of GPUs
        any.adaptivity = Adaptivity::gpus;
        any.min_gpus = 1;
        any.max_gpus = std::max(job.max_gpus, 2);  // not fixed
        for (TypeLimits& type : any.types) type.gpus_per_replica = 1;
        held = round.held_by(job);
        most = job.max_gpus;
        least = job.fewest_gpus();
        for (const Pool& pool : round.pools) {
            if (!large.knows(pool.gpu_type)) continue;
            std::vector<PoolShare> of_pool{pool.share({})};
            for_each_shape(any, pool, [&](Shape shape) {
                if (shape.gpus <= most) of_pool.push_back(pool.share(shape));
            });
            if (of_pool.size() < 2) continue;
            pools.push_back(of_pool.back());
            choices.push_back(std::move(of_pool));
        }
    }

    /// Keeps the planner's earlier answers, which hold as long as no pool has more GPUs now.
    void keep_answers(LargeJob before) {
        constexpr std::size_t many = 200;
        const auto no_larger = [](const PoolShare& now, const PoolShare& then) {
            return now.same_pool(then) && now.shape.gpus <= then.shape.gpus;
        };
        if (before.learned.size() + before.asked.size() > many || before.version != version ||
            !std::equal(pools.begin(), pools.end(), before.pools.begin(), before.pools.end(), no_larger))
            return;
        ceiling = std::move(before.ceiling);
        learned = std::move(before.learned);
        asked = std::move(before.asked);
    }

    /// Asks about a configuration, and notes what the answer says about smaller ones.
    template <class Finder>
    const KnownPlan& learn(LargeModels<Finder>& large, const std::string& name,
                           const Configuration& configuration) {
        const KnownPlan& settled = large.settle(
            name, configuration, configuration.same_gpus(held) || contains(offered, configuration));
        if (!contains(learned, configuration)) {
            learned.push_back(configuration);
            ceiling.add_limit(gpus_by_pool(configuration), settled.bound);
        }
        return settled;
    }

    /// Returns all GPUs of the chosen pools, as parts.
    [[nodiscard]] std::vector<PoolShare> parts_of(const std::vector<std::size_t>& chosen) const {
        std::vector<PoolShare> parts;
        for (const std::size_t p : chosen) parts.push_back(pools[p]);
        return parts;
    }
    /// Returns all GPUs of the chosen pools, by pool.
    [[nodiscard]] std::vector<int> gpus_of(const std::vector<std::size_t>& chosen) const {
        std::vector<int> gpus(pools.size());
        for (const std::size_t p : chosen) gpus[p] = pools[p].shape.gpus;
        return gpus;
    }

    /// Notes a plan that the planner found for the chosen pools. Returns the smallest configuration that
    /// holds it.
    template <class Finder>
    Configuration note(LargeModels<Finder>& large, const std::string& name, const ParallelPlan& plan,
                       double throughput, const std::vector<std::size_t>& chosen) {
        if (plan.stages.empty()) return {};
        std::vector<int> gpus(pools.size());
        for (const PlanStage& stage : plan.stages)
            for (const ReplicaGroup& group : stage.replicas)
                gpus[chosen[group.gpu_type]] += group.count * group.tensor_parallel;
        const Configuration found = around(gpus);
        if (!found.same_gpus(held)) large.note(name, found, plan, parts_of(chosen), throughput);
        return found;
    }

    [[nodiscard]] bool may_hold(const Configuration& configuration) const {
        return configuration.gpus() >= least && configuration.gpus() <= most;
    }
    /// Lists a configuration, unless it is offered already.
    void offer(const Configuration& configuration, std::vector<Option>& options) {
        if (contains(offered, configuration)) return;
        offered.push_back(configuration);
        options.push_back({configuration, {}, 0, Knowledge::unknown});
    }
    /// Returns the GPUs of a configuration, by pool.
    [[nodiscard]] std::vector<int> gpus_by_pool(const Configuration& configuration) const {
        std::vector<int> gpus(pools.size());
        for (const PoolShare& part : configuration.parts())
            for (std::size_t p = 0; p < gpus.size(); ++p)
                if (pools[p].same_pool(part)) gpus[p] += part.shape.gpus;
        return gpus;
    }

    /// Returns the smallest configuration that holds these GPUs by pool.
    [[nodiscard]] Configuration around(std::span<const int> gpus) const {
        std::vector<PoolShare> parts;
        for (std::size_t p = 0; p < gpus.size(); ++p)
            parts.push_back(*std::find_if(choices[p].begin(), choices[p].end(),
                                          [&](const PoolShare& part) { return part.shape.gpus >= gpus[p]; }));
        return Configuration(std::move(parts));
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
