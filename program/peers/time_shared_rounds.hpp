#ifndef GOODPUT_EXAMPLES_CLI_PEERS_TIME_SHARED_ROUNDS_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_TIME_SHARED_ROUNDS_HPP

// The rounds by which Gavel (OSDI'20) turns shares of time into GPUs, as in its public simulator and in
// Shockwave's, which is built on it. Published, and kept:
//
//   Shares are computed anew when a job has come, has ended, or could not do anything (RoundRun::empty), but
//   not before `reset_seconds` have passed since the last time. What a job ran more or less than its share
//   until then is its deficit.
//   In every round each GPU type in turn takes the jobs by priority: the job's share of that type over the
//   part that it had of what all jobs ran there since shares were computed. A job that there are too few
//   GPUs for is skipped.
//   A job that no shares were computed for yet takes its turn, and its GPUs idle.
//   Time that jobs run counts once a job, however many GPUs it has; each begins with half a round.
//
// If nobody can run because shares are old and nobody is to come any more, they are computed at once.

#include <algorithm>
#include <cstddef>
#include <numeric>
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
#include "peers/kept_nodes.hpp"
#include "peers/python_random.hpp"
#include "peers/share_question.hpp"

namespace goodput::peers {

/// A world whose jobs do steps in rounds with a fixed number of GPUs.
template <class W>
concept TimeSharedWorld = World<W> && requires(const W& world, std::size_t job, const std::string& name) {
    { world.index_of(name) } -> std::convertible_to<std::size_t>;
    { world.gpus(job) } -> std::convertible_to<int>;
    { world.weight(job) } -> std::convertible_to<double>;
    { world.rate(job, job) } -> std::convertible_to<double>;  // of a GPU type
    { world.steps_left(job) } -> std::convertible_to<double>;
    { world.last_run(job) } -> std::convertible_to<const RoundRun&>;
};

/// Gavel's are 360 and 1920 s, Shockwave's 120 and 1000.
struct TimeSharedRules {
    double interval_seconds = 360;  ///< of a round, at most
    double reset_seconds = 1920;    ///< from one computation of shares to the next, at least
};

/// Those rounds: a Planner of such a world.
template <TimeSharedWorld W>
class TimeSharedRounds {
public:
    /// `world` has to outlive it.
    TimeSharedRounds(const W& world, SharePolicy policy, TimeSharedRules rules)
        : world_(&world), policy_(std::move(policy)), rules_(rules), joined_(world.jobs().size()) {}

    /// Who runs in the next round.
    const Plan& plan(const Snapshot& snapshot) {
        if (types_.empty()) look_at_types(snapshot.cluster);
        count_gpus(snapshot.cluster);
        close_round();
        std::vector<std::size_t> jobs;
        for (const Job& job : snapshot.jobs) jobs.push_back(world_->index_of(job.name));
        if (known_ == joined_.size() && runs_.empty()) last_reset_ = 0;
        welcome(jobs);
        share(snapshot.time_seconds, jobs);
        choose(jobs);
        if (known_ == joined_.size() && runs_.empty() && stale_) {
            last_reset_ = 0;
            share(snapshot.time_seconds, jobs);
            choose(jobs);
        }
        active_ = jobs.size();
        decide(snapshot, jobs);
        return plan_;
    }

private:
    /// What is kept of a job on a GPU type.
    struct Account {
        double recent_seconds = 0;  ///< run since shares were computed, and half a round
        double deficit_seconds = 0;
        double share = 0;
        double priority = 0;
    };
    struct Joined {
        bool known = false;
        bool has_share = false;
        std::vector<Account> of{};  // by GPU type, in the order of types_
    };
    struct Run {
        std::size_t job = 0, type = 0;  // of the world; of types_
    };

    void look_at_types(const Cluster& cluster) {
        types_.resize(cluster.gpu_types.size());
        std::iota(types_.begin(), types_.end(), std::size_t{0});
        std::sort(types_.begin(), types_.end(),
                  [&](std::size_t a, std::size_t b) { return cluster.gpu_types[a] < cluster.gpu_types[b]; });
        for (const std::size_t type : types_) question_.gpu_types.push_back(cluster.gpu_types[type]);
        question_.gpus.resize(types_.size());
        worked_.resize(types_.size());
    }
    void count_gpus(const Cluster& cluster) {
        std::fill(question_.gpus.begin(), question_.gpus.end(), 0);
        for (const Node& node : cluster.nodes)
            for (std::size_t t = 0; t < types_.size(); ++t)
                if (types_[t] == node.gpu_type && !node.drained) question_.gpus[t] += node.gpus;
    }

    /// Books what those did who ran. Sums of time depend on the order: who ended last comes first.
    void close_round() {
        std::sort(runs_.begin(), runs_.end(), [&](const Run& a, const Run& b) {
            const double end_a = world_->last_run(a.job).end_seconds;
            const double end_b = world_->last_run(b.job).end_seconds;
            return end_a != end_b ? end_a > end_b : a.job < b.job;
        });
        for (const auto& [job, type] : runs_) {
            const RoundRun& run = world_->last_run(job);
            stale_ |= run.empty;
            if (run.empty) continue;
            joined_[job].of[type].recent_seconds += run.ran_seconds;
            worked_[type] += run.ran_seconds;
        }
    }

    /// Those who have come and gone since the last round.
    void welcome(std::span<const std::size_t> jobs) {
        std::size_t stayed = 0;
        for (const std::size_t job : jobs) {
            Joined& joined = joined_[job];
            if (joined.known) {
                ++stayed;
                continue;
            }
            joined.known = true;
            joined.of.assign(types_.size(), {.recent_seconds = rules_.interval_seconds / 2});
            ++known_;
        }
        stale_ |= stayed < active_ || stayed < jobs.size();
    }

    /// Computes shares, if it is time to.
    void share(double now, std::span<const std::size_t> jobs) {
        const double passed = now - last_reset_;
        if (!stale_ || (last_reset_ != 0 && passed < rules_.reset_seconds)) return;
        const double half_a_round = rules_.interval_seconds / 2;
        std::fill(worked_.begin(), worked_.end(), 0);
        question_.jobs.clear();
        for (const std::size_t job : jobs) {
            for (std::size_t t = 0; t < types_.size(); ++t) {
                Account& account = joined_[job].of[t];
                account.deficit_seconds += account.share * passed - (account.recent_seconds - half_a_round);
                account.recent_seconds = half_a_round;
                worked_[t] += half_a_round;
            }
            ShareJob& asked = question_.jobs.emplace_back(
                ShareJob{.job = job, .gpus = world_->gpus(job), .weight = world_->weight(job)});
            for (const std::size_t type : types_) asked.rates.push_back(world_->rate(job, type));
            asked.steps_left = world_->steps_left(job);
            asked.age_seconds = now - world_->jobs()[job].submitted_seconds;
        }
        last_reset_ = now;
        const Shares shares = policy_.shares(question_);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            joined_[jobs[j]].has_share = true;
            for (std::size_t t = 0; t < types_.size(); ++t) joined_[jobs[j]].of[t].share = shares[j][t];
        }
        stale_ = false;
    }

    /// Who runs, and on which type.
    void choose(std::span<const std::size_t> jobs) {
        std::vector<std::size_t> turns(types_.size());
        std::iota(turns.rbegin(), turns.rend(), std::size_t{0});  // v100, p100, k80
        if (policy_.shuffles_types) random_.shuffle(turns);
        runs_.clear();
        std::vector<std::size_t> order;
        std::vector<bool> taken(joined_.size());
        for (const std::size_t t : turns) {
            const auto account = [&](std::size_t job) -> Account& { return joined_[job].of[t]; };
            for (const std::size_t job : jobs) set_priority(job, t);
            order.assign(jobs.begin(), jobs.end());
            std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                const auto key = [&](const Account& of) {
                    return std::tuple(of.priority, of.deficit_seconds, of.share);
                };
                return key(account(a)) > key(account(b));
            });
            int left = question_.gpus[t];
            for (const std::size_t job : order) {
                if (left == 0) break;
                if (taken[job] || !(world_->rate(job, types_[t]) > 0)) continue;
                if (!policy_.fills_gaps && account(job).priority <= 0) continue;
                if (world_->gpus(job) > left) {
                    if (policy_.stops) break;
                    continue;
                }
                left -= world_->gpus(job);
                taken[job] = true;
                if (joined_[job].has_share) runs_.push_back({job, t});
            }
        }
    }
    void set_priority(std::size_t job, std::size_t type) {
        Account& account = joined_[job].of[type];
        if (account.share == 0 || !(world_->rate(job, types_[type]) > 0))
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
        std::vector<std::size_t> position(joined_.size());
        for (std::size_t j = 0; j < jobs.size(); ++j) position[jobs[j]] = j;
        for (const auto& [job, type] : runs_) wanted_[position[job]] = {world_->gpus(job), types_[type]};
        place_on_kept_nodes(snapshot, wanted_, plan_);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            Decision& decision = plan_.decisions[j];
            if (!decision.placement.empty())
                decision.option.goodput = world_->rate(jobs[j], wanted_[j].gpu_type);
            else
                decision.verdict = {Outcome::waits, joined_[jobs[j]].has_share
                                                        ? "others come before it by their shares"
                                                        : "it has no share yet"};
        }
    }

    const W* world_;
    SharePolicy policy_;
    TimeSharedRules rules_;
    std::vector<Joined> joined_;      // by job of the world
    std::size_t known_ = 0;           // of them
    std::size_t active_ = 0;          // in the last round
    std::vector<std::size_t> types_;  // of the cluster, by name
    std::vector<double> worked_;      // by type: what recent_seconds began with and came to since
    std::vector<Run> runs_;           // of the last round
    double last_reset_ = 0;           // 0: none
    bool stale_ = true;
    PythonRandom random_{5};
    ShareQuestion question_;
    std::vector<WantedGpus> wanted_;
    Plan plan_;
};

}  // namespace goodput::peers

#endif
