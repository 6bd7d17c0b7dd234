// Times an allotment under many limits: 1,000 jobs, 10,000 GPUs in six pools, a quota for each of 40 teams,
// some of them also by GPU type, and a budget: about 60 resources. Measures CPU time to a proven gap of
// 1e-3, each problem with a new solver.
//
// usage: allot_limits [PROBLEMS [SEED [GPUS]]]          200 1 10000
//        allot_limits --write PROBLEMS SEED [GPUS]      the problems in the form of `goodput allot`
//
// To compare with HiGHS:
//        allot_limits --write 20 1 | gzip > FOLDER/limits.jsonl.gz
//        compare_allot.py allot_general_solvers FOLDER --solvers highs --time-limit 60

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/allot/allot.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

namespace {

using namespace goodput;

constexpr double gap = 1e-3;

AllotmentProblem problem_of(int seed, int number, int gpus) {
    support::Random random(static_cast<std::uint64_t>(seed) * 100'000 + static_cast<std::uint64_t>(number));
    return support::limits_problem(random, gpus);
}

void write(const AllotmentProblem& problem) {
    std::printf("{\"gap\":%g,\"capacity\":[", gap);
    for (std::size_t r = 0; r < problem.capacity.size(); ++r)
        std::printf("%s%.17g", r == 0 ? "" : ",", problem.capacity[r]);
    std::printf("],\"jobs\":[");
    for (std::size_t job = 0; job < problem.jobs(); ++job) {
        std::printf("%s{\"options\":[", job == 0 ? "" : ",");
        for (std::size_t k = 0; k < problem.options_of(job); ++k) {
            std::printf("%s{\"value\":%.17g,\"use\":[", k == 0 ? "" : ",", problem.value(job, k));
            for (std::size_t i = 0; i < problem.uses(job, k).size(); ++i) {
                const ResourceUse& use = problem.uses(job, k)[i];
                std::printf("%s[%u,%.17g]", i == 0 ? "" : ",", use.resource, use.units);
            }
            std::printf("]}");
        }
        std::printf("]}");
    }
    std::printf("]}\n");
}

void print(const char* what, std::vector<double> values, const char* unit) {
    std::sort(values.begin(), values.end());
    const auto at = [&](double part) {
        return values[std::min(values.size() - 1,
                               static_cast<std::size_t>(part * static_cast<double>(values.size())))];
    };
    std::printf("%-22s median %8.3g, p90 %8.3g, p99 %8.3g, worst %8.3g %s\n", what, at(0.5), at(0.9),
                at(0.99), values.back(), unit);
}

}  // namespace

int main(int argc, char** argv) {
    const bool writes = argc > 1 && std::strcmp(argv[1], "--write") == 0;
    const auto number = [&](int at, int otherwise) {
        const int index = at + (writes ? 1 : 0);
        return index < argc ? std::atoi(argv[index]) : otherwise;
    };
    const int problems = number(1, 200), seed = number(2, 1), gpus = number(3, 10'000);
    if (problems < 1 || seed < 0 || gpus < 10) {
        std::fprintf(stderr, "usage: allot_limits [--write] [PROBLEMS [SEED [GPUS]]]\n");
        return 2;
    }
    std::vector<double> milliseconds, gaps, rows, binding, options;
    int proven = 0;
    for (int i = 0; i < problems; ++i) {
        const AllotmentProblem problem = problem_of(seed, i, gpus);
        if (writes) {
            write(problem);
            continue;
        }
        AllotResult result;
        milliseconds.push_back(
            benchmarks::least_milliseconds([] {}, [&] { result = allot(problem, {.gap = gap}); }));
        proven += result.status == AllotStatus::optimal ? 1 : 0;
        gaps.push_back(result.gap() / std::max(1.0, std::abs(result.bound)));
        rows.push_back(static_cast<double>(problem.capacity.size()));
        binding.push_back(static_cast<double>(
            std::ranges::count_if(result.prices, [](double price) { return price > 1e-9; })));
        options.push_back(static_cast<double>(problem.options()));
    }
    if (writes) return 0;
    std::printf("%d of %d proven to %g\n", proven, problems, gap);
    print("CPU time", milliseconds, "ms");
    print("gap", gaps, "");
    print("resources", rows, "");
    print("of which have a price", binding, "");
    print("options", options, "");
}
