#ifndef GOODPUT_ALLOT_DETAIL_COMPACT_HPP
#define GOODPUT_ALLOT_DETAIL_COMPACT_HPP

// The problem as the solver uses it. It is in contiguous memory, because all later steps are passes over
// it. Equal jobs form one group, and each of them is called a copy. Options that a best allotment does not
// need are left out. Getting nothing is an option too (value 0, no use), except for jobs that must run.
// compactor.hpp makes a compact problem.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"

namespace goodput::inline v0_1::detail {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Returns by how much a sum of units may exceed a capacity: numbers that are not whole are rounded.
inline double capacity_tolerance(double capacity) { return 1e-12 * capacity; }

/// Returns the greatest common divisor of a granule and a number of units, or 0 if the units are not a
/// whole number. A granule is the greatest common divisor of several uses, infinite if there are none yet.
inline double common_granule(double granule, double units) {
    units = std::abs(units);
    if (units == 0 || granule == 0) return granule;
    if (!(units < 1e15 && units == std::floor(units))) return 0;
    if (std::isinf(granule)) return units;
    if (granule == 1) return 1;
    return static_cast<double>(
        std::gcd(static_cast<std::int64_t>(granule), static_cast<std::int64_t>(units)));
}

struct CompactProblem {
    std::vector<double> capacity;
    std::vector<double> tolerance;  ///< tolerance of each capacity
    std::size_t jobs = 0;
    // By group. Members that are beginnings of ranges have one more entry, the end of the last range.
    std::vector<std::uint32_t> first;       ///< the group's first option
    std::vector<std::uint32_t> end_hull;    ///< one past its last option that can be the best at some prices
    std::vector<std::uint32_t> first_copy;  ///< position of its first job in `job`
    std::vector<std::uint8_t> must;
    std::vector<std::uint8_t> single;  ///< 1 if each option of the group uses at most one resource
    // By option.
    std::vector<double> value;
    std::vector<ResourceUse> main_use;  ///< first use of the option; 0 units if it uses nothing
    /// Index of the option within its job in the problem as given; `none` for getting nothing.
    std::vector<std::uint32_t> original;
    std::vector<std::uint32_t> first_use;
    /// Uses of all options; an option has at most one use per resource, and no use of 0 units.
    std::vector<ResourceUse> uses;
    std::vector<std::uint32_t> job;  ///< job of each copy in the problem as given, group after group
    double magnitude = 0;    ///< sum over all jobs of their largest |value|; rounding is relative to it
    double granularity = 0;  ///< all values are multiples of this; 0 if no such number is known

    std::uint32_t count = 0;  ///< number of options; while options are added, the vectors have room for more

    /// Takes over capacities, groups and jobs of another problem, and forgets all options, as reserve() does.
    /// Left to the caller: must, single, magnitude and granularity.
    void begin_like(const CompactProblem& other, std::size_t options, std::size_t all_uses) {
        capacity = other.capacity;
        tolerance = other.tolerance;
        jobs = other.jobs;
        first_copy = other.first_copy;
        job = other.job;
        first.clear();
        end_hull.clear();
        reserve(options, all_uses);
    }
    /// Forgets all options and makes room for `options` of them with `all_uses` uses together.
    void reserve(std::size_t options, std::size_t all_uses) {
        count = 0;
        value.resize(options);
        main_use.resize(options);
        original.resize(options);
        first_use.resize(options + 1);
        first_use[0] = 0;
        uses.resize(all_uses);
    }
    void append(double new_value, std::uint32_t new_original, std::span<const ResourceUse> new_uses) {
        value[count] = new_value;
        main_use[count] = new_uses.empty() ? ResourceUse{0, 0} : new_uses[0];
        original[count] = new_original;
        std::copy(new_uses.begin(), new_uses.end(), uses.begin() + first_use[count]);
        first_use[count + 1] = first_use[count] + static_cast<std::uint32_t>(new_uses.size());
        ++count;
    }
    void close() {
        value.resize(count);
        main_use.resize(count);
        original.resize(count);
        first_use.resize(count + 1);
        uses.resize(first_use[count]);
    }

    [[nodiscard]] std::size_t groups() const { return must.size(); }
    [[nodiscard]] std::size_t resources() const { return capacity.size(); }
    [[nodiscard]] std::uint32_t copies(std::size_t group) const {
        return first_copy[group + 1] - first_copy[group];
    }
    [[nodiscard]] std::span<const ResourceUse> uses_of(std::uint32_t option) const {
        return {uses.data() + first_use[option], uses.data() + first_use[option + 1]};
    }
    [[nodiscard]] double reduced_value(std::uint32_t option, std::span<const double> prices) const {
        double reduced = value[option];
        for (const ResourceUse& use : uses_of(option)) reduced -= prices[use.resource] * use.units;
        return reduced;
    }
    /// Calls visit(resource, units) for each resource that `now` or `option` uses. `units` is the change of
    /// use when `option` replaces `now` (`none`: when it replaces nothing), negative if the use falls.
    /// Stops when a visit returns false, and then returns false.
    template <class Visit>
    bool each_change(std::uint32_t now, std::uint32_t option, Visit visit) const {
        const std::span<const ResourceUse> back = now == none ? std::span<const ResourceUse>() : uses_of(now);
        const std::span<const ResourceUse> taken = uses_of(option);  // both are in order of resource
        for (std::size_t i = 0, j = 0; i < back.size() || j < taken.size();) {
            const bool from_back =
                j == taken.size() || (i < back.size() && back[i].resource <= taken[j].resource);
            const std::size_t r = from_back ? back[i].resource : taken[j].resource;
            double units = 0;
            if (i < back.size() && back[i].resource == r) units -= back[i++].units;
            if (j < taken.size() && taken[j].resource == r) units += taken[j++].units;
            if (!visit(r, units)) return false;
        }
        return true;
    }

    /// Returns whether what is left of each resource (by resource) shows that no capacity is exceeded.
    [[nodiscard]] bool allows(std::span<const double> left) const {
        for (std::size_t r = 0; r < left.size(); ++r)
            if (left[r] < -tolerance[r]) return false;
        return true;
    }
    /// Writes the granule of the uses of each resource.
    void find_granules(std::vector<double>& granules) const {
        granules.assign(resources(), std::numeric_limits<double>::infinity());
        for (const ResourceUse& use : uses)
            granules[use.resource] = common_granule(granules[use.resource], use.units);
    }

    /// Returns the size below which differences of objectives count as rounding.
    [[nodiscard]] double rounding() const { return 4e-16 * (static_cast<double>(jobs) + 16) * magnitude; }

    /// Returns the largest sum of values that a bound leaves possible.
    [[nodiscard]] double round_down(double bound) const {
        if (granularity == 0) return bound;
        const double rounded = std::floor((bound + rounding()) / granularity + 1e-6) * granularity;
        return std::min(bound, rounded);
    }
    /// Returns about the largest bound that round_down() still rounds to `value_reached` or less.
    [[nodiscard]] double least_bound_above(double value_reached) const {
        if (granularity == 0) return value_reached;
        const double next = (std::floor(value_reached / granularity + 1e-6) + 1) * granularity;
        return std::max(value_reached, next - 2 * rounding() - 2e-6 * granularity);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
