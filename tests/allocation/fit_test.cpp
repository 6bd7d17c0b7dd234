// Fits have their memory after the first ones, but for what Ceres' TinySolver takes by itself (Eigen's
// memory, which is not of operator new). A program of its own, because it counts allocations.

#include <cstddef>
#include <vector>

#include "allocation/counting_new.hpp"
#include "goodput/fit/job_fit.hpp"
#include "support/random.hpp"
#include "support/refined_jobs.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::allocations_during;

TEST_CASE("A fitter that has met its largest job allocates nothing, from the last fits or from none") {
    support::Random random(7);
    const std::vector<int> batches{16, 24, 40, 64};
    const auto models = support::random_types(random, batches, true);
    std::vector<std::vector<ThroughputSample>> samples(3);  // the last type has none
    for (std::size_t t = 0; t < models.size(); ++t)
        for (int i = 0; i < 40; ++i) {
            const int nodes = random.integer(1, 4);
            samples[t].push_back(support::sample_of(models[t], {nodes, nodes * random.integer(1, 8)},
                                                    batches[static_cast<std::size_t>(random.integer(0, 3))],
                                                    0.05, random));
        }
    JobFitter fitter;
    std::vector<TypeFit> types(samples.size());
    CHECK(allocations_during([&] { fitter(samples, types); }) > 0);
    for (int again = 0; again < 3; ++again) CHECK(allocations_during([&] { fitter(samples, types); }) == 0);
    RefinedFit fit;
    fitter.fit(samples[0], {}, fit);
    CHECK(allocations_during([&] { fitter.fit(samples[0], {}, fit); }) == 0);
    CHECK(allocations_during([&] { fitter.fit(samples[0], {.start = &fit}, fit); }) == 0);
}
