#ifndef GOODPUT_ALLOT_DETAIL_TREE_DECISIONS_HPP
#define GOODPUT_ALLOT_DETAIL_TREE_DECISIONS_HPP

// The ways in which a node of a PriceTree (price_tree.hpp) can branch, with an estimate of how much each of
// them lowers the bounds of both children. The estimate comes from earlier decisions about the same job.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/rounding_rows.hpp"
#include "goodput/core/detail/resource_uses.hpp"

namespace goodput::inline v0_1::detail {

/// Limits the units left of a resource to at most `units` or, with `more`, to more than that.
inline void limit_units(DualSimplex& simplex, std::size_t resource, double units, bool more) {
    const double least = simplex.least_left(resource), most = simplex.most_left(resource);
    if (more)
        simplex.limit_left(resource, std::max(least, units + 1), most);
    else
        simplex.limit_left(resource, least, std::min(most, units));
}

/// Limits the copies of a group that take one of the options to at most `most` or, with `more`, to more
/// than that.
inline void limit_copies(DualSimplex& simplex, const CompactProblem& problem, std::uint32_t group,
                         std::span<const std::uint32_t> options, std::uint32_t most, bool more) {
    if (problem.copies(group) > 1) {
        const std::uint32_t k = options[0];
        const double least = simplex.least(k), here = simplex.most(k);
        return more ? simplex.limit(k, std::max(least, most + 1.0), here)
                    : simplex.limit(k, least, std::min(here, static_cast<double>(most)));
    }
    auto next_listed = options.begin();  // in order
    for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
        const bool listed = next_listed != options.end() && *next_listed == k;
        if (listed) ++next_listed;
        if (listed != more) simplex.limit(k, 0, 0);
    }
}

/// A way to decide a job that the amounts split: at most `most` copies take one of the options from place
/// `split` on in order of price (TreeDecisions::append_options()), or more copies do. If the group has
/// several copies, `split` is the index of a single option instead.
struct TreeDecision {
    std::uint32_t group = 0;
    std::size_t split = 0;
    double part = 0;  // part of a copy that takes one of the options
    std::uint32_t most = 0;
    double score = 0;
    // Decides the units left of resource `group` instead: at most `units`, or more.
    bool of_units = false;
    double units = 0;
};

/// Lists the decisions of a node and remembers how much bounds fell. Keeps its memory.
class TreeDecisions {
public:
    /// Forgets all decisions of an earlier problem.
    void begin(const CompactProblem& problem) {
        groups_ = problem.groups();
        fall_.assign(2 * (groups_ + problem.resources()), Fall{});
    }
    /// Starts the list of a node with these prices.
    void clear(std::span<const double> prices) {
        listed_.clear();
        prices_.assign(prices.begin(), prices.end());
    }
    /// Lists decisions on the units left of resources, if these are whole in every allotment, but not here.
    void list_units(const CompactProblem& problem, const DualSimplex& simplex, const RoundingRows& rounding) {
        for (std::uint32_t r = 0; r < problem.resources(); ++r) {
            if (!rounding.whole(r)) continue;
            const double left = simplex.left(r), units = std::floor(left + whole);
            if (left - units > whole)
                list({.group = r, .part = left - units, .of_units = true, .units = units});
        }
    }
    /// Lists for each group the split of the amounts that is closest to one half.
    void list_splits(const CompactProblem& problem, const DualSimplex& simplex,
                     std::span<const double> amounts) {
        for (std::uint32_t group = 0; group < groups_; ++group)
            if (const TreeDecision decision = split_of(problem, simplex, amounts, group); decision.part != 0)
                list(decision);
    }
    /// Sorts the list, best estimate first.
    void sort() {
        std::sort(listed_.begin(), listed_.end(), [](const TreeDecision& a, const TreeDecision& b) {
            return a.score != b.score ? a.score > b.score : a.group < b.group;
        });
    }
    [[nodiscard]] std::span<TreeDecision> listed() { return listed_; }
    /// Returns the decision with the best score. The list must not be empty.
    [[nodiscard]] const TreeDecision& best() const {
        return *std::max_element(
            listed_.begin(), listed_.end(),
            [](const TreeDecision& a, const TreeDecision& b) { return a.score < b.score; });
    }
    /// Returns whether there are enough earlier decisions about the same job.
    [[nodiscard]] bool is_reliable(const TreeDecision& decision) const {
        constexpr std::size_t enough = 4;
        const std::size_t falls = falls_of(decision);
        return std::min(fall_[falls].count, fall_[falls + 1].count) >= enough;
    }
    /// Notes how much the bound fell in the first and in the second child, and scores the decision by that.
    void learn(TreeDecision& decision, double first, double second) {
        const std::size_t falls = falls_of(decision);
        fall_[falls].add(first / decision.part);
        fall_[falls + 1].add(second / (1 - decision.part));
        decision.score = score(decision, first, second);
    }

    /// Appends the options that a decision is about, in order of their index.
    void append_options(const CompactProblem& problem, const DualSimplex& simplex,
                        const TreeDecision& decision, std::vector<std::uint32_t>& options) {
        const std::size_t first = options.size();
        if (problem.copies(decision.group) > 1)
            return options.push_back(static_cast<std::uint32_t>(decision.split));
        sort_options(problem, simplex, decision.group);
        for (std::size_t i = decision.split; i < sorted_.size(); ++i) options.push_back(sorted_[i].second);
        std::sort(options.begin() + static_cast<std::ptrdiff_t>(first), options.end());
    }

private:
    static constexpr double whole = 1e-6;

    /// A pseudocost: the mean fall of the bound after a job was decided one way, divided by the fraction of
    /// a job that the decision moved.
    struct Fall {
        double sum = 0;
        std::size_t count = 0;
        void add(double fell) {
            sum += fell;
            ++count;
        }
        [[nodiscard]] double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    };

    /// Returns the index in fall_ of the first of a decision's two entries.
    [[nodiscard]] std::size_t falls_of(const TreeDecision& decision) const {
        return 2 * (decision.of_units ? groups_ + decision.group : decision.group);
    }
    static double score(const TreeDecision& decision, double first, double second) {
        return std::max(first, 1e-9) * std::max(second, 1e-9) +
               1e-6 * std::min(decision.part, 1 - decision.part);
    }
    void list(TreeDecision decision) {
        const std::size_t falls = falls_of(decision);
        decision.score = score(decision, fall_[falls].mean() * decision.part,
                               fall_[falls + 1].mean() * (1 - decision.part));
        listed_.push_back(decision);
    }

    /// Returns the split of a group that is closest to one half. Its part is 0 if there is none.
    TreeDecision split_of(const CompactProblem& problem, const DualSimplex& simplex,
                          std::span<const double> amounts, std::uint32_t group) {
        TreeDecision decision{group};
        double best = whole;
        const std::uint32_t first = problem.first[group], end = problem.first[group + 1];
        if (problem.copies(group) > 1) {
            for (std::uint32_t k = first; k < end; ++k) {
                const double part = amounts[k] - std::floor(amounts[k]);
                if (std::min(part, 1 - part) <= best) continue;
                best = std::min(part, 1 - part);
                decision = {group, k, part, static_cast<std::uint32_t>(std::floor(amounts[k]))};
            }
            return decision;
        }
        if (*std::max_element(amounts.begin() + first, amounts.begin() + end) > 1 - whole) return decision;
        sort_options(problem, simplex, group);
        double sum = 0;
        for (std::size_t i = 0; i + 1 < sorted_.size(); ++i) {
            sum += amounts[sorted_[i].second];
            if (std::min(sum, 1 - sum) <= best) continue;
            best = std::min(sum, 1 - sum);
            decision = {group, i + 1, 1 - sum, 0};
        }
        return decision;
    }
    /// Fills sorted_ with the options of a job that are allowed here, in order of the price of their uses.
    void sort_options(const CompactProblem& problem, const DualSimplex& simplex, std::uint32_t group) {
        sorted_.clear();
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k)
            if (simplex.most(k) != 0) sorted_.push_back({price_of(problem.uses_of(k), prices_), k});
        std::sort(sorted_.begin(), sorted_.end());
    }

    std::size_t groups_ = 0;
    // Two entries per group, then per resource: for the first child and for the second.
    std::vector<Fall> fall_;
    std::vector<double> prices_;
    std::vector<TreeDecision> listed_;
    std::vector<std::pair<double, std::uint32_t>> sorted_;
};

}  // namespace goodput::inline v0_1::detail

#endif
