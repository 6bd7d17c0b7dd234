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

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// One class for each stage.
struct Chain {
    std::vector<std::size_t> ends{};     ///< by stage: the layer behind its last one
    std::vector<std::size_t> classes{};  ///< by stage
};

/// Least sums of computing, sending and price by stages left, layer and class of the first of them.
class ChainRelaxation {
public:
    /// `most_stages` at least 1 and at most the layers.
    ChainRelaxation(const StageTables& tables, std::size_t most_stages)
        : tables_(&tables), stages_(std::min(most_stages, tables.layers())) {
        const std::size_t cells = (stages_ + 1) * (tables.layers() + 1) * tables.size();
        sum_.resize(cells);
        behind_.resize(cells);
        behind_first_.resize(cells);
        end_.resize(cells);
        next_.resize(cells);
        next_first_.resize(cells);
    }

    [[nodiscard]] std::size_t most_stages() const { return stages_; }

    /// Fills the tables for the price of a stage, by StageTables::span(), and a cap on computing + sending of
    /// a stage.
    void solve(const std::vector<double>& price, double cap) {
        price_ = price.data();
        cap_ = cap;
        for (std::size_t left = 1; left <= stages_; ++left) {
            for (std::size_t layer = 0; layer + left <= tables_->layers(); ++layer)
                for (std::size_t k = 0; k < tables_->size(); ++k) best_stage(left, layer, k);
            for (std::size_t layer = 1; layer + left <= tables_->layers(); ++layer)
                for (std::size_t k = 0; k < tables_->size(); ++k) best_next(left, layer, k);
        }
    }

    /// Least sum of what is behind a stage of class k that ends before `layer`, with what crosses the
    /// boundary; `left` stages are behind it. `first`: that stage is the first one of more than three.
    [[nodiscard]] double behind(std::size_t left, std::size_t layer, std::size_t k, bool first) const {
        return (first ? behind_first_ : behind_)[at(left, layer, k)];
    }

    /// Least sum of any chain with that many stages.
    [[nodiscard]] double total(std::size_t stages) const {
        double least = never;
        for_each_start(stages, [&](std::size_t, std::size_t, double sum) { least = std::min(least, sum); });
        return least;
    }
    /// A chain with that sum; empty if there is none.
    [[nodiscard]] Chain best(std::size_t stages) const {
        Chain chain;
        double least = never;
        std::size_t k = 0, end = 0;
        for_each_start(stages, [&](std::size_t its, std::size_t its_end, double sum) {
            if (sum >= least) return;
            least = sum;
            k = its;
            end = its_end;
        });
        if (least == never) return chain;
        for (std::size_t left = stages - 1;; --left) {
            chain.ends.push_back(end);
            chain.classes.push_back(k);
            if (left == 0) return chain;
            const bool first = chain.ends.size() == 1 && stages > 3;
            k = (first ? next_first_ : next_)[at(left, end, k)];
            end = end_[at(left, end, k)];
        }
    }

private:
    [[nodiscard]] std::size_t at(std::size_t left, std::size_t layer, std::size_t k) const {
        return (left * (tables_->layers() + 1) + layer) * tables_->size() + k;
    }

    /// The first stage: every class, and of more than three stages every end.
    template <class Visit>
    void for_each_start(std::size_t stages, Visit visit) const {
        for (std::size_t k = 0; k < tables_->size(); ++k) {
            if (stages <= 3) {
                visit(k, end_[at(stages, 0, k)], sum_[at(stages, 0, k)]);
                continue;
            }
            const std::size_t most = std::min(tables_->room(k, stages, 0), tables_->layers() - (stages - 1));
            for (std::size_t end = 1; end <= most; ++end) {
                const double seconds = tables_->compute(k, 0, end);
                if (seconds + 2 * tables_->least_forward(end, k) > cap_) continue;
                visit(k, end,
                      seconds + price_[tables_->span(k, 0, end)] + behind_first_[at(stages - 1, end, k)]);
            }
        }
    }

    void best_stage(std::size_t left, std::size_t layer, std::size_t k) {
        double& sum = sum_[at(left, layer, k)];
        std::size_t& last = end_[at(left, layer, k)];
        sum = never;
        last = layer;
        const std::size_t layers = tables_->layers(), room = tables_->room(k, left, layer);
        const double from_before = layer > 0 ? tables_->least_backward(layer, k) : 0;
        if (left == 1) {
            last = layers;
            const double seconds = tables_->compute(k, layer, layers);
            if (room == layers && seconds + 2 * from_before <= cap_)
                sum = seconds + price_[tables_->span(k, layer, layers)];
            return;
        }
        const std::size_t most = std::min(room, layers - (left - 1));
        for (std::size_t end = layer + 1; end <= most; ++end) {
            const double seconds = tables_->compute(k, layer, end);
            if (seconds > cap_) break;
            const double whole =
                seconds + price_[tables_->span(k, layer, end)] + behind_[at(left - 1, end, k)];
            if (whole >= sum || seconds + from_before + tables_->least_forward(end, k) > cap_) continue;
            sum = whole;
            last = end;
        }
    }

    void best_next(std::size_t left, std::size_t layer, std::size_t k) {
        const std::size_t cell = at(left, layer, k);
        behind_[cell] = behind_first_[cell] = never;
        const double last = left == 1 ? 2 : 1;  // the last stage's gradients count twice
        for (std::size_t next = 0; next < tables_->size(); ++next) {
            const double rest = sum_[at(left, layer, next)];
            if (rest == never) continue;
            const double forward = tables_->forward(layer, k, next);
            const double sum = rest + forward + last * tables_->backward(layer, k, next);
            if (sum < behind_[cell]) {
                behind_[cell] = sum;
                next_[cell] = next;
            }
            if (sum + forward < behind_first_[cell]) {
                behind_first_[cell] = sum + forward;
                next_first_[cell] = next;
            }
        }
    }

    const StageTables* tables_;
    std::size_t stages_;
    const double* price_ = nullptr;
    double cap_ = never;
    std::vector<double> sum_{}, behind_{}, behind_first_{};
    std::vector<std::size_t> end_{}, next_{}, next_first_{};
};

}  // namespace goodput::detail

#endif
