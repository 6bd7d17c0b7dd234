#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_SHARE_QUESTION_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_SHARE_QUESTION_HPP

// The question to a policy of Gavel's kind, and its answer: which fraction of time each job gets on which
// GPU type. TimeSharedRounds turns that into rounds (time_shared_rounds.hpp).

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::peers {

/// A job for which a share is computed.
struct ShareJob {
    std::size_t job = 0;          ///< number in the trace, the same in every question
    int gpus = 1;                 ///< GPUs that it takes while it runs
    double weight = 1;            ///< priority, above 0
    std::vector<double> rates{};  ///< steps per second with these GPUs by GPU type; 0 if it cannot run there
    double steps_left = 0;   ///< steps until it is complete; at most 0 for a job that only has to be told so
    double age_seconds = 0;  ///< seconds since its submission
};

/// All present jobs, by their number, the pairs of them that may share GPUs (if the policy asks for them),
/// and the GPUs.
struct ShareQuestion {
    std::vector<int> gpus{};  ///< by GPU type
    std::vector<ShareJob> jobs{};
    std::vector<SharePair> pairs{};  ///< pairs of `jobs`, the later job second; only those that can run
                                     ///< somewhere
};

/// By job of the question and GPU type: a fraction of the time, from 0 to 1, for the job alone. Then the
/// same for its pairs.
using Shares = std::vector<std::vector<double>>;

/// Returns the same question for the library.
inline ShareProblem problem_of(const ShareQuestion& question) {
    ShareProblem problem;
    problem.gpus.assign(question.gpus.begin(), question.gpus.end());
    for (const ShareJob& job : question.jobs)
        problem.jobs.push_back({.workers = job.gpus,
                                .weight = job.weight,
                                .rates = job.rates,
                                .steps_left = std::max(job.steps_left, 0.0),
                                .age_seconds = std::max(job.age_seconds, 0.0)});
    return problem;
}
inline Shares shares_of(const ShareResult& result) {
    Shares shares;
    for (std::size_t j = 0; j < result.rates.size(); ++j)
        shares.emplace_back(result.of(j).begin(), result.of(j).end());
    for (auto row = result.pair_shares.begin(); row != result.pair_shares.end();) {
        const auto next = row + static_cast<std::ptrdiff_t>(result.types);
        shares.emplace_back(row, next);
        row = next;
    }
    return shares;
}

/// A policy, and how its shares become rounds.
struct SharePolicy {
    /// Called whenever shares are computed anew. May remember earlier questions.
    std::function<Shares(const ShareQuestion&)> shares{};
    bool shuffles_types = false;  ///< types give their GPUs in a random order instead of the fastest first
    bool fills_gaps = true;       ///< jobs without a share of a type get what no other job wants of it
    bool pairs = false;           ///< the question has pairs
    bool stops = false;           ///< no job gets GPUs after the first job that does not fit
};

}  // namespace goodput::peers

#endif
