#include "goodput/fit/ceres_backend.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "support/refined_jobs.hpp"

#include <doctest/doctest.h>

using namespace goodput;

TEST_CASE(
    "Ceres Solver and steps of our own give the same models but where there are several: predictions within "
    "1 %, nearly all 0.1 %") {
    support::Random random(1);
    JobFitter tiny;
    JobFitter full({}, minimise_with_ceres);
    const std::vector<int> batches{16, 24, 40, 64, 128};
    int same = 0, rounds = 0, apart = 0;
    for (; rounds < 200; ++rounds) {
        const RefinedThroughput truth = support::random_refined(random, batches, true);
        std::vector<ThroughputSample> samples;
        for (int i = random.integer(5, 60); i > 0; --i) {
            const int nodes = random.integer(1, 4);
            samples.push_back(support::sample_of(truth, {nodes, nodes * random.integer(1, 8)},
                                                 batches[static_cast<std::size_t>(random.integer(0, 4))],
                                                 0.05, random));
        }
        const RefinedFit one = tiny.fit(samples), other = full.fit(samples, {.max_iterations = 300});
        CAPTURE(rounds);
        CHECK(one.status == FitStatus::converged);
        CHECK(other.status == FitStatus::converged);
        double worst = 0;
        for (const Shape shape :
             {Shape{1, 1}, Shape{1, 2}, Shape{1, 8}, Shape{2, 4}, Shape{2, 16}, Shape{4, 32}})
            for (const int batch : batches)
                worst = std::max(worst, std::abs(std::log(one.model.iteration_seconds(shape, {batch, 0}) /
                                                          other.model.iteration_seconds(shape, {batch, 0}))));
        // The prior lets go of what is far off, so that there may be several minima: once in a while the two
        // end in different ones, and ours is that which fits the measurements better.
        if (worst >= 0.01) CHECK(one.step_rmsle < other.step_rmsle);
        apart += worst >= 0.01 ? 1 : 0;
        same += worst < 0.001 ? 1 : 0;
    }
    CHECK(apart <= 2);
    // The rest are jobs at whose stragglers' weights the two come by other ways: 187 and 188 by optimisation.
    // They were fewer as long as the prior took synchronising of two nodes for twice that of one.
    CHECK(same >= 185);
}
