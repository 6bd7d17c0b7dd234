#ifndef GOODPUT_SHARE_TIME_SHARING_HPP
#define GOODPUT_SHARE_TIME_SHARING_HPP

// Time sharing as a policy. An objective says what fraction of the time every job should have on every GPU
// type (its shares; share/), and the value of an option is how far its job is behind them. Serving in each
// round the set of jobs that is owed the most in total keeps all debts bounded, if the shares can be
// realised at all (max-weight scheduling, Tassiulas and Ephremides 1992). So every job gets its share in
// the long run. Gavel (OSDI'20, section 5) gives GPUs greedily instead, in the order of share divided by
// the time received.
//
// TimeSharing is a scheduler that turns shares of time into rounds. It keeps account of the time that every
// job should have had on every GPU type, and of the time that it did have there (Job::owed_seconds).
// The Scheduler does everything else: limits, placement, prices, explanations, drained nodes.

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
    static constexpr bool weights_count = false;  ///< false: the objective counts weights itself

    O objective{};                  ///< what the shares should optimise
    double interval_seconds = 360;  ///< length of a round, above 0; a round's shares are owed at its start

    /// Returns the shares of the round. A job's rate on a GPU type is the goodput of its first option
    /// there.
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

    /// Sets the value of an option to the GPU rounds that its job is owed on the option's type by the end
    /// of this round. A tiny amount in proportion to the goodput is added, so that GPUs do not idle when no
    /// job is owed time on them.
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
    static constexpr double leftover_worth = 1e-3;  // in rounds, for the job's fastest option
};

static_assert(RoundPolicy<TimeShares<>>);

/// Accounts of the time that jobs are owed, by job name.
class TimeAccounts {
public:
    /// For rounds of about `interval_seconds`, above 0.
    explicit TimeAccounts(double interval_seconds = 360) : interval_seconds_(interval_seconds) {}

    /// Books the time since the last call, then fills in Job::owed_seconds. Forgets jobs that are not in
    /// the snapshot.
    void settle(Snapshot& snapshot) {
        const double now = snapshot.time_seconds;
        const double passed = std::max(now - last_seconds_.value_or(now), 0.0);
        last_seconds_ = now;
        // A job should not be punished for using time that no other job wanted, so time beyond its share
        // lowers its account at most to this value. An account that is lower already stays where it is: the
        // value depends on the time that has passed, so it may have been lower in an earlier call.
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
    /// Remembers the shares of the coming round for all jobs of the snapshot, and which GPU type each job
    /// holds.
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
    static constexpr double most_ahead = 3;  // rounds by which an account may be below 0
    struct Account {
        std::vector<double> owed{}, share{};  // by GPU type
        std::optional<std::size_t> held_type{};
    };
    double interval_seconds_;
    std::map<std::string, Account> accounts_;
    std::optional<double> last_seconds_;
};

/// Schedules jobs of fixed size that take turns on GPUs, by the shares of an objective. It is a Planner.
template <ShareObjective O = MaxMin, OptionPredictor Predictor = GoodputPredictor>
class TimeSharing {
public:
    /// Rounds take `interval_seconds`, above 0.
    explicit TimeSharing(O objective = {}, double interval_seconds = 360, Predictor predictor = {},
                         AllotOptions options = {})
        : parts_{.policy = {std::move(objective), interval_seconds},
                 .options = options,
                 .predictor = std::move(predictor)},
          accounts_(interval_seconds) {
        require_positive("time sharing", "interval", interval_seconds);
    }

    /// Returns the plan of the next round, which is valid until the next call. Refuses the same input as
    /// Scheduler::plan. A round ends when the next plan is asked for, so it may be shorter or longer than
    /// the interval.
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
    /// The same for a temporary scheduler: the caller owns the plan.
    Plan plan(const Snapshot& snapshot) && { return plan(snapshot); }

private:
    SchedulerParts<TimeShares<O>, LeastMovesPlacer, Allotter<>, Predictor> parts_;
    RoundEngine engine_;
    TimeAccounts accounts_;
    Snapshot snapshot_;
};

}  // namespace goodput::inline v0_1

#endif
