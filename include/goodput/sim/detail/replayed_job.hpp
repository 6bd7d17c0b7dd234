#ifndef GOODPUT_SIM_DETAIL_REPLAYED_JOB_HPP
#define GOODPUT_SIM_DETAIL_REPLAYED_JOB_HPP

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/world.hpp"

namespace goodput {

namespace detail {

/// One job of a replay: what it holds, and what came of that. How it trains is its world's to say.
template <World W>
class ReplayedJob {
public:
    ReplayedJob(W& world, std::size_t index) : world_(&world), index_(index) {}

    [[nodiscard]] bool complete() const { return completed_.has_value(); }
    [[nodiscard]] std::optional<double> completed_seconds() const { return completed_; }
    /// What it holds and where; both empty if it waits.
    [[nodiscard]] const Configuration& held() const { return held_; }
    [[nodiscard]] const Placement& placement() const { return placement_; }
    /// Starts but the first.
    [[nodiscard]] int restarts() const { return std::max(starts_ - 1, 0); }

    [[nodiscard]] JobOutcome outcome() const {
        return {
            of_trace().submitted_seconds, completed_,        restarts(), gpu_seconds_, migrations_, failures_,
            world_->done(index_),         lost_gpu_seconds()};
    }

    /// The job and its model as the scheduler sees them now.
    void show(Job& job, JobModel& model) {
        job = of_trace();
        job.restarts = restarts();
        job.attained_gpu_seconds = gpu_seconds_;
        job.restarting = starting_seconds_ > 0;
        job.placement = placement_;
        if constexpr (ReportingWorld<W>)
            world_->report(index_, job, model);
        else
            model.types.clear();
    }

    /// When it, holding something, has nothing left to do in a round of so many seconds from `begin` on.
    [[nodiscard]] double busy_until(double begin, double seconds) const requires ShorteningWorld<W> {
        if (complete()) return begin;
        const double waiting = std::min(starting_seconds_, seconds);
        const double end =
            std::as_const(*world_).busy_until(index_, held_, begin + waiting, seconds - waiting);
        require_at_least(subject(), "end of its round", end, begin);
        return end;
    }

    /// Trains for `seconds` from `begin` on. The GPUs count as used for all of it, whatever happens within.
    void advance(double begin, double seconds) {
        if (held_.empty()) return;
        gpu_seconds_ += held_.gpus() * seconds;
        const double waiting = std::min(starting_seconds_, seconds);
        starting_seconds_ -= waiting;
        starting_gpu_seconds_ += held_.gpus() * waiting;
        begin += waiting;
        seconds -= waiting;
        if (complete()) return;
        if (seconds <= 0 && (!ShorteningWorld<W> || starting_seconds_ > 0)) return;
        completed_ = world_->train(index_, held_, begin, seconds);
        if (completed_) require_at_least(subject(), "completion", *completed_, begin);
    }

    /// Takes over what the plan gives. With `moves_restart` other nodes of the same shape are a restart,
    /// otherwise they cost nothing.
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

    /// How the decision would have it save its state.
    void save_like(const Checkpointing& chosen) {
        if constexpr (CheckpointingWorld<W>) world_->save_like(index_, chosen);
    }

    /// The nodes have other indices now: `moved_to` by index before, any that is no index of `nodes` for
    /// those that are gone. A job on one of these saves its state and holds nothing any more.
    void follow(std::span<const std::size_t> moved_to, std::size_t nodes) {
        for (NodeShare& share : placement_) {
            share.node = moved_to[share.node];
            if (share.node >= nodes) evicted_ = true;
        }
        if (!evicted_) return;
        save();
        release();
    }

    /// Falls back to its last saved state, and starts again with what it holds.
    void fail() {
        fall_back();
        start();
    }
    /// Falls back to its last saved state, and holds nothing.
    void lose_nodes() {
        fall_back();
        release();
    }
    void release() {
        held_ = {};
        starting_seconds_ = 0;
        placement_.clear();
    }

private:
    [[nodiscard]] const Job& of_trace() const { return std::span<const Job>(world_->jobs())[index_]; }
    [[nodiscard]] auto subject() const {
        return [this] { return "world, job '" + of_trace().name + "'"; };
    }

    void start() {
        ++starts_;
        if constexpr (StartingWorld<W>) starting_seconds_ = world_->start(index_, held_);
        require_at_least(subject(), "seconds of a start", starting_seconds_, 0);
    }
    void save() {
        if constexpr (SavingWorld<W>) world_->save(index_);
    }
    void fall_back() {
        ++failures_;
        if constexpr (FailingWorld<W>) world_->fail(index_);
    }

    [[nodiscard]] double lost_gpu_seconds() const {
        double of_world = 0;
        if constexpr (LosingWorld<W>) of_world = std::as_const(*world_).lost_gpu_seconds(index_);
        return starting_gpu_seconds_ + of_world;
    }

    [[nodiscard]] bool on_known_nodes(const Placement& placement) const {
        return std::all_of(placement.begin(), placement.end(), [&](const NodeShare& share) {
            return std::any_of(placement_.begin(), placement_.end(),
                               [&](const NodeShare& before) { return before.node == share.node; });
        });
    }

    W* world_;
    std::size_t index_;
    Configuration held_;
    Placement placement_;
    std::optional<double> completed_;
    double starting_seconds_ = 0;  ///< until the start under way is over
    double gpu_seconds_ = 0;
    double starting_gpu_seconds_ = 0;  ///< of these, in starts
    bool evicted_ = false;             ///< ran until now, and its node is taken away
    int starts_ = 0;
    int migrations_ = 0;
    int failures_ = 0;
};

}  // namespace detail

}  // namespace goodput

#endif
