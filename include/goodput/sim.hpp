#ifndef GOODPUT_SIM_HPP
#define GOODPUT_SIM_HPP

// Replays a recorded workload: what would have happened under a given policy.

#include "goodput/sim/application.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/fair_share.hpp"
#include "goodput/sim/gavel_world.hpp"
#include "goodput/sim/interruptions.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/modelling.hpp"
#include "goodput/sim/renter.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/sia_world.hpp"
#include "goodput/sim/synergy_world.hpp"
#include "goodput/sim/tabulated.hpp"
#include "goodput/sim/task_world.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"

#endif
