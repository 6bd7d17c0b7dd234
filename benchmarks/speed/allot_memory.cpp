// Measures the memory of an allotment: the peak resident memory after the problem was made, after a cold
// call and after a warm one. The first problem has JOBS jobs, as a cluster's scheduler poses it. The second
// one is searched until as many states are kept as AllotOptions::memory_states allows.
//
// usage: allot_memory [JOBS]
//
// JOBS: 100000.

#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

namespace {

using namespace goodput;
using support::Random;

void print(const char* what) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("  peak %7.1f MiB after %s\n", static_cast<double>(usage.ru_maxrss) / 1024, what);
    std::fflush(stdout);
}

void solve(Allotter<>& allotter, const AllotmentProblem& problem, const char* what,
           const AllotOptions& options) {
    const AllotResult& result = allotter(problem, options);
    print(what);
    std::printf("    %s\n", result.report().c_str());
}

}  // namespace

int main(int argc, char** argv) {
    const int jobs = argc > 1 ? std::atoi(argv[1]) : 100000;
    if (argc > 2 || jobs < 1) {
        std::fprintf(stderr, "usage: allot_memory [JOBS]\n");
        return 2;
    }
    Random random(1);
    const AllotmentProblem problem = support::cluster_problem(random, 4 * jobs);
    std::printf("%d jobs, %zu options\n", jobs, problem.options());
    print("making the problem");
    Allotter<> allotter;
    solve(allotter, problem, "a cold call", {});
    solve(allotter, problem, "a warm call", {});
    solve(allotter, problem, "a call with gap 0", {.gap = 0});
    std::printf("the same allotter, a problem without end, no limit on the work\n");
    solve(allotter, support::hard_problem(random, 60), "a call that used up memory_states",
          {.gap = 0, .most_states = std::numeric_limits<std::size_t>::max()});
}
