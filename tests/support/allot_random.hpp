#ifndef GOODPUT_TESTS_SUPPORT_ALLOT_RANDOM_HPP
#define GOODPUT_TESTS_SUPPORT_ALLOT_RANDOM_HPP

// Random allotment problems: small ones with all kinds of odd parts, and ones like those of GPU cluster
// schedulers. Also transformations that must not change the answer, and bounds to compare with.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "support/random.hpp"

namespace support {

/// Returns the sum over the jobs of the largest |value|.
inline double scale_of(const goodput::AllotmentProblem& problem) {
    double scale = 0;
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        double largest = 0;
        for (std::size_t k = 0; k < problem.options_of(job); ++k)
            largest = std::max(largest, std::abs(problem.value(job, k)));
        scale += largest;
    }
    return scale;
}

/// Adds a copy of another problem's job, with the options for which keep(option) is true.
template <class Keep>
void add_copy(goodput::AllotmentProblem& to, const goodput::AllotmentProblem& from, std::size_t job,
              Keep keep) {
    to.add_job(from.must(job));
    for (std::size_t k = 0; k < from.options_of(job); ++k)
        if (keep(k)) to.add_option(from.value(job, k), from.uses(job, k));
}
inline void add_copy(goodput::AllotmentProblem& to, const goodput::AllotmentProblem& from, std::size_t job) {
    add_copy(to, from, job, [](std::size_t) { return true; });
}

/// Returns the same jobs in another order.
inline goodput::AllotmentProblem in_other_order(const goodput::AllotmentProblem& problem, Random& random) {
    std::vector<std::size_t> order(problem.jobs());
    for (std::size_t job = 0; job < order.size(); ++job) order[job] = job;
    for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
    goodput::AllotmentProblem other;
    other.capacity = problem.capacity;
    for (const std::size_t job : order) add_copy(other, problem, job);
    return other;
}

inline bool fits_alone(const goodput::AllotmentProblem& problem, std::size_t job, std::size_t option) {
    std::vector<double> left = problem.capacity;
    for (const goodput::ResourceUse& use : problem.uses(job, option)) left[use.resource] -= use.units;
    for (std::size_t r = 0; r < left.size(); ++r)
        if (left[r] < -1e-12 * problem.capacity[r]) return false;
    return true;
}

/// Returns the problem without the options that exceed a capacity alone.
inline goodput::AllotmentProblem without_too_large(const goodput::AllotmentProblem& problem) {
    goodput::AllotmentProblem other;
    other.capacity = problem.capacity;
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        add_copy(other, problem, job, [&](std::size_t k) { return fits_alone(problem, job, k); });
    return other;
}

/// Returns what is left of an option's value after paying the prices.
inline double reduced_value(const goodput::AllotmentProblem& problem, std::size_t job, std::size_t option,
                            std::span<const double> prices) {
    double reduced = problem.value(job, option);
    for (const goodput::ResourceUse& use : problem.uses(job, option))
        reduced -= prices[use.resource] * use.units;
    return reduced;
}

/// Returns the most that the job can gain at these prices.
inline double best_reduced_value(const goodput::AllotmentProblem& problem, std::size_t job,
                                 std::span<const double> prices) {
    double best = problem.must(job) ? -std::numeric_limits<double>::infinity() : 0;
    for (std::size_t k = 0; k < problem.options_of(job); ++k)
        best = std::max(best, reduced_value(problem, job, k, prices));
    return best;
}

/// Returns the Lagrangian bound at these prices: no allotment, split or not, is worth more.
inline double bound_at(const goodput::AllotmentProblem& problem, std::span<const double> prices) {
    double bound = 0;
    for (std::size_t r = 0; r < prices.size(); ++r) bound += prices[r] * problem.capacity[r];
    for (std::size_t job = 0; job < problem.jobs(); ++job) bound += best_reduced_value(problem, job, prices);
    return bound;
}

/// Finds the largest value over all choices, or -infinity if the jobs that must run do not fit. Keeps the
/// capacity left by job, because taking units and giving them back is not exact.
class BruteForce {
public:
    double operator()(const goodput::AllotmentProblem& problem) {
        left_.resize((problem.jobs() + 1) * problem.capacity.size());
        std::copy(problem.capacity.begin(), problem.capacity.end(), left_.begin());
        return best_from(problem, 0);
    }

private:
    double best_from(const goodput::AllotmentProblem& problem, std::size_t job) {
        if (job == problem.jobs()) return 0;
        const std::size_t resources = problem.capacity.size();
        const double* const now = left_.data() + job * resources;
        double* const next = left_.data() + (job + 1) * resources;
        double best = -std::numeric_limits<double>::infinity();
        if (!problem.must(job)) {
            std::copy(now, now + resources, next);
            best = best_from(problem, job + 1);
        }
        for (std::size_t k = 0; k < problem.options_of(job); ++k) {
            std::copy(now, now + resources, next);
            for (const goodput::ResourceUse& use : problem.uses(job, k)) next[use.resource] -= use.units;
            bool fits = true;
            for (std::size_t r = 0; r < resources; ++r)
                fits = fits && next[r] >= -1e-12 * problem.capacity[r];
            if (fits) best = std::max(best, problem.value(job, k) + best_from(problem, job + 1));
        }
        return best;
    }

    std::vector<double> left_;
};

/// The kind of values in a problem.
enum class Values { decimals, reals, ties, mixed_magnitudes, one_magnitude, negative_too, equal };

/// Makes a small problem for brute force with one to `most_resources` resources. It may have must-run jobs,
/// equal jobs, jobs without options, options that use nothing, several resources, one resource twice or too
/// much, capacities of 0, fractional units, and values of any kind. The product of (options + 1) over the
/// jobs is at most `most_choices`.
inline goodput::AllotmentProblem small_problem(Random& random, int most_resources = 4,
                                               double most_choices = 400) {
    goodput::AllotmentProblem problem;
    const int resources = random.integer(1, most_resources);
    const auto values = static_cast<Values>(random.integer(0, 6));
    const double magnitude = std::pow(10, random.integer(-9, 9));
    const int units_kind = random.integer(0, 5);  // whole units for most kinds
    const double must = random.chance(0.4) ? 0.3 : 0;
    const double repeat = random.chance(0.25) ? 0.7 : 0.1;
    const auto units = [&](int most) {
        return units_kind == 0   ? random.between(0, most)
               : units_kind == 1 ? random.integer(0, 10 * most) / 10.0
                                 : random.integer(0, most);
    };
    const auto value = [&]() -> double {
        switch (values) {
            case Values::decimals:
                return random.integer(0, 300) / 100.0;
            case Values::reals:
                return random.between(0, 3);
            case Values::ties:
                return random.integer(0, 2);
            case Values::mixed_magnitudes:
                return random.between(1, 10) * std::pow(10, random.integer(-9, 8));
            case Values::one_magnitude:
                return random.between(0.1, 1) * magnitude;
            case Values::negative_too:
                return random.between(-1, 1) * magnitude;
            case Values::equal:
                break;
        }
        return magnitude;
    };
    for (int r = 0; r < resources; ++r) problem.capacity.push_back(random.chance(0.07) ? 0 : units(16));
    double choices = 1;
    const int jobs = random.integer(0, 9);
    std::vector<goodput::ResourceUse> uses;
    for (int job = 0; job < jobs; ++job) {
        const std::size_t before = problem.jobs();
        if (before > 0 && random.chance(repeat)) {
            const goodput::AllotmentProblem same = problem;
            choices *= static_cast<double>(same.options_of(before - 1) + 1);
            if (choices > most_choices) break;
            add_copy(problem, same, before - 1);
            continue;
        }
        const int options = random.chance(0.05) ? 0 : random.integer(1, 4);
        choices *= options + 1;
        if (choices > most_choices) break;
        problem.add_job(random.chance(must));
        for (int k = 0; k < options; ++k) {
            uses.clear();
            const int used = random.chance(0.6) ? 1 : random.integer(0, std::min(resources, 8));
            for (int u = 0; u < used; ++u)
                uses.push_back({static_cast<std::uint32_t>(random.integer(0, resources - 1)), units(9)});
            problem.add_option(value(), uses);
        }
    }
    return problem;
}

/// Makes a problem like that of a scheduler for `gpus` GPUs of three types. Every job has values for 1, 2, 4,
/// ... units of each type; they rise with falling increments and are rounded to two decimals. Together the
/// jobs could use several times the capacity.
inline goodput::AllotmentProblem cluster_problem(Random& random, int gpus) {
    goodput::AllotmentProblem problem;
    problem.capacity = {gpus / 2.0, gpus / 4.0, gpus / 4.0};
    const int jobs = gpus / 4;
    for (int job = 0; job < jobs; ++job) {
        problem.add_job();
        const int most_units = 1 << random.integer(0, 6);
        const double half = random.between(0.2, 8);  // units at which half of the best value is reached
        for (std::uint32_t type = 0; type < 3; ++type) {
            const double best = random.between(0.2, 1.5);
            for (int n = 1; n <= most_units && n <= problem.capacity[type]; n *= 2)
                problem.add_option(std::round(100 * best * n / (n + half)) / 100,
                                   {{type, static_cast<double>(n)}});
        }
    }
    return problem;
}

/// Four resources that every option uses, no two options alike: states are never equal, bounds never close.
inline goodput::AllotmentProblem hard_problem(Random& random, int jobs) {
    goodput::AllotmentProblem problem;
    problem.capacity = {997, 991, 983, 977};
    std::vector<goodput::ResourceUse> uses;
    for (int job = 0; job < jobs; ++job) {
        problem.add_job();
        for (int option = 0; option < 12; ++option) {
            uses.clear();
            double size = 0;
            for (std::uint32_t r = 0; r < 4; ++r) {
                uses.push_back({r, random.between(1, 60)});
                size += uses.back().units;
            }
            problem.add_option(size * random.between(0.98, 1), uses);
        }
    }
    return problem;
}

/// Makes a problem like that of a cluster with limits: `gpus` / 10 jobs of `gpus` / 250 teams. Every option
/// uses GPUs of one of six pools, its team's quota, dollars per hour of a budget, and its team's quota for
/// that pool if there is one. Values rise with falling increments and differ by job, type and size. The
/// pools, the budget and about half of the quotas bind.
inline goodput::AllotmentProblem limits_problem(Random& random, int gpus) {
    constexpr std::uint32_t pools = 6;
    constexpr int per_node = 8;
    const auto teams = static_cast<std::uint32_t>(std::max(gpus / 250, 1));
    goodput::AllotmentProblem problem;
    // Dollars per hour and speed of a GPU in each pool. They go together, but not closely.
    double shares[pools], dollars[pools], speed[pools], sum = 0, cost = 0;
    for (double& share : shares) sum += share = random.between(0.5, 2);
    for (std::uint32_t pool = 0; pool < pools; ++pool) {
        problem.capacity.push_back(per_node * std::round(gpus * shares[pool] / sum / per_node));
        speed[pool] = std::pow(2, random.between(0, 3));
        dollars[pool] = std::round(100 * 0.5 * speed[pool] * random.between(0.7, 1.4)) / 100;
        cost += dollars[pool] * problem.capacity[pool];
    }
    struct Job {
        std::uint32_t team;
        int most;
        double weight, half;
    };
    std::vector<Job> jobs;
    std::vector<double> demand(teams, 0);  // approximate demand of each team
    sum = 0;
    for (int job = 0; job < gpus / 10; ++job) {
        // Some teams are ten times as large as others.
        const auto team = static_cast<std::uint32_t>(teams * std::pow(random.unit(), 1.7));
        jobs.push_back(
            {team, 1 << random.integer(0, 8), random.between(0.05, 1), std::pow(2, random.between(1, 7))});
        const double wish = std::sqrt(jobs.back().most * jobs.back().weight);
        demand[team] += wish;
        sum += wish;
    }
    for (const double wish : demand)
        problem.capacity.push_back(std::ceil(gpus * wish / sum * random.between(0.6, 1.4)));
    std::vector<std::uint32_t> type_quota(std::size_t{teams} * pools, 0);  // row of the quota, 0 without one
    for (std::uint32_t team = 0; team < teams; ++team) {
        if (!random.chance(0.3)) continue;
        const auto pool = static_cast<std::uint32_t>(random.integer(0, pools - 1));
        type_quota[std::size_t{team} * pools + pool] = static_cast<std::uint32_t>(problem.capacity.size());
        problem.capacity.push_back(std::ceil(problem.capacity[pools + team] * problem.capacity[pool] / gpus *
                                             random.between(0.4, 1.2)));
    }
    const auto budget = static_cast<std::uint32_t>(problem.capacity.size());
    problem.capacity.push_back(std::round(cost * random.between(0.75, 0.95)));

    std::vector<goodput::ResourceUse> uses;
    for (const auto& [team, most, weight, half] : jobs) {
        problem.add_job();
        const double likes_speed = random.between(0.3, 1.2);
        double best = 0, fastest[pools];
        for (std::uint32_t pool = 0; pool < pools; ++pool) {
            fastest[pool] = std::pow(speed[pool], likes_speed) * random.between(0.8, 1.25);
            best = std::max(best, fastest[pool]);
        }
        for (std::uint32_t pool = 0; pool < pools; ++pool) {
            if (random.chance(0.1)) continue;  // this pool's GPU memory is too small for the job
            for (int n = 1; n <= most; n = n < per_node ? 2 * n : n + per_node) {
                const double goodput = fastest[pool] / best * n / (n + half) * (most + half) / most;
                uses.assign({{pool, static_cast<double>(n)}, {pools + team, static_cast<double>(n)}});
                if (const std::uint32_t row = type_quota[std::size_t{team} * pools + pool]; row != 0)
                    uses.push_back({row, static_cast<double>(n)});
                uses.push_back({budget, n * dollars[pool]});
                problem.add_option(weight * std::sqrt(goodput), uses);
            }
        }
    }
    return problem;
}

/// Generalised assignment: every job needs one of the resources, and different amounts of each.
inline goodput::AllotmentProblem assignment_problem(Random& random, int resources, int jobs,
                                                    double tightness) {
    goodput::AllotmentProblem problem;
    std::vector<double> sums(static_cast<std::size_t>(resources), 0.0);
    for (int job = 0; job < jobs; ++job) {
        problem.add_job(true);
        for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(resources); ++r) {
            const double units = random.integer(5, 25);
            sums[r] += units;
            problem.add_option(std::max(1.0, 10 + units + random.integer(-5, 5)), {{r, units}});
        }
    }
    for (const double sum : sums) problem.capacity.push_back(std::floor(tightness * sum / resources));
    return problem;
}

/// Pools with an odd number of units. Jobs take multiples of four, a few of them multiples of six.
inline goodput::AllotmentProblem odd_pools_problem(Random& random, int pools, int jobs) {
    goodput::AllotmentProblem problem;
    for (int job = 0; job < jobs; ++job) {
        problem.add_job(false);
        const double worth = random.between(1, 10), power = random.between(0.5, 0.95);
        const int step = random.chance(0.1) ? 6 : 4;
        for (std::uint32_t pool = 0; pool < static_cast<std::uint32_t>(pools); ++pool) {
            const double speed = random.between(0.5, 1.5);
            for (int units = step; units <= 16 * step; units += step)
                problem.add_option(worth * speed * std::pow(units, power),
                                   {{pool, static_cast<double>(units)}});
        }
    }
    for (int pool = 0; pool < pools; ++pool)
        problem.capacity.push_back(4 * (2 * jobs / pools) + (random.chance(0.5) ? 1 : 3));
    return problem;
}

/// Makes options with gap 0 that soon run out of states, memory or time.
inline goodput::AllotOptions soon_cut_off(Random& random) {
    goodput::AllotOptions options{.gap = 0};
    switch (random.integer(0, 2)) {
        case 0:
            options.most_states = static_cast<std::size_t>(random.integer(0, 20'000));
            break;
        case 1:
            options.memory_states = static_cast<std::size_t>(random.integer(0, 2'000));
            break;
        default:
            options.deadline = std::chrono::microseconds(random.integer(0, 500));
    }
    return options;
}

/// Jobs that must run, each on one of `agents` resources, with random units and values. A planted allotment
/// fits and uses all capacities exactly; `value` receives its worth.
inline goodput::AllotmentProblem tight_problem(Random& random, int agents, int jobs, double& value) {
    goodput::AllotmentProblem problem;
    problem.capacity.assign(static_cast<std::size_t>(agents), 0);
    value = 0;
    for (int job = 0; job < jobs; ++job) {
        const int planted = random.integer(0, agents - 1), least = random.integer(200, 999);
        problem.add_job(true);
        for (int agent = 0; agent < agents; ++agent) {
            const double units = least + (agent == planted ? random.integer(0, 9) : random.integer(0, 300)),
                         worth = random.integer(-50, -10);
            problem.add_option(worth, {{static_cast<std::uint32_t>(agent), units}});
            if (agent != planted) continue;
            problem.capacity[static_cast<std::size_t>(agent)] += units;
            value += worth;
        }
    }
    return problem;
}

}  // namespace support

#endif
