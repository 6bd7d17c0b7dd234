#ifndef GOODPUT_PARALLEL_DETAIL_KNOWN_CHAINS_HPP
#define GOODPUT_PARALLEL_DETAIL_KNOWN_CHAINS_HPP

// Partial chains, and which of them need no look: two that have the same stages, in whatever order, and stand
// at the same layer with the same last stage can only be followed by the same stages. Where one of them is no
// worse in every way, the other one cannot become the better chain.

#include <compare>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// Which stages a partial chain has, in any order: two sums of mixed numbers.
struct ChainSignature {
    std::uint64_t first = 0, second = 0;
    friend auto operator<=>(const ChainSignature&, const ChainSignature&) = default;

    void add(std::size_t k) {
        first += mixed_bits(k + 1);
        second += mixed_bits((k + 1) ^ 0x5851f42d4c957f2du);
    }
};
/// What a chain's first stages come to.
struct PartialChain {
    std::size_t layer;  // next one
    double largest;     // seconds of the largest complete stage
    double open;        // computing and receiving of the last stage, whose sending is not known yet
    double sum;         // computing, sending and prices so far
    double seconds;     // without prices
    double reduce, update;
    double spending;
    std::size_t k;  // class of the last stage
    bool crossed;   // no message behind it has to cross the cut between zones
    ChainSignature stages;
};

/// Where partial chains can only be followed by the same.
struct ChainPlace {
    std::size_t at = 0;  // stage, layer, class
    ChainSignature stages{};
    friend bool operator==(const ChainPlace&, const ChainPlace&) = default;
};
/// Hashes a place by its two numbers.
struct ChainPlaceHash {
    std::size_t operator()(const ChainPlace& place) const {
        return mixed_bits(place.at ^ place.stages.first);
    }
};

/// Where a partial chain stands after one more stage; sets the stages of `now`.
inline ChainPlace place_of(const StageTables& tables, const PartialChain& before, PartialChain& now,
                           std::size_t stage) {
    now.stages = before.stages;
    now.stages.add(now.k);
    return {(stage * (tables.layers() + 1) + now.layer) * tables.size() + now.k, now.stages};
}

/// Partial chains that were looked at, by place.
class KnownChains {
public:
    /// Whether a partial chain as good as this one was there before; remembers it otherwise.
    bool was_here(const ChainPlace& place, const PartialChain& now) {
        std::vector<PartialChain>& known = known_[place];
        for (const PartialChain& before : known)
            if (before.sum <= now.sum && before.largest <= now.largest && before.open <= now.open &&
                before.reduce <= now.reduce && before.update <= now.update)
                return true;
        known.push_back(now);
        return false;
    }
    void clear() { known_.clear(); }

private:
    std::unordered_map<ChainPlace, std::vector<PartialChain>, ChainPlaceHash> known_{};
};

}  // namespace goodput::detail

#endif
