#ifndef GOODPUT_PROGRAM_REPLAY_UNAWARE_HPP
#define GOODPUT_PROGRAM_REPLAY_UNAWARE_HPP

// A policy that knows nothing about interruptions, for comparison. It values goodput as if nodes never
// failed, while decisions still choose checkpoints.

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace cli {

/// The policy `P`. If `unaware`, it values options as if interruptions cost nothing.
template <goodput::Policy P>
struct WithoutLosses {
    static constexpr bool rigid_jobs = goodput::runs_rigid_jobs<P>;
    static constexpr bool weights_count = false;  ///< the inner policy has counted them

    P policy{};
    bool unaware = false;

    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
        if (!unaware) return value_rows(policy, round, rows);
        std::vector<std::vector<goodput::Option>> options;
        std::vector<goodput::OptionRow> without;
        options.reserve(rows.size());
        for (const goodput::OptionRow& row : rows) {
            auto& row_options = options.emplace_back(row.options.begin(), row.options.end());
            for (goodput::Option& option : row_options) option.goodput /= option.checkpointing.availability;
            without.push_back({row.job, row_options, row.values, row.uses});
        }
        value_rows(policy, round, std::span<const goodput::OptionRow>(without));
    }
    [[nodiscard]] int most_gpus(const goodput::Job& job, const goodput::JobModel& model,
                                std::size_t gpu_type) const requires goodput::GrowthLimit<P> {
        return policy.most_gpus(job, model, gpu_type);
    }
    [[nodiscard]] std::optional<goodput::GradientStatistics> expected_gradient(
        const goodput::Job& job) const requires goodput::GradientForecast<P> {
        return policy.expected_gradient(job);
    }
};

}  // namespace cli

#endif
