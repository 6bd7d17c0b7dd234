#ifndef GOODPUT_SHARE_TIME_SHARES_HPP
#define GOODPUT_SHARE_TIME_SHARES_HPP

// Time sharing as a policy: an objective says which part of the time every job should have on every GPU type
// (share/), and an option is worth how far its job is behind that. Giving GPUs to those who are owed most in
// sum, round after round, keeps what is owed bounded wherever the shares can be had at all (max-weight
// scheduling, Tassiulas and Ephremides 1992), so that in the long run everybody has his share. Gavel
// (OSDI'20, section 5) gives GPUs greedily, by share over received share.
//
// What a job is owed is in Job::owed_seconds; TimeSharing (share/time_sharing.hpp) keeps account of it.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/work_left.hpp"
#include "goodput/share/share_time.hpp"

namespace goodput {

/// The shares of a round, by the names of its jobs: fractions of time by GPU type.
using RoundShares = std::map<std::string, std::vector<double>>;

/// Values options by how much time on their GPU type the job is owed under the shares of an objective.
template <ShareObjective O = MaxMin>
struct TimeShares {
    /// Jobs run with the GPUs that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< the objective knows them

    O objective{};                  ///< what shares are good for
    double interval_seconds = 360;  ///< of a round, above 0: a share of it is owed in advance
    RoundShares* shares = nullptr;  ///< where the shares of the last round go, if anywhere

    /// The problem of the round's shares: a row's rate on a GPU type is the goodput of its first option
    /// there.
    [[nodiscard]] static ShareProblem problem_of(const Round& round, std::span<const OptionRow> rows) {
        ShareProblem problem;
        problem.gpus.assign(round.cluster.gpu_types.size(), 0);
        for (const Pool& pool : round.pools) problem.gpus[pool.gpu_type] += pool.gpus();
        for (const OptionRow& row : rows) {
            ShareJob job{.name = row.job.name, .workers = row.job.max_gpus, .weight = row.job.weight};
            job.rates.assign(problem.types(), 0);
            for (const Option& option : row.options) {
                double& rate = job.rates[option.configuration.first().gpu_type];
                if (rate == 0) rate = std::max(option.goodput, 0.0);
            }
            job.steps_left = row.job.remaining_examples.value_or(0);
            job.age_seconds = round.age_of(row.job);
            problem.jobs.push_back(std::move(job));
        }
        return problem;
    }

    /// GPU rounds that a job is owed on the option's type by the end of this one; next to nothing, by speed,
    /// where it is owed none, so that nothing idles.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const ShareProblem problem = problem_of(round, rows);
        const ShareResult result = share_time(problem, objective, {.gap = 1e-6});
        if (shares != nullptr) shares->clear();
        for (std::size_t r = 0; r < rows.size() && shares != nullptr; ++r)
            (*shares)[rows[r].job.name].assign(result.of(r).begin(), result.of(r).end());
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const OptionRow& row = rows[r];
            const double best = detail::best_goodput(row);
            for (std::size_t k = 0; k < row.options.size(); ++k) {
                const Option& option = row.options[k];
                const std::size_t type = option.configuration.first().gpu_type;
                row.values[k] = 0;
                if (option.goodput <= 0) continue;
                const double owed = type < row.job.owed_seconds.size() ? row.job.owed_seconds[type] : 0;
                const double rounds = owed / interval_seconds + result.of(r)[type];
                row.values[k] = option.configuration.gpus() *
                                (std::max(rounds, 0.0) + leftover_worth * option.goodput / best);
            }
        }
    }

private:
    static constexpr double leftover_worth = 1e-3;  // of a round
};

static_assert(RoundPolicy<TimeShares<>>);

}  // namespace goodput

#endif
