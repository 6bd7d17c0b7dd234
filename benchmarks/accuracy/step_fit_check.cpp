// Measures how well step times are predicted from a few measurements of a job. Prints by design of the
// measurements the error of the step time over all measured batches (root mean square of ln(predicted /
// measured)), the goodput lost by the batch that the model chooses, and the share of the measurements
// within the 90 % intervals.
//
//     step_fit_check DATA        the folder with h100/profiles.csv and elasticflow/throughputs.json
//
// The first table is for one GPU, where the time of small batches is what the host needs to launch kernels.
// The second one is for one global batch on ever more GPUs, measured on few of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "goodput/fit/job_fit.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/tasks/forecast.hpp"

namespace {

using goodput::ThroughputSample;
using Samples = std::vector<ThroughputSample>;

struct Score {
    double squares = 0, lost = 0, held = 0, held_by_host = 0, by_host = 0;
    int steps = 0;

    [[nodiscard]] double error() const { return std::sqrt(squares / steps); }
};

std::string percent(double part, double whole) {
    return whole > 0 ? std::to_string(static_cast<int>(std::lround(100 * part / whole))) : "-";
}

/// A profile: iterations of one replica by batch and accumulation steps.
struct Profile {
    std::string name;
    Samples samples{};

    [[nodiscard]] std::optional<ThroughputSample> at(int batch, int accumulation) const {
        for (const ThroughputSample& sample : samples)
            if (sample.plan.atomic_batch == batch && sample.plan.accumulation_steps == accumulation)
                return sample;
        return std::nullopt;
    }
    [[nodiscard]] std::vector<int> batches() const {
        std::vector<int> batches;
        for (const ThroughputSample& sample : samples)
            if (sample.plan.accumulation_steps == 0) batches.push_back(sample.plan.atomic_batch);
        std::sort(batches.begin(), batches.end());
        return batches;
    }
};

std::vector<Profile> read_profiles(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line)) throw std::runtime_error("cannot read " + path);
    const auto cells_of = [](const std::string& of) {
        std::vector<std::string> cells;
        std::istringstream stream(of);
        for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
        return cells;
    };
    const std::vector<std::string> header = cells_of(line);
    const auto column = [&](const char* name) {
        return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
    };
    const std::size_t model = column("model"), precision = column("precision"), batch = column("batch"),
                      accumulation = column("accumulation"), step = column("step_s"),
                      repeat = column("repeat");
    std::vector<Profile> profiles;
    while (std::getline(file, line)) {
        const std::vector<std::string> cells = cells_of(line);
        if (cells.at(repeat) != "0") continue;
        const std::string name = cells.at(model) + " " + cells.at(precision);
        if (profiles.empty() || profiles.back().name != name) profiles.push_back({name});
        profiles.back().samples.push_back(
            {.shape = {1, 1},
             .plan = {std::stoi(cells.at(batch)), std::stoi(cells.at(accumulation))},
             .step_seconds = std::stod(cells.at(step)),
             .whole_iteration = true});
    }
    return profiles;
}

/// The indices, of `count` batches, of those that a design measures without accumulation, and the index of
/// the one that it measures with one accumulation step, if any.
struct Design {
    const char* name;
    std::vector<std::size_t> (*batches)(std::size_t count);
    bool accumulates;
};

const std::array<Design, 4> designs{{
    {"four smallest, accumulation",
     [](std::size_t) {
         return std::vector<std::size_t>{0, 1, 2, 3};
     },
     true},
    {"three up to 2/3, accumulation",
     [](std::size_t count) {
         const std::size_t last = (2 * (count - 1) + 1) / 3;
         return std::vector<std::size_t>{0, last / 2, last};
     },
     true},
    {"three, accumulation",
     [](std::size_t count) {
         return std::vector<std::size_t>{0, count / 2, count - 1};
     },
     true},
    {"five",
     [](std::size_t count) {
         std::vector<std::size_t> five;
         for (std::size_t i = 0; i < 5; ++i) five.push_back((2 * i * (count - 1) + 4) / 8);
         return five;
     },
     false},
}};

Samples measured_by(const Design& design, const Profile& profile) {
    const std::vector<int> batches = profile.batches();
    const std::vector<std::size_t> chosen = design.batches(batches.size());
    Samples known;
    for (const std::size_t i : chosen) known.push_back(*profile.at(batches[i], 0));
    if (design.accumulates)
        if (const auto further = profile.at(batches[chosen[1]], 1)) known.push_back(*further);
    return known;
}

/// Returns the fraction of goodput lost by the plan that the model considers best, on average over six
/// noise scales between the smallest and the largest total batch.
double lost_goodput(const goodput::RefinedFit& fit, const Profile& profile) {
    double least = 1e300, most = 0, lost = 0;
    for (const ThroughputSample& sample : profile.samples) {
        const auto total = static_cast<double>(sample.plan.total(1));
        least = std::min(least, total);
        most = std::max(most, total);
    }
    constexpr int scales = 6;
    for (int i = 0; i < scales; ++i) {
        const double noise = least * std::pow(most / least, static_cast<double>(i) / (scales - 1));
        double best = 0, promised = 0, found = 0;
        for (const ThroughputSample& sample : profile.samples) {
            const auto total = static_cast<double>(sample.plan.total(1));
            const double useful = total * (noise + least) / (noise + total);
            best = std::max(best, useful / sample.step_seconds);
            const double promise = useful / fit.model.iteration_seconds(sample.shape, sample.plan);
            if (promise > promised) {
                promised = promise;
                found = useful / sample.step_seconds;
            }
        }
        lost += (1 - found / best) / scales;
    }
    return lost;
}

/// Whether a measured iteration takes hardly longer per microbatch than the smallest batch does, so that
/// the host is the bottleneck.
bool bound_by_host(const Profile& profile, const ThroughputSample& sample) {
    double least = 1e300;
    for (const ThroughputSample& other : profile.samples)
        least = std::min(least, other.step_seconds / other.microbatches());
    return sample.step_seconds / sample.microbatches() < 1.5 * least;
}

void print_designs(const std::vector<Profile>& profiles) {
    std::printf("%-30s %-14s %6s %7s %6s %10s %10s\n", "measured", "job", "RMSLE", "lost %", "held %",
                "host-bound", "GPU-bound");
    for (const Design& design : designs) {
        Score all;
        double errors = 0;
        for (const Profile& profile : profiles) {
            const Samples known = measured_by(design, profile);
            const goodput::RefinedFit fit = goodput::fit_refined(known);
            Score score;
            for (const ThroughputSample& sample : profile.samples) {
                const goodput::Forecast forecast(fit, sample.shape, sample.plan);
                const goodput::Interval range = forecast.interval(0.9);
                const double off = std::log(forecast.median() / sample.step_seconds);
                const bool held = range.low <= sample.step_seconds && sample.step_seconds <= range.high;
                const bool by_host = bound_by_host(profile, sample);
                score.squares += off * off;
                score.held += held;
                score.by_host += by_host;
                score.held_by_host += held && by_host;
                score.steps += 1;
            }
            score.lost = lost_goodput(fit, profile);
            const auto print = [&](const std::string& name, double error, double lost, const Score& of) {
                std::printf("%-30s %-14s %6.3f %7.1f %6s %10s %10s\n", design.name, name.c_str(), error,
                            100 * lost, percent(of.held, of.steps).c_str(),
                            percent(of.held_by_host, of.by_host).c_str(),
                            percent(of.held - of.held_by_host, of.steps - of.by_host).c_str());
            };
            print(profile.name, score.error(), score.lost, score);
            errors += score.error();
            all.lost += score.lost;
            all.held += score.held;
            all.held_by_host += score.held_by_host;
            all.by_host += score.by_host;
            all.steps += score.steps;
            if (&profile == &profiles.back()) {
                const auto count = static_cast<double>(profiles.size());
                print("all", errors / count, all.lost / count, all);
            }
        }
    }
}

/// A job with one or several global batches, on ever more GPUs. The split of its steps was not measured.
struct StrongScaling {
    std::string name;
    Samples samples{};
};

std::vector<StrongScaling> read_tables(const std::string& path, bool by_batch) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    const nlohmann::json tables = nlohmann::json::parse(file);
    std::vector<StrongScaling> jobs;
    for (const auto& [type, models] : tables.items())
        for (const auto& [model, batches] : models.items())
            for (const auto& [batch, table] : batches.items()) {
                const std::string name = model + " on " + type + (by_batch ? ", batch " + batch : "");
                if (jobs.empty() || jobs.back().name != name) jobs.push_back({name});
                for (std::size_t i = 0; i < table["gpus"].size(); ++i) {
                    const nlohmann::json& rate = table["iterations_per_s"][i];
                    if (rate.is_null() || !(rate.get<double>() > 0)) continue;
                    const int gpus = table["gpus"][i].get<int>(), per_node = type == "T4" ? 4 : 8;
                    jobs.back().samples.push_back(
                        {.shape = {(gpus + per_node - 1) / per_node, gpus},
                         .plan = {std::max(1, (std::stoi(batch) + gpus - 1) / gpus), 0},
                         .step_seconds = 1 / rate.get<double>(),
                         .sync_known = false});
                }
            }
    return jobs;
}

void print_strong_scaling(const std::vector<StrongScaling>& all, const char* what, int most_known,
                          bool verbose) {
    double logs = 0, worst = 0, held = 0, steps = 0;
    int jobs = 0;
    std::string worst_name;
    for (const StrongScaling& job : all) {
        Samples known, asked;
        for (const ThroughputSample& sample : job.samples)
            (sample.shape.gpus <= most_known ? known : asked).push_back(sample);
        if (asked.empty()) continue;
        const goodput::RefinedFit fit = goodput::fit_refined(known);
        double squares = 0;
        for (const ThroughputSample& sample : asked) {
            const goodput::Forecast forecast(fit, sample.shape, sample.plan);
            const goodput::Interval range = forecast.interval(0.9);
            const double off = std::log(forecast.median() / sample.step_seconds);
            if (verbose)
                std::printf("    %2d GPUs, local batch %d: %.4f s, predicted %.4f\n", sample.shape.gpus,
                            sample.plan.atomic_batch, sample.step_seconds, forecast.median());
            squares += off * off;
            held += range.low <= sample.step_seconds && sample.step_seconds <= range.high;
            steps += 1;
        }
        const double error = std::sqrt(squares / static_cast<double>(asked.size()));
        logs += std::log(error);
        jobs += 1;
        if (verbose) std::printf("  %s: %.3f\n", job.name.c_str(), error);
        if (error > worst) {
            worst = error;
            worst_name = job.name;
        }
    }
    std::printf(
        "%s, known on up to %2d GPUs: error %.3f (geometric mean of %d), at worst %.2f (%s); held %s %%\n",
        what, most_known, std::exp(logs / jobs), jobs, worst, worst_name.c_str(),
        percent(held, steps).c_str());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) {
        std::fprintf(stderr, "usage: step_fit_check DATA [verbose]\n");
        return 2;
    }
    try {
        const std::string data = argv[1];
        print_designs(read_profiles(data + "/h100/profiles.csv"));
        std::printf("\n");
        for (const bool by_batch : {false, true})
            for (const int most_known : {4, 8, 16})
                print_strong_scaling(read_tables(data + "/elasticflow/throughputs.json", by_batch),
                                     by_batch ? "a batch alone" : "all batches", most_known, argc == 3);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
