#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_RELAXATION_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_RELAXATION_HPP

// The cheapest chain at prices. The slowest replicas of a plan's stages, a class for each stage, are its
// chain: no plan is faster than its chain by the tables of StageTables. With prices on GPUs,
//
//     plan >= time of its chain + price * (GPUs of the plan - GPUs there are) / replicas
//          >= the least, over all chains, of time + price of the cheapest replicas as fast as the chain's
//             - price * GPUs there are / replicas,
//
// which bounds all plans, those with mixed stages and mixed zones too, and whose least is a dynamic programme
// over (stages left, layer, class). The largest stage is capped instead of priced: the search cuts its range.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/reduce_tables.hpp"
#include "goodput/parallel/detail/stage_charges.hpp"
#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// One class for each stage.
struct Chain {
    std::vector<std::size_t> ends{};     ///< by stage: the layer behind its last one
    std::vector<std::size_t> classes{};  ///< by stage
};

/// Least sums of computing, sending and price by stages left, class and layer of the first of them.
class ChainRelaxation {
public:
    explicit ChainRelaxation(const StageTables& tables) : tables_(&tables), stages_(tables.layers()) {
        const std::size_t cells = (stages_ + 1) * (tables.layers() + 1) * tables.size();
        sum_.resize(cells);
        behind_.resize(cells);
        start_.resize(tables.layers() * tables.size());
        limit_.resize(tables.layers() * tables.size());
    }

    /// Fills the tables up to `stages` stages for prices of stages and a cap on computing + sending of a
    /// stage.
    void solve(const StageCharges& price, double cap, const ReduceTables* reduce, double reduce_cap,
               std::size_t stages) {
        price_ = &price;
        cap_ = cap;
        const std::size_t layers = tables_->layers();
        for (std::size_t k = 0; k < tables_->size(); ++k)
            for (std::size_t layer = layers; layer-- > 0;) {
                // The cap does not depend on what is behind.
                std::size_t end = layers;
                while (end > layer &&
                       ((reduce != nullptr && reduce->at_least[tables_->span(k, layer, end)] > reduce_cap) ||
                        !within(k, layer, end)))
                    --end;
                limit_[k * layers + layer] = end;
            }
        for (std::size_t left = 1; left <= std::min(stages, stages_); ++left) {
            for (std::size_t k = 0; k < tables_->size(); ++k) best_stages(left, k);
            for (std::size_t layer = 1; layer + left <= layers; ++layer) best_next(left, layer);
        }
    }

    /// Least sum of what is behind a stage of class k that ends before `layer`, with what crosses the
    /// boundary; `left` stages are behind it. `first`: that stage is the first one of more than three.
    [[nodiscard]] double behind(std::size_t left, std::size_t layer, std::size_t k, bool first) const {
        return behind_[at(left, layer, k)] + (first ? tables_->least_forward(layer, k) : 0);
    }

    /// Least sum of any chain with that many stages.
    [[nodiscard]] double total(std::size_t stages) const {
        double least = never;
        for (std::size_t k = 0; k < tables_->size(); ++k)
            least = std::min(least, best_end(stages, 0, k, stages > 3).first);
        return least;
    }
    /// A chain with that sum; empty if there is none.
    [[nodiscard]] Chain best(std::size_t stages) const {
        Chain chain;
        double least = never;
        std::size_t k = 0, layer = 0;
        for (std::size_t its = 0; its < tables_->size(); ++its)
            if (const double sum = best_end(stages, 0, its, stages > 3).first; sum < least) {
                least = sum;
                k = its;
            }
        if (least == never) return chain;
        for (std::size_t left = stages;; --left) {
            const bool first = left == stages && stages > 3;
            const std::size_t end = best_end(left, layer, k, first).second;
            chain.ends.push_back(end);
            chain.classes.push_back(k);
            if (left == 1) return chain;
            const double* const cross = tables_->crossing(end, k, left == 2);
            std::size_t best_class = 0;
            double sum = never;
            for (std::size_t next = 0; next < tables_->size(); ++next)
                if (const double its = sum_[at(left - 1, end, next)] + cross[next]; its < sum) {
                    sum = its;
                    best_class = next;
                }
            k = best_class;
            layer = end;
        }
    }

private:
    [[nodiscard]] std::size_t at(std::size_t left, std::size_t layer, std::size_t k) const {
        return (left * tables_->size() + k) * (tables_->layers() + 1) + layer;
    }

    /// Whether a stage may end there, by the least that it sends.
    [[nodiscard]] bool within(std::size_t k, std::size_t layer, std::size_t end) const {
        const double received = layer > 0 ? tables_->least_backward(layer, k) : 0;
        const double sent = end < tables_->layers() ? tables_->least_forward(end, k) : received;
        return tables_->compute(k, layer, end) + received + sent <= cap_;
    }

    /// The least sum of a stage and all behind it, and where it ends.
    [[nodiscard]] std::pair<double, std::size_t> best_end(std::size_t left, std::size_t layer, std::size_t k,
                                                          bool first) const {
        const std::size_t layers = tables_->layers(), room = tables_->room(k, left, layer);
        const std::size_t limit = std::min(room, limit_[k * layers + layer]);
        if (left == 1) {
            if (limit < layers) return {never, layers};
            return {tables_->compute(k, layer, layers) + price_->least[price_->at(k, layer, layers)], layers};
        }
        const std::size_t most = std::min(limit, layers - (left - 1));
        const double* const behind = &behind_[at(left - 1, 0, k)];
        const double* const compute = tables_->classes()[k].compute.data();
        const double* const price = &price_->least[price_->at(k, layer, 0)];
        const std::size_t step = price_->step();
        double least = never;
        std::size_t last = layer;
        for (std::size_t end = layer + 1; end <= most; ++end) {
            double whole = compute[end] + behind[end] + price[end * step];
            if (first) whole += tables_->least_forward(end, k);  // it counts twice
            if (whole < least) {
                least = whole;
                last = end;
            }
        }
        return {least + tables_->overhead() - compute[layer], last};
    }

    void best_stages(std::size_t left, std::size_t k) {
        for (std::size_t layer = 0; layer + left <= tables_->layers(); ++layer)
            sum_[at(left, layer, k)] = best_end(left, layer, k, false).first;
    }

    /// Sums of what is behind a boundary, for all classes before it.
    void best_next(std::size_t left, std::size_t layer) {
        const std::size_t classes = tables_->size();
        for (std::size_t next = 0; next < classes; ++next) start_[next] = sum_[at(left, layer, next)];
        for (std::size_t k = 0; k < classes; ++k) {
            const double* const cross = tables_->crossing(layer, k, left == 1);
            double least = never;
            for (std::size_t next = 0; next < classes; ++next)
                least = std::min(least, start_[next] + cross[next]);
            behind_[at(left, layer, k)] = least;
        }
    }

    const StageTables* tables_;
    std::size_t stages_;
    const StageCharges* price_ = nullptr;
    double cap_ = never;
    std::vector<double> sum_{}, behind_{}, start_{};
    std::vector<std::size_t> limit_{};
};

}  // namespace goodput::detail

#endif
