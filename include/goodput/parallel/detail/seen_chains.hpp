#ifndef GOODPUT_PARALLEL_DETAIL_SEEN_CHAINS_HPP
#define GOODPUT_PARALLEL_DETAIL_SEEN_CHAINS_HPP

// Beginnings of chains that need no look, because another one was looked at that is no worse whatever
// follows: as many stages left, the same next layer and last class, no more GPUs of any type, no more
// seconds. Layers of a kind take equally long, so that a long pipeline has millions of beginnings that differ
// only in the order of their stages. That holds where a chain is a plan: stages of one class each, all in one
// zone.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// What a chain's first stages come to.
struct PartialChain {
    std::size_t layer = 0;  // next one
    double largest = 0;     // seconds of the largest complete stage
    double open = 0;        // computing and receiving of the last stage, whose sending is not known yet
    double sum = 0;         // computing, sending and prices so far
    double seconds = 0;     // without prices
    double reduce = 0, update = 0;
    double spending = 0;
    std::size_t k = 0;     // class of the last stage
    bool crossed = false;  // no message behind it has to cross the cut between zones
};

/// Those of one number of stages.
class SeenChains {
public:
    /// Forgets all.
    void begin(const StageTables& tables, std::size_t types, double repeats) {
        layers_ = tables.layers();
        classes_ = tables.size();
        types_ = types;
        repeats_ = repeats;
        for (const std::size_t place : filled_) places_[place].clear();
        filled_.clear();
        places_.resize(std::max(places_.size(), layers_ * layers_ * classes_));
    }

    /// Whether one was seen that is no worse, with `left` stages behind it; remembers this one where not.
    /// `gpus`: that a replica has left, by type.
    [[nodiscard]] bool has_better(const PartialChain& chain, std::size_t left, const std::vector<int>& gpus) {
        const std::size_t place = (left * layers_ + chain.layer) * classes_ + chain.k;
        std::vector<double>& seen = places_[place];
        const std::size_t size = 5 + types_;
        for (std::size_t i = 0; i < seen.size(); i += size)
            if (is_better(&seen[i], chain, gpus)) return true;
        if (seen.empty()) filled_.push_back(place);
        seen.insert(seen.end(), {chain.seconds, chain.open, chain.largest, chain.reduce, chain.update});
        seen.insert(seen.end(), gpus.begin(), gpus.end());
        return false;
    }

private:
    /// Sums in another order differ in their last digits.
    [[nodiscard]] bool is_better(const double* seen, const PartialChain& chain,
                                 const std::vector<int>& gpus) const {
        const double rounding = 1e-12 * chain.seconds;
        if (seen[1] > chain.open + rounding) return false;
        for (std::size_t t = 0; t < types_; ++t)
            if (seen[5 + t] < gpus[t]) return false;
        return seen[0] + repeats_ * std::max(seen[2] - chain.largest, 0.0) +
                   std::max(seen[3] - chain.reduce, 0.0) + std::max(seen[4] - chain.update, 0.0) <=
               chain.seconds + rounding;
    }

    std::size_t layers_ = 0, classes_ = 0, types_ = 0;
    double repeats_ = 0;
    std::vector<std::vector<double>> places_{};  // by stages left, layer, class: numbers of each chain
    std::vector<std::size_t> filled_{};
};

}  // namespace goodput::detail

#endif
