#ifndef GOODPUT_DEADLINES_PROMISED_JOBS_HPP
#define GOODPUT_DEADLINES_PROMISED_JOBS_HPP

// Turns a snapshot of a round into what promises count on: GPUs over time, and jobs with their speeds on
// these.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/job.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// The moment by which a job must end.
struct Deadline {
    std::size_t job = 0;          ///< index into Snapshot::jobs
    double deadline_seconds = 0;  ///< time on the clock of Snapshot::time_seconds
    /// If true, a refused job gets no GPUs at all; if false, it runs without a promise.
    bool or_never = false;
    /// Useful examples that the job still needs; without a value the snapshot decides.
    std::optional<double> work{};
};

/// The period in which a node is announced to exist, on the clock of Snapshot::time_seconds.
struct NodeTimes {
    double from_seconds = -std::numeric_limits<double>::infinity();  ///< the node is drained until then
    double until_seconds = std::numeric_limits<double>::infinity();  ///< the node is drained from then on
};

/// Two jobs that hold the same GPUs now.
struct SharingJobs {
    std::array<std::size_t, 2> jobs{};  ///< indices into Snapshot::jobs
    std::array<double, 2> parts{1, 1};  ///< speed of each, relative to running alone on these GPUs
};

/// The margins of promises for errors of predictions. Promises can be kept as long as jobs reach these
/// parts of their predicted goodput, and need no more work than expected here.
struct PromiseMargins {
    double measured =
        0.95;  ///< part of the goodput on sizes that the job was measured on, above 0, at most 1
    double projected = 0.8;  ///< part of the goodput on other sizes and types, above 0, at most 1
    double expected =
        1.25;  ///< factor on the work expected from other jobs, for a job that declares none; at least 1
};

/// Throws std::invalid_argument for margins outside their ranges.
inline void validate(const PromiseMargins& margins) {
    for (const auto& [field, part] :
         {std::pair{"measured", margins.measured}, std::pair{"projected", margins.projected}})
        if (!(part > 0 && part <= 1)) bad_input("promise margins", field, part, "above 0, at most 1");
    require_at_least("promise margins", "expected", margins.expected, 1);
}

/// Returns the work that a job still needs, as a promise counts it, in useful examples; nothing if it is
/// unknown.
[[nodiscard]] inline std::optional<double> promised_work(const Job& job, const Deadline& deadline,
                                                         const PromiseMargins& margins) {
    if (deadline.work) return deadline.work;
    if (job.remaining_examples) return job.remaining_examples;
    if (job.expected_examples) return *job.expected_examples * margins.expected;
    return std::nullopt;
}

/// Returns the pools that promises count on: nodes of one type and size that are not spot nodes. Plans over
/// time treat each pool as a GPU type of its own. The whole nodes of a multi-node job lie in one pool.
[[nodiscard]] inline std::vector<Pool> promised_pools(const Cluster& cluster) {
    std::vector<Pool> pools = pools_of(cluster);
    std::erase_if(pools, [](const Pool& pool) { return pool.spot; });
    return pools;
}

/// Returns the index of the pool with these nodes, or the number of pools if there is none. A negative
/// group means that the nodes may lie in any pool of that type and size.
[[nodiscard]] inline std::size_t pool_index(std::span<const Pool> pools, const PoolId& id) {
    const auto is_same = [&](const Pool& pool) {
        return pool.gpu_type == id.gpu_type && pool.gpus_per_node == id.gpus_per_node && !id.spot &&
               (id.group < 0 || pool.group == id.group);
    };
    return static_cast<std::size_t>(std::find_if(pools.begin(), pools.end(), is_same) - pools.begin());
}

/// GPUs that are taken until a moment. The job that holds them is set aside (invalid in this snapshot), is
/// in the middle of a restart, or cannot be moved.
struct Reservation {
    Placement placement{};     ///< the GPUs
    double until_seconds = 0;  ///< seconds from now
};

/// Returns the nodes of these pools over time, each pool as one GPU type: nodes that are neither drained
/// nor spot, less the reserved GPUs. `times` holds one entry per node, or is empty. A node that is
/// announced for later may be drained now.
[[nodiscard]] inline ClusterOverTime promised_cluster(const Snapshot& snapshot, std::span<const Pool> pools,
                                                      std::span<const Reservation> reservations,
                                                      std::span<const NodeTimes> times = {}) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    std::vector<std::vector<std::pair<double, int>>> reserved(nodes.size());  // end of the reservation,
                                                                              // GPUs
    std::vector<int> holders(nodes.size(), 0);
    for (const Job& job : snapshot.jobs)
        for (const NodeShare& share : job.placement)
            if (share.node < nodes.size()) ++holders[share.node];
    for (const Reservation& reservation : reservations)
        for (const NodeShare& share : reservation.placement) {
            if (share.node >= nodes.size()) continue;
            // In a round, a job on several nodes of a pool has these nodes to itself unless another job is
            // already there.
            const Node& node = nodes[share.node];
            const bool is_spread = std::ranges::any_of(reservation.placement, [&](const NodeShare& other) {
                return other.node != share.node && other.node < nodes.size() &&
                       nodes[other.node].gpu_type == node.gpu_type && nodes[other.node].gpus == node.gpus;
            });
            reserved[share.node].emplace_back(reservation.until_seconds,
                                              is_spread && holders[share.node] == 1 ? node.gpus : share.gpus);
        }
    ClusterOverTime cluster;
    std::map<std::tuple<std::size_t, double, double, int>, std::size_t> groups;
    for (std::size_t p = 0; p < pools.size(); ++p) {
        cluster.gpu_types.push_back(snapshot.cluster.gpu_types[pools[p].gpu_type]);
        for (const std::size_t n : pools[p].nodes) {
            const NodeTimes there = times.empty() ? NodeTimes() : times[n];
            double from = std::max(0.0, there.from_seconds - snapshot.time_seconds);
            const double until = there.until_seconds - snapshot.time_seconds;
            if (nodes[n].drained && from == 0) continue;
            std::sort(reserved[n].begin(), reserved[n].end());
            int taken = 0;
            for (const auto& [end, gpus] : reserved[n]) taken += gpus;
            const auto add = [&](double end) {
                if (end <= from) return;
                const int held = std::min(taken, nodes[n].gpus);
                const auto [group, is_new] = groups.try_emplace({p, from, end, held}, cluster.nodes.size());
                if (is_new) cluster.nodes.push_back({p, 0, nodes[n].gpus, from, end, held});
                ++cluster.nodes[group->second].nodes;
                from = end;
            };
            for (const auto& [end, gpus] : reserved[n]) {
                add(std::min(end, until));
                taken -= gpus;
            }
            add(until);
        }
    }
    return cluster;
}

/// Returns the GPUs that a job holds, with the index of their pool; nothing if it holds none or GPUs of
/// several pools.
[[nodiscard]] inline std::optional<HeldGpus> held_gpus(const Snapshot& snapshot, std::span<const Pool> pools,
                                                       const Placement& placement) {
    std::optional<HeldGpus> held;
    for (const NodeShare& share : placement) {
        const std::size_t pool = pool_index(pools, snapshot.cluster.nodes[share.node]);
        if (pool == pools.size() || (held && held->gpu_type != pool)) return std::nullopt;
        held = HeldGpus{pool, (held ? held->gpus : 0) + share.gpus};
    }
    return held;
}

/// Returns the work per second that a promise counts on with these GPUs. If the speed on this number is
/// unknown, the next smaller number with a known speed counts.
[[nodiscard]] inline double promised_speed(const DeadlineJob& job, HeldGpus held) {
    for (double speed = 0; held.gpus > 0; --held.gpus)
        if ((speed = job.speed_on(held)) > 0) return speed;
    return 0;
}

/// Returns why plans over time cannot count on a job with this part of a pool, or an empty text if they
/// can.
[[nodiscard]] inline std::string why_not_planned(const Job& job, const Cluster& cluster, const Pool& pool,
                                                 const PoolShare& part) {
    if (part.shape.nodes > 1 && part.shape.gpus != part.shape.nodes * part.gpus_per_node)
        return "parts of several nodes are not promised";
    if (!job.within.empty() && part.shape.nodes > 1)
        return "plans over time do not count on " + job.within + "s";
    if (job.tasks) return "jobs of many tasks are not promised an end";
    if (!job.host) return {};
    for (const std::size_t n : pool.nodes) {
        const Node& node = cluster.nodes[n];
        const auto lacks = [&](double has, double needs) { return has > 0 && needs * node.gpus > has; };
        if (lacks(node.cores, job.host->least.cores_per_gpu) ||
            lacks(node.memory_gib, job.host->least.memory_gib_per_gpu))
            return "it needs more CPU cores or memory than go with a GPU, which plans over time do not count";
    }
    return {};
}

/// Returns which part of its speed a job keeps with the cores and the memory that go with a GPU on the worst
/// node of a pool.
[[nodiscard]] inline double promised_host_factor(const Job& job, const Cluster& cluster, const Pool& pool) {
    double factor = 1;
    if (!job.host) return factor;
    for (const std::size_t n : pool.nodes) {
        const Node& node = cluster.nodes[n];
        factor = std::min(factor, job.host->factor({.cores_per_gpu = node.cores / node.gpus,
                                                    .memory_gib_per_gpu = node.memory_gib / node.gpus}));
    }
    return factor;
}

/// Returns a job of the snapshot in the form in which a plan over time counts on it. The speeds are given
/// by pool and number of GPUs: powers of two and whole nodes or, if the job may have none of these sizes,
/// those that it may have. All speeds are 0 if the job was never measured. The value of larger batches
/// comes from the job's gradient statistics, or else from those that similar jobs begin with. If both are
/// unknown, nothing beyond the initial batch size counts. If CPU cores and memory matter, the speed is that
/// with the cores and the memory that go with a GPU on the worst node of the pool. If a job has no speed
/// for another reason, `why_none` receives that reason.
[[nodiscard]] inline DeadlineJob promised_job(const Snapshot& snapshot, std::span<const Pool> pools,
                                              const Deadline& deadline, double work,
                                              const PredictorJoint& predictor, const PromiseMargins& margins,
                                              std::string& why_none) {
    const Job& job = snapshot.jobs[deadline.job];
    DeadlineJob promised{.name = job.name,
                         .work_left = work,
                         .deadline_seconds = deadline.deadline_seconds - snapshot.time_seconds,
                         .restart_seconds = job.restart_cost_seconds,
                         .holds = held_gpus(snapshot, pools, job.placement),
                         .movable = job.preemptible,
                         .weight = job.weight};
    promised.speed.resize(pools.size());
    std::vector<Option> options;
    append_options(
        job, pools, [](std::size_t) { return std::numeric_limits<int>::max(); }, options);
    insert_held(job, configuration_of(job.placement, snapshot.cluster), pools, 0, options);
    const std::optional<GradientStatistics> gradient = job.gradient ? job.gradient : job.usual_gradient;
    if (predictor.predict_with)
        predictor.predict_with(predictor.part, job, model_of(snapshot, deadline.job), options, gradient);
    else
        predictor.predict(predictor.part, job, model_of(snapshot, deadline.job), options);
    const auto is_known = [&](const Option& option) {
        const TypeLimits& limits = job.types[option.configuration.first().gpu_type];
        const long long replicas = option.configuration.gpus() / limits.gpus_per_replica;
        return gradient || job.adaptivity != Adaptivity::batch ||
               replicas * option.plan.atomic_batch * (1 + option.plan.accumulation_steps) <=
                   job.initial_batch;
    };
    std::vector<SpeedWith> unusual;  // sizes that count only if the job has no other size in the pool
    for (const Option& option : options) {
        const PoolShare& part = option.configuration.first();
        const std::size_t p = pool_index(pools, part);
        if (p == pools.size() || !is_known(option) || !(std::isfinite(option.goodput) && option.goodput > 0))
            continue;
        const bool held = promised.holds == HeldGpus{p, part.shape.gpus};
        // A job that can be moved may not find such GPUs again.
        if (std::string why = why_not_planned(job, snapshot.cluster, pools[p], part);
            !why.empty() && !(held && !job.preemptible)) {
            why_none = std::move(why);
            continue;
        }
        const double speed = option.goodput *
                             (option.knowledge == Knowledge::measured    ? margins.measured
                              : option.knowledge == Knowledge::projected ? margins.projected
                                                                         : 0) *
                             promised_host_factor(job, snapshot.cluster, pools[p]);
        const auto gpus = static_cast<unsigned>(part.shape.gpus);
        const SpeedWith size{{p, part.shape.gpus}, speed};
        if (!std::has_single_bit(gpus)) {
            const bool usual = std::has_single_bit(static_cast<unsigned>(part.shape.nodes)) || held;
            (usual ? promised.other_sizes : unusual).push_back(size);
            continue;
        }
        const auto power = static_cast<std::size_t>(std::countr_zero(gpus));
        std::vector<double>& speeds = promised.speed[p];
        if (speeds.size() <= power) speeds.resize(power + 1, 0.0);
        speeds[power] = speeds[power] > 0 ? std::min(speeds[power], speed) : speed;
    }
    for (const SpeedWith& size : unusual)
        if (promised.speed[size.held.gpu_type].empty()) promised.other_sizes.push_back(size);
    return promised;
}

}  // namespace goodput::inline v0_1

#endif
