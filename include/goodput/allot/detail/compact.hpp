#ifndef GOODPUT_ALLOT_DETAIL_COMPACT_HPP
#define GOODPUT_ALLOT_DETAIL_COMPACT_HPP

// The problem as the solver sees it, in contiguous memory, because everything after this is passes over it:
// equal jobs are one group with so many copies, and options that cannot be in a best allotment are left out.
// Getting nothing is an option too (worth 0, no use), but for jobs that must run. compactor.hpp makes it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"

namespace goodput::detail {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Slack that a sum of units may exceed a capacity by, for capacities that are no whole numbers.
inline double capacity_tolerance(double capacity) { return 1e-12 * capacity; }

/// Greatest common divisor of a granule (infinite: none yet) and a number of units; 0 if that is not whole.
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
    std::vector<double> tolerance;  ///< of each capacity
    std::size_t jobs = 0;
    // By group, and one more where a range begins.
    std::vector<std::uint32_t> first;       ///< its first option
    std::vector<std::uint32_t> end_hull;    ///< one past its last option that prices can make the best
    std::vector<std::uint32_t> first_copy;  ///< position of its first job in `job`
    std::vector<std::uint8_t> must;
    std::vector<std::uint8_t> single;  ///< none of its options uses more than one resource
    // By option.
    std::vector<double> value;
    std::vector<ResourceUse> main_use;    ///< its first use; no units where it uses nothing
    std::vector<std::uint32_t> original;  ///< index within its job, as given; none: getting nothing
    std::vector<std::uint32_t> first_use;
    std::vector<ResourceUse> uses;   ///< each resource at most once an option, no zeros
    std::vector<std::uint32_t> job;  ///< by copy, group after group: the job of the problem as given
    double magnitude = 0;            ///< sum over jobs of the largest |value|: what rounding is relative to
    double granularity = 0;          ///< all values are multiples of this; 0 where no such number is known

    std::uint32_t count = 0;  ///< of options; while they are added there is room for more

    /// Forgets all options and makes room for so many.
    void reserve(std::size_t options, std::size_t all_uses) {
        count = 0;
        value.resize(options);
        main_use.resize(options);
        original.resize(options);
        first_use.resize(options + 1);
        first_use[0] = 0;
        uses.resize(all_uses);
    }
    void append(double its_value, std::uint32_t its_original, std::span<const ResourceUse> its_uses) {
        value[count] = its_value;
        main_use[count] = its_uses.empty() ? ResourceUse{0, 0} : its_uses[0];
        original[count] = its_original;
        std::copy(its_uses.begin(), its_uses.end(), uses.begin() + first_use[count]);
        first_use[count + 1] = first_use[count] + static_cast<std::uint32_t>(its_uses.size());
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
    /// Calls visit(resource, units) for what taking `option` instead of `now` (none: of nothing) takes more,
    /// or below 0 less, of the resources that the two use, until a visit returns false, and then returns
    /// that.
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

    /// Differences of objectives below this are rounding.
    [[nodiscard]] double rounding() const { return 4e-16 * (static_cast<double>(jobs) + 16) * magnitude; }

    /// The largest sum of values that a bound leaves possible.
    [[nodiscard]] double round_down(double bound) const {
        if (granularity == 0) return bound;
        const double rounded = std::floor((bound + rounding()) / granularity + 1e-6) * granularity;
        return std::min(bound, rounded);
    }
    /// A bound that round_down() brings down to `value_reached` or less; no much larger one is.
    [[nodiscard]] double least_bound_above(double value_reached) const {
        if (granularity == 0) return value_reached;
        const double next = (std::floor(value_reached / granularity + 1e-6) + 1) * granularity;
        return std::max(value_reached, next - 2 * rounding() - 2e-6 * granularity);
    }
};

}  // namespace goodput::detail

#endif
