#ifndef GOODPUT_ALLOT_DETAIL_CORE_ALONE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_ALONE_HPP

// From an allotment and a bound to a proof by the search of the core (search.hpp), and by nothing else: in
// the branching rule's order and in the opposite one, in turns that grow, because one of them often does in
// milliseconds what takes the other hours, and nothing tells beforehand which. Who has to prove what it does
// not takes goodput/proving.hpp.

#include <algorithm>
#include <cstddef>

#include "goodput/allot/detail/branching.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/near_relaxation.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/detail/whole_units.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::detail {

/// The search with its memory, and the states that it has looked at since begin().
class CoreAlone {
public:
    /// Nothing is known of the problem that comes. The rule has to live as long as the search goes on.
    void begin(const AnyBranching& branching) {
        nodes_ = 0;
        branching_ = &branching;
    }
    /// States looked at since begin().
    [[nodiscard]] std::size_t nodes() const { return nodes_; }

    /// Nothing else makes an allotment of choices that exceed capacities.
    static bool repair(const CompactProblem&, const Relaxation&, Incumbent&, Clock&) { return false; }
    /// Looks for any allotment that serves all jobs that must run. Whether there is one now in `incumbent`.
    bool find(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
              const AllotOptions& options, Clock& clock) {
        return find_near_relaxation(problem, relaxation, incumbent, options.most_states, options,
                                    [&](const SearchStart& start, const AllotOptions& part) {
                                        return search(problem, relaxation, start, incumbent, part, clock);
                                    });
    }

    /// Improves `incumbent` by one search, which looks at the jobs in the branching rule's order.
    SearchOutcome search_core(const CompactProblem& problem, const Relaxation& relaxation,
                              Incumbent& incumbent, const AllotOptions& options, Clock& clock) {
        return search(problem, relaxation, {}, incumbent, options, clock);
    }
    /// Improves `incumbent` until it is proven within the gap, or time, states or memory end.
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, Clock& clock) {
        SearchOutcome best{relaxation.bound(), StopReason::states, 0};
        std::size_t left = options.most_states;
        int full = 0;  // searches in succession that memory ended
        SearchStart start;
        bool tightened = false;
        for (std::size_t states = first_states; left > 0 && full < 2; states *= growth) {
            AllotOptions part = options;
            part.most_states = std::min(states, left);
            const SearchOutcome outcome =
                search(tightened ? tight_ : problem, tightened ? tight_relaxation_ : relaxation, start,
                       incumbent, part, clock);
            best = {std::min(best.bound, outcome.bound), outcome.stopped, 0};
            const bool used_up = outcome.stopped == StopReason::states;
            left -= used_up ? part.most_states : std::min(left, outcome.nodes);
            full = outcome.stopped == StopReason::memory ? full + 1 : 0;
            const double enough = std::max(options.enough(best.bound), problem.rounding());
            if ((!used_up && full == 0) || best.bound - incumbent.value <= enough) break;
            if (states == first_states) {
                tight_ = problem;
                tightened = whole_units_(tight_);
                if (tightened) tight_relaxation_.solve(tight_, false, clock);
            }
            start.backwards = !start.backwards;
        }
        return best;
    }

private:
    static constexpr std::size_t first_states = std::size_t{1} << 15, growth = 8;

    SearchOutcome search(const CompactProblem& problem, const Relaxation& relaxation,
                         const SearchStart& start, Incumbent& incumbent, const AllotOptions& options,
                         Clock& clock) {
        const SearchOutcome outcome =
            search_.run(problem, relaxation, start, incumbent, options, clock, *branching_);
        nodes_ += outcome.nodes;
        return outcome;
    }

    const AnyBranching* branching_ = nullptr;
    WholeUnits whole_units_;
    CompactProblem tight_;
    Relaxation tight_relaxation_;
    CoreSearch<> search_;
    std::size_t nodes_ = 0;
};

}  // namespace goodput::detail

#endif
