// goodput-training: a real, elastic, data-parallel training that measures its gradients and steps, and
// chooses its batch size and learning rate by them.
//
//     mpirun -n 2 goodput-training --network cnn --target-accuracy 0.97 --log cnn.csv

#include <mpi.h>

#include <array>
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "adviser.hpp"
#include "goodput/fit/gradient_preconditioner.hpp"
#include "goodput/fit/gradient_stream.hpp"
#include "goodput/model/learning_rate.hpp"
#include "network.hpp"
#include "optimiser.hpp"

namespace {

using training::Kind;

volatile std::sig_atomic_t told_to_stop = 0;

struct Options {
    Kind network = Kind::cnn;
    std::string digits = "/usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz";
    std::uint64_t seed = 1;
    int initial_batch = 8, max_batch = 512, fixed_batch = 0, gradients = 2;
    double learning_rate = 0, smoothing = 0.999, gain = 1.05, target = 0;
    int fit_every = 10, evaluate_every = 0, reference_every = 0, average_every = 0;
    long long stop_after = -1, most_steps = 1'000'000;
    double most_examples = 1e12;
    std::string checkpoint, log, reports;
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
        "--gradients", options.gradients,
        "least gradients a step of all processes together; 1: differences of successive steps will do");
    app.add_option("--learning-rate", options.learning_rate,
                   "at the initial batch size; 0: the network's usual one");
    app.add_option("--smoothing", options.smoothing, "of the noise scale, a step at the initial batch size");
    app.add_option("--gain", options.gain, "change the plan for so many times its goodput");
    app.add_option("--fit-every", options.fit_every, "steps between looking for a better plan");
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
    app.add_option("--log", options.log, "CSV, a line an evaluation");
    app.add_option("--reports", options.reports, "report lines for goodput plan, a line an evaluation");
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

class Training {
public:
    explicit Training(const Options& options)
        : options_(options),
          network_(options.network, options.seed, options.digits),
          optimiser_{options.network == Kind::transformer, options.learning_rate},
          stream_(network_.parameters().size()),
          adviser_({options.initial_batch, options.max_batch, 1, options.max_batch}, options.smoothing,
                   options.gain),
          averaged_(options.smoothing) {
        MPI_Comm_rank(MPI_COMM_WORLD, &process_);
        MPI_Comm_size(MPI_COMM_WORLD, &processes_);
        shape_ = {1, processes_};
        const int total = options.fixed_batch > 0 ? options.fixed_batch : options.initial_batch;
        plan_ = with_enough_gradients({(total + processes_ - 1) / processes_, 0});
    }

    void run();

private:
    [[nodiscard]] double now() const {
        if (!options_.processor_time) return MPI_Wtime();
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    }
    // Splits the atomic batch where a step would give fewer gradients than asked for.
    [[nodiscard]] goodput::BatchPlan with_enough_gradients(goodput::BatchPlan plan) const {
        while (processes_ * (plan.accumulation_steps + 1) < options_.gradients && plan.atomic_batch > 1)
            plan = {(plan.atomic_batch + 1) / 2, 2 * plan.accumulation_steps + 1};
        return plan;
    }
    [[nodiscard]] goodput::AdamPreconditioner<float> preconditioner() const {
        return {optimiser_.second, optimiser_.adam ? optimiser_.updates : 0, 0.999, 1e-8};
    }
    void step();
    void evaluate();
    [[nodiscard]] goodput::GradientStatistics reference(std::size_t group);
    void save();
    void load();

    Options options_;
    training::Network network_;
    training::Optimiser optimiser_;
    goodput::GradientStream stream_;
    training::Adviser adviser_;
    int process_ = 0, processes_ = 1;
    goodput::Shape shape_{};
    goodput::BatchPlan plan_{};
    std::uint64_t examples_ = 0;
    long long steps_ = 0;
    double seconds_ = 0, factor_ = 1, loss_ = 0;
    double useful_ = 0;         ///< examples, each counted with the efficiency of its step
    double agent_seconds_ = 0;  ///< spent on measuring and deciding
    int evaluations_ = 0;
    goodput::NoiseScaleEstimator averaged_;
    goodput::GradientStatistics exact_{};
    bool done_ = false;
    std::ofstream log_, reports_;
};

void Training::step() {
    const double begun = now();
    const int microbatches = plan_.accumulation_steps + 1, count = microbatches * processes_;
    const double total = static_cast<double>(plan_.total(processes_));
    const double scale = total / options_.initial_batch;
    const auto measure = [this](auto&& work) {
        const double start = now();
        work();
        agent_seconds_ += now() - start;
    };
    measure([&] { stream_.begin_step(scale, preconditioner()); });
    double loss = 0;
    for (int i = 0; i < microbatches; ++i) {
        const auto place = static_cast<std::uint64_t>((i * processes_ + process_) * plan_.atomic_batch);
        const auto gradient = network_.gradient(examples_ + place, plan_.atomic_batch, loss);
        measure([&] { stream_.add(gradient); });
    }
    const double reducing = now();
    const auto sum = stream_.running_sum();
    std::array<double, 2> totals{stream_.sum_of_squares(), loss};
    if (processes_ > 1) {
        MPI_Allreduce(MPI_IN_PLACE, sum.data(), static_cast<int>(sum.size()), MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, totals.data(), 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        stream_.set_totals(totals[0], count);
    }
    const double reduced = now();
    loss_ = totals[1] / count;
    optimiser_.step(network_.parameters(), sum, count, factor_);
    std::optional<goodput::GradientNorms> norms;
    measure([&] { norms = stream_.end_step(); });
    useful_ += total * adviser_.efficiency().efficiency(total);
    examples_ += static_cast<std::uint64_t>(total);
    ++steps_;
    // Every process has the same norms; seconds are the first one's, and so are decisions.
    std::array<double, 3> next{};
    if (process_ == 0) {
        const double deciding = now();
        adviser_.observe(shape_, plan_, now() - begun, reduced - reducing, norms);
        if (options_.fixed_batch == 0 && steps_ % options_.fit_every == 0)
            plan_ = with_enough_gradients(adviser_.choose(shape_, plan_));
        const double next_scale = static_cast<double>(plan_.total(processes_)) / options_.initial_batch;
        const goodput::LearningRateState state{next_scale, adviser_.statistics(), 0};
        factor_ = optimiser_.adam ? goodput::AdamScale{}.factor(state) : goodput::AdaScale{}.factor(state);
        agent_seconds_ += now() - deciding;
        seconds_ += now() - begun;
        next = {static_cast<double>(plan_.atomic_batch), static_cast<double>(plan_.accumulation_steps),
                factor_};
    }
    if (processes_ > 1) MPI_Bcast(next.data(), 3, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (process_ == 0) return;
    plan_ = {static_cast<int>(next[0]), static_cast<int>(next[1])};
    factor_ = next[2];
}

// Squared norm of the true gradient and trace of the covariance at the initial batch size, in the optimiser's
// metric, from all of the training set, or from 2,000 generated examples: from every example's gradient by
// itself
// (`group` 1), or, for less, from those of groups of examples.
goodput::GradientStatistics Training::reference(std::size_t group) {
    const auto metric = preconditioner();
    const std::size_t size = stream_.parameters(), set = network_.training_examples();
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
    const bool all = set > 0 && group == 1;  // else both are estimates from a sample
    const double covariance = (squares / count - square) * (all ? 1 : count / (count - 1));
    return {set ? square : std::max(square - covariance / count, 0.0),
            covariance * static_cast<double>(group) / options_.initial_batch};
}

void Training::evaluate() {
    const training::Evaluation now = network_.evaluate();
    done_ = options_.target > 0 && now.accuracy >= options_.target;
    if (process_ != 0) return;
    const auto efficiency = adviser_.efficiency();
    const double total = static_cast<double>(plan_.total(processes_));
    double step = 0;
    for (const auto& sample : adviser_.samples())
        if (sample.shape == shape_ && sample.plan.atomic_batch == plan_.atomic_batch &&
            sample.plan.accumulation_steps == plan_.accumulation_steps)
            step = sample.step_seconds;
    const double efficient = efficiency.efficiency(total);
    if (log_) {
        char line[400];
        std::snprintf(line, sizeof line, "%lld,%.6f,%.4f,%llu,%.0f,%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.4f,",
                      steps_, seconds_, static_cast<double>(examples_) / 1437,
                      static_cast<unsigned long long>(examples_), total, plan_.accumulation_steps,
                      options_.learning_rate * factor_, steps_ > 0 ? efficiency.noise_scale() : 0, efficient,
                      step > 0 ? total / step * efficient : 0, loss_, now.loss, now.accuracy);
        log_ << line;
        if (options_.reference_every > 0 && evaluations_ % options_.reference_every == 0) {
            const auto exact = reference(1), measured = adviser_.statistics(),
                       average = averaged_.statistics();
            log_ << exact.squared_norm << ',' << exact.variance << ',' << measured.squared_norm << ','
                 << measured.variance << ',' << average.squared_norm << ',' << average.variance;
        } else {
            log_ << ",,,,,";
        }
        log_ << std::endl;
    }
    if (reports_ && step > 0) {
        const auto statistics = adviser_.statistics();
        char line[400];
        std::snprintf(line, sizeof line,
                      R"({"gpu_type": "cpu", "nodes": 1, "gpus": %d, "local_batch": %d, "accumulation": %d, )"
                      R"("step_s": %.6g, "gradient": {"sqr": %.6g, "var": %.6g}})",
                      processes_, plan_.atomic_batch, plan_.accumulation_steps, step, statistics.squared_norm,
                      statistics.variance);
        reports_ << line << std::endl;
    }
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
        const std::array<std::uint64_t, 6> sizes{stream_.parameters(),
                                                 optimiser_.first.size(),
                                                 optimiser_.second.size(),
                                                 static_cast<std::uint64_t>(steps_),
                                                 static_cast<std::uint64_t>(optimiser_.updates),
                                                 examples_};
        write(sizes.data(), sizes.size());
        write(&seconds_, 1);
        write(&useful_, 1);
        write(&adviser_.noise(), 1);
        write(&plan_, 1);
        write(&factor_, 1);
        write(&processes_, 1);
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
    std::array<std::uint64_t, 6> sizes{};
    read(sizes.data(), sizes.size());
    if (!file || sizes[0] != stream_.parameters())
        throw std::runtime_error(options_.checkpoint + " is not a checkpoint of this network");
    read(&seconds_, 1);
    read(&useful_, 1);
    read(&adviser_.noise(), 1);
    goodput::BatchPlan before{};
    read(&before, 1);
    read(&factor_, 1);
    // Any other number of processes goes on with the total batch size, and looks for a better one later.
    int processes = 0;
    read(&processes, 1);
    const auto total = static_cast<int>(before.total(processes));
    if (options_.fixed_batch == 0) plan_ = with_enough_gradients({(total + processes_ - 1) / processes_, 0});
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
    if (process_ == 0) {
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
            const double scale = static_cast<double>(plan_.total(processes_)) / options_.initial_batch;
            const double noise = exact_.variance / scale;
            averaged_.observe({exact_.squared_norm + 2 * noise, exact_.squared_norm + noise, 2, scale});
        }
        step();
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
    std::printf("useful examples %.1f, measuring and deciding %.6f s\n", useful_, agent_seconds_);
    for (const auto& sample : adviser_.samples())
        std::printf("%d %d %d %.9f %.9f\n", sample.shape.gpus, sample.plan.atomic_batch,
                    sample.plan.accumulation_steps, sample.step_seconds, sample.sync_seconds);
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
    } catch (const std::exception& error) {
        std::cerr << "goodput-training: " << error.what() << '\n';
        status = 1;
    }
    if (status) MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
}
