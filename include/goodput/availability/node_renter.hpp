#ifndef GOODPUT_AVAILABILITY_NODE_RENTER_HPP
#define GOODPUT_AVAILABILITY_NODE_RENTER_HPP

// Rents nodes round after round. It decides which nodes are worth their price (renting.hpp), and when to
// return a node.
//
// A node that is worth its price is ordered at once. A node that is no longer worth its price is kept for a
// while, because it may be needed again. If it were returned, another node would then have to start, and
// would cost money while a job waits for it. Let a node cost `price` dollars per hour, and the waiting of a
// job c dollars per hour. A node is returned once keeping it has cost as much as starting another one:
//
//     keep = (start-up + restart) * (1 + c / price)
//
// This never costs more than twice as much as perfect knowledge of the future would (the ski rental
// problem; Karlin, Manasse, McGeoch and Owicki, Algorithmica 11, 1994). `restart` is the mean restart cost
// of all jobs of the snapshot. A node is kept for a day at most.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "goodput/availability/renting.hpp"

namespace goodput::inline v0_1 {

/// Decides, round after round, how many nodes of each offer to have. Remembers what was wanted.
template <OptionPredictor Predictor = GoodputPredictor, Policy P = GoodputPolicy, class LimitPack = Limits<>>
class NodeRenter {
public:
    /// Makes a renter; RentAdvisor describes the arguments.
    explicit NodeRenter(double hour_worth, Predictor predictor = {}, P policy = {}, LimitPack limits = {})
        : advisor_(hour_worth, std::move(predictor), std::move(policy), std::move(limits)) {}

    /// Returns the number of nodes to have from now on, by offer. `rented` is the present number by offer,
    /// including nodes that are starting. The times of successive snapshots must not go back. The result is
    /// valid until the next call. Throws std::invalid_argument for everything that RentAdvisor::advise()
    /// rejects, and if `rented` does not have one number per offer.
    std::span<const int> rent(const Snapshot& snapshot, std::span<const RentOffer> offers,
                              std::span<const int> rented) {
        if (rented.size() != offers.size())
            bad_input("renting", "numbers of nodes rented", rented.size(), text_of(offers.size()));
        const RentAdvice& advice = advisor_.advise(snapshot, offers);
        wanted_.resize(offers.size());
        nodes_.assign(offers.size(), 0);
        for (std::size_t o = 0; o < offers.size(); ++o) {
            const int now = advice.offers[o].nodes;
            std::deque<Wanted>& recent = wanted_[o];
            const double since = snapshot.time_seconds - keep_seconds(snapshot, offers[o]);
            while (!recent.empty() && recent.front().time_seconds < since) recent.pop_front();
            // Drop entries that the new one equals or exceeds: they can no longer be the maximum.
            while (!recent.empty() && recent.back().nodes <= now) recent.pop_back();
            recent.push_back({snapshot.time_seconds, now});
            nodes_[o] = std::max(now, std::min(rented[o], recent.front().nodes));
        }
        return nodes_;
    }

    /// Returns the number of seconds for which a node that is no longer worth its price is kept.
    [[nodiscard]] double keep_seconds(const Snapshot& snapshot, const RentOffer& offer) const {
        double restart = 0;
        for (const Job& job : snapshot.jobs) restart += job.restart_cost_seconds;
        if (!snapshot.jobs.empty()) restart /= static_cast<double>(snapshot.jobs.size());
        if (offer.dollars_per_hour <= 0) return longest_kept;
        const double keep =
            (offer.start_seconds + restart) * (1 + advisor_.hour_worth() / offer.dollars_per_hour);
        return std::min(keep, longest_kept);
    }

private:
    static constexpr double longest_kept = 86400;
    struct Wanted {
        double time_seconds = 0;
        int nodes = 0;
    };

    RentAdvisor<Predictor, P, LimitPack> advisor_;
    std::vector<std::deque<Wanted>> wanted_;  // by offer
    std::vector<int> nodes_;                  // by offer
};

}  // namespace goodput::inline v0_1

#endif
