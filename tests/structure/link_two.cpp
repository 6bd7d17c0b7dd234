#include "goodput/agent.hpp"
#include "goodput/availability.hpp"
#include "goodput/deadlines.hpp"
#include "goodput/goodput.hpp"
#include "goodput/hosts.hpp"
#include "goodput/parallel.hpp"
#include "goodput/proving.hpp"
#include "goodput/share.hpp"
#include "goodput/sim.hpp"
#include "goodput/tasks.hpp"

std::string_view version_of_the_other() { return goodput::version; }
