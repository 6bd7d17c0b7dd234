#ifndef GOODPUT_PARALLEL_DETAIL_CHAIN_RELAXATION_HPP
#define GOODPUT_PARALLEL_DETAIL_CHAIN_RELAXATION_HPP

// Finds the cheapest chain at given prices. A plan's chain has one class per stage: that of the stage's
// slowest replicas. By the tables of StageTables, no plan is faster than its chain. With prices on GPUs,
//
//     plan >= time of its chain + price * (GPUs of the plan - existing GPUs) / replicas
//          >= the least, over all chains, of time + price of the cheapest replicas as fast as the chain's
//             - price * existing GPUs / replicas.
//
// This bounds all plans, including those with mixed stages and mixed zones. A dynamic programme over
// (stages left, layer, class) finds the least. The largest stage is capped instead of priced: the search
// cuts its range.
//
// If some message must cross a cut between zones, chains are also distinguished by whether that crossing is
// still to come. GPUs of one type may be counted instead of priced. Then chains are also distinguished by
// how many of these GPUs a replica has left. That multiplies the solving time by their number, but it rules
// out fractions of a stage.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/reduce_tables.hpp"
#include "goodput/parallel/detail/stage_tables.hpp"
#include "goodput/parallel/detail/zone_regions.hpp"

namespace goodput::inline v0_1::detail {

/// One class per stage.
struct Chain {
    std::vector<std::size_t> ends{};     ///< by stage: the layer after its last one
    std::vector<std::size_t> classes{};  ///< by stage
};

/// Whether the activations that this stage sends on count twice.
[[nodiscard]] constexpr bool counts_twice(std::size_t stage, std::size_t stages) {
    return forward_weight(stage, stages) > 1;
}

/// Least sums of computing, sending and price, by number of stages left and by class and layer of the first
/// of them.
class ChainRelaxation {
public:
    explicit ChainRelaxation(const StageTables& tables) : tables_(&tables) {
        ends_.resize(tables.layers() + 1);
    }

    /// Sets caps on a stage's computing + sending and on its gradient reduction. A chain must contain one
    /// of the messages in `cut`, unless that is nullptr. `most_in_flight` is the most micro-batches that a
    /// stage keeps.
    void limit(double cap, const ReduceTables* reduce, double reduce_cap, const ClassMessages* cut,
               std::size_t most_in_flight) {
        most_in_flight_ = most_in_flight;
        cap_ = cap;
        cut_ = cut;
        const ClassMessages& any_messages = tables_->messages();
        set_limits(reduce, reduce_cap, any_messages, any_messages, limit_);
        if (cut_ == nullptr) return;
        set_limits(reduce, reduce_cap, any_messages, *cut_, limit_before_cut_);
        set_limits(reduce, reduce_cap, *cut_, any_messages, limit_after_cut_);
    }
    /// Returns the last layer boundary at which a stage of class k can end within the caps and its memory,
    /// if it begins with `layer` and is the first of the last `left` stages. Returns `layer` if there is
    /// none.
    [[nodiscard]] std::size_t last_end(std::size_t left, std::size_t layer, std::size_t k) const {
        return most_end(left, layer, k, limit_);
    }

    /// Fills the tables for up to `stages` stages within the caps, with a price per stage of each class.
    /// GPUs of type `counted` are counted: a replica has `most` of them.
    void solve(const std::vector<double>& price, std::size_t stages, std::size_t counted = none,
               std::size_t most = 0) {
        price_ = &price;
        counted_ = counted;
        numbers_ = most + 1;
        const std::size_t layers = tables_->layers();
        for (const Part part : parts())
            for (std::vector<double>* sums : {&sums_[part], &behind_[part]})
                if (sums->size() < cells()) sums->resize(cells());
        for (std::size_t left = 1; left <= std::min(stages, layers); ++left)
            for (const Part part : parts()) {
                for (std::size_t k = 0; k < tables_->size(); ++k) best_stages(left, k, part);
                for (std::size_t layer = 1; layer + left <= layers; ++layer) best_next(left, layer, part);
            }
    }

    /// Returns the least sum of the last `left` stages behind a stage of class k that ends before `layer`,
    /// including the messages over that boundary. If `first`, what that stage sends counts twice. If
    /// `crossed`, no later message has to cross the cut. `gpus` of the counted type are left.
    [[nodiscard]] double behind(std::size_t left, std::size_t layer, std::size_t k, bool first, bool crossed,
                                std::size_t gpus) const {
        const std::size_t here = before(left, layer, gpus) + k;
        const auto sum = [&](Part part) {
            return behind_[part][here] + (first ? messages(part).least_forward(layer, k) : 0);
        };
        return crossed ? sum(any) : std::min(sum(across), sum(after));
    }

    /// Returns the least sum of any chain with that many stages.
    [[nodiscard]] double total(std::size_t stages) const { return best_first(stages).first; }
    /// Returns a chain with that sum, or an empty one if there is none.
    [[nodiscard]] Chain best(std::size_t stages) const {
        Chain chain;
        auto [least, k] = best_first(stages);
        if (least == never) return chain;
        std::size_t layer = 0, gpus = numbers_ - 1;
        Part part = whole_part();
        for (std::size_t left = stages;; --left) {
            const BestStage stage =
                best_stage(left, layer, k, counts_twice(stages - left, stages), part, gpus);
            gpus -= counted_of(k);
            chain.ends.push_back(stage.end);
            chain.classes.push_back(k);
            if (left == 1) return chain;
            part = stage.behind;
            std::size_t best_class = 0;
            double sum = never;
            for (std::size_t next = 0; next < tables_->size(); ++next) {
                const double* const cross = messages(part).crossing_into(stage.end, next, left == 2);
                if (const double next_sum = sums_[part][at(left - 1, stage.end, next, gpus)] + cross[k];
                    next_sum < sum) {
                    sum = next_sum;
                    best_class = next;
                }
            }
            k = best_class;
            layer = stage.end;
        }
    }

private:
    /// Which of the last stages of a chain are summed up: any; those in which a message has to cross the cut;
    /// or those that come after a message that crosses it.
    enum Part : std::size_t { any, across, after };
    struct BestStage {
        double sum = never;
        std::size_t end = 0;
        Part behind = any;
    };
    [[nodiscard]] Part whole_part() const { return cut_ == nullptr ? any : across; }
    /// The parts that matter.
    [[nodiscard]] std::span<const Part> parts() const {
        static constexpr std::array<Part, 3> all{any, across, after};
        return std::span(all).first(cut_ == nullptr ? 1 : 3);
    }
    /// Calls visit(part behind it, limits on its end) for all ways to go on behind the first stage of a
    /// part.
    template <class Visit>
    void for_each_way(Part part, Visit visit) const {
        if (part != across) return visit(any, part == after ? limit_after_cut_ : limit_);
        visit(across, limit_);
        visit(after, limit_before_cut_);
    }
    /// Messages in front of a part.
    [[nodiscard]] const ClassMessages& messages(Part part) const {
        return part == after ? *cut_ : tables_->messages();
    }
    /// Micro-batches that are under way in a stage.
    [[nodiscard]] std::size_t in_flight(std::size_t left) const { return std::min(left, most_in_flight_); }

    [[nodiscard]] std::size_t cells() const {
        return (tables_->layers() + 1) * (tables_->layers() + 1) * tables_->size() * numbers_;
    }
    [[nodiscard]] std::size_t at(std::size_t left, std::size_t layer, std::size_t k, std::size_t gpus) const {
        return ((left * tables_->size() + k) * numbers_ + gpus) * (tables_->layers() + 1) + layer;
    }

    /// Returns the index of a boundary in the sums behind it. The classes before the boundary are adjacent.
    [[nodiscard]] std::size_t before(std::size_t left, std::size_t layer, std::size_t gpus) const {
        return ((left * (tables_->layers() + 1) + layer) * numbers_ + gpus) * tables_->size();
    }
    /// GPUs of the counted type in a replica of class k.
    [[nodiscard]] std::size_t counted_of(std::size_t k) const {
        const StageClass& stage_class = tables_->classes()[k];
        return stage_class.gpu_type == counted_ ? static_cast<std::size_t>(stage_class.tensor_parallel) : 0;
    }

    /// Computes where stages may end within the caps, which do not depend on later stages. A stage that
    /// begins later may end wherever an earlier one may. So the limits never fall, and the possible ends form
    /// a window that only moves forward. `received` and `sent` are the messages in front of the stage and
    /// behind it.
    void set_limits(const ReduceTables* reduce, double reduce_cap, const ClassMessages& received,
                    const ClassMessages& sent, std::vector<std::size_t>& limit) {
        const std::size_t layers = tables_->layers();
        limit.resize(layers * tables_->size());
        for (std::size_t k = 0; k < tables_->size(); ++k) {
            std::size_t end = 0;
            for (std::size_t layer = 0; layer < layers; ++layer) {
                const double back = layer == 0 ? 0 : received.least_backward(layer, k);
                const auto within = [&](std::size_t last, double sending) {
                    return tables_->compute(k, layer, last) + back + sending <= cap_ &&
                           (reduce == nullptr || reduce->at_least(k, layer, last) <= reduce_cap);
                };
                end = std::max(end, layer);
                if (&sent != cut_ && end < layers && within(layers, back)) end = layers;
                while (end + 1 < layers && within(end + 1, sent.least_forward_from(end + 1, k))) ++end;
                limit[k * layers + layer] = end;
            }
        }
    }

    /// Returns the least sum of a chain with that many stages, and its first class.
    [[nodiscard]] std::pair<double, std::size_t> best_first(std::size_t stages) const {
        std::pair<double, std::size_t> best{never, 0};
        for (std::size_t k = 0; k < tables_->size(); ++k)
            if (const BestStage stage =
                    best_stage(stages, 0, k, counts_twice(0, stages), whole_part(), numbers_ - 1);
                stage.sum < best.first)
                best = {stage.sum, k};
        return best;
    }
    [[nodiscard]] std::size_t most_end(std::size_t left, std::size_t layer, std::size_t k,
                                       const std::vector<std::size_t>& limits) const {
        return std::min({tables_->room(k, in_flight(left), layer), limits[k * tables_->layers() + layer],
                         tables_->layers() - (left - 1)});
    }

    /// Returns the least sum of a stage and all later ones, where the stage ends, and what is behind it.
    /// `gpus` of the counted type are left for all of them.
    [[nodiscard]] BestStage best_stage(std::size_t left, std::size_t layer, std::size_t k, bool first,
                                       Part part, std::size_t gpus) const {
        BestStage best;
        if (gpus < counted_of(k) || (part == across && left == 1)) return best;
        for_each_way(part, [&](Part behind, const std::vector<std::size_t>& limits) {
            const BestStage stage = best_end(left, layer, k, first, behind, limits, gpus - counted_of(k));
            if (stage.sum < best.sum) best = stage;
        });
        return best;
    }
    [[nodiscard]] BestStage best_end(std::size_t left, std::size_t layer, std::size_t k, bool first,
                                     Part behind_it, const std::vector<std::size_t>& limits,
                                     std::size_t gpus) const {
        const std::size_t layers = tables_->layers(), most = most_end(left, layer, k, limits);
        if (left == 1) {
            if (most < layers) return {};
            return {tables_->compute(k, layer, layers) + (*price_)[k], layers};
        }
        const double* const behind = &behind_[behind_it][before(left - 1, 0, gpus) + k];
        const double* const compute = tables_->classes()[k].compute.data();
        BestStage best{never, layer, behind_it};
        for (std::size_t end = layer + 1; end <= most; ++end) {
            double whole = compute[end] + behind[end * numbers_ * tables_->size()];
            if (first)  // the activations sent count twice
                whole += messages(behind_it).least_forward(end, k);
            if (whole < best.sum) {
                best.sum = whole;
                best.end = end;
            }
        }
        best.sum += (*price_)[k] + tables_->overhead() - compute[layer];
        return best;
    }

    /// Sets the sums of stages of class k and all later ones.
    void best_stages(std::size_t left, std::size_t k, Part part) {
        std::fill_n(&sums_[part][at(left, 0, k, 0)], numbers_ * (tables_->layers() + 1), never);
        if (part == across && left == 1) return;
        const std::size_t own_gpus = counted_of(k);
        for_each_way(part, [&](Part behind, const std::vector<std::size_t>& limits) {
            for (std::size_t gpus = own_gpus; gpus < numbers_; ++gpus)
                lower_stages(left, k, &behind_[behind][before(left - 1, 0, gpus - own_gpus) + k], limits,
                             &sums_[part][at(left, 0, k, gpus)]);
        });
    }
    /// Lowers the sums of stages to those with a way to go on, where these are smaller.
    void lower_stages(std::size_t left, std::size_t k, const double* behind,
                      const std::vector<std::size_t>& limits, double* sums) {
        const std::size_t layers = tables_->layers(), stride = numbers_ * tables_->size();
        const double* const compute = tables_->classes()[k].compute.data();
        const double charge = (*price_)[k] + tables_->overhead();
        if (left == 1) {
            for (std::size_t layer = 0; layer < layers; ++layer)
                if (most_end(left, layer, k, limits) == layers)
                    sums[layer] = compute[layers] - compute[layer] + charge;
            return;
        }
        // The price is the same wherever the stage ends. So the best end is the least in a window that only
        // moves forward. The list keeps the ends that can still be the least of a later window, the least
        // of this window first.
        std::size_t front = 0, back = 0, next = 1;
        for (std::size_t layer = 0; layer + left <= layers; ++layer) {
            const std::size_t most = most_end(left, layer, k, limits);
            for (next = std::max(next, layer + 1); next <= most; ++next) {
                const double whole = compute[next] + behind[next * stride];
                while (back > front && ends_[back - 1].first >= whole) --back;
                ends_[back++] = {whole, next};
            }
            while (front < back && ends_[front].second <= layer) ++front;
            if (front < back)
                sums[layer] = std::min(sums[layer], ends_[front].first + charge - compute[layer]);
        }
    }

    /// Sets the sums behind a boundary, for all classes before it.
    void best_next(std::size_t left, std::size_t layer, Part part) {
        const std::size_t classes = tables_->size();
        std::fill_n(&behind_[part][before(left, layer, 0)], classes * numbers_, never);
        for (std::size_t next = 0; next < classes; ++next) {
            const double* const cross = messages(part).crossing_into(layer, next, left == 1);
            for (std::size_t gpus = counted_of(next); gpus < numbers_; ++gpus) {
                const double sum = sums_[part][at(left, layer, next, gpus)];
                if (sum == never) continue;
                double* const behind = &behind_[part][before(left, layer, gpus)];
                for (std::size_t k = 0; k < classes; ++k) {
                    const double whole = sum + cross[k];
                    behind[k] = whole < behind[k] ? whole : behind[k];
                }
            }
        }
    }

    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    const StageTables* tables_;
    std::size_t most_in_flight_ = 0;
    const std::vector<double>* price_ = nullptr;  // by class
    double cap_ = never;
    const ClassMessages* cut_ = nullptr;
    std::size_t counted_ = none, numbers_ = 1;     // GPU type, and the numbers of its GPUs that are
                                                   // distinguished
    std::array<std::vector<double>, 3> sums_{};    // by part; then stages left, class, GPUs, layer
    std::array<std::vector<double>, 3> behind_{};  // by part behind a boundary; then stages left, layer,
                                                   // GPUs, class before
    // Layers at which a stage may end, by class and first layer. The messages behind the stage, or in front
    // of it, may cross the cut.
    std::vector<std::size_t> limit_{}, limit_before_cut_{}, limit_after_cut_{};
    std::vector<std::pair<double, std::size_t>> ends_{};  // least sums of a stage, and where it ends
};

}  // namespace goodput::inline v0_1::detail

#endif
