// Prints the table of program/replay/embedded.cpp from a folder of profiles: what the library's fit finds
// for public measurements.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "peers/pollux/throughput_fit.hpp"
#include "support/profiles.hpp"

namespace {

/// ln(noise scale) = first + slope * fraction of progress, by least squares over all epochs and batch sizes.
void print_training(const std::string& folder, const std::string& application, double share) {
    std::map<int, support::Csv> tables;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("validation-", 0) == 0)
            tables[std::stoi(name.substr(11))] = support::read_csv(entry.path().string());
    }
    std::vector<double> progress;
    for (const auto& [batch, table] : tables) {
        const auto& column = support::column(table, "progress", folder);
        progress.resize(std::max(progress.size(), column.size()), std::numeric_limits<double>::infinity());
        for (std::size_t e = 0; e < column.size(); ++e)
            progress[e] = std::min(progress[e], support::number<double>(column[e], folder));
    }
    const double initial = tables.begin()->first;
    double n = 0, x1 = 0, x2 = 0, y1 = 0, xy = 0;
    for (const auto& [batch, table] : tables) {
        const auto &sqr = support::column(table, "grad_sqr", folder),
                   &var = support::column(table, "grad_var", folder);
        for (std::size_t e = 0; e < sqr.size(); ++e) {
            const double norm = support::number<double>(sqr[e], folder),
                         variance = support::number<double>(var[e], folder);
            if (!(norm > 0 && variance > 0)) continue;
            const double x = ((e == 0 ? 0 : progress[e - 1]) + progress[e]) / 2 / progress.back();
            const double y = std::log(initial * variance / norm);
            n += 1, x1 += x, x2 += x * x, y1 += y, xy += x * y;
        }
    }
    const double slope = (n * xy - x1 * y1) / (n * x2 - x1 * x1), first = (y1 - slope * x1) / n;
    std::printf("    {\"%s\", %.0f, %d, %.0f, %.3g, %.3g, %.4g,\n     {{", application.c_str(), initial,
                tables.rbegin()->first, progress.back(), std::exp(first), std::exp(first + slope), share);
}

void print_type(const std::string& folder, const std::string& type, bool last) {
    const support::Profile profile = support::read_profile(folder, type);
    std::vector<goodput::ThroughputSample> samples = profile.scalability;
    int least = std::numeric_limits<int>::max(), most = 0;
    double batch = 0, seconds = 0;
    for (const goodput::PlacementSample& placed : profile.placements) {
        const int gpus = std::accumulate(placed.gpus_by_node.begin(), placed.gpus_by_node.end(), 0);
        samples.push_back({{static_cast<int>(placed.gpus_by_node.size()), gpus},
                           {placed.atomic_batch, 0},
                           placed.step_seconds,
                           placed.sync_seconds});
        least = std::min(least, placed.atomic_batch);
        most = std::max(most, placed.atomic_batch);
        if (gpus > 1) continue;
        batch = std::max(batch, static_cast<double>(placed.atomic_batch));
        seconds = std::max(seconds, placed.step_seconds);
    }
    const goodput::PolluxThroughput m = goodput::peers::fit_throughput(samples).model;
    std::printf("{{%.4g, %.4g, %.4g, %.4g, %.4g, %.4g, %.4g}, %d, %d, %.4g}%s", m.alpha_c, m.beta_c,
                m.alpha_n, m.beta_n, m.alpha_r, m.beta_r, m.gamma, least, most, batch / seconds,
                last ? "}}},\n" : ",\n       ");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: " << argv[0] << " PROFILES-FOLDER\n";
        return 2;
    }
    const std::array<std::pair<const char*, double>, 5> applications{{{"cifar10", 0.82125},
                                                                      {"deepspeech2", 0.0625},
                                                                      {"bert", 0.04375},
                                                                      {"yolov3", 0.04375},
                                                                      {"imagenet", 0.02875}}};
    for (const auto& [application, share] : applications) {
        const std::string folder = std::string(argv[1]) + "/" + application;
        print_training(folder, application, share);
        for (const char* type : {"aws", "dgx-ext", "rtx"})
            print_type(folder, type, std::string(type) == "rtx");
    }
}
