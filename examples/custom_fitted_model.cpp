// A throughput model of your own, fitted to measurements, all the way into the plan. Replicas on a node
// compete for its memory bandwidth, so each further replica slows computing by the same fraction.

#include <goodput/fit/model_fit.hpp>
#include <goodput/schedule/scheduler.hpp>
#include <iostream>

struct Contended {  // seconds: computing a batch, per example, synchronising; then the part by which each
                    // slows
    double constant, slope, sync, contention;

    double compute_seconds(goodput::Shape shape, double batch) const {
        return (constant + slope * batch) * std::exp(contention * (1.0 * shape.gpus / shape.nodes - 1));
    }
    double iteration_seconds(goodput::Shape shape, goodput::BatchPlan plan) const {
        return (plan.accumulation_steps + 1) * compute_seconds(shape, plan.atomic_batch) +
               (shape.gpus > 1 ? sync : 0);
    }
};

// [terms]
/// Its logarithms, for numbers and for Ceres' jets, in parameters that may have any sign.
struct ContendedTerms {
    std::array<double, 4> mean{-3, -7, -4, 0.05}, deviation{2, 2, 2, 0.2};  // what is believed beforehand
    static std::size_t parameters() { return 4; }

    auto log_compute(auto& x, const goodput::ThroughputSample& of) const {
        using std::exp, std::log;
        return log(exp(x[0]) + exp(x[1]) * double(of.plan.atomic_batch)) +
               x[3] * (1.0 * of.shape.gpus / of.shape.nodes - 1);
    }
    auto log_sync(auto& x, const goodput::ThroughputSample&) const { return x[2]; }
    double log_overlap(auto&) const { return -20; }  // ln(gamma - 1): nothing overlaps
    static Contended model(std::span<const double> x) {
        return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), x[3]};
    }
};
// [/terms]

// [plan]
struct PredictContended {
    Contended model;

    void operator()(const goodput::Job& job, const goodput::JobModel&,
                    std::span<goodput::Option> options) const {
        const goodput::NoiseScaleEfficiency efficiency{1.0 * job.initial_batch, job.gradient.value()};
        for (goodput::Option& option : options) {
            const goodput::BestPlan best =
                goodput::best_batch_plan(model, efficiency, option.configuration.first().shape,
                                         goodput::batch_limits(job, option.configuration.first().gpu_type));
            option.plan = best.plan;
            option.goodput = best.goodput;
            option.knowledge = goodput::Knowledge::measured;
        }
    }
};

int main() {
    const Contended truth{0.02, 0.001, 0.01, 0.25};
    std::vector<goodput::ThroughputSample> samples;
    for (const goodput::Shape shape : {goodput::Shape{1, 1}, {1, 2}, {1, 4}, {2, 2}})
        for (const int batch : {32, 128})
            samples.push_back({.shape = shape,
                               .plan = {batch, 0},
                               .step_seconds = truth.iteration_seconds(shape, {batch, 0}),
                               .sync_known = false});
    const auto fit =
        goodput::fit_model(std::span<const goodput::ThroughputSample>(samples), ContendedTerms{});
    std::cout << "each further replica of a node slows computing down by " << fit.model().contention << " +- "
              << fit.deviations[3] << "\n";

    goodput::Snapshot now{.time_seconds = 600, .cluster = {{"T4"}, {{"node-0", 0, 8}}}};
    goodput::Job job{.name = "vision", .max_gpus = 8, .initial_batch = 64, .max_batch = 2048};
    job.types = {{.max_atomic_batch = 128}};
    job.gradient = {.squared_norm = 1, .variance = 500};
    now.jobs = {job};
    now.models = {{{{.most_replicas = 8}}}};
    const goodput::Plan plan = goodput::plan(now, goodput::Sia{}, {}, {}, {}, PredictContended{fit.model()});
    const goodput::Option& option = plan.decisions[0].option;
    std::cout << option.configuration.gpus() << " GPUs of 8, goodput " << option.goodput << "\n";
    // Eight would be slower than four.
    return std::abs(fit.model().contention - truth.contention) < 0.01 && option.configuration.gpus() == 4 ? 0
                                                                                                          : 1;
}
// [/plan]
