#ifndef GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANNER_HPP

// The best parallelism plan of a large model, with a bound on all others.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "goodput/parallel/detail/plan_reasons.hpp"
#include "goodput/parallel/detail/plan_search.hpp"
#include "goodput/parallel/plan_question.hpp"

namespace goodput {

namespace detail {

/// Why there is no plan for a question that has none: what is impossible, or how far the limits are from what
/// is possible. Told to stop, it says only what is known by then.
template <class Stop>
std::vector<std::string> why_none(const LayeredModel& model, const ParallelCluster& cluster,
                                  const PlanQuestion& question, Stop& stop,
                                  const ParallelConstants& constants) {
    std::vector<std::string> why = why_impossible(model, cluster, question.global_batch, constants);
    if (!why.empty()) return why;
    PlanQuestion free = question;
    free.gap = std::max(question.gap, 0.01);
    free.most_usd.reset();
    free.least_throughput.reset();
    const auto best = [&](PlanObjective objective) {
        free.objective = objective;
        PlanAnswer answer;
        PlanSearch<Stop>(model, cluster, free, constants, stop).run(answer);
        return answer;
    };
    const bool limited = question.most_usd || question.least_throughput;
    const PlanAnswer fastest = limited ? best(PlanObjective::throughput) : PlanAnswer();
    if (fastest.status == PlanStatus::none)
        return {
            "no way to cut the layers into stages fits the memory of the GPUs that there are and the links "
            "between them"};
    if (question.least_throughput && fastest.bound < *question.least_throughput)
        return {(fastest.plan.stages.empty()
                     ? "no plan reaches more than "
                     : "the fastest plan found reaches " + rounded_text_of(fastest.score.throughput()) +
                           " iterations/s, and none more than ") +
                rounded_text_of(fastest.bound) + "; least_throughput is " +
                rounded_text_of(*question.least_throughput)};
    if (question.most_usd) {
        const PlanAnswer cheapest = best(PlanObjective::cost);
        if (!cheapest.plan.stages.empty())
            why.push_back("the cheapest plan found costs " + rounded_text_of(cheapest.objective) +
                          " dollars an iteration; most_usd is " + rounded_text_of(*question.most_usd));
    }
    if (question.least_throughput && !fastest.plan.stages.empty())
        why.push_back("the fastest plan found reaches " + rounded_text_of(fastest.score.throughput()) +
                      " iterations/s and costs " + rounded_text_of(fastest.score.usd()) +
                      " dollars an iteration; least_throughput is " +
                      rounded_text_of(*question.least_throughput));
    if (why.empty())
        why.push_back(
            "no plan keeps the limits; the search was cut short before it was known how far they are from "
            "what "
            "is possible");
    return why;
}

}  // namespace detail

/// The best plan for a question, over stages of any layers, replicas of any profiled GPU type and
/// tensor-parallel degree in any zone (as many for every stage), and micro-batches that were profiled.
/// `stop()` is asked now and then; once it answers true, the best plan so far is returned with what is proven
/// by then. Refuses bad models, clusters and questions (std::invalid_argument).
template <std::predicate Stop>
[[nodiscard]] PlanAnswer find_plan(const LayeredModel& model, const ParallelCluster& cluster,
                                   const PlanQuestion& question, Stop stop,
                                   const ParallelConstants& constants = {}) {
    model.validate();
    cluster.validate();
    question.validate(cluster);
    const auto search = [&](const PlanQuestion& asked) {
        PlanAnswer answer;
        detail::PlanSearch<Stop>(model, cluster, asked, constants, stop).run(answer);
        return answer;
    };
    PlanQuestion first = question;
    if (question.mixed_stages) {  // far fewer plans without, and as a rule the best one is among them
        first.mixed_stages = false;
        first.known.push_back(search(first).plan);
        first.mixed_stages = true;
    }
    PlanAnswer answer = search(first);
    if (answer.status == PlanStatus::none)
        answer.why = detail::why_none(model, cluster, question, stop, constants);
    return answer;
}

}  // namespace goodput

#endif
