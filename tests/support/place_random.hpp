#ifndef GOODPUT_TESTS_SUPPORT_PLACE_RANDOM_HPP
#define GOODPUT_TESTS_SUPPORT_PLACE_RANDOM_HPP

// Random numbers and nodes for the tests of placement.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"

namespace support::place {

struct Random {
    std::mt19937_64 engine;
    int below(int n) { return static_cast<int>(engine() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return below(100) < percent; }
    template <class T>
    const T& of(const std::vector<T>& values) {
        return values[engine() % values.size()];
    }
};

inline void add_nodes(goodput::Cluster& cluster, std::size_t type, int gpus, int count) {
    for (int n = 0; n < count; ++n)
        cluster.nodes.push_back({"node" + std::to_string(cluster.nodes.size()), type, gpus});
}

}  // namespace support::place

#endif
