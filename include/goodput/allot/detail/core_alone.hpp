#ifndef GOODPUT_ALLOT_DETAIL_CORE_ALONE_HPP
#define GOODPUT_ALLOT_DETAIL_CORE_ALONE_HPP

// From an allotment and a bound to a proof by the search of the core (search.hpp), and by nothing else. Who
// has to prove what it does not takes goodput/proving.hpp.

#include <algorithm>
#include <cstddef>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/allot/rules.hpp"
#include "goodput/core/clock.hpp"

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
    /// Nothing else finds an allotment.
    static bool find(const CompactProblem&, const Relaxation&, Incumbent&, const AllotOptions&, Clock&) {
        return false;
    }

    /// Improves `incumbent` until it is proven within the gap, or time, states or memory end.
    SearchOutcome search_core(const CompactProblem& problem, const Relaxation& relaxation,
                              Incumbent& incumbent, const AllotOptions& options, Clock& clock) {
        SearchOutcome outcome = search_.run(problem, relaxation, {}, incumbent, options, clock, *branching_);
        outcome.bound = std::min(outcome.bound, relaxation.bound());
        nodes_ += outcome.nodes;
        return outcome;
    }
    /// The same: there is no other search.
    SearchOutcome run(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                      const AllotOptions& options, Clock& clock) {
        return search_core(problem, relaxation, incumbent, options, clock);
    }

private:
    const AnyBranching* branching_ = nullptr;
    CoreSearch<> search_;
    std::size_t nodes_ = 0;
};

}  // namespace goodput::detail

#endif
