#ifndef GOODPUT_HOSTS_HOST_CAPACITY_HPP
#define GOODPUT_HOSTS_HOST_CAPACITY_HPP

// A limit on the CPU cores and the host memory that all jobs take together.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/hosts/detail/hosts_left.hpp"
#include "goodput/schedule/limits.hpp"

namespace goodput::inline v0_1 {

/// Limits CPU cores and host memory in each pool whose nodes all count them, as sums over its nodes. A
/// configuration that does not say what goes with its GPUs takes the share of the nodes that the job keeps,
/// or of the pool's node with the smallest share (a share is the part of a node's cores and memory that
/// belongs to a GPU). The sum does not guarantee that each node has enough, unless every job takes that
/// share.
///
/// Nodes of a pool may have different amounts left for arriving jobs. An option that needs more per node
/// than some nodes have must take its GPUs, cores and memory from the other nodes. Additional rows of the
/// allotment problem express this, at most 7 for the cores and 7 for the memory of a pool. Each row covers
/// the nodes on which pinned jobs (jobs that keep what they hold) leave more than a certain amount.
class HostCapacity {
public:
    /// Adds a row for the cores and one for the memory of each pool whose nodes all count them, then the
    /// rows of the nodes that have more left.
    void rows(const Round& round, LimitRows& rows) {
        count_ = 0;
        left_.find(round.cluster, round.jobs);
        of_pool_.assign(round.pools.size(), {});
        for (std::size_t pool = 0; pool < round.pools.size(); ++pool)
            for (std::size_t r = 0; r < detail::host_resources; ++r)
                add_rows(round, round.pools[pool], r, of_pool_[pool], rows);
    }
    /// Adds the cores and memory that go with the option's GPUs. If the option is what the job holds, only
    /// its open (not drained) nodes are counted.
    void uses(const Round& round, const Job& job, const Option& option, LimitUses& uses) const {
        const HostShare said = option.configuration.host();
        const auto pool_of = [&](const auto& identified) -> const OfPool& {
            return of_pool_[find_pool(round.pools, identified)];
        };
        const auto take = [&](const OfPool& limits, int gpus, auto usual) {
            for (std::size_t r = 0; r < detail::host_resources; ++r)
                if (limits.row[r])
                    uses.add(*limits.row[r], gpus * (said.empty() ? usual(r) : detail::a_gpu_of(said, r)));
        };
        const bool holds = !job.placement.empty() && option.configuration.same_gpus(round.held_by(job));
        const bool stays = holds && may_stay(round, job);
        if (holds)
            for (const NodeShare& held : job.placement)
                if (const Node& node = round.cluster.nodes[held.node]; !node.drained) {
                    const OfPool& limits = pool_of(node);
                    take(limits, held.gpus, [&](std::size_t r) {
                        return stays ? detail::host_capacity(node, r) / node.gpus : limits.usual[r];
                    });
                }
        if (stays) return;
        for (const PoolShare& part : option.configuration.parts()) {
            const OfPool& limits = pool_of(part);
            if (!holds) take(limits, part.shape.gpus, [&](std::size_t r) { return limits.usual[r]; });
            for (std::size_t r = 0; r < detail::host_resources; ++r)
                take_of_nodes_with_more(limits.more[r], part, detail::a_gpu_of(said, r), uses);
        }
    }
    /// Warns about jobs that need cores or memory if no node declares any.
    void warn(const Round& round, std::vector<std::string>& warnings) const {
        for (std::size_t r = 0; r < detail::host_resources; ++r) {
            if (std::any_of(round.cluster.nodes.begin(), round.cluster.nodes.end(),
                            [&](const Node& node) { return detail::host_capacity(node, r) > 0; }))
                continue;
            NameList in_vain;
            for (const Job& job : round.jobs)
                if (job.host && detail::a_gpu_of(job.host->most, r) > 0) in_vain.add(job.name);
            if (!in_vain.empty())
                warnings.push_back(in_vain.text("job") + ": needs " + (r == 0 ? "CPU cores" : "host memory") +
                                   ", but no node says how much it has, so that counts for nothing");
        }
    }

private:
    static constexpr std::size_t most_rows = 7;

    /// The nodes that have more than `than` left.
    struct WithMore {
        double than = 0;
        std::size_t gpus_row = 0;
        std::optional<std::size_t> row{};  ///< row of the amount that these nodes have left, if they all
                                           ///< count it
    };
    struct OfPool {
        std::optional<std::size_t> row[detail::host_resources]{};
        double usual[detail::host_resources] = {0, 0};  ///< amount per GPU for a configuration that does
                                                        ///< not say what it takes
        std::vector<WithMore> more[detail::host_resources]{};
    };

    /// Returns whether the job may stay where it is without room elsewhere: it keeps its nodes, or may stay
    /// on a drained one.
    static bool may_stay(const Round& round, const Job& job) {
        return job.keeps_what_it_holds() || on_drained(job.placement, round.cluster);
    }

    void add_rows(const Round& round, const Pool& pool, std::size_t r, OfPool& limits, LimitRows& rows) {
        if (pool.nodes.empty()) return;
        const char *what = r == 0 ? "the CPU cores of " : "the memory of ", *unit = r == 0 ? "cores" : "GiB";
        const std::string where = describe(pool, round.cluster);
        double sum = 0, least = std::numeric_limits<double>::infinity(), most_of_one = 0;
        nodes_.clear();
        for (const std::size_t index : pool.nodes) {
            const Node& node = round.cluster.nodes[index];
            sum += detail::host_capacity(node, r);
            least = std::min(least, detail::host_capacity(node, r));
            most_of_one = std::max(most_of_one, detail::host_capacity(node, r));
            if (left_.gpus(index) > 0) nodes_.emplace_back(left_.left(index)[r], left_.gpus(index));
        }
        if (least > 0) {
            limits.row[r] = count_++;
            limits.usual[r] = least / pool.gpus_per_node;
            rows.add(what + where, sum, unit);
        }
        const double needed = most_needed(round, pool, r);
        if (nodes_.empty() || needed <= 0) return;
        std::sort(nodes_.begin(), nodes_.end());
        // For each amount left: the first node that has more than all nodes before it.
        steps_.clear();
        for (std::size_t n = 1; n < nodes_.size(); ++n)
            if (nodes_[n].first > nodes_[n - 1].first * (1 + 1e-9)) steps_.push_back(n);
        // Add a last step for amounts that no node has left, although some node has them in total.
        if (nodes_.back().first < most_of_one * (1 - 1e-9)) steps_.push_back(nodes_.size());
        std::erase_if(steps_,
                      [&](std::size_t first) { return needed <= nodes_[first - 1].first * (1 + 1e-9); });
        const std::size_t size = steps_.size(), most = std::min(size, most_rows);
        for (std::size_t i = 0; i < most; ++i) {
            const std::size_t first = steps_[size - 1 - i * size / most];
            WithMore more{nodes_[first - 1].first, count_++, {}};
            double gpus = 0, amount = 0;
            for (std::size_t n = first; n < nodes_.size(); ++n) {
                gpus += nodes_[n].second;
                amount += nodes_[n].first;
            }
            const bool counted = gpus > 0 && amount < std::numeric_limits<double>::infinity();
            const std::string those =
                where + " that have more than " + rounded_text_of(more.than) + " " + unit + " left";
            rows.add("the GPUs of " + those, gpus, "GPUs");
            if (counted) {
                more.row = count_++;
                rows.add(what + those, amount, unit);
            }
            limits.more[r].push_back(more);
        }
    }
    /// Returns how much of a resource a job with several variants could take at most of one node of a pool.
    static double most_needed(const Round& round, const Pool& pool, std::size_t r) {
        if (round.jobs.empty())
            return std::numeric_limits<double>::infinity();  // it is unknown which jobs
                                                             // will ask
        double most = 0;
        for (const Job& job : round.jobs)
            if (job.host && !job.keeps_what_it_holds() && detail::counts(job.host->most, r))
                most = std::max(
                    most, std::min(job.max_gpus, pool.gpus_per_node) * detail::a_gpu_of(job.host->most, r));
        return most;
    }
    static void take_of_nodes_with_more(const std::vector<WithMore>& classes, const PoolShare& part,
                                        double a_gpu, LimitUses& uses) {
        for (const WithMore& more : classes)
            detail::NodeLoads(part).for_each([&](int nodes, int gpus) {
                if (gpus * a_gpu <= more.than * (1 + 1e-9)) return;
                uses.add(more.gpus_row, 1.0 * nodes * (part.shape.nodes > 1 ? part.gpus_per_node : gpus));
                if (more.row) uses.add(*more.row, nodes * gpus * a_gpu);
            });
    }

    detail::HostsLeft left_;
    std::vector<OfPool> of_pool_;
    std::size_t count_ = 0;                      // number of rows
    std::vector<std::pair<double, int>> nodes_;  // nodes of a pool: amount left of one resource, GPUs left
    std::vector<std::size_t> steps_;
};

static_assert(Limit<HostCapacity>);

}  // namespace goodput::inline v0_1

#endif
