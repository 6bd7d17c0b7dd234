#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_CHECK_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_CHECK_HPP

// Claims that hold whatever the input. A false claim ends the process, which tells the fuzzer about a
// finding. NDEBUG does not switch claims off.

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace fuzz {

/// Aborts with the claim and two numbers about it if it does not hold. The last two arguments are the
/// caller's place in the source.
inline void check(bool holds, const char* claim, double first = 0, double second = 0,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (holds) return;
    std::fprintf(stderr, "%s:%d: not so: %s (%.17g, %.17g)\n", file, line, claim, first, second);
    std::abort();
}

/// Whether run() accepted its input. Bad input gets std::invalid_argument with a reason. Any other
/// exception ends the process.
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
