#ifndef GOODPUT_MODEL_DETAIL_RING_INDEX_HPP
#define GOODPUT_MODEL_DETAIL_RING_INDEX_HPP

// Finds placements by the GPUs on each node in ring order, wherever the ring is cut open.

#include <algorithm>
#include <compare>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace goodput::detail {

// Of two rings of equal length, each read from its start.
inline std::strong_ordering compare_rotations(std::span<const int> left, std::size_t left_start,
                                              std::span<const int> right, std::size_t right_start) {
    std::size_t l = left_start, r = right_start;
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (left[l] != right[r]) return left[l] <=> right[r];
        if (++l == left.size()) l = 0;
        if (++r == right.size()) r = 0;
    }
    return std::strong_ordering::equal;
}

inline std::size_t smallest_rotation(std::span<const int> ring) {
    std::size_t best = 0;
    for (std::size_t start = 1; start < ring.size(); ++start)
        if (compare_rotations(ring, start, ring, best) < 0) best = start;
    return best;
}

// The ring as it reads from its smallest rotation.
inline std::vector<int> smallest_reading(std::span<const int> ring) {
    std::vector<int> digits(ring.begin(), ring.end());
    std::rotate(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(smallest_rotation(ring)),
                digits.end());
    return digits;
}

class RingIndex {
public:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    // Numbers the rings 0, 1, ... in the order in which they are added: each once, as its smallest reading,
    // ascending in length and then in digits.
    void add(std::span<const int> smallest_reading) {
        rings_.push_back({digits_.size(), smallest_reading.size()});
        digits_.insert(digits_.end(), smallest_reading.begin(), smallest_reading.end());
    }

    // The number of a ring, or none.
    [[nodiscard]] std::size_t find(std::span<const int> ring) const {
        const std::size_t start = smallest_rotation(ring);
        const auto less = [&](const Ring& candidate, std::span<const int> wanted) {
            if (candidate.length != wanted.size()) return candidate.length < wanted.size();
            return compare_rotations(digits_of(candidate), 0, wanted, start) < 0;
        };
        const auto found = std::lower_bound(rings_.begin(), rings_.end(), ring, less);
        const bool known = found != rings_.end() && found->length == ring.size() &&
                           compare_rotations(digits_of(*found), 0, ring, start) == 0;
        return known ? static_cast<std::size_t>(found - rings_.begin()) : none;
    }

private:
    struct Ring {  // digits_[first, first + length)
        std::size_t first, length;
    };
    [[nodiscard]] std::span<const int> digits_of(const Ring& ring) const {
        return std::span(digits_).subspan(ring.first, ring.length);
    }

    std::vector<int> digits_;
    std::vector<Ring> rings_;
};

}  // namespace goodput::detail

#endif
