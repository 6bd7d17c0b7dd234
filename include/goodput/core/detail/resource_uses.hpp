#ifndef GOODPUT_CORE_DETAIL_RESOURCE_USES_HPP
#define GOODPUT_CORE_DETAIL_RESOURCE_USES_HPP

// Sums over the uses of an option, where one resource may appear several times.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

/// Returns what the uses cost at these prices.
inline double price_of(std::span<const ResourceUse> uses, std::span<const double> prices) {
    double sum = 0;
    for (const ResourceUse& use : uses) sum += prices[use.resource] * use.units;
    return sum;
}

/// Returns the units that the uses take of one resource.
inline double units_of(std::span<const ResourceUse> uses, std::size_t resource) {
    double sum = 0;
    for (const ResourceUse& use : uses)
        if (use.resource == resource) sum += use.units;
    return sum;
}

/// Adds units to the use of a resource, which is looked for from uses[first] on, or appends it.
inline void add_use(std::vector<ResourceUse>& uses, std::size_t first, std::size_t resource, double units) {
    for (std::size_t u = first; u < uses.size(); ++u)
        if (uses[u].resource == resource) {
            uses[u].units += units;
            return;
        }
    uses.push_back({static_cast<std::uint32_t>(resource), units});
}

}  // namespace goodput::inline v0_1::detail

#endif
