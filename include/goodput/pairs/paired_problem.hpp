#ifndef GOODPUT_PAIRS_PAIRED_PROBLEM_HPP
#define GOODPUT_PAIRS_PAIRED_PROBLEM_HPP

// Two jobs on the same GPUs at the same time (Gavel's space sharing, OSDI'20, section 3.1). The two jobs of
// a pair may run together for a part of the time. Let y_pt be the fraction of time that pair p runs on GPU
// type t, workers_p the number of GPUs that it takes, and rate_pjt the rate of its job j meanwhile. With
// x_jt and e_j (a job's fraction of time alone, and its effective rate) as in problem.hpp,
//
//     sum_t x_jt + sum_{p with j} sum_t y_pt <= 1               for every job,
//     sum_j workers_j x_jt + sum_p workers_p y_pt <= gpus_t     for every type: a pair takes its GPUs once,
//     e_j = sum_t rate_jt x_jt + sum_{p with j} sum_t rate_pjt y_pt.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1 {

/// Jobs that may run alone or in pairs.
struct PairedShareProblem {
    ShareProblem alone{};            ///< the GPUs, and the jobs with their rates alone
    std::vector<SharePair> pairs{};  ///< in any order

    /// Throws std::invalid_argument, which names jobs, field and value, if `alone` is invalid; if a pair
    /// names a job that does not exist, one job twice, or jobs with different numbers of workers; or if a
    /// rate is out of range.
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

}  // namespace goodput::inline v0_1

#endif
