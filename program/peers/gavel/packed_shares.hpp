#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_PACKED_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_PACKED_SHARES_HPP

// Gavel's policies with two jobs on the same GPUs that need no solver.

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "goodput/pairs/paired_problem.hpp"
#include "peers/gavel/python_random.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// The pairs of a question, by their jobs.
class PairIndex {
public:
    explicit PairIndex(const ShareQuestion& question) : question_(question) {
        for (std::size_t p = 0; p < question.pairs.size(); ++p) {
            const auto [first, second] = question.pairs[p].jobs;
            index_[{std::min(first, second), std::max(first, second)}] = p;
        }
    }

    /// Returns the index of the pair of these jobs, in either order; nothing if they cannot run together.
    [[nodiscard]] std::optional<std::size_t> pair_of(std::size_t a, std::size_t b) const {
        const auto found = index_.find({std::min(a, b), std::max(a, b)});
        return found == index_.end() ? std::nullopt : std::optional(found->second);
    }
    /// Returns the sum of both jobs' rates while sharing, as fractions of their rates alone; 0 if they
    /// cannot share.
    [[nodiscard]] double sum_of_parts(std::size_t pair, std::size_t type) const {
        const SharePair& shared = question_.pairs[pair];
        double sum = 0;
        for (std::size_t i = 0; i < 2; ++i)
            if (shared.rates[type][i] > 0)
                sum += shared.rates[type][i] / question_.jobs[shared.jobs[i]].rates[type];
        return sum;
    }

private:
    const ShareQuestion& question_;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> index_;
};

/// Goes through the jobs in their order, each on the type where it is fastest among those with enough GPUs
/// left. A job that finds none joins its best partner, if both together do more than one and a half times
/// what one does. The first job without such a partner is the last. Published, and kept: the first job that
/// finds no type joins no other, unless no GPU was left at all.
inline Shares fifo_packed_shares(const ShareQuestion& question) {
    constexpr double worth_it = 1.5;
    struct Running {
        std::size_t job = 0, type = 0;
    };
    const std::size_t types = question.gpus.size();
    const PairIndex pairs(question);
    Shares shares(question.jobs.size() + question.pairs.size(), std::vector<double>(types));
    std::vector<int> left = question.gpus;
    std::vector<Running> alone;
    std::size_t next = 0;
    while (next < question.jobs.size() && *std::max_element(left.begin(), left.end()) > 0) {
        const ShareJob& job = question.jobs[next++];
        std::optional<std::size_t> best;
        for (std::size_t t = 0; t < types; ++t)
            if (left[t] >= job.gpus && (!best || job.rates[t] > job.rates[*best])) best = t;
        if (!best) break;
        if (!(job.rates[*best] > 0)) continue;
        left[*best] -= job.gpus;
        alone.push_back({next - 1, *best});
        shares[next - 1][*best] = 1;
    }
    for (; next < question.jobs.size(); ++next) {
        double most = worth_it;
        std::optional<std::size_t> joined, with;
        for (std::size_t r = 0; r < alone.size(); ++r) {
            const std::optional<std::size_t> pair = pairs.pair_of(alone[r].job, next);
            if (!pair) continue;
            const double sum = pairs.sum_of_parts(*pair, alone[r].type);
            if (sum <= most) continue;
            most = sum;
            joined = pair;
            with = r;
        }
        if (!joined) break;
        const Running before = alone[*with];
        alone.erase(alone.begin() + static_cast<std::ptrdiff_t>(*with));
        shares[before.job][before.type] = 0;
        shares[question.jobs.size() + *joined][before.type] = 1;
    }
    return shares;
}

/// Gandiva (OSDI'18) in Gavel's form. If there are GPUs for all jobs, each gets an equal part of the time.
/// Otherwise two jobs of equal size, drawn at random, try sharing, and continue until that turns out worse
/// than taking turns. Published, and kept: what both do together is summed over all GPU types before it is
/// compared with 1. So most pairs that separate are those that cannot share on one of the types.
class GandivaShares {
public:
    Shares operator()(const ShareQuestion& question) {
        const PairIndex pairs(question);
        const std::size_t types = question.gpus.size();
        std::map<std::size_t, std::size_t> row;  // by job
        for (std::size_t j = 0; j < question.jobs.size(); ++j) row[question.jobs[j].job] = j;
        std::erase_if(together_, [&](const std::pair<std::size_t, std::size_t>& both) {
            const auto first = row.find(both.first), second = row.find(both.second);
            if (first == row.end() || second == row.end()) return true;
            const std::optional<std::size_t> pair = pairs.pair_of(first->second, second->second);
            double sum = 0;
            for (std::size_t t = 0; pair && t < types; ++t) {
                const double of_type = pairs.sum_of_parts(*pair, t);
                if (of_type <= 0) return true;
                sum += of_type;
            }
            return sum < 1;
        });

        int wanted = 0, there = 0;
        for (const ShareJob& job : question.jobs) wanted += job.gpus;
        for (const int gpus : question.gpus) there += gpus;
        std::vector<bool> paired(question.jobs.size());
        if (wanted > there) {
            draw_pairs(question, row);
            for (const auto& both : together_) paired[row[both.first]] = paired[row[both.second]] = true;
        }
        const auto units = static_cast<double>(
            question.jobs.size() - static_cast<std::size_t>(std::count(paired.begin(), paired.end(), true)) +
            (wanted > there ? together_.size() : 0));
        Shares shares(question.jobs.size() + question.pairs.size(), std::vector<double>(types));
        const auto give = [&](std::size_t unit, int size) {
            double sum = 0;
            for (std::size_t t = 0; t < types; ++t) sum += shares[unit][t] = question.gpus[t] / units / size;
            for (double& share : shares[unit]) share /= std::max(sum, 1.0);
        };
        for (std::size_t j = 0; j < question.jobs.size(); ++j)
            if (!paired[j]) give(j, question.jobs[j].gpus);
        if (wanted > there)
            for (const auto& both : together_)
                if (const auto pair = pairs.pair_of(row[both.first], row[both.second]))
                    give(question.jobs.size() + *pair, question.jobs[row[both.first]].gpus);
        return shares;
    }

private:
    void draw_pairs(const ShareQuestion& question, const std::map<std::size_t, std::size_t>& row) {
        std::vector<std::size_t> free;
        for (const ShareJob& job : question.jobs)
            if (std::none_of(together_.begin(), together_.end(), [&](const auto& both) {
                    return both.first == job.job || both.second == job.job;
                }))
                free.push_back(job.job);
        const auto size = [&](std::size_t job) { return question.jobs[row.at(job)].gpus; };
        for (std::size_t tries = free.size(); tries > 0 && free.size() > 1; --tries) {
            const auto [a, b] = random_.two_of(free.size());
            const std::size_t first = free[a], second = free[b];
            if (size(first) != size(second)) continue;
            std::erase_if(free, [&](std::size_t job) { return job == first || job == second; });
            together_.emplace_back(first, second);
        }
    }

    PythonRandom random_{0};
    std::vector<std::pair<std::size_t, std::size_t>> together_;  // jobs of the trace
};

}  // namespace goodput::peers

#endif
