#ifndef GOODPUT_ALLOT_DETAIL_CORE_AND_TREE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_AND_TREE_HPP

// Turns a first allotment and a bound into a proof, with two searches. The search of the core (search.hpp:
// the choices that the prices leave undecided) takes its bounds from the prices of the relaxation and looks
// at millions of states. The tree (price_tree.hpp) computes new prices at every node. They take turns of
// growing length, because one of them often needs milliseconds for what takes the other hours: the core is
// quick if few rows bind, the tree if many do. The core alternates between the branching rule's order and
// the opposite one, and starts over in each turn. The tree continues where it ended.

#include <algorithm>
#include <cstddef>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/near_relaxation.hpp"
#include "goodput/allot/detail/price_tree.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/detail/whole_units.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

/// Both searches with their memory, and the number of states looked at since begin().
class CoreAndTree {
public:
    /// Starts on a new problem. The rule must live as long as the search is used.
    void begin(const AnyBranching& branching) {
        nodes_ = 0;
        branching_ = &branching;
    }
    /// Returns the number of states looked at since begin().
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

    /// Never succeeds: this search has no other way to make an allotment of choices that exceed capacities.
    static bool repair(const CompactProblem&, const Relaxation&, Incumbent&, Clock&) { return false; }
    /// Looks for any allotment that serves all jobs that must run. Returns whether `incumbent` now holds
    /// one.
    bool find(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        return find_near_relaxation(problem, relaxation, incumbent, options.most_states, options,
                                    [&](const SearchStart& start, const AllotOptions& part) {
                                        return search(problem, relaxation, start, incumbent, part, clock);
                                    });
    }

    /// Improves `incumbent` by one search of the core, in the branching rule's order.
    SearchOutcome search_core(const CompactProblem& problem, const Relaxation& relaxation,
                              Incumbent& incumbent, const AllotOptions& options, Clock& clock) {
        return search(problem, relaxation, {}, incumbent, options, clock);
    }
    /// Improves `incumbent` until it is proven within the gap, or until time, states or memory run out.
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, Clock& clock) {
        AllotOptions part = options;
        part.most_states = std::min(first_turn(problem), options.most_states);
        SearchOutcome first = search(problem, relaxation, {}, incumbent, part, clock);
        if (is_end(first) || is_enough(problem, incumbent, first.bound, options)) return first;
        part.most_states = options.most_states - std::min(options.most_states, first.used(part.most_states));
        return go_on(problem, relaxation, first, incumbent, part, clock);
    }
    /// Runs the turns after the core's first one, whose outcome was `best`.
    SearchOutcome go_on(const CompactProblem& problem, const Relaxation& relaxation, SearchOutcome best,
                        Incumbent& incumbent, const AllotOptions& options, Clock& clock) {
        std::size_t left = options.most_states;
        // Number of successive turns that ended for lack of memory.
        int core_full = best.stopped == StopReason::memory ? 1 : 0;
        bool tree_full = false;
        tight_ = problem;
        const bool tightened = whole_units_(tight_);
        if (tightened) tight_relaxation_.solve(tight_, false, clock);
        const CompactProblem& tight = tightened ? tight_ : problem;
        const Relaxation& tight_relaxed = tightened ? tight_relaxation_ : relaxation;
        tree_.reset();
        // Runs a search for at most `states` states. Returns whether no other search needs a turn.
        const auto turn = [&](std::size_t states, auto&& run) {
            AllotOptions part = options;
            part.most_states = std::min(states, left);
            const SearchOutcome outcome = run(part);
            best = {std::min(best.bound, outcome.bound), outcome.stopped, 0};
            left -= std::min(left, outcome.used(part.most_states));
            return left == 0 || is_end(outcome) || is_enough(problem, incumbent, best.bound, options);
        };
        SearchStart start;
        const auto by_core = [&](std::size_t states) {
            if (core_full == 2) return false;
            start.backwards = !start.backwards;
            const bool end = turn(states, [&](const AllotOptions& part) {
                return search(tight, tight_relaxed, start, incumbent, part, clock);
            });
            core_full = best.stopped == StopReason::memory ? core_full + 1 : 0;
            return end;
        };
        const std::size_t least = first_turn(problem);
        const auto by_tree = [&](std::size_t states) {
            if (tree_full || (left < least && core_full < 2)) return false;
            const bool end = turn(states, [&](const AllotOptions& part) {
                const SearchOutcome outcome = tree_.run(tight, tight_relaxed, incumbent, part, clock);
                nodes_ += outcome.nodes;
                return outcome;
            });
            tree_full = best.stopped == StopReason::memory;
            return end;
        };
        const bool many = binds_many(tight_relaxed);
        if (by_tree(least)) return best;
        for (std::size_t states = growth * least; left > 0 && (core_full < 2 || !tree_full); states *= growth)
            if (many ? by_tree(states) || by_core(states) : by_core(states) || by_tree(states)) break;
        return best;
    }

    /// Returns whether enough rows have a price that the tree is usually the faster search.
    [[nodiscard]] static bool binds_many(const Relaxation& relaxation) {
        return std::ranges::count_if(relaxation.prices(), [](double price) { return price > 0; }) >= 5;
    }

    /// Returns whether the incumbent is within the gap of this bound.
    [[nodiscard]] static bool is_enough(const CompactProblem& problem, const Incumbent& incumbent,
                                        double bound, const AllotOptions& options) {
        return bound - incumbent.value <=
               std::max(problem.rounding(), options.enough(bound)) + problem.rounding();
    }

    static constexpr std::size_t growth = 8;  ///< factor by which each turn is longer than the last

private:
    /// Returns whether a search ended for another reason than its limits of states and memory.
    static bool is_end(const SearchOutcome& outcome) {
        return outcome.stopped != StopReason::states && outcome.stopped != StopReason::memory;
    }
    SearchOutcome search(const CompactProblem& problem, const Relaxation& relaxation,
                         const SearchStart& start, Incumbent& incumbent, const AllotOptions& options,
                         Clock& clock) {
        const SearchOutcome outcome =
            search_.run(problem, relaxation, start, incumbent, options, clock, *branching_);
        nodes_ += outcome.nodes;
        return outcome;
    }

    /// Returns the number of states of a first turn. It grows with the number of options, because the tree
    /// looks at each option a few times before its first decision. The core may do as much work before the
    /// tree begins.
    static std::size_t first_turn(const CompactProblem& problem) {
        constexpr std::size_t by_option = 8, least = std::size_t{1} << 11, most = std::size_t{1} << 15;
        return std::clamp(by_option * problem.count, least, most);
    }

    const AnyBranching* branching_ = nullptr;
    WholeUnits whole_units_;
    CompactProblem tight_;
    Relaxation tight_relaxation_;
    CoreSearch<> search_;
    PriceTree<> tree_;
    std::size_t nodes_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
