#ifndef GOODPUT_SHARE_DETAIL_PAIR_CHOICE_HPP
#define GOODPUT_SHARE_DETAIL_PAIR_CHOICE_HPP

// Who runs with whom, at given prices: disjoint pairs of large gain, and what no choice of pairs can exceed.
// A matching of largest weight; Boost.Graph 1.74 has one (maximum_weighted_matching), which answers wrongly
// or never for some graphs (its issues 223 and 399), so here it is greedy with exchanges, and the bound is
// that of the relaxation's dual: numbers y with y_j at least what j is worth alone and y_a + y_b at least
// what the pair is worth, of a small sum.

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace goodput::detail {

/// Two jobs and what they are worth together, less the price of what they take.
struct WeighedPair {
    std::array<std::size_t, 2> jobs{};
    double worth = 0;
};

/// Disjoint pairs, and a bound on alone and together.
struct PairChoice {
    std::vector<std::size_t> pairs{};  ///< indices, ascending
    double bound = 0;                  ///< no disjoint pairs and single jobs are worth more
};

/// Of jobs that are worth so much alone (at least 0), the pairs of positive gain to run instead, as far as
/// may_choose(pair) holds; the bound is of all. Each two jobs come at most once among `pairs`. O(pairs log
/// pairs) and some passes over the pairs.
template <class MayChoose>
[[nodiscard]] PairChoice choose_pairs(std::span<const double> alone, std::span<const WeighedPair> pairs,
                                      MayChoose may_choose) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    constexpr int most_passes = 16;
    const auto gain = [&](std::size_t p) {
        return p == none ? 0 : pairs[p].worth - alone[pairs[p].jobs[0]] - alone[pairs[p].jobs[1]];
    };
    std::vector<std::size_t> order;
    double largest = 0;
    for (std::size_t p = 0; p < pairs.size(); ++p)
        if (gain(p) > 0) order.push_back(p), largest = std::max(largest, gain(p));
    std::ranges::stable_sort(order, std::greater(), gain);
    const double little = 1e-9 * largest;
    std::map<std::array<std::size_t, 2>, std::size_t> of_jobs;
    for (const std::size_t p : order) {
        const auto [a, b] = pairs[p].jobs;
        if (may_choose(p)) of_jobs[{std::min(a, b), std::max(a, b)}] = p;
    }
    const auto between = [&](std::size_t a, std::size_t b) {
        const auto at = of_jobs.find({std::min(a, b), std::max(a, b)});
        return at == of_jobs.end() ? none : at->second;
    };
    std::vector<std::size_t> with(alone.size(), none);  // by job: its pair
    const auto partner = [&](std::size_t job) {
        const auto& jobs = pairs[with[job]].jobs;
        return jobs[0] == job ? jobs[1] : jobs[0];
    };
    const auto put = [&](std::size_t p, std::size_t now) {
        for (const std::size_t job : pairs[p].jobs) with[job] = now;
    };
    // A pair comes in for those that its jobs are in, whose other jobs may form one, too.
    bool better = !order.empty();
    for (int pass = 0; better && pass < most_passes; ++pass) {
        better = false;
        for (const std::size_t p : order) {
            const auto [a, b] = pairs[p].jobs;
            if (with[a] == p || gain(p) <= little || !may_choose(p)) continue;
            const std::size_t of_a = with[a], of_b = with[b];
            const std::size_t others = of_a != none && of_b != none ? between(partner(a), partner(b)) : none;
            if (gain(p) + gain(others) <= gain(of_a) + gain(of_b) + little) continue;
            if (of_a != none) put(of_a, none);
            if (of_b != none) put(of_b, none);
            put(p, p);
            if (others != none) put(others, others);
            better = true;
        }
    }
    PairChoice choice;
    for (const std::size_t p : order)
        if (with[pairs[p].jobs[0]] == p) choice.pairs.push_back(p);
    std::ranges::sort(choice.pairs);

    std::vector<double> dual(alone.begin(), alone.end());
    std::vector<std::vector<std::size_t>> pairs_of(alone.size());
    for (const std::size_t p : order) {
        const auto [a, b] = pairs[p].jobs;
        const double missing = pairs[p].worth - dual[a] - dual[b];
        if (missing > 0) dual[a] += missing / 2, dual[b] += missing / 2;
        pairs_of[a].push_back(p);
        pairs_of[b].push_back(p);
    }
    for (int pass = 0; pass < 3; ++pass)
        for (std::size_t j = 0; j < alone.size(); ++j) {
            double least = alone[j];
            for (const std::size_t p : pairs_of[j]) {
                const auto& jobs = pairs[p].jobs;
                least = std::max(least, pairs[p].worth - dual[jobs[0] == j ? jobs[1] : jobs[0]]);
            }
            dual[j] = least;
        }
    choice.bound = std::accumulate(dual.begin(), dual.end(), 0.0);
    return choice;
}

}  // namespace goodput::detail

#endif
