// Measures how well fitted constants predict plans that were not fitted. Prints Sailor's published measured
// runs, the estimates of its simulator, and ours after a fit to all other runs, then the constants fitted
// to all runs, and how well gaps in the profiles by layer are filled.
//
//     parallel_fit_check FOLDER          the folder that holds profiles/ and measured/

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "parallel/left_out_profiles.hpp"
#include "parallel/sailor_data.hpp"

namespace {

/// Returns the mean of the absolute values, in percent, over entries for which `counts` is true.
template <class Counts>
double mean_percent(const std::vector<double>& errors, Counts counts) {
    double sum = 0, count = 0;
    for (std::size_t i = 0; i < errors.size(); ++i)
        if (counts(i)) sum += std::abs(errors[i]), count += 1;
    return 100 * sum / count;
}

void print_filled(const char* title, const support::FillErrors& errors) {
    std::printf("%-34s %5zu", title, errors.whole.size());
    for (const auto* of : {&errors.whole, &errors.layer})
        std::printf("  %6.1f %% %6.1f %% %6.1f %%", 100 * errors.quantile(*of, 0.5),
                    100 * errors.quantile(*of, 0.9),
                    100 * (of == &errors.whole ? errors.whole_cover() : errors.layer_cover()));
    std::printf("\n");
}

}  // namespace

int main(int count, char** arguments) try {
    if (count != 2) {
        std::fprintf(stderr, "parallel_fit_check FOLDER\n");
        return 2;
    }
    const support::SailorRuns data = support::read_sailor_runs(arguments[1]);
    const support::LeftOut left_out = support::leave_one_out(data.runs),
                           model_out = support::leave_one_model_out(data.runs);
    const goodput::ParallelFit fit = goodput::fit_parallel_constants(data.runs);
    std::vector<double> time, bytes;
    std::printf(
        "Errors, predicted / measured - 1: published, its model left out of our fit, itself left out, within "
        "it\n"
        "%-34s %33s   %33s\n",
        "", "iteration", "fullest GPU");
    for (std::size_t i = 0; i < data.runs.size(); ++i) {
        const goodput::ParallelRun& run = data.runs[i];
        time.push_back(data.published_seconds[i] / *run.iteration_seconds - 1);
        bytes.push_back(data.published_bytes[i] / *run.most_bytes - 1);
        const std::string name = run.name.substr(0, run.name.rfind('/'));
        const support::SailorDoubt doubt = support::sailor_doubt(run.name);
        std::printf("%-34s %6.1f %% %6.1f %% %6.1f %% %6.1f %%  %6.1f %% %6.1f %% %6.1f %% %6.1f %% %s%s%s\n",
                    name.c_str(), 100 * time[i], 100 * model_out.time_errors[i],
                    100 * left_out.time_errors[i], 100 * fit.time_errors[i], 100 * bytes[i],
                    100 * model_out.bytes_errors[i], 100 * left_out.bytes_errors[i],
                    100 * fit.bytes_errors[i], doubt.seconds ? " (time)" : "",
                    doubt.bytes ? " (memory) " : "", doubt.why.c_str());
    }
    const auto all = [](std::size_t) { return true; };
    const auto sure_of_time = [&](std::size_t i) {
        return !support::sailor_doubt(data.runs[i].name).seconds;
    };
    const auto sure_of_bytes = [&](std::size_t i) { return !support::sailor_doubt(data.runs[i].name).bytes; };
    const auto print = [&](const char* title, auto time_counts, auto bytes_counts) {
        std::printf(
            "%-34s %6.1f %% %6.1f %% %6.1f %% %6.1f %%  %6.1f %% %6.1f %% %6.1f %% %6.1f %%\n", title,
            mean_percent(time, time_counts), mean_percent(model_out.time_errors, time_counts),
            mean_percent(left_out.time_errors, time_counts), mean_percent(fit.time_errors, time_counts),
            mean_percent(bytes, bytes_counts), mean_percent(model_out.bytes_errors, bytes_counts),
            mean_percent(left_out.bytes_errors, bytes_counts), mean_percent(fit.bytes_errors, bytes_counts));
    };
    print("mean absolute error, all", all, all);
    print("without what is in doubt", sure_of_time, sure_of_bytes);
    for (const std::size_t platform : {0U, 1U})
        print(
            platform == 0 ? "  of them on GH200" : "  of them on consumer GPUs",
            [&](std::size_t i) { return sure_of_time(i) && data.runs[i].platform == platform; },
            [&](std::size_t i) { return sure_of_bytes(i) && data.runs[i].platform == platform; });
    const goodput::ParallelConstants& c = fit.on(0);
    std::printf(
        "\nConstants (standard deviation)\n"
        "layer_overhead_seconds   %.3g (%.2g)\nmessage_seconds          %.3g (%.2g)\n"
        "message_seconds_per_byte %.3g (%.2g)\nreduce_factor            %.4g (%.2g)\n"
        "activation_factor        %.4g (%.2g)\n",
        c.layer_overhead_seconds, fit.deviations[0], c.message_seconds, fit.deviations[1],
        c.message_seconds_per_byte, fit.deviations[2], c.reduce_factor, fit.deviations[3],
        c.activation_factor, fit.deviations[4]);
    for (std::size_t p = 0; p < fit.constants.size(); ++p)
        std::printf("fixed_bytes_parallel     %.4g (%.2g) on platform %zu\n", fit.on(p).fixed_bytes_parallel,
                    fit.deviations[5 + p], p);
    const support::LeftOutProfiles profiles = support::left_out_profiles(data.models);
    std::printf(
        "\nProfiles left out and filled in: error in the median, 90 %% below, within the 90 %% "
        "interval\n%-34s %5s"
        "  %24s   %24s\n",
        "", "gaps", "computing of all layers", "of one layer");
    print_filled("a sixth left out", profiles.sixth);
    print_filled("half left out", profiles.half);
    print_filled("all but one of a GPU type", profiles.one_point);
    print_filled("  of these, deviation below 15 %", profiles.one_point_sure);
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
