#ifndef GOODPUT_EXAMPLES_CLI_ANY_POLICY_HPP
#define GOODPUT_EXAMPLES_CLI_ANY_POLICY_HPP

// Policies of all kinds behind one type, so that one replay a modelling is compiled and not one a policy,
// too. A round costs one indirect call more, and one for every job and GPU type.

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace cli {

/// `ByJob`: values jobs one by one, as an explanation would like to know; else a round at a time.
template <bool Rigid, bool ByJob = false>
struct AnyPolicy {
    static constexpr bool rigid_jobs = Rigid;
    static constexpr bool weights_count = false;  ///< the policy inside has counted them

    std::function<void(const goodput::Round&, std::span<const goodput::OptionRow>)> values{};
    std::function<int(const goodput::Job&, const goodput::JobModel&, std::size_t)> limit{};  ///< empty: none

    std::function<std::optional<goodput::GradientStatistics>(const goodput::Job&)>
        forecast{};  ///< empty: as now

    void value_row(const goodput::Round& round, const goodput::Job& job,
                   std::span<const goodput::Option> options, std::span<double> out) const requires ByJob {
        const goodput::OptionRow row{job, options, out};
        values(round, {&row, 1});
    }
    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const
        requires(!ByJob) {
        values(round, rows);
    }
    [[nodiscard]] int most_gpus(const goodput::Job& job, const goodput::JobModel& model,
                                std::size_t gpu_type) const {
        return limit ? limit(job, model, gpu_type) : std::numeric_limits<int>::max();
    }
    [[nodiscard]] std::optional<goodput::GradientStatistics> expected_gradient(
        const goodput::Job& job) const {
        return forecast ? forecast(job) : job.gradient;
    }
};

/// Whatever plans behind one type, so that one replay a world is compiled.
struct AnyPlanner {
    std::function<const goodput::Plan&(const goodput::Snapshot&)> planner{};
    const goodput::Plan& plan(const goodput::Snapshot& snapshot) { return planner(snapshot); }
};
template <class Planner>
AnyPlanner any_planner(Planner planner) {
    return {[kept = std::make_shared<Planner>(std::move(planner))](
                const goodput::Snapshot& snapshot) -> const goodput::Plan& { return kept->plan(snapshot); }};
}

/// A policy behind such a type, as it is (`ByJob` only where it values jobs one by one).
template <bool ByJob = false, goodput::Policy P>
requires(!ByJob ||
         !goodput::RoundPolicy<P>) AnyPolicy<goodput::runs_rigid_jobs<P>, ByJob> any_policy(const P& policy) {
    AnyPolicy<goodput::runs_rigid_jobs<P>, ByJob> any;
    any.values = [policy](const goodput::Round& round, std::span<const goodput::OptionRow> rows) {
        goodput::value_rows(policy, round, rows);
    };
    if constexpr (goodput::GrowthLimit<P>)
        any.limit = [policy](const goodput::Job& job, const goodput::JobModel& model, std::size_t gpu_type) {
            return static_cast<int>(policy.most_gpus(job, model, gpu_type));
        };
    if constexpr (goodput::GradientForecast<P>)
        any.forecast = [policy](const goodput::Job& job) { return policy.expected_gradient(job); };
    return any;
}

}  // namespace cli

#endif
