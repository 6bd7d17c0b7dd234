#ifndef GOODPUT_COMPILED_SCHEDULER_HPP
#define GOODPUT_COMPILED_SCHEDULER_HPP

// compiled.hpp, and the schedulers of round after round that goodput::compiled has. The class is that of
// schedule/scheduler.hpp, so this takes as long to read as that, but nothing of it is compiled again.

#include "goodput/allot/allot.hpp"
#include "goodput/compiled.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput {

extern template class Allotter<>;
extern template class Scheduler<Sia>;
extern template class Scheduler<GoodputPolicy>;
extern template class Scheduler<Pollux>;
extern template class Scheduler<LeastAttainedService>;
extern template class Scheduler<Fifo>;

}  // namespace goodput

#endif
