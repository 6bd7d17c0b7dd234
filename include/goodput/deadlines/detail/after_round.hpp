#ifndef GOODPUT_DEADLINES_DETAIL_AFTER_ROUND_HPP
#define GOODPUT_DEADLINES_DETAIL_AFTER_ROUND_HPP

// What a plan leaves of the jobs that are promised an end, once a round has passed in which jobs are as
// fast as promises count on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/detail/deadline_program.hpp"
#include "goodput/deadlines/detail/promise_maker.hpp"
#include "goodput/deadlines/detail/round_holdings.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// The state after a round, in seconds from the next one.
struct AfterRound {
    ClusterOverTime cluster{};
    std::vector<DeadlineJob> jobs{};         ///< jobs whose promise has been kept so far
    std::vector<std::size_t> deadline_of{};  ///< by job: PromisedRound::PromisedJob::deadline
    std::vector<double>
        ends{};  ///< by job: when it ends within the round, on the snapshot's clock, or infinity
};

/// Finds the state after a round.
struct AfterRoundFinder {
    const Snapshot& checked;
    const PromisedRound& round;
    const RoundHoldings& holdings;
    std::span<const Deadline> deadlines;

    /// Returns the state after a round of this plan, or nothing if a promise is broken then.
    [[nodiscard]] std::optional<AfterRound> operator()(const Plan& plan) const {
        const double seconds = round.round_seconds;
        Snapshot then{
            .time_seconds = checked.time_seconds + seconds, .cluster = checked.cluster, .jobs = checked.jobs};
        for (std::size_t j = 0; j < then.jobs.size(); ++j)
            then.jobs[j].placement = plan.decisions[j].placement;
        for (std::size_t j = 0; j < then.jobs.size(); ++j) {
            const auto& partner = plan.decisions[j].shares_with;
            if (!partner) continue;
            // Both jobs would need a promised end while they share these GPUs.
            if (is_newly_tied(j, plan.decisions[j]) && kept(j) && kept(*partner)) return std::nullopt;
            if (*partner > j) hold_once(then, {j, *partner}, deadlines);
        }
        AfterRound after;
        std::vector<Reservation> reservations;
        for (std::size_t j = 0; j < then.jobs.size(); ++j) {
            Job& job = then.jobs[j];
            const Decision& decision = plan.decisions[j];
            const PromisedRound::PromisedJob* promised = kept(j);
            const auto& partner = decision.shares_with;
            const double restart = holdings.restart_after(j, decision);
            const double held =
                std::max(restart, partner ? holdings.restart_after(*partner, plan.decisions[*partner]) : 0);
            if (holdings.stay_seconds(decision.placement, checked.time_seconds) <= seconds)
                job.placement.clear();
            job.restarting = held > seconds && !job.placement.empty();
            if (holdings.comes_back(j) || (promised && holdings.is_set_aside(j))) job.preemptible = true;
            if (promised) {
                DeadlineJob& left = after.jobs.emplace_back(promised->job);
                if (is_newly_tied(j, decision)) slow_down(left, decision.part_of_speed);
                left.deadline_seconds -= seconds;
                holdings.hold(left, then, job, round.pools, restart - seconds,
                              job.preemptible ? holdings.whole_rounds(held - seconds)
                                              : std::numeric_limits<double>::infinity());
                const double speed = speed_under(j, decision, then, left);
                after.ends.push_back(carry_out(left, promised->job, decision, restart, speed));
                if (left.work_left > 0 && left.deadline_seconds <= 0) return std::nullopt;
                after.deadline_of.push_back(promised->deadline);
            }
            holdings.reserve(reservations, job, promised ? &after.jobs.back() : nullptr, false,
                             held - seconds, partner && holdings.is_bound(*partner));
        }
        after.cluster = promised_cluster(then, round.pools, reservations, holdings.times);
        return after;
    }

private:
    [[nodiscard]] const PromisedRound::PromisedJob* kept(std::size_t j) const {
        return round.kept(checked.jobs[j].name, j);
    }
    /// Returns whether this decision ties two jobs to each other that could still be separated before.
    [[nodiscard]] bool is_newly_tied(std::size_t j, const Decision& decision) const {
        return decision.shares_with && holdings.partner_of(j) != decision.shares_with &&
               holdings.are_tied(j, *decision.shares_with);
    }
    /// Returns the speed that a promise counts on while this decision is carried out. If the job stays on a
    /// size that plans do not know yet, adds that size to what they know of the job.
    double speed_under(std::size_t j, const Decision& decision, const Snapshot& then,
                       DeadlineJob& left) const {
        const std::optional<HeldGpus> holds = held_gpus(then, round.pools, decision.placement);
        double speed = holds ? left.speed_on(*holds) : 0;
        // The job may hold a size that it was not offered before, or that it cannot use. Plans can count on
        // such a size only if they know that the job stays on it.
        if (holds && speed == 0 && decision.option.goodput > 0) {
            speed = promised_speed(left, *holds);
            const Job& job = then.jobs[j];
            if (!job.preemptible || why_not_planned(job, then.cluster, round.pools[holds->gpu_type],
                                                    decision.option.configuration.first())
                                        .empty())
                left.other_sizes.push_back({*holds, speed});
        }
        // The speed of tied jobs already includes the slowdown.
        const bool is_slower = decision.shares_with && !holdings.are_tied(j, *decision.shares_with);
        return is_slower ? speed * decision.part_of_speed : speed;
    }
    /// Takes off what a job does within this round. Returns when it ends, or infinity if it does not.
    double carry_out(DeadlineJob& left, const DeadlineJob& now, const Decision& decision, double restart,
                     double speed) const {
        const double seconds =
            std::min({round.round_seconds, holdings.stay_seconds(decision.placement, checked.time_seconds),
                      now.deadline_seconds});
        const double work = speed * std::max(0.0, seconds - restart), had = left.work_left;
        const bool ends = work >= had * (1 - deadline_tolerance);
        left.work_left = ends ? 0 : had - work;
        if (!ends || !(had > 0)) return std::numeric_limits<double>::infinity();
        return checked.time_seconds + (speed > 0 ? restart + had / speed : 0);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
