#ifndef GOODPUT_DEADLINES_DETAIL_KEEP_PROMISES_HPP
#define GOODPUT_DEADLINES_DETAIL_KEEP_PROMISES_HPP

// How promises are given and kept in a call (promises.hpp). Jobs are answered in this order:
//
//     1. promised jobs whose plans stand, or for all of which there is a new plan,
//     2. the other promised jobs, one by one,
//     3. newcomers and jobs whose promise was broken, one by one.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission.hpp"
#include "goodput/deadlines/asked_gpu_time.hpp"
#include "goodput/deadlines/promises.hpp"

namespace goodput::inline v0_1 {

inline bool keeps_plan(const DeadlineJob& job, const PromiseAnswer& answer, double speed, bool goes_on,
                       double seconds) {
    if (!answer.now) return true;
    const double planned = job.speed_on(*answer.now);
    const auto work = [&](double each, bool on) {
        return each * std::max(0.0, seconds - (on ? job.restart_left_seconds : job.restart_seconds));
    };
    const double needed = work(planned, job.holds == answer.now) + planned * job.restart_seconds;
    return work(speed, goes_on) >= needed * (1 - detail::deadline_tolerance);
}

inline std::vector<std::string> Promises::kept() const {
    std::vector<std::string> names;
    for (const Given& given : given_)
        if (!given.broken) names.push_back(given.name);
    return names;
}

inline void Promises::give(std::string name) {
    if (!find(name)) given_.push_back({.name = std::move(name)});
}

inline std::vector<DeadlineJob> Promises::checked(double now, const ClusterOverTime& cluster,
                                                  std::span<const DeadlineJob> jobs) const {
    if (!std::isfinite(now)) bad_input("promises", "now_seconds", now, "finite");
    if (!(std::isfinite(options_.reserve_seconds) && options_.reserve_seconds >= 0))
        bad_input("promises", "reserve_seconds", options_.reserve_seconds, "a finite number of at least 0");
    if (!(std::isfinite(options_.late_seconds) && options_.late_seconds >= 0))
        bad_input("promises", "late_seconds", options_.late_seconds, "a finite number of at least 0");
    validate(cluster);
    std::vector<std::string> names;
    for (const DeadlineJob& job : jobs) {
        validate(job, cluster.gpu_types.size());
        names.push_back(job.name);
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        bad_input("job '" + *twice + "'", "name", "'" + *twice + "'", "the name of no other job");
    std::vector<DeadlineJob> late(jobs.begin(), jobs.end());
    for (DeadlineJob& job : late) job.late_seconds = std::max(job.late_seconds, options_.late_seconds);
    return late;
}

/// Returns the pieces that are not over, in seconds from now. GPUs change hands at whole slots from now on.
/// A moment of the plan therefore becomes the next such moment, or the one just before it if rounds begin a
/// little late. All moments move in the same way, so pieces of different jobs still do not collide on a
/// GPU. If rounds begin at any time (late_seconds above 0), the plan stays as it is, and starts count as
/// late instead. Moving it would shorten pieces that begin in one round and end in another.
inline DeadlinePlan Promises::from_now(const Given& given, double now) const {
    constexpr double unpunctual = 0.01;  // part of a slot
    const double slot = options_.late_seconds > 0 ? 0 : options_.admission.slot_seconds;
    const auto moment = [&](double at) {
        const double later = std::max(0.0, at - now);
        return slot > 0 ? std::max(0.0, std::ceil(later / slot - unpunctual)) * slot : later;
    };
    DeadlinePlan pieces;
    for (PlannedPiece piece : given.pieces) {
        piece.from_seconds = moment(piece.from_seconds);
        piece.until_seconds = moment(piece.until_seconds);
        if (piece.until_seconds > piece.from_seconds) pieces.push_back(piece);
    }
    return pieces;
}

/// Returns the work that the job lacks compared with what its plan expected by now.
inline double Promises::behind(const Given& given, const DeadlineJob& job, double now) {
    double planned = 0;
    for (const PlannedPiece& piece : given.pieces)
        planned +=
            job.speed_on(piece.held) * std::max(0.0, std::min(piece.until_seconds, now) - piece.from_seconds -
                                                         job.restart_seconds - job.late_seconds);
    return job.work_left - std::max(0.0, given.planned_work - planned);
}

/// Makes these pieces the plan of a job. From now on the job has a promise.
inline void Promises::follow(const DeadlineJob& job, double now, DeadlinePlan pieces) {
    Given* given = find(job.name);
    if (!given) given = &given_.emplace_back(Given{.name = job.name});
    given->pieces = std::move(pieces);
    for (PlannedPiece& piece : given->pieces) {
        piece.from_seconds += now;
        piece.until_seconds += now;
    }
    given->planned_work = job.work_left;
    given->broken = false;
}

/// Returns whether a job ends in time under its plan, on GPUs that the promises kept so far leave free. If
/// so, takes these GPUs for it.
inline bool Promises::keeps_its_plan(Call& call, std::size_t job) const {
    const DeadlinePlan pieces = from_now(*find(call.jobs[job].name), call.now);
    for (const PlannedPiece& piece : pieces)
        if (piece.from_seconds < call.jobs[job].from_seconds) return false;
    return std::isfinite(done_after(call.jobs[job], pieces)) && call.free.take(pieces);
}

/// Returns the jobs whose promise is not broken, oldest promise first.
inline std::vector<std::size_t> Promises::promised(std::span<const DeadlineJob> jobs) const {
    std::vector<std::size_t> found;
    for (const Given& given : given_)
        for (std::size_t j = 0; j < jobs.size() && !given.broken; ++j)
            if (jobs[j].name == given.name) found.push_back(j);
    return found;
}

/// Looks for one plan that ends all these jobs before their deadline_of(job), and follows it if there is
/// one. `at_once`: the last job must begin now and keep its GPUs to its end.
template <class DeadlineOf>
AdmissionStatus Promises::plan_anew(Call& call, const std::vector<std::size_t>& who, DeadlineOf&& deadline_of,
                                    bool at_once) {
    std::vector<DeadlineJob> all;
    for (const std::size_t j : who) {
        all.push_back(call.jobs[j]);
        all.back().deadline_seconds = deadline_of(j);
    }
    AdmissionOptions options = options_.admission;
    if (call.clock.late()) return AdmissionStatus::unknown;
    options.deadline = call.clock.left();
    const Admission admission = admit(call.cluster, all, options);
    call.impossible_alone = admission.impossible_alone == who.size() - 1;
    if (admission.status != AdmissionStatus::possible) return admission.status;
    std::vector<DeadlinePlan> plans(all.size());
    for (const PlannedPiece& piece : admission.plan) plans[piece.job].push_back(piece);
    if (at_once && !begins_now(plans.back())) return AdmissionStatus::unknown;
    call.free.clear();
    for (std::size_t k = 0; k < who.size(); ++k) {
        (void)call.free.take(plans[k]);
        follow(call.jobs[who[k]], call.now, std::move(plans[k]));
    }
    call.kept = who;
    return admission.status;
}

/// Looks for a plan with one more job: next to the current plans, and, if `search` is set, with new ones.
inline AdmissionStatus Promises::admit_beside(Call& call, std::size_t job, bool reserve, bool search) {
    const double deadline = call.jobs[job].deadline_seconds,
                 asked = reserve ? with_reserve(deadline) : deadline;
    const auto planned_until = [&](double end) {
        call.filled[job].deadline_seconds = end;
        return call.free.plan_of(job);
    };
    std::optional<DeadlinePlan> pieces = planned_until(asked);
    // A job that begins now and keeps its GPUs to its end needs no reserve, so fewer GPUs may be enough for
    // it.
    if (reserve && options_.reserve_seconds > 0)
        if (std::optional<DeadlinePlan> spared = planned_until(deadline);
            spared && begins_now(*spared) && (!pieces || gpu_time(*spared) < gpu_time(*pieces)))
            pieces = std::move(spared);
    call.impossible_alone = false;
    if (pieces) {
        (void)call.free.take(*pieces);
        follow(call.jobs[job], call.now, std::move(*pieces));
        call.kept.push_back(job);
        return AdmissionStatus::possible;
    }
    if (!search) return AdmissionStatus::unknown;
    std::vector<std::size_t> who = call.kept;
    who.push_back(job);
    // A job may end later than its present plan says only if it keeps the reserve before its deadline.
    const auto with_job_until = [&](double end, bool at_once) {
        const auto deadline_of = [&](std::size_t j) {
            const DeadlineJob& its = call.jobs[j];
            return j == job ? end
                            : std::min(its.deadline_seconds,
                                       std::max((1 + 1e-6) * end_of(*find(its.name), its, call.now),
                                                with_reserve(its.deadline_seconds)));
        };
        return plan_anew(call, who, deadline_of, at_once);
    };
    const AdmissionStatus status = with_job_until(asked, false);
    if (status == AdmissionStatus::possible || !reserve || !(options_.reserve_seconds > 0)) return status;
    const bool impossible_alone = call.impossible_alone;
    if (with_job_until(deadline, true) == AdmissionStatus::possible) return AdmissionStatus::possible;
    call.impossible_alone = impossible_alone;
    return status;
}

/// Fills Call::kept with the promised jobs whose plans end them in time, old plans or new ones. Returns the
/// jobs for which no such plan was found.
inline std::vector<std::size_t> Promises::keep_promises(Call& call) {
    const std::vector<std::size_t> all = promised(call.jobs);
    std::vector<std::size_t> late;
    for (const std::size_t j : all) (keeps_its_plan(call, j) ? call.kept : late).push_back(j);
    if (late.empty()) return late;
    const auto deadline = [&](std::size_t j) { return call.jobs[j].deadline_seconds; };
    const auto reserved = [&](std::size_t j) { return with_reserve(deadline(j)); };
    if ((options_.reserve_seconds > 0 && plan_anew(call, all, reserved) == AdmissionStatus::possible) ||
        plan_anew(call, all, deadline) == AdmissionStatus::possible)
        return {};
    return late;
}

/// Returns the jobs without a kept promise, in the order in which they ask: jobs with a broken promise
/// first, then the others, each in the order of PromiseOptions::order.
inline std::vector<std::size_t> Promises::newcomers(const Call& call) const {
    const std::span<const DeadlineJob> jobs = call.jobs;
    std::vector<std::size_t> order;
    std::vector<double> worth(jobs.size(), 0.0);
    for (std::size_t j = 0; j < jobs.size(); ++j)
        if (const Given* given = find(jobs[j].name); !given || given->broken) order.push_back(j);
    for (const std::size_t j : order) worth[j] = gpu_time_need(call.cluster, jobs[j]).worth();
    if (options_.order == AskingOrder::weight_by_gpu_time)
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
    std::stable_partition(order.begin(), order.end(), [&](std::size_t j) { return find(jobs[j].name); });
    return order;
}

inline std::string Promises::why_late(const Call& call, const Given& given, const DeadlineJob& job) const {
    const auto is_behind = [&](const Given& each, const DeadlineJob& its_job) {
        return !each.pieces.empty() &&
               behind(each, its_job, call.now) > 1e-6 * std::max(each.planned_work, its_job.work_left);
    };
    if (is_behind(given, job))
        return "it has done " + rounded_text_of(behind(given, job, call.now)) +
               " less of its work than its plan counted on";
    std::string others;
    for (const DeadlineJob& each : call.jobs)
        if (const Given* other = find(each.name); other && is_behind(*other, each))
            others += " '" + each.name + "'";
    return others.empty() ? "the nodes, or the speed of jobs, are not what its plan counted on"
                          : "behind their plans:" + others;
}

inline std::string Promises::why_refused(const DeadlineJob& job, AdmissionStatus status, bool alone) const {
    if (job.deadline_seconds <= 0)
        return "its deadline passed " + rounded_text_of(-job.deadline_seconds) + " s ago";
    if (alone)
        return std::string("it could not end before its deadline even with all GPUs for itself") +
               (options_.reserve_seconds > 0 ? ", with some seconds in reserve" : "");
    return std::string(
               status == AdmissionStatus::impossible
                   ? "with it, not all who are promised an end in time could have one, which is proven"
                   : "no plan was found that ends it in time with all who are promised that") +
           (options_.reserve_seconds > 0 ? "; some seconds before each deadline are kept in reserve" : "");
}

inline double Promises::done_by(double now_seconds, const DeadlineJob& job) const {
    const Given* given = find(job.name);
    return given ? now_seconds + end_of(*given, job, now_seconds) : std::numeric_limits<double>::infinity();
}

inline std::optional<DeadlineJob> Promises::expected(const std::string& name, double now_seconds) const {
    const Given* given = find(name);
    if (!given || given->broken || !given->job) return std::nullopt;
    DeadlineJob job = *given->job;
    DeadlinePlan past;
    for (PlannedPiece piece : given->pieces) {
        piece.from_seconds = std::max(piece.from_seconds, given->seen_seconds) - given->seen_seconds;
        piece.until_seconds = std::min(piece.until_seconds, now_seconds) - given->seen_seconds;
        if (piece.until_seconds > piece.from_seconds) past.push_back(piece);
    }
    job.from_seconds = 0;
    job.work_left = std::max(0.0, job.work_left - work_of(job, past));
    job.deadline_seconds -= now_seconds - given->seen_seconds;
    return job;
}

inline bool Promises::keep_from(double later_seconds, const ClusterOverTime& cluster,
                                std::span<const DeadlineJob> jobs) {
    std::vector<DeadlineJob> all = checked(later_seconds, cluster, jobs);
    const std::vector<std::size_t> who = promised(jobs);
    // The reserve is for late rounds, not for the policy to use up. So a job may end later than its plan
    // says only if it keeps the reserve before its deadline. The last round may begin late as well.
    for (const std::size_t j : who) {
        const Given& given = *find(jobs[j].name);
        if (!given.job) continue;
        const double passed = later_seconds - given.seen_seconds,
                     end = end_of(given, *given.job, given.seen_seconds) - passed;
        double& deadline = all[j].deadline_seconds;
        deadline = std::min(deadline, std::max(end + 1e-6 * passed, deadline - options_.reserve_seconds));
    }
    Call call(options_.admission, later_seconds, cluster, all);
    return std::all_of(who.begin(), who.end(), [&](std::size_t j) { return keeps_its_plan(call, j); }) ||
           plan_anew(call, who, [&](std::size_t j) { return all[j].deadline_seconds; }) ==
               AdmissionStatus::possible;
}

/// Looks for a new plan with a promised job that its old plan does not end in time. If there is none,
/// answers that its promise is broken or at risk. Returns whether it is at risk.
inline bool Promises::answer_late(Call& call, std::size_t job, PromiseAnswer& answer) {
    Given& given = *find(call.jobs[job].name);
    std::string why = why_late(call, given, call.jobs[job]);
    const AdmissionStatus status = admit_beside(call, job, false, true);
    if (status == AdmissionStatus::possible) return false;
    answer.why = std::move(why);
    given.broken = status == AdmissionStatus::impossible && !options_.may_get_more_gpus;
    answer.promise = given.broken ? Promise::broken : Promise::at_risk;
    if (given.broken) return false;
    // The job continues as planned as far as the kept promises leave room, and no newcomer gets those GPUs.
    std::erase_if(given.pieces, [&](const PlannedPiece& piece) {
        return !call.free.take(from_now({.name = given.name, .pieces = {piece}}, call.now));
    });
    return true;
}

/// Answers jobs without a promise, or with a broken one. `search`: plans that move promised jobs may be
/// searched for.
inline void Promises::answer_newcomers(Call& call, bool search, std::vector<PromiseAnswer>& answers) {
    const std::span<const DeadlineJob> jobs = call.jobs;
    std::vector<std::size_t> asking = newcomers(call);
    std::erase_if(asking, [&](std::size_t j) { return answers[j].promise == Promise::broken; });
    const auto asks_anew = [&](std::size_t j) { return !asked_.contains(jobs[j].name); };
    std::vector<std::size_t> for_search = asking;
    std::stable_partition(for_search.begin(), for_search.end(), asks_anew);
    const std::size_t searches =
        search ? options_.most_searched_jobs /
                     ((jobs.size() + 1) * std::max<std::size_t>(call.grid.rows.size(), 1))
               : 0;
    for_search.resize(std::min(searches, for_search.size()));
    if (options_.order == AskingOrder::weight_by_gpu_time)
        for (const std::size_t j : asking)
            if (!find(jobs[j].name) && asks_anew(j))
                asked_time_.note(call.now, gpu_time_need(call.cluster, jobs[j]));
    for (const std::size_t j : asking) {
        if (others_need_its_time(call, j)) {
            asked_.insert(jobs[j].name);
            answers[j].why =
                "jobs that need less GPU time for a promise ask for all that there is until its "
                "deadline, if as many come as lately";
            continue;
        }
        const bool again = find(jobs[j].name) != nullptr;
        const AdmissionStatus status = admit_beside(call, j, true, std::ranges::count(for_search, j) > 0);
        if (status == AdmissionStatus::possible) {
            asked_.erase(jobs[j].name);
            continue;
        }
        asked_.insert(jobs[j].name);
        answers[j].promise = again ? Promise::broken : Promise::refused;
        answers[j].why = again
                             ? "its promise was broken before, and no plan has been found since that keeps it"
                             : why_refused(jobs[j], status, call.impossible_alone);
    }
}

/// Answers jobs whose promise is kept or at risk, and remembers the state of all jobs with a promise.
inline void Promises::answer_kept(const Call& call, std::vector<PromiseAnswer>& answers) {
    for (std::size_t j = 0; j < call.jobs.size(); ++j) {
        const DeadlineJob& job = call.jobs[j];
        Given* given = find(job.name);
        if (!given) continue;
        given->job = job;
        given->seen_seconds = call.now;
        if (given->broken) continue;
        PromiseAnswer& answer = answers[j];
        const DeadlinePlan pieces = from_now(*given, call.now);
        answer.done_by_seconds = call.now + done_after(job, pieces);
        // A job that has no work left is not late, however long ago its deadline was.
        if (job.work_left <= 0)
            answer.done_by_seconds = std::min(answer.done_by_seconds, call.now + job.deadline_seconds);
        if (answer.promise != Promise::at_risk) answer.promise = Promise::kept;
        if (pieces.empty()) continue;
        const bool begins = pieces.front().from_seconds <= 0;
        if (begins) answer.now = pieces.front().held;
        answer.until_seconds =
            call.now + (begins ? pieces.front().until_seconds : pieces.front().from_seconds);
    }
}

inline std::vector<PromiseAnswer> Promises::plan(double now_seconds, const ClusterOverTime& cluster,
                                                 std::span<const DeadlineJob> given_jobs) {
    const std::vector<DeadlineJob> jobs = checked(now_seconds, cluster, given_jobs);
    std::set<std::string> names;
    for (const DeadlineJob& job : jobs) names.insert(job.name);
    keep_only(names);
    Call call(options_.admission, now_seconds, cluster, jobs);
    std::vector<PromiseAnswer> answers(jobs.size());
    bool at_risk = false;
    for (const std::size_t j : keep_promises(call)) at_risk |= answer_late(call, j, answers[j]);
    answer_newcomers(call, !at_risk, answers);
    answer_kept(call, answers);
    return answers;
}

}  // namespace goodput::inline v0_1

#endif
