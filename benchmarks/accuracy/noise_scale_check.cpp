// Measures how good gradient statistics and their predictions are. Prints, in one run,
//
// 1. relative errors of squared norm, variance and noise scale after 1,000 steps on a quadratic with known
//    gradient covariance: 1 and 8 replicas, SGD's metric and Adam's; a larger part of the noise in one
//    direction makes it harder for any estimator;
// 2. by application, the error of the efficiency that statistics measured at one batch size predict for
//    another (all ordered pairs), compared with that of the run at that other size; and the same for a
//    third batch size from two others.
//
//     noise_scale_check FOLDER          FOLDER/APPLICATION/validation-BATCH.csv, as published with Sia

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/noisy_quadratic.hpp"
#include "support/validation.hpp"

namespace {

constexpr std::uint64_t seeds = 20;

void print_noise_scale(double common) {
    std::printf(
        "Noise scale after 1,000 steps, 1,000 parameters, %.0f %% of the variance in one direction:\n"
        "relative error, median and worst of %d seeds; seeds with any error beyond 5 %%\n"
        "%-30s %15s %15s %15s\n",
        100 * common, static_cast<int>(seeds), "", "squared norm", "variance", "noise scale");
    for (const int replicas : {1, 8})
        for (const bool adam : {false, true}) {
            std::vector<double> norm, variance, scale;
            int beyond = 0;
            for (std::uint64_t seed = 0; seed < seeds; ++seed) {
                const support::NoiseScaleErrors errors =
                    support::noise_scale_errors(replicas, adam, seed, common);
                norm.push_back(errors.squared_norm);
                variance.push_back(errors.variance);
                scale.push_back(errors.noise_scale);
                beyond += errors.largest() > 0.05;
            }
            const std::string name = std::to_string(replicas) +
                                     (replicas == 1 ? " replica (differenced), " : " replicas, ") +
                                     (adam ? "Adam" : "SGD");
            std::printf("%-30s", name.c_str());
            for (const auto* values : {&norm, &variance, &scale})
                std::printf("  %5.2f %% %5.2f %%", 100 * support::median(*values),
                            100 * support::quantile(*values, 1));
            std::printf("  %2d\n", beyond);
        }
    std::printf("\n");
}

void print_report(const std::string& name, const support::EfficiencyReport& report) {
    std::string worst;
    for (const int batch : report.worst_known)
        worst.append(worst.empty() ? "" : "+").append(std::to_string(batch));
    worst.append(" -> ").append(std::to_string(report.worst_asked));
    std::printf("%-12s %7.2f %% %7.2f %% %7.2f %%   %6.2f %% (%s), %d of %d\n", name.c_str(),
                100 * support::median(report.all), 100 * support::median(report.upward),
                100 * support::quantile(report.all, 0.9), 100 * report.worst_median, worst.c_str(),
                report.beyond_ten_percent, report.combinations);
}

void print_efficiency(const std::string& folder) {
    std::map<std::string, support::ValidationRuns> applications;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_directory())
            applications[entry.path().filename().string()] = support::read_validation(entry.path().string());
    const char* const head = "%-12s %9s %9s %9s   worst combination by its median; beyond 10 %%\n";
    using enum support::EfficiencyTruth;
    std::printf("Efficiency at another batch size from statistics at one: relative error\n");
    std::printf(head, "", "median", "upward", "90 %");
    for (const auto& [name, runs] : applications) print_report(name, support::efficiency_report(runs, 1));
    std::printf("\nThe same against the formula with the other run's own statistics\n");
    std::printf(head, "", "median", "upward", "90 %");
    for (const auto& [name, runs] : applications)
        print_report(name, support::efficiency_report(runs, 1, own_statistics));
    std::printf("\nEfficiency at a third batch size from statistics at two (upward: above both)\n");
    std::printf(head, "", "median", "upward", "90 %");
    for (const auto& [name, runs] : applications) print_report(name, support::efficiency_report(runs, 2));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: noise_scale_check FOLDER\n");
        return 2;
    }
    try {
        for (const double common : {0.0, 0.03, 0.1}) print_noise_scale(common);
        print_efficiency(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
