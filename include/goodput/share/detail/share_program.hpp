#ifndef GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP
#define GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP

// From a share problem to the program of interior_point.hpp and back. Jobs that are alike in everything that
// the program knows of them are one group of it.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "goodput/share/detail/interior_point.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/result.hpp"

namespace goodput::detail {

/// What is known of a job beside its rates, in the program's terms: rates are parts of its top rate.
struct ProgramRow {
    double slope = 0, floor = 0;
};

/// A share problem's jobs in groups, for programs that differ in rows and values only.
class ShareProgram {
public:
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

    /// Builds the program: `row(job)` is what is asked of a job, and with `value(job, type)` shares are worth
    /// something. Jobs alike are put together unless they have a utility.
    template <class Row, class Value>
    const BlockProgram& build(Row row, Value value, bool has_values, bool utility) {
        const std::size_t n = program_.types, jobs = problem_.jobs.size();
        BlockProgram& p = program_;
        for (auto* list : {&p.copies, &p.use, &p.rate, &p.value, &p.slope, &p.floor}) list->clear();
        p.utility = utility;
        p.reward = 0;
        group_of_.assign(jobs, no_group);
        job_of_.clear();
        slots_.assign(std::bit_ceil(2 * jobs + 1), no_group);
        for (std::size_t j = 0; j < jobs; ++j) {
            if (top_[j] <= 0) continue;
            const ProgramRow its = row(j);
            const std::size_t g = p.groups();
            std::uint64_t hash = mixed(std::bit_cast<std::uint64_t>(its.slope), 1);
            hash = mixed(std::bit_cast<std::uint64_t>(its.floor), hash);
            for (std::size_t t = 0; t < n; ++t) {
                const bool can = usable(j, t);
                p.use.push_back(can ? problem_.jobs[j].workers / problem_.gpus[t] : 0);
                p.rate.push_back(can ? problem_.jobs[j].rates[t] / top_[j] : 0);
                hash = mixed(std::bit_cast<std::uint64_t>(p.rate.back()), hash);
                hash = mixed(std::bit_cast<std::uint64_t>(p.use.back()), hash);
                if (!has_values) continue;
                p.value.push_back(can ? value(j, t) : 0);
                hash = mixed(std::bit_cast<std::uint64_t>(p.value.back()), hash);
            }
            p.copies.push_back(1);
            p.slope.push_back(its.slope);
            p.floor.push_back(its.floor);
            job_of_.push_back(j);
            group_of_[j] = g;
            if (utility) continue;
            std::size_t slot = hash & (slots_.size() - 1);
            while (slots_[slot] != no_group && !alike(slots_[slot], g))
                slot = (slot + 1) & (slots_.size() - 1);
            if (slots_[slot] == no_group) {
                slots_[slot] = g;
                continue;
            }
            group_of_[j] = slots_[slot];
            p.copies[slots_[slot]] += 1;
            for (auto* list : {&p.copies, &p.slope, &p.floor}) list->pop_back();
            for (auto* list : {&p.use, &p.rate, &p.value}) list->resize(list->empty() ? 0 : list->size() - n);
            job_of_.pop_back();
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
    template <class Method>
    void take(const Method& method, double least_part, ShareResult& result) const {
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
        result.types = n;
        result.shares.assign(problem_.jobs.size() * n, 0);
        result.rates.assign(problem_.jobs.size(), 0);
        for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
            if (group_of_[j] == no_group) continue;
            for (std::size_t t = 0; t < n; ++t) {
                const double share = shares[group_of_[j] * n + t] / std::max(1.0, used[t] * (1 + 1e-15));
                result.shares[j * n + t] = share;
                result.rates[j] += share * problem_.jobs[j].rates[t];
            }
        }
    }

    /// What a group's time is worth at prices of all of each type's capacity, with its rate at a price (in
    /// parts of its top rate): the best that any shares of it can have.
    template <class Prices>
    [[nodiscard]] double best_reduced(std::size_t g, double rate_price, const Prices& prices) const {
        double best = 0;
        for (std::size_t t = 0; t < program_.types; ++t) {
            const std::size_t at = g * program_.types + t;
            if (program_.use[at] <= 0) continue;
            best = std::max(
                best, program_.value_of(at) + rate_price * program_.rate[at] - program_.use[at] * prices(t));
        }
        return best;
    }
    /// Bound on what prices leave: capacities at their prices and every group at its best, less floors.
    template <class Prices, class RatePrices>
    [[nodiscard]] double dual_value(const Prices& prices, const RatePrices& rate_price) const {
        double sum = 0;
        for (std::size_t t = 0; t < program_.types; ++t)
            if (problem_.gpus[t] > 0) sum += prices(t);
        for (std::size_t g = 0; g < program_.groups(); ++g)
            sum += program_.copies[g] *
                   (best_reduced(g, rate_price(g), prices) - rate_price(g) * program_.floor[g]);
        return sum;
    }

    /// Of one GPU of each type. Of a type without any, it is what the first one would be worth to a job of
    /// one worker; `value(job, type)` is what the job's time there has for its own sake.
    template <class Prices, class RatePrices, class Value>
    [[nodiscard]] std::vector<double> gpu_prices(const Prices& prices, const RatePrices& rate_price,
                                                 Value value) const {
        std::vector<double> of_gpu(program_.types, 0);
        for (std::size_t t = 0; t < program_.types; ++t) {
            if (problem_.gpus[t] > 0) {
                of_gpu[t] = prices(t) / problem_.gpus[t];
                continue;
            }
            for (std::size_t j = 0; j < problem_.jobs.size(); ++j) {
                const ShareJob& job = problem_.jobs[j];
                if (job.rates[t] <= 0 || (job.workers > 1 && problem_.too_large(j))) continue;
                double gain = value(j, t);
                if (const std::size_t g = group_of_[j]; g != no_group)
                    gain += rate_price(g) * job.rates[t] / top_[j] - best_reduced(g, rate_price(g), prices);
                of_gpu[t] = std::max(of_gpu[t], gain / job.workers);
            }
        }
        return of_gpu;
    }

private:
    static std::uint64_t mixed(std::uint64_t value, std::uint64_t hash) {
        hash = (hash ^ value) * 0x9E3779B97F4A7C15ULL;
        return hash ^ (hash >> 29);
    }
    [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
        const BlockProgram& p = program_;
        if (p.slope[a] != p.slope[b] || p.floor[a] != p.floor[b]) return false;
        for (const auto* list : {&p.rate, &p.use, &p.value})
            for (std::size_t t = 0; t < p.types && !list->empty(); ++t)
                if ((*list)[a * p.types + t] != (*list)[b * p.types + t]) return false;
        return true;
    }

    const ShareProblem& problem_;
    BlockProgram program_;
    std::vector<double> top_;
    std::vector<char> barred_;  // by job and type; empty: nobody is
    std::vector<std::size_t> group_of_, job_of_, slots_;
};

/// Proven to the gap, or not.
inline void set_status(ShareResult& result, double gap) {
    const double size = std::max(std::abs(result.objective), std::abs(result.bound));
    result.status = std::abs(result.bound - result.objective) <= gap * size ? ShareStatus::optimal
                                                                            : ShareStatus::feasible;
}

}  // namespace goodput::detail

#endif
