#ifndef GOODPUT_DEADLINES_DETAIL_TIME_GRID_HPP
#define GOODPUT_DEADLINES_DETAIL_TIME_GRID_HPP

// The time until the last deadline, cut into intervals in which neither the cluster nor the set of jobs
// changes.
//
// Rows: the GPUs of a type, and blocks of b GPUs of one node, of which a node of g GPUs has floor(g / b), and
// a job of n >= b GPUs takes n / b. With blocks in powers of two, whatever keeps to all rows can be placed,
// the largest blocks first. A row of blocks that the row of GPUs implies is left out.
//
// With slots, intervals begin and end at whole slots. Nodes that come or go within a slot are not there in
// it, and a job with a deadline within a slot makes use of the first part of it only.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/resource_use.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"

namespace goodput::detail {

/// A size that a job may have in the plan.
struct DeadlineOption {
    HeldGpus held{};
    double speed = 0;  ///< work a second
};

/// A job that can use the first part of an interval.
struct PartialJob {
    std::size_t job = 0;
    double part = 1;  ///< above 0, below 1
};

/// An interval of the grid.
struct GridInterval {
    double from = 0, until = 0;      ///< seconds from now
    std::vector<double> capacity{};  ///< by row
    std::size_t full_jobs = 0;       ///< the first jobs of TimeGrid::order, which can use all of it
    std::vector<PartialJob> partial_jobs{};

    [[nodiscard]] double seconds() const { return until - from; }
};

/// Blocks of one size of a GPU type.
struct BlockRow {
    std::size_t gpu_type = 0;
    int size = 1;
};

/// Intervals, rows and the options of all jobs.
struct TimeGrid {
    std::vector<GridInterval> intervals{};
    std::vector<BlockRow> rows{};
    std::vector<std::size_t> order{};                    ///< jobs with work left, the latest deadline first
    std::vector<std::vector<DeadlineOption>> options{};  ///< by job: faster ones take more GPUs of their type

    TimeGrid(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs, double slot_seconds);

    /// How much of a row GPUs take.
    [[nodiscard]] double blocks_of(const HeldGpus& held, std::size_t row) const {
        const BlockRow& its = rows[row];
        return its.gpu_type == held.gpu_type ? static_cast<double>(held.gpus / its.size) : 0;
    }
    /// What GPUs take of all rows.
    void append_uses(const HeldGpus& held, std::vector<ResourceUse>& uses) const {
        for (std::size_t row = 0; row < rows.size(); ++row)
            if (const double blocks = blocks_of(held, row); blocks > 0)
                uses.push_back({static_cast<std::uint32_t>(row), blocks});
    }

private:
    void find_rows(const ClusterOverTime& cluster);
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
        if (!(jobs[j].work_left > 0)) continue;
        order.push_back(j);
        horizon = std::max(horizon, up(jobs[j].deadline_seconds));
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return jobs[a].deadline_seconds > jobs[b].deadline_seconds;
    });

    std::vector<double> moments{0, horizon};
    const auto add = [&](double t) {
        if (t > 0 && t < horizon) moments.push_back(t);
    };
    for (const std::size_t j : order) {
        add(down(jobs[j].deadline_seconds));
        add(up(jobs[j].deadline_seconds));
    }
    for (const NodesOverTime& group : cluster.nodes) {
        add(up(group.from_seconds));
        add(down(group.until_seconds));
    }
    std::sort(moments.begin(), moments.end());
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());

    find_rows(cluster);
    for (std::size_t k = 0; k + 1 < moments.size(); ++k) {
        GridInterval& interval = intervals.emplace_back();
        interval.from = moments[k];
        interval.until = moments[k + 1];
        interval.capacity.assign(rows.size(), 0);
        for (const NodesOverTime& group : cluster.nodes)
            if (up(group.from_seconds) <= interval.from && down(group.until_seconds) >= interval.until)
                for (std::size_t row = 0; row < rows.size(); ++row)
                    if (rows[row].gpu_type == group.gpu_type)
                        interval.capacity[row] +=
                            static_cast<double>(group.nodes) * (group.gpus_per_node / rows[row].size);
        for (const std::size_t j : order) {
            if (jobs[j].deadline_seconds >= interval.until)
                ++interval.full_jobs;
            else if (jobs[j].deadline_seconds > interval.from)
                interval.partial_jobs.push_back(
                    {j, (jobs[j].deadline_seconds - interval.from) / interval.seconds()});
        }
    }
    find_options(jobs);
}

inline void TimeGrid::find_rows(const ClusterOverTime& cluster) {
    for (std::size_t type = 0; type < cluster.gpu_types.size(); ++type) {
        int largest = 1;
        for (const NodesOverTime& group : cluster.nodes)
            if (group.gpu_type == type) largest = std::max(largest, group.gpus_per_node);
        for (int size = 1; size <= largest; size *= 2) {
            const bool implied = std::all_of(
                cluster.nodes.begin(), cluster.nodes.end(),
                [&](const auto& group) { return group.gpu_type != type || group.gpus_per_node % size == 0; });
            if (size == 1 || !implied) rows.push_back({type, size});
            if (size > largest / 2) break;
        }
    }
}

inline void TimeGrid::find_options(std::span<const DeadlineJob> jobs) {
    options.resize(jobs.size());
    for (const std::size_t j : order)
        for (std::size_t type = 0; type < jobs[j].speed.size(); ++type) {
            double fastest = 0;
            for (std::size_t power = 0; power < jobs[j].speed[type].size(); ++power) {
                const double speed = jobs[j].speed[type][power];
                if (!(speed > fastest)) continue;
                fastest = speed;
                options[j].push_back({{type, 1 << power}, speed});
            }
        }
}

}  // namespace goodput::detail

#endif
