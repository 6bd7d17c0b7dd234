#ifndef GOODPUT_ALLOT_DETAIL_BRANCHING_HPP
#define GOODPUT_ALLOT_DETAIL_BRANCHING_HPP

// The rule of the search that a caller may replace: the order in which jobs are decided.

#include <concepts>
#include <span>
#include <utility>

namespace goodput::inline v0_1 {

/// A branching rule orders the jobs that the prices leave undecided. It returns a key for each job, and
/// jobs with small keys are decided first. The rule sees two things. `regrets` are the reduced costs of the
/// options that the job may take, in ascending order: how far each option lies below the job's best one,
/// value less price of its uses. The first of them is 0. `granule` is the greatest common divisor of the
/// units by which these options differ, or 0 if these are not whole numbers.
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

/// The default rule. Jobs with a small granule come first. Once they are decided, all later changes are
/// multiples of a larger granule, so a remainder below it is surely of no use. Among jobs of the same
/// granule, those whose second-best option has the least regret come first, so that many states soon have
/// equal capacities left and can be merged.
struct FineGrainedFirst {
    /// Returns the key of a job: its granule, then the regret of its second-best option.
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

}  // namespace goodput::inline v0_1

#endif
