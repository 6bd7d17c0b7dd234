// Promises beside jobs that may share their GPUs: who has a promise shares as long as it still ends in time.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/deadlines/promises_engine.hpp"
#include "goodput/pairs/pairs_engine.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// So many examples/s on each GPU, measured.
struct Rated {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            option.goodput = job.types[0].reference_rate * option.configuration.gpus();
            option.plan = {1, 0};
            option.knowledge = Knowledge::measured;
        }
    }
};

/// The more speed the better, less so for the next.
struct RootOfSpeed {
    [[nodiscard]] static double value(const Round& round, const Job& job, const Option& option) {
        const bool stays = job.placement.empty() || option.configuration.same_gpus(round.held_by(job));
        return std::sqrt(std::max(option.goodput, 0.0)) * (stays ? 1 : 0.9);
    }
};

/// Rounds of 60 s in which each job does as told.
struct SharedRounds {
    static constexpr double seconds = 60;
    using Parts = SchedulerParts<RootOfSpeed, LeastMovesPlacer, Allotter<>, Rated>;

    Snapshot now{.cluster = {.gpu_types = {"A"}}};
    std::vector<JobPair> pairs{};
    std::vector<std::optional<double>> deadline_of{};
    std::map<std::string, double> restart_left{};
    std::map<std::string, std::string> partner_of{};
    Parts parts{};
    PairsEngine paired{};
    PromisesEngine promises{PromisedRoundOptions{.round_seconds = seconds, .margins = {1, 1, 1}}};

    void add(const std::string& name, int least, int most, double work, std::optional<double> deadline) {
        Job job{.name = name, .min_gpus = least, .max_gpus = most};
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 1024;
        job.types = {{.max_atomic_batch = 1024, .reference_rate = 100}};
        job.remaining_examples = work;
        now.jobs.push_back(job);
        deadline_of.push_back(deadline);
    }
    const Plan& plan() {
        std::vector<Deadline> deadlines;
        for (std::size_t j = 0; j < deadline_of.size(); ++j)
            if (deadline_of[j]) deadlines.push_back({.job = j, .deadline_seconds = *deadline_of[j]});
        std::vector<SharingJobs> sharing;
        for (JobPair& pair : pairs) {
            const Job &first = now.jobs[pair.jobs[0]], &second = now.jobs[pair.jobs[1]];
            pair.together = !first.placement.empty() && partner_of[first.name] == second.name;
            if (pair.together) sharing.push_back({pair.jobs, pair.parts[0]});
        }
        const RoundPlanner planner = [this](const Snapshot& snapshot, const Joints& joints,
                                            const AllotOptions& options, std::span<const std::size_t> alone,
                                            const AfterStep& step) -> const Plan& {
            return paired.plan(snapshot, pairs, joints, options, step, alone);
        };
        return promises.plan(
            now, deadlines,
            {joints_of(parts), parts.options, predictor_joint(parts.predictor), planner, sharing},
            [](PlanStep) {});
    }
    /// A round passes. The jobs that ended, with when.
    std::map<std::string, double> pass(const Plan& plan) {
        std::map<std::string, double> ended;
        for (std::size_t j = 0; j < now.jobs.size(); ++j) {
            Job& job = now.jobs[j];
            const Decision& decision = plan.decisions[j];
            double& restart = restart_left[job.name];
            if (decision.starts) restart = job.restart_cost_seconds;
            job.placement = decision.placement;
            partner_of[job.name] =
                decision.shares_with ? now.jobs[*decision.shares_with].name : std::string();
            const double waits = std::min(restart, seconds);
            restart -= waits;
            job.restarting = !job.placement.empty() && restart > 0;
            if (job.placement.empty()) continue;
            const double work = decision.option.goodput * (seconds - waits);
            if (work >= *job.remaining_examples * (1 - 1e-12))
                ended[job.name] =
                    now.time_seconds + waits + *job.remaining_examples / decision.option.goodput;
            *job.remaining_examples = std::max(*job.remaining_examples - work, 0.0);
        }
        now.time_seconds += seconds;
        return ended;
    }
    void remove(const std::string& name) {
        const auto at = std::ranges::find(now.jobs, name, &Job::name);
        const auto j = static_cast<std::size_t>(at - now.jobs.begin());
        now.jobs.erase(at);
        deadline_of.erase(deadline_of.begin() + static_cast<std::ptrdiff_t>(j));
        std::erase_if(pairs, [&](const JobPair& pair) { return std::ranges::count(pair.jobs, j) > 0; });
        for (JobPair& pair : pairs)
            for (std::size_t& job : pair.jobs) job -= job > j ? 1 : 0;
        for (auto& [job, partner] : partner_of)
            if (partner == name) partner.clear();
    }
};

}  // namespace

TEST_CASE("A promised job shares its GPU as long as it ends in time, and then has it for itself") {
    SharedRounds rounds;
    rounds.now.cluster.nodes = {{.name = "n", .gpus = 1}};
    rounds.add("free", 1, 1, 1e6, std::nullopt);
    rounds.add("due", 1, 1, 100.0 * 600, 900);
    rounds.pairs = {{.jobs = {0, 1}, .parts = {{0.8, 0.6}}}};
    bool shared = false, alone = false;
    std::map<std::string, double> ended;
    while (!ended.contains("due") && rounds.now.time_seconds < 1000) {
        const Plan& plan = rounds.plan();
        INFO(rounds.now.time_seconds);
        REQUIRE(rounds.promises.answers()[0].promise == Promise::kept);
        CHECK(rounds.promises.answers()[0].done_by_seconds <= 900);
        REQUIRE(!plan.decisions[1].placement.empty());
        (plan.decisions[1].shares_with ? shared : alone) = true;
        ended = rounds.pass(plan);
    }
    CHECK(ended["due"] <= 900);
    CHECK(shared);
    CHECK(alone);
}

TEST_CASE(
    "Of jobs that share GPUs with one that cannot be moved, a promise counts on what is left of the speed") {
    for (const double deadline : {900.0, 1100.0}) {
        SharedRounds rounds;
        rounds.now.cluster.nodes = {{.name = "n", .gpus = 1}};
        rounds.add("pinned", 1, 1, 1e6, std::nullopt);
        rounds.add("due", 1, 1, 100.0 * 600, deadline);
        for (Job& job : rounds.now.jobs) job.placement = {{0, 1}};
        rounds.now.jobs[0].preemptible = false;
        rounds.pairs = {{.jobs = {0, 1}, .parts = {{0.8, 0.6}}}};
        rounds.partner_of["pinned"] = "due";
        rounds.plan();  // 1,000 s at 0.6 of the speed
        CHECK((rounds.promises.answers()[0].promise == Promise::kept) == (deadline > 1060));
    }
}

TEST_CASE(
    "Whoever does as told is never broken a promise, in pairs or alone, and every GPU is held once or by a "
    "pair") {
    support::Random random(20261128);
    int kept = 0, in_pairs = 0;
    for (int trial = 0; trial < 150; ++trial) {
        CAPTURE(trial);
        SharedRounds rounds;
        for (int n = random.integer(1, 2); n > 0; --n)
            rounds.now.cluster.nodes.push_back(
                {.name = "n" + std::to_string(n), .gpus = 1 << random.integer(0, 2)});
        const int jobs = random.integer(2, 5);
        for (int j = 0; j < jobs; ++j) {
            const int gpus = 1 << random.integer(0, 1);
            const bool due = random.chance(0.6);
            rounds.add("j" + std::to_string(j), gpus, gpus * (random.chance(0.5) ? 1 : 2),
                       100.0 * gpus * random.between(60, 900),
                       due ? std::optional(random.between(200, 2500)) : std::nullopt);
            rounds.now.jobs.back().restart_cost_seconds = random.chance(0.5) ? 0 : random.between(1, 50);
            rounds.now.jobs.back().preemptible = random.chance(0.85);
        }
        for (std::size_t b = 1; b < rounds.now.jobs.size(); ++b)
            for (std::size_t a = 0; a < b; ++a)
                if (random.chance(0.5))
                    rounds.pairs.push_back(
                        {.jobs = {a, b}, .parts = {{random.between(0.4, 0.95), random.between(0.4, 0.95)}}});
        std::map<std::string, double> promised;  // deadlines
        for (int round = 0; round < 45 && !rounds.now.jobs.empty(); ++round) {
            CAPTURE(round);
            const Plan& plan = rounds.plan();
            std::vector<int> free;
            for (const Node& node : rounds.now.cluster.nodes) free.push_back(node.gpus);
            std::size_t k = 0;
            for (std::size_t j = 0; j < rounds.now.jobs.size(); ++j) {
                const Job& job = rounds.now.jobs[j];
                const Decision& decision = plan.decisions[j];
                if (const auto& with = decision.shares_with) {
                    CHECK(plan.decisions[*with].shares_with == j);
                    CHECK(plan.decisions[*with].placement == decision.placement);
                    ++in_pairs;
                }
                if (!decision.shares_with || *decision.shares_with > j)
                    for (const NodeShare& share : decision.placement) free[share.node] -= share.gpus;
                if (!job.placement.empty() && !job.preemptible) CHECK(decision.placement == job.placement);
                if (!rounds.deadline_of[j]) continue;
                const PromiseAnswer& answer = rounds.promises.answers()[k++];
                CAPTURE(job.name);
                CAPTURE(answer.why);
                CHECK((answer.promise == Promise::kept || !promised.contains(job.name)));
                if (answer.promise != Promise::kept) continue;
                CHECK(answer.done_by_seconds <= *rounds.deadline_of[j] + 1e-6);
                kept += promised.try_emplace(job.name, *rounds.deadline_of[j]).second ? 1 : 0;
            }
            for (const int gpus : free) CHECK(gpus >= 0);
            CHECK(plan.objective <= plan.bound * (1 + 1e-9) + 1e-9);
            for (const auto& [name, when] : rounds.pass(plan)) {
                if (promised.contains(name)) CHECK(when <= promised[name] + 1e-6);
                promised.erase(name);
                rounds.remove(name);
            }
            for (const auto& [name, deadline] : promised) CHECK(deadline > rounds.now.time_seconds - 1e-6);
        }
    }
    CHECK(kept > 100);
    CHECK(in_pairs > 200);
}
