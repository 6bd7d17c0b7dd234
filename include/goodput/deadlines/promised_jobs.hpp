#ifndef GOODPUT_DEADLINES_PROMISED_JOBS_HPP
#define GOODPUT_DEADLINES_PROMISED_JOBS_HPP

// A round as promises see it: which GPUs can be counted on, and how fast a job is on them.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// When a job has to end.
struct Deadline {
    std::size_t job = 0;           ///< index into Snapshot::jobs
    double deadline_seconds = 0;   ///< on the clock of Snapshot::time_seconds
    bool or_never = false;         ///< refused, it gets nothing at all; else it runs without a promise
    std::optional<double> work{};  ///< useful examples that it still needs; none: what the snapshot says
};

/// When a node is announced to be there, on the clock of Snapshot::time_seconds.
struct NodeTimes {
    double from_seconds = -std::numeric_limits<double>::infinity();  ///< until then it is drained
    double until_seconds = std::numeric_limits<double>::infinity();  ///< then it is drained
};

/// What of a prediction a promise counts on. A promise is kept while jobs are at least so fast, and need no
/// more than that.
struct PromiseMargins {
    double measured =
        0.95;  ///< part of the goodput on sizes that the job was measured on, above 0, at most 1
    double projected = 0.8;  ///< part of the goodput on other sizes and types, above 0, at most 1
    double expected =
        1.25;  ///< times the work that other jobs let expect, where none is declared; at least 1
};

/// Refuses margins outside their ranges (std::invalid_argument).
inline void validate(const PromiseMargins& margins) {
    for (const auto& [field, part] :
         {std::pair{"measured", margins.measured}, std::pair{"projected", margins.projected}})
        if (!(part > 0 && part <= 1)) bad_input("promise margins", field, part, "above 0, at most 1");
    require_at_least("promise margins", "expected", margins.expected, 1);
}

/// The work that a job still needs, as a promise counts it, in useful examples; none where nothing is known.
[[nodiscard]] inline std::optional<double> promised_work(const Job& job, const Deadline& deadline,
                                                         const PromiseMargins& margins) {
    if (deadline.work) return deadline.work;
    if (job.remaining_examples) return job.remaining_examples;
    if (job.expected_examples) return *job.expected_examples * margins.expected;
    return std::nullopt;
}

/// The nodes that promises count on: neither drained nor spot, without what jobs hold that cannot be moved
/// and have no promise. What jobs in the middle of a restart hold is free again after `round_seconds`.
/// `times`: of each node, or empty; a node that is announced for later may be drained now.
[[nodiscard]] inline ClusterOverTime promised_cluster(const Snapshot& snapshot,
                                                      std::span<const char> has_promise, double round_seconds,
                                                      std::span<const NodeTimes> times = {}) {
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    std::vector<int> restarting(nodes.size()), pinned(nodes.size());
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        if (!job.keeps_what_it_holds() || has_promise[j]) continue;
        for (const NodeShare& share : job.placement)
            (job.preemptible ? restarting : pinned)[share.node] += share.gpus;
    }
    ClusterOverTime cluster{snapshot.cluster.gpu_types, {}};
    const auto add = [&](std::size_t type, int gpus, double from, double until) {
        if (gpus <= 0 || until <= from) return;
        NodesOverTime group{type, 1, gpus, from, until};
        for (NodesOverTime& like : cluster.nodes) {
            group.nodes = like.nodes;
            if (group == like) {
                ++like.nodes;
                return;
            }
        }
        group.nodes = 1;
        cluster.nodes.push_back(group);
    };
    for (std::size_t n = 0; n < nodes.size(); ++n) {
        const NodeTimes its = times.empty() ? NodeTimes() : times[n];
        const double from = std::max(0.0, its.from_seconds - snapshot.time_seconds),
                     until = its.until_seconds - snapshot.time_seconds;
        if (nodes[n].spot || (nodes[n].drained && from == 0)) continue;
        const int later = nodes[n].gpus - pinned[n];
        const double free_again = restarting[n] > 0 ? std::max(from, std::min(round_seconds, until)) : from;
        add(nodes[n].gpu_type, later - restarting[n], from, free_again);
        add(nodes[n].gpu_type, later, free_again, until);
    }
    return cluster;
}

/// The GPUs that a job holds, where they are of one type; none: it holds nothing, or several types.
[[nodiscard]] inline std::optional<HeldGpus> held_gpus(const Snapshot& snapshot, std::size_t job) {
    const Configuration holds = configuration_of(snapshot.jobs[job].placement, snapshot.cluster);
    if (holds.empty() || !holds.is_single()) return std::nullopt;
    return HeldGpus{holds.first().gpu_type, holds.first().shape.gpus};
}

/// Work a second that a promise counts on with these GPUs: a number of them that is no power of two counts as
/// the next smaller one.
[[nodiscard]] inline double promised_speed(const DeadlineJob& job, const HeldGpus& held) {
    return job.speed_on({held.gpu_type, static_cast<int>(std::bit_floor(static_cast<unsigned>(held.gpus)))});
}

/// A job of the snapshot as a plan over time counts on it: its speed on 1, 2, 4, ... GPUs of each type that
/// it may have on these pools, slowest first where nodes differ; 0 on all where nothing of it has been
/// measured. What larger batches are worth is what its gradient statistics say, or those that jobs like it
/// begin with; where neither is known, nothing is counted on beyond its initial batch size. What may be left
/// of its restart in a round from now counts as work.
template <OptionPredictor Predict>
[[nodiscard]] DeadlineJob promised_job(const Snapshot& snapshot, std::span<const Pool> pools,
                                       const Deadline& deadline, double work, Predict& predict,
                                       const PromiseMargins& margins, double round_seconds) {
    const Job& job = snapshot.jobs[deadline.job];
    DeadlineJob promised{.name = job.name,
                         .work_left = work,
                         .deadline_seconds = deadline.deadline_seconds - snapshot.time_seconds,
                         .restart_seconds = job.restart_cost_seconds,
                         .weight = job.weight};
    promised.speed.resize(snapshot.cluster.gpu_types.size());
    std::vector<Option> options;
    append_options(
        job, pools, [](std::size_t) { return std::numeric_limits<int>::max(); }, options);
    const std::optional<GradientStatistics> gradient = job.gradient ? job.gradient : job.usual_gradient;
    if constexpr (ForecastPredictor<Predict>)
        predict(job, model_of(snapshot, deadline.job), options, gradient);
    else
        predict(job, model_of(snapshot, deadline.job), options);
    const auto is_known = [&](const Option& option) {
        const TypeLimits& limits = job.types[option.configuration.first().gpu_type];
        const long long replicas = option.configuration.gpus() / limits.gpus_per_replica;
        return gradient || job.adaptivity != Adaptivity::batch ||
               replicas * option.plan.atomic_batch * (1 + option.plan.accumulation_steps) <=
                   job.initial_batch;
    };
    for (const Option& option : options) {
        const PoolShare& part = option.configuration.first();
        const bool even =
            std::has_single_bit(static_cast<unsigned>(part.shape.gpus)) &&
            (part.shape.nodes == 1 || std::has_single_bit(static_cast<unsigned>(part.gpus_per_node)));
        if (!even || !is_known(option) || !(std::isfinite(option.goodput) && option.goodput > 0)) continue;
        const double counted = option.knowledge == Knowledge::measured    ? margins.measured
                               : option.knowledge == Knowledge::projected ? margins.projected
                                                                          : 0;
        const auto power = static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(part.shape.gpus)));
        std::vector<double>& speeds = promised.speed[part.gpu_type];
        if (speeds.size() <= power) speeds.resize(power + 1, 0.0);
        const double speed = option.goodput * counted;
        speeds[power] = speeds[power] > 0 ? std::min(speeds[power], speed) : speed;
    }
    promised.holds = held_gpus(snapshot, deadline.job);
    if (promised.holds && job.restarting)
        promised.work_left += promised_speed(promised, *promised.holds) *
                              std::max(0.0, job.restart_cost_seconds - round_seconds);
    return promised;
}

}  // namespace goodput

#endif
