#ifndef GOODPUT_PARALLEL_DETAIL_GPU_ROOM_HPP
#define GOODPUT_PARALLEL_DETAIL_GPU_ROOM_HPP

// Whether the GPUs suffice for the stages of a chain. GPUs of all types are counted together by weights of
// the types: where the weighted sum that the stages need exceeds that of the GPUs, they do not suffice.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/search_box.hpp"
#include "goodput/parallel/detail/stage_charges.hpp"

namespace goodput::detail {

/// The GPUs that a growing chain has left, by several weights.
class GpuRoom {
public:
    /// Begins with all GPUs that the box may have.
    void begin(BatchDivision& division, const SearchBox& box) {
        left_.clear();
        if (!division.tests.empty()) {
            for (const GpuTest& test : division.tests)
                left_.push_back(refund(box.gpus, test.weight) * (1 + 1e-12));
            return;
        }
        const std::size_t types = division.gpus.size();
        std::vector<std::vector<double>> weights{std::vector<double>(types, 1)};
        for (std::size_t t = 0; t < types && types > 1; ++t) {
            weights.emplace_back(types, 0);
            weights.back()[t] = 1;
            for (const double factor : {2.0, 4.0}) {
                weights.emplace_back(types, 1);
                weights.back()[t] = factor;
            }
        }
        for (auto& weight : weights) {
            GpuTest test;
            test.need.charge(division.common->tables, division.replicas, [&](const StageClass& its) {
                return its.tensor_parallel * weight[its.gpu_type];
            });
            test.least = *std::min_element(test.need.least.begin(), test.need.least.end());
            test.weight = std::move(weight);
            left_.push_back(refund(box.gpus, test.weight) * (1 + 1e-12));
            division.tests.push_back(std::move(test));
        }
    }
    /// Takes a stage's GPUs; false, and nothing taken, where they do not suffice for the stages behind it.
    bool take(const BatchDivision& division, std::size_t at, bool shared, std::size_t behind) {
        const auto need = [&](const GpuTest& test) {
            return (shared ? test.need.shared : test.need.own)[at];
        };
        for (std::size_t i = 0; i < left_.size(); ++i)
            if (need(division.tests[i]) + static_cast<double>(behind) * division.tests[i].least > left_[i])
                return false;
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= need(division.tests[i]);
        return true;
    }
    /// Gives back what take() took.
    void give(const BatchDivision& division, std::size_t at, bool shared) {
        for (std::size_t i = 0; i < left_.size(); ++i)
            left_[i] += (shared ? division.tests[i].need.shared : division.tests[i].need.own)[at];
    }

private:
    std::vector<double> left_{};  // by test
};

/// Whether the GPUs suffice for a chain if parts of replicas could be dealt out: false is a proof that
/// they do not, by prices of types at which every stage's cheapest replicas cost more than all GPUs.
/// `with_others`: by stage, whether half of its replicas or more are of other classes.
[[nodiscard]] inline bool may_suffice(const BatchDivision& division, const Chain& chain,
                                      const std::vector<bool>& with_others) {
    const std::size_t stages = chain.ends.size();
    const StageTables& tables = division.common->tables;
    const std::size_t types = division.gpus.size();
    // By stage: the classes that may compute it.
    std::vector<std::vector<std::size_t>> able;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        able.emplace_back();
        const std::size_t end = chain.ends[s];
        tables.for_each_joining(chain.classes[s], begin, end, [&](std::size_t k) {
            if (tables.room(k, stages - s, begin) >= end) able.back().push_back(k);
        });
        begin = end;
    }
    const auto too_dear = [&](const std::vector<double>& weight) {
        double need = 0;
        const auto charge = [&](std::size_t k) {
            const StageClass& its = tables.classes()[k];
            return its.tensor_parallel * weight[its.gpu_type];
        };
        const int half = division.replicas / 2;
        for (std::size_t s = 0; s < able.size(); ++s) {
            const std::size_t mine = chain.classes[s];
            double other = never;
            for (const std::size_t k : able[s])
                if (k != mine) other = std::min(other, charge(k));
            const double any = std::min(charge(mine), other);
            const double few = std::max(half - 1, 0), all = division.replicas;
            if (!with_others[s])
                need += (all - few) / all * charge(mine) + few / all * any;
            else if (other == never)
                return true;
            else
                need += half / all * other + (all - half - 1) / all * any + charge(mine) / all;
        }
        return need > refund(division.gpus, weight) * (1 + 1e-9);
    };
    // Where prices of two types make two degrees equal, their ratio is that of the degrees.
    std::vector<double> steps{0};
    for (double step = 1; step <= 64; step *= 2) steps.push_back(step);
    std::vector<std::size_t> digit(types, 0);
    std::vector<double> weight(types, 0);
    for (;;) {
        std::size_t t = 0;
        while (t < types && ++digit[t] == (types <= 3 ? steps.size() : 2)) digit[t++] = 0;
        if (t == types) return true;
        for (t = 0; t < types; ++t) weight[t] = steps[digit[t]];
        if (too_dear(weight)) return false;
    }
}

}  // namespace goodput::detail

#endif
