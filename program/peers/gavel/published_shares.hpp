#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_PUBLISHED_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_PUBLISHED_SHARES_HPP

// Gavel's policies that are linear programs. Many shares are optimal. The public simulators take those of
// an interior-point solver, near the middle of all. There, shares that are not worth having are slightly
// above 0. These small shares decide which jobs fill gaps, so they are kept here.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "goodput/share/allox.hpp"
#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"
#include "peers/gavel/middle_shares.hpp"
#include "peers/gavel/share_question.hpp"

namespace goodput::peers {

/// The accuracy at which those solvers stop.
inline constexpr ShareOptions published_accuracy{.gap = 1e-7, .least_part = 0};

/// Finds the best shares under an objective that does not look at the past.
template <ShareObjective O>
auto best_shares(O objective) {
    return [objective](const ShareQuestion& question) {
        return shares_of(share_time(problem_of(question), objective, published_accuracy));
    };
}
/// Maximises the smallest share, regardless of what jobs do on which type.
inline Shares blind_max_min_shares(const ShareQuestion& question) {
    return shares_of(share_time(blind(problem_of(question)), MaxMinTime(), published_accuracy));
}
inline Shares water_filling_shares(const ShareQuestion& question) {
    return shares_of(fill_water(problem_of(question), {}, published_accuracy));
}

/// Asks for finish-time fairness. Published, and kept: a job's work counts as the time that it would have
/// taken with the isolated share at the last question about it.
class FairFinishProblems {
public:
    ShareProblem operator()(const ShareQuestion& question) {
        ShareProblem problem = problem_of(question);
        for (std::size_t j = 0; j < question.jobs.size(); ++j) {
            const auto [found, is_new] = past_.try_emplace(question.jobs[j].job);
            Past& past = found->second;
            const double left = problem.jobs[j].steps_left;
            if (!is_new && past.rate > 0) past.isolated_seconds += (past.steps_left - left) / past.rate;
            past.steps_left = left;
            past.rate = isolated_rate(problem, j);
            problem.jobs[j].isolated_seconds = std::max(past.isolated_seconds, 0.0);
        }
        return problem;
    }

private:
    struct Past {
        double isolated_seconds = 0, steps_left = 0, rate = 0;
    };
    std::map<std::size_t, Past> past_;  // by job
};
/// Finish-time fairness.
class FairFinishShares {
public:
    Shares operator()(const ShareQuestion& question) {
        return shares_of(share_time(problems_(question), FinishTimeFairness(), published_accuracy));
    }

private:
    FairFinishProblems problems_;
};

/// AlloX's order as a share: the jobs that come first on their GPU get all of its time, and keep it.
/// Published, and kept: a job counts as one GPU, whatever it takes, and holds nothing if it takes more.
class AlloxShares {
public:
    /// `considered` is the fraction of jobs that are considered, those that have waited longest.
    explicit AlloxShares(double considered) : considered_(considered) {}

    Shares operator()(const ShareQuestion& question) {
        const std::size_t types = question.gpus.size();
        Shares shares(question.jobs.size(), std::vector<double>(types));
        std::vector<std::size_t> machines(question.gpus.begin(), question.gpus.end());
        std::map<std::size_t, std::size_t> held;
        std::vector<std::size_t> waiting;
        std::vector<AlloxJob> jobs;
        for (std::size_t j = 0; j < question.jobs.size(); ++j) {
            const ShareJob& job = question.jobs[j];
            if (const auto found = held_.find(job.job); found != held_.end()) {
                held.insert(*found);
                --machines[found->second];
                shares[j][found->second] = 1;
                continue;
            }
            waiting.push_back(j);
            AlloxJob& asked = jobs.emplace_back(AlloxJob{.waited_seconds = std::max(job.age_seconds, 0.0)});
            for (const double rate : job.rates)
                asked.seconds.push_back(allox_seconds(std::max(job.steps_left, 0.0), rate));
        }
        if (!jobs.empty()) {
            const auto all = static_cast<double>(question.jobs.size());
            const double part = std::floor(considered_ * all) / static_cast<double>(jobs.size());
            const AlloxOrder order = allox_order(jobs, machines, std::clamp(part, 1e-9, 1.0));
            for (std::size_t w = 0; w < waiting.size(); ++w) {
                const AlloxPlace& place = order.places[w];
                if (!place.considered || place.before > 0) continue;
                const ShareJob& job = question.jobs[waiting[w]];
                shares[waiting[w]][place.type] = 1.0 / job.gpus;
                if (job.gpus == 1) held[job.job] = place.type;
            }
        }
        held_ = std::move(held);
        return shares;
    }

private:
    double considered_;
    std::map<std::size_t, std::size_t> held_;  // GPU type by job
};

/// Minimises the total time. Published, and kept: a bisection ends up to 5 % above the minimum, and some
/// shares within that time follow. Here these are the ones in the middle.
inline Shares makespan_shares(const ShareQuestion& question) {
    const ShareProblem problem = problem_of(question);
    const ShareResult best = share_time(problem, Makespan(), published_accuracy);
    double low = 100, seconds = 1e6;
    while (seconds < best.objective) {
        low = seconds;
        seconds *= 10;
    }
    while (1.05 * low < seconds) {
        const double middle = (low + seconds) / 2;
        (middle >= best.objective ? seconds : low) = middle;
    }
    detail::ShareProgram program(problem);
    const detail::GroupProgram& asked = program.build(
        [&](std::size_t j) -> detail::ProgramRow {
            return {0, problem.jobs[j].steps_left / seconds / program.top_rate(j)};
        },
        detail::no_value, false);
    // Mix shares that end sooner with equal shares, so that there is room everywhere.
    const double part = 0.5 * (1 - best.objective / seconds);
    Eigen::MatrixXd start(asked.types, asked.groups());
    for (std::size_t t = 0; t < asked.types; ++t) {
        double used = 0;
        for (std::size_t g = 0; g < asked.groups(); ++g)
            used += asked.copies[g] * asked.use[g * asked.types + t];
        const double equal = std::min(0.9 / std::max(used, 1e-300), 0.9 / static_cast<double>(asked.types));
        for (std::size_t g = 0; g < asked.groups(); ++g)
            start(static_cast<Eigen::Index>(t), static_cast<Eigen::Index>(g)) =
                asked.use[g * asked.types + t] > 0 ? (1 - part) * best.of(program.job_of(g))[t] + part * equal
                                                   : 0;
    }
    return shares_of(program.shares_of(MiddleShares(asked, std::move(start)), 0));
}

}  // namespace goodput::peers

#endif
