#ifndef GOODPUT_SHARE_TIME_SHARING_HPP
#define GOODPUT_SHARE_TIME_SHARING_HPP

// From shares of time to rounds: a scheduler that keeps account of the time that every job should have had on
// every GPU type, and of the time that it did have there. Everything else is the Scheduler's: limits,
// placement, prices, explanations, drained nodes.

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/share/time_shares.hpp"

namespace goodput {

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
    /// Remembers the shares of the coming round and who holds what in it.
    void note(const Snapshot& snapshot, const Plan& plan, const RoundShares& shares) {
        for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
            Account& account = accounts_[snapshot.jobs[j].name];
            const auto found = shares.find(snapshot.jobs[j].name);
            account.share.clear();
            if (found != shares.end()) account.share = found->second;
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
        : shares_(std::make_unique<RoundShares>()),
          scheduler_(TimeShares<O>{std::move(objective), interval_seconds, shares_.get()}, options, {}, {},
                     std::move(predictor)),
          accounts_(interval_seconds) {
        require_positive("time sharing", "interval", interval_seconds);
    }

    /// The plan of the next round; valid until the next call. Refuses what Scheduler::plan does. A round ends
    /// when the next plan is asked for, and may be shorter or longer than the interval.
    const Plan& plan(const Snapshot& snapshot) {
        snapshot_ = snapshot;
        accounts_.settle(snapshot_);
        const Plan& plan = scheduler_.plan(snapshot_);
        accounts_.note(snapshot_, plan, *shares_);
        return plan;
    }

private:
    std::unique_ptr<RoundShares> shares_;  // of the last plan, where the policy leaves them
    Scheduler<TimeShares<O>, LeastMovesPlacer, Allotter<>, Predictor> scheduler_;
    TimeAccounts accounts_;
    Snapshot snapshot_;
};

}  // namespace goodput

#endif
