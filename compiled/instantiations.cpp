// The bodies that headers leave to goodput::compiled (core/bodies.hpp), and the usual instantiations.

#include "goodput/goodput.hpp"
//
#include "goodput/allot/detail/conflict.hpp"
#include "goodput/allot/detail/explain.hpp"
#include "goodput/allot/detail/explain_job.hpp"
#include "goodput/allot/detail/explain_resource.hpp"
#include "goodput/allot/detail/solver.hpp"
#include "goodput/fit/detail/job_fit.hpp"
#include "goodput/fit/detail/refined_fitter.hpp"
#include "goodput/model/detail/goodput_predictor.hpp"
#include "goodput/place/detail/defragment.hpp"
#include "goodput/place/detail/least_moves.hpp"
#include "goodput/place/detail/topology_placer.hpp"
#include "goodput/schedule/detail/decision_explanation.hpp"
#include "goodput/schedule/detail/job_history.hpp"
#include "goodput/schedule/detail/job_sizes.hpp"
#include "goodput/schedule/detail/news_slips_bodies.hpp"
#include "goodput/schedule/detail/round.hpp"
#include "goodput/schedule/detail/running_plans.hpp"
#include "goodput/schedule/detail/snapshot.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"

namespace goodput {

template class RefinedFitter<>;
template class JobFitter<>;
template class BasicKindHistories<>;
template class BasicJobMemory<>;
template void JobHistory::refit(JobFitter<>&, std::string_view);

}  // namespace goodput
