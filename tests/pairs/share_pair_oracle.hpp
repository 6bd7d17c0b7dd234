#ifndef GOODPUT_TESTS_PAIRS_SHARE_PAIR_ORACLE_HPP
#define GOODPUT_TESTS_PAIRS_SHARE_PAIR_ORACLE_HPP

// Shares of jobs alone and in pairs from their definition: a linear program with a variable for every job,
// pair and GPU type, none left out and none put together, solved by the simplex method in long double. For a
// dozen jobs. And random problems of that kind.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/water_filling.hpp"
#include "share/share_lexicographic.hpp"
#include "share/share_oracle.hpp"
#include "share/share_random.hpp"
#include "support/random.hpp"

namespace support {

/// All that may be done with time, as the columns of a program. The last variable is a level.
class PairRows {
public:
    using Row = SmallProgram::Row;

    explicit PairRows(const goodput::PairedShareProblem& problem)
        : problem_(problem),
          jobs_(problem.alone.jobs.size()),
          types_(problem.alone.types()),
          variables_((jobs_ + problem.pairs.size()) * types_ + 1) {
        for (std::size_t t = 0; t < types_; ++t) {
            Row used(variables_, 0);
            for (std::size_t j = 0; j < jobs_; ++j)
                if (share_usable(problem.alone, j, t))
                    used[j * types_ + t] = problem.alone.jobs[j].workers / problem.alone.gpus[t];
            for (std::size_t p = 0; p < problem.pairs.size(); ++p)
                if (usable(p, t))
                    used[(jobs_ + p) * types_ + t] =
                        problem.alone.jobs[problem.pairs[p].jobs[0]].workers / problem.alone.gpus[t];
            add(used, 1);
        }
        for (std::size_t j = 0; j < jobs_; ++j) {
            Row time(variables_, 0);
            for_shares_of(j, [&](std::size_t variable, double) { time[variable] = 1; });
            add(time, 1);
        }
    }
    /// The pair may run there.
    [[nodiscard]] bool usable(std::size_t pair, std::size_t type) const {
        const auto& jobs = problem_.pairs[pair].jobs;
        const int workers = problem_.alone.jobs[jobs[0]].workers;
        return problem_.alone.gpus[type] > 0 &&
               (workers <= std::ceil(problem_.alone.gpus[type]) ||
                share_usable(problem_.alone, jobs[0], type) || share_usable(problem_.alone, jobs[1], type));
    }
    /// Calls visit(variable, rate) for all of a job's time.
    template <class Visit>
    void for_shares_of(std::size_t job, Visit visit) const {
        for (std::size_t t = 0; t < types_; ++t)
            if (share_usable(problem_.alone, job, t))
                visit(job * types_ + t, problem_.alone.jobs[job].rates[t]);
        for (std::size_t p = 0; p < problem_.pairs.size(); ++p)
            for (std::size_t i = 0; i < 2; ++i)
                for (std::size_t t = 0; t < types_; ++t)
                    if (problem_.pairs[p].jobs[i] == job && usable(p, t))
                        visit((jobs_ + p) * types_ + t, problem_.pairs[p].rates[t][i]);
    }
    /// The job's largest rate, alone or not.
    [[nodiscard]] double top_rate(std::size_t job) const {
        double top = 0;
        for_shares_of(job, [&](std::size_t, double rate) { top = std::max(top, rate); });
        return top;
    }
    void add(Row row, long double limit) {
        rows_.push_back(std::move(row));
        limits_.push_back(limit);
    }
    /// From now on the job has at least slope * level + floor.
    void ask(std::size_t job, double slope, double floor) {
        const double top = top_rate(job);
        if (top <= 0) return;
        Row row(variables_, 0);
        for_shares_of(job, [&](std::size_t variable, double rate) { row[variable] = -rate / top; });
        row.back() = slope / top;
        add(std::move(row), -floor / top);
    }
    [[nodiscard]] bool feasible() const { return SmallProgram(rows_, limits_, variables_).feasible(); }
    [[nodiscard]] double most(const Row& wanted) const {
        return static_cast<double>(SmallProgram(rows_, limits_, variables_).most(wanted));
    }
    [[nodiscard]] double highest_level() const {
        Row wanted(variables_, 0);
        wanted.back() = 1;
        return most(wanted);
    }
    /// A row with value(job, type, rate) of each time.
    template <class Value>
    [[nodiscard]] Row valued(Value value) const {
        Row row(variables_, 0);
        for (std::size_t j = 0; j < jobs_; ++j)
            for_shares_of(j, [&](std::size_t variable, double rate) {
                row[variable] += value(j, variable % types_, rate);
            });
        return row;
    }

private:
    const goodput::PairedShareProblem& problem_;
    std::size_t jobs_, types_, variables_;
    std::vector<Row> rows_;
    Row limits_;
};

/// Levels by job, as fill_water() defines them: raise all who can still rise, ask of everybody whether he
/// could have more while all others keep what they have, and go on with those who could.
inline std::vector<double> paired_levels(const goodput::PairedShareProblem& problem,
                                         const goodput::ShareHierarchy& hierarchy) {
    const std::vector<goodput::ShareJob>& jobs = problem.alone.jobs;
    const PairRows rows(problem);
    std::vector<double> one(jobs.size()), height(jobs.size(), 0), levels(jobs.size(), 0);
    std::vector<char> rises(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const double rate = goodput::proportional_rate(problem.alone, j);
        rises[j] = rows.top_rate(j) > 0;
        one[j] = (rate > 0 ? rate : rows.top_rate(j)) / jobs[j].workers;
    }
    const auto asked = [&](const std::vector<double>& speed) {
        PairRows program = rows;
        for (std::size_t j = 0; j < jobs.size(); ++j)
            if (rows.top_rate(j) > 0) program.ask(j, one[j] * speed[j], one[j] * height[j] * (1 - 1e-13));
        return program;
    };
    for (;;) {
        std::vector<double> speed(jobs.size(), 0);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (!rises[j]) continue;
            speed[j] = jobs[j].weight;
            if (hierarchy.entities.empty()) continue;
            const goodput::ShareEntity& entity = hierarchy.entities[hierarchy.entity_of[j]];
            double weights = 0;
            bool is_first = true;
            for (std::size_t k = 0; k < jobs.size(); ++k) {
                if (!rises[k] || hierarchy.entity_of[k] != hierarchy.entity_of[j]) continue;
                weights += jobs[k].weight;
                is_first = is_first && k >= j;
            }
            speed[j] = entity.weight * (entity.in_order ? (is_first ? 1.0 : 0.0) : jobs[j].weight / weights);
        }
        if (std::all_of(speed.begin(), speed.end(), [](double of) { return of <= 0; })) break;
        const double risen = std::max(asked(speed).highest_level(), 0.0);
        for (std::size_t j = 0; j < jobs.size(); ++j) height[j] += risen * speed[j];
        const PairRows after = asked(std::vector<double>(jobs.size(), 0));
        double least = infinite;
        std::size_t least_job = 0;
        bool any = false;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (speed[j] <= 0) continue;
            const double most = after.most(after.valued(
                [&](std::size_t k, std::size_t, double rate) { return k == j ? rate / one[j] : 0; }));
            const double more = most / std::max(height[j], 1e-12) - 1;
            if (more < least) {
                least = more;
                least_job = j;
            }
            if (more > 1e-9) continue;
            rises[j] = 0;
            any = true;
        }
        if (!any) rises[least_job] = 0;
    }
    for (std::size_t j = 0; j < jobs.size(); ++j) levels[j] = height[j] / jobs[j].weight;
    return levels;
}

/// By how much shares break a constraint.
inline double pair_violation(const goodput::PairedShareProblem& problem, const goodput::ShareResult& result) {
    const std::size_t types = problem.alone.types();
    std::vector<double> time(problem.alone.jobs.size(), 0), used(types, 0);
    double worst = share_violation(problem.alone, result.shares);
    for (std::size_t j = 0; j < time.size(); ++j)
        for (std::size_t t = 0; t < types; ++t) {
            time[j] += result.of(j)[t];
            used[t] += result.of(j)[t] * problem.alone.jobs[j].workers;
        }
    if (result.pair_shares.size() != problem.pairs.size() * types) return infinite;
    for (std::size_t p = 0; p < problem.pairs.size(); ++p)
        for (std::size_t t = 0; t < types; ++t) {
            const double share = result.pair_shares[p * types + t];
            if (!(share >= 0)) return infinite;
            for (const std::size_t job : problem.pairs[p].jobs) time[job] += share;
            used[t] += share * problem.alone.jobs[problem.pairs[p].jobs[0]].workers;
        }
    for (const double of : time) worst = std::max(worst, of - 1);
    for (std::size_t t = 0; t < types; ++t)
        if (used[t] > 0) worst = std::max(worst, used[t] / problem.alone.gpus[t] - 1);
    return worst;
}

/// Effective rates by the definition.
inline std::vector<double> pair_rates(const goodput::PairedShareProblem& problem,
                                      const goodput::ShareResult& result) {
    std::vector<double> rates = share_rates(problem.alone, result.shares);
    const std::size_t types = problem.alone.types();
    for (std::size_t p = 0; p < problem.pairs.size(); ++p)
        for (std::size_t t = 0; t < types; ++t)
            for (std::size_t i = 0; i < 2; ++i)
                rates[problem.pairs[p].jobs[i]] +=
                    result.pair_shares[p * types + t] * problem.pairs[p].rates[t][i];
    return rates;
}

/// Jobs of a few kinds, which may differ in weights and steps, and pairs of them: all two kinds that run
/// together, or only some two jobs.
inline goodput::PairedShareProblem random_paired_problem(Random& random, int most_jobs) {
    ShareShape shape{.most_types = 3, .most_jobs = most_jobs, .least_load = 0.3, .most_load = 8};
    shape.deadlines = random.chance(0.3);
    goodput::PairedShareProblem problem{random_share_problem(random, shape), {}};
    std::vector<goodput::ShareJob>& jobs = problem.alone.jobs;
    std::vector<std::size_t> kind_of(jobs.size());
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        kind_of[j] = j;
        if (j == 0 || !random.chance(0.6)) continue;
        const auto like = static_cast<std::size_t>(random.integer(0, static_cast<int>(j) - 1));
        kind_of[j] = kind_of[like];
        jobs[j].rates = jobs[like].rates;
        jobs[j].workers = jobs[like].workers;
        if (random.chance(0.5)) jobs[j] = jobs[like];
        jobs[j].name = std::to_string(j);
    }
    const bool by_kind = random.chance(0.6);
    const std::uint64_t salt = static_cast<std::uint64_t>(random.integer(0, 1 << 20));
    for (std::size_t a = 0; a < jobs.size(); ++a)
        for (std::size_t b = a + 1; b < jobs.size(); ++b) {
            if (jobs[a].workers != jobs[b].workers) continue;
            // Pairs of two kinds are drawn alike, whichever of the two comes first.
            std::size_t first = a, second = b;
            if (kind_of[second] < kind_of[first]) std::swap(first, second);
            Random own(salt + 1000 * kind_of[first] + kind_of[second]);
            Random& drawn = by_kind ? own : random;
            goodput::SharePair pair{{first, second}, {}};
            const bool never = drawn.chance(0.2);
            for (std::size_t t = 0; t < problem.alone.types(); ++t) {
                std::array<double, 2> parts{drawn.between(0.2, 1), drawn.between(0.2, 1)};
                if (drawn.chance(0.15)) parts = {0, 0};
                if (kind_of[a] == kind_of[b] && by_kind) parts[1] = parts[0];
                pair.rates.push_back({parts[0] * jobs[first].rates[t], parts[1] * jobs[second].rates[t]});
            }
            if (!never) problem.pairs.push_back(std::move(pair));
        }
    return problem;
}

/// Calls body(problem) for problems of so many seeds.
template <class Body>
void for_paired_problems(int count, int most_jobs, Body body) {
    for (int seed = 0; seed < count; ++seed) {
        CAPTURE(seed);
        Random random(static_cast<std::uint64_t>(seed));
        body(random_paired_problem(random, most_jobs));
    }
}

}  // namespace support

#endif
