#ifndef GOODPUT_PARALLEL_HPP
#define GOODPUT_PARALLEL_HPP

// Large models over several GPUs, types and zones: which layers go into which stage, and on which GPUs.

#include "goodput/parallel/large_models.hpp"
#include "goodput/parallel/layer_profile_fit.hpp"
#include "goodput/parallel/layered_model.hpp"
#include "goodput/parallel/parallel_cluster.hpp"
#include "goodput/parallel/parallel_fit.hpp"
#include "goodput/parallel/parallel_plan.hpp"
#include "goodput/parallel/parallel_planner.hpp"
#include "goodput/parallel/parallel_plans.hpp"
#include "goodput/parallel/plan_placement.hpp"
#include "goodput/parallel/plan_question.hpp"
#include "goodput/parallel/plan_score.hpp"
#include "goodput/parallel/plan_terms.hpp"
#include "goodput/parallel/refined_constants.hpp"

#endif
