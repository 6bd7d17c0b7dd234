#ifndef GOODPUT_HOSTS_HPP
#define GOODPUT_HOSTS_HPP

// CPU cores and memory beside GPUs: who gets how much of each node, and what is gained by it.

#include "goodput/hosts/divided_hosts.hpp"
#include "goodput/hosts/host_capacity.hpp"
#include "goodput/hosts/host_factor.hpp"
#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/hosts/host_shares.hpp"
#include "goodput/hosts/host_speed.hpp"
#include "goodput/hosts/with_hosts.hpp"

#endif
