#ifndef GOODPUT_DEADLINES_PROMISES_HPP
#define GOODPUT_DEADLINES_PROMISES_HPP

// Promises over rounds: which jobs are promised an end in time, what each promised job must have now to
// keep the promise, and which promises are broken, and why.
//
// One rule selects the plan. The current plan stands as long as it ends every promised job in time on the
// GPUs that exist. Otherwise a new plan is made that ends jobs some time before their deadlines (the
// reserve). If no such plan exists, a new plan without the reserve is made. A newcomer gets a promise if
// the current plan has room for it, or if there is a new plan with the reserve for it and all earlier
// promises. If keeps_plan() holds, a round may give a job other GPUs than its plan says.
//
// GPUs of an invalid job without a promise are expected back in the next round. If they do not come back,
// promises that need them are at risk. If a job runs on GPUs that no plan counts on, it gets a promise only
// if it cannot be moved.

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

#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission.hpp"
#include "goodput/deadlines/asked_gpu_time.hpp"

namespace goodput::inline v0_1 {

/// The state of a job's deadline.
enum class Promise {
    kept,     ///< a plan ends the job in time, and GPUs are reserved for it
    refused,  ///< no plan was found that also keeps the earlier promises
    broken,   ///< the job has a promise, and no plan can keep it any more
    at_risk   ///< the job has a promise; no plan that keeps it was found, but there may be one
};

/// The answer to a job with a deadline: its state, and the GPUs that a round should give it. Times are on
/// the clock of the call.
struct PromiseAnswer {
    Promise promise = Promise::refused;  ///< state of the deadline
    std::optional<HeldGpus> now{};       ///< GPUs that the plan gives the job from now on, if any
    double until_seconds = std::numeric_limits<double>::infinity();    ///< when the plan changes that
    double done_by_seconds = std::numeric_limits<double>::infinity();  ///< end of the job under the plan
    std::string why{};  ///< why the promise is refused, broken or at risk, in words
};

/// The order in which newcomers ask if not all of them can be admitted.
enum class AskingOrder {
    first_come,  ///< order of the jobs
    /// Largest weight per GPU time first, counting the least GPU time that each job needs. This promises
    /// the most weight. GPUs of different types count in proportion to the job's speed on them. If jobs
    /// with more weight per GPU time have asked for all of it in the calls so far, a job is refused until
    /// it needs less (asked_gpu_time.hpp).
    weight_by_gpu_time
};

/// Options for giving promises.
struct PromiseOptions {
    AdmissionOptions admission{};                 ///< options for each admission question
    AskingOrder order = AskingOrder::first_come;  ///< order in which newcomers ask
    /// A promise is given if a plan ends the job this many seconds before its deadline, or if the job can
    /// begin now and keep its GPUs until it ends in time. Later plans keep this distance as long as they
    /// can. The reserve covers jobs that get less than planned, and rounds that do not begin with a slot of
    /// the plan. A deadline within the slot that begins now needs no reserve.
    double reserve_seconds = 0;
    /// How late a round may begin after a moment at which the plan changes GPUs, at least 0. A start that
    /// is planned for later than now does no work for this long. 0 means that rounds begin at whole slots;
    /// if they do not, the plan moves with them.
    double late_seconds = 0;
    /// Limits the searches of a call for plans that move promised jobs to make room for a newcomer: the
    /// total number of jobs in these plans. A job counts once per GPU type, and once more per block size
    /// that the nodes of a type limit. Once the limit is reached, newcomers are admitted only if the
    /// current plan has room for them. Newcomers that never asked are searched for first.
    /// AdmissionOptions::deadline limits all questions of a call together.
    std::size_t most_searched_jobs = 2000;
    /// Whether the cluster may have more GPUs in the next calls than is known now. If so, no promise is
    /// broken for good.
    bool may_get_more_gpus = false;
};

/// Returns whether a round of `seconds` may give a promised job other GPUs than its plan does. It may if
/// the job at this `speed` does as much work as planned, plus the work that a restart back to the plan's
/// GPUs may cost. `goes_on` says that the job holds those other GPUs already. Returns true if the plan
/// gives the job nothing yet.
[[nodiscard]] bool keeps_plan(const DeadlineJob& job, const PromiseAnswer& answer, double speed, bool goes_on,
                              double seconds);

/// The promises that have been given. Jobs are identified by name.
class Promises {
public:
    /// Begins without any promises.
    explicit Promises(PromiseOptions options = {}) : options_(std::move(options)) {}

    /// Returns the state of each job at `now_seconds`, on any clock that all calls share. `cluster` and the
    /// jobs' deadlines count from now. A promise ends when its job is no longer among `jobs`. If a job
    /// still exists but nothing is known about it at present, pass expected() for it. A refused job asks
    /// again in each call. Throws std::invalid_argument for whatever admit() rejects, a time that is not
    /// finite, a reserve that is negative or not finite, and duplicate names.
    std::vector<PromiseAnswer> plan(double now_seconds, const ClusterOverTime& cluster,
                                    std::span<const DeadlineJob> jobs);

    /// Returns whether all promises can still be kept from `later_seconds` on if the state then is as given
    /// here: the cluster as seen from then, and the jobs with the work, the deadlines and the GPUs that
    /// they have then. If so, the next calls follow the plan found. Throws std::invalid_argument for
    /// whatever plan() rejects.
    bool keep_from(double later_seconds, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs);
    /// Returns the time at which a job, in its state at `now_seconds`, ends under the current plan;
    /// infinity if it does not end.
    [[nodiscard]] double done_by(double now_seconds, const DeadlineJob& job) const;
    /// Returns a promised job as it should be at `now_seconds` if it has followed its plan since it was
    /// last passed to plan(). Returns nothing if it never was, or has no promise.
    [[nodiscard]] std::optional<DeadlineJob> expected(const std::string& name, double now_seconds) const;

    /// Returns the options for the next promises, for changing them.
    [[nodiscard]] PromiseOptions& options() { return options_; }
    /// See options().
    [[nodiscard]] const PromiseOptions& options() const { return options_; }
    /// Returns the names of jobs whose promise is not broken, oldest promise first.
    [[nodiscard]] std::vector<std::string> kept() const;
    /// Returns whether nothing is remembered of any job.
    [[nodiscard]] bool empty() const { return given_.empty() && asked_.empty(); }
    /// Returns the deadline less the reserve, in seconds from now.
    [[nodiscard]] double with_reserve(double deadline_seconds) const {
        const double slot = std::min(deadline_seconds, options_.admission.slot_seconds);
        return std::max(slot, deadline_seconds - options_.reserve_seconds);
    }

    /// Takes a promise as already given, for example one that is read back after a restart of the
    /// scheduler. The job asks before all jobs without a promise. If no plan is found, its promise is
    /// broken rather than refused.
    void give(std::string name);
    /// Ends the promises of all jobs except these.
    void keep_only(const std::set<std::string>& names) {
        std::erase_if(given_, [&](const Given& given) { return !names.contains(given.name); });
        std::erase_if(asked_, [&](const std::string& name) { return !names.contains(name); });
    }

private:
    struct Given {
        std::string name{};
        DeadlinePlan pieces{};             ///< pieces on the clock of the call
        std::optional<DeadlineJob> job{};  ///< the job as last passed
        double seen_seconds = 0;           ///< when the job was last passed
        double planned_work = 0;           ///< work left at that time
        bool broken = false;
    };
    /// A call: its jobs, and the GPUs that the plans of kept promises leave free.
    struct Call {
        Call(double now_seconds, const ClusterOverTime& over_time, std::span<const DeadlineJob> all,
             double slot_seconds)
            : now(now_seconds),
              cluster(over_time),
              jobs(all),
              filled(all.begin(), all.end()),
              grid(over_time, all, slot_seconds),
              free(grid, filled, slot_seconds) {}

        double now;
        const ClusterOverTime& cluster;
        std::span<const DeadlineJob> jobs;
        std::vector<DeadlineJob> filled;  // jobs with the deadlines that `free` keeps
        detail::TimeGrid grid;
        detail::ProgressiveFilling free;
        std::vector<std::size_t> kept{};
        detail::Clock clock{};
        std::optional<std::size_t> impossible_alone{};  // answer to the last question
    };

    void begin(Call& call) const { call.clock = detail::Clock(options_.admission.deadline); }
    [[nodiscard]] const Given* find(const std::string& name) const {
        const auto given =
            std::find_if(given_.begin(), given_.end(), [&](const Given& each) { return each.name == name; });
        return given == given_.end() ? nullptr : &*given;
    }
    [[nodiscard]] Given* find(const std::string& name) {
        return const_cast<Given*>(std::as_const(*this).find(name));
    }
    /// Checks a call, and lets its jobs start late.
    [[nodiscard]] std::vector<DeadlineJob> checked(double now, const ClusterOverTime& cluster,
                                                   std::span<const DeadlineJob> jobs) const;
    [[nodiscard]] DeadlinePlan from_now(const Given& given, double now) const;
    [[nodiscard]] double end_of(const Given& given, const DeadlineJob& job, double now) const {
        return done_after(job, from_now(given, now));
    }
    [[nodiscard]] static double behind(const Given& given, const DeadlineJob& job, double now);
    /// Returns whether the job has the same GPUs from now to its end.
    [[nodiscard]] static bool begins_now(const DeadlinePlan& pieces) {
        return pieces.size() == 1 && pieces.front().from_seconds <= 0;
    }
    [[nodiscard]] static double gpu_time(const DeadlinePlan& pieces) {
        double sum = 0;
        for (const PlannedPiece& piece : pieces)
            sum += piece.held.gpus * (piece.until_seconds - piece.from_seconds);
        return sum;
    }
    void follow(const DeadlineJob& job, double now, DeadlinePlan pieces);
    bool keeps_its_plan(Call& call, std::size_t job) const;
    AdmissionStatus plan_anew(Call& call, const std::vector<std::size_t>& who,
                              const std::vector<double>& deadlines, bool at_once);
    AdmissionStatus admit_beside(Call& call, std::size_t job, bool reserve, bool at_once, bool search);
    std::vector<std::size_t> keep_promises(Call& call);
    [[nodiscard]] std::vector<std::size_t> newcomers(const Call& call) const;
    [[nodiscard]] bool others_need_its_time(const Call& call, std::size_t job) const {
        return options_.order == AskingOrder::weight_by_gpu_time && !find(call.jobs[job].name) &&
               asked_time_.others_need_it(call.now, gpu_time_need(call.cluster, call.jobs[job]));
    }
    [[nodiscard]] std::string why_late(const Call& call, const Given& given, const DeadlineJob& job) const;
    [[nodiscard]] std::string why_refused(const DeadlineJob& job, AdmissionStatus status, bool alone) const;

    PromiseOptions options_{};
    std::vector<Given> given_{};     // oldest first
    std::set<std::string> asked_{};  // jobs that were refused before
    AskedGpuTime asked_time_{};
};

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

/// Looks for one plan that ends all these jobs before these deadlines, and follows it if there is one.
/// `at_once`: the last job, which is the one that asks, must begin now and keep its GPUs to its end.
inline AdmissionStatus Promises::plan_anew(Call& call, const std::vector<std::size_t>& who,
                                           const std::vector<double>& deadlines, bool at_once) {
    std::vector<DeadlineJob> all;
    for (std::size_t k = 0; k < who.size(); ++k) {
        all.push_back(call.jobs[who[k]]);
        all.back().deadline_seconds = deadlines[k];
    }
    AdmissionOptions options = options_.admission;
    if (call.clock.late()) return AdmissionStatus::unknown;
    options.deadline = call.clock.left();
    const Admission admission = admit(call.cluster, all, options);
    call.impossible_alone = admission.impossible_alone;
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
inline AdmissionStatus Promises::admit_beside(Call& call, std::size_t job, bool reserve, bool at_once,
                                              bool search) {
    const double deadline = call.jobs[job].deadline_seconds;
    call.filled[job].deadline_seconds = reserve ? with_reserve(deadline) : deadline;
    std::optional<DeadlinePlan> pieces = call.free.plan_of(job);
    if (pieces && at_once && !begins_now(*pieces)) pieces.reset();
    if (reserve && options_.reserve_seconds > 0) {
        // A job that begins now and keeps its GPUs to its end needs no reserve, so fewer GPUs may be enough
        // for it.
        const double reserved = std::exchange(call.filled[job].deadline_seconds, deadline);
        if (std::optional<DeadlinePlan> spared = call.free.plan_of(job);
            spared && begins_now(*spared) && (!pieces || gpu_time(*spared) < gpu_time(*pieces)))
            pieces = std::move(spared);
        call.filled[job].deadline_seconds = reserved;
    }
    if (pieces) {
        (void)call.free.take(*pieces);
        follow(call.jobs[job], call.now, std::move(*pieces));
        call.kept.push_back(job);
        return AdmissionStatus::possible;
    }
    call.impossible_alone.reset();
    if (!search) return AdmissionStatus::unknown;
    std::vector<std::size_t> who = call.kept;
    // A job may end later than its present plan says only if it keeps the reserve before its deadline.
    std::vector<double> deadlines;
    for (const std::size_t j : who)
        deadlines.push_back(
            std::min(call.jobs[j].deadline_seconds,
                     std::max((1 + 1e-6) * end_of(*find(call.jobs[j].name), call.jobs[j], call.now),
                              with_reserve(call.jobs[j].deadline_seconds))));
    who.push_back(job);
    deadlines.push_back(call.filled[job].deadline_seconds);
    return plan_anew(call, who, deadlines, at_once);
}

/// Fills Call::kept with the promised jobs whose plans end them in time, old plans or new ones. Returns the
/// jobs for which no such plan was found.
inline std::vector<std::size_t> Promises::keep_promises(Call& call) {
    std::vector<std::size_t> promised, late;
    for (const Given& given : given_)
        for (std::size_t j = 0; j < call.jobs.size() && !given.broken; ++j)
            if (call.jobs[j].name == given.name) promised.push_back(j);
    for (const std::size_t j : promised) (keeps_its_plan(call, j) ? call.kept : late).push_back(j);
    if (late.empty()) return late;
    std::vector<double> reserved, deadlines;
    for (const std::size_t j : promised) {
        deadlines.push_back(call.jobs[j].deadline_seconds);
        reserved.push_back(with_reserve(deadlines.back()));
    }
    if ((options_.reserve_seconds > 0 &&
         plan_anew(call, promised, reserved, false) == AdmissionStatus::possible) ||
        plan_anew(call, promised, deadlines, false) == AdmissionStatus::possible)
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
    // The reserve is for late rounds, not for the policy to use up. So a job may end later than its plan
    // says only if it keeps the reserve before its deadline. The last round may begin late as well.
    std::vector<std::size_t> who;
    std::vector<double> deadlines;
    for (const Given& given : given_)
        for (std::size_t j = 0; j < jobs.size() && !given.broken; ++j) {
            if (jobs[j].name != given.name) continue;
            who.push_back(j);
            deadlines.push_back(jobs[j].deadline_seconds);
            if (!given.job) continue;
            const double passed = later_seconds - given.seen_seconds,
                         end = end_of(given, *given.job, given.seen_seconds) - passed;
            all[j].deadline_seconds = deadlines.back() =
                std::min(jobs[j].deadline_seconds,
                         std::max(end + 1e-6 * passed, jobs[j].deadline_seconds - options_.reserve_seconds));
        }
    Call call(later_seconds, cluster, all, options_.admission.slot_seconds);
    begin(call);
    return std::all_of(who.begin(), who.end(), [&](std::size_t j) { return keeps_its_plan(call, j); }) ||
           plan_anew(call, who, deadlines, false) == AdmissionStatus::possible;
}

inline std::vector<PromiseAnswer> Promises::plan(double now_seconds, const ClusterOverTime& cluster,
                                                 std::span<const DeadlineJob> given_jobs) {
    const std::vector<DeadlineJob> jobs = checked(now_seconds, cluster, given_jobs);
    std::set<std::string> names;
    for (const DeadlineJob& job : jobs) names.insert(job.name);
    keep_only(names);

    Call call(now_seconds, cluster, jobs, options_.admission.slot_seconds);
    begin(call);
    std::vector<PromiseAnswer> answers(jobs.size());
    bool at_risk = false;
    for (const std::size_t j : keep_promises(call)) {
        const std::string why = why_late(call, *find(jobs[j].name), jobs[j]);
        const AdmissionStatus status = admit_beside(call, j, false, false, true);
        if (status == AdmissionStatus::possible) continue;
        Given& given = *find(jobs[j].name);
        given.broken = status == AdmissionStatus::impossible && !options_.may_get_more_gpus;
        answers[j].promise = given.broken ? Promise::broken : Promise::at_risk;
        answers[j].why = why;
        if (given.broken) continue;
        // The job continues as planned as far as the kept promises leave room, and no newcomer gets those
        // GPUs.
        at_risk = true;
        std::erase_if(given.pieces, [&](const PlannedPiece& piece) {
            return !call.free.take(from_now({.name = given.name, .pieces = {piece}}, now_seconds));
        });
    }
    std::vector<std::size_t> asking = newcomers(call);
    std::erase_if(asking, [&](std::size_t j) { return answers[j].promise == Promise::broken; });
    std::vector<std::size_t> for_search = asking;
    std::stable_partition(for_search.begin(), for_search.end(),
                          [&](std::size_t j) { return !asked_.contains(jobs[j].name); });
    const std::size_t searches =
        at_risk ? 0
                : options_.most_searched_jobs /
                      ((jobs.size() + 1) * std::max<std::size_t>(call.grid.rows.size(), 1));
    std::vector<char> searched(jobs.size(), 0);
    for (std::size_t k = 0; k < std::min(searches, for_search.size()); ++k) searched[for_search[k]] = 1;
    for (const std::size_t j : asking)
        if (options_.order == AskingOrder::weight_by_gpu_time && !find(jobs[j].name) &&
            !asked_.contains(jobs[j].name))
            asked_time_.note(now_seconds, gpu_time_need(cluster, jobs[j]));
    for (const std::size_t j : asking) {
        if (others_need_its_time(call, j)) {
            asked_.insert(jobs[j].name);
            answers[j].why =
                "jobs that need less GPU time for a promise ask for all that there is until its "
                "deadline, if as many come as lately";
            continue;
        }
        const bool search = searched[j] != 0;
        AdmissionStatus status = admit_beside(call, j, true, false, search);
        const bool alone = call.impossible_alone == call.kept.size();
        if (status != AdmissionStatus::possible && options_.reserve_seconds > 0 &&
            admit_beside(call, j, false, true, search) == AdmissionStatus::possible)
            status = AdmissionStatus::possible;
        if (status == AdmissionStatus::possible) {
            asked_.erase(jobs[j].name);
            continue;
        }
        asked_.insert(jobs[j].name);
        const bool again = find(jobs[j].name) != nullptr;
        answers[j].promise = again ? Promise::broken : Promise::refused;
        answers[j].why = again
                             ? "its promise was broken before, and no plan has been found since that keeps it"
                             : why_refused(jobs[j], status, alone);
    }
    for (Given& given : given_)
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (jobs[j].name != given.name) continue;
            given.job = jobs[j];
            given.seen_seconds = now_seconds;
            if (given.broken) continue;
            PromiseAnswer& answer = answers[j];
            const DeadlinePlan pieces = from_now(given, now_seconds);
            answer.done_by_seconds = now_seconds + done_after(jobs[j], pieces);
            // A job that has no work left is not late, however long ago its deadline was.
            if (jobs[j].work_left <= 0)
                answer.done_by_seconds =
                    std::min(answer.done_by_seconds, now_seconds + jobs[j].deadline_seconds);
            if (answer.promise != Promise::at_risk) answer.promise = Promise::kept;
            if (pieces.empty()) continue;
            const bool begins = pieces.front().from_seconds <= 0;
            if (begins) answer.now = pieces.front().held;
            answer.until_seconds =
                now_seconds + (begins ? pieces.front().until_seconds : pieces.front().from_seconds);
        }
    return answers;
}

}  // namespace goodput::inline v0_1

#endif
