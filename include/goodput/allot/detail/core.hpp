#ifndef GOODPUT_ALLOT_DETAIL_CORE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_HPP

// The core: what regret leaves undecided. It begins at the relaxation rounded to whole options, which no job
// regrets, and lists what could be done otherwise: moves. Copies of a group that have the same option there
// are a bunch, and the moves of a bunch are the levels of the search, in the order of the branching rule:
//
//  - a bunch of one copy is one level: its move to each other option, of which at most one is made;
//  - a bunch of several copies is a chain of levels, one for each other option: so many copies move to it.
//
// Every level knows how far the levels from there on can still raise the Lagrangian bounds, and how many
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

namespace goodput::detail {

/// So many copies of a bunch take another option.
struct Move {
    double value;   ///< change of the allotment's value
    double regret;  ///< change of the sum of regrets; below 0 at most by base_regret()
    std::uint32_t option;
    std::uint32_t copies;
};

struct Level {
    std::uint32_t bunch;
    std::uint32_t first_move, end_move;  ///< by regret
    bool begins, ends;                   ///< the bunch's first, last level
};

/// An option that copies of a bunch may take instead of theirs.
struct Candidate {
    double regret;
    std::uint32_t option;
};

/// Copies of a group, first_copy and those after it, with the same option in the rounded relaxation.
struct Bunch {
    std::uint32_t group, first_copy, copies, option;
    std::uint32_t first_candidate, end_candidate;
    std::pair<double, double> key;
};

class Core {
public:
    /// Collects what may be part of an allotment whose bound is above `threshold`; `set_aside_bound` is
    /// raised to the largest bound of what may not. `left_out`: by option, whether it is known from elsewhere
    /// to be of no interest; empty if nothing is known. `backwards`: the levels come in the opposite order of
    /// the branching rule's. False: out of time.
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
    /// What copies of a bunch may take instead.
    [[nodiscard]] std::span<const Candidate> candidates(const Bunch& bunch) const {
        return {candidates_.data() + bunch.first_candidate, candidates_.data() + bunch.end_candidate};
    }
    [[nodiscard]] const Move& move(std::size_t move) const { return moves_[move]; }
    /// Units that a move takes of each resource; negative where it gives back.
    [[nodiscard]] const double* taken(std::size_t move) const { return taken_.data() + move * width(); }
    /// Least that has to be left of each resource after `level`'s move for the rest to make it whole again.
    [[nodiscard]] const double* least_left(std::size_t level) const {
        return least_left_.data() + level * width();
    }

    /// Regret of the rounded relaxation itself: rounding, but for prices cut short by a deadline.
    [[nodiscard]] double base_regret() const { return base_regret_; }

    /// Numbers that bound() and what comes with it read.
    [[nodiscard]] std::size_t work_of_bound() const { return width() * (stride_ + 4); }

    /// The largest sum that a state can still reach after `level`: the least of the bounds at all price
    /// vectors, or the first few of them that are not above `threshold`. It is that of usable().
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
    /// What of the units last asked about is of use: of each resource a multiple of the granule of all later
    /// moves, and no more than all of them together take. States that differ beyond it come to the same.
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
        std::sort(candidates_.begin() + first, candidates_.end(), [](const Candidate& a, const Candidate& b) {
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

    /// vectors_: the prices, and every price alone somewhat lower and higher, because a state that has used
    /// much of one resource is bounded best at a higher price of it. Of many resources all prices together.
    void lay_out_nearby_prices(std::span<const double> prices) {
        constexpr std::size_t most_separate_resources = 8;
        const bool separate = prices.size() <= most_separate_resources;
        vectors_.assign(prices.begin(), prices.end());
        for (std::size_t varied = 0; varied < (separate ? prices.size() : 1); ++varied)
            for (const double factor : {0.8, 0.95, 1.05, 1.25})
                for (std::size_t r = 0; r < prices.size(); ++r)
                    vectors_.push_back(prices[r] * (!separate || r == varied ? factor : 1));
    }

    /// columns_: the price vectors transposed, padded with copies of the first.
    void lay_out_vectors(const CompactProblem& problem, std::span<const double> prices) {
        const std::size_t resources = problem.resources();
        const std::size_t count = resources == 0 ? 1 : vectors_.size() / resources;
        stride_ = (count + lanes - 1) / lanes * lanes;
        columns_.assign(width() * stride_, 0);
        for (std::size_t r = 0; r < resources; ++r)
            for (std::size_t q = 0; q < stride_; ++q)
                columns_[r * stride_ + q] = q < count ? vectors_[q * resources + r] : prices[r];
    }

    /// By level, of what comes after it: still_ is what later bunches can raise the bounds by, chain_ the
    /// same of a copy that is left to this bunch's chain, least_left_ what both cannot give back, most_taken_
    /// what both can take.
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

    /// By level and resource, the greatest common divisor of what later moves take; 0 where that is no whole
    /// number, infinite where no later move takes any.
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
    std::vector<Candidate> candidates_;
    std::vector<double> regrets_;
    std::vector<Level> levels_;
    std::vector<Move> moves_;
    std::vector<double> taken_, vectors_, columns_;
    std::vector<double> still_, chain_, least_left_, most_taken_;
    std::vector<double> later_, later_least_, later_most_, gain_, back_, forth_;  // of the levels laid out
    std::vector<double> granules_, granule_, tolerance_, usable_;
};

}  // namespace goodput::detail

#endif
