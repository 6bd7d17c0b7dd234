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

// ---------------------------------------------------------------------------------------------------------

inline ShareProgram::ShareProgram(const ShareProblem& problem, std::span<const SharePair> pairs)
    : alone_(problem), all_pairs_(pairs), asked_(problem.jobs.size()) {
    const std::size_t n = program_.types = problem.types();
    if (!pairs.empty()) with_pair_rates_ = problem;
    top_.reserve(problem.jobs.size());
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        double top = 0;
        for (std::size_t t = 0; t < n; ++t)
            if (usable(j, t)) top = std::max(top, problem.jobs[j].rates[t]);
        top_.push_back(top);
    }
    gaining_.reserve(pairs.size() * n);
    for (std::size_t p = 0; p < pairs.size(); ++p)
        for (std::size_t t = 0; t < n; ++t) {
            if (!pair_gains(problem, pairs[p], t)) continue;
            gaining_.push_back({.number = p, .type = t, .jobs = pairs[p].jobs});
            for (std::size_t i = 0; i < 2; ++i) {
                double& top = top_[pairs[p].jobs[i]];
                top = std::max(top, pairs[p].rates[t][i]);
            }
        }
}

/// Returns the value that the time of a pair on its type has of its own.
template <class Value>
double ShareProgram::value_of(const Gaining& pair, Value value) {
    if constexpr (std::is_same_v<Value, std::remove_cv_t<decltype(no_value)>>) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t j = all_pairs_[pair.number].jobs[i];
        double& rate = with_pair_rates_.jobs[j].rates[pair.type];
        rate = all_pairs_[pair.number].rates[pair.type][i];
        sum += value(with_pair_rates_, j, pair.type);
        rate = alone_.jobs[j].rates[pair.type];
    }
    return sum;
}

template <class Value>
void ShareProgram::find_kinds(Value value) {
    const std::size_t n = program_.types;
    values_alone_.assign(top_.size() * n, 0);
    for (std::size_t j = 0; j < top_.size(); ++j)
        for (std::size_t t = 0; t < n && top_[j] > 0; ++t)
            if (usable(j, t)) values_alone_[j * n + t] = value(alone_, j, t);
    std::vector<double> pair_values;
    for (const Gaining& pair : gaining_) pair_values.push_back(value_of(pair, value));
    const auto refine_with = [&](bool alike) {
        alike_ = alike;
        std::vector<double> traits;
        std::map<std::vector<double>, std::size_t> kind_like;
        kind_of_.assign(top_.size(), no_group);
        for (std::size_t j = 0; j < top_.size(); ++j) {
            if (top_[j] <= 0) continue;
            traits.clear();
            if (alike) traits = {asked_[j].slope, asked_[j].floor, asked_[j].sort};
            for (std::size_t t = 0; t < n; ++t) {
                const bool can = usable(j, t);
                traits.push_back(can ? alone_.jobs[j].workers / alone_.gpus[t] : 0);
                traits.push_back(can ? alone_.jobs[j].rates[t] / top_[j] : 0);
                traits.push_back(values_alone_[j * n + t]);
            }
            if (has_pairs()) traits.push_back(alone_.jobs[j].workers);
            kind_of_[j] = kind_like.try_emplace(traits, kind_like.size()).first->second;
        }
        kinds_ = kind_like.size();
        part_of_.assign(top_.size(), 0);
        parts_ = 0;
        if (has_pairs()) find_bundles(pair_values);
    };
    refine_with(!has_pairs() || program_.utility);
    if (alike_ && has_pairs() && !program_.utility) refine_with(true);
}

/// Splits kinds until pairs tell no two jobs of a kind apart, and finds bundles. Sets alike_ if some bundle
/// does not have all pairs of its kinds.
inline void ShareProgram::find_bundles(const std::vector<double>& pair_values) {
    // Equal 64-bit numbers identify equal things, and their sums identify what a job sees in any order.
    const auto mixed = [](std::uint64_t a, std::uint64_t b) {
        a ^= b * 0x9e3779b97f4a7c15U;
        a = (a ^ (a >> 30)) * 0xbf58476d1ce4e5b9U;
        a = (a ^ (a >> 27)) * 0x94d049bb133111ebU;
        return a ^ (a >> 31);
    };
    std::vector<std::array<std::uint64_t, 2>> view_of;  // how a pair on a type looks to each of its two jobs
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        Gaining& pair = gaining_[k];
        pair.jobs = all_pairs_[pair.number].jobs;
        std::array<std::uint64_t, 2> rate{};
        for (std::size_t i = 0; i < 2; ++i) {
            pair.rate[i] = all_pairs_[pair.number].rates[pair.type][i] / top_[pair.jobs[i]];
            rate[i] = std::bit_cast<std::uint64_t>(pair.rate[i] + 0.0);
        }
        const std::uint64_t both = mixed(std::bit_cast<std::uint64_t>(pair_values[k] + 0.0), pair.type + 1);
        view_of.push_back({mixed(mixed(both, rate[0]), rate[1]), mixed(mixed(both, rate[1]), rate[0])});
    }
    std::vector<std::uint64_t> seen;
    for (bool finer = true; finer;) {
        seen.assign(kind_of_.size(), 0);
        for (std::size_t k = 0; k < gaining_.size(); ++k)
            for (std::size_t i = 0; i < 2; ++i)
                seen[gaining_[k].jobs[i]] += mixed(view_of[k][i], kind_of_[gaining_[k].jobs[1 - i]] + 1);
        std::map<std::pair<std::size_t, std::uint64_t>, std::size_t> next;
        for (std::size_t j = 0; j < kind_of_.size(); ++j)
            if (kind_of_[j] != no_group)
                kind_of_[j] = next.try_emplace({kind_of_[j], seen[j]}, next.size()).first->second;
        finer = next.size() > kinds_;
        kinds_ = next.size();
    }
    std::vector<double> size(kinds_, 0);
    for (const std::size_t kind : kind_of_)
        if (kind != no_group) size[kind] += 1;
    bundles_.clear();
    std::unordered_map<std::uint64_t, std::size_t> bundle_like(gaining_.size() / 4);
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        Gaining& pair = gaining_[k];
        std::uint64_t view = view_of[k][0];
        if (kind_of_[pair.jobs[1]] < kind_of_[pair.jobs[0]]) {
            std::swap(pair.jobs[0], pair.jobs[1]);
            std::swap(pair.rate[0], pair.rate[1]);
            view = view_of[k][1];
        }
        const std::array<std::size_t, 2> kind{kind_of_[pair.jobs[0]], kind_of_[pair.jobs[1]]};
        const auto [found, is_new] =
            bundle_like.try_emplace(mixed(mixed(view, kind[0]), kind[1] + kinds_), bundles_.size());
        pair.bundle = found->second;
        if (is_new)
            bundles_.push_back({.kind = kind,
                                .rate = pair.rate,
                                .type = pair.type,
                                .use = alone_.jobs[pair.jobs[0]].workers / alone_.gpus[pair.type],
                                .value = pair_values[k]});
        bundles_[pair.bundle].pairs += 1;
    }
    for (const Bundle& bundle : bundles_) {
        const double a = size[bundle.kind[0]], b = size[bundle.kind[1]];
        const bool within = bundle.kind[0] == bundle.kind[1];
        if (bundle.pairs != (within ? a * (a - 1) / 2 : a * b)) alike_ = true;
    }
}

/// Makes the program of the present groups.
inline void ShareProgram::pose() {
    GroupProgram& p = program_;
    const std::size_t n = p.types;
    for (auto* list : {&p.copies, &p.use, &p.rate, &p.value, &p.slope, &p.floor}) list->clear();
    group_of_.assign(kind_of_.size(), no_group);
    first_job_.clear();
    std::vector<std::size_t> group_of_kind(kinds_, no_group);
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> group_of_part;
    for (std::size_t j = 0; j < kind_of_.size(); ++j) {
        if (kind_of_[j] == no_group) continue;
        std::size_t& known =
            part_of_[j] == 0 ? group_of_kind[kind_of_[j]]
                             : group_of_part.try_emplace({kind_of_[j], part_of_[j]}, no_group).first->second;
        if (known == no_group) {
            known = groups();
            first_job_.push_back(j);
            p.copies.push_back(0);
            p.slope.push_back(alike_ ? asked_[j].slope : 0);
            p.floor.push_back(alike_ ? asked_[j].floor : 0);
            for (std::size_t t = 0; t < n; ++t) {
                const bool can = usable(j, t);
                p.use.push_back(can ? alone_.jobs[j].workers / alone_.gpus[t] : 0);
                p.rate.push_back(can ? alone_.jobs[j].rates[t] / top_[j] : 0);
                p.value.push_back(can ? values_alone_[j * n + t] : 0);
            }
        }
        group_of_[j] = known;
        p.copies[known] += 1;
    }
    part_of_group_.assign(kind_of_.size(), 1);
    if (has_pairs()) pose_pairs();
}

/// Adds what pairs need.
inline void ShareProgram::pose_pairs() {
    GroupProgram& p = program_;
    members_.assign(groups(), {});
    std::vector<std::vector<std::size_t>> groups_of_kind(kinds_);
    for (std::size_t j = 0; j < kind_of_.size(); ++j) {
        const std::size_t g = group_of_[j];
        if (g == no_group) continue;
        if (members_[g].empty()) groups_of_kind[kind_of_[j]].push_back(g);
        members_[g].push_back(j);
        if (alike_) continue;
        p.slope[g] += asked_[j].slope / p.copies[g];
        p.floor[g] += asked_[j].floor / p.copies[g];
    }
    p.pairs.clear();
    for (Bundle& bundle : bundles_) {
        bundle.first_column = p.pairs.size();
        const bool within = bundle.kind[0] == bundle.kind[1];
        for (const std::size_t g : groups_of_kind[bundle.kind[0]])
            for (const std::size_t h : groups_of_kind[bundle.kind[1]]) {
                if (within && (h < g || (h == g && members_[g].size() < 2))) continue;
                p.pairs.push_back(
                    {.group = {g, h},
                     .type = bundle.type,
                     .rate = bundle.rate,
                     .use = bundle.use,
                     .value = bundle.value,
                     .copies = g == h ? 0.5 * p.copies[g] * (p.copies[g] - 1) : p.copies[g] * p.copies[h]});
            }
        bundle.columns = p.pairs.size() - bundle.first_column;
        if (bundle.columns == 1) p.pairs.back().copies = bundle.pairs;
    }
}

template <class Solved>
bool ShareProgram::split(const Solved& end, int round) {
    if (alike_) return false;
    const std::size_t n = program_.types;
    std::vector<double> rate(groups(), 0), time(groups(), 0), within(groups(), 0);
    for (std::size_t g = 0; g < groups(); ++g)
        for (std::size_t t = 0; t < n; ++t) {
            time[g] += end.share(g, t);
            rate[g] += end.share(g, t) * program_.rate[g * n + t];
        }
    for (std::size_t c = 0; c < program_.pairs.size(); ++c) {
        const PairColumn& pair = program_.pairs[c];
        for (std::size_t i = 0; i < 2; ++i) {
            const double of_job = end.amount(c) / program_.copies[pair.group[i]];
            time[pair.group[i]] += of_job;
            rate[pair.group[i]] += of_job * pair.rate[i];
        }
        const std::size_t g = pair.group[0];
        if (g == pair.group[1]) within[g] = std::max(within[g], 2 * end.amount(c) / program_.copies[g]);
    }
    // By group: the fraction of the time that its busiest job would run.
    std::vector<double> busiest(groups(), 0);
    const auto need_of = [&](std::size_t g) { return program_.slope[g] * end.level() + program_.floor[g]; };
    for (std::size_t g = 0; g < groups(); ++g) {
        const double need = need_of(g);
        if (!(need > 0) || members_[g].size() < 2) continue;
        // Divide what is needed by need, and the rest into equal parts.
        const double needed = std::min(need / rate[g], 1.0);
        for (const std::size_t j : members_[g]) {
            part_of_group_[j] = asked_of(j, end.level()) / need * needed + 1 - needed;
            const bool alone = within[g] > rounding && !finds_others(j);
            busiest[g] = std::max(busiest[g], alone ? 2 : part_of_group_[j] * time[g]);
        }
    }
    if (std::ranges::none_of(busiest, [](double part) { return part > 1 + rounding; })) return false;
    // Also split a group that has nearly no room left: it would be the next one.
    bool any = false;
    for (std::size_t g = 0; g < groups(); ++g) {
        if (busiest[g] <= nearly_full) continue;
        // Jobs with similar needs, by factors of 2, form a group. In the end every job is a group.
        std::map<double, std::size_t> part_like;
        for (const std::size_t j : members_[g]) {
            const double octaves = std::log2(std::max(asked_of(j, end.level()) / need_of(g), 1e-9));
            const double like = round < most_splits ? std::clamp(std::floor(octaves), -8.0, 8.0) : double(j);
            const auto [found, is_new] = part_like.try_emplace(like, parts_ + 1);
            if (is_new) ++parts_;
            part_of_[j] = found->second;
        }
        any = any || part_like.size() > 1;
    }
    if (any) pose();
    return any;
}

template <class Solved>
ShareResult ShareProgram::shares_of(const Solved& method, double least_part) const {
    const std::size_t n = program_.types;
    const std::vector<PairColumn>& pairs = program_.pairs;
    // For the average job of each group, without shares that are next to nothing compared with the group's
    // largest.
    std::vector<double> shares(groups() * n), used(n, 0), most(groups(), 0), amounts(pairs.size());
    const auto of_job = [&](std::size_t c, std::size_t g) {
        return (pairs[c].group[0] == pairs[c].group[1] ? 2 : 1) * amounts[c] / program_.copies[g];
    };
    for (std::size_t g = 0; g < groups(); ++g)
        for (std::size_t t = 0; t < n; ++t) most[g] = std::max(most[g], method.share(g, t));
    for (std::size_t c = 0; c < pairs.size(); ++c) {
        if constexpr (requires { method.amount(c); }) amounts[c] = method.amount(c);
        for (const std::size_t g : pairs[c].group) most[g] = std::max(most[g], of_job(c, g));
    }
    for (std::size_t g = 0; g < groups(); ++g) {
        double time = 0;
        for (std::size_t t = 0; t < n; ++t) {
            const double share = method.share(g, t);
            shares[g * n + t] = share > least_part * most[g] ? share : 0;
            time += shares[g * n + t];
        }
        for (std::size_t t = 0; t < n; ++t) {
            if (time > 1) shares[g * n + t] /= time;
            used[t] += program_.copies[g] * program_.use[g * n + t] * shares[g * n + t];
        }
    }
    for (std::size_t c = 0; c < pairs.size(); ++c) {
        const auto [a, b] = pairs[c].group;
        if (!(of_job(c, a) > least_part * most[a] || of_job(c, b) > least_part * most[b])) amounts[c] = 0;
        used[pairs[c].type] += pairs[c].use * amounts[c];
    }
    for (double& of_type : used) of_type = std::max(1.0, of_type * (1 + 1e-15));
    ShareResult result = no_shares(alone_);
    std::vector<double> time(top_.size(), 0);
    for (std::size_t j = 0; j < top_.size(); ++j)
        for (std::size_t t = 0; t < n && group_of_[j] != no_group; ++t)
            time[j] += result.shares[j * n + t] = shares[group_of_[j] * n + t] / used[t] * part_of_group_[j];
    result.pair_shares.assign(all_pairs_.size() * n, 0);
    const std::vector<double> together = has_pairs() ? within_groups() : std::vector<double>();
    for (const Gaining& pair : gaining_) {
        const Bundle& bundle = bundles_[pair.bundle];
        const auto [a, b] = pair.jobs;
        std::array<std::size_t, 2> group{group_of_[a], group_of_[b]};
        if (bundle.kind[0] == bundle.kind[1] && group[1] < group[0]) std::swap(group[0], group[1]);
        std::size_t c = bundle.first_column, end = c + bundle.columns;
        while (c < end && (pairs[c].group[0] != group[0] || pairs[c].group[1] != group[1])) ++c;
        if (c == end) continue;
        double part = 1 / bundle.pairs;
        if (!alike_ && group[0] == group[1])
            part = together[a] * together[b];
        else if (!alike_)
            part = part_of_group_[a] / program_.copies[group_of_[a]] * part_of_group_[b] /
                   program_.copies[group_of_[b]];
        const double share = amounts[c] / used[pair.type] * part;
        result.pair_shares[pair.number * n + pair.type] = share;
        for (const std::size_t j : pair.jobs) time[j] += share;
    }
    for (std::size_t j = 0; j < top_.size(); ++j)
        for (std::size_t t = 0; t < n; ++t) {
            double& share = result.shares[j * n + t];
            if (time[j] > 1 && has_pairs()) share /= time[j];
            result.rates[j] += share * alone_.jobs[j].rates[t];
        }
    for (const Gaining& pair : gaining_) {
        const auto [a, b] = pair.jobs;
        double& share = result.pair_shares[pair.number * n + pair.type];
        share /= std::max({1.0, time[a], time[b]});
        for (std::size_t i = 0; i < 2; ++i)
            result.rates[pair.jobs[i]] += share * pair.rate[i] * top_[pair.jobs[i]];
    }
    return result;
}

/// Returns numbers u, by job. u_i u_j is the fraction that pair (i, j) has of all time of pairs within
/// their group, so that each job gets as much of that time as its portion of the group says.
inline std::vector<double> ShareProgram::within_groups() const {
    std::vector<double> together(top_.size(), 0);
    for (const std::vector<std::size_t>& members : members_) {
        const auto copies = static_cast<double>(members.size());
        if (copies < 2 ||
            !std::all_of(members.begin(), members.end(), [&](std::size_t j) { return finds_others(j); }))
            continue;
        double sum = 0;
        for (const std::size_t j : members) sum += together[j] = std::sqrt(2 / copies / (copies - 1));
        for (int step = 0; step < 200; ++step) {
            double change = 0;
            for (const std::size_t j : members) {
                const double wanted = 2 * part_of_group_[j] / copies / (sum - together[j]);
                const double next = 0.5 * (together[j] + wanted);
                change = std::max(change, std::abs(wanted / together[j] - 1));
                sum += next - together[j];
                together[j] = next;
            }
            if (change < 1e-14) break;
        }
    }
    return together;
}

/// Returns the price of the time of one job of each group, at which nothing is worth more than it costs. It
/// is the largest gain of the job's own shares; with pairs, it is at least the method's own price, raised
/// where that is too low.
template <class Solved, class RatePrices>
std::vector<double> ShareProgram::time_prices(const Solved& method, const RatePrices& rate_price) const {
    const std::size_t n = program_.types;
    std::vector<double> prices(groups(), 0);
    for (std::size_t g = 0; g < groups(); ++g) {
        if (has_pairs()) prices[g] = method.time_price(g);
        for (std::size_t t = 0; t < n; ++t)
            if (const std::size_t at = g * n + t; program_.use[at] > 0)
                prices[g] = std::max(prices[g], program_.value[at] + rate_price(g) * program_.rate[at] -
                                                    program_.use[at] * method.price(t));
    }
    for (const PairColumn& pair : program_.pairs) {
        const auto [a, b] = pair.group;
        const double missing = pair.value - pair.use * method.price(pair.type) +
                               rate_price(a) * pair.rate[0] + rate_price(b) * pair.rate[1] - prices[a] -
                               prices[b];
        for (const std::size_t g : pair.group) prices[g] += 0.5 * std::max(missing, 0.0);
    }
    return prices;
}

}  // namespace goodput::inline v0_1::detail

#endif
