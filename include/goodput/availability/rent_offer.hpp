#ifndef GOODPUT_AVAILABILITY_RENT_OFFER_HPP
#define GOODPUT_AVAILABILITY_RENT_OFFER_HPP

// Nodes that can be rented.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/interruptions.hpp"

namespace goodput::inline v0_1 {

/// Nodes of one kind that can be rented.
struct RentOffer {
    std::string name{};                 ///< unique among the offers
    std::size_t gpu_type = 0;           ///< index into Cluster::gpu_types
    int gpus = 1;                       ///< GPUs per node, at least 1
    double dollars_per_hour = 0;        ///< price of the whole node
    int most_nodes = 0;                 ///< largest number of nodes rented at one time
    double start_seconds = 180;         ///< seconds from the order to the first job; they are paid for
    bool spot = false;                  ///< whether the provider may take it back
    double interruptions_per_hour = 0;  ///< how often each node is expected to be lost
};

/// Throws std::invalid_argument, with the name of the offer, for duplicate names, unknown GPU types, two
/// offers whose nodes belong to the same pool, and numbers out of range.
inline void validate(std::span<const RentOffer> offers, const Cluster& cluster) {
    std::vector<const std::string*> names;
    for (const RentOffer& offer : offers) {
        const auto subject = [&] { return "offer '" + offer.name + "'"; };
        names.push_back(&offer.name);
        if (offer.gpu_type >= cluster.gpu_types.size())
            bad_input(subject(), "gpu_type", offer.gpu_type, "an index into the cluster's GPU types");
        require_between(subject, "gpus", offer.gpus, 1, 1 << 20);
        require_between(subject, "most_nodes", offer.most_nodes, 0, 1 << 20);
        require_at_least(subject, "dollars_per_hour", offer.dollars_per_hour, 0);
        require_at_least(subject, "start_seconds", offer.start_seconds, 0);
        require_between(subject, "interruptions_per_hour", offer.interruptions_per_hour, 0,
                        most_interruptions_per_hour);
        for (const RentOffer& other : offers)
            if (&other < &offer && other.gpu_type == offer.gpu_type && other.gpus == offer.gpus &&
                other.spot == offer.spot)
                bad_input(subject(), "nodes", "'" + other.name + "'",
                          "of a GPU type, size or spot of their own");
    }
    detail::require_own_names("offer", names);
}

/// Returns the node of that number of an offer, called OFFER-NUMBER.
[[nodiscard]] inline Node node_of(const RentOffer& offer, int number) {
    return {.name = offer.name + "-" + text_of(number),
            .gpu_type = offer.gpu_type,
            .gpus = offer.gpus,
            .dollars_per_hour = offer.dollars_per_hour,
            .interruptions_per_hour = offer.interruptions_per_hour,
            .spot = offer.spot};
}

}  // namespace goodput::inline v0_1

#endif
