#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_CHARGES_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_CHARGES_HPP

// What stages are charged for their GPUs. Replicas of other classes may help in a stage where they are as
// fast, so a stage pays for the cheapest replicas that it can have, and its class only says how many of them
// are its own. The charges are prices, counts of GPUs or spending.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/stage_tables.hpp"

namespace goodput::detail {

/// What a replica of a stage is charged at least, in the mean. Kept by class alone where no other classes may
/// help, otherwise by span of layers too.
class StageCharges {
public:
    /// Whoever the replicas are.
    std::vector<double> least{};
    /// Where all replicas but fewer than half are of the stage's class.
    std::vector<double> own{};
    /// Where half of the replicas or more are of other classes.
    std::vector<double> shared{};

    /// Where the charges of class k for layers [begin, end) are kept.
    [[nodiscard]] std::size_t at(std::size_t k, std::size_t begin, std::size_t end) const {
        return row_ == 0 ? k : (k * rows_ + begin) * row_ + end;
    }
    /// From one end of a stage's layers to the next: how much further on its charges are kept.
    [[nodiscard]] std::size_t step() const { return row_ == 0 ? 0 : 1; }

    /// Sets the charges for `charge_of(class)` of each of a stage's replicas.
    template <class Charge>
    void charge(const StageTables& tables, int replicas, Charge charge_of) {
        const std::size_t classes = tables.size(), layers = tables.layers();
        const bool mixed = tables.is_mixed();
        row_ = mixed ? layers + 1 : 0;
        rows_ = mixed ? layers : 1;
        own.resize(mixed ? tables.spans() : classes);
        if (!mixed) {
            for (std::size_t k = 0; k < classes; ++k) own[k] = charge_of(tables.classes()[k]);
            least = own;
            shared.assign(classes, never);
            return;
        }
        std::vector<double> each;
        for (const StageClass& its : tables.classes()) each.push_back(charge_of(its));
        least.assign(tables.spans(), never);
        shared.assign(tables.spans(), never);
        const int half = replicas / 2;
        const double few = std::max(half - 1, 0) / static_cast<double>(replicas);
        const double many = half / static_cast<double>(replicas);
        for (std::size_t k = 0; k < classes; ++k)
            for (std::size_t begin = 0; begin < layers; ++begin)
                for (std::size_t end = begin + 1; end <= layers; ++end) {
                    double other = never;
                    tables.for_each_joining(k, begin, end, [&](std::size_t joining) {
                        if (joining != k) other = std::min(other, each[joining]);
                    });
                    const double any = std::min(each[k], other);
                    const std::size_t here = tables.span(k, begin, end);
                    own[here] = (1 - few) * each[k] + few * any;
                    if (half > 0 && other < never) shared[here] = many * other + (1 - many) * any;
                    least[here] = std::min(own[here], shared[here]);
                }
    }

private:
    std::size_t row_ = 0, rows_ = 1;
};

/// What the prices of all GPUs that there are take off a sum; both by type.
[[nodiscard]] inline double refund(const std::vector<double>& gpus, const std::vector<double>& price) {
    double sum = 0;
    for (std::size_t t = 0; t < gpus.size(); ++t) sum += price[t] * gpus[t];
    return sum;
}

}  // namespace goodput::detail

#endif
