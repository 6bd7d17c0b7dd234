#include <goodput/fit/model_fit.hpp>
#include <goodput/fit/throughput_terms.hpp>
#include <goodput/model/batch_plan.hpp>
#include <goodput/model/pipeline.hpp>

using namespace goodput;

struct Right {
    double iteration_seconds(Shape, BatchPlan) const { return 1; }
    float efficiency(int) const { return 1; }
    static double compute_seconds(double) { return 1; }
    double sync_seconds(const Shape&) const { return 1; }
};
const Shape shape{1, 1};
const BatchLimits limits{};
BestPlan right = best_batch_plan(Right{}, Right{}, shape, limits);
double right_stage = PipelineThroughput(Right{}, 4).iteration_seconds(shape, {});

struct Misspelled {
    double iteration_Seconds(Shape, BatchPlan) const { return 1; }
    double eficiency(double) const { return 1; }
    double compute_seconds(double) const { return 1; }
};
// says: ThroughputModel: iteration_seconds is missing, or is not:
// says: double iteration_seconds(Shape, BatchPlan) const
BestPlan misspelled = best_batch_plan(Misspelled{}, Right{}, shape, limits);
// says: EfficiencyModel: efficiency is missing, or is not: double efficiency(double
// total_batch) const
BestPlan misspelled_efficiency = fixed_batch_plan(Right{}, Misspelled{}, shape, limits, 64);
// says: StageModel: sync_seconds is missing, or is not: double sync_seconds(Shape)
// const
PipelineThroughput no_stage(Misspelled{}, 4);

struct NotConst {
    double iteration_seconds(Shape, BatchPlan) { return 1; }
    double efficiency(double) { return 1; }
    double compute_seconds(double) { return 1; }
    double sync_seconds(Shape) const { return 1; }
};
// says: ThroughputModel: iteration_seconds is missing, or is not:
BestPlan not_const = fixed_batch_plan(NotConst{}, Right{}, shape, limits, 64);
// says: EfficiencyModel: efficiency is missing, or is not:
BestPlan not_const_efficiency = best_batch_plan(Right{}, NotConst{}, shape, limits);
// says: StageModel: compute_seconds is missing, or is not:
PipelineThroughput<NotConst> not_const_stage(NotConst{}, 4);

struct WrongResult {
    const char* iteration_seconds(Shape, BatchPlan) const { return "1 s"; }
    std::optional<double> efficiency(double) const { return {}; }
    double compute_seconds(double) const { return 1; }
    void sync_seconds(Shape) const {}
};
// says: ThroughputModel: iteration_seconds is missing, or is not:
BestPlan text = best_batch_plan(WrongResult{}, Right{}, shape, limits);
// says: EfficiencyModel: efficiency is missing, or is not:
BestPlan perhaps = best_batch_plan(Right{}, WrongResult{}, shape, limits);
// says: StageModel: sync_seconds is missing, or is not:
PipelineThroughput<WrongResult> nothing(WrongResult{}, 4);

struct WrongArguments {
    double iteration_seconds(BatchPlan) const { return 1; }
    double efficiency(double, double) const { return 1; }
};
void plans(std::span<const Shape> shapes, std::span<BestPlan> best) {
    // says: ThroughputModel: iteration_seconds is missing, or is not: double iteration_seconds(Shape,
    // BatchPlan) const
    best_batch_plans(WrongArguments{}, Right{}, shapes, limits, best);
    // says: EfficiencyModel: efficiency is missing, or is not:
    best_batch_plans(Right{}, WrongArguments{}, shapes, limits, best);
}

struct Terms {
    double mean[1] = {0}, deviation[1] = {1};
    static constexpr std::size_t parameters() { return 1; }
    auto log_compute(const auto& x, const ThroughputSample&) const { return x[0]; }
    auto log_sync(const auto& x, const ThroughputSample&) const { return x[0]; }
    auto log_overlap(const auto& x) const { return x[0]; }
    Right model(std::span<const double>) const { return {}; }
};
static_assert(FittableTerms<Terms>);
std::vector<ThroughputSample> samples;

struct WithoutSync : Terms {
    void log_sync() const {}
};
// says: ThroughputTerms: log_sync is missing, or is not: auto log_sync(
auto without_sync = fit_model(samples, WithoutSync{});

struct WithoutPrior : Terms {
    double deviation = 1;
};
// says: FittableTerms: mean or deviation is missing
auto without_prior = fit_model(samples, WithoutPrior{}, {.max_iterations = 9});

struct ModelOfNothing : Terms {
    WrongArguments model(std::span<const double>) const { return {}; }
};
// says: FittableTerms: model is missing, or is not: a ThroughputModel model(std::span<const double> x) const
auto model_of_nothing = fit_model(samples, ModelOfNothing{});
