#include <goodput/allot/allot.hpp>

using namespace goodput;

struct Right {
    std::pair<double, double> operator()(std::span<const double>, double) const { return {1, 1}; }
};
static_assert(BranchingRule<Right>);
Allotter<Right> allotter;
BasicAllotmentProblem<int> problem;

struct Missing {};
// says: BranchingRule
// says: branching(regrets, granule)
static_assert(BranchingRule<Missing>);
// says: BranchingRule
// says: branching(regrets, granule)
Allotter<Missing> no_allotter;

struct OneNumber {
    double operator()(std::span<const double>, double) const { return 1; }
};
// says: BranchingRule
// says: branching(regrets, granule)
// says: pair<double, double>
static_assert(BranchingRule<OneNumber>);

struct NotConst {
    std::pair<double, double> operator()(std::span<const double>, double) { return {1, 1}; }
};
// says: BranchingRule
// says: const
// says: branching(regrets, granule)
static_assert(BranchingRule<NotConst>);

struct ReturnsPrices {
    std::vector<double> operator()(std::span<const double>) const { return {}; }
};
// says: BoundingRule
// says: bounding(prices, vectors)
static_assert(BoundingRule<ReturnsPrices>);

struct WithoutGap {
    double operator()(double, double) const { return 1; }
};
// says: StoppingRule
// says: stopping(objective, bound, gap)
static_assert(StoppingRule<WithoutGap>);

struct ReturnsNothing {
    template <class Problem, class Relaxation, class Incumbent>
    void operator()(const Problem&, const Relaxation&, Incumbent&) {}
};
// says: PrimalHeuristic
// says: heuristic(problem, relaxation, incumbent)
// says: bool
static_assert(PrimalHeuristic<ReturnsNothing>);

// says: AllotmentValue
// says: same_as<V, bool>
BasicAllotmentProblem<bool> flags;

struct Cents {
    long long number = 0;
};
// says: AllotmentValue
// says: floating_point<V>
// says: integral<V>
BasicAllotmentProblem<Cents> cents;
