#ifndef GOODPUT_COMPILED_HPP
#define GOODPUT_COMPILED_HPP

// The usual ways in, without what is behind them: for programs that link goodput::compiled, a library that
// has the usual instantiations. What is here means what it means in goodput.hpp, to the bit; it takes a
// twentieth of the time to compile. What is not here (a policy of one's own, a limit, a replay) is in the
// other headers as ever, and may stand beside it in one program.

#include "goodput/fit/refined_fitter.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/las.hpp"
#include "goodput/policy/pollux.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/plan.hpp"

namespace goodput {

/// \cond  Doxygen does not know these from new functions.
extern template class RefinedFitter<>;
extern template class JobFitter<>;
extern template class BasicKindHistories<>;
extern template class BasicJobMemory<>;
extern template void JobHistory::refit(JobFitter<>&, std::string_view);
extern template Plan plan<Sia>(const Snapshot&, Sia, AllotOptions);
extern template Plan plan<GoodputPolicy>(const Snapshot&, GoodputPolicy, AllotOptions);
extern template Plan plan<Pollux>(const Snapshot&, Pollux, AllotOptions);
extern template Plan plan<LeastAttainedService>(const Snapshot&, LeastAttainedService, AllotOptions);
extern template Plan plan<Fifo>(const Snapshot&, Fifo, AllotOptions);
/// \endcond

}  // namespace goodput

#endif
