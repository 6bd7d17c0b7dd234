#ifndef GOODPUT_TESTS_SUPPORT_TRIALS_HPP
#define GOODPUT_TESTS_SUPPORT_TRIALS_HPP

// The number of random cases that long loops run.

#include <cstdlib>
#include <string_view>

namespace support {

/// Returns `all` if GOODPUT_TEST_TRIALS is 1, as in .ci/run, and otherwise a fifth: the first cases of the
/// same seed. Tests scale the counts that they require in the same way.
inline int trials(int all) {
    const char* const said = std::getenv("GOODPUT_TEST_TRIALS");
    return said && std::string_view(said) == "1" ? all : all / 5;
}

}  // namespace support

#endif
