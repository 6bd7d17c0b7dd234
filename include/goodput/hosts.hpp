#ifndef GOODPUT_HOSTS_HPP
#define GOODPUT_HOSTS_HPP

// CPU cores and memory in addition to GPUs: how much of each node a job gets, and what a job gains from
// more.

#include "goodput/hosts/divided_hosts.hpp"
#include "goodput/hosts/host_capacity.hpp"
#include "goodput/hosts/host_factor.hpp"
#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/hosts/host_shares.hpp"
#include "goodput/hosts/host_speed.hpp"
#include "goodput/hosts/with_hosts.hpp"

#endif
