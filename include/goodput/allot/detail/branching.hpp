#ifndef GOODPUT_ALLOT_DETAIL_BRANCHING_HPP
#define GOODPUT_ALLOT_DETAIL_BRANCHING_HPP

// The rule of the search that a caller may replace: in which order the jobs are decided.

#include <concepts>
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

/// Does not compile for what is not quite a branching rule, and says in one line what is wrong.
template <class B>
consteval bool branching_fits() {
    static_assert(BranchingRule<B>,
                  "BranchingRule: operator() is missing, or is not: std::pair<double, double> "
                  "operator()(std::span<const double> regrets, double granule) const");
    return true;
}

/// The default. Jobs that can take odd numbers of units first: once they are decided, it is known how many
/// units nobody else is small enough for. Then jobs whose second option costs least, so that many states meet
/// in equal capacities early.
struct FineGrainedFirst {
    /// The key of a job: odd numbers of units first, then the smaller second regret.
    std::pair<double, double> operator()(std::span<const double> regrets, double granule) const {
        return {granule, regrets[1]};
    }
};

namespace detail {

/// A branching rule of any type, which has to live as long as this does: the search is compiled once for all.
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
