#ifndef GOODPUT_PROVING_DETAIL_SEARCH_TURNS_HPP
#define GOODPUT_PROVING_DETAIL_SEARCH_TURNS_HPP

// Turns a first allotment and a bound into a proof. Decides which search has its turn, and for how long.
// One search often needs milliseconds for what takes the others hours, and nothing tells in advance which
// search that is. There are three searches: one of the core, which is the choices that prices on capacities
// leave undecided (allot/detail/search.hpp); one by prices on jobs (job_price_search.hpp); and a
// branch-and-bound tree (allot/detail/price_tree.hpp).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/core_and_tree.hpp"
#include "goodput/allot/detail/exchange.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/near_relaxation.hpp"
#include "goodput/allot/detail/price_tree.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/proving/detail/job_price_search.hpp"
#include "goodput/proving/detail/later_knapsacks.hpp"

namespace goodput::inline v0_1::detail {

/// The searches with their memory, and the number of states that they have looked at since begin().
class SearchTurns {
public:
    SearchTurns() = default;
    SearchTurns(const SearchTurns&) = delete;
    SearchTurns& operator=(const SearchTurns&) = delete;

    /// Starts on a new problem. `branching` must outlive the search.
    void begin(const AnyBranching& branching) {
        nodes_ = 0;
        job_price_search_.reset();
        branching_ = &branching;
    }
    /// Returns the number of states looked at since begin().
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

    /// Exchanges options until the choices of `incumbent`, which exceed capacities, are an allotment.
    /// Returns whether that succeeded.
    bool repair(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                Clock& clock) {
        return exchange_.repair(problem, relaxation.prices(), incumbent, most_exchange_work, clock);
    }

    /// Looks for any allotment that serves all jobs that must run. Returns whether `incumbent` now holds
    /// one.
    bool find(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        const std::size_t before = nodes_;
        const auto rest = [&] {
            AllotOptions left = options;
            left.most_states -= std::min(left.most_states, nodes_ - before);
            return left;
        };
        const auto near = [&](std::size_t most_states) {
            return find_near_relaxation(problem, relaxation, incumbent, most_states, rest(),
                                        [&](const SearchStart& start, const AllotOptions& part) {
                                            return search_core(problem, relaxation, start, incumbent, part,
                                                               clock);
                                        });
        };
        if (near(first_states)) return true;
        incumbent.clear(problem);
        incumbent.value = -std::numeric_limits<double>::infinity();
        const bool found = job_price_search_.find(problem, relaxation, incumbent, rest(), clock);
        nodes_ += job_price_search_.nodes();
        return found || near(options.most_states);
    }

    /// Improves `incumbent` by the search of the core alone.
    SearchOutcome search_core(const CompactProblem& problem, const Relaxation& relaxation,
                              Incumbent& incumbent, const AllotOptions& options, Clock& clock) {
        return search_core(problem, relaxation, {}, incumbent, options, clock);
    }

    /// Improves `incumbent` until it is proven within the gap, or until time, states or memory run out.
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, Clock& clock) {
        problem_ = &problem;
        relaxation_ = &relaxation;
        incumbent_ = &incumbent;
        clock_ = &clock;
        return take_turns(options);
    }

private:
    SearchOutcome search_core(const CompactProblem& problem, const Relaxation& relaxation,
                              const SearchStart& start, Incumbent& incumbent, const AllotOptions& options,
                              Clock& clock) {
        const SearchOutcome outcome =
            core_search_.run(problem, relaxation, start, incumbent, options, clock, *branching_);
        nodes_ += outcome.nodes;
        return outcome;
    }

    /// Runs the search of the core first, which is enough for most problems. Then three searches take
    /// turns, and each turn of a search is several times as long as its previous one. They are the search
    /// of the core without the options that prices on jobs rule out, the search by these prices and, if
    /// options use several resources, the tree.
    SearchOutcome take_turns(const AllotOptions& options) {
        std::size_t left = options.most_states;
        SearchOutcome best{relaxation_->bound(), StopReason::states, 0};
        // Runs a search for at most `states` states, or with all states that are left if it is alone.
        // Returns whether no other search needs a turn.
        const auto turn = [&](bool alone, std::size_t states, auto&& run) {
            if (left == 0) return true;
            AllotOptions part = options;
            part.most_states = alone ? left : std::min(states, left);
            const SearchOutcome outcome = run(part);
            best = {std::min(best.bound, outcome.bound), outcome.stopped, 0};
            left -= std::min(left, outcome.used(part.most_states));
            return outcome.stopped == StopReason::deadline || is_enough(best.bound, options);
        };
        if (turn(false, first_states, [&](const AllotOptions& part) { return core({}, part); })) return best;
        const bool several = takes_several();
        bool core_fits = true, prices_apply = true;
        part_of_gap_ = first_part_of_gap;
        tree_.reset();
        const auto prepare = [&](const AllotOptions& part) {
            const auto outcome =
                job_price_search_.prepare(*problem_, *relaxation_, best.bound, *incumbent_, part, *clock_);
            prices_apply = outcome.has_value();
            nodes_ += job_price_search_.nodes();
            return outcome.value_or(SearchOutcome{best.bound, StopReason::proven, 0});
        };
        // If options use several resources, and many capacities are used up, prices on jobs say little
        // about the problem.
        if (several && CoreAndTree::binds_many(*relaxation_))
            prices_apply = false;
        else if (turn(true, left, prepare))
            return best;
        if (!prices_apply) {
            AllotOptions rest = options;
            rest.most_states = left;
            core_and_tree_.begin(*branching_);
            const SearchOutcome outcome =
                core_and_tree_.go_on(*problem_, *relaxation_, best, *incumbent_, rest, *clock_);
            nodes_ += core_and_tree_.nodes();
            return outcome;
        }
        // A dive takes about as long as preparing the prices did, and would have to start over if it were
        // cut off.
        const std::size_t least_dive = 2 * job_price_search_.nodes();
        // With more resources, fewer states of the core are equal and can be merged, so its search may
        // examine fewer states in a turn.
        const std::size_t share = std::max<std::size_t>(1, problem_->resources() / narrow);
        for (std::size_t states = first_states; left > 0;) {
            states *= CoreAndTree::growth;
            if (core_fits && turn(false, states / share, [&](const AllotOptions& part) {
                    return search_narrowed(best.bound, part);
                }))
                return best;
            core_fits = core_fits && best.stopped != StopReason::memory;
            if (turn(!core_fits && !several, std::max(states, least_dive), [&](const AllotOptions& part) {
                    const SearchOutcome outcome = job_price_search_.run(*relaxation_, best.bound, part);
                    nodes_ += outcome.nodes;
                    return outcome;
                }))
                return best;
            if (several && turn(false, states, [&](const AllotOptions& part) {
                    const SearchOutcome outcome =
                        tree_.run(*problem_, *relaxation_, *incumbent_, part, *clock_);
                    nodes_ += outcome.nodes;
                    return outcome;
                }))
                return best;
        }
        return best;
    }

    SearchOutcome core(const SearchStart& start, const AllotOptions& options) {
        return search_core(*problem_, *relaxation_, start, *incumbent_, options, *clock_);
    }

    [[nodiscard]] bool is_enough(double bound, const AllotOptions& options) const {
        return CoreAndTree::is_enough(*problem_, *incumbent_, bound, options);
    }

    /// Searches the core without the options that prices on jobs rule out, as if an allotment just below
    /// the bound were known. If this proves that no allotment is worth more, the bound falls, and the
    /// search repeats a little further below. If a search neither proves this nor finds an allotment, the
    /// next call begins further below.
    SearchOutcome search_narrowed(double bound, const AllotOptions& options) {
        AllotOptions part = options;
        SearchOutcome outcome{bound, StopReason::proven, 0};
        const auto count = [&](std::size_t nodes) {
            outcome.nodes += nodes;
            part.most_states = options.most_states - std::min(options.most_states, outcome.nodes);
        };
        for (double below = 0; outcome.stopped == StopReason::proven;) {
            const double value = incumbent_->value,
                         least = value + std::max(problem_->rounding(), options.enough(value));
            below = std::max(4 * below, (outcome.bound - value) * part_of_gap_);
            const double target = outcome.bound - below > least ? outcome.bound - below : value;
            std::optional<SearchStart> start = job_price_search_.narrow(*relaxation_, std::max(target, least),
                                                                        part, core_search_.second_bound());
            count(job_price_search_.nodes());
            nodes_ += job_price_search_.nodes();
            if (!start) {
                outcome.bound = std::min(outcome.bound, std::max(target, least));
            } else {
                start->above = target;
                const SearchOutcome found = core(*start, part);
                count(found.nodes);
                outcome.stopped = found.stopped;
                if (found.stopped == StopReason::proven)
                    outcome.bound = std::max(std::min(outcome.bound, found.bound), incumbent_->value);
                else if (incumbent_->value <= target)
                    part_of_gap_ *= 2;
            }
            core_search_.second_bound().forget();
            job_price_search_.widen();
            if (is_enough(outcome.bound, options)) break;
            if (part.most_states == 0) outcome.stopped = StopReason::states;
            if (clock_->late()) outcome.stopped = StopReason::deadline;
        }
        return outcome;
    }

    /// Returns whether an option uses several resources. Prices on jobs then say less about the problem.
    [[nodiscard]] bool takes_several() const {
        for (std::uint32_t k = 0; k < problem_->count; ++k)
            if (problem_->uses_of(k).size() > 1) return true;
        return false;
    }

    /// Number of states of the core's search before another search has its first turn.
    static constexpr std::size_t first_states = std::size_t{1} << 15;
    static constexpr std::size_t most_exchange_work = std::size_t{1} << 22;
    static constexpr std::size_t narrow = 4;
    static constexpr double first_part_of_gap = 0.25;
    const AnyBranching* branching_ = nullptr;
    JobPriceSearch job_price_search_;
    CoreSearch<LaterKnapsacks> core_search_;
    CoreAndTree core_and_tree_;  ///< used if prices on jobs do not apply
    PriceTree<> tree_;
    Exchange exchange_;
    std::size_t nodes_ = 0;
    double part_of_gap_ = 0;  ///< how far below the bound the core looks first, as a part of the gap
    // The arguments of the run in progress.
    const CompactProblem* problem_ = nullptr;
    const Relaxation* relaxation_ = nullptr;
    Incumbent* incumbent_ = nullptr;
    Clock* clock_ = nullptr;
};

}  // namespace goodput::inline v0_1::detail

#endif
