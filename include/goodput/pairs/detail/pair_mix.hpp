#ifndef GOODPUT_PAIRS_DETAIL_PAIR_MIX_HPP
#define GOODPUT_PAIRS_DETAIL_PAIR_MIX_HPP

// Decides which of some disjoint pairs run together, by an allotment in which a pair and its two jobs are
// one job. Its options are the two jobs together, each of them alone, and both apart on GPUs of their own.
// So no row has to let each job run only once, and the allotment is as easy as one of single jobs.
//
// If every option of one job could go with every option of the other, a pair would have too many options.
// So for a job in a pair, only the options that are best at some multiple of the prices are offered, and
// the best one of each pool.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

/// GPUs that two jobs may have together.
struct PairOffer {
    double value = 0;
    std::vector<ResourceUse> uses{};
};

/// Two jobs that run together, apart, or not at all.
struct MixedPair {
    std::array<std::size_t, 2> jobs{};
    std::vector<PairOffer> offers{};  ///< offers to both together
    bool must = false;                ///< true: the two run together in any case
};

/// The best mix.
struct PairMix {
    /// By pair: index of its offer; no_option if it does not run together.
    std::vector<std::size_t> offers{};
    double objective = 0;
    std::vector<double> prices{};  ///< by resource
};

/// Builds and solves such allotments. `Counts` is bool(resource): false for a resource of the problem that
/// only lets a job run once, which is left out.
template <class Counts>
class PairMixer {
public:
    /// `problem` has jobs 0 to `jobs` - 1 with what each of them may have alone; `prices` are by resource.
    PairMixer(const AllotmentProblem& problem, std::size_t jobs, std::span<const double> prices,
              Counts counts)
        : problem_(problem), jobs_(jobs), prices_(prices), counts_(counts) {}

    /// Returns the best mix of these disjoint pairs and all other jobs. Without an answer, its prices are
    /// empty.
    [[nodiscard]] PairMix mix(std::span<const MixedPair> pairs, Allotter<>& allotter,
                              const AllotOptions& options) const {
        AllotmentProblem posed{.capacity = problem_.capacity};
        std::vector<char> in_pair(jobs_);
        for (const MixedPair& pair : pairs) {
            posed.add_job(pair.must);
            for (const PairOffer& offer : pair.offers) posed.add_option(offer.value, offer.uses);
            for (const std::size_t job : pair.jobs) in_pair[job] = 1;
            if (!pair.must) add_alone(pair.jobs, posed);
        }
        for (std::size_t j = 0; j < jobs_; ++j) {
            if (in_pair[j]) continue;
            posed.add_job(problem_.must(j));
            for (std::size_t k = 0; k < problem_.options_of(j); ++k)
                posed.add_option(problem_.value(j, k), uses(j, k));
        }
        const AllotResult& found = allotter(posed, options);
        PairMix mix{.offers = std::vector<std::size_t>(pairs.size(), no_option)};
        if (!found_allotment(found.status)) return mix;
        for (std::size_t p = 0; p < pairs.size(); ++p)
            if (found.choice[p] < pairs[p].offers.size()) mix.offers[p] = found.choice[p];
        mix.objective = found.objective;
        mix.prices = found.prices;
        return mix;
    }

    /// Returns what an option of a job uses.
    [[nodiscard]] std::vector<ResourceUse> uses(std::size_t job, std::size_t option) const {
        std::vector<ResourceUse> counted;
        for (const ResourceUse& use : problem_.uses(job, option))
            if (counts_(use.resource)) counted.push_back(use);
        return counted;
    }
    /// Returns what two options of two jobs use together, each times `part`.
    [[nodiscard]] std::vector<ResourceUse> both_uses(std::array<std::size_t, 2> jobs,
                                                     std::array<std::size_t, 2> options, double part) const {
        std::map<std::uint32_t, double> units;
        for (std::size_t i = 0; i < 2; ++i)
            for (const ResourceUse& use : uses(jobs[i], options[i])) units[use.resource] += part * use.units;
        std::vector<ResourceUse> sum;
        for (const auto& [resource, taken] : units) sum.push_back({resource, taken});
        return sum;
    }

private:
    static constexpr std::array price_multiples{0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 4.0};

    void add_alone(std::array<std::size_t, 2> jobs, AllotmentProblem& posed) const {
        const std::array<std::vector<std::size_t>, 2> likely{likely_options(jobs[0]),
                                                             likely_options(jobs[1])};
        for (std::size_t i = 0; i < 2; ++i)
            for (const std::size_t k : likely[i])
                posed.add_option(problem_.value(jobs[i], k), uses(jobs[i], k));
        for (const std::size_t k : likely[0])
            for (const std::size_t l : likely[1])
                posed.add_option(problem_.value(jobs[0], k) + problem_.value(jobs[1], l),
                                 both_uses(jobs, {k, l}, 1));
    }
    [[nodiscard]] std::vector<std::size_t> likely_options(std::size_t job) const {
        std::vector<std::size_t> likely;
        std::map<std::size_t, std::pair<double, std::size_t>> best_of_pool;
        std::array<double, price_multiples.size()> best{};
        std::array<std::size_t, price_multiples.size()> best_option{};
        best_option.fill(no_option);
        for (std::size_t k = 0; k < problem_.options_of(job); ++k) {
            const double value = problem_.value(job, k);
            if (!(value > 0)) continue;
            double price = 0;
            std::size_t pool = no_option;
            for (const ResourceUse& use : problem_.uses(job, k)) {
                if (!counts_(use.resource)) continue;
                price += use.units * prices_[use.resource];
                pool = std::min<std::size_t>(pool, use.resource);
            }
            for (std::size_t m = 0; m < best.size(); ++m) {
                const double above = value - price_multiples[m] * price;
                if (best_option[m] != no_option && above <= best[m]) continue;
                best[m] = above;
                best_option[m] = k;
            }
            const auto [at, is_new] = best_of_pool.try_emplace(pool, value - price, k);
            if (!is_new && value - price > at->second.first) at->second = {value - price, k};
        }
        for (const std::size_t k : best_option)
            if (k != no_option) likely.push_back(k);
        for (const auto& [pool, option] : best_of_pool) likely.push_back(option.second);
        std::ranges::sort(likely);
        likely.erase(std::unique(likely.begin(), likely.end()), likely.end());
        return likely;
    }

    const AllotmentProblem& problem_;
    std::size_t jobs_;
    std::span<const double> prices_;
    Counts counts_;
};

}  // namespace goodput::inline v0_1::detail

#endif
