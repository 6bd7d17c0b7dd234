#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_CHECK_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_CHECK_HPP

// Claims that hold whatever the input. One that does not ends the process, which is how a fuzzer learns of a
// finding; NDEBUG does not switch them off.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace fuzz {

/// Aborts with the claim and two numbers that it is about, unless it holds. The last two arguments are the
/// caller's place in the source.
inline void check(bool holds, const char* claim, double first = 0, double second = 0,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (holds) return;
    std::fprintf(stderr, "%s:%d: not so: %s (%.17g, %.17g)\n", file, line, claim, first, second);
    std::abort();
}

/// Whether run() accepted its input: bad input gets std::invalid_argument, which says what is wrong. Any
/// other exception ends the process.
template <class Run>
bool accepted(Run run) {
    try {
        run();
        return true;
    } catch (const std::invalid_argument& refused) {
        check(refused.what()[0] != '\0', "who refuses an input says why");
        return false;
    }
}

}  // namespace fuzz

#endif
