#ifndef GOODPUT_PROGRAM_WORLDS_SYNERGY_GOODPUT_HPP
#define GOODPUT_PROGRAM_WORLDS_SYNERGY_GOODPUT_HPP

// `--host goodput` in Synergy's world: jobs are served in the published orders, and prices divide the cores
// and memory.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "peers/synergy/synergy_order.hpp"

namespace cli {

/// One of Synergy's orders as a policy. If the order knows the time left, cores and memory follow Smith's
/// rule.
class InSynergyOrder {
public:
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< false: values only order the jobs

    /// The caller keeps `world` alive.
    InSynergyOrder(const goodput::SynergyWorld& world, goodput::peers::SynergyOrder order)
        : world_(&world), order_(order) {}

    /// Sets values that give the queue the GPUs that it takes.
    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
        using goodput::OptionRow;
        using goodput::peers::SynergyOrder;
        const auto cluster = goodput::peers::amounts_of(round.cluster);
        std::vector<double> ranks, left;
        for (const OptionRow& row : rows) {
            const auto standing = standing_of(round, row);
            ranks.push_back(goodput::peers::synergy_rank(order_, standing, cluster));
            left.push_back(std::max(standing.left_seconds, 1.0));
        }
        const std::vector<std::size_t> order =
            goodput::peers::by_rank(ranks, [&](std::size_t r) { return rows[r].job.submitted_seconds; });
        const bool knows =
            order_ == SynergyOrder::srtf || order_ == SynergyOrder::ftf || order_ == SynergyOrder::tetris;
        const auto weight = [&](const OptionRow& row) {
            return knows ? 1 / left[static_cast<std::size_t>(&row - rows.data())] : 1;
        };
        goodput::detail::serve_in_order(round, rows, order, true, goodput::detail::LikesWhatItHolds(),
                                        weight);
    }

private:
    [[nodiscard]] goodput::peers::SynergyStanding standing_of(const goodput::Round& round,
                                                              const goodput::OptionRow& row) const {
        const std::size_t index = world_->index_of(row.job.name);
        const goodput::SynergyJob& job = world_->job(index);
        const goodput::Node& server = round.cluster.nodes.front();
        double factor = 1;
        for (const goodput::Option& option : row.options)
            factor = std::max(factor, option.goodput * job.iteration_seconds);
        // The fastest share, on one server if a server has enough GPUs.
        const double gpus = job.gpus;
        goodput::HostShare share = world_->share();
        if (job.gpus <= server.gpus)
            share = {std::min(job.ideal.cores_per_gpu, server.cores / gpus),
                     std::min(job.ideal.memory_gib_per_gpu, server.memory_gib / gpus)};
        return {.waited_seconds = round.time_seconds - job.submitted_seconds,
                .left_seconds = world_->iterations_left(index) * job.iteration_seconds / factor,
                .whole_seconds = job.iterations * job.iteration_seconds,
                .attained_gpu_seconds = row.job.attained_gpu_seconds,
                .demand = {gpus, gpus * share.cores_per_gpu, gpus * share.memory_gib_per_gpu}};
    }

    const goodput::SynergyWorld* world_;
    goodput::peers::SynergyOrder order_;
};

/// A Scheduler of rigid jobs that divides cores and memory: by prices in each pool, and exactly on each
/// node.
template <goodput::Policy P>
goodput::ChosenScheduler synergy_scheduler(const goodput::SynergyWorld& world, P policy) {
    // The differences that matter are small compared with the worth of being served.
    using Parts = goodput::SchedulerParts<P, goodput::LeastMovesPlacer, goodput::Allotter<>,
                                          decltype(world.predictor()), goodput::Limits<goodput::HostCapacity>,
                                          goodput::HostShares<>, goodput::Factors<goodput::HostFactor>,
                                          goodput::DividedHosts>;
    return goodput::ChosenScheduler(
        Parts{.policy = std::move(policy), .options = {.gap = 1e-6}, .predictor = world.predictor()});
}

}  // namespace cli

#endif
