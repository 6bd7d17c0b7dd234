// Estimates of the work left in a job of many tasks: against all samples of small populations, against the
// law that the combined estimate supposes, and against its density, integrated finely.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"
#include "support/random.hpp"
#include "support/validation.hpp"
#include "tasks/task_samples.hpp"

#include <doctest/doctest.h>

using namespace goodput;

namespace {

double normal(support::Random& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    return radius * std::cos(2 * std::acos(-1.0) * random.unit());
}

/// Calls visit(indices) for every choice of `count` out of `all` indices.
template <class Visit>
void for_each_choice(int all, int count, Visit visit) {
    for (unsigned mask = 0; mask < 1U << all; ++mask) {
        std::vector<std::size_t> chosen;
        for (int i = 0; i < all; ++i)
            if (mask >> i & 1U) chosen.push_back(static_cast<std::size_t>(i));
        if (chosen.size() == static_cast<std::size_t>(count)) visit(chosen);
    }
}

double sum_of(const std::vector<double>& numbers) {
    double sum = 0;
    for (const double number : numbers) sum += number;
    return sum;
}

/// A job drawn from the law that the combined estimate supposes, at some moment: `ended` tasks have run one
/// by one, and `together` others have been running together for a while.
struct Moment {
    JobTasks tasks{};
    double remaining = 0;  ///< true remaining seconds
};
Moment moment(support::Random& random, const UsualTasks& usual, int tasks, int ended, int together,
              double watched) {
    Moment result{support::tasks_of(tasks, {}), 0};
    const double mean_log = usual.mean_log_seconds + std::sqrt(usual.between) * normal(random);
    for (int t = 0; t < tasks; ++t) {
        const double seconds = std::exp(mean_log + std::sqrt(usual.within) * normal(random));
        if (t < ended || (t < ended + together && seconds <= watched)) {
            result.tasks.strata[0].finish(seconds);
        } else if (t < ended + together) {
            result.tasks.strata[0].running_seconds.push_back(watched);
            result.remaining += seconds - watched;
        } else {
            result.remaining += seconds;
        }
    }
    result.tasks.usual = usual;
    return result;
}

UsualTasks usual_of(double mean_log, double between, double within) {
    return {.mean_log_seconds = mean_log,
            .between = between,
            .within = within,
            .within_freedom = 100,
            .mean_factor = std::exp(within / 2)};
}

}  // namespace

TEST_CASE("over all samples, the own estimate is right on average, and so is its squared error") {
    const std::vector<double> population{3, 1, 4, 1, 5, 9, 2, 6, 5};
    const int all = static_cast<int>(population.size());
    for (int n = 2; n < all; ++n) {
        CAPTURE(n);
        double count = 0, estimates = 0, squared_errors = 0, claimed = 0;
        for_each_choice(all, n, [&](const std::vector<std::size_t>& chosen) {
            std::vector<double> finished;
            for (const std::size_t i : chosen) finished.push_back(population[i]);
            const DurationEstimate found = *estimate_own(support::tasks_of(all, finished));
            const double truth = sum_of(population) - sum_of(finished);
            estimates += found.mean_seconds();
            squared_errors += (found.remaining_seconds - truth) * (found.remaining_seconds - truth);
            claimed += found.remaining_error * found.remaining_error;
            CHECK(found.spent_seconds == doctest::Approx(sum_of(finished)));
            if (found.remaining_error > 0) CHECK(found.freedom == doctest::Approx(n - 1));
            ++count;
        });
        CHECK(estimates / count == doctest::Approx(sum_of(population) / all));
        CHECK(claimed / count == doctest::Approx(squared_errors / count));
    }
}

TEST_CASE("the same holds stratum by stratum") {
    const std::vector<double> small{1, 2, 4, 2}, large{30, 50, 35, 90, 41};
    double count = 0, estimates = 0, squared_errors = 0, claimed = 0;
    const double truth = sum_of(small) + sum_of(large);
    for_each_choice(4, 2, [&](const std::vector<std::size_t>& first) {
        for_each_choice(5, 3, [&](const std::vector<std::size_t>& second) {
            JobTasks tasks{{TaskSample{.tasks = 4}, TaskSample{.tasks = 5}}, {}};
            for (const std::size_t i : first) tasks.strata[0].finish(small[i]);
            for (const std::size_t i : second) tasks.strata[1].finish(large[i]);
            const DurationEstimate found = *estimate_own(tasks);
            const double off = found.spent_seconds + found.remaining_seconds - truth;
            estimates += found.mean_seconds();
            squared_errors += off * off;
            claimed += found.remaining_error * found.remaining_error;
            CHECK(found.freedom >= 1);
            CHECK(found.freedom <= 3 + 1e-9);
            ++count;
        });
    });
    CHECK(estimates / count == doctest::Approx(truth / 9));
    CHECK(claimed / count == doctest::Approx(squared_errors / count));
}

TEST_CASE("own intervals hold the truth as often as they claim where tasks are normal") {
    for (const int n : {2, 3, 4, 8, 15}) {
        CAPTURE(n);
        support::Random random(7);
        constexpr int jobs = 20'000;
        int held = 0;
        for (int j = 0; j < jobs; ++j) {
            std::vector<double> population(20);
            for (double& seconds : population) seconds = std::max(100 + 10 * normal(random), 1.0);
            const JobTasks tasks = support::tasks_of(20, {population.begin(), population.begin() + n});
            const DurationEstimate estimate = *estimate_own(tasks);
            const Interval interval = remaining_interval(estimate, 0.9);
            const double truth = sum_of(population) - estimate.spent_seconds;
            held += interval.low <= truth && truth <= interval.high;
        }
        CHECK(held / static_cast<double>(jobs) == doctest::Approx(0.9).epsilon(0.012));
    }
}

TEST_CASE("combined intervals hold the truth as often as they claim where logarithms are normal") {
    for (const double within : {0.05, 0.5})
        for (const double between : {0.1, 1.0})
            for (const int ended : {0, 1, 5})
                for (const int together : {0, 6}) {
                    CAPTURE(within);
                    CAPTURE(between);
                    CAPTURE(ended);
                    CAPTURE(together);
                    support::Random random(11);
                    const UsualTasks usual = usual_of(4, between, within);
                    constexpr int jobs = 4000;
                    int held = 0;
                    double ratio = 0;
                    for (int j = 0; j < jobs; ++j) {
                        const Moment one = moment(random, usual, 60, ended, together, 50);
                        const DurationEstimate found = *estimate_combined(one.tasks);
                        const Interval interval = remaining_interval(found, 0.9);
                        held += interval.low <= one.remaining && one.remaining <= interval.high;
                        ratio += std::log(found.remaining_seconds / one.remaining) / jobs;
                    }
                    CHECK(held / static_cast<double>(jobs) == doctest::Approx(0.9).epsilon(0.025));
                    // The mean of a log-normal exceeds its median, by at most half of the unknown variance.
                    CHECK(ratio > -0.03);
                    CHECK(ratio < 0.03 + between / 2);
                }
}

TEST_CASE("while tasks run that began together, own estimates are too low and combined ones are not") {
    support::Random random(3);
    const UsualTasks vague = usual_of(4, 10, 0.3);
    double own = 0, combined = 0;
    int jobs = 0;
    for (int j = 0; j < 4000; ++j) {
        // Watched until about half of the tasks have ended, whatever the job's mean.
        std::vector<double> seconds(12);
        const double mean_log = 4 + normal(random);
        for (double& each : seconds) each = std::exp(mean_log + std::sqrt(0.3) * normal(random));
        const double watched = std::exp(mean_log);
        JobTasks tasks = support::tasks_of(1000, {});
        for (const double each : seconds)
            if (each <= watched)
                tasks.strata[0].finish(each);
            else
                tasks.strata[0].running_seconds.push_back(watched);
        if (tasks.finished() == 0) continue;
        tasks.usual = vague;
        const double truth = std::log(1000) + mean_log + 0.15;
        own += std::log(estimate_own(tasks)->remaining_seconds) - truth;
        combined += std::log(estimate_combined(tasks)->remaining_seconds) - truth;
        ++jobs;
    }
    CHECK(own / jobs < -0.4);
    CHECK(std::abs(combined / jobs) < 0.05);
}

TEST_CASE("the combined estimate is the mean of the density that is written down, with its variance") {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        CAPTURE(seed);
        support::Random random(seed);
        const double prior = random.between(0, 6), between = std::exp(random.between(-4, 2)),
                     within = std::exp(random.between(-4, 2));
        TaskSample sample{.tasks = 100};
        for (int t = random.integer(0, 5); t > 0; --t) sample.finish(std::exp(random.between(0, 6)));
        for (int t = random.integer(0, 5); t > 0; --t)
            sample.running_seconds.push_back(std::exp(random.between(-2, 8)));
        const auto objective = [&](double m) {
            double sum = -(m - prior) * (m - prior) / (2 * between) -
                         sample.squared_log_deviations / (2 * within) -
                         sample.finished * (m - sample.mean_log_seconds) * (m - sample.mean_log_seconds) /
                             (2 * within);
            for (const double seconds : sample.running_seconds)
                sum += std::log(std::erfc((std::log(seconds) - m) / std::sqrt(2 * within)) / 2);
            return sum;
        };
        const detail::LogMean found = detail::posterior_of(sample, prior, 1 / between, within);
        double top = -std::numeric_limits<double>::infinity(), mass = 0, first = 0, second = 0;
        for (int i = -2000; i < 3000; ++i) top = std::max(top, objective(i / 100.0));
        REQUIRE(std::isfinite(top));
        for (int i = -40'000; i < 60'000; ++i) {
            const double m = i / 2000.0, weight = std::exp(objective(m) - top);
            mass += weight;
            first += weight * m;
            second += weight * m * m;
        }
        const double mean = first / mass, variance = second / mass - mean * mean;
        CHECK(std::abs(found.mean - mean) < 0.06 * std::sqrt(variance));
        CHECK(found.variance == doctest::Approx(variance).epsilon(0.06));
    }
}

TEST_CASE(
    "the longer tasks run, the longer a job is expected to be; those that have just begun say nothing") {
    const UsualTasks usual = usual_of(std::log(60), 0.5, 0.2);
    JobTasks tasks = support::tasks_of(100, {50, 70});
    tasks.usual = usual;
    const double without = estimate_combined(tasks)->mean_seconds();
    double before = 0;
    for (const double seconds : {0.0, 1.0, 10.0, 60.0, 120.0, 600.0, 6000.0, 1e6, 1e12}) {
        tasks.strata[0].running_seconds = {seconds, seconds, seconds};
        const DurationEstimate found = *estimate_combined(tasks);
        if (seconds <= 1) CHECK(found.mean_seconds() == doctest::Approx(without).epsilon(0.01));
        CHECK(found.mean_seconds() >= before);
        CHECK(std::isfinite(found.remaining_error));
        before = found.mean_seconds();
    }
    CHECK(before > 10 * without);
}

TEST_CASE("the combined estimate is off by less than either of its sources, wherever their variances lie") {
    for (const double within : {0.05, 0.2, 1.0, 3.0})
        for (const double between : {0.05, 0.3, 1.0}) {
            CAPTURE(within);
            CAPTURE(between);
            support::Random random(5);
            const UsualTasks usual = usual_of(4, between, within);
            std::array<double, 3> squared{};
            for (int j = 0; j < 3000; ++j) {
                const Moment one = moment(random, usual, 100, 3, 0, 0);
                const std::array found{estimate_combined(one.tasks), estimate_own(one.tasks),
                                       estimate_usual(one.tasks)};
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const double off = std::log(found[i]->remaining_seconds / one.remaining);
                    squared[i] += off * off;
                }
            }
            CHECK(squared[0] < 1.02 * std::min(squared[1], squared[2]));
        }
}

TEST_CASE(
    "with one ended task the spread of earlier jobs' tasks counts, and without these nothing is claimed") {
    JobTasks tasks = support::tasks_of(10, {20});
    CHECK(estimate_own(tasks)->mean_seconds() == doctest::Approx(20));
    CHECK(std::isinf(remaining_interval(*estimate_own(tasks), 0.5).high));
    CHECK(std::isinf(estimate_combined(tasks)->remaining_error));
    tasks.usual = usual_of(0, 1, 0.5);
    // The variance is N (N - 1) times the relative variance of a task, e^0.5 - 1.
    CHECK(estimate_own(tasks)->remaining_error == doctest::Approx(20 * std::sqrt(90 * std::expm1(0.5))));
    CHECK_FALSE(estimate_own(support::tasks_of(10, {})));
    CHECK_FALSE(estimate_combined(support::tasks_of(10, {}, {3})));
    CHECK_FALSE(estimate_usual(support::tasks_of(10, {1, 2})));
}

TEST_CASE("a job whose tasks have all ended has nothing left, and nothing to be unsure of") {
    JobTasks tasks = support::tasks_of(3, {1, 2, 3});
    for (const bool taught : {false, true}) {
        if (taught) tasks.usual = usual_of(0, 1, 0.5);
        for (const auto& found : {estimate_own(tasks), estimate_combined(tasks)}) {
            CHECK(found->remaining_seconds == 0);
            CHECK(found->remaining_error == 0);
            CHECK(found->mean_seconds() == doctest::Approx(2));
            CHECK(remaining_interval(*found, 0.99).high == 0);
        }
    }
}

TEST_CASE("history learns variances within and between jobs, and what a further job is off by") {
    support::Random random(9);
    double between = 0, within = 0, factor = 0, work = 0;
    constexpr int repetitions = 60;
    for (int r = 0; r < repetitions; ++r) {
        TaskHistory history;
        for (int j = 0; j < 64; ++j) {
            const double mean_log = 3 + std::sqrt(0.4) * normal(random);
            std::vector<double> seconds(40);
            for (double& each : seconds) each = std::exp(mean_log + std::sqrt(0.7) * normal(random));
            history.add(support::tasks_of(40, seconds));
        }
        const UsualTasks usual = *history.usual();
        between += usual.between / repetitions;
        within += usual.within / repetitions;
        factor += usual.mean_factor / repetitions;
        work += usual.work / repetitions;
        CHECK(std::abs(usual.mean_log_seconds - 3) < 0.9);
        CHECK(usual.within_freedom > 20);  // jobs have equal spreads
    }
    // 1 / jobs more, because the mean of the earlier jobs is off, too, most of all for the first.
    CHECK(between > 0.38);
    CHECK(between < 0.48);
    CHECK(within == doctest::Approx(0.7).epsilon(0.02));
    CHECK(factor == doctest::Approx(std::exp(0.35)).epsilon(0.03));
    CHECK(work == doctest::Approx(0.4 + 0.025).epsilon(0.1));
}

TEST_CASE("a history that changes follows, and is believed less while it does") {
    TaskHistory steady, changing;
    support::Random random(4);
    for (int j = 0; j < 64; ++j) {
        const double noise = 0.1 * normal(random);
        steady.add(support::tasks_of(2, {std::exp(2 + noise), std::exp(2 + noise)}));
        changing.add(support::tasks_of(2, {std::exp(2 + noise + 0.2 * j), std::exp(2 + noise + 0.2 * j)}));
    }
    CHECK(steady.usual()->between < 0.02);
    CHECK(changing.usual()->between > 0.2);
    CHECK(changing.usual()->mean_log_seconds > 2 + 0.2 * 58);  // mean of the last four, not of all
    TaskHistory one;
    one.add(support::tasks_of(2, {1, 2}));
    CHECK_FALSE(one.usual());
}

TEST_CASE("jobs that differ in their spread make a job's own spread count for more") {
    support::Random random(8);
    TaskHistory mixed;
    for (int j = 0; j < 64; ++j) {
        const double spread = j % 2 == 0 ? 0.1 : 1.5;
        std::vector<double> seconds(50);
        for (double& each : seconds) each = std::exp(3 + spread * normal(random));
        mixed.add(support::tasks_of(50, seconds));
    }
    CHECK(mixed.usual()->within_freedom < 4);
}

TEST_CASE("pilots: the published number, and ours where one more costs what it brings") {
    CHECK(published_pilots(3) == 0);
    CHECK(published_pilots(4) == 1);
    CHECK(published_pilots(100) == 3);
    CHECK(published_pilots(101) == 4);
    CHECK(published_pilots(10, 2) == 10);
    for (const double within : {0.05, 0.2, 1.0, 4.0})
        for (const double between : {0.05, 0.5, 2.0})
            for (const int tasks : {1, 5, 30, 100, 1000}) {
                CAPTURE(within);
                CAPTURE(between);
                CAPTURE(tasks);
                UsualTasks usual = usual_of(0, between, within);
                usual.work = between + 0.5;
                const int found = best_pilots(tasks, usual);
                // The sum of both costs in the header's comment, for a job of one second on the cluster.
                const auto cost = [&](double k) {
                    const double v = 1 / (1 / between + k / within);
                    return v / (4 * std::sqrt(std::acos(-1.0) * usual.work)) + k / (2.0 * tasks);
                };
                CHECK(found >= 0);
                CHECK(found <= tasks);
                double least = cost(0);
                for (int k = 1; k <= tasks; ++k) least = std::min(least, cost(k));
                CHECK(cost(found) <= least * (1 + 1e-12));
            }
}

TEST_CASE("bad input is refused with subject, field and value") {
    TaskSample sample{.tasks = 2};
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double wrong : {0.0, -1.0, nan, std::numeric_limits<double>::infinity(), 1e13})
        CHECK_THROWS_AS(sample.finish(wrong), std::invalid_argument);
    CHECK(sample.finished == 0);
    const auto refuses = [](const JobTasks& tasks, const char* message) {
        CHECK_THROWS_WITH_AS(validate(tasks, "job 'x'"), message, std::invalid_argument);
    };
    refuses({}, "job 'x': number of strata of tasks is 0, but must be at least 1");
    refuses(support::tasks_of(0, {}), "job 'x': tasks is 0, but must be between 1 and 268435456");
    refuses(support::tasks_of(1, {1, 2}), "job 'x': tasks that have ended is 2, but must be between 0 and 1");
    refuses(support::tasks_of(3, {}, {nan}),
            "job 'x': seconds of a running task is nan, but must be between 0 and 1e+12");
    JobTasks said_of_none = support::tasks_of(3, {});
    said_of_none.strata[0].mean_seconds = nan;
    refuses(said_of_none,
            "job 'x': tasks that have ended is 0, but must be above 0 where something is said of them");
    refuses({{TaskSample{.tasks = most_tasks}, TaskSample{.tasks = 1}}, {}},
            "job 'x': tasks of all strata is 268435457, but must be between 1 and 268435456");
    TaskSample full{.tasks = most_tasks, .finished = most_tasks};
    CHECK_THROWS_AS(full.finish(1), std::invalid_argument);
    JobTasks tasks = support::tasks_of(3, {1});
    tasks.usual = usual_of(0, 0, 1);
    refuses(tasks, "job 'x': usual variance between jobs is 0, but must be a finite number above 0");
    tasks.usual = usual_of(nan, 1, 1);
    refuses(tasks, "job 'x': usual mean log seconds is nan, but must be between -100 and 100");
    CHECK_THROWS_WITH_AS((void)remaining_interval({.tasks = 1}, 1),
                         "interval: coverage is 1, but must be above 0 and below 1", std::invalid_argument);
}
