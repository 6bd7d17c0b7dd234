#ifndef GOODPUT_GOODPUT_HPP
#define GOODPUT_GOODPUT_HPP

// The toolkit: models and their fits, the allotment, placement, policies, and the round that joins them.
// The systems that build on it have headers of their own: proving.hpp, moves.hpp, policies.hpp, hadar.hpp,
// memory.hpp, statistics.hpp, availability.hpp, hosts.hpp, share.hpp, pairs.hpp, deadlines.hpp, tasks.hpp,
// parallel.hpp, agent.hpp, sim.hpp. Include two headers yourself if you want them: place/home_flow.hpp
// needs Boost.Graph, and fit/ceres_backend.hpp needs all of Ceres.
//
// With goodput::compiled (core/detail/bodies.hpp), this header means the same and compiles in a fraction of
// the time. If you fit models of your own, also include fit/model_fit.hpp, which brings Eigen and Ceres.

#include "goodput/allot/allot.hpp"
#include "goodput/allot/conflict.hpp"
#include "goodput/allot/explain.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/bytes.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/host.hpp"
#include "goodput/core/interruptions.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/core/tasks.hpp"
#include "goodput/fit/convergence_fit.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "goodput/fit/refined_fit.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/model/pipeline.hpp"
#include "goodput/model/throughput.hpp"
#include "goodput/place/fragmentation.hpp"
#include "goodput/place/least_moves.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/place/topology_placer.hpp"
#include "goodput/policy/ageing.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/version.hpp"

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/model_fit.hpp"
#include "goodput/fit/throughput_terms.hpp"
#endif

#endif
