#ifndef GOODPUT_ALLOT_DETAIL_WHOLE_UNITS_HPP
#define GOODPUT_ALLOT_DETAIL_WHOLE_UNITS_HPP

// Tightens a problem in two ways, because a job takes an option as a whole or not at all. First, let the
// granule of a resource be the greatest common divisor of all uses of it. Only multiples of the granule can
// be used, so capacities are rounded down to such a multiple. Second, for a size b
//
//     sum of floor(units / b)  <=  floor(capacity / b).
//
// This becomes a row with b as the least use above the granule. The row is left out if b divides the
// capacity, or if another resource implies it: every option takes at least as large a part of that
// resource's capacity as of the row's. (The blocks of nodes in schedule/detail/node_blocks.hpp are such
// rows.) More rows would cost more than they prove.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

/// Tightens problems. Keeps its memory.
class WholeUnits {
public:
    /// Tightens `problem` in both ways. Returns whether that changed it.
    bool operator()(CompactProblem& problem) {
        const std::size_t resources = problem.resources();
        bool changed = false;
        problem.find_granules(granules_);
        for (std::size_t r = 0; r < resources; ++r) {
            const double granule = granules_[r], all = problem.capacity[r] + problem.tolerance[r];
            if (granule == 0 || std::isinf(granule) || !(all < 0x1p53)) continue;
            const double usable = std::floor(all / granule) * granule;
            if (usable >= problem.capacity[r]) continue;
            problem.capacity[r] = usable;
            changed = true;
        }
        sizes_.assign(resources, std::numeric_limits<double>::infinity());
        for (const ResourceUse& use : problem.uses)
            if (use.units > granules_[use.resource])
                sizes_[use.resource] = std::min(sizes_[use.resource], use.units);
        rows_.clear();
        for (std::size_t r = 0; r < resources; ++r)
            if (granules_[r] > 0 && sizes_[r] <= problem.capacity[r] &&
                std::fmod(problem.capacity[r], sizes_[r]) != 0)
                rows_.push_back(
                    {r, sizes_[r], std::floor((problem.capacity[r] + problem.tolerance[r]) / sizes_[r])});
        std::erase_if(rows_, [&](const Row& row) { return is_implied(problem, row); });
        if (rows_.empty()) return changed;
        append_rows(problem);
        return true;
    }

private:
    struct Row {
        std::size_t resource;
        double size, capacity;
    };

    /// Returns how many blocks of the row an option takes.
    static double blocks(const Row& row, std::span<const ResourceUse> uses) {
        return std::floor(units_of(uses, row.resource) / row.size);
    }

    bool is_implied(const CompactProblem& problem, const Row& row) {
        implying_.resize(problem.resources());
        for (std::uint32_t r = 0; r < implying_.size(); ++r) implying_[r] = r;
        for (std::uint32_t k = 0; k < problem.count && !implying_.empty(); ++k) {
            const std::span<const ResourceUse> uses = problem.uses_of(k);
            const double taken = blocks(row, uses);
            if (taken == 0) continue;
            std::erase_if(implying_, [&](std::uint32_t resource) {
                return std::ranges::none_of(uses, [&](const ResourceUse& use) {
                    return use.resource == resource &&
                           taken * problem.capacity[resource] <= use.units * row.capacity;
                });
            });
        }
        return !implying_.empty();
    }

    void append_rows(CompactProblem& problem) {
        const auto resources = static_cast<std::uint32_t>(problem.resources());
        for (const Row& row : rows_) {
            problem.capacity.push_back(row.capacity);
            problem.tolerance.push_back(capacity_tolerance(row.capacity));
        }
        uses_.clear();
        for (std::size_t group = 0; group < problem.groups(); ++group)
            for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
                const std::span<const ResourceUse> uses = problem.uses_of(k);
                problem.first_use[k] = static_cast<std::uint32_t>(uses_.size());
                uses_.insert(uses_.end(), uses.begin(), uses.end());
                for (std::uint32_t i = 0; i < rows_.size(); ++i)
                    if (const double taken = blocks(rows_[i], uses); taken > 0) {
                        uses_.push_back({resources + i, taken});
                        problem.single[group] = 0;
                        problem.end_hull[group] = problem.first[group + 1];
                    }
            }
        problem.first_use[problem.count] = static_cast<std::uint32_t>(uses_.size());
        problem.uses = uses_;
    }

    std::vector<double> granules_, sizes_;  // by resource: its granule, and its least use above the granule
    std::vector<Row> rows_;
    std::vector<std::uint32_t> implying_;  // resources that imply the row
    std::vector<ResourceUse> uses_;
};

}  // namespace goodput::inline v0_1::detail

#endif
