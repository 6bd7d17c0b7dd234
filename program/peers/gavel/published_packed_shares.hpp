#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_PUBLISHED_PACKED_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_PUBLISHED_PACKED_SHARES_HPP

// Gavel's policies that are linear programs (published_shares.hpp), with two jobs on the same GPUs.

#include <utility>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/pairs/share_pairs.hpp"
#include "peers/gavel/published_shares.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// Returns the same question for the library, with its pairs.
inline PairedShareProblem paired_problem_of(const ShareQuestion& question) {
    return {problem_of(question), question.pairs};
}

/// Finds the best shares of jobs and pairs under an objective that does not look at the past. The makespan
/// is the shortest one; the published code accepts up to 5 % more.
template <ShareObjective O>
auto best_packed_shares(O objective) {
    return [objective](const ShareQuestion& question) {
        return shares_of(share_time(paired_problem_of(question), objective, published_accuracy));
    };
}
inline Shares water_filling_packed_shares(const ShareQuestion& question) {
    return shares_of(fill_water(paired_problem_of(question), {}, published_accuracy));
}
/// Finish-time fairness. The past is that of single jobs.
class FairFinishPackedShares {
public:
    Shares operator()(const ShareQuestion& question) {
        return shares_of(share_time(PairedShareProblem{problems_(question), question.pairs},
                                    FinishTimeFairness(), published_accuracy));
    }

private:
    FairFinishProblems problems_;
};

}  // namespace goodput::peers

#endif
