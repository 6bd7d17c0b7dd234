#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_GAVEL_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_GAVEL_SHARES_HPP

// Gavel's policies that are formulas, and need no solver for the shares of time.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// Gives every job an equal part of each GPU type, cut to the whole time. Agrees with share_isolated() of
/// the public code to the last digit, which decides between equal jobs.
inline Shares isolated_shares(const ShareQuestion& question) {
    const auto count = static_cast<double>(question.jobs.size());
    Shares shares;
    for (const ShareJob& job : question.jobs) {
        std::vector<double>& row = shares.emplace_back();
        double sum = 0;
        for (const int gpus : question.gpus) sum += row.emplace_back(gpus / count / job.gpus);
        for (double& share : row) share /= std::max(sum, 1.0);
    }
    return shares;
}

/// Goes through the jobs in their order, each on the type where it is fastest among those with enough GPUs
/// left, until a job finds none.
inline Shares fifo_shares(const ShareQuestion& question) {
    return shares_of(share_in_order(problem_of(question)));
}

}  // namespace goodput::peers

#endif
