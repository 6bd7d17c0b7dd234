#include <goodput/model/batch_plan.hpp>
#include <goodput/model/pipeline.hpp>

using namespace goodput;

struct Right {
    double iteration_seconds(Shape, BatchPlan) const { return 1; }
    double efficiency(double) const { return 1; }
};
static_assert(ThroughputModel<Right> && EfficiencyModel<Right>);

struct Missing {};
// says: ThroughputModel
// says: model.iteration_seconds(shape, plan)
static_assert(ThroughputModel<Missing>);
// says: EfficiencyModel
// says: model.efficiency(total_batch)
static_assert(EfficiencyModel<Missing>);

struct Misspelled {
    double iteration_Seconds(Shape, BatchPlan) const { return 1; }
    double eficiency(double) const { return 1; }
};
// says: ThroughputModel
// says: model.iteration_seconds(shape, plan)
static_assert(ThroughputModel<Misspelled>);
// says: EfficiencyModel
// says: model.efficiency(total_batch)
static_assert(EfficiencyModel<Misspelled>);

struct NotConst {
    double iteration_seconds(Shape, BatchPlan) { return 1; }
    double efficiency(double) { return 1; }
};
// says: ThroughputModel
// says: const
// says: model.iteration_seconds(shape, plan)
static_assert(ThroughputModel<NotConst>);
// says: EfficiencyModel
// says: const
// says: model.efficiency(total_batch)
static_assert(EfficiencyModel<NotConst>);

struct ReturnsText {
    const char* iteration_seconds(Shape, BatchPlan) const { return "1 s"; }
    const char* efficiency(double) const { return "1"; }
};
// says: ThroughputModel
// says: model.iteration_seconds(shape, plan)
// says: convertible_to<double>
static_assert(ThroughputModel<ReturnsText>);
// says: EfficiencyModel
// says: model.efficiency(total_batch)
// says: convertible_to<double>
static_assert(EfficiencyModel<ReturnsText>);

struct WithoutShape {
    double iteration_seconds(BatchPlan) const { return 1; }
};
// says: ThroughputModel
// says: model.iteration_seconds(shape, plan)
static_assert(ThroughputModel<WithoutShape>);

struct WithoutSync {
    double compute_seconds(double) const { return 1; }
};
// says: StageModel
// says: model.sync_seconds(shape)
static_assert(StageModel<WithoutSync>);

void plans(Shape shape, const BatchLimits& limits) {
    (void)best_batch_plan(Right{}, Right{}, shape, limits);
    // says: ThroughputModel
    // says: model.iteration_seconds(shape, plan)
    (void)best_batch_plan(Missing{}, Right{}, shape, limits);
    // says: EfficiencyModel
    // says: model.efficiency(total_batch)
    (void)fixed_batch_plan(Right{}, Missing{}, shape, limits, 64);
}
