#ifndef GOODPUT_SHARE_HPP
#define GOODPUT_SHARE_HPP

// Jobs of fixed sizes that take turns: the part of the time that each job should have on each GPU type.

#include "goodput/share/allox.hpp"
#include "goodput/share/assignment.hpp"
#include "goodput/share/objectives.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/share/water_filling.hpp"

#endif
