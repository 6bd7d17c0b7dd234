// Compares the planner with a list of all plans: its plan can be run, no plan exceeds its bound, and the
// plan that it calls the best is the best.

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_planner.hpp"
#include "parallel/parallel_claims.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using support::AllParallelPlans;
using support::ParallelCase;
using support::Random;

namespace {

bool never() { return false; }

PlanAnswer answer_of(const ParallelCase& asked, const PlanQuestion& question) {
    return find_plan(asked.model, asked.cluster, question, never, asked.constants);
}

/// Returns the planner's answer if it is told to stop after `questions` checks of its stop flag.
PlanAnswer answer_within(const ParallelCase& asked, const PlanQuestion& question, long long questions) {
    return find_plan(
        asked.model, asked.cluster, question, [&] { return --questions < 0; }, asked.constants);
}

/// Calls body(asked, all plans, random) for each of `seeds` random cases that has at most `most_plans` plans.
template <class Body>
void for_cases(std::uint64_t seeds, const support::ParallelShape& shape, std::size_t most_plans, Body body) {
    int run = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ParallelCase asked = support::random_parallel_case(random, shape);
        const AllParallelPlans all(asked, most_plans);
        if (!all.complete() || !all.clear()) continue;
        ++run;
        body(asked, all, random);
    }
    CHECK(run > static_cast<int>(seeds / 2));
}

/// Returns an answer with the best plan whose claims are all true.
PlanAnswer right_answer(const ParallelCase& asked, const PlanQuestion& question,
                        const std::vector<support::KnownPlan>& plans) {
    PlanAnswer answer;
    const support::KnownPlan* const best = support::best_plan(question, plans, 0);
    if (best == nullptr) {
        answer.why = {"there is none"};
        return answer;
    }
    answer.status = PlanStatus::optimal;
    answer.plan = support::parallel_plan_of(asked, *best);
    answer.score = score_plan(asked.model, asked.cluster, answer.plan, asked.constants);
    answer.bound = answer.objective = support::worth_of(question, *best).value;
    return answer;
}

/// Returns the planner's answer after checking all of its claims.
PlanAnswer checked_answer(const ParallelCase& asked, const PlanQuestion& question,
                          const AllParallelPlans& all) {
    PlanAnswer answer = answer_of(asked, question);
    const auto broken = broken_claims(asked, question, answer, support::all_rivals(asked, all));
    CHECK_MESSAGE(broken.empty(), support::joined(broken));
    return answer;
}

/// Returns plans to start the search from, two of them invalid.
std::vector<ParallelPlan> some_known(Random& random, const ParallelCase& asked, const AllParallelPlans& all) {
    std::vector<ParallelPlan> known(1);
    for (int n = 0; n < 3 && !all.plans().empty(); ++n) {
        const int last = static_cast<int>(all.plans().size()) - 1;
        const auto which = static_cast<std::size_t>(random.integer(0, last));
        known.push_back(support::parallel_plan_of(asked, all.plans()[which]));
    }
    known.push_back(known.back());
    for (PlanStage& stage : known.back().stages)
        stage.replicas.front().gpu_type += asked.cluster.types.size();
    return known;
}

}  // namespace

TEST_CASE("the claims below hold for a right answer and for no wrong one") {
    int with_plan = 0, without = 0;
    for_cases(150, {.most_gpus = 4}, 2000,
              [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
                  const PlanQuestion question = support::random_plan_question(random, asked, all.plans());
                  const support::Rivals rivals = support::all_rivals(asked, all);
                  const auto broken = [&](const PlanAnswer& answer) {
                      return broken_claims(asked, question, answer, rivals);
                  };
                  PlanAnswer answer = right_answer(asked, question, all.plans());
                  const auto lines = broken(answer);
                  REQUIRE_MESSAGE(lines.empty(), support::joined(lines));
                  if (answer.status == PlanStatus::none) {
                      ++without;
                      answer.why.clear();
                      REQUIRE(!broken(answer).empty());
                      return;
                  }
                  ++with_plan;
                  PlanAnswer wrong;
                  wrong.why = {"there is none"};
                  REQUIRE(!broken(wrong).empty());
                  if (answer.objective == 0) return;
                  const double worse = question.objective == PlanObjective::cost ? 1e-4 : -1e-4;
                  wrong = answer;
                  wrong.bound += worse * std::abs(answer.objective);
                  REQUIRE(!broken(wrong).empty());
                  wrong = answer;
                  wrong.objective += worse * std::abs(answer.objective);
                  REQUIRE(!broken(wrong).empty());
                  wrong = answer;
                  wrong.plan.stages.front().replicas.front().count += 100;
                  REQUIRE(!broken(wrong).empty());
                  wrong = answer;
                  wrong.score.iteration_seconds *= 1.0001;
                  REQUIRE(!broken(wrong).empty());
              });
    CHECK(with_plan > 50);
    CHECK(without > 5);
}

TEST_CASE("small cases: the plan can be run, the bound holds, and a proven plan is the best of all plans") {
    int proven = 0, none = 0, open = 0, mixed = 0;
    for_cases(300, {}, 20000, [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
        for (int repeat = 0; repeat < 3; ++repeat) {
            CAPTURE(repeat);
            PlanQuestion question = support::random_plan_question(random, asked, all.plans());
            if (random.chance(0.3)) question.known = some_known(random, asked, all);
            const PlanAnswer answer = checked_answer(asked, question, all);
            proven += answer.status == PlanStatus::optimal;
            none += answer.status == PlanStatus::none;
            open += answer.status == PlanStatus::feasible || answer.status == PlanStatus::unknown;
            for (const PlanStage& stage : answer.plan.stages)
                if (stage.replicas.size() > 1) {
                    ++mixed;
                    break;
                }
        }
    });
    MESSAGE(proven << " proven, " << none << " without a plan, " << open << " open, " << mixed << " mixed");
    CHECK(proven > 500);
    CHECK(none > 50);
    CHECK(open < 90);
    CHECK(mixed > 10);
}

TEST_CASE("links and profiles without gaps: the same holds with more GPUs") {
    for_cases(40,
              {.least_layers = 3,
               .most_types = 2,
               .most_gpus = 8,
               .missing_profiles = 0,
               .missing_links = 0,
               .wild_links = false},
              60000, [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
                  const PlanQuestion question = support::random_plan_question(random, asked, all.plans());
                  const PlanAnswer answer = checked_answer(asked, question, all);
              });
}

TEST_CASE("several zones: the bound holds for plans across any of them, and a proven plan is the best") {
    int proven = 0, across = 0, open = 0;
    for_cases(400, {.most_layers = 4, .most_types = 2, .least_zones = 3, .most_zones = 5}, 20000,
              [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
                  PlanQuestion question = support::random_plan_question(random, asked, all.plans());
                  question.mixed_stages = false;
                  const PlanAnswer answer = checked_answer(asked, question, all);
                  proven += answer.status == PlanStatus::optimal;
                  open += answer.status == PlanStatus::feasible || answer.status == PlanStatus::unknown;
                  std::set<std::size_t> zones;
                  for (const PlanStage& stage : answer.plan.stages)
                      for (const ReplicaGroup& group : stage.replicas) zones.insert(group.zone);
                  across += zones.size() > 1;
              });
    MESSAGE(proven << " proven, " << across << " across zones, " << open << " open");
    CHECK(proven > 200);
    CHECK(across > 100);
    CHECK(open < 10);
}

TEST_CASE("several zones, messages that differ widely from layer to layer: a proven plan is the best") {
    // Seed 3753 failed once: a chain that was better except for the zones of its stages hid the best one.
    for (std::uint64_t seed = 3701; seed <= 3800; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        ParallelCase asked = support::random_parallel_case(random, {.least_layers = 4,
                                                                    .most_layers = 5,
                                                                    .most_types = 2,
                                                                    .least_zones = 3,
                                                                    .most_zones = 3,
                                                                    .most_gpus = 6,
                                                                    .most_degree = 1,
                                                                    .missing_profiles = 0,
                                                                    .missing_links = 0});
        for (LayerSize& size : asked.model.sizes.at(1))
            size.output_floats = std::floor(support::random_scale(random, 1e5, 1e9));
        for (auto& [ends, curve] : asked.cluster.links) {
            // Some links are fast for large messages, others for small ones.
            const double constant = support::random_scale(random, 0.1, 30);
            curve = {0, constant * (random.chance(0.5) ? 0 : random.between(-0.1, 0.3)), constant};
        }
        const AllParallelPlans all(asked, 8000);
        if (!all.complete() || !all.clear()) continue;
        PlanQuestion question;
        question.global_batch = asked.global_batch;
        (void)checked_answer(asked, question, all);
    }
}

TEST_CASE("mixed stages, half of the zones far from the others: a proven plan is the best") {
    int proven = 0;
    // Bounds that looked at a single class were wrong for seeds 2372 and 3189.
    for (std::uint64_t seed = 2001; seed <= 3500; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        ParallelCase asked = support::random_parallel_case(
            random, {.most_layers = 3, .most_types = 2, .least_zones = 3, .most_zones = 4});
        for (auto& [ends, curve] : asked.cluster.links)
            if (ends.first.zone % 2 != ends.second.zone % 2)
                for (double* part : {&curve.square, &curve.linear, &curve.constant}) *part /= 6;
        const AllParallelPlans all(asked, 10000);
        if (!all.complete() || !all.clear()) continue;
        for (int repeat = 0; repeat < 2; ++repeat) {
            CAPTURE(repeat);
            PlanQuestion question = support::random_plan_question(random, asked, all.plans());
            question.mixed_stages = true;
            const PlanAnswer answer = checked_answer(asked, question, all);
            proven += answer.status == PlanStatus::optimal;
        }
    }
    CHECK(proven > 1300);
}

/// One GPU of each type, and either one layer with several replicas or two layers: few enough plans to list
/// them all.
ParallelCase many_types(Random& random, std::size_t types, std::size_t layers) {
    ParallelCase asked;
    asked.model.layers = layers;
    asked.model.sizes[1].assign(layers, {1e8, 1e6, 1e8});
    asked.cluster = {{}, {"zone"}, {std::vector<int>(types, 1)}, {}, {{0}}};
    asked.global_batch = layers == 1 ? 2 : 1;
    for (std::size_t t = 0; t < types; ++t) {
        asked.cluster.types.push_back(
            {"type-" + std::to_string(t), 1, random.between(4, 12), random.between(1, 5)});
        asked.model.times.push_back({{{1, 1}, {}}});
        const double slowness = random.chance(0.5) ? 1 : random.between(0.5, 2);
        for (std::size_t l = 0; l < layers; ++l)
            asked.model.times[t][{1, 1}].push_back({slowness, slowness * random.between(0.99, 1.01), 0.01});
        for (std::size_t other = 0; other < types; ++other)
            asked.cluster.links[{{0, t, 1}, {0, other, 1}}] = {0, 0, random.between(1, 10)};
    }
    return asked;
}

TEST_CASE("more GPU types than a word has bits: a proven plan is the best of all plans") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ParallelCase asked = many_types(random, 70, 1 + seed % 2);
        const AllParallelPlans all(asked, 10000, asked.global_batch);
        REQUIRE(all.complete());
        REQUIRE(all.clear());
        for (int repeat = 0; repeat < 4; ++repeat) {
            CAPTURE(repeat);
            PlanQuestion question = support::random_plan_question(random, asked, all.plans());
            question.mixed_stages = repeat < 2;
            CHECK(checked_answer(asked, question, all).status != PlanStatus::unknown);
        }
    }
}

TEST_CASE("many GPU types: an answer within a few checks of the stop flag") {
    for (const std::size_t types : {4U, 16U, 20U, 64U})
        for (const bool mixed : {false, true}) {
            CAPTURE(types);
            CAPTURE(mixed);
            Random random(types);
            ParallelCase asked = many_types(random, types, 6);
            asked.cluster.gpus.front().assign(types, 3);
            PlanQuestion question;
            question.global_batch = asked.global_batch = 64;
            question.mixed_stages = mixed;
            const PlanAnswer answer = answer_within(asked, question, 20);
            CHECK_FALSE(answer.plan.stages.empty());
            CHECK(broken_plan_claims(asked, question, answer).empty());
            CHECK(answer.bound >= answer.objective);
        }
}

TEST_CASE("many thousands of GPUs in several zones: an answer soon after it is told to stop") {
    Random random(1);
    ParallelCase asked = many_types(random, 3, 4);
    for (const std::size_t zone : {1U, 2U, 3U}) {
        asked.cluster.zones.push_back("zone-" + std::to_string(zone));
        for (const std::size_t from : {0U, 1U, 2U})
            for (const std::size_t to : {0U, 1U, 2U})
                for (const std::size_t other : {0U, 1U, 2U, 3U})
                    // Bandwidth falls for the smallest messages, so more replicas might reduce faster.
                    asked.cluster.links[{{zone, from, 1}, {other, to, 1}}] =
                        asked.cluster.links[{{other, from, 1}, {zone, to, 1}}] = {0.01, 0, 5};
    }
    asked.cluster.gpus.assign(4, std::vector<int>(3, 20000));
    asked.cluster.usd_per_gigabyte.assign(4, std::vector<double>(4, 0.01));
    PlanQuestion question;
    question.global_batch = asked.global_batch = 1024;
    for (const long long questions : {0, 3, 30}) {
        CAPTURE(questions);
        const auto start = std::chrono::steady_clock::now();
        const PlanAnswer answer = answer_within(asked, question, questions);
        CHECK(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < 2);
        CHECK(answer.status != PlanStatus::none);
        CHECK_FALSE(std::isnan(answer.gap()));
        if (!answer.plan.stages.empty()) CHECK(broken_plan_claims(asked, question, answer).empty());
        if (questions == 30) CHECK_FALSE(answer.plan.stages.empty());
    }
}

TEST_CASE("deep pipelines of few micro-batches: refused by the published memory, found by the refined one") {
    ParallelCase asked;
    asked.model.layers = 6;
    asked.model.sizes[1].assign(6, {1e6, 1e6, 250e6});  // 1 GB per layer and micro-batch
    asked.model.times.push_back({{{1, 1}, {6, {1, 2, 0.01}}}});
    asked.cluster = {{{"type", 1, 5, 1}}, {"zone"}, {{6}}, {}, {{0}}};
    asked.cluster.links[{{0, 0, 1}, {0, 0, 1}}] = {0, 0, 1};
    PlanQuestion question;
    question.global_batch = asked.global_batch = 2;
    const PlanAnswer published = answer_of(asked, question);
    CHECK(published.status == PlanStatus::none);
    CHECK(support::joined(published.why).find("GiB") != std::string::npos);
    asked.constants.whole_pipeline_in_flight = false;
    const AllParallelPlans all(asked, 100000);
    REQUIRE(all.complete());
    const PlanAnswer refined = checked_answer(asked, question, all);
    CHECK(refined.status == PlanStatus::optimal);
    CHECK(refined.plan.stages.size() > 1);
}

TEST_CASE("limits that no plan keeps: the stated reason is true, whenever the planner is told to stop") {
    int none = 0, cut_short = 0;
    for_cases(60, {}, 5000, [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
        PlanQuestion question = support::random_plan_question(random, asked, all.plans());
        question.mixed_stages = true;
        if (all.plans().empty()) return;
        double fastest = 0, cheapest = 1e300;
        for (const support::KnownPlan& plan : all.plans()) {
            fastest = std::max(fastest, 1 / plan.seconds);
            cheapest = std::min(cheapest, plan.usd);
        }
        if (question.objective == PlanObjective::reward || random.chance(0.5))
            question.least_throughput = 3 * fastest;
        else
            question.most_usd = cheapest / 3;
        for (long long questions = 0; questions < 60; ++questions) {
            CAPTURE(questions);
            const PlanAnswer answer = answer_within(asked, question, questions);
            if (answer.status != PlanStatus::none) continue;
            ++none;
            const std::string why = support::joined(answer.why);
            CHECK_FALSE(why.empty());
            CHECK_MESSAGE(why.find("no way to cut") == std::string::npos, why);
            if (cheapest > 0) CHECK_MESSAGE(why.find("costs 0 dollars") == std::string::npos, why);
            cut_short += why.find("cut short") != std::string::npos;
        }
    });
    CHECK(none > 500);
    CHECK(cut_short > 20);
}

TEST_CASE("told to stop, the planner answers with its best plan so far and a valid bound") {
    for_cases(80, {}, 5000, [&](const ParallelCase& asked, const AllParallelPlans& all, Random& random) {
        const PlanQuestion question = support::random_plan_question(random, asked, all.plans());
        for (const long long questions : {0, 1, 2, 3, 5, 10, 30, 100, 1000}) {
            CAPTURE(questions);
            const PlanAnswer answer = answer_within(asked, question, questions);
            const auto broken = broken_claims(asked, question, answer, support::all_rivals(asked, all));
            CHECK_MESSAGE(broken.empty(), support::joined(broken));
        }
    });
}

TEST_CASE("larger cases: no plan near the answer's is better than it or beyond the bound") {
    support::ParallelShape shape{.least_layers = 6, .most_layers = 12, .most_gpus = 48};
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ParallelCase asked = support::random_parallel_case(random, shape);
        std::vector<ParallelPlan> some_plans;
        const PlanQuestion question = support::random_plan_question(
            random, asked, support::nearby_plans(random, asked, {}, 50, some_plans));
        const long long questions = random.chance(0.5) ? 50 : 2000;
        long long left = questions;
        const PlanAnswer answer = find_plan(
            asked.model, asked.cluster, question, [&] { return --left < 0; }, asked.constants);
        std::vector<ParallelPlan> drawn;
        const auto plans = support::nearby_plans(random, asked, answer, 500, drawn);
        const support::Rivals rivals{plans, false,
                                     [&](const support::KnownPlan& known) { return drawn[known.number]; }};
        const auto broken = broken_claims(asked, question, answer, rivals);
        CHECK_MESSAGE(broken.empty(), support::joined(broken));
    }
}

TEST_CASE("one GPU more never makes the best plan worse") {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        ParallelCase asked = support::random_parallel_case(random);
        const PlanQuestion question = support::random_plan_question(random, asked, {});
        const PlanAnswer before = answer_of(asked, question);
        auto& zone = asked.cluster.gpus[static_cast<std::size_t>(
            random.integer(0, static_cast<int>(asked.cluster.zones.size()) - 1))];
        ++zone[static_cast<std::size_t>(random.integer(0, static_cast<int>(zone.size()) - 1))];
        const PlanAnswer after = answer_of(asked, question);
        if (before.plan.stages.empty()) continue;
        REQUIRE(after.status != PlanStatus::none);
        const double size = std::max(std::abs(before.objective), std::abs(after.bound));
        CHECK(support::advantage(question, before.objective, after.bound) <= 1e-8 * size);
        if (before.status == PlanStatus::optimal && after.status == PlanStatus::optimal && question.gap == 0)
            CHECK(support::advantage(question, before.objective, after.objective) <= 1e-8 * size);
    }
}

TEST_CASE("types and zones in another order change nothing") {
    for (std::uint64_t seed = 1; seed <= 150; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ParallelCase asked = support::random_parallel_case(random);
        PlanQuestion question = support::random_plan_question(random, asked, {});
        question.gap = 0;
        const PlanAnswer before = answer_of(asked, question);
        const auto type_to = support::reversed_order(asked.cluster.types.size()),
                   zone_to = support::reversed_order(asked.cluster.zones.size());
        PlanQuestion turned = question;
        for (std::size_t t = 0; t < question.price.size(); ++t) turned.price[type_to[t]] = question.price[t];
        const PlanAnswer after = answer_of(support::renumbered(asked, type_to, zone_to), turned);
        REQUIRE((before.status == PlanStatus::none) == (after.status == PlanStatus::none));
        if (before.plan.stages.empty() || after.plan.stages.empty()) continue;
        const double size = std::max(std::abs(before.objective), std::abs(after.objective));
        CHECK(support::advantage(question, before.objective, after.bound) <= 1e-8 * size);
        CHECK(support::advantage(question, after.objective, before.bound) <= 1e-8 * size);
        if (before.status == PlanStatus::optimal && after.status == PlanStatus::optimal)
            CHECK(std::abs(before.objective - after.objective) <= 1e-8 * size);
    }
}
