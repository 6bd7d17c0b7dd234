// Times allotments: recorded rounds by file, cold (without the last round's prices) and warm; many rounds
// joined into one cluster; a round in which one job in twenty changed; a round with a deadline.
//
// usage: allot_benchmark [FOLDER] [Google Benchmark's flags]
//
// FOLDER contains recorded rounds, *.jsonl.gz; the default is $GOODPUT_DATA_DIR/allot. For the comparison
// with general solvers see compare_allot.py.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/allot/allot.hpp"
#include "support/allot_rounds.hpp"

namespace {

using namespace goodput;
using namespace std::chrono_literals;
using support::RecordedRound;

struct File {
    std::string name;
    std::vector<RecordedRound> rounds;
};

/// The file that is stacked, changed and run with a deadline: 2,048 GPUs.
constexpr std::string_view largest = "saturn-i360_32x";

/// The time limit of every round of a benchmark.
constexpr std::chrono::seconds patience = 10s;

/// Adds job `index` of `from`, with its values times `scale`.
void append_job(AllotmentProblem& problem, const AllotmentProblem& from, std::size_t index, double scale) {
    problem.add_job(from.must(index));
    for (std::size_t option = 0; option < from.options_of(index); ++option)
        problem.add_option(scale * from.value(index, option), from.uses(index, option));
}

/// `count` rounds joined into one cluster: capacities are added, and values of the i-th round are multiplied
/// by 1 + 0.001 i, so that no two jobs are equal. The rounds follow `first`, or are copies of it.
AllotmentProblem stacked(const std::vector<RecordedRound>& rounds, std::size_t first, std::size_t count,
                         bool copies) {
    AllotmentProblem problem;
    problem.capacity.assign(rounds[first].problem.capacity.size(), 0);
    for (std::size_t i = 0; i < count; ++i) {
        const AllotmentProblem& part = rounds[copies ? first : (first + i) % rounds.size()].problem;
        for (std::size_t r = 0; r < problem.capacity.size(); ++r) problem.capacity[r] += part.capacity[r];
        for (std::size_t job = 0; job < part.jobs(); ++job)
            append_job(problem, part, job, 1 + 0.001 * static_cast<double>(i));
    }
    return problem;
}

/// Returns the round with every twentieth job replaced by one of another round.
AllotmentProblem changed(const AllotmentProblem& round, const AllotmentProblem& other) {
    AllotmentProblem problem;
    problem.capacity = round.capacity;
    for (std::size_t job = 0; job < round.jobs(); ++job) {
        const bool replace = job % 20 == 7 && other.jobs() > 0;
        append_job(problem, replace ? other : round, replace ? job % other.jobs() : job, 1);
    }
    return problem;
}

double fraction(std::size_t part, std::size_t whole) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(whole, 1));
}

/// Returns the value below which this fraction of the values lies. Sorts them.
double quantile(std::vector<double>& values, double part) {
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1,
                           static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

benchmark::Counter time_per(std::size_t things) {
    return {static_cast<double>(things),
            benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert};
}

/// One iteration is all rounds of a file in order, by one solver that keeps its state.
void whole_file(benchmark::State& state, const File& file, bool warm_start) {
    Allotter<> allotter;
    std::size_t options = 0, proven = 0;
    for (auto _ : state) {
        options = proven = 0;
        for (const RecordedRound& round : file.rounds) {
            const AllotResult& result =
                allotter(round.problem, {.gap = round.gap, .deadline = patience, .warm_start = warm_start});
            proven += result.status == AllotStatus::optimal;
            options += round.problem.options();
        }
    }
    state.counters["per_option"] = time_per(options);
    state.counters["per_round"] = time_per(file.rounds.size());
    state.counters["proven"] = fraction(proven, file.rounds.size());
}

/// Arguments: number of rounds, first round.
void joined(benchmark::State& state, const File& file, bool copies) {
    const auto count = static_cast<std::size_t>(state.range(0));
    const AllotmentProblem problem =
        stacked(file.rounds, static_cast<std::size_t>(state.range(1)), count, copies);
    Allotter<> allotter;
    const AllotResult* result = nullptr;
    for (auto _ : state)
        result = &allotter(problem, {.gap = 1e-4, .deadline = patience, .warm_start = false});
    state.counters["per_option"] = time_per(problem.options());
    state.counters["options"] = static_cast<double>(problem.options());
    state.counters["proven"] = result->status == AllotStatus::optimal;
    state.counters["gap"] = result->gap() / std::max(1.0, result->bound);
}

/// Measures cold time / warm time of a round in which one job in twenty was another one when the prices
/// were found. One iteration is all rounds; the time is that of the warm calls.
void one_in_twenty(benchmark::State& state, const File& file) {
    Allotter<> allotter;
    std::vector<double> ratios;
    double cold_total = 0, warm_total = 0;
    std::size_t proven = 0;
    for (auto _ : state) {
        const double warm_before = warm_total;
        for (std::size_t i = 0; i < file.rounds.size(); ++i) {
            const AllotmentProblem& before = file.rounds[i].problem;
            const AllotmentProblem now = changed(before, file.rounds[(i + 1) % file.rounds.size()].problem);
            const AllotOptions cold{.gap = file.rounds[i].gap, .deadline = patience, .warm_start = false};
            const AllotOptions warm{.gap = file.rounds[i].gap, .deadline = patience, .warm_start = true};
            const AllotResult* result = nullptr;
            const double warm_time = benchmarks::least_milliseconds([&] { allotter(before, cold); },
                                                                    [&] { result = &allotter(now, warm); });
            proven += result->status == AllotStatus::optimal;
            const double cold_time = benchmarks::least_milliseconds([] {}, [&] { allotter(now, cold); });
            ratios.push_back(cold_time / warm_time);
            cold_total += cold_time;
            warm_total += warm_time;
        }
        state.SetIterationTime(1e-3 * (warm_total - warm_before));
    }
    state.counters["proven"] = fraction(proven, ratios.size());
    state.counters["ratio_median"] = quantile(ratios, 0.5);
    state.counters["ratio_p10"] = quantile(ratios, 0.1);
    state.counters["ratio_worst"] = quantile(ratios, 0);
    state.counters["ratio_of_sums"] = cold_total / warm_total;
}

/// A deadline of five milliseconds at gap 0. One iteration is all rounds; the time is elapsed time.
void five_milliseconds(benchmark::State& state, const File& file) {
    Allotter<> allotter;
    std::vector<double> elapsed;
    std::size_t close = 0, proven = 0;
    for (auto _ : state)
        for (const RecordedRound& round : file.rounds) {
            const auto begin = std::chrono::steady_clock::now();
            const AllotResult& result = allotter(round.problem, {.gap = 0, .deadline = 5ms});
            const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
            elapsed.push_back(took.count());
            close += result.gap() <= 1e-3 * std::max(1.0, result.bound);
            proven += result.status == AllotStatus::optimal;
        }
    state.counters["within_1e-3"] = fraction(close, elapsed.size());
    state.counters["proven"] = fraction(proven, elapsed.size());
    state.counters["p50_ms"] = quantile(elapsed, 0.5);
    state.counters["p99_ms"] = quantile(elapsed, 0.99);
    state.counters["worst_ms"] = quantile(elapsed, 1);
}

std::vector<File> read_folder(const std::string& folder) {
    constexpr std::string_view ending = ".jsonl.gz";
    std::vector<File> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.ends_with(ending))
            files.push_back(
                {name.substr(0, name.size() - ending.size()), support::read_rounds(entry.path().string())});
    }
    std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.name < b.name; });
    return files;
}

void offer_benchmarks(const std::vector<File>& files) {
    for (const File& file : files)
        for (const bool warm : {false, true})
            benchmark::RegisterBenchmark(((warm ? "warm/" : "cold/") + file.name).c_str(), whole_file,
                                         std::cref(file), warm)
                ->Unit(benchmark::kMillisecond);
    for (const File& file : files) {
        if (file.name.rfind(largest, 0) != 0) continue;
        benchmark::RegisterBenchmark(("five_percent_changed/" + file.name).c_str(), one_in_twenty,
                                     std::cref(file))
            ->UseManualTime()
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
        benchmark::RegisterBenchmark(("deadline_5_ms/" + file.name).c_str(), five_milliseconds,
                                     std::cref(file))
            ->Iterations(5)
            ->Unit(benchmark::kMillisecond);
        if (file.name != largest) continue;
        const auto last = static_cast<std::int64_t>(file.rounds.size());
        for (const bool copies : {false, true})
            for (const std::int64_t count : {1, 5, 12, 25, 49})  // times 2,048 GPUs
                for (const std::int64_t first : {last / 4, last * 3 / 4})
                    benchmark::RegisterBenchmark(copies ? "copies_joined" : "rounds_joined", joined,
                                                 std::cref(file), copies)
                        ->ArgNames({"count", "first"})
                        ->Args({count, first})
                        ->Unit(benchmark::kMillisecond);
    }
}

}  // namespace

int main(int argc, char** argv) try {
    benchmark::Initialize(&argc, argv);
    const char* const data = std::getenv("GOODPUT_DATA_DIR");
    if (argc > 2 || (argc < 2 && data == nullptr)) {
        std::cerr << "usage: allot_benchmark [FOLDER] (or $GOODPUT_DATA_DIR), rounds *.jsonl.gz\n";
        return 2;
    }
    const std::vector<File> files = read_folder(argc > 1 ? argv[1] : std::string(data) + "/allot");
    offer_benchmarks(files);
    benchmark::RunSpecifiedBenchmarks();
} catch (const std::exception& error) {
    std::cerr << "allot_benchmark: " << error.what() << "\n";
    return 1;
}
