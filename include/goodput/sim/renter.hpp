#ifndef GOODPUT_SIM_RENTER_HPP
#define GOODPUT_SIM_RENTER_HPP

// Nodes that come and go because they are rented. A renter is a struct with
//
//   std::span<const int> rent(const Snapshot& snapshot, std::span<const RentOffer> offers,
//                             std::span<const int> rented)
//
// which says, before every decision, how many nodes of each offer to have. `rented` has the present number
// of nodes by offer, including nodes that are starting; the snapshot has only those that have started. As
// long as anything is rented, the renter is also asked when there are no jobs.
//
// An order takes effect at the first decision after the offer's start-up. Nodes are returned at once: first
// those that have not started, then those where the least is lost (restarts of jobs times their GPUs).
// Their jobs save their state, and the scheduler decides about them anew. A node of a job that must keep
// what it holds stays. A spot node that fails is gone, and may be rented again once it has returned. Nodes
// are called OFFER-0, OFFER-1 and so on, and are paid by the minute from their order on.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/replay_result.hpp"

namespace goodput::inline v0_1 {

/// Decides how many nodes of each offer to have.
template <class R>
concept Renter = requires(R& renter, const Snapshot& snapshot, std::span<const RentOffer> offers,
                          std::span<const int> rented) {
    { renter.rent(snapshot, offers, rented) } -> std::convertible_to<std::span<const int>>;
};

/// Rents all nodes on offer and keeps them, like a fixed cluster with a price.
class RentEverything {
public:
    /// Returns the largest number of nodes of each offer.
    std::span<const int> rent(const Snapshot&, std::span<const RentOffer> offers, std::span<const int>) {
        nodes_.clear();
        for (const RentOffer& offer : offers) nodes_.push_back(offer.most_nodes);
        return nodes_;
    }

private:
    std::vector<int> nodes_;
};
static_assert(Renter<RentEverything>);

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// The nodes of all offers. Their indices follow those of the cluster's nodes at the start, as in the
/// timeline of a replay.
class Rentals {
public:
    Rentals(const Cluster& start, std::span<const RentOffer> offers)
        : offers_(offers), first_(start.nodes.size()) {
        validate(offers, start);
        for (std::size_t o = 0; o < offers.size(); ++o)
            for (int n = 0; n < offers[o].most_nodes; ++n) {
                nodes_.push_back({o});
                known_.push_back(node_of(offers[o], n));
            }
        rented_.assign(offers.size(), 0);
    }

    /// Returns all nodes that may be rented.
    [[nodiscard]] std::span<const Node> nodes() const { return known_; }
    [[nodiscard]] std::span<const RentOffer> offers() const { return offers_; }
    /// Returns the number of rented nodes by offer, including those that are starting.
    [[nodiscard]] std::span<const int> rented() const { return rented_; }
    [[nodiscard]] bool any() const {
        return std::any_of(rented_.begin(), rented_.end(), [](int nodes) { return nodes > 0; });
    }
    /// Returns whether a node is rented and has started by `now`; always true for nodes that cannot be
    /// rented.
    [[nodiscard]] bool there(std::size_t node, double now) const {
        if (node < first_ || node >= first_ + nodes_.size()) return true;
        const Rented& rented_node = nodes_[node - first_];
        return rented_node.since && *rented_node.since + offers_[rented_node.offer].start_seconds <= now;
    }

    /// Ends the rental of a node that the provider has taken back, or that has failed.
    void lose(std::size_t node, double time, std::vector<RentedPeriod>& periods) {
        if (node >= first_ && node < first_ + nodes_.size()) end(node - first_, time, periods);
    }

    /// Orders healthy nodes and returns others until there are as many as wanted, as far as that is
    /// possible. `loss(node)` is what returning an existing node would lose now; infinity if it cannot be
    /// returned. `dropped(node)` is called after an existing node is returned.
    template <class Healthy, class Loss, class Dropped>
    void follow(std::span<const int> wanted, double now, Healthy healthy, Loss loss, Dropped dropped,
                std::vector<RentedPeriod>& periods) {
        for (std::size_t o = 0; o < offers_.size(); ++o) {
            const int aim = std::clamp(o < wanted.size() ? wanted[o] : 0, 0, offers_[o].most_nodes);
            for (std::size_t i = 0; i < nodes_.size() && rented_[o] < aim; ++i)
                if (nodes_[i].offer == o && !nodes_[i].since && healthy(first_ + i)) {
                    nodes_[i].since = now;
                    ++rented_[o];
                }
            while (rented_[o] > aim) {
                std::size_t best = nodes_.size();
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t i = nodes_.size(); i-- > 0;) {
                    if (nodes_[i].offer != o || !nodes_[i].since) continue;
                    const double node_loss = there(first_ + i, now) ? loss(first_ + i) : -1;
                    if (node_loss < least) least = node_loss, best = i;
                }
                if (best == nodes_.size()) break;
                const bool was_there = there(first_ + best, now);
                end(best, now, periods);
                if (was_there) dropped(first_ + best);
            }
        }
    }

    /// Ends all rentals at the end of the replay.
    void end_all(double time, std::vector<RentedPeriod>& periods) {
        for (std::size_t i = 0; i < nodes_.size(); ++i) end(i, time, periods);
    }

private:
    struct Rented {
        std::size_t offer = 0;
        std::optional<double> since{};
    };

    void end(std::size_t i, double time, std::vector<RentedPeriod>& periods) {
        Rented& rented_node = nodes_[i];
        if (!rented_node.since) return;
        const double end = std::max(time, *rented_node.since);
        const double minutes = std::ceil((end - *rented_node.since) / 60);
        if (end > *rented_node.since)
            periods.push_back({rented_node.offer, *rented_node.since, end,
                               minutes / 60 * offers_[rented_node.offer].dollars_per_hour});
        rented_node.since.reset();
        --rented_[rented_node.offer];
    }

    std::span<const RentOffer> offers_;
    std::size_t first_;          // index of the first node that may be rented
    std::vector<Rented> nodes_;  // by offer, then number
    std::vector<Node> known_;    // the same order
    std::vector<int> rented_;    // by offer
};

}  // namespace detail

}  // namespace goodput::inline v0_1

#endif
