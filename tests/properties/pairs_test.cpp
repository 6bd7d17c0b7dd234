// Properties of rounds in which jobs may share GPUs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/pairs/paired_scheduler.hpp"

#include "properties.hpp"
#include "support/rated_speeds.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using support::Random;

namespace {

using Paired = PairedScheduler<support::RootOfGoodput, LeastMovesPlacer, Allotter<>, support::RatedSpeeds>;

/// One or two GPU types, nodes of 1, 2 or 4 GPUs, up to six jobs of up to 4 GPUs, and some pairs of jobs.
struct PairRound {
    explicit PairRound(Random& random) {
        const int types = random.integer(1, 2);
        for (int t = 0; t < types; ++t) {
            now.cluster.gpu_types.push_back("type-" + std::to_string(t));
            for (int n = random.integer(1, 2), size = 1 << random.integer(0, 2); n > 0; --n)
                now.cluster.nodes.push_back({.name = std::to_string(t) + "-" + std::to_string(n),
                                             .gpu_type = static_cast<std::size_t>(t),
                                             .gpus = size});
        }
        for (int j = random.integer(2, 6); j > 0; --j) {
            Job job{.name = "job-" + std::to_string(j), .adaptivity = Adaptivity::gpus};
            job.initial_batch = job.target_batch = 1;
            job.max_gpus = 1 << random.integer(0, 2);
            job.types.resize(now.cluster.gpu_types.size());
            for (TypeLimits& limits : job.types) {
                limits.max_atomic_batch = 8;
                limits.reference_rate = random.between(1, 10);
            }
            now.jobs.push_back(job);
        }
        for (std::size_t a = 0; a < now.jobs.size(); ++a)
            for (std::size_t b = a + 1; b < now.jobs.size(); ++b)
                if (random.chance(0.5)) {
                    JobPair pair{{a, b}, {}, false};
                    for (int t = 0; t < types; ++t)
                        pair.parts.push_back({random.between(0.2, 1), random.between(0.2, 1)});
                    pairs.push_back(std::move(pair));
                }
    }

    Snapshot now{};
    std::vector<JobPair> pairs{};
};

void require_sound(const Snapshot& now, const Plan& plan) {
    std::vector<int> used(now.cluster.nodes.size(), 0);
    for (std::size_t j = 0; j < now.jobs.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        if (decision.shares_with) {
            REQUIRE(plan.decisions[*decision.shares_with].shares_with == j);
            REQUIRE(plan.decisions[*decision.shares_with].placement == decision.placement);
            if (*decision.shares_with < j) continue;
        }
        for (const NodeShare& share : decision.placement)
            REQUIRE((used[share.node] += share.gpus) <= now.cluster.nodes[share.node].gpus);
    }
    REQUIRE(plan.objective <= plan.bound + 1e-9 * (1 + plan.bound));
}

Plan plan_of(const Snapshot& now, const std::vector<JobPair>& pairs) {
    Paired scheduler({.predictor = support::RatedSpeeds()});
    Plan plan = scheduler.plan(now, pairs);
    require_sound(now, plan);
    return plan;
}

}  // namespace

TEST_CASE("pairs: one more pair on offer makes no proven plan worse, and no bound smaller") {
    for_all(20, [](Case& one) {
        const PairRound round(one.random);
        if (round.pairs.empty()) throw properties::NoVerdict{"without pairs"};
        std::vector<JobPair> fewer = round.pairs;
        fewer.erase(fewer.begin() + one.random.integer(0, static_cast<int>(fewer.size()) - 1));
        const Plan with = plan_of(round.now, round.pairs), without = plan_of(round.now, fewer);
        REQUIRE(without.objective <= with.bound + 1e-9 * (1 + with.bound));
        if (with.status != AllotStatus::optimal) return one.count("not proven");
        REQUIRE(with.objective >= without.objective - 2e-4 * (1 + without.objective));
    });
}

TEST_CASE("pairs: the order of jobs, and of the two jobs of a pair, changes no proven objective") {
    for_all(20, [](Case& one) {
        const PairRound round(one.random);
        const std::vector<std::size_t> to = properties::random_order(one.random, round.now.jobs.size());
        Snapshot now = round.now;
        std::vector<JobPair> pairs = round.pairs;
        for (std::size_t j = 0; j < to.size(); ++j) now.jobs[to[j]] = round.now.jobs[j];
        for (JobPair& pair : pairs) {
            pair.jobs = {to[pair.jobs[0]], to[pair.jobs[1]]};
            if (!one.random.chance(0.5)) continue;
            std::swap(pair.jobs[0], pair.jobs[1]);
            for (std::array<double, 2>& parts : pair.parts) std::swap(parts[0], parts[1]);
        }
        const Plan first = plan_of(round.now, round.pairs), second = plan_of(now, pairs);
        if (first.status != AllotStatus::optimal || second.status != AllotStatus::optimal)
            return one.count("not proven");
        REQUIRE(std::abs(first.objective - second.objective) <= 2e-4 * (1 + first.objective));
    });
}

TEST_CASE("pairs: a pair that gains nothing on any GPU type is as good as none") {
    for_all(20, [](Case& one) {
        PairRound round(one.random);
        for (JobPair& pair : round.pairs)
            for (std::array<double, 2>& parts : pair.parts) parts = {0, 0};
        const Plan with = plan_of(round.now, round.pairs), without = plan_of(round.now, {});
        for (const Decision& decision : with.decisions) REQUIRE(!decision.shares_with);
        REQUIRE(std::abs(with.objective - without.objective) <= 2e-4 * (1 + without.objective));
    });
}
