// A use kept beyond a limit is named, whatever else goes wrong in the round.

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace kept_beyond {

using namespace goodput;

struct FailsFor {
    std::string team;
    [[nodiscard]] double value(const Round&, const Job& job, const Option& option) const {
        if (job.team == team) throw std::runtime_error("no idea");
        return option.goodput;
    }
};

Job job_on(std::string name, std::string team, Placement placement, bool preemptible) {
    Job job{.name = std::move(name),
            .max_gpus = 16,
            .initial_batch = 64,
            .max_batch = 64,
            .preemptible = preemptible,
            .placement = std::move(placement),
            .team = std::move(team)};
    job.types = {{.max_atomic_batch = 64}};
    return job;
}

}  // namespace kept_beyond

using namespace kept_beyond;

TEST_CASE("a job that keeps more than its quota is named even if the policy fails for another") {
    for (const char* fails : {"", "b", "a"}) {
        CAPTURE(fails);
        Snapshot snapshot;
        snapshot.cluster = {{"gpu"}, {{"node-0", 0, 8}, {"node-1", 0, 8}}};
        snapshot.jobs = {job_on("pinned", "a", {{0, 8}}, false), job_on("runs", "b", {{1, 4}}, true),
                         job_on("waits", "a", {}, true)};
        auto scheduler = Scheduler<FailsFor>(FailsFor{*fails ? fails : "nobody"})
                             .limited_by(TeamQuotas({{.team = "a", .gpus = 6}}));
        const Plan& plan = scheduler.plan(snapshot);
        CHECK(plan.decisions[0].placement == snapshot.jobs[0].placement);
        CHECK(!plan.decisions[1].placement.empty());
        CHECK(plan.decisions[2].placement.empty());
        REQUIRE(plan.conflicts.size() == 1);
        CHECK(plan.conflicts[0].limit == 0);
        CHECK(plan.conflicts[0].kept == 8);
        CHECK(plan.conflicts[0].jobs == std::vector<std::size_t>{0});
    }
}

TEST_CASE("GPUs of a job that is left alone count as kept, together with what others keep") {
    Snapshot snapshot;
    snapshot.cluster = {{"gpu"}, {{"node-0", 0, 8}, {"node-1", 0, 8}}};
    snapshot.jobs = {job_on("pinned", "a", {{0, 8}}, false), job_on("runs", "a", {{1, 4}}, true)};
    auto scheduler = Scheduler<FailsFor>(FailsFor{"a"}).limited_by(TeamQuotas({{.team = "a", .gpus = 6}}));
    const Plan& plan = scheduler.plan(snapshot);
    REQUIRE(plan.conflicts.size() == 1);
    CHECK(plan.conflicts[0].kept == 12);
    CHECK(plan.conflicts[0].jobs == std::vector<std::size_t>{0, 1});
    CHECK(plan.limits.at(0).used == 12);
}

TEST_CASE("a running job goes on although an equal job waits, whatever variants of cores it is offered") {
    for (const double more : {1.2, 2.0, 10.0})
        for (const std::size_t runs : {0u, 1u, 2u}) {
            CAPTURE(more);
            CAPTURE(runs);
            Snapshot snapshot;
            snapshot.cluster = {{"gpu"}, {{.name = "node", .gpus = 4, .cores = 64}}};
            for (std::size_t j = 0; j < 3; ++j) {
                Job job{.name = "job-" + std::to_string(j),
                        .min_gpus = 3,
                        .max_gpus = 3,
                        .initial_batch = 64,
                        .max_batch = 256};
                job.types = {{.max_atomic_batch = 64}};
                job.host = HostNeeds{
                    .least = {1, 0}, .most = {64, 0}, .speed = {{8, 0, 1}, {16, 0, 1.1}, {21, 0, more}}};
                if (j == runs) job.placement = {{0, 3}};
                snapshot.jobs.push_back(job);
            }
            auto scheduler = with_hosts(Scheduler<FailsFor>(FailsFor{"nobody"}));
            const Plan& plan = scheduler.plan(snapshot);
            REQUIRE(scheduler.options_of(0).size() > 1);
            for (std::size_t j = 0; j < 3; ++j) CHECK(!plan.decisions[j].placement.empty() == (j == runs));
            CHECK(plan.decisions[runs].option.configuration.host().cores_per_gpu == 21);
        }
}
