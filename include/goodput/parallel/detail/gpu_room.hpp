#ifndef GOODPUT_PARALLEL_DETAIL_GPU_ROOM_HPP
#define GOODPUT_PARALLEL_DETAIL_GPU_ROOM_HPP

// Whether the GPUs suffice for the stages of a chain. GPUs of all types are counted together by weights of
// the types: where the weighted sum that the stages need exceeds that of the GPUs, they do not suffice.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/search_box.hpp"

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
            test.need = stage_charges(division.common->tables, division.replicas, [&](const StageClass& its) {
                return its.tensor_parallel * weight[its.gpu_type];
            });
            test.least = *std::min_element(test.need.begin(), test.need.end());
            test.weight = std::move(weight);
            left_.push_back(refund(box.gpus, test.weight) * (1 + 1e-12));
            division.tests.push_back(std::move(test));
        }
    }
    /// Takes the GPUs of a stage of class k; false, and nothing taken, where they do not suffice for the
    /// stages behind it.
    bool take(const BatchDivision& division, std::size_t k, std::size_t behind) {
        for (std::size_t i = 0; i < left_.size(); ++i)
            if (division.tests[i].need[k] + static_cast<double>(behind) * division.tests[i].least > left_[i])
                return false;
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= division.tests[i].need[k];
        return true;
    }
    /// Gives back what take() took.
    void give(const BatchDivision& division, std::size_t k) {
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] += division.tests[i].need[k];
    }

private:
    std::vector<double> left_{};  // by test
};

}  // namespace goodput::detail

#endif
