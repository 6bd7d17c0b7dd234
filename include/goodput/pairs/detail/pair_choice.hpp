#ifndef GOODPUT_PAIRS_DETAIL_PAIR_CHOICE_HPP
#define GOODPUT_PAIRS_DETAIL_PAIR_CHOICE_HPP

// Chooses which jobs run together at given prices: disjoint pairs of large gain, and a bound that no choice
// of pairs exceeds. This is a matching of maximum weight. Boost.Graph 1.74 has one
// (maximum_weighted_matching), but for some graphs it answers wrongly or never (its issues 223 and 399). So
// pairs are chosen greedily, with exchanges. The bound is a solution of the relaxation's dual with a small
// sum: numbers y with y_j at least what j is worth alone, and y_a + y_b at least what pair (a, b) is worth.

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace goodput::inline v0_1::detail {

/// Two jobs, and what they are worth together less the price of what they use.
struct WeighedPair {
    std::array<std::size_t, 2> jobs{};
    double worth = 0;
};

/// Disjoint pairs, and a bound on the worth of single jobs and pairs.
struct PairChoice {
    std::vector<std::size_t> pairs{};  ///< indices, ascending
    /// Pairs of the remaining jobs, without positive gain. They serve if GPUs turn out to be worth more.
    std::vector<std::size_t> spare{};
    double bound = 0;  ///< no disjoint pairs and single jobs are worth more
};

/// Chooses pairs of positive gain. `alone` says what each job is worth alone, at least 0. Only pairs with
/// may_choose(pair) are chosen; the bound covers all. Every two jobs come at most once among `pairs`. Takes
/// O(pairs log pairs) and some passes over the pairs.
template <class MayChoose>
[[nodiscard]] PairChoice choose_pairs(std::span<const double> alone, std::span<const WeighedPair> pairs,
                                      MayChoose may_choose) {
    constexpr std::size_t no_pair = std::numeric_limits<std::size_t>::max();
    constexpr int most_passes = 16;
    const auto gain = [&](std::size_t p) {
        return p == no_pair ? 0 : pairs[p].worth - alone[pairs[p].jobs[0]] - alone[pairs[p].jobs[1]];
    };
    std::vector<std::size_t> order;
    double largest = 0;
    for (std::size_t p = 0; p < pairs.size(); ++p)
        if (gain(p) > 0) order.push_back(p), largest = std::max(largest, gain(p));
    std::ranges::stable_sort(order, std::greater(), gain);
    const double little = 1e-9 * largest;
    std::vector<std::vector<std::size_t>> pairs_of(alone.size());  // by job, the largest gain first
    for (const std::size_t p : order)
        for (const std::size_t job : pairs[p].jobs) pairs_of[job].push_back(p);
    std::vector<std::size_t> with(alone.size(), no_pair);  // by job: its pair
    const auto other = [&](std::size_t p, std::size_t job) {
        return pairs[p].jobs[pairs[p].jobs[0] == job ? 1 : 0];
    };
    const auto put = [&](std::size_t p, std::size_t now) {
        if (p == no_pair) return;
        for (const std::size_t job : pairs[p].jobs) with[job] = now;
    };
    // The best pair of a job with a job that is in no pair.
    const auto best_free = [&](std::size_t job) {
        for (const std::size_t p : pairs_of[job])
            if (with[other(p, job)] == no_pair && may_choose(p)) return p;
        return no_pair;
    };
    // Brings in a pair in place of the pairs in which its jobs are. The other jobs of these may find new
    // partners. Undone if nothing is gained.
    const auto bring_in = [&](std::size_t p) {
        const auto [a, b] = pairs[p].jobs;
        const std::array<std::size_t, 2> out{with[a], with[b]};
        for (const std::size_t q : out) put(q, no_pair);
        put(p, p);
        double more = gain(p) - gain(out[0]) - gain(out[1]);
        std::array<std::size_t, 2> in{no_pair, no_pair};
        for (std::size_t i = 0; i < 2; ++i)
            if (const std::size_t job = out[i] == no_pair ? no_pair : other(out[i], pairs[p].jobs[i]);
                job != no_pair && with[job] == no_pair) {
                in[i] = best_free(job);
                more += gain(in[i]);
                put(in[i], in[i]);
            }
        if (more > little) return true;
        for (const std::size_t q : in) put(q, no_pair);
        put(p, no_pair);
        for (const std::size_t q : out) put(q, q);
        return false;
    };
    bool better = !order.empty();
    for (int pass = 0; better && pass < most_passes; ++pass) {
        better = false;
        for (const std::size_t p : order)
            if (with[pairs[p].jobs[0]] != p && gain(p) > little && may_choose(p)) better |= bring_in(p);
    }
    PairChoice choice;
    for (const std::size_t p : order)
        if (with[pairs[p].jobs[0]] == p) choice.pairs.push_back(p);
    std::ranges::sort(choice.pairs);
    std::vector<std::size_t> rest;
    for (std::size_t p = 0; p < pairs.size(); ++p)
        if (pairs[p].worth > 0 && gain(p) <= little) rest.push_back(p);
    std::ranges::stable_sort(rest, std::greater(), gain);
    for (const std::size_t p : rest)
        if (with[pairs[p].jobs[0]] == no_pair && with[pairs[p].jobs[1]] == no_pair && may_choose(p)) {
            put(p, p);
            choice.spare.push_back(p);
        }

    std::vector<double> dual(alone.begin(), alone.end());
    for (const std::size_t p : order) {
        const auto [a, b] = pairs[p].jobs;
        const double missing = pairs[p].worth - dual[a] - dual[b];
        if (missing > 0) dual[a] += missing / 2, dual[b] += missing / 2;
    }
    for (int pass = 0; pass < 3; ++pass)
        for (std::size_t j = 0; j < alone.size(); ++j) {
            double least = alone[j];
            for (const std::size_t p : pairs_of[j])
                least = std::max(least, pairs[p].worth - dual[other(p, j)]);
            dual[j] = least;
        }
    choice.bound = std::accumulate(dual.begin(), dual.end(), 0.0);
    return choice;
}

}  // namespace goodput::inline v0_1::detail

#endif
