// Times the choice of a checkpoint mechanism for each of many stages, and measures how near to the best it
// is proven to be, by kind of question and requested gap.
//
// usage: stage_checkpoints [STAGES [MECHANISMS [QUESTIONS [SEED]]]]      1000 6 20 1
//        stage_checkpoints --gain          100 jobs: how much longer with the best single mechanism

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

#include "../cpu_time.hpp"
#include "availability/stage_random.hpp"
#include "goodput/availability/stage_checkpoints.hpp"
#include "support/random.hpp"

namespace {

using namespace goodput;
using support::Random;
using support::StageKind;

double quantile(std::vector<double> values, double part) {
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1,
                           static_cast<std::size_t>(part * static_cast<double>(values.size())))];
}

void measure(std::size_t stages, std::size_t mechanisms, int questions, std::uint64_t seed) {
    std::printf("%zu stages, %zu mechanisms, %d questions of each kind; CPU time in ms\n", stages, mechanisms,
                questions);
    std::printf("%-12s %-8s %8s %8s %8s  %-8s %-10s %s\n", "kind", "gap", "median", "90 %", "worst", "proven",
                "worst left", "states, questions in which both limits have a price");
    for (const auto& [kind, name] : support::stage_kinds)
        for (const double gap : {1e-4, 1e-5, 1e-6, 0.0}) {
            std::vector<double> milliseconds;
            int proven = 0, both = 0;
            double left = 0;
            std::size_t states = 0;
            for (int i = 0; i < questions; ++i) {
                Random random(seed * 1'000'000 + static_cast<std::uint64_t>(i));
                const StageCheckpointQuestion question =
                    support::random_stages(random, stages, mechanisms, kind);
                StageCheckpoints answer;
                milliseconds.push_back(benchmarks::least_milliseconds(
                    [] {},
                    [&] {
                        answer = choose_stage_checkpoints(question, {.gap = gap, .most_states = 1 << 18});
                    }));
                proven += answer.status == AllotStatus::optimal ? 1 : 0;
                if (answer.status != AllotStatus::optimal)
                    left = std::max(left, answer.gap() / answer.seconds);
                both += answer.seconds_per_gib > 0 && answer.seconds_per_bandwidth > 0 ? 1 : 0;
                states = std::max(states, answer.nodes);
            }
            std::printf("%-12s %-8g %8.2f %8.2f %8.2f  %3d/%-4d %-10.2g %8zu  %d\n", name, gap,
                        quantile(milliseconds, 0.5), quantile(milliseconds, 0.9), quantile(milliseconds, 1),
                        proven, questions, left, states, both);
            std::fflush(stdout);
        }
}

/// Prints how much longer a job takes with the best single mechanism for all stages, by the shape of live
/// periods, and by where the limits are between the leanest and the fastest choice.
void print_gain(int jobs) {
    std::printf("%d jobs of 8 to 64 stages, 6 mechanisms: best single mechanism over the choice by stage\n",
                jobs);
    std::printf("%-10s %-8s %-6s %8s %8s %8s %8s %8s %8s\n", "shape", "limits", "none", "least", "25 %",
                "median", "75 %", "most", "ms");
    for (const double shape : {1.0, 0.6, 2.5, std::numeric_limits<double>::infinity()})
        for (const double part : {0.3, 0.6, 1.0}) {
            std::vector<double> gains, milliseconds;
            int none = 0;
            for (int i = 0; i < jobs; ++i) {
                Random random(7'000'000 + static_cast<std::uint64_t>(i));
                StageCheckpointQuestion question = support::random_stages(
                    random, static_cast<std::size_t>(random.integer(8, 64)), 6, StageKind::training);
                question.interruptions.shape = shape;
                support::limit_stages(question, part, part);
                StageCheckpoints answer;
                milliseconds.push_back(benchmarks::least_milliseconds(
                    [] {}, [&] { answer = choose_stage_checkpoints(question, {.gap = 1e-4}); }));
                if (answer.mechanism.empty()) continue;
                if (answer.single)
                    gains.push_back(answer.single->seconds / answer.seconds);
                else
                    ++none;
            }
            if (gains.empty()) continue;
            std::printf("%-10g %-8g %-6d %8.3f %8.3f %8.3f %8.3f %8.3f %8.2f\n", shape, part, none,
                        quantile(gains, 0), quantile(gains, 0.25), quantile(gains, 0.5),
                        quantile(gains, 0.75), quantile(gains, 1), quantile(milliseconds, 0.5));
        }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--gain") == 0) {
        print_gain(100);
        return 0;
    }
    const auto number = [&](int at, int otherwise) { return at < argc ? std::atoi(argv[at]) : otherwise; };
    measure(static_cast<std::size_t>(number(1, 1000)), static_cast<std::size_t>(number(2, 6)), number(3, 20),
            static_cast<std::uint64_t>(number(4, 1)));
}
