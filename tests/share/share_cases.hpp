#ifndef GOODPUT_TESTS_SHARE_SHARE_CASES_HPP
#define GOODPUT_TESTS_SHARE_SHARE_CASES_HPP

// Checks claims about shares on many random problems. For tests: includes doctest.

#include <cstdint>

#include "share/share_random.hpp"

#include <doctest/doctest.h>

namespace support {

/// Calls body(problem, random) for the problems of `count` seeds.
template <class Body>
void for_share_problems(int count, const ShareShape& shape, Body body) {
    for (int seed = 0; seed < count; ++seed) {
        CAPTURE(seed);
        Random random(static_cast<std::uint64_t>(seed));
        const goodput::ShareProblem problem = random_share_problem(random, shape);
        body(problem, random);
    }
}

}  // namespace support

#endif
