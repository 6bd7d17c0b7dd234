// Runs the proving allotter on hard problems, each with a new allotter, until the best is proven (gap 0) or
// the time limit has passed.
//
// usage: allot_hard odd [PROBLEMS [SEED [SECONDS]]]     200 1 1
//            pools with an odd number of units, 200 to 800 jobs that take multiples of four or six
//        allot_hard files FOLDER [SECONDS]              10
//            published problems: FOLDER/instances.csv lists them (columns name, class, kind, what, best),
//            kind gap: generalised assignment in the layout of OR-Library (least cost), kind mmkp:
//            multiple-choice multidimensional knapsack
//        allot_hard solve gap|mmkp SECONDS FILE ...
//            the same layouts, one line of JSON a file, which compare_public.py reads
//
// Prints CPU seconds. Deadlines are elapsed time, so on a busy machine the search has less CPU time than
// that.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/proving.hpp"
#include "support/allot_random.hpp"
#include "support/random.hpp"

namespace {

using namespace goodput;

/// A published problem. `sign` and `base` convert our objective to its own.
struct Published {
    AllotmentProblem problem;
    double base = 0, sign = 1;

    [[nodiscard]] double own(double objective) const { return base + sign * objective; }
};

Published read_assignment(std::istream& in) {
    std::size_t agents = 0, jobs = 0;
    in >> agents >> jobs;
    std::vector<double> cost(agents * jobs), units(agents * jobs);
    for (double& number : cost) in >> number;
    for (double& number : units) in >> number;
    Published read;
    read.problem.capacity.resize(agents);
    for (double& number : read.problem.capacity) in >> number;
    const double top = 1 + *std::max_element(cost.begin(), cost.end());
    for (std::size_t job = 0; job < jobs; ++job) {
        read.problem.add_job(true);
        for (std::size_t agent = 0; agent < agents; ++agent)
            read.problem.add_option(top - cost[agent * jobs + job],
                                    {{static_cast<std::uint32_t>(agent), units[agent * jobs + job]}});
    }
    read.base = static_cast<double>(jobs) * top;
    read.sign = -1;
    return read;
}

/// A class begins with a line of one number. An option is its value and its use of each resource.
Published read_choices(std::istream& in) {
    Published read;
    std::string line;
    std::vector<std::vector<double>> rows;
    while (std::getline(in, line) && line.find("Solutions") == std::string::npos) {
        std::istringstream numbers(line);
        std::vector<double> row;
        for (double number = 0; numbers >> number;) row.push_back(number);
        if (!row.empty()) rows.push_back(row);
    }
    if (rows.size() < 3) throw std::runtime_error("not a problem");
    read.problem.capacity = rows[1];
    for (std::size_t i = 2; i < rows.size(); ++i) {
        if (rows[i].size() == 1) {
            read.problem.add_job(true);
            continue;
        }
        std::vector<ResourceUse> uses;
        for (std::size_t r = 1; r < rows[i].size(); ++r)
            if (rows[i][r] > 0) uses.push_back({static_cast<std::uint32_t>(r - 1), rows[i][r]});
        read.problem.add_option(rows[i][0], uses);
    }
    return read;
}

AllotOptions until(double seconds) {
    AllotOptions options{.gap = 0};
    options.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * seconds));
    options.most_states = SIZE_MAX;
    return options;
}

int odd_pools(int problems, int seed, double seconds) {
    std::vector<double> took, late, open;
    for (int i = 0; i < problems; ++i) {
        support::Random random(static_cast<std::uint64_t>(seed) * 100'000 + static_cast<std::uint64_t>(i));
        const AllotmentProblem problem =
            support::odd_pools_problem(random, random.integer(3, 6), random.integer(200, 800));
        AllotResult result;
        const double milliseconds =
            benchmarks::milliseconds_of([&] { result = ProvingAllotter()(problem, until(3 * seconds)); });
        took.push_back(milliseconds / 1e3);
        if (result.status != AllotStatus::optimal || took.back() > seconds) late.push_back(took.back());
        if (result.status != AllotStatus::optimal) open.push_back(result.gap() / result.bound);
    }
    std::sort(took.begin(), took.end());
    std::sort(open.begin(), open.end());
    const auto at = [&](double part) {
        return took[std::min(took.size() - 1,
                             static_cast<std::size_t>(part * static_cast<double>(took.size())))];
    };
    std::printf("%zu of %d proven within %g CPU seconds; CPU seconds: median %.3f, p90 %.3f, worst %.3f\n",
                static_cast<std::size_t>(problems) - late.size(), problems, seconds, at(0.5), at(0.9),
                took.back());
    if (!open.empty())
        std::printf("gap of the %zu that were not proven in three times as long: median %.2g, worst %.2g\n",
                    open.size(), open[open.size() / 2], open.back());
    return 0;
}

int solve(const std::string& kind, double seconds, int count, char** paths) {
    for (int i = 0; i < count; ++i) {
        std::ifstream in(paths[i]);
        if (!in) throw std::runtime_error(std::string("cannot read ") + paths[i]);
        const Published read = kind == "gap" ? read_assignment(in) : read_choices(in);
        AllotResult result;
        const double milliseconds =
            benchmarks::milliseconds_of([&] { result = ProvingAllotter()(read.problem, until(seconds)); });
        const bool proven = result.status == AllotStatus::optimal;
        std::printf("{\"file\":\"%s\",\"proven\":%s,\"objective\":%.17g,\"bound\":%.17g,\"seconds\":%.6f,",
                    paths[i], proven ? "true" : "false", read.own(result.objective), read.own(result.bound),
                    milliseconds / 1e3);
        std::printf("\"choice\":[");
        for (std::size_t job = 0; job < result.choice.size(); ++job) {
            std::printf(job == 0 ? "" : ",");
            if (result.choice[job] == no_option)
                std::printf("null");
            else
                std::printf("%zu", result.choice[job]);
        }
        std::printf("]}\n");
        std::fflush(stdout);
    }
    return 0;
}

int files(const std::string& folder, double seconds) {
    std::ifstream list(folder + "/instances.csv");
    std::string line;
    if (!std::getline(list, line)) throw std::runtime_error("cannot read " + folder + "/instances.csv");
    int proven = 0, count = 0;
    double distances = 0;
    while (std::getline(list, line)) {
        std::vector<std::string> cells;
        std::istringstream row(line);
        for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
        if (cells.size() < 5 || (cells[2] != "gap" && cells[2] != "mmkp")) continue;
        std::ifstream in(folder + "/" + cells[3]);
        if (!in) continue;  // the file is missing
        const Published read = cells[2] == "gap" ? read_assignment(in) : read_choices(in);
        AllotResult result;
        const double milliseconds =
            benchmarks::milliseconds_of([&] { result = ProvingAllotter()(read.problem, until(seconds)); });
        const double best = std::atof(cells[4].c_str()), objective = read.own(result.objective);
        const double distance = read.sign * (best - objective) / std::abs(best);
        const bool is_proven = result.status == AllotStatus::optimal;
        std::printf("%-10s best known %10.7g, found %10.7g, bound %10.7g  %-8s %7.2f s\n", cells[0].c_str(),
                    best, objective, read.own(result.bound), is_proven ? "proven" : "", milliseconds / 1e3);
        std::fflush(stdout);
        if (is_proven && distance > 1e-9)
            throw std::runtime_error(cells[0] + " is said to be proven and is not");
        ++count;
        proven += is_proven ? 1 : 0;
        distances += distance;
    }
    std::printf("%d of %d proven, mean distance to the best known %.4f %%\n", proven, count,
                100 * distances / count);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const auto number = [&](int at, double otherwise) { return at < argc ? std::atof(argv[at]) : otherwise; };
    try {
        if (argc > 1 && std::strcmp(argv[1], "odd") == 0)
            return odd_pools(static_cast<int>(number(2, 200)), static_cast<int>(number(3, 1)), number(4, 1));
        if (argc > 2 && std::strcmp(argv[1], "files") == 0) return files(argv[2], number(3, 10));
        if (argc > 4 && std::strcmp(argv[1], "solve") == 0)
            return solve(argv[2], number(3, 10), argc - 4, argv + 4);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "allot_hard: %s\n", error.what());
        return 1;
    }
    std::fprintf(stderr,
                 "usage: allot_hard odd [PROBLEMS [SEED [SECONDS]]] | files FOLDER [SECONDS] | "
                 "solve gap|mmkp SECONDS FILE ...\n");
    return 2;
}
