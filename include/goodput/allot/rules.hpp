#ifndef GOODPUT_ALLOT_RULES_HPP
#define GOODPUT_ALLOT_RULES_HPP

// The rules of the search that a caller may replace: in which order the jobs are decided (branching), at
// which prices a partial allotment is bounded (bounding), and how near to the bound is near enough
// (stopping).

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace goodput {

/// A branching rule orders the jobs of the core: those of small key are decided first. It sees the regrets of
/// the options that a job may take, ascending, the first one 0, and the granule of what changing between them
/// takes: the greatest common divisor of these numbers of units, 0 where they are no whole numbers.
template <class B>
concept BranchingRule = requires(const B& branching, std::span<const double> regrets, double granule) {
    { branching(regrets, granule) } -> std::convertible_to<std::pair<double, double>>;
};

/// The default. Jobs that can take odd numbers of units first: once they are decided, it is known how many
/// units nobody else is small enough for. Then jobs whose second option costs least, so that many states meet
/// in equal capacities early.
struct FineGrainedFirst {
    /// The key of a job: odd numbers of units first, then the smaller second regret.
    std::pair<double, double> operator()(std::span<const double> regrets, double granule) const {
        return {granule, regrets[1]};
    }
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
    /// By what each price is multiplied in turn.
    static constexpr std::array<double, 4> factors{0.8, 0.95, 1.05, 1.25};
    std::size_t most_separate_resources = 8;  ///< with more resources all prices are multiplied together

    /// Appends the price vectors to `vectors`, resources numbers each.
    void operator()(std::span<const double> prices, std::vector<double>& vectors) const {
        const std::size_t resources = prices.size();
        const bool separate = resources <= most_separate_resources;
        for (std::size_t varied = 0; varied < (separate ? resources : 1); ++varied)
            for (const double factor : factors)
                for (std::size_t r = 0; r < resources; ++r)
                    vectors.push_back(prices[r] * (!separate || r == varied ? factor : 1));
    }
};

/// A stopping rule says by how much an objective may lie below the bound for the search to end. Asked only
/// about pairs objective <= bound; it must be monotone in the bound.
template <class S>
concept StoppingRule = requires(const S& stopping, double objective, double bound, double gap) {
    { stopping(objective, bound, gap) } -> std::convertible_to<double>;
};

/// The default: AllotOptions::gap relative to the bound, or absolute where that is below 1.
struct RelativeGap {
    /// Distance between bound and objective at which the search ends.
    double operator()(double, double bound, double gap) const { return gap * std::max(1.0, std::abs(bound)); }
};

/// AllotOptions::gap in the unit of the values.
struct AbsoluteGap {
    /// Distance between bound and objective at which the search ends.
    double operator()(double, double, double gap) const { return gap; }
};

}  // namespace goodput

#endif
