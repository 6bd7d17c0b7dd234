#ifndef GOODPUT_ALLOT_RULES_HPP
#define GOODPUT_ALLOT_RULES_HPP

// The rules of the search that a caller may replace: in which order the jobs are decided (branching), and how
// near to the bound is near enough (stopping).

#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

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

/// A stopping rule says by how much an objective may lie below the bound for the search to end. Asked only
/// about pairs objective <= bound; it must be monotone in the bound.
template <class S>
concept StoppingRule = requires(const S& stopping, double objective, double bound, double gap) {
    { stopping(objective, bound, gap) } -> std::convertible_to<double>;
};

/// The default: AllotOptions::gap relative to the bound, so that the unit of the values does not matter.
struct RelativeGap {
    /// Distance between bound and objective at which the search ends.
    double operator()(double, double bound, double gap) const { return gap * std::abs(bound); }
};

/// AllotOptions::gap in the unit of the values.
struct AbsoluteGap {
    /// Distance between bound and objective at which the search ends.
    double operator()(double, double, double gap) const { return gap; }
};

}  // namespace goodput

#endif
