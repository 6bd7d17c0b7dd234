#ifndef GOODPUT_SHARE_PARTIAL_ALLOCATION_HPP
#define GOODPUT_SHARE_PARTIAL_ALLOCATION_HPP

// The partial allocation mechanism (Cole, Gkatzelis and Goel, EC'13), Themis' auction (NSDI'20, section 5):
// bidders say what bundles are worth to them; the allotment of the largest product of all valuations is
// found, and each winner keeps only the part of its bundle that its presence leaves of the others' product,
//
//     kept_j = product over the others of V(with j) / product over the others of V(best without j)
//
// So nobody gains by a wrong bid. The rest of the bundles is left over.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"

namespace goodput {

/// Who wins what, and which part of it they keep.
struct PartialAllocation {
    AllotResult won{};           ///< of the largest product; objective: its logarithm
    std::vector<double> kept{};  ///< by job, in (0, 1]; 1 for those that win nothing
};

/// The auction among the jobs of a problem whose values are ln(V(option) / V(nothing)): options at or below 0
/// are not won. One solve, and one more for each winner. Bad numbers: std::invalid_argument.
[[nodiscard]] inline PartialAllocation partial_allocation(AllotmentProblem log_valuations,
                                                          const AllotOptions& options = {}) {
    Allotter<> allotter;
    PartialAllocation found{allotter(log_valuations, options), {}};
    found.kept.assign(log_valuations.jobs(), 1);
    for (std::size_t job = 0; job < log_valuations.jobs(); ++job) {
        const std::size_t choice = found.won.choice[job];
        if (choice == no_option) continue;
        const double others = found.won.objective - log_valuations.value(job, choice);
        const std::vector<double> values(log_valuations.values(job).begin(),
                                         log_valuations.values(job).end());
        // Nobody takes what is worth less than nothing.
        std::ranges::fill(log_valuations.values(job), -1.0);
        const double without = allotter(log_valuations, options).objective;
        std::ranges::copy(values, log_valuations.values(job).begin());
        found.kept[job] = std::min(1.0, std::exp(others - without));
    }
    return found;
}

}  // namespace goodput

#endif
