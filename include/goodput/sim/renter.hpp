#ifndef GOODPUT_SIM_RENTER_HPP
#define GOODPUT_SIM_RENTER_HPP

// Nodes that come and go because somebody rents them. A renter is a struct with
//
//   std::span<const int> rent(const Snapshot& snapshot, std::span<const RentOffer> offers,
//                             std::span<const int> rented)
//
// which says before every decision how many nodes of each offer to have. `rented` are those that there are by
// offer, those that start included; the snapshot has those that have started. Also asked, without jobs, as
// long as anything is rented and nobody is there.
//
// An order takes effect after the offer's start-up, with the next decision. Nodes are given back at once:
// first those that have not started, then those where least is lost, jobs' restarts times their GPUs; their
// jobs save their state and are decided anew. A node of a job that has to keep what it holds stays. A spot
// node that fails is gone, and may be rented again once it has returned. Nodes are called OFFER-0, OFFER-1
// and so on, and are paid by the minute from their order on.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// What decides how many nodes of each offer there are.
template <class R>
concept Renter = requires(R& renter, const Snapshot& snapshot, std::span<const RentOffer> offers,
                          std::span<const int> rented) {
    { renter.rent(snapshot, offers, rented) } -> std::convertible_to<std::span<const int>>;
};

/// Rents all that there is, and keeps it: a fixed cluster with a price.
class RentEverything {
public:
    /// The most nodes of each offer.
    std::span<const int> rent(const Snapshot&, std::span<const RentOffer> offers, std::span<const int>) {
        nodes_.clear();
        for (const RentOffer& offer : offers) nodes_.push_back(offer.most_nodes);
        return nodes_;
    }

private:
    std::vector<int> nodes_;
};
static_assert(Renter<RentEverything>);

}  // namespace goodput

#endif
