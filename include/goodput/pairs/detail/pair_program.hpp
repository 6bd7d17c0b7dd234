#ifndef GOODPUT_PAIRS_DETAIL_PAIR_PROGRAM_HPP
#define GOODPUT_PAIRS_DETAIL_PAIR_PROGRAM_HPP

// From a share problem with pairs to the program of pair_interior_point.hpp and back.
//
// Pairs that gain nothing are left out (pair_gains). Jobs of one kind, alike in rates and pairs, are one
// group of the program, even where different things are asked of them: a group has the rates and times of its
// average job, and is shared out by need. That is as good as a program of single jobs, unless a job would
// need more than all of its time; then it is split off and the program solved again. So the program is as
// large as there are kinds of jobs, however many jobs there are.
//
// Kinds are split until all jobs of one have as many pairs of each sort with every other kind (colour
// refinement; Grohe, Kersting, Mladenov and Selman, 2014). Where not every two jobs of two kinds are a pair,
// what is asked of them has to be alike, too.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "goodput/pairs/detail/pair_interior_point.hpp"
#include "goodput/pairs/paired_problem.hpp"
#include "goodput/share/problem.hpp"
#include "goodput/share/share_time.hpp"

namespace goodput::detail {

template <class Utility>
class PairMethod;

/// What one of two jobs sees of their pair: GPU type, its rate, the other's, and the value.
using PairView = std::array<double, 4>;
struct PairViewHash {
    [[nodiscard]] std::size_t operator()(const PairView& view) const {
        std::size_t hash = 0;
        for (const double number : view) hash = 31 * hash + std::hash<double>()(number);
        return hash;
    }
};

/// A share problem's jobs and pairs in groups, for programs that differ in rows and values only: what
/// ShareProgram is without pairs.
class PairProgram {
public:
    template <class Utility = NoUtility>
    using Method = PairMethod<Utility>;

    explicit PairProgram(const PairedShareProblem& problem);

    /// The job can run on that type by itself.
    [[nodiscard]] bool usable(std::size_t job, std::size_t type) const { return alone_.can_run(job, type); }
    /// Steps/s of a job where it is fastest, alone or not, at all times; 0: it can run nowhere.
    [[nodiscard]] double top_rate(std::size_t job) const { return top_[job]; }

    /// The jobs as objectives compare them: a job that runs only with others as one that could have its top
    /// rate alone everywhere.
    [[nodiscard]] ShareProblem with_rates_to_compare() const {
        ShareProblem compared = alone_;
        for (std::size_t j = 0; j < top_.size(); ++j)
            if (top_[j] > 0 && !alone_.can_run(j))
                std::fill(compared.jobs[j].rates.begin(), compared.jobs[j].rates.end(), top_[j]);
        return compared;
    }

    /// Builds the program: `row(job)` is what is asked of a job, `value(problem, job, type)` what its time
    /// there is worth for its own sake with the rates of that problem.
    template <class Row, class Value>
    PairProgram& build(Row row, Value value, bool utility) {
        for (std::size_t j = 0; j < asked_.size(); ++j)
            if (top_[j] > 0) asked_[j] = row(j);
        program_.utility = utility;
        reward = 0;
        constexpr bool worthless = std::is_same_v<Value, std::remove_cv_t<decltype(no_value)>>;
        if (!known_ || alike_ || utility || !worthless) find_kinds(value);
        known_ = worthless && !utility;
        for (std::size_t j = 0; j < asked_.size() && parts_ == 0; ++j)
            part_of_[j] = asked_[j].slope > 0 || asked_[j].floor > 0 ? 0 : asks_nothing;
        pose();
        return *this;
    }
    PairProgram& program() { return *this; }
    double reward = 0;  ///< for the level
    [[nodiscard]] std::size_t groups() const { return program_.groups(); }
    /// How many jobs a group has.
    [[nodiscard]] double copies(std::size_t group) const { return program_.copies[group]; }
    /// The first job of a group.
    [[nodiscard]] std::size_t job_of(std::size_t group) const { return members_[group].front(); }
    /// no_group: it can run nowhere.
    [[nodiscard]] std::size_t group_of(std::size_t job) const { return group_of_[job]; }
    static constexpr std::size_t no_group = ShareProgram::no_group;

    // What PairMethod needs.

    /// The program as it is now.
    const PairColumns& columns() {
        program_.reward = reward;
        return program_;
    }
    /// Works out how groups share what they have; answers whether some had to be split, so that the program
    /// is another one. `round`: how often it was asked before.
    template <class Utility>
    bool split(const PairInteriorPoint<Utility>& end, int round);

    /// Shares and rates of all jobs and pairs out of an end of the method, put right where rounding has left
    /// them beyond a limit.
    template <class Solved>
    [[nodiscard]] ShareResult shares_of(const Solved& method, double least_part) const;

    /// What shares are worth for their own sake.
    template <class Value>
    [[nodiscard]] double worth_of(const ShareResult& result, Value value) {
        double sum = worth_alone(alone_, result, value);
        const std::vector<double> values = values_of_pairs(value);
        for (std::size_t k = 0; k < gaining_.size(); ++k)
            sum += result.pair_shares[gaining_[k].first * program_.types + gaining_[k].second] * values[k];
        return sum;
    }

    /// Bound on what prices leave: capacities at their prices, and the time of every group at a price at
    /// which no column is worth more than it costs, less floors. The method's own prices of time are raised
    /// where they are too low for that.
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

    /// Of one GPU of each type. Of a type without any, it is what the first one would be worth to a job of
    /// one worker alone.
    template <class Solved, class RatePrices, class Value>
    [[nodiscard]] std::vector<double> gpu_prices(const Solved& method, const RatePrices& rate_price,
                                                 Value value) const {
        const std::vector<double> times = time_prices(method, rate_price);
        return prices_of_gpus(alone_, method, [&](std::size_t j, std::size_t t) {
            const double own = value(alone_, j, t);
            const std::size_t g = group_of_[j];
            if (g == no_group) return own;
            return own + rate_price(g) * alone_.jobs[j].rates[t] / top_[j] - times[g];
        });
    }

private:
    using Index = Eigen::Index;
    static constexpr std::size_t asks_nothing = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t no_column = std::numeric_limits<std::size_t>::max();
    static constexpr double rounding = 1e-9;
    static constexpr int most_splits = 2;  // before groups fall apart

    /// Pairs on one type that are alike: of the same two kinds, in their order, with the same rates.
    struct Bundle {
        std::array<std::size_t, 2> kind{};
        std::array<double, 2> rate{};  // as parts of the top rates
        std::size_t type = 0;
        int workers = 1;
        double value = 0, pairs = 0;
        std::map<std::array<std::size_t, 2>, std::size_t> columns{};  // by groups
    };

    template <class Value>
    [[nodiscard]] std::vector<double> values_of_pairs(Value value);
    template <class Value>
    void find_kinds(Value value);
    void refine(std::vector<std::vector<double>> known, const std::vector<double>& pair_values);
    void pose();
    /// Rate that a job needs at a level, as a part of its top rate.
    [[nodiscard]] double asked_of(std::size_t job, double level) const {
        return asked_[job].slope * level + asked_[job].floor;
    }
    /// Whether there is enough of others in the job's group for its part of the pairs within: not so much is
    /// its own that nobody else has pairs with one another.
    [[nodiscard]] bool finds_others(std::size_t job) const {
        const double part = part_of_group_[job];
        return std::abs(part - 1) <= rounding || 2 * part <= 0.9 * program_.copies[group_of_[job]];
    }
    [[nodiscard]] std::vector<double> within_groups() const;
    /// The jobs of a pair that gains, in the order of its bundle's kinds.
    [[nodiscard]] std::array<std::size_t, 2> in_order(std::size_t gaining) const {
        const std::array<std::size_t, 2>& jobs = problem_.pairs[gaining_[gaining].first].jobs;
        if (kind_of_[jobs[1]] < kind_of_[jobs[0]]) return {jobs[1], jobs[0]};
        return jobs;
    }
    template <class Solved, class RatePrices>
    [[nodiscard]] std::vector<double> time_prices(const Solved& method, const RatePrices& rate_price) const;

    const PairedShareProblem& problem_;
    const ShareProblem& alone_;
    ShareProblem with_pair_rates_;
    std::vector<double> top_;                                   // by job
    std::vector<std::pair<std::size_t, std::size_t>> gaining_;  // pairs that gain, and the type
    std::vector<ProgramRow> asked_;                             // by job
    bool known_ = false;                          // the kinds are those of the rates, and hold for other rows
    bool alike_ = false;                          // jobs of one kind are alike in what is asked of them
    std::vector<std::size_t> kind_of_, part_of_;  // by job; parts of a kind are groups of their own
    std::size_t parts_ = 0;
    std::vector<double> values_alone_;  // by job and type
    std::vector<Bundle> bundles_;
    std::vector<std::size_t> bundle_of_;  // by those of gaining_

    PairColumns program_;
    std::vector<std::size_t> group_of_;              // by job
    std::vector<std::vector<std::size_t>> members_;  // by group
    std::vector<std::size_t> column_alone_;          // by group and type
    std::vector<double> part_of_group_;              // by job: its part of what its group has, 1 on average
};

/// Solves the program, and again where it has to be split.
template <class Utility>
class PairMethod {
public:
    explicit PairMethod(PairProgram& program, Utility utility = {})
        : program_(program), utility_(std::move(utility)) {}

    /// Answers whether it came to an end; what is found is of use in any case.
    bool solve(double accuracy = 1e-9) {
        for (int round = 0;; ++round) {
            end_.emplace(program_.columns(), utility_);
            // Who has to be split off shows early.
            bool ended = end_->solve(std::max(accuracy, 1e-2)), splits = program_.split(*end_, round);
            if (!splits) {
                ended = end_->solve(accuracy);
                splits = program_.split(*end_, round);
            }
            iterations_ += end_->iterations();
            if (!splits) return ended;
        }
    }
    [[nodiscard]] double level() const { return end_->level(); }
    [[nodiscard]] double amount(std::size_t c) const { return end_->amount(c); }
    [[nodiscard]] double price(std::size_t t) const { return end_->price(t); }
    [[nodiscard]] double time_price(std::size_t g) const { return end_->time_price(g); }
    [[nodiscard]] double rate_price(std::size_t g) const { return end_->rate_price(g); }
    [[nodiscard]] auto rate_prices() const { return end_->rate_prices(); }
    [[nodiscard]] double rate_slack(std::size_t g) const { return end_->rate_slack(g); }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    PairProgram& program_;
    Utility utility_;
    std::optional<PairInteriorPoint<Utility>> end_;
    std::size_t iterations_ = 0;
};

// ---------------------------------------------------------------------------------------------------------

inline PairProgram::PairProgram(const PairedShareProblem& problem)
    : problem_(problem),
      alone_(problem.alone),
      with_pair_rates_(problem.alone),
      asked_(problem.alone.jobs.size()) {
    program_.types = alone_.types();
    for (std::size_t j = 0; j < alone_.jobs.size(); ++j) {
        double top = 0;
        for (std::size_t t = 0; t < program_.types; ++t)
            if (usable(j, t)) top = std::max(top, alone_.jobs[j].rates[t]);
        top_.push_back(top);
    }
    for (std::size_t p = 0; p < problem.pairs.size(); ++p)
        for (std::size_t t = 0; t < program_.types; ++t) {
            if (!pair_gains(alone_, problem.pairs[p], t)) continue;
            gaining_.emplace_back(p, t);
            for (std::size_t i = 0; i < 2; ++i) {
                double& top = top_[problem.pairs[p].jobs[i]];
                top = std::max(top, problem.pairs[p].rates[t][i]);
            }
        }
}

/// What the time of each pair that gains is worth for its own sake.
template <class Value>
std::vector<double> PairProgram::values_of_pairs(Value value) {
    std::vector<double> values;
    for (const auto& [p, t] : gaining_) {
        double sum = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            const std::size_t j = problem_.pairs[p].jobs[i];
            double& rate = with_pair_rates_.jobs[j].rates[t];
            rate = problem_.pairs[p].rates[t][i];
            sum += value(with_pair_rates_, j, t);
            rate = alone_.jobs[j].rates[t];
        }
        values.push_back(sum);
    }
    return values;
}

template <class Value>
void PairProgram::find_kinds(Value value) {
    std::vector<std::vector<double>> known(alone_.jobs.size());
    values_alone_.assign(known.size() * program_.types, 0);
    for (std::size_t j = 0; j < known.size(); ++j) {
        if (top_[j] <= 0) continue;
        known[j] = {static_cast<double>(alone_.jobs[j].workers),
                    program_.utility ? static_cast<double>(j) : 0};
        for (std::size_t t = 0; t < program_.types; ++t) {
            if (!usable(j, t)) continue;
            values_alone_[j * program_.types + t] = value(alone_, j, t);
            known[j].insert(known[j].end(), {static_cast<double>(t), alone_.jobs[j].rates[t],
                                             values_alone_[j * program_.types + t]});
        }
    }
    const std::vector<double> pair_values = values_of_pairs(value);
    alike_ = false;
    refine(known, pair_values);
    if (!alike_) return;
    for (std::size_t j = 0; j < known.size(); ++j)
        if (!known[j].empty()) known[j].insert(known[j].end(), {asked_[j].slope, asked_[j].floor});
    refine(std::move(known), pair_values);
    alike_ = true;
}

/// Finds kinds and bundles; alike_ where some bundle does not have all pairs of its kinds.
inline void PairProgram::refine(std::vector<std::vector<double>> known,
                                const std::vector<double>& pair_values) {
    // What each of the two sees of a pair on a type, by number.
    std::unordered_map<PairView, std::size_t, PairViewHash> sort_like;
    std::vector<std::size_t> sort_of;
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        const auto& [p, t] = gaining_[k];
        const std::array<double, 2>& rates = problem_.pairs[p].rates[t];
        for (std::size_t i = 0; i < 2; ++i) {
            const PairView view{static_cast<double>(t), rates[i], rates[1 - i], pair_values[k]};
            sort_of.push_back(sort_like.try_emplace(view, sort_like.size()).first->second);
        }
    }
    kind_of_.assign(known.size(), no_group);
    std::map<std::vector<double>, std::size_t> first;
    for (std::size_t j = 0; j < known.size(); ++j)
        if (!known[j].empty())
            kind_of_[j] = first.try_emplace(std::move(known[j]), first.size()).first->second;
    std::size_t kinds = first.size();
    using Seen = std::vector<std::pair<std::size_t, std::size_t>>;
    for (bool finer = true; finer;) {
        std::vector<Seen> seen(kind_of_.size());
        for (std::size_t k = 0; k < gaining_.size(); ++k) {
            const std::array<std::size_t, 2>& jobs = problem_.pairs[gaining_[k].first].jobs;
            for (std::size_t i = 0; i < 2; ++i)
                seen[jobs[i]].emplace_back(kind_of_[jobs[1 - i]], sort_of[2 * k + i]);
        }
        std::map<std::pair<std::size_t, Seen>, std::size_t> next;
        for (std::size_t j = 0; j < kind_of_.size(); ++j) {
            if (kind_of_[j] == no_group) continue;
            std::sort(seen[j].begin(), seen[j].end());
            kind_of_[j] = next.try_emplace({kind_of_[j], std::move(seen[j])}, next.size()).first->second;
        }
        finer = next.size() > kinds;
        kinds = next.size();
    }
    std::vector<double> size(kinds, 0);
    for (const std::size_t kind : kind_of_)
        if (kind != no_group) size[kind] += 1;
    part_of_.assign(kind_of_.size(), 0);
    parts_ = 0;
    bundles_.clear();
    bundle_of_.clear();
    std::map<std::array<std::size_t, 3>, std::size_t> bundle_like;
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        const auto& [p, t] = gaining_[k];
        const SharePair& pair = problem_.pairs[p];
        const std::array<std::size_t, 2> jobs = in_order(k);
        const std::size_t first_in = jobs[0] == pair.jobs[0] ? 0 : 1;
        const std::array<std::size_t, 2> kind{kind_of_[jobs[0]], kind_of_[jobs[1]]};
        const auto [found, is_new] =
            bundle_like.try_emplace({kind[0], kind[1], sort_of[2 * k + first_in]}, bundles_.size());
        if (is_new)
            bundles_.push_back({.kind = kind,
                                .rate = {pair.rates[t][first_in] / top_[jobs[0]],
                                         pair.rates[t][1 - first_in] / top_[jobs[1]]},
                                .type = t,
                                .workers = alone_.jobs[jobs[0]].workers,
                                .value = pair_values[k]});
        bundles_[found->second].pairs += 1;
        bundle_of_.push_back(found->second);
    }
    for (const Bundle& bundle : bundles_) {
        const double a = size[bundle.kind[0]], b = size[bundle.kind[1]];
        const bool within = bundle.kind[0] == bundle.kind[1];
        if (bundle.pairs != (within ? a * (a - 1) / 2 : a * b)) alike_ = true;
    }
}

/// The program of the groups as they are.
inline void PairProgram::pose() {
    const std::size_t n = program_.types;
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> group_like;
    group_of_.assign(kind_of_.size(), no_group);
    members_.clear();
    std::vector<std::vector<std::size_t>> groups_of_kind;
    for (std::size_t j = 0; j < kind_of_.size(); ++j) {
        if (kind_of_[j] == no_group) continue;
        const auto [found, is_new] = group_like.try_emplace({kind_of_[j], part_of_[j]}, members_.size());
        group_of_[j] = found->second;
        if (groups_of_kind.size() <= kind_of_[j]) groups_of_kind.resize(kind_of_[j] + 1);
        if (is_new) {
            groups_of_kind[kind_of_[j]].push_back(members_.size());
            members_.emplace_back();
        }
        members_[found->second].push_back(j);
    }
    for (auto* list : {&program_.copies, &program_.slope, &program_.floor}) list->clear();
    program_.columns.clear();
    column_alone_.assign(members_.size() * n, no_column);
    part_of_group_.assign(kind_of_.size(), 1);
    for (std::size_t g = 0; g < members_.size(); ++g) {
        const auto copies = static_cast<double>(members_[g].size());
        ProgramRow mean;
        for (const std::size_t j : members_[g]) {
            mean.slope += asked_[j].slope / copies;
            mean.floor += asked_[j].floor / copies;
        }
        program_.copies.push_back(copies);
        program_.slope.push_back(mean.slope);
        program_.floor.push_back(mean.floor);
        const std::size_t j = job_of(g);
        for (std::size_t t = 0; t < n; ++t) {
            if (!usable(j, t)) continue;
            column_alone_[g * n + t] = program_.columns.size();
            program_.columns.push_back({.group = {static_cast<Index>(g), -1},
                                        .type = static_cast<Index>(t),
                                        .time = {1 / copies, 0},
                                        .rate = {alone_.jobs[j].rates[t] / top_[j] / copies, 0},
                                        .use = alone_.jobs[j].workers / alone_.gpus[t],
                                        .value = values_alone_[j * n + t]});
        }
    }
    for (Bundle& bundle : bundles_) {
        bundle.columns.clear();
        const bool within = bundle.kind[0] == bundle.kind[1];
        for (const std::size_t g : groups_of_kind[bundle.kind[0]])
            for (const std::size_t h : groups_of_kind[bundle.kind[1]]) {
                if (within && (h < g || (h == g && members_[g].size() < 2))) continue;
                bundle.columns[{g, h}] = program_.columns.size();
                PairColumn column{.group = {static_cast<Index>(g), g == h ? -1 : static_cast<Index>(h)},
                                  .type = static_cast<Index>(bundle.type),
                                  .use = bundle.workers / alone_.gpus[bundle.type],
                                  .value = bundle.value};
                for (std::size_t i = 0; i < 2; ++i) {
                    const std::size_t at = g == h ? 0 : i;
                    const double copies = program_.copies[i == 0 ? g : h];
                    column.time[at] += 1 / copies;
                    column.rate[at] += bundle.rate[i] / copies;
                }
                program_.columns.push_back(column);
            }
    }
}

template <class Utility>
bool PairProgram::split(const PairInteriorPoint<Utility>& end, int round) {
    if (alike_) return false;
    std::vector<double> rate(groups(), 0), time(groups(), 0), within(groups(), 0);
    for (std::size_t c = 0; c < program_.columns.size(); ++c)
        for (std::size_t i = 0; i < 2; ++i) {
            const PairColumn& column = program_.columns[c];
            if (column.group[i] < 0) continue;
            const auto g = static_cast<std::size_t>(column.group[i]);
            rate[g] += end.amount(c) * column.rate[i];
            time[g] += end.amount(c) * column.time[i];
            // Of one group, and so with the time of two of its jobs.
            if (column.group[1] < 0 && column.time[0] * program_.copies[g] > 1.5)
                within[g] = std::max(within[g], end.amount(c) * column.time[0]);
        }
    bool any = false;
    for (std::size_t g = 0; g < groups(); ++g) {
        const double need = program_.slope[g] * end.level() + program_.floor[g];
        if (!(need > 0) || members_[g].size() < 2) continue;
        // All that is needed by need, and what is left in equal parts.
        const double needed = std::min(need / rate[g], 1.0);
        bool has_room = true;
        for (const std::size_t j : members_[g]) {
            part_of_group_[j] = asked_of(j, end.level()) / need * needed + 1 - needed;
            has_room = has_room && part_of_group_[j] * time[g] <= 1 + rounding &&
                       (within[g] <= rounding || finds_others(j));
        }
        if (has_room) continue;
        // Those who need about as much, by factors of 2, are a group; each by himself in
        // the end.
        std::map<double, std::size_t> part_like;
        for (const std::size_t j : members_[g]) {
            const double octaves = std::log2(std::max(asked_of(j, end.level()) / need, 1e-9));
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
ShareResult PairProgram::shares_of(const Solved& method, double least_part) const {
    std::vector<double> most(groups(), 0), used(program_.types, 0);
    const auto each_group = [&](std::size_t c, auto visit) {
        const PairColumn& column = program_.columns[c];
        for (std::size_t i = 0; i < 2; ++i)
            if (column.group[i] >= 0) visit(static_cast<std::size_t>(column.group[i]), column.time[i]);
    };
    for (std::size_t c = 0; c < program_.columns.size(); ++c)
        each_group(c, [&](std::size_t g, double of) { most[g] = std::max(most[g], method.amount(c) * of); });
    std::vector<double> amounts;
    for (std::size_t c = 0; c < program_.columns.size(); ++c) {
        bool counts = false;
        each_group(c, [&](std::size_t g, double of) {
            counts = counts || method.amount(c) * of > least_part * most[g];
        });
        amounts.push_back(counts ? method.amount(c) : 0);
        used[static_cast<std::size_t>(program_.columns[c].type)] += program_.columns[c].use * amounts[c];
    }
    for (std::size_t c = 0; c < program_.columns.size(); ++c)
        amounts[c] /= std::max(1.0, used[static_cast<std::size_t>(program_.columns[c].type)] * (1 + 1e-15));
    ShareResult result = no_shares(alone_);
    result.pair_shares.assign(problem_.pairs.size() * program_.types, 0);
    std::vector<double> time(alone_.jobs.size(), 0);
    for (std::size_t j = 0; j < alone_.jobs.size(); ++j)
        for (std::size_t t = 0; t < program_.types && group_of_[j] != no_group; ++t) {
            const std::size_t c = column_alone_[group_of_[j] * program_.types + t];
            if (c == no_column) continue;
            const double share = amounts[c] / program_.copies[group_of_[j]] * part_of_group_[j];
            result.shares[j * program_.types + t] = share;
            time[j] += share;
        }
    const std::vector<double> together = within_groups();
    const auto share_of = [&](std::size_t k) -> double& {
        return result.pair_shares[gaining_[k].first * program_.types + gaining_[k].second];
    };
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        const Bundle& bundle = bundles_[bundle_of_[k]];
        std::array<std::size_t, 2> jobs = in_order(k), group{group_of_[jobs[0]], group_of_[jobs[1]]};
        const bool within = bundle.kind[0] == bundle.kind[1];
        if (within && group[1] < group[0]) std::swap(group[0], group[1]);
        const auto found = bundle.columns.find(group);
        if (found == bundle.columns.end()) continue;
        double part = 1 / bundle.pairs;
        if (!alike_ && group[0] == group[1])
            part = together[jobs[0]] * together[jobs[1]];
        else if (!alike_)
            part = part_of_group_[jobs[0]] / program_.copies[group_of_[jobs[0]]] * part_of_group_[jobs[1]] /
                   program_.copies[group_of_[jobs[1]]];
        share_of(k) = amounts[found->second] * part;
        for (const std::size_t j : jobs) time[j] += share_of(k);
    }
    for (std::size_t j = 0; j < alone_.jobs.size(); ++j)
        for (std::size_t t = 0; t < program_.types; ++t) {
            double& share = result.shares[j * program_.types + t];
            if (time[j] > 1) share /= time[j];
            result.rates[j] += share * alone_.jobs[j].rates[t];
        }
    for (std::size_t k = 0; k < gaining_.size(); ++k) {
        const auto& [p, t] = gaining_[k];
        const SharePair& pair = problem_.pairs[p];
        share_of(k) /= std::max({1.0, time[pair.jobs[0]], time[pair.jobs[1]]});
        for (std::size_t i = 0; i < 2; ++i) result.rates[pair.jobs[i]] += share_of(k) * pair.rates[t][i];
    }
    return result;
}

/// By job: numbers u of which u_i u_j is the part of pair (i, j) in all time of pairs within their group, so
/// that each job has as much of that as its part of the group says.
inline std::vector<double> PairProgram::within_groups() const {
    std::vector<double> together(alone_.jobs.size(), 0);
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

/// Of one job of each group, at which no column is worth more than it costs.
template <class Solved, class RatePrices>
std::vector<double> PairProgram::time_prices(const Solved& method, const RatePrices& rate_price) const {
    std::vector<double> prices;
    for (std::size_t g = 0; g < groups(); ++g) prices.push_back(method.time_price(g));
    for (const PairColumn& column : program_.columns) {
        double missing = column.value - column.use * method.price(static_cast<std::size_t>(column.type));
        double times = 0;
        for (std::size_t i = 0; i < 2; ++i) {
            if (column.group[i] < 0) continue;
            const auto g = static_cast<std::size_t>(column.group[i]);
            missing += program_.copies[g] * (rate_price(g) * column.rate[i] - prices[g] * column.time[i]);
            times += program_.copies[g] * column.time[i];
        }
        for (std::size_t i = 0; i < 2 && missing > 0; ++i)
            if (column.group[i] >= 0) prices[static_cast<std::size_t>(column.group[i])] += missing / times;
    }
    return prices;
}

}  // namespace goodput::detail

#endif
