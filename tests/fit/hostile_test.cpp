// No measurement, whatever caused it, may make a fit crash, hang or return numbers that are not finite.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "goodput/agent/gradient_meter.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/fit/noise_scale.hpp"
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
#include "support/noisy_quadratic.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;
using namespace goodput::peers;

namespace {

constexpr double endless = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr double smallest = std::numeric_limits<double>::denorm_min();
constexpr int most_gpus = 1 << 20, most_batch = 1 << 30;

struct HostileSet {
    std::string name;
    std::vector<ThroughputSample> samples;
};

std::vector<HostileSet> hostile_sets() {
    const double below_one = std::nextafter(1.0, 0.0);
    const double least = least_step_seconds, most = most_step_seconds;
    std::vector<HostileSet> sets{
        {"one", {{{1, 1}, {8, 0}, 0.1, 0}}},
        {"one that synchronises", {{{2, 8}, {8, 0}, 0.1, 0.05}}},
        {"one of the shortest", {{{2, 8}, {8, 0}, least, 0}}},
        {"one of the longest", {{{2, 8}, {8, 0}, most, 0}}},
        {"one that only synchronises", {{{2, 8}, {8, 0}, 1, below_one}}},
        {"one of the shortest, that only synchronises", {{{2, 8}, {8, 0}, least, std::nextafter(least, 0)}}},
        {"one of the largest", {{{most_gpus, most_gpus}, {most_batch, 1 << 20}, most, most / 2}}},
        {"one of the fastest", {{{1, most_gpus}, {most_batch, 1 << 20}, least, smallest}}},
        {"256 equal", std::vector<ThroughputSample>(256, {{1, 4}, {32, 0}, 0.25, 0.125})},
        {"all on one shape", {}},
        {"constant", {}},
        {"falling with the batch", {}},
        {"smallest and largest batch", {}},
        {"fewest and most GPUs", {}},
        {"contradictory", {}},
        {"contradictory on every shape", {}},
        {"from the shortest to the longest", {}},
        {"hardly ever synchronising", {}},
        {"always synchronising", {}},
        {"one clock that went wrong", std::vector<ThroughputSample>(200, {{1, 1}, {32, 0}, 1e-9, 0})},
        {"one clock that went wrong, two batches", {}},
        {"steep in the GPUs", {}},
        {"falling in the GPUs", {}}};
    const auto of = [&](const std::string& name) -> std::vector<ThroughputSample>& {
        return std::find_if(sets.begin(), sets.end(), [&](const HostileSet& set) { return set.name == name; })
            ->samples;
    };
    const std::array<Shape, 5> shapes{Shape{1, 1}, Shape{1, 2}, Shape{1, 8}, Shape{2, 8}, Shape{16, 128}};
    for (int b = 1; b <= 64; b *= 2) of("all on one shape").push_back({{3, 7}, {b, 1}, 0.01 * b, 0.005});
    for (const Shape shape : shapes)
        for (const int batch : {1, 8, 64, 1000}) {
            const double log_gpus = std::log2(shape.gpus);
            of("constant").push_back({shape, {batch, 0}, 0.5, 0});
            of("falling with the batch").push_back({shape, {batch, 0}, 10.0 / batch, 1.0 / batch});
            of("contradictory on every shape").push_back({shape, {batch, 0}, 1e-3, 5e-4});
            of("contradictory on every shape").push_back({shape, {batch, 0}, 1e3, 5e2});
            of("hardly ever synchronising").push_back({shape, {batch, 0}, 0.1 + 0.01 * batch, smallest});
            of("always synchronising").push_back({shape, {batch, 0}, 1, below_one});
            of("steep in the GPUs").push_back({shape, {batch, 0}, std::exp(3 * log_gpus), 0});
            of("steep in the GPUs").back().sync_seconds = 0.5 * of("steep in the GPUs").back().step_seconds;
            of("falling in the GPUs").push_back({shape, {batch, 0}, std::exp(-3 * log_gpus), 0});
            for (double step = least; step <= most; step *= 1e4)
                of("from the shortest to the longest").push_back({shape, {batch, 0}, step, step / 3});
        }
    for (const int batch : {1, most_batch})
        for (const double step : {least, 1.0, most})
            of("smallest and largest batch").push_back({{1, 4}, {batch, 0}, step, step / 2});
    for (const int gpus : {1, most_gpus})
        for (const double step : {least, 1.0, most})
            of("fewest and most GPUs").push_back({{gpus, gpus}, {16, 0}, step, step / 2});
    for (const double step : {1.0, 1e6}) of("contradictory").push_back({{1, 4}, {16, 0}, step, step / 2});
    of("one clock that went wrong").push_back({{1, 1}, {32, 0}, 1e9, 0});
    of("one clock that went wrong, two batches") = of("one clock that went wrong");
    for (std::size_t i = 0; i < 100; ++i)
        of("one clock that went wrong, two batches")[i] = {{1, 1}, {64, 0}, 2e-9, 0};
    return sets;
}

std::vector<ThroughputSample> random_hostile(support::Random& random) {
    std::vector<ThroughputSample> samples;
    const int count = random.chance(0.05) ? 256 : random.integer(1, 24);
    const double wide = random.chance(0.5) ? 27 : random.between(0, 3);
    const int few = random.chance(0.3) ? 1 : 8;
    for (int i = 0; i < count; ++i) {
        const auto power = [&](int most) { return 1 << random.integer(0, random.chance(0.5) ? most : 5); };
        const int nodes = random.chance(0.5) ? 1 : std::min(power(20), 1 << few);
        const int gpus = std::min(nodes * (few == 1 ? 4 : power(20)), most_gpus);
        const double step =
            std::clamp(std::exp(random.between(-wide, wide)), least_step_seconds, most_step_seconds);
        const double part = random.chance(0.2) ? 0 : random.unit();
        const double sync = random.chance(0.1) ? std::nextafter(step, 0.0) : step * part;
        samples.push_back(
            {{nodes, std::max(gpus, nodes)},
             {few == 1 ? 1 << random.integer(3, 4) : power(30), random.chance(0.1) ? 1 << 20 : 0},
             step,
             sync});
    }
    return samples;
}

const std::vector<Shape>& grid_of_shapes() {
    static const std::vector<Shape> shapes{
        {1, 1},  {1, 2},  {1, 8},    {1, most_gpus}, {2, 2},
        {2, 16}, {3, 11}, {64, 512}, {3, most_gpus}, {most_gpus, most_gpus}};
    return shapes;
}

const std::vector<BatchPlan>& grid_of_plans() {
    static const std::vector<BatchPlan> plans{{1, 0},          {32, 0},      {1000, 3},
                                              {most_batch, 0}, {1, 1 << 20}, {most_batch, 1 << 20}};
    return plans;
}

bool predicts(double seconds) { return std::isfinite(seconds) && seconds > 0; }

// Returns whether every shape and plan has a time and a throughput, and every shape a best batch plan.
template <class Model>
bool predicts_everywhere(const Model& model) {
    bool good = is_valid(model);
    const NoiseScaleEfficiency efficiency{32, {1, 100}};
    for (const Shape shape : grid_of_shapes()) {
        for (const BatchPlan plan : grid_of_plans()) {
            const double seconds = model.iteration_seconds(shape, plan);
            const double examples = 1.0 * shape.gpus * plan.atomic_batch * (plan.accumulation_steps + 1.0);
            good = good && predicts(seconds) && std::isfinite(examples / seconds);
        }
        const BestPlan best =
            best_batch_plan(model, efficiency, shape, {32, most_batch, 1, most_batch, false});
        good = good && std::isfinite(best.goodput) && best.goodput > 0;
    }
    return good;
}

bool ordered(const Interval& interval, double middle) {
    return predicts(interval.low) && predicts(interval.high) && interval.low <= middle * (1 + 1e-9) &&
           middle <= interval.high * (1 + 1e-9);
}

constexpr std::array<double, 5> coverages{1e-12, 0.5, 0.9, 0.999999, 1 - 1e-16};

bool intervals_hold(const ThroughputFit& fit) {
    bool good = true;
    for (const Shape shape : grid_of_shapes())
        for (const BatchPlan plan : grid_of_plans())
            for (const double coverage : coverages)
                good = good && ordered(predict_interval(fit, shape, plan, coverage),
                                       fit.model.iteration_seconds(shape, plan));
    return good;
}

bool forecasts_hold(const RefinedFit& fit) {
    bool good = true;
    for (const Shape shape : grid_of_shapes())
        for (const BatchPlan plan : grid_of_plans()) {
            const Forecast forecast(fit, shape, plan);
            good = good && std::isfinite(forecast.reducible_variance()) && forecast.reducible_variance() >= 0;
            for (const double coverage : coverages)
                good = good && ordered(forecast.interval(coverage), forecast.median());
            double last = 0;
            for (const double probability : {1e-300, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9}) {
                const double quantile = forecast.quantile(probability);
                good = good && predicts(quantile) && quantile >= last * (1 - 1e-12);
                last = quantile;
            }
        }
    return good;
}

bool errors_hold(double compute_rmsle, double step_rmsle, double step_deviation) {
    return std::isfinite(compute_rmsle) && std::isfinite(step_rmsle) && predicts(step_deviation);
}

bool bounded(int iterations, int most) { return iterations >= 0 && iterations <= most; }

std::string refusal(const auto& run) {
    try {
        run();
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

bool names(const std::string& message, const std::string& subject, const std::string& field,
           const std::string& value) {
    return message.find(subject) == 0 && message.find(field) != std::string::npos &&
           message.find(" is " + value) != std::string::npos;
}

void check_all_fitters(const std::vector<ThroughputSample>& samples, ThroughputFitter& fitter,
                       PublishedFitter& published, std::optional<PolluxThroughput>& last) {
    for (const bool robust : {true, false}) {
        const ThroughputFit cold = fitter.fit(samples, {.robust = robust});
        CHECK(predicts_everywhere(cold.model));
        CHECK(errors_hold(cold.compute_rmsle, cold.step_rmsle, cold.step_deviation));
        CHECK(bounded(cold.iterations, 200));
        CHECK(intervals_hold(cold));
        if (last) {
            const ThroughputFit warm = fitter.fit(samples, {.start = last, .robust = robust});
            CHECK(predicts_everywhere(warm.model));
            CHECK(intervals_hold(warm));
        }
        last = cold.model;
    }
    CHECK(predicts_everywhere(published.fit(samples)));
    CHECK(std::isfinite(published.end().objective));
    CHECK(published.end().evaluations < 16000);
}

void check_job(std::span<const TypeFit> types) {
    for (const TypeFit& type : types) {
        CHECK(predicts_everywhere(type.fit.model));
        CHECK(forecasts_hold(type.fit));
        CHECK(predicts(type.fit.step_deviation));
        if (type.fit.samples > 0)
            CHECK(errors_hold(type.fit.compute_rmsle, type.fit.step_rmsle, type.fit.step_deviation));
        for (const ParameterEvidence& evidence : type.evidence) CHECK(std::isfinite(evidence.value));
    }
}

void check_profile_runs(std::span<const TypeFit> types) {
    std::vector<Option> options;
    for (std::size_t t = 0; t < types.size(); ++t)
        for (const Shape shape : {Shape{1, 1}, Shape{1, 4}, Shape{2, 16}, Shape{1024, 1 << 20}})
            for (const BatchPlan plan : {BatchPlan{1, 0}, BatchPlan{64, 2}, BatchPlan{most_batch, 0}})
                options.push_back({{t, 1024, shape}, plan, 1, Knowledge::projected});
    for (const ProfileCriterion criterion : {ProfileCriterion::variance, ProfileCriterion::regret}) {
        const ProfileRuns runs =
            choose_profile_runs(options, options, types, {.criterion = criterion, .runs = 4});
        CHECK(std::isfinite(runs.before));
        CHECK(std::isfinite(runs.after));
        CHECK(std::isfinite(runs.gpu_seconds));
        CHECK(runs.after <= runs.before * (1 + 1e-9));
        for (const double deviation : runs.deviations) CHECK((std::isfinite(deviation) && deviation >= 0));
        for (const ProfileRun& run : runs.runs) CHECK(predicts(run.gpu_seconds));
    }
}

}  // namespace

TEST_CASE("Whatever was measured, every fitter gives a model that predicts everywhere") {
    ThroughputFitter fitter;
    PublishedFitter published;
    std::optional<PolluxThroughput> last;
    for (const HostileSet& set : hostile_sets()) {
        CAPTURE(set.name);
        check_all_fitters(set.samples, fitter, published, last);
    }
    support::Random random(1);
    for (int round = 0; round < 150; ++round) {
        CAPTURE(round);
        check_all_fitters(random_hostile(random), fitter, published, last);
    }
}

TEST_CASE("Whatever was measured on which types, a job gets models of all of them, and ordered forecasts") {
    const std::vector<HostileSet> sets = hostile_sets();
    JobFitter fitter;
    support::Random random(2);
    std::vector<TypeFit> kept(3);
    for (std::size_t round = 0; round < sets.size() + 40; ++round) {
        // A hostile type, another measured type, and one without samples; fitted anew and from the last fit.
        std::vector<std::vector<ThroughputSample>> samples(3);
        samples[0] = round < sets.size() ? sets[round].samples : random_hostile(random);
        if (round % 3 > 0) samples[1] = sets[(5 * round + 3) % sets.size()].samples;
        CAPTURE(round);
        std::vector<TypeFit> fresh(3);
        fitter(samples, fresh);
        check_job(fresh);
        fitter(samples, kept);
        check_job(kept);
        if (round % 4 == 0) check_profile_runs(fresh);
    }
}

TEST_CASE("One sample that is a million times off does not move the model of the others") {
    // The clock of one of two hundred measurements is wrong by 18 orders of magnitude.
    for (const HostileSet& set : hostile_sets()) {
        if (set.name.find("one clock") != 0) continue;
        CAPTURE(set.name);
        const double expected = set.samples.back().plan.atomic_batch == 32 ? 1e-9 : 2e-9;
        const ThroughputFit fit = fit_throughput(set.samples);
        CHECK(fit.model.iteration_seconds({1, 1}, {32, 0}) == doctest::Approx(expected).epsilon(0.3));
        CHECK(fit.stragglers >= 1);
        const RefinedFit refined = fit_refined(set.samples);
        CHECK(refined.model.iteration_seconds({1, 1}, {32, 0}) == doctest::Approx(expected).epsilon(0.3));
    }
}

TEST_CASE("What cannot be a measurement is refused with job, field and value") {
    const ThroughputSample good{{1, 2}, {32, 0}, 0.5, 0.1};
    const auto refused_by_all = [&](const ThroughputSample& bad, const std::string& field,
                                    const std::string& value) {
        const std::vector<ThroughputSample> samples{good, bad};
        const std::array<std::string, 4> messages{
            refusal([&] { (void)fit_throughput(samples, {.subject = "job 'a'"}); }),
            refusal([&] { (void)PublishedFitter().fit(samples, "job 'a'"); }),
            refusal([&] { (void)fit_refined(samples, {.subject = "job 'a'"}); }), refusal([&] {
                std::vector<TypeFit> types(2);
                JobFitter()(std::vector<std::vector<ThroughputSample>>{{good}, samples}, types, "job 'a'");
            })};
        for (const std::string& message : messages) {
            CAPTURE(message);
            CHECK(names(message, "job 'a'", field, value));
        }
    };
    const auto with = [&](auto change) {
        ThroughputSample bad = good;
        change(bad);
        return bad;
    };
    for (const double step : {0.0, -1.0, smallest, 1e-300, 1e-13, 1e13, 1e300, endless, no_number})
        refused_by_all(with([&](ThroughputSample& s) { s.step_seconds = step; }), "sample.step_seconds",
                       text_of(step));
    for (const double sync : {-smallest, 0.5, 1e300, endless, no_number})
        refused_by_all(with([&](ThroughputSample& s) { s.sync_seconds = sync; }), "sample.sync_seconds",
                       text_of(sync));
    for (const int nodes : {-1, 0, most_gpus + 1})
        refused_by_all(with([&](ThroughputSample& s) { s.shape.nodes = nodes; }), "sample.shape.nodes",
                       text_of(nodes));
    for (const int gpus : {-1, 0, most_gpus + 1, std::numeric_limits<int>::max()})
        refused_by_all(with([&](ThroughputSample& s) { s.shape.gpus = gpus; }), "sample.shape.gpus",
                       text_of(gpus));
    for (const int batch : {-1, 0, most_batch + 1})
        refused_by_all(with([&](ThroughputSample& s) { s.plan.atomic_batch = batch; }),
                       "sample.plan.atomic_batch", text_of(batch));
    for (const int steps : {-1, (1 << 20) + 1})
        refused_by_all(with([&](ThroughputSample& s) { s.plan.accumulation_steps = steps; }),
                       "sample.plan.accumulation_steps", text_of(steps));
}

TEST_CASE("Samples of other GPU types than a job's are refused") {
    std::vector<TypeFit> types(2);
    CHECK_THROWS_WITH(JobFitter()(std::vector<std::vector<ThroughputSample>>(3), types),
                      "throughput samples: GPU types with samples is 3, but must be 2");
}

TEST_CASE("Options that no fit can have are refused, and nothing is touched") {
    const std::vector<ThroughputSample> samples{{{1, 2}, {32, 0}, 0.5, 0.1}};
    const auto refused = [&](const FitOptions& options) {
        return refusal([&] { (void)fit_throughput(samples, options); });
    };
    CHECK(names(refused({.max_iterations = -1}), "throughput", "max_iterations", "-1"));
    CHECK(names(refused({.start = PolluxThroughput{}}), "throughput", "alpha_c + beta_c", "0"));
    CHECK(names(refused({.start = PolluxThroughput{.alpha_c = 1e300}}), "throughput", "alpha_c", "1e+300"));

    RefinedFit fit = fit_refined(samples);
    const double before = fit.model.alpha_c;
    const auto refined = [&](const RefinedFitOptions& options) {
        return refusal([&] { JobFitter().fit(samples, options, fit); });
    };
    CHECK(names(refined({.max_iterations = -1}), "throughput", "max_iterations", "-1"));
    for (const double batch : {-1.0, 0.5, 1e10, endless, no_number})
        CHECK(names(refined({.reference_batch = batch}), "throughput", "reference_batch", text_of(batch)));
    for (const double deviation : {0.0, -1.0, endless, no_number}) {
        RefinedFitOptions options;
        options.prior.deviation[overlap_level] = deviation;
        CHECK(names(refined(options), "throughput", "prior.deviation of gamma", text_of(deviation)));
        options = {};
        options.prior.sync_deviation = deviation;
        CHECK(names(refined(options), "throughput", "prior.sync_deviation", text_of(deviation)));
        RefinedPopulation population;
        population.jobs[node_level] = deviation;
        CHECK(names(refusal([&] { (void)JobFitter(population); }), "population", "node_seconds",
                    text_of(deviation)));
    }
    RefinedFitOptions options;
    options.prior.mean[alone_factor] = no_number;
    CHECK(names(refined(options), "throughput", "prior.mean of alone", "nan"));
    CHECK(fit.model.alpha_c == before);
}

TEST_CASE("A fit without a single iteration still predicts, and says so") {
    for (const HostileSet& set : hostile_sets()) {
        CAPTURE(set.name);
        const ThroughputFit fit = fit_throughput(set.samples, {.max_iterations = 0});
        CHECK(predicts_everywhere(fit.model));
        CHECK(bounded(fit.iterations, 0));
        const RefinedFit refined = fit_refined(set.samples, {.max_iterations = 0});
        CHECK(predicts_everywhere(refined.model));
        CHECK(forecasts_hold(refined));
    }
}

namespace {

// Every way in which a minimiser can fail.
enum class Failure { not_a_number, far_away, worse, gives_up, infinite };
constexpr std::array<Failure, 5> failures{Failure::not_a_number, Failure::far_away, Failure::worse,
                                          Failure::gives_up, Failure::infinite};

template <class Vector>
void spoil(Failure failure, Vector& x) {
    if (failure == Failure::not_a_number) x[3] = no_number;
    if (failure == Failure::far_away) x[0] = 1e200;
    if (failure == Failure::infinite) x[2] = endless;
}

/// A failing minimiser for JobFitter.
template <Failure failure>
Minimisation fail(const AnyResiduals&, std::span<double> y, const LeastSquaresOptions&, MinimiserBuffers&) {
    spoil(failure, y);
    if (failure == Failure::worse) y[computing_constant] += 20;
    return {failure == Failure::gives_up ? FitStatus::prior_kept : FitStatus::converged, 1};
}
constexpr std::array<Minimise, 5> failing{fail<failures[0]>, fail<failures[1]>, fail<failures[2]>,
                                          fail<failures[3]>, fail<failures[4]>};

/// A failing minimiser for the peers' fitters.
struct FailingBackend {
    Failure failure = Failure::worse;

    // Called by ThroughputFitter.
    Minimisation minimise(const PolluxResiduals&, const PolluxBox&, PolluxPoint& x,
                          const LeastSquaresOptions&) const {
        spoil(failure, x);
        if (failure == Failure::worse) x[0] = x[1] = 1e5;
        return {failure == Failure::gives_up ? FitStatus::prior_kept : FitStatus::converged, 1};
    }
    // Called by PublishedFitter.
    template <class Evaluate>
    QuasiNewtonResult minimise(const QuasiNewtonVector&, const QuasiNewtonVector&,
                               const QuasiNewtonVector& start, Evaluate&& evaluate) const {
        QuasiNewtonResult result;
        result.converged = true;
        result.point = start;
        spoil(failure, result.point);
        if (failure == Failure::worse) result.point[0] = result.point[1] = 1e9;
        QuasiNewtonVector gradient{};
        result.value = failure == Failure::gives_up ? no_number : evaluate(result.point, gradient);
        return result;
    }
};

std::vector<ThroughputSample> ordinary_samples() {
    std::vector<ThroughputSample> samples;
    const PolluxThroughput truth{0.05, 0.002, 0.08, 0.001, 0.03, 0.0005, 1.7};
    for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{1, 4}, Shape{2, 8}, Shape{4, 16}})
        for (const int batch : {8, 16, 32, 64}) {
            const double compute = truth.compute_seconds(batch);
            const double step = truth.step_seconds(compute, truth.sync_seconds(shape));
            samples.push_back({shape, {batch, 0}, step, step - compute});
        }
    return samples;
}

bool same(const PolluxThroughput& a, const PolluxThroughput& b) {
    return parameters_of(a) == parameters_of(b);
}

}  // namespace

TEST_CASE("A fit that fails says so and keeps the prior, or the previous fit where there is one") {
    const std::vector<ThroughputSample> samples = ordinary_samples();
    const PolluxThroughput prior = throughput_prior(samples);
    const ThroughputFit good = fit_throughput(samples);
    REQUIRE(good.status == FitStatus::converged);
    for (const Failure failure : failures) {
        CAPTURE(static_cast<int>(failure));
        ThroughputFitter fitter;
        const ThroughputFit cold = fitter.fit(samples, {}, FailingBackend{failure});
        CHECK(cold.status == FitStatus::prior_kept);
        CHECK(same(cold.model, prior));
        const ThroughputFit warm = fitter.fit(samples, {.start = good.model}, FailingBackend{failure});
        CHECK(warm.status == FitStatus::start_kept);
        CHECK(same(warm.model, good.model));
        for (const ThroughputFit& fit : {cold, warm}) {
            CHECK_FALSE(is_fitted(fit.status));
            CHECK(std::count(fit.identified.begin(), fit.identified.end(), true) == 0);
            CHECK(predicts_everywhere(fit.model));
            CHECK(intervals_hold(fit));
            CHECK(errors_hold(fit.compute_rmsle, fit.step_rmsle, fit.step_deviation));
            CHECK(fit.step_deviation >= 0.9 * fit.step_rmsle);
        }
        CHECK(cold.report().find("kept the prior") != std::string::npos);
        CHECK(warm.report().find("kept the start") != std::string::npos);
        // The errors show that the prior explains the samples worse than the last good model does.
        CHECK(warm.step_rmsle < 1e-3);
        CHECK(cold.step_rmsle > 0.1);
        // The next fit of the same fitter works as if nothing had happened.
        const ThroughputFit next = fitter.fit(samples, {.start = warm.model});
        CHECK(next.status == FitStatus::converged);
        CHECK(next.step_rmsle < 1e-3);

        PublishedFitter published;
        const PolluxThroughput kept = published.fit(samples, "job", FailingBackend{failure});
        CHECK(published.end().status == FitStatus::prior_kept);
        CHECK(same(kept, prior));
        CHECK(std::isfinite(published.end().objective));
        (void)published.fit(samples);
        CHECK(published.end().status == FitStatus::converged);
    }
}

TEST_CASE("A refined fit that fails says so and keeps the prior, or the previous fit where there is one") {
    const std::vector<ThroughputSample> samples = ordinary_samples();
    const RefinedFit good = fit_refined(samples);
    REQUIRE(good.status == FitStatus::converged);
    for (const Minimise fails : failing) {
        CAPTURE(std::find(failing.begin(), failing.end(), fails) - failing.begin());
        JobFitter fitter({}, fails);
        const RefinedFit cold = fitter.fit(samples);
        CHECK(cold.status == FitStatus::prior_kept);
        // The prior: coordinates are its means, relative to how long computing takes.
        CHECK(cold.coordinates[network_over_node] == cold.prior.mean[network_over_node]);
        CHECK(cold.coordinates[overlap_level] == cold.prior.mean[overlap_level]);
        CHECK(cold.model.shapes.empty());
        CHECK(cold.model.compute_seconds(cold.reference_batch) ==
              doctest::Approx(cold.reference_seconds).epsilon(1e-9));
        for (const ParameterEvidence& evidence : cold.evidence()) CHECK(std::isinf(evidence.variance));

        RefinedFit warm = good;
        fitter.fit(samples, {.start = &warm}, warm);
        CHECK(warm.status == FitStatus::start_kept);
        CHECK(warm.coordinates == good.coordinates);
        CHECK(warm.model.iteration_seconds({2, 8}, {32, 0}) == good.model.iteration_seconds({2, 8}, {32, 0}));
        CHECK(warm.step_rmsle < 0.05);
        CHECK(cold.step_rmsle > warm.step_rmsle);
        for (const RefinedFit& fit : {cold, warm}) {
            CHECK(std::count(fit.identified.begin(), fit.identified.end(), true) == 0);
            CHECK(predicts_everywhere(fit.model));
            CHECK(forecasts_hold(fit));
            CHECK(fit.step_deviation >= fit.step_rmsle);
            CHECK(fit.samples == static_cast<int>(samples.size()));
        }
        CHECK(cold.report().find("kept the prior") != std::string::npos);

        // All types of a job together: each still gets a model.
        std::vector<TypeFit> types(3);
        for (int again = 0; again < 2; ++again) {
            fitter(std::vector<std::vector<ThroughputSample>>{samples, {samples.front()}, {}}, types);
            check_job(types);
            CHECK_FALSE(is_fitted(types[0].fit.status));
            CHECK(types[2].fit.status == FitStatus::prior_kept);
        }
    }
}

TEST_CASE("A reference batch at which computing would take no time leaves a model all the same") {
    // All but the last bit of the least step synchronises, at the largest batch; reference batches are small.
    const double step = least_step_seconds;
    const ThroughputSample tiny{{1, 2}, {1 << 30, 0}, step, std::nextafter(step, 0)};
    for (const double reference : {1.0, 32.0}) {
        const RefinedFit fit = JobFitter().fit(std::vector{tiny}, {.reference_batch = reference});
        CHECK(is_valid(fit.model));
        CHECK(predicts_everywhere(fit.model));
        CHECK(forecasts_hold(fit));
    }
    // The same with other types of the job: the reference batch is the middle of all batches.
    const ThroughputSample small{{1, 1}, {1, 0}, 1, 0};
    std::vector<TypeFit> types(3);
    JobFitter()(std::vector<std::vector<ThroughputSample>>{{tiny}, std::vector(40, small), {}}, types);
    check_job(types);
}

TEST_CASE("A start that no fitter can have written counts as none") {
    const std::vector<ThroughputSample> samples = ordinary_samples();
    const RefinedFit good = fit_refined(samples);
    const auto fitted_from = [&](auto spoil) {
        RefinedFit start = good;
        spoil(start);
        return fit_refined(samples, {.start = &start});
    };
    const auto as_from_nothing = [&](const RefinedFit& fit) {
        return fit.status == FitStatus::converged && fit.coordinates == good.coordinates;
    };
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f = {}; })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.coordinates[0] = no_number; })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.step_deviation = 0; })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.model.batches.pop_back(); })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.covariance.clear(); })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.model.gamma = 0.5; })));
    CHECK(as_from_nothing(fitted_from([](RefinedFit& f) { f.shape_variances.pop_back(); })));
}

TEST_CASE("Forecasts and intervals of invalid fits, shapes and plans are refused") {
    const std::vector<ThroughputSample> samples = ordinary_samples();
    const RefinedFit refined = fit_refined(samples);
    const ThroughputFit fit = fit_throughput(samples);
    CHECK(refusal([] { (void)Forecast(RefinedFit{}, {1, 1}, {8, 0}); }).find("forecast: fit is") == 0);
    CHECK(refusal([] {
              (void)predict_interval(ThroughputFit{}, {1, 1}, {8, 0});
          }).find("predict_interval: model") == 0);
    for (const Shape shape : {Shape{0, 0}, Shape{1, 0}, Shape{2, 1}, Shape{1, most_gpus + 1}}) {
        CHECK(refusal([&] { (void)Forecast(refined, shape, {8, 0}); }).find("forecast") == 0);
        CHECK(refusal([&] { (void)predict_interval(fit, shape, {8, 0}); }).find("predict_interval") == 0);
    }
    for (const BatchPlan plan :
         {BatchPlan{0, 0}, BatchPlan{-1, 0}, BatchPlan{8, -1}, BatchPlan{most_batch, 1 << 21}}) {
        CHECK(refusal([&] { (void)Forecast(refined, {1, 1}, plan); }).find("forecast") == 0);
        CHECK(refusal([&] { (void)predict_interval(fit, {1, 1}, plan); }).find("predict_interval") == 0);
    }
    for (const double coverage : {0.0, 1.0, -1.0, no_number}) {
        CHECK(names(refusal([&] {
                        (void)predict_interval(fit, {1, 1}, {8, 0}, coverage);
                    }),
                    "predict_interval", "coverage", text_of(coverage)));
        CHECK_FALSE(refusal([&] { (void)Forecast(refined, {1, 1}, {8, 0}).quantile(coverage); }).empty());
    }
}

TEST_CASE("A memory model is valid whatever was measured, and never promises less than was needed") {
    support::Random random(3);
    for (int round = 0; round < 20000; ++round) {
        std::vector<MemorySample> samples;
        const int count = random.chance(0.02) ? 256 : random.integer(1, 8);
        const double wide = random.chance(0.5) ? 41.4 : 3;
        for (int i = 0; i < count; ++i)
            samples.push_back({1 << random.integer(0, random.chance(0.3) ? 30 : 3),
                               std::clamp(std::exp(random.between(0, wide)), 1.0, 1e18)});
        const MemoryFitOptions options{.tolerance = random.chance(0.5) ? 0 : 0.5 * random.unit()};
        const MemoryFit fit = fit_memory(samples, options);
        bool good = true;
        for (const double value :
             {fit.model.fixed_bytes, fit.model.bytes_per_example, fit.largest_excess, fit.largest_shortfall})
            good = good && std::isfinite(value) && value >= 0;
        for (const MemorySample& sample : samples)
            good = good && fit.model.bytes(sample.atomic_batch) >=
                               sample.bytes * (1 - options.tolerance) * (1 - 1e-9);
        good = good && fit.largest_shortfall <= options.tolerance + 1e-9;
        const int batch = largest_atomic_batch(fit.model, {std::exp(random.between(0, 41)), 0.05});
        good = good && batch >= 0 && batch <= fit.model.most_atomic_batch;
        CAPTURE(round);
        CHECK(good);
    }
    for (const double bytes : {0.0, -1.0, smallest, 1e-300, 1e19, 1e300, endless, no_number})
        CHECK(names(
            refusal([&] {
                (void)fit_memory(std::vector<MemorySample>{{1, 1e9}, {2, bytes}}, {.subject = "job 'a'"});
            }),
            "job 'a'", "bytes", text_of(bytes)));
}

TEST_CASE("The largest batch that fits is found in steps that do not depend on the numbers") {
    // Compared with these fixed bytes, a thousand million examples change nothing that a double can hold.
    const MemoryModel flat{1e300, 1e270};
    CHECK(largest_atomic_batch(flat, {1e300, 0}) == most_batch);
    const MemoryModel nearly{1e300, 1e275};
    const int largest = largest_atomic_batch(nearly, {1e300, 0});
    CHECK(largest > 1);
    CHECK(nearly.bytes(largest) <= 1e300);
    CHECK(nearly.bytes(largest + 1.0) > 1e300);
}

TEST_CASE("Norms of gradients of any size give statistics that efficiency models can use") {
    support::Random random(4);
    for (int round = 0; round < 3000; ++round) {
        NoiseScaleEstimator estimator(random.chance(0.2) ? 1 - 1e-16 : 0.999);
        const double size = random.between(-320, 308);
        for (int step = 0; step < 20; ++step) {
            const auto norm = [&] {
                return random.chance(0.05) ? no_number
                       : random.chance(0.05)
                           ? endless
                           : std::pow(10.0, random.chance(0.3) ? random.between(-320, 308) : size);
            };
            const double scale = random.chance(0.2) ? std::pow(10, random.between(-300, 300)) : 2;
            (void)estimator.observe({norm(), norm(), random.chance(0.5) ? 2 : most_batch, scale});
        }
        const GradientStatistics statistics = estimator.statistics();
        bool good = std::isfinite(statistics.squared_norm) && statistics.squared_norm >= 0 &&
                    std::isfinite(statistics.variance) && statistics.variance >= 0;
        const NoiseScaleEfficiency efficiency{32, statistics};
        double last = endless;
        for (const double total : {32.0, 33.0, 1e3, 1e9, 1e15}) {
            const double now = efficiency.efficiency(total);
            good = good && now >= 0 && now <= last * (1 + 1e-12) && now <= 1 + 1e-9;
            last = now;
        }
        good = good && gain(statistics, 1) == doctest::Approx(1) && gain(statistics, 64) <= 64 * (1 + 1e-9);
        const BestPlan best = best_batch_plan(PolluxThroughput{0.1, 0.01, 0.1, 0.01, 0.1, 0.01, 2},
                                              efficiency, {2, 8}, {32, 4096, 1, 512, false});
        good = good && best.goodput > 0 && std::isfinite(best.goodput);
        CAPTURE(statistics.squared_norm);
        CAPTURE(statistics.variance);
        CHECK(good);
    }
}

TEST_CASE("Gradients of any size, a NaN among them, do not stop a meter") {
    support::Random random(5);
    for (int round = 0; round < 500; ++round) {
        GradientMeter meter({3});
        GroupedNoiseScale groups(1);
        const double size = std::pow(10.0, random.between(-320, 308));
        for (int step = 0; step < 12; ++step) {
            std::vector<std::vector<double>> gradients(static_cast<std::size_t>(random.integer(1, 3)));
            for (auto& gradient : gradients)
                for (int i = 0; i < 3; ++i)
                    gradient.push_back(random.chance(0.02)   ? no_number
                                       : random.chance(0.02) ? endless
                                       : random.chance(0.1)  ? smallest
                                                             : size * random.between(-1, 1));
            const std::array<double, 3> moments{0, smallest, 1e300};
            const auto norms =
                random.chance(0.5)
                    ? support::metered(meter, gradients, 2)
                    : support::metered(meter, gradients, 2, AdamPreconditioner<double>{moments, step});
            if (norms) groups.observe(std::array{*norms});
        }
        const GradientStatistics statistics = groups.statistics();
        CHECK(std::isfinite(statistics.squared_norm));
        CHECK(std::isfinite(statistics.variance));
        CHECK(statistics.squared_norm >= 0);
        CHECK(statistics.variance >= 0);
    }
}

TEST_CASE("Statistics at several batch sizes give an efficiency, or are refused by name") {
    support::Random random(6);
    int given = 0;
    for (int round = 0; round < 20000; ++round) {
        std::vector<GradientAtBatch> measured(static_cast<std::size_t>(random.integer(1, 4)));
        const double wide = random.chance(0.5) ? 300 : 8;
        const auto any = [&] { return std::pow(10.0, random.between(-wide, wide)); };
        for (GradientAtBatch& at : measured) at = {any(), {random.chance(0.2) ? 0 : any(), any()}};
        BatchDependentEfficiency efficiency;
        const std::string message = refusal([&] { efficiency = efficiency_from_batches(measured, 32); });
        if (!message.empty()) {
            CHECK(message.find("efficiency: ") == 0);
            continue;
        }
        ++given;
        bool good = true;
        for (const double total : {32.0, 1e3, 1e9, 1e15}) {
            const double now = efficiency.efficiency(total);
            good = good && now >= 0 && now <= 1 + 1e-9;
        }
        CHECK(good);
    }
    CHECK(given > 10000);
}
