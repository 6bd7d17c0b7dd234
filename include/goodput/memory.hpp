#ifndef GOODPUT_MEMORY_HPP
#define GOODPUT_MEMORY_HPP

// Which batches fit into the memory of a GPU, from measurements.

#include "goodput/memory/memory.hpp"
#include "goodput/memory/memory_fit.hpp"

#endif
