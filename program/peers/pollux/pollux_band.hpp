#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_BAND_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_BAND_HPP

// Pollux's autoscaling of the cluster (Qiao et al., OSDI'21, section 4.3, as AdaptDL has it). The utility of
// a cluster is
//
//     U = sum_j speedup_j / replicas_j * share_j      share_j: the part of the GPUs that job j holds
//
// The cluster keeps its size while U is between 0.35 and 0.65. Otherwise the new size is one from 1 to
// twice the nodes. Among those whose best allotment has a utility of at least 0.35, it is the one closest
// to 0.5; of two equal ones, the larger. share_j is replicas_j divided by all GPUs, so U is the sum of the
// speedups divided by the GPUs.
//
// Differences: sizes are tried one after the other with the best allotment under Pollux's policy, while the
// published search takes them from its Pareto front. The published code knows only one type of nodes. Here,
// with several offers, nodes are rented in proportion to the offers' limits, and a speedup is relative to
// one GPU of the same type.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput::peers {

/// A Renter that keeps the utility within a band.
template <OptionPredictor Predictor = GoodputPredictor>
class PolluxBand {
public:
    explicit PolluxBand(Predictor predictor = {}) : scheduler_(Parts{.predictor = std::move(predictor)}) {}

    std::span<const int> rent(const Snapshot& snapshot, std::span<const RentOffer> offers,
                              std::span<const int> rented) {
        int now = 0, most = 0;
        for (const int nodes : rented) now += nodes;
        for (const RentOffer& offer : offers) most += offer.most_nodes;
        nodes_.assign(rented.begin(), rented.end());
        if (snapshot.jobs.empty()) {
            // The smallest size is one node. Without a job there is nothing to measure, and nothing is
            // rented.
            std::fill(nodes_.begin(), nodes_.end(), 0);
            return nodes_;
        }
        // While nodes are starting, or could not be returned, the size is not the one decided.
        if (now > 0 && in_band(utility_now(snapshot, offers, rented))) return nodes_;
        int best = 0;
        double best_distance = 0;
        for (int size = 1; size <= std::min(most, std::max(2 * now, 2)); ++size) {
            const double utility = utility_at(snapshot, offers, size);
            const double distance = std::abs(utility - target);
            if (utility >= low && (best == 0 || distance <= best_distance)) {
                best = size;
                best_distance = distance;
            }
        }
        if (best == 0) best = 1;
        nodes_ = spread(offers, best);
        return nodes_;
    }

private:
    static constexpr double low = 0.35, high = 0.65, target = 0.5;
    static bool in_band(double utility) { return utility >= low && utility <= high; }

    /// Returns that many nodes, in proportion to the limits.
    static std::vector<int> spread(std::span<const RentOffer> offers, int size) {
        std::vector<int> nodes(offers.size(), 0);
        for (int n = 0; n < size; ++n) {
            std::size_t next = offers.size();
            for (std::size_t o = 0; o < offers.size(); ++o) {
                if (nodes[o] >= offers[o].most_nodes) continue;
                if (next == offers.size() ||
                    (nodes[o] + 0.5) * offers[next].most_nodes < (nodes[next] + 0.5) * offers[o].most_nodes)
                    next = o;
            }
            if (next < offers.size()) ++nodes[next];
        }
        return nodes;
    }

    double utility_at(const Snapshot& snapshot, std::span<const RentOffer> offers, int size) {
        return utility_with(snapshot, offers, spread(offers, size));
    }
    double utility_now(const Snapshot& snapshot, std::span<const RentOffer> offers,
                       std::span<const int> rented) {
        return utility_with(snapshot, offers, rented);
    }

    double utility_with(const Snapshot& snapshot, std::span<const RentOffer> offers,
                        std::span<const int> nodes) {
        candidate_.time_seconds = snapshot.time_seconds;
        candidate_.cluster = {.gpu_types = snapshot.cluster.gpu_types};
        candidate_.jobs = snapshot.jobs;
        candidate_.models = snapshot.models;
        for (Job& job : candidate_.jobs) job.placement.clear();
        int gpus = 0;
        for (std::size_t o = 0; o < offers.size(); ++o)
            for (int n = 0; n < nodes[o]; ++n) {
                candidate_.cluster.nodes.push_back(node_of(offers[o], n));
                gpus += offers[o].gpus;
            }
        const Plan& plan = scheduler_.plan(candidate_);
        double speedups = 0;
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            const Option& option = plan.decisions[j].option;
            if (option.configuration.empty()) continue;
            const double one =
                Pollux::goodput_at(scheduler_.engine().options_of(j), option.configuration.first(), 1);
            speedups += one > 0 ? option.goodput / one : option.configuration.gpus();
        }
        return gpus > 0 ? speedups / gpus : 0;
    }

    using Parts = SchedulerParts<Pollux, LeastMovesPlacer, Allotter<>, Predictor, Limits<>, ListedShapes,
                                 Factors<LostTime>>;

    ChosenScheduler scheduler_;
    Snapshot candidate_;
    std::vector<int> nodes_;
};

}  // namespace goodput::peers

#endif
