#ifndef GOODPUT_ALLOT_DETAIL_NEAR_RELAXATION_HPP
#define GOODPUT_ALLOT_DETAIL_NEAR_RELAXATION_HPP

// A first allotment where the jobs that must run hardly fit.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::detail {

/// Searches as if an allotment were known that is worth a little less than the bound. Where all jobs that
/// must run fit, but hardly, that is quicker than to ask for their service alone, because their values say
/// which of many choices to look at. Each of two searches looks at an eighth of `most_states`, or of
/// what is left of the options' states, whichever is less. `search(start, options)` improves `incumbent`, and
/// returns its outcome.
template <class Search>
bool find_near_relaxation(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                          std::size_t most_states, const AllotOptions& options, Search search) {
    std::size_t left = options.most_states;
    for (const double below : {0.01, 0.1}) {
        AllotOptions part = options;
        part.most_states = std::min(left, most_states) / 8;
        part.gap = std::min(part.gap, below / 8);
        part.absolute_gap = 0;
        SearchStart start;
        start.above = relaxation.bound() - below * problem.magnitude;
        incumbent.value = -std::numeric_limits<double>::infinity();
        left -= std::min(left, search(start, part).nodes);
        if (incumbent.value > start.above) return true;
    }
    return false;
}

}  // namespace goodput::detail

#endif
