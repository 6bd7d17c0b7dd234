#ifndef GOODPUT_ALLOT_DETAIL_REDUCTION_HPP
#define GOODPUT_ALLOT_DETAIL_REDUCTION_HPP

// Makes a problem without the options that need not be considered. The units that a job uses with every
// remaining option are taken off the capacities for good. With smaller capacities, the rows that cut off
// fractional solutions (cover_rows.hpp, rounding_rows.hpp) are stronger. Jobs and values stay as they are,
// so bounds and allotments have the same value in both problems.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/whole_units.hpp"

namespace goodput::inline v0_1::detail {

/// Makes reduced problems. Keeps its memory.
class Reduction {
public:
    CompactProblem problem;  ///< the reduced problem; `original` is the index of the option in the larger one

    /// Makes the reduced problem. `most`: by option, 0 if it is left out. Returns false if no allotment
    /// fits, because the units taken off exceed a capacity.
    bool operator()(const CompactProblem& larger, std::span<const double> most) {
        problem.begin_like(larger, larger.count, larger.uses.size());
        problem.must = larger.must;
        problem.single.assign(larger.groups(), 0);
        problem.magnitude = larger.magnitude;
        problem.granularity = larger.granularity;
        for (std::size_t group = 0; group < larger.groups(); ++group) add_group(larger, group, most);
        problem.first.push_back(problem.count);
        problem.close();
        bool fits = true;
        for (std::size_t r = 0; r < problem.resources(); ++r) {
            fits = fits && problem.capacity[r] >= -problem.tolerance[r];
            problem.capacity[r] = std::max(problem.capacity[r], 0.0);
        }
        whole_units_(problem);
        return fits;
    }

private:
    void add_group(const CompactProblem& larger, std::size_t group, std::span<const double> most) {
        const std::uint32_t first = larger.first[group], end = larger.first[group + 1];
        problem.first.push_back(problem.count);
        least_.assign(larger.resources(), std::numeric_limits<double>::infinity());
        for (std::uint32_t k = first; k < end; ++k) {
            if (most[k] == 0) continue;
            units_.assign(larger.resources(), 0);
            for (const ResourceUse& use : larger.uses_of(k)) units_[use.resource] = use.units;
            for (std::size_t r = 0; r < least_.size(); ++r) least_[r] = std::min(least_[r], units_[r]);
        }
        for (std::uint32_t k = first; k < end; ++k) {
            if (most[k] == 0) continue;
            uses_.clear();
            for (const ResourceUse& use : larger.uses_of(k))
                if (use.units > least_[use.resource])
                    uses_.push_back({use.resource, use.units - least_[use.resource]});
            problem.append(larger.value[k], k, uses_);
        }
        for (std::size_t r = 0; r < least_.size(); ++r)
            if (least_[r] < std::numeric_limits<double>::infinity())
                problem.capacity[r] -= larger.copies(group) * least_[r];
        problem.end_hull.push_back(problem.count);
    }

    WholeUnits whole_units_;
    // By resource: the units that every option of a group uses at least, and the units that one option
    // uses.
    std::vector<double> least_, units_;
    std::vector<ResourceUse> uses_;
};

}  // namespace goodput::inline v0_1::detail

#endif
