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
        Call(const AdmissionOptions& options, double now_seconds, const ClusterOverTime& over_time,
             std::span<const DeadlineJob> all)
            : now(now_seconds),
              cluster(over_time),
              jobs(all),
              filled(all.begin(), all.end()),
              grid(over_time, all, options.slot_seconds),
              free(grid, filled, options.slot_seconds),
              clock(options.deadline) {}

        double now;
        const ClusterOverTime& cluster;
        std::span<const DeadlineJob> jobs;
        std::vector<DeadlineJob> filled;  // jobs with the deadlines that `free` keeps
        detail::TimeGrid grid;
        detail::ProgressiveFilling free;
        detail::Clock clock;
        std::vector<std::size_t> kept{};
        bool impossible_alone = false;  // whether the last job that asked could not even end in time alone
    };

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
    [[nodiscard]] std::vector<std::size_t> promised(std::span<const DeadlineJob> jobs) const;
    bool keeps_its_plan(Call& call, std::size_t job) const;
    template <class DeadlineOf>
    AdmissionStatus plan_anew(Call& call, const std::vector<std::size_t>& who, DeadlineOf&& deadline_of,
                              bool at_once = false);
    AdmissionStatus admit_beside(Call& call, std::size_t job, bool reserve, bool search);
    std::vector<std::size_t> keep_promises(Call& call);
    bool answer_late(Call& call, std::size_t job, PromiseAnswer& answer);
    void answer_newcomers(Call& call, bool search, std::vector<PromiseAnswer>& answers);
    void answer_kept(const Call& call, std::vector<PromiseAnswer>& answers);
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

}  // namespace goodput::inline v0_1

#include "goodput/deadlines/detail/keep_promises.hpp"

#endif
