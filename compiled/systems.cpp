// The bodies of the systems that build on the toolkit. Their headers have them if GOODPUT_IMPLEMENTATION is
// defined. They have a source file of their own, so that it compiles in parallel with the toolkit's.

#include "goodput/deadlines/detail/promises_round.hpp"
#include "goodput/moves/detail/defragment.hpp"
#include "goodput/pairs/detail/pairs_round.hpp"
#include "goodput/proving/detail/proving_allotter.hpp"
#include "goodput/sim/detail/replay.hpp"
