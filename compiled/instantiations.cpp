// The bodies that headers leave to goodput::compiled (core/bodies.hpp), and the usual instantiations.

#include "goodput/goodput.hpp"
//
#include "goodput/allot/detail/conflict.hpp"
#include "goodput/allot/detail/explain.hpp"
#include "goodput/allot/detail/explain_job.hpp"
#include "goodput/allot/detail/explain_resource.hpp"
#include "goodput/allot/detail/solver.hpp"
#include "goodput/fit/detail/job_fit.hpp"
#include "goodput/model/detail/goodput_predictor.hpp"
#include "goodput/place/detail/defragment.hpp"
#include "goodput/place/detail/least_moves.hpp"
#include "goodput/place/detail/topology_placer.hpp"
#include "goodput/schedule/detail/decision_explanation.hpp"
#include "goodput/schedule/detail/domain_blocks_bodies.hpp"
#include "goodput/schedule/detail/job_history.hpp"
#include "goodput/schedule/detail/job_kinds.hpp"
#include "goodput/schedule/detail/job_memory.hpp"
#include "goodput/schedule/detail/job_sizes.hpp"
#include "goodput/schedule/detail/leaving_nodes_bodies.hpp"
#include "goodput/schedule/detail/news_slips_bodies.hpp"
#include "goodput/schedule/detail/node_blocks_bodies.hpp"
#include "goodput/schedule/detail/open_nodes_bodies.hpp"
#include "goodput/schedule/detail/price_groups_bodies.hpp"
#include "goodput/schedule/detail/running_plans.hpp"
#include "goodput/schedule/detail/snapshot.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"
#include "goodput/schedule/detail/steady_choice_bodies.hpp"

namespace goodput {

template class Scheduler<Sia>;
template class Scheduler<GoodputPolicy>;
template class Scheduler<Pollux>;
template class Scheduler<LeastAttainedService>;
template class Scheduler<Fifo>;
template Plan plan<Sia>(const Snapshot&, Sia, AllotOptions);
template Plan plan<GoodputPolicy>(const Snapshot&, GoodputPolicy, AllotOptions);
template Plan plan<Pollux>(const Snapshot&, Pollux, AllotOptions);
template Plan plan<LeastAttainedService>(const Snapshot&, LeastAttainedService, AllotOptions);
template Plan plan<Fifo>(const Snapshot&, Fifo, AllotOptions);

}  // namespace goodput
