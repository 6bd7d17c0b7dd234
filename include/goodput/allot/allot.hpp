#ifndef GOODPUT_ALLOT_ALLOT_HPP
#define GOODPUT_ALLOT_ALLOT_HPP

// Solves the allotment problem (problem.hpp); detail/solver.hpp says how.

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/detail/bodies.hpp"

namespace goodput {

// The rule of the search that a caller may replace: in which order the jobs are decided.

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

namespace detail {
struct Solver;
const AllotResult& solve(Kept<Solver>& solver, const AllotmentProblem& problem, const AllotOptions& options,
                         const AnyBranching& branching);
RelaxedAllotment relax(Kept<Solver>& solver, const AllotmentProblem& problem, const AllotOptions& options);
}  // namespace detail

/// The solver with its memory: keep one and call it every round; its buffers carry over, and no call
/// allocates that needs no more room than one before it. A copy begins without memory. The caller's choice at
/// compile time: in which order jobs are decided.
template <class Rule = FineGrainedFirst>
class Allotter {
    static_assert(branching_fits<Rule>());

public:
    Allotter() = default;
    /// A solver with a rule of one's own.
    explicit Allotter(Rule branching) : branching_(std::move(branching)) {}

    /// The best allotment and its certificate; the reference is valid until the next call. Bad numbers in the
    /// problem get std::invalid_argument; a hard problem gets the best allotment found, with status, bound
    /// and why it stopped.
    const AllotResult& operator()(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        if constexpr (BranchingRule<Rule>)
            return detail::solve(solver_, problem, options, detail::AnyBranching(branching_));
    }

    /// The linear relaxation's optimum, exact to rounding. Options that exceed a capacity alone count in
    /// part; those that exceed it by more than 2^30 times itself do not (those that take anything of a
    /// capacity of 0, therefore): the bound is that of the others, the prices are such that nobody wants
    /// them.
    RelaxedAllotment relax(const AllotmentProblem& problem, const AllotOptions& options = {}) {
        return detail::relax(solver_, problem, options);
    }

private:
    Rule branching_{};
    detail::Kept<detail::Solver> solver_;
};

/// Solves one problem from scratch; see Allotter for round after round.
inline AllotResult allot(const AllotmentProblem& problem, const AllotOptions& options = {}) {
    Allotter<> allotter;
    return allotter(problem, options);
}

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/allot/detail/allot.hpp"
#endif

#endif
