#ifndef GOODPUT_SHARE_HPP
#define GOODPUT_SHARE_HPP

// Jobs of fixed sizes that take turns: which part of the time each should have on which GPU type.

#include "goodput/share/allox.hpp"
#include "goodput/share/allox_policy.hpp"
#include "goodput/share/fixed_shares.hpp"
#include "goodput/share/gandiva_fair.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/themis.hpp"
#include "goodput/share/time_sharing.hpp"
#include "goodput/share/water_filling.hpp"
#include "goodput/share/window_layout.hpp"
#include "goodput/share/window_market.hpp"

#endif
