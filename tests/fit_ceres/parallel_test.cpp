#include "goodput/fit/ceres_backend.hpp"

#include <cmath>

#include "goodput/parallel/parallel_fit.hpp"
#include "goodput/parallel/refined_constants.hpp"
#include "support/random.hpp"
#include "support/random_parallel_run.hpp"

#include <doctest/doctest.h>

using namespace goodput;

TEST_CASE("The full Ceres solver and TinySolver find the same constants of parallel runs") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        support::Random random(seed);
        support::RandomParallelRuns made(12, 1, random);
        for (ParallelRun& run : made.runs) {
            const auto [seconds, bytes] = predict_run(run, refined_constants());
            run.iteration_seconds = seconds * random.between(0.97, 1.03);
            run.most_bytes = bytes * random.between(0.97, 1.03);
        }
        const ParallelFit tiny = fit_parallel_constants(made.runs);
        const ParallelFit full = fit_parallel_constants(made.runs, {}, minimise_with_ceres);
        CAPTURE(seed);
        CHECK(is_fitted(full.status));
        for (const ParallelRun& run : made.runs) {
            const auto [seconds, bytes] = predict_run(run, tiny.on(0));
            const auto [full_seconds, full_bytes] = predict_run(run, full.on(0));
            CHECK(full_seconds == doctest::Approx(seconds).epsilon(0.003));
            CHECK(full_bytes == doctest::Approx(bytes).epsilon(0.003));
        }
    }
}
