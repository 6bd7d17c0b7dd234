#ifndef GOODPUT_EXAMPLES_CARBON_GRID_HPP
#define GOODPUT_EXAMPLES_CARBON_GRID_HPP

// The power of GPUs: each GPU type is in one place, whose grid emits more in some hours.

#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace carbon {

/// By GPU type: the power of a GPU, and the emissions of its grid in each hour of a day.
struct Grid {
    std::vector<double> kilowatts{};
    std::vector<std::vector<double>> grams_per_kilowatt_hour{};  ///< 24 numbers each

    /// Returns the emissions of a configuration per hour, at that time.
    [[nodiscard]] double grams_per_hour(const goodput::Configuration& configuration, double seconds) const {
        const auto hour = static_cast<std::size_t>(std::fmod(seconds / 3600, 24));
        double grams = 0;
        for (const goodput::PoolShare& part : configuration.parts())
            grams += part.shape.gpus * kilowatts.at(part.gpu_type) *
                     grams_per_kilowatt_hour.at(part.gpu_type).at(hour);
        return grams;
    }
};

}  // namespace carbon

#endif
