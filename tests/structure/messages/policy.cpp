#include <goodput/policy/ageing.hpp>
#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    double value(const Round&, const Job&, const Option&) const { return 1; }
    int most_gpus(const Job&, const JobModel&, std::size_t) const { return 4; }
    std::optional<GradientStatistics> expected_gradient(const Job&) const { return {}; }
    static constexpr bool rigid_jobs = true;
};
struct OfAnyJob {
    template <class J>
    static float value(const Round&, const J&, Option) {
        return 1;
    }
};
struct Rows {
    void value_row(const Round&, const Job&, std::span<const Option>, std::span<double>) const {}
};
Snapshot now;
Plan right = plan(now, Right{});
Plan of_any_job = plan(now, Ageing<OfAnyJob>{});
Plan rows = plan(now, Rows{});

struct NotConst {
    double value(const Round&, const Job&, const Option&) { return 1; }
};
// says: Policy: value is missing, or is not: double value(const Round&, const Job&, const Option&) const
Plan not_const = plan(now, NotConst{});

struct Misspelled {
    double valeu(const Round&, const Job&, const Option&) const { return 1; }
};
// says: Policy: value is missing, or is not: double value(
Plan misspelled = plan(now, Misspelled{}, {.gap = 0.1});

class Private {
    double value(const Round&, const Job&, const Option&) const { return 1; }
};
// says: Policy: value is missing, or is not:
Scheduler<Private> is_private;

struct ReturnsNothing {
    void value(const Round&, const Job&, const Option&) const {}
};
// says: Policy: value is missing, or is not: double value(
Plan returns_nothing = Scheduler(ReturnsNothing{}).plan(now);

struct ReturnsPerhaps {
    std::optional<double> value(const Round&, const Job&, const Option&) const { return {}; }
};
// says: Policy: value is missing, or is not: double value(
Plan returns_perhaps = plan(now, ReturnsPerhaps{}, {}, LeastMovesPlacer{});

struct WithoutRound {
    double value(const Job&, const Option&) const { return 1; }
};
// says: Policy: value is missing, or is not: double value(const Round&, const Job&, const Option&)
// const
Plan without_round = plan(now, WithoutRound{});

struct ChangesJob {
    double value(const Round&, Job&, const Option&) const { return 1; }
};
// says: Policy: value is missing, or is not:
Plan changes_job = plan(now, ChangesJob{});

struct OfManyTypes {
    template <class R>
    double value(const R&, const Job*, const Option&) const {
        return 1;
    }
};
// says: Policy: value is missing, or is not:
Plan of_many_types = plan(now, OfManyTypes{});

struct RowNotConst {
    void value_row(const Round&, const Job&, std::span<const Option>, std::span<double>) {}
};
// says: RowPolicy: value_row is not: void value_row(
Plan row_not_const = plan(now, RowNotConst{});

struct RowOfChangingOptions : Right {
    void value_row(const Round&, const Job&, std::span<Option>, std::span<double>) const {}
};
// says: RowPolicy: value_row is not:
// says: std::span<const Option> options, std::span<double> values
Plan row_of_changing_options = plan(now, RowOfChangingOptions{});

struct RoundOfAVector {
    void value_round(const Round&, const std::vector<OptionRow>&) const {}
};
// says: RoundPolicy: value_round is not:
// says: std::span<const OptionRow> rows
Plan round_of_a_vector = plan(now, RoundOfAVector{});

struct Missing {};
void fill(const Round& round, std::span<const OptionRow> rows_of_round) {
    value_rows(Right{}, round, rows_of_round);
    // says: Policy: value is missing, or is not:
    value_rows(Missing{}, round, rows_of_round);
}

struct GrowthNotConst : Right {
    int most_gpus(const Job&, const JobModel&, std::size_t) { return 4; }
};
// says: GrowthLimit: most_gpus is not: int most_gpus(
Plan growth_not_const = plan(now, GrowthNotConst{});

struct GrowthOfJobs : Right {
    int most_gpus(const Job&) const { return 4; }
};
// says: GrowthLimit: most_gpus is not: int most_gpus(const Job&, const JobModel&,
// std::size_t
Plan growth_of_jobs = plan(now, GrowthOfJobs{});

struct ForecastOfANumber : Right {
    double expected_gradient(const Job&) const { return 1; }
};
// says: GradientForecast: expected_gradient is not:
// std::optional<GradientStatistics>
Plan forecast_of_a_number = plan(now, ForecastOfANumber{});

struct BesideOptions : Right {
    double value_beside(const Round&, const Option&) const { return 1; }
};
// says: ValuesBeside: value_beside is not:
Plan beside_options = plan(now, BesideOptions{});

struct RigidByObject {
    double value(const Round&, const Job&, const Option&) const { return 1; }
    bool rigid_jobs = true;
};
// says: this policy's rigid_jobs is not: static constexpr bool rigid_jobs
Plan rigid_by_object = plan(now, RigidByObject{});

struct ChangesItself {
    double value(const Round&, const Job&, const Option&) { return 1; }
};
// says: Policy: value is missing, or is not:
Plan older = plan(now, Ageing<ChangesItself>{});
