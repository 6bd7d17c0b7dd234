#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    double value(const Round&, const Job&, const Option&) const { return 1; }
};
Plan right(const Snapshot& now) { return plan(now, Right{}); }

struct NotConst {
    double value(const Round&, const Job&, const Option&) { return 1; }
};
struct WrongLimit : Right {
    int most_gpus(const Job&) const { return 4; }
};
struct Missing {};
Snapshot now;
// says: Policy
// says: value(round, job, option) const
Plan not_const = plan(now, NotConst{});
// says: OptionPredictor
// says: predictor(job, model, options)
Plan no_predictor = plan(now, Right{}, {}, {}, {}, Missing{});
// says: Placer
// says: placer.place(cluster, requests)
Scheduler<Right, Missing> no_placer;

struct OfOneOption {
    void operator()(const Job&, const JobModel&, Option&) {}
};
// says: OptionPredictor
// says: predictor(job, model, options)
static_assert(OptionPredictor<OfOneOption>);

struct WithoutOptions {
    AllotResult operator()(const AllotmentProblem&) { return {}; }
};
// says: AllotmentSolver
// says: solver(problem, options)
static_assert(AllotmentSolver<WithoutOptions>);

struct LooksAhead : Right {
    std::optional<GradientStatistics> expected_gradient(const Job&) const { return {}; }
};
struct AsNow {
    void operator()(const Job&, const JobModel&, std::span<Option>) {}
};
// says: GrowthLimit
// says: int most_gpus(job, model, gpu_type) const
Scheduler<WrongLimit> wrong_limit;
// says: ForecastPredictor
// says: predictor(job, model, options, gradient)
Scheduler<LooksAhead, LeastMovesPlacer, Allotter<>, AsNow> not_ahead;

struct NoRows {
    void uses(const Round&, const Job&, const Option&, LimitUses&) {}
};
// says: Limit
// says: limit.rows(round, rows)
static_assert(Limit<NoRows>);

struct ListsNothing {
    void list(const Round&, const Job&) {}
};
// says: OptionMaker
// says: maker.list(round, job, most_gpus, options)
auto no_maker = Scheduler<Right>().offering(ListsNothing{});

struct Asked : ListedShapes {
    double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
               std::vector<Option>&) {
        return 0;
    }
};
struct WholeRounds {
    void value_round(const Round&, std::span<const OptionRow>) const {}
};
// says: ValuesBeside
// says: double value_beside(round, row, option) const
Scheduler<WholeRounds, LeastMovesPlacer, Allotter<>, GoodputPredictor, Limits<>, Asked> no_value_beside;
