// Measures how many measurements reveal a job's speed for every share of CPU cores and memory, on the
// tables published with Synergy's simulator. Compares the measurements that hosts/host_profile.hpp chooses
// with Synergy's rule (OSDI'22, section 4.3). That rule measures core counts with all memory, halving
// between two of them as long as they differ, and computes what memory does.
//
//     host_profiling FILE [FOLDER]      FILE: profiles.json; FOLDER in it: models, models-4, models-5,
//     models-6
//
// Prints a row per model: the number of measurements after which the median error over the table stays
// within 3 %, then the number of all measurements, with the median and the largest error reached. "given":
// only cores are measured, and what memory does is known exactly without measuring. "inside": share of the
// table within the 90 % intervals at the end of chosen measurements with nothing given.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"

namespace {

using goodput::HostShare;

constexpr double tolerance = 0.03;

struct Table {
    std::vector<double> cores, memories;
    std::vector<std::vector<double>> speed;  ///< by core count and memory

    [[nodiscard]] double at(const HostShare& share) const {
        const auto index = [](const std::vector<double>& values, double value) {
            return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
        };
        return speed[index(cores, share.cores_per_gpu)][index(memories, share.memory_gib_per_gpu)];
    }
};

/// The results of one way of measuring.
struct Course {
    std::size_t needed = 0, points = 0;
    double median = 0, largest = 0;

    /// Notes the errors after `measured` measurements.
    void take(std::size_t measured, std::vector<double> errors) {
        std::sort(errors.begin(), errors.end());
        points = measured;
        median = errors[errors.size() / 2];
        largest = errors.back();
        if (median > tolerance) needed = measured + 1;
    }
    void print() const {
        if (needed > points)
            std::printf("|      - %4zu", points);
        else
            std::printf("| %6zu %4zu", needed, points);
        std::printf(" %4.1f %% %5.0f %% ", 100 * median, 100 * largest);
    }
};

/// Returns the errors of a prediction over the table.
template <class Predict>
std::vector<double> errors_of(const Table& table, Predict predict) {
    std::vector<double> errors;
    for (std::size_t c = 0; c < table.cores.size(); ++c)
        for (std::size_t m = 0; m < table.memories.size(); ++m)
            errors.push_back(std::abs(predict(c, m) / table.speed[c][m] - 1));
    return errors;
}

/// Sets `inside` to the share of the table within its final intervals. `given_memory`: jobs are measured
/// with all memory, and are no faster than the table's fastest entry with less.
Course chosen(const Table& table, bool given_memory, double& inside) {
    std::vector<HostShare> all, grid;
    for (const double cores : table.cores) {
        for (const double gib : table.memories) all.push_back({cores, gib});
        grid.push_back({cores, table.memories.back()});
    }
    if (!given_memory) grid = all;
    Course course;
    std::vector<goodput::HostSample> samples;
    for (;;) {
        const goodput::HostFit fit(samples);
        course.take(samples.size(), errors_of(table, [&](std::size_t c, std::size_t m) {
                        const double gib = given_memory ? table.memories.back() : table.memories[m];
                        const double speed = fit.forecast({table.cores[c], gib}).speed;
                        return given_memory ? std::min(speed, table.speed.back()[m]) : speed;
                    }));
        const goodput::HostProfile profile = next_host_share(fit, grid, tolerance);
        if (!profile.next) {
            inside = 0;
            for (const HostShare& share : all) {
                const goodput::Interval range = fit.forecast(share).interval(0.9);
                const double truth = table.at(share);
                inside +=
                    range.low <= truth && truth <= range.high ? 1.0 / static_cast<double>(all.size()) : 0;
            }
            return course;
        }
        samples.push_back({*profile.next, table.at(*profile.next)});
    }
}

/// Draws straight lines between the core counts measured with all memory. `given_memory` as above.
Course by_rule(const Table& table, bool given_memory) {
    const std::size_t last = table.cores.size() - 1, all = table.memories.size() - 1;
    std::vector<std::size_t> measured;
    Course course;
    const auto measure = [&](std::size_t core) {
        measured.insert(std::upper_bound(measured.begin(), measured.end(), core), core);
        course.take(measured.size(), errors_of(table, [&](std::size_t c, std::size_t m) {
                        std::size_t low = measured.front(), high = measured.back();
                        for (const std::size_t at : measured) {
                            if (at <= c) low = at;
                            if (at >= c) high = std::min(high, at);
                        }
                        low = std::min(low, high);
                        const double from = table.speed[low][all], to = table.speed[high][all];
                        const double width = table.cores[high] - table.cores[low];
                        const double part = width > 0 ? (table.cores[c] - table.cores[low]) / width : 0;
                        const double line = from + (to - from) * part;
                        return given_memory ? std::min(line, table.speed[last][m]) : line;
                    }));
    };
    course.needed = 1;
    measure(last);
    measure(0);
    std::deque<std::pair<std::size_t, std::size_t>> between{{0, last}};
    while (!between.empty()) {
        const auto [low, high] = between.front();
        between.pop_front();
        const bool flat = table.speed[high][all] <= table.speed[low][all] * (1 + tolerance);
        if (flat || high - low < 2) continue;
        const std::size_t middle = (low + high) / 2;
        measure(middle);
        between.push_back({low, middle});
        between.push_back({middle, high});
    }
    return course;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2) {
            std::fprintf(stderr, "usage: host_profiling FILE [FOLDER]\n");
            return 2;
        }
        std::ifstream file(argv[1]);
        const auto document = nlohmann::ordered_json::parse(file);
        constexpr const char* heads[] = {"chosen", "chosen, memory given", "rule, memory given",
                                         "rule, memory ignored"};
        std::printf("%-12s", "");
        for (const char* head : heads) std::printf("| %-27s", head);
        std::printf("| inside\n%-12s", "");
        for (std::size_t i = 0; i < 4; ++i) std::printf("| needed  all median largest ");
        std::printf("|\n");
        std::size_t models = 0, within = 0;
        double inside_all = 0, points[4] = {0, 0, 0, 0};
        for (const auto& [name, profile] :
             document.at("profiles").at(argc > 2 ? argv[2] : "models").items()) {
            if (!name.ends_with("_1")) continue;
            const Table table{document.at("cpu_values"), document.at("mem_values_gb"), profile.at("tput")};
            double inside = 0, ignored = 0;
            const Course mine = chosen(table, false, inside);
            const Course courses[] = {mine, chosen(table, true, ignored), by_rule(table, true),
                                      by_rule(table, false)};
            std::printf("%-12s", name.substr(0, name.size() - 2).c_str());
            for (std::size_t i = 0; i < 4; ++i) {
                courses[i].print();
                points[i] += static_cast<double>(courses[i].points);
            }
            std::printf("|  %3.0f %%\n", 100 * inside);
            ++models;
            within += mine.largest <= tolerance;
            inside_all += inside;
        }
        const auto count = static_cast<double>(models);
        std::printf(
            "%zu models: %.1f measurements chosen on average, of 45; memory given, %.1f and %.1f by the "
            "rule. "
            "Every entry within 3 %% on %zu models, %.0f %% of entries inside.\n",
            models, points[0] / count, points[1] / count, points[2] / count, within,
            100 * inside_all / count);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "host_profiling: %s\n", error.what());
        return 1;
    }
}
