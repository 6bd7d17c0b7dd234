// Makers of options: asking at prices is as good as listing, with a bound that covers both. Configurations
// of several parts or with host shares are planned and placed.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// A job's speed as a function of GPUs, nodes, and cores per GPU. Predictor and maker both know it.
struct Curve {
    double rate = 1, spread = 0.1, hunger = 1;

    [[nodiscard]] double goodput(const Configuration& configuration) const {
        const PoolShare& part = configuration.first();
        const double type = 1 + static_cast<double>(part.gpu_type);
        const double fed = 1 - std::exp(-configuration.host().cores_per_gpu / hunger);
        return type * rate * std::pow(part.shape.gpus, 0.8) / (1 + spread * (part.shape.nodes - 1)) * fed;
    }
};

/// The curve is stored in fields that a predictor may read.
Curve curve_of(const Job& job) {
    return {job.types[0].reference_rate, job.restart_cost_seconds / 100, job.attained_gpu_seconds / 100};
}

struct CurvePredictor {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            option.plan = {1, 0};
            option.goodput = curve_of(job).goodput(option.configuration);
        }
    }
};

struct RootOfGoodput {
    [[nodiscard]] double value(const Round&, const Job&, const Option& option) const {
        return std::sqrt(option.goodput);
    }
};

constexpr double host_sizes[] = {1, 2, 4, 8};

/// Limits the cores of each pool in sum, without a limit on any single node.
struct CoresOfPools {
    void rows(const Round& round, LimitRows& rows) const {
        for (const Pool& pool : round.pools) rows.add("cores", 3.0 * pool.gpus(), "cores");
    }
    void uses(const Round& round, const Job&, const Option& option, LimitUses& uses) const {
        uses.add(find_pool(round.pools, option.configuration.first()),
                 option.configuration.host().cores_per_gpu * option.configuration.gpus());
    }
};

/// Every number of GPUs that packs, with four host sizes, so that a plan is worth as much as its allotment.
template <class Visit>
void for_each_shape_of(const Round& round, const Job& job, Visit visit) {
    for (const Pool& pool : round.pools) {
        const int nodes = static_cast<int>(pool.nodes.size());
        for (int gpus = job.min_gpus; gpus <= std::min(job.max_gpus, pool.gpus()); ++gpus)
            for (int n = (gpus + pool.gpus_per_node - 1) / pool.gpus_per_node; n <= std::min(nodes, gpus);
                 ++n)
                if (n > 1 || std::has_single_bit(static_cast<unsigned>(gpus)))
                    visit(PoolShare{pool.gpu_type, pool.gpus_per_node, {n, gpus}});
    }
}

struct ListAll {
    void list(const Round& round, const Job& job, std::span<const int>, std::vector<Option>& options) const {
        for_each_shape_of(round, job, [&](const PoolShare& part) {
            for (const double cores : host_sizes)
                options.push_back({Configuration(part, {cores, 0}), {}, 0, Knowledge::unknown});
        });
    }
};

/// Lists only the smallest option. At prices, examines a shape only if it would pay with the speed of the
/// most cores at the price of the fewest.
struct AskForMore {
    bool one_only = false;  ///< appends only the best option

    void list(const Round& round, const Job& job, std::span<const int>, std::vector<Option>& options) const {
        for (const Pool& pool : round.pools)
            if (!pool.nodes.empty())
                options.push_back(
                    {Configuration({pool.gpu_type, pool.gpus_per_node, {1, job.min_gpus}}, {1, 0}),
                     {},
                     0,
                     Knowledge::unknown});
    }
    double ask(const Round& round, const Job& job, std::span<const int>, const AtPrices& at, double least,
               std::vector<Option>& options) const {
        double rest = -std::numeric_limits<double>::infinity(), best = least;
        const Curve curve = curve_of(job);
        for_each_shape_of(round, job, [&](const PoolShare& part) {
            Option hopeful{Configuration(part, {1, 0}),
                           {1, 0},
                           curve.goodput(Configuration(part, {8, 0})),
                           Knowledge::unknown};
            if (const double most = at.suppose(hopeful); most <= least) {
                rest = std::max(rest, most);
                return;
            }
            for (const double cores : host_sizes) {
                Option option{Configuration(part, {cores, 0}), {}, 0, Knowledge::unknown};
                const double gain = at.evaluate(option);
                if (one_only && gain > best) {
                    if (!options.empty()) rest = std::max(rest, best);
                    options.assign(1, option);
                    best = gain;
                } else if (!one_only && gain > least) {
                    options.push_back(option);
                } else {
                    rest = std::max(rest, gain);
                }
            }
        });
        return rest;
    }
};

Snapshot random_snapshot(Random& random, int nodes, int jobs) {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"slow", "fast"};
    for (int n = 0; n < nodes; ++n)
        snapshot.cluster.nodes.push_back({"node-" + std::to_string(n), n % 2 == 0 ? 0u : 1u, 8});
    for (int j = 0; j < jobs; ++j) {
        Job job{.name = "job-" + std::to_string(j),
                .restart_cost_seconds = random.between(0, 20),
                .attained_gpu_seconds = random.between(50, 300),
                .max_gpus = random.integer(1, 24),
                .initial_batch = 64,
                .max_batch = 64};
        job.types = {{.max_atomic_batch = 64, .reference_rate = random.between(0.5, 4)},
                     {.max_atomic_batch = 64}};
        snapshot.jobs.push_back(job);
    }
    return snapshot;
}

template <class Maker>
auto scheduler_with(Maker maker, double gap) {
    return Scheduler<RootOfGoodput, LeastMovesPlacer, Allotter<>, CurvePredictor>({}, {.gap = gap})
        .limited_by(CoresOfPools())
        .offering(maker);
}

}  // namespace

TEST_CASE("options that are asked for at prices are worth as much as a list of all, and so is the bound") {
    Random random(1);
    double listed_options = 0, asked_options = 0;
    for (int trial = 0; trial < 50; ++trial) {
        CAPTURE(trial);
        const bool large = trial % 10 == 0;
        const Snapshot snapshot = large
                                      ? random_snapshot(random, 16, 30)
                                      : random_snapshot(random, random.integer(2, 8), random.integer(1, 12));
        for (const double gap : {1e-3, 1e-6}) {
            if (large && gap < 1e-3) continue;
            auto all = scheduler_with(ListAll{}, gap);
            const Plan listed = all.plan(snapshot);
            for (const bool one_only : {false, true}) {
                CAPTURE(one_only);
                auto some = scheduler_with(AskForMore{one_only}, gap);
                const Plan& asked = some.plan(snapshot);
                CHECK(asked.faults.empty());
                const AllotResult& a = all.allotted();
                const AllotResult& b = some.allotted();
                CHECK(b.bound >= a.objective * (1 - 1e-9));
                CHECK(b.objective <= a.bound * (1 + 1e-9));
                if (!one_only) {
                    CHECK(b.objective >= a.bound * (1 - 2 * gap) - 1e-9);
                    CHECK(b.status == AllotStatus::optimal);
                }
                if (one_only || !large) continue;
                listed_options += static_cast<double>(all.problem().options());
                asked_options += static_cast<double>(some.problem().options());
            }
        }
    }
    CHECK(asked_options < 0.25 * listed_options);
}

TEST_CASE("a maker that keeps everything back gets a bound that says so, and one that fails is named") {
    struct Silent : AskForMore {
        double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
                   std::vector<Option>&) const {
            return 5;
        }
    };
    struct Failing : AskForMore {
        double ask(const Round&, const Job& job, std::span<const int>, const AtPrices&, double,
                   std::vector<Option>&) const {
            if (job.name == "job-0") throw std::runtime_error("no idea");
            return -std::numeric_limits<double>::infinity();
        }
    };
    Random random(2);
    const Snapshot snapshot = random_snapshot(random, 4, 6);
    auto silent = scheduler_with(Silent{}, 1e-4);
    const Plan& plan = silent.plan(snapshot);
    CHECK(plan.bound >= plan.objective + 5);
    CHECK(plan.status == AllotStatus::feasible);
    struct Vague : AskForMore {
        double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
                   std::vector<Option>&) const {
            return std::numeric_limits<double>::infinity();
        }
    };
    auto vague = scheduler_with(Vague{}, 1e-4);
    CHECK(std::isfinite(vague.plan(snapshot).bound));
    CHECK(vague.last_plan().faults.at(0).what == "the maker threw: its bound is inf");
    auto failing = scheduler_with(Failing{}, 1e-4);
    const Plan& named = failing.plan(snapshot);
    REQUIRE(!named.faults.empty());
    CHECK(named.faults[0].report(snapshot) == "job 'job-0': the maker threw: no idea");
    CHECK(named.objective > 0);
}

TEST_CASE("a policy that values whole rounds answers for one more option as if it had been listed") {
    Random random(3);
    int compared = 0;
    for (int trial = 0; trial < 200; ++trial) {
        Snapshot snapshot = random_snapshot(random, 4, 3);
        for (Job& job : snapshot.jobs)
            if (random.chance(0.5)) job.placement = {};
        std::vector<std::vector<Option>> options(3);
        std::vector<std::vector<double>> values(3);
        std::vector<OptionRow> rows;
        for (std::size_t j = 0; j < 3; ++j) {
            for (int gpus = 8; gpus >= 1; gpus /= 2)
                options[j].push_back({{0, 8, {1, gpus}}, {1, 0}, std::pow(gpus, 0.9), Knowledge::measured});
            values[j].resize(options[j].size());
            rows.push_back({snapshot.jobs[j], options[j], values[j]});
        }
        const GoodputPolicy policy;
        const Round round{1000, snapshot.cluster, {}};
        value_rows(policy, round, std::span<const OptionRow>(rows));
        // Remove the last option, then ask for exactly that one.
        for (std::size_t j = 0; j < 3; ++j) {
            const OptionRow fewer{snapshot.jobs[j], std::span<const Option>(options[j]).first(3),
                                  std::span<double>(values[j]).first(3)};
            CHECK(value_beside(policy, round, fewer, options[j][3]) == doctest::Approx(values[j][3]));
            ++compared;
        }
    }
    CHECK(compared == 600);
}

TEST_CASE("configurations over two GPU types are allotted, placed and kept") {
    /// Offers equally many GPUs of both types.
    struct Pairs {
        void list(const Round& round, const Job&, std::span<const int>, std::vector<Option>& options) const {
            for (const int gpus : {1, 2, 4})
                options.push_back(
                    {Configuration({{round.pools[0].gpu_type, round.pools[0].gpus_per_node, {1, gpus}},
                                    {round.pools[1].gpu_type, round.pools[1].gpus_per_node, {1, gpus}}}),
                     {},
                     0,
                     Knowledge::unknown});
        }
    };
    struct CountGpus {
        void operator()(const Job&, const JobModel&, std::span<Option> options) const {
            for (Option& option : options) {
                option.plan = {1, 0};
                option.goodput = option.configuration.gpus();
            }
        }
    };
    Random random(4);
    for (int trial = 0; trial < 100; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = random_snapshot(random, 4, random.integer(1, 12));
        auto scheduler =
            Scheduler<RootOfGoodput, LeastMovesPlacer, Allotter<>, CountGpus>().offering(Pairs{});
        for (int round = 0; round < 3; ++round) {
            const Plan& plan = scheduler.plan(snapshot);
            std::vector<int> free;
            for (const Node& node : snapshot.cluster.nodes) free.push_back(node.gpus);
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                const Decision& decision = plan.decisions[j];
                if (decision.placement.empty()) continue;
                CHECK(decision.option.configuration.parts().size() == 2);
                CHECK(configuration_of(decision.placement, snapshot.cluster) ==
                      decision.option.configuration);
                CHECK(std::is_sorted(decision.placement.begin(), decision.placement.end()));
                for (const NodeShare& share : decision.placement) free[share.node] -= share.gpus;
                if (round > 0) CHECK_FALSE(decision.starts);
            }
            for (const int left : free) CHECK(left >= 0);
            CHECK(plan.objective == doctest::Approx(scheduler.allotted().objective));
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
                snapshot.jobs[j].placement = plan.decisions[j].placement;
            if (round == 1)
                for (Job& job : snapshot.jobs) job.preemptible = job.placement.empty();
        }
    }
}

TEST_CASE("more cores per GPU go to jobs that gain from them, and no job restarts for them") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"node", 0, 8, false, 32, 0}}};
    for (const char* name : {"hungry", "modest"}) {
        Job job{.name = name, .min_gpus = 4, .max_gpus = 4, .initial_batch = 64, .max_batch = 64};
        job.types = {{.max_atomic_batch = 64}};
        job.host = HostNeeds{{1, 0}, {6, 0}, {}};
        for (const double cores : {2.0, 4.0, 6.0})
            job.host->speed.push_back({cores, 0, std::string(name) == "hungry" ? cores / 6 : 1});
        snapshot.jobs.push_back(job);
    }
    auto scheduler = with_hosts(Scheduler<RootOfGoodput>());
    const Plan plan = scheduler.plan(snapshot);
    CHECK(plan.decisions[0].option.configuration.host().cores_per_gpu == 6);
    CHECK(plan.decisions[1].option.configuration.host().cores_per_gpu == 2);
    CHECK(plan.limits[0].used == 32);
    for (std::size_t j = 0; j < 2; ++j) snapshot.jobs[j].placement = plan.decisions[j].placement;
    std::swap(snapshot.jobs[0].host, snapshot.jobs[1].host);
    const Plan swapped = scheduler.plan(snapshot);
    CHECK(swapped.decisions[0].option.configuration.host().cores_per_gpu == 2);
    CHECK_FALSE(swapped.decisions[0].starts);
    CHECK_FALSE(swapped.decisions[1].starts);
    // What no node can give is not offered, and the explanation says so.
    snapshot.jobs[0].host->least.cores_per_gpu = snapshot.jobs[0].host->most.cores_per_gpu = 9;
    snapshot.jobs[0].placement.clear();
    const Plan greedy = scheduler.plan(snapshot);
    CHECK(greedy.decisions[0].placement.empty());
    CHECK(greedy.decisions[0].verdict.outcome == Outcome::impossible);
    CHECK(greedy.decisions[0].verdict.reason ==
          "no node has the cores and the memory that it needs for each GPU");
    // If too few nodes can give it, the explanation says how many can.
    snapshot.cluster.nodes.push_back({"strong", 0, 8, false, 72, 0});
    snapshot.jobs[0].min_gpus = snapshot.jobs[0].max_gpus = 16;
    const Plan wide = scheduler.plan(snapshot);
    CHECK(wide.decisions[0].verdict.outcome == Outcome::impossible);
    CHECK(wide.decisions[0].verdict.reason ==
          "1 node has the cores and the memory that it needs for 8 GPUs, and it needs 2 such nodes");
}
