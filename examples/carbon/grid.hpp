#ifndef GOODPUT_EXAMPLES_CARBON_GRID_HPP
#define GOODPUT_EXAMPLES_CARBON_GRID_HPP

// Where GPUs get their power from: each GPU type stands in one place, whose grid emits more in some hours.

#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/core/configuration.hpp"

namespace carbon {

/// By GPU type: what a GPU draws, and what its grid emits in each hour of a day.
struct Grid {
    std::vector<double> kilowatts{};
    std::vector<std::vector<double>> grams_per_kilowatt_hour{};  ///< 24 each

    /// What a configuration emits in an hour, at that time.
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
