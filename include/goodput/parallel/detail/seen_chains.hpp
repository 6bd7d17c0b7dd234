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
    void begin(const StageTables& tables, double repeats) {
        layers_ = tables.layers();
        classes_ = tables.size();
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
        its_.assign({chain.seconds, chain.open, chain.largest, chain.reduce, chain.update});
        its_.insert(its_.end(), gpus.begin(), gpus.end());
        if (seen.empty()) filled_.push_back(place);
        for (std::size_t at = 0; at < seen.size();) {
            if (is_better(&seen[at], its_.data())) return true;
            if (is_better(its_.data(), &seen[at])) {
                std::copy(seen.end() - static_cast<std::ptrdiff_t>(its_.size()), seen.end(), &seen[at]);
                seen.resize(seen.size() - its_.size());
            } else
                at += its_.size();
        }
        seen.insert(seen.end(), its_.begin(), its_.end());
        return false;
    }

private:
    /// Sums in another order differ in their last digits.
    [[nodiscard]] bool is_better(const double* one, const double* other) const {
        const double rounding = 1e-12 * other[0];
        if (one[1] > other[1] + rounding) return false;
        for (std::size_t t = 5; t < its_.size(); ++t)
            if (one[t] < other[t]) return false;
        return one[0] + repeats_ * std::max(one[2] - other[2], 0.0) + std::max(one[3] - other[3], 0.0) +
                   std::max(one[4] - other[4], 0.0) <=
               other[0] + rounding;
    }

    std::size_t layers_ = 0, classes_ = 0;
    double repeats_ = 0;
    std::vector<double> its_{};  // seconds, those open, largest, gradients', update's, GPUs left by type
    std::vector<std::vector<double>> places_{};  // by stages left, layer, class: those of each chain
    std::vector<std::size_t> filled_{};
};

}  // namespace goodput::detail

#endif
