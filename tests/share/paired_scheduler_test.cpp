// Two jobs on the same GPUs in a round: who shares with whom is as good as of all ways to pair them, nothing
// is given twice but to partners, and whoever is left where he was stays there.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/policy/goodput_policy.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/team_quotas.hpp"
#include "goodput/share/paired_scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;

namespace {

/// Goodput of a GPU: the reference rate; less of each further one.
struct RatedSpeeds {
    void operator()(const Job& job, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            const PoolShare& part = option.configuration.first();
            option.goodput = job.types[part.gpu_type].reference_rate * std::pow(part.shape.gpus, 0.8);
            option.plan = {1, 0};
            option.knowledge = Knowledge::measured;
        }
    }
};

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
            // Kept although it is worth nothing.
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
