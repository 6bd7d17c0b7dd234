#ifndef GOODPUT_PARALLEL_DETAIL_GPU_NEEDS_HPP
#define GOODPUT_PARALLEL_DETAIL_GPU_NEEDS_HPP

// Computes whether there are enough GPUs for a chain at all. A chain is a class for each stage: a GPU type
// and a tensor-parallel degree. Within caps on the stages, this header gives the smallest number of GPUs of
// one type that the last stages of a chain need, for each number of GPUs of the other types. Prices cannot
// tell this, because with them a fraction of a stage is enough.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "goodput/parallel/detail/chain_relaxation.hpp"
#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::inline v0_1::detail {

/// Least numbers of GPUs per replica, by stages left and layer.
class GpuNeeds {
public:
    /// Solves for up to `stages` stages, within the caps that the relaxation was last given. `gpus` is the
    /// most that a replica can have of each type.
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
                // Stages that begin later never need more than those that begin earlier. So the last
                // possible end of a stage is its best.
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

    /// Solves for the least spending per replica, given the spending of each class.
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
    /// Returns the least spending of the last `left` stages of a chain, which begin with `layer`.
    [[nodiscard]] double least_spending(std::size_t left, std::size_t layer) const {
        return spending_[left * (layers_ + 1) + layer];
    }

    /// Whether `gpus` of a replica may suffice for the last `left` stages of a chain, which begin with
    /// `layer`.
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

    /// Chooses which numbers of GPUs get their own entries: those of all types except the one with the
    /// most. If these are too many together, types with many GPUs get none, and count as unlimited.
    void set_numbers(const StageTables& tables, const std::vector<int>& gpus) {
        most_.assign(gpus.size(), 0);
        stride_.assign(gpus.size(), 0);
        std::vector<int> widest(gpus.size(), 0);
        for (const StageClass& stage_class : tables.classes())
            widest[stage_class.gpu_type] =
                std::max(widest[stage_class.gpu_type], stage_class.tensor_parallel);
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
            // Entries below zero GPUs represent fewer than none, so lower() needs no checks.
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

    /// Lowers the needs of a chain to those with a first stage of this class, where these are smaller.
    void lower(Number* here, const Number* behind, const StageClass& first_class) const {
        const auto gpus = static_cast<std::size_t>(first_class.tensor_parallel);
        const Number more = first_class.gpu_type == counted_ ? first_class.tensor_parallel : 0;
        for (const std::size_t first : firsts_) {
            const Number* const from = behind + first - gpus * stride_[first_class.gpu_type];
            Number* const to = here + first;
            for (std::size_t i = 0; i < run_; ++i) to[i] = std::min(to[i], from[i] + more);
        }
    }

    [[nodiscard]] Number* row(std::size_t left, std::size_t layer) {
        return &needs_[(left * (layers_ + 1) + layer) * width_];
    }

    std::size_t layers_ = 0, counted_ = 0;
    std::vector<int> most_{};            // by type
    std::vector<std::size_t> stride_{};  // by type; 0 for the counted type and for unlimited types
    std::size_t width_ = 1, none_ = 0;   // entries of a row; the entry for no GPUs of the other types
    std::size_t run_ = 1;                // adjacent entries that are valid numbers
    std::vector<std::size_t> firsts_{};  // where runs of valid entries begin
    std::vector<Number> needs_{};        // by stages left, layer
    std::vector<double> spending_{};     // by stages left, layer
};

}  // namespace goodput::inline v0_1::detail

#endif
