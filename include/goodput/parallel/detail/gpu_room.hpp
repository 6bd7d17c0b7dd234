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

/// So many GPUs of a replica, of any of these types.
struct GpuNeed {
    double gpus = 0;
    std::vector<std::size_t> types{};
};

/// Whether needs exceed the GPUs that there are (by type) in some set of types: 1 for each of these; empty
/// where GPUs can be dealt out to all needs. Deals out need by need; where a need finds nothing, those that
/// took what it wants are asked for whatever else they can do with, and so on: a largest flow.
[[nodiscard]] inline std::vector<double> scarce_types(const std::vector<GpuNeed>& needs,
                                                      std::vector<double> left) {
    constexpr auto nobody = static_cast<std::size_t>(-1);
    const std::size_t types = left.size();
    std::vector<double> given(needs.size() * types, 0);
    double most = 0;
    for (const GpuNeed& need : needs) most = std::max(most, need.gpus);
    const double little = 1e-12 * most;
    for (std::size_t n = 0; n < needs.size(); ++n)
        for (double missing = needs[n].gpus; missing > little;) {
            std::vector<std::size_t> wanted_by(types, nobody), gives_up(needs.size(), nobody), asked{n};
            std::size_t free = nobody;
            for (std::size_t i = 0; i < asked.size() && free == nobody; ++i)
                for (const std::size_t t : needs[asked[i]].types) {
                    if (wanted_by[t] != nobody) continue;
                    wanted_by[t] = asked[i];
                    if (left[t] > little) {
                        free = t;
                        break;
                    }
                    for (std::size_t other = 0; other < needs.size(); ++other)
                        if (other != n && gives_up[other] == nobody && given[other * types + t] > little) {
                            gives_up[other] = t;
                            asked.push_back(other);
                        }
                }
            if (free == nobody) {
                std::vector<double> scarce(types, 0);
                for (std::size_t t = 0; t < types; ++t) scarce[t] = wanted_by[t] == nobody ? 0 : 1;
                return scarce;
            }
            double moved = std::min(missing, left[free]);
            for (std::size_t by = wanted_by[free]; by != n; by = wanted_by[gives_up[by]])
                moved = std::min(moved, given[by * types + gives_up[by]]);
            left[free] -= moved;
            missing -= moved;
            for (std::size_t t = free;;) {
                const std::size_t by = wanted_by[t];
                given[by * types + t] += moved;
                if (by == n) break;
                t = gives_up[by];
                given[by * types + t] -= moved;
            }
        }
    return {};
}

/// Whether the GPUs suffice for a chain if parts of replicas could be dealt out: false is a proof that
/// they do not, by prices of types at which every stage's cheapest replicas cost more than all GPUs.
/// `with_others`: by stage, whether half of its replicas or more are of other classes.
[[nodiscard]] inline bool may_suffice(const BatchDivision& division, const Chain& chain,
                                      const std::vector<bool>& with_others) {
    const std::size_t stages = chain.ends.size(), types = division.gpus.size();
    const StageTables& tables = division.common->tables;
    const int half = division.replicas / 2;
    const double all = division.replicas, few = std::max(half - 1, 0);
    /// Part of the replicas of a stage, and the classes that they may be of.
    struct Part {
        double replicas = 0;
        std::vector<std::size_t> classes{};
    };
    std::vector<Part> parts;
    std::vector<bool> counts(types, false);  // types that any of them may be of
    std::size_t begin = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t mine = chain.classes[s], end = chain.ends[s];
        std::vector<std::size_t> others, any{mine};
        tables.for_each_joining(mine, begin, end, [&](std::size_t k) {
            if (k != mine && tables.room(k, division.in_flight(stages - s), begin) >= end)
                others.push_back(k);
        });
        any.insert(any.end(), others.begin(), others.end());
        for (const std::size_t k : any) counts[tables.classes()[k].gpu_type] = true;
        if (with_others[s] && others.empty()) return false;
        if (with_others[s]) parts.push_back({half / all, std::move(others)});
        parts.push_back({(with_others[s] ? 1 : all - few) / all, {mine}});
        parts.push_back({(with_others[s] ? all - half - 1 : few) / all, std::move(any)});
        begin = end;
    }
    const auto too_dear = [&](const std::vector<double>& weight) {
        double need = 0;
        for (const Part& part : parts) {
            double least = never;
            for (const std::size_t k : part.classes) {
                const StageClass& its = tables.classes()[k];
                least = std::min(least, its.tensor_parallel * weight[its.gpu_type]);
            }
            need += part.replicas * least;
        }
        return need > refund(division.gpus, weight) * (1 + 1e-9);
    };
    std::vector<GpuNeed> needs;
    for (const Part& part : parts) {
        GpuNeed need{never, {}};
        for (const std::size_t k : part.classes) {
            const StageClass& its = tables.classes()[k];
            need.gpus = std::min(need.gpus, part.replicas * its.tensor_parallel);
            need.types.push_back(its.gpu_type);
        }
        needs.push_back(std::move(need));
    }
    if (const std::vector<double> scarce = scarce_types(needs, division.gpus);
        !scarce.empty() && too_dear(scarce))
        return false;
    // Of few types all prices are tried whose ratio is that of two degrees: at these it makes no difference
    // which of two types a replica takes.
    std::vector<std::size_t> priced;
    for (std::size_t t = 0; t < types; ++t)
        if (counts[t]) priced.push_back(t);
    if (priced.size() < 2 || priced.size() > 3 || !tables.is_mixed()) return true;
    constexpr std::size_t steps = 8;  // 0, 1, 2, 4, ..., 64
    std::size_t ways = steps;
    for (std::size_t i = 1; i < priced.size(); ++i) ways *= steps;
    std::vector<double> weight(types, 0);
    for (std::size_t way = 1; way < ways; ++way) {
        std::size_t digits = way;
        for (const std::size_t t : priced) {
            const std::size_t step = digits % steps;
            weight[t] = step == 0 ? 0 : static_cast<double>(std::size_t{1} << (step - 1));
            digits /= steps;
        }
        if (too_dear(weight)) return false;
    }
    return true;
}

}  // namespace goodput::detail

#endif
