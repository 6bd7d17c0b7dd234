#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    double value(const Round&, const Job&, const Option&) const { return 1; }
};
Snapshot now;
Plan right = plan(now, Right{});
struct Missing {};

// says: OptionPredictor: operator() is missing, or is not: void operator()(const Job&, const
// JobModel&
Plan no_predictor = plan(now, Right{}, {}, {}, {}, Missing{});

struct OfOneOption {
    void operator()(const Job&, const JobModel&, Option&) {}
};
// says: OptionPredictor: operator() is missing, or is not:
// says: std::span<Option> options
Plan of_one_option = plan(now, Right{}, {}, {}, {}, OfOneOption{});

// says: Placer: place is missing, or is not:
Scheduler<Right, Missing> no_placer;

struct WithoutOptions {
    AllotResult operator()(const AllotmentProblem&) { return {}; }
};
// says: AllotmentSolver: operator() is missing, or is not: AllotResult operator()(
Plan no_solver = plan(now, Right{}, {}, {}, WithoutOptions{});

struct Chooses {
    std::vector<std::size_t> operator()(const AllotmentProblem&, const AllotOptions&) { return {}; }
};
// says: AllotmentSolver: operator() is missing, or is not: AllotResult operator()(
Plan chooses = plan(now, Right{}, {}, {}, Chooses{});

struct LooksAhead : Right {
    std::optional<GradientStatistics> expected_gradient(const Job&) const { return {}; }
};
struct AsNow {
    void operator()(const Job&, const JobModel&, std::span<Option>) {}
};
// says: ForecastPredictor
// says: predictor(job, model, options, gradient)
Scheduler<LooksAhead, LeastMovesPlacer, Allotter<>, AsNow> not_ahead;

struct FactorWithoutRound {
    void operator()(const Job&, Option&) {}
};
// says: GoodputFactor: begin_round is missing, or is not: bool begin_round(const Round&)
Plan factor_without_round = Scheduler<Right>().counting(FactorWithoutRound{}).plan(now);

struct FactorOfConst {
    bool begin_round(const Round&) { return true; }
    double operator()(const Option&) { return 1; }
};
// says: GoodputFactor: operator() is missing, or does not take these arguments: void operator()(const Job&,
// Option&)
Plan factor_of_const = Scheduler<Right>().counting(FactorOfConst{}).plan(now);

// says: NodeStation: operator() is missing
Plan no_station = Scheduler<Right>().after_nodes(Missing{}).plan(now);
