#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_SHARE_QUESTION_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_SHARE_QUESTION_HPP

// What a policy of Gavel's kind is asked, and what it answers: which job is to have GPUs of which type for
// which part of the time. Rounds are then made of that by TimeSharedRounds (time_shared_rounds.hpp).

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::peers {

/// A job that is to get a share.
struct ShareJob {
    std::size_t job = 0;          ///< its number in the trace: the same in every question
    int gpus = 1;                 ///< that it takes while it runs
    double weight = 1;            ///< its priority, above 0
    std::vector<double> rates{};  ///< steps a second with these GPUs by GPU type; 0: it cannot run there
    double steps_left = 0;        ///< until it is complete; 0 or less for one that only has to be told so
    double age_seconds = 0;       ///< since its submission
};

/// All jobs of the moment, by their number, the pairs of them that may share GPUs, where the policy asks for
/// them, and the GPUs that there are.
struct ShareQuestion {
    std::vector<std::string> gpu_types{};  ///< names, in alphabetical order
    std::vector<int> gpus{};               ///< by GPU type
    std::vector<ShareJob> jobs{};
    std::vector<SharePair> pairs{};  ///< of `jobs`, the later one second; only those that run somewhere
};

/// By job of the question and GPU type: a part of the time, from 0 to 1, alone. Then the same of its pairs.
using Shares = std::vector<std::vector<double>>;

/// The same question for the library.
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
    for (auto of = result.pair_shares.begin(); of != result.pair_shares.end();) {
        const auto next = of + static_cast<std::ptrdiff_t>(result.types);
        shares.emplace_back(of, next);
        of = next;
    }
    return shares;
}

/// A policy, and how rounds are made of its shares.
struct SharePolicy {
    /// Called whenever shares are computed anew; may remember what it was asked before.
    std::function<Shares(const ShareQuestion&)> shares{};
    bool shuffles_types = false;  ///< types give their GPUs in a random order, not the fastest first
    bool fills_gaps = true;       ///< jobs without a part of a type get what nobody else wants of it
    bool pairs = false;           ///< the question has pairs
    bool stops = false;           ///< nobody gets GPUs who comes after a job that there are too few for
};

}  // namespace goodput::peers

#endif
