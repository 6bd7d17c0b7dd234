#ifndef GOODPUT_TESTS_SIM_REPLAY_WORLD_HPP
#define GOODPUT_TESTS_SIM_REPLAY_WORLD_HPP

// Small clusters, applications and traces for replays.

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/sim/application.hpp"
#include "support/random.hpp"

namespace support {

/// Makes ten epochs of 100 iterations at the initial batch, with gradient noise that grows ten-fold.
inline goodput::TrainingCurve growing_curve(int initial_batch, int max_batch) {
    std::vector<goodput::GradientStatistics> gradients;
    std::vector<double> progress;
    for (int epoch = 0; epoch < 10; ++epoch) {
        gradients.push_back({1, std::pow(10, epoch / 9.0)});
        progress.push_back(100.0 * (epoch + 1));
    }
    return {{initial_batch, max_batch}, {gradients, gradients}, progress};
}

/// Three nodes with 4 GPUs of type slow, three with 8 of type fast; three applications, and random jobs.
struct ReplayWorld {
    goodput::Cluster cluster{{"slow", "fast"}, {}};
    std::vector<goodput::Application> applications;
    std::vector<goodput::Submission> submissions;

    explicit ReplayWorld(Random& random, int jobs) {
        for (std::size_t type = 0; type < 2; ++type)
            for (int node = 0; node < 3; ++node)
                cluster.nodes.push_back(
                    {cluster.gpu_types[type] + std::to_string(node), type, type == 0 ? 4 : 8});
        for (int a = 0; a < 3; ++a) {
            goodput::Application application{.name = "application-" + std::to_string(a)};
            application.curve = growing_curve(32, 1024);
            application.restart_seconds = application.restart_cost_seconds = random.integer(0, 90);
            for (int type = 0; type < 2; ++type) {
                const double speed = type == 0 ? 1 : 3;
                application.types.push_back(
                    {goodput::PolluxThroughput{random.between(0.05, 0.3) / speed,
                                               random.between(0.001, 0.01) / speed, random.between(0.05, 0.4),
                                               random.between(0, 0.02), random.between(0.01, 0.1),
                                               random.between(0, 0.02), random.between(1, 3)},
                     8, 128});
            }
            applications.push_back(application);
        }
        double time = 0;
        for (int j = 0; j < jobs; ++j) {
            time += random.integer(0, 200);
            submissions.push_back({"job-" + std::to_string(j), time,
                                   static_cast<std::size_t>(random.integer(0, 2)), 1 << random.integer(0, 3),
                                   256});
        }
    }
};

/// One job of ten epochs, 63 s each on one GPU; a start takes 25 s. Submitted at 70, so it starts at 120.
struct LoneJob {
    goodput::Cluster cluster{{"only"}, {{"node", 0, 1}}};
    std::vector<goodput::Application> applications;
    std::vector<goodput::Submission> submissions{{"job", 70, 0, 1, 32}};

    LoneJob() {
        goodput::Application application{.name = "single"};
        application.curve =
            goodput::TrainingCurve({32}, {std::vector<goodput::GradientStatistics>(10, {1, 1})},
                                   {100, 200, 300, 400, 500, 600, 700, 800, 900, 1000});
        application.restart_seconds = 25;
        application.slowdown = 1.5;
        // An iteration takes 1.5 x (0.1 + 32 x 0.01) s.
        application.types = {{goodput::PolluxThroughput{0.1, 0.01, 0, 0, 0, 0, 1}, 1, 32}};
        applications = {application};
    }
};

}  // namespace support

#endif
