#include <goodput/allot/allot.hpp>
#include <iostream>

// An allotment: two jobs share four GPUs.
int main() {
    goodput::AllotmentProblem problem;
    problem.capacity = {4};
    for (const double worth : {3.0, 2.0}) {
        problem.add_job();
        problem.add_option(worth, {{0, 2}});
        problem.add_option(1.5 * worth, {{0, 4}});
    }
    const goodput::AllotResult result = goodput::allot(problem);
    std::cout << result.report() << "\n";
    return result.objective == 5 ? 0 : 1;
}
