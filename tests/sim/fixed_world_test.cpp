// Sia's world for policies of jobs of a fixed size is the same world, and tells the true speeds of jobs
// there.

#include <cstddef>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/sia_world.hpp"
#include "peers/gavel/time_shared_rounds.hpp"
#include "peers/sia/fixed_sia_world.hpp"
#include "sim/replay_world.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace sim_fixed_world {

using namespace goodput;
using peers::FixedSiaWorld;

TEST_CASE("within an epoch a job does its rate times the seconds, on every type on which it runs") {
    int trained = 0;
    for (unsigned seed = 1; seed <= 30; ++seed) {
        support::Random random(seed);
        const support::ReplayWorld given(random, 8);
        for (std::size_t job = 0; job < given.submissions.size(); ++job)
            for (std::size_t type = 0; type < given.cluster.gpu_types.size(); ++type) {
                FixedSiaWorld world(given.cluster, given.applications, given.submissions, {});
                const double rate = world.rate(job, type), left = world.steps_left(job);
                int of_node = 0;
                for (const Node& node : given.cluster.nodes)
                    if (node.gpu_type == type && node.gpus > of_node) of_node = node.gpus;
                if (!(rate > 0)) continue;
                const int gpus = world.gpus(job);
                const Configuration held(type, of_node, {(gpus + of_node - 1) / of_node, gpus});
                world.start(job, held);
                const double seconds = 1e-3 * left / rate;  // well within the first epoch
                world.train(job, held, 0, seconds);
                CHECK(world.last_run(job).ran_seconds == doctest::Approx(seconds));
                CHECK(left - world.steps_left(job) == doctest::Approx(rate * seconds));
                ++trained;
            }
    }
    CHECK(trained > 30);
}

TEST_CASE("with one GPU type, first come first served does the same there as in Sia's world") {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        support::Random random(seed);
        support::ReplayWorld given(random, 8);
        // Of several types it prefers the faster one; Sia's world shows it only after a run there.
        const std::size_t type = given.cluster.nodes.front().gpu_type;
        std::erase_if(given.cluster.nodes, [&](const Node& node) { return node.gpu_type != type; });
        SiaWorld<peers::KnownSpeeds> sia(given.cluster, given.applications, given.submissions,
                                         {.rigid = true});
        FixedSiaWorld fixed(given.cluster, given.applications, given.submissions, {});
        const ReplayOptions options{.interval_seconds = 60, .last_second = 1e6};
        const auto one = replay(given.cluster, sia, Fifo{}, options);
        const auto other = replay(given.cluster, fixed, Fifo{}, options);
        for (std::size_t job = 0; job < one.jobs.size(); ++job)
            CHECK(one.jobs[job].completed_seconds == other.jobs[job].completed_seconds);
    }
}

TEST_CASE("Gavel's rounds give GPUs of drained nodes only to jobs that hold them, and complete every job") {
    const Cluster cluster{{"gpu"}, {{"a", 0, 4}, {"b", 0, 4}}};
    Application toy{.name = "toy"};
    toy.types = {
        {.truth = PolluxThroughput{.alpha_c = 0.1, .beta_c = 0.01, .gamma = 1}, .max_atomic_batch = 64}};
    toy.curve = TrainingCurve({32}, {{{1, 1}}}, {2000});
    const std::vector<Application> applications{toy};
    std::vector<Submission> trace;
    for (int job = 0; job < 6; ++job) trace.push_back({"job-" + std::to_string(job), 100.0 * job, 0, 4, 32});
    FixedSiaWorld world(cluster, applications, trace, {});
    const auto equal = [](const peers::ShareQuestion& question) {
        return peers::Shares(question.jobs.size(), {1.0 / static_cast<double>(question.jobs.size() + 1)});
    };
    const ReplayResult result =
        replay(cluster, world, peers::TimeSharedRounds<FixedSiaWorld>(world, {.shares = equal}, {120, 480}),
               {.interval_seconds = 120,
                .events = {{.time_seconds = 300, .kind = EventKind::node_drains, .subject = "b"}}});
    CHECK(metrics_of(result).completed == trace.size());
}

}  // namespace sim_fixed_world
