// Compares parallelism plans, scores and bounds with a second implementation and all plans of small cases.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/parallel/parallel_planner.hpp"
#include "parallel/parallel_claims.hpp"
#include "parallel/parallel_random.hpp"
#include "parallel/parallel_reference.hpp"
#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;
using properties::NoVerdict;
using properties::random_order;
using support::AllParallelPlans;
using support::ParallelCase;

namespace {

support::ParallelShape random_shape(Case& one, int most_gpus) {
    support::ParallelShape shape;
    shape.most_layers = one.random.integer(1, 6);
    shape.most_types = one.random.integer(1, 3);
    shape.most_gpus = one.random.integer(1, most_gpus);
    shape.most_degree = one.random.chance(0.2) ? 4 : 2;
    shape.missing_profiles = one.random.chance(0.3) ? 0 : one.random.between(0, 0.4);
    shape.missing_links = one.random.chance(0.3) ? 0 : one.random.between(0, 0.2);
    shape.wild_links = one.random.chance(0.5);
    shape.most_zones = one.random.chance(0.2) ? 4 : 2;
    return shape;
}

/// Asks the planner, which must stop after `questions` checks; negative: it never has to.
PlanAnswer answer_of(const ParallelCase& asked, const PlanQuestion& question, long long& questions) {
    const bool stops = questions >= 0;
    return find_plan(
        asked.model, asked.cluster, question, [&] { return stops && --questions < 0; }, asked.constants);
}

PlanAnswer answer_of(const ParallelCase& asked, const PlanQuestion& question) {
    long long never = -1;
    return answer_of(asked, question, never);
}

void require_none(const std::vector<std::string>& broken) {
    std::string text;
    for (const std::string& line : broken) text += "\n" + line;
    REQUIRE_MESSAGE(broken.empty(), text);
}

}  // namespace

TEST_CASE("parallel: the score of any plan is the second implementation's") {
    for_all(1, [](Case& one) {
        support::ParallelShape shape = random_shape(one, 64);
        shape.most_layers = 10;
        const ParallelCase asked = support::random_parallel_case(one.random, shape);
        const ParallelPlan plan = support::random_parallel_plan(one.random, asked, one.random.integer(1, 12));
        const PlanScore score = score_plan(asked.model, asked.cluster, plan, asked.constants);
        const support::ReferenceScore expected = support::reference_score(asked, plan);
        REQUIRE(score.fault.has_value() == !support::reference_valid(asked, plan));
        if (!expected.clear) throw NoVerdict{"at the edge of rounding"};
        REQUIRE(score.fits == expected.fits);
        for (std::size_t s = 0; s < expected.bytes.size(); ++s)
            REQUIRE(std::abs(score.stages[s].memory_bytes - expected.bytes[s]) <= 1e-9 * expected.bytes[s]);
        if (std::isinf(expected.seconds)) {
            one.count("that take for ever");
            REQUIRE(std::isinf(score.iteration_seconds));
            return;
        }
        REQUIRE(std::abs(score.iteration_seconds - expected.seconds) <= 1e-9 * expected.seconds);
        REQUIRE(std::abs(score.usd() - expected.usd()) <= 1e-9 * expected.usd());
    });
}

TEST_CASE(
    "parallel: the plan can be run, no plan is beyond the bound, and the proven one is the best of all") {
    for_all(5, [](Case& one) {
        const ParallelCase asked = support::random_parallel_case(one.random, random_shape(one, 8));
        const AllParallelPlans all(asked, 20000);
        if (!all.complete()) throw NoVerdict{"with too many plans"};
        if (!all.clear()) throw NoVerdict{"at the edge of rounding"};
        const support::Rivals rivals = support::all_rivals(asked, all);
        for (int repeat = 0; repeat < 3; ++repeat) {
            const PlanQuestion question = support::random_plan_question(one.random, asked, all.plans());
            const PlanAnswer answer = answer_of(asked, question);
            if (answer.status == PlanStatus::none) one.count("questions without a plan");
            if (answer.status == PlanStatus::feasible) one.count("questions left open");
            require_none(broken_claims(asked, question, answer, rivals));
            long long questions = one.random.integer(0, one.random.chance(0.5) ? 20 : 1000);
            const PlanAnswer sooner = answer_of(asked, question, questions);
            if (questions < 0) one.count("questions cut short");
            require_none(broken_claims(asked, question, sooner, rivals));
        }
    });
}

TEST_CASE("parallel: in larger cases no plan near the answer's is better than it or beyond the bound") {
    for_all(50, [](Case& one) {
        support::ParallelShape shape = random_shape(one, 64);
        shape.least_layers = 4;
        shape.most_layers = 12;
        const ParallelCase asked = support::random_parallel_case(one.random, shape);
        std::vector<ParallelPlan> some, drawn;
        const PlanQuestion question = support::random_plan_question(
            one.random, asked, support::nearby_plans(one.random, asked, {}, 50, some));
        long long questions = one.random.integer(0, 500);
        const PlanAnswer answer = answer_of(asked, question, questions);
        one.count(questions < 0 ? "cut short" : "proven");
        const auto plans = support::nearby_plans(one.random, asked, answer, 1000, drawn);
        require_none(broken_claims(
            asked, question, answer,
            {plans, false, [&](const support::KnownPlan& known) { return drawn[known.number]; }}));
    });
}

TEST_CASE("parallel: types and zones in another order change nothing, and one more GPU makes nothing worse") {
    for_all(5, [](Case& one) {
        ParallelCase asked = support::random_parallel_case(one.random, random_shape(one, 8));
        PlanQuestion question = support::random_plan_question(one.random, asked, {});
        question.gap = 0;
        const PlanAnswer before = answer_of(asked, question);
        const auto type_to = random_order(one.random, asked.cluster.types.size()),
                   zone_to = random_order(one.random, asked.cluster.zones.size());
        PlanQuestion turned = question;
        for (std::size_t t = 0; t < question.price.size(); ++t) turned.price[type_to[t]] = question.price[t];
        const PlanAnswer after = answer_of(support::renumbered(asked, type_to, zone_to), turned);
        REQUIRE((before.status == PlanStatus::none) == (after.status == PlanStatus::none));
        if (before.status != PlanStatus::optimal || after.status != PlanStatus::optimal)
            throw NoVerdict{"without a proven plan"};
        const double size = std::max(std::abs(before.objective), std::abs(after.objective));
        REQUIRE(std::abs(before.objective - after.objective) <= 1e-8 * size);

        auto& zone = asked.cluster.gpus[static_cast<std::size_t>(
            one.random.integer(0, static_cast<int>(asked.cluster.zones.size()) - 1))];
        ++zone[static_cast<std::size_t>(one.random.integer(0, static_cast<int>(zone.size()) - 1))];
        const PlanAnswer more = answer_of(asked, question);
        REQUIRE(more.status != PlanStatus::none);
        REQUIRE(support::advantage(question, before.objective, more.bound) <= 1e-8 * size);
    });
}
