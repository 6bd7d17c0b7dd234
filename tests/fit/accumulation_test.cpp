// Iterations with accumulation steps: samples with 1, 3 and 7 steps predict 0 and 15 steps without bias,
// whether the synchronisation time is known or not.

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "support/random.hpp"
#include "support/refined_jobs.hpp"

#include <doctest/doctest.h>

namespace accumulation_tests {

using namespace goodput;

const std::vector<int> batches{16, 32, 64, 128};

/// How iterations are reported: as they took, or divided evenly among their microbatches.
enum class Report { whole, divided };

/// Means of ln(predicted / true) and of its absolute value, without and with 15 accumulation steps.
struct Bias {
    std::array<double, 2> mean{}, size{};
};

Bias bias_of(Report report, bool sync_known) {
    support::Random random(17);
    Bias bias;
    constexpr int jobs = 60;
    for (int job = 0; job < jobs; ++job) {
        const RefinedThroughput truth = support::random_refined(random, batches);
        std::vector<ThroughputSample> samples;
        for (const Shape shape : {Shape{1, 2}, Shape{1, 4}, Shape{1, 8}, Shape{2, 8}, Shape{2, 16}})
            for (const int batch : batches)
                for (const int steps : {1, 3, 7}) {
                    const double compute = truth.compute_seconds(batch) * truth.compute_factor(shape);
                    const double noise = std::exp(0.02 * support::normal(random));
                    const double all =
                        std::max(truth.iteration_seconds(shape, {batch, steps}), (steps + 1) * compute);
                    ThroughputSample sample{.shape = shape, .plan = {batch, steps}, .sync_known = sync_known};
                    const double sync = sync_known ? noise * (all - (steps + 1) * compute) : 0;
                    if (report == Report::whole) {
                        sample.whole_iteration = true;
                        sample.step_seconds = noise * all;
                    } else {
                        sample.step_seconds = (noise * all - sync) / (steps + 1) + sync;
                    }
                    sample.sync_seconds = sync;
                    samples.push_back(sample);
                }
        const RefinedFit fit = fit_refined(samples);
        CAPTURE(job);
        if (report == Report::whole) CHECK(fit.status == FitStatus::converged);
        for (const Shape shape : {Shape{1, 4}, Shape{2, 8}})
            for (const std::size_t at : {0u, 1u}) {
                const BatchPlan plan{64, at == 0 ? 0 : 15};
                const double error =
                    std::log(fit.model.iteration_seconds(shape, plan) / truth.iteration_seconds(shape, plan));
                bias.mean[at] += error / (2 * jobs);
                bias.size[at] += std::abs(error) / (2 * jobs);
            }
    }
    return bias;
}

}  // namespace accumulation_tests

TEST_CASE("Whole iterations of 1, 3 and 7 accumulation steps predict 0 and 15 with a bias below 2 %") {
    using namespace accumulation_tests;
    for (const bool sync_known : {true, false}) {
        CAPTURE(sync_known);
        const Bias bias = bias_of(Report::whole, sync_known);
        MESSAGE("sync ", sync_known ? "known" : "unknown", ": bias without accumulation ", bias.mean[0],
                ", with 15 steps ", bias.mean[1], "; size ", bias.size[0], ", ", bias.size[1]);
        for (const double mean : bias.mean) CHECK(std::abs(mean) < 0.02);
        for (const double size : bias.size) CHECK(size < 0.04);
    }
}

TEST_CASE("Divided evenly without the synchronisation time, the same iterations mislead") {
    using namespace accumulation_tests;
    const Bias whole = bias_of(Report::whole, false), divided = bias_of(Report::divided, false);
    MESSAGE("divided: bias without accumulation ", divided.mean[0], ", with 15 steps ", divided.mean[1]);
    CHECK(std::abs(divided.mean[0]) > 3 * std::abs(whole.mean[0]));
}
