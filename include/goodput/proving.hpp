#ifndef GOODPUT_PROVING_HPP
#define GOODPUT_PROVING_HPP

// Proves allotments that an Allotter cannot prove: gap 0 on pools that no options fill exactly, and
// assignments that barely fit.

#include "goodput/proving/proving_allotter.hpp"

#endif
