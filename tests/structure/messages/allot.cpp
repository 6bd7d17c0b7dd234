#include <goodput/allot/allot.hpp>

using namespace goodput;

struct Right {
    std::pair<double, double> operator()(std::span<const double>, double) const { return {1, 1}; }
};
AllotmentProblem problem;
AllotResult right = Allotter<Right>()(problem);

struct Missing {};
// says: BranchingRule: operator() is missing, or is not:
AllotResult missing = Allotter<Missing>()(problem);

struct OneNumber {
    double operator()(std::span<const double>, double) const { return 1; }
};
// says: BranchingRule: operator() is missing, or is not: std::pair<double, double>
AllotResult one_number = Allotter(OneNumber{})(problem);

struct NotConst {
    std::pair<double, double> operator()(std::span<const double>, double) { return {1, 1}; }
};
// says: BranchingRule: operator() is missing, or is not:
Allotter<NotConst> not_const;
