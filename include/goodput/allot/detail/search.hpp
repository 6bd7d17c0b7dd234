#ifndef GOODPUT_ALLOT_DETAIL_SEARCH_HPP
#define GOODPUT_ALLOT_DETAIL_SEARCH_HPP

// The exact search. The reduced value of an option at prices pi is its value less the price of its uses.
// Its regret (reduced cost) is how far it lies below the reduced value of the job's best option. Then
//
//     bound(pi) - value of an allotment = sum of its regrets + pi . (unused capacity),
//
// so an option whose regret exceeds bound - incumbent (the best allotment so far) cannot be in a better
// allotment. The remaining choices are the core (detail/core.hpp): moves away from the rounded relaxation.
// The search goes through the core level by level, one bunch of equal jobs after the other (branch and
// bound, breadth first). A state is what the moves so far leave of the capacities, and the value of the
// allotment. The units left of a resource may be negative as long as later moves can give enough of them
// back. If two states of a level leave the same, only the more valuable one stays (dynamic programming,
// which tames many equal jobs and tied values). The search drops a state if the least of the Lagrangian
// bounds at several price vectors shows that nothing of interest follows from it. A state that leaves
// nothing negative is an allotment.
//
// Only the `beam` most promising states of a level go on. Passes with a growing beam give strong incumbents
// early, which shrink the core. No allotment that a pass skips is worth more than the largest bound of the
// states that it sets aside. The widest beam sets no state aside: the other states wait on a stack until
// the search takes them up, so the search is complete. The worst case is exponential, because the problem
// is NP-hard. AllotOptions::most_states limits the work, and AllotOptions::memory_states the memory. No
// function here calls itself: the stack holds states.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/core.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/states.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

struct SearchOutcome {
    double bound = 0;
    StopReason stopped = StopReason::proven;
    std::size_t nodes = 0;

    /// Returns how many of the `given` states count as used: all of them if the search stopped for that.
    [[nodiscard]] std::size_t used(std::size_t given) const {
        return stopped == StopReason::states ? std::max(given, nodes) : nodes;
    }
};

/// The knowledge and the settings with which a search of the core begins.
struct SearchStart {
    std::span<const std::uint8_t>
        left_out{};  ///< by option of the problem: 1 if it need not be considered; empty if nothing is known
    /// No allotment with an option that is left out is worth more than this.
    double left_out_bound = -std::numeric_limits<double>::infinity();
    /// The search looks only for allotments that are worth more than this.
    double above = -std::numeric_limits<double>::infinity();
    bool backwards = false;  ///< search in the reverse of the branching rule's order
    /// The score of a state is its bound less a penalty: this part of the price of every unit that is idle
    /// in the state, or that later moves have yet to give back.
    double part_of_price = 0.2;
};

/// No second bound on what later levels are worth. Another search may supply one.
struct NoSecondBound {
    void assign(const CompactProblem&, const Core&, const Incumbent&, std::span<const double>, std::size_t,
                Clock&) {}
    [[nodiscard]] double bound(double, const double*, std::size_t) const {
        return std::numeric_limits<double>::infinity();
    }
};

template <class SecondBound = NoSecondBound>
class CoreSearch {
public:
    /// Returns the second bound on states, which is used in addition to the prices on capacities.
    [[nodiscard]] SecondBound& second_bound() { return second_bound_; }

    /// Improves `incumbent` until it is proven within the gap. Allotments worth at most start.above count
    /// as known.
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, const SearchStart& start,
                      Incumbent& incumbent, const AllotOptions& options, Clock& clock,
                      const AnyBranching& branching) {
        known_ = std::max(incumbent.value, start.above);
        SearchOutcome outcome{std::max(problem.round_down(relaxation.bound()), known_), StopReason::proven,
                              0};
        nodes_ = 0;
        most_nodes_ = options.most_states / std::max<std::size_t>(1, problem.resources() / cheap_resources);
        most_children_ = most_waiting_ = std::min(options.memory_states, most_memory_states) / 2;
        incumbent_ = &incumbent;
        part_of_price_ = start.part_of_price;
        prices_ = relaxation.prices();
        const auto interesting = [&] {
            return std::max(std::min(options.enough(relaxation.bound()), options.enough(known_)),
                            problem.rounding());
        };
        // Narrow passes look for an allotment that is good enough to end the search. Wide passes look for a
        // proof that no allotment is better than the incumbent by more than the gap.
        bool narrow = true;
        const auto raise_threshold = [&] {
            const double gap = interesting(), enough = outcome.bound - gap;
            if (known_ >= enough)
                threshold_ = std::numeric_limits<double>::infinity();
            else
                threshold_ = problem.least_bound_above(narrow ? std::clamp(enough, known_, known_ + gap)
                                                              : known_ + gap);
        };
        for (std::size_t beam = 16;; beam *= 4) {
            narrow = beam <= 256;
            raise_threshold();
            if (std::isinf(threshold_)) return outcome;
            set_aside_bound_ = start.left_out_bound;
            if (!core_.build(problem, relaxation, threshold_, start.left_out, start.backwards,
                             set_aside_bound_, branching, clock)) {
                outcome.stopped = StopReason::deadline;
                return outcome;
            }
            second_bound_.assign(problem, core_, relaxation.rounded(), prices_, 2 * options.memory_states,
                                 clock);
            const std::size_t widest_beam =
                std::clamp<std::size_t>(options.memory_states / (4 * core_.levels() + 1), 64, 1 << 16);
            const std::optional<StopReason> stopped = search(problem, relaxation, std::min(beam, widest_beam),
                                                             beam >= widest_beam, clock, raise_threshold);
            outcome.nodes = nodes_;
            outcome.bound = std::max(outcome.bound, known_);
            if (stopped) {
                outcome.stopped = *stopped;
                return outcome;
            }
            outcome.bound = std::min(outcome.bound, std::max(known_, problem.round_down(set_aside_bound_)));
            if (beam >= widest_beam) return outcome;
        }
    }

private:
    /// The work on a state grows with the number of resources. Up to this number the growth does not
    /// matter.
    static constexpr std::size_t cheap_resources = 4;
    /// This many steps take about as much memory as one waiting state, and count as one.
    static constexpr std::size_t steps_a_state = 4;
    /// With this limit, indices of states and steps fit in 32 bits.
    static constexpr std::size_t most_memory_states = std::size_t{1} << 30;

    /// One move on the way to a state.
    struct Step {
        std::uint32_t parent, level, move;
    };

    /// States that wait for a level. They lie on top of states that wait for earlier levels.
    struct Waiting {
        std::size_t level;
        std::size_t first;  // first of its states in waiting_states_
        std::size_t steps;  // number of steps made before they were set aside
    };

    /// Searches the core with one beam. Returns why the search ended early, or nothing if it was complete.
    template <class RaiseThreshold>
    std::optional<StopReason> search(const CompactProblem& problem, const Relaxation& relaxation,
                                     std::size_t beam, bool complete, Clock& clock,
                                     RaiseThreshold raise_threshold) {
        const Incumbent& base = relaxation.rounded();
        const std::size_t levels = core_.levels();
        left_.assign(base.left.begin(), base.left.end());
        steps_.clear();
        if (base.value > known_ + problem.rounding() && base.feasible(problem)) {
            *incumbent_ = base;
            keep(problem);
            raise_threshold();
        }
        waiting_.clear();
        waiting_states_.clear();
        block_.clear();
        block_.reserve(beam, core_.width());
        block_.append(left_.data(), core_.width(), {base.value, relaxation.bound(), 0, none}, beam);
        for (std::size_t level = 0;;) {
            for (; level < levels && block_.size() > 0; ++level) {
                if (const auto stopped = expand(problem, relaxation, level, clock, raise_threshold))
                    return stopped;
                if (level + 1 == levels) break;
                if (!choose(level + 1, beam, complete, clock)) return StopReason::deadline;
                if (waits_too_much()) return StopReason::memory;
            }
            if (waiting_.empty()) return std::nullopt;
            level = take_up(beam);
        }
    }

    /// Returns how promising a state is: its bound, less a penalty for every unit that is idle in the
    /// state, or that later moves have yet to give back. Bounds alone tie if many options have no regret.
    [[nodiscard]] double score(std::size_t child) const {
        const double* left = children_.row(child, core_.width());
        double distance = 0;
        for (std::size_t r = 0; r < prices_.size(); ++r) distance += prices_[r] * std::abs(left[r]);
        return children_.states[child].bound - part_of_price_ * distance;
    }

    /// Moves the `beam` most promising states of children_ to block_. With `wait` the others wait for
    /// `level`, otherwise they are set aside. Returns false if time has run out.
    bool choose(std::size_t level, std::size_t beam, bool wait, Clock& clock) {
        const std::vector<State>& states = children_.states;
        const std::size_t count = states.size();
        if (count <= beam) {
            block_ = children_;
            return !clock.late(count * core_.width());
        }
        make_room(order_, count, most_children_);
        make_room(score_, count, most_children_);
        order_.resize(count);
        score_.resize(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (clock.late(core_.width())) return false;
            score_[i] = score(i);
        }
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        if (!sort_by_pieces(beam, wait, clock)) return false;
        block_.clear();
        for (std::size_t i = 0; i < beam; ++i)
            block_.append(children_.row(order_[i], core_.width()), core_.width(), states[order_[i]], beam);
        if (!wait) {
            for (std::size_t i = beam; i < count; ++i)
                set_aside_bound_ = std::max(set_aside_bound_, states[order_[i]].bound);
            return true;
        }
        const std::size_t first = waiting_states_.size();
        // Go backwards, so that the most promising states end up on top.
        for (std::size_t i = count; i-- > beam && waiting_states_.size() < most_waiting_;) {
            if (clock.late(core_.width())) return false;
            const State& state = states[order_[i]];
            if (!cut(state.bound))
                waiting_states_.append(children_.row(order_[i], core_.width()), core_.width(), state,
                                       most_waiting_);
        }
        if (waiting_states_.size() > first) waiting_.push_back({level, first, steps_.size()});
        return true;
    }

    /// Sorts order_ into pieces of `beam` states, such that all states of a piece are more promising than
    /// those of the next piece. Unless `all`, finds only the first piece. Returns false if time has run
    /// out.
    bool sort_by_pieces(std::size_t beam, bool all, Clock& clock) {
        const auto divide = [&](std::size_t first, std::size_t at, std::size_t end) {
            const auto position = [&](std::size_t i) {
                return order_.begin() + static_cast<std::ptrdiff_t>(i);
            };
            std::nth_element(position(first), position(at), position(end),
                             [&](std::uint32_t a, std::uint32_t b) {
                                 return score_[a] != score_[b] ? score_[a] > score_[b] : a < b;
                             });
            return !clock.late(16 * (end - first));
        };
        const std::size_t count = order_.size();
        if (!divide(0, beam, count)) return false;
        if (!all) return true;
        const std::size_t pieces = (count + beam - 1) / beam;
        for (std::size_t half = std::bit_ceil(pieces) / 2; half > 0; half /= 2)
            for (std::size_t piece = 1; piece + half < pieces; piece += 2 * half)
                if (!divide(piece * beam, (piece + half) * beam, std::min((piece + 2 * half) * beam, count)))
                    return false;
        return true;
    }

    /// Moves up to `beam` states from the top of the waiting states to block_, and returns their level.
    std::size_t take_up(std::size_t beam) {
        const Waiting top = waiting_.back();
        const std::size_t end = waiting_states_.size(),
                          first = std::max(top.first, end - std::min(end, beam));
        block_.clear();
        for (std::size_t i = first; i < end; ++i)
            block_.append(waiting_states_.row(i, core_.width()), core_.width(), waiting_states_.states[i],
                          beam);
        waiting_states_.shrink(first, core_.width());
        steps_.resize(top.steps);
        if (first == top.first) waiting_.pop_back();
        return top.level;
    }

    /// Returns whether a state with this bound can be dropped. If so, notes the bound.
    bool cut(double bound) {
        if (bound > threshold_) return false;
        set_aside_bound_ = std::max(set_aside_bound_, bound);
        return true;
    }

    /// Fills children_ with the states that follow from block_ at `level`, and replaces the incumbent if
    /// one of them is a better allotment. Returns why it ended early, or nothing if it did not.
    template <class RaiseThreshold>
    std::optional<StopReason> expand(const CompactProblem& problem, const Relaxation& relaxation,
                                     std::size_t level, Clock& clock, RaiseThreshold raise_threshold) {
        const Level& here = core_.level(level);
        const std::size_t width = core_.width();
        const bool to_leaf = level + 1 == core_.levels();
        children_.clear();
        if (!to_leaf) table_.clear(2 * block_.size());
        for (std::size_t i = 0; i < block_.size(); ++i) {
            const State state = block_.states[i];
            if (cut(state.bound)) continue;
            if (const auto stopped = stop(clock)) return stopped;
            ++nodes_;
            const std::uint32_t copies = here.begins ? core_.bunches()[here.bunch].copies : state.copies_left;
            const double* left = block_.row(i, width);
            if (!to_leaf) {
                const double* least = core_.least_left(level);
                bool possible = true;
                for (std::size_t r = 0; r < width; ++r) possible = possible && left[r] >= least[r];
                if (possible) add(state.value, left, here.ends ? 0 : copies, state.step, level);
            }
            // A move lowers the bound at the relaxation's own prices by exactly its regret.
            double at_prices = state.value + core_.base_regret();
            for (std::size_t r = 0; r < prices_.size(); ++r) at_prices += prices_[r] * left[r];
            for (std::uint32_t m = here.first_move; m < here.end_move; ++m) {
                const Move& move = core_.move(m);
                if (cut(at_prices - move.regret)) break;
                if (move.copies > copies) break;
                if (const auto stopped = stop(clock)) return stopped;
                ++nodes_;
                const double* taken = core_.taken(m);
                const double* least = core_.least_left(level);
                bool possible = true, allotment = true;
                for (std::size_t r = 0; r < width; ++r) {
                    left_[r] = left[r] - taken[r];
                    possible = possible && left_[r] >= least[r];
                    allotment = allotment && left_[r] >= 0;
                }
                if (!possible) continue;
                const double value = state.value + move.value;
                if (value > known_ + problem.rounding() && (allotment || problem.allows(left_))) {
                    adopt(problem, relaxation, state.step, {none, static_cast<std::uint32_t>(level), m});
                    raise_threshold();
                    clock.late(4 * problem.jobs);
                }
                if (to_leaf) continue;
                const auto step = static_cast<std::uint32_t>(steps_.size());
                if (add(value, left_.data(), here.ends ? 0 : copies - move.copies, step, level))
                    make_step({state.step, static_cast<std::uint32_t>(level), m});
            }
        }
        return std::nullopt;
    }

    /// Returns why not even one more state can be looked at, or nothing if one can.
    [[nodiscard]] std::optional<StopReason> stop(Clock& clock) const {
        if (nodes_ >= most_nodes_) return StopReason::states;
        if (children_.size() >= most_children_ || waits_too_much()) return StopReason::memory;
        if (clock.late(core_.work_of_bound())) return StopReason::deadline;
        return std::nullopt;
    }
    [[nodiscard]] bool waits_too_much() const {
        return waiting_states_.size() + steps_.size() / steps_a_state >= most_waiting_;
    }
    void make_step(const Step& step) {
        make_room(steps_, steps_.size() + 1, steps_a_state * most_waiting_);
        steps_.push_back(step);
    }

    /// Adds a state to children_, unless it is cut or no better than one that leaves the same. Returns
    /// whether it did.
    bool add(double value, const double* left, std::uint32_t copies_left, std::uint32_t step,
             std::size_t level) {
        double bound = core_.bound(value, left, copies_left, level, threshold_);
        if (cut(bound)) return false;
        if (core_.level(level).ends) bound = std::min(bound, second_bound_.bound(value, left, level));
        if (cut(bound)) return false;
        left = core_.usable();
        const std::uint32_t twin = table_.find_or_add(left, core_.width(), copies_left, children_);
        if (twin == none) {
            children_.append(left, core_.width(), {value, bound, copies_left, step}, most_children_);
            return true;
        }
        if (value <= children_.states[twin].value) return false;
        children_.states[twin] = {value, bound, copies_left, step};
        return true;
    }

    /// Replaces the incumbent by the rounded relaxation with the moves up to `step`, then the move of
    /// `last`.
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
        keep(problem);
    }
    /// Makes the value of a new incumbent the value to beat.
    void keep(const CompactProblem& problem) {
        incumbent_->recount(problem);
        known_ = incumbent_->value;
    }

    std::size_t nodes_ = 0, most_nodes_ = 0, most_children_ = 0, most_waiting_ = 0;
    double threshold_ = 0, set_aside_bound_ = 0, part_of_price_ = 0;
    Incumbent* incumbent_ = nullptr;
    double known_ = 0;  ///< only allotments worth more than this are of interest
    Core core_;
    std::span<const double> prices_;
    std::vector<double> left_, score_;
    std::vector<std::uint32_t> order_, moved_;
    StateBlock block_, children_, waiting_states_;
    std::vector<Waiting> waiting_;
    std::vector<Step> steps_;
    StateTable table_;
    SecondBound second_bound_;
};

}  // namespace goodput::inline v0_1::detail

#endif
