// A certificate for an allotment.

#include <goodput/proof.hpp>
#include <goodput/proving.hpp>
#include <iostream>

int main() {
    // [proof]
    goodput::AllotmentProblem problem;
    problem.capacity = {8, 64};  // GPUs, CPU cores
    for (const double worth : {3.0, 2.0, 2.5}) {
        problem.add_job();
        problem.add_option(worth, {{0, 4}, {1, 16}});
        problem.add_option(worth * 1.6, {{0, 8}, {1, 32}});
    }
    const goodput::AllotResult result = goodput::ProvingAllotter()(problem, {.gap = 0});
    const goodput::Proof proof = goodput::write_proof(problem, result);
    std::cout << proof.text;  // the certificate, for a checker
    // [/proof]
    return proof.closed ? 0 : 1;
}
