#ifndef GOODPUT_TESTS_SUPPORT_TRIALS_HPP
#define GOODPUT_TESTS_SUPPORT_TRIALS_HPP

// How many of a long loop's random cases are run.

#include <cstdlib>
#include <string_view>

namespace support {

/// All where GOODPUT_TEST_TRIALS is 1, as in .ci/run, otherwise a fifth: the first ones of the same seed.
/// What a loop has to have met comes out in proportion.
inline int trials(int all) {
    const char* const said = std::getenv("GOODPUT_TEST_TRIALS");
    return said && std::string_view(said) == "1" ? all : all / 5;
}

}  // namespace support

#endif
