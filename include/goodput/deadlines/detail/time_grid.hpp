#ifndef GOODPUT_DEADLINES_DETAIL_TIME_GRID_HPP
#define GOODPUT_DEADLINES_DETAIL_TIME_GRID_HPP

// The time until the last deadline, cut into intervals in which neither the cluster nor the set of jobs
// changes.
//
// A row is a limit that the jobs of an interval share: the GPUs of a type, or blocks of b GPUs on one node,
// where b is a power of two or a whole node. A node with g free GPUs has floor(g / b) blocks, and a job
// that takes t GPUs of a node takes floor(t / b). On one node, a job takes a power of two or the whole
// node. A larger job takes whole nodes, or a power of two of GPUs in blocks: each is the largest power of
// two that fits on a node. With these sizes, every set of jobs that respects all rows can be placed, the
// largest blocks first. A row of blocks is left out if the row of GPUs implies it.
//
// If time is divided into slots (`slot_seconds` above 0), intervals begin and end where slots do. A node
// that comes or goes within a slot does not count in that slot, and a job whose deadline lies within a slot
// uses only the first part of it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"

namespace goodput::inline v0_1::detail {

/// A size that a job may have in the plan.
struct DeadlineOption {
    HeldGpus held{};
    double speed = 0;  ///< work per second
};

/// A job that can use only the first part of an interval, or that cannot use all earlier intervals.
struct PartialJob {
    std::size_t job = 0;
    double part = 1;  ///< part of the interval that the job can use, above 0, at most 1
};

/// An interval of the grid.
struct GridInterval {
    double from = 0, until = 0;      ///< seconds from now
    std::vector<double> capacity{};  ///< by row
    std::size_t full_jobs = 0;       ///< number of jobs at the front of TimeGrid::order that can use the
                                     ///< whole interval
    std::vector<PartialJob> partial_jobs{};

    [[nodiscard]] double seconds() const { return until - from; }
};

/// Blocks of one size on nodes of one GPU type.
struct BlockRow {
    std::size_t gpu_type = 0;
    int size = 1;
};

/// The intervals, the rows and the options of all jobs.
struct TimeGrid {
    std::vector<GridInterval> intervals{};
    std::vector<BlockRow> rows{};
    /// The jobs that will still have work left when they can be moved. Jobs that can be moved now come
    /// first, the latest deadline first.
    std::vector<std::size_t> order{};
    std::vector<double> work{};                          ///< by job: work left when it can be moved
    std::vector<std::vector<DeadlineOption>> options{};  ///< by job: options; within a type, faster ones
                                                         ///< take more GPUs

    TimeGrid(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs, double slot_seconds);

    /// Returns how much of a row these GPUs take.
    [[nodiscard]] double blocks_of(const HeldGpus& held, std::size_t row) const {
        if (rows[row].gpu_type != held.gpu_type) return 0;
        const int whole = whole_node[held.gpu_type], size = rows[row].size, gpus = held.gpus;
        const auto up = static_cast<int>(std::bit_ceil(static_cast<unsigned>(gpus))),
                   block = static_cast<int>(std::bit_floor(static_cast<unsigned>(whole)));
        if (gpus <= whole) return static_cast<double>(std::min(up, whole) / size);
        if (gpus == up && gpus % whole != 0) return static_cast<double>(gpus / block * (block / size));
        return static_cast<double>((gpus + whole - 1) / whole * (whole / size));
    }
    /// Returns whether these GPUs are available if `free` is free in each row.
    [[nodiscard]] bool fits(const HeldGpus& held, std::span<const double> free) const {
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (rows[row].gpu_type == held.gpu_type && blocks_of(held, row) > free[row]) return false;
        return true;
    }
    /// Returns how many jobs can use an interval, and the k-th of them.
    [[nodiscard]] static std::size_t users(const GridInterval& interval) {
        return interval.full_jobs + interval.partial_jobs.size();
    }
    /// See users().
    [[nodiscard]] PartialJob user(const GridInterval& interval, std::size_t k) const {
        return k < interval.full_jobs ? PartialJob{order[k], 1}
                                      : interval.partial_jobs[k - interval.full_jobs];
    }
    /// Adds a job with its options to an allotment problem. An option is worth value(option).
    template <class Value>
    void add_to(AllotmentProblem& problem, std::size_t job, Value&& value) const {
        std::vector<ResourceUse> uses;
        problem.add_job();
        for (const DeadlineOption& option : options[job]) {
            uses.clear();
            append_uses(option.held, uses);
            problem.add_option(value(option), uses);
        }
    }
    /// Appends what these GPUs take of all rows.
    void append_uses(const HeldGpus& held, std::vector<ResourceUse>& uses) const {
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (const double blocks = blocks_of(held, row); blocks > 0)
                uses.push_back({static_cast<std::uint32_t>(row), blocks});
    }

    std::vector<int> whole_node{};  ///< by GPU type: GPUs of the type's largest node

private:
    void find_rows(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs);
    void find_options(std::span<const DeadlineJob> jobs);
};

inline TimeGrid::TimeGrid(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                          double slot_seconds) {
    const auto down = [&](double t) {
        return slot_seconds > 0 ? std::floor(t / slot_seconds) * slot_seconds : t;
    };
    const auto up = [&](double t) {
        return slot_seconds > 0 ? std::ceil(t / slot_seconds) * slot_seconds : t;
    };
    double horizon = 0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        work.push_back(jobs[j].work_left - work_of(jobs[j], {}));
        if (!(work[j] > 1e-12 * jobs[j].work_left)) continue;
        order.push_back(j);
        horizon = std::max(horizon, up(jobs[j].deadline_seconds));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const bool a_waits = jobs[a].from_seconds > 0, b_waits = jobs[b].from_seconds > 0;
        return a_waits != b_waits ? b_waits : jobs[a].deadline_seconds > jobs[b].deadline_seconds;
    });

    std::vector<double> moments{0, horizon};
    const auto add = [&](double t) {
        if (t > 0 && t < horizon) moments.push_back(t);
    };
    for (const std::size_t j : order) {
        add(down(jobs[j].deadline_seconds));
        add(up(jobs[j].deadline_seconds));
        if (std::isfinite(jobs[j].from_seconds)) add(up(jobs[j].from_seconds));
    }
    for (const NodesOverTime& group : cluster.nodes) {
        add(up(group.from_seconds));
        add(down(group.until_seconds));
    }
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());

    find_rows(cluster, jobs);
    const auto waiting = std::partition_point(order.begin(), order.end(),
                                              [&](std::size_t j) { return !(jobs[j].from_seconds > 0); });
    for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
        GridInterval& interval = intervals.emplace_back();
        interval.from = moments[k];
        interval.until = moments[k + 1];
        interval.capacity.assign(rows.size(), 0);
        for (const NodesOverTime& group : cluster.nodes)
            if (up(group.from_seconds) <= interval.from && down(group.until_seconds) >= interval.until)
                for (std::size_t row = 0; row < rows.size(); ++row)
                    if (rows[row].gpu_type == group.gpu_type)
                        interval.capacity[row] += static_cast<double>(group.nodes) *
                                                  ((group.gpus_per_node - group.taken) / rows[row].size);
        const auto first_before = [&](double t) {
            return std::partition_point(order.begin(), waiting,
                                        [&](std::size_t j) { return jobs[j].deadline_seconds >= t; });
        };
        const auto full = first_before(interval.until);
        interval.full_jobs = static_cast<std::size_t>(full - order.begin());
        const auto add_part = [&](std::size_t j) {
            const double deadline = jobs[j].deadline_seconds;
            if (jobs[j].from_seconds <= interval.from && deadline > interval.from)
                interval.partial_jobs.push_back(
                    {j, std::min(1.0, (deadline - interval.from) / interval.seconds())});
        };
        std::for_each(full, first_before(interval.from), add_part);
        std::for_each(waiting, order.end(), add_part);
    }
    find_options(jobs);
}

inline void TimeGrid::find_rows(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs) {
    whole_node.assign(cluster.gpu_types.size(), 1);
    for (const NodesOverTime& group : cluster.nodes)
        whole_node[group.gpu_type] = std::max(whole_node[group.gpu_type], group.gpus_per_node);
    for (std::size_t type = 0; type < cluster.gpu_types.size(); ++type) {
        const int whole = whole_node[type];
        for (int size = 1;; size = std::min(2 * size, whole)) {
            const bool implied =
                std::all_of(cluster.nodes.begin(), cluster.nodes.end(), [&](const NodesOverTime& group) {
                    return group.gpu_type != type || (group.gpus_per_node - group.taken) % size == 0;
                });
            // Only jobs with sizes other than powers of two use rows of whole nodes.
            const bool used =
                std::has_single_bit(static_cast<unsigned>(size)) ||
                std::any_of(jobs.begin(), jobs.end(), [&](const DeadlineJob& job) {
                    return std::any_of(job.other_sizes.begin(), job.other_sizes.end(),
                                       [&](const SpeedWith& other) { return other.held.gpu_type == type; });
                });
            if (size == 1 || (used && !implied)) rows.push_back({type, size});
            if (size == whole) break;
        }
    }
}

inline void TimeGrid::find_options(std::span<const DeadlineJob> jobs) {
    options.resize(jobs.size());
    std::vector<DeadlineOption> sizes;
    for (const std::size_t j : order) {
        sizes.clear();
        for (std::size_t type = 0; type < jobs[j].speed.size(); ++type)
            for (std::size_t power = 0; power < jobs[j].speed[type].size(); ++power)
                sizes.push_back({{type, 1 << power}, jobs[j].speed[type][power]});
        for (const SpeedWith& other : jobs[j].other_sizes) sizes.push_back({other.held, other.speed});
        std::stable_sort(sizes.begin(), sizes.end(), [](const DeadlineOption& a, const DeadlineOption& b) {
            return std::pair(a.held.gpu_type, a.held.gpus) < std::pair(b.held.gpu_type, b.held.gpus);
        });
        for (const DeadlineOption& size : sizes) {
            const bool first = options[j].empty() || options[j].back().held.gpu_type != size.held.gpu_type;
            if (size.speed > (first ? 0 : options[j].back().speed)) options[j].push_back(size);
        }
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
