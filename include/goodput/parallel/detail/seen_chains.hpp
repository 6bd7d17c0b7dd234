#ifndef GOODPUT_PARALLEL_DETAIL_SEEN_CHAINS_HPP
#define GOODPUT_PARALLEL_DETAIL_SEEN_CHAINS_HPP

// A chain is a class of replicas (GPU type and tensor-parallel degree) for each stage. This header
// remembers which beginnings of chains were searched. A beginning needs no search if another one was
// searched that is no worse, whatever follows. That one has the same number of stages left, the same next
// layer and the same last class, and needs no more GPUs of any type and no more seconds. Layers of one kind
// take equally long, so a long pipeline has millions of beginnings that differ only in the order of their
// stages. This only holds if a chain is a plan: stages of one class each, all in one zone.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::inline v0_1::detail {

/// Sums and maxima over a chain's first stages.
struct PartialChain {
    std::size_t layer = 0;  // the next layer
    double largest = 0;     // seconds of the largest complete stage
    double open = 0;        // computing and receiving of the last stage, whose sending is not known yet
    double sum = 0;         // computing, sending and prices so far
    double seconds = 0;     // the same without prices
    double reduce = 0, update = 0;
    double spending = 0;
    std::size_t k = 0;     // class of the last stage
    bool crossed = false;  // no later message has to cross the cut between zones
};

/// The beginnings seen of chains with one number of stages.
class SeenChains {
public:
    /// Forgets all beginnings.
    void begin(const StageTables& tables, double repeats) {
        layers_ = tables.layers();
        classes_ = tables.size();
        repeats_ = repeats;
        for (const std::size_t place : filled_) places_[place].clear();
        filled_.clear();
        places_.resize(std::max(places_.size(), layers_ * layers_ * classes_));
    }

    /// Whether a beginning that is no worse was seen, with `left` stages to come. If not, remembers this
    /// one. `gpus` are those that a replica has left, by type.
    [[nodiscard]] bool has_better(const PartialChain& chain, std::size_t left, const std::vector<int>& gpus) {
        const std::size_t place = (left * layers_ + chain.layer) * classes_ + chain.k;
        std::vector<double>& seen = places_[place];
        numbers_.assign({chain.seconds, chain.open, chain.largest, chain.reduce, chain.update});
        numbers_.insert(numbers_.end(), gpus.begin(), gpus.end());
        if (seen.empty()) filled_.push_back(place);
        for (std::size_t at = 0; at < seen.size();) {
            if (is_better(&seen[at], numbers_.data())) return true;
            if (is_better(numbers_.data(), &seen[at])) {
                std::copy(seen.end() - static_cast<std::ptrdiff_t>(numbers_.size()), seen.end(), &seen[at]);
                seen.resize(seen.size() - numbers_.size());
            } else
                at += numbers_.size();
        }
        seen.insert(seen.end(), numbers_.begin(), numbers_.end());
        return false;
    }

private:
    /// Whether one beginning is no worse than another. Sums in a different order differ in their last
    /// digits.
    [[nodiscard]] bool is_better(const double* one, const double* other) const {
        const double rounding = 1e-12 * other[0];
        if (one[1] > other[1] + rounding) return false;
        for (std::size_t t = 5; t < numbers_.size(); ++t)
            if (one[t] < other[t]) return false;
        return one[0] + repeats_ * std::max(one[2] - other[2], 0.0) + std::max(one[3] - other[3], 0.0) +
                   std::max(one[4] - other[4], 0.0) <=
               other[0] + rounding;
    }

    std::size_t layers_ = 0, classes_ = 0;
    double repeats_ = 0;
    std::vector<double> numbers_{};  // one chain's seconds, open, largest, reduce, update, then GPUs left by
                                     // type
    std::vector<std::vector<double>> places_{};  // by stages left, layer, class: the numbers of each chain
    std::vector<std::size_t> filled_{};
};

}  // namespace goodput::inline v0_1::detail

#endif
