#ifndef GOODPUT_MOVES_HPP
#define GOODPUT_MOVES_HPP

// Defragmentation: which running jobs move, in which order, so that there is room.

#include "goodput/moves/defragment.hpp"
#include "goodput/moves/defragment_plan.hpp"

#endif
