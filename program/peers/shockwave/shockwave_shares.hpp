#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_SHOCKWAVE_SHARES_HPP

// Policies of Shockwave's comparison that are formulas, for one GPU type.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// Gandiva-Fair: every job gets the same part of the time, however many GPUs it has.
inline Shares gandiva_fair_shares(const ShareQuestion& question) {
    const double share = std::min(1.0, question.gpus.front() / static_cast<double>(question.jobs.size()));
    return Shares(question.jobs.size(), {share});
}

/// First come, first served. A job that was served keeps its place. Published, and kept: holders are
/// visited by number, and if one has ended, the head of the queue takes its place if it fits next to the
/// earlier holders. So more GPUs may be promised than exist.
class ShockwaveFifo {
public:
    Shares operator()(const ShareQuestion& question) {
        std::set<std::size_t> here;
        std::deque<std::size_t> queue;
        for (const ShareJob& job : question.jobs) {
            gpus_[job.job] = job.gpus;
            here.insert(job.job);
            if (!holders_.contains(job.job)) queue.push_back(job.job);
        }
        int left = question.gpus.front();
        const auto admit = [&] {
            if (queue.empty() || gpus_[queue.front()] > left) return false;
            left -= gpus_[queue.front()];
            holders_.insert(queue.front());
            queue.pop_front();
            return true;
        };
        for (const std::size_t holder : std::vector(holders_.begin(), holders_.end())) {
            if (here.contains(holder)) {
                left -= gpus_[holder];
            } else {
                admit();
                holders_.erase(holder);
            }
        }
        while (left > 0 && admit()) {
        }
        Shares shares;
        for (const ShareJob& job : question.jobs) shares.push_back({holders_.contains(job.job) ? 1.0 : 0.0});
        return shares;
    }

private:
    std::set<std::size_t> holders_;
    std::map<std::size_t, int> gpus_;
};

}  // namespace goodput::peers

#endif
