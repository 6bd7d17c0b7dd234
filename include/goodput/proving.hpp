#ifndef GOODPUT_PROVING_HPP
#define GOODPUT_PROVING_HPP

// Proves allotments that an Allotter cannot prove: to gap 0 on pools that the options do not fill, and hard
// assignments.

#include "goodput/proving/proving_allotter.hpp"

#endif
