#ifndef GOODPUT_ALLOT_DETAIL_BRANCHING_HPP
#define GOODPUT_ALLOT_DETAIL_BRANCHING_HPP

// The rule of the search that a caller may replace: the order in which jobs are decided.

#include <concepts>
#include <span>
#include <utility>

namespace goodput {

/// A branching rule orders the jobs of the core: jobs with small keys are decided first. The rule sees two
/// things: the regrets of the options that a job may take, in ascending order, the first of which is 0; and
/// the granule of the changes between these options, which is the greatest common divisor of the units, or
/// 0 if they are not whole numbers.
template <class B>
concept BranchingRule = requires(const B& branching, std::span<const double> regrets, double granule) {
    { branching(regrets, granule) } -> std::convertible_to<std::pair<double, double>>;
};

/// Refuses to compile for a type that is not a branching rule, and says in one line what is wrong.
template <class B>
consteval bool branching_fits() {
    static_assert(BranchingRule<B>,
                  "BranchingRule: operator() is missing, or is not: std::pair<double, double> "
                  "operator()(std::span<const double> regrets, double granule) const");
    return true;
}

/// The default rule. Jobs that can take odd numbers of units come first: once they are decided, it is clear
/// how many units no smaller job is left for. Then come jobs whose second option costs least, so that many
/// states soon have equal capacities left.
struct FineGrainedFirst {
    /// Returns the key of a job: odd numbers of units first, then the smaller second regret.
    std::pair<double, double> operator()(std::span<const double> regrets, double granule) const {
        return {granule, regrets[1]};
    }
};

namespace detail {

/// A branching rule of any type, so that the search is compiled once for all of them. The rule must outlive
/// this object.
class AnyBranching {
public:
    template <BranchingRule Branching>
    explicit AnyBranching(const Branching& rule)
        : rule_(&rule), key_([](const void* any, std::span<const double> regrets, double granule) {
              return std::pair<double, double>((*static_cast<const Branching*>(any))(regrets, granule));
          }) {}

    std::pair<double, double> operator()(std::span<const double> regrets, double granule) const {
        return key_(rule_, regrets, granule);
    }

private:
    const void* rule_;
    std::pair<double, double> (*key_)(const void*, std::span<const double>, double);
};

}  // namespace detail

}  // namespace goodput

#endif
