#ifndef GOODPUT_ALLOT_DETAIL_CORE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_HPP

// The core: the choices that the prices leave undecided. The regret of an option is its reduced cost: how
// far it lies below the job's best option, in value less price. An option of large regret cannot be in a
// better allotment (search.hpp). The core starts from the rounded relaxation, in which no choice has
// regret, and lists the moves away from it. Equal jobs are copies of a group. Copies that have the same
// option in the rounded relaxation form a bunch. The moves of a bunch are the levels of the search, in the
// order of the branching rule:
//
//  - A bunch of one copy is one level with a move to each other option. At most one of them is made.
//  - A bunch of several copies is a chain of levels, one for each other option. The moves of such a level
//    differ in the number of copies that take the option.
//
// Every level knows how far the levels from here on can still raise the Lagrangian bounds, and how many
// units of each resource they can still give back.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Some copies of a bunch take the same other option.
struct Move {
    double value;   ///< change of the allotment's value
    double regret;  ///< change of the sum of regrets; negative by at most base_regret()
    std::uint32_t option;
    std::uint32_t copies;
};

struct Level {
    std::uint32_t bunch;
    std::uint32_t first_move, end_move;  ///< moves of the level, in order of regret
    bool begins, ends;                   ///< whether this is the bunch's first level, and its last
};

/// An option that copies of a bunch may take instead of their present one.
struct BunchOption {
    double regret;
    std::uint32_t option;
};

/// Copies of a group with the same option in the rounded relaxation: first_copy and those after it.
struct Bunch {
    std::uint32_t group, first_copy, copies, option;
    std::uint32_t first_candidate, end_candidate;
    std::pair<double, double> key;
};

class Core {
public:
    /// Collects the moves that may be part of an allotment worth more than `threshold`. Raises
    /// `set_aside_bound` to the largest bound on allotments with any other move. `left_out`: by option, 1
    /// if the caller knows that it need not be considered; empty if the caller knows nothing. With
    /// `backwards` the levels come in the reverse of the branching rule's order. Returns false if time has
    /// run out.
    bool build(const CompactProblem& problem, const Relaxation& relaxation, double threshold,
               std::span<const std::uint8_t> left_out, bool backwards, double& set_aside_bound,
               const AnyBranching& branching, Clock& clock) {
        left_out_ = left_out;
        const Incumbent& base = relaxation.rounded();
        resources_ = problem.resources();
        const std::span<const double> prices = relaxation.prices();
        bunches_.clear();
        candidates_.clear();
        slack_ = relaxation.bound() - threshold;
        base_regret_ = 0;
        for (std::size_t group = 0; group < problem.groups(); ++group) {
            const std::uint32_t end = problem.first_copy[group + 1];
            const std::size_t work =
                problem.copies(group) +
                4 * (problem.first_use[problem.first[group + 1]] - problem.first_use[problem.first[group]]);
            for (std::uint32_t copy = problem.first_copy[group]; copy < end;) {
                if (clock.late(work)) return false;
                std::uint32_t next = copy + 1;
                while (next < end && base.choice[next] == base.choice[copy]) ++next;
                add_bunch(problem, prices, static_cast<std::uint32_t>(group), copy, next - copy,
                          base.choice[copy], relaxation.bound(), set_aside_bound, branching);
                copy = next;
            }
        }
        std::sort(bunches_.begin(), bunches_.end(), [](const Bunch& a, const Bunch& b) {
            return a.key != b.key ? a.key < b.key : a.first_copy < b.first_copy;
        });
        if (backwards) std::reverse(bunches_.begin(), bunches_.end());
        if (!lay_out_levels(problem, relaxation.bound(), set_aside_bound, clock)) return false;
        lay_out_nearby_prices(prices);
        lay_out_vectors(problem, prices);
        if (!lay_out_what_remains(problem, clock) || !lay_out_granules(clock)) return false;
        usable_.resize(width());
        tolerance_.assign(problem.tolerance.begin(), problem.tolerance.end());
        return true;
    }

    [[nodiscard]] std::size_t width() const { return resources_; }
    [[nodiscard]] std::size_t levels() const { return levels_.size(); }
    [[nodiscard]] const Level& level(std::size_t level) const { return levels_[level]; }
    [[nodiscard]] const std::vector<Bunch>& bunches() const { return bunches_; }
    /// Returns the options that copies of a bunch may take instead of their present one.
    [[nodiscard]] std::span<const BunchOption> candidates(const Bunch& bunch) const {
        return {candidates_.data() + bunch.first_candidate, candidates_.data() + bunch.end_candidate};
    }
    [[nodiscard]] const Move& move(std::size_t move) const { return moves_[move]; }
    /// Returns the units that a move takes of each resource, negative if the move gives units back.
    [[nodiscard]] const double* taken(std::size_t move) const { return taken_.data() + move * width(); }
    /// Returns how many units of each resource must be left after `level`'s move, so that later moves can
    /// still give back what is missing. The numbers may be negative.
    [[nodiscard]] const double* least_left(std::size_t level) const {
        return least_left_.data() + level * width();
    }

    /// Returns the regret of the rounded relaxation itself. It is nothing but rounding unless a deadline
    /// cut off the search for prices.
    [[nodiscard]] double base_regret() const { return base_regret_; }

    /// Returns how many numbers bound() and its callers read.
    [[nodiscard]] std::size_t work_of_bound() const { return width() * (stride_ + 4); }

    /// Returns the largest sum of values that a state can still reach after `level`: the least of the
    /// bounds at all price vectors. Stops at the first vectors whose bound does not exceed `threshold`.
    /// Also sets usable().
    [[nodiscard]] double bound(double value, const double* left, std::uint32_t copies_left, std::size_t level,
                               double threshold) {
        const double* still = still_.data() + level * stride_;
        const double* chain = chain_.data() + level * stride_;
        const double copies = levels_[level].ends ? 0 : copies_left;
        for (std::size_t r = 0; r < width(); ++r) usable_[r] = usable_of(left[r], r, level);
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t q = 0; q < stride_ && value + least > threshold; q += lanes) {
            double sum[lanes];
            for (std::size_t i = 0; i < lanes; ++i) sum[i] = still[q + i] + copies * chain[q + i];
            for (std::size_t r = 0; r < width(); ++r) {
                const double* price = columns_.data() + r * stride_ + q;
                for (std::size_t i = 0; i < lanes; ++i) sum[i] += usable_[r] * price[i];
            }
            for (std::size_t i = 0; i < lanes; ++i) least = std::min(least, sum[i]);
        }
        return value + least;
    }
    /// Returns which of the units last passed to bound() can still be used: of each resource at most as
    /// much as all later moves together take, rounded down to a multiple of their granule. States with
    /// equal usable units lead to the same results.
    [[nodiscard]] const double* usable() const { return usable_.data(); }

private:
    static constexpr std::size_t lanes = 4;

    void add_bunch(const CompactProblem& problem, std::span<const double> prices, std::uint32_t group,
                   std::uint32_t copy, std::uint32_t copies, std::uint32_t option, double bound,
                   double& set_aside_bound, const AnyBranching& branching) {
        const auto first = static_cast<std::uint32_t>(candidates_.size());
        const double here = problem.reduced_value(option, prices);
        double least = 0;
        for (std::uint32_t k = problem.first[group]; k < problem.first[group + 1]; ++k) {
            if (k == option || (!left_out_.empty() && left_out_[k])) continue;
            const double regret = here - problem.reduced_value(k, prices);
            least = std::min(least, regret);
            if (regret < slack_)
                candidates_.push_back({regret, k});
            else
                set_aside_bound = std::max(set_aside_bound, bound - regret);
        }
        base_regret_ -= copies * least;
        const auto end = static_cast<std::uint32_t>(candidates_.size());
        if (end == first) return;
        std::sort(candidates_.begin() + first, candidates_.end(),
                  [](const BunchOption& a, const BunchOption& b) {
                      return a.regret != b.regret ? a.regret < b.regret : a.option < b.option;
                  });
        regrets_.assign(1, 0);
        double granule = std::numeric_limits<double>::infinity();
        for (std::uint32_t i = first; i < end; ++i) {
            regrets_.push_back(candidates_[i].regret);
            problem.each_change(option, candidates_[i].option, [&](std::size_t, double units) {
                granule = common_granule(granule, units);
                return true;
            });
        }
        bunches_.push_back(
            {group, copy, copies, option, first, end, branching(std::span<const double>(regrets_), granule)});
    }

    bool lay_out_levels(const CompactProblem& problem, double bound, double& set_aside_bound, Clock& clock) {
        levels_.clear();
        moves_.clear();
        taken_.clear();
        for (std::uint32_t b = 0; b < bunches_.size(); ++b) {
            const Bunch& bunch = bunches_[b];
            const bool chain = bunch.copies > 1;
            for (std::uint32_t i = bunch.first_candidate; i < bunch.end_candidate; ++i) {
                const bool begins = i == bunch.first_candidate, ends = i + 1 == bunch.end_candidate;
                if (chain || begins) {
                    const auto next = static_cast<std::uint32_t>(moves_.size());
                    levels_.push_back({b, next, next, begins, true});
                }
                const auto [regret, option] = candidates_[i];
                for (std::uint32_t n = 1; n <= bunch.copies; ++n) {
                    if (n > 1 && n * regret >= slack_ + base_regret_) {
                        set_aside_bound = std::max(set_aside_bound, bound + base_regret_ - n * regret);
                        break;
                    }
                    if (clock.late(2 * width())) return false;
                    add_move(problem, bunch, option, regret, n);
                }
                levels_.back().end_move = static_cast<std::uint32_t>(moves_.size());
                levels_.back().ends = !chain || ends;
            }
        }
        return true;
    }

    void add_move(const CompactProblem& problem, const Bunch& bunch, std::uint32_t option, double regret,
                  std::uint32_t copies) {
        const double n = copies;
        moves_.push_back(
            {n * (problem.value[option] - problem.value[bunch.option]), n * regret, option, copies});
        taken_.resize(taken_.size() + width(), 0);
        double* row = taken_.data() + (moves_.size() - 1) * width();
        problem.each_change(bunch.option, option, [&](std::size_t r, double units) {
            row[r] = n * units;
            return true;
        });
    }

    /// Fills vectors_ with the prices, and with variants in which one price is somewhat lower or higher. If
    /// a state has used much of a resource, its bound is lowest at a higher price of the resource. If there
    /// are many resources, all prices are varied together instead.
    void lay_out_nearby_prices(std::span<const double> prices) {
        constexpr std::size_t most_separate_resources = 8;
        const bool separate = prices.size() <= most_separate_resources;
        vectors_.assign(prices.begin(), prices.end());
        for (std::size_t varied = 0; varied < (separate ? prices.size() : 1); ++varied)
            for (const double factor : {0.8, 0.95, 1.05, 1.25})
                for (std::size_t r = 0; r < prices.size(); ++r)
                    vectors_.push_back(prices[r] * (!separate || r == varied ? factor : 1));
    }

    /// Fills columns_ with the price vectors, transposed. The first vector, repeated, fills up the last
    /// group of `lanes`.
    void lay_out_vectors(const CompactProblem& problem, std::span<const double> prices) {
        const std::size_t resources = problem.resources();
        const std::size_t count = resources == 0 ? 1 : vectors_.size() / resources;
        stride_ = (count + lanes - 1) / lanes * lanes;
        columns_.assign(width() * stride_, 0);
        for (std::size_t r = 0; r < resources; ++r)
            for (std::size_t q = 0; q < stride_; ++q)
                columns_[r * stride_ + q] = q < count ? vectors_[q * resources + r] : prices[r];
    }

    /// Fills, for each level, what the search can still do after it. still_: by how much later bunches can
    /// raise the bounds. chain_: by how much the rest of this bunch's chain can raise them, per copy left.
    /// least_left_: the units that must be left, because neither later bunches nor this chain can give them
    /// back. most_taken_: the units that both together can take.
    bool lay_out_what_remains(const CompactProblem& problem, Clock& clock) {
        still_.resize(levels_.size() * stride_);
        chain_.resize(levels_.size() * stride_);
        least_left_.resize(levels_.size() * width());
        most_taken_.resize(levels_.size() * width());
        later_.assign(stride_, 0);
        later_least_.assign(width(), 0);
        for (std::size_t r = 0; r < problem.resources(); ++r) later_least_[r] = -problem.tolerance[r];
        gain_.assign(stride_, 0);
        back_.assign(width(), 0);
        later_most_.assign(problem.tolerance.begin(), problem.tolerance.end());
        forth_.assign(width(), 0);
        for (std::size_t level = levels_.size(); level-- > 0;) {
            const Level& here = levels_[level];
            const double copies = bunches_[here.bunch].copies;
            if (clock.late(4 * stride_ + (here.end_move - here.first_move) * work_of_bound())) return false;
            std::copy(later_.begin(), later_.end(), still_.data() + level * stride_);
            std::copy(gain_.begin(), gain_.end(), chain_.data() + level * stride_);
            for (std::size_t r = 0; r < width(); ++r) {
                least_left_[level * width() + r] = later_least_[r] - copies * back_[r];
                most_taken_[level * width() + r] = later_most_[r] + copies * forth_[r];
            }
            for (std::size_t m = here.first_move; m < here.end_move; ++m)
                if (moves_[m].copies == 1) raise_gains(m);
            if (!here.begins) continue;
            for (std::size_t q = 0; q < stride_; ++q) later_[q] += copies * gain_[q];
            for (std::size_t r = 0; r < width(); ++r) later_least_[r] -= copies * back_[r];
            for (std::size_t r = 0; r < width(); ++r) later_most_[r] += copies * forth_[r];
            std::fill(gain_.begin(), gain_.end(), 0.0);
            std::fill(back_.begin(), back_.end(), 0.0);
            std::fill(forth_.begin(), forth_.end(), 0.0);
        }
        return true;
    }

    [[nodiscard]] double usable_of(double left, std::size_t r, std::size_t level) const {
        left = std::min(left, most_taken_[level * width() + r]);
        const double granule = granules_[level * width() + r];
        if (granule == 0) return left;
        if (std::isinf(granule)) return std::min(left, 0.0);
        const double quotient = (left + tolerance_[r]) / granule;
        if (!(std::abs(quotient) < 0x1p53)) return left;
        const auto whole = static_cast<double>(static_cast<std::int64_t>(quotient));
        return std::min(left, (whole > quotient ? whole - 1 : whole) * granule);
    }

    /// Fills, by level and resource, the greatest common divisor of the units that later moves take: 0 if
    /// that is not a whole number, infinity if no later move takes any.
    bool lay_out_granules(Clock& clock) {
        granules_.resize(levels_.size() * width());
        granule_.assign(width(), std::numeric_limits<double>::infinity());
        for (std::size_t level = levels_.size(); level-- > 0;) {
            std::copy(granule_.begin(), granule_.end(), granules_.data() + level * width());
            if (clock.late((1 + levels_[level].end_move - levels_[level].first_move) * width())) return false;
            for (std::size_t m = levels_[level].first_move; m < levels_[level].end_move; ++m) {
                if (moves_[m].copies > 1) continue;
                for (std::size_t r = 0; r < width(); ++r)
                    granule_[r] = common_granule(granule_[r], taken(m)[r]);
            }
        }
        return true;
    }

    void raise_gains(std::size_t move) {
        const double* use = taken(move);
        for (std::size_t q = 0; q < stride_; ++q) {
            double reduced = moves_[move].value;
            for (std::size_t r = 0; r < width(); ++r) reduced -= columns_[r * stride_ + q] * use[r];
            gain_[q] = std::max(gain_[q], reduced);
        }
        for (std::size_t r = 0; r < width(); ++r) back_[r] = std::max(back_[r], -use[r]);
        for (std::size_t r = 0; r < width(); ++r) forth_[r] = std::max(forth_[r], use[r]);
    }

    std::size_t resources_ = 0, stride_ = 0;
    double slack_ = 0, base_regret_ = 0;
    std::span<const std::uint8_t> left_out_;
    std::vector<Bunch> bunches_;
    std::vector<BunchOption> candidates_;
    std::vector<double> regrets_;
    std::vector<Level> levels_;
    std::vector<Move> moves_;
    std::vector<double> taken_, vectors_, columns_;
    std::vector<double> still_, chain_, least_left_, most_taken_;
    // Totals while levels are laid out.
    std::vector<double> later_, later_least_, later_most_, gain_, back_, forth_;
    std::vector<double> granules_, granule_, tolerance_, usable_;
};

}  // namespace goodput::inline v0_1::detail

#endif
