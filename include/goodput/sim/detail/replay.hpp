#ifndef GOODPUT_SIM_DETAIL_REPLAY_HPP
#define GOODPUT_SIM_DETAIL_REPLAY_HPP

// The engine of a replay, which runs one round after the other (replay.hpp describes the rounds). It calls
// the planner, the world (how jobs progress) and the renter through joints, which are pointers to their
// functions (replay_joints.hpp).

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/renting.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/detail/replay_joints.hpp"
#include "goodput/sim/detail/replayed_jobs.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/renter.hpp"
#include "goodput/sim/replay.hpp"
#include "goodput/sim/replay_result.hpp"

namespace goodput::inline v0_1::detail {

inline void validate_options(const ReplayOptions& options) {
    const auto require_time = [](const char* field, double seconds, double least) {
        require_at_least("replay", field, seconds, least);
        if (seconds > longest_time) bad_input("replay", field, seconds, "at most " + text_of(longest_time));
    };
    require_time("interval", options.interval_seconds, shortest_interval);
    require_time("first decision", options.first_decision_seconds.value_or(0), 0);
    if (std::isnan(options.last_second)) bad_input("replay", "last second", options.last_second, "a number");
}

/// One replay, round after round.
class Replay {
public:
    Replay(const Cluster& cluster, const ReplayJoints& joints, const ReplayOptions& options)
        : joints_(joints),
          world_(joints_.world),
          options_(options),
          order_(order_of(jobs())),
          rentals_(cluster, options.offers),
          timeline_(cluster, options.events, jobs(), rentals_.nodes()),
          holds_since_(order_.size()),
          round_seconds_(options.first_decision_seconds.value_or(options.interval_seconds)) {
        for (std::size_t job = 0; job < order_.size(); ++job) {
            jobs_.emplace_back(world_, job);
            holds_since_[job].job = job;
        }
        snapshot_.cluster = cluster;
        snapshot_.strict = true;  // the snapshots of a world must be valid as a whole
        result_.capacity.push_back({0, timeline_.gpus()});
    }

    ReplayResult run() {
        while ((submitted_ < order_.size() || !active_.empty()) && now_ < options_.last_second) {
            skip_empty_rounds();
            train();
            change_nodes();
            while (submitted_ < order_.size() && next_submission() <= now_)
                active_.push_back(order_[submitted_++]);
            if (active_.empty() && !rentals_.any()) continue;
            look();
            rent();
            if (active_.empty()) continue;
            ++result_.rounds;
            joints_.observer.observe(joints_.observer.observer, now_, snapshot_, MakePlan(*this));
            if (!anything_can_change()) break;
        }
        for (std::size_t job = 0; job < jobs_.size(); ++job) {
            note_held(job, {}, now_);
            result_.jobs.push_back(jobs_[job].outcome());
        }
        result_.end_seconds = now_;
        rentals_.end_all(now_, result_.rented);
        return std::move(result_);
    }

    /// Carries out the decision of a round.
    const Plan& decide() {
        const Plan& plan = joints_.planner.plan(joints_.planner.planner, snapshot_, kept_);
        check_plan(plan, snapshot_, world_.train_beside != nullptr, used_);
        sizes_.note(snapshot_, plan);
        for (std::size_t j = 0; j < active_.size(); ++j) {
            const Decision& decision = plan.decisions[j];
            jobs_[active_[j]].hold(decision.option.configuration, decision.placement, options_.moves_restart);
            std::optional<std::size_t> partner;
            if (decision.shares_with) partner = active_[*decision.shares_with];
            jobs_[active_[j]].train_beside(partner);
            if (!decision.placement.empty()) jobs_[active_[j]].save_like(decision.option.checkpointing);
            note_held(active_[j], decision.option.configuration, now_, partner);
        }
        result_.faults += plan.faults.size();
        if (result_.first_fault.empty() && !plan.faults.empty())
            result_.first_fault = plan.faults.front().report(snapshot_);
        return plan;
    }

private:
    [[nodiscard]] std::span<const Job> jobs() const { return world_.jobs(world_.world); }
    [[nodiscard]] double next_submission() const {
        return submitted_ < order_.size() ? jobs()[order_[submitted_]].submitted_seconds
                                          : std::numeric_limits<double>::infinity();
    }

    /// Skips the rounds without a job, except the last one or two.
    void skip_empty_rounds() {
        if (rentals_.any()) return;      // rented nodes cost money, and the renter may give them back
        if (world_.round_until) return;  // the world decides how long rounds last
        const double interval = options_.interval_seconds;
        const double until = std::min({next_submission(), timeline_.next_seconds(), options_.last_second});
        // Count as if the round that begins now, which may be the first, had the length of the others.
        const double left = until - now_ - (round_seconds_ - interval);
        if (active_.empty() && left > 2 * interval) now_ += (std::floor(left / interval) - 1) * interval;
    }

    /// Trains the jobs for one round, and applies the events that strike them in it.
    void train() {
        const double begin = now_;
        if (world_.round_until) {
            now_ = end_of_round();
            round_seconds_ = now_ - begin;
        } else {
            now_ += round_seconds_;
        }
        standing_rounds_ = now_ > begin ? 0 : standing_rounds_ + 1;
        happenings_ = timeline_.until(now_);
        for (const std::size_t job : active_) train(job, begin);
        if (world_.train_beside)
            for (const std::size_t job : active_) note_partner_left(job);
        round_seconds_ = options_.interval_seconds;
        std::erase_if(active_, [&](std::size_t job) { return jobs_[job].complete(); });
    }
    /// Returns the time at which the world ends a round that begins now.
    [[nodiscard]] double end_of_round() {
        running_.clear();
        for (const std::size_t job : active_)
            if (const ReplayedJob& of = jobs_[job]; !of.held().empty())
                running_.push_back({job, &of.held(), std::min(of.start_seconds_left(), round_seconds_)});
        const double end = world_.round_until(
            world_.world, {.begin_seconds = now_,
                           .latest_seconds = now_ + round_seconds_,
                           .next_seconds = std::min(next_submission(), timeline_.next_seconds()),
                           .running = running_});
        require_at_least("world", "end of a round", end, now_);
        return end;
    }
    void train(std::size_t index, double begin) {
        ReplayedJob& job = jobs_[index];
        double left = round_seconds_;
        for (const Happening& happening : happenings_) {
            if (!timeline_.strikes(happening, index, job.placement())) continue;
            const double until_then = std::clamp(happening.time_seconds - begin, 0.0, left);
            job.advance(begin, until_then);
            begin = happening.time_seconds;
            left -= until_then;
            if (job.complete()) break;
            if (happening.kind == EventKind::job_fails) {
                job.fail();
            } else {
                job.lose_nodes();
                note_held(index, {}, begin);
            }
        }
        job.advance(begin, left);
        if (!job.complete()) return;
        // A world may round a completion to a time after the round, but the job's GPUs are free at its end.
        note_held(index, {}, std::min(*job.completed_seconds(), now_));
        job.release();
    }
    /// A job whose partner is complete has its GPUs alone for the rest of the round.
    void note_partner_left(std::size_t index) {
        const std::optional<std::size_t> partner = jobs_[index].partner();
        if (!partner || !jobs_[*partner].complete()) return;
        note_held(index, jobs_[index].held(), std::min(*jobs_[*partner].completed_seconds(), now_));
    }

    /// Applies what happened to nodes in the round.
    void change_nodes() {
        if (happenings_.empty() && options_.offers.empty()) return;
        for (const Happening& happening : happenings_) {
            if (timeline_.note(happening))
                result_.capacity.push_back({happening.time_seconds, timeline_.gpus()});
            if (happening.kind == EventKind::node_fails || happening.kind == EventKind::node_drains)
                rentals_.lose(happening.index, happening.time_seconds, result_.rented);
        }
        settle();
    }

    /// Updates the cluster to the nodes that are there now.
    void settle() {
        const std::vector<std::size_t> moved_to =
            timeline_.settle([&](std::size_t node) { return rentals_.there(node, now_); });
        snapshot_.cluster = timeline_.cluster();
        if (!moved_to.empty())
            for (const std::size_t job : active_) jobs_[job].follow(moved_to, snapshot_.cluster.nodes.size());
        if (timeline_.gpus() != result_.capacity.back().gpus)
            result_.capacity.push_back({now_, timeline_.gpus()});
    }

    /// Updates what the scheduler sees.
    void look() {
        snapshot_.time_seconds = now_;
        // Assign instead of rebuilding, to reuse the memory of the last round's jobs.
        snapshot_.jobs.resize(active_.size());
        snapshot_.models.resize(active_.size());
        for (std::size_t j = 0; j < active_.size(); ++j)
            jobs_[active_[j]].show(snapshot_.jobs[j], snapshot_.models[j]);
        sizes_.expect(snapshot_);
    }

    /// Asks the renter how many nodes it wants. Adds the nodes that it rents, and removes those that it
    /// gives back.
    void rent() {
        if (options_.offers.empty()) return;
        const std::span<const int> wanted =
            joints_.renter.rent(joints_.renter.renter, snapshot_, rentals_.offers(), rentals_.rented());
        if (wanted.size() != rentals_.offers().size())
            bad_input("renter", "numbers of nodes", wanted.size(), text_of(rentals_.offers().size()));
        std::vector<std::size_t> given_back;  // by index in timeline_
        // What the node's jobs would lose, except those that move anyway because they lose another node.
        const auto loss = [&](std::size_t node) {
            double gpu_seconds = 0;
            for (const Job& job : snapshot_.jobs) {
                bool here = false, moves = false;
                for (const NodeShare& share : job.placement) {
                    const std::size_t used_node = timeline_.index_of(share.node);
                    here |= used_node == node;
                    moves |= std::find(given_back.begin(), given_back.end(), used_node) != given_back.end();
                }
                if (!here || moves) continue;
                if (job.keeps_what_it_holds()) return std::numeric_limits<double>::infinity();
                for (const NodeShare& share : job.placement)
                    gpu_seconds += share.gpus * job.restart_cost_seconds;
            }
            return gpu_seconds;
        };
        rentals_.follow(
            wanted, now_, [&](std::size_t node) { return timeline_.healthy(node); }, loss,
            [&](std::size_t node) { given_back.push_back(node); }, result_.rented);
        settle();  // an offer may start at once
        look();
    }

    /// Returns whether anything can still change. An idle cluster may have reasons to wait, but not for
    /// ever.
    bool anything_can_change() {
        const bool any_runs = std::any_of(active_.begin(), active_.end(),
                                          [&](std::size_t job) { return !jobs_[job].held().empty(); });
        idle_rounds_ = any_runs ? 0 : idle_rounds_ + 1;
        if (standing_rounds_ > options_.most_idle_rounds) return false;
        return idle_rounds_ <= options_.most_idle_rounds || submitted_ < order_.size() ||
               !std::isinf(timeline_.next_seconds());
    }

    /// Records what the job holds from `time` on, and its partner. A world that rounds times, or an event at
    /// the moment of a decision, can end a period as it begins. Then the job held nothing.
    void note_held(std::size_t job, const Configuration& configuration, double time,
                   std::optional<std::size_t> partner = {}) {
        HeldPeriod& open = holds_since_[job];
        if (open.configuration == configuration && open.beside == partner) return;
        if (!open.configuration.empty() && time > open.begin_seconds) {
            open.end_seconds = time;
            result_.held_periods.push_back(open);
        }
        open = {job, configuration, time, time, partner};
    }

    ReplayJoints joints_;
    const WorldJoint& world_;
    const ReplayOptions& options_;
    std::vector<ReplayedJob> jobs_;
    std::vector<std::size_t> order_;   // order of submission
    std::size_t submitted_ = 0;        // number of submissions in order_ so far
    std::vector<std::size_t> active_;  // jobs that are submitted and not complete
    Rentals rentals_;
    Timeline timeline_;
    std::span<const Happening> happenings_;  // what happens in this round
    std::vector<HeldPeriod> holds_since_;    // by job: what it holds now
    JobSizes sizes_;
    Snapshot snapshot_;
    Plan kept_;                        // plan of a planner that does not keep its own
    std::vector<int> used_;            // GPUs by node
    std::vector<RunningJob> running_;  // in the round that begins
    std::size_t idle_rounds_ = 0;      // consecutive idle rounds
    std::size_t standing_rounds_ = 0;  // consecutive rounds of length 0
    double now_ = 0;
    double round_seconds_;  // length of the round that begins next
    ReplayResult result_;
};

GOODPUT_BODY const Plan& MakePlan::operator()() const { return replay_->decide(); }

GOODPUT_BODY ReplayResult replay_through(const ReplayJoints& joints, const Cluster& cluster,
                                         const ReplayOptions& options) {
    validate(cluster);
    validate_options(options);
    validate_world(joints.world);
    return Replay(cluster, joints, options).run();
}

}  // namespace goodput::inline v0_1::detail

#endif
