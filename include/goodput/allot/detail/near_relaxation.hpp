#ifndef GOODPUT_ALLOT_DETAIL_NEAR_RELAXATION_HPP
#define GOODPUT_ALLOT_DETAIL_NEAR_RELAXATION_HPP

// Finds a first allotment if the jobs that must run barely fit.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/incumbent.hpp"
#include "goodput/allot/detail/relaxation.hpp"
#include "goodput/allot/detail/search.hpp"
#include "goodput/allot/result.hpp"

namespace goodput::inline v0_1::detail {

/// Searches as if an allotment that is worth a little less than the bound were known. If the jobs that must
/// run barely fit, this is faster than to ask only whether all of them can be served, because the values
/// tell which of many choices to look at first. Each of two searches looks at an eighth of `most_states`,
/// or of the options' remaining states if these are fewer. search(start, options) improves `incumbent` and
/// returns its outcome. Returns whether an allotment was found.
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

}  // namespace goodput::inline v0_1::detail

#endif
