#ifndef GOODPUT_TESTS_SHARE_SHARE_RANDOM_HPP
#define GOODPUT_TESTS_SHARE_SHARE_RANDOM_HPP

// Random problems of shares, from nearly idle clusters to clusters that are overloaded fifty times.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "goodput/share/problem.hpp"
#include "goodput/share/water_filling.hpp"
#include "support/random.hpp"

namespace support {

/// Ranges for random problems.
struct ShareShape {
    int most_types = 8, most_jobs = 60;
    double least_load = 0.02, most_load = 50;  ///< GPUs that all jobs want over GPUs that exist
    double decades = 2;  ///< rates of jobs differ by up to 10 to the power of twice this
    bool deadlines = false;
};

inline double log_uniform(Random& random, double low, double high) {
    return low * std::pow(high / low, random.unit());
}

/// Makes a job with rates roughly like the speeds of the types; on some types it cannot run.
inline goodput::ShareJob random_share_job(Random& random, const std::vector<double>& speeds,
                                          const ShareShape& shape) {
    goodput::ShareJob job;
    job.workers = random.chance(0.6) ? 1 : 1 << random.integer(1, 3);
    if (random.chance(0.4)) job.weight = log_uniform(random, 0.1, 10);
    const double rate = log_uniform(random, std::pow(10, -shape.decades), std::pow(10, shape.decades));
    for (const double speed : speeds)
        job.rates.push_back(random.chance(0.12) ? 0
                                                : rate * (random.chance(0.5) ? std::pow(speed, random.unit())
                                                                             : log_uniform(random, 1, 10)));
    job.steps_left = log_uniform(random, 1e2, 1e6);
    if (random.chance(0.8)) job.age_seconds = random.between(0, 1e5);
    if (random.chance(0.8)) job.isolated_seconds = random.between(0, 1e5);
    return job;
}

inline goodput::ShareProblem random_share_problem(Random& random, const ShareShape& shape = {}) {
    goodput::ShareProblem problem;
    const int types = random.integer(1, shape.most_types), jobs = random.integer(1, shape.most_jobs);
    std::vector<double> speeds, parts;
    double sum = 0;
    for (int t = 0; t < types; ++t) {
        speeds.push_back(log_uniform(random, 1, 10));
        parts.push_back(random.between(0.05, 1));
        sum += parts.back();
        problem.dollars_per_hour.push_back(log_uniform(random, 0.2, 5));
    }
    double wanted = 0;
    for (int j = 0; j < jobs; ++j) {
        if (!problem.jobs.empty() && random.chance(0.15))
            problem.jobs.push_back(problem.jobs[static_cast<std::size_t>(random.integer(0, j - 1))]);
        else
            problem.jobs.push_back(random_share_job(random, speeds, shape));
        problem.jobs.back().name = std::to_string(j);
        wanted += problem.jobs.back().workers;
    }
    const double all = wanted / log_uniform(random, shape.least_load, shape.most_load);
    const bool whole = random.chance(0.5);
    for (const double part : parts) {
        const double gpus = random.chance(0.08) ? 0 : all * part / sum;
        problem.gpus.push_back(whole ? std::ceil(gpus) : gpus);
    }
    if (!shape.deadlines) return problem;
    for (goodput::ShareJob& job : problem.jobs)
        if (random.chance(0.3)) {
            double top = 0;
            for (const double rate : job.rates) top = std::max(top, rate);
            if (top > 0)
                job.deadline_seconds =
                    job.steps_left / top * log_uniform(random, 1, 20) * std::max(1.0, wanted / all);
        }
    return problem;
}

/// Makes at most a dozen jobs on few GPUs: gangs and single-GPU jobs, ties, types with one GPU or none, and
/// in a third of all problems rates of different sizes.
inline goodput::ShareProblem random_crowded_problem(Random& random) {
    goodput::ShareProblem problem;
    const int types = random.integer(1, 5), jobs = random.integer(1, 12);
    const bool unequal = random.chance(0.33);
    for (int t = 0; t < types; ++t)
        problem.gpus.push_back(random.chance(0.07) ? 0 : random.integer(1, random.chance(0.3) ? 2 : 6));
    for (int j = 0; j < jobs; ++j) {
        if (j > 0 && random.chance(0.15)) {
            problem.jobs.push_back(problem.jobs[static_cast<std::size_t>(random.integer(0, j - 1))]);
            continue;
        }
        goodput::ShareJob job{.workers = 1 << random.integer(0, 2)};
        if (random.chance(0.5)) job.weight = 0.5 * random.integer(1, 6);
        const double scale = unequal ? log_uniform(random, 1e-4, 1e4) : 1;
        for (int t = 0; t < types; ++t) {
            const double rate = random.chance(0.5) ? random.integer(2, 20) : random.between(2, 20);
            const double odd = unequal && random.chance(0.3) ? log_uniform(random, 0.1, 10) : 1;
            job.rates.push_back(random.chance(0.2) ? 0 : rate * scale * odd);
        }
        problem.jobs.push_back(std::move(job));
    }
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) problem.jobs[j].name = std::to_string(j);
    return problem;
}

/// Makes entities for the jobs of a problem.
inline goodput::ShareHierarchy random_hierarchy(Random& random, std::size_t jobs) {
    goodput::ShareHierarchy hierarchy;
    const int entities = random.integer(1, 6);
    for (int e = 0; e < entities; ++e)
        hierarchy.entities.push_back({.name = std::to_string(e),
                                      .weight = random.chance(0.5) ? 1 : log_uniform(random, 0.1, 10),
                                      .in_order = random.chance(0.4)});
    for (std::size_t j = 0; j < jobs; ++j)
        hierarchy.entity_of.push_back(static_cast<std::size_t>(random.integer(0, entities - 1)));
    return hierarchy;
}

}  // namespace support

#endif
