#ifndef GOODPUT_EXAMPLES_CARBON_CLEAN_POWER_HPP
#define GOODPUT_EXAMPLES_CARBON_CLEAN_POWER_HPP

#include "goodput/schedule/concepts.hpp"
#include "grid.hpp"

namespace carbon {

/// Makes progress on dirty power worth less: a GPU that emits `half_grams` per hour counts for half.
struct CleanPower {
    Grid grid{};
    double half_grams = 1000;
    double seconds = 0;  ///< time of this round

    bool begin_round(const goodput::Round& round) {
        seconds = round.time_seconds;
        return half_grams > 0;
    }
    void operator()(const goodput::Job&, goodput::Option& option) const {
        const double grams = grid.grams_per_hour(option.configuration, seconds) / option.configuration.gpus();
        option.goodput *= half_grams / (half_grams + grams);
    }
};
static_assert(goodput::GoodputFactor<CleanPower>);
}  // namespace carbon

#endif
