#ifndef GOODPUT_MOVES_HPP
#define GOODPUT_MOVES_HPP

// Defragmentation: moves running jobs to make room, in a feasible order.

#include "goodput/moves/defragment.hpp"
#include "goodput/moves/defragment_plan.hpp"

#endif
