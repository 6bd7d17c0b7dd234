// The one source that has the bodies of the others, which are compiled with GOODPUT_COMPILED.
#define GOODPUT_IMPLEMENTATION
#include "goodput/deadlines.hpp"
#include "goodput/goodput.hpp"
#include "goodput/pairs.hpp"
