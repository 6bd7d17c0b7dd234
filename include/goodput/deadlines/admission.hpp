#ifndef GOODPUT_DEADLINES_ADMISSION_HPP
#define GOODPUT_DEADLINES_ADMISSION_HPP

// Decides whether a plan over time ends all given jobs before their deadlines.
//
// The time until the last deadline is cut at every deadline and wherever nodes come or go. A configuration
// says which jobs hold how many GPUs at the same time, in sizes at which they can run. Within an interval,
// several configurations can run one after the other, each for a part of the time: a mixture. A linear
// program over all configurations (detail/deadline_program.hpp) decides whether such mixtures do all the
// work. It finds a plan, or prices of work at which the work that all jobs need costs more than any work
// that the GPUs can do. These prices prove that there is no plan.
//
// Before the program is solved, plans are made job by job (detail/progressive_filling.hpp). This suffices
// if there is plenty of room.
//
// Without restarts, slots and jobs that cannot be moved, the search finds a plan or a proof unless it
// reaches a limit on its work. If jobs cannot be moved, the program can only prove that there is no plan.
// With restarts or slots the program is a relaxation: the work that a job loses to restarts and to rounding
// to whole slots is added to its work, and the program is solved again. If a few rounds of this find no
// plan, the answer is `unknown`.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/deadlines/cluster_over_time.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/deadline_plan.hpp"
#include "goodput/deadlines/detail/deadline_program.hpp"
#include "goodput/deadlines/detail/plan_layout.hpp"
#include "goodput/deadlines/detail/progressive_filling.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::inline v0_1 {

/// Options of the search for a plan.
struct AdmissionOptions {
    /// GPUs change hands only at whole multiples of this many seconds from now; 0 means at any time. A job
    /// whose deadline lies within a slot may hold GPUs until the slot ends, but only its work before the
    /// deadline counts.
    double slot_seconds = 0;
    /// The largest number of job orders in which plans are made job by job before a program is solved.
    std::size_t most_orders = 16;
    /// The largest number of rounds per program that look for new configurations. This limits the work in
    /// such a way that the answer is the same on every machine.
    std::size_t most_rounds = 500;
    /// The largest number of programs solved to reserve time for restarts and whole slots.
    std::size_t most_repairs = 12;
    /// Time after which the answer is `unknown`, exact to one round. Without it the search runs until it
    /// reaches one of the limits above.
    std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
};

/// The answers.
enum class AdmissionStatus {
    possible,    ///< a plan was found
    impossible,  ///< proven: no plan exists
    unknown,     ///< neither a plan nor a proof was found
};

/// An answer and its certificate.
struct Admission {
    AdmissionStatus status = AdmissionStatus::unknown;  ///< the answer
    DeadlinePlan plan{};                                ///< the plan, if possible
    /// If impossible, by job: prices per unit of work. At these prices, the work that all jobs need
    /// (`needed`) costs more than all work that any configurations can do before the deadlines
    /// (`reachable`).
    std::vector<double> work_prices{};
    double needed = 0;     ///< price of the work that all jobs need
    double reachable = 0;  ///< largest price of the work that all GPUs can do
    /// A job that could not end in time even if it had the whole cluster, if there is one.
    std::optional<std::size_t> impossible_alone{};
    std::size_t rounds = 0;    ///< rounds that looked for new configurations
    std::size_t programs = 0;  ///< programs solved; 0 if plans made job by job were enough

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const {
        static constexpr const char* statuses[] = {"possible", "impossible", "not known"};
        std::string text = statuses[static_cast<int>(status)];
        if (status == AdmissionStatus::impossible)
            text += ": at the prices of the proof the jobs need " + rounded_text_of(needed) + ", and " +
                    rounded_text_of(reachable) + " can be reached";
        return text + ", " + text_of(rounds) + " rounds, " + text_of(programs) + " programs";
    }
};

namespace detail {

/// Returns for each job the least work that a plan must do. If the job holds no GPUs, this includes the
/// work that it would do during one restart at its slowest speed.
inline std::vector<double> work_with_start(const TimeGrid& grid, std::span<const DeadlineJob> jobs) {
    std::vector<double> work(jobs.size(), 0.0);
    for (const std::size_t j : grid.order) {
        double slowest = std::numeric_limits<double>::infinity();
        for (const DeadlineOption& option : grid.options[j]) slowest = std::min(slowest, option.speed);
        work[j] = grid.work[j];
        if (!jobs[j].holds && std::isfinite(slowest)) work[j] += jobs[j].restart_seconds * slowest;
    }
    return work;
}

/// A period of the grid during which the same GPUs exist.
struct SameCapacity {
    double from = 0, until = 0;
    const std::vector<double>* capacity = nullptr;
};

inline std::vector<SameCapacity> same_capacities(const TimeGrid& grid) {
    std::vector<SameCapacity> spans;
    for (const GridInterval& interval : grid.intervals)
        if (!spans.empty() && *spans.back().capacity == interval.capacity)
            spans.back().until = interval.until;
        else
            spans.push_back({interval.from, interval.until, &interval.capacity});
    return spans;
}

/// Returns how much work a job could do before its deadline if it had the whole cluster.
inline double most_alone(const TimeGrid& grid, std::span<const SameCapacity> spans, const DeadlineJob& job,
                         std::span<const DeadlineOption> options) {
    // The job can start only where an interval begins.
    const auto first =
        std::find_if(grid.intervals.begin(), grid.intervals.end(),
                     [&](const GridInterval& interval) { return interval.from >= job.from_seconds; });
    if (first == grid.intervals.end()) return 0;
    double most = 0;
    for (const SameCapacity& span : spans) {
        const double seconds = std::min(span.until, job.deadline_seconds) - std::max(span.from, first->from);
        if (seconds <= 0) continue;
        double fastest = 0;
        for (const DeadlineOption& option : options)
            if (option.speed > fastest && grid.fits(option.held, *span.capacity)) fastest = option.speed;
        most += fastest * seconds;
    }
    return most;
}

}  // namespace detail

/// Returns whether all jobs can end before their deadlines, with a plan or a proof. A problem that is too
/// hard for the limits gets `unknown`. Throws std::invalid_argument for whatever validate() rejects in the
/// cluster and the jobs, and for a slot that is negative or not finite.
inline Admission admit(const ClusterOverTime& cluster, std::span<const DeadlineJob> jobs,
                       const AdmissionOptions& options = {}) {
    validate(cluster);
    for (const DeadlineJob& job : jobs) validate(job, cluster.gpu_types.size());
    if (!(std::isfinite(options.slot_seconds) && options.slot_seconds >= 0))
        bad_input("admission", "slot_seconds", options.slot_seconds, "a finite number of at least 0");

    detail::Clock clock(options.deadline);
    Admission answer;
    const detail::TimeGrid grid(cluster, jobs, options.slot_seconds);
    const std::vector<double> least_work = detail::work_with_start(grid, jobs);
    const std::vector<detail::SameCapacity> spans = detail::same_capacities(grid);
    for (const std::size_t j : grid.order) {
        const double most = detail::most_alone(grid, spans, jobs[j], grid.options[j]);
        if (most >= least_work[j] * (1 - detail::deadline_tolerance)) continue;
        answer.status = AdmissionStatus::impossible;
        answer.impossible_alone = j;
        answer.work_prices.assign(jobs.size(), 0.0);
        answer.work_prices[j] = 1 / least_work[j];
        answer.needed = 1;
        answer.reachable = most / least_work[j];
        return answer;
    }

    // Make only a few tries while a proof is still possible, and many if the program's plan does not
    // survive restarts.
    detail::ProgressiveFilling filling(grid, jobs, options.slot_seconds);
    const auto is_filled = [&](std::size_t most_tries) {
        std::optional<DeadlinePlan> plan = filling(most_tries, clock);
        if (!plan) return false;
        answer.status = AdmissionStatus::possible;
        answer.plan = std::move(*plan);
        return true;
    };
    if (is_filled(options.most_orders)) return answer;
    if (options.most_rounds == 0 || clock.late()) return answer;

    detail::DeadlineProgram program(grid);
    detail::DeadlineLayout lay_out(grid, jobs, options.slot_seconds);
    std::vector<double> work = least_work;
    for (std::size_t repair = 0; repair < std::max<std::size_t>(options.most_repairs, 1); ++repair) {
        const detail::DeadlineOutcome outcome = program.solve(work, options.most_rounds, clock);
        answer.rounds = program.rounds();
        ++answer.programs;
        if (outcome == detail::DeadlineOutcome::impossible && repair == 0) {
            answer.status = AdmissionStatus::impossible;
            answer.work_prices = program.work_prices();
            for (const std::size_t j : grid.order) answer.needed += answer.work_prices[j] * work[j];
            answer.reachable = answer.needed - program.bound();
        }
        if (outcome != detail::DeadlineOutcome::possible) return answer;
        // The program may move any job. If some jobs cannot be moved, it can only prove that there is no
        // plan.
        if (std::any_of(grid.order.begin(), grid.order.end(),
                        [&](std::size_t j) { return !jobs[j].movable; })) {
            is_filled(8 * options.most_orders);
            return answer;
        }

        DeadlinePlan plan = lay_out(program.configurations(), program.parts(), work);
        bool all_done = true;
        std::size_t begin = 0;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            std::size_t end = begin;
            while (end < plan.size() && plan[end].job == j) ++end;
            double lost = 0;
            const double done = work_of(jobs[j], std::span(plan).subspan(begin, end - begin), &lost);
            begin = end;
            const double lacks = jobs[j].work_left - done;
            work[j] = std::max(work[j], grid.work[j] + lost);
            if (lacks <= 2 * detail::deadline_tolerance * jobs[j].work_left) continue;
            all_done = false;
            work[j] += 1.1 * lacks;
        }
        if (all_done) {
            answer.status = AdmissionStatus::possible;
            answer.plan = std::move(plan);
            return answer;
        }
        if (repair == 0 && is_filled(8 * options.most_orders)) return answer;
    }
    return answer;
}

}  // namespace goodput::inline v0_1

#endif
