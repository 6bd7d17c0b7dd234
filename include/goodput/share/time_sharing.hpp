#ifndef GOODPUT_SHARE_TIME_SHARING_HPP
#define GOODPUT_SHARE_TIME_SHARING_HPP

// Time sharing as a policy: an objective says which part of the time every job should have on every GPU type
// (share/), and an option is worth how far its job is behind that. Giving GPUs to those who are owed most in
// sum, round after round, keeps what is owed bounded wherever the shares can be had at all (max-weight
// scheduling, Tassiulas and Ephremides 1992), so that in the long run everybody has his share. Gavel
// (OSDI'20, section 5) gives GPUs greedily, by share over received share.
//
// From shares of time to rounds: TimeSharing is a scheduler that keeps account of the time that every job
// should have had on every GPU type, and of the time that it did have there (Job::owed_seconds). Everything
// else is the Scheduler's: limits, placement, prices, explanations, drained nodes.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/policy/detail/work_left.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/share/share_time.hpp"

namespace goodput::inline v0_1 {

/// Values options by how much time on their GPU type the job is owed under the shares of an objective.
template <ShareObjective O = MaxMin>
struct TimeShares {
    /// Jobs run with the GPUs that their owners asked for.
    static constexpr bool rigid_jobs = true;
    static constexpr bool weights_count = false;  ///< the objective knows them

    O objective{};                  ///< what shares are good for
    double interval_seconds = 360;  ///< of a round, above 0: a share of it is owed in advance

    /// The shares of the round: a row's rate on a GPU type is the goodput of its first option there.
    [[nodiscard]] ShareResult shares_of(const Round& round, std::span<const OptionRow> rows) const {
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
        return share_time(problem, objective, {.gap = 1e-6});
    }

    /// GPU rounds that a job is owed on the option's type by the end of this one; next to nothing, by speed,
    /// where it is owed none, so that nothing idles.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        const ShareResult result = shares_of(round, rows);
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const OptionRow& row = rows[r];
            const double best = best_goodput(row.options);
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

/// What jobs are owed, by name.
class TimeAccounts {
public:
    /// Of rounds of about `interval_seconds`, above 0.
    explicit TimeAccounts(double interval_seconds = 360) : interval_seconds_(interval_seconds) {}

    /// Books what passed since the last call, then fills in Job::owed_seconds. A job that is not in the
    /// snapshot is forgotten.
    void settle(Snapshot& snapshot) {
        const double now = snapshot.time_seconds;
        const double passed = std::max(now - last_seconds_.value_or(now), 0.0);
        last_seconds_ = now;
        // What nobody else wanted is not held against those who had it: having more than one's share takes
        // nobody further below 0 than this. Who is below it stays there, however soon the next call comes.
        const double lowest = -most_ahead * std::max(interval_seconds_, passed);
        std::map<std::string, Account> kept;
        for (Job& job : snapshot.jobs) {
            Account account;
            if (const auto found = accounts_.find(job.name); found != accounts_.end())
                account = std::move(found->second);
            const std::size_t types = snapshot.cluster.gpu_types.size();
            account.owed.resize(types, 0);
            account.share.resize(types, 0);
            for (std::size_t t = 0; t < types; ++t) {
                const double before = account.owed[t];
                account.owed[t] += passed * account.share[t];
                if (account.held_type == t) account.owed[t] -= passed;
                account.owed[t] = std::max(account.owed[t], std::min(before, lowest));
            }
            job.owed_seconds = account.owed;
            kept.emplace(job.name, std::move(account));
        }
        accounts_ = std::move(kept);
    }
    /// Remembers the shares of the coming round, of all jobs of the snapshot, and who holds what in it.
    void note(const Snapshot& snapshot, const Plan& plan, const ShareResult& shares) {
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Account& account = accounts_[snapshot.jobs[j].name];
            account.share.assign(shares.of(j).begin(), shares.of(j).end());
            const Configuration& given = plan.decisions[j].option.configuration;
            account.held_type.reset();
            if (!given.empty()) account.held_type = given.first().gpu_type;
        }
    }

private:
    static constexpr double most_ahead = 3;  // rounds
    struct Account {
        std::vector<double> owed{}, share{};  // by GPU type
        std::optional<std::size_t> held_type{};
    };
    double interval_seconds_;
    std::map<std::string, Account> accounts_;
    std::optional<double> last_seconds_;
};

/// A scheduler of jobs of fixed size that have GPUs in turns, by the shares of an objective: a Planner.
template <ShareObjective O = MaxMin, OptionPredictor Predictor = GoodputPredictor>
class TimeSharing {
public:
    /// Rounds of `interval_seconds`, above 0.
    explicit TimeSharing(O objective = {}, double interval_seconds = 360, Predictor predictor = {},
                         AllotOptions options = {})
        : parts_{.policy = {std::move(objective), interval_seconds},
                 .options = options,
                 .predictor = std::move(predictor)},
          accounts_(interval_seconds) {
        require_positive("time sharing", "interval", interval_seconds);
    }

    /// The plan of the next round; valid until the next call. Refuses what Scheduler::plan does. A round ends
    /// when the next plan is asked for, and may be shorter or longer than the interval.
    const Plan& plan(const Snapshot& snapshot) & {
        snapshot_ = snapshot;
        accounts_.settle(snapshot_);
        const Plan& plan = engine_.plan(snapshot_, joints_of(parts_), parts_.options, [](PlanStep) {});
        std::vector<OptionRow> rows;
        for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j)
            rows.push_back({snapshot_.jobs[j], engine_.options_of(j), {}});
        accounts_.note(snapshot_, plan, parts_.policy.shares_of(engine_.round_of(snapshot_), rows));
        return plan;
    }
    /// The same of a value that is gone afterwards: the plan is the caller's.
    Plan plan(const Snapshot& snapshot) && { return plan(snapshot); }

private:
    SchedulerParts<TimeShares<O>, LeastMovesPlacer, Allotter<>, Predictor> parts_;
    RoundEngine engine_;
    TimeAccounts accounts_;
    Snapshot snapshot_;
};

}  // namespace goodput::inline v0_1

#endif
