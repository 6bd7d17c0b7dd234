#ifndef GOODPUT_SHARE_PROBLEM_HPP
#define GOODPUT_SHARE_PROBLEM_HPP

// Jobs that cannot change their number of GPUs share a cluster of several GPU types by time (Gavel, OSDI'20).
// A share x_jt is the fraction of time that job j runs on GPU type t with all of its workers:
//
//     x_jt >= 0,   sum_t x_jt <= 1 for every job,   sum_j workers_j x_jt <= gpus_t for every type,
//
// and what a job has of it is its effective rate  e_j = sum_t rate_jt x_jt  in steps a second.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::inline v0_1 {

/// A job of a fixed number of workers.
struct ShareJob {
    std::string name{};           ///< for messages
    int workers = 1;              ///< GPUs that it takes while it runs, at least 1
    double weight = 1;            ///< above 0: how much of the cluster it deserves beside others
    std::vector<double> rates{};  ///< by GPU type: steps/s of all its workers there; 0: cannot run there
    double steps_left = 0;        ///< to do, at least 0; matters where finish times do
    double age_seconds = 0;       ///< since it was submitted
    /// Seconds that what it has done would have taken with an equal part of the cluster (Themis).
    double isolated_seconds = 0;
    std::optional<double> deadline_seconds{};  ///< from now, above 0, by which its steps should be done
};

/// What is to be shared, and among whom.
struct ShareProblem {
    /// By GPU type, at least 0; a part of a GPU is one that is there for that part of the time.
    std::vector<double> gpus{};
    std::vector<double> dollars_per_hour{};  ///< of a GPU, by GPU type; empty: not known
    std::vector<ShareJob> jobs{};            ///< in any order

    /// Number of GPU types.
    [[nodiscard]] std::size_t types() const { return gpus.size(); }
    /// GPUs of all types.
    [[nodiscard]] double all_gpus() const {
        double sum = 0;
        for (const double number : gpus) sum += number;
        return sum;
    }
    /// Whether no GPU type on which the job has a rate has as many GPUs as it takes at once. Shares count
    /// GPUs and not places: a job that one type has enough for may have its part of fewer GPUs of another,
    /// too.
    [[nodiscard]] bool too_large(std::size_t job) const {
        for (std::size_t t = 0; t < types(); ++t)
            if (jobs[job].rates[t] > 0 && jobs[job].workers <= std::ceil(gpus[t])) return false;
        return true;
    }
    /// Whether the job may have time on a GPU type.
    [[nodiscard]] bool can_run(std::size_t job, std::size_t type) const {
        return jobs[job].rates[type] > 0 && gpus[type] > 0 &&
               (jobs[job].workers <= gpus[type] || !too_large(job));
    }
    /// Whether the job can run on any GPU type.
    [[nodiscard]] bool can_run(std::size_t job) const {
        for (std::size_t t = 0; t < types(); ++t)
            if (can_run(job, t)) return true;
        return false;
    }

    /// Refuses numbers that are not finite or out of range (std::invalid_argument with job, field and value).
    void validate() const {
        for (const double number : gpus) require_number("share problem", "gpus", number, 1e-12);
        if (!dollars_per_hour.empty() && dollars_per_hour.size() != types())
            bad_input("share problem", "number of prices", dollars_per_hour.size(),
                      "that of GPU types, " + text_of(types()));
        for (const double dollars : dollars_per_hour)
            if (!(dollars >= 1e-9 && dollars <= 1e9))
                bad_input("share problem", "price_h", dollars, "between 1e-9 and 1e9");
        for (const ShareJob& job : jobs) {
            const auto subject = [&] { return "job '" + job.name + "'"; };
            require_between(subject, "gpus", job.workers, 1, 1 << 20);
            if (!(job.weight >= 1e-9 && job.weight <= 1e9))
                bad_input(subject(), "weight", job.weight, "between 1e-9 and 1e9");
            if (job.rates.size() != types())
                bad_input(subject(), "number of rates", job.rates.size(),
                          "that of GPU types, " + text_of(types()));
            for (const double rate : job.rates) require_number(subject, "rate", rate, 1e-12);
            require_number(subject, "left", job.steps_left);
            require_number(subject, "age_s", job.age_seconds);
            require_number(subject, "isolated_s", job.isolated_seconds);
            if (job.deadline_seconds) require_positive(subject, "deadline_s", *job.deadline_seconds);
        }
    }

private:
    /// `least`: above 0, of what is divided by.
    template <class Subject>
    static void require_number(const Subject& subject, std::string_view field, double value,
                               double least = 0) {
        require_at_least(subject, field, value, 0);
        if (value > 1e15) bad_input(detail::text_of_subject(subject), field, value, "at most 1e15");
        if (value > 0 && value < least)
            bad_input(detail::text_of_subject(subject), field, value, "0 or at least " + text_of(least));
    }
};

/// Two jobs with the same number of workers, each of which has one of every GPU's workers while they run
/// together.
struct SharePair {
    std::array<std::size_t, 2> jobs{};  ///< indices into the problem's jobs, different ones
    /// By GPU type: steps/s of the first and of the second while they run together; {0, 0}: they do not run
    /// together there.
    std::vector<std::array<double, 2>> rates{};
};

/// Whether running together on a GPU type may gain anything that the two cannot have in turns there: without
/// a part z of the time for the first alone and 1 - z for the second that leaves neither with less. That is
/// the sum of both rates, each as a part of the rate alone, above 1. No best answer needs any other pair: all
/// of the pair's time can be given to the two in turns on the same GPUs.
[[nodiscard]] inline bool pair_gains(const ShareProblem& problem, const SharePair& pair, std::size_t type) {
    const bool enough = problem.jobs[pair.jobs[0]].workers <= std::ceil(problem.gpus[type]) ||
                        problem.can_run(pair.jobs[0], type) || problem.can_run(pair.jobs[1], type);
    if (!(problem.gpus[type] > 0) || !enough) return false;
    double sum = 0;
    for (std::size_t of = 0; of < 2; ++of) {
        const double rate = pair.rates[type][of];
        if (rate <= 0) continue;
        const std::size_t job = pair.jobs[of];
        if (!problem.can_run(job, type)) return true;
        sum += rate / problem.jobs[job].rates[type];
    }
    return sum > 1;
}

/// What a search for shares is asked for.
struct ShareOptions {
    /// Proven when objective and bound differ by at most gap times the larger of the two; with utilities, gap
    /// times the sum of rate * slope, so that the unit of rates does not count. Above 0; much below 1e-8
    /// rounding has the last word.
    double gap = 1e-7;
    /// Shares below that part of the job's largest are left out; 0: none. The middle of all best answers has
    /// a trace of everything.
    double least_part = 1e-10;
};

/// What is proven of shares.
enum class ShareStatus {
    optimal,    ///< to the gap asked for
    feasible,   ///< all constraints are kept; see bound
    infeasible  ///< no shares give the objective a finite number: nobody can run who has something to do
};

/// The word for it.
[[nodiscard]] inline std::string_view name_of(ShareStatus status) {
    if (status == ShareStatus::infeasible) return "infeasible";
    return status == ShareStatus::optimal ? "optimal" : "feasible";
}

/// Shares of time, feasible in any case.
struct ShareResult {
    std::size_t types = 0;         ///< number of GPU types
    std::vector<double> shares{};  ///< by job, then by GPU type: fractions of time
    std::vector<double> rates{};   ///< by job: effective rate in steps/s
    /// Of pairs (PairedShareProblem), by pair, then by GPU type: fractions of time.
    std::vector<double> pair_shares{};
    std::vector<double> levels{};  ///< by job, where the objective has levels: its own
    /// The number that the objective stands for, over the jobs that can run; see ShareProblem::can_run().
    double objective = 0;
    double bound = 0;                           ///< no shares have a better one, up to rounding
    ShareStatus status = ShareStatus::optimal;  ///< what is proven of them
    /// By GPU type: by how much the objective would improve for each GPU more, at the margin, at least 0.
    std::vector<double> prices{};
    bool deadlines_met = true;   ///< false: they cannot be met together, and none was asked for
    std::size_t iterations = 0;  ///< passes of the interior-point method, each over all jobs

    /// The shares of one job, by GPU type.
    [[nodiscard]] std::span<const double> of(std::size_t job) const {
        return {shares.data() + job * types, types};
    }
    /// One line for a log.
    [[nodiscard]] std::string report() const {
        return std::string(name_of(status)) + ": objective " + rounded_text_of(objective) + ", bound " +
               rounded_text_of(bound) + ", " + text_of(iterations) + " iterations";
    }
};

/// Nobody has any time, at prices of 0.
[[nodiscard]] inline ShareResult no_shares(const ShareProblem& problem) {
    return {.types = problem.types(),
            .shares = std::vector<double>(problem.jobs.size() * problem.types(), 0),
            .rates = std::vector<double>(problem.jobs.size(), 0),
            .prices = std::vector<double>(problem.types(), 0)};
}

/// Steps a second with an equal part of each GPU type's time, by job: what largest-minimum fairness is
/// relative to (Gavel, section 4.1: the part of a type is its part of all GPUs, whatever the job's workers).
[[nodiscard]] inline double proportional_rate(const ShareProblem& problem, std::size_t job) {
    double sum = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (problem.can_run(job, t)) sum += problem.jobs[job].rates[t] * problem.gpus[t];
    const double all = problem.all_gpus();
    return all > 0 ? sum / all : 0;
}

/// Share of the job on a GPU type if everybody had the same number of GPUs of each type, at all times at most
/// (Gavel's isolated policy).
[[nodiscard]] inline double isolated_share(const ShareProblem& problem, std::size_t job, std::size_t type) {
    const double sharers = static_cast<double>(problem.jobs.size()) * problem.jobs[job].workers;
    return problem.gpus[type] / sharers / std::max(1.0, problem.all_gpus() / sharers);
}

/// Steps a second with the isolated shares.
[[nodiscard]] inline double isolated_rate(const ShareProblem& problem, std::size_t job) {
    double sum = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (problem.can_run(job, t)) sum += problem.jobs[job].rates[t] * isolated_share(problem, job, t);
    return sum;
}

}  // namespace goodput::inline v0_1

#endif
