// The allotment solver alone, on values and uses. It knows nothing about GPUs or models.

#include <chrono>
#include <goodput/allot/allot.hpp>
#include <goodput/allot/conflict.hpp>
#include <goodput/allot/explain.hpp>
#include <iostream>

int main() {
    // [solve]
    goodput::AllotmentProblem problem;
    problem.capacity = {8, 64};  // GPUs, CPU cores
    for (const double worth : {3.0, 2.0, 2.5}) {
        problem.add_job();
        problem.add_option(worth, {{0, 4}, {1, 16}});        // 4 GPUs with 16 cores
        problem.add_option(worth * 1.2, {{0, 4}, {1, 32}});  // with 32 cores it is faster
        problem.add_option(worth * 1.6, {{0, 8}, {1, 32}});  // and with 8 GPUs
    }
    using namespace std::chrono_literals;
    goodput::Allotter<> allotter;  // keep it: the next round reuses its memory
    const goodput::AllotResult& result = allotter(problem, {.gap = 0, .deadline = 50ms});
    // [/solve]
    std::cout << result.report() << "\n";
    for (std::size_t job = 0; job < problem.jobs(); ++job)
        if (result.choice[job] == goodput::no_option)
            std::cout << "job " << job << " waits\n";
        else
            std::cout << "job " << job << " gets option " << result.choice[job] << "\n";

    // [explain]
    const goodput::Explanation why = goodput::explain(problem, result);
    for (const goodput::JobExplanation& job : why.jobs) std::cout << job.report() << "\n";
    for (const goodput::ResourceExplanation& resource : why.resources) std::cout << resource.report() << "\n";
    // [/explain]

    // [conflict]
    goodput::AllotmentProblem must;
    must.capacity = {8};
    for (const double gpus : {4.0, 2.0, 4.0, 1.0, 4.0}) {
        must.add_job(true);  // one of its options has to be chosen
        must.add_option(1, {{0, gpus}});
    }
    std::cout << goodput::conflict_of(must).report() << "\n";
    // [/conflict]
    return 0;
}
