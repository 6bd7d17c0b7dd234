// Compares formulas of availability with a simulation event by event, and best intervals with brute force
// and the square-root rule.
//
//     availability_check [CASES]            1,000 cases
//     availability_check --curves           useful share over interval of a few mechanisms, for the picture

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "availability/interrupted_job.hpp"
#include "goodput/availability/availability.hpp"
#include "goodput/availability/usual_mechanisms.hpp"

namespace {

using goodput::CheckpointMechanism;
using goodput::Interruptions;

double quantile_of(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[std::min(static_cast<std::size_t>(part * static_cast<double>(values.size())),
                           values.size() - 1)];
}

void compare_with_simulation(int cases) {
    std::vector<double> off;
    double largest_share = 0, smallest_share = 1;
    int unsure = 0;
    for (int i = 0; i < cases; ++i) {
        const test::InterruptedCase it = test::interrupted_case(i);
        const double share = goodput::useful_share(it.job, it.how, it.interval);
        const test::SimulatedShare seen =
            test::simulate(it.job, it.how, it.interval, static_cast<std::uint64_t>(i), 0.002, 2e7);
        largest_share = std::max(largest_share, share);
        smallest_share = std::min(smallest_share, share);
        if (seen.share == 0 || seen.deviation > 0.003 * seen.share) {
            ++unsure;
            continue;
        }
        off.push_back(std::abs(share / seen.share - 1));
        if (off.back() > 0.01)
            std::cout << "case " << i << ": " << share << ", simulated " << seen.share << " +- "
                      << seen.deviation << "\n";
    }
    std::cout << off.size() << " cases with shares from " << smallest_share << " to " << largest_share
              << ": off by " << 100 * quantile_of(off, 0.5) << " % in the median, "
              << 100 * quantile_of(off, 1) << " % at most; " << unsure
              << " cases in which the simulation gained too little to tell\n";
}

void compare_intervals(int cases) {
    std::vector<double> off, young, daly;
    for (int i = 0; i < cases; ++i) {
        const test::InterruptedCase it = test::interrupted_case(i);
        if (!it.how.saves) continue;
        const double longest = 1e7;
        const goodput::Checkpointing best = goodput::best_checkpointing(it.job, it.how, longest);
        double brute = 0;
        for (double interval = 0.05; interval < longest; interval *= 1.002)
            brute = std::max(brute, goodput::useful_share(it.job, it.how, interval));
        if (brute < 1e-9) continue;
        off.push_back(brute / best.availability - 1);
        if (it.job.shape != 1 || it.how.pause_seconds == 0) continue;
        const auto loss = [&](double interval) {
            const double share = goodput::useful_share(it.job, it.how, std::max(interval, 1e-3));
            return share > 0 ? best.availability / share - 1 : std::numeric_limits<double>::infinity();
        };
        young.push_back(loss(test::young_interval(it.job, it.how)));
        daly.push_back(loss(test::daly_interval(it.job, it.how)));
    }
    const auto print = [](const char* name, const std::vector<double>& loss) {
        std::cout << name << ": expected time longer by " << 100 * quantile_of(loss, 0.5)
                  << " % in the median, " << 100 * quantile_of(loss, 0.9) << " % in one case of ten, "
                  << 100 * quantile_of(loss, 1) << " % at most (" << loss.size() << " cases)\n";
    };
    print("best interval against brute force", off);
    print("square-root rule", young);
    print("Daly's higher order", daly);
}

void print_curves() {
    const goodput::CheckpointCosts costs{.state_gib = 120, .nodes = 4, .gpus_per_node = 8};
    const Interruptions job = goodput::interruptions_of({.per_hour = 1.0 / 12, .off_seconds = 120}, 4);
    std::cout << "{\"curves\": [";
    bool first = true;
    for (const CheckpointMechanism& how : goodput::usual_mechanisms(costs)) {
        if (!how.saves) continue;
        const goodput::Checkpointing best = goodput::best_checkpointing(job, how, 86400);
        std::cout << (first ? "" : ", ") << "{\"name\": \"" << how.name << "\", \"best\": ["
                  << best.interval_seconds << ", " << best.availability
                  << "], \"young\": " << test::young_interval(job, how)
                  << ", \"daly\": " << test::daly_interval(job, how) << ", \"points\": [";
        first = false;
        for (double interval = 20; interval < 30000; interval *= 1.1)
            std::cout << (interval == 20 ? "" : ", ") << "[" << interval << ", "
                      << goodput::useful_share(job, how, interval) << "]";
        std::cout << "]}";
    }
    std::cout << "]}\n";
}

}  // namespace

int main(int count, char** arguments) {
    const std::string how = count > 1 ? arguments[1] : "1000";
    if (how == "--curves") {
        print_curves();
        return 0;
    }
    std::cout << std::setprecision(3);
    compare_with_simulation(std::atoi(how.c_str()));
    compare_intervals(std::atoi(how.c_str()));
}
