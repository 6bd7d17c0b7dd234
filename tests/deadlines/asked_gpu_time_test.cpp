// NameList to admit where more ask than fit, and rounds that begin at any time.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "goodput/deadlines/asked_gpu_time.hpp"
#include "goodput/deadlines/promises.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

namespace deadlines_asked_gpu_time {

using namespace goodput;

TEST_CASE("GPU time is counted on all types, at the size that does most for a GPU") {
    const ClusterOverTime cluster{{"fast", "slow"}, {{0, 2, 8}, {1, 1, 4, 0, 1e9, 2}}};
    DeadlineJob job{.name = "a", .work_left = 340, .deadline_seconds = 50, .speed = {{8, 20}, {}}};
    job.other_sizes = {{{1, 3}, 15}};
    // 16 GPUs do 10 each, and the two that are left of the other type 5 each.
    const GpuTimeNeed need = gpu_time_need(cluster, job);
    CHECK(need.seconds == doctest::Approx(2));
    CHECK(need.window_seconds == 50);
    CHECK(need.worth() == doctest::Approx(0.5));
}

TEST_CASE("A job leaves the GPUs to lighter ones that ask for all of them, and only to these") {
    AskedGpuTime asked;
    const GpuTimeNeed heavy{500, 1000, 1};
    CHECK_FALSE(asked.others_need_it(0, heavy));
    // Every 10 seconds a job needs 9 of them.
    double now = 0;
    for (; now <= 3000; now += 10) asked.note(now, {9, 20, 1});
    CHECK(asked.others_need_it(3000, heavy));
    CHECK_FALSE(asked.others_need_it(3000, {8, 1000, 1}));
    CHECK_FALSE(asked.others_need_it(3000, {500, 1000, 100}));
    CHECK_FALSE(asked.others_need_it(4500, heavy));

    SUBCASE("whoever has more time can have GPUs later") {
        AskedGpuTime patient;
        for (now = 0; now <= 3000; now += 10) patient.note(now, {9, 2000, 1});
        CHECK_FALSE(patient.others_need_it(3000, heavy));
    }
    SUBCASE("a burst says little about a time that is longer than all that is known") {
        AskedGpuTime burst;
        for (int k = 0; k < 60; ++k) burst.note(0, {9, 20, 1});
        CHECK_FALSE(burst.others_need_it(10, heavy));
    }
}

/// One GPU. For four hours a job asks every 100 seconds that needs 90 of them within 95. After three hours a
/// heavy one asks that needs so much within 10,000 s. Returns how many light ones are promised an end, and
/// when the heavy one is; -1: never.
std::pair<int, double> promised(AskingOrder order, double heavy_left) {
    Promises promises({.order = order});
    const ClusterOverTime cluster{{"GPU"}, {{0, 1, 1}}};
    double heavy_at = -1;
    int kept = 0;
    for (double now = 0; now < 21000; now += 100) {
        std::vector<DeadlineJob> jobs;
        if (now < 14400)
            jobs.push_back({.name = "light" + std::to_string(static_cast<int>(now)),
                            .work_left = 90,
                            .deadline_seconds = 95,
                            .speed = {{1}}});
        if (now >= 10800 && heavy_left > 0)
            jobs.push_back(
                {.name = "heavy", .work_left = heavy_left, .deadline_seconds = 20800 - now, .speed = {{1}}});
        const std::vector<PromiseAnswer> answers = promises.plan(now, cluster, jobs);
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            if (jobs[j].name != "heavy") {
                kept += answers[j].promise == Promise::kept;
                continue;
            }
            if (answers[j].promise == Promise::kept && heavy_at < 0) heavy_at = now;
            if (answers[j].now) heavy_left -= 100;
        }
    }
    return {kept, heavy_at};
}

TEST_CASE(
    "A heavy job is promised nothing while lighter ones ask for all GPUs, and its end once they do not") {
    const auto [first_come, heavy_first] = promised(AskingOrder::first_come, 7500);
    CHECK(heavy_first == 10800);
    CHECK(first_come < 140);
    const auto [by_time, heavy_never] = promised(AskingOrder::weight_by_gpu_time, 7500);
    CHECK(by_time == 144);
    CHECK(heavy_never == -1);
    const auto [by_time_too, heavy_last] = promised(AskingOrder::weight_by_gpu_time, 3000);
    CHECK(by_time_too == 144);
    CHECK(heavy_last > 14400);
}

TEST_CASE("Promises are kept in rounds that begin at any time, as late as was said after each change") {
    support::Random random(46);
    int kept = 0, changes = 0;
    for (int world = 0; world < 150; ++world) {
        const double late = random.integer(1, 3) * 30.0;
        Promises promises(
            {.admission = {.slot_seconds = 60, .most_rounds = 20, .most_repairs = 1},
             .order = random.chance(0.5) ? AskingOrder::first_come : AskingOrder::weight_by_gpu_time,
             .late_seconds = late});
        const ClusterOverTime cluster{{"GPU"}, {{0, 2, 4}}};
        std::vector<DeadlineJob> jobs;
        std::set<std::string> with_promise;
        double now = 0;
        for (int round = 0; round < 120; ++round) {
            if (round < 40 && random.chance(0.5)) {
                DeadlineJob job{.name = "job" + std::to_string(round)};
                job.work_left = random.between(10, 3000);
                job.deadline_seconds = random.between(60, 4000);
                job.speed = {{1, random.between(1.2, 2), random.between(2, 4)}};
                jobs.push_back(job);
            }
            const std::vector<PromiseAnswer> answers = promises.plan(now, cluster, jobs);
            double change = now + random.between(1, 400);
            for (std::size_t j = 0; j < jobs.size(); ++j) {
                CAPTURE(world);
                CAPTURE(jobs[j].name);
                if (with_promise.contains(jobs[j].name)) {
                    REQUIRE(answers[j].promise == Promise::kept);
                    CHECK(answers[j].done_by_seconds <= now + jobs[j].deadline_seconds + 1e-6);
                }
                if (answers[j].promise != Promise::kept) continue;
                kept += with_promise.insert(jobs[j].name).second;
                change = std::min(change, answers[j].until_seconds);
                changes += answers[j].until_seconds < answers[j].done_by_seconds - 1;
            }
            // The next round begins when the plan changes something, or somewhat later.
            const double next = std::max(change, now + 1) + random.between(0, late);
            for (std::size_t j = jobs.size(); j-- > 0;) {
                double done = std::numeric_limits<double>::infinity();
                if (answers[j].now) {
                    const double speed = jobs[j].speed_on(*answers[j].now);
                    done = jobs[j].work_left / speed;
                    jobs[j].work_left -= speed * (next - now);
                }
                const bool is_done = jobs[j].work_left <= 1e-6;
                if (is_done && with_promise.contains(jobs[j].name))
                    CHECK(done <= jobs[j].deadline_seconds * (1 + 1e-6) + 1e-6);
                jobs[j].deadline_seconds -= next - now;
                const bool is_late = jobs[j].deadline_seconds < -1e-6 && !with_promise.contains(jobs[j].name);
                if (is_done || is_late) jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(j));
            }
            now = next;
        }
        for (const DeadlineJob& job : jobs) CHECK_FALSE(job.deadline_seconds < 0);
    }
    CHECK(kept > 500);
    CHECK(changes > 100);
}

}  // namespace deadlines_asked_gpu_time
