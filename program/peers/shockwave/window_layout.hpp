#ifndef GOODPUT_PROGRAM_PEERS_SHOCKWAVE_WINDOW_LAYOUT_HPP
#define GOODPUT_PROGRAM_PEERS_SHOCKWAVE_WINDOW_LAYOUT_HPP

// Chooses the rounds of a window in which jobs run, given their number of rounds (window_market.hpp): heavy
// jobs run early.
//
// The published program chooses rounds y_it to minimise sum_i w_i (sum_t t y_it) / n_i. So a round of job i
// saves w_i / n_i for each round that it comes earlier. Here the rounds are filled one after another, by
// saving per GPU. A job that needs every remaining round of the window runs in each of them. Such jobs come
// first, those of most GPUs before others. A job cannot run twice in one round, so some rounds of a job may
// find no place. They are left out and counted. That is rare if the numbers of GPUs divide one another.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput::peers {

/// A job to lay out.
struct LayoutJob {
    int gpus = 1;       ///< at least 1
    int rounds = 0;     ///< rounds of the window in which it should run: from 0 to all
    double weight = 1;  ///< weight of running early, at least 0
};

/// The jobs that run in each round.
struct WindowLayout {
    std::vector<std::vector<std::size_t>> runs{};  ///< by round: indices of jobs
    int left_out = 0;                              ///< number of rounds of jobs that found no place
};

/// Returns the layout of `rounds` rounds of a cluster with `gpus` GPUs. Throws std::invalid_argument for
/// numbers out of range.
[[nodiscard]] inline WindowLayout lay_out_window(int gpus, int rounds, std::span<const LayoutJob> jobs) {
    require_between("window", "gpus", gpus, 0, 1 << 24);
    require_between("window", "rounds", rounds, 1, 1 << 16);
    std::vector<int> left;
    std::vector<double> saving;  // per GPU
    for (const LayoutJob& job : jobs) {
        require_between("job of a window", "gpus", job.gpus, 1, 1 << 20);
        require_between("job of a window", "rounds", job.rounds, 0, rounds);
        require_at_least("job of a window", "weight", job.weight, 0);
        left.push_back(job.rounds);
        saving.push_back(job.weight / std::max(job.rounds, 1) / job.gpus);
    }
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return saving[a] > saving[b]; });
    WindowLayout layout;
    for (int round = 0; round < rounds; ++round) {
        std::vector<std::size_t> now;
        for (const std::size_t j : order)
            if (left[j] >= rounds - round) now.push_back(j);
        std::stable_sort(now.begin(), now.end(),
                         [&](std::size_t a, std::size_t b) { return jobs[a].gpus > jobs[b].gpus; });
        for (const std::size_t j : order)
            if (left[j] > 0 && left[j] < rounds - round) now.push_back(j);
        int free = gpus;
        std::vector<std::size_t>& runs = layout.runs.emplace_back();
        for (const std::size_t j : now) {
            if (jobs[j].gpus > free) continue;
            free -= jobs[j].gpus;
            --left[j];
            runs.push_back(j);
        }
    }
    layout.left_out = std::accumulate(left.begin(), left.end(), 0);
    return layout;
}

/// Gives idle GPUs to jobs: in every round to those that do not run yet, in that order, each if it fits.
inline void fill_window(WindowLayout& layout, int gpus, std::span<const LayoutJob> jobs,
                        std::span<const std::size_t> order) {
    std::vector<bool> runs_now(jobs.size());
    for (std::vector<std::size_t>& runs : layout.runs) {
        runs_now.assign(jobs.size(), false);
        int free = gpus;
        for (const std::size_t j : runs) {
            runs_now[j] = true;
            free -= jobs[j].gpus;
        }
        for (const std::size_t j : order) {
            if (runs_now[j] || jobs[j].gpus > free) continue;
            runs.push_back(j);
            free -= jobs[j].gpus;
        }
    }
}

}  // namespace goodput::peers

#endif
