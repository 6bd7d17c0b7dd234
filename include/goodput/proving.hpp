#ifndef GOODPUT_PROVING_HPP
#define GOODPUT_PROVING_HPP

// Proves allotments optimal where an Allotter stops short: gap 0 on odd pools, and hard assignments.

#include "goodput/proving/proving_allotter.hpp"

#endif
