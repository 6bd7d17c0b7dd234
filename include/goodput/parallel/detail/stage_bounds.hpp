#ifndef GOODPUT_PARALLEL_DETAIL_STAGE_BOUNDS_HPP
#define GOODPUT_PARALLEL_DETAIL_STAGE_BOUNDS_HPP

// How long the largest stage of a plan takes at least: in less time, the stages that there are GPUs for could
// not compute all layers together.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/parallel/detail/search_box.hpp"

namespace goodput::detail {

/// Seconds that a micro-batch takes at least: every layer is computed once, somewhere.
[[nodiscard]] inline double through(const StageTables& tables) {
    double sum = 0;
    for (std::size_t l = 0; l < tables.layers(); ++l) {
        double fastest = never;
        for (const StageClass& k : tables.classes())
            fastest = std::min(fastest, k.compute[l + 1] - k.compute[l]);
        sum += fastest;
    }
    return sum * (1 - 1e-9);
}

/// The most of the model's work that a stage of class k can do in some seconds for a micro-batch.
[[nodiscard]] inline double most_work(const StageTables& tables, std::size_t k, double seconds) {
    double most = 0;
    std::size_t end = 0;
    for (std::size_t begin = 0; end < tables.layers(); ++begin) {
        end = std::max(end, begin);
        while (end < tables.room(k, 1, begin) && tables.compute(k, begin, end + 1) <= seconds) ++end;
        most = std::max(most, tables.work()[end] - tables.work()[begin]);
        if (begin + 1 == tables.layers()) break;
    }
    return most;
}

/// The largest stage takes at least so long: with shorter ones the GPUs would not have room for all
/// layers, if every GPU had as many as it can compute in that time. Sets the
/// division's first prices.
[[nodiscard]] inline double least_largest(BatchDivision& division) {
    const StageTables& tables = division.common->tables;
    const auto enough = [&](double seconds) {
        std::vector<double> rate(division.gpus.size(), 0);
        for (std::size_t k = 0; k < tables.size(); ++k) {
            const StageClass& its = tables.classes()[k];
            rate[its.gpu_type] =
                std::max(rate[its.gpu_type], most_work(tables, k, seconds) / its.tensor_parallel);
        }
        double sum = 0;
        for (std::size_t t = 0; t < rate.size(); ++t) sum += rate[t] * division.gpus[t];
        if (sum * (1 + 1e-9) < 1) return false;
        // First prices: by how much a GPU of each type can compute in that time.
        division.price.assign(rate.size() + 1, 0);
        for (std::size_t t = 0; t < rate.size(); ++t)
            division.price[t] = 0.3 * through(tables) * rate[t] / sum;
        return true;
    };
    double low = 0, high = 0;
    for (std::size_t k = 0; k < tables.size(); ++k)
        high = std::max(high, tables.compute(k, 0, tables.layers()));
    if (!enough(high)) return never;
    for (int i = 0; i < 40 && high - low > 1e-6 * high; ++i)
        (enough((low + high) / 2) ? high : low) = (low + high) / 2;
    return low * (1 - 1e-9);
}

}  // namespace goodput::detail

#endif
