// Shares of time on two GPU types: which job runs where for how long, and the prices that prove that no job
// could do better.

#include <goodput/share/share_time.hpp>
#include <goodput/share/water_filling.hpp>
#include <iostream>
#include <string_view>

int main() {
    // [solve]
    goodput::ShareProblem problem;
    problem.gpus = {8, 4};  // old ones, new ones
    problem.jobs = {
        // steps/s of all its workers on the old and on the new type
        {.name = "resnet", .workers = 4, .rates = {6, 24}, .steps_left = 60'000},
        {.name = "bert", .workers = 8, .rates = {4, 9}, .steps_left = 30'000},
        {.name = "vae", .workers = 1, .weight = 2, .rates = {50, 60}, .steps_left = 90'000},
        {.name = "gpt", .workers = 4, .rates = {0, 5}, .steps_left = 20'000},  // too large for the old type
    };
    const auto print = [&](std::string_view name, const goodput::ShareResult& result) {
        std::cout << name << ": " << result.report() << "\n";
        for (std::size_t job = 0; job < problem.jobs.size(); ++job)
            std::cout << "  " << problem.jobs[job].name << ": " << result.of(job)[0]
                      << " of its time on old, " << result.of(job)[1] << " on new: " << result.rates[job]
                      << " steps/s\n";
    };
    std::cout.precision(3);
    const goodput::ShareOptions options{.least_part = 1e-6};  // of a job's largest share: less is left out
    print("largest minimum", goodput::share_time(problem, goodput::MaxMin(), options));
    print("water filling", goodput::fill_water(problem, {}, options));
    // [/solve]

    // [prices]
    const goodput::ShareResult fastest = goodput::share_time(problem, goodput::Makespan());
    std::cout << "all are done in " << fastest.objective << " s; with one GPU more of the new type about "
              << fastest.prices[1] << " s earlier, of the old type " << fastest.prices[0] << " s\n";
    // [/prices]
    return 0;
}
