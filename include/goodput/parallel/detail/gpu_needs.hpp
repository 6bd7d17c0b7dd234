#ifndef GOODPUT_PARALLEL_DETAIL_GPU_NEEDS_HPP
#define GOODPUT_PARALLEL_DETAIL_GPU_NEEDS_HPP

// Whether there are GPUs for a chain at all: within caps on its stages, how many of one type its last stages
// need at least, by how many there are of each other type. Prices cannot tell: they pay for a part of a stage
// where only a whole one will do. Stages are of one class each.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// Least numbers of GPUs of a replica by stages left and layer.
class GpuNeeds {
public:
    /// Solves up to `stages` stages for the caps that the relaxation was last given, where a replica has so
    /// many `gpus` of each type at most.
    void solve(const StageTables& tables, const ChainRelaxation& relaxation, const std::vector<int>& gpus,
               std::size_t stages) {
        layers_ = tables.layers();
        set_numbers(tables, gpus);
        needs_.resize(std::max(needs_.size(), (stages + 1) * (layers_ + 1) * width_));
        std::fill_n(row(0, layers_), width_, none);
        for (const std::size_t first : firsts_) std::fill_n(row(0, layers_) + first, run_, 0);
        for (std::size_t left = 1; left <= stages; ++left)
            for (std::size_t layer = 0; layer + left <= layers_; ++layer) {
                Number* const here = row(left, layer);
                // At most what stages need that begin earlier, so that the last end of a stage is its best.
                if (layer == 0)
                    std::fill_n(here, width_, none);
                else
                    std::copy_n(row(left, layer - 1), width_, here);
                for (std::size_t k = 0; k < tables.size(); ++k) {
                    const std::size_t end = relaxation.last_end(left, layer, k);
                    if (end > layer && (left > 1 || end == layers_))
                        lower(here, row(left - 1, end), tables.classes()[k]);
                }
            }
    }

    /// The same of the least spending of a replica, by what each class spends.
    void solve_spending(const StageTables& tables, const ChainRelaxation& relaxation,
                        const std::vector<double>& spending, std::size_t stages) {
        layers_ = tables.layers();
        spending_.assign((stages + 1) * (layers_ + 1), never);
        spending_[layers_] = 0;
        for (std::size_t left = 1; left <= stages; ++left)
            for (std::size_t layer = 0; layer + left <= layers_; ++layer) {
                double& here = spending_[left * (layers_ + 1) + layer];
                if (layer > 0) here = *(&here - 1);
                for (std::size_t k = 0; k < tables.size(); ++k) {
                    const std::size_t end = relaxation.last_end(left, layer, k);
                    if (end > layer && (left > 1 || end == layers_))
                        here = std::min(here, spending[k] + least_spending(left - 1, end));
                }
            }
    }
    /// The least spending of the last `left` stages of a chain, from `layer` on.
    [[nodiscard]] double least_spending(std::size_t left, std::size_t layer) const {
        return spending_[left * (layers_ + 1) + layer];
    }

    /// Whether the last `left` stages of a chain, from `layer` on, may have room in so many GPUs of a
    /// replica.
    [[nodiscard]] bool suffice(std::size_t left, std::size_t layer, const std::vector<int>& gpus) const {
        if (left == 0) return true;
        std::size_t at = none_;
        for (std::size_t t = 0; t < gpus.size(); ++t)
            at += static_cast<std::size_t>(std::min(gpus[t], most_[t])) * stride_[t];
        return needs_[(left * (layers_ + 1) + layer) * width_ + at] <= gpus[counted_];
    }

private:
    using Number = std::int32_t;
    static constexpr Number none = std::numeric_limits<Number>::max() / 2;
    static constexpr std::size_t most_width = 4096;

    /// Which numbers of GPUs there are rows for: of all types but the one with the most. Where they are too
    /// many together, types with many have none: as many as anybody wants.
    void set_numbers(const StageTables& tables, const std::vector<int>& gpus) {
        most_.assign(gpus.size(), 0);
        stride_.assign(gpus.size(), 0);
        std::vector<int> widest(gpus.size(), 0);
        for (const StageClass& its : tables.classes())
            widest[its.gpu_type] = std::max(widest[its.gpu_type], its.tensor_parallel);
        for (std::size_t t = 0; t < gpus.size(); ++t)
            most_[t] = std::min(gpus[t], widest[t] * static_cast<int>(layers_));
        std::vector<std::size_t> order(gpus.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return std::pair(most_[a], a) < std::pair(most_[b], b);
        });
        counted_ = order.back();
        order.pop_back();
        width_ = run_ = 1;
        none_ = 0;
        firsts_.assign(1, 0);
        for (const std::size_t t : order) {
            if (widest[t] == 0) continue;
            // In front of no GPUs, there is room for fewer than none.
            const auto below = static_cast<std::size_t>(widest[t]),
                       numbers = static_cast<std::size_t>(most_[t]) + 1;
            if (width_ * (below + numbers) > most_width) break;
            stride_[t] = width_;
            none_ += below * width_;
            if (width_ == 1) {
                run_ = numbers;
                firsts_ = {below};
            } else {
                std::vector<std::size_t> all;
                for (std::size_t number = 0; number < numbers; ++number)
                    for (const std::size_t first : firsts_) all.push_back(first + (below + number) * width_);
                firsts_ = std::move(all);
            }
            width_ *= below + numbers;
        }
    }

    /// What stages need of which the first is of a class, where that is less.
    void lower(Number* here, const Number* behind, const StageClass& its) const {
        const auto gpus = static_cast<std::size_t>(its.tensor_parallel);
        const Number more = its.gpu_type == counted_ ? its.tensor_parallel : 0;
        for (const std::size_t first : firsts_) {
            const Number* const from = behind + first - gpus * stride_[its.gpu_type];
            Number* const to = here + first;
            for (std::size_t i = 0; i < run_; ++i) to[i] = std::min(to[i], from[i] + more);
        }
    }

    [[nodiscard]] Number* row(std::size_t left, std::size_t layer) {
        return &needs_[(left * (layers_ + 1) + layer) * width_];
    }

    std::size_t layers_ = 0, counted_ = 0;
    std::vector<int> most_{};            // by type
    std::vector<std::size_t> stride_{};  // by type; 0: the one that is counted, or as many as anybody wants
    std::size_t width_ = 1, none_ = 0;   // of a row; where it says what is needed with none of the others
    std::size_t run_ = 1;                // numbers side by side that there may be
    std::vector<std::size_t> firsts_{};  // where such runs begin
    std::vector<Number> needs_{};        // by stages left, layer
    std::vector<double> spending_{};     // the same
};

}  // namespace goodput::detail

#endif
