#ifndef GOODPUT_MODEL_DETAIL_OVERLAP_HPP
#define GOODPUT_MODEL_DETAIL_OVERLAP_HPP

// The step of Pollux's model and its derivatives, for many pairs of times at once.

#include <array>
#include <cstddef>

#include "goodput/model/detail/elementary.hpp"

namespace goodput::detail {

template <std::size_t Most>
struct OverlappedSteps {
    std::array<double, Most> compute, sync;                   // in
    std::array<double, Most> seconds, per_compute, per_sync;  // out

    // The first `count`. Scaled by the longer part, because the powers of small times underflow at
    // gamma = 10. One short loop for each operation, so that the processor overlaps independent steps instead
    // of waiting for the long chain of operations that each of them is.
    void evaluate(double gamma, std::size_t count) {
        std::array<double, Most> ratio, lower_power, of_longer;
        for (std::size_t i = 0; i < count; ++i) {
            const double longer = compute[i] >= sync[i] ? compute[i] : sync[i];
            const double shorter = compute[i] >= sync[i] ? sync[i] : compute[i];
            ratio[i] = shorter / (longer + 0x1p-1022);  // 0 where both are 0
        }
        const double lower = gamma - 1, inverse = 1 / gamma - 1;
        for (std::size_t i = 0; i < count; ++i) lower_power[i] = log2_of(ratio[i]);
        for (std::size_t i = 0; i < count; ++i) lower_power[i] = exp2_of(lower * lower_power[i]);
        for (std::size_t i = 0; i < count; ++i) of_longer[i] = log2_of(1 + ratio[i] * lower_power[i]);
        for (std::size_t i = 0; i < count; ++i) of_longer[i] = exp2_of(inverse * of_longer[i]);
        for (std::size_t i = 0; i < count; ++i) {
            const double longer = compute[i] >= sync[i] ? compute[i] : sync[i];
            const double of_shorter = of_longer[i] * lower_power[i];
            per_compute[i] = compute[i] >= sync[i] ? of_longer[i] : of_shorter;
            per_sync[i] = compute[i] >= sync[i] ? of_shorter : of_longer[i];
            const double sum = per_compute[i] * compute[i] + per_sync[i] * sync[i];
            seconds[i] = sum < longer ? longer : sum;
        }
    }
};

}  // namespace goodput::detail

#endif
