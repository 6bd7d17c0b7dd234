#include <goodput/allot/allot.hpp>
#include <iostream>

void fit(), place();  // in fit.cpp and place.cpp, where the options allow them

int main() {
    goodput::AllotmentProblem problem;  // 4 GPUs and one job
    problem.capacity = {4};
    problem.add_job();
    problem.add_option(2, {{0, 2}});
    std::cout << goodput::allot(problem).report() << "\n";
    if constexpr (WITH_CERES) fit();
    if constexpr (WITH_GRAPH) place();
}
