// Choosing the most valuable runs: against random ones and the smallest first on jobs drawn from the
// population, against all subsets, against real fits, and on published measurements.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/statistics/profile_runs.hpp"
#include "goodput/tasks/forecast.hpp"
#include "support/profiles.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double scatter = 0.03;

double gaussian(support::Random& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    return radius * std::cos(2 * std::numbers::pi * random.unit());
}

std::vector<std::size_t> shuffled(std::size_t count, support::Random& random) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.integer(0, static_cast<int>(i) - 1))]);
    return order;
}

using SamplesByType = std::vector<std::vector<ThroughputSample>>;

std::vector<TypeFit> fit(const SamplesByType& samples) {
    std::vector<TypeFit> types(samples.size());
    JobFitter fitter;
    fitter(samples, types);
    return types;
}

/// A job whose true speed on three GPU types is drawn from the population, with measurements on single GPUs,
/// runs that could be made, and other configurations (batches, accumulation) to predict.
struct RandomJob {
    support::Random random;
    std::vector<RefinedThroughput> truth{};
    SamplesByType known{};
    std::vector<Option> candidates{}, options{};

    explicit RandomJob(std::uint64_t seed, std::size_t types_measured = 3) : random(seed) {
        const RefinedPopulation population;
        const std::array<int, 3> gpus_per_node{4, 8, 8};
        std::array<double, refined_parameters> job{};
        for (std::size_t i = 0; i < refined_parameters; ++i)
            job[i] = population.mean[i] + population.jobs[i] * gaussian(random);
        const double level = random.between(-3, 0);
        for (std::size_t t = 0; t < gpus_per_node.size(); ++t) {
            const std::vector<Shape> shapes = shapes_of(gpus_per_node[t]);
            truth.push_back(draw(job, population, std::exp(level + random.between(-1, 0)), shapes));
            known.emplace_back();
            if (t < types_measured)
                for (const int batch : {8, 64}) known[t].push_back(measure(t, {1, 1}, {batch, 0}));
            for (const Shape shape : shapes) {
                const Configuration configuration{t, gpus_per_node[t], shape};
                for (const int batch : {8, 32, 64}) candidates.push_back({configuration, {batch, 0}});
                for (const int batch : {12, 48}) options.push_back({configuration, {batch, 0}});
                options.push_back({configuration, {24, 2}});
            }
        }
    }

    static std::vector<Shape> shapes_of(int gpus_per_node) {
        std::vector<Shape> shapes;
        for (int gpus = 2; gpus <= gpus_per_node; gpus *= 2) shapes.push_back({1, gpus});
        for (int nodes = 2; nodes <= 4; ++nodes)
            for (const int gpus : {1, gpus_per_node / 2, gpus_per_node})
                shapes.push_back({nodes, nodes * gpus});
        return shapes;
    }

    RefinedThroughput draw(const std::array<double, refined_parameters>& job,
                           const RefinedPopulation& population, double seconds,
                           const std::vector<Shape>& shapes) {
        const RefinedPrior prior;
        detail::RefinedTerms terms;
        terms.breaks = {8, 12, 24, 32, 48, 64};
        const std::vector<double>& breaks = terms.breaks;
        FitParameters x{};
        for (std::size_t i = 0; i < refined_parameters; ++i)
            x[i] = job[i] + population.types[i] * gaussian(random);
        x[computing_constant] += std::log(seconds);
        x[computing_slope] += std::log(seconds / 32);
        x[node_level] += std::log(seconds);
        double factor = prior.break_deviation * gaussian(random);
        for (std::size_t i = 0; i < breaks.size(); ++i) {
            const double away = i > 0 ? std::log(breaks[i] / breaks[i - 1]) : 0;
            const double kept = std::exp(-away / std::log(4.0));
            factor = kept * factor + prior.break_deviation * std::sqrt(1 - kept * kept) * gaussian(random);
            x[refined_parameters + i] = factor;
        }
        RefinedThroughput model;
        terms.write(x, model);
        for (const Shape shape : shapes) {
            const double compute = std::exp(prior.compute_deviation * gaussian(random));
            model.shapes.push_back({shape, compute, std::exp(prior.sync_deviation * gaussian(random))});
        }
        std::sort(model.shapes.begin(), model.shapes.end(),
                  [](const ShapeFactor& a, const ShapeFactor& b) { return a.shape < b.shape; });
        return model;
    }

    ThroughputSample measure(std::size_t type, Shape shape, BatchPlan plan) {
        const RefinedThroughput& model = truth[type];
        const double step =
            model.iteration_seconds(shape, {plan.atomic_batch, 0}) * std::exp(scatter * gaussian(random));
        if (shape.gpus < 2) return {shape, plan, step, 0};
        const double compute = model.compute_seconds(plan.atomic_batch) * model.compute_factor(shape) *
                               std::exp(std::numbers::sqrt2 * scatter * gaussian(random));
        return {shape, plan, step, step - std::min(compute, 0.999 * step)};
    }

    void run(const Option& option, SamplesByType& samples) {
        const PoolShare& at = option.configuration.first();
        samples[at.gpu_type].push_back(measure(at.gpu_type, at.shape, option.plan));
    }

    /// Returns the mean square error of ln of the options' iteration times.
    [[nodiscard]] double error(std::span<const TypeFit> types) const {
        double sum = 0;
        for (const Option& option : options) {
            const PoolShare& at = option.configuration.first();
            const std::size_t t = at.gpu_type;
            sum += detail::square(std::log(types[t].fit.model.iteration_seconds(at.shape, option.plan) /
                                           truth[t].iteration_seconds(at.shape, option.plan)));
        }
        return sum / static_cast<double>(options.size());
    }
};

double mean_forecast_variance(std::span<const Option> options, std::span<const TypeFit> types) {
    double sum = 0;
    for (const Option& option : options) {
        const PoolShare& at = option.configuration.first();
        sum += Forecast(types[at.gpu_type].fit, at.shape, option.plan).reducible_variance();
    }
    return sum / static_cast<double>(options.size());
}

/// Returns the GPU-seconds of every candidate.
std::vector<double> costs_of(const RandomJob& job, std::span<const TypeFit> types) {
    const ProfileRunOptions settings;
    std::vector<double> costs;
    for (const Option& option : job.candidates) {
        const PoolShare& at = option.configuration.first();
        const double iteration = types[at.gpu_type].fit.model.iteration_seconds(at.shape, option.plan);
        costs.push_back(option.configuration.occupied_gpus() *
                        (settings.startup_seconds + settings.iterations * iteration));
    }
    return costs;
}

/// The error that a way of choosing runs leaves, and its costs, summed over jobs.
struct Learnt {
    double error = 0, gpu_seconds = 0, runs = 0, forecast = 0;

    /// Runs candidates in order, skipping those that would exceed the budget.
    void add(RandomJob job, const std::vector<std::size_t>& order, const std::vector<double>& costs,
             double budget, double share = 1) {
        SamplesByType samples = job.known;
        double spent = 0;
        for (const std::size_t c : order) {
            if (spent + costs[c] > budget) continue;
            spent += costs[c];
            runs += share;
            job.run(job.candidates[c], samples);
        }
        const std::vector<TypeFit> types = fit(samples);
        error += share * job.error(types);
        forecast += share * mean_forecast_variance(job.options, types);
        gpu_seconds += share * spent;
    }
};

std::vector<std::size_t> chosen(const ProfileRuns& plan) {
    std::vector<std::size_t> order;
    for (const ProfileRun& run : plan.runs) order.push_back(run.candidate);
    return order;
}

bool refused(const std::vector<Option>& candidates, const std::vector<Option>& options,
             const std::vector<TypeFit>& types, const ProfileRunOptions& settings = {}) {
    try {
        static_cast<void>(choose_profile_runs(candidates, options, types, settings));
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

}  // namespace

TEST_CASE("chosen runs teach more per GPU-second than random ones and than the smallest first") {
    constexpr int jobs = 100;
    for (const double budget : {500.0, 2000.0}) {
        Learnt none, best, random, smallest;
        double predicted = 0;
        for (int j = 0; j < jobs; ++j) {
            const RandomJob job(1000 + static_cast<std::uint64_t>(j));
            const std::vector<TypeFit> types = fit(job.known);
            const std::vector<double> costs = costs_of(job, types);
            const ProfileRuns plan = choose_profile_runs(job.candidates, job.options, types,
                                                         {.gpu_seconds = budget, .tolerance = 0});
            predicted += plan.after;
            none.add(job, {}, costs, budget);
            best.add(job, chosen(plan), costs, budget);
            support::Random shuffle(static_cast<std::uint64_t>(j));
            for (int draw = 0; draw < 2; ++draw)
                random.add(job, shuffled(costs.size(), shuffle), costs, budget, 0.5);
            std::vector<std::size_t> order = shuffled(costs.size(), shuffle);
            std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
                return std::tuple(job.candidates[a].configuration.gpus(), costs[a], a) <
                       std::tuple(job.candidates[b].configuration.gpus(), costs[b], b);
            });
            smallest.add(job, order, costs, budget);
        }
        const auto learnt = [&](const Learnt& of) { return (none.error - of.error) / of.gpu_seconds; };
        const auto left = [&](const Learnt& of) { return of.error / jobs; };
        MESSAGE("budget " << budget << " GPU-seconds; mean square error of ln T before " << left(none)
                          << ", chosen " << left(best) << " (" << best.runs / jobs << " runs), random "
                          << left(random) << " (" << random.runs / jobs << "), smallest first "
                          << left(smallest) << " (" << smallest.runs / jobs << "); predicted "
                          << predicted / jobs << ", forecast by the new fits " << best.forecast / jobs);
        CHECK(learnt(best) > 1.03 * learnt(random));
        CHECK(learnt(best) > 1.03 * learnt(smallest));
        CHECK(best.error < 0.7 * random.error);
        CHECK(best.error < 0.8 * smallest.error);
        // The prediction before any run agrees with what the fits say afterwards, and with the truth.
        CHECK(best.forecast / predicted > 0.7);
        CHECK(best.forecast / predicted < 1.4);
        CHECK(best.error / predicted > 0.5);
        CHECK(best.error / predicted < 1.5);
    }
}

TEST_CASE("runs on one GPU type make predictions for another better") {
    constexpr int jobs = 150;
    double before = 0, after = 0, predicted_before = 0, predicted_after = 0, new_fits = 0;
    for (int j = 0; j < jobs; ++j) {
        RandomJob job(5000 + static_cast<std::uint64_t>(j));
        const std::vector<TypeFit> types = fit(job.known);
        std::erase_if(job.candidates,
                      [](const Option& option) { return option.configuration.first().gpu_type != 0; });
        std::erase_if(job.options,
                      [](const Option& option) { return option.configuration.first().gpu_type != 1; });
        const ProfileRuns plan = choose_profile_runs(job.candidates, job.options, types, {.tolerance = 0});
        before += job.error(types) / jobs;
        predicted_before += plan.before / jobs;
        predicted_after += plan.after / jobs;
        SamplesByType samples = job.known;
        for (const ProfileRun& run : plan.runs) job.run(job.candidates[run.candidate], samples);
        const std::vector<TypeFit> then = fit(samples);
        after += job.error(then) / jobs;
        new_fits += choose_profile_runs({}, job.options, then).before / jobs;
    }
    MESSAGE("mean square error on another type: predicted " << predicted_before << " to " << predicted_after
                                                            << ", by the new fits " << new_fits << ", true "
                                                            << before << " to " << after);
    CHECK(predicted_after < 0.9 * predicted_before);
    // Fits hand parameters on one by one, so they tell less than they could.
    CHECK(new_fits < 0.95 * predicted_before);
    CHECK(after < 0.95 * before);
    CHECK(std::abs(std::log(predicted_after / new_fits)) < std::log(1.4));
}

TEST_CASE("before any run a single GPU is as uncertain as its forecast says") {
    for (std::uint64_t j = 0; j < 20; ++j) {
        const RandomJob job(j);
        const SamplesByType only{job.known[0]};
        const std::vector<TypeFit> types = fit(only);
        std::vector<Option> options;
        for (const int batch : {1, 8, 20, 64, 100, 5000})
            for (const int accumulation : {0, 3}) options.push_back({{0, 4, {1, 1}}, {batch, accumulation}});
        const ProfileRuns plan = choose_profile_runs({}, options, types);
        CHECK(plan.stop == ProfileStop::none_left);
        for (std::size_t k = 0; k < options.size(); ++k) {
            const Forecast forecast(types[0].fit, options[k].configuration.first().shape, options[k].plan);
            CHECK(detail::square(plan.deviations[k]) ==
                  doctest::Approx(forecast.reducible_variance()).epsilon(1e-6));
        }
    }
}

TEST_CASE("measurements taken one after the other leave the same uncertainty as all at once") {
    support::Random random(3);
    for (int round = 0; round < 200; ++round) {
        const Eigen::Index targets = random.integer(1, 6);
        std::vector<detail::ProfileMeasurement> measurements;
        Eigen::Index rows = targets;
        for (int i = random.integer(1, 4); i > 0; --i) {
            measurements.push_back({rows, random.chance(0.5) ? 2 : 1, random.between(0.01, 1)});
            rows += measurements.back().rows;
        }
        Eigen::MatrixXd root(rows, rows);
        for (Eigen::Index i = 0; i < rows; ++i)
            for (Eigen::Index j = 0; j < rows; ++j) root(i, j) = random.between(-1, 1);
        detail::ProfileDesign design;
        design.regret = random.chance(0.5);
        for (Eigen::Index k = 0; k < targets; ++k)
            design.targets.push_back({.weight = random.unit(),
                                      .goodput = random.between(0.5, 1),
                                      .shortfall = k > 0 ? random.unit() : 0});
        design.targets[0].goodput = 1;
        const Eigen::MatrixXd before = root * root.transpose();
        design.covariance = before;
        design.start();
        double gain = 0;
        const double all = design.left();
        for (const detail::ProfileMeasurement& measurement : measurements) {
            gain += design.gain(measurement);
            design.take(measurement);
        }
        const Eigen::Index observed = rows - targets;
        Eigen::MatrixXd of_measured = before.bottomRightCorner(observed, observed);
        for (const detail::ProfileMeasurement& of : measurements)
            for (Eigen::Index i = 0; i < of.rows; ++i) {
                const Eigen::Index at = of.first + i - targets;
                of_measured(at, at) += of.scatter * of.scatter * (of.rows == 2 && i == 0 ? 2 : 1);
            }
        const Eigen::MatrixXd cross = before.topRightCorner(targets, observed);
        const Eigen::MatrixXd after =
            before.topLeftCorner(targets, targets) - cross * of_measured.llt().solve(cross.transpose());
        CHECK((design.covariance.topLeftCorner(targets, targets) - after).norm() < 1e-9 * before.norm());
        CHECK(gain == doctest::Approx(all - design.left()).epsilon(1e-9));
        double left = 0;
        for (Eigen::Index k = 0; k < targets; ++k) {
            const detail::ProfileTarget& target = design.targets[static_cast<std::size_t>(k)];
            const auto of_difference = [&](const Eigen::MatrixXd& of) {
                return target.goodput * target.goodput * of(k, k) - 2 * target.goodput * of(k, 0) + of(0, 0);
            };
            left += target.weight *
                    (design.regret ? detail::decision_value(target.shortfall, of_difference(before)) -
                                         detail::decision_value(target.shortfall,
                                                                of_difference(before) - of_difference(after))
                                   : after(k, k));
        }
        CHECK(design.left() == doctest::Approx(left).epsilon(1e-6));
    }
}

TEST_CASE("the value of a decision is the mean of what a normal difference has above zero") {
    for (const double shortfall : {0.0, 0.1, 0.5, 2.0})
        for (const double deviation : {0.05, 0.3, 1.0, 4.0}) {
            double sum = 0;
            const double step = 1e-3;
            for (double z = -10; z < 10; z += step)
                sum += std::max(deviation * z - shortfall, 0.0) * std::exp(-z * z / 2) * step;
            CHECK(detail::decision_value(shortfall, deviation * deviation) ==
                  doctest::Approx(sum / std::sqrt(2 * std::numbers::pi)).epsilon(1e-4).scale(1e-6));
        }
    CHECK(detail::decision_value(1, 0) == 0);
    CHECK(detail::decision_value(1, 1e-6) == 0);
}

TEST_CASE("greedy choices are near the best of all sets of runs that the budget allows") {
    double sum = 0, worst = 1;
    int cases = 0;
    support::Random random(11);
    for (std::uint64_t j = 0; j < 20; ++j) {
        RandomJob job(9000 + j);
        const std::vector<TypeFit> types = fit(job.known);
        std::vector<Option> candidates;
        for (const std::size_t c : shuffled(job.candidates.size(), random)) {
            candidates.push_back(job.candidates[c]);
            if (candidates.size() == 6) break;
        }
        std::erase_if(job.options, [](const Option& option) { return option.plan.atomic_batch != 24; });
        ProfileRunChooser choose;
        const double budget = random.between(200, 3000);
        const ProfileRuns greedy =
            choose(candidates, job.options, types, {.gpu_seconds = budget, .tolerance = 0});
        double best = 0;
        for (unsigned set = 1; set < 1u << candidates.size(); ++set) {
            std::vector<Option> subset;
            for (std::size_t i = 0; i < candidates.size(); ++i)
                if (set >> i & 1u) subset.push_back(candidates[i]);
            const ProfileRuns all = choose(subset, job.options, types, {.tolerance = 0});
            if (all.gpu_seconds <= budget) best = std::max(best, all.before - all.after);
        }
        if (best == 0) continue;
        const double part = (greedy.before - greedy.after) / best;
        CHECK(part <= 1 + 1e-9);
        sum += part;
        worst = std::min(worst, part);
        ++cases;
    }
    MESSAGE("greedy gains " << sum / cases << " of the best set on average, " << worst << " at worst, in "
                            << cases << " cases");
    CHECK(cases >= 16);
    CHECK(sum / cases > 0.9);
}

TEST_CASE("runs stay within the budget and pay for themselves, and the result says why they end") {
    support::Random random(17);
    ProfileRunChooser choose;
    std::map<ProfileStop, int> stops;
    for (std::uint64_t j = 0; j < 150; ++j) {
        const RandomJob job(300 + j, random.chance(0.5) ? 3 : 1);
        const std::vector<TypeFit> types = fit(job.known);
        std::vector<Option> candidates;
        for (const Option& option : job.candidates)
            if (random.chance(0.15)) candidates.push_back(option);
        ProfileRunOptions settings{.tolerance = random.between(0, 0.6)};
        if (random.chance(0.4)) settings.gpu_seconds = random.between(0, 3000);
        if (random.chance(0.3)) settings.runs = static_cast<std::size_t>(random.integer(0, 6));
        if (random.chance(0.5)) settings.worth = std::exp(random.between(5, 12));
        const ProfileRuns plan = choose(candidates, job.options, types, settings);
        ++stops[plan.stop];
        double gain = 0, seconds = 0, least_after = infinite;
        std::set<std::size_t> seen;
        for (const ProfileRun& run : plan.runs) {
            CHECK(run.gain > 0);
            CHECK(run.gain * settings.worth >= run.gpu_seconds);
            CHECK(run.after < run.before);
            CHECK(seen.insert(run.candidate).second);
            gain += run.gain;
            seconds += run.gpu_seconds;
            least_after = std::min(least_after, run.after);
        }
        CHECK(seconds == doctest::Approx(plan.gpu_seconds));
        CHECK(plan.gpu_seconds <= settings.gpu_seconds);
        CHECK(plan.runs.size() <= settings.runs);
        CHECK(plan.before - plan.after == doctest::Approx(gain));
        const double largest = *std::max_element(plan.deviations.begin(), plan.deviations.end());
        CHECK((largest <= settings.tolerance) == (plan.stop == ProfileStop::known));
        if (plan.stop == ProfileStop::none_left) CHECK(plan.runs.size() == candidates.size());
        CHECK(plan.report().find(std::to_string(plan.runs.size()) + " runs for ") == 0);
    }
    CHECK(stops.size() == 4);
}

TEST_CASE("where everything is measured nothing needs to be run") {
    int known = 0;
    for (std::uint64_t j = 0; j < 20; ++j) {
        CAPTURE(j);
        RandomJob job(j);
        SamplesByType samples = job.known;
        for (int times = 0; times < 3; ++times) {
            for (const Option& option : job.candidates) job.run(option, samples);
            for (const Option& option : job.options) job.run(option, samples);
        }
        const std::vector<TypeFit> types = fit(samples);
        const std::vector<double> deviations =
            choose_profile_runs({}, job.options, types, {.tolerance = 0}).deviations;
        const double largest = *std::max_element(deviations.begin(), deviations.end());
        known += largest <= 0.1;
        const auto choose = [&](double tolerance) {
            return choose_profile_runs(job.candidates, job.options, types,
                                       {.runs = 1, .tolerance = tolerance});
        };
        const ProfileRuns plan = choose(1.001 * largest);
        CHECK(plan.stop == ProfileStop::known);
        CHECK(plan.runs.empty());
        CHECK(!choose(0.999 * largest).runs.empty());
    }
    CHECK(known >= 10);
}

TEST_CASE("the choice does not depend on the order of the lists") {
    for (std::uint64_t j = 0; j < 6; ++j) {
        const RandomJob job(40 + j);
        const std::vector<TypeFit> types = fit(job.known);
        support::Random random(j);
        std::vector<Option> options = job.options;
        std::vector<double> weights, prices;
        for (Option& option : options) {
            option.goodput = random.between(10, 20);
            weights.push_back(random.unit());
            prices.push_back(random.unit());
        }
        const std::vector<std::size_t> candidate_order = shuffled(job.candidates.size(), random),
                                       option_order = shuffled(options.size(), random);
        std::vector<Option> other_candidates, other_options;
        std::vector<double> other_weights, other_prices;
        for (const std::size_t i : candidate_order) other_candidates.push_back(job.candidates[i]);
        for (const std::size_t i : option_order) {
            other_options.push_back(options[i]);
            other_weights.push_back(weights[i]);
            other_prices.push_back(prices[i]);
        }
        for (const ProfileCriterion criterion : {ProfileCriterion::variance, ProfileCriterion::regret}) {
            const ProfileRuns plan = choose_profile_runs(
                job.candidates, options, types,
                {.criterion = criterion, .runs = 8, .tolerance = 0, .weights = weights, .prices = prices});
            const ProfileRuns other = choose_profile_runs(other_candidates, other_options, types,
                                                          {.criterion = criterion,
                                                           .runs = 8,
                                                           .tolerance = 0,
                                                           .weights = other_weights,
                                                           .prices = other_prices});
            REQUIRE(plan.runs.size() == 8);
            REQUIRE(other.runs.size() == 8);
            for (std::size_t i = 0; i < plan.runs.size(); ++i) {
                CHECK(plan.runs[i].candidate == candidate_order[other.runs[i].candidate]);
                CHECK(plan.runs[i].option == option_order[other.runs[i].option]);
                CHECK(plan.runs[i].gain == other.runs[i].gain);
            }
            CHECK(plan.after == other.after);
        }
    }
}

TEST_CASE("for the regret only runs count that may change the decision") {
    const RandomJob job(7);
    const std::vector<TypeFit> types = fit(job.known);
    const Configuration one{0, 4, {1, 2}}, two{1, 8, {1, 2}}, far{2, 8, {4, 32}};
    const std::vector<Option> candidates{{one, {8, 0}}, {two, {8, 0}}, {far, {8, 0}}};
    std::vector<Option> options{{one, {32, 0}, 100}, {two, {32, 0}, 99}, {far, {32, 0}, 1}};
    const ProfileRunOptions settings{.criterion = ProfileCriterion::regret, .worth = 1e5, .tolerance = 0};
    const ProfileRuns close = choose_profile_runs(candidates, options, types, settings);
    REQUIRE(!close.runs.empty());
    for (const ProfileRun& run : close.runs) CHECK(run.candidate < 2);
    options[1].goodput = 0.5;
    const ProfileRuns clear = choose_profile_runs(candidates, options, types, settings);
    CHECK(clear.stop == ProfileStop::not_worth_it);
    CHECK(clear.runs.empty());
    // Prices decide just as goodputs do.
    options[1].goodput = 99;
    const std::vector<double> prices{0, 98.5, 0};
    ProfileRunOptions priced = settings;
    priced.prices = prices;
    CHECK(choose_profile_runs(candidates, options, types, priced).before < 0.2 * close.before);
}

TEST_CASE("runs chosen for the regret lose less goodput by wrong decisions than random ones") {
    constexpr int jobs = 100;
    double lost_before = 0, lost = 0, lost_random = 0, lost_variance = 0;
    for (int j = 0; j < jobs; ++j) {
        RandomJob job(20000 + static_cast<std::uint64_t>(j));
        std::erase_if(job.options, [](const Option& option) { return option.plan.atomic_batch != 48; });
        const auto goodput_of = [&](const Option& option, const RefinedThroughput& model) {
            const int gpus = option.configuration.gpus();
            const double total = static_cast<double>(option.plan.total(gpus));
            const double efficiency = (1000.0 + 64) / (1000 + total);
            return total * efficiency /
                   model.iteration_seconds(option.configuration.first().shape, option.plan);
        };
        // One GPU costs half of what a single GPU of type 0 achieves.
        const double price = 0.5 * goodput_of({{0, 4, {1, 1}}, {48, 0}}, job.truth[0]);
        std::vector<double> prices;
        for (const Option& option : job.options) prices.push_back(price * option.configuration.gpus());
        const auto loss_of = [&](std::span<const TypeFit> types) {
            double best = -infinite, thought = -infinite, got = 0, scale = 0;
            for (std::size_t k = 0; k < job.options.size(); ++k) {
                const std::size_t t = job.options[k].configuration.first().gpu_type;
                const double goodput = goodput_of(job.options[k], job.truth[t]), value = goodput - prices[k];
                const double believed = goodput_of(job.options[k], types[t].fit.model) - prices[k];
                if (value > best) {
                    best = value;
                    scale = goodput;
                }
                if (believed > thought) {
                    thought = believed;
                    got = value;
                }
            }
            return (best - got) / scale;
        };
        const std::vector<TypeFit> types = fit(job.known);
        for (Option& option : job.options)
            option.goodput = goodput_of(option, types[option.configuration.first().gpu_type].fit.model);
        const auto after = [&](const std::vector<std::size_t>& order, double budget) {
            RandomJob copy = job;
            const std::vector<double> costs = costs_of(job, types);
            SamplesByType samples = job.known;
            double spent = 0;
            for (const std::size_t c : order) {
                if (spent + costs[c] > budget) continue;
                spent += costs[c];
                copy.run(job.candidates[c], samples);
            }
            return loss_of(fit(samples));
        };
        constexpr double budget = 800;
        ProfileRunOptions settings{
            .criterion = ProfileCriterion::regret, .gpu_seconds = budget, .tolerance = 0, .prices = prices};
        lost_before += loss_of(types) / jobs;
        lost +=
            after(chosen(choose_profile_runs(job.candidates, job.options, types, settings)), budget) / jobs;
        settings.criterion = ProfileCriterion::variance;
        lost_variance +=
            after(chosen(choose_profile_runs(job.candidates, job.options, types, settings)), budget) / jobs;
        support::Random shuffle(static_cast<std::uint64_t>(j));
        for (int draw = 0; draw < 2; ++draw)
            lost_random += after(shuffled(job.candidates.size(), shuffle), budget) / (2 * jobs);
    }
    MESSAGE("goodput lost by wrong decisions, as a part of the best: "
            << lost_before << " before, " << lost << " with runs chosen for the regret, " << lost_variance
            << " for the variance, " << lost_random << " with random ones");
    CHECK(lost < 0.8 * lost_random);
    CHECK(lost < lost_before);
}

TEST_CASE("bad input is refused") {
    const RandomJob job(1);
    const std::vector<TypeFit> types = fit(job.known);
    const std::vector<Option>&candidates = job.candidates, &options = job.options;
    CHECK_FALSE(refused(candidates, options, types));
    CHECK_FALSE(refused({}, options, types));
    CHECK(refused(candidates, {}, types));
    CHECK(refused(candidates, options, {}));
    CHECK(refused(candidates, options, std::vector<TypeFit>(3)));
    const auto with_part = [](const Option& option, auto change) {
        PoolShare part = option.configuration.first();
        change(part);
        return Configuration(part);
    };
    const auto with = [&](auto change) {
        std::vector<Option> list = options;
        change(list[3]);
        return refused(candidates, list, types) && refused(list, options, types);
    };
    CHECK(with([&](Option& option) {
        option.configuration = with_part(option, [](PoolShare& part) { part.gpu_type = 3; });
    }));
    CHECK(with([&](Option& option) {
        option.configuration = with_part(option, [](PoolShare& part) { part.gpus_per_node = 0; });
    }));
    CHECK(with([&](Option& option) {
        option.configuration = with_part(option, [](PoolShare& part) { part.shape = {}; });
    }));
    CHECK(with([&](Option& option) {
        option.configuration = with_part(option, [](PoolShare& part) { part.shape = {1, 5}; });
    }));
    CHECK(with([&](Option& option) {
        option.configuration = with_part(option, [](PoolShare& part) { part.shape = {2, 1}; });
    }));
    CHECK(with([](Option& option) { option.plan = {}; }));
    CHECK(with([](Option& option) { option.plan.accumulation_steps = -1; }));
    CHECK(with([](Option& option) { option.goodput = std::nan(""); }));
    const auto with_settings = [&](const ProfileRunOptions& settings) {
        return refused(candidates, options, types, settings);
    };
    CHECK(with_settings({.gpu_seconds = -1}));
    CHECK(with_settings({.gpu_seconds = std::nan("")}));
    CHECK(with_settings({.startup_seconds = infinite}));
    CHECK(with_settings({.iterations = 0}));
    CHECK(with_settings({.worth = std::nan("")}));
    CHECK(with_settings({.tolerance = -0.1}));
    const std::vector<double> few(2, 1.0), none(options.size(), 0.0);
    std::vector<double> negative(options.size(), 1.0), endless(options.size(), 1.0);
    negative[1] = -1;
    endless[1] = infinite;
    CHECK(with_settings({.weights = few}));
    CHECK(with_settings({.prices = few}));
    CHECK(with_settings({.weights = none}));
    CHECK(with_settings({.weights = negative}));
    CHECK(with_settings({.weights = endless}));
    CHECK(with_settings({.prices = endless}));
    // The criterion needs goodputs, and none is predicted.
    CHECK(with_settings({.criterion = ProfileCriterion::regret}));
    std::vector<TypeFit> broken = types;
    broken[1].fit.covariance.assign(broken[1].fit.covariance.size(), 0.0);
    CHECK(refused(candidates, options, broken));
    broken[1].fit.covariance.assign(broken[1].fit.covariance.size(), std::nan(""));
    CHECK(refused(candidates, options, broken));
}

TEST_SUITE("data") {
    TEST_CASE("on published measurements a few chosen runs teach more than random ones") {
        const std::vector<std::string> types{"aws", "rtx", "dgx-ext"};
        const std::array<int, 3> gpus_per_node{4, 8, 8};
        const std::vector<std::string> applications{"bert",        "cifar10", "imagenet",
                                                    "deepspeech2", "yolov3",  "ncf"};
        std::map<std::size_t, std::array<double, 3>> errors;  // before, chosen, random; by number of runs
        for (const std::string& application : applications) {
            SamplesByType known(types.size());
            std::vector<Option> options;
            std::vector<ThroughputSample> truth;
            for (std::size_t t = 0; t < types.size(); ++t) {
                const support::Profile profile = support::read_profile(
                    std::string(GOODPUT_DATA_DIR) + "/sia/profiles/" + application, types[t]);
                std::map<std::pair<Shape, int>, ThroughputSample> samples;
                for (const PlacementSample& sample : profile.placements) {
                    const int nodes = static_cast<int>(sample.gpus_by_node.size()),
                              each = sample.gpus_by_node.front();
                    if (std::count(sample.gpus_by_node.begin(), sample.gpus_by_node.end(), each) != nodes)
                        continue;
                    const Shape shape{nodes, nodes * each};
                    samples.insert(
                        {{shape, sample.atomic_batch},
                         {shape, {sample.atomic_batch, 0}, sample.step_seconds, sample.sync_seconds}});
                }
                for (const ThroughputSample& sample : profile.scalability)
                    samples.insert({{sample.shape, sample.plan.atomic_batch}, sample});
                std::set<int> batches;
                for (const auto& [key, sample] : samples) batches.insert(key.second);
                const int middle =
                    *std::next(batches.begin(), static_cast<std::ptrdiff_t>(batches.size() / 2));
                for (const auto& [key, sample] : samples) {
                    const int batch = key.second;
                    if (key.first.gpus == 1) {
                        known[t].push_back(sample);
                    } else if (batch == middle || batch == *batches.begin() || batch == *batches.rbegin()) {
                        options.push_back({{t, gpus_per_node[t], key.first}, {batch, 0}});
                        truth.push_back(sample);
                    }
                }
            }
            // Returns the error of ln of the step times after these runs, as root mean square by type.
            const auto error_after = [&](std::span<const std::size_t> runs) {
                SamplesByType samples = known;
                for (const std::size_t i : runs)
                    samples[options[i].configuration.first().gpu_type].push_back(truth[i]);
                const std::vector<TypeFit> fits = fit(samples);
                std::array<double, 3> squares{}, counts{};
                for (std::size_t i = 0; i < options.size(); ++i) {
                    const std::size_t t = options[i].configuration.first().gpu_type;
                    const double seconds = fits[t].fit.model.iteration_seconds(truth[i].shape, truth[i].plan);
                    squares[t] += detail::square(std::log(seconds / truth[i].step_seconds));
                    counts[t] += 1;
                }
                double mean = 0;
                for (std::size_t t = 0; t < types.size(); ++t)
                    mean += std::sqrt(squares[t] / counts[t]) / static_cast<double>(types.size());
                return mean;
            };
            // The first few of many chosen runs are those that are chosen if there are only a few.
            const std::vector<std::size_t> best =
                chosen(choose_profile_runs(options, options, fit(known), {.runs = 12, .tolerance = 0}));
            REQUIRE(best.size() == 12);
            const double share = 1 / static_cast<double>(applications.size()), none = error_after({});
            for (const std::size_t runs : {2u, 3u, 6u, 12u}) {
                auto& [before, by_choice, by_chance] = errors[runs];
                before += share * none;
                by_choice += share * error_after(std::span(best).first(runs));
                constexpr int draws = 12;
                for (int draw = 0; draw < draws; ++draw) {
                    support::Random random(500 + static_cast<std::uint64_t>(draw));
                    const std::vector<std::size_t> order = shuffled(options.size(), random);
                    by_chance += share / draws * error_after(std::span(order).first(runs));
                }
            }
        }
        for (const auto& [runs, error] : errors) {
            MESSAGE(runs << " runs over three GPU types: root mean square error of ln step " << error[0]
                         << " before, " << error[1] << " chosen, " << error[2] << " random");
            CHECK(error[1] < 0.95 * error[2]);
        }
    }
}
