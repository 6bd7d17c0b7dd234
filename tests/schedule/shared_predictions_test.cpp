// Jobs that look the same to maker and predictor get the same answer, and are not each asked about.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// The same predictions, from a predictor that does not declare its inputs, so it is asked for every job.
struct EachByItself {
    GoodputPredictor predict{};
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        predict(job, model, options);
    }
    void operator()(const Job& job, const JobModel& model, std::span<Option> options,
                    const std::optional<GradientStatistics>& gradient) {
        predict(job, model, options, gradient);
    }
};
static_assert(!DeclaresInputs<EachByItself>);
static_assert(DeclaresInputs<GoodputPredictor>);

/// The same options, from a maker that does not declare its inputs.
struct ListForEach : ListedShapes {};
static_assert(DeclaresJobInputs<ListedShapes> && DeclaresJobInputs<HostShares<>>);
static_assert(!DeclaresJobInputs<ListForEach> && !DeclaresJobInputs<HostShares<ListForEach>>);

TypeModel random_model(support::Random& random) {
    TypeModel model;
    model.most_replicas = random.integer(0, 2);
    model.last_plan = {32 * random.integer(0, 1), 0};
    switch (random.integer(0, 2)) {
        case 0:
            model.throughput =
                PolluxThroughput{0.1, 0.001 * random.integer(1, 2), 0.1, 0.01, 0.02, 0.001, 1.5};
            break;
        case 1: {
            RefinedThroughput refined;
            refined.alpha_c = random.chance(0.5) ? 0.0 : -0.0;
            refined.beta_c = 0.002;
            refined.gamma = 2;
            refined.node_seconds = 0.02;
            refined.network_seconds = 0.1;
            if (random.chance(0.5)) refined.shapes.push_back({{1, 2}, 1, 1 + 0.1 * random.integer(0, 1)});
            if (random.chance(0.5)) refined.batches.push_back({64, 1 + 0.1 * random.integer(0, 1)});
            model.throughput = refined;
            model.fitted = true;
            break;
        }
        default:  // not valid: nothing can be predicted
            model.throughput = PolluxThroughput{std::nan(""), 0.001, 0.1, 0.01, 0.02, 0.001, 1.5};
    }
    return model;
}

/// Draws from few numbers, so that many jobs are alike and many are almost alike.
Job random_job(support::Random& random, int number) {
    Job job{.name = "job-" + std::to_string(number), .restart_cost_seconds = 30};
    job.min_gpus = 1 << random.integer(0, 1);
    job.max_gpus = 16 << random.integer(0, 1);
    job.adaptivity = random.chance(0.8) ? Adaptivity::batch : Adaptivity::gpus;
    job.initial_batch = 64 << random.integer(0, 1);
    job.max_batch = 2048;
    job.target_batch = 256;
    if (random.chance(0.5)) job.gradient = GradientStatistics{1, 1.0 * random.integer(0, 2)};
    for (int type = 0; type < 3; ++type)
        job.types.push_back({.max_atomic_batch = random.chance(0.9) ? 128 : 0,
                             .gpus_per_replica = random.chance(0.8) ? 1 : 2,
                             .max_nodes = random.chance(0.9) ? 1 << 20 : 1,
                             .reference_rate = 100.0 * random.integer(0, 1)});
    if (random.chance(0.3)) {
        job.host = HostNeeds{{1, 0}, {16.0 * random.integer(1, 2), 0}, {}};
        job.host->speed = {{1, 0, 0.5}, {4, 0, 0.9 + 0.1 * random.integer(0, 1)}, {12, 0, 1.2}};
    }
    return job;
}

template <class A, class B>
void check_same(const A& shared, const B& each, std::size_t jobs) {
    CHECK(shared.last_plan().faults.size() == each.last_plan().faults.size());
    const auto bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
    for (std::size_t j = 0; j < jobs; ++j) {
        const auto ours = shared.options_of(j), theirs = each.options_of(j);
        REQUIRE(ours.size() == theirs.size());
        for (std::size_t k = 0; k < ours.size(); ++k) {
            const bool same = ours[k].configuration == theirs[k].configuration &&
                              ours[k].plan == theirs[k].plan && ours[k].knowledge == theirs[k].knowledge &&
                              bits(ours[k].goodput) == bits(theirs[k].goodput) &&
                              bits(shared.values_of(j)[k]) == bits(each.values_of(j)[k]);
            REQUIRE(same);
        }
        CHECK(shared.last_plan().decisions[j].placement == each.last_plan().decisions[j].placement);
        CHECK(shared.last_plan().decisions[j].verdict.reason == each.last_plan().decisions[j].verdict.reason);
    }
}

}  // namespace

TEST_CASE("shared predictions equal those of every job by itself to the bit, round after round") {
    support::Random random(3);
    Scheduler<GoodputPolicy> shared;
    Scheduler<GoodputPolicy, LeastMovesPlacer, Allotter<>, EachByItself, Limits<>, ListForEach> each;
    Scheduler<Sia> shared_sia;
    Scheduler<Sia, LeastMovesPlacer, Allotter<>, EachByItself> each_sia;
    auto shared_host = with_hosts(Scheduler<GoodputPolicy>());
    auto each_host = with_hosts(
        Scheduler<GoodputPolicy, LeastMovesPlacer, Allotter<>, EachByItself, Limits<>, ListForEach>());
    Snapshot now;
    now.cluster.gpu_types = {"A", "B", "C"};
    for (int n = 0; n < 20; ++n) {
        now.cluster.nodes.push_back(
            {"node-" + std::to_string(n), static_cast<std::size_t>(n % 3), n % 3 == 0 ? 4 : 8});
        now.cluster.nodes.back().cores = 48;
    }
    int number = 0;
    for (int round = 0; round < 30; ++round) {
        now.time_seconds = 60.0 * round;
        for (Node& node : now.cluster.nodes) node.drained = random.chance(0.05);
        while (now.jobs.size() < 120) {
            now.jobs.push_back(random_job(random, number++));
            JobModel model;
            for (int type = 0; type < 3; ++type) model.types.push_back(random_model(random));
            now.models.push_back(model);
        }
        const auto compare = [&](auto& ours, auto& theirs) {
            ours.plan(now);
            theirs.plan(now);
            check_same(ours, theirs, now.jobs.size());
        };
        compare(shared, each);
        compare(shared_sia, each_sia);
        compare(shared_host, each_host);
        for (std::size_t j = now.jobs.size(); j-- > 0;) {
            Job& job = now.jobs[j];
            job.placement = shared.last_plan().decisions[j].placement;
            if (random.chance(0.1)) job.gradient = GradientStatistics{1, 1.0 * random.integer(0, 2)};
            if (!random.chance(0.08)) continue;
            now.jobs.erase(now.jobs.begin() + static_cast<std::ptrdiff_t>(j));
            now.models.erase(now.models.begin() + static_cast<std::ptrdiff_t>(j));
        }
    }
}
