// Tests that acting on an explanation changes the decision as it says: prices, goodput, GPUs, limits.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "goodput/allot/detail/units.hpp"
#include "goodput/policies/pollux.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::Random;
using support::RandomRound;

namespace {

/// One job of a plan, and how it would decide under other prices and values.
template <class S>
class Wishes {
public:
    Wishes(const S& scheduler, const Snapshot& snapshot, std::size_t job)
        : scheduler_(scheduler), snapshot_(snapshot), job_(job), prices_(scheduler.allotted().prices) {
        for (std::size_t k = 0; k < scheduler.problem().options_of(job); ++k)
            values_.push_back(scheduler.problem().value(job, k));
    }
    [[nodiscard]] std::size_t option(const Configuration& configuration) const {
        const auto options = scheduler_.options_of(job_);
        const auto found = std::find_if(options.begin(), options.end(), [&](const Option& option) {
            return option.configuration == configuration;
        });
        REQUIRE(found != options.end());
        return static_cast<std::size_t>(found - options.begin());
    }
    /// Returns the use that option k makes of the row with that name, or of its pool if `row` is empty.
    [[nodiscard]] ResourceUse use(std::size_t k, const std::string& row) const {
        for (const ResourceUse& use : scheduler_.problem().uses(job_, k))
            if (row.empty() || (use.resource >= scheduler_.pools().size() &&
                                scheduler_.row_of(snapshot_, use.resource).name == row))
                return use;
        FAIL("takes nothing of " << row);
        return {};
    }
    [[nodiscard]] double price(std::size_t k) const {
        double price = 0;
        for (const ResourceUse& use : scheduler_.problem().uses(job_, k))
            price += prices_[use.resource] * use.units;
        return price;
    }
    void set_price(std::size_t pool, double price) { prices_[pool] = price; }
    /// Recomputes the policy's values with another goodput for one option.
    void scale(std::size_t option, double factor) {
        const auto options = scheduler_.options_of(job_);
        std::vector<Option> changed(options.begin(), options.end());
        changed[option].goodput *= factor;
        const std::vector<OptionRow> rows{{snapshot_.jobs[job_], changed, values_}};
        value_rows(scheduler_.policy(), scheduler_.round_of(snapshot_), std::span<const OptionRow>(rows));
        for (std::size_t k = 0; k < options.size(); ++k)
            if (options[k].goodput <= 0) values_[k] = 0;
    }
    [[nodiscard]] double reduced(std::size_t k) const { return values_[k] - price(k); }
    /// By how much an option beats going without and, if `of_all`, also all other options.
    [[nodiscard]] double lead(std::size_t option, bool of_all) const {
        double best = 0;
        for (std::size_t k = 0; of_all && k < values_.size(); ++k)
            if (k != option) best = std::max(best, reduced(k));
        return reduced(option) - best;
    }

private:
    const S& scheduler_;
    const Snapshot& snapshot_;
    std::size_t job_;
    std::vector<double> prices_, values_;
};

/// Hard rounds stop early, unproven. Explanations must be true of these, too.
const AllotOptions brief{.deadline = std::chrono::milliseconds(20)};

struct Counts {
    std::map<DecisionReason, int> reasons;
    int limits = 0, nearest = 0, factors = 0;
    int with_less = 0;  ///< factors larger than they need to be
};

/// Acts on what the explanation says about an option that a job did not get.
template <class S>
void act_on(const S& scheduler, const Snapshot& snapshot, std::size_t j, const Alternative& said, bool of_all,
            const AllotmentProblem& problem, Counts& counts) {
    const Wishes<S> now(scheduler, snapshot, j);
    const std::size_t k = now.option(said.configuration);
    const ResourceUse use = now.use(k, said.limit);
    const double present = scheduler.allotted().prices[use.resource], tiny = 1e-9 * (1 + said.price);
    CHECK(said.value == problem.value(j, k));
    CHECK(said.price == doctest::Approx(now.price(k)));
    CHECK(said.price_needed <= present);

    Wishes<S> cheaper = now, dearer = now;
    cheaper.set_price(use.resource, said.price_needed * (1 - 1e-6));
    // Other rows may make the option too expensive even if this one is free.
    CHECK((said.price_needed == 0 || cheaper.lead(k, of_all) >= -tiny));
    if (said.price_needed < present * (1 - 1e-5)) {
        dearer.set_price(use.resource, said.price_needed * (1 + 1e-6));
        CHECK(dearer.lead(k, of_all) < tiny);
    }
    if (said.goodput_needed) {
        ++counts.factors;
        Wishes<S> better = now, less = now;
        better.scale(k, *said.goodput_needed);
        CHECK(better.lead(k, of_all) >= -tiny);
        if (*said.goodput_needed > 1.0015) {
            less.scale(k, *said.goodput_needed - 0.0011);
            if (less.lead(k, of_all) > tiny) ++counts.with_less;
        }
    }
    // With that many more GPUs the job could have the option next to the others' choices: the best is worth
    // more.
    const auto choice_of = [&](std::size_t i) {
        return scheduler.last_plan().decisions[i].placement.empty() ? no_option : scheduler.chosen()[i];
    };
    const std::size_t got = choice_of(j);
    const double gain = said.value - (got == no_option ? 0 : problem.value(j, got));
    AllotmentProblem larger = problem;
    larger.capacity[now.use(k, {}).resource] += said.gpus_short;
    for (const LimitShortage& missing : said.limits_short)
        larger.capacity[now.use(k, missing.limit).resource] += missing.units;
    CHECK(Allotter<>()(larger, brief).bound >= scheduler.last_plan().objective + gain - 1e-6);
    if (said.gpus_short > 0) {
        const ResourceUse gpus = now.use(k, {});
        double others = 0;
        for (std::size_t i = 0; i < problem.jobs(); ++i)
            if (const std::size_t choice = choice_of(i); i != j && choice != no_option)
                for (const ResourceUse& of : problem.uses(i, choice))
                    if (of.resource == gpus.resource) others += of.units;
        CHECK(others + gpus.units > problem.capacity[gpus.resource] + said.gpus_short - 1 + 1e-6);
    }
}

template <class S>
void check_explanations(S& scheduler, const Snapshot& snapshot, Counts& counts) {
    const Plan plan = scheduler.plan(snapshot);
    const AllotmentProblem problem = scheduler.problem();
    const std::vector<DecisionExplanation> answer = explain_plan(scheduler, snapshot);
    REQUIRE(answer.size() == snapshot.jobs.size());
    for (std::size_t j = 0; j < answer.size(); ++j) {
        const DecisionExplanation& said = answer[j];
        const Job& job = snapshot.jobs[j];
        const Decision& decision = plan.decisions[j];
        const std::string text = said.report(snapshot.cluster);
        CAPTURE(job.name);
        CAPTURE(text);
        ++counts.reasons[said.reason];
        CHECK(said.job == job.name);
        CHECK(said.outcome == decision.verdict.outcome);
        CHECK(said.got == decision.option.configuration);
        CHECK(text.find("nan") == std::string::npos);
        CHECK(text.find('\n') == std::string::npos);
        CHECK(text.starts_with(decision.verdict.outcome == Outcome::waits ? "waits: "
                               : decision.verdict.outcome == Outcome::impossible
                                   ? "impossible: "
                                   : describe(snapshot.cluster, said.got)));
        const Wishes<S> now(scheduler, snapshot, j);
        if (said.reason != DecisionReason::not_placed) CHECK(said.value == doctest::Approx(decision.value));
        double best = 0, best_reduced = 0;
        for (std::size_t k = 0; k < problem.options_of(j); ++k) {
            // A job that keeps part of a node may leave no room for it, whatever the other jobs get.
            if (detail::fits_alone(problem.uses(j, k), problem.capacity))
                best = std::max(best, problem.value(j, k));
            best_reduced = std::max(best_reduced, now.reduced(k));
        }
        if (said.best_at_prices) CHECK(said.value - said.price >= best_reduced - 1e-6);
        switch (said.reason) {
            case DecisionReason::best_offered:
                CHECK(!said.got.empty());
                CHECK(said.value == best);
                break;
            case DecisionReason::priced_out:
                REQUIRE(said.wanted);
                CHECK(said.wanted->value == best);
                CHECK(said.wanted->value - said.wanted->price < said.value - said.price);
                act_on(scheduler, snapshot, j, *said.wanted, true, problem, counts);
                if (!said.nearest) break;
                ++counts.nearest;
                CHECK(said.got.empty());
                act_on(scheduler, snapshot, j, *said.nearest, false, problem, counts);
                for (std::size_t k = 0; k < problem.options_of(j); ++k)
                    if (detail::fits_alone(problem.uses(j, k), problem.capacity))
                        CHECK(problem.value(j, k) * said.nearest->price <=
                              said.nearest->value * (problem.value(j, k) - now.reduced(k)) + 1e-9);
                break;
            case DecisionReason::no_room:
                REQUIRE(said.wanted);
                CHECK((said.wanted->gpus_short > 0 || !said.wanted->limits_short.empty()));
                CHECK(said.wanted->value - said.wanted->price >= said.value - said.price - 1e-6);
                act_on(scheduler, snapshot, j, *said.wanted, true, problem, counts);
                break;
            case DecisionReason::within_gap:
                REQUIRE(said.wanted);
                CHECK(said.wanted->gpus_short == 0);
                CHECK(said.wanted->value - said.value <= said.gap + 1e-9);
                break;
            case DecisionReason::node_full:
                CHECK_MESSAGE(false, "no node counts cores here");
                break;
            case DecisionReason::keeps:
                CHECK(decision.placement == job.placement);
                CHECK((said.restarting ? job.restarting : !job.preemptible));
                break;
            case DecisionReason::beyond_limit:
                // Nodes are short here even without other jobs: none of the job's options finds room.
                for (std::size_t k = 0; k < problem.options_of(j); ++k)
                    CHECK_FALSE(detail::fits_alone(problem.uses(j, k), problem.capacity));
                break;
            case DecisionReason::set_aside:
                CHECK_MESSAGE(false, "all jobs make sense");
                break;
            case DecisionReason::not_placed:
                CHECK(decision.placement.empty());
                CHECK(text.find(decision.verdict.reason) != std::string::npos);
                break;
            case DecisionReason::worth_nothing:
                CHECK(best <= 0);
                break;
            case DecisionReason::no_batch_plan:
                for (const Option& option : scheduler.options_of(j)) CHECK(option.goodput <= 0);
                break;
            case DecisionReason::no_shape:
                CHECK(scheduler.options_of(j).empty());
                CHECK(said.detail == decision.verdict.reason);
                for (const Node& node : snapshot.cluster.nodes)
                    if (said.detail.starts_with("no open node") && !node.drained)
                        CHECK(job.types[node.gpu_type].max_atomic_batch == 0);
                if (said.detail.starts_with("it has no batch size"))
                    for (const TypeLimits& type : job.types) CHECK(type.max_atomic_batch == 0);
                break;
        }
    }
    // Lifting the named limit offers the named shape.
    for (std::size_t j = 0; j < answer.size(); ++j) {
        if (!answer[j].limit) continue;
        ++counts.limits;
        const SizeLimit limit = *answer[j].limit;
        CAPTURE(answer[j].report(snapshot.cluster));
        CHECK((limit.by_job() || limit.by_policy()));
        Snapshot freed = snapshot;
        if (limit.by_job()) {
            CHECK(limit.most_by_job == freed.jobs[j].max_gpus);
            freed.jobs[j].max_gpus = limit.gpus;
        }
        if (limit.by_policy()) {
            freed.models.resize(freed.jobs.size());
            freed.models[j].types.resize(snapshot.cluster.gpu_types.size());
            freed.models[j].types[answer[j].got.first().gpu_type].most_replicas = limit.gpus;
        }
        for (const bool lifted : {false, true}) {
            scheduler.plan(lifted ? freed : snapshot);
            const auto options = scheduler.options_of(j);
            CHECK(lifted == std::any_of(options.begin(), options.end(), [&](const Option& option) {
                      return option.configuration.first().gpu_type == answer[j].got.first().gpu_type &&
                             option.configuration.first().gpus_per_node ==
                                 answer[j].got.first().gpus_per_node &&
                             option.configuration.gpus() == limit.gpus;
                  }));
        }
    }
}

}  // namespace

TEST_CASE("acting on an explanation changes the decision as it says") {
    Random random(1);
    Scheduler<Sia> sia({}, brief);
    Scheduler<Sia> greedy({.fairness_power = 1, .unserved_penalty = -2}, brief);
    Scheduler<Pollux> pollux({}, brief);
    Scheduler<Fifo> fifo({}, brief);
    Counts counts;
    for (int round = 0; round < 250; ++round) {
        CAPTURE(round);
        const RandomRound instance(random, {.drained = round % 2 == 0 ? 0 : 0.3});
        check_explanations(sia, instance.snapshot, counts);
        check_explanations(greedy, instance.snapshot, counts);
        check_explanations(pollux, instance.snapshot, counts);
        check_explanations(fifo, instance.snapshot, counts);
    }
    for (const DecisionReason reason :
         {DecisionReason::best_offered, DecisionReason::priced_out, DecisionReason::no_room,
          DecisionReason::keeps, DecisionReason::worth_nothing, DecisionReason::no_batch_plan,
          DecisionReason::no_shape})
        CHECK_MESSAGE(counts.reasons[reason] > 4, static_cast<int>(reason));
    CHECK(counts.reasons[DecisionReason::not_placed] > 0);  // few: most jobs get another offer
    CHECK(counts.limits > 100);
    CHECK(counts.nearest > 100);
    CHECK(counts.factors > 100);
    // Sia's values jump if another option becomes the one that all are normalised by.
    CHECK(counts.with_less < counts.factors / 100);
}

TEST_CASE("an unproven decision is called so, and is short by no more than the gap") {
    Random random(2);
    Scheduler<Sia> loose({}, {.gap = 0.3});
    Counts counts;
    for (int round = 0; round < 100; ++round) {
        CAPTURE(round);
        const RandomRound instance(random);
        const Snapshot& snapshot = instance.snapshot;
        check_explanations(loose, snapshot, counts);
    }
}

TEST_CASE("sentences that people read") {
    const Cluster cluster{{"T4", "A100"}, {}};
    DecisionExplanation of{.job = "bert", .got = {0, 4, {1, 4}}};
    of.reason = DecisionReason::priced_out;
    of.best_at_prices = true;
    of.wanted = Alternative{{1, 8, {1, 8}}, 0.62, 0.71, 0.077512, 1.118, 4};
    CHECK(
        of.report(cluster) ==
        "4 T4 on 1 node, its best choice at present prices; 8 A100 on 1 node would be worth 0.62 to it, but "
        "cost 0.71: at less than 0.07751 per A100, or with 11.8% more goodput there, it would choose that");
    of.reason = DecisionReason::no_room;
    CHECK(
        of.report(cluster) ==
        "4 T4 on 1 node, its best choice at present prices; 8 A100 on 1 node would be worth 0.62 to it at a "
        "price of 0.71, but the others leave too few: 4 more A100 would make room");
    of.reason = DecisionReason::best_offered;
    of.limit = SizeLimit{8, 4, 4};
    CHECK(of.report(cluster) ==
          "4 T4 on 1 node: it got its preferred option; 8 are not offered, as it may have "
          "at "
          "most 4 and the policy lets it grow to at most 4 this round");
    of.reason = DecisionReason::keeps;
    of.restarting = true;
    of.on_drained = true;
    CHECK(of.report(cluster) ==
          "4 T4 on 1 node, where it stays on drained nodes: it keeps what it holds, being in a restart");
    DecisionExplanation waits{.job = "bert", .reason = DecisionReason::priced_out, .outcome = Outcome::waits};
    waits.wanted = Alternative{{1, 8, {1, 8}}, 0.62, 0.71, 0.0775, {}, 4};
    waits.nearest = Alternative{{0, 4, {1, 1}}, 0.1, 0.11, 0.1, {}, 1};
    CHECK(
        waits.report(cluster) ==
        "waits: 8 A100 on 1 node would be worth 0.62 to it, but cost 0.71; nearest is 1 T4 on 1 node, worth "
        "0.1 at a price of 0.11: at less than 0.1 per T4 it would rather run than wait");
    const DecisionExplanation none{
        .reason = DecisionReason::no_shape, .outcome = Outcome::impossible, .detail = "in the plan's words"};
    CHECK(none.report(cluster) == "impossible: in the plan's words");
    // Nothing makes a job four times as fast.
    of.reason = DecisionReason::priced_out;
    of.on_drained = false;
    of.wanted->goodput_needed = 4.001;
    CHECK(of.report(cluster).find("goodput") == std::string::npos);
    of.wanted->goodput_needed = 4;
    CHECK(of.report(cluster).find("with 300% more goodput there") != std::string::npos);
}

TEST_CASE("before any plan there is nothing to explain") {
    Snapshot snapshot{.time_seconds = 100, .cluster = {{"T4"}, {{"a", 0, 4}}}};
    Scheduler<Sia> scheduler;
    CHECK(explain_plan(scheduler, snapshot).empty());
    snapshot.jobs = {{.name = "job", .initial_batch = 32, .max_batch = 64}};
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}};
    CHECK_THROWS_WITH(
        static_cast<void>(explain_plan(scheduler, snapshot)),
        "explanation: last plan is none, but must be that of this snapshot: no plan was made yet");
    scheduler.plan(snapshot);
    CHECK(explain_plan(scheduler, snapshot).size() == 1);
    snapshot.jobs.push_back(snapshot.jobs[0]);
    CHECK_THROWS_WITH(static_cast<void>(explain_plan(scheduler, snapshot)),
                      "explanation: number of jobs is 2, but must be between 1 and 1");
}
