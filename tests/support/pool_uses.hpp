#ifndef GOODPUT_TESTS_SUPPORT_POOL_USES_HPP
#define GOODPUT_TESTS_SUPPORT_POOL_USES_HPP

// The capacities and uses that a policy sees if only the pools' GPUs are limited and no node is drained.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"

namespace support {

/// Returns the number of GPUs of every pool.
inline std::vector<double> capacity_of(std::span<const goodput::Pool> pools) {
    std::vector<double> capacity;
    for (const goodput::Pool& pool : pools) capacity.push_back(pool.gpus());
    return capacity;
}

/// What options with a single part take from the pools.
class PoolUses {
public:
    PoolUses(std::span<const goodput::Pool> pools, std::span<const goodput::Option> options) {
        for (const goodput::Option& option : options) {
            const goodput::PoolShare& part = option.configuration.first();
            const std::size_t pool = goodput::find_pool(pools, {part.gpu_type, part.gpus_per_node});
            uses_.push_back({static_cast<std::uint32_t>(pool), static_cast<double>(part.occupied_gpus())});
            offsets_.push_back(uses_.size());
        }
    }
    [[nodiscard]] goodput::OptionUses view() const { return {uses_, offsets_}; }

private:
    std::vector<goodput::ResourceUse> uses_;
    std::vector<std::size_t> offsets_{0};
};

}  // namespace support

#endif
