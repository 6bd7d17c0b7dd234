// goodput-training: a real, elastic, data-parallel training that measures its gradients and steps, and
// chooses its batch size and learning rate from them.
//
//     mpirun -n 2 goodput-training --network cnn --target-accuracy 0.97 --log cnn.csv

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "goodput/agent/training_agent.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "json/agent_lines.hpp"
#include "network.hpp"
#include "optimiser.hpp"

namespace {

using training::Kind;

volatile std::sig_atomic_t told_to_stop = 0;

struct Options {
    Kind network = Kind::cnn;
    std::string digits = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";
    std::uint64_t seed = 1;
    int initial_batch = 8, max_batch = 512, fixed_batch = 0, nodes = 1, split_every = 8;
    double learning_rate = 0, smoothing = 0.996, gain = 1.05, target = 0;
    int evaluate_every = 0, reference_every = 0, average_every = 0, checkpoint_every = 0, pause_ms = 0;
    long long stop_after = -1, most_steps = 1'000'000;
    double most_examples = 1e12;
    std::string checkpoint, log, reports, plan, gpu_type = "cpu";
    bool processor_time = false, timing = false;
};

Options read_options(int count, char** words) {
    Options options;
    CLI::App app("A real training that chooses its own batch size");
    const std::map<std::string, Kind> kinds{
        {"cnn", Kind::cnn}, {"transformer", Kind::transformer}, {"wide", Kind::wide}};
    app.add_option("--network", options.network, "cnn, transformer, wide")
        ->transform(CLI::CheckedTransformer(kinds));
    app.add_option("--digits", options.digits, "scikit-learn's digits.csv, gzipped or not");
    app.add_option("--seed", options.seed, "of parameters and data");
    app.add_option("--initial-batch", options.initial_batch, "what the learning rate was chosen for");
    app.add_option("--max-batch", options.max_batch, "largest total batch size");
    app.add_option("--fixed-batch", options.fixed_batch, "always this total batch size; 0: by goodput");
    app.add_option(
        "--split-every", options.split_every,
        "one process: a step in so many is made of two gradients; 0: successive ones are compared");
    app.add_option("--learning-rate", options.learning_rate,
                   "at the initial batch size; 0: the network's usual one");
    app.add_option("--smoothing", options.smoothing, "of the noise scale, a step at the initial batch size");
    app.add_option("--gain", options.gain, "change the plan for so many times its goodput");
    app.add_option("--evaluate-every", options.evaluate_every,
                   "examples between evaluations; 0: the network's");
    app.add_option("--reference-every", options.reference_every,
                   "evaluations between exact noise scales; 0: none");
    app.add_option("--average-every", options.average_every,
                   "steps between references that are averaged as the measured noise scale is; 0: none");
    app.add_option("--target-accuracy", options.target, "stop there");
    app.add_option("--stop-after", options.stop_after,
                   "write the checkpoint and exit after so many steps in all");
    app.add_option("--most-steps", options.most_steps, "give up after so many steps");
    app.add_option("--most-examples", options.most_examples, "give up after so many examples");
    app.add_option("--checkpoint", options.checkpoint, "file to go on from and to write on SIGTERM");
    app.add_option("--checkpoint-every", options.checkpoint_every, "and after every so many steps; 0: never");
    app.add_option("--log", options.log, "CSV, a line an evaluation");
    app.add_option("--reports", options.reports, "report lines for goodput plan, a line an evaluation");
    app.add_option("--plan", options.plan, "follow the scheduler's plans in this file");
    app.add_option("--gpu-type", options.gpu_type, "what the processes are called in reports");
    app.add_option("--nodes", options.nodes, "on how many nodes they are");
    app.add_option("--pause-ms", options.pause_ms, "added to every step, to look on");
    app.add_flag("--processor-time", options.processor_time,
                 "the clock is the first process' processor time");
    app.add_flag("--timing", options.timing, "print the median seconds of each plan at the end");
    try {
        app.parse(count, words);
    } catch (const CLI::ParseError& error) {
        std::exit(app.exit(error));
    }
    const bool transformer = options.network == Kind::transformer;
    if (options.learning_rate <= 0)
        options.learning_rate = transformer ? 5e-4 : options.network == Kind::cnn ? 0.01 : 0.001;
    if (options.evaluate_every <= 0) options.evaluate_every = transformer ? 1024 : 256;
    return options;
}

goodput::TrainingSettings settings_of(const Options& options, std::size_t parameters) {
    return {.parameters = parameters,
            .optimizer = options.network == Kind::transformer ? goodput::Optimizer::adam
                                                              : goodput::Optimizer::momentum,
            .initial_batch = options.initial_batch,
            .max_batch = options.max_batch,
            .max_atomic_batch = options.max_batch,
            .mean_gradient_given = true,
            .split_every = options.split_every,
            .smoothing = options.smoothing,
            .retune_gain = options.gain};
}

class Training {
public:
    explicit Training(const Options& options)
        : options_(options),
          network_(options.network, options.seed, options.digits),
          optimiser_{options.network == Kind::transformer, options.learning_rate},
          mean_(network_.parameters().size()),
          agent_(settings_of(options, mean_.size())),
          averaged_(options.smoothing) {
        MPI_Comm_rank(MPI_COMM_WORLD, &process_);
        MPI_Comm_size(MPI_COMM_WORLD, &processes_);
    }

    void run();

private:
    [[nodiscard]] double now() const {
        if (!options_.processor_time) return MPI_Wtime();
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    [[nodiscard]] goodput::AdamPreconditioner<float> preconditioner() const {
        return {optimiser_.second, optimiser_.adam ? optimiser_.updates : 0, 0.999, 1e-8};
    }
    [[nodiscard]] double scale() const { return agent_.total_batch() / options_.initial_batch; }
    void sum_over_processes(std::span<float> numbers) const {
        MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    void sum_over_processes(std::span<double> numbers) const {
        MPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
    }
    void step();
    void choose_plan();
    void evaluate();
    [[nodiscard]] goodput::GradientStatistics reference(std::size_t group);
    void save();
    void load();

    Options options_;
    training::Network network_;
    training::Optimiser optimiser_;
    std::vector<float> mean_;  ///< gradient of the step
    goodput::TrainingAgent agent_;
    int process_ = 0, processes_ = 1;
    std::uint64_t examples_ = 0;
    long long steps_ = 0;
    double seconds_ = 0, loss_ = 0;
    double agent_seconds_ = 0;  ///< spent on measuring and deciding
    int evaluations_ = 0;
    goodput::NoiseScaleEstimator averaged_;
    goodput::GradientStatistics exact_{};
    bool done_ = false;
    std::ofstream log_, reports_;
};

void Training::step() {
    const double begun = now();
    const std::span<const float> moments(optimiser_.second);
    const auto measure = [this](auto&& work) {
        const double start = now();
        work();
        agent_seconds_ += now() - start;
    };
    agent_.begin_step(begun, {.adam_updates = optimiser_.updates});
    const goodput::BatchPlan plan = agent_.plan();
    const double total = agent_.total_batch(), factor = agent_.learning_rate_factor();
    const int microbatches = plan.accumulation_steps + 1, count = microbatches * processes_;
    std::fill(mean_.begin(), mean_.end(), 0.0F);
    loss_ = 0;
    for (int i = 0; i < microbatches; ++i) {
        if (i > 0) agent_.end_microbatch(now());
        const auto place = static_cast<std::uint64_t>((i * processes_ + process_) * plan.atomic_batch);
        const auto gradient = network_.gradient(examples_ + place, plan.atomic_batch, loss_);
        measure([&] { agent_.add_gradient(gradient, moments); });
        const float over = 1.0F / static_cast<float>(count);
        for (std::size_t k = 0; k < mean_.size(); ++k) mean_[k] += over * gradient[k];
    }
    const double reducing = now();
    if (processes_ > 1) {
        sum_over_processes(mean_);
        sum_over_processes(agent_.totals());
        sum_over_processes(std::span(&loss_, 1));
    }
    const double reduced = now();
    loss_ /= count;
    measure([&] { agent_.add_mean_gradient(std::span<const float>(mean_), moments); });
    optimiser_.step(network_.parameters(), mean_, factor);
    if (options_.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(options_.pause_ms));
    measure([&] { agent_.end_step(now(), reduced - reducing); });
    examples_ += static_cast<std::uint64_t>(total);
    ++steps_;
    if (options_.fixed_batch == 0 && steps_ % 10 == 0) measure([&] { choose_plan(); });
    seconds_ += now() - begun;
}

// Seconds differ between processes, so the first process decides and tells the others.
void Training::choose_plan() {
    if (process_ == 0 && options_.plan.empty()) agent_.retune();
    if (process_ == 0 && !options_.plan.empty()) {
        std::ifstream file(options_.plan);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        if (const auto plan = cli::read_plan(text)) agent_.adopt(*plan);
    }
    if (processes_ == 1) return;
    std::array<int, 2> plan{agent_.plan().atomic_batch, agent_.plan().accumulation_steps};
    MPI_Bcast(plan.data(), 2, MPI_INT, 0, MPI_COMM_WORLD);
    agent_.adopt({plan[0], plan[1]});
}

// Squared norm of the true gradient and trace of the covariance at the initial batch size, in the
// optimiser's metric, from the whole training set or from 2,000 generated examples. Uses every example's
// own gradient (`group` 1), or, to save time, the gradients of groups of examples.
goodput::GradientStatistics Training::reference(std::size_t group) {
    const auto metric = preconditioner().with_floor();
    const std::size_t size = mean_.size(), set = network_.training_examples();
    const std::size_t groups = (set ? set : 2000) / group;
    std::vector<double> mean(size), inverse(size, 1);
    if (metric.ready())
        for (std::size_t i = 0; i < size; ++i) inverse[i] = metric.inverse(i);
    double squares = 0, square = 0;
    for (std::size_t q = 0; q < groups; ++q) {
        const auto gradient = network_.gradient_of(q, groups, static_cast<int>(group));
        for (std::size_t i = 0; i < size; ++i) {
            const double value = gradient[i] * inverse[i];
            squares += value * value;
            mean[i] += value;
        }
    }
    const auto count = static_cast<double>(groups);
    for (const double value : mean) square += value * value / count / count;
    const bool all = set > 0 && group == 1;  // otherwise both are estimates from a sample
    const double covariance = (squares / count - square) * (all ? 1 : count / (count - 1));
    return {set ? square : std::max(square - covariance / count, 0.0),
            covariance * static_cast<double>(group) / options_.initial_batch};
}

void Training::evaluate() {
    const training::Evaluation now = network_.evaluate();
    done_ = options_.target > 0 && now.accuracy >= options_.target;
    if (process_ != 0) return;
    if (log_) {
        char line[400];
        std::snprintf(
            line, sizeof line, "%lld,%.6f,%.4f,%llu,%.0f,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.4f,", steps_,
            seconds_, static_cast<double>(examples_) / 1437, static_cast<unsigned long long>(examples_),
            agent_.total_batch(), agent_.plan().accumulation_steps,
            options_.learning_rate * agent_.learning_rate_factor(), steps_ > 0 ? agent_.noise_scale() : 0,
            agent_.efficiency(), agent_.goodput(), loss_, now.loss, now.accuracy);
        log_ << line;
        if (options_.reference_every > 0 && evaluations_ % options_.reference_every == 0) {
            const auto exact = reference(1), measured = agent_.statistics(), average = averaged_.statistics();
            log_ << exact.squared_norm << ',' << exact.variance << ',' << measured.squared_norm << ','
                 << measured.variance << ',' << average.squared_norm << ',' << average.variance;
        } else {
            log_ << ",,,,,";
        }
        log_ << std::endl;
    }
    if (reports_)
        if (const auto report = agent_.report()) reports_ << cli::line_of(*report) << std::endl;
    ++evaluations_;
}

void Training::save() {
    if (process_ != 0 || options_.checkpoint.empty()) return;
    const std::string part = options_.checkpoint + ".part";
    {
        std::ofstream file(part, std::ios::binary);
        const auto write = [&file](const auto* data, std::size_t count) {
            file.write(reinterpret_cast<const char*>(data),
                       static_cast<std::streamsize>(count * sizeof *data));
        };
        const std::string agent = agent_.save();
        const std::array<std::uint64_t, 7> sizes{mean_.size(),
                                                 optimiser_.first.size(),
                                                 optimiser_.second.size(),
                                                 static_cast<std::uint64_t>(steps_),
                                                 static_cast<std::uint64_t>(optimiser_.updates),
                                                 examples_,
                                                 agent.size()};
        write(sizes.data(), sizes.size());
        write(&seconds_, 1);
        write(agent.data(), agent.size());
        const auto parameters = network_.parameters();
        write(parameters.data(), parameters.size());
        write(optimiser_.first.data(), optimiser_.first.size());
        write(optimiser_.second.data(), optimiser_.second.size());
        if (!file.flush()) throw std::runtime_error("cannot write " + part);
    }
    std::filesystem::rename(part, options_.checkpoint);
}

void Training::load() {
    if (options_.checkpoint.empty() || !std::filesystem::exists(options_.checkpoint)) return;
    std::ifstream file(options_.checkpoint, std::ios::binary);
    const auto read = [&file](auto* data, std::size_t count) {
        file.read(reinterpret_cast<char*>(data), static_cast<std::streamsize>(count * sizeof *data));
    };
    std::array<std::uint64_t, 7> sizes{};
    read(sizes.data(), sizes.size());
    if (!file || sizes[0] != mean_.size() || sizes[6] > 1 << 20)
        throw std::runtime_error(options_.checkpoint + " is not a checkpoint of this network");
    read(&seconds_, 1);
    std::string agent(sizes[6], ' ');
    read(agent.data(), agent.size());
    agent_.restore(agent);
    const auto parameters = network_.parameters();
    read(parameters.data(), parameters.size());
    optimiser_.first.resize(sizes[1]);
    optimiser_.second.resize(sizes[2]);
    read(optimiser_.first.data(), sizes[1]);
    read(optimiser_.second.data(), sizes[2]);
    steps_ = static_cast<long long>(sizes[3]);
    optimiser_.updates = static_cast<std::int64_t>(sizes[4]);
    examples_ = sizes[5];
    if (!file) throw std::runtime_error(options_.checkpoint + " is cut short");
}

void Training::run() {
    load();
    agent_.hold({.gpu_type = options_.gpu_type, .nodes = options_.nodes, .gpus = processes_});
    if (options_.fixed_batch > 0) agent_.adopt({(options_.fixed_batch + processes_ - 1) / processes_, 0});
    if (options_.fixed_batch == 0) choose_plan();
    if (process_ == 0) {
        std::printf("starts at step %lld on %d process%s\n", steps_, processes_, processes_ > 1 ? "es" : "");
        std::fflush(stdout);
        const auto open = [this](std::ofstream& file, const std::string& path) {
            if (!path.empty())
                file.open(path, steps_ > 0 ? std::ios::app : std::ios::trunc);
            else
                file.setstate(std::ios::failbit);
        };
        open(log_, options_.log);
        open(reports_, options_.reports);
        if (log_ && steps_ == 0)
            log_ << "step,seconds,epoch,examples,batch,accumulation,learning_rate,noise_scale,efficiency,"
                    "goodput,"
                    "batch_loss,loss,accuracy,exact_sqr,exact_var,sqr,var,average_sqr,average_var\n";
    }
    const auto every = static_cast<std::uint64_t>(options_.evaluate_every);
    std::uint64_t evaluated = examples_ / every;
    if (steps_ == 0) evaluate();
    while (!done_ && steps_ < options_.most_steps &&
           static_cast<double>(examples_) < options_.most_examples) {
        int stop = told_to_stop || steps_ == options_.stop_after ? 1 : 0;
        if (processes_ > 1) MPI_Allreduce(MPI_IN_PLACE, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (stop) break;
        if (options_.average_every > 0 && process_ == 0) {
            if (steps_ % options_.average_every == 0) exact_ = reference(16);
            const double noise = exact_.variance / scale();
            averaged_.observe({exact_.squared_norm + 2 * noise, exact_.squared_norm + noise, 2, scale()});
        }
        step();
        if (options_.checkpoint_every > 0 && steps_ % options_.checkpoint_every == 0) save();
        if (examples_ / every == evaluated) continue;
        evaluated = examples_ / every;
        evaluate();
    }
    save();
    if (process_ != 0) return;
    const auto last = network_.evaluate();
    std::printf("%s after %lld steps, %llu examples, %.3f s: loss %.5f, accuracy %.4f\n",
                done_ ? "reached the target" : "stopped", steps_, static_cast<unsigned long long>(examples_),
                seconds_, last.loss, last.accuracy);
    if (!options_.timing) return;
    std::printf("useful examples %.1f, measuring and deciding %.6f s\n", agent_.useful_examples(),
                agent_seconds_);
    for (const goodput::TimedPlan& timed : agent_.step_times().plans()) {
        const goodput::ThroughputSample sample = timed.sample();
        std::printf("%d %d %d %.9f %.9f\n", sample.shape.gpus, sample.plan.atomic_batch,
                    sample.plan.accumulation_steps, sample.step_seconds, sample.sync_seconds);
    }
}

}  // namespace

int main(int count, char** words) {
    MPI_Init(&count, &words);
    int status = 0;
    try {
        const Options options = read_options(count, words);
        Training training(options);
        std::signal(SIGTERM, [](int) { told_to_stop = 1; });
        training.run();
        if (told_to_stop) status = 128 + SIGTERM;
    } catch (const std::exception& error) {
        std::cerr << "goodput-training: " << error.what() << '\n';
        status = 1;
    }
    if (status == 1) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    return status;  // of a process that was told to stop early: 143, like a program without a handler
}
