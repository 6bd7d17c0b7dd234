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
/// which of many choices to look at. `rest()`: the options with the states that are left. `search(start,
/// options)` improves `incumbent`.
template <class Rest, class Search>
bool find_near_relaxation(const CompactProblem& problem, const Relaxation& relaxation, Incumbent& incumbent,
                          std::size_t most_states, Rest rest, Search search) {
    for (const double below : {0.01, 0.1}) {
        AllotOptions part = rest();
        part.most_states = std::min(part.most_states, most_states) / 8;
        part.gap = std::min(part.gap, below / 8);
        part.absolute_gap = 0;
        SearchStart start;
        start.above = relaxation.bound() - below * problem.magnitude;
        incumbent.value = -std::numeric_limits<double>::infinity();
        search(start, part);
        if (incumbent.value > start.above) return true;
    }
    return false;
}

}  // namespace goodput::detail

#endif
