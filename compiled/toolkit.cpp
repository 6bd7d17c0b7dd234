// The bodies that headers leave to goodput::compiled, as in any source that defines GOODPUT_IMPLEMENTATION.

#define GOODPUT_IMPLEMENTATION
#include "goodput/goodput.hpp"
