// A stand-in for a job's training. It takes as long as a model of the application says, and holds the
// node's GPUs (plain files, see cluster.sh) while it runs. It saves checkpoints, and reports to the
// controller what a hook in a real training loop would. There is one process per node; the process of rank
// 0 trains.
//
//     srun --ntasks-per-node=1 goodput-train vision EXAMPLES
//
// In addition to the two files of training_files.hpp, it writes train-ID.checkpoint (useful examples so
// far) and train-ID.finished in the current folder. It appends to `events` there when it starts, finishes,
// or finds that GPUs given to it are taken.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include "goodput/core/sample.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/throughput.hpp"

namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::atomic<bool> stop_asked = false;

constexpr double tick_seconds = 0.2;
constexpr double loading_seconds = 2;  // from the start to the first step: the cost of a restart without
                                       // Slurm's part

/// An application on one GPU type. A T4 computes about a sixth as fast as an A100, and A100 nodes have the
/// faster network.
struct OnType {
    std::string_view gpu_type;
    goodput::PolluxThroughput throughput;
    int max_atomic_batch;
};

struct Application {
    std::string_view name;
    int initial_batch;
    int max_batch;
    double noise_scale;   ///< in initial batches, at the start of the training
    double noise_growth;  ///< factor by which it grows until the end
    OnType types[2];
};

const Application applications[]{
    {"vision",
     128,
     4096,
     4,
     8,
     {{"t4", {.02, 2.5e-3, .06, .01, .012, .002, 2}, 256},
      {"a100", {.012, 4e-4, .03, .004, .006, .001, 2}, 1024}}},
    {"speech",
     32,
     512,
     3,
     5,
     {{"t4", {.04, 1.2e-2, .12, .02, .03, .004, 2}, 64},
      {"a100", {.02, 2.1e-3, .06, .008, .012, .002, 2}, 256}}},
    {"language",
     16,
     1024,
     8,
     6,
     {{"t4", {.05, 3e-2, .35, .04, .08, .01, 2}, 32},
      {"a100", {.03, 4.5e-3, .12, .015, .025, .004, 2}, 192}}},
};

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    if (!value)
        throw std::runtime_error(std::string(name) + " is not set; run this under srun, see cluster.sh");
    return value;
}

double seconds_since_1970() { return Seconds(std::chrono::system_clock::now().time_since_epoch()).count(); }

void append_line(const std::string& file, const Json& document) {
    const std::string line = document.dump() + "\n";
    const int out = open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
    // One write, so that lines of several processes never mix.
    const bool written =
        out >= 0 && write(out, line.data(), line.size()) == static_cast<ssize_t>(line.size());
    if (out >= 0) close(out);
    if (!written) throw std::runtime_error("cannot write " + file);
}

/// The part of the job on this node.
struct Part {
    std::string job = environment("SLURM_JOB_ID");
    std::string node = environment("SLURMD_NODENAME");
    int rank = std::stoi(environment("SLURM_PROCID"));
    int nodes = std::stoi(environment("SLURM_JOB_NUM_NODES"));
    int gpus = std::stoi(environment("SLURM_GPUS_ON_NODE"));
    std::string gpu_files = environment("GOODPUT_TOY_GPUS") + "/" + node + "-";

    [[nodiscard]] std::string file(const char* what) const { return "train-" + job + "." + what; }
    void log(const char* event) const {
        append_line("events", {{"event", event},
                               {"job", job},
                               {"time_s", seconds_since_1970()},
                               {"node", node},
                               {"rank", rank},
                               {"nodes", nodes},
                               {"gpus", gpus}});
    }
    [[nodiscard]] std::string gpu_type() const {
        std::string type;
        std::getline(std::ifstream(gpu_files + "0"), type);
        return type;
    }
    /// Holds the GPUs that Slurm gave us on this node until the process ends.
    void hold_gpus() const {
        int held = 0;
        for (int index = 0; held < gpus; ++index) {
            const int file = open((gpu_files + std::to_string(index)).c_str(), O_RDONLY | O_CLOEXEC);
            if (file < 0) break;
            if (flock(file, LOCK_EX | LOCK_NB) == 0)
                ++held;
            else
                close(file);
        }
        if (held < gpus) log("gpus taken");
    }
};

class Training {
public:
    Training(const Part& part, const Application& application, double examples)
        : part_(part), application_(application), examples_(examples) {
        const std::string type = part.gpu_type();
        for (const OnType& each : application.types)
            if (each.gpu_type == type) on_ = &each;
        if (!on_)
            throw std::runtime_error("no model of " + std::string(application.name) + " on '" + type + "'");
        std::ifstream(part.file("checkpoint")) >> done_;
        random_.seed(std::hash<std::string>()(part.job));
    }

    /// Trains until all examples are done and returns true. Returns false if it is told to stop.
    bool run() {
        wait(loading_seconds);
        auto last = Clock::now();
        double until_report = 0;
        while (!stop_asked && done_ < examples_) {
            wait(tick_seconds);
            const auto now = Clock::now();
            const double passed = Seconds(now - last).count();
            last = now;
            until_report -= passed;
            const bool report_now = until_report <= 0;
            if (report_now) {
                until_report = 1;
                read_plan();
            }
            step(passed, report_now);
        }
        save();
        return done_ >= examples_;
    }

private:
    static void wait(double seconds) {
        for (const auto end = Clock::now() + Seconds(seconds); !stop_asked && Clock::now() < end;)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }

    [[nodiscard]] int replicas() const { return part_.nodes * part_.gpus; }

    /// Without a plan, the batch grows with the GPUs, as many people do by hand.
    [[nodiscard]] goodput::BatchPlan usual_plan() const {
        const int total = std::min(application_.initial_batch * replicas(), application_.max_batch);
        const int each = std::max(total / replicas(), 1);
        const int steps = (each + on_->max_atomic_batch - 1) / on_->max_atomic_batch;
        return {(each + steps - 1) / steps, steps - 1};
    }

    void read_plan() {
        plan_ = usual_plan();
        std::ifstream file("goodput-" + part_.job + ".plan");
        if (!file) return;
        const Json document = Json::parse(file, nullptr, false);
        if (document.is_discarded()) return;
        plan_ = {document.at("local_batch").get<int>(), document.at("accumulation").get<int>()};
        if (plan_.atomic_batch < 1 || plan_.atomic_batch > on_->max_atomic_batch ||
            plan_.accumulation_steps < 0)
            throw std::runtime_error("a batch of " + std::to_string(plan_.atomic_batch) + " does not fit");
    }

    void step(double passed, bool report_now) {
        const goodput::Shape shape{part_.nodes, replicas()};
        const double growth = 1 + (application_.noise_growth - 1) * done_ / examples_;
        const goodput::GradientStatistics gradient{1, application_.noise_scale * growth};
        const goodput::NoiseScaleEfficiency efficiency{static_cast<double>(application_.initial_batch),
                                                       gradient};
        const auto total = static_cast<double>(plan_.total(replicas()));
        const double iteration = on_->throughput.iteration_seconds(shape, plan_);
        done_ += passed / iteration * total * efficiency.efficiency(total);
        if (!report_now) return;
        save();
        const double compute = on_->throughput.compute_seconds(plan_.atomic_batch);
        const double step = iteration - compute * plan_.accumulation_steps;
        Json line{{"gpu_type", on_->gpu_type},
                  {"nodes", shape.nodes},
                  {"gpus", shape.gpus},
                  {"local_batch", plan_.atomic_batch},
                  {"accumulation", plan_.accumulation_steps},
                  {"step_s", step * noise()},
                  {"sync_s", (step - compute) * .95 * noise()}};
        line["gradient"] = {{"sqr", gradient.squared_norm * noise()}, {"var", gradient.variance * noise()}};
        append_line("goodput-" + part_.job + ".reports", line);
    }

    /// Varies by a few per cent, like a mean over a second's steps.
    double noise() { return .97 + .06 * static_cast<double>(random_() >> 11) * 0x1p-53; }

    void save() {
        const std::string file = part_.file("checkpoint");
        std::ofstream(file + ".new") << done_;
        std::filesystem::rename(file + ".new", file);
    }

    const Part& part_;
    const Application& application_;
    const OnType* on_ = nullptr;
    double examples_ = 0;
    double done_ = 0;
    goodput::BatchPlan plan_{};
    std::mt19937_64 random_{};
};

const Application& application_of(std::string_view name) {
    for (const Application& application : applications)
        if (application.name == name) return application;
    throw std::runtime_error("there is no application '" + std::string(name) + "'");
}

int run(const Application& application, double examples) {
    const Part part;
    if (std::filesystem::exists(part.file("finished"))) return 0;
    part.hold_gpus();
    part.log("start");
    if (part.rank > 0) {
        while (!stop_asked && !std::filesystem::exists(part.file("finished")))
            std::this_thread::sleep_for(Seconds(tick_seconds));
    } else if (Training(part, application, examples).run()) {
        const int created = open(part.file("finished").c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
        part.log(created >= 0 ? "finish" : "finish again");
    }
    part.log("stop");
    return stop_asked && !std::filesystem::exists(part.file("finished")) ? 128 + SIGTERM : 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: goodput-train vision|speech|language EXAMPLES\n";
        return 2;
    }
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_asked = true; });
    try {
        return run(application_of(argv[1]), std::stod(argv[2]));
    } catch (const std::exception& error) {
        std::cerr << "goodput-train: " << error.what() << "\n";
        return 1;
    }
}
