#ifndef GOODPUT_CORE_INTERVAL_HPP
#define GOODPUT_CORE_INTERVAL_HPP

// Between which two numbers something lies.

namespace goodput {

/// From `low` to `high`.
struct Interval {
    double low = 0;   ///< in the unit of what it is an interval of
    double high = 0;  ///< at least `low`
};

}  // namespace goodput

#endif
