#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_GAVEL_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_GAVEL_SHARES_HPP

// Gavel's policies that are formulas: who gets which part of the time is known without a solver.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// Every job an equal part of each GPU type, cut to the whole time: share_isolated() to the last digit of the
/// public code, which decides between jobs that are alike.
inline Shares isolated_shares(const ShareQuestion& question) {
    const auto count = static_cast<double>(question.jobs.size());
    Shares shares;
    for (const ShareJob& job : question.jobs) {
        std::vector<double>& of = shares.emplace_back();
        double sum = 0;
        for (const int gpus : question.gpus) sum += of.emplace_back(gpus / count / job.gpus);
        for (double& share : of) share /= std::max(sum, 1.0);
    }
    return shares;
}

/// Jobs in their order, each on the type where it is fastest of those that have enough GPUs left, until one
/// finds none.
inline Shares fifo_shares(const ShareQuestion& question) {
    return shares_of(share_in_order(problem_of(question)));
}

}  // namespace goodput::peers

#endif
