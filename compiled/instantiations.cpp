// Plans under the policies that goodput::compiled has.

#include "goodput/goodput.hpp"

namespace goodput {

template class Scheduler<Sia>;
template class Scheduler<GoodputPolicy>;
template class Scheduler<Pollux>;
template class Scheduler<LeastAttainedService>;
template class Scheduler<Fifo>;
template Plan plan<Sia>(const Snapshot&, Sia, AllotOptions);
template Plan plan<GoodputPolicy>(const Snapshot&, GoodputPolicy, AllotOptions);
template Plan plan<Pollux>(const Snapshot&, Pollux, AllotOptions);
template Plan plan<LeastAttainedService>(const Snapshot&, LeastAttainedService, AllotOptions);
template Plan plan<Fifo>(const Snapshot&, Fifo, AllotOptions);

}  // namespace goodput
