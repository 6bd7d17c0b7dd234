#ifndef GOODPUT_AVAILABILITY_LOST_TIME_HPP
#define GOODPUT_AVAILABILITY_LOST_TIME_HPP

// Reduces an option's goodput to account for interruptions: multiplies it by the fraction of the time that
// is useful if checkpoints are taken in the way that loses the least time. Computes nothing if no node is
// ever interrupted.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/availability.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// The cost of interruptions for each option of a round. Keeps its buffers between rounds.
class LostTime {
public:
    /// Finds how often nodes of each pool are lost. This is the mean over the pool's open nodes or, if none
    /// is open, over its drained nodes. Returns whether any node is ever interrupted. The pools of `round`
    /// must exist until the last call of operator() for this round.
    bool begin_round(const Round& round) {
        best_.clear();
        pools_ = round.pools;
        const std::vector<Node>& nodes = round.cluster.nodes;
        any_ = std::any_of(nodes.begin(), nodes.end(),
                           [](const Node& node) { return node.interruptions_per_hour > 0; });
        of_pool_.clear();
        for (std::size_t pool = 0; any_ && pool < pools_.size(); ++pool)
            of_pool_.push_back(mean_of(round.cluster, pools_[pool]));
        return any_;
    }

    /// Finds how the job would best save its state with this option. Multiplies the option's goodput, which
    /// does not include interruptions, by the useful fraction of the time.
    void operator()(const Job& job, Option& option) {
        option.checkpointing = {};
        if (!any_ || option.configuration.empty()) return;
        Interruptions all;
        double memory = option.configuration.host().memory_gib_per_gpu;
        const bool says_memory = option.configuration.host().counts_memory();
        if (!says_memory) memory = std::numeric_limits<double>::infinity();
        for (const PoolShare& part : option.configuration.parts()) {
            const std::size_t pool = find_pool(pools_, part);
            if (pool == of_pool_.size()) continue;
            const OfPool& pool_loss = of_pool_[pool];
            all.per_hour += interruptions_of({.per_hour = pool_loss.per_hour}, part.shape.nodes).per_hour;
            if (!says_memory && pool_loss.memory_gib_per_gpu > 0)
                memory = std::min(memory, pool_loss.memory_gib_per_gpu);
        }
        if (all.per_hour == 0 && !job.checkpoint_seconds) return;
        option.checkpointing = best_of(job, all, memory, seconds_left(job, option));
        option.goodput *= option.checkpointing.availability;
    }

    /// Returns a note such as "11% of the time is expected to be lost, best checkpoint every 14 min,
    /// asynchronous".
    [[nodiscard]] std::string note(const GivenOption& given) const {
        const Checkpointing& with = given.given.checkpointing;
        if (!(with.interval_seconds > 0)) return {};
        const std::string mechanism = checkpoint_of(given.job, given.given).name;
        const double percent = std::round((1 - with.availability) * 1000) / 10;
        const std::string part = (percent > 0 ? rounded_text_of(percent) : std::string("less than 0.1")) +
                                 "% of the time is expected to be lost, ";
        if (std::isinf(with.interval_seconds)) return part + "best without checkpoints, " + mechanism;
        return part + (given.job.checkpoint_seconds ? "checkpoints " : "best checkpoint ") +
               // A checkpoint without cost may be taken at any frequency.
               (with.interval_seconds < 1 ? "at every step"
                                          : "every " + text_of_seconds(with.interval_seconds)) +
               ", " + mechanism;
    }

private:
    /// Returns a text such as "14 min" or "3 h".
    static std::string text_of_seconds(double seconds) {
        const auto rounded = [](double number) {
            return rounded_text_of(number < 10 ? std::round(number * 10) / 10 : std::round(number));
        };
        if (seconds < 60) return rounded(seconds) + " s";
        if (seconds < 2 * 3600) return rounded(seconds / 60) + " min";
        return seconds < 2 * 86400 ? rounded(seconds / 3600) + " h" : rounded(seconds / 86400) + " days";
    }

    struct OfPool {
        double per_hour = 0;            ///< interruptions per hour of a node
        double memory_gib_per_gpu = 0;  ///< smallest among the nodes; 0 if not counted
    };
    /// Longest interval between two checkpoints: 30 days. It is also the time left that is assumed for a
    /// job of unknown length.
    static constexpr double longest_interval = 30 * 86400.0;
    // Lower limit of the useful fraction, so that a job that would never progress still has options.
    static constexpr double least_availability = 1e-9;

    static OfPool mean_of(const Cluster& cluster, const Pool& pool) {
        OfPool mean;
        std::vector<std::size_t> nodes = pool.nodes;
        for (std::size_t node = 0; pool.nodes.empty() && node < cluster.nodes.size(); ++node)
            if (is_node_of(cluster.nodes[node], pool)) nodes.push_back(node);
        if (nodes.empty()) return mean;
        mean.memory_gib_per_gpu = std::numeric_limits<double>::infinity();
        for (const std::size_t index : nodes) {
            const Node& node = cluster.nodes[index];
            mean.per_hour += node.interruptions_per_hour / static_cast<double>(nodes.size());
            mean.memory_gib_per_gpu = std::min(mean.memory_gib_per_gpu, node.memory_gib / node.gpus);
        }
        return mean;
    }

    static double seconds_left(const Job& job, const Option& option) {
        const std::optional<double>& left = job.examples_left();
        if (!left || option.knowledge == Knowledge::unknown || !(option.goodput > 0)) return longest_interval;
        return std::clamp(*left / option.goodput, 1.0, longest_interval);
    }

    /// Finds the best of the mechanisms that fit into the memory per GPU, or uses the assumed mechanism if
    /// none is given or fits.
    Checkpointing best_of(const Job& job, const Interruptions& all, double memory, double left) {
        const double needed = job.host ? job.host->least.memory_gib_per_gpu : 0;
        Checkpointing best{0, 0, -1};
        const auto consider = [&](std::size_t index, const CheckpointMechanism& mechanism) {
            const bool chosen = mechanism.saves && !job.checkpoint_seconds;
            // If a mechanism saves nothing, no checkpoint divides the work: take the longest interval.
            const double interval = !mechanism.saves ? longest_interval
                                    : chosen         ? best_interval(all, mechanism)
                                                     : *job.checkpoint_seconds;
            Checkpointing found{0, interval, 0};
            if (left >= longest_interval)
                found.availability = useful_share(all, mechanism, interval);
            else if (chosen)
                found = best_checkpointing_until_end(all, mechanism, interval, left);
            else
                found.availability = useful_share_until_end(all, mechanism, interval, left);
            constexpr double none = std::numeric_limits<double>::infinity();
            if (found.availability > best.availability)
                best = {index, mechanism.saves ? found.interval_seconds : none, found.availability};
        };
        for (std::size_t m = 0; m < job.checkpoints.size(); ++m)
            if (const double memory_gib = job.checkpoints[m].memory_gib_per_gpu;
                memory_gib == 0 || needed + memory_gib <= memory)
                consider(m, job.checkpoints[m]);
        if (best.availability < 0) consider(job.checkpoints.size(), assumed_checkpoint(job));
        best.availability = std::max(best.availability, least_availability);
        return best;
    }

    double best_interval(const Interruptions& all, const CheckpointMechanism& mechanism) {
        const auto [known, fresh] = best_.try_emplace({all.per_hour, mechanism}, 0);
        if (fresh) known->second = best_checkpointing(all, mechanism, longest_interval).interval_seconds;
        return known->second;
    }

    bool any_ = false;
    std::span<const Pool> pools_;
    std::vector<OfPool> of_pool_;
    // Intervals of this round, by interruptions per hour and mechanism. Kept because many jobs are alike.
    std::map<std::pair<double, CheckpointMechanism>, double> best_;
};

static_assert(NotingFactor<LostTime>);

}  // namespace goodput::inline v0_1

#endif
