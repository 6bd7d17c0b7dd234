#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_TIME_SHARED_ROUNDS_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_TIME_SHARED_ROUNDS_HPP

// The rounds in which Gavel (OSDI'20) turns shares of time into GPUs, as in its public simulator and in
// Shockwave's, which is built on it. Published, and kept:
//
// - Shares are computed anew when a job has come, has ended, or could not do anything (RoundRun::empty),
//   but not before `reset_seconds` have passed since the last time. The time that a job ran less than its
//   share until then is its deficit.
// - In every round, each GPU type in turn takes the jobs by priority. The priority is the job's share of
//   that type, divided by its fraction of the time that all jobs ran there since shares were computed. A
//   job that does not fit on the remaining GPUs is skipped.
// - A job without a computed share takes its turn, and its GPUs idle.
// - Running time counts once per job, however many GPUs it has, and each job begins with half a round.
// - Two jobs on the same GPUs take turns as an additional unit. The unit has its own share and deficit,
//   which count for neither job alone, and disappear with one of the jobs. A pair that did not exist when
//   shares were computed begins with no time instead of half a round, which then counts as a deficit.
//
// If no job can run because shares are old, and no more jobs will come, they are computed at once.

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"
#include "peers/gavel/kept_nodes.hpp"
#include "peers/gavel/python_random.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// A world whose jobs do steps in rounds with a fixed number of GPUs.
template <class W>
concept TimeSharedWorld = World<W> && requires(const W& world, std::size_t job, const std::string& name) {
    { world.index_of(name) } -> std::convertible_to<std::size_t>;
    { world.gpus(job) } -> std::convertible_to<int>;
    { world.weight(job) } -> std::convertible_to<double>;
    { world.rate(job, job) } -> std::convertible_to<double>;  // on a GPU type
    { world.steps_left(job) } -> std::convertible_to<double>;
    { world.last_run(job) } -> std::convertible_to<const RoundRun&>;
};

/// A world whose jobs may share GPUs, at known speeds.
template <class W>
concept PairedWorld = TimeSharedWorld<W> && requires(const W& world, std::size_t job) {
    { world.pair_rate(job, job, job) } -> std::convertible_to<double>;  // of the first job, with the second
};

/// Gavel uses 360 and 1920 s, Shockwave 120 and 1000 s.
struct TimeSharedRules {
    double interval_seconds = 360;  ///< longest time of a round
    double reset_seconds = 1920;    ///< shortest time from one computation of shares to the next
};

/// Plans these rounds in such a world. Considers pairs only if the policy asks for them, in a PairedWorld.
template <TimeSharedWorld W>
class TimeSharedRounds {
public:
    /// The caller keeps `world` alive.
    TimeSharedRounds(const W& world, SharePolicy policy, TimeSharedRules rules)
        : world_(&world), policy_(std::move(policy)), rules_(rules), is_known_(world.jobs().size()) {}

    /// Returns the jobs that run in the next round.
    const Plan& plan(const Snapshot& snapshot) {
        if (types_.empty()) look_at_types(snapshot.cluster);
        count_gpus(snapshot.cluster);
        close_round();
        std::vector<std::size_t> jobs;
        for (const Job& job : snapshot.jobs) jobs.push_back(world_->index_of(job.name));
        if (known_ == is_known_.size() && runs_.empty()) last_reset_ = 0;
        welcome(jobs);
        share(snapshot.time_seconds);
        choose();
        if (known_ == is_known_.size() && runs_.empty() && stale_) {
            last_reset_ = 0;
            share(snapshot.time_seconds);
            choose();
        }
        decide(snapshot, jobs);
        return plan_;
    }

private:
    /// The record of a unit on a GPU type.
    struct Account {
        double recent_seconds = 0;  ///< seconds run since shares were computed, plus half a round
        double deficit_seconds = 0;
        double share = 0;
        double priority = 0;
    };
    /// A single job, or two on the same GPUs, the earlier one first.
    struct Unit {
        std::size_t job = 0;  ///< by index in the world
        std::optional<std::size_t> partner{};
        bool has_share = false;
        std::vector<Account> accounts{};  ///< by GPU type, in the order of types_
    };
    struct Run {
        std::size_t unit = 0, type = 0;  // index into units_; index into types_
    };

    void look_at_types(const Cluster& cluster) {
        types_.resize(cluster.gpu_types.size());
        std::iota(types_.begin(), types_.end(), std::size_t{0});
        std::sort(types_.begin(), types_.end(),
                  [&](std::size_t a, std::size_t b) { return cluster.gpu_types[a] < cluster.gpu_types[b]; });
        question_.gpus.resize(types_.size());
        worked_.resize(types_.size());
    }
    void count_gpus(const Cluster& cluster) {
        std::fill(question_.gpus.begin(), question_.gpus.end(), 0);
        for (const Node& node : cluster.nodes)
            for (std::size_t t = 0; t < types_.size(); ++t)
                if (types_[t] == node.gpu_type && !node.drained) question_.gpus[t] += node.gpus;
    }

    /// Returns the steps per second of the unit's jobs on a type of types_. A single job's are returned
    /// twice.
    [[nodiscard]] std::array<double, 2> rates(const Unit& unit, std::size_t type) const {
        if constexpr (PairedWorld<W>)
            if (unit.partner)
                return {world_->pair_rate(unit.job, *unit.partner, types_[type]),
                        world_->pair_rate(*unit.partner, unit.job, types_[type])};
        const double alone = world_->rate(unit.job, types_[type]);
        return {alone, alone};
    }
    [[nodiscard]] bool can_run(const Unit& unit, std::size_t type) const {
        const auto [first, second] = rates(unit, type);
        return first > 0 && second > 0;
    }

    /// Records what the jobs of the last round did. Sums of time depend on the order: the job that ended
    /// last comes first.
    void close_round() {
        std::sort(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
            const Unit &first = units_[a.unit], &second = units_[b.unit];
            const double end_a = world_->last_run(first.job).end_seconds;
            const double end_b = world_->last_run(second.job).end_seconds;
            if (end_a != end_b) return end_a > end_b;
            return std::pair(first.partner.has_value(), first.job) <
                   std::pair(second.partner.has_value(), second.job);
        });
        for (const auto& [unit, type] : runs_) {
            const RoundRun& run = world_->last_run(units_[unit].job);
            stale_ |= run.empty;
            if (run.empty) continue;
            units_[unit].accounts[type].recent_seconds += run.ran_seconds;
            worked_[type] += run.ran_seconds;
        }
    }

    /// Removes jobs that have gone since the last round, and adds new ones.
    void welcome(std::span<const std::size_t> jobs) {
        std::vector<bool> there(is_known_.size());
        for (const std::size_t job : jobs) there[job] = true;
        stale_ |= std::erase_if(units_, [&](const Unit& unit) {
                      return !there[unit.job] || (unit.partner && !there[*unit.partner]);
                  }) > 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (is_known_[jobs[j]]) continue;
            is_known_[jobs[j]] = true;
            ++known_;
            stale_ = true;
            units_.push_back({.job = jobs[j]});
            units_.back().accounts.assign(types_.size(), {.recent_seconds = rules_.interval_seconds / 2});
            if (policy_.pairs) pair_up(jobs[j], jobs.first(j));
        }
    }
    /// Pairs the job with each of the earlier jobs.
    void pair_up(std::size_t job, std::span<const std::size_t> others) {
        for (const std::size_t other : others) {
            if (world_->gpus(other) != world_->gpus(job)) continue;
            Unit unit{.job = other, .partner = job, .accounts = std::vector<Account>(types_.size())};
            for (std::size_t t = 0; t < types_.size(); ++t) {
                if (!can_run(unit, t)) continue;
                units_.push_back(std::move(unit));
                break;
            }
        }
    }

    /// Computes shares, if it is time to.
    void share(double now) {
        const double passed = now - last_reset_;
        if (!stale_ || (last_reset_ != 0 && passed < rules_.reset_seconds)) return;
        const double half_a_round = rules_.interval_seconds / 2;
        std::fill(worked_.begin(), worked_.end(), 0);
        question_.jobs.clear();
        question_.pairs.clear();
        std::vector<std::size_t> row(is_known_.size());  // by job: index in the question
        for (Unit& unit : units_) {
            for (std::size_t t = 0; t < types_.size(); ++t) {
                Account& account = unit.accounts[t];
                account.deficit_seconds += account.share * passed - (account.recent_seconds - half_a_round);
                account.recent_seconds = half_a_round;
                worked_[t] += half_a_round;
            }
            unit.has_share = true;
            if (!unit.partner) {
                row[unit.job] = question_.jobs.size();
                ask_of(unit.job, now);
                continue;
            }
            SharePair& pair = question_.pairs.emplace_back();
            pair.jobs = {row[unit.job], row[*unit.partner]};
            for (std::size_t t = 0; t < types_.size(); ++t)
                pair.rates.push_back(can_run(unit, t) ? rates(unit, t) : std::array<double, 2>{});
        }
        last_reset_ = now;
        const Shares shares = policy_.shares(question_);
        std::size_t pair = question_.jobs.size();
        for (Unit& unit : units_) {
            const std::size_t row_of_unit = unit.partner ? pair++ : row[unit.job];
            for (std::size_t t = 0; t < types_.size(); ++t) unit.accounts[t].share = shares[row_of_unit][t];
        }
        stale_ = false;
    }
    void ask_of(std::size_t job, double now) {
        ShareJob& asked = question_.jobs.emplace_back(
            ShareJob{.job = job, .gpus = world_->gpus(job), .weight = world_->weight(job)});
        for (const std::size_t type : types_) asked.rates.push_back(world_->rate(job, type));
        asked.steps_left = world_->steps_left(job);
        asked.age_seconds = now - world_->jobs()[job].submitted_seconds;
    }

    /// Chooses the jobs that run, and their types.
    void choose() {
        std::vector<std::size_t> turns(types_.size());
        std::iota(turns.rbegin(), turns.rend(), std::size_t{0});  // v100, p100, k80
        if (policy_.shuffles_types) random_.shuffle(turns);
        runs_.clear();
        std::vector<std::size_t> order(units_.size());
        std::vector<bool> taken(is_known_.size());
        for (const std::size_t t : turns) {
            for (Unit& unit : units_) set_priority(unit, t);
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                const auto key = [&](const Account& account) {
                    return std::tuple(account.priority, account.deficit_seconds, account.share);
                };
                return key(units_[a].accounts[t]) > key(units_[b].accounts[t]);
            });
            int left = question_.gpus[t];
            for (const std::size_t u : order) {
                if (left == 0) break;
                const Unit& unit = units_[u];
                if (taken[unit.job] || (unit.partner && taken[*unit.partner]) || !can_run(unit, t)) continue;
                if (!policy_.fills_gaps && unit.accounts[t].priority <= 0) continue;
                if (world_->gpus(unit.job) > left) {
                    if (policy_.stops) break;
                    continue;
                }
                left -= world_->gpus(unit.job);
                taken[unit.job] = true;
                if (unit.partner) taken[*unit.partner] = true;
                if (unit.has_share) runs_.push_back({u, t});
            }
        }
    }
    void set_priority(Unit& unit, std::size_t type) {
        Account& account = unit.accounts[type];
        if (account.share == 0 || !can_run(unit, type))
            account.priority = 0;
        else if (account.recent_seconds > 0 && worked_[type] > 0)
            account.priority = account.share / (account.recent_seconds / worked_[type]);
        else
            account.priority = account.share * 1e9;
    }

    void decide(const Snapshot& snapshot, const std::vector<std::size_t>& jobs) {
        plan_ = {};
        plan_.decisions.resize(jobs.size());
        wanted_.assign(jobs.size(), {});
        std::vector<std::size_t> position(is_known_.size());
        for (std::size_t j = 0; j < jobs.size(); ++j) position[jobs[j]] = j;
        for (const auto& [u, type] : runs_) {
            const Unit& unit = units_[u];
            const std::size_t first = position[unit.job];
            wanted_[first] = {world_->gpus(unit.job), types_[type]};
            const auto [rate, other_rate] = rates(unit, type);
            plan_.decisions[first].option.goodput = rate;
            if (!unit.partner) continue;
            const std::size_t second = position[*unit.partner];
            plan_.decisions[first].shares_with = second;
            plan_.decisions[second].shares_with = first;
            plan_.decisions[second].option.goodput = other_rate;
        }
        place_on_kept_nodes(snapshot, wanted_, plan_);
        for (const Unit& unit : units_) {
            if (unit.partner) continue;
            Decision& decision = plan_.decisions[position[unit.job]];
            if (decision.placement.empty())
                decision.verdict = {Outcome::waits, unit.has_share ? "others come before it by their shares"
                                                                   : "it has no share yet"};
        }
    }

    const W* world_;
    SharePolicy policy_;
    TimeSharedRules rules_;
    std::vector<bool> is_known_;      // by job of the world
    std::size_t known_ = 0;           // number of jobs that have come
    std::vector<Unit> units_;         // present jobs in the order in which they came, each before its pairs
    std::vector<std::size_t> types_;  // types of the cluster, by name
    std::vector<double> worked_;      // by type: sum of recent_seconds, including what they began with
    std::vector<Run> runs_;           // runs of the last round
    double last_reset_ = 0;           // 0 if never
    bool stale_ = true;
    PythonRandom random_{5};
    ShareQuestion question_;
    std::vector<WantedGpus> wanted_;
    Plan plan_;
};

}  // namespace goodput::peers

#endif
