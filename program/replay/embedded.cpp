#include "replay/embedded.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <span>

namespace goodput::traces {

namespace {

struct OnType {
    goodput::PolluxThroughput model;
    int min_atomic_batch;
    int max_atomic_batch;
    double reference_rate;  // examples/s of one GPU at the largest batch
};

struct Embedded {
    const char* name;
    int initial_batch;
    int max_batch;
    double iterations;            // at the initial batch size, to the end of training
    double noise_first;           // gradient noise scale, examples: at the start ...
    double noise_last;            // ... and at the end; the logarithm is linear in between
    double share;                 // of the jobs
    std::array<OnType, 3> types;  // T4, A100, RTX 2080 Ti
};

// Fitted with this library to the measurements published with Sia (github.com/siasosp23/artifacts,
// sia-simulator/traces; T4 = aws, A100 = dgx-ext, RTX 2080 Ti = rtx): throughput with fit_throughput on all
// samples, noise scale by least squares on its logarithm over all validation tables. `embedded_parameters
// FOLDER` in benchmarks/ reprints this table. The shares are those of the ten Saturn workloads there.
// clang-format off
constexpr std::array<Embedded, 5> table{{
    {"cifar10", 128, 4096, 39063, 1.02e+03, 1.18e+05, 0.8213,
     {{{{0.01597, 0.0007255, 0.1263, 0.002655, 0.03243, 0.005316, 2.378}, 32, 1024, 1458},
       {{0.02432, 8.914e-05, 0.02666, 0.0005784, 0.02585, 0.001137, 6.771}, 32, 4096, 1.006e+04},
       {{0.03524, 0.0002636, 0.091, 0.001506, 0.06733, 0.004493, 3.472}, 32, 1024, 3306}}}},
    {"deepspeech2", 20, 640, 28536, 481, 5.29e+05, 0.0625,
     {{{{0.2893, 0.02501, 0.6137, 0.01011, 0, 0.1447, 1.749}, 10, 80, 31.49},
       {{0.4196, 0.01401, 0.4927, 0.01254, 0.3845, 0.03077, 4.095}, 10, 320, 77.5},
       {{0.3744, 0.01255, 0.01744, 0.01424, 0, 0.02832, 1}, 10, 80, 52.51}}}},
    {"bert", 12, 384, 14774, 1.06e+03, 1.54e+04, 0.04375,
     {{{{0.172, 0.05871, 1.394, 0.009863, 0.2639, 0.04404, 2.004}, 4, 12, 13.02},
       {{0.09629, 0.004836, 0.04909, 0.003762, 0.03869, 0.007885, 1.885}, 4, 48, 140.4},
       {{0.16, 0.02249, 0.5786, 0.02336, 0.3506, 0.06804, 1.975}, 4, 12, 26.85}}}},
    {"yolov3", 8, 512, 103444, 103, 3.75e+03, 0.04375,
     {{{{0.1873, 0.02537, 0.7465, 0.01072, 0.06207, 0.08069, 1.104}, 4, 16, 27.94},
       {{0.3098, 0.01873, 0.03572, 0.02058, 0.0283, 0.04211, 1}, 4, 32, 56.71},
       {{0.3569, 0.01529, 0.3307, 0.007861, 0.1988, 0.01858, 1}, 4, 8, 11.72}}}},
    {"imagenet", 200, 12800, 576526, 5.04e+03, 1.17e+05, 0.02875,
     {{{{0.06335, 0.004502, 0.3073, 0.006679, 0.06557, 0.0176, 2.682}, 20, 200, 216.6},
       {{0.0914, 0.0008957, 0.002932, 0.001591, 0.005232, 0.002599, 1}, 20, 800, 1034},
       {{0.1194, 0.001874, 0.1895, 0.006341, 0.09797, 0.0246, 2.271}, 20, 200, 395.2}}}}
}};
// clang-format on

// The parts of the progress at which gradient statistics change.
constexpr std::size_t epochs = 20;

double unit(std::mt19937_64& engine) { return static_cast<double>(engine() >> 11) * 0x1.0p-53; }

}  // namespace

std::optional<ApplicationConstants> published_constants(const std::string& application) {
    if (application == "bert") return ApplicationConstants{120, 120, 1.2};
    if (application == "cifar10") return ApplicationConstants{50, 30, 1.8};
    if (application == "deepspeech2") return ApplicationConstants{25, 25, 1.2};
    if (application == "imagenet") return ApplicationConstants{250, 250, 1.2};
    if (application == "yolov3") return ApplicationConstants{80, 45, 1.2};
    if (application == "ncf") return ApplicationConstants{15, 30, 1.5};
    return std::nullopt;
}

std::vector<goodput::Application> embedded_applications() {
    std::vector<goodput::Application> applications;
    for (const Embedded& entry : table) {
        goodput::Application& application = applications.emplace_back();
        application.name = entry.name;
        const ApplicationConstants constants = published_constants(entry.name).value();
        application.restart_seconds = constants.restart_seconds;
        application.restart_cost_seconds = constants.restart_cost_seconds;
        application.slowdown = constants.slowdown;
        std::vector<goodput::GradientStatistics> gradients;
        std::vector<double> progress;
        for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
            const double middle = (static_cast<double>(epoch) + 0.5) / epochs;
            const double noise = entry.noise_first * std::pow(entry.noise_last / entry.noise_first, middle);
            gradients.push_back({1, noise / entry.initial_batch});
            progress.push_back(std::round(entry.iterations * static_cast<double>(epoch + 1) / epochs));
        }
        application.curve =
            goodput::TrainingCurve({entry.initial_batch, entry.max_batch}, {gradients, gradients}, progress);
        for (const OnType& type : entry.types)
            application.types.push_back(
                {type.model, type.min_atomic_batch, type.max_atomic_batch, 16, type.reference_rate});
    }
    return applications;
}

std::vector<goodput::Submission> embedded_workload(std::size_t jobs, std::uint64_t seed) {
    constexpr double mean_gap_seconds = 180;
    constexpr std::array<int, 4> gpus{4, 8, 12, 16};
    std::mt19937_64 engine(seed);
    std::vector<goodput::Submission> workload;
    std::array<int, table.size()> count{};
    double time = 0;
    for (std::size_t job = 0; job < jobs; ++job) {
        time += std::ceil(-mean_gap_seconds * std::log(1 - unit(engine)));
        double draw = unit(engine);
        std::size_t which = 0;
        while (which + 1 < table.size() && draw >= table[which].share) draw -= table[which++].share;
        const Embedded& entry = table[which];
        const int wanted = gpus[static_cast<std::size_t>(unit(engine) * gpus.size())];
        // Take a batch that the GPUs hold without accumulation, and double it at random up to the largest
        // useful batch.
        int batch = std::max(entry.initial_batch, wanted * entry.types[0].min_atomic_batch);
        while (2 * batch <= entry.max_batch && 2 * batch <= wanted * entry.types[0].max_atomic_batch &&
               unit(engine) < 0.7)
            batch *= 2;
        workload.push_back(
            {std::string(entry.name) + "-" + std::to_string(count[which]++), time, which, wanted, batch});
    }
    return workload;
}

}  // namespace goodput::traces
