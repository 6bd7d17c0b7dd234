#ifndef GOODPUT_ALLOT_DETAIL_COMPACT_HPP
#define GOODPUT_ALLOT_DETAIL_COMPACT_HPP

// The problem without the options that cannot be in a best allotment: those that exceed a capacity alone,
// those worth nothing (where nothing is allowed), and those dominated by another option of the same job that
// is worth as much and uses no more of anything. In contiguous memory, because everything after this is
// passes over it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/problem.hpp"

namespace goodput::detail {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// Slack that a sum of units may exceed a capacity by, for capacities that are no whole numbers.
inline double capacity_tolerance(double capacity) { return 1e-12 * capacity; }

struct CompactProblem {
    std::vector<double> capacity;
    std::vector<std::uint32_t> first;  ///< by job (and one more): its first option
    std::vector<std::uint8_t> must;
    std::vector<double> value;
    std::vector<std::uint32_t> original;  ///< index of the option within its job, as given
    std::vector<std::uint32_t> first_use;
    std::vector<Use> uses;   ///< each resource at most once an option, no zeros
    double magnitude = 0;    ///< sum over jobs of the largest |value|: what rounding is relative to
    double granularity = 0;  ///< all values are multiples of this; 0 where no such number is known

    [[nodiscard]] std::size_t jobs() const { return must.size(); }
    [[nodiscard]] std::size_t resources() const { return capacity.size(); }
    [[nodiscard]] std::span<const Use> uses_of(std::uint32_t option) const {
        return {uses.data() + first_use[option], uses.data() + first_use[option + 1]};
    }
    [[nodiscard]] double reduced_value(std::uint32_t option, std::span<const double> prices) const {
        double reduced = value[option];
        for (const Use& use : uses_of(option)) reduced -= prices[use.resource] * use.units;
        return reduced;
    }
    /// Differences of objectives below this are rounding.
    [[nodiscard]] double rounding() const { return 4e-16 * (static_cast<double>(jobs()) + 16) * magnitude; }

    /// The largest sum of values that a bound leaves possible.
    [[nodiscard]] double round_down(double bound) const {
        if (granularity == 0) return bound;
        const double rounded = std::floor((bound + rounding()) / granularity + 1e-6) * granularity;
        return std::min(bound, rounded);
    }

    /// Takes over a problem. Returns false if a job that must run has no option left.
    bool assign(const AllotmentProblem& problem) {
        capacity = problem.capacity;
        first.assign(1, 0);
        must.clear();
        value.clear();
        original.clear();
        first_use.assign(1, 0);
        uses.clear();
        magnitude = 0;
        bool possible = true;
        merged_.assign(capacity.size(), 0);
        for (std::size_t job = 0; job < problem.jobs(); ++job) {
            const bool required = problem.must(job);
            candidates_.clear();
            for (std::size_t k = 0; k < problem.options_of(job); ++k)
                if (required || problem.value(job, k) > 0) add_candidate(problem, job, k);
            remove_dominated();
            double largest = 0;
            for (const Candidate& candidate : candidates_) {
                if (candidate.dominated) continue;
                largest = std::max(largest, std::abs(candidate.value));
                value.push_back(candidate.value);
                original.push_back(candidate.original);
                const auto begin = candidate_uses_.begin() + candidate.first_use;
                uses.insert(uses.end(), begin, begin + candidate.uses);
                first_use.push_back(static_cast<std::uint32_t>(uses.size()));
            }
            candidate_uses_.clear();
            magnitude += largest;
            must.push_back(required ? 1 : 0);
            first.push_back(static_cast<std::uint32_t>(value.size()));
            if (required && first[job] == first[job + 1]) possible = false;
        }
        granularity = common_granularity();
        return possible;
    }

private:
    struct Candidate {
        double value;
        std::uint32_t original;
        std::ptrdiff_t first_use;
        std::ptrdiff_t uses;
        bool dominated;
    };

    void add_candidate(const AllotmentProblem& problem, std::size_t job, std::size_t k) {
        const auto first_new = static_cast<std::ptrdiff_t>(candidate_uses_.size());
        bool fits = true;
        for (const Use& use : problem.uses(job, k)) {
            if (use.units == 0) continue;
            if (merged_[use.resource] == 0) candidate_uses_.push_back({use.resource, 0});
            merged_[use.resource] += use.units;
        }
        const auto begin = candidate_uses_.begin() + first_new;
        for (auto use = begin; use != candidate_uses_.end(); ++use) {
            use->units = merged_[use->resource];
            merged_[use->resource] = 0;
            if (use->units > capacity[use->resource] + capacity_tolerance(capacity[use->resource]))
                fits = false;
        }
        if (!fits) {
            candidate_uses_.resize(static_cast<std::size_t>(first_new));
            return;
        }
        std::sort(begin, candidate_uses_.end(),
                  [](const Use& a, const Use& b) { return a.resource < b.resource; });
        candidates_.push_back({problem.value(job, k), static_cast<std::uint32_t>(k), first_new,
                               static_cast<std::ptrdiff_t>(candidate_uses_.size()) - first_new, false});
    }

    [[nodiscard]] std::span<const Use> uses_of(const Candidate& candidate) const {
        return {candidate_uses_.data() + candidate.first_use, static_cast<std::size_t>(candidate.uses)};
    }

    /// Whether a uses no more of any resource than b (both sorted by resource).
    static bool uses_no_more(std::span<const Use> a, std::span<const Use> b) {
        auto other = b.begin();
        for (const Use& use : a) {
            while (other != b.end() && other->resource < use.resource) ++other;
            if (other == b.end() || other->resource != use.resource || other->units < use.units) return false;
        }
        return true;
    }

    void remove_dominated() {
        // Best value first, so that one pass finds for each option a dominating one among those kept before
        // it. Pairs, up to a length where pairs would cost more than they save.
        std::stable_sort(candidates_.begin(), candidates_.end(),
                         [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
        constexpr std::size_t most_compared = 64;
        for (std::size_t i = 0; i < candidates_.size(); ++i) {
            const std::size_t from = i > most_compared ? i - most_compared : 0;
            for (std::size_t j = from; j < i && !candidates_[i].dominated; ++j) {
                if (candidates_[j].dominated) continue;
                if (uses_no_more(uses_of(candidates_[j]), uses_of(candidates_[i])))
                    candidates_[i].dominated = true;
                else if (candidates_[j].value == candidates_[i].value &&
                         uses_no_more(uses_of(candidates_[i]), uses_of(candidates_[j])))
                    candidates_[j].dominated = true;
            }
        }
    }

    /// 1, 0.1, ... 1e-4 if every value is a multiple of it, else 0: published policies round values to two
    /// decimals.
    [[nodiscard]] double common_granularity() const {
        for (double unit = 1, steps = 1; steps <= 1e4; steps *= 10, unit = 1 / steps) {
            const auto is_multiple = [&](double v) {
                const double scaled = v * steps;
                return std::abs(scaled) < 1e9 &&
                       std::abs(scaled - std::round(scaled)) <= 1e-12 * std::abs(scaled);
            };
            if (std::all_of(value.begin(), value.end(), is_multiple)) return unit;
        }
        return 0;
    }

    std::vector<Candidate> candidates_;
    std::vector<Use> candidate_uses_;
    std::vector<double> merged_;
};

}  // namespace goodput::detail

#endif
