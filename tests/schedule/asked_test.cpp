// Options asked for at prices keep to limits and to the caller's deadline, as listed options do.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/hadar/job_copies.hpp"
#include "goodput/hadar/mixed_types.hpp"
#include "goodput/hosts/host_shares.hpp"
#include "goodput/parallel/parallel_plans.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace asked {

using namespace goodput;

struct CurvePowerPredictor {
    void operator()(const Job&, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            option.plan = {1, 0};
            option.goodput = std::pow(option.configuration.gpus(), 0.9);
        }
    }
};

struct OfGoodput {
    [[nodiscard]] double value(const Round&, const Job& job, const Option& option) const {
        if (job.team == "no values" && option.configuration.gpus() > 2) throw std::runtime_error("no value");
        return option.goodput;
    }
};

/// Lists one GPU of each pool; when asked at prices, offers every other shape on one node.
struct AskedSizes {
    std::size_t* calls = nullptr;

    void list(const Round& round, const Job&, std::span<const int>, std::vector<Option>& options) const {
        for (const Pool& pool : round.pools)
            if (!pool.nodes.empty()) options.push_back({pool.share({1, 1}), {}, 0, Knowledge::unknown});
    }
    double ask(const Round& round, const Job& job, std::span<const int>, const AtPrices& at, double least,
               std::vector<Option>& options) const {
        if (calls) ++*calls;
        double rest = -std::numeric_limits<double>::infinity();
        for (const Pool& pool : round.pools)
            for (int gpus = 2; gpus <= std::min(pool.gpus_per_node, job.max_gpus); ++gpus) {
                Option option{pool.share({1, gpus}), {}, 0, Knowledge::unknown};
                const double gain = at.evaluate(option);
                if (gain > least)
                    options.push_back(option);
                else
                    rest = std::max(rest, gain);
            }
        return rest;
    }
};

/// Throws for an option with more than `most` GPUs.
struct Throws {
    int most = 1;

    void rows(const Round&, LimitRows& rows) const { rows.add("a limit", 1000, "GPUs"); }
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        if (option.configuration.gpus() > most) throw std::runtime_error("no idea");
        uses.add(0, option.configuration.gpus());
    }
};

Snapshot snapshot_of(int nodes, int jobs) {
    Snapshot snapshot;
    snapshot.cluster.gpu_types = {"gpu"};
    for (int n = 0; n < nodes; ++n) snapshot.cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8});
    for (int j = 0; j < jobs; ++j) {
        Job job{.name = "job-" + std::to_string(j), .max_gpus = 8, .initial_batch = 64, .max_batch = 64};
        job.types = {{.max_atomic_batch = 64}};
        snapshot.jobs.push_back(job);
    }
    return snapshot;
}

/// Takes a fixed time per call, and records how much time it was given.
struct SolverOfSomeTime {
    std::vector<double>* given;
    double takes;

    AllotResult operator()(const AllotmentProblem& problem, const AllotOptions& options) {
        given->push_back(options.deadline ? static_cast<double>(options.deadline->count()) * 1e-9 : -1);
        const auto begin = std::chrono::steady_clock::now();
        AllotResult result = solver(problem, options);
        // The result is far from proven, like that of a solver out of time, so the scheduler asks again.
        result.status = AllotStatus::feasible;
        while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < takes) {
        }
        return result;
    }
    Allotter<> solver{};
};

/// Claims to keep back more options each time it is asked, and offers a new one every time.
struct NeverDone {
    void list(const Round& round, const Job&, std::span<const int>, std::vector<Option>& options) const {
        options.push_back({round.pools.front().share({1, 1}), {}, 0, Knowledge::unknown});
    }
    double ask(const Round& round, const Job&, std::span<const int>, const AtPrices&, double,
               std::vector<Option>& options) {
        Option option{round.pools.front().share({1, 1}), {1, 0}, 1, Knowledge::unknown};
        option.configuration = Configuration(option.configuration.first(), {++cores * 1e-3, 0});
        options.push_back(option);
        return 100;
    }
    double cores = 0;
};

/// Offers nothing, and gives no reason.
struct Speechless {
    void list(const Round&, const Job&, std::span<const int>, std::vector<Option>&) const {}
    [[nodiscard]] std::string why_none(const Round&, const Job& job) const {
        return job.name + " is not liked";
    }
};

template <class Inner>
concept may_have_variants = requires {
    typename HostShares<Inner>;
};

}  // namespace asked

using namespace asked;

TEST_CASE("a limit that throws costs a job the options that are asked for at prices, too") {
    for (const int most : {0, 1, 3, 7, 8}) {
        CAPTURE(most);
        const Snapshot snapshot = snapshot_of(1, 2);
        auto scheduler = Scheduler<OfGoodput, LeastMovesPlacer, Allotter<>, CurvePowerPredictor>()
                             .limited_by(Throws{most})
                             .offering(AskedSizes{});
        const Plan& plan = scheduler.plan(snapshot);
        int given = 0;
        for (const Decision& decision : plan.decisions) {
            CHECK(decision.option.configuration.gpus() <= most);
            given += decision.option.configuration.gpus();
        }
        CHECK(given == std::min(2 * most, 8));
        CHECK(plan.faults.empty() == (most == 8));
        for (const PlanFault& fault : plan.faults) {
            CHECK(fault.what == "a limit threw: no idea");
            CHECK(fault.configuration.gpus() > most);
        }
        // A fault is named once per job at listing and once at asking, not in every pass.
        CHECK(plan.faults.size() <= 4);
    }
}

TEST_CASE("a policy that throws for an option asked for at prices costs the job that option") {
    Snapshot snapshot = snapshot_of(1, 2);
    snapshot.jobs[0].team = "no values";
    auto scheduler =
        Scheduler<OfGoodput, LeastMovesPlacer, Allotter<>, CurvePowerPredictor>().offering(AskedSizes{});
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.decisions[0].option.configuration.gpus() == 2);
    CHECK(plan.decisions[1].option.configuration.gpus() == 6);
    REQUIRE(plan.faults.size() == 1);
    CHECK(plan.faults[0].what == "threw: no value");
    CHECK(plan.faults[0].job == 0);
}

TEST_CASE("the caller's deadline covers everything asked at prices, not each allotment") {
    const Snapshot snapshot = snapshot_of(2, 4);
    for (const double limit : {0.0, 0.02, 0.05}) {
        CAPTURE(limit);
        std::vector<double> given;
        Scheduler<OfGoodput, LeastMovesPlacer, SolverOfSomeTime, CurvePowerPredictor, Limits<>, NeverDone>
            scheduler(
                {},
                {.gap = 1e-9, .deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * limit))},
                {}, SolverOfSomeTime{&given, 0.02});
        const auto begin = std::chrono::steady_clock::now();
        const Plan& plan = scheduler.plan(snapshot);
        const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        CHECK(std::isfinite(plan.bound));
        CHECK(plan.bound >= plan.objective + 100 - 1e-6);
        CHECK(plan.status == AllotStatus::feasible);
        REQUIRE(!given.empty());
        for (std::size_t call = 0; call < given.size(); ++call)
            CHECK(given[call] <= std::max(limit - 0.02 * static_cast<double>(call), 0.0));
        // The scheduler makes at least one allotment, and none after the time is over.
        CHECK(given.size() <= 1 + static_cast<std::size_t>(limit / 0.02));
        CHECK(took < limit + 1);
    }
}

TEST_CASE("makers that wrap another one pass on its answers at prices and its reasons, or do not compile") {
    static_assert(may_have_variants<ListedShapes> && may_have_variants<MixedTypes<>>);
    static_assert(!may_have_variants<AskedSizes> && !may_have_variants<MixedTypes<AskedSizes>> &&
                  !may_have_variants<ParallelPlans<>>);
    static_assert(PricedOptionMaker<MixedTypes<AskedSizes>> && PricedOptionMaker<JobCopies<AskedSizes>>);
    static_assert(!PricedOptionMaker<MixedTypes<>> && !PricedOptionMaker<JobCopies<>>);
    static_assert(ReasonMaker<MixedTypes<Speechless>> && ReasonMaker<JobCopies<Speechless>> &&
                  ReasonMaker<HostShares<Speechless>> && ReasonMaker<HostShares<>> &&
                  !ReasonMaker<MixedTypes<>>);
    const Snapshot snapshot = snapshot_of(1, 2);
    const auto gpus_with = [&](auto maker) {
        auto scheduler =
            Scheduler<OfGoodput, LeastMovesPlacer, Allotter<>, CurvePowerPredictor>().offering(maker);
        const Plan& plan = scheduler.plan(snapshot);
        return plan.decisions[0].option.configuration.gpus() + plan.decisions[1].option.configuration.gpus();
    };
    CHECK(gpus_with(AskedSizes{}) == 8);
    CHECK(gpus_with(MixedTypes<AskedSizes>{}) == 8);
    CHECK(gpus_with(JobCopies<AskedSizes>{}) == 8);
    const std::vector<Pool> pools = pools_of(snapshot.cluster);
    CHECK(HostShares<Speechless>().why_none({0, snapshot.cluster, pools}, snapshot.jobs[0]) ==
          "job-0 is not liked");
    auto scheduler = Scheduler<OfGoodput, LeastMovesPlacer, Allotter<>, CurvePowerPredictor>().offering(
        MixedTypes<HostShares<Speechless>>());
    CHECK(scheduler.plan(snapshot).decisions[1].verdict.reason == "job-1 is not liked");
}
