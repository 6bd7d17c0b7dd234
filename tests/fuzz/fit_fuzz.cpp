// Feeds measurements of all kinds, hostile ones too, to all fitters. Invalid measurements are refused.
// Valid ones give, in few iterations, a model that predicts a time, a throughput and an ordered interval
// for every shape and batch, whatever the last fit was.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/noise_scale.hpp"
#include "goodput/hosts/host_fit.hpp"
#include "goodput/hosts/host_profile.hpp"
#include "goodput/memory/memory.hpp"
#include "goodput/memory/memory_fit.hpp"
#include "goodput/model/batch_plan.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/statistics/gradient_by_batch.hpp"
#include "goodput/statistics/profile_runs.hpp"
#include "goodput/tasks/forecast.hpp"
#include "peers/pollux/prediction_interval.hpp"
#include "peers/pollux/throughput_fit.hpp"
#include "peers/sia/published_fit.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using namespace goodput::peers;
using fuzz::accepted;
using fuzz::check;

namespace {

constexpr std::size_t most_samples = 32, gpu_types = 3;
constexpr int most_gpus = 1 << 20, most_batch = 1 << 30;

const std::array<Shape, 6> shapes{Shape{1, 1},  Shape{1, 2},         Shape{1, most_gpus},
                                  Shape{2, 16}, Shape{3, most_gpus}, Shape{most_gpus, most_gpus}};
const std::array<BatchPlan, 4> plans{BatchPlan{1, 0}, BatchPlan{37, 2}, BatchPlan{most_batch, 0},
                                     BatchPlan{most_batch, 1 << 20}};

/// What the records decode to: measurements by GPU type, of memory, of gradients, by cores and host memory.
struct Measured {
    std::vector<std::vector<ThroughputSample>> by_type{gpu_types};
    std::vector<MemorySample> memory{};
    std::vector<GradientNorms> norms{};
    std::vector<GradientAtBatch> gradients{};
    std::vector<HostSample> hosts{};
    double coverage = 0.9;
    bool robust = true;
    int max_iterations = 60;
    /// The fitter under test: one per input, since testing all of them would only make the run longer.
    std::size_t fitter = 0;
};

int power_of_two(fuzz::Bytes& bytes, int most) { return 1 << bytes.integer(0, most); }

Measured read(fuzz::Bytes bytes) {
    Measured measured;
    fuzz::Bytes head = bytes.record();
    bytes.let_in_hostile(head.integer(0, 3) == 3);
    measured.robust = head.integer(0, 3) != 3;
    measured.max_iterations = head.integer(0, 7) == 7 ? head.integer(-1, 3) : 60;
    measured.coverage = head.number(0.01, 0.99);
    const bool whole_range = head.flag();
    measured.fitter = head.index(4);
    std::size_t samples = 0;
    while (!bytes.empty() && samples < most_samples) {
        fuzz::Bytes record = bytes.record();
        ++samples;
        switch (const std::size_t kind = record.index(6); kind) {
            case 3:
                measured.memory.push_back({record.hostile_integer(1, 256), record.scale(1, 1e18)});
                measured.hosts.push_back(
                    {{record.scale(1e-6, 1e6), record.scale(1e-6, 1e6)}, record.scale(1e-12, 1e12)});
                break;
            case 4: {
                GradientNorms norms{record.scale(1e-9, 1e9), record.scale(1e-9, 1e9),
                                    record.hostile_integer(2, 64), record.scale(0.01, 1000)};
                norms.differenced = record.flag();
                norms.restart = record.flag();
                measured.norms.push_back(norms);
                break;
            }
            case 5:
                measured.gradients.push_back(
                    {record.scale(1, 1e6), {record.scale(1e-9, 1e9), record.scale(1e-9, 1e9)}});
                break;
            default: {
                ThroughputSample sample;
                const bool any = record.index(4) == 3;
                sample.shape.nodes = any ? power_of_two(record, 20) : record.hostile_integer(1, 8);
                sample.shape.gpus = any ? std::min(sample.shape.nodes * power_of_two(record, 10), most_gpus)
                                        : record.hostile_integer(std::max(sample.shape.nodes, 1), 64);
                sample.plan.atomic_batch = any ? power_of_two(record, 30) : record.hostile_integer(1, 512);
                sample.step_seconds = whole_range ? record.scale(least_step_seconds, most_step_seconds)
                                                  : record.scale(1e-3, 10);
                const double part = record.number(0, 1);
                sample.sync_seconds =
                    part == 1 ? std::nextafter(sample.step_seconds, 0) : sample.step_seconds * part;
                measured.by_type[kind].push_back(sample);
            }
        }
    }
    return measured;
}

bool is_time(double seconds) { return std::isfinite(seconds) && seconds > 0; }

template <class Model>
void check_model(const Model& model) {
    check(is_valid(model), "a fitted model is one");
    for (const Shape shape : shapes) {
        for (const BatchPlan plan : plans) {
            const double seconds = model.iteration_seconds(shape, plan);
            check(is_time(seconds), "an iteration takes some time", seconds, shape.gpus);
            const double examples = 1.0 * shape.gpus * plan.atomic_batch * (plan.accumulation_steps + 1.0);
            check(std::isfinite(examples / seconds), "a throughput is a number", seconds, examples);
        }
        const BestPlan best = best_batch_plan(model, NoiseScaleEfficiency{32, {1, 100}}, shape,
                                              {32, most_batch, 1, most_batch, false});
        check(std::isfinite(best.goodput) && best.goodput > 0, "there is a batch plan", best.goodput);
    }
}

void check_interval(const Interval& interval, double middle) {
    check(is_time(interval.low) && is_time(interval.high), "an interval's ends are times", interval.low,
          interval.high);
    check(interval.low <= middle * (1 + 1e-9), "low <= middle", interval.low, middle);
    check(middle <= interval.high * (1 + 1e-9), "middle <= high", middle, interval.high);
}

/// `last` is the fit of other samples, from which this fit may start all the same.
void check_throughput(std::span<const ThroughputSample> samples, const Measured& measured,
                      std::optional<PolluxThroughput>& last) {
    ThroughputFitter fitter;
    PublishedFitter published;
    const bool legal = accepted([&] {
        for (const ThroughputSample& sample : samples) validate(sample, "sample");
        check(!samples.empty(), "only called with samples");
    });
    for (const bool warm : {false, true}) {
        FitOptions options{.max_iterations = measured.max_iterations, .robust = measured.robust};
        if (warm) options.start = last;
        ThroughputFit fit;
        const bool fitted = accepted([&] { fit = fitter.fit(samples, options); });
        check(fitted == (legal && options.max_iterations >= 0), "refused is what is illegal, and only that");
        if (!fitted) continue;
        check(fit.iterations <= options.max_iterations, "iterations are bounded", fit.iterations);
        check(std::isfinite(fit.step_rmsle) && std::isfinite(fit.compute_rmsle), "errors are numbers");
        check(fit.status != FitStatus::start_kept || warm, "only a start can be kept");
        check_model(fit.model);
        for (const Shape shape : shapes)
            for (const BatchPlan plan : plans)
                (void)accepted([&] {
                    check_interval(predict_interval(fit, shape, plan, measured.coverage),
                                   fit.model.iteration_seconds(shape, plan));
                });
        last = fit.model;
    }
    PolluxThroughput model;
    if (accepted([&] { model = published.fit(samples); })) {
        check(legal, "a legal set is fitted as published");
        check(std::isfinite(published.end().objective), "the objective is a number");
        check(published.end().evaluations < 16000, "evaluations are bounded");
        check_model(model);
    }
}

void check_job(const Measured& measured) {
    JobFitter fitter;
    std::vector<TypeFit> fresh(gpu_types), kept(gpu_types);
    // The kept fitter starts from measurements of other types.
    std::vector<std::vector<ThroughputSample>> before = measured.by_type;
    std::rotate(before.begin(), before.begin() + 1, before.end());
    (void)accepted([&] { fitter(before, kept); });
    for (std::vector<TypeFit>* types : {&fresh, &kept}) {
        if (!accepted([&] { fitter(measured.by_type, *types); })) return;
        if (types->front().fit.coordinates.size() == 0) return;  // nothing was measured
        for (const TypeFit& type : *types) {
            check_model(type.fit.model);
            for (const Shape shape : shapes)
                for (const BatchPlan plan : plans) {
                    const Forecast forecast(type.fit, shape, plan);
                    const double variance = forecast.reducible_variance();
                    check(std::isfinite(variance) && variance >= 0, "a variance is one", variance);
                    (void)accepted(
                        [&] { check_interval(forecast.interval(measured.coverage), forecast.median()); });
                    double last = 0;
                    for (const double probability : {1e-9, 0.1, 0.5, 0.9, 1 - 1e-9}) {
                        const double now = forecast.quantile(probability);
                        check(is_time(now) && now >= last * (1 - 1e-9), "quantiles rise", last, now);
                        last = now;
                    }
                }
        }
    }
    std::vector<Option> options;
    for (std::size_t t = 0; t < gpu_types; ++t)
        for (const Shape shape : {Shape{1, 1}, Shape{2, 16}})
            options.push_back({{t, 8, shape}, {16, 0}, 1, Knowledge::projected});
    const ProfileRuns runs = choose_profile_runs(options, options, fresh, {.runs = 2});
    check(std::isfinite(runs.before) && runs.after <= runs.before * (1 + 1e-9), "runs teach", runs.before,
          runs.after);
    for (const double deviation : runs.deviations)
        check(std::isfinite(deviation) && deviation >= 0, "a deviation is one", deviation);
}

void check_memory(const Measured& measured) {
    MemoryFit fit;
    if (!accepted([&] { fit = fit_memory(measured.memory); })) return;
    validate(fit.model);
    for (const MemorySample& sample : measured.memory) {
        const double promised = fit.model.bytes(sample.atomic_batch);
        check(promised >= sample.bytes * 0.99 * (1 - 1e-9), "no less than was needed", promised,
              sample.bytes);
    }
    check(std::isfinite(fit.largest_excess) && std::isfinite(fit.largest_shortfall), "errors are numbers");
    const int batch = largest_atomic_batch(fit.model, {80e9, 0.05});
    check(batch >= 0 && batch <= fit.model.most_atomic_batch, "a batch within the model's end", batch);
}

void check_gradients(const Measured& measured) {
    NoiseScaleEstimator estimator;
    for (const GradientNorms& norms : measured.norms) {
        (void)accepted([&] { (void)estimator.observe(norms); });
        const GradientStatistics statistics = estimator.statistics();
        validate(statistics, "statistics");
        const NoiseScaleEfficiency efficiency{32, statistics};
        for (const double total : {32.0, 1e6, 1e15}) {
            const double now = efficiency.efficiency(total);
            check(now >= 0 && now <= 1 + 1e-9, "an efficiency is a part", now, total);
        }
    }
    BatchDependentEfficiency efficiency;
    if (!accepted([&] { efficiency = efficiency_from_batches(measured.gradients, 32); })) return;
    for (const double total : {32.0, 1e6, 1e15}) {
        const double now = efficiency.efficiency(total);
        check(now >= 0 && now <= 1 + 1e-9, "an efficiency is a part", now, total);
    }
}

void check_hosts(const Measured& measured) {
    HostFit fit;
    if (!accepted([&] { fit = HostFit(measured.hosts); })) return;
    std::vector<HostShare> shares{{1e-6, 1e-6}, {1, 16}, {3, 62.5}, {24, 250}, {1e6, 1e6}};
    double last = 0;
    for (const HostShare& share : shares) {
        const HostForecast forecast = fit.forecast(share);
        check(is_time(forecast.speed) && forecast.speed >= last, "more never harms", last, forecast.speed);
        check(std::isfinite(forecast.expected_error), "an error is a number", forecast.expected_error);
        (void)accepted([&] { check_interval(forecast.interval(measured.coverage), forecast.speed); });
        last = forecast.speed;
    }
    for (const HostSample& sample : measured.hosts) shares.push_back(sample.share);
    const HostProfile profile = next_host_share(fit, shares);
    if (profile.next) check(!fit.has_measured(*profile.next), "nothing is measured twice");
    for (const HostSpeed& point : host_speed_points(fit, {1, 16}, {24, 250}, {3, 62.5}))
        check(std::isfinite(point.factor) && point.factor >= 0, "a factor is one", point.factor);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Measured measured = read(fuzz::Bytes(data, size));
    std::optional<PolluxThroughput> last;
    if (measured.fitter < 2) {
        for (const std::vector<ThroughputSample>& samples : measured.by_type)
            if (!samples.empty()) check_throughput(samples, measured, last);
    } else if (measured.fitter == 2) {
        check_job(measured);
    } else {
        check_memory(measured);
        check_gradients(measured);
        check_hosts(measured);
    }
    return 0;
}
