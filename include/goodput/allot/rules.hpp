#ifndef GOODPUT_ALLOT_RULES_HPP
#define GOODPUT_ALLOT_RULES_HPP

// The two rules of the search that a caller may replace: in which order the jobs are decided (branching), and
// at which prices a partial allotment is bounded (bounding).

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

namespace goodput {

/// A branching rule orders the jobs of the core: those of small key are decided first. It sees the regrets of
/// the job's options that are left, ascending, the first one 0.
template <class B>
concept BranchingRule = requires(const B& branching, std::span<const double> regrets) {
    { branching(regrets) } -> std::convertible_to<double>;
};

/// The default: jobs whose second option costs least first, so that many states meet in equal capacities
/// early.
struct LeastRegretFirst {
    double operator()(std::span<const double> regrets) const { return regrets[1]; }
};

/// A bounding rule appends the price vectors (resources numbers each) at which states are bounded, besides
/// the best ones.
template <class B>
concept BoundingRule = requires(const B& bounding, std::span<const double> prices,
                                std::vector<double>& vectors) {
    bounding(prices, vectors);
};

/// The default: every price alone somewhat lower and higher, because a state that has used much of one
/// resource is bounded best at a higher price of it. With many resources all prices together only.
struct NearbyPrices {
    static constexpr std::array<double, 4> factors{0.8, 0.95, 1.05, 1.25};
    std::size_t most_separate_resources = 8;

    void operator()(std::span<const double> prices, std::vector<double>& vectors) const {
        const std::size_t resources = prices.size();
        const bool separate = resources <= most_separate_resources;
        for (std::size_t varied = 0; varied < (separate ? resources : 1); ++varied)
            for (const double factor : factors)
                for (std::size_t r = 0; r < resources; ++r)
                    vectors.push_back(prices[r] * (!separate || r == varied ? factor : 1));
    }
};

}  // namespace goodput

#endif
