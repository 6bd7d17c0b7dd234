#ifndef GOODPUT_SHARE_DETAIL_SHARE_GROUPS_HPP
#define GOODPUT_SHARE_DETAIL_SHARE_GROUPS_HPP

// How a ShareProgram (share_program.hpp) forms groups of jobs, poses their program, and splits groups.

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "goodput/share/detail/group_program.hpp"
#include "goodput/share/detail/share_program.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1::detail {

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

}  // namespace goodput::inline v0_1::detail

#endif
