#ifndef GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP
#define GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP

// From a share problem to the program of interior_point.hpp and back. Jobs that are alike in everything that
// the program knows of them are one group of it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

#include "goodput/share/detail/interior_point.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::detail {

/// What is known of a job beside its rates, in the program's terms: rates are parts of its top rate.
struct ProgramRow {
    double slope = 0, floor = 0;
};

/// Shares are worth nothing for their own sake.
inline constexpr auto no_value = [](const ShareProblem&, std::size_t, std::size_t) { return 0.0; };

/// What shares of jobs alone are worth for their own sake.
template <class Value>
double worth_alone(const ShareProblem& problem, const ShareResult& result, Value value) {
    double sum = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        for (std::size_t t = 0; t < problem.types(); ++t)
            if (result.of(j)[t] > 0) sum += result.of(j)[t] * value(problem, j, t);
    return sum;
}

/// Prices of one GPU of each type at the end of a method. Of a type without any, it is what the first one
/// would be worth to a job of one worker, which gains gain(job, type) if it has all of its time there.
template <class Solved, class Gain>
std::vector<double> prices_of_gpus(const ShareProblem& problem, const Solved& method, Gain gain) {
    std::vector<double> of_gpu(problem.types(), 0);
    for (std::size_t t = 0; t < problem.types(); ++t) {
        if (problem.gpus[t] > 0) {
            of_gpu[t] = method.price(t) / problem.gpus[t];
            continue;
        }
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            const ShareJob& job = problem.jobs[j];
            if (job.rates[t] <= 0 || (job.workers > 1 && problem.too_large(j))) continue;
            of_gpu[t] = std::max(of_gpu[t], gain(j, t) / job.workers);
        }
    }
    return of_gpu;
}

/// A share problem's jobs in groups, for programs that differ in rows and values only.
class ShareProgram {
public:
    template <class Utility = NoUtility>
    using Method = InteriorPoint<Utility>;

    explicit ShareProgram(const ShareProblem& problem) : problem_(problem) {
        const std::size_t n = problem.types();
        program_.types = n;
        top_.reserve(problem.jobs.size());
        for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
            double top = 0;
            for (std::size_t t = 0; t < n; ++t)
                if (usable(j, t)) top = std::max(top, problem.jobs[j].rates[t]);
            top_.push_back(top);
        }
    }

    /// The job can run on that type.
    [[nodiscard]] bool usable(std::size_t job, std::size_t type) const {
        return problem_.can_run(job, type) && (barred_.empty() || !barred_[job * problem_.types() + type]);
    }
    /// From now on the job gets nothing of that type.
    void bar(std::size_t job, std::size_t type) {
        barred_.resize(problem_.jobs.size() * problem_.types(), 0);
        barred_[job * problem_.types() + type] = 1;
    }
    /// Steps/s of a job on its fastest type at all times; 0: it can run nowhere.
    [[nodiscard]] double top_rate(std::size_t job) const { return top_[job]; }

    /// Builds the program: `row(job)` is what is asked of a job, `value(problem, job, type)` what its
    /// time there is worth for its own sake. Jobs alike are put together unless they have a utility.
    template <class Row, class Value>
    const BlockProgram& build(Row row, Value value, bool utility) {
        const std::size_t n = program_.types, jobs = problem_.jobs.size();
        BlockProgram& p = program_;
        for (auto* list : {&p.copies, &p.use, &p.rate, &p.value, &p.slope, &p.floor}) list->clear();
        p.utility = utility;
        p.reward = 0;
        group_of_.assign(jobs, no_group);
        job_of_.clear();
        std::map<std::vector<double>, std::size_t> group_like;
        std::vector<double> its;
        for (std::size_t j = 0; j < jobs; ++j) {
            if (top_[j] <= 0) continue;
            const ProgramRow asked = row(j);
            its = {asked.slope, asked.floor};
            for (std::size_t t = 0; t < n; ++t) {
                const bool can = usable(j, t);
                its.push_back(can ? problem_.jobs[j].workers / problem_.gpus[t] : 0);
                its.push_back(can ? problem_.jobs[j].rates[t] / top_[j] : 0);
                its.push_back(can ? value(problem_, j, t) : 0);
            }
            if (utility) its.push_back(static_cast<double>(j));
            const auto [known, is_new] = group_like.try_emplace(its, p.groups());
            group_of_[j] = known->second;
            if (!is_new) {
                p.copies[known->second] += 1;
                continue;
            }
            p.copies.push_back(1);
            p.slope.push_back(asked.slope);
            p.floor.push_back(asked.floor);
            for (std::size_t t = 0; t < n; ++t) {
                p.use.push_back(its[2 + 3 * t]);
                p.rate.push_back(its[3 + 3 * t]);
                p.value.push_back(its[4 + 3 * t]);
            }
            job_of_.push_back(j);
        }
        return p;
    }
    BlockProgram& program() { return program_; }
    /// The first job of a group.
    [[nodiscard]] std::size_t job_of(std::size_t group) const { return job_of_[group]; }
    /// no_group: it can run nowhere.
    [[nodiscard]] std::size_t group_of(std::size_t job) const { return group_of_[job]; }
    static constexpr std::size_t no_group = std::numeric_limits<std::size_t>::max();

    /// Shares and rates of all jobs out of an end of the method, put right where rounding has left them
    /// beyond a limit.
    template <class Solved>
    [[nodiscard]] ShareResult shares_of(const Solved& method, double least_part) const {
        const std::size_t n = program_.types, groups = program_.groups();
        std::vector<double> shares(groups * n), used(n, 0);
        for (std::size_t g = 0; g < groups; ++g) {
            double time = 0, most = 0;
            for (std::size_t t = 0; t < n; ++t) most = std::max(most, method.share(g, t));
            for (std::size_t t = 0; t < n; ++t) {
                const double share = method.share(g, t);
                shares[g * n + t] = share > least_part * most ? share : 0;
                time += shares[g * n + t];
            }
            for (std::size_t t = 0; t < n; ++t) {
                if (time > 1) shares[g * n + t] /= time;
                used[t] += program_.copies[g] * program_.use[g * n + t] * shares[g * n + t];
            }
        }
        ShareResult result = no_shares(problem_);
        for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
            if (group_of_[j] == no_group) continue;
            for (std::size_t t = 0; t < n; ++t) {
                const double share = shares[group_of_[j] * n + t] / std::max(1.0, used[t] * (1 + 1e-15));
                result.shares[j * n + t] = share;
                result.rates[j] += share * problem_.jobs[j].rates[t];
            }
        }
        return result;
    }

    /// What shares are worth for their own sake.
    template <class Value>
    [[nodiscard]] double worth_of(const ShareResult& result, Value value) const {
        return worth_alone(problem_, result, value);
    }

    /// What a group's time is worth at the prices that the method has found, with its rate at a price (in
    /// parts of its top rate): the best that any shares of it can have.
    template <class Solved>
    [[nodiscard]] double best_reduced(std::size_t g, double rate_price, const Solved& method) const {
        double best = 0;
        for (std::size_t t = 0; t < program_.types; ++t) {
            const std::size_t at = g * program_.types + t;
            if (program_.use[at] <= 0) continue;
            best = std::max(best, program_.value[at] + rate_price * program_.rate[at] -
                                      program_.use[at] * method.price(t));
        }
        return best;
    }
    /// Bound on what prices leave: capacities at their prices and every group at its best, less floors.
    template <class Solved, class RatePrices>
    [[nodiscard]] double dual_value(const Solved& method, const RatePrices& rate_price) const {
        double sum = 0;
        for (std::size_t t = 0; t < program_.types; ++t)
            if (problem_.gpus[t] > 0) sum += method.price(t);
        for (std::size_t g = 0; g < program_.groups(); ++g)
            sum += program_.copies[g] *
                   (best_reduced(g, rate_price(g), method) - rate_price(g) * program_.floor[g]);
        return sum;
    }

    /// Of one GPU of each type. Of a type without any, it is what the first one would be worth to a job of
    /// one worker; `value(problem, job, type)` is what the job's time there has for its own sake.
    template <class Solved, class RatePrices, class Value>
    [[nodiscard]] std::vector<double> gpu_prices(const Solved& method, const RatePrices& rate_price,
                                                 Value value) const {
        return prices_of_gpus(problem_, method, [&](std::size_t j, std::size_t t) {
            const double own = value(problem_, j, t);
            const std::size_t g = group_of_[j];
            if (g == no_group) return own;
            return own + rate_price(g) * problem_.jobs[j].rates[t] / top_[j] -
                   best_reduced(g, rate_price(g), method);
        });
    }

private:
    const ShareProblem& problem_;
    BlockProgram program_;
    std::vector<double> top_;
    std::vector<char> barred_;  // by job and type; empty: nobody is
    std::vector<std::size_t> group_of_, job_of_;
};

/// Proven to the gap, or not.
inline void set_status(ShareResult& result, double gap) {
    const double size = std::max(std::abs(result.objective), std::abs(result.bound));
    result.status = std::abs(result.bound - result.objective) <= gap * size ? ShareStatus::optimal
                                                                            : ShareStatus::feasible;
}

}  // namespace goodput::detail

#endif
