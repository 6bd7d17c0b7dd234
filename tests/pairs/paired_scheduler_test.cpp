// Two jobs on the same GPUs in a round: who shares with whom is as good as of all ways to pair them, nothing
// is given twice but to partners, and whoever is left where he was stays there.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/hosts/with_hosts.hpp"
#include "goodput/pairs/detail/pair_choice.hpp"
#include "goodput/pairs/paired_scheduler.hpp"
#include "goodput/policies/tiresias.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/cluster_limits.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"
#include "support/rated_speeds.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;
using support::RatedSpeeds;

namespace {

/// Worth by goodput, and less where the job would have to restart for it.
struct RootOfGoodput {
    [[nodiscard]] double value(const Round& round, const Job& job, const Option& option) const {
        const bool stays = job.placement.empty() || option.configuration.same_gpus(round.held_by(job));
        return std::sqrt(std::max(option.goodput, 0.0)) * (stays ? 1 : 0.8);
    }
};

using Quotas = Limits<TeamQuotas>;
template <class P = RootOfGoodput>
using Plain = Scheduler<P, LeastMovesPlacer, Allotter<>, RatedSpeeds, Quotas>;
template <class P = RootOfGoodput>
using Paired = PairedScheduler<P, LeastMovesPlacer, Allotter<>, RatedSpeeds, Quotas>;

/// Two GPU types, a few nodes of 1 to 4 GPUs, up to five jobs of two teams, some running, two of them perhaps
/// together.
struct SmallRound {
    explicit SmallRound(Random& random) {
        now.time_seconds = 1000;
        now.cluster.gpu_types = {"slow", "fast"};
        for (std::size_t t = 0; t < 2; ++t)
            for (int n = random.integer(1, 2), size = 1 << random.integer(0, 2); n > 0; --n)
                now.cluster.nodes.push_back({std::to_string(t) + "-" + std::to_string(n), t, size});
        std::vector<int> free;
        for (const Node& node : now.cluster.nodes) free.push_back(node.gpus);
        const auto hold = [&](Job& job) {
            const auto n = static_cast<std::size_t>(random.integer(0, static_cast<int>(free.size()) - 1));
            const int gpus = 1 << random.integer(0, 2);
            if (gpus > free[n] || gpus < job.min_gpus || gpus > job.max_gpus ||
                job.types[now.cluster.nodes[n].gpu_type].max_atomic_batch == 0)
                return;
            free[n] -= gpus;
            job.placement = {{n, gpus}};
        };
        for (int j = random.integer(2, 5); j > 0; --j) {
            Job job{.name = "job-" + std::to_string(j), .adaptivity = Adaptivity::gpus};
            job.initial_batch = job.target_batch = 1;
            job.min_gpus = random.chance(0.2) ? 2 : 1;
            job.max_gpus = 1 << random.integer(1, 3);
            job.restart_cost_seconds = 10;
            job.weight = random.between(0.5, 2);
            job.team = random.chance(0.5) ? "red" : "blue";
            for (std::size_t t = 0; t < 2; ++t)
                job.types.push_back({.max_atomic_batch = random.chance(0.1) ? 0 : 8,
                                     .reference_rate = random.between(1, 10)});
            if (random.chance(0.5)) hold(job);
            job.preemptible = !random.chance(0.1);
            now.jobs.push_back(std::move(job));
        }
        for (std::size_t a = 0; a < now.jobs.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                if (random.chance(0.3)) continue;
                JobPair pair{{a, b}, {}, false};
                for (int t = 0; t < 2; ++t)
                    pair.parts.push_back(random.chance(0.2)
                                             ? std::array{0.0, 0.0}
                                             : std::array{random.between(0.1, 1), random.between(0.1, 1)});
                pairs.push_back(pair);
            }
        for (JobPair& pair : pairs)
            if (Job& one = now.jobs[pair.jobs[0]], &other = now.jobs[pair.jobs[1]];
                random.chance(0.5) && !one.placement.empty() && other.placement.empty()) {
                other.placement = one.placement;
                pair.together = true;
                break;
            }
        quotas = {{"red", random.integer(1, 8)}, {"blue", random.integer(1, 8)}};
    }
    Snapshot now;
    std::vector<JobPair> pairs;
    std::vector<TeamQuota> quotas;
};

/// The most that any choice of jobs alone and in pairs is worth: GPUs counted by type, which is enough where
/// all sizes divide one another.
class BestByCount {
public:
    BestByCount(const SmallRound& round, const RootOfGoodput& policy) : round_(round), policy_(policy) {
        Snapshot bare = round.now;
        for (Job& job : bare.jobs) job.placement.clear();
        Plain<> lists{RootOfGoodput{}, {}, {}, {}, RatedSpeeds{}};
        lists.plan(bare);
        for (std::size_t j = 0; j < bare.jobs.size(); ++j)
            options_.emplace_back(lists.options_of(j).begin(), lists.options_of(j).end());
        pools_ = pools_of(bare.cluster);
        for (const Pool& pool : pools_) gpus_.push_back(pool.gpus());
        for (const TeamQuota& quota : round.quotas) left_[quota.team] = *quota.gpus;
        done_.assign(bare.jobs.size(), 0);
        // What must stay may be more than a quota.
        std::map<std::string, double> kept;
        for (std::size_t j = 0; j < bare.jobs.size(); ++j)
            if (const JobPair* pair = together(j)) {
                if (must(j)) kept[job(j).team] += 0.5 * job(j).placement[0].gpus;
                (void)pair;
            } else if (must(j)) {
                kept[job(j).team] += job(j).placement[0].gpus;
            }
        for (auto& [team, left] : left_) left = std::max(left, kept[team]);
    }
    [[nodiscard]] double operator()() { return from(0); }

private:
    [[nodiscard]] const Job& job(std::size_t j) const { return round_.now.jobs[j]; }
    [[nodiscard]] const JobPair* together(std::size_t j) const {
        for (const JobPair& pair : round_.pairs)
            if (pair.together && (pair.jobs[0] == j || pair.jobs[1] == j)) return &pair;
        return nullptr;
    }
    /// It keeps what it holds, or its partner does.
    [[nodiscard]] bool must(std::size_t j) const {
        const JobPair* pair = together(j);
        return job(j).keeps_what_it_holds() || (pair && (job(pair->jobs[0]).keeps_what_it_holds() ||
                                                         job(pair->jobs[1]).keeps_what_it_holds()));
    }
    [[nodiscard]] double worth(std::size_t j, Option option, double part) const {
        option.goodput *= part;
        return job(j).weight *
               policy_.value({.time_seconds = 0, .cluster = round_.now.cluster, .pools = pools_}, job(j),
                             option);
    }
    bool take(std::size_t type, double gpus, std::span<const std::size_t> jobs, double sign) {
        gpus_[type] -= sign * gpus;
        bool fits = gpus_[type] >= -1e-9;
        for (const std::size_t j : jobs) {
            double& left = left_[job(j).team];
            left -= sign * gpus / static_cast<double>(jobs.size());
            fits &= left >= -1e-9;
        }
        return fits;
    }
    double with(std::size_t type, double gpus, std::vector<std::size_t> jobs, double value,
                std::size_t next) {
        double best = -1e300;
        for (const std::size_t j : jobs) done_[j] = 1;
        if (take(type, gpus, jobs, 1)) best = value + from(next);
        take(type, gpus, jobs, -1);
        for (const std::size_t j : jobs) done_[j] = 0;
        return best;
    }
    double from(std::size_t j) {
        if (j == done_.size()) return 0;
        if (done_[j]) return from(j + 1);
        double best = must(j) ? -1e300 : from(j + 1);
        const JobPair* held = together(j);
        for (const Option& option : options_[j]) {
            const PoolShare& part = option.configuration.first();
            const bool is_held =
                option.configuration.same_gpus(configuration_of(job(j).placement, round_.now.cluster));
            if (must(j) && (!is_held || held)) continue;
            best = std::max(best, with(part.gpu_type, option.configuration.occupied_gpus(), {j},
                                       worth(j, option, 1), j + 1));
        }
        for (const JobPair& pair : round_.pairs) {
            if (pair.jobs[0] != j && pair.jobs[1] != j) continue;
            const std::size_t mine = pair.jobs[0] == j ? 0 : 1, other = pair.jobs[1 - mine];
            const bool kept = must(j) || must(other);
            if (done_[other] || (kept && !pair.together)) continue;
            for (const Option& a : options_[j])
                for (const Option& b : options_[other]) {
                    const PoolShare& part = a.configuration.first();
                    if (a.configuration != b.configuration || !pair.runs_on(part.gpu_type)) continue;
                    if (kept &&
                        !a.configuration.same_gpus(configuration_of(job(j).placement, round_.now.cluster)))
                        continue;
                    const auto& parts = pair.parts[part.gpu_type];
                    best = std::max(best,
                                    with(part.gpu_type, a.configuration.occupied_gpus(), {j, other},
                                         worth(j, a, parts[mine]) + worth(other, b, parts[1 - mine]), j + 1));
                }
            // HiddenState although it is worth nothing.
            if (kept && pair.together && best < -1e299) {
                const Configuration on = configuration_of(job(j).placement, round_.now.cluster);
                best = with(on.first().gpu_type, on.gpus(), {j, other}, 0, j + 1);
            }
        }
        return best;
    }

    const SmallRound& round_;
    const RootOfGoodput& policy_;
    std::vector<std::vector<Option>> options_;
    std::vector<Pool> pools_;
    std::vector<double> gpus_;
    std::map<std::string, double> left_;
    std::vector<char> done_;
};

/// Nobody has GPUs of others but partners, who have all the same.
void check_nodes(const Snapshot& now, const Plan& plan) {
    std::vector<int> taken(now.cluster.nodes.size());
    for (std::size_t j = 0; j < now.jobs.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        support::check_action(now.jobs[j], decision, now.cluster);
        if (decision.shares_with) {
            const Decision& other = plan.decisions[*decision.shares_with];
            REQUIRE(other.shares_with == j);
            CHECK(other.placement == decision.placement);
            CHECK(other.option.configuration == decision.option.configuration);
            CHECK(decision.verdict.reason.starts_with("shares "));
            if (*decision.shares_with < j) continue;
        }
        CHECK(configuration_of(decision.placement, now.cluster) == decision.option.configuration);
        for (const NodeShare& share : decision.placement)
            taken[share.node] +=
                decision.placement.size() > 1 ? now.cluster.nodes[share.node].gpus : share.gpus;
    }
    for (std::size_t n = 0; n < taken.size(); ++n) CHECK(taken[n] <= now.cluster.nodes[n].gpus);
}

}  // namespace

TEST_CASE("jobs and pairs are chosen as well as by trying all") {
    Random random(37);
    const RootOfGoodput policy;
    int equal = 0, with_pairs = 0;
    const int rounds = 400;
    Paired<> scheduler;
    for (int r = 0; r < rounds; ++r) {
        const SmallRound round(random);
        CAPTURE(r);
        scheduler.limits() = Quotas(TeamQuotas(round.quotas));
        const Plan& plan = scheduler.plan(round.now, round.pairs);
        check_nodes(round.now, plan);
        CHECK(plan.decisions.size() == round.now.jobs.size());
        CHECK(plan.faults.empty());
        double sum = 0;
        bool any = false;
        for (const Decision& decision : plan.decisions) {
            sum += decision.value;
            any |= decision.shares_with.has_value();
        }
        with_pairs += any ? 1 : 0;
        CHECK(sum == doctest::Approx(plan.objective));
        const double best = BestByCount(round, policy)();
        CHECK(plan.bound >= best - 1e-9 * std::abs(best));
        CHECK(plan.objective <= best + 1e-9 * std::abs(best));
        CHECK(plan.objective >= best - 1e-3 * std::abs(best));
        equal += plan.objective >= best - 1e-9 * std::abs(best) ? 1 : 0;
    }
    MESSAGE(equal << " of " << rounds << " plans are the best, " << with_pairs << " have pairs");
    CHECK(with_pairs > rounds / 4);
}

TEST_CASE("many pairs are chosen to within a few per cent of what no plan exceeds") {
    Random random(38);
    double widest = 0;
    for (int r = 0; r < 12; ++r) {
        CAPTURE(r);
        Snapshot now;
        now.time_seconds = 1000;
        now.cluster.gpu_types = {"slow", "fast"};
        for (std::size_t t = 0; t < 2; ++t)
            for (int n = 0; n < 4; ++n)
                now.cluster.nodes.push_back({std::to_string(t) + "-" + std::to_string(n), t, 4});
        std::vector<JobPair> pairs;
        for (std::size_t j = 0; j < 40; ++j) {
            Job job{.name = std::to_string(j), .restart_cost_seconds = 10, .max_gpus = 4};
            job.adaptivity = Adaptivity::gpus;
            job.initial_batch = job.target_batch = 1;
            for (int t = 0; t < 2; ++t)
                job.types.push_back({.max_atomic_batch = 8, .reference_rate = random.between(1, 10)});
            now.jobs.push_back(std::move(job));
            for (std::size_t other = 0; other < j; ++other)
                if (random.chance(0.5))
                    pairs.push_back({{j, other},
                                     {{random.between(0.2, 0.9), random.between(0.2, 0.9)},
                                      {random.between(0.2, 0.9), random.between(0.2, 0.9)}},
                                     false});
        }
        Paired<> scheduler;
        double before = 0;
        for (int round = 0; round < 3; ++round) {
            const Plan& plan = scheduler.plan(now, pairs);
            check_nodes(now, plan);
            CHECK(plan.bound >= plan.objective);
            widest = std::max(widest, 1 - plan.objective / plan.bound);
            CHECK(plan.objective >= 0.95 * plan.bound);
            if (round > 0) CHECK(plan.objective >= (1 - 1e-3) * before);
            before = plan.objective;
            for (std::size_t j = 0; j < now.jobs.size(); ++j)
                now.jobs[j].placement = plan.decisions[j].placement;
            for (JobPair& pair : pairs)
                pair.together = plan.decisions[pair.jobs[0]].shares_with == pair.jobs[1];
        }
    }
    MESSAGE("at most " << widest << " below the bound");
}

namespace {

/// Jobs on nodes of 8 GPUs of one type, none of which runs yet.
Snapshot many_jobs(Random& random, std::size_t jobs, int nodes, int most_gpus) {
    Snapshot now;
    now.time_seconds = 1000;
    now.cluster.gpu_types = {"V100"};
    for (int n = 0; n < nodes; ++n) now.cluster.nodes.push_back({"n" + std::to_string(n), 0, 8});
    for (std::size_t j = 0; j < jobs; ++j) {
        Job job{.name = std::to_string(j), .max_gpus = 1 << random.integer(0, most_gpus)};
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 1;
        job.types.push_back({.max_atomic_batch = 8, .reference_rate = random.between(1, 10)});
        now.jobs.push_back(std::move(job));
    }
    return now;
}

/// GPUs that a plan gives, those of two jobs together once.
int used_gpus(const Plan& plan) {
    int used = 0;
    for (std::size_t j = 0; j < plan.decisions.size(); ++j)
        if (plan.decisions[j].shares_with.value_or(j) >= j)
            for (const NodeShare& share : plan.decisions[j].placement) used += share.gpus;
    return used;
}

}  // namespace

TEST_CASE("a ring of pairs is worth at least what a few of its pairs are, and leaves no GPU idle") {
    // 26 equal jobs on 16 GPUs: ten pairs, and six jobs alone.
    Random random(42);
    Snapshot now = many_jobs(random, 26, 2, 0);
    for (Job& job : now.jobs) job.types[0].reference_rate = 4;
    std::vector<JobPair> ring;
    for (std::size_t j = 0; j < 26; ++j) ring.push_back({{j, (j + 1) % 26}, {{0.64, 0.64}}, false});
    std::vector<JobPair> few;
    for (std::size_t p = 0; p < 20; p += 2) few.push_back(ring[p]);
    Paired<> scheduler;
    const double of_few = scheduler.plan(now, few).objective;
    CHECK(of_few == doctest::Approx(6 * 2.0 + 20 * 1.6));
    const Plan& plan = scheduler.plan(now, ring);
    CHECK(plan.objective == doctest::Approx(of_few));
    CHECK(plan.status == AllotStatus::optimal);
    CHECK(used_gpus(plan) == 16);
}

TEST_CASE(
    "the more pairs are on offer, the more a plan is worth, and no GPU stays idle beside waiting jobs") {
    Random random(43);
    double widest = 0;
    for (int r = 0; r < 20; ++r) {
        CAPTURE(r);
        const int nodes = random.integer(2, 5);
        const Snapshot now =
            many_jobs(random, static_cast<std::size_t>(random.integer(26, 70)), nodes, r % 3);
        std::vector<JobPair> all, offered;
        for (std::size_t j = 0; j < now.jobs.size(); ++j)
            for (std::size_t other = 0; other < j; ++other)
                if (random.chance(0.15))
                    all.push_back(
                        {{j, other}, {{random.between(0.4, 0.9), random.between(0.4, 0.9)}}, false});
        double before = 0;
        Paired<> scheduler;
        for (std::size_t part = 0; part <= 4; ++part) {
            offered.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() * part / 4));
            const Plan& plan = scheduler.plan(now, offered);
            check_nodes(now, plan);
            CHECK(plan.objective >= (1 - 1e-4) * before);
            CHECK(plan.objective <= plan.bound);
            before = plan.objective;
            widest = std::max(widest, 1 - plan.objective / plan.bound);
            const bool waits = std::ranges::any_of(
                plan.decisions, [](const Decision& decision) { return decision.placement.empty(); });
            if (waits) CHECK(used_gpus(plan) == 8 * nodes);
        }
    }
    MESSAGE("at most " << widest << " below the bound");
    CHECK(widest < 0.03);
}

TEST_CASE("pairs chosen by weight are disjoint, and nothing is worth more than their bound") {
    Random random(39);
    int equal = 0;
    const int rounds = 500;
    for (int r = 0; r < rounds; ++r) {
        CAPTURE(r);
        std::vector<double> alone;
        for (int j = random.integer(0, 8); j > 0; --j) alone.push_back(random.between(0, 1));
        std::vector<detail::WeighedPair> pairs;
        for (std::size_t a = 0; a < alone.size(); ++a)
            for (std::size_t b = 0; b < a; ++b)
                if (random.chance(0.6)) pairs.push_back({{b, a}, random.between(0, 3)});
        const auto choice = detail::choose_pairs(alone, pairs, [](std::size_t) { return true; });
        std::vector<int> used(alone.size());
        double all_alone = 0, worth = 0;
        for (const double each : alone) all_alone += each;
        worth = all_alone;
        for (const std::size_t p : choice.pairs)
            for (const std::size_t job : pairs[p].jobs) {
                CHECK(++used[job] == 1);
                worth += pairs[p].worth / 2 - alone[job];
            }
        double best = 0;
        const auto search = [&](auto&& self, std::size_t p, std::vector<int>& taken, double sum) -> void {
            best = std::max(best, sum);
            for (; p < pairs.size(); ++p) {
                const auto [a, b] = pairs[p].jobs;
                if (taken[a] || taken[b]) continue;
                taken[a] = taken[b] = 1;
                self(self, p + 1, taken, sum + pairs[p].worth - alone[a] - alone[b]);
                taken[a] = taken[b] = 0;
            }
        };
        std::vector<int> taken(alone.size());
        search(search, 0, taken, all_alone);
        CHECK(choice.bound >= best - 1e-9);
        CHECK(worth <= best + 1e-9);
        CHECK(worth >= 0.8 * best - 1e-9);
        equal += worth >= best - 1e-9 ? 1 : 0;
    }
    MESSAGE(equal << " of " << rounds << " choices are the best");
}

TEST_CASE("without pairs the plan is that of the Scheduler") {
    Random random(40);
    PairedScheduler<GoodputPolicy> paired;
    PairedScheduler<> paired_sia;
    for (int r = 0; r < 60; ++r) {
        CAPTURE(r);
        const support::RandomRound round(random, {.drained = 0.1});
        const auto check_same = [&](const Plan& a, const Plan& b) {
            REQUIRE(a.decisions.size() == b.decisions.size());
            CHECK(a.objective == b.objective);
            CHECK(a.bound == b.bound);
            CHECK(a.status == b.status);
            CHECK(a.move_cost_seconds == b.move_cost_seconds);
            for (std::size_t j = 0; j < a.decisions.size(); ++j) {
                const Decision &one = a.decisions[j], &other = b.decisions[j];
                CHECK(one.placement == other.placement);
                CHECK(one.option.goodput == other.option.goodput);
                CHECK(one.option.plan == other.option.plan);
                CHECK(one.value == other.value);
                CHECK(one.action == other.action);
                CHECK(one.verdict.reason == other.verdict.reason);
            }
            REQUIRE(a.prices.size() == b.prices.size());
            for (std::size_t p = 0; p < a.prices.size(); ++p) CHECK(a.prices[p].price == b.prices[p].price);
        };
        check_same(paired.plan(round.snapshot, {}), plan<GoodputPolicy>(round.snapshot));
        check_same(paired_sia.plan(round.snapshot, {}), plan(round.snapshot));
    }
}

namespace {

/// Two jobs of one GPU each, which each have 0.7 of their speed beside the other, on nodes of one GPU.
struct TwoJobs {
    explicit TwoJobs(int nodes) {
        now.cluster.gpu_types = {"V100"};
        for (int n = 0; n < nodes; ++n) now.cluster.nodes.push_back({"node-" + std::to_string(n), 0, 1});
        for (const char* name : {"images", "ranking"}) {
            Job job{.name = name, .restart_cost_seconds = 10, .adaptivity = Adaptivity::gpus};
            job.initial_batch = job.target_batch = 1;
            job.types.push_back({.max_atomic_batch = 8, .reference_rate = 4});
            now.jobs.push_back(job);
        }
        pairs = {{{0, 1}, {{0.7, 0.75}}, false}};
    }
    void run_together(std::size_t node) {
        for (Job& job : now.jobs) job.placement = {{node, 1}};
        pairs[0].together = true;
    }
    Snapshot now;
    std::vector<JobPair> pairs;
};

std::vector<std::string> warnings_of_pairs(const Plan& plan) {
    std::vector<std::string> found;
    for (const std::string& warning : plan.warnings)
        if (warning.starts_with("pair") || warning.find("set aside") != std::string::npos)
            found.push_back(warning);
    return found;
}

}  // namespace

TEST_CASE("two jobs share a GPU where there is one, with the speeds that they have together") {
    const TwoJobs two(1);
    Paired<> scheduler;
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    CHECK(plan.decisions[0].shares_with == 1);
    CHECK(plan.decisions[1].shares_with == 0);
    CHECK(plan.decisions[0].option.goodput == doctest::Approx(0.7 * 4));
    CHECK(plan.decisions[1].option.goodput == doctest::Approx(0.75 * 4));
    CHECK(plan.decisions[0].action == Action::start);
    CHECK(plan.status == AllotStatus::optimal);
    CHECK(plan.decisions[0].verdict.reason ==
          "shares 1 V100 on 1 node with 'ranking': 0.7 of its speed alone, 1.45 together");
    const auto why = scheduler.explain();
    REQUIRE(why.size() == 2);
    CHECK(why[1].job == "ranking");
    CHECK(why[1].outcome == Outcome::runs);
    CHECK(why[1].report(two.now).find("shares 1 V100") != std::string::npos);
}

TEST_CASE("a plan of a scheduler of pairs that is gone afterwards is the caller's") {
    const TwoJobs two(1);
    static_assert(std::is_same_v<decltype(Paired<>().plan(two.now, two.pairs)), Plan>);
    const Plan& plan = Paired<>().plan(two.now, two.pairs);
    CHECK(plan.decisions[0].shares_with == 1);
}

TEST_CASE("with a GPU for each nobody shares") {
    const TwoJobs two(2);
    Paired<> scheduler;
    for (const Decision& decision : scheduler.plan(two.now, two.pairs).decisions) {
        CHECK(!decision.shares_with);
        CHECK(decision.verdict.reason.empty());
    }
}

TEST_CASE("two that are together stay so where they are, and part when a GPU comes free") {
    TwoJobs two(1);
    two.run_together(0);
    Paired<> scheduler;
    for (const Decision& decision : scheduler.plan(two.now, two.pairs).decisions) {
        CHECK(decision.action == Action::stay);
        CHECK(decision.shares_with.has_value());
    }
    two.now.cluster.nodes.push_back({"free", 0, 1});
    const Plan& apart = scheduler.plan(two.now, two.pairs);
    CHECK(!apart.decisions[0].shares_with);
    // One of them stays where both were.
    CHECK((apart.decisions[0].action == Action::stay) != (apart.decisions[1].action == Action::stay));
    CHECK(apart.decisions[0].placement != apart.decisions[1].placement);
}

TEST_CASE("a waiting job comes to one that runs, which stays") {
    for (const std::size_t runs : {0U, 1U}) {
        TwoJobs two(1);
        two.now.jobs[runs].placement = {{0, 1}};
        Paired<> scheduler;
        const Plan& plan = scheduler.plan(two.now, two.pairs);
        CHECK(plan.decisions[runs].action == Action::stay);
        CHECK(plan.decisions[1 - runs].action == Action::start);
        CHECK(plan.decisions[runs].shares_with == 1 - runs);
    }
}

TEST_CASE("a pair on a drained node stays there, and is moved where that makes room") {
    TwoJobs two(1);
    two.run_together(0);
    two.now.cluster.nodes[0].drained = true;
    Paired<> scheduler;
    const Plan& drained = scheduler.plan(two.now, two.pairs);
    for (const Decision& decision : drained.decisions) CHECK(decision.action == Action::stay);
    CHECK(drained.bound >= drained.objective);
    // One GPU of each node is taken, and a job wants two of one.
    two.now.cluster.nodes = {{"a", 0, 2}, {"b", 0, 2}};
    for (const char* name : {"fixed", "wide"}) {
        two.now.jobs.push_back(two.now.jobs[0]);
        two.now.jobs.back().name = name;
    }
    Job &fixed = two.now.jobs[2], &wide = two.now.jobs[3];
    fixed.preemptible = false;
    fixed.placement = {{1, 1}};
    wide.placement.clear();
    wide.min_gpus = wide.max_gpus = 2;
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    check_nodes(two.now, plan);
    for (std::size_t j = 0; j < 2; ++j) {
        CHECK(plan.decisions[j].shares_with == 1 - j);
        CHECK(plan.decisions[j].action == Action::move);
        CHECK(plan.decisions[j].placement == Placement{{1, 1}});
    }
    CHECK(plan.decisions[2].action == Action::stay);
    CHECK(plan.decisions[3].placement == Placement{{0, 2}});
    CHECK(plan.move_cost_seconds == doctest::Approx(20));  // of both
}

TEST_CASE("a job that keeps what it holds keeps its partner") {
    TwoJobs two(2);
    two.run_together(0);
    two.now.jobs[0].preemptible = false;
    Paired<> scheduler;
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    for (const Decision& decision : plan.decisions) {
        CHECK(decision.action == Action::stay);
        CHECK(decision.shares_with.has_value());
    }
    // And takes no new one.
    TwoJobs alone(1);
    alone.now.jobs[0].preemptible = false;
    alone.now.jobs[0].placement = {{0, 1}};
    CHECK(scheduler.plan(alone.now, alone.pairs).decisions[1].placement.empty());
}

TEST_CASE("a pair takes half of each one's quota") {
    TwoJobs two(4);
    for (Job& job : two.now.jobs) job.min_gpus = job.max_gpus = 1;
    two.now.jobs[0].team = "red";
    two.now.jobs[1].team = "blue";
    Paired<> scheduler;
    scheduler.limits() = Quotas(TeamQuotas({{"red", 0.5}, {"blue", 0.5}}));
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    CHECK(plan.decisions[0].shares_with == 1);
    REQUIRE(plan.limits.size() == 2);
    for (const LimitUse& limit : plan.limits) CHECK(limit.used == doctest::Approx(0.5));
    scheduler.limits() = Quotas(TeamQuotas({{"red", 0.4}, {"blue", 0.5}}));
    CHECK(scheduler.plan(two.now, two.pairs).decisions[0].placement.empty());
}

TEST_CASE("a queue makes no pairs") {
    const TwoJobs two(1);
    PairedScheduler<Fifo, LeastMovesPlacer, Allotter<>, RatedSpeeds> scheduler;
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    CHECK(!plan.decisions[0].placement.empty());
    CHECK(plan.decisions[1].placement.empty());
    CHECK(!plan.decisions[0].shares_with);
}

template <class Queue>
void check_that_queue_ignores_pairs() {
    Random random(41);
    PairedScheduler<Queue, LeastMovesPlacer, Allotter<>, RatedSpeeds> paired;
    Plain<Queue> plain{Queue{}, {}, {}, {}, RatedSpeeds{}};
    int different = 0;
    for (int r = 0; r < 300; ++r) {
        CAPTURE(r);
        SmallRound round(random);
        for (JobPair& pair : round.pairs)
            if (std::exchange(pair.together, false)) round.now.jobs[pair.jobs[1]].placement.clear();
        const Plan& with = paired.plan(round.now, round.pairs);
        const Plan& without = plain.plan(round.now);
        for (std::size_t j = 0; j < round.now.jobs.size(); ++j)
            different += with.decisions[j].placement != without.decisions[j].placement ? 1 : 0;
    }
    CHECK(different == 0);
}

TEST_CASE("a queue serves the same jobs whatever pairs are on offer") {
    check_that_queue_ignores_pairs<Fifo>();
    check_that_queue_ignores_pairs<Tiresias>();
    check_that_queue_ignores_pairs<ShortestRemainingTime>();
    check_that_queue_ignores_pairs<LeastAttainedService>();
}

TEST_CASE("a queue serves the same jobs beside pairs that never fit a quota, where cores are dealt out") {
    Snapshot now;
    now.cluster.gpu_types = {"a"};
    now.cluster.nodes = {{.name = "n", .gpu_type = 0, .gpus = 4, .cores = 16}};
    for (const char* name : {"large", "too large", "small"}) {
        Job job{.name = name, .adaptivity = Adaptivity::gpus};
        job.initial_batch = job.target_batch = 1;
        job.min_gpus = job.max_gpus = 4;
        job.team = "red";
        job.types = {{.max_atomic_batch = 8, .reference_rate = 1}};
        now.jobs.push_back(job);
    }
    now.jobs[2].min_gpus = now.jobs[2].max_gpus = 2;
    now.jobs[2].submitted_seconds = 1;
    now.jobs[2].host = HostNeeds{.least = {.cores_per_gpu = 1}, .most = {.cores_per_gpu = 1}};
    const std::vector<JobPair> pairs{{{0, 1}, {{0.8, 0.8}}, false}};
    PairedScheduler<Tiresias, LeastMovesPlacer, Allotter<>, RatedSpeeds, Limits<TeamQuotas, HostCapacity>,
                    HostShares<>, Factors<HostFactor>, DividedHosts>
        scheduler;
    scheduler.limits() = Limits<TeamQuotas, HostCapacity>(TeamQuotas({{"red", 3}}), HostCapacity());
    const Plan& plan = scheduler.plan(now, pairs);
    CHECK(plan.decisions[0].placement.empty());
    CHECK(plan.decisions[1].placement.empty());
    CHECK(plan.decisions[2].placement == Placement{{0, 2}});
}

TEST_CASE("a queue counts the GPUs of a pair that keeps them once") {
    TwoJobs two(1);
    two.now.cluster.nodes[0].gpus = 8;
    two.run_together(0);
    for (Job& job : two.now.jobs) {
        job.placement = {{0, 2}};
        job.min_gpus = job.max_gpus = 2;
    }
    two.now.jobs[1].preemptible = false;
    // The first of the pair comes last in the queue.
    two.now.jobs[0].remaining_examples = 1e6;
    for (const int gpus : {4, 2}) {
        Job job = two.now.jobs[0];
        job.name = gpus == 4 ? "new" : "running";
        job.min_gpus = job.max_gpus = gpus;
        job.remaining_examples = gpus == 4 ? 10 : 1e5;
        job.placement.clear();
        if (gpus == 2) job.placement = {{0, 2}};
        two.now.jobs.push_back(job);
    }
    PairedScheduler<ShortestRemainingTime, LeastMovesPlacer, Allotter<>, RatedSpeeds> scheduler;
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    for (std::size_t j = 0; j < 2; ++j) CHECK(plan.decisions[j].shares_with == 1 - j);
    CHECK(plan.decisions[2].placement == Placement{{0, 4}});
    CHECK(plan.decisions[3].action == Action::stay);
}

TEST_CASE("a limit that a pair exceeds names the pair's two jobs") {
    TwoJobs two(1);
    for (Job& job : two.now.jobs) {
        job.team = "red";
        job.placement = {{0, 1}};
    }
    two.now.jobs[1].preemptible = false;
    two.pairs[0].together = true;
    Paired<> scheduler;
    scheduler.limits() = Quotas(TeamQuotas({{"red", 0.5}}));
    const Plan& plan = scheduler.plan(two.now, two.pairs);
    REQUIRE(plan.conflicts.size() == 1);
    CHECK(plan.conflicts[0].jobs == std::vector<std::size_t>{0, 1});
    CHECK(plan.conflicts[0].kept == 1);
}

namespace {

/// Throws in each plan's second step from the moment that it is told to.
struct ThrowingStep {
    int* left;
    void operator()(PlanStep) const {
        if ((*left)-- == 0) throw std::runtime_error("a step");
    }
};

}  // namespace

TEST_CASE("a pass that throws leaves the deadline as it was given") {
    const TwoJobs two(1);
    for (int after = 0; after < 6; ++after) {
        Paired<> scheduler;
        scheduler.options().deadline = std::chrono::seconds(10);
        int left = after;
        try {
            scheduler.plan(two.now, two.pairs, ThrowingStep{&left});
        } catch (const std::runtime_error&) {
        }
        CHECK(scheduler.options().deadline == std::chrono::seconds(10));
    }
}

TEST_CASE("jobs named like a pair are no trouble") {
    TwoJobs two(1);
    two.now.jobs.push_back(two.now.jobs[0]);
    two.now.jobs[2].name = "images + ranking";
    Paired<> scheduler;
    CHECK(warnings_of_pairs(scheduler.plan(two.now, two.pairs)).empty());
    CHECK(scheduler.last_plan().decisions[2].verdict.reason.find("set aside") == std::string::npos);
}

TEST_CASE("pairs that make no sense are named, with job, field and value") {
    TwoJobs two(2);
    Paired<> scheduler;
    const auto refused = [&](JobPair pair, std::string_view what) {
        const std::vector<JobPair> pairs{pair};
        two.now.strict = true;
        std::string said;
        try {
            scheduler.plan(two.now, pairs);
        } catch (const std::invalid_argument& error) {
            said = error.what();
        }
        CHECK(said == what);
        two.now.strict = false;
        const Plan& plan = scheduler.plan(two.now, pairs);
        REQUIRE(warnings_of_pairs(plan).size() == 1);
        CHECK(warnings_of_pairs(plan)[0] == std::string(what) + "; the pair is left out");
        for (const Decision& decision : plan.decisions) CHECK(!decision.placement.empty());
    };
    const std::string both = "pair of jobs 'images' and 'ranking'";
    refused({{0, 2}, {{1, 1}}, false}, "pair: jobs is 2, but must be an index into the 2 jobs");
    refused({{1, 1}, {{1, 1}}, false},
            "pair of jobs 'ranking' and 'ranking': jobs is 1, but must be two different jobs");
    refused({{0, 1}, {}, false},
            both + ": number of parts is 0, but must be 1, one for each GPU type of the cluster");
    refused({{0, 1}, {{-1, 1}}, false}, both + " on V100: part is -1, but must be between 0 and 2");
    refused({{0, 1}, {{1, 60}}, false}, both + " on V100: part is 60, but must be between 0 and 2");
    refused({{0, 1}, {{std::nan(""), 1}}, false},
            both + " on V100: part is nan, but must be between 0 and 2");
    refused({{0, 1}, {{1, 1}}, true},
            both + ": together is true, but must be false where they do not hold the same GPUs");
    const std::vector<JobPair> twice{two.pairs[0], {{1, 0}, {{1, 1}}, false}};
    CHECK(warnings_of_pairs(scheduler.plan(two.now, twice)).size() == 1);
}

TEST_CASE("who is together with a job that makes no sense is left as it is with it") {
    for (const std::size_t bad : {0U, 1U}) {
        TwoJobs two(2);
        two.run_together(0);
        two.now.jobs[bad].weight = -1;
        Paired<> scheduler;
        const Plan& plan = scheduler.plan(two.now, two.pairs);
        for (const Decision& decision : plan.decisions) {
            CHECK(decision.action == Action::stay);
            CHECK(decision.placement == two.now.jobs[0].placement);
            CHECK(decision.verdict.reason.starts_with("set aside: "));
            CHECK(decision.shares_with.has_value());
        }
    }
}

TEST_CASE("random rounds of all kinds of jobs and pairs keep to the nodes") {
    Random random(41);
    PairedScheduler<GoodputPolicy> ours;
    PairedScheduler<> sia;
    int shared = 0;
    for (int r = 0; r < 80; ++r) {
        CAPTURE(r);
        support::RandomRound round(random, {.drained = 0.1});
        Snapshot& now = round.snapshot;
        std::vector<JobPair> pairs;
        std::vector<char> together(now.jobs.size());
        for (std::size_t a = 0; a < now.jobs.size(); ++a)
            for (std::size_t b = 0; b < a; ++b) {
                if (!random.chance(0.3)) continue;
                JobPair pair{{a, b}, {}, false};
                for (std::size_t t = 0; t < now.cluster.gpu_types.size(); ++t)
                    pair.parts.push_back({random.between(0, 1), random.between(0, 1)});
                if (random.chance(0.3) && !together[a] && !together[b] && !now.jobs[a].placement.empty() &&
                    now.jobs[b].placement.empty()) {
                    pair.together = true;
                    now.jobs[b].placement = now.jobs[a].placement;
                    together[a] = together[b] = 1;
                }
                pairs.push_back(pair);
            }
        for (int s = 0; s < 2; ++s) {
            const Plan& plan = s == 0 ? ours.plan(now, pairs) : sia.plan(now, pairs);
            check_nodes(now, plan);
            CHECK(plan.decisions.size() == now.jobs.size());
            CHECK(plan.faults.empty());
            CHECK(plan.bound >= plan.objective);
            double sum = 0;
            for (const Decision& decision : plan.decisions) {
                sum += decision.value;
                shared += decision.shares_with.has_value() ? 1 : 0;
            }
            CHECK(sum == doctest::Approx(plan.objective));
            for (std::size_t j = 0; j < now.jobs.size(); ++j)
                if (now.jobs[j].keeps_what_it_holds()) CHECK(plan.decisions[j].action == Action::stay);
            CHECK((s == 0 ? ours.explain() : sia.explain()).size() == now.jobs.size());
        }
    }
    MESSAGE(shared << " jobs share");
    CHECK(shared > 100);
}
