#ifndef GOODPUT_ALLOT_DETAIL_STATES_HPP
#define GOODPUT_ALLOT_DETAIL_STATES_HPP

// The states of a search level, and the table that merges equal ones. core.hpp explains levels, bunches
// (equal jobs that start with the same option) and the chain of levels that decides a bunch.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/allot/detail/compact.hpp"

namespace goodput::inline v0_1::detail {

/// Makes room for `count` elements. Reserves more, up to `most`, so that later calls seldom have to.
template <class T>
void make_room(std::vector<T>& vector, std::size_t count, std::size_t most) {
    if (count > vector.capacity())
        vector.reserve(std::max(count, std::min(most, 2 * vector.capacity() + 64)));
}

struct State {
    /// Value of the allotment if all later bunches keep their options of the rounded relaxation.
    double value;
    double bound;               ///< no allotment that follows from this state is worth more
    std::uint32_t copies_left;  ///< copies that the chain of levels has yet to decide
    std::uint32_t step;         ///< last move on the way to this state
};

/// States of one level in contiguous memory. Each has a row of `width` numbers: what it leaves of each
/// capacity (negative if it has taken too much so far).
struct StateBlock {
    std::vector<double> left;
    std::vector<State> states;

    [[nodiscard]] std::size_t size() const { return states.size(); }
    void clear() {
        left.clear();
        states.clear();
    }
    void reserve(std::size_t count, std::size_t width) {
        left.reserve(count * width);
        states.reserve(count);
    }
    /// Forgets all states from index `count` on.
    void shrink(std::size_t count, std::size_t width) {
        left.resize(count * width);
        states.resize(count);
    }
    [[nodiscard]] const double* row(std::size_t i, std::size_t width) const {
        return left.data() + i * width;
    }
    /// Appends a state. The block reserves memory for at most `most` states.
    void append(const double* what_is_left, std::size_t width, const State& state, std::size_t most) {
        make_room(left, left.size() + width, most * width);
        make_room(states, states.size() + 1, most);
        left.insert(left.end(), what_is_left, what_is_left + width);
        states.push_back(state);
    }
};

/// Finds the state of a block that leaves the same capacities. Uses open addressing, hashing the bits of
/// the numbers.
class StateTable {
public:
    /// Forgets everything and makes room for about `expected` states. The table grows if there are more.
    void clear(std::size_t expected) {
        const std::size_t size = std::bit_ceil(2 * expected + 64);
        if (slots_.size() < size) {
            slots_.clear();  // so that growing copies nothing
            slots_.resize(size);
        }
        mask_ = size - 1;
        std::fill(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(size), none);
    }

    /// Returns the index of the state in `block` with these capacities and copies left. Returns `none` if
    /// there is none, and then the caller must append this state to the block next.
    std::uint32_t find_or_add(const double* left, std::size_t width, std::uint32_t copies_left,
                              const StateBlock& block) {
        if (2 * block.size() > mask_) grow(width, block);
        std::uint32_t& slot = slot_of(left, width, copies_left, block);
        if (slot != none) return slot;
        slot = static_cast<std::uint32_t>(block.size());
        return none;
    }

private:
    std::uint32_t& slot_of(const double* left, std::size_t width, std::uint32_t copies_left,
                           const StateBlock& block) {
        std::uint64_t hash = 0x9E3779B97F4A7C15u + copies_left;
        for (std::size_t r = 0; r < width; ++r)
            hash = (std::rotl(hash, 23) ^ std::bit_cast<std::uint64_t>(left[r] + 0.0)) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
        for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
            const std::uint32_t state = slots_[at];
            if (state == none || (block.states[state].copies_left == copies_left &&
                                  std::equal(left, left + width, block.row(state, width))))
                return slots_[at];
        }
    }

    void grow(std::size_t width, const StateBlock& block) {
        clear(block.size() + 1);
        for (std::size_t i = 0; i < block.size(); ++i)
            slot_of(block.row(i, width), width, block.states[i].copies_left, block) =
                static_cast<std::uint32_t>(i);
    }

    std::vector<std::uint32_t> slots_;
    std::size_t mask_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
