// Spot nodes, interruptions in the values of options, and what a plan says about them.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/availability.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

namespace {

using namespace goodput;

/// Returns the same round, with the spot nodes of each GPU type as a type of their own that every job knows.
Snapshot with_types_for_spot(const Snapshot& round) {
    Snapshot other = round;
    const std::size_t types = round.cluster.gpu_types.size();
    std::vector<std::size_t> spot_type(types);
    other.cluster.gpu_types.clear();
    // Next to the type itself, so that pools come in the same order.
    for (std::size_t t = 0; t < types; ++t) {
        other.cluster.gpu_types.push_back(round.cluster.gpu_types[t]);
        other.cluster.gpu_types.push_back("spot " + round.cluster.gpu_types[t]);
    }
    for (Node& node : other.cluster.nodes) {
        node.gpu_type = 2 * node.gpu_type + (node.spot ? 1 : 0);
        node.spot = false;
    }
    for (std::size_t j = 0; j < other.jobs.size(); ++j) {
        std::vector<TypeLimits> limits;
        std::vector<TypeModel> models;
        for (std::size_t t = 0; t < types; ++t) {
            limits.insert(limits.end(), 2, round.jobs[j].types[t]);
            if (t < round.models[j].types.size()) models.insert(models.end(), 2, round.models[j].types[t]);
        }
        other.jobs[j].types = limits;
        other.models[j].types = models;
    }
    return other;
}

/// Returns a plan that counts the time lost by interruptions.
template <Policy P>
Plan plan_counting(const Snapshot& snapshot, P policy) {
    return Scheduler<P>(policy).counting(LostTime()).plan(snapshot);
}

/// Draws checkpoint mechanisms that suit all jobs equally well.
std::vector<CheckpointMechanism> random_mechanisms(support::Random& random) {
    std::vector<CheckpointMechanism> mechanisms;
    for (int m = random.integer(0, 3); m > 0; --m) {
        CheckpointMechanism& one = mechanisms.emplace_back();
        one.name = "way " + std::to_string(m);
        one.pause_seconds = random.between(0, 60);
        one.write_seconds = random.chance(0.5) ? random.between(0, 300) : 0;
        one.write_slowdown = random.between(0, 0.3);
        one.restore_seconds = random.between(0, 200);
        one.caught = random.chance(0.3) ? random.unit() : 0;
        one.saves = random.chance(0.8);
        if (random.chance(0.3)) {
            one.kept = random.unit();
            one.stored_every = random.integer(1, 8);
        }
    }
    return mechanisms;
}

/// A job that is twice as fast on twice the GPUs, on a cluster of 16 on-demand GPUs and 16 spot GPUs at a
/// third of the price.
Snapshot one_job_and_two_markets(double interruptions_per_hour) {
    Snapshot now;
    now.cluster.gpu_types = {"A100"};
    for (const bool spot : {false, true})
        for (int n = 0; n < 4; ++n) {
            Node& node =
                now.cluster.nodes.emplace_back(Node{(spot ? "spot-" : "node-") + std::to_string(n), 0, 4});
            node.dollars_per_hour = spot ? 4 : 12;
            node.interruptions_per_hour = spot ? interruptions_per_hour : 0;
            node.spot = spot;
        }
    Job job{.name = "job"};
    job.restart_cost_seconds = 60;
    job.max_gpus = 16;
    job.initial_batch = job.max_batch = 1024;
    job.types = {{.max_atomic_batch = 1024}};
    job.gradient = GradientStatistics{1, 1e9};
    now.jobs.push_back(job);
    TypeModel model;
    model.throughput = PolluxThroughput{.alpha_c = 1e-4, .beta_c = 0.01, .gamma = 1};
    model.most_replicas = 16;
    now.models.push_back({{model}});
    return now;
}

}  // namespace

TEST_CASE("spot nodes are planned like nodes of a GPU type of their own about which the same is known") {
    support::Random random(11);
    int spot_given = 0;
    for (int i = 0; i < 300; ++i) {
        support::RandomRound round(random);
        Snapshot& now = round.snapshot;
        // One size per type: several sizes would change the order of the pools.
        for (Node& node : now.cluster.nodes) node.spot = random.chance(0.4);
        std::vector<int> size(now.cluster.gpu_types.size(), 0);
        bool one_size = true;
        for (const Node& node : now.cluster.nodes) {
            one_size &= size[node.gpu_type] == 0 || size[node.gpu_type] == node.gpus;
            size[node.gpu_type] = node.gpus;
        }
        // GPUs held on spot nodes and others at once would be two parts here, but two types there.
        for (Job& job : now.jobs)
            if (!job.placement.empty() && pool_share_of(job.placement, now.cluster).empty()) {
                job.placement.clear();
                job.preemptible = true;
                job.restarting = false;
            }
        if (!one_size) continue;
        const Plan spot = plan_counting(now, Sia());
        const Plan typed = plan_counting(with_types_for_spot(now), Sia());
        REQUIRE(spot.objective == doctest::Approx(typed.objective));
        REQUIRE(spot.prices.size() == typed.prices.size());
        for (std::size_t p = 0; p < spot.prices.size(); ++p) {
            REQUIRE(spot.prices[p].price == doctest::Approx(typed.prices[p].price));
            REQUIRE(typed.prices[p].gpu_type == 2 * spot.prices[p].gpu_type + (spot.prices[p].spot ? 1 : 0));
        }
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            REQUIRE(spot.decisions[j].placement == typed.decisions[j].placement);
            const Configuration& got = spot.decisions[j].option.configuration;
            for (const NodeShare& share : spot.decisions[j].placement)
                REQUIRE(is_node_of(now.cluster.nodes[share.node], got.first()));
            spot_given += got.first().spot;
            REQUIRE((describe(now.cluster, got).find(" spot type-") != std::string::npos) ==
                    got.first().spot);
        }
    }
    CHECK(spot_given > 200);
}

TEST_CASE("where nodes are interrupted, goodput is that of the useful part of the time") {
    support::Random random(12);
    int counted = 0, chosen = 0, ending = 0, unsaved = 0;
    for (int i = 0; i < 60; ++i) {
        support::RandomRound round(random);
        Snapshot now = round.snapshot;
        for (Job& job : now.jobs) {
            job.checkpoints = random_mechanisms(random);
            if (random.chance(0.2)) job.checkpoint_seconds = random.between(60, 7200);
        }
        auto without = Scheduler<Sia>().counting(LostTime()), with = without;
        without.plan(now);
        for (Node& node : now.cluster.nodes) {
            node.spot = false;
            node.interruptions_per_hour = static_cast<double>(node.gpu_type) * 0.05 + node.gpus * 0.01;
        }
        with.plan(now);
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            const Job& job = now.jobs[j];
            const auto base = without.options_of(j), options = with.options_of(j);
            REQUIRE(base.size() == options.size());
            for (std::size_t k = 0; k < options.size(); ++k) {
                const Option& option = options[k];
                REQUIRE(option.configuration == base[k].configuration);
                double per_hour = 0;
                for (const PoolShare& part : option.configuration.parts())
                    per_hour += part.shape.nodes *
                                (static_cast<double>(part.gpu_type) * 0.05 + part.gpus_per_node * 0.01);
                const Interruptions all{.per_hour = per_hour};
                std::vector<CheckpointMechanism> ways = job.checkpoints;
                if (ways.empty()) ways.push_back(assumed_checkpoint(job));
                const Checkpointing& how = option.checkpointing;
                const CheckpointMechanism chosen = checkpoint_of(job, option);
                REQUIRE(std::isinf(how.interval_seconds) == !chosen.saves);
                // For a mechanism that saves nothing, all the remaining work comes before its checkpoint.
                const double interval = chosen.saves ? how.interval_seconds : 30 * 86400.0,
                             forever = useful_share(all, chosen, interval);
                if (job.checkpoint_seconds && chosen.saves)
                    REQUIRE(how.interval_seconds == *job.checkpoint_seconds);
                unsaved += !chosen.saves;
                if (job.remaining_examples && base[k].knowledge != Knowledge::unknown &&
                    base[k].goodput > 0) {
                    // Interval by interval until the end of the job, which needs no checkpoint.
                    CheckpointMechanism none{.restore_seconds = chosen.restore_seconds,
                                             .caught = chosen.caught};
                    double left = std::max(*job.remaining_examples / base[k].goodput, 1.0), seconds = 0;
                    if (left / interval > 1000) continue;
                    const double work = left;
                    for (; left > interval; left -= interval) seconds += interval / forever;
                    seconds += left / useful_share(all, none, left);
                    REQUIRE(how.availability == doctest::Approx(work / seconds));
                    REQUIRE(how.availability >= forever * (1 - 1e-12));
                    ++ending;
                } else {
                    // No interval is better, and the one that the option names reaches that share.
                    double best = 0;
                    for (const CheckpointMechanism& way : ways) {
                        if (!way.saves) continue;  // a month's work would leave nothing
                        if (job.checkpoint_seconds)
                            best = std::max(best, useful_share(all, way, *job.checkpoint_seconds));
                        for (double t = 1; !job.checkpoint_seconds && t <= 30 * 86400.0; t *= 1.1)
                            best = std::max(best, useful_share(all, way, t));
                    }
                    REQUIRE(how.availability >= best - 1e-9);
                    REQUIRE(how.availability == doctest::Approx(forever));
                }
                REQUIRE(option.goodput == base[k].goodput * how.availability);
                ++counted;
            }
            // Chosen by future goodput, run with the present one; both count the useful part of the time.
            const Option& got = with.last_plan().decisions[j].option;
            chosen += got.checkpointing.interval_seconds > 0;
        }
    }
    CHECK(counted > 2000);
    CHECK(chosen > 50);
    CHECK(ending > 500);
    CHECK(unsaved > 100);
}

TEST_CASE("a job's interval is its own, whatever the costs of similar jobs") {
    const double per_hour = 1;
    Snapshot now = one_job_and_two_markets(per_hour);
    std::erase_if(now.cluster.nodes, [](const Node& node) { return !node.spot; });
    now.jobs[0].max_gpus = 4;
    const CheckpointMechanism lasting{.name = "full", .pause_seconds = 5, .restore_seconds = 60};
    std::vector<CheckpointMechanism> ways(4, lasting);
    ways[1].kept = 0.5, ways[1].stored_every = 8;
    ways[2].kept = 0.5, ways[2].stored_every = 2;
    ways[3].kept = 0.9, ways[3].stored_every = 8;
    for (std::size_t j = 0; j < ways.size(); ++j) {
        if (j > 0) now.jobs.push_back(now.jobs[0]), now.models.push_back(now.models[0]);
        now.jobs[j].name = "job " + std::to_string(j);
        now.jobs[j].checkpoints = {ways[j]};
    }
    auto scheduler = Scheduler<Sia>().counting(LostTime());
    scheduler.plan(now);
    for (std::size_t j = 0; j < ways.size(); ++j)
        for (const Option& option : scheduler.options_of(j)) {
            const Checkpointing best = best_checkpointing({.per_hour = per_hour}, ways[j], 30 * 86400);
            CHECK(option.checkpointing.interval_seconds == best.interval_seconds);
            CHECK(option.checkpointing.availability == doctest::Approx(best.availability));
        }
}

TEST_CASE("a mechanism that saves nothing does not count as one that saves every few minutes") {
    Snapshot now = one_job_and_two_markets(1);
    std::erase_if(now.cluster.nodes, [](const Node& node) { return !node.spot; });
    now.jobs[0].max_gpus = 4;
    const CheckpointMechanism none{.name = "none", .restore_seconds = 60, .saves = false};
    const CheckpointMechanism jit{.name = "just in time", .restore_seconds = 60, .caught = 1};
    auto scheduler = Scheduler<Sia>().counting(LostTime());
    for (const bool fixed : {false, true}) {
        now.jobs[0].checkpoint_seconds = fixed ? std::optional(600.0) : std::nullopt;
        now.jobs[0].checkpoints = {jit, none};
        scheduler.plan(now);
        for (const Option& option : scheduler.options_of(0)) CHECK(option.checkpointing.mechanism == 0);
        // All the work at once: 10,000 s, with interruptions an hour apart on average.
        now.jobs[0].checkpoints = {none};
        const Option& known = scheduler.options_of(0).front();
        now.jobs[0].remaining_examples = 10'000 * known.goodput / known.checkpointing.availability;
        scheduler.plan(now);
        const Option& last = scheduler.options_of(0).front();
        CHECK(last.checkpointing.availability ==
              doctest::Approx(useful_share({.per_hour = 1}, none, 10'000)));
        now.jobs[0].remaining_examples.reset();
    }
}

TEST_CASE("if no node is ever interrupted, no job's way to save its state changes anything") {
    support::Random random(13);
    auto sia = Scheduler<Sia>().counting(LostTime()), sia_told = sia;
    auto ours = Scheduler<GoodputPolicy>().counting(LostTime()), ours_told = ours;
    for (int i = 0; i < 100; ++i) {
        support::RandomRound round(random);
        const Snapshot now = round.snapshot;
        Snapshot told = now;
        for (Job& job : told.jobs) {
            job.checkpoints = random_mechanisms(random);
            job.checkpoint_seconds = 600;
        }
        const auto same = [&](auto& a, auto& b) {
            const Plan &plain = a.plan(now), &other = b.plan(told);
            REQUIRE(plain.objective == other.objective);
            for (std::size_t j = 0; j < now.jobs.size(); ++j) {
                REQUIRE(plain.decisions[j].placement == other.decisions[j].placement);
                REQUIRE(plain.decisions[j].value == other.decisions[j].value);
                REQUIRE(plain.decisions[j].option.goodput == other.decisions[j].option.goodput);
                REQUIRE(other.decisions[j].option.checkpointing.availability == 1);
            }
        };
        same(sia, sia_told);
        same(ours, ours_told);
    }
}

TEST_CASE("a policy that looks ahead still runs jobs with the useful part of the present goodput") {
    support::Random random(14);
    int given = 0;
    for (int i = 0; i < 60; ++i) {
        support::RandomRound round(random);
        Snapshot now = round.snapshot;
        for (Node& node : now.cluster.nodes) node.interruptions_per_hour = 0.2;
        const Plan planned = plan_counting(now, GoodputPolicy());
        Snapshot calm = now;
        for (Node& node : calm.cluster.nodes) node.interruptions_per_hour = 0;
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            const Option& got = planned.decisions[j].option;
            if (got.configuration.empty()) continue;
            Option alone = got;
            Factors<> nothing;
            GoodputPredictor predict;
            ListedShapes maker;
            const Joints joints{.predictor = predictor_joint(predict),
                                .maker = maker_joint(maker),
                                .factor = factor_joint(nothing)};
            REQUIRE(predict_one(joints, calm, j, false, alone));
            REQUIRE(got.goodput == doctest::Approx(alone.goodput * got.checkpointing.availability));
            ++given;
        }
    }
    CHECK(given > 100);
}

TEST_CASE("spot nodes are worth their price while little is lost on them") {
    // 24 dollars per hour pay for 8 on-demand GPUs, or for 16 spot GPUs with some dollars left.
    const auto got = [](double interruptions_per_hour) {
        Snapshot now = one_job_and_two_markets(interruptions_per_hour);
        auto scheduler = Scheduler<Sia>().counting(LostTime()).limited_by(Budget(24.0));
        const Plan& plan = scheduler.plan(now);
        return plan.decisions[0].option.configuration.first();
    };
    CHECK(got(0.05).spot);
    CHECK(got(0.05).shape.gpus == 16);
    // With four nodes that are each lost every six minutes, the job hardly advances.
    CHECK_FALSE(got(10).spot);
    CHECK(got(10).shape.gpus == 8);
}

TEST_CASE("the more often nodes are lost, the fewer of them a job takes") {
    int before = 16;
    for (const double per_hour : {0.0, 0.5, 2.0, 8.0, 30.0, 100.0}) {
        Snapshot now = one_job_and_two_markets(per_hour);
        std::erase_if(now.cluster.nodes, [](const Node& node) { return !node.spot; });
        const int gpus = plan_counting(now, Sia()).decisions[0].option.configuration.gpus();
        CHECK(gpus <= before);
        before = gpus;
    }
    CHECK(before < 16);
}

TEST_CASE("a job that may not have spot nodes gets none, and others no more than the caps allow") {
    support::Random random(15);
    int kept_off = 0, told = 0, capped = 0;
    for (int i = 0; i < 200; ++i) {
        support::RandomRound round(random);
        Snapshot& now = round.snapshot;
        for (Node& node : now.cluster.nodes) node.spot = random.chance(0.6);
        for (Job& job : now.jobs) {
            job.spot_allowed = random.chance(0.5);
            job.preemptible = true;
            job.restarting = false;
            if (random.chance(0.5)) job.team = "vision";
        }
        const double cap = random.integer(0, 8), quota = random.integer(0, 4);
        auto scheduler = Scheduler<Sia>()
                             .counting(LostTime())
                             .limited_by(SpotCap(cap), TeamQuotas({{.team = "vision", .spot_gpus = quota}}));
        const Plan& plan = scheduler.plan(now);
        int spot = 0, spot_of_team = 0;
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            for (const NodeShare& share : decision.placement)
                REQUIRE((now.jobs[j].spot_allowed || !now.cluster.nodes[share.node].spot));
            const int gpus = detail::spot_gpus_of(decision.option.configuration);
            spot += gpus;
            spot_of_team += now.jobs[j].team == "vision" ? gpus : 0;
            kept_off += !now.jobs[j].spot_allowed && !decision.placement.empty();
            told += decision.verdict.reason.find("it may not have spot nodes") != std::string::npos;
        }
        REQUIRE(spot <= cap);
        REQUIRE(spot_of_team <= quota);
        capped += spot > 0 && (spot == static_cast<int>(cap) || spot_of_team == static_cast<int>(quota));
    }
    CHECK(kept_off > 100);
    CHECK(told > 5);
    CHECK(capped > 20);
}

TEST_CASE("an explanation says what is expected to be lost, and how best to save") {
    Snapshot now = one_job_and_two_markets(0.25);
    std::erase_if(now.cluster.nodes, [](const Node& node) { return !node.spot; });
    now.jobs[0].max_gpus = 4;
    now.jobs[0].checkpoints = {{.name = "full", .pause_seconds = 60, .restore_seconds = 60},
                               {.name = "asynchronous",
                                .pause_seconds = 5,
                                .write_seconds = 60,
                                .write_slowdown = 0.05,
                                .restore_seconds = 90}};
    auto scheduler = Scheduler<Sia>().counting(LostTime());
    scheduler.plan(now);
    std::string text = explain_plan(scheduler, now).front().report(now.cluster);
    CHECK(text.starts_with("4 spot A100 on 1 node"));
    const Checkpointing best = best_checkpointing({.per_hour = 0.25}, now.jobs[0].checkpoints[1], 1e6);
    const std::string minutes = rounded_text_of(std::round(best.interval_seconds / 6) / 10);
    const std::string percent = rounded_text_of(std::round((1 - best.availability) * 1000) / 10);
    CHECK(text.ends_with("; " + percent + "% of the time is expected to be lost, best checkpoint every " +
                         minutes + " min, asynchronous"));
    // A mechanism that needs more memory than there is is not chosen.
    for (Node& node : now.cluster.nodes) node.memory_gib = 64;
    now.jobs[0].checkpoints[1].memory_gib_per_gpu = 20;
    scheduler.plan(now);
    text = explain_plan(scheduler, now).front().report(now.cluster);
    CHECK(text.ends_with("min, full"));
    now.jobs[0].checkpoint_seconds = 1800;
    scheduler.plan(now);
    text = explain_plan(scheduler, now).front().report(now.cluster);
    CHECK(text.ends_with("checkpoints every 30 min, full"));
    now.jobs[0].checkpoints = {{.name = "none", .restore_seconds = 60, .saves = false}};
    scheduler.plan(now);
    text = explain_plan(scheduler, now).front().report(now.cluster);
    CHECK(text.ends_with("best without checkpoints, none"));
}

TEST_CASE("impossible ways to save are refused by name") {
    const auto refusal = [](CheckpointMechanism mechanism, double interval) -> std::string {
        Snapshot now = one_job_and_two_markets(0.1);
        now.strict = true;
        now.jobs[0].checkpoints = {std::move(mechanism)};
        now.jobs[0].checkpoint_seconds = interval;
        try {
            (void)plan_counting(now, Sia());
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return {};
    };
    CHECK(refusal({.name = "full"}, 600).empty());
    CHECK(refusal({.name = "full", .pause_seconds = -1}, 600).find("'full'") != std::string::npos);
    CHECK(refusal({.name = "full", .caught = 2}, 600).find("caught") != std::string::npos);
    CHECK(refusal({.name = "full"}, 0).find("checkpoint_seconds") != std::string::npos);
}
