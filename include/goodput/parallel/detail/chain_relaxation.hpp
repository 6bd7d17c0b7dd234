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
        limit_.resize(tables.layers() * tables.size());
        ends_.resize(tables.layers() + 1);
    }

    /// Fills the tables up to `stages` stages for prices of stages and a cap on computing + sending of a
    /// stage.
    void solve(const StageCharges& price, double cap, const ReduceTables* reduce, double reduce_cap,
               std::size_t stages) {
        price_ = &price;
        cap_ = cap;
        const std::size_t layers = tables_->layers();
        for (std::size_t k = 0; k < tables_->size(); ++k) set_limits(k, reduce, reduce_cap);
        for (std::size_t left = 1; left <= std::min(stages, stages_); ++left) {
            for (std::size_t k = 0; k < tables_->size(); ++k) best_stages(left, k);
            for (std::size_t layer = 1; layer + left <= layers; ++layer) best_next(left, layer);
        }
    }

    /// Least sum of what is behind a stage of class k that ends before `layer`, with what crosses the
    /// boundary; `left` stages are behind it. `first`: that stage is the first one of more than three.
    [[nodiscard]] double behind(std::size_t left, std::size_t layer, std::size_t k, bool first) const {
        return behind_[before(left, layer) + k] + (first ? tables_->least_forward(layer, k) : 0);
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
            std::size_t best_class = 0;
            double sum = never;
            for (std::size_t next = 0; next < tables_->size(); ++next)
                if (const double its =
                        sum_[at(left - 1, end, next)] + tables_->crossing_into(end, next, left == 2)[k];
                    its < sum) {
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

    /// Of what is behind a boundary, the classes before it side by side.
    [[nodiscard]] std::size_t before(std::size_t left, std::size_t layer) const {
        return (left * (tables_->layers() + 1) + layer) * tables_->size();
    }

    /// Where stages of class k may end by the caps, which do not depend on what is behind. A stage that
    /// begins later may end where an earlier one may: limits that never fall make the ends a window that only
    /// moves on.
    void set_limits(std::size_t k, const ReduceTables* reduce, double reduce_cap) {
        const std::size_t layers = tables_->layers();
        std::size_t end = 0;
        for (std::size_t layer = 0; layer < layers; ++layer) {
            const double received = layer > 0 ? tables_->least_backward(layer, k) : 0;
            const auto within = [&](std::size_t last, double sent) {
                return tables_->compute(k, layer, last) + received + sent <= cap_ &&
                       (reduce == nullptr || reduce->at_least[tables_->span(k, layer, last)] <= reduce_cap);
            };
            end = std::max(end, layer);
            if (end < layers && within(layers, received)) end = layers;
            while (end + 1 < layers && within(end + 1, tables_->least_forward_from(end + 1, k))) ++end;
            limit_[k * layers + layer] = end;
        }
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
        const double* const behind = &behind_[before(left - 1, 0) + k];
        const double* const compute = tables_->classes()[k].compute.data();
        const double* const price = &price_->least[price_->at(k, layer, 0)];
        const std::size_t step = price_->step();
        double least = never;
        std::size_t last = layer;
        for (std::size_t end = layer + 1; end <= most; ++end) {
            double whole = compute[end] + behind[end * tables_->size()] + price[end * step];
            if (first) whole += tables_->least_forward(end, k);  // it counts twice
            if (whole < least) {
                least = whole;
                last = end;
            }
        }
        return {least + tables_->overhead() - compute[layer], last};
    }

    void best_stages(std::size_t left, std::size_t k) {
        const std::size_t layers = tables_->layers();
        if (left == 1 || price_->step() != 0) {
            for (std::size_t layer = 0; layer + left <= layers; ++layer)
                sum_[at(left, layer, k)] = best_end(left, layer, k, false).first;
            return;
        }
        // The price is the same wherever the stage ends: the least of a window of ends, which only moves on.
        // Ends that may still be the least of a later window are kept, the least of this one in front.
        const double* const behind = &behind_[before(left - 1, 0) + k];
        const double* const compute = tables_->classes()[k].compute.data();
        const double charge = price_->least[price_->at(k, 0, 1)] + tables_->overhead();
        double* const sums = &sum_[at(left, 0, k)];
        std::size_t front = 0, back = 0, next = 1;
        for (std::size_t layer = 0; layer + left <= layers; ++layer) {
            const std::size_t most =
                std::min({tables_->room(k, left, layer), limit_[k * layers + layer], layers - (left - 1)});
            for (next = std::max(next, layer + 1); next <= most; ++next) {
                const double whole = compute[next] + behind[next * tables_->size()];
                while (back > front && ends_[back - 1].first >= whole) --back;
                ends_[back++] = {whole, next};
            }
            while (front < back && ends_[front].second <= layer) ++front;
            sums[layer] = front < back ? ends_[front].first + charge - compute[layer] : never;
        }
    }

    /// Sums of what is behind a boundary, for all classes before it.
    void best_next(std::size_t left, std::size_t layer) {
        const std::size_t classes = tables_->size();
        double* const behind = &behind_[before(left, layer)];
        std::fill(behind, behind + classes, never);
        for (std::size_t next = 0; next < classes; ++next) {
            const double sum = sum_[at(left, layer, next)];
            if (sum == never) continue;
            const double* const cross = tables_->crossing_into(layer, next, left == 1);
            for (std::size_t k = 0; k < classes; ++k) {
                const double whole = sum + cross[k];
                behind[k] = whole < behind[k] ? whole : behind[k];
            }
        }
    }

    const StageTables* tables_;
    std::size_t stages_;
    const StageCharges* price_ = nullptr;
    double cap_ = never;
    std::vector<double> sum_{}, behind_{};
    std::vector<std::size_t> limit_{};
    std::vector<std::pair<double, std::size_t>> ends_{};  // of a stage: least sums, where it ends
};

}  // namespace goodput::detail

#endif
