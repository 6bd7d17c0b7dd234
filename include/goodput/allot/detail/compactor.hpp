#ifndef GOODPUT_ALLOT_DETAIL_COMPACTOR_HPP
#define GOODPUT_ALLOT_DETAIL_COMPACTOR_HPP

// Makes the compact problem from the problem as given.
//
//  - Equal jobs become one group: a hash of their numbers finds candidates, and a comparison decides.
//  - Two kinds of options are left out: options that alone exceed a capacity, and dominated options.
//    Another option of the same job dominates an option if it is worth at least as much and uses no more of
//    any resource.
//  - If each option of a group uses one resource, the options on its upper concave hull come first. No
//    prices make any other option the best, so the search for prices only looks at the options on the hull.
//
// Takes O(options) time if options use one resource each and come in order of resource and units, as they
// nearly always do, and O(options log options) otherwise. When time has run out, it skips what is not
// required: the comparison of options that use several resources, and the search for a number that divides
// all values.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Makes compact problems. Keeps its memory.
class Compactor {
public:
    /// Validates `problem` and fills `compact` from it. Returns false if a job that must run has no option
    /// left. With `keep_too_large`, options that alone exceed a capacity stay, up to most_exceeding(): a
    /// linear relaxation may take a part of them.
    bool assign(const AllotmentProblem& problem, CompactProblem& compact, bool keep_too_large, Clock& clock) {
        problem.validate_capacities();
        compact.capacity.assign(problem.capacity.begin(), problem.capacity.end());
        compact.tolerance.clear();
        for (const double c : compact.capacity)
            compact.tolerance.push_back(keep_too_large ? most_exceeding(c) : capacity_tolerance(c));
        merged_.assign(compact.resources(), 0);
        compact.jobs = problem.jobs();
        compact.first.clear();
        compact.end_hull.clear();
        compact.must.clear();
        compact.single.clear();
        compact.magnitude = 0;
        group_jobs(problem);
        compact.reserve(problem.options() + representative_.size(), problem.use_count());
        bool possible = true;
        for (std::size_t group = 0; group < representative_.size(); ++group) {
            const std::size_t job = representative_[group];
            problem.validate_job(job);
            compact.first.push_back(compact.count);
            compact.must.push_back(problem.must(job) ? 1 : 0);
            compact.single.push_back(single_uses(problem, job) ? 1 : 0);
            if (compact.single.back())
                add_single(problem, job, compact);
            else
                add_general(problem, job, compact, clock);
            double largest = 0;
            for (std::size_t k = compact.first.back(); k < compact.count; ++k)
                largest = std::max(largest, std::abs(compact.value[k]));
            compact.magnitude += largest * counts_[group];
            possible = possible && compact.first.back() < compact.count;
        }
        compact.first.push_back(compact.count);
        compact.close();
        if (keep_too_large)
            for (std::size_t r = 0; r < compact.resources(); ++r)
                compact.tolerance[r] = capacity_tolerance(compact.capacity[r]);
        lay_out_copies(compact);
        compact.granularity = common_granularity(compact, clock);
        return possible;
    }

    /// Returns how many units of a resource an option may use in excess of the capacity and still have a
    /// part in a relaxation. Not even a billionth of a larger option fits, and rounding would hide the
    /// other options' units next to its own.
    static double most_exceeding(double capacity) { return 0x1p30 * capacity; }

private:
    struct ReadOption {
        double value;
        std::uint32_t original;
        std::uint32_t resource;  // resource of a single use
        double units;
        std::uint32_t first_use, uses;
        bool left_out;
    };

    /// Finds the groups of equal jobs: representative_ and counts_ by group (its first job, its number of
    /// jobs), and group_of_ by job.
    void group_jobs(const AllotmentProblem& problem) {
        representative_.clear();
        counts_.clear();
        group_of_.resize(problem.jobs());
        const std::size_t size = std::bit_ceil(2 * problem.jobs() + 16);
        slots_.assign(size, none);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            std::size_t at = hash(problem, job) & (size - 1);
            for (int look = 0; slots_[at] != none; ++look, at = (at + 1) & (size - 1)) {
                if (equal(problem, job, representative_[slots_[at]])) break;
                if (look < most_looks) continue;
                slots_[at] = none;  // missing a match is harmless; the group that had this slot stays a group
                break;
            }
            if (slots_[at] == none) {
                slots_[at] = static_cast<std::uint32_t>(representative_.size());
                representative_.push_back(static_cast<std::uint32_t>(job));
                counts_.push_back(0);
            }
            group_of_[job] = slots_[at];
            ++counts_[slots_[at]];
        }
    }

    static std::size_t hash(const AllotmentProblem& problem, std::size_t job) {
        std::uint64_t hash = problem.options_of(job) * 2 + (problem.must(job) ? 1 : 0);
        const auto mix = [&](double number) {
            hash = (hash ^ std::bit_cast<std::uint64_t>(number + 0.0)) * 0x9E3779B97F4A7C15u;
            hash ^= hash >> 29;
        };
        // Mix only two sums, because mixing every number takes longer.
        double units = 0, worth = 0, weight = 1.25;
        for (const ResourceUse& use : problem.uses(job)) units += use.units * (use.resource + 1.25);
        for (const double value : problem.values(job)) worth += value * (weight += 0.75);
        mix(units);
        mix(worth);
        return static_cast<std::size_t>(hash);
    }

    static bool equal(const AllotmentProblem& problem, std::size_t a, std::size_t b) {
        const auto same_use = [](const ResourceUse& x, const ResourceUse& y) {
            return x.resource == y.resource && x.units == y.units;
        };
        return problem.must(a) == problem.must(b) &&
               std::ranges::equal(problem.values(a), problem.values(b)) &&
               std::ranges::equal(problem.uses(a), problem.uses(b), same_use) &&
               std::ranges::equal(problem.use_offsets(a), problem.use_offsets(b));
    }

    void lay_out_copies(CompactProblem& compact) {
        compact.first_copy.assign(1, 0);
        for (const std::uint32_t count : counts_)
            compact.first_copy.push_back(compact.first_copy.back() + count);
        compact.job.resize(group_of_.size());
        std::copy(compact.first_copy.begin(), compact.first_copy.end() - 1, counts_.begin());
        for (std::size_t job = 0; job < group_of_.size(); ++job)
            compact.job[counts_[group_of_[job]]++] = static_cast<std::uint32_t>(job);
    }

    static bool single_uses(const AllotmentProblem& problem, std::size_t job) {
        const auto offsets = problem.use_offsets(job);
        for (std::size_t k = 0; k + 1 < offsets.size(); ++k)
            if (offsets[k + 1] > offsets[k] + 1) return false;
        return true;
    }

    /// Adds a job whose options use one resource each. Along each resource, only options of rising value
    /// stay.
    void add_single(const AllotmentProblem& problem, std::size_t job, CompactProblem& compact) {
        const bool required = problem.must(job);
        // The value of the best option without any use. Getting nothing, of value 0, is such an option
        // unless the job must run.
        double floor = required ? -std::numeric_limits<double>::infinity() : 0;
        std::uint32_t floor_option = none;
        const auto values = problem.values(job);
        const auto offsets = problem.use_offsets(job);
        const std::span<const ResourceUse> uses = problem.uses(job);
        candidates_.resize(values.size());
        std::size_t count = 0;
        for (std::size_t k = 0; k < values.size(); ++k) {
            const auto value = values[k];
            const auto index = static_cast<std::uint32_t>(k);
            if (offsets[k] == offsets[k + 1] || uses[offsets[k]].units == 0) {
                if (value > floor) {
                    floor = value;
                    floor_option = index;
                }
                continue;
            }
            const auto [resource, units] = uses[offsets[k]];
            if (units > compact.capacity[resource] + compact.tolerance[resource]) continue;
            candidates_[count++] = {value, index, resource, units, 0, 1, false};
        }
        const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(count);
        // The candidates nearly always have this order already.
        if (!std::is_sorted(candidates_.begin(), end, before)) std::sort(candidates_.begin(), end, before);
        const bool has_floor = !required || floor_option != none;
        if (has_floor) compact.append(floor, floor_option, {});
        std::size_t kept = 0;
        for (std::size_t i = 0; i < count; ++i) {
            const bool same = kept > 0 && candidates_[kept - 1].resource == candidates_[i].resource;
            const double least = same ? candidates_[kept - 1].value : floor;
            if (candidates_[i].value > least) candidates_[kept++] = candidates_[i];
        }
        candidates_.resize(kept);
        mark_below_hull(floor);
        for (const bool left_out : {false, true}) {
            for (const ReadOption& c : candidates_)
                if (c.left_out == left_out) {
                    const ResourceUse use{c.resource, c.units};
                    compact.append(c.value, c.original, {&use, 1});
                }
            if (!left_out) compact.end_hull.push_back(compact.count);
        }
    }

    static bool before(const ReadOption& a, const ReadOption& b) {
        if (a.resource != b.resource) return a.resource < b.resource;
        if (a.units != b.units) return a.units < b.units;
        return a.value != b.value ? a.value > b.value : a.original < b.original;
    }

    /// Sets left_out for each candidate below the upper concave hull of its resource. The hull starts at
    /// (0, floor).
    void mark_below_hull(double floor) {
        for (std::size_t begin = 0, end = 0; begin < candidates_.size(); begin = end) {
            while (end < candidates_.size() && candidates_[end].resource == candidates_[begin].resource)
                ++end;
            hull_.clear();
            for (std::size_t i = begin; i < end; ++i) {
                while (!hull_.empty()) {
                    const ReadOption& last = candidates_[hull_.back()];
                    const bool second = hull_.size() == 1;
                    if (second && std::isinf(floor)) break;
                    const double units = second ? 0 : candidates_[hull_[hull_.size() - 2]].units;
                    const double value = second ? floor : candidates_[hull_[hull_.size() - 2]].value;
                    // Leave out only what lies below the line by more than rounding: points on the line
                    // stay.
                    const double rise = (candidates_[i].value - value) * (last.units - units);
                    const double here = (last.value - value) * (candidates_[i].units - units);
                    if (rise - here <= 1e-12 * std::abs(rise)) break;
                    candidates_[hull_.back()].left_out = true;
                    hull_.pop_back();
                }
                hull_.push_back(i);
            }
        }
    }

    /// Adds a job with options that use several resources. Compares each option with the last few before it
    /// only, because comparing all pairs would cost more than it saves.
    void add_general(const AllotmentProblem& problem, std::size_t job, CompactProblem& compact,
                     Clock& clock) {
        const bool required = problem.must(job);
        candidates_.clear();
        candidate_uses_.clear();
        if (!required) candidates_.push_back({0, none, 0, 0, 0, 0, false});
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            if (required || problem.value(job, k) > 0) add_candidate(problem, job, k, compact);
        // The best value comes first, so one pass finds for each option a dominating one among those before
        // it.
        std::sort(candidates_.begin(), candidates_.end(), [](const ReadOption& a, const ReadOption& b) {
            return a.value != b.value ? a.value > b.value : a.original + 1 < b.original + 1;
        });
        constexpr std::size_t most_compared = 64;
        const std::size_t uses_a_candidate = 1 + candidate_uses_.size() / (1 + candidates_.size());
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            if (clock.late(std::min(i, most_compared) * uses_a_candidate)) break;
            const std::size_t from = i > most_compared ? i - most_compared : 0;
            for (std::size_t j = from; j < i && !candidates_[i].left_out; ++j) {
                if (candidates_[j].left_out) continue;
                if (uses_no_more(uses_of(candidates_[j]), uses_of(candidates_[i])))
                    candidates_[i].left_out = true;
                else if (candidates_[j].value == candidates_[i].value &&
                         uses_no_more(uses_of(candidates_[i]), uses_of(candidates_[j])))
                    candidates_[j].left_out = true;
            }
        }
        for (const ReadOption& c : candidates_)
            if (!c.left_out) compact.append(c.value, c.original, uses_of(c));
        compact.end_hull.push_back(compact.count);
    }

    void add_candidate(const AllotmentProblem& problem, std::size_t job, std::size_t k,
                       const CompactProblem& compact) {
        const std::size_t first_new = candidate_uses_.size();
        for (const ResourceUse& use : problem.uses(job, k)) {
            if (use.units == 0) continue;
            if (merged_[use.resource] == 0) candidate_uses_.push_back({use.resource, 0});
            merged_[use.resource] += use.units;
        }
        bool fits = true;
        for (std::size_t u = first_new; u < candidate_uses_.size(); ++u) {
            ResourceUse& use = candidate_uses_[u];
            use.units = merged_[use.resource];
            merged_[use.resource] = 0;
            fits = fits && use.units <= compact.capacity[use.resource] + compact.tolerance[use.resource];
        }
        if (!fits) {
            candidate_uses_.resize(first_new);
            return;
        }
        std::sort(candidate_uses_.begin() + static_cast<std::ptrdiff_t>(first_new), candidate_uses_.end(),
                  [](const ResourceUse& a, const ResourceUse& b) { return a.resource < b.resource; });
        candidates_.push_back({problem.value(job, k), static_cast<std::uint32_t>(k), 0, 0,
                               static_cast<std::uint32_t>(first_new),
                               static_cast<std::uint32_t>(candidate_uses_.size() - first_new), false});
    }

    [[nodiscard]] std::span<const ResourceUse> uses_of(const ReadOption& candidate) const {
        return {candidate_uses_.data() + candidate.first_use, candidate.uses};
    }

    /// Returns whether `a` uses no more of any resource than `b`. Both are sorted by resource.
    static bool uses_no_more(std::span<const ResourceUse> a, std::span<const ResourceUse> b) {
        auto other = b.begin();
        for (const ResourceUse& use : a) {
            while (other != b.end() && other->resource < use.resource) ++other;
            if (other == b.end() || other->resource != use.resource || other->units < use.units) return false;
        }
        return true;
    }

    /// Returns a number of which every value is a multiple, or 0 if none is found. For whole numbers this
    /// is their greatest common divisor. Other values are tried as decimal fractions of up to four digits
    /// (published policies round to two).
    static double common_granularity(const CompactProblem& compact, Clock& clock) {
        constexpr double most_steps = 1e4;
        constexpr double to_integer = 0x1.8p52;  // adding and subtracting this rounds to the nearest integer
        // The errors of all jobs together must stay below half of what round_down() forgives, and below
        // rounding.
        const double share = 1 / (static_cast<double>(compact.jobs) + 1);
        for (double steps = 1; steps <= most_steps; steps *= 10) {
            if (clock.late(4 * compact.value.size())) return 0;
            const double most_off = share * std::min(5e-7, 1e-12 * compact.magnitude * steps);
            double divisor = std::numeric_limits<double>::infinity();
            const auto is_multiple = [&](double v) {
                const double scaled = v * steps;
                const double whole = (scaled + to_integer) - to_integer;
                if (!(std::abs(scaled) < 0x1p50 && std::abs(scaled - whole) <= most_off)) return false;
                divisor = common_granule(divisor, whole);
                return true;
            };
            if (std::all_of(compact.value.begin(), compact.value.end(), is_multiple))
                return std::isinf(divisor) ? 0 : divisor / steps;
        }
        return 0;
    }

    static constexpr int most_looks = 64;
    std::vector<std::uint32_t> representative_, counts_, group_of_, slots_;
    std::vector<ReadOption> candidates_;
    std::vector<ResourceUse> candidate_uses_;
    std::vector<double> merged_;
    std::vector<std::size_t> hull_;
};

}  // namespace goodput::inline v0_1::detail

#endif
