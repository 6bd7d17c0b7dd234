#ifndef GOODPUT_AVAILABILITY_HPP
#define GOODPUT_AVAILABILITY_HPP

// The cost of interruptions, checkpoints against them, how often nodes are lost, and which nodes to rent.

#include "goodput/availability/availability.hpp"
#include "goodput/availability/checkpointed_stage.hpp"
#include "goodput/availability/interruption_change.hpp"
#include "goodput/availability/interruption_fit.hpp"
#include "goodput/availability/live_periods.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/availability/node_renter.hpp"
#include "goodput/availability/rent_offer.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/availability/restart_cost.hpp"
#include "goodput/availability/stage_checkpoints.hpp"
#include "goodput/availability/stage_question.hpp"
#include "goodput/availability/usual_mechanisms.hpp"

#endif
