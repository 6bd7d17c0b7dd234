#ifndef GOODPUT_SHARE_DETAIL_SHARES_OF_GROUPS_HPP
#define GOODPUT_SHARE_DETAIL_SHARES_OF_GROUPS_HPP

// How a ShareProgram (share_program.hpp) gives jobs their parts of what groups get, and what their time
// costs.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "goodput/share/detail/group_program.hpp"
#include "goodput/share/detail/share_program.hpp"
#include "goodput/share/problem.hpp"

namespace goodput::inline v0_1::detail {

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
