#ifndef GOODPUT_ALLOT_DETAIL_STATES_HPP
#define GOODPUT_ALLOT_DETAIL_STATES_HPP

// The states of a search level and the table that merges equal ones.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput::detail {

/// States of one level, in contiguous memory.
struct StateBlock {
    std::vector<double> left;  ///< resources numbers a state
    std::vector<double> value;
    std::vector<double> bound;
    std::vector<std::uint32_t> parent;  ///< index into the block of the level above
    std::vector<std::uint32_t> option;  ///< that led here, of the core's options

    [[nodiscard]] std::size_t size() const { return value.size(); }
    void clear() {
        left.clear();
        value.clear();
        bound.clear();
        parent.clear();
        option.clear();
    }
    void append(const std::vector<double>& what_is_left, double its_value, double its_bound,
                std::uint32_t its_parent, std::uint32_t its_option) {
        left.insert(left.end(), what_is_left.begin(), what_is_left.end());
        value.push_back(its_value);
        bound.push_back(its_bound);
        parent.push_back(its_parent);
        option.push_back(its_option);
    }
    void append(const StateBlock& from, std::size_t i, std::size_t resources) {
        const auto begin = from.left.begin() + static_cast<std::ptrdiff_t>(i * resources);
        left.insert(left.end(), begin, begin + static_cast<std::ptrdiff_t>(resources));
        value.push_back(from.value[i]);
        bound.push_back(from.bound[i]);
        parent.push_back(from.parent[i]);
        option.push_back(from.option[i]);
    }
};

/// Finds a state of a block that leaves the same capacities: open addressing over the numbers' bits.
class StateTable {
public:
    void clear(std::size_t most_states) {
        const std::size_t size = std::bit_ceil(2 * most_states + 16);
        if (slots_.size() < size) slots_.resize(size);
        mask_ = size - 1;
        std::fill(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(size), none);
    }
    /// The slot of the state with these capacities left, or the empty slot where it belongs.
    std::uint32_t& slot(const double* left, std::size_t resources, const StateBlock& block) {
        std::uint64_t hash = 0x9E3779B97F4A7C15u;
        for (std::size_t r = 0; r < resources; ++r) {
            hash ^= std::bit_cast<std::uint64_t>(left[r] + 0.0);
            hash *= 0xD6E8FEB86659FD93u;
            hash ^= hash >> 32;
        }
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint32_t state = slots_[at];
            if (state == none || std::equal(left, left + resources, block.left.data() + state * resources))
                return slots_[at];
        }
    }

private:
    std::vector<std::uint32_t> slots_;
    std::size_t mask_ = 0;
};

}  // namespace goodput::detail

#endif
