#include <goodput/allot/allot.hpp>

using namespace goodput;

struct Right {
    std::pair<double, double> operator()(std::span<const double>, double) const { return {1, 1}; }
};
static_assert(BranchingRule<Right>);
Allotter<Right> allotter;
AllotmentProblem problem;

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
