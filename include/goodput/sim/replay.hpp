#ifndef GOODPUT_SIM_REPLAY_HPP
#define GOODPUT_SIM_REPLAY_HPP

// What if this trace had run under that policy? Rounds of fixed length: in each, first every job trains with
// what it holds, then the policy decides for all jobs submitted by then. So the first decision is at the end
// of the first round (which may be shorter than the others), and GPUs freed within a round idle until its
// end. A world may have its rounds end earlier, as soon as nobody has anything left to do in them, or
// with whatever a decision should follow (world.hpp).
//
// Simultaneous: training, completions, events (their order: events.hpp), submissions, the decision; jobs by
// submission, those of one time by name. So equal inputs give equal outcomes to the last digit, and neither
// the order of the events nor that of simultaneous submissions matters. Events split the training of the jobs
// that they strike, and of no others.
//
// How jobs train is said by a world (world.hpp): Sia's is in sia_world.hpp.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/availability/lost_time.hpp"
#include "goodput/availability/renting.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/chosen_scheduler.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"
#include "goodput/sim/detail/replayed_jobs.hpp"
#include "goodput/sim/events.hpp"
#include "goodput/sim/renter.hpp"
#include "goodput/sim/replay_result.hpp"
#include "goodput/sim/world.hpp"

namespace goodput {

/// Rounds, limits and what happens on the way.
struct ReplayOptions {
    double interval_seconds = 60;  ///< from one decision to the next; at most, if the world shortens rounds
    /// When the first decision is, at least 0; the others follow in steps of the interval. None: after one
    /// interval. A world that shortens rounds has it with the first submission.
    std::optional<double> first_decision_seconds{};
    bool moves_restart =
        true;  ///< other nodes of the same shape cost a restart; Sia's public simulator has them free
    double last_second = 1e9;  ///< jobs that are not complete by then stay incomplete
    /// After so many rounds in which no job ran, with no submission or event to come, or so many of no length
    /// (world.hpp), the rest stays incomplete.
    std::size_t most_idle_rounds = 10'000;
    /// Gap and deadline of every allotment, where replay() makes the scheduler.
    AllotOptions allot{};
    /// What happens on the way; in any order.
    std::vector<Event> events{};
    /// Nodes that a renter (renter.hpp) may have beside those of the cluster.
    std::vector<RentOffer> offers{};
};

/// What decides in a replay: a Scheduler, or anything that makes a Plan of a snapshot.
template <class S>
concept Planner = requires(S& planner, const Snapshot& snapshot) {
    { planner.plan(snapshot) } -> std::convertible_to<const Plan&>;
};

/// The observer of a replay that nobody observes: calls make_plan() and nothing else.
inline constexpr auto unobserved = [](double, const Snapshot&, auto make_plan) { make_plan(); };

/// Replays the jobs of a world, as a scheduler of one's own decides. `observe(time, snapshot, make_plan)` is
/// called once a round and has to call make_plan() once, which returns the plan: the place for a clock or a
/// progress bar. Refuses jobs out of order or of one name, worlds whose jobs are complete already, events of
/// unknown jobs and nodes and options that are not positive (std::invalid_argument); Scheduler::plan's
/// exceptions pass through, while what the policy does wrong is counted. The cluster lists every GPU type
/// that nodes may be added of, those without nodes at the start, too.
///
/// `renter`: says how many nodes of ReplayOptions::offers there are; nobody asks it where there are none.
template <World W, Planner S, class Observe = decltype(unobserved), Renter R = RentEverything>
ReplayResult replay(const Cluster& cluster, W& world, S scheduler, const ReplayOptions& options = {},
                    Observe observe = unobserved, R renter = {});

/// Replays the jobs of a world under a policy, with the world's predictor and the time that interruptions
/// cost.
template <World W, Policy P, class Observe = decltype(unobserved), Renter R = RentEverything>
ReplayResult replay(const Cluster& cluster, W& world, P policy, const ReplayOptions& options = {},
                    Observe observe = unobserved, R renter = {}) {
    using Parts = SchedulerParts<P, LeastMovesPlacer, Allotter<>, decltype(predictor_of(world)), Limits<>,
                                 ListedShapes, Factors<LostTime>>;
    return replay(
        cluster, world,
        ChosenScheduler(
            Parts{.policy = std::move(policy), .options = options.allot, .predictor = predictor_of(world)}),
        options, std::move(observe), std::move(renter));
}

/// The same where something is not quite a world, or neither a policy nor what makes plans: it does not
/// compile, and says in one line why.
template <class W, class S, class Observe = decltype(unobserved), class R = RentEverything>
requires(!World<W> || !(Planner<S> || Policy<S>)) ReplayResult
    replay(const Cluster&, W&, S, const ReplayOptions& = {}, Observe = unobserved, R = {}) {
    static_assert(world_fits<W>());
    if constexpr (!Planner<S>) static_assert(policy_fits<S>());
    return {};
}

// ---------------------------------------------------------------------------------------------------------

namespace detail {

inline void validate(const ReplayOptions& options) {
    const auto require_time = [](const char* field, double seconds, double least) {
        require_at_least("replay", field, seconds, least);
        if (seconds > longest_time) bad_input("replay", field, seconds, "at most " + text_of(longest_time));
    };
    require_time("interval", options.interval_seconds, shortest_interval);
    require_time("first decision", options.first_decision_seconds.value_or(0), 0);
    if (std::isnan(options.last_second)) bad_input("replay", "last second", options.last_second, "a number");
}

/// One replay, round after round.
template <World W, Planner S, Renter R>
class Replay {
public:
    Replay(const Cluster& cluster, W& world, S& scheduler, const ReplayOptions& options, R& renter)
        : world_(world),
          scheduler_(scheduler),
          options_(options),
          renter_(renter),
          order_(order_of(world.jobs())),
          rentals_(cluster, options.offers),
          timeline_(cluster, options.events, world.jobs(), rentals_.nodes()),
          holds_since_(order_.size()),
          round_seconds_(options.first_decision_seconds.value_or(options.interval_seconds)) {
        static_assert(world_fits<W>());
        for (std::size_t job = 0; job < order_.size(); ++job) {
            jobs_.emplace_back(world, job);
            holds_since_[job].job = job;
        }
        snapshot_.cluster = cluster;
        snapshot_.strict = true;  // a world makes sense as a whole
        result_.capacity.push_back({0, timeline_.gpus()});
    }

    template <class Observe>
    ReplayResult run(Observe& observe) {
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
            observe(now_, std::as_const(snapshot_), [&]() -> decltype(auto) { return decide(); });
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

private:
    [[nodiscard]] double next_submission() const {
        return submitted_ < order_.size()
                   ? std::span<const Job>(world_.jobs())[order_[submitted_]].submitted_seconds
                   : std::numeric_limits<double>::infinity();
    }

    /// Passes over the rounds without a job, but for the last one or two.
    void skip_empty_rounds() {
        if (rentals_.any()) return;            // what is rented is paid, and may be given back
        if constexpr (UnevenWorld<W>) return;  // these end with the next submission by themselves
        const double interval = options_.interval_seconds;
        const double until = std::min({next_submission(), timeline_.next_seconds(), options_.last_second});
        // As if the round that begins now, which may be the first, had the length of the others.
        const double left = until - now_ - (round_seconds_ - interval);
        if (active_.empty() && left > 2 * interval) now_ += (std::floor(left / interval) - 1) * interval;
    }

    /// A round of training, with the events that strike jobs in it.
    void train() {
        const double begin = now_;
        if constexpr (UnevenWorld<W>) {
            now_ = end_of_round();
            round_seconds_ = now_ - begin;
        } else {
            now_ += round_seconds_;
        }
        standing_rounds_ = now_ > begin ? 0 : standing_rounds_ + 1;
        happenings_ = timeline_.until(now_);
        for (const std::size_t job : active_) train(job, begin);
        if constexpr (PairingWorld<W>)
            for (const std::size_t job : active_) note_partner_left(job);
        round_seconds_ = options_.interval_seconds;
        std::erase_if(active_, [&](std::size_t job) { return jobs_[job].complete(); });
    }
    /// When a round that begins now ends: with the last job or the world's next event, or if none runs, with
    /// what comes next.
    [[nodiscard]] double end_of_round() const {
        const double latest = now_ + round_seconds_;
        const double next = std::min(next_submission(), timeline_.next_seconds());
        const auto runs = [&](std::size_t job) { return !jobs_[job].held().empty(); };
        if constexpr (ClockedWorld<W>) {
            const double end = world_.round_until(now_);
            require_at_least("world", "end of a round", std::min(end, latest), now_);
            return std::isinf(end) ? now_ : std::min(end, latest);
        } else if constexpr (EventWorld<W>) {
            const double event = world_.next_event(now_);
            require_at_least("world", "end of a round", std::min(event, latest), now_);
            if (std::any_of(active_.begin(), active_.end(), runs))
                return std::clamp(std::min(event, next), now_, latest);
        } else {
            double end = -1;
            for (const std::size_t job : active_)
                if (runs(job)) end = std::max(end, jobs_[job].busy_until(now_, round_seconds_));
            if (end >= now_) return std::min(end, latest);
        }
        return std::isinf(next) ? latest : std::max(next, now_);
    }
    void train(std::size_t index, double begin) {
        ReplayedJob<W>& job = jobs_[index];
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
        // A world may round a completion to a time after the round; the GPUs do not stay.
        note_held(index, {}, std::min(*job.completed_seconds(), now_));
        job.release();
    }
    /// Whose partner is complete has its GPUs alone for the rest of the round.
    void note_partner_left(std::size_t index) {
        const std::optional<std::size_t> partner = jobs_[index].partner();
        if (!partner || !jobs_[*partner].complete()) return;
        note_held(index, jobs_[index].held(), std::min(*jobs_[*partner].completed_seconds(), now_));
    }

    /// What happened to nodes in the round takes effect.
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

    /// The cluster becomes what is there now.
    void settle() {
        const std::vector<std::size_t> moved_to =
            timeline_.settle([&](std::size_t node) { return rentals_.there(node, now_); });
        snapshot_.cluster = timeline_.cluster();
        if (!moved_to.empty())
            for (const std::size_t job : active_) jobs_[job].follow(moved_to, snapshot_.cluster.nodes.size());
        if (timeline_.gpus() != result_.capacity.back().gpus)
            result_.capacity.push_back({now_, timeline_.gpus()});
    }

    /// What the scheduler sees.
    void look() {
        snapshot_.time_seconds = now_;
        // Assigned, not made anew, so that what the last round's jobs had reserved is used again.
        snapshot_.jobs.resize(active_.size());
        snapshot_.models.resize(active_.size());
        for (std::size_t j = 0; j < active_.size(); ++j)
            jobs_[active_[j]].show(snapshot_.jobs[j], snapshot_.models[j]);
        sizes_.expect(snapshot_);
    }

    /// The renter has its say, and what it gives back is gone.
    void rent() {
        if (options_.offers.empty()) return;
        const std::span<const int> wanted =
            renter_.rent(std::as_const(snapshot_), rentals_.offers(), rentals_.rented());
        if (wanted.size() != rentals_.offers().size())
            bad_input("renter", "numbers of nodes", wanted.size(), text_of(rentals_.offers().size()));
        std::vector<std::size_t> given_back;  // by timeline_'s index
        // What the jobs there would lose, but those that have to move already.
        const auto loss = [&](std::size_t node) {
            double gpu_seconds = 0;
            for (const Job& job : snapshot_.jobs) {
                bool here = false, moves = false;
                for (const NodeShare& share : job.placement) {
                    const std::size_t its = timeline_.index_of(share.node);
                    here |= its == node;
                    moves |= std::find(given_back.begin(), given_back.end(), its) != given_back.end();
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
        settle();  // an offer may start at once, too
        look();
    }

    decltype(auto) decide() {
        decltype(auto) plan = scheduler_.plan(snapshot_);
        check_plan(plan, snapshot_, PairingWorld<W>, used_);
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

    /// Whether it makes sense to go on. An idle cluster may still have reasons to wait, but not for ever.
    bool anything_can_change() {
        const bool any_runs = std::any_of(active_.begin(), active_.end(),
                                          [&](std::size_t job) { return !jobs_[job].held().empty(); });
        idle_rounds_ = any_runs ? 0 : idle_rounds_ + 1;
        if (standing_rounds_ > options_.most_idle_rounds) return false;
        return idle_rounds_ <= options_.most_idle_rounds || submitted_ < order_.size() ||
               !std::isinf(timeline_.next_seconds());
    }

    /// The job holds that from `time` on, together with the partner.
    void note_held(std::size_t job, const Configuration& configuration, double time,
                   std::optional<std::size_t> partner = {}) {
        HeldPeriod& open = holds_since_[job];
        if (open.configuration == configuration && open.beside == partner) return;
        if (!open.configuration.empty()) {
            open.end_seconds = time;
            result_.held_periods.push_back(open);
        }
        open = {job, configuration, time, time, partner};
    }

    W& world_;
    S& scheduler_;
    const ReplayOptions& options_;
    R& renter_;
    std::vector<ReplayedJob<W>> jobs_;
    std::vector<std::size_t> order_;   // of submission
    std::size_t submitted_ = 0;        // of order_
    std::vector<std::size_t> active_;  // submitted and not complete
    Rentals rentals_;
    Timeline timeline_;
    std::span<const Happening> happenings_;  // of this round
    std::vector<HeldPeriod> holds_since_;    // by job: what it holds now
    JobSizes sizes_;
    Snapshot snapshot_;
    std::vector<int> used_;            // GPUs by node
    std::size_t idle_rounds_ = 0;      // up to now
    std::size_t standing_rounds_ = 0;  // of no length, up to now
    double now_ = 0;
    double round_seconds_;  // of the round that begins next
    ReplayResult result_;
};

}  // namespace detail

template <World W, Planner S, class Observe, Renter R>
ReplayResult replay(const Cluster& cluster, W& world, S scheduler, const ReplayOptions& options,
                    Observe observe, R renter) {
    validate(cluster);
    detail::validate(options);
    detail::validate_world(world);
    return detail::Replay<W, S, R>(cluster, world, scheduler, options, renter).run(observe);
}

}  // namespace goodput

#endif
