#ifndef GOODPUT_EXAMPLES_CLI_ANY_POLICY_HPP
#define GOODPUT_EXAMPLES_CLI_ANY_POLICY_HPP

// Policies of all kinds behind one type, so that one replay a modelling is compiled and not one a policy,
// too. A round costs one indirect call more, and one for every job and GPU type.

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "goodput/policy/concepts.hpp"

namespace cli {

template <bool Rigid>
struct AnyPolicy {
    static constexpr bool rigid_jobs = Rigid;

    std::function<void(const goodput::Round&, std::span<const goodput::Row>)> values{};
    std::function<int(const goodput::Job&, const goodput::JobModel&, std::size_t)> limit{};  ///< empty: none

    std::function<std::optional<goodput::GradientStatistics>(const goodput::Job&)>
        forecast{};  ///< empty: as now

    void value_round(const goodput::Round& round, std::span<const goodput::Row> rows) const {
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

template <goodput::Policy P>
AnyPolicy<goodput::runs_rigid_jobs<P>> any_policy(const P& policy) {
    AnyPolicy<goodput::runs_rigid_jobs<P>> any;
    any.values = [policy](const goodput::Round& round, std::span<const goodput::Row> rows) {
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
