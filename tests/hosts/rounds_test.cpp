// Cores and memory, node by node: no node gives more than it has, no job is slower than with its share, the
// division is as good as possible, and more cores or memory never harm.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "hosts/hosted_round.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Nodes of 8 GPUs, 32 cores and 256 GiB, full of jobs on one or two nodes with several variants each.
struct Division {
    explicit Division(Random& random, int nodes, double movable) {
        cluster.gpu_types = {"A100"};
        std::vector<int> free;
        for (int n = 0; n < nodes; ++n) {
            cluster.nodes.push_back({"node-" + std::to_string(n), 0, 8, false, 32, 256});
            free.push_back(8);
        }
        for (int tries = 0; tries < 4 * nodes; ++tries) {
            detail::HostClaim claim;
            const bool two = nodes > 1 && random.chance(0.1);
            const int gpus = two ? 8 : 1 << random.integer(0, 3);
            for (std::size_t n = 0; n < free.size() && claim.placement.size() < (two ? 2u : 1u); ++n)
                if (free[n] >= gpus) claim.placement.push_back({n, gpus});
            if (claim.placement.size() < (two ? 2u : 1u)) continue;
            for (const NodeShare& held : claim.placement) free[held.node] -= held.gpus;
            const double gain = random.between(0, 1), share = 1;
            claim.variants.push_back({{4, 32}, share});
            for (const double cores : {6.0, 8.0, 12.0, 16.0})
                if (cores * gpus <= 32)
                    claim.variants.push_back(
                        {{cores, random.chance(0.3) ? 64.0 : 32.0}, 1 + gain * std::log2(cores / 4)});
            if (random.chance(0.3)) claim.variants.push_back({{1, 16}, share});
            if (random.chance(0.1)) claim.variants.resize(1), claim.variants[0].share = {};
            claim.chosen = claim.variants.size() - 1;
            claim.movable = random.chance(movable);
            claims.push_back(claim);
        }
    }
    [[nodiscard]] double worth() const {
        double sum = 0;
        for (const detail::HostClaim& claim : claims) sum += claim.variants[claim.chosen].value;
        return sum;
    }
    /// Returns whether no node gives more than it has.
    [[nodiscard]] bool fits() const {
        for (std::size_t n = 0; n < cluster.nodes.size(); ++n) {
            double gpus = 0, cores = 0, memory = 0;
            for (const detail::HostClaim& claim : claims)
                for (const NodeShare& held : claim.placement) {
                    if (held.node != n) continue;
                    const HostShare said = claim.variants[claim.chosen].share;
                    gpus += held.gpus;
                    cores += held.gpus * (said.empty() ? 4 : said.cores_per_gpu);
                    memory += held.gpus * (said.empty() ? 32 : said.memory_gib_per_gpu);
                }
            if (gpus > 8 || cores > 32 + 1e-6 || memory > 256 + 1e-6) return false;
        }
        return true;
    }
    /// Returns the largest worth of all choices of variants without moving any job.
    [[nodiscard]] double best() const {
        Division tried = *this;
        double best = -std::numeric_limits<double>::infinity();
        const std::function<void(std::size_t)> choose = [&](std::size_t c) {
            if (c == claims.size()) {
                if (tried.fits()) best = std::max(best, tried.worth());
                return;
            }
            for (tried.claims[c].chosen = 0; tried.claims[c].chosen < claims[c].variants.size();
                 ++tried.claims[c].chosen)
                choose(c + 1);
        };
        choose(0);
        return best;
    }

    Cluster cluster;
    std::vector<detail::HostClaim> claims;
};

template <class P>
void check_rounds(Random& random, P policy, int trials) {
    auto scheduler = with_hosts(Scheduler<P>(policy));
    int divided = 0;
    for (int trial = 0; trial < trials; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = support::hosted_round(random, trial % 2 == 1);
        for (int round = 0; round < 2; ++round) {
            const Plan plan = scheduler.plan(snapshot);
            CHECK(plan.faults.empty());
            support::check_plan(snapshot, plan);
            support::check_hosts(snapshot, plan);
            double worth = 0;
            for (const Decision& decision : plan.decisions) worth += decision.value;
            CHECK(worth == doctest::Approx(plan.objective));
            CHECK(plan.objective <= plan.bound + 1e-9 * std::abs(plan.bound));
            for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
                const Decision& decision = plan.decisions[j];
                divided += decision.option.configuration.host().cores_per_gpu > 4 ? 1 : 0;
                CHECK((decision.placement.empty() || decision.placement == snapshot.jobs[j].placement) !=
                      decision.starts);
                snapshot.jobs[j].placement = decision.placement;
            }
        }
    }
    CHECK(divided > trials / 10);
}

}  // namespace

TEST_CASE("nodes divide cores and memory as well as can be, with every job where it is") {
    Random random(1);
    int compared = 0;
    for (int trial = 0; trial < 400; ++trial) {
        CAPTURE(trial);
        Division division(random, random.integer(1, 3), 0);
        if (division.claims.size() > 6) continue;
        const double best = division.best();
        detail::HostDivision().divide(division.cluster, division.claims);
        CHECK(division.fits());
        CHECK(division.worth() == doctest::Approx(best));
        ++compared;
    }
    CHECK(compared > 100);
}

TEST_CASE("changing places is worth something, overfills no node, and moves no job that may not move") {
    Random random(2);
    double stayed = 0, changed = 0;
    for (int trial = 0; trial < 100; ++trial) {
        CAPTURE(trial);
        Division division(random, random.integer(2, 12), 0.7);
        const Division before = division;
        Division fixed = division;
        for (detail::HostClaim& claim : fixed.claims) claim.movable = false;
        detail::HostDivision divide;
        divide.divide(fixed.cluster, fixed.claims);
        divide.divide(division.cluster, division.claims);
        CHECK(division.fits());
        CHECK(division.worth() >= fixed.worth() * (1 - 1e-9));
        for (std::size_t c = 0; c < division.claims.size(); ++c)
            if (!before.claims[c].movable) CHECK(division.claims[c].placement == before.claims[c].placement);
        stayed += fixed.worth();
        changed += division.worth();
    }
    CHECK(changed > 1.01 * stayed);
}

TEST_CASE("a job whose least is more than its share is left out where its node has no room for it") {
    Cluster cluster{{"A100"}, {{"node", 0, 8, false, 32, 0}}};
    std::vector<detail::HostClaim> claims(2);
    for (detail::HostClaim& claim : claims) {
        claim.placement = {{0, 4}};
        claim.variants = {{{6, 0}, 1}};
        claim.must = false;
    }
    claims[1].variants[0].value = 2;
    detail::HostDivision().divide(cluster, claims);
    CHECK(claims[0].chosen == no_option);
    CHECK(claims[1].chosen == 0);
}

TEST_CASE("under every kind of policy no node is over-committed and no job is slower than with its share") {
    Random random(3);
    check_rounds(random, GoodputPolicy(), 200);
    check_rounds(random, Sia(), 200);
    check_rounds(random, Fifo{.backfill = true}, 200);
    check_rounds(random, LeastAttainedService(), 200);
}

TEST_CASE("a queue serves the same jobs with and without cores and memory, which go to jobs that gain") {
    Random random(4);
    int gained = 0;
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = support::hosted_round(random, false);
        Snapshot plain = snapshot;
        for (Job& job : plain.jobs) job.host.reset();
        auto hosted = with_hosts(Scheduler<Fifo>({.backfill = true}, {.gap = 1e-6}));
        Scheduler<Fifo> without({.backfill = true}, {.gap = 1e-6});
        const Plan& with = hosted.plan(snapshot);
        const Plan& same = without.plan(plain);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            gained += with.decisions[j].option.configuration.host().cores_per_gpu > 4 ? 1 : 0;
        std::vector<int> gpus_with, gpus_without;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            gpus_with.push_back(with.decisions[j].option.configuration.gpus());
            gpus_without.push_back(same.decisions[j].option.configuration.gpus());
        }
        CHECK(gpus_with == gpus_without);
    }
    CHECK(gained > 30);
}

TEST_CASE("with the same variants on offer, more cores and memory never lower what they are worth") {
    Random random(5);
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Division few(random, random.integer(1, 6), 0);
        for (detail::HostClaim& claim : few.claims)
            for (detail::HostVariant& variant : claim.variants)
                if (variant.share.empty()) variant.share = {4, 32};
        Division more = few;
        for (Node& node : more.cluster.nodes) {
            node.cores *= random.between(1, 2);
            node.memory_gib *= random.between(1, 2);
        }
        detail::HostDivision divide;
        divide.divide(few.cluster, few.claims);
        divide.divide(more.cluster, more.claims);
        CHECK(more.worth() >= few.worth() * (1 - 1e-9));
    }
}

TEST_CASE("an explanation says how much faster a job would be with more cores, and which jobs have them") {
    Snapshot snapshot;
    snapshot.cluster = {{"big"}, {{"n", 0, 8, false, 48, 0}}};
    for (const double gain : {1.8, 1.5}) {
        Job job{.name = gain > 1.6 ? "vision" : "audio", .min_gpus = 4, .max_gpus = 4};
        job.initial_batch = job.max_batch = 64;
        job.types = {{.max_atomic_batch = 64, .reference_rate = 100}};
        job.host = HostNeeds{{6, 0}, {12, 0}, {{6, 0, 1}, {9, 0, (1 + gain) / 2}, {12, 0, gain}}};
        snapshot.jobs.push_back(job);
    }
    auto scheduler = with_hosts(Scheduler<Fifo>({.backfill = true}));
    scheduler.plan(snapshot);
    const auto why = explain_plan(scheduler, snapshot);
    REQUIRE(why[0].notes.size() == 1);
    const std::string said = why[0].report(snapshot.cluster);
    CAPTURE(said);
    CHECK(said.starts_with("4 big on 1 node with 6 cores a GPU"));
    CHECK(said.find("would run 1.8 times as fast with 12 cores a GPU; 48 of 48 cores of the CPU cores of big "
                    "nodes of 8 GPUs are taken") != std::string::npos);
    // With cores for all that the jobs could use, no job has anything to wish for.
    snapshot.cluster.nodes[0].cores = 96;
    scheduler.plan(snapshot);
    for (const DecisionExplanation& each : explain_plan(scheduler, snapshot)) CHECK(each.notes.empty());
}

TEST_CASE(
    "measurements with other cores next to the GPUs are of one model with those at the job's own share") {
    Job job{.name = "vision", .max_gpus = 8, .initial_batch = 64, .max_batch = 512};
    job.types = {{.max_atomic_batch = 128}};
    job.host = HostNeeds{{2, 0}, {12, 0}, {{2, 0, 0.4}, {4, 0, 1}, {12, 0, 1.6}}};
    KindHistories shared, plain, spoilt;
    const auto step_of = [](int gpus, int batch) { return 0.05 + 0.002 * batch + 0.01 * (gpus - 1); };
    for (KindHistories* each : {&shared, &plain, &spoilt}) each->meet(job);
    int index = 0;
    for (const int gpus : {1, 2, 4, 8})
        for (const int batch : {32, 64, 128}) {
            const double cores = std::vector<double>{2, 4, 12}[static_cast<std::size_t>(index++ % 3)];
            const double factor = job.host->factor({cores, 0});
            ThroughputSample sample{{1, gpus}, {batch, 0}, step_of(gpus, batch), 0.01 * (gpus - 1)};
            plain.add(job, 0, sample);
            sample.step_seconds /= factor;
            sample.sync_seconds /= factor;
            spoilt.add(job, 0, sample);
            sample.host = {cores, 0};
            shared.add(job, 0, sample);
        }
    const auto goodput_of = [&](KindHistories& histories) {
        histories.refit(job);
        std::vector<Option> options{{{0, 8, {1, 4}}, {}, 0, Knowledge::unknown}};
        GoodputPredictor()(job, histories.of(job).model(), options);
        return options[0].goodput;
    };
    CHECK(goodput_of(shared) == doctest::Approx(goodput_of(plain)).epsilon(1e-6));
    CHECK(goodput_of(spoilt) != doctest::Approx(goodput_of(plain)).epsilon(0.02));
    CHECK(at_factor_one({{1, 1}, {1, 0}, 2, 1, {12, 0}}, std::nullopt).step_seconds == 2);
    CHECK(at_factor_one({{1, 1}, {1, 0}, 2, 1, {12, 0}}, job.host).step_seconds == doctest::Approx(3.2));
}

TEST_CASE(
    "however many points were measured, few variants are offered, the share and the fastest among them") {
    Random random(6);
    for (int trial = 0; trial < 50; ++trial) {
        CAPTURE(trial);
        const Cluster cluster{{"A100"}, {{"node", 0, 8, false, 96, 800}}};
        Job job{.name = "grid", .min_gpus = 1, .max_gpus = 8, .initial_batch = 64, .max_batch = 64};
        job.types = {{.max_atomic_batch = 64}};
        job.host = HostNeeds{{1, 10}, {96, 800}, {}};
        const double needs_cores = random.between(4, 90), needs_memory = random.between(20, 700);
        for (int cores = 1; cores <= 96; cores += 5)
            for (int memory = 10; memory <= 800; memory += 50)
                job.host->speed.push_back(
                    {1.0 * cores, 1.0 * memory, std::min(cores / needs_cores, memory / needs_memory)});
        std::vector<Pool> pools;
        find_pools(cluster, pools);
        const Round round{0, cluster, pools, {}};
        const std::vector<int> most{8};
        std::vector<Option> options;
        HostShares<> maker;
        maker.list(round, job, most, options);
        const double share = job.host->factor({12, 100});
        double fastest = 0;
        int of_one = 0, within = 0;
        for (const Option& option : options) {
            const HostShare said = option.configuration.host();
            CHECK(job.host->factor(said) >= share * (1 - 1e-9));
            CHECK(said.cores_per_gpu * option.configuration.gpus() <= 96 * (1 + 1e-9));
            if (option.configuration.gpus() == 1) {
                ++of_one;
                fastest = std::max(fastest, job.host->factor(said));
            }
            within += option.configuration.gpus() == 8 ? 1 : 0;
        }
        CHECK(of_one <= 16);
        CHECK(within > 0);
        CHECK(fastest == doctest::Approx(job.host->factor({96, 800})));
    }
}

namespace {

/// Limits the cores of all jobs together, whatever the nodes have.
struct CoresOfTeam {
    double most = 10;
    void rows(const Round&, LimitRows& rows) const { rows.add("the cores of the team", most, "cores"); }
    void uses(const Round&, const Job&, const Option& option, LimitUses& uses) const {
        uses.add(0, option.configuration.gpus() * option.configuration.host().cores_per_gpu);
    }
};

Job hosted_job(const std::string& name, int gpus, HostNeeds needs) {
    Job job{.name = name, .restart_cost_seconds = 30, .min_gpus = gpus, .max_gpus = gpus};
    job.initial_batch = job.max_batch = 64;
    job.types = {{.max_atomic_batch = 64, .reference_rate = 100}};
    job.host = std::move(needs);
    return job;
}

}  // namespace

TEST_CASE("a queue serves its first job also where many could gain by its cores") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"node", 0, 8, false, 24, 80}}};
    snapshot.jobs.push_back(hosted_job("first", 1, {{12, 1}, {12, 1}, {}}));
    for (int j = 0; j < 4; ++j) {
        snapshot.jobs.push_back(
            hosted_job("job-" + std::to_string(j), 1, {{3, 1}, {6, 1}, {{3, 1, 0.1}, {6, 1, 1}}}));
        snapshot.jobs.back().submitted_seconds = j + 1;
    }
    auto scheduler = with_hosts(Scheduler<Fifo>({}, {.gap = 1e-6}));
    for (const Decision& decision : scheduler.plan(snapshot).decisions)
        CHECK_FALSE(decision.placement.empty());
}

TEST_CASE("a resource that a node does not count slows no job down") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"node", 0, 8, false, 0, 80}}};
    snapshot.jobs.push_back(hosted_job("job", 4, {{1, 5}, {6, 20}, {{1, 5, 0.5}, {6, 20, 1}}}));
    auto scheduler = with_hosts(Scheduler<Sia>());
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.decisions[0].option.configuration.host() == HostShare{0, 20});
    CHECK(plan.decisions[0].option.goodput == 4);
    CHECK(snapshot.jobs[0].host->factor({6, 0}) == 1);
    CHECK(at_factor_one({{1, 1}, {1, 0}, 2, 1, {1, 0}}, snapshot.jobs[0].host).step_seconds == 1);
}

TEST_CASE("where some nodes of a pool count and others do not, those that do give no more than they have") {
    Random random(5);
    int kept = 0;
    auto scheduler = with_hosts(Scheduler<GoodputPolicy>());
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = support::hosted_round(random, false);
        for (Node& node : snapshot.cluster.nodes) {
            if (random.chance(0.4)) node.cores = 0;
            if (random.chance(0.4)) node.memory_gib = 0;
        }
        const Plan& plan = scheduler.plan(snapshot);
        const support::HostUse use = support::host_use(snapshot, plan);
        for (std::size_t n = 0; n < snapshot.cluster.nodes.size(); ++n) {
            const Node& node = snapshot.cluster.nodes[n];
            if (node.cores > 0) CHECK(use.cores[n] <= node.cores * (1 + 1e-6));
            if (node.memory_gib > 0) CHECK(use.memory_gib[n] <= node.memory_gib * (1 + 1e-6));
        }
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const std::optional<HostNeeds>& needs = snapshot.jobs[j].host;
            if (!needs) continue;
            const HostShare share = plan.decisions[j].option.configuration.host();
            if (share.empty()) continue;  // it has its share of each node
            for (const NodeShare& held : plan.decisions[j].placement) {
                const Node& node = snapshot.cluster.nodes[held.node];
                if (node.cores > 0) CHECK(share.cores_per_gpu >= needs->least.cores_per_gpu);
                if (node.memory_gib > 0) CHECK(share.memory_gib_per_gpu >= needs->least.memory_gib_per_gpu);
                kept += node.cores > 0 && node.memory_gib > 0;
            }
        }
        for (const LimitUse& limit : plan.limits) CHECK(limit.used <= limit.capacity * (1 + 1e-9));
    }
    CHECK(kept > 100);
}

TEST_CASE("no job changes places between spot nodes and others for the sake of cores") {
    Random random(7);
    auto scheduler = with_hosts(Scheduler<GoodputPolicy>());
    int on_spot = 0;
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = support::hosted_round(random, false);
        for (Node& node : snapshot.cluster.nodes) node.spot = random.chance(0.5);
        for (Job& job : snapshot.jobs) {
            job.placement.clear();
            job.preemptible = true;
            job.restarting = false;
            job.spot_allowed = random.chance(0.5);
        }
        const Plan& plan = scheduler.plan(snapshot);
        support::check_plan(snapshot, plan);
        support::check_hosts(snapshot, plan);
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j)
            for (const NodeShare& held : plan.decisions[j].placement) {
                const bool spot = snapshot.cluster.nodes[held.node].spot;
                CHECK((snapshot.jobs[j].spot_allowed || !spot));
                on_spot += spot ? 1 : 0;
            }
    }
    CHECK(on_spot > 100);
}

TEST_CASE("what nodes have left is not given beyond a user's own limit") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"node", 0, 8, false, 20, 0}}};
    for (const char* name : {"a", "b"})
        snapshot.jobs.push_back(hosted_job(name, 1, {{2, 0}, {8, 0}, {{2, 0, 1}, {5, 0, 1.3}, {8, 0, 1.5}}}));
    auto scheduler = with_hosts(Scheduler<GoodputPolicy>()).limited_by(CoresOfTeam());
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.limits[1].used <= 10);
    CHECK(plan.objective <= plan.bound + 1e-9);
    CHECK_FALSE(plan.decisions[0].placement.empty());
    CHECK_FALSE(plan.decisions[1].placement.empty());
}

TEST_CASE("if nodes of a pool have different cores, the bound holds, and no more is used than there is") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"small", 0, 8, false, 16, 0}, {"big", 0, 8, false, 48, 0}}};
    Job plain = hosted_job("plain", 8, {});
    plain.host.reset();
    plain.placement = {{0, 8}};
    snapshot.jobs.push_back(plain);
    for (int j = 0; j < 8; ++j)
        snapshot.jobs.push_back(
            hosted_job("job-" + std::to_string(j), 1, {{2, 0}, {6, 0}, {{2, 0, 1}, {6, 0, 2}}}));
    auto scheduler = with_hosts(Scheduler<GoodputPolicy>());
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.objective <= plan.bound * (1 + 1e-9));
    CHECK(plan.limits[0].used <= 64 * (1 + 1e-9));
    CHECK(plan.decisions[1].option.configuration.host().cores_per_gpu == 6);
}

TEST_CASE("a job that may stay on a drained node is offered that with cores and memory, as anywhere else") {
    Snapshot snapshot;
    snapshot.cluster = {{"A100"}, {{"drained", 0, 8, true, 32, 0}, {"open", 0, 8, false, 32, 0}}};
    snapshot.jobs.push_back(hosted_job("job", 1, {{4, 0}, {8, 0}, {{4, 0, 0.45}, {8, 0, 0.9}}}));
    snapshot.jobs[0].placement = {{0, 1}};
    auto scheduler = with_hosts(Scheduler<GoodputPolicy>());
    const Plan& plan = scheduler.plan(snapshot);
    CHECK(plan.decisions[0].option.configuration.host().cores_per_gpu == 8);
    CHECK(plan.decisions[0].option.goodput == doctest::Approx(0.9));
}
