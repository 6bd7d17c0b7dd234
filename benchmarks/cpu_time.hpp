#ifndef GOODPUT_BENCHMARKS_CPU_TIME_HPP
#define GOODPUT_BENCHMARKS_CPU_TIME_HPP

// Measures a call in CPU time of this process, so that other work on the machine does not count.

#include <algorithm>
#include <ctime>
#include <utility>

namespace benchmarks {

inline double cpu_milliseconds() {
    std::timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// Returns the CPU time of one call.
template <class Call>
double milliseconds_of(Call&& call) {
    const double begin = cpu_milliseconds();
    std::forward<Call>(call)();
    return cpu_milliseconds() - begin;
}

/// Returns the least of three calls, each after its `prepare`. A call of 50 ms or more is made once.
template <class Prepare, class Call>
double least_milliseconds(Prepare prepare, Call call) {
    prepare();
    double least = milliseconds_of(call);
    for (int repeat = 1; repeat < 3 && least < 50; ++repeat) {
        prepare();
        least = std::min(least, milliseconds_of(call));
    }
    return least;
}

}  // namespace benchmarks

#endif
