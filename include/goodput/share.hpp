#ifndef GOODPUT_SHARE_HPP
#define GOODPUT_SHARE_HPP

// Jobs of fixed sizes that take turns: which part of the time each should have on which GPU type.

#include "goodput/share/allox.hpp"
#include "goodput/share/assignment.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/share/water_filling.hpp"

#endif
