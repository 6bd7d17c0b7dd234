#ifndef GOODPUT_SIM_DETAIL_REPLAYED_JOBS_HPP
#define GOODPUT_SIM_DETAIL_REPLAYED_JOBS_HPP

// The jobs of a replay: checks them, their world and its scheduler, orders them, and tracks each of them.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/detail/replay_joints.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/replay_result.hpp"

namespace goodput::inline v0_1::detail {

/// In seconds; far more than the rounding error of adding up decades.
inline constexpr double shortest_interval = 1e-3;
inline constexpr double longest_time = 1e12;

inline void validate_world(const WorldJoint& world) {
    const std::span<const Job> jobs = world.jobs(world.world);
    double last = 0;
    std::vector<const std::string*> names;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const auto subject = [&] { return "job '" + jobs[j].name + "'"; };
        names.push_back(&jobs[j].name);
        require_at_least(subject, "time", jobs[j].submitted_seconds, last);
        last = jobs[j].submitted_seconds;
        if (last > longest_time) bad_input(subject(), "time", last, "at most " + text_of(longest_time));
        if (const double done = world.done(world.world, j); !(done >= 0 && done < 1))
            bad_input(subject(), "part that is done", done, "at least 0 and below 1 before a replay");
    }
    require_own_names("job", names);
}

/// Returns the jobs' order: by time, then by name.
inline std::vector<std::size_t> order_of(std::span<const Job> jobs) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const Job &first = jobs[a], &second = jobs[b];
        if (first.submitted_seconds != second.submitted_seconds)
            return first.submitted_seconds < second.submitted_seconds;
        return name_before(first.name, second.name);
    });
    return order;
}

/// Throws if two jobs are on the same GPUs, unless they name each other and have the same placement.
inline void check_partner(const Plan& plan, const Snapshot& snapshot, std::size_t job) {
    const Decision& decision = plan.decisions[job];
    if (!decision.shares_with) return;
    const std::size_t partner = *decision.shares_with;
    const auto refuse = [&](const char* constraint) {
        bad_input("scheduler, job '" + snapshot.jobs[job].name + "'", "shares_with", partner, constraint);
    };
    if (partner >= plan.decisions.size() || partner == job) refuse("the index of another job");
    const Decision& other = plan.decisions[partner];
    if (other.shares_with != job) refuse("the index of a job that shares with it");
    if (decision.placement.empty() || decision.placement != other.placement ||
        !decision.option.configuration.same_gpus(other.option.configuration))
        refuse("the index of a job that has the same GPUs");
}

/// Checks a plan, which the caller's scheduler may get wrong. `pairs`: two jobs may share GPUs. `used` is a
/// buffer.
inline void check_plan(const Plan& plan, const Snapshot& snapshot, bool pairs, std::vector<int>& used) {
    if (plan.decisions.size() != snapshot.jobs.size())
        bad_input("scheduler", "number of decisions", plan.decisions.size(),
                  "that of jobs, " + text_of(snapshot.jobs.size()));
    const std::vector<Node>& nodes = snapshot.cluster.nodes;
    used.assign(nodes.size(), 0);
    for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
        const Decision& decision = plan.decisions[j];
        if (decision.shares_with && !pairs)
            bad_input("scheduler, job '" + snapshot.jobs[j].name + "'", "shares_with", *decision.shares_with,
                      "none, since the world's jobs do not share GPUs");
        check_partner(plan, snapshot, j);
        if (decision.shares_with && *decision.shares_with < j) continue;  // the same GPUs
        for (const NodeShare& share : decision.placement) {
            if (share.node >= nodes.size())
                bad_input("scheduler", "index of a node", share.node, "below " + text_of(nodes.size()));
            if ((used[share.node] += share.gpus) > nodes[share.node].gpus)
                bad_input("scheduler", "GPUs given of node '" + nodes[share.node].name + "'",
                          used[share.node], "at most " + text_of(nodes[share.node].gpus));
        }
    }
}

/// One job of a replay: what it holds, and its record. Its world knows how it trains.
class ReplayedJob {
    [[nodiscard]] const Job& of_trace() const { return world_->jobs(world_->world)[index_]; }
    [[nodiscard]] auto subject() const {
        return [this] { return "world, job '" + of_trace().name + "'"; };
    }

public:
    ReplayedJob(const WorldJoint& world, std::size_t index) : world_(&world), index_(index) {}

    [[nodiscard]] bool complete() const { return completed_.has_value(); }
    [[nodiscard]] std::optional<double> completed_seconds() const { return completed_; }
    /// What it holds and on which nodes; both are empty if it waits.
    [[nodiscard]] const Configuration& held() const { return held_; }
    [[nodiscard]] const Placement& placement() const { return placement_; }
    /// Returns the seconds that the present start still takes.
    [[nodiscard]] double start_seconds_left() const { return starting_seconds_; }
    /// Returns the number of starts after the first one.
    [[nodiscard]] int restarts() const { return std::max(starts_ - 1, 0); }

    [[nodiscard]] JobOutcome outcome() const {
        double lost = starting_gpu_seconds_;
        if (world_->lost_gpu_seconds) lost += world_->lost_gpu_seconds(world_->world, index_);
        return {
            of_trace().submitted_seconds,        completed_, restarts(), gpu_seconds_, migrations_, failures_,
            world_->done(world_->world, index_), lost};
    }

    /// Updates the job and its model to what the scheduler sees now.
    void show(Job& job, JobModel& model) {
        job = of_trace();
        job.restarts = restarts();
        job.attained_gpu_seconds = gpu_seconds_;
        job.restarting = starting_seconds_ > 0;
        job.placement = placement_;
        if (world_->report)
            world_->report(world_->world, index_, job, model);
        else
            model.types.clear();
    }

    /// Trains for `seconds` from `begin` on. The GPUs count as used all the time, whatever happens.
    void advance(double begin, double seconds) {
        if (held_.empty()) return;
        const double gpus = held_.gpus() * (partner_ ? 0.5 : 1);
        gpu_seconds_ += gpus * seconds;
        const double waiting = std::min(starting_seconds_, seconds);
        starting_seconds_ -= waiting;
        starting_gpu_seconds_ += gpus * waiting;
        begin += waiting;
        seconds -= waiting;
        if (complete()) return;
        if (seconds <= 0 && (!world_->round_until || starting_seconds_ > 0)) return;
        completed_ = world_->train(world_->world, index_, held_, begin, seconds);
        if (completed_) require_at_least(subject(), "completion", *completed_, begin);
    }

    /// Takes over what the plan gives. `moves_restart`: other nodes of the same shape cost a restart;
    /// otherwise they are free.
    void hold(const Configuration& configuration, const Placement& placement, bool moves_restart) {
        const bool moved = moves_restart && placement != placement_;
        const bool starts = !configuration.empty() && (!configuration.same_gpus(held_) || moved);
        if (starts && (evicted_ || (!held_.empty() && !on_known_nodes(placement)))) ++migrations_;
        evicted_ = false;
        if (starts || configuration.empty()) save();
        held_ = configuration;
        placement_ = placement;
        if (starts) start();
    }

    /// Returns the job, by the world's index, that shares its GPUs.
    [[nodiscard]] std::optional<std::size_t> partner() const { return partner_; }
    /// Takes over the partner that the plan gives it.
    void train_beside(std::optional<std::size_t> partner) {
        partner_ = partner;
        if (world_->train_beside) world_->train_beside(world_->world, index_, partner);
    }

    /// Sets how the decision would have it save its state.
    void save_like(const Checkpointing& chosen) {
        if (world_->save_like) world_->save_like(world_->world, index_, chosen);
    }

    /// Renumbers the nodes: `moved_to` is the new index by old index; a value that is not an index of
    /// `nodes` means that the node is gone. A job on such a node saves its state and then holds nothing.
    void follow(std::span<const std::size_t> moved_to, std::size_t nodes) {
        for (NodeShare& share : placement_) {
            share.node = moved_to[share.node];
            if (share.node >= nodes) evicted_ = true;
        }
        if (!evicted_) return;
        save();
        release();
    }

    /// Goes back to its last saved state, and starts again on what it holds.
    void fail() {
        fall_back();
        start();
    }
    /// Goes back to its last saved state, and holds nothing.
    void lose_nodes() {
        fall_back();
        release();
    }
    void release() {
        held_ = {};
        starting_seconds_ = 0;
        placement_.clear();
        partner_.reset();
    }

private:
    void start() {
        ++starts_;
        if (world_->start) starting_seconds_ = world_->start(world_->world, index_, held_);
        require_at_least(subject(), "seconds of a start", starting_seconds_, 0);
    }
    void save() {
        if (world_->save) world_->save(world_->world, index_);
    }
    void fall_back() {
        ++failures_;
        if (world_->fail) world_->fail(world_->world, index_);
    }

    [[nodiscard]] bool on_known_nodes(const Placement& placement) const {
        return std::all_of(placement.begin(), placement.end(), [&](const NodeShare& share) {
            return std::any_of(placement_.begin(), placement_.end(),
                               [&](const NodeShare& before) { return before.node == share.node; });
        });
    }

    const WorldJoint* world_;
    std::size_t index_;
    Configuration held_;
    Placement placement_;
    std::optional<std::size_t> partner_;
    std::optional<double> completed_;
    double starting_seconds_ = 0;  ///< until the present start is over
    double gpu_seconds_ = 0;
    double starting_gpu_seconds_ = 0;  ///< part of gpu_seconds_ spent on starts
    bool evicted_ = false;             ///< ran until now, but its node is taken away
    int starts_ = 0;
    int migrations_ = 0;
    int failures_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
