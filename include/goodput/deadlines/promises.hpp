#ifndef GOODPUT_DEADLINES_PROMISES_HPP
#define GOODPUT_DEADLINES_PROMISES_HPP

// Promises over rounds: who is promised an end in time, what each promised job has to have now so that the
// promise is kept, and which promises are broken, by whom.
//
// A promise is given where a plan over time was found that keeps it and all promises before it
// (admission.hpp). That plan is remembered. As long as it still ends everybody in time it is followed, so
// that nothing is moved about without need; where it does not, or somebody new asks, a new one is looked for.
// A round that gives a job more than its plan says does no harm where keeps_plan() holds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission.hpp"

namespace goodput {

/// How it stands with a job's deadline.
enum class Promise {
    kept,     ///< a plan ends it in time, and GPUs are reserved for it
    refused,  ///< none was found with the promises that were given before
    broken    ///< it was promised an end in time, and no plan has one any more
};

/// What a round has to know of a job with a deadline. Times are on the clock of the call.
struct PromiseAnswer {
    Promise promise = Promise::refused;  ///< how it stands
    std::optional<HeldGpus> now{};       ///< what the plan gives it from now on; none: nothing yet
    double until_seconds = std::numeric_limits<double>::infinity();    ///< when the plan changes that
    double done_by_seconds = std::numeric_limits<double>::infinity();  ///< its end under the plan
    std::string why{};  ///< why it is refused or broken, in words
};

/// Who asks first where not all newcomers can be admitted.
enum class AskingOrder {
    first_come,  ///< the order of the jobs
    /// Largest weight for the GPU time that a job needs at least: most weight gets a promise. A GPU of a type
    /// counts as the job's speed on it makes it count.
    weight_by_gpu_time
};

/// How promises are given.
struct PromiseOptions {
    AdmissionOptions admission{};                 ///< of each question
    AskingOrder order = AskingOrder::first_come;  ///< of newcomers
    /// A promise is given where a plan ends the job so many seconds before its deadline, and later plans keep
    /// this distance as long as there are such. For jobs that get less than planned, and for rounds that do
    /// not begin where slots of the plan do. A deadline within the slot that begins now needs none.
    double reserve_seconds = 0;
};

/// Whether a round of `seconds` may give a promised job other GPUs than its plan does: at this `speed` it
/// does as much as planned, and beyond that the work that a restart back to the plan's GPUs may cost.
/// `goes_on`: it holds those other GPUs already. True where the plan gives it nothing yet.
[[nodiscard]] bool keeps_plan(const DeadlineJob& job, const PromiseAnswer& answer, double speed, bool goes_on,
                              double seconds);

/// The promises that have been given. Jobs are told apart by their names.
class Promises {
public:
    /// None are given yet.
    explicit Promises(PromiseOptions options = {}) : options_(std::move(options)) {}

    /// How it stands with each job at `now_seconds` (any clock, the same in all calls). `cluster` and the
    /// jobs' deadlines are as seen from now. A promise ends with the job: whoever is not among `jobs` is
    /// forgotten. Who was refused asks again in each call. Where the next start of the plan would be within
    /// the slot that begins now, there is a new plan, or all that follows is moved to this slot's end or
    /// begin. Refuses what admit() refuses, a time that is not finite, a reserve that is negative or not
    /// finite, and names that occur twice (std::invalid_argument).
    std::vector<PromiseAnswer> plan(double now_seconds, const ClusterOverTime& cluster,
                                    std::span<const DeadlineJob> jobs);

    /// Whether all promises can still be kept from `later_seconds` on, were things then as given here: the
    /// cluster as seen from then, and the jobs with the work and the deadlines that they have left then, and
    /// with what they hold. If so, the plan is the one that the next calls follow. Refuses what plan()
    /// refuses.
    bool keep_from(double later_seconds, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs);
    /// When a job that is as given at `now_seconds` ends under the plan that is followed; infinity: it has
    /// none.
    [[nodiscard]] double done_by(double now_seconds, const DeadlineJob& job) const;

    /// How the next promises are given.
    [[nodiscard]] PromiseOptions& options() { return options_; }
    /// See options().
    [[nodiscard]] const PromiseOptions& options() const { return options_; }
    /// The names of those to whom promises are kept, oldest promise first.
    [[nodiscard]] std::vector<std::string> kept() const;

    /// Takes a promise as given already, such as one read back after a restart of the scheduler: the job asks
    /// before all who have none, and is broken, not refused, where no plan is found.
    void give(std::string name);

private:
    struct Given {
        std::string name{};
        std::vector<PlannedPiece> pieces{};  ///< on the clock of the call
        double work_left = 0;                ///< when it was planned
        bool reserved = false;               ///< the plan keeps the distance from the deadline
        bool broken = false;
    };

    [[nodiscard]] Given* find(const std::string& name);
    /// Indices of the jobs to whom promises are kept so far, oldest promise first.
    [[nodiscard]] std::vector<std::size_t> promised_among(std::span<const DeadlineJob> jobs) const;
    [[nodiscard]] bool same_cluster(double now, const ClusterOverTime& cluster) const;
    [[nodiscard]] static DeadlinePlan from_now(const Given& given, double now);
    [[nodiscard]] static bool ends_in_time(const Given& given, const DeadlineJob& job, double now);
    [[nodiscard]] static double behind(const Given& given, const DeadlineJob& job, double now);
    enum class Reserve {
        of_all,      ///< every plan keeps the distance from the deadline
        as_planned,  ///< those of newcomers, and those that did so far
        of_others,   ///< the latter
        none
    };
    [[nodiscard]] AdmissionStatus try_all(double now, const ClusterOverTime& cluster,
                                          std::span<const DeadlineJob> jobs,
                                          const std::vector<std::size_t>& who, Reserve reserve);
    bool try_at_once(double now, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                     const std::vector<std::size_t>& who);
    [[nodiscard]] double next_start(double now) const;
    [[nodiscard]] bool shift(double now, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                             const std::vector<std::size_t>& who, double most_seconds);
    [[nodiscard]] bool all_end_in_time(double now, std::span<const DeadlineJob> jobs,
                                       const std::vector<std::size_t>& who);
    void keep_promises(double now, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                       std::vector<std::size_t>& kept, std::vector<PromiseAnswer>& answers);
    void break_promise(double now, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                       std::size_t job, std::vector<PromiseAnswer>& answers);
    [[nodiscard]] std::vector<std::size_t> newcomers(std::span<const DeadlineJob> jobs);

    PromiseOptions options_{};
    std::vector<Given> given_{};                     // oldest first
    ClusterOverTime planned_for_{};                  // on the clock of the calls
    std::optional<std::size_t> impossible_alone_{};  // of the last try
};

inline bool keeps_plan(const DeadlineJob& job, const PromiseAnswer& answer, double speed, bool goes_on,
                       double seconds) {
    if (answer.promise != Promise::kept || !answer.now) return true;
    const double planned = job.speed_on(*answer.now);
    const auto work = [&](double each, bool on) {
        return each * std::max(0.0, seconds - (on ? 0 : job.restart_seconds));
    };
    const double needed = work(planned, job.holds == answer.now) + planned * job.restart_seconds;
    return work(speed, goes_on) >= needed * (1 - detail::deadline_tolerance);
}

inline Promises::Given* Promises::find(const std::string& name) {
    const auto given =
        std::find_if(given_.begin(), given_.end(), [&](const Given& each) { return each.name == name; });
    return given == given_.end() ? nullptr : &*given;
}

inline std::vector<std::size_t> Promises::promised_among(std::span<const DeadlineJob> jobs) const {
    std::vector<std::size_t> promised;
    for (const Given& given : given_)
        for (std::size_t j = 0; j < jobs.size() && !given.broken; ++j)
            if (jobs[j].name == given.name) promised.push_back(j);
    return promised;
}

inline std::vector<std::string> Promises::kept() const {
    std::vector<std::string> names;
    for (const Given& given : given_)
        if (!given.broken) names.push_back(given.name);
    return names;
}

inline void Promises::give(std::string name) {
    if (!find(name)) given_.push_back({std::move(name)});
}

/// Whether the nodes are those, at those times, for which the remembered plan was made.
inline bool Promises::same_cluster(double now, const ClusterOverTime& cluster) const {
    constexpr double tolerance_seconds = 1e-3;
    const auto same = [&](double seen, double planned) {
        const double at = now + seen;
        return (at <= now && planned <= now) || at == planned || std::abs(at - planned) <= tolerance_seconds;
    };
    return std::equal(cluster.nodes.begin(), cluster.nodes.end(), planned_for_.nodes.begin(),
                      planned_for_.nodes.end(), [&](const NodesOverTime& a, const NodesOverTime& b) {
                          return a.gpu_type == b.gpu_type && a.nodes == b.nodes &&
                                 a.gpus_per_node == b.gpus_per_node && same(a.from_seconds, b.from_seconds) &&
                                 same(a.until_seconds, b.until_seconds);
                      });
}

/// The pieces that are not over, in seconds from now.
inline DeadlinePlan Promises::from_now(const Given& given, double now) {
    DeadlinePlan pieces;
    for (PlannedPiece piece : given.pieces) {
        if (piece.until_seconds <= now) continue;
        piece.from_seconds = std::max(0.0, piece.from_seconds - now);
        piece.until_seconds -= now;
        pieces.push_back(piece);
    }
    return pieces;
}

inline bool Promises::ends_in_time(const Given& given, const DeadlineJob& job, double now) {
    return work_of(job, from_now(given, now)) >= job.work_left * (1 - 2 * detail::deadline_tolerance);
}

/// The work that the job lacks of what it was to have done by now.
inline double Promises::behind(const Given& given, const DeadlineJob& job, double now) {
    double planned = 0;
    for (const PlannedPiece& piece : given.pieces)
        planned += job.speed_on(piece.held) * std::max(0.0, std::min(piece.until_seconds, now) -
                                                                piece.from_seconds - job.restart_seconds);
    return job.work_left - std::max(0.0, given.work_left - planned);
}

/// Looks for one plan for all of `who`, and remembers it where there is one.
inline AdmissionStatus Promises::try_all(double now, const ClusterOverTime& cluster,
                                         std::span<const DeadlineJob> jobs,
                                         const std::vector<std::size_t>& who, Reserve reserve) {
    std::vector<DeadlineJob> all;
    std::vector<bool> reserved;
    for (const std::size_t j : who) {
        const Given* given = find(jobs[j].name);
        all.push_back(jobs[j]);
        reserved.push_back(reserve != Reserve::none && (given ? given->reserved || reserve == Reserve::of_all
                                                              : reserve != Reserve::of_others));
        if (reserved.back() && all.back().deadline_seconds > options_.admission.slot_seconds)
            all.back().deadline_seconds -= options_.reserve_seconds;
    }
    Admission admission = admit(cluster, all, options_.admission);
    impossible_alone_ = admission.impossible_alone;
    if (admission.status != AdmissionStatus::possible) return admission.status;
    for (std::size_t k = 0; k < who.size(); ++k) {
        Given* given = find(jobs[who[k]].name);
        if (!given) given = &given_.emplace_back(Given{jobs[who[k]].name});
        given->pieces.clear();
        given->work_left = jobs[who[k]].work_left;
        given->reserved = reserved[k];
        given->broken = false;
    }
    for (PlannedPiece piece : admission.plan) {
        Given& given = *find(all[piece.job].name);
        piece.from_seconds += now;
        piece.until_seconds += now;
        given.pieces.push_back(piece);
    }
    planned_for_ = cluster;
    for (NodesOverTime& nodes : planned_for_.nodes) {
        nodes.from_seconds += now;
        nodes.until_seconds += now;
    }
    return admission.status;
}

/// Looks for a plan in which the last of `who`, a newcomer, has the same GPUs from now to its end. Such a
/// plan needs no reserve.
inline bool Promises::try_at_once(double now, const ClusterOverTime& cluster,
                                  std::span<const DeadlineJob> jobs, const std::vector<std::size_t>& who) {
    const std::vector<Given> before = given_;
    if (try_all(now, cluster, jobs, who, Reserve::of_others) == AdmissionStatus::possible)
        if (const Given& last = *find(jobs[who.back()].name);
            last.pieces.size() == 1 && last.pieces.front().from_seconds <= now)
            return true;
    given_ = before;
    return false;
}

/// Seconds until somebody begins with GPUs under the plan; infinity: nobody does.
inline double Promises::next_start(double now) const {
    double next = std::numeric_limits<double>::infinity();
    for (const Given& given : given_)
        for (const PlannedPiece& piece : given.pieces)
            if (piece.from_seconds > now) next = std::min(next, piece.from_seconds - now);
    return next;
}

inline bool Promises::all_end_in_time(double now, std::span<const DeadlineJob> jobs,
                                      const std::vector<std::size_t>& who) {
    return std::all_of(who.begin(), who.end(),
                       [&](std::size_t j) { return ends_in_time(*find(jobs[j].name), jobs[j], now); });
}

/// Moves all that follows in the plan, so that its next start is at the end of the slot that begins now, or
/// now, by so many seconds at most and if everybody still ends in time. Whether that could be done.
inline bool Promises::shift(double now, const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                            const std::vector<std::size_t>& who, double most_seconds) {
    for (const NodesOverTime& nodes : cluster.nodes)
        if (nodes.from_seconds > 0 || std::isfinite(nodes.until_seconds)) return false;
    const double next = next_start(now);
    const std::vector<Given> before = given_;
    for (const double by : {options_.admission.slot_seconds - next, -next}) {
        if (std::abs(by) > most_seconds) continue;
        for (Given& given : given_)
            for (PlannedPiece& piece : given.pieces) {
                if (piece.from_seconds > now) piece.from_seconds += by;
                if (piece.until_seconds > now) piece.until_seconds = std::max(now, piece.until_seconds + by);
            }
        if (all_end_in_time(now, jobs, who)) return true;
        given_ = before;
    }
    return false;
}

/// Marks a promise as broken, and says by whom.
inline void Promises::break_promise(double now, const ClusterOverTime& cluster,
                                    std::span<const DeadlineJob> jobs, std::size_t job,
                                    std::vector<PromiseAnswer>& answers) {
    Given& given = *find(jobs[job].name);
    PromiseAnswer& answer = answers[job];
    answer.promise = Promise::broken;
    const bool again = given.broken;
    given.broken = true;
    const auto late = [&](const Given& who, const DeadlineJob& each) {
        return !who.pieces.empty() && behind(who, each, now) > 1e-6 * std::max(who.work_left, each.work_left);
    };
    if (again) {
        answer.why = "its promise was broken before, and no plan has been found since that keeps it";
    } else if (late(given, jobs[job])) {
        answer.why = "it has done " + rounded_text_of(behind(given, jobs[job], now)) +
                     " less of its work than its plan counted on";
    } else if (!same_cluster(now, cluster)) {
        answer.why = "the nodes are not those that its plan counted on";
    } else {
        std::string others;
        for (const DeadlineJob& each : jobs)
            if (const Given* other = find(each.name); other && late(*other, each))
                others += " '" + each.name + "'";
        answer.why = others.empty() ? "its speed, or that of others, is less than its plan counted on"
                                    : "behind their plans:" + others;
    }
}

/// Fills `kept` with all to whom a promise can be kept, and has plans for exactly these remembered.
inline void Promises::keep_promises(double now, const ClusterOverTime& cluster,
                                    std::span<const DeadlineJob> jobs, std::vector<std::size_t>& kept,
                                    std::vector<PromiseAnswer>& answers) {
    for (Given& given : given_)
        if (given.broken) given.pieces.clear();
    const std::vector<std::size_t> promised = promised_among(jobs);
    const double slot = options_.admission.slot_seconds, next = next_start(now);
    const bool stands = same_cluster(now, cluster), starts_within_slot = next < slot * (1 - 1e-9);
    const auto follow = [&](double most_seconds) {
        return stands && (starts_within_slot ? shift(now, cluster, jobs, promised, most_seconds)
                                             : all_end_in_time(now, jobs, promised));
    };
    constexpr double unpunctual = 0.01;  // of a slot
    AdmissionStatus status = AdmissionStatus::possible;
    const auto plan_anew = [&](Reserve reserve) {
        status = try_all(now, cluster, jobs, promised, reserve);
        return status == AdmissionStatus::possible;
    };
    // Where no plan is found, but none is proven not to be, the one that stands is better than nothing.
    if (follow(unpunctual * slot) || plan_anew(Reserve::of_all) || follow(slot) ||
        (options_.reserve_seconds > 0 && plan_anew(Reserve::none)) ||
        (status == AdmissionStatus::unknown && stands)) {
        kept = promised;
        return;
    }
    // Those who are on time keep their plan; the others are tried beside them, oldest promise first.
    std::vector<std::size_t> late;
    for (const std::size_t j : promised)
        (stands && ends_in_time(*find(jobs[j].name), jobs[j], now) ? kept : late).push_back(j);
    for (const std::size_t j : late) {
        kept.push_back(j);
        if (try_all(now, cluster, jobs, kept, Reserve::none) == AdmissionStatus::possible) continue;
        kept.pop_back();
        break_promise(now, cluster, jobs, j, answers);
    }
}

/// Who has no promise that is kept, in the order in which they ask.
inline std::vector<std::size_t> Promises::newcomers(std::span<const DeadlineJob> jobs) {
    std::vector<std::size_t> order;
    std::vector<double> worth(jobs.size(), 0.0);
    for (const bool broken : {true, false})
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const Given* given = find(jobs[j].name);
            if (broken ? given && given->broken : !given) order.push_back(j);
        }
    if (options_.order == AskingOrder::first_come) return order;
    for (const std::size_t j : order) {
        double best = 0;  // work for a GPU second
        for (const std::vector<double>& speeds : jobs[j].speed)
            for (std::size_t power = 0; power < speeds.size(); ++power)
                best = std::max(best, speeds[power] / std::ldexp(1.0, static_cast<int>(power)));
        worth[j] = jobs[j].weight * best / std::max(jobs[j].work_left, 1e-300);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
    return order;
}

inline double Promises::done_by(double now_seconds, const DeadlineJob& job) const {
    for (const Given& given : given_)
        if (given.name == job.name) return now_seconds + done_after(job, from_now(given, now_seconds));
    return std::numeric_limits<double>::infinity();
}

inline bool Promises::keep_from(double later_seconds, const ClusterOverTime& cluster,
                                std::span<const DeadlineJob> jobs) {
    return try_all(later_seconds, cluster, jobs, promised_among(jobs), Reserve::as_planned) ==
           AdmissionStatus::possible;
}

inline std::vector<PromiseAnswer> Promises::plan(double now_seconds, const ClusterOverTime& cluster,
                                                 std::span<const DeadlineJob> jobs) {
    if (!std::isfinite(now_seconds)) bad_input("promises", "now_seconds", now_seconds, "finite");
    if (!(std::isfinite(options_.reserve_seconds) && options_.reserve_seconds >= 0))
        bad_input("promises", "reserve_seconds", options_.reserve_seconds, "a finite number of at least 0");
    validate(cluster);
    std::vector<std::string> names;
    for (const DeadlineJob& job : jobs) {
        validate(job, cluster.gpu_types.size());
        names.push_back(job.name);
    }
    std::sort(names.begin(), names.end());
    if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
        bad_input("job '" + *twice + "'", "name", "'" + *twice + "'", "the name of no other job");
    std::erase_if(given_, [&](const Given& given) {
        return !std::binary_search(names.begin(), names.end(), given.name);
    });

    std::vector<PromiseAnswer> answers(jobs.size());
    std::vector<std::size_t> kept;
    keep_promises(now_seconds, cluster, jobs, kept, answers);
    for (const std::size_t j : newcomers(jobs)) {
        kept.push_back(j);
        const AdmissionStatus status = try_all(now_seconds, cluster, jobs, kept, Reserve::as_planned);
        if (status == AdmissionStatus::possible) continue;
        if (options_.reserve_seconds > 0 && try_at_once(now_seconds, cluster, jobs, kept)) continue;
        kept.pop_back();
        const bool alone = impossible_alone_ == kept.size();
        if (const Given* given = find(jobs[j].name); given && given->broken) {
            if (answers[j].promise != Promise::broken) break_promise(now_seconds, cluster, jobs, j, answers);
        } else {
            answers[j].why =
                alone ? "it could not end before its deadline even with all GPUs for itself"
                : status == AdmissionStatus::impossible
                    ? "with it, not all who are promised an end in time could have one, which is proven"
                    : "no plan was found that ends it in time with all who are promised that";
            if (!alone && options_.reserve_seconds > 0)
                answers[j].why += "; some seconds before each deadline are kept in reserve";
        }
    }
    for (const std::size_t j : kept) {
        const Given& given = *find(jobs[j].name);
        PromiseAnswer& answer = answers[j];
        answer.promise = Promise::kept;
        const DeadlinePlan pieces = from_now(given, now_seconds);
        answer.done_by_seconds = now_seconds + done_after(jobs[j], pieces);
        if (pieces.empty()) continue;
        const bool begins = pieces.front().from_seconds <= 0;
        if (begins) answer.now = pieces.front().held;
        answer.until_seconds =
            now_seconds + (begins ? pieces.front().until_seconds : pieces.front().from_seconds);
    }
    return answers;
}

}  // namespace goodput

#endif
