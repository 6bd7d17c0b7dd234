// Properties of any job of many tasks: the unit of time and the order of tasks and strata make no
// difference, and tasks that ended or run longer never lower what they should raise.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"

#include "properties.hpp"

using namespace goodput;
using properties::Case;
using properties::for_all;

namespace {

struct Told {
    int tasks = 1;
    std::vector<double> finished{}, running{};
};

std::vector<Told> random_strata(support::Random& random) {
    std::vector<Told> strata;
    for (int s = random.chance(0.5) ? 1 : random.integer(1, 4); s > 0; --s) {
        Told told;
        for (int t = random.integer(0, 6); t > 0; --t)
            told.finished.push_back(std::exp(random.between(-2, 8)));
        for (int t = random.integer(0, 4); t > 0; --t)
            told.running.push_back(std::exp(random.between(-4, 8)));
        told.tasks = static_cast<int>(told.finished.size() + told.running.size()) + random.integer(0, 50);
        told.tasks = std::max(told.tasks, 1);
        strata.push_back(told);
    }
    return strata;
}

JobTasks tasks_of(const std::vector<Told>& strata, double unit, const std::optional<UsualTasks>& usual) {
    JobTasks tasks;
    for (const Told& told : strata) {
        TaskSample& sample = tasks.strata.emplace_back();
        sample.tasks = told.tasks;
        for (const double seconds : told.finished) sample.finish(unit * seconds);
        for (const double seconds : told.running) sample.running_seconds.push_back(unit * seconds);
    }
    tasks.usual = usual;
    if (usual) tasks.usual->mean_log_seconds += std::log(unit);
    return tasks;
}

std::optional<UsualTasks> random_usual(support::Random& random) {
    if (random.chance(0.3)) return std::nullopt;
    UsualTasks usual{.mean_log_seconds = random.between(-2, 8),
                     .between = std::exp(random.between(-6, 2)),
                     .within = std::exp(random.between(-6, 2)),
                     .within_freedom = random.between(1, 100)};
    usual.mean_factor = std::exp(usual.within / 2 + random.between(-0.2, 0.2));
    usual.work = usual.between + random.between(0, 2);
    return usual;
}

constexpr std::array estimators{&estimate_own, &estimate_usual, &estimate_combined};

void require_close(double a, double b, double tolerance) {
    REQUIRE((a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b))));
}

}  // namespace

TEST_CASE("tasks: the unit of time, and the order of tasks and strata, make no difference") {
    for_all(2, [](Case& one) {
        std::vector<Told> strata = random_strata(one.random);
        const std::optional<UsualTasks> usual = random_usual(one.random);
        const JobTasks tasks = tasks_of(strata, 1, usual);
        const double unit = std::exp2(one.random.integer(-8, 8));
        const JobTasks scaled = tasks_of(strata, unit, usual);
        for (Told& told : strata) {
            std::reverse(told.finished.begin(), told.finished.end());
            std::reverse(told.running.begin(), told.running.end());
        }
        std::reverse(strata.begin(), strata.end());
        const JobTasks turned = tasks_of(strata, 1, usual);
        for (const auto estimate : estimators) {
            const auto plain = estimate(tasks), other = estimate(scaled), backwards = estimate(turned);
            REQUIRE(plain.has_value() == other.has_value());
            REQUIRE(plain.has_value() == backwards.has_value());
            if (!plain) continue;
            one.count("estimates");
            REQUIRE(plain->remaining_seconds >= 0);
            REQUIRE(plain->remaining_error >= 0);
            require_close(other->remaining_seconds, unit * plain->remaining_seconds, 1e-6);
            require_close(other->remaining_error, unit * plain->remaining_error, 1e-5);
            require_close(backwards->remaining_seconds, plain->remaining_seconds, 1e-9);
            require_close(backwards->remaining_error, plain->remaining_error, 1e-6);
            double before = 0;
            for (const double coverage : {0.1, 0.5, 0.9, 0.99}) {
                const Interval interval = remaining_interval(*plain, coverage);
                REQUIRE(interval.low <= interval.high);
                REQUIRE(interval.high >= before);
                before = interval.high;
            }
        }
    });
}

TEST_CASE("tasks: the combined mean lies between its sources if no task runs, and more tasks make it surer") {
    for_all(2, [](Case& one) {
        std::vector<Told> strata = random_strata(one.random);
        strata.resize(1);
        strata[0].running.clear();
        std::optional<UsualTasks> usual = random_usual(one.random);
        if (!usual) usual = UsualTasks{};
        const TaskSample sample = tasks_of(strata, 1, usual).strata[0];
        const detail::LogMean found =
            detail::posterior_of(sample, usual->mean_log_seconds, 1 / usual->between, usual->within);
        const double prior = usual->mean_log_seconds,
                     own = sample.finished > 0 ? sample.mean_log_seconds : prior;
        REQUIRE(found.mean >= std::min(prior, own) - 1e-9);
        REQUIRE(found.mean <= std::max(prior, own) + 1e-9);
        REQUIRE(found.variance <= usual->between * (1 + 1e-12));
        if (sample.finished > 0) REQUIRE(found.variance <= usual->within / sample.finished * (1 + 1e-12));
    });
}

TEST_CASE("tasks: a running task never lowers what is expected of the others, and running on raises it") {
    for_all(2, [](Case& one) {
        std::vector<Told> strata = random_strata(one.random);
        strata.resize(1);
        strata[0].tasks += 5;
        UsualTasks usual = random_usual(one.random).value_or(UsualTasks{});
        const auto mean_log = [&] {
            const TaskSample sample = tasks_of(strata, 1, usual).strata[0];
            return detail::posterior_of(sample, usual.mean_log_seconds, 1 / usual.between, usual.within);
        };
        const detail::LogMean without = mean_log();
        strata[0].running.push_back(std::exp(one.random.between(-4, 8)));
        const detail::LogMean with = mean_log();
        // If the sum is integrated, this is the accuracy of the integral.
        const double accuracy = 0.02 * std::sqrt(without.variance);
        REQUIRE(with.mean >= without.mean - accuracy);
        strata[0].running.back() *= one.random.between(1, 10);
        REQUIRE(mean_log().mean >= with.mean - accuracy);
    });
}

TEST_CASE("tasks: pilots grow with the tasks, and history matches its jobs") {
    for_all(4, [](Case& one) {
        UsualTasks usual = random_usual(one.random).value_or(UsualTasks{});
        int before = 0, published_before = 0;
        for (int tasks = 1; tasks < 5000; tasks = tasks * 3 / 2 + 1) {
            const int pilots = best_pilots(tasks, usual), published = published_pilots(tasks);
            REQUIRE(pilots >= before);
            REQUIRE(pilots <= tasks);
            REQUIRE(published >= published_before);
            REQUIRE(published <= tasks);
            before = pilots;
            published_before = published;
        }
        TaskHistory history;
        double least = 1e300, most = -1e300;
        for (int j = one.random.integer(0, 80); j > 0; --j) {
            std::vector<Told> strata = random_strata(one.random);
            if (strata[0].finished.empty()) strata[0].finished.push_back(1), ++strata[0].tasks;
            for (const Told& told : strata)
                for (const double seconds : told.finished) {
                    least = std::min(least, std::log(seconds));
                    most = std::max(most, std::log(seconds));
                }
            history.add(tasks_of(strata, 1, std::nullopt));
        }
        const std::optional<UsualTasks> learned = history.usual();
        REQUIRE(learned.has_value() == (history.jobs() >= 2));
        if (!learned) return;
        JobTasks next{{TaskSample{.tasks = 3}}, learned};
        validate(next, "learned");
        REQUIRE(learned->mean_log_seconds >= least - 1e-9);
        REQUIRE(learned->mean_log_seconds <= most + 1e-9);
        REQUIRE(learned->mean_factor >= 1 - 1e-9);  // arithmetic mean over geometric mean
    });
}
