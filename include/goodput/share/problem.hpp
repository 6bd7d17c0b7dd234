#ifndef GOODPUT_SHARE_PROBLEM_HPP
#define GOODPUT_SHARE_PROBLEM_HPP

// Jobs with a fixed number of GPUs share the time of a cluster of several GPU types (Gavel, OSDI'20).
// A share x_jt is the fraction of time that job j runs on GPU type t with all of its workers:
//
//     x_jt >= 0,   sum_t x_jt <= 1 for every job,   sum_j workers_j x_jt <= gpus_t for every type,
//
// The effective rate of a job under these shares is  e_j = sum_t rate_jt x_jt  in steps per second.

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

/// A job with a fixed number of workers.
struct ShareJob {
    std::string name{};           ///< for messages
    int workers = 1;              ///< GPUs that it takes while it runs, at least 1
    double weight = 1;            ///< above 0: how much of the cluster it deserves relative to other jobs
    std::vector<double> rates{};  ///< by GPU type: steps/s of all its workers there; 0 if it cannot run there
    double steps_left = 0;        ///< steps to do, at least 0; matters for objectives about finish times
    double age_seconds = 0;       ///< time since it was submitted
    /// Seconds that the work done so far would have taken with an equal part of the cluster (Themis).
    double isolated_seconds = 0;
    /// Time from now, above 0, within which its steps should be done.
    std::optional<double> deadline_seconds{};
};

/// What is shared, and the jobs that share it.
struct ShareProblem {
    /// By GPU type, at least 0. A fraction of a GPU is a GPU that is there for that fraction of the time.
    std::vector<double> gpus{};
    std::vector<double> dollars_per_hour{};  ///< price of a GPU, by GPU type; empty if not known
    std::vector<ShareJob> jobs{};            ///< in any order

    /// Number of GPU types.
    [[nodiscard]] std::size_t types() const { return gpus.size(); }
    /// GPUs of all types.
    [[nodiscard]] double all_gpus() const {
        double sum = 0;
        for (const double number : gpus) sum += number;
        return sum;
    }
    /// Returns whether the job takes more GPUs at once than there are of any GPU type on which it has a
    /// rate. Shares count GPUs, not places: a job that fits one type may also get its fraction of another
    /// type's fewer GPUs.
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

    /// Refuses numbers that are not finite or out of range (std::invalid_argument with job, field and
    /// value).
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
    /// `least`: smallest number other than 0 that is allowed, because something is divided by it.
    template <class Subject>
    static void require_number(const Subject& subject, std::string_view field, double value,
                               double least = 0) {
        require_at_least(subject, field, value, 0);
        if (value > 1e15) bad_input(detail::text_of_subject(subject), field, value, "at most 1e15");
        if (value > 0 && value < least)
            bad_input(detail::text_of_subject(subject), field, value, "0 or at least " + text_of(least));
    }
};

/// Two jobs with the same number of workers. While they run together, every GPU runs one worker of each.
struct SharePair {
    std::array<std::size_t, 2> jobs{};  ///< indices into the problem's jobs, two different ones
    /// By GPU type: steps/s of the first and of the second job while they run together; {0, 0} if they do
    /// not run together there.
    std::vector<std::array<double, 2>> rates{};
};

/// Returns whether the pair may gain something by running together on a GPU type: no division of the time,
/// z for the first job alone and 1 - z for the second, gives both jobs at least the same rates. This holds
/// if a job cannot run there alone, or if the sum of both rates, each divided by the job's rate alone, is
/// above 1. No best answer needs any other pair: its two jobs can take turns on the same GPUs instead.
[[nodiscard]] inline bool pair_gains(const ShareProblem& problem, const SharePair& pair, std::size_t type) {
    const bool enough = problem.jobs[pair.jobs[0]].workers <= std::ceil(problem.gpus[type]) ||
                        problem.can_run(pair.jobs[0], type) || problem.can_run(pair.jobs[1], type);
    if (!(problem.gpus[type] > 0) || !enough) return false;
    double sum = 0;
    for (std::size_t which = 0; which < 2; ++which) {
        const double rate = pair.rates[type][which];
        if (rate <= 0) continue;
        const std::size_t job = pair.jobs[which];
        if (!problem.can_run(job, type)) return true;
        sum += rate / problem.jobs[job].rates[type];
    }
    return sum > 1;
}

/// Options of a search for shares.
struct ShareOptions {
    /// The answer is proven if objective and bound differ by at most gap times the larger of the two. With
    /// utilities the limit is gap times the sum of rate * slope, so that the unit of rates does not matter.
    /// Above 0; much below 1e-8, rounding decides what is reached.
    double gap = 1e-7;
    /// Shares below this fraction of the job's largest share are set to 0; 0 keeps all. The search ends in
    /// the middle of all best answers, where every share is at least slightly above 0.
    double least_part = 1e-10;
};

/// What is proven about shares.
enum class ShareStatus {
    optimal,    ///< within the gap asked for
    feasible,   ///< all constraints are kept; see bound
    infeasible  ///< no shares give the objective a finite value: no job with work left can run
};

/// Returns the status as a word.
[[nodiscard]] inline std::string_view name_of(ShareStatus status) {
    if (status == ShareStatus::infeasible) return "infeasible";
    return status == ShareStatus::optimal ? "optimal" : "feasible";
}

/// Shares of time, feasible in any case.
struct ShareResult {
    std::size_t types = 0;         ///< number of GPU types
    std::vector<double> shares{};  ///< by job, then by GPU type: fractions of time
    std::vector<double> rates{};   ///< by job: effective rate in steps/s
    /// By pair (PairedShareProblem), then by GPU type: fractions of time.
    std::vector<double> pair_shares{};
    std::vector<double> levels{};  ///< by job: its level, as the objective reports it; empty without levels
    /// The value of the objective over the jobs that can run; see ShareProblem::can_run().
    double objective = 0;
    double bound = 0;                           ///< no shares have a better objective, up to rounding
    ShareStatus status = ShareStatus::optimal;  ///< what is proven about the shares
    /// By GPU type: improvement of the objective per additional GPU, at the margin, at least 0.
    std::vector<double> prices{};
    bool deadlines_met = true;   ///< false: not all can be met together, so all were ignored
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

/// Returns shares of 0 for all jobs, with prices of 0.
[[nodiscard]] inline ShareResult no_shares(const ShareProblem& problem) {
    return {.types = problem.types(),
            .shares = std::vector<double>(problem.jobs.size() * problem.types(), 0),
            .rates = std::vector<double>(problem.jobs.size(), 0),
            .prices = std::vector<double>(problem.types(), 0)};
}

/// Returns the proportional rate of a job in steps/s: its rate if it runs all the time and divides its time
/// over the GPU types by their numbers of GPUs, whatever its number of workers. Max-min fairness compares
/// rates with it (Gavel, section 4.1).
[[nodiscard]] inline double proportional_rate(const ShareProblem& problem, std::size_t job) {
    double sum = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (problem.can_run(job, t)) sum += problem.jobs[job].rates[t] * problem.gpus[t];
    const double all = problem.all_gpus();
    return all > 0 ? sum / all : 0;
}

/// Returns the job's share of a GPU type if every job had the same number of GPUs of each type, scaled down
/// so that it runs at most all the time (Gavel's isolated policy).
[[nodiscard]] inline double isolated_share(const ShareProblem& problem, std::size_t job, std::size_t type) {
    const double sharers = static_cast<double>(problem.jobs.size()) * problem.jobs[job].workers;
    return problem.gpus[type] / sharers / std::max(1.0, problem.all_gpus() / sharers);
}

/// Returns the job's rate with its isolated shares, in steps/s.
[[nodiscard]] inline double isolated_rate(const ShareProblem& problem, std::size_t job) {
    double sum = 0;
    for (std::size_t t = 0; t < problem.types(); ++t)
        if (problem.can_run(job, t)) sum += problem.jobs[job].rates[t] * isolated_share(problem, job, t);
    return sum;
}

}  // namespace goodput::inline v0_1

#endif
