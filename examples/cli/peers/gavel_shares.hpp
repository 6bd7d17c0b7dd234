#ifndef GOODPUT_EXAMPLES_CLI_PEERS_GAVEL_SHARES_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_GAVEL_SHARES_HPP

// Gavel's policies that are formulas: who gets which part of the time is known without a solver.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "peers/share_question.hpp"

namespace goodput::peers {

/// Every job an equal part of each GPU type, cut to the whole time.
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
    const std::size_t types = question.gpus.size();
    Shares shares(question.jobs.size(), std::vector<double>(types));
    std::vector<int> left = question.gpus;
    for (std::size_t j = 0; j < shares.size(); ++j) {
        const ShareJob& job = question.jobs[j];
        std::size_t best = types;
        for (std::size_t t = 0; t < types; ++t)
            if (left[t] >= job.gpus && (best == types || job.rates[t] > job.rates[best])) best = t;
        if (best == types) break;
        if (!(job.rates[best] > 0)) continue;
        shares[j][best] = 1;
        left[best] -= job.gpus;
    }
    return shares;
}

}  // namespace goodput::peers

#endif
