#ifndef GOODPUT_ALLOT_SEARCH_HPP
#define GOODPUT_ALLOT_SEARCH_HPP

// The exact search. At prices pi let the regret of an option be how much its reduced value lies below the
// job's best. Then
//
//     bound(pi) - value of an allotment = sum of its regrets + pi . (unused capacity),
//
// so an option whose regret exceeds bound - incumbent can be in no better allotment. What is left is the core
// (detail/core.hpp): moves away from the rounded relaxation. It is searched level by level, one bunch of
// equal jobs after the other (branch and bound, breadth first): a state is what the moves so far leave of the
// capacities, which may be less than nothing as long as later moves can give it back, and what the allotment
// is worth. Two states of a level that leave the same are one, the more valuable (dynamic programming: this
// is what tames many equal jobs and tied values). A state is dropped when the least of the Lagrangian bounds
// at several price vectors shows that nothing of interest comes of it; a state that leaves nothing negative
// is an allotment at once.
//
// Of each level only the `width` most promising states go on. Passes with growing width give strong
// incumbents early, which shrink the core; the bound of what they set aside is an honest bound for all of it.
// The last width sets nothing aside for good: what did not go on waits on a stack and is searched afterwards,
// so that the search is complete. Worst case exponential, as the problem is NP-hard; memory is limited by
// AllotOptions::memory_states.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/core.hpp"
#include "goodput/allot/detail/states.hpp"
#include "goodput/allot/incumbent.hpp"
#include "goodput/allot/relaxation.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput::detail {

struct SearchOutcome {
    double bound = 0;
    StopReason stopped = StopReason::proven;
    std::size_t nodes = 0;
};

template <std::size_t Width, BranchingRule Branching, BoundingRule Bounding, StoppingRule Stopping>
class CoreSearch {
public:
    /// Improves `incumbent` until it is proven within the gap.
    template <class OutOfTime>
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, OutOfTime out_of_time, const Branching& branching,
                      const Bounding& bounding, const Stopping& stopping) {
        SearchOutcome outcome{std::max(problem.round_down(relaxation.bound()), incumbent.value),
                              StopReason::proven, 0};
        nodes_ = 0;
        incumbent_ = &incumbent;
        prices_ = relaxation.prices();
        const auto interesting = [&] {
            const double bound = relaxation.bound(), value = incumbent.value;
            return std::max(
                std::min(stopping(value, bound, options.gap), stopping(value, value, options.gap)),
                problem.rounding());
        };
        // Narrow passes look for an allotment good enough to end the search, wide ones for a proof that there
        // is none better than the incumbent by more than the gap.
        bool narrow = true;
        const auto raise_threshold = [&] {
            const double gap = interesting(), enough = outcome.bound - gap;
            if (incumbent.value >= enough)
                threshold_ = std::numeric_limits<double>::infinity();
            else
                threshold_ = problem.least_bound_above(
                    narrow ? std::clamp(enough, incumbent.value, incumbent.value + gap)
                           : incumbent.value + gap);
        };
        for (std::size_t width = 16;; width *= 4) {
            narrow = width <= 256;
            raise_threshold();
            if (std::isinf(threshold_)) return outcome;
            set_aside_bound_ = -std::numeric_limits<double>::infinity();
            core_.build(problem, relaxation, threshold_, set_aside_bound_, branching, bounding);
            const std::size_t widest =
                std::clamp<std::size_t>(options.memory_states / (4 * core_.levels() + 1), 64, 1 << 16);
            const Pass pass = search(problem, relaxation, std::min(width, widest), width >= widest, options,
                                     out_of_time, raise_threshold);
            outcome.nodes = nodes_;
            outcome.bound = std::max(outcome.bound, incumbent.value);
            if (pass != Pass::finished) {
                outcome.stopped = pass == Pass::out_of_time ? StopReason::deadline : StopReason::memory;
                return outcome;
            }
            outcome.bound =
                std::min(outcome.bound, std::max(incumbent.value, problem.round_down(set_aside_bound_)));
            if (width >= widest) return outcome;
        }
    }

private:
    enum class Pass { finished, out_of_time, out_of_memory };

    /// A move on the way to a state.
    struct Step {
        std::uint32_t parent, level, move;
    };

    struct Waiting {
        StateBlock block;
        std::size_t steps = 0;  // steps made before they were set aside
    };

    template <class OutOfTime, class RaiseThreshold>
    Pass search(const CompactProblem& problem, const Relaxation& relaxation, std::size_t width, bool complete,
                const AllotOptions& options, OutOfTime out_of_time, RaiseThreshold raise_threshold) {
        const Incumbent& base = relaxation.rounded();
        const std::size_t levels = core_.levels();
        left_.assign(core_.width(), 0);
        std::copy(base.left.begin(), base.left.end(), left_.begin());
        steps_.clear();
        if (base.value > incumbent_->value + problem.rounding() && base.feasible(problem)) {
            *incumbent_ = base;
            incumbent_->recount(problem);
            raise_threshold();
        }
        if (waiting_.size() < levels) waiting_.resize(levels);
        for (Waiting& waiting : waiting_) waiting.block.clear();
        block_.reserve_as(children_);
        children_.reserve_as(block_);
        block_.clear();
        block_.append(left_.data(), core_.width(), {base.value, relaxation.bound(), 0, none});
        std::size_t level = 0, states_waiting = 0;
        while (true) {
            for (; level < levels && block_.size() > 0; ++level) {
                if (!expand(problem, relaxation, level, out_of_time, raise_threshold))
                    return Pass::out_of_time;
                if (level + 1 < levels) states_waiting += choose(level + 1, width, complete);
                if (states_waiting + steps_.size() / 4 > options.memory_states) return Pass::out_of_memory;
            }
            level = levels;
            while (level > 0 && waiting_[level - 1].block.size() == 0) --level;
            if (level-- == 0) return Pass::finished;
            children_ = waiting_[level].block;  // no swap: memory stays with its level for the next call
            waiting_[level].block.clear();
            steps_.resize(waiting_[level].steps);
            states_waiting -= children_.size();
            states_waiting += choose(level, width, true);
        }
    }

    /// How promising a state is: its bound, less something for every unit that it leaves idle or has yet to
    /// get back. Bounds alone tie where many options have no regret.
    [[nodiscard]] double score(std::size_t child) const {
        constexpr double part_of_price = 0.2;
        const double* left = children_.row(child, core_.width());
        double distance = 0;
        for (std::size_t r = 0; r < prices_.size(); ++r) distance += prices_[r] * std::abs(left[r]);
        return children_.states[child].bound - part_of_price * distance;
    }

    /// Of children_ the `width` most promising states become block_; the others wait for `level` or are set
    /// aside. Returns how many wait.
    std::size_t choose(std::size_t level, std::size_t width, bool wait) {
        if (children_.size() <= width) {
            std::swap(block_, children_);
            return 0;
        }
        const std::vector<State>& states = children_.states;
        order_.resize(states.size());
        score_.resize(states.size());
        for (std::size_t i = 0; i < states.size(); ++i) score_[i] = score(i);
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(width), order_.end(),
                         [&](std::uint32_t a, std::uint32_t b) {
                             return score_[a] != score_[b] ? score_[a] > score_[b] : a < b;
                         });
        block_.clear();
        const auto append = [&](StateBlock& block, std::size_t i) {
            block.append(children_.row(order_[i], core_.width()), core_.width(), states[order_[i]]);
        };
        for (std::size_t i = 0; i < width; ++i) append(block_, i);
        if (!wait) {
            for (std::size_t i = width; i < states.size(); ++i)
                set_aside_bound_ = std::max(set_aside_bound_, states[order_[i]].bound);
            return 0;
        }
        std::size_t waiting = 0;
        for (std::size_t i = width; i < states.size(); ++i) {
            if (cut(states[order_[i]].bound)) continue;
            append(waiting_[level].block, i);
            ++waiting;
        }
        waiting_[level].steps = steps_.size();
        return waiting;
    }

    /// Whether nothing below `bound` is of interest.
    bool cut(double bound) {
        if (bound > threshold_) return false;
        set_aside_bound_ = std::max(set_aside_bound_, bound);
        return true;
    }

    /// What comes of block_ at `level` becomes children_, and where an allotment is better than it the
    /// incumbent.
    template <class OutOfTime, class RaiseThreshold>
    bool expand(const CompactProblem& problem, const Relaxation& relaxation, std::size_t level,
                OutOfTime out_of_time, RaiseThreshold raise_threshold) {
        const Level& here = core_.level(level);
        const std::size_t width = core_.width();
        const bool to_leaf = level + 1 == core_.levels();
        children_.clear();
        if (!to_leaf) table_.clear(2 * block_.size());
        for (std::size_t i = 0; i < block_.size(); ++i) {
            if (i % 64 == 0 && out_of_time()) return false;
            const State state = block_.states[i];
            if (cut(state.bound)) continue;
            const std::uint32_t copies = here.begins ? core_.bunches()[here.bunch].copies : state.copies_left;
            const double* left = block_.row(i, width);
            if (!to_leaf) {
                const double* least = core_.least_left(level);
                bool possible = true;
                for (std::size_t r = 0; r < width; ++r) possible = possible && left[r] >= least[r];
                if (possible) add(state.value, left, here.ends ? 0 : copies, state.step, level);
            }
            // The bound at the relaxation's own prices falls by just the regret.
            double at_prices = state.value + core_.base_regret();
            for (std::size_t r = 0; r < prices_.size(); ++r) at_prices += prices_[r] * left[r];
            for (std::uint32_t m = here.first_move; m < here.end_move; ++m) {
                const Move& move = core_.move(m);
                if (cut(at_prices - move.regret)) break;
                if (move.copies > copies) break;
                const double* taken = core_.taken(m);
                const double* least = core_.least_left(level);
                bool possible = true, allotment = true;
                for (std::size_t r = 0; r < width; ++r) {
                    left_[r] = left[r] - taken[r];
                    possible = possible && left_[r] >= least[r];
                    allotment = allotment && left_[r] >= 0;
                }
                if (!possible) continue;
                ++nodes_;
                const double value = state.value + move.value;
                if (value > incumbent_->value + problem.rounding() && (allotment || fits(problem))) {
                    adopt(problem, relaxation, state.step, {none, static_cast<std::uint32_t>(level), m});
                    raise_threshold();
                }
                if (to_leaf) continue;
                const auto step = static_cast<std::uint32_t>(steps_.size());
                if (add(value, left_.data(), here.ends ? 0 : copies - move.copies, step, level))
                    steps_.push_back({state.step, static_cast<std::uint32_t>(level), m});
            }
        }
        return true;
    }

    [[nodiscard]] bool fits(const CompactProblem& problem) const {
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (left_[r] < -problem.tolerance[r]) return false;
        return true;
    }

    /// Adds a state to children_ unless it is cut or no better than one that leaves the same.
    bool add(double value, const double* left, std::uint32_t copies_left, std::uint32_t step,
             std::size_t level) {
        const double bound = core_.bound(value, left, copies_left, level, threshold_);
        if (cut(bound)) return false;
        const std::uint32_t twin = table_.find_or_add(left, core_.width(), copies_left, children_);
        if (twin == none) {
            children_.append(left, core_.width(), {value, bound, copies_left, step});
            return true;
        }
        if (value <= children_.states[twin].value) return false;
        children_.states[twin] = {value, bound, copies_left, step};
        return true;
    }

    /// Replaces the incumbent by the rounded relaxation with the moves up to `step` and one more.
    void adopt(const CompactProblem& problem, const Relaxation& relaxation, std::uint32_t step, Step last) {
        *incumbent_ = relaxation.rounded();
        moved_.assign(core_.bunches().size(), 0);
        for (last.parent = step;; last = steps_[last.parent]) {
            const Move& move = core_.move(last.move);
            const std::uint32_t b = core_.level(last.level).bunch;
            for (std::uint32_t n = 0; n < move.copies; ++n)
                incumbent_->set(problem, core_.bunches()[b].first_copy + moved_[b]++, move.option);
            if (last.parent == none) break;
        }
        incumbent_->recount(problem);
    }

    std::size_t nodes_ = 0;
    double threshold_ = 0, set_aside_bound_ = 0;
    Incumbent* incumbent_ = nullptr;
    Core<Width> core_;
    std::span<const double> prices_;
    std::vector<double> left_, score_;
    std::vector<std::uint32_t> order_, moved_;
    StateBlock block_, children_;
    std::vector<Waiting> waiting_;
    std::vector<Step> steps_;
    StateTable table_;
};

}  // namespace goodput::detail

#endif
