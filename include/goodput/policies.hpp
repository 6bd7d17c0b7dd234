#ifndef GOODPUT_POLICIES_HPP
#define GOODPUT_POLICIES_HPP

// Policies of published systems, and one for jobs of fixed sizes, in addition to those in policy/.

#include "goodput/policies/balanced_slowdown.hpp"
#include "goodput/policies/optimus.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policies/tiresias.hpp"

#endif
