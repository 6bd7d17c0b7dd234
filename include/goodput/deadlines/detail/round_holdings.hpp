#ifndef GOODPUT_DEADLINES_DETAIL_ROUND_HOLDINGS_HPP
#define GOODPUT_DEADLINES_DETAIL_ROUND_HOLDINGS_HPP

// The GPUs that jobs hold in a round, and how long they keep these GPUs, as promises see it. A job keeps its
// GPUs for a time if it cannot be moved, or is in the middle of a restart, or shares them with such a job.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Multiplies all speeds of a job.
inline void slow_down(DeadlineJob& job, double part) {
    for (std::vector<double>& speeds : job.speed)
        for (double& speed : speeds) speed *= part;
    for (SpeedWith& size : job.other_sizes) size.speed *= part;
}

/// If two jobs hold the same GPUs, makes one of them hold the GPUs for both, as promises see it: the job
/// with a deadline, or else the first. That job cannot be moved if the other one cannot.
inline void hold_once(Snapshot& snapshot, const std::array<std::size_t, 2>& jobs,
                      std::span<const Deadline> deadlines) {
    const auto is_due = [&](std::size_t job) {
        return std::ranges::count(deadlines, job, &Deadline::job) > 0;
    };
    auto [holder, other] = jobs;
    if (is_due(other) && !is_due(holder)) std::swap(holder, other);
    Job& holds = snapshot.jobs[holder];
    holds.preemptible &= snapshot.jobs[other].preemptible;
    holds.restarting |= snapshot.jobs[other].restarting;
    snapshot.jobs[other].placement.clear();
}

/// Returns whether a job cannot be moved now, not even for a promise. A minimum run time does not count,
/// because promises come before it.
[[nodiscard]] inline bool is_held_in_place(const Job& job) {
    return !job.placement.empty() && (!job.preemptible || job.restarting);
}

/// Remembers from round to round when restarts began, and which jobs can be moved.
class RoundHoldings {
public:
    double round_seconds = 60;       ///< time until the next round
    std::vector<NodeTimes> times{};  ///< by node: when it is announced to exist; empty: all the time

    /// Begins a round. `check` has made `checked` from the snapshot; both must outlive the round.
    void begin(const Snapshot& checked, const SnapshotCheck& check, std::span<const SharingJobs> sharing) {
        checked_ = &checked;
        check_ = &check;
        sharing_ = sharing;
        std::set<std::string> names;
        for (const Job& job : checked.jobs) {
            names.insert(job.name);
            if (job.restarting) began_.try_emplace(job.name, checked.time_seconds - round_seconds);
        }
        std::erase_if(began_, [&](const auto& began) { return !names.contains(began.first); });
    }
    /// Forgets a job whose name now belongs to another job.
    void forget(const std::string& name) { began_.erase(name); }
    /// Remembers what a plan for these jobs orders.
    void end(const std::vector<Job>& jobs, const Plan& plan) {
        movable_.clear();
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const std::string& name = jobs[j].name;
            if (!check_->is_set_aside(j) && jobs[j].preemptible) movable_.insert(name);
            if (plan.decisions[j].starts)
                began_[name] = checked_->time_seconds;
            else if (plan.decisions[j].placement.empty())
                began_.erase(name);
        }
    }

    /// Returns the seconds until a restarting job works again.
    [[nodiscard]] double restart_left(std::size_t j) const {
        const Job& job = checked_->jobs[j];
        const auto began = began_.find(job.name);
        if (began == began_.end()) return 0;
        return std::max(0.0, began->second + job.restart_cost_seconds - checked_->time_seconds);
    }
    /// Returns the seconds of restart that a job has ahead of it once this decision is carried out.
    [[nodiscard]] double restart_after(std::size_t j, const Decision& decision) const {
        return decision.starts              ? checked_->jobs[j].restart_cost_seconds
               : decision.placement.empty() ? 0
                                            : restart_left(j);
    }
    /// Returns the seconds until neither a job nor the job that shares its GPUs is restarting.
    [[nodiscard]] double restart_left_here(std::size_t j) const {
        const auto partner = partner_of(j);
        return std::max(restart_left(j), partner ? restart_left(*partner) : 0);
    }

    [[nodiscard]] bool is_set_aside(std::size_t j) const { return check_->is_set_aside(j); }
    /// Returns whether a job that could be moved in the round before is now set aside (as invalid). Such a
    /// job is assumed to be valid again in the next round.
    [[nodiscard]] bool comes_back(std::size_t j) const {
        return check_->is_set_aside(j) && movable_.contains(checked_->jobs[j].name);
    }
    /// Returns whether a job cannot be stopped before it ends. One that is set aside for this round alone
    /// can be stopped in the next.
    [[nodiscard]] bool is_bound(std::size_t j) const {
        return !checked_->jobs[j].preemptible && !comes_back(j);
    }
    /// Returns whether two jobs that share GPUs cannot be separated before one of them ends.
    [[nodiscard]] bool are_tied(std::size_t first, std::size_t second) const {
        return is_bound(first) || is_bound(second);
    }
    /// Returns the job that shares a job's GPUs now, if any.
    [[nodiscard]] std::optional<std::size_t> partner_of(std::size_t j) const {
        const SharingJobs* sharing = sharing_of(j);
        return sharing ? std::optional(sharing->jobs[sharing->jobs[0] == j]) : std::nullopt;
    }
    /// Returns which fraction of its speed alone a job has while it is bound to the job that shares its
    /// GPUs; 1 means its full speed.
    [[nodiscard]] double tied_part(std::size_t j) const {
        const SharingJobs* sharing = sharing_of(j);
        return sharing && are_tied(sharing->jobs[0], sharing->jobs[1]) ? sharing->parts[sharing->jobs[1] == j]
                                                                       : 1;
    }

    /// Returns the seconds from `time_seconds` until the first of these nodes leaves. A node that should
    /// have left but is still there counts as staying.
    [[nodiscard]] double stay_seconds(const Placement& placement, double time_seconds) const {
        double stay = std::numeric_limits<double>::infinity();
        for (const NodeShare& share : placement)
            if (share.node < times.size() && times[share.node].until_seconds > time_seconds)
                stay = std::min(stay, times[share.node].until_seconds - time_seconds);
        return stay;
    }
    /// Writes into a promised job what it holds in a snapshot, and for how long. `restart` says how many
    /// seconds of its own restart are left, and `held` after how many seconds it can be moved, unless it
    /// never can.
    void hold(DeadlineJob& promised, const Snapshot& at, const Job& job, std::span<const Pool> pools,
              double restart, double held) const {
        promised.holds = held_gpus(at, pools, job.placement);
        promised.restart_left_seconds = promised.holds ? std::max(0.0, restart) : 0;
        promised.held_until_seconds = stay_seconds(job.placement, at.time_seconds);
        promised.from_seconds = is_held_in_place(job) ? std::min(held, promised.held_until_seconds) : 0;
    }
    /// Reserves what a job holds until the job can be moved, or until its end if it is promised an end on
    /// these GPUs. Reserves nothing if it can be moved now. `partner_stays`: another job has the same GPUs
    /// and cannot be moved.
    void reserve(std::vector<Reservation>& reservations, const Job& job, const DeadlineJob* promised,
                 bool comes_back, double restart_seconds_left, bool partner_stays) const {
        if (!is_held_in_place(job)) return;
        double until = std::numeric_limits<double>::infinity();
        if (promised && !partner_stays) {
            until = promised->from_seconds;
            if (std::isinf(until))
                if (const double end = done_after(*promised, {}); std::isfinite(end))
                    until = whole_rounds(end);
        } else if (!partner_stays && (job.preemptible || comes_back)) {
            until = whole_rounds(restart_seconds_left);
        }
        reservations.push_back({with_host_gpus(job), until});
    }
    /// Rounds up to whole rounds, at least one.
    [[nodiscard]] double whole_rounds(double seconds) const {
        return std::max(1.0, std::ceil(seconds / round_seconds - 1e-9)) * round_seconds;
    }

private:
    /// Returns the pair in which a job shares its GPUs now, or null if it shares with no job.
    [[nodiscard]] const SharingJobs* sharing_of(std::size_t j) const {
        const auto at = std::ranges::find_if(
            sharing_, [&](const SharingJobs& sharing) { return std::ranges::count(sharing.jobs, j) > 0; });
        return at == sharing_.end() ? nullptr : &*at;
    }
    /// Returns the GPUs that a job holds, and those GPUs of its nodes that are unusable because the job has
    /// the cores or the memory that go with them.
    [[nodiscard]] Placement with_host_gpus(const Job& job) const {
        const std::vector<Node>& nodes = checked_->cluster.nodes;
        Placement taken = job.placement;
        for (NodeShare& share : taken) {
            if (!job.host || share.node >= nodes.size()) continue;
            const Node& node = nodes[share.node];
            const int held = share.gpus;
            const auto take = [&](double has, double needs) {
                if (!(has > 0)) return;
                const double gpus = std::ceil(needs * held * node.gpus / has - 1e-9);
                share.gpus = std::max(share.gpus, static_cast<int>(std::min<double>(gpus, node.gpus)));
            };
            take(node.cores, job.host->least.cores_per_gpu);
            take(node.memory_gib, job.host->least.memory_gib_per_gpu);
        }
        return taken;
    }

    const Snapshot* checked_ = nullptr;
    const SnapshotCheck* check_ = nullptr;
    std::span<const SharingJobs> sharing_{};
    std::map<std::string, double>
        began_{};                      // when jobs began the restart that they are in, or their last one
    std::set<std::string> movable_{};  // movable jobs of the last round
};

}  // namespace goodput::inline v0_1::detail

#endif
