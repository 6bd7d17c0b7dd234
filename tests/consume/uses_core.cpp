// Uses only goodput::core: solves an allotment, and compares the version.

#include <goodput/allot/allot.hpp>
#include <goodput/version.hpp>

int main() {
    goodput::AllotmentProblem problem;  // 4 GPUs; the first job would like all of them
    problem.capacity = {4};
    problem.add_job();
    problem.add_option(3, {{0, 4}});
    problem.add_option(2, {{0, 2}});
    problem.add_job();
    problem.add_option(2, {{0, 2}});
    const goodput::AllotResult result = goodput::allot(problem);
    return result.objective == 4 && result.choice[0] == 1 && goodput::version == CONSUMER_VERSION ? 0 : 1;
}
