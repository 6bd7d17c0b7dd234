#ifndef GOODPUT_PAIRS_PAIRED_PROBLEM_HPP
#define GOODPUT_PAIRS_PAIRED_PROBLEM_HPP

// Two jobs on the same GPUs at the same time (Gavel's space sharing, OSDI'20, section 3.1). A pair is one
// more thing that both of its jobs may spend time on: with y_pt the fraction of time that pair p runs on GPU
// type t, and x as in problem.hpp,
//
//     sum_t x_jt + sum_{p with j} sum_t y_pt <= 1               for every job,
//     sum_j workers_j x_jt + sum_p workers_p y_pt <= gpus_t     for every type: a pair takes its GPUs once,
//     e_j = sum_t rate_jt x_jt + sum_{p with j} sum_t rate_pjt y_pt.

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/share/problem.hpp"

namespace goodput {

/// Two jobs with the same number of workers, each of which has one of every GPU's workers while they run
/// together.
struct SharePair {
    std::array<std::size_t, 2> jobs{};  ///< indices into the problem's jobs, different ones
    /// By GPU type: steps/s of the first and of the second while they run together; {0, 0}: they do not run
    /// together there.
    std::vector<std::array<double, 2>> rates{};
};

/// Jobs that may run alone or in pairs.
struct PairedShareProblem {
    ShareProblem alone{};            ///< the GPUs, and the jobs with their rates alone
    std::vector<SharePair> pairs{};  ///< in any order

    /// Refuses what ShareProblem::validate() does, and pairs of jobs that there are not, of one job with
    /// itself, of jobs that take different numbers of workers, and rates out of range (std::invalid_argument
    /// with jobs, field and value).
    void validate() const {
        alone.validate();
        for (std::size_t p = 0; p < pairs.size(); ++p) {
            const SharePair& pair = pairs[p];
            for (const std::size_t job : pair.jobs)
                if (job >= alone.jobs.size())
                    bad_input("pair " + text_of(p), "jobs", job, "an index into the jobs");
            const ShareJob &first = alone.jobs[pair.jobs[0]], &second = alone.jobs[pair.jobs[1]];
            const auto subject = [&] {
                return "pair of jobs '" + first.name + "' and '" + second.name + "'";
            };
            if (pair.jobs[0] == pair.jobs[1])
                bad_input(subject(), "jobs", pair.jobs[0], "two different jobs");
            if (first.workers != second.workers)
                bad_input(subject(), "gpus", second.workers,
                          text_of(first.workers) + ", as many as the first has");
            if (pair.rates.size() != alone.types())
                bad_input(subject(), "number of rates", pair.rates.size(),
                          "that of GPU types, " + text_of(alone.types()));
            for (const std::array<double, 2>& rates : pair.rates)
                for (const double rate : rates) {
                    require_at_least(subject, "rate", rate, 0);
                    if (rate > 1e15 || (rate > 0 && rate < 1e-12))
                        bad_input(subject(), "rate", rate, "0, or from 1e-12 to 1e15");
                }
        }
    }
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

}  // namespace goodput

#endif
