// Promises that were once broken, lost or given wrongly, each as small as it can be.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/policy/queue.hpp"
#include "goodput/policy/sia.hpp"
#include "goodput/schedule/scheduler.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

/// 100 examples/s on each GPU, measured.
struct Linear {
    void operator()(const Job&, const JobModel&, std::span<Option> options) const {
        for (Option& option : options) {
            option.goodput = 100.0 * option.configuration.gpus();
            option.plan = {1, 0};
            option.knowledge = Knowledge::measured;
        }
    }
};
/// Lists as usual, and finds nothing more at prices.
struct Asked : ListedShapes {
    double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
               std::vector<Option>&) const {
        return -std::numeric_limits<double>::infinity();
    }
};
using FifoScheduler = Scheduler<Fifo, LeastMovesPlacer, Allotter<>, Linear>;

HostNeeds cores_per_gpu(double least, double most) {
    HostNeeds needs;
    needs.least.set_cores(least);
    needs.most.set_cores(most);
    return needs;
}

/// Rounds of 60 s on nodes of one GPU type, in which each job does as told.
struct Rounds {
    explicit Rounds(std::vector<int> nodes, double margin = 1)
        : scheduler(FifoScheduler({}, {}, {}, {}, Linear()),
                    {.round_seconds = 60, .margins = {.measured = margin}}, Linear()) {
        snapshot.cluster.gpu_types = {"A"};
        for (std::size_t n = 0; n < nodes.size(); ++n)
            snapshot.cluster.nodes.push_back({.name = "n" + std::to_string(n), .gpus = nodes[n]});
    }
    Job& add(const std::string& name, int least, int most, std::optional<double> work = {},
             std::optional<double> deadline = {}) {
        Job job{.name = name, .min_gpus = least, .max_gpus = most};
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 1024;
        job.types = {{.max_atomic_batch = 1024}};
        job.remaining_examples = work;
        snapshot.jobs.push_back(job);
        deadline_of.push_back(deadline);
        return snapshot.jobs.back();
    }
    void remove(std::size_t job) {
        snapshot.jobs.erase(snapshot.jobs.begin() + static_cast<std::ptrdiff_t>(job));
        deadline_of.erase(deadline_of.begin() + static_cast<std::ptrdiff_t>(job));
    }
    const Plan& plan() {
        std::vector<Deadline> deadlines;
        for (std::size_t j = 0; j < deadline_of.size(); ++j)
            if (deadline_of[j]) deadlines.push_back({.job = j, .deadline_seconds = *deadline_of[j]});
        return scheduler.plan(snapshot, deadlines);
    }
    /// A round passes.
    void pass(const Plan& plan) {
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Job& job = snapshot.jobs[j];
            const Decision& decision = plan.decisions[j];
            double& restart = restart_left[job.name];
            if (decision.starts) restart = job.restart_cost_seconds;
            job.placement = decision.placement;
            const double trains = std::max(0.0, 60 - restart);
            restart = std::max(0.0, restart - 60);
            job.restarting = !job.placement.empty() && restart > 0;
            if (job.remaining_examples && !job.placement.empty())
                *job.remaining_examples =
                    std::max(0.0, *job.remaining_examples - decision.option.goodput * trains);
        }
        snapshot.time_seconds += 60;
    }
    const PromiseAnswer& answer(std::size_t deadline = 0) const { return scheduler.answers()[deadline]; }

    Snapshot snapshot;
    std::vector<std::optional<double>> deadline_of;
    std::map<std::string, double> restart_left;
    PromisedScheduler<FifoScheduler, Linear> scheduler;
};

}  // namespace

TEST_CASE("A job that does as told through a restart of many rounds keeps its promise") {
    Rounds rounds({1});
    rounds.add("x", 1, 1, 100.0 * 600, 1000).restart_cost_seconds = 300;
    while (*rounds.snapshot.jobs[0].remaining_examples > 0) {
        const Plan& plan = rounds.plan();
        INFO(rounds.snapshot.time_seconds);
        CHECK(rounds.answer().promise == Promise::kept);
        CHECK(rounds.answer().done_by_seconds <= 1000);
        rounds.pass(plan);
    }
    CHECK(rounds.snapshot.time_seconds <= 1000);
}

TEST_CASE("GPUs of a job in the middle of a restart are promised to nobody before the restart is over") {
    Rounds rounds({1});
    Job& other = rounds.add("restarting", 1, 1);
    other.restart_cost_seconds = 200;
    other.placement = {{0, 1}};
    other.restarting = true;
    rounds.add("x", 1, 1, 100.0 * 100, 180);
    rounds.plan();  // began a round ago: over in 140 s, so free at 180 s
    CHECK(rounds.answer().promise == Promise::refused);
    rounds.deadline_of[1] = 400;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("A kept promise ends before a deadline within the round, or is not kept") {
    // On one GPU it ends at 50 s. Moving to two would cost 30 s and end it at 55 s, after the deadline.
    Rounds rounds({2});
    Job& x = rounds.add("x", 1, 2, 100.0 * 50, 52);
    x.placement = {{0, 1}};
    x.restart_cost_seconds = 30;
    const Plan& plan = rounds.plan();
    REQUIRE(rounds.answer().promise == Promise::kept);
    CHECK(rounds.answer().done_by_seconds <= 52);
    CHECK(plan.decisions[0].action == Action::stay);
}

TEST_CASE("A bad number, or work that is unknown, in one line takes no promise away") {
    for (const bool bad : {true, false}) {
        Rounds rounds({4});
        rounds.add("x", 1, 4, 600000.0 / 4, 2400);
        rounds.pass(rounds.plan());
        REQUIRE(rounds.answer().promise == Promise::kept);
        const double left = *rounds.snapshot.jobs[0].remaining_examples;
        if (bad)
            rounds.snapshot.jobs[0].remaining_examples = -1;
        else
            rounds.snapshot.jobs[0].remaining_examples.reset();
        rounds.add("rival", 4, 4, 400.0 * 2200, 2400);
        rounds.plan();
        CHECK(rounds.answer(0).promise == Promise::kept);
        CHECK(rounds.answer(1).promise == Promise::refused);
        rounds.snapshot.jobs[0].remaining_examples = left;
        rounds.snapshot.time_seconds += 60;
        rounds.plan();
        CHECK(rounds.answer(0).promise == Promise::kept);
        CHECK(rounds.answer(1).promise == Promise::refused);
    }
}

TEST_CASE("A newcomer that could not be moved again does not take what a promise needs later") {
    Rounds rounds({8, 8, 8});
    Job& first = rounds.add("held", 8, 8);
    first.placement = {{0, 8}};
    first.preemptible = false;
    rounds.add("running", 8, 8, 800.0 * 300, 1000).placement = {{1, 8}};
    rounds.add("wide", 16, 16, 1600.0 * 400, 1200);
    rounds.add("new", 2, 2).preemptible = false;
    for (int round = 0; round < 20; ++round) {
        const Plan& plan = rounds.plan();
        for (const PromiseAnswer& answer : rounds.scheduler.answers()) CHECK(answer.promise == Promise::kept);
        rounds.pass(plan);
        if (rounds.snapshot.jobs[1].name == "running" && *rounds.snapshot.jobs[1].remaining_examples <= 0)
            rounds.remove(1);
        if (*rounds.snapshot.jobs[1].remaining_examples <= 0) break;
    }
    CHECK(*rounds.snapshot.jobs[1].remaining_examples <= 0);
}

TEST_CASE("A minimum run time gives way to a promise, and to nothing else") {
    Rounds rounds({4});
    rounds.add("young", 4, 4).placement = {{0, 4}};
    rounds.snapshot.jobs[0].just_started = true;
    // Of weight and submission all is for the other.
    rounds.snapshot.jobs[0].submitted_seconds = 30;
    rounds.add("x", 4, 4, 400.0 * 300);
    CHECK(rounds.plan().decisions[0].action == Action::stay);
    rounds.deadline_of[1] = 330;
    CHECK(rounds.plan().decisions[1].starts);
    CHECK(rounds.answer().promise == Promise::kept);
    rounds.deadline_of[1] = 3000;
    CHECK(rounds.plan().decisions[0].action == Action::stay);
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("A job on a node that leaves has to restart elsewhere, which its promise counts") {
    Rounds rounds({4, 4});
    rounds.scheduler.set_node_times({{.until_seconds = 120}, {}});
    Job& job = rounds.add("x", 4, 4, 400.0 * 300, 340);
    job.placement = {{0, 4}};
    job.restart_cost_seconds = 60;
    Job& other = rounds.add("other", 4, 4);
    other.placement = {{1, 4}};
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);  // 300 s of work and 60 s of restart
    rounds.deadline_of[0] = 500;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
    CHECK(rounds.answer().done_by_seconds == doctest::Approx(360));
}

TEST_CASE("A pinned job on a node that leaves finds the GPUs that it was promised for then") {
    Rounds rounds({4, 2});
    rounds.scheduler.set_node_times({{}, {.until_seconds = 180}});
    Job& job = rounds.add("x", 2, 2, 200.0 * 600, 1200);
    job.placement = {{1, 2}};
    job.preemptible = false;
    rounds.add("new", 4, 4).preemptible = false;
    while (*rounds.snapshot.jobs[0].remaining_examples > 0) {
        const bool gone = rounds.snapshot.time_seconds >= 180;
        rounds.snapshot.cluster.nodes[1].drained = gone;
        if (gone && rounds.snapshot.jobs[0].placement == Placement{{1, 2}})
            rounds.snapshot.jobs[0].placement.clear();
        const Plan& plan = rounds.plan();
        INFO(rounds.snapshot.time_seconds);
        REQUIRE(rounds.answer().promise == Promise::kept);
        rounds.pass(plan);
    }
    CHECK(rounds.snapshot.time_seconds <= 1200);
}

TEST_CASE("A plan of a scheduler that is gone afterwards is the caller's") {
    Rounds rounds({4});
    rounds.add("x", 4, 4, 400.0 * 300, 330);
    const std::vector<Deadline> deadlines{{.job = 0, .deadline_seconds = 330}};
    static_assert(
        std::is_same_v<decltype(std::move(rounds.scheduler).plan(rounds.snapshot, deadlines)), Plan>);
    const Plan& plan = std::move(rounds.scheduler).plan(rounds.snapshot, deadlines);
    CHECK(plan.decisions[0].starts);
}

TEST_CASE("A pinned job far ahead of its deadline is kept on 12 GPUs of three nodes") {
    Rounds rounds({4, 4, 4});
    Job& x = rounds.add("x", 12, 12, 1200.0 * 200, 1000);
    x.preemptible = false;
    rounds.pass(rounds.plan());
    CHECK(rounds.answer().promise == Promise::kept);
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
    CHECK(rounds.answer().done_by_seconds == doctest::Approx(200));
}

TEST_CASE("Nodes of which pinned jobs have a part are no whole nodes in a plan") {
    Rounds rounds({2, 2});
    for (std::size_t n = 0; n < 2; ++n) {
        Job& pinned = rounds.add("p" + std::to_string(n), 1, 1);
        pinned.placement = {{n, 1}};
        pinned.preemptible = false;
    }
    rounds.add("x", 1, 2, 100.0 * 1000, 900);  // in time on two GPUs only
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
}

TEST_CASE("With one node more no promise is lost: 16 GPUs lie on four nodes of 4 beside one of 8") {
    for (const bool more : {false, true}) {
        Rounds rounds({4, 4, 4, 4});
        if (more) rounds.snapshot.cluster.nodes.push_back({.name = "more", .gpus = 8});
        rounds.add("x", 16, 16, 1600.0 * 600, 1000);
        rounds.plan();
        CHECK(rounds.answer().promise == Promise::kept);
    }
}

TEST_CASE("Sizes that are no powers of two are promised, as far as they are whole nodes or lie on one") {
    Rounds three({4});
    three.add("x", 3, 3, 300.0 * 60, 60000);
    three.plan();
    CHECK(three.answer().promise == Promise::kept);
    Rounds whole({8, 8, 8});
    whole.add("x", 24, 24, 2400.0 * 60, 6000);
    whole.plan();
    CHECK(whole.answer().promise == Promise::kept);
    Rounds six({6, 6});
    six.add("x", 12, 12, 1200.0 * 60, 6000);
    six.plan();
    CHECK(six.answer().promise == Promise::kept);
    // Two jobs of 3 GPUs do not fit on a node of 4, and both take a node of their own at the same time.
    Rounds two({4, 4});
    for (const char* name : {"x", "y", "z"}) two.add(name, 3, 3, 300.0 * 300, 420);
    two.plan();
    CHECK(two.answer(0).promise == Promise::kept);
    CHECK(two.answer(1).promise == Promise::kept);
    CHECK(two.answer(2).promise == Promise::refused);
    // Parts of two nodes are not promised, and the reason says so.
    Rounds parts({8, 8});
    parts.add("x", 12, 12, 1200.0 * 60, 6000);
    parts.plan();
    CHECK(parts.answer().promise == Promise::refused);
    CHECK(parts.answer().why.find("parts of several nodes") != std::string::npos);
}

TEST_CASE("No promise is given on cores that do not go with the GPUs") {
    Rounds rounds({4});
    rounds.snapshot.cluster.nodes[0].cores = 4;
    const HostNeeds needs = cores_per_gpu(4, 8);
    rounds.add("x", 4, 4, 400.0 * 60, 6000).host = needs;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
    CHECK(rounds.answer().why.find("cores") != std::string::npos);
    rounds.snapshot.cluster.nodes[0].cores = 16;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("A job that has more cores than go with its GPUs is promised an end only where it stays") {
    Rounds rounds({4});
    rounds.snapshot.cluster.nodes[0].cores = 8;
    const HostNeeds needs = cores_per_gpu(4, 4);
    Job& x = rounds.add("x", 1, 1, 100.0 * 60, 6000);
    x.host = needs;
    x.placement = {{0, 1}};
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
    rounds.snapshot.jobs[0].preemptible = false;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("GPUs whose cores a pinned job has are promised to nobody") {
    Rounds rounds({4});
    rounds.snapshot.cluster.nodes[0].cores = 8;
    const HostNeeds needs = cores_per_gpu(3, 3);
    Job& pinned = rounds.add("pinned", 2, 2);
    pinned.host = needs;
    pinned.placement = {{0, 2}};
    pinned.preemptible = false;
    rounds.add("x", 2, 2, 200.0 * 60, 600);
    rounds.add("y", 1, 1, 100.0 * 60, 600);
    rounds.plan();
    CHECK(rounds.answer(0).promise == Promise::refused);
    CHECK(rounds.answer(1).promise == Promise::kept);
}

TEST_CASE("What a pinned job leaves of its last node is promised to nobody, as no round gives it away") {
    Rounds rounds({3, 3});
    Job& pinned = rounds.add("pinned", 4, 4);
    pinned.placement = {{0, 3}, {1, 1}};
    pinned.preemptible = false;
    rounds.add("x", 1, 2, 100.0 * 60, 600);
    CHECK(rounds.plan().decisions[1].placement.empty());
    CHECK(rounds.answer().promise == Promise::refused);
}

TEST_CASE("A name that comes again after its job was gone is a new job") {
    Rounds rounds({1});
    rounds.add("x", 1, 1, 100.0 * 60, 300);
    rounds.pass(rounds.plan());
    CHECK(rounds.answer().promise == Promise::kept);
    rounds.remove(0);
    rounds.add("y", 1, 1);
    rounds.pass(rounds.plan());
    rounds.remove(0);
    rounds.add("x", 1, 1, 100.0 * 6000, 300);
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
}

TEST_CASE("Jobs that make no sense are set aside, and do not ask") {
    Rounds rounds({2, 2});
    rounds.add("no types", 1, 2, 100.0, 600).types.clear();
    rounds.add("nowhere", 1, 2, 100.0, 600).placement = {{7, 1}};
    rounds.add("negative", 1, 2, -5.0, 600);
    rounds.add("good", 1, 2, 100.0 * 60, 600);
    const Plan& plan = rounds.plan();
    CHECK(plan.warnings.size() >= 3);
    for (std::size_t k = 0; k < 3; ++k) CHECK(rounds.answer(k).promise == Promise::refused);
    CHECK(rounds.answer(3).promise == Promise::kept);
}

TEST_CASE("One bad number of a job that runs without a promise breaks no promise to others") {
    Rounds rounds({2});
    rounds.add("runs", 1, 2, 1e6).placement = {{0, 2}};
    rounds.add("x", 1, 1, 100.0 * 60, 400);
    const Plan& plan = rounds.plan();
    REQUIRE(rounds.answer().promise == Promise::kept);
    REQUIRE(plan.decisions[1].placement.empty());
    rounds.pass(plan);
    rounds.snapshot.jobs[0].weight = -1;
    rounds.pass(rounds.plan());
    CHECK(rounds.answer().promise == Promise::kept);
    // Nobody knows when it can be moved again.
    rounds.pass(rounds.plan());
    CHECK(rounds.answer().promise == Promise::at_risk);
    rounds.snapshot.jobs[0].weight = 1;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("No job begins a restart of many rounds on GPUs that a promise needs soon") {
    Rounds rounds({1, 1});
    rounds.scheduler.set_node_times({{}, {.until_seconds = 120}});
    rounds.add("x", 1, 1, 100.0 * 150, 290).placement = {{1, 1}};
    rounds.add("slow", 1, 1).restart_cost_seconds = 300;
    for (int round = 0; round < 2; ++round) {
        const Plan& plan = rounds.plan();
        CHECK(rounds.answer().promise == Promise::kept);
        CHECK(plan.decisions[1].placement.empty());
        rounds.pass(plan);
    }
    rounds.snapshot.cluster.nodes[1].drained = true;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::kept);
}

TEST_CASE("Nodes are advised only if no job that asks before takes them") {
    Rounds rounds({2});
    rounds.add("kept", 2, 2, 200.0 * 900, 1100);
    rounds.add("first", 2, 2, 200.0 * 600, 720);
    rounds.add("second", 2, 2, 200.0 * 600, 720);
    rounds.plan();
    REQUIRE(rounds.answer(0).promise == Promise::kept);
    REQUIRE(rounds.answer(1).promise == Promise::refused);
    REQUIRE(rounds.answer(2).promise == Promise::refused);
    CHECK(rounds.scheduler.what_would_help(1).starts_with("2 more A for the next"));
    CHECK(rounds.scheduler.what_would_help(2).find("2 more A") == std::string::npos);
}

TEST_CASE("A job that is not to run without a promise does not begin after its promise was broken") {
    Rounds rounds({1});
    rounds.add("runs", 1, 1).placement = {{0, 1}};
    rounds.add("x", 1, 1, 100.0 * 60, 400);
    const auto plan = [&] {
        const std::vector<Deadline> deadlines{
            {.job = rounds.snapshot.jobs.size() - 1, .deadline_seconds = 400, .or_never = true}};
        return rounds.scheduler.plan(rounds.snapshot, deadlines);
    };
    rounds.pass(plan());
    REQUIRE(rounds.answer().promise == Promise::kept);
    REQUIRE(rounds.snapshot.jobs[1].placement.empty());
    rounds.remove(0);
    rounds.snapshot.jobs[0].remaining_examples = 1e6;
    CHECK(plan().decisions[0].placement.empty());
    CHECK(rounds.answer().promise == Promise::broken);
}

TEST_CASE("A deadline in the past says so") {
    Rounds rounds({2});
    rounds.snapshot.time_seconds = 1000;
    rounds.add("x", 1, 2, 100.0, 990);
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
    CHECK(rounds.answer().why.find("passed 10 s ago") != std::string::npos);
    CHECK(rounds.scheduler.what_would_help(0).empty());
}

TEST_CASE("A promise for which no plan is found, and none is ruled out, is at risk and goes on") {
    Promises promises({.admission = {.slot_seconds = 60, .most_rounds = 0}});
    const ClusterOverTime two{{"A"}, {{.nodes = 1, .gpus_per_node = 2}}};
    std::vector<DeadlineJob> jobs{
        {.name = "x", .work_left = 5, .deadline_seconds = 600, .speed = {{0.0, 0.01}}},
        {.name = "y", .work_left = 4, .deadline_seconds = 600, .speed = {{0.01, 0.0101}}}};
    REQUIRE(promises.plan(0, two, std::span(jobs).first(1)).front().promise == Promise::kept);
    promises.give("y");
    const std::vector<PromiseAnswer> answers = promises.plan(0, two, jobs);
    CHECK(answers[0].promise == Promise::kept);
    CHECK(answers[1].promise == Promise::at_risk);
    CHECK_FALSE(answers[1].why.empty());
}

TEST_CASE("A maker that answers at prices is asked for its lists, and promises are kept") {
    using Plain = Scheduler<Sia, LeastMovesPlacer, Allotter<>, Linear>;
    PromisedScheduler scheduler(Plain().offering(Asked()), {.round_seconds = 60, .margins = {1, 1, 1}},
                                Linear());
    Rounds rounds({2});
    rounds.add("x", 1, 2, 100.0 * 60, 400);
    const Plan& plan = scheduler.plan(rounds.snapshot, std::vector<Deadline>{{.deadline_seconds = 400}});
    CHECK(plan.faults.empty());
    CHECK(!plan.decisions[0].placement.empty());
    CHECK(scheduler.answers()[0].promise == Promise::kept);
}

TEST_CASE("Of two jobs of one name the second is set aside, and the first keeps its promise") {
    Rounds rounds({2});
    rounds.add("x", 1, 2, 100.0 * 600, 2000);
    rounds.add("x", 1, 2, 100.0 * 600, 2000);
    for (int round = 0; round < 3; ++round) {
        const Plan& plan = rounds.plan();
        CHECK(rounds.answer(0).promise == Promise::kept);
        CHECK(rounds.answer(0).why.empty());
        CHECK(rounds.answer(1).promise == Promise::refused);
        CHECK(rounds.answer(1).why == "it is set aside");
        const double left = *rounds.snapshot.jobs[1].remaining_examples;
        rounds.pass(plan);
        rounds.snapshot.jobs[1].remaining_examples = left;
    }
}

TEST_CASE(
    "A job that cannot be moved from nodes of two sizes is told so, and not that all GPUs are too few") {
    Rounds rounds({4, 2});
    Job& x = rounds.add("x", 2, 8, 100.0 * 1000, 600);
    x.placement = {{0, 4}, {1, 1}};
    x.preemptible = false;
    rounds.plan();
    CHECK(rounds.answer().promise == Promise::refused);
    CHECK(rounds.answer().why ==
          "it cannot be moved from GPUs that plans over time do not count on: "
          "spot nodes, or nodes of several sizes");
}
