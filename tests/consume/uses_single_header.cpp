// Uses only the one-file solver: three jobs share four GPUs.
#include <iostream>

#include "goodput_allot.hpp"

int main() {
    goodput::AllotmentProblem problem;
    problem.capacity = {4};
    for (const double worth : {3.0, 2.0, 1.0}) {
        problem.add_job();
        problem.add_option(worth, {{0, 1}});
        problem.add_option(1.5 * worth, {{0, 2}});
    }
    const goodput::AllotResult result = goodput::allot(problem, {.gap = 0});
    std::cout << result.report() << "\n" << goodput::explain(problem, result).jobs[0].report() << "\n";
    return result.objective == 7.5 && result.status == goodput::AllotStatus::optimal ? 0 : 1;
}
