// The bodies of engines of systems above the toolkit.

#include "goodput/deadlines/detail/promises_round.hpp"
#include "goodput/pairs/detail/pairs_round.hpp"
