#ifndef GOODPUT_PROGRAM_REPLAY_REPLAYED_POLICY_HPP
#define GOODPUT_PROGRAM_REPLAY_REPLAYED_POLICY_HPP

// A policy as a replay runs it: with ties between equal values broken by a seed, and, for comparison, without
// its knowledge of interruptions. A seed changes the value of every option that is worth something by at most
// a millionth, drawn from the seed, the job's name and the allotment. Other values keep their order unless
// they differ by less than that.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/policy/concepts.hpp"

namespace cli {

namespace detail {

/// Spreads the bits of a number (the finaliser of splitmix64).
inline std::uint64_t mixed(std::uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
}

}  // namespace detail

/// The policy `P` with ties broken by `seed`. With 0, ties follow the order of jobs and options. If
/// `unaware`, it values options as if interruptions cost nothing, while decisions still choose checkpoints.
template <goodput::Policy P>
struct ReplayedPolicy {
    static constexpr bool rigid_jobs = goodput::runs_rigid_jobs<P>;
    static constexpr bool weights_count = false;  ///< the values of `policy` have counted them

    P policy{};
    bool unaware = false;
    std::uint64_t seed = 0;

    void value_round(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
        value_all(round, rows);
        if (seed == 0) return;
        for (const goodput::OptionRow& row : rows) {
            std::uint64_t of_job = detail::mixed(seed);
            for (const char letter : row.job.name)
                of_job = detail::mixed(of_job ^ static_cast<unsigned char>(letter));
            for (std::size_t k = 0; k < row.options.size(); ++k) {
                if (!(row.values[k] > 0)) continue;
                const goodput::Configuration& configuration = row.options[k].configuration;
                std::uint64_t draw = detail::mixed(of_job ^ configuration.first().gpu_type);
                draw = detail::mixed(draw ^ static_cast<std::uint64_t>(configuration.first().gpus_per_node));
                if (configuration.first().spot) draw = detail::mixed(draw);
                draw = detail::mixed(draw ^ static_cast<std::uint64_t>(configuration.first().shape.nodes));
                draw = detail::mixed(draw ^ static_cast<std::uint64_t>(configuration.gpus()));
                const double unit = static_cast<double>(draw >> 11) * 0x1.0p-53;
                row.values[k] *= 1 + 1e-6 * (2 * unit - 1);
            }
        }
    }

    [[nodiscard]] int most_gpus(const goodput::Job& job, const goodput::JobModel& model,
                                std::size_t gpu_type) const requires goodput::GrowthLimit<P> {
        return policy.most_gpus(job, model, gpu_type);
    }
    [[nodiscard]] std::optional<goodput::GradientStatistics> expected_gradient(
        const goodput::Job& job) const requires goodput::GradientForecast<P> {
        return policy.expected_gradient(job);
    }

private:
    void value_all(const goodput::Round& round, std::span<const goodput::OptionRow> rows) const {
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
};

}  // namespace cli

#endif
