// The bodies that headers leave to goodput::compiled, as any source that defines GOODPUT_IMPLEMENTATION has
// them.

#define GOODPUT_IMPLEMENTATION
#include "goodput/goodput.hpp"
