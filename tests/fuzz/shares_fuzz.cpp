// Fuzzes shares of time. For every objective, a problem is refused with a reason or gets shares that keep
// every constraint, and finite prices. A recomputed bound confirms what is said to be proven.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "goodput/share/share_time.hpp"
#include "goodput/share/water_filling.hpp"
#include "share/share_oracle.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t most_jobs = 40;

/// Decodes records. The first describes the cluster. Each further one adds a job, some of its rates or an
/// entity, or repeats the last job a few times.
class Decoder {
public:
    explicit Decoder(fuzz::Bytes bytes) : bytes_(bytes) {
        fuzz::Bytes head = bytes_.record();
        bytes_.let_in_hostile(head.integer(0, 3) == 3);
        const std::size_t types = head.index(9);
        options.gap = head.pick(std::array{1e-7, 1e-6, 1e-3, 1e-9, 0.5});
        options.least_part = head.pick(std::array{1e-10, 0.0, 1e-3});
        const bool priced = head.flag();
        fuzz::Bytes gpus = bytes_.record();
        for (std::size_t t = 0; t < types; ++t) {
            problem.gpus.push_back(t == 7 ? 4 : std::max(gpus.number(-1, 32), 0.0));
            if (priced) problem.dollars_per_hour.push_back(1 + static_cast<double>(t));
        }
        while (!bytes_.empty() && problem.jobs.size() < most_jobs) add(bytes_.record());
        if (hierarchy.entities.empty()) return;
        for (std::size_t j = 0; j < problem.jobs.size(); ++j)
            hierarchy.entity_of.push_back(j % hierarchy.entities.size());
    }

    ShareProblem problem{};
    ShareHierarchy hierarchy{};
    ShareOptions options{};

private:
    void add(fuzz::Bytes record) {
        const std::size_t kind = record.index(8);
        if (kind < 4 || problem.jobs.empty()) {
            ShareJob& job = problem.jobs.emplace_back();
            job.name = "job";
            job.workers = record.hostile_integer(1, 8);
            job.weight = record.scale(0.1, 10);
            const double rate = record.scale(1e-2, 1e3);
            job.rates.assign(problem.types(), rate);
            job.steps_left = record.number(0, 1e6);
            job.age_seconds = record.number(0, 1e5);
            job.isolated_seconds = record.number(0, 1e5);
            if (kind == 0) job.deadline_seconds = record.scale(1, 1e6);
        } else if (kind < 6) {  // rates of the last job
            for (std::size_t t = 0; t < std::min<std::size_t>(problem.types(), 7); ++t)
                problem.jobs.back().rates[t] *= std::max(record.number(-1, 8), 0.0);
        } else if (kind == 6) {
            const ShareJob copy = problem.jobs.back();
            for (std::size_t more = record.index(6); more > 0 && problem.jobs.size() < most_jobs; --more)
                problem.jobs.push_back(copy);
        } else {
            hierarchy.entities.push_back(
                {.name = "entity", .weight = record.scale(0.1, 10), .in_order = record.flag()});
        }
    }

    fuzz::Bytes bytes_;
};

/// Whether all numbers have magnitudes as in clusters. Beyond that, proofs are only as exact as sums.
bool numbers_are_alike(const ShareProblem& problem) {
    double most = 0, least = 1e300, wanted = 0;
    for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
        const ShareJob& job = problem.jobs[j];
        wanted += job.workers;
        for (std::size_t t = 0; t < problem.types(); ++t) {
            if (!support::share_usable(problem, j, t)) continue;
            most = std::max(most, job.rates[t]);
            least = std::min(least, job.rates[t]);
        }
        for (const double number : {job.steps_left, job.age_seconds, job.isolated_seconds})
            if (number != 0 && !(number >= 1e-3 && number <= 1e9)) return false;
        if (job.weight < 1e-3 || job.weight > 1e3) return false;
    }
    for (const double gpus : problem.gpus)
        if (gpus > 0 && (gpus < 1e-3 * wanted || gpus > 1e6)) return false;
    return most <= 1e8 * least;
}

void check_shares(const ShareProblem& problem, const ShareResult& result) {
    const double violation = support::share_violation(problem, result.shares);
    check(violation <= 1e-9, "every constraint is kept", violation);
    check(result.rates.size() == problem.jobs.size(), "a rate for every job");
    const std::vector<double> rates = support::share_rates(problem, result.shares);
    for (std::size_t j = 0; j < rates.size(); ++j)
        check(std::abs(rates[j] - result.rates[j]) <= 1e-9 * rates[j], "rates follow from shares", rates[j],
              result.rates[j]);
    check(result.prices.size() == problem.types(), "a price for every type");
    for (const double price : result.prices) check(std::isfinite(price) && price >= 0, "prices", price);
    check(!std::isnan(result.objective) &&
              std::isfinite(result.objective) == (result.status != ShareStatus::infeasible),
          "the objective is a finite number unless there is none", result.objective);
    check(!std::isnan(result.bound), "the bound is a number", result.bound);
    check(!result.report().empty(), "a report says something");
}

void check_gap(const ShareResult& result, const ShareOptions& options, double gap) {
    if (result.status == ShareStatus::optimal)
        check(gap <= 3 * options.gap + 1e-6, "what is proven is so", gap, options.gap);
}

template <class Objective>
void check_level(const ShareProblem& problem, const Objective& objective, const ShareOptions& options) {
    const ShareResult result = share_time(problem, objective, options);
    check_shares(problem, result);
    if (numbers_are_alike(problem))
        check_gap(result, options, support::share_level_gap(problem, objective, result));
}

template <class Objective>
void check_sum(const ShareProblem& problem, const Objective& objective, const ShareOptions& options) {
    const ShareResult result = share_time(problem, objective, options);
    check_shares(problem, result);
    if (!numbers_are_alike(problem)) return;
    check_gap(result, options, support::share_sum_gap(problem, objective, result));
    for (std::size_t j = 0; j < problem.jobs.size(); ++j)
        check(result.rates[j] >=
                  support::share_deadline_rate(problem, result, j) * (1 - 2 * options.gap - 1e-6),
              "deadlines are met", result.rates[j], support::share_deadline_rate(problem, result, j));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const Decoder asked(fuzz::Bytes(data, size));
    const ShareProblem& problem = asked.problem;
    if (!fuzz::accepted([&] { problem.validate(); })) {
        check(!fuzz::accepted([&] { (void)share_time(problem, MaxMin(), asked.options); }),
              "what is refused once is refused everywhere");
        return 0;
    }
    check_level(problem, MaxMin(), asked.options);
    check_level(problem, Makespan(), asked.options);
    check_level(problem, FinishTimeFairness(), asked.options);
    check_sum(problem, SumOfRates(), asked.options);
    if (!problem.dollars_per_hour.empty()) check_sum(problem, SumPerDollar(), asked.options);
    const ShareResult nash = share_time(problem, NashWelfare(), asked.options);
    check_shares(problem, nash);
    if (numbers_are_alike(problem)) check_gap(nash, asked.options, support::share_nash_gap(problem, nash));
    (void)share_in_order(problem);
    (void)share_isolated(problem);
    fuzz::accepted([&] {
        const ShareResult water = fill_water(problem, asked.hierarchy, asked.options);
        check_shares(problem, water);
        for (std::size_t j = 0; j < problem.jobs.size() && numbers_are_alike(problem); ++j) {
            if (support::share_top_rate(problem, j) <= 0) continue;
            const double level = MaxMin().level_at(problem, j, water.rates[j]);
            check(level >= water.levels[j] * (1 - 1e-6 - 10 * asked.options.gap) - 1e-8 * problem.all_gpus(),
                  "levels that are claimed are had", level, water.levels[j]);
        }
    });
    return 0;
}
