// The bodies of systems above the toolkit. Their own headers have them where
// GOODPUT_IMPLEMENTATION is defined; here they are a source of their own, so that both are compiled side by
// side.

#include "goodput/deadlines/detail/promises_round.hpp"
#include "goodput/moves/detail/defragment.hpp"
#include "goodput/pairs/detail/pairs_round.hpp"
#include "goodput/proving/detail/proving_allotter.hpp"
#include "goodput/sim/detail/replay.hpp"
