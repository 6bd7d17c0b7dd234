#include <goodput/policy/concepts.hpp>

using namespace goodput;

struct Right {
    double value(const Round&, const Job&, const Option&) const { return 1; }
    int most_gpus(const Job&, const JobModel&, std::size_t) const { return 4; }
    std::optional<GradientStatistics> expected_gradient(const Job&) const { return {}; }
    static constexpr bool rigid_jobs = true;
};
static_assert(Policy<Right> && optional_functions_fit<Right>());

struct Missing {};
// says: Policy
// says: value(round, job, option) const
static_assert(Policy<Missing>);

struct Misspelled {
    double valeu(const Round&, const Job&, const Option&) const { return 1; }
};
// says: Policy
// says: value(round, job, option) const
static_assert(Policy<Misspelled>);

struct NotConst {
    double value(const Round&, const Job&, const Option&) { return 1; }
};
// says: Policy
// says: value(round, job, option) const
static_assert(Policy<NotConst>);

struct ReturnsNothing {
    void value(const Round&, const Job&, const Option&) const {}
};
// says: Policy
// says: value(round, job, option) const
static_assert(Policy<ReturnsNothing>);

struct WithoutRound {
    double value(const Job&, const Option&) const { return 1; }
};
// says: Policy
// says: value(round, job, option) const
static_assert(Policy<WithoutRound>);

void fill(const Round& round, std::span<const OptionRow> rows) {
    value_rows(Right{}, round, rows);
    // says: Policy
    // says: value(round, job, option) const
    value_rows(Missing{}, round, rows);
}

struct GrowthNotConst : Right {
    int most_gpus(const Job&, const JobModel&, std::size_t) { return 4; }
};
// says: GrowthLimit
// says: int most_gpus(job, model, gpu_type) const
static_assert(optional_functions_fit<GrowthNotConst>());

struct ForecastOfANumber : Right {
    double expected_gradient(const Job&) const { return 1; }
};
// says: GradientForecast
// says: std::optional<GradientStatistics> expected_gradient(job) const
static_assert(optional_functions_fit<ForecastOfANumber>());

struct RowNotConst : Right {
    void value_row(const Round&, const Job&, std::span<const Option>, std::span<double>) {}
};
// says: RowPolicy
// says: void value_row(round, job, options, values) const
static_assert(optional_functions_fit<RowNotConst>());

struct RoundOfAVector : Right {
    void value_round(const Round&, const std::vector<OptionRow>&) const {}
};
// says: RoundPolicy
// says: void value_round(round, rows) const
static_assert(optional_functions_fit<RoundOfAVector>());

struct RigidByObject {
    double value(const Round&, const Job&, const Option&) const { return 1; }
    bool rigid_jobs = true;
};
// says: static constexpr bool rigid_jobs
static_assert(optional_functions_fit<RigidByObject>());
