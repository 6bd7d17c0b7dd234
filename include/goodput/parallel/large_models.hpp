#ifndef GOODPUT_PARALLEL_LARGE_MODELS_HPP
#define GOODPUT_PARALLEL_LARGE_MODELS_HPP

// Records which jobs of a round are large models, and their parallelism plans. The maker ParallelPlans and
// the launcher of the jobs share these records. All copies of a LargeModels have the same records.
//
// A configuration's plan is the best one on its GPUs. The first plan found for a configuration stays unless
// a better one is found while no job runs it, so that a running job continues with its plan.
//
// GPU types are identified by name. A type "A100" of the cluster is the type of that name in the
// description, in the only zone. If the description has several zones, the cluster's types must name them:
// "A100@east".

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/parallel/parallel_planner.hpp"
#include "goodput/parallel/plan_placement.hpp"

namespace goodput::inline v0_1 {

/// A job that is planned by its layers.
struct LargeModel {
    LayeredModel model{};           ///< times by GPU type of the description (LargeModels)
    int global_batch = 1;           ///< samples per iteration
    ParallelConstants constants{};  ///< constants of the formulas of time and memory
    bool mixed_stages = false;      ///< see PlanQuestion
};

/// A function object that finds plans: `answer = finder(model, cluster, question, constants)`.
template <class F>
concept PlanFinder = requires(F& finder, const LayeredModel& model, const ParallelCluster& cluster,
                              const PlanQuestion& question, const ParallelConstants& constants) {
    { finder(model, cluster, question, constants) } -> std::convertible_to<PlanAnswer>;
};

/// Runs find_plan() with a gap and limits.
struct PlanSearcher {
    double gap = 0.01;  ///< PlanQuestion::gap
    /// The largest number of checks per question of whether to stop.
    std::size_t most_checks = std::numeric_limits<std::size_t>::max();
    std::function<bool()> stop{};  ///< also asked whether to stop; without it, the search runs until the
                                   ///< gap is reached

    /// Returns the best plan found before the search stops.
    PlanAnswer operator()(const LayeredModel& model, const ParallelCluster& cluster, PlanQuestion question,
                          const ParallelConstants& constants) const {
        question.gap = gap;
        std::size_t checks = 0;
        return find_plan(
            model, cluster, question, [&] { return ++checks > most_checks || (stop && stop()); }, constants);
    }
};

/// What is known about a configuration.
struct KnownPlan {
    ParallelPlan plan{};                                     ///< has no stages if no plan was found
    double throughput = 0;                                   ///< iterations per second
    double bound = std::numeric_limits<double>::infinity();  ///< no plan on these GPUs has a higher
                                                             ///< throughput
    bool settled = false;                                    ///< the finder was asked about exactly this
                                                             ///< configuration
    std::vector<std::string> why{};                          ///< why there is no plan, one sentence per
                                                             ///< reason
};

/// The large models among the jobs, by name, and their plans.
template <PlanFinder Finder = PlanSearcher>
class LargeModels {
public:
    /// `description` gives types with memory, zones and links. Its numbers of GPUs do not count; a round's
    /// open nodes do. `gpu_types` are the names in Cluster::gpu_types. Throws std::invalid_argument for a
    /// bad description.
    LargeModels(ParallelCluster description, std::vector<std::string> gpu_types, Finder finder = {})
        : state_(std::make_shared<State>()) {
        description.validate();
        state_->homes.resize(gpu_types.size());
        for (std::size_t t = 0; t < gpu_types.size(); ++t)
            for (std::size_t z = 0; z < description.zones.size(); ++z)
                for (std::size_t type = 0; type < description.types.size(); ++type) {
                    const std::string& name = description.types[type].name;
                    if (gpu_types[t] == name + "@" + description.zones[z] ||
                        (description.zones.size() == 1 && gpu_types[t] == name))
                        state_->homes[t] = PlanHome{z, type};
                }
        state_->description = std::move(description);
        state_->finder = std::move(finder);
    }

    /// Makes the job of that name a large model, and forgets plans known for it. Throws
    /// std::invalid_argument for a bad model or batch.
    void add(const std::string& job, LargeModel large) {
        large.model.validate();
        require_between([&] { return "job '" + job + "'"; }, "global_batch", large.global_batch, 1, 1 << 30);
        state_->jobs[job] = {std::move(large), {}, ++state_->versions};
    }
    /// Forgets a job that has ended, or is no longer a large model.
    void forget(const std::string& job) { state_->jobs.erase(job); }
    /// Returns the large model of that job, or nullptr if the job is not a large model.
    [[nodiscard]] const LargeModel* find(const std::string& job) const {
        const auto found = state_->jobs.find(job);
        return found == state_->jobs.end() ? nullptr : &found->second.large;
    }
    /// Returns a number that changes each time the job is added as a large model.
    [[nodiscard]] std::size_t version_of(const std::string& job) const {
        return state_->jobs.at(job).version;
    }
    /// Returns where the description has a GPU type of the cluster; nothing if it does not have it.
    [[nodiscard]] std::optional<PlanHome> home_of(std::size_t gpu_type) const {
        return knows(gpu_type) ? state_->homes[gpu_type] : std::nullopt;
    }
    /// Returns whether the description has this GPU type of the cluster.
    [[nodiscard]] bool knows(std::size_t gpu_type) const {
        return gpu_type < state_->homes.size() && state_->homes[gpu_type].has_value();
    }

    /// Returns the plan with which a job was offered a configuration, with the types and zones of the
    /// description; nullptr if none is known. Valid until the job is forgotten.
    [[nodiscard]] const ParallelPlan* plan_of(const std::string& job,
                                              const Configuration& configuration) const {
        const auto of_job = state_->jobs.find(job);
        if (of_job == state_->jobs.end()) return nullptr;
        const auto known = of_job->second.known.find(key_of(configuration));
        return known == of_job->second.known.end() || known->second.plan.stages.empty() ? nullptr
                                                                                        : &known->second.plan;
    }

    /// Returns what is known about a large model on a configuration, and asks the finder if nothing is. A
    /// part over several nodes that does not take these whole holds no tensor-parallel groups.
    const KnownPlan& best_on(const std::string& job, const Configuration& configuration) {
        const auto& known = state_->jobs.at(job).known;
        const auto found = known.find(key_of(configuration));
        if (found != known.end() && (found->second.settled || !found->second.plan.stages.empty()))
            return found->second;
        return settle(job, configuration, false);
    }
    /// Returns the same, with a bound on all plans of the configuration. `keep`: a known plan stays.
    const KnownPlan& settle(const std::string& job, const Configuration& configuration, bool keep) {
        const std::vector<PoolShare> parts = key_of(configuration);
        KnownPlan& known = state_->jobs.at(job).known[parts];
        if (known.settled) return known;
        PlanAnswer answer = ask(job, parts, {});
        known.settled = true;
        known.bound = answer.status == PlanStatus::none ? 0 : answer.bound;
        if (keep && !known.plan.stages.empty()) return known;
        known.why = std::move(answer.why);
        if (!answer.plan.stages.empty())
            note(job, configuration, answer.plan, parts, answer.score.throughput());
        return known;
    }

    /// Asks the finder for a plan of a large model on GPUs of pools. Answer and prices are by part of
    /// `parts` instead of by GPU type. The finder begins with the known plans.
    PlanAnswer ask(const std::string& job, std::span<const PoolShare> parts, PlanQuestion question) {
        const Entry& entry = state_->jobs.at(job);
        const LargeModel& large = entry.large;
        question.global_batch = large.global_batch;
        question.mixed_stages = large.mixed_stages;
        for (const auto& [_, known] : entry.known)
            if (auto plan = on_parts(known.plan, parts)) question.known.push_back(*std::move(plan));
        return state_->finder(model_on(large.model, parts), cluster_on(parts), question, large.constants);
    }

    /// Calls visit(plan, iterations per second) for variants of a plan that ask() returned. They have from
    /// half to twice as many replicas, and run on the GPUs of these parts. A variant with more replicas but
    /// equally many micro-batches is skipped.
    template <class Visit>
    void for_each_resized(const std::string& job, std::span<const PoolShare> parts, ParallelPlan plan,
                          Visit visit) const {
        const LargeModel& large = state_->jobs.at(job).large;
        for (const PlanStage& stage : plan.stages)
            if (stage.replicas.size() != 1) return;
        if (plan.stages.empty()) return;
        const int replicas = plan.stages.front().replica_count();
        const LayeredModel model = model_on(large.model, parts);
        const ParallelCluster cluster = cluster_on(parts);
        int before = 0;
        for (int count = std::max(replicas / 2, 1); count <= 2 * replicas; ++count) {
            for (PlanStage& stage : plan.stages) stage.replicas.front().count = count;
            if (count == replicas || std::exchange(before, plan.microbatches()) == plan.microbatches())
                continue;
            const PlanScore score = score_plan(model, cluster, plan, large.constants);
            if (score.fits && !score.fault && score.throughput() > 0)
                visit(std::as_const(plan), score.throughput());
        }
    }

    /// Records a plan that ask() returned. It becomes the configuration's plan if it is better than the
    /// known one.
    void note(const std::string& job, const Configuration& configuration, const ParallelPlan& plan,
              std::span<const PoolShare> parts, double throughput) {
        KnownPlan& known = state_->jobs.at(job).known[key_of(configuration)];
        if (throughput <= known.throughput * (1 + 1e-9)) return;
        known.plan = described(plan, parts);
        known.throughput = throughput;
    }

private:
    struct Entry {
        LargeModel large{};
        std::map<std::vector<PoolShare>, KnownPlan> known{};
        std::size_t version = 0;
    };
    struct State {
        ParallelCluster description{};
        std::vector<std::optional<PlanHome>> homes{};  // by GPU type of the cluster
        Finder finder{};
        std::map<std::string, Entry> jobs{};
        std::size_t versions = 0;
    };

    static std::vector<PoolShare> key_of(const Configuration& configuration) {
        return {configuration.parts().begin(), configuration.parts().end()};
    }

    /// Tensor-parallel groups always pack if the degrees divide one another and the node, as with the
    /// shapes of ListedShapes.
    static bool packs(const PoolShare& part, int degree) {
        if (degree == 1) return true;
        if (part.shape.nodes > 1 && part.shape.gpus != part.shape.nodes * part.gpus_per_node) return false;
        int size = part.gpus_per_node;
        while (size > degree && size % 2 == 0) size /= 2;
        return size == degree;
    }

    /// Returns the model with one type per part.
    [[nodiscard]] LayeredModel model_on(const LayeredModel& model, std::span<const PoolShare> parts) const {
        LayeredModel on = model;
        on.times.assign(parts.size(), {});
        for (std::size_t p = 0; p < parts.size(); ++p) {
            if (!knows(parts[p].gpu_type)) continue;
            const std::size_t type = state_->homes[parts[p].gpu_type]->gpu_type;
            if (type >= model.times.size()) continue;
            for (const auto& [key, times] : model.times[type])
                if (packs(parts[p], key.tensor_parallel)) on.times[p].emplace(key, times);
        }
        return on;
    }
    /// Returns the description with one type per part.
    [[nodiscard]] ParallelCluster cluster_on(std::span<const PoolShare> parts) const {
        const ParallelCluster& all = state_->description;
        ParallelCluster on;
        on.zones = all.zones;
        on.usd_per_gigabyte = all.usd_per_gigabyte;
        on.gpus.assign(all.zones.size(), std::vector<int>(parts.size()));
        std::vector<std::optional<PlanHome>> homes;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const auto& home = homes.emplace_back(knows(parts[p].gpu_type) ? state_->homes[parts[p].gpu_type]
                                                                           : std::optional<PlanHome>());
            on.types.push_back(home ? all.types[home->gpu_type] : GpuType{"none", 1, 1, 0});
            on.types.back().gpus_per_node = parts[p].gpus_per_node;
            if (home) on.gpus[home->zone][p] = parts[p].shape.gpus;
        }
        const auto is_at = [&](std::size_t p, const LinkEnd& end) {
            return homes[p] && homes[p]->zone == end.zone && homes[p]->gpu_type == end.gpu_type;
        };
        for (const auto& [ends, curve] : all.links)
            for (std::size_t p = 0; p < parts.size(); ++p)
                for (std::size_t q = 0; q < parts.size(); ++q)
                    if (is_at(p, ends.first) && is_at(q, ends.second))
                        on.links[{{ends.first.zone, p, ends.first.gpus},
                                  {ends.second.zone, q, ends.second.gpus}}] = curve;
        return on;
    }
    /// Translates a plan of cluster_on(parts) to the types and zones of the description.
    [[nodiscard]] ParallelPlan described(ParallelPlan plan, std::span<const PoolShare> parts) const {
        for (PlanStage& stage : plan.stages)
            for (ReplicaGroup& group : stage.replicas)
                group.gpu_type = state_->homes[parts[group.gpu_type].gpu_type]->gpu_type;
        return plan;
    }

    /// Translates a plan of the description to one of cluster_on(parts), if the parts have all its types.
    [[nodiscard]] std::optional<ParallelPlan> on_parts(ParallelPlan plan,
                                                       std::span<const PoolShare> parts) const {
        if (plan.stages.empty()) return std::nullopt;
        for (PlanStage& stage : plan.stages)
            for (ReplicaGroup& group : stage.replicas) {
                const auto part = std::find_if(parts.begin(), parts.end(), [&](const PoolShare& candidate) {
                    const auto home = home_of(candidate.gpu_type);
                    return home && home->zone == group.zone && home->gpu_type == group.gpu_type;
                });
                if (part == parts.end()) return std::nullopt;
                group.gpu_type = static_cast<std::size_t>(part - parts.begin());
            }
        return plan;
    }

    std::shared_ptr<State> state_;
};

}  // namespace goodput::inline v0_1

#endif
