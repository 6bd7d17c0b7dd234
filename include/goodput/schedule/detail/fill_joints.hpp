#ifndef GOODPUT_SCHEDULE_DETAIL_FILL_JOINTS_HPP
#define GOODPUT_SCHEDULE_DETAIL_FILL_JOINTS_HPP

// Function templates that fill the joint of a part (joints.hpp): its pointer and the pointers to its
// functions. Only these templates are compiled anew for a part of your own.

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/place/request.hpp"
#include "goodput/place/topology.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/question.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/limits.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput::inline v0_1 {

namespace detail {

/// Returns the address of a part. A part of a const type is only read.
template <class Part>
[[nodiscard]] void* part_of(Part& part) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(part)));
}

}  // namespace detail

/// Returns the joint of a policy. A part that does not satisfy its concept gets an empty joint: an earlier
/// static_assert has already said in one line what is wrong, and pages of further errors would hide it.
template <class P>
[[nodiscard]] PolicyJoint policy_joint(const P& policy) {
    PolicyJoint joint{.part = &policy};
    if constexpr (Policy<P>) {
        joint.by_round = RoundPolicy<P>;
        joint.values = [](const void* part, const Round& round, std::span<const OptionRow> rows,
                          const PolicyFailed& failed) {
            value_rows(*static_cast<const P*>(part), round, rows,
                       [&](std::size_t row, std::size_t option, auto call) {
                           detail::contained(call,
                                             [&](std::string what) { failed(row, option, std::move(what)); });
                       });
        };
        if constexpr (!RoundPolicy<P> || ValuesBeside<P>)
            joint.value_beside = [](const void* part, const Round& round, const OptionRow& row,
                                    const Option& option) {
                return value_beside(*static_cast<const P*>(part), round, row, option);
            };
    }
    if constexpr (GrowthLimit<P>)
        joint.most_gpus = [](const void* part, const Job& job, const JobModel& model, std::size_t gpu_type) {
            return static_cast<int>(static_cast<const P*>(part)->most_gpus(job, model, gpu_type));
        };
    if constexpr (GradientForecast<P>)
        joint.expected_gradient = [](const void* part, const Job& job) {
            return std::optional<GradientStatistics>(static_cast<const P*>(part)->expected_gradient(job));
        };
    return joint;
}

/// Returns the joint of a predictor.
template <class Predictor>
[[nodiscard]] PredictorJoint predictor_joint(Predictor& predictor) {
    PredictorJoint joint{.part = detail::part_of(predictor)};
    if constexpr (OptionPredictor<Predictor>)
        joint.predict = [](void* part, const Job& job, const JobModel& model, std::span<Option> options) {
            (*static_cast<Predictor*>(part))(job, model, options);
        };
    if constexpr (ForecastPredictor<Predictor>)
        joint.predict_with = [](void* part, const Job& job, const JobModel& model, std::span<Option> options,
                                const std::optional<GradientStatistics>& gradient) {
            (*static_cast<Predictor*>(part))(job, model, options, gradient);
        };
    if constexpr (KeepsRunningPlans<Predictor>)
        joint.keep_running_plan = [](void* part, const Job& job, const JobModel& model, Option& option) {
            static_cast<Predictor*>(part)->keep_running_plan(job, model, option);
        };
    if constexpr (DeclaresInputs<Predictor>)
        joint.name_inputs = [](const void*, const Job& job, const JobModel& model,
                               detail::Question& question) {
            Predictor::for_each_input(job, model, question);
        };
    return joint;
}

/// Returns the joint of a maker.
template <class Maker>
[[nodiscard]] MakerJoint maker_joint(Maker& maker) {
    MakerJoint joint{.part = detail::part_of(maker)};
    if constexpr (OptionMaker<Maker>)
        joint.list = [](void* part, const Round& round, const Job& job, std::span<const int> most_gpus,
                        std::vector<Option>& options) {
            static_cast<Maker*>(part)->list(round, job, most_gpus, options);
        };
    if constexpr (requires(const Round& round) { maker.begin_round(round); })
        joint.begin_round = [](void* part, const Round& round) {
            static_cast<Maker*>(part)->begin_round(round);
        };
    if constexpr (KeptMaker<Maker>)
        joint.list_kept = [](void* part, const Round& round, const Job& job, std::vector<Option>& options) {
            static_cast<Maker*>(part)->list_kept(round, job, options);
        };
    if constexpr (PricedOptionMaker<Maker>) {
        joint.ask = [](void* part, const Round& round, const Job& job, std::span<const int> most_gpus,
                       const AtPrices& at, double least, std::vector<Option>& options) {
            return static_cast<double>(
                static_cast<Maker*>(part)->ask(round, job, most_gpus, at, least, options));
        };
        joint.allot_asked = &detail::allot_asked;
    }
    if constexpr (PredictingMaker<Maker>)
        joint.predict = [](void* part, const Job& job, const std::optional<GradientStatistics>& gradient,
                           std::span<Option> options, const AskPredictor& ask) {
            static_cast<Maker*>(part)->predict(job, gradient, options, ask);
        };
    if constexpr (ReasonMaker<Maker>)
        joint.why_none = [](void* part, const Round& round, const Job& job) {
            return std::string(static_cast<Maker*>(part)->why_none(round, job));
        };
    if constexpr (requires(const Job& job) {
                      { maker.lets_wait(job) } -> std::convertible_to<bool>;
                  })
        joint.lets_wait = [](void* part, const Job& job) {
            return static_cast<bool>(static_cast<Maker*>(part)->lets_wait(job));
        };
    if constexpr (DeclaresJobInputs<Maker>)
        joint.name_inputs = [](const void*, const Job& job, detail::Question& question) {
            Maker::for_each_input(job, question);
        };
    return joint;
}

/// Returns the joint of limits.
template <class LimitPack>
[[nodiscard]] LimitsJoint limits_joint(LimitPack& limits) {
    LimitsJoint joint{.part = detail::part_of(limits)};
    if constexpr (!requires { requires !LimitPack::all_fit; }) {
        joint.counts_dollars = [](const void* part) {
            return static_cast<bool>(static_cast<const LimitPack*>(part)->counts_dollars());
        };
        if constexpr (!requires { requires !LimitPack::may_count_dollars; })
            joint.find_price_groups = &detail::find_price_groups;
        joint.rows = [](void* part, const Round& round, std::size_t first, LimitRows& rows) {
            static_cast<LimitPack*>(part)->rows(round, first, rows);
        };
        joint.start_job = [](void* part, const Round& round, const Job& job) {
            static_cast<LimitPack*>(part)->start_job(round, job);
        };
        joint.uses = [](void* part, const Round& round, const Job& job, const Option& option,
                        std::vector<ResourceUse>& uses) {
            static_cast<LimitPack*>(part)->uses(round, job, option, uses);
        };
        if constexpr (requires(const LimitPack& pack, const Round& round,
                               std::vector<std::string>& warnings) { pack.warn(round, warnings); })
            joint.warn = [](const void* part, const Round& round, std::vector<std::string>& warnings) {
                static_cast<const LimitPack*>(part)->warn(round, warnings);
            };
    }
    return joint;
}

/// Returns the joint of factors.
template <class Factor>
[[nodiscard]] FactorJoint factor_joint(Factor& factor) {
    FactorJoint joint{.part = detail::part_of(factor)};
    if constexpr (GoodputFactor<Factor> && !requires { requires !Factor::all_fit; }) {
        joint.begin_round = [](void* part, const Round& round) {
            return static_cast<bool>(static_cast<Factor*>(part)->begin_round(round));
        };
        joint.apply = [](void* part, const Job& job, Option& option) {
            (*static_cast<Factor*>(part))(job, option);
        };
    }
    return joint;
}

/// Returns the joint of a placer.
template <class Algorithm>
[[nodiscard]] PlacerJoint placer_joint(Algorithm& placer) {
    PlacerJoint joint{.part = detail::part_of(placer)};
    if constexpr (Placer<Algorithm>)
        joint.place = [](void* part, const Cluster& cluster, std::span<const PlacementRequest> requests,
                         PlacementResult& result) -> const PlacementResult& {
            Algorithm& algorithm = *static_cast<Algorithm*>(part);
            if constexpr (requires {
                              { algorithm.place(cluster, requests) } -> std::same_as<const PlacementResult&>;
                          })
                return algorithm.place(cluster, requests);
            else
                return result = algorithm.place(cluster, requests);
        };
    if constexpr (KnowsTopology<Algorithm>)
        joint.lies_within = [](const void* part, const std::string& level, const Placement& placement) {
            return static_cast<bool>(static_cast<const Algorithm*>(part)->lies_within(level, placement));
        };
    if constexpr (requires(const Algorithm& algorithm) {
                      { algorithm.topology() } -> std::same_as<const Topology&>;
                  }) {
        joint.topology = [](const void* part) -> const Topology& {
            return static_cast<const Algorithm*>(part)->topology();
        };
        joint.find_domain_blocks = &detail::find_domain_blocks;
    }
    if constexpr (requires(std::optional<std::chrono::nanoseconds> time) { placer.set_time(time); })
        joint.set_time = [](void* part, std::optional<std::chrono::nanoseconds> time) {
            static_cast<Algorithm*>(part)->set_time(time);
        };
    if constexpr (requires(const Algorithm& algorithm, std::span<const Job> jobs,
                           std::vector<std::string>& warnings) { algorithm.warn(jobs, warnings); })
        joint.warn = [](const void* part, std::span<const Job> jobs, std::vector<std::string>& warnings) {
            static_cast<const Algorithm*>(part)->warn(jobs, warnings);
        };
    return joint;
}

/// Returns the joint of a solver.
template <class Solver>
[[nodiscard]] SolverJoint solver_joint(Solver& solver) {
    SolverJoint joint{.part = detail::part_of(solver)};
    if constexpr (AllotmentSolver<Solver>)
        joint.solve = [](void* part, const AllotmentProblem& problem, const AllotOptions& options,
                         AllotResult& result) { result = (*static_cast<Solver*>(part))(problem, options); };
    if constexpr (requires(const Solver& algorithm) {
                      { algorithm.keeps_idle() } -> std::convertible_to<bool>;
                  })
        joint.keeps_idle = [](const void* part) {
            return static_cast<bool>(static_cast<const Solver*>(part)->keeps_idle());
        };
    return joint;
}

/// Returns the joint of a station.
template <class Station>
[[nodiscard]] StationJoint station_joint(Station& station) {
    if constexpr (std::same_as<Station, NoNodeStation>) return {};
    StationJoint joint{.part = detail::part_of(station)};
    if constexpr (NodeStation<Station>)
        joint.run = [](void* part, const Round& round, const AllotmentProblem& problem,
                       std::span<PlacedJob> placed) {
            (*static_cast<Station*>(part))(round, problem, placed);
        };
    if constexpr (requires(std::optional<std::chrono::nanoseconds> time) { station.set_time(time); })
        joint.set_time = [](void* part, std::optional<std::chrono::nanoseconds> time) {
            static_cast<Station*>(part)->set_time(time);
        };
    if constexpr (KnowsRoom<Station>) {
        joint.has_room = [](void* part, const Configuration& configuration, const NodeShare& share) {
            return static_cast<bool>(static_cast<Station*>(part)->has_room(configuration, share));
        };
        joint.take = [](void* part, const Configuration& configuration, const Placement& placement) {
            static_cast<Station*>(part)->take(configuration, placement);
        };
    }
    return joint;
}

}  // namespace goodput::inline v0_1

#endif
