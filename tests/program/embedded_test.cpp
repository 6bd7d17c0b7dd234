// The embedded applications are what the library's own fit finds for the published measurements, and the
// embedded workload is the same on every machine.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "peers/pollux/throughput_fit.hpp"
#include "replay/embedded.hpp"
#include "support/profiles.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

TEST_CASE("the embedded workload: 160 jobs in order, each runnable, and the same for the same seed") {
    const std::vector<Application> applications = cli::embedded_applications();
    const std::vector<Submission> workload = cli::embedded_workload();
    REQUIRE(workload.size() == 160);
    std::set<std::string> names;
    double last = 0;
    for (const Submission& job : workload) {
        CHECK(names.insert(job.name).second);
        CHECK(job.time_seconds >= last);
        last = job.time_seconds;
        const TrainingCurve& curve = applications.at(job.application).curve;
        CHECK(job.batch >= curve.initial_batch());
        CHECK(job.batch <= curve.max_batch());
    }
    CHECK(last > 6 * 3600);
    CHECK(last < 10 * 3600);
    const std::vector<Submission> again = cli::embedded_workload(), other = cli::embedded_workload(160, 2);
    bool same_as_other = true;
    for (std::size_t i = 0; i < workload.size(); ++i) {
        CHECK(again[i].name == workload[i].name);
        CHECK(again[i].time_seconds == workload[i].time_seconds);
        same_as_other = same_as_other && other[i].time_seconds == workload[i].time_seconds;
    }
    CHECK(!same_as_other);
}

TEST_SUITE("data") {
    TEST_CASE("the embedded models explain the measurements as well as a fresh fit does") {
        const std::vector<std::string> types{"aws", "dgx-ext", "rtx"};
        for (const Application& application : cli::embedded_applications()) {
            for (std::size_t t = 0; t < types.size(); ++t) {
                const std::string folder =
                    std::string(GOODPUT_DATA_DIR) + "/sia/profiles/" + application.name;
                const support::Profile profile = support::read_profile(folder, types[t]);
                std::vector<ThroughputSample> samples = profile.scalability;
                for (const PlacementSample& placed : profile.placements) {
                    const int gpus =
                        std::accumulate(placed.gpus_by_node.begin(), placed.gpus_by_node.end(), 0);
                    samples.push_back({{static_cast<int>(placed.gpus_by_node.size()), gpus},
                                       {placed.atomic_batch, 0},
                                       placed.step_seconds,
                                       placed.sync_seconds});
                }
                const ApplicationOnType& embedded = application.types[t];
                double squares = 0;
                for (const ThroughputSample& sample : samples) {
                    const double step = embedded.seconds(sample.shape, sample.plan.atomic_batch).step;
                    squares += std::pow(std::log(step / sample.step_seconds), 2);
                    CHECK(sample.plan.atomic_batch >= embedded.min_atomic_batch);
                }
                const double rmsle = std::sqrt(squares / static_cast<double>(samples.size()));
                CAPTURE(application.name);
                CAPTURE(types[t]);
                CHECK(rmsle <= 1.01 * fit_throughput(samples).step_rmsle);
            }
        }
    }
}
