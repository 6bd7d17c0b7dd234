#ifndef GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP
#define GOODPUT_SHARE_DETAIL_SHARE_PROGRAM_HPP

// Translates a share problem, with or without pairs, into the program of interior_point.hpp, and its answer
// back.
//
// Jobs for which the program has the same numbers form one group. With pairs, jobs of one kind, alike in
// rates and pairs, form one group even if different rates are asked of them: the group asks for the rate of
// its average job, and what it gets is divided by need. That is as good as a program of single jobs, unless
// a job would need more than all of its time. Such a job is split off, and the program is solved again. So
// the size of the program depends on the number of kinds, not on the number of jobs.
//
// Pairs that gain nothing are left out (pair_gains). Kinds are split until all jobs of a kind have equally
// many pairs of each sort with every other kind (colour refinement; Grohe, Kersting, Mladenov and Selman,
// 2014). If not every two jobs of two kinds are a pair, what is asked of the jobs of a kind must be equal,
// too.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "goodput/share/detail/group_program.hpp"
#include "goodput/share/detail/interior_point.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1::detail {

/// The row of a job's rate in the program, where rates are fractions of the job's top rate.
struct ProgramRow {
    double slope = 0, floor = 0;
    double sort = 0;  ///< jobs with a utility and of one sort have the same utility of that fraction
};

/// Shares have no value of their own.
inline constexpr auto no_value = [](const ShareProblem&, std::size_t, std::size_t) { return 0.0; };

template <class Utility>
class ProgramMethod;

/// A share problem's jobs and pairs in groups, for programs that differ only in rows and values.
class ShareProgram {
public:
    template <class Utility = NoUtility>
    using Method = ProgramMethod<Utility>;

    explicit ShareProgram(const ShareProblem& problem, std::span<const SharePair> pairs = {});

    /// Returns whether the job can run on the type alone.
    [[nodiscard]] bool usable(std::size_t job, std::size_t type) const {
        return alone_.can_run(job, type) && (barred_.empty() || !barred_[job * program_.types + type]);
    }
    /// From now on the job gets no time alone on the type.
    void bar(std::size_t job, std::size_t type) {
        barred_.resize(top_.size() * program_.types, 0);
        barred_[job * program_.types + type] = 1;
    }
    /// Whether any pair of the problem gains anything.
    [[nodiscard]] bool has_pairs() const { return !gaining_.empty(); }
    /// Steps/s of a job where it is fastest, alone or in a pair, at all times; 0 if it can run nowhere.
    [[nodiscard]] double top_rate(std::size_t job) const { return top_[job]; }

    /// Returns the problem with the rates that objectives compare: a job that runs only in pairs counts as
    /// if it had its top rate alone on every type.
    [[nodiscard]] ShareProblem with_rates_to_compare() const {
        ShareProblem compared = alone_;
        for (std::size_t j = 0; j < top_.size(); ++j)
            if (top_[j] > 0 && !alone_.can_run(j))
                std::fill(compared.jobs[j].rates.begin(), compared.jobs[j].rates.end(), top_[j]);
        return compared;
    }

    /// Builds the program. `row(job)` is the row of the job's rate, and `value(problem, job, type)` the
    /// value that the job's time on a type has of its own, with the rates of that problem. Equal jobs are
    /// put together.
    template <class Row, class Value>
    GroupProgram& build(Row row, Value value, bool utility) {
        for (std::size_t j = 0; j < asked_.size(); ++j)
            if (top_[j] > 0) asked_[j] = row(j);
        program_.utility = utility;
        program_.reward = 0;
        constexpr bool worthless = std::is_same_v<Value, std::remove_cv_t<decltype(no_value)>>;
        if (!known_ || alike_ || utility || !worthless) find_kinds(value);
        known_ = worthless && !utility;
        for (std::size_t j = 0; j < asked_.size() && parts_ == 0 && !alike_; ++j)
            part_of_[j] = asked_[j].slope > 0 || asked_[j].floor > 0 ? 0 : asks_nothing;
        pose();
        return program_;
    }
    GroupProgram& program() { return program_; }
    [[nodiscard]] std::size_t groups() const { return program_.groups(); }
    /// Number of jobs of a group.
    [[nodiscard]] double copies(std::size_t group) const { return program_.copies[group]; }
    /// The first job of a group.
    [[nodiscard]] std::size_t job_of(std::size_t group) const { return first_job_[group]; }
    /// The group of a job; no_group if it can run nowhere.
    [[nodiscard]] std::size_t group_of(std::size_t job) const { return group_of_[job]; }
    static constexpr std::size_t no_group = std::numeric_limits<std::size_t>::max();

    /// Divides what groups get among their jobs. Returns whether groups had to be split, so that the
    /// program has changed. `round` is the number of earlier calls.
    template <class Solved>
    bool split(const Solved& end, int round);
    /// Whether split() may be needed.
    [[nodiscard]] bool may_split() const { return !alike_; }

    /// Returns shares and rates of all jobs and pairs at the end of the method, corrected where rounding
    /// has exceeded a limit.
    template <class Solved>
    [[nodiscard]] ShareResult shares_of(const Solved& method, double least_part) const;

    /// Sum of the values of shares.
    template <class Value>
    [[nodiscard]] double worth_of(const ShareResult& result, Value value) {
        double sum = 0;
        for (std::size_t j = 0; j < top_.size(); ++j)
            for (std::size_t t = 0; t < program_.types; ++t)
                if (result.of(j)[t] > 0) sum += result.of(j)[t] * value(alone_, j, t);
        for (const Gaining& pair : gaining_)
            if (const double share = result.pair_shares[pair.number * program_.types + pair.type]; share > 0)
                sum += share * value_of(pair, value);
        return sum;
    }

    /// Returns the bound that prices prove: all capacities at their prices, plus the time of every group at
    /// a price at which nothing is worth more than it costs, less floors at their prices.
    template <class Solved, class RatePrices>
    [[nodiscard]] double dual_value(const Solved& method, const RatePrices& rate_price) const {
        double sum = 0;
        for (std::size_t t = 0; t < program_.types; ++t)
            if (alone_.gpus[t] > 0) sum += method.price(t);
        const std::vector<double> times = time_prices(method, rate_price);
        for (std::size_t g = 0; g < groups(); ++g)
            sum += program_.copies[g] * (times[g] - rate_price(g) * program_.floor[g]);
        return sum;
    }

    /// Returns the price of one GPU of each type. For a type without GPUs, it is the most that a first GPU
    /// would be worth to a job alone, per worker. A job of several workers counts only if it is not too
    /// large for all types. `value(problem, job, type)` is the value that the job's time there has of its
    /// own.
    template <class Solved, class RatePrices, class Value>
    [[nodiscard]] std::vector<double> gpu_prices(const Solved& method, const RatePrices& rate_price,
                                                 Value value) const {
        const std::vector<double> times = time_prices(method, rate_price);
        std::vector<double> of_gpu(program_.types, 0);
        for (std::size_t t = 0; t < program_.types; ++t) {
            if (alone_.gpus[t] > 0) {
                of_gpu[t] = method.price(t) / alone_.gpus[t];
                continue;
            }
            for (std::size_t j = 0; j < top_.size(); ++j) {
                const ShareJob& job = alone_.jobs[j];
                if (job.rates[t] <= 0 || (job.workers > 1 && alone_.too_large(j))) continue;
                double gain = value(alone_, j, t);
                if (const std::size_t g = group_of_[j]; g != no_group)
                    gain += rate_price(g) * job.rates[t] / top_[j] - times[g];
                of_gpu[t] = std::max(of_gpu[t], gain / job.workers);
            }
        }
        return of_gpu;
    }

private:
    static constexpr std::size_t asks_nothing = std::numeric_limits<std::size_t>::max();
    static constexpr double rounding = 1e-9;
    static constexpr double nearly_full = 0.9;
    static constexpr int most_splits = 2;  // by need, before every job becomes a group

    /// A pair on a type where it gains something.
    struct Gaining {
        std::size_t number, type;
        std::array<std::size_t, 2> jobs{};  // in the order of their kinds
        std::array<double, 2> rate{};       // rates of the jobs, as fractions of their top rates
        std::size_t bundle = 0;
    };
    /// Equal pairs on one type: of the same two kinds, in the same order, with the same rates.
    struct Bundle {
        std::array<std::size_t, 2> kind{};
        std::array<double, 2> rate{};
        std::size_t type = 0;
        double use = 0, value = 0, pairs = 0;
        std::size_t first_column = 0, columns = 0;
    };

    template <class Value>
    [[nodiscard]] double value_of(const Gaining& pair, Value value);
    template <class Value>
    void find_kinds(Value value);
    void refine(std::vector<std::vector<double>> known, const std::vector<double>& pair_values);
    void find_bundles(const std::vector<double>& pair_values);
    void pose();
    void pose_pairs();
    /// Rate that a job needs at a level, as a fraction of its top rate.
    [[nodiscard]] double asked_of(std::size_t job, double level) const {
        return asked_[job].slope * level + asked_[job].floor;
    }
    /// Returns whether the other jobs of its group suffice for a job's portion of the pairs within the
    /// group. If its portion is too large, no other jobs of the group form pairs with each other.
    [[nodiscard]] bool finds_others(std::size_t job) const {
        const double part = part_of_group_[job];
        return std::abs(part - 1) <= rounding || 2 * part <= 0.9 * program_.copies[group_of_[job]];
    }
    [[nodiscard]] std::vector<double> within_groups() const;
    template <class Solved, class RatePrices>
    [[nodiscard]] std::vector<double> time_prices(const Solved& method, const RatePrices& rate_price) const;

    const ShareProblem& alone_;
    std::span<const SharePair> all_pairs_;
    ShareProblem with_pair_rates_;
    std::vector<double> top_;   // by job
    std::vector<char> barred_;  // by job and type; empty: no job is barred
    std::vector<Gaining> gaining_;
    std::vector<ProgramRow> asked_;  // by job
    // The kinds follow from rates alone, and hold for other rows.
    bool known_ = false;
    bool alike_ = false;                          // the same is asked of all jobs of a kind
    std::vector<std::size_t> kind_of_, part_of_;  // by job; each part of a kind is a group of its own
    std::size_t kinds_ = 0, parts_ = 0;
    std::vector<double> values_alone_;  // by job and type
    std::vector<Bundle> bundles_;

    GroupProgram program_;
    std::vector<std::size_t> group_of_;              // by job
    std::vector<std::size_t> first_job_;             // by group
    std::vector<std::vector<std::size_t>> members_;  // by group, with pairs
    // By job: its portion of what its group gets, 1 on average.
    std::vector<double> part_of_group_;
};

/// Solves the program, and solves it again after groups were split.
template <class Utility>
class ProgramMethod {
public:
    explicit ProgramMethod(ShareProgram& program, Utility utility = {})
        : program_(program), utility_(std::move(utility)) {}

    /// Returns whether it converged; the answer is usable in any case.
    bool solve(double accuracy = 1e-9) {
        for (int round = 0;; ++round) {
            end_.emplace(program_.program(), utility_);
            bool splits = program_.may_split() &&
                          (end_->solve(std::max(accuracy, early)), program_.split(*end_, round));
            bool ended = false;
            if (!splits) {
                ended = end_->solve(accuracy);
                if (!ended && end_->lacks_pairs()) {
                    end_.emplace(program_.program(), utility_, true);
                    ended = end_->solve(accuracy);
                }
                splits = program_.split(*end_, round);
            }
            iterations_ += end_->iterations();
            if (!splits) return ended;
        }
    }
    /// The end of the last program.
    [[nodiscard]] const InteriorPoint<Utility>& end() const { return *end_; }
    [[nodiscard]] double level() const { return end_->level(); }
    [[nodiscard]] double share(std::size_t g, std::size_t t) const { return end_->share(g, t); }
    [[nodiscard]] double amount(std::size_t pair) const { return end_->amount(pair); }
    [[nodiscard]] double price(std::size_t t) const { return end_->price(t); }
    [[nodiscard]] double time_price(std::size_t g) const { return end_->time_price(g); }
    [[nodiscard]] double rate_price(std::size_t g) const { return end_->rate_price(g); }
    [[nodiscard]] auto rate_prices() const { return end_->rate_prices(); }
    [[nodiscard]] double rate_slack(std::size_t g) const { return end_->rate_slack(g); }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    static constexpr double early = 0.03;  // accuracy at which nearly all jobs that must be split off show

    ShareProgram& program_;
    Utility utility_;
    std::optional<InteriorPoint<Utility>> end_;
    std::size_t iterations_ = 0;
};

/// Sets the status: whether the result is proven within the gap.
inline void set_status(ShareResult& result, double gap) {
    const double size = std::max(std::abs(result.objective), std::abs(result.bound));
    result.status = std::abs(result.bound - result.objective) <= gap * size ? ShareStatus::optimal
                                                                            : ShareStatus::feasible;
}

}  // namespace goodput::inline v0_1::detail

#include "goodput/share/detail/share_groups.hpp"
#include "goodput/share/detail/shares_of_groups.hpp"

#endif
