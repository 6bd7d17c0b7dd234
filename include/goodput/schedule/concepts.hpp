#ifndef GOODPUT_SCHEDULE_CONCEPTS_HPP
#define GOODPUT_SCHEDULE_CONCEPTS_HPP

// What a Scheduler can be given besides a policy (policy/concepts.hpp) and a placer (place/concepts.hpp):
// what says how good options are, and what chooses among them. Any type with the function satisfies the
// concept.

#include <concepts>
#include <optional>
#include <span>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

/// How good is each option of a job: `predictor(job, model, options)` sets plan, goodput and knowledge of all
/// options, whose allotments are set; goodput 0 where no batch plan fits. This is where throughput and
/// efficiency models of one's own come in: `model` is the job's entry in Snapshot::models, which a predictor
/// may leave unread. Not const, so that it may keep its buffers. Satisfied by GoodputPredictor.
template <class Predictor>
concept OptionPredictor = requires(Predictor& predictor, const Job& job, const JobModel& model,
                                   std::span<Option> options) {
    predictor(job, model, options);
};

/// The same with other gradient statistics than the job's: what a policy with expected_gradient(job) needs.
template <class Predictor>
concept ForecastPredictor = OptionPredictor<Predictor> &&
    requires(Predictor& predictor, const Job& job, const JobModel& model, std::span<Option> options,
             const std::optional<GradientStatistics>& gradient) {
    predictor(job, model, options, gradient);
};

/// Which option for each job: `result = solver(problem, options)`. Satisfied by every Allotter.
template <class Solver>
concept AllotmentSolver = requires(Solver& solver, const AllotmentProblem& problem,
                                   const AllotOptions& options) {
    { solver(problem, options) } -> std::convertible_to<AllotResult>;
};

}  // namespace goodput

#endif
