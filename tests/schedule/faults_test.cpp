// A policy or a predictor that throws, or answers NaN or infinity, costs the jobs concerned an option or a
// round, but never the plan. A job that is left out keeps what it held.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "support/random.hpp"
#include "support/random_round.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::check_plan;
using support::Random;
using support::RandomRound;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns a valid value: it rises with goodput and differs from option to option.
double sound_value(const Job& job, const Option& option) {
    return option.goodput > 0 ? std::log1p(option.goodput) + 0.001 * static_cast<double>(job.name.size()) : 0;
}

/// The ways in which a policy can fail.
enum class Flaw { throws, throws_number, nan, infinite };
double go_wrong(Flaw flaw) {
    if (flaw == Flaw::throws) throw std::runtime_error("the policy has a bug");
    if (flaw == Flaw::throws_number) throw 42;
    return flaw == Flaw::nan ? not_a_number : -infinity;
}

/// Decides for which options of which jobs the policy fails, and how.
using Wrong = std::function<std::optional<Flaw>(const Job&, const Option&)>;

struct FlawedOptions {
    Wrong wrong;
    double value(const Round&, const Job& job, const Option& option) const {
        const auto flaw = wrong(job, option);
        return flaw ? go_wrong(*flaw) : sound_value(job, option);
    }
};

struct FlawedRows {
    Wrong wrong;
    void value_row(const Round&, const Job& job, std::span<const Option> options,
                   std::span<double> values) const {
        for (std::size_t k = 0; k < options.size(); ++k) {
            const auto flaw = wrong(job, options[k]);
            values[k] = flaw ? go_wrong(*flaw) : sound_value(job, options[k]);
        }
    }
};

struct FlawedRound {
    Wrong wrong;
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        for (const OptionRow& row : rows)
            FlawedRows{wrong}.value_row(round, row.job, row.options, row.values);
    }
};

/// A policy for which the failing options are worth nothing instead.
struct WithoutThem {
    Wrong wrong;
    double value(const Round&, const Job& job, const Option& option) const {
        return wrong(job, option) ? 0 : sound_value(job, option);
    }
};

bool same(const Plan& a, const Plan& b) {
    return a.objective == b.objective && a.bound == b.bound &&
           std::equal(a.decisions.begin(), a.decisions.end(), b.decisions.begin(), b.decisions.end(),
                      [](const Decision& x, const Decision& y) {
                          return x.option.configuration == y.option.configuration &&
                                 x.placement == y.placement;
                      });
}

/// Fails for about one in `one_in` options, in every way, and for the same options on each call.
Wrong some_options(std::size_t one_in) {
    return [one_in](const Job& job, const Option& option) -> std::optional<Flaw> {
        const std::size_t mixed = std::hash<std::string>()(job.name) * 31 +
                                  static_cast<std::size_t>(option.configuration.gpus()) * 17 +
                                  option.configuration.first().gpu_type * 7;
        if (mixed % one_in != 0) return std::nullopt;
        return static_cast<Flaw>(mixed / one_in % 4);
    };
}

}  // namespace

TEST_CASE(
    "an option for which the policy fails is left out; the round is planned as if it were worth nothing") {
    Random random(71);
    std::size_t left_out = 0;
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = RandomRound(random).snapshot;
        const Wrong wrong = some_options(5);
        Scheduler<FlawedOptions> scheduler(FlawedOptions{wrong},
                                           {.deadline = std::nullopt, .most_states = 20'000});
        const Plan plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan, [&](std::size_t j) { return scheduler.has_failed(j); });
        std::vector<std::size_t> with_fault(snapshot.jobs.size());
        for (const PlanFault& fault : plan.faults) {
            REQUIRE(fault.job);
            CHECK(!fault.configuration.empty());
            CHECK(!fault.what.empty());
            CHECK(fault.report(snapshot).find("'" + snapshot.jobs[*fault.job].name + "', ") !=
                  std::string::npos);
            ++with_fault[*fault.job];
        }
        std::size_t alone = 0;
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            if (scheduler.has_failed(j)) {
                ++alone;
                const bool could_keep =
                    !configuration_of(snapshot.jobs[j].placement, snapshot.cluster).empty();
                CHECK(decision.placement == (could_keep ? snapshot.jobs[j].placement : Placement{}));
            } else if (!decision.placement.empty() && !snapshot.jobs[j].keeps_what_it_holds()) {
                CHECK(!wrong(snapshot.jobs[j], decision.option));
            }
        }
        if (alone == 0)
            CHECK(same(plan, goodput::plan(snapshot, WithoutThem{wrong}, {.most_states = 20'000})));
        left_out += plan.faults.size();
    }
    CHECK(left_out > 1000);
}

TEST_CASE("a job for which the policy always fails keeps what it holds or waits; the others are planned") {
    Random random(72);
    int kept = 0, waits = 0;
    for (int trial = 0; trial < 300; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = RandomRound(random).snapshot;
        if (snapshot.jobs.empty()) continue;
        const auto unlucky =
            static_cast<std::size_t>(random.integer(0, static_cast<int>(snapshot.jobs.size()) - 1));
        const std::string name = snapshot.jobs[unlucky].name;
        const auto flaw = static_cast<Flaw>(random.integer(0, 3));
        Scheduler<FlawedRows> scheduler(FlawedRows{[&](const Job& job, const Option&) {
                                            return job.name == name ? std::optional(flaw) : std::nullopt;
                                        }},
                                        {.most_states = 20'000});
        const Plan plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan, [&](std::size_t j) { return scheduler.has_failed(j); });
        for (const PlanFault& fault : plan.faults) CHECK(fault.job == unlucky);
        if (!scheduler.has_failed(unlucky)) {
            CHECK(scheduler.options_of(unlucky).empty());
            continue;
        }
        CHECK(!plan.faults.empty());
        const auto explained = explain_plan(scheduler, snapshot);
        CHECK(explained[unlucky].report(snapshot.cluster).find("the policy failed for it") !=
              std::string::npos);
        const Job& job = snapshot.jobs[unlucky];
        if (configuration_of(job.placement, snapshot.cluster).empty()) {
            CHECK(plan.decisions[unlucky].placement.empty());
            CHECK(plan.decisions[unlucky].verdict.outcome == Outcome::waits);
            CHECK(plan.decisions[unlucky].verdict.reason == "the policy failed for it");
            ++waits;
            continue;
        }
        CHECK(plan.decisions[unlucky].placement == job.placement);
        CHECK(!plan.decisions[unlucky].starts);
        CHECK(plan.decisions[unlucky].value == 0);
        ++kept;
        // The job is treated as if it were not preemptible and worth nothing.
        snapshot.jobs[unlucky].preemptible = false;
        CHECK(same(plan, goodput::plan(snapshot, WithoutThem{[&](const Job& other, const Option&) {
                                           return other.name == name ? std::optional(flaw) : std::nullopt;
                                       }},
                                       {.most_states = 20'000})));
    }
    CHECK(kept > 30);
    CHECK(waits > 30);
}

TEST_CASE("a policy that fails for the whole round stops no job and starts none") {
    Random random(73);
    int running = 0;
    for (int trial = 0; trial < 200; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = RandomRound(random, {.drained = 0.1}).snapshot;
        const Flaw flaw = trial % 2 == 0 ? Flaw::throws : Flaw::nan;
        Scheduler<FlawedRound> scheduler(
            FlawedRound{[&](const Job&, const Option&) { return std::optional(flaw); }});
        const Plan& plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan, [](std::size_t) { return true; });
        if (!snapshot.jobs.empty() && flaw == Flaw::throws) {
            REQUIRE(plan.faults.size() == 1);
            CHECK(!plan.faults[0].job);
            CHECK(plan.faults[0].report(snapshot) == "all jobs: threw: the policy has a bug");
        }
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Placement& held = snapshot.jobs[j].placement;
            const bool offered = !scheduler.options_of(j).empty();
            CHECK(scheduler.has_failed(j) == offered);
            const bool could_keep = offered && !configuration_of(held, snapshot.cluster).empty();
            CHECK(plan.decisions[j].placement == (could_keep ? held : Placement{}));
            running += could_keep ? 1 : 0;
        }
    }
    CHECK(running > 200);
}

namespace {

/// Sia with an optional function that throws for one job in three.
struct FlawedExtras : Sia {
    bool limit = false, forecast = false;
    [[nodiscard]] int most_gpus(const Job& job, const JobModel& model, std::size_t type) const {
        if (limit && job.name.back() % 3 == 1) throw std::logic_error("no limit");
        return Sia::most_gpus(job, model, type);
    }
    [[nodiscard]] std::optional<GradientStatistics> expected_gradient(const Job& job) const {
        if (forecast && job.name.back() % 3 == 0) throw std::logic_error("no forecast");
        return job.gradient;
    }
};

/// Throws for one job in four, and answers NaN for another one in four.
struct FlawedPredictor {
    GoodputPredictor inner;
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        inner(job, model, options);
        if (job.name.back() % 4 == 0) throw std::runtime_error("no model");
        if (job.name.back() % 4 == 1)
            for (Option& option : options) option.goodput = not_a_number;
    }
};

}  // namespace

TEST_CASE("limits, forecasts and predictors that fail are named, and cost their job the choice") {
    Random random(74);
    std::size_t faults = 0;
    for (int trial = 0; trial < 150; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = RandomRound(random).snapshot;
        FlawedExtras extras;
        extras.limit = trial % 3 == 0;
        extras.forecast = trial % 3 == 1;
        Scheduler<FlawedExtras> scheduler(extras, {.most_states = 20'000});
        const Plan& plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan, [&](std::size_t j) { return scheduler.has_failed(j); });
        for (const PlanFault& fault : plan.faults) {
            CHECK(fault.what == (extras.limit ? "threw: no limit" : "threw: no forecast"));
            CHECK(scheduler.has_failed(*fault.job));
        }
        faults += plan.faults.size();
        CHECK(explain_plan(scheduler, snapshot).size() == snapshot.jobs.size());
    }
    CHECK(faults > 100);
    faults = 0;
    for (int trial = 0; trial < 150; ++trial) {
        CAPTURE(trial);
        const Snapshot snapshot = RandomRound(random).snapshot;
        Scheduler<Sia, LeastMovesPlacer, Allotter<>, FlawedPredictor> scheduler({}, {.most_states = 20'000});
        const Plan& plan = scheduler.plan(snapshot);
        check_plan(snapshot, plan, [&](std::size_t j) { return scheduler.has_failed(j); });
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            const Job& job = snapshot.jobs[j];
            if (job.name.back() % 4 != 0) continue;
            CHECK(scheduler.has_failed(j));
            const bool could_keep = !configuration_of(job.placement, snapshot.cluster).empty();
            CHECK(plan.decisions[j].placement == (could_keep ? job.placement : Placement{}));
        }
        for (const PlanFault& fault : plan.faults) {
            const bool throws = snapshot.jobs[*fault.job].name.back() % 4 == 0;
            CHECK(fault.what == (throws ? "threw: no model" : "the predicted goodput is nan"));
        }
        faults += plan.faults.size();
    }
    CHECK(faults > 100);
}

TEST_CASE("a snapshot that is refused leaves no trace") {
    Random random(75);
    for (int trial = 0; trial < 60; ++trial) {
        CAPTURE(trial);
        Snapshot snapshot = RandomRound(random).snapshot;
        if (snapshot.jobs.size() < 2) continue;
        Scheduler<> scheduler({}, {.warm_start = false, .most_states = 20'000});
        Snapshot bad = snapshot;
        bad.strict = true;
        std::string field;
        switch (trial % 6) {
            case 0:
                bad.jobs[1].name = bad.jobs[0].name;
                field = "name is given twice";
                break;
            case 1:
                bad.cluster.nodes.push_back(bad.cluster.nodes.front());
                field = "name is given twice";
                break;
            case 2:
                bad.time_seconds = not_a_number;
                field = "time_seconds is nan";
                break;
            case 3:
                bad.jobs[0].placement = {{bad.cluster.nodes.size(), 1}};
                field = "placement.node";
                break;
            case 4:
                bad.jobs[0].gradient = GradientStatistics{1, infinity};
                field = "gradient.variance is inf";
                break;
            default:
                bad.cluster.nodes[0].gpus = 0;
                field = "gpus is 0";
        }
        std::string why;
        try {
            scheduler.plan(bad);
        } catch (const std::invalid_argument& error) {
            why = error.what();
        }
        CHECK(why.find(field) != std::string::npos);
        const Plan again = scheduler.plan(snapshot);
        CHECK(same(again, goodput::plan(snapshot, Sia{}, {.warm_start = false, .most_states = 20'000})));
    }
}

TEST_CASE(
    "nodes that vanish and come back, jobs that end and come, and a clock that jumps back: plans hold") {
    Random random(76);
    for (int trial = 0; trial < 40; ++trial) {
        CAPTURE(trial);
        const Snapshot all = RandomRound(random).snapshot;
        Scheduler<> scheduler({}, {.most_states = 20'000});
        std::vector<Placement> held(all.jobs.size());  // holds indices into all.cluster.nodes
        for (int round = 0; round < 8; ++round) {
            CAPTURE(round);
            Snapshot now = all;
            now.time_seconds = 5000 + (random.chance(0.3) ? -1e9 : 60.0 * round);
            now.cluster.nodes.clear();
            now.jobs.clear();
            now.models.clear();
            std::vector<std::size_t> node_of(all.cluster.nodes.size(), all.cluster.nodes.size());
            for (std::size_t n = 0; n < node_of.size(); ++n) {
                if (random.chance(0.2)) continue;
                node_of[n] = now.cluster.nodes.size();
                now.cluster.nodes.push_back(all.cluster.nodes[n]);
            }
            std::vector<std::size_t> job_of;
            for (std::size_t j = 0; j < all.jobs.size(); ++j) {
                if (random.chance(0.2)) {
                    held[j].clear();
                    continue;
                }
                job_of.push_back(j);
                now.jobs.push_back(all.jobs[j]);
                now.models.push_back(all.models[j]);
                Placement& placement = now.jobs.back().placement;
                placement.clear();
                for (const NodeShare& share : held[j])
                    if (node_of[share.node] < all.cluster.nodes.size())
                        placement.push_back({node_of[share.node], share.gpus});
                if (placement.size() < held[j].size()) placement.clear();  // the job lost a node
            }
            const Plan& plan = scheduler.plan(now);
            check_plan(now, plan);
            for (const Job& job : now.jobs) CHECK(scheduler.round_of(now).age_of(job) >= 0);
            std::vector<std::size_t> old_node;
            for (std::size_t n = 0; n < node_of.size(); ++n)
                if (node_of[n] < all.cluster.nodes.size()) old_node.push_back(n);
            for (std::size_t i = 0; i < job_of.size(); ++i) {
                held[job_of[i]].clear();
                for (const NodeShare& share : plan.decisions[i].placement)
                    held[job_of[i]].push_back({old_node[share.node], share.gpus});
            }
        }
    }
}

namespace {

/// Answers well, except for what `spoil(problem, result)` changes.
template <class Spoil>
struct SpoiltSolver {
    Spoil spoil;
    AllotResult operator()(const AllotmentProblem& problem, const AllotOptions& options) const {
        AllotResult result = allot(problem, options);
        spoil(problem, result);
        return result;
    }
};
/// Runs out of time before it finds anything.
struct SlowSolver {
    AllotResult operator()(const AllotmentProblem& problem, const AllotOptions&) const {
        AllotResult result;
        result.choice.assign(problem.jobs(), no_option);
        result.prices.assign(problem.capacity.size(), 0);
        result.status = AllotStatus::infeasible;
        result.stopped = StopReason::deadline;
        return result;
    }
};
struct ForgetfulPlacer {
    PlacementResult place(const Cluster&, std::span<const PlacementRequest>) const { return {}; }
};

}  // namespace

TEST_CASE("a solver or placer of one's own that answers nonsense is refused by name") {
    Snapshot snapshot;
    snapshot.cluster = {{"T4"}, {{"n", 0, 4}}};
    snapshot.jobs.push_back({.name = "a", .max_gpus = 4, .initial_batch = 32, .max_batch = 64});
    snapshot.jobs[0].types = {{.max_atomic_batch = 64}};
    const auto why = [&](auto solver, auto placer) -> std::string {
        try {
            plan(snapshot, Sia{}, {}, placer, solver);
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
        return "";
    };
    const auto why_spoilt = [&](auto spoil) {
        return why(SpoiltSolver<decltype(spoil)>{spoil}, LeastMovesPlacer{});
    };
    const auto forget_job = [](const AllotmentProblem&, AllotResult& result) { result.choice.pop_back(); };
    const auto invent_options = [](const AllotmentProblem& problem, AllotResult& result) {
        for (std::size_t j = 0; j < problem.jobs(); ++j) result.choice[j] = problem.options_of(j);
    };
    const auto forget_prices = [](const AllotmentProblem&, AllotResult& result) { result.prices.clear(); };
    const auto prove_what_is_not_so = [](const AllotmentProblem&, AllotResult& result) {
        result.status = AllotStatus::infeasible;
        result.stopped = StopReason::proven;
    };
    CHECK(why_spoilt(forget_job).starts_with("solver: number of choices is 0"));
    CHECK(why_spoilt(invent_options).starts_with("solver: choice of job 0"));
    CHECK(why_spoilt(forget_prices).starts_with("solver: number of prices is 0"));
    CHECK(why_spoilt(prove_what_is_not_so)
              .starts_with("snapshot: placements of jobs that keep what they hold is more GPUs"));
    CHECK(why(Allotter<>{}, ForgetfulPlacer{}).starts_with("placer: number of placements is 0"));

    // Jobs that must run do run, even if the solver had too little time to find that out.
    snapshot.jobs.push_back(snapshot.jobs[0]);
    snapshot.jobs[1].name = "b";
    snapshot.jobs[1].placement = {{0, 2}};
    snapshot.jobs[1].preemptible = false;
    const Plan late = plan(snapshot, Sia{}, {}, LeastMovesPlacer{}, SlowSolver{});
    check_plan(snapshot, late);
    CHECK(late.status == AllotStatus::feasible);
    CHECK(late.decisions[0].verdict.outcome == Outcome::waits);
    CHECK(late.decisions[1].placement == Placement{{0, 2}});
    CHECK(late.bound >= plan(snapshot).objective);
}

TEST_CASE("a snapshot that contradicts itself is refused by name, and a plan is reported in a line") {
    Snapshot snapshot;
    snapshot.cluster = {{"T4", "A100"}, {{"n", 0, 4}, {"m", 1, 4}}};
    for (const char* name : {"a", "b"}) {
        snapshot.jobs.push_back({.name = name, .max_gpus = 4, .initial_batch = 32, .max_batch = 64});
        snapshot.jobs.back().types = {{.max_atomic_batch = 64}, {.max_atomic_batch = 64}};
    }
    CHECK(plan(snapshot).report().find("2 of 2 jobs run, 2 of them (re)start; value ") == 0);
    Snapshot models = snapshot;
    models.models.resize(1);
    CHECK_THROWS_WITH((void)plan(models),
                      "snapshot: number of models is 1, but must be 0 or the number of jobs, 2");
    Snapshot twice = snapshot;
    twice.jobs[0].placement = {{0, 3}};
    twice.jobs[1].placement = {{0, 2}};
    twice.strict = true;
    CHECK_THROWS_WITH((void)plan(twice),
                      "job 'b': placement on node 'n' is 2, but must be at most the 1 GPUs that jobs before "
                      "it leave");
    Snapshot mixed = snapshot;
    mixed.jobs[0].placement = {{0, 1}, {1, 1}};
    CHECK_NOTHROW((void)plan(mixed));
    mixed.jobs[0].preemptible = false;
    CHECK(plan(mixed).decisions[0].placement == mixed.jobs[0].placement);
}
