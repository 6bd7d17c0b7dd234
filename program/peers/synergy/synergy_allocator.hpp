#ifndef GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_ALLOCATOR_HPP
#define GOODPUT_PROGRAM_PEERS_SYNERGY_SYNERGY_ALLOCATOR_HPP

// The allocators of Synergy (OSDI'22), as in its public simulator. Every round begins with an empty
// cluster. Jobs are served in an order (synergy_order.hpp), one after the other, with GPUs, CPU cores and
// memory (synergy_servers.hpp).
//
//   proportional  Every job asks for its GPUs' part of a server. A job that does not fit waits.
//   greedy        Every job asks for the amounts with which it is fastest. A job that does not fit waits, and
//                 later jobs may run.
//   tune          The jobs for which the GPUs suffice, in their order, all run. A job asks for the amounts
//                 with which it is fastest. If they fit nowhere, it asks for its proportional share. If that
//                 fits nowhere, earlier jobs on the servers that have the GPUs are cut to their shares.
//   opt           The jobs for which the GPUs suffice share the cores and the memory of all servers, as if
//                 these were one. The sum of the jobs' factors is largest, and no job is slower than with its
//                 proportional share. This is a bound, not a schedule: the parts need not fit on any server.
//
// Published, and kept: a demand that exceeds a server is cut. Its factor then lies on a line between those
// of the demand and of the proportional share, by its cores alone. A cut job counts as fast as with its
// proportional share, even when the next round's order asks for the time left. For any other job, the order
// uses the factor of its full demand, whatever it gets. The following was found from the results, which it
// reproduces to the round. A cut job returns to its full demand in the next round, after that round has
// been ordered. With LAS, greedy considers only jobs for which the GPUs suffice, and tune serves these by
// falling number of GPUs. tune looks for jobs to cut server by server.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "peers/synergy/synergy_order.hpp"
#include "peers/synergy/synergy_servers.hpp"

namespace goodput::peers {

enum class SynergyMode { proportional, greedy, tune, opt };

/// An allocator as the Planner of a SynergyWorld. Tells the world how fast each job counts as.
class SynergyAllocator {
public:
    /// The caller keeps `world` alive.
    SynergyAllocator(SynergyWorld& world, SynergyOrder order, SynergyMode mode,
                     SynergyPlacement placement = SynergyPlacement::fewest_free)
        : world_(&world), order_(order), mode_(mode), placement_(placement), was_cut_(world.jobs().size()) {}

    /// If tune finds no room for a job, the published program ends. Here the job waits and is one of the
    /// faults.
    const Plan& plan(const Snapshot& snapshot) {
        plan_ = {};
        plan_.decisions.resize(snapshot.jobs.size());
        if (snapshot.cluster.nodes.empty()) return plan_;
        SynergyServers servers(snapshot.cluster, placement_);
        look(snapshot);
        std::vector<std::size_t> served = in_order(snapshot);
        const bool only_enough_gpus = mode_ == SynergyMode::tune || mode_ == SynergyMode::opt ||
                                      (mode_ == SynergyMode::greedy && order_ == SynergyOrder::las);
        if (only_enough_gpus) keep_those_with_gpus(served, snapshot.cluster);
        if (mode_ == SynergyMode::tune && order_ == SynergyOrder::las)
            std::stable_sort(served.begin(), served.end(),
                             [&](std::size_t a, std::size_t b) { return asks_[a].gpus > asks_[b].gpus; });
        if (mode_ == SynergyMode::opt) share_out(served, snapshot.cluster);
        for (std::size_t at = 0; at < served.size(); ++at) serve(served, at, servers);
        std::fill(was_cut_.begin(), was_cut_.end(), false);
        for (std::size_t j = 0; j < asks_.size(); ++j) decide(j, snapshot);
        find_actions(snapshot, plan_);
        return plan_;
    }

private:
    /// What a job asks for in this round, and gets.
    struct Ask {
        std::size_t job = 0;  ///< by index in the world
        int gpus = 0;
        HostShare share{};  ///< cores and memory per GPU
        double factor = 1;  ///< factor that it counts with
        bool cut = false;
        Placement parts{};  ///< empty if it gets nothing
    };

    /// Returns the share with which the job is fastest, on one server if a server has enough GPUs.
    [[nodiscard]] Ask full_demand(std::size_t index, const Node& server) const {
        const SynergyJob& job = world_->job(index);
        const HostShare proportional = world_->share();
        Ask ask{.job = index, .gpus = job.gpus, .share = proportional};
        if (job.gpus > server.gpus) return ask;
        ask.share = job.ideal;
        ask.factor = job.ideal_factor;
        if (job.ideal.cores_per_gpu * job.gpus > server.cores ||
            job.ideal.memory_gib_per_gpu * job.gpus > server.memory_gib) {
            ask.share = {std::min(job.ideal.cores_per_gpu, server.cores / job.gpus),
                         std::min(job.ideal.memory_gib_per_gpu, server.memory_gib / job.gpus)};
            const double cores = job.ideal.cores_per_gpu - proportional.cores_per_gpu;
            if (cores != 0)
                ask.factor = 1 + (job.ideal_factor - 1) / cores *
                                     (ask.share.cores_per_gpu - proportional.cores_per_gpu);
        }
        return ask;
    }

    void look(const Snapshot& snapshot) {
        asks_.clear();
        for (const Job& job : snapshot.jobs)
            asks_.push_back(full_demand(world_->index_of(job.name), snapshot.cluster.nodes.front()));
    }

    /// Indices of the snapshot's jobs.
    [[nodiscard]] std::vector<std::size_t> in_order(const Snapshot& snapshot) const {
        const SynergyAmounts cluster = amounts_of(snapshot.cluster);
        std::vector<double> ranks;
        for (std::size_t j = 0; j < asks_.size(); ++j) {
            const Ask& ask = asks_[j];
            const SynergyJob& job = world_->job(ask.job);
            const bool slow = mode_ == SynergyMode::proportional || was_cut_[ask.job];
            const SynergyStanding standing{.waited_seconds = snapshot.time_seconds - job.submitted_seconds,
                                           .left_seconds = world_->iterations_left(ask.job) *
                                                           job.iteration_seconds / (slow ? 1 : ask.factor),
                                           .whole_seconds = job.iterations * job.iteration_seconds,
                                           .attained_gpu_seconds = snapshot.jobs[j].attained_gpu_seconds,
                                           .demand = amounts(ask.share) * ask.gpus};
            ranks.push_back(synergy_rank(order_, standing, cluster));
        }
        return by_rank(ranks, [&](std::size_t j) { return snapshot.jobs[j].submitted_seconds; });
    }

    void keep_those_with_gpus(std::vector<std::size_t>& served, const Cluster& cluster) const {
        int left = 0;
        for (const Node& node : cluster.nodes) left += node.gpus;
        std::erase_if(served, [&](std::size_t j) {
            if (asks_[j].gpus > left) return true;
            left -= asks_[j].gpus;
            return false;
        });
    }

    static SynergyAmounts amounts(const HostShare& share) {
        return {1, share.cores_per_gpu, share.memory_gib_per_gpu};
    }
    [[nodiscard]] SynergyAmounts beside_each(const Ask& ask) const {
        return mode_ == SynergyMode::opt ? SynergyAmounts{1, 0, 0} : amounts(ask.share);
    }
    /// Whether the job asks for more of anything than its proportional share.
    [[nodiscard]] bool above_share(const Ask& ask) const {
        return ask.share.cores_per_gpu > world_->share().cores_per_gpu * (1 + 1e-9) ||
               ask.share.memory_gib_per_gpu > world_->share().memory_gib_per_gpu * (1 + 1e-9);
    }
    void cut(Ask& ask) const {
        ask.share = world_->share();
        ask.factor = 1;
        ask.cut = true;
    }

    /// Serves the job at this place of the order.
    void serve(const std::vector<std::size_t>& served, std::size_t at, SynergyServers& servers) {
        Ask& ask = asks_[served[at]];
        if (mode_ == SynergyMode::proportional) {
            ask.share = world_->share();
            ask.factor = 1;
        }
        ask.parts = servers.room_for(ask.gpus, beside_each(ask));
        if (ask.parts.empty() && mode_ == SynergyMode::tune) {
            if (above_share(ask)) {
                cut(ask);
                ask.parts = servers.room_for(ask.gpus, beside_each(ask));
            }
            if (ask.parts.empty()) {
                cut_others(ask, std::span(served).first(at), servers);
                ask.parts = servers.room_for(ask.gpus, beside_each(ask));
            }
            if (ask.parts.empty()) {
                ask.cut = false;
                plan_.faults.push_back({served[at], {}, "tune finds no room for it, so it waits"});
            }
        }
        servers.take(ask.parts, beside_each(ask));
    }

    /// Makes room for a job on the servers that have GPUs for it.
    void cut_others(const Ask& ask, std::span<const std::size_t> before, SynergyServers& servers) {
        for (const NodeShare& wanted : servers.gpus_for(ask.gpus)) {
            std::vector<std::size_t> others;
            for (const std::size_t j : before)
                if (gpus_on(asks_[j], wanted.node) > 0 && above_share(asks_[j])) others.push_back(j);
            std::stable_sort(others.begin(), others.end(),
                             [&](std::size_t a, std::size_t b) { return cut_before(asks_[a], asks_[b]); });
            for (const std::size_t j : others) {
                if (servers.free()[wanted.node].covers(beside_each(ask) * wanted.gpus)) break;
                servers.give_back(asks_[j].parts, beside_each(asks_[j]));
                cut(asks_[j]);
                servers.take(asks_[j].parts, beside_each(asks_[j]));
            }
        }
    }
    static int gpus_on(const Ask& ask, std::size_t server) {
        for (const NodeShare& part : ask.parts)
            if (part.node == server) return part.gpus;
        return 0;
    }
    /// Prefers fewer servers, then more cores and memory per GPU.
    static bool cut_before(const Ask& a, const Ask& b) {
        return a.parts.size() != b.parts.size() ? a.parts.size() < b.parts.size() : a.share > b.share;
    }

    /// Finds the largest sum of factors with the cores and memory of all servers together.
    void share_out(std::span<const std::size_t> served, const Cluster& cluster) {
        AllotmentProblem problem;
        problem.capacity = {0, 0};
        for (const Node& node : cluster.nodes) {
            problem.capacity[0] += node.cores;
            problem.capacity[1] += node.memory_gib;
        }
        for (double& capacity : problem.capacity) capacity *= 1 + 1e-9;  // sums of shares are rounded
        std::vector<std::vector<HostShare>> shares;
        for (const std::size_t j : served) {
            const Ask& ask = asks_[j];
            problem.add_job(true);
            for (const HostShare& share : shares.emplace_back(shares_of(world_->needs(ask.job))))
                problem.add_option(
                    world_->needs(ask.job).factor(share),
                    {{0, share.cores_per_gpu * ask.gpus}, {1, share.memory_gib_per_gpu * ask.gpus}});
        }
        const AllotResult& result = allotter_(problem, {.gap = 1e-9});
        for (std::size_t i = 0; i < served.size(); ++i) {
            Ask& ask = asks_[served[i]];
            ask.share = world_->share();
            if (found_allotment(result.status)) ask.share = shares[i][result.choice[i]];
            ask.factor = world_->needs(ask.job).factor(ask.share);
        }
    }
    /// Returns the points of the job's profile with which it is no slower than with its proportional share.
    /// That share is one of them, so one always fits. Leaves out points that take more than another and are
    /// no faster.
    [[nodiscard]] std::vector<HostShare> shares_of(const HostNeeds& needs) const {
        std::vector<HostShare> all{world_->share()};
        for (const HostSpeed& point : needs.speed)
            if (point.factor >= needs.factor(all.front()))
                all.push_back({point.cores_per_gpu, point.memory_gib_per_gpu});
        std::sort(all.begin(), all.end());
        all.erase(std::unique(all.begin(), all.end()), all.end());
        std::vector<HostShare> best;
        for (const HostShare& share : all) {
            const bool dominated = std::any_of(all.begin(), all.end(), [&](const HostShare& other) {
                return other != share && other.cores_per_gpu <= share.cores_per_gpu &&
                       other.memory_gib_per_gpu <= share.memory_gib_per_gpu &&
                       needs.factor(other) >= needs.factor(share);
            });
            if (!dominated) best.push_back(share);
        }
        return best;
    }

    void decide(std::size_t j, const Snapshot& snapshot) {
        const Ask& ask = asks_[j];
        Decision& decision = plan_.decisions[j];
        if (ask.parts.empty()) {
            decision.verdict = {Outcome::waits, "the jobs before it have what it asks for"};
            return;
        }
        decision.placement = ask.parts;
        std::sort(decision.placement.begin(), decision.placement.end());
        decision.option.configuration =
            Configuration(pool_share_of(decision.placement, snapshot.cluster), ask.share);
        decision.option.plan = {1, 0};
        decision.option.goodput = ask.factor / world_->job(ask.job).iteration_seconds;
        decision.option.knowledge = Knowledge::measured;
        world_->credit(ask.job, ask.factor);
        was_cut_[ask.job] = ask.cut;
    }

    SynergyWorld* world_;
    SynergyOrder order_;
    SynergyMode mode_;
    SynergyPlacement placement_;
    std::vector<bool> was_cut_;  // in the last round, by job of the world
    std::vector<Ask> asks_;      // by job of the snapshot
    Allotter<> allotter_;
    Plan plan_;
};

}  // namespace goodput::peers

#endif
