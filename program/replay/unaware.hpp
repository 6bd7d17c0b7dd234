#ifndef GOODPUT_PROGRAM_REPLAY_UNAWARE_HPP
#define GOODPUT_PROGRAM_REPLAY_UNAWARE_HPP

// What a policy would do that knows nothing of interruptions: it values goodput as if nodes never failed,
// while decisions still choose checkpoints. To compare with.

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace cli {

/// The policy `P`; if `unaware`, without what its options lose.
template <goodput::Policy P>
struct WithoutLosses {
    static constexpr bool rigid_jobs = goodput::runs_rigid_jobs<P>;
    static constexpr bool weights_count = false;  ///< the policy inside has counted them

    P policy{};
    bool unaware = false;

    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
        if (!unaware) return value_rows(policy, round, rows);
        std::vector<std::vector<goodput::Option>> options;
        std::vector<goodput::OptionRow> without;
        options.reserve(rows.size());
        for (const goodput::OptionRow& row : rows) {
            auto& its = options.emplace_back(row.options.begin(), row.options.end());
            for (goodput::Option& option : its) option.goodput /= option.checkpointing.availability;
            without.push_back({row.job, its, row.values, row.uses});
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
