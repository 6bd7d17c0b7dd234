#ifndef GOODPUT_ALLOT_SEARCH_HPP
#define GOODPUT_ALLOT_SEARCH_HPP

// The exact search. At prices pi let the regret of an option be how much its reduced value lies below the
// job's best. Then
//
//     bound(pi) - value of an allotment = sum of its regrets + pi . (unused capacity),
//
// so an option whose regret exceeds bound - incumbent can be in no better allotment. What is left is the
// core: the jobs with more than one option left. It is searched level by level, one job a level (branch and
// bound, breadth first): a state is what the jobs so far took from the capacities and what they are worth.
// Two states of a level that leave the same capacities are one, the more valuable (dynamic programming: this
// is what tames many equal jobs and tied values). A state is dropped when its value plus a bound on the
// remaining jobs, the least of the Lagrangian bounds at several price vectors, cannot beat the incumbent by
// more than the gap asked for.
//
// Of each level only the `width` states of largest bound go on at once. Passes with growing width give strong
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
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"

namespace goodput {

namespace detail {

template <BranchingRule Branching, BoundingRule Bounding>
class CoreSearch {
public:
    struct Outcome {
        double bound = 0;
        StopReason stopped = StopReason::proven;
        std::size_t nodes = 0;
    };

    /// Improves `incumbent` until it is proven within the gap. `prices` and `bound`: the least Lagrangian
    /// bound.
    template <class OutOfTime>
    Outcome run(const CompactProblem& problem, std::span<const double> prices, double bound,
                Incumbent& incumbent, const AllotOptions& options, OutOfTime out_of_time,
                const Branching& branching, const Bounding& bounding) {
        Outcome outcome{std::max(bound, incumbent.value), StopReason::proven, 0};
        nodes_ = 0;
        for (std::size_t width = 64;; width *= 4) {
            if (outcome.bound - incumbent.value <= interesting(problem, incumbent, bound, options))
                return outcome;
            cut_ = {incumbent.value + interesting(problem, incumbent, bound, options)};
            core_.build(problem, prices, bound, cut_, branching, bounding);
            const std::size_t widest =
                std::clamp<std::size_t>(options.memory_states / (4 * core_.levels() + 1), 64, 1 << 16);
            const Pass pass = search(problem, bound, std::min(width, widest), width >= widest, options,
                                     incumbent, out_of_time);
            outcome.nodes = nodes_;
            if (pass == Pass::finished)
                outcome.bound = std::min(outcome.bound, std::max(incumbent.value, cut_.set_aside_bound));
            outcome.bound = std::max(outcome.bound, incumbent.value);
            if (pass == Pass::finished) continue;
            outcome.stopped = pass == Pass::out_of_time ? StopReason::deadline : StopReason::memory;
            return outcome;
        }
    }

private:
    enum class Pass { finished, out_of_time, out_of_memory };

    /// By how much an allotment has to be better than the incumbent to be of interest: what the gap allows,
    /// and rounding.
    static double interesting(const CompactProblem& problem, const Incumbent& incumbent, double bound,
                              const AllotOptions& options) {
        const bool same_sign = (incumbent.value > 0) == (bound > 0);
        const double scale = same_sign ? std::min(std::abs(incumbent.value), std::abs(bound)) : 1;
        return std::max(options.gap * std::max(1.0, scale), problem.rounding());
    }

    template <class OutOfTime>
    Pass search(const CompactProblem& problem, double bound, std::size_t width, bool complete,
                const AllotOptions& options, Incumbent& incumbent, OutOfTime out_of_time) {
        const std::size_t levels = core_.levels();
        if (levels == 0) {
            take_fixed(problem, incumbent);
            return Pass::finished;
        }
        if (blocks_.size() < levels) {
            blocks_.resize(levels);
            waiting_.resize(levels);
        }
        for (std::size_t level = 0; level < levels; ++level) {
            blocks_[level].clear();
            waiting_[level].clear();
        }
        const std::vector<double>& left = core_.left_by_fixed();
        blocks_[0].append(left, core_.fixed_value(), core_.bound(core_.fixed_value(), left.data(), 0), none,
                          none);
        std::size_t level = 0, states_waiting = 0;
        while (true) {
            if (!expand(problem, bound, level, incumbent, options, out_of_time)) return Pass::out_of_time;
            ++level;
            if (level < levels) {
                states_waiting += choose(problem, level, children_, width, complete);
                if (states_waiting > options.memory_states) return Pass::out_of_memory;
            }
            if (level < levels && blocks_[level].size() > 0) continue;
            do --level;
            while (level > 0 && waiting_[level].size() == 0);
            if (level == 0) return Pass::finished;
            std::swap(children_, waiting_[level]);
            waiting_[level].clear();
            states_waiting -= children_.size();
            states_waiting += choose(problem, level, children_, width, true);
        }
    }

    /// Every job is decided by its regret alone.
    void take_fixed(const CompactProblem& problem, Incumbent& incumbent) {
        for (std::size_t r = 0; r < problem.resources(); ++r)
            if (core_.left_by_fixed()[r] < -capacity_tolerance(problem.capacity[r])) return;
        if (core_.fixed_value() > incumbent.value) adopt(problem, incumbent, [](auto&&) {});
    }

    /// The best `width` states go into the level's block; the others wait or are set aside. Returns how many
    /// wait.
    std::size_t choose(const CompactProblem& problem, std::size_t level, const StateBlock& from,
                       std::size_t width, bool wait) {
        order_.resize(from.size());
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
        if (from.size() > width)
            std::nth_element(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(width),
                             order_.end(), [&](std::uint32_t a, std::uint32_t b) {
                                 return from.bound[a] != from.bound[b] ? from.bound[a] > from.bound[b]
                                                                       : a < b;
                             });
        blocks_[level].clear();
        std::size_t waiting = 0;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            if (cut_(problem, from.bound[order_[i]])) continue;
            if (i < width) {
                blocks_[level].append(from, order_[i], problem.resources());
            } else if (wait) {
                waiting_[level].append(from, order_[i], problem.resources());
                ++waiting;
            } else {
                cut_.set_aside_bound =
                    std::max(cut_.set_aside_bound, problem.round_down(from.bound[order_[i]]));
            }
        }
        return waiting;
    }

    /// All children of the level's block into children_ (or, from the last level, into the incumbent).
    template <class OutOfTime>
    bool expand(const CompactProblem& problem, double root_bound, std::size_t level, Incumbent& incumbent,
                const AllotOptions& options, OutOfTime out_of_time) {
        const StateBlock& block = blocks_[level];
        const std::size_t first = core_.first_option(level), last = core_.first_option(level + 1);
        const bool to_leaf = level + 1 == core_.levels();
        children_.clear();
        if (!to_leaf) table_.clear(block.size() * (last - first));
        left_.resize(problem.resources());
        for (std::size_t i = 0; i < block.size(); ++i) {
            if (i % 64 == 0 && out_of_time()) return false;
            for (std::size_t k = first; k < last; ++k) {
                if (!leaves(problem, block.left.data() + i * problem.resources(), core_.use(k))) continue;
                const double value = block.value[i] + core_.value(k);
                if (to_leaf) {
                    if (value <= incumbent.value + problem.rounding()) continue;
                    adopt(problem, incumbent, [&](auto set) { trace(level, i, k, set); });
                    cut_.value = std::max(
                        cut_.value, incumbent.value + interesting(problem, incumbent, root_bound, options));
                } else {
                    const double bound = core_.bound(value, left_.data(), level + 1);
                    if (cut_(problem, bound)) continue;
                    merge(value, bound, static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(k));
                }
                ++nodes_;
            }
        }
        return true;
    }

    /// left_ = left - use; false if a capacity is exceeded.
    bool leaves(const CompactProblem& problem, const double* left, const double* use) {
        for (std::size_t r = 0; r < left_.size(); ++r) {
            left_[r] = left[r] - use[r];
            if (left_[r] < 0 && left_[r] < -capacity_tolerance(problem.capacity[r])) return false;
        }
        return true;
    }

    void merge(double value, double bound, std::uint32_t parent, std::uint32_t option) {
        std::uint32_t& slot = table_.slot(left_.data(), left_.size(), children_);
        if (slot == none) {
            slot = static_cast<std::uint32_t>(children_.size());
            children_.append(left_, value, bound, parent, option);
        } else if (value > children_.value[slot]) {
            children_.value[slot] = value;
            children_.bound[slot] = bound;
            children_.parent[slot] = parent;
            children_.option[slot] = option;
        }
    }

    /// Calls set(level, option) for the options that lead to `state` of a level's block, and for the last
    /// one.
    template <class Set>
    void trace(std::size_t level, std::size_t state, std::size_t option, Set set) const {
        set(level, option);
        for (; level > 0; --level) {
            set(level - 1, blocks_[level].option[state]);
            state = blocks_[level].parent[state];
        }
    }

    /// Replaces the incumbent by the fixed jobs plus what `path` sets: path(set) calls set(level, core
    /// option).
    template <class Path>
    void adopt(const CompactProblem& problem, Incumbent& incumbent, Path path) {
        incumbent.clear(problem);
        for (std::size_t job = 0; job < core_.fixed().size(); ++job)
            if (core_.fixed()[job] != none) incumbent.set(problem, job, core_.fixed()[job]);
        path([&](std::size_t level, std::size_t option) {
            if (core_.original(option) != none)
                incumbent.set(problem, core_.job(level), core_.original(option));
        });
        incumbent.recount(problem);
    }

    std::size_t nodes_ = 0;
    Cut cut_;
    Core core_;
    std::vector<double> left_;
    std::vector<std::uint32_t> order_;
    std::vector<StateBlock> blocks_, waiting_;
    StateBlock children_;
    StateTable table_;
};

}  // namespace detail
}  // namespace goodput

#endif
