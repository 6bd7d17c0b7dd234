// From measurements to a model that states its uncertainty, and to the runs from which it would learn most.

#include <goodput/fit/job_fit.hpp>
#include <goodput/fit/least_squares.hpp>
#include <goodput/fit/minimise.hpp>
#include <goodput/fit/noise_scale.hpp>
#include <goodput/hosts/host_fit.hpp>
#include <goodput/hosts/host_profile.hpp>
#include <goodput/statistics/profile_runs.hpp>
#include <goodput/tasks/forecast.hpp>
#include <iostream>
#include <span>

using namespace goodput;

// [minimiser]
/// The usual one, which says how long it took.
Minimisation minimise_and_tell(const AnyResiduals& residuals, std::span<double> y,
                               const LeastSquaresOptions& options, MinimiserBuffers& buffers) {
    const Minimisation end = minimise_with_tiny_solver(residuals, y, options, buffers);
    std::cout << residuals.parameters() << " parameters: " << end.iterations << " steps\n";
    return end;
}
// [/minimiser]

int main() {
    // [fit]
    const std::vector<std::vector<ThroughputSample>> measured{
        // on GPU type 0: {nodes, replicas}, {atomic batch, accumulation}, step s, of it synchronising s
        {{{1, 1}, {64, 0}, 0.120, 0.000},
         {{1, 1}, {128, 0}, 0.190, 0.000},
         {{1, 2}, {128, 0}, 0.205, 0.030},
         {{1, 4}, {128, 0}, 0.212, 0.041}},
        // on GPU type 1 it has only run on one GPU
        {{{1, 1}, {128, 0}, 0.080, 0.000}}};
    std::vector<TypeFit> types(2);
    JobFitter fitter;
    fitter(measured, types);
    for (std::size_t type = 0; type < types.size(); ++type) {
        const Forecast forecast(types[type].fit, {1, 8}, {128, 0});
        const Interval range = forecast.interval(0.9);
        std::cout << "8 GPUs of type " << type << ": " << forecast.median() << " s, 90 % from " << range.low
                  << " to " << range.high << " s\n";
    }
    std::cout << types[0].fit.report() << "\n";
    // [/fit]

    // [minimise]
    const RefinedFit one = JobFitter({}, minimise_and_tell).fit(measured[0]);
    // [/minimise]
    std::cout << one.report() << "\n";

    // [profile]
    std::vector<Option> options;
    for (std::size_t type = 0; type < types.size(); ++type)
        for (const int gpus : {1, 2, 4, 8})
            options.push_back({.configuration = {type, 8, {1, gpus}}, .plan = {128, 0}});
    const ProfileRuns runs = choose_profile_runs(options, options, types, {.gpu_seconds = 600});
    std::cout << runs.report() << "\n";
    // [/profile]

    // [noise]
    NoiseScaleEstimator noise;
    // 100 steps of 4 gradients, twice the initial batch together: mean of their squared norms, square of
    // their mean
    for (int step = 0; step < 100; ++step)
        noise.observe({.mean_of_squares = 2.5, .square_of_mean = 1.0, .count = 4, .scale = 2});
    std::cout << "squared norm " << noise.statistics().squared_norm << ", variance "
              << noise.statistics().variance << "\n";
    // [/noise]

    // [host]
    std::vector<HostShare> shares;
    for (const double cores : {1, 2, 3, 4, 6, 8, 12})
        for (const double gib : {32, 64, 128}) shares.push_back({cores, gib});
    // Stands in for the job: a step computes for 0.1 s, a core prepares it in 0.6 s, 100 GiB are read.
    const HostSpeedModel job{
        .compute_seconds = 0.1, .preparation_seconds = 0.6, .storage_seconds = 0.25, .cached_gib = 100};
    std::vector<HostSample> steps;
    while (const auto next = next_host_share(HostFit(steps), shares).next)
        steps.push_back({*next, 1 / job.seconds(*next)});
    const HostFit host(steps);
    const HostForecast forecast = host.forecast({3, 128});
    const Interval range = forecast.interval(0.9);
    std::cout << steps.size() << " of " << shares.size() << " shares measured; with 3 cores and 128 GiB "
              << forecast.speed << " steps/s, 90 % from " << range.low << " to " << range.high << "; truly "
              << job.speed({3, 128}) << "\n";
    HostNeeds needs{.least = {1, 32}, .most = {12, 128}};
    needs.speed = host_speed_points(host, needs.least, needs.most, {3, 64});  // for Job::host
    // [/host]
    return 0;
}
