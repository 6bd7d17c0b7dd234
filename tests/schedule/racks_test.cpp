// Jobs that must stay within one rack: what the rows say about racks, and what a plan then proves.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "goodput/place/topology_placer.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

struct KnownSpeed {
    void operator()(const Job&, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            option.goodput = 1;
            option.plan = {1, 0};
        }
    }
};

/// A policy that values a job by its goodput alone.
struct EachJobCounts {
    double value(const Round&, const Job&, const Option& option) const { return option.goodput; }
};
/// The same as a policy for whole rounds, which the scheduler asks again after it withdraws options.
struct EachJobCountsInARound {
    void value_round(const Round&, std::span<const OptionRow> rows) const {
        for (const OptionRow& row : rows)
            for (std::size_t k = 0; k < row.options.size(); ++k) row.values[k] = row.options[k].goodput;
    }
};

struct RackRound {
    Snapshot snapshot;
    Topology topology{{{"rack", 1, {}}}};

    explicit RackRound(support::Random& random) {
        snapshot.cluster.gpu_types = {"a", "b"};
        const int racks = random.integer(2, 4), sizes = random.integer(1, 2);
        for (int n = random.integer(5, 12); n > 0; --n) {
            const int size = std::vector{8, 4, 6}[static_cast<std::size_t>(random.integer(0, sizes))];
            snapshot.cluster.nodes.push_back({"n" + std::to_string(n), random.chance(0.6) ? 0U : 1U, size});
            topology.levels[0].domain_of.push_back(static_cast<std::size_t>(random.integer(1, racks)));
        }
        for (int j = random.integer(2, 6); j > 0; --j) {
            Job job{.name = "j" + std::to_string(j),
                    .adaptivity = Adaptivity::none,
                    .initial_batch = 64,
                    .max_batch = 64,
                    .target_batch = 64};
            job.min_gpus = job.max_gpus =
                std::vector{16, 16, 12, 8, 24, 3, 2}[static_cast<std::size_t>(random.integer(0, 6))];
            if (random.chance(0.7)) job.within = "rack";
            job.types.resize(2);
            for (TypeLimits& type : job.types) type.max_atomic_batch = random.chance(0.7) ? 64 : 0;
            if (job.types[0].max_atomic_batch + job.types[1].max_atomic_batch == 0)
                job.types[0].max_atomic_batch = 64;
            limit_to_domains(job, topology, snapshot.cluster);
            snapshot.jobs.push_back(job);
            snapshot.models.emplace_back();
        }
    }
    /// A round with `racks` racks of `nodes` nodes of 4 GPUs each, and no jobs.
    RackRound(std::size_t nodes, std::size_t racks) {
        snapshot.cluster.gpu_types = {"a"};
        for (std::size_t n = 0; n < nodes * racks; ++n) {
            snapshot.cluster.nodes.push_back({"n" + std::to_string(n), 0, 4});
            topology.levels[0].domain_of.push_back(n / nodes);
        }
    }
    /// Returns a job that must stay within a rack.
    [[nodiscard]] static Job job(const std::string& name, int gpus) {
        Job job{.name = name,
                .min_gpus = gpus,
                .max_gpus = gpus,
                .adaptivity = Adaptivity::none,
                .initial_batch = 64,
                .max_batch = 64,
                .target_batch = 64};
        job.within = "rack";
        job.types = {{.max_atomic_batch = 64}};
        return job;
    }
};

/// Finds out whether jobs of fixed sizes can run side by side, by trying all nodes for all jobs.
class SideBySide {
public:
    SideBySide(const RackRound& round, std::vector<std::size_t> jobs)
        : round_(round), jobs_(std::move(jobs)) {
        for (const Node& node : round_.snapshot.cluster.nodes) free_.push_back(node.gpus);
        std::stable_sort(jobs_.begin(), jobs_.end(), [&](std::size_t a, std::size_t b) {
            return round_.snapshot.jobs[a].max_gpus > round_.snapshot.jobs[b].max_gpus;
        });
    }
    [[nodiscard]] bool possible() { return place(0); }

private:
    bool place(std::size_t at) {
        if (at == jobs_.size()) return true;
        const Job& job = round_.snapshot.jobs[jobs_[at]];
        for (std::size_t type = 0; type < job.types.size(); ++type)
            for (const int size : {4, 6, 8}) {
                const int nodes = (job.max_gpus + size - 1) / size;
                if (job.types[type].max_atomic_batch == 0 || nodes > job.types[type].max_nodes) continue;
                if (spread(at, type, size, 0, nodes, nodes, {})) return true;
            }
        return false;
    }
    bool spread(std::size_t at, std::size_t type, int size, std::size_t from, int nodes, int left,
                std::vector<std::size_t> taken) {
        if (left == 0) return place(at + 1);
        const Job& job = round_.snapshot.jobs[jobs_[at]];
        const std::vector<std::size_t>& rack_of = round_.topology.levels[0].domain_of;
        for (std::size_t n = from; n < free_.size(); ++n) {
            const Node& node = round_.snapshot.cluster.nodes[n];
            const int needed = nodes > 1 ? size : job.max_gpus;
            if (node.gpu_type != type || node.gpus != size || free_[n] < needed) continue;
            if (!taken.empty() && !job.within.empty() && rack_of[n] != rack_of[taken[0]]) continue;
            free_[n] -= needed;
            taken.push_back(n);
            const bool found = spread(at, type, size, n + 1, nodes, left - 1, taken);
            taken.pop_back();
            free_[n] += needed;
            if (found) return true;
        }
        return false;
    }

    const RackRound& round_;
    std::vector<std::size_t> jobs_;
    std::vector<int> free_;
};

struct Count {
    int plans = 0, optimal = 0, waiting = 0;
};

/// Plans a round. Checks that no plan called optimal leaves out a job that could run next to the others.
template <class P>
void check_round(const RackRound& round, Count& count) {
    Scheduler<P, TopologyPlacer, Allotter<>, KnownSpeed> scheduler(P(), {.gap = 0},
                                                                   TopologyPlacer(round.topology));
    const Plan& plan = scheduler.plan(round.snapshot);
    if (!plan.warnings.empty()) FAIL(plan.warnings.front());
    REQUIRE(plan.bound >= plan.objective);
    ++count.plans;
    count.optimal += plan.status == AllotStatus::optimal ? 1 : 0;
    std::vector<std::size_t> running;
    for (std::size_t j = 0; j < plan.decisions.size(); ++j)
        if (!plan.decisions[j].placement.empty()) running.push_back(j);
    REQUIRE(SideBySide(round, running).possible());
    for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
        if (!plan.decisions[j].placement.empty()) continue;
        ++count.waiting;
        std::vector<std::size_t> more = running;
        more.push_back(j);
        if (SideBySide(round, more).possible()) CHECK(plan.bound >= plan.objective + 1);
    }
    CHECK((plan.status == AllotStatus::optimal) == (plan.bound - plan.objective <= 1e-9));
}

}  // namespace

TEST_CASE("no plan that leaves a job waiting that could run is called optimal, and nearly all are proven") {
    support::Random random(11);
    Count by_option, by_round;
    for (int trial = 0; trial < 3000; ++trial) {
        CAPTURE(trial);
        const RackRound round(random);
        check_round<EachJobCounts>(round, by_option);
        check_round<EachJobCountsInARound>(round, by_round);
    }
    for (const Count& count : {by_option, by_round}) {
        CHECK(count.waiting > 1500);
        CHECK(count.optimal > count.plans * 98 / 100);
    }
    MESSAGE(by_option.optimal << " and " << by_round.optimal << " of " << by_round.plans << " proven");
}

TEST_CASE("a job waits, and is not impossible, if only jobs that keep what they hold leave too few nodes") {
    RackRound round(4, 2);  // three of the four nodes of each rack are kept
    std::vector<Job>& jobs = round.snapshot.jobs;
    for (const std::size_t first : {0U, 4U}) {
        jobs.push_back(round.job("kept", 12));
        jobs.back().name += std::to_string(first);
        jobs.back().restarting = true;
        jobs.back().within.clear();
        for (std::size_t n = first; n < first + 3; ++n) jobs.back().placement.push_back({n, 4});
    }
    jobs.push_back(round.job("gang", 8));
    jobs.push_back(round.job("elastic", 16));
    jobs.back().adaptivity = Adaptivity::gpus;
    jobs.back().min_gpus = 8;
    jobs.push_back(round.job("large", 20));  // no rack has that many GPUs
    const auto outcomes = [&](auto scheduler) {
        limit_to_domains(jobs, round.topology, round.snapshot.cluster,
                         kept_nodes(round.snapshot.cluster, jobs));
        const Plan plan = scheduler.plan(round.snapshot);
        std::vector<Outcome> outcomes;
        for (std::size_t j = 2; j < jobs.size(); ++j) outcomes.push_back(plan.decisions[j].verdict.outcome);
        return outcomes;
    };
    Scheduler<EachJobCounts, TopologyPlacer, Allotter<>, KnownSpeed> scheduler(
        {}, {.gap = 0}, TopologyPlacer(round.topology));
    const Outcome waits = Outcome::waits, impossible = Outcome::impossible;
    CHECK(outcomes(scheduler) == std::vector{waits, waits, impossible});
    CHECK(
        scheduler.plan(round.snapshot).decisions[2].verdict.reason ==
        "it takes 8 GPUs, no more and no fewer; there are at most 4 GPUs on a (on at most 1 node of one rack "
        "together with jobs that keep what they hold)");
    // One node has enough GPUs for them, but they have no goodput there.
    for (std::size_t j = 3; j < 5; ++j) jobs[j].min_gpus = 4;
    struct FromTwoNodes {
        void operator()(const Job&, const JobModel&, std::span<Option> options) const {
            for (Option& option : options) option.goodput = option.configuration.nodes() > 1 ? 1 : 0;
        }
    };
    CHECK(outcomes(Scheduler<EachJobCounts, TopologyPlacer, Allotter<>, FromTwoNodes>(
              {}, {.gap = 0}, TopologyPlacer(round.topology))) == std::vector{waits, waits, impossible});
    // The limit of this round ends once the others have restarted.
    for (Job& job : jobs) job.restarting = false;
    jobs[2].weight = 10;
    CHECK(outcomes(scheduler)[0] == Outcome::runs);
}
