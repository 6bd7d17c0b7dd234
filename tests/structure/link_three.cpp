// The only source with the bodies. The other two are compiled with GOODPUT_COMPILED.
#define GOODPUT_IMPLEMENTATION
#include "goodput/deadlines.hpp"
#include "goodput/goodput.hpp"
#include "goodput/pairs.hpp"
