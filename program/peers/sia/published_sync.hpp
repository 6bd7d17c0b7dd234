#ifndef GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_SYNC_HPP
#define GOODPUT_PROGRAM_PEERS_SIA_PUBLISHED_SYNC_HPP

// Pollux's model with the small times that the released code of Pollux and Sia has where this library has
// none.

#include <algorithm>

#include "goodput/core/configuration.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::peers {

/// The value that the code uses instead of 0, for seconds and for replicas beyond two.
inline constexpr double published_least = 1e-8;

inline double published_further(int replicas) { return std::max(replicas - 2.0, published_least); }

inline double published_sync_seconds(const PolluxThroughput& model, Shape shape) {
    const double further = published_further(shape.gpus);
    if (shape.nodes > 1) return model.alpha_n + model.beta_n * further;
    if (shape.gpus > 1) return model.alpha_r + model.beta_r * further;
    return published_least + published_least * further;
}

}  // namespace goodput::peers

#endif
