// Fuzzes jobs of many tasks. Accepted jobs get estimates that make sense, history made from them is
// accepted again, and free GPUs are shared without loss.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"

#include "fuzz/support/bytes.hpp"
#include "fuzz/support/check.hpp"
#include "fuzz/support/record_mutator.hpp"

using namespace goodput;
using fuzz::check;

namespace {

constexpr std::size_t most_strata = 24;

/// Each record adds a stratum, tasks to the last one, or news of earlier jobs, or it ends the job.
class Decoder {
public:
    explicit Decoder(fuzz::Bytes bytes) : bytes_(bytes) {
        bytes_.let_in_hostile(bytes_.record().integer(0, 3) == 3);
    }

    std::optional<JobTasks> next() {
        if (bytes_.empty()) return std::nullopt;
        JobTasks tasks;
        while (!bytes_.empty()) {
            fuzz::Bytes record = bytes_.record();
            const std::size_t kind = record.index(8);
            if (kind == 7) break;
            if (kind == 6)
                tasks.usual =
                    UsualTasks{record.number(-3, 9),  record.scale(1e-6, 10), record.scale(1e-6, 10),
                               record.number(1, 100), record.scale(0.5, 5),   record.scale(1e-6, 10)};
            else if (kind < 2 || tasks.strata.empty())
                add_stratum(tasks, record);
            else
                add_tasks(tasks.strata.back(), record);
        }
        return tasks;
    }

private:
    static void add_stratum(JobTasks& tasks, fuzz::Bytes record) {
        if (tasks.strata.size() >= most_strata) return;
        TaskSample sample{.tasks = record.hostile_integer(1, 200)};
        if (record.flag()) {  // reported as sums
            sample.finished = record.hostile_integer(0, 20);
            sample.mean_seconds = record.scale(1e-3, 1e5);
            sample.squared_deviations = record.number(0, 1e6);
            sample.mean_log_seconds = record.number(-7, 12);
            sample.squared_log_deviations = record.number(0, 100);
        }
        tasks.strata.push_back(sample);
    }
    static void add_tasks(TaskSample& sample, fuzz::Bytes record) {
        for (std::size_t more = 1 + record.index(3); more > 0; --more) {
            const double seconds = record.scale(1e-3, 1e6);
            if (record.flag())
                sample.running_seconds.push_back(seconds);
            else
                fuzz::accepted([&] { sample.finish(seconds); });
        }
    }

    fuzz::Bytes bytes_;
};

void check_estimate(const DurationEstimate& estimate) {
    check(std::isfinite(estimate.remaining_seconds) && estimate.remaining_seconds >= 0, "what is left",
          estimate.remaining_seconds);
    check(std::isfinite(estimate.spent_seconds) && estimate.spent_seconds >= 0, "what is spent",
          estimate.spent_seconds);
    check(estimate.remaining_error >= 0, "its error", estimate.remaining_error);
    check(estimate.freedom > 0, "degrees of freedom", estimate.freedom);
    for (const double coverage : {1e-3, 0.5, 0.9, 0.999}) {
        const Interval interval = remaining_interval(estimate, coverage);
        check(interval.low >= 0, "an interval begins at 0 or later", interval.low);
        check(interval.low <= interval.high, "an interval has its ends in order", interval.low,
              interval.high);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Decoder decoder{fuzz::Bytes(data, size)};
    TaskHistory history;
    std::vector<TaskClaim> claims;
    while (const std::optional<JobTasks> tasks = decoder.next()) {
        if (!fuzz::accepted([&] { validate(*tasks, "job"); })) {
            check(!fuzz::accepted([&] { history.add(*tasks); }), "history refuses what is refused");
            continue;
        }
        for (const auto estimate : {&estimate_own, &estimate_usual, &estimate_combined})
            if (const auto found = estimate(*tasks)) check_estimate(*found);
        for (const TaskEstimates estimates :
             {TaskEstimates::own, TaskEstimates::usual, TaskEstimates::combined}) {
            const TaskPriority priority = Pilots{.estimates = estimates}.priority(*tasks);
            check(priority.pilots >= 0 && priority.pilots <= tasks->tasks(), "pilots", priority.pilots);
            check(std::isfinite(priority.work_seconds) && priority.work_seconds >= 0, "work",
                  priority.work_seconds);
            claims.push_back({priority, static_cast<double>(claims.size() % 3), tasks->waiting()});
        }
        history.add(*tasks);
        check(history.jobs() <= TaskHistory::most_jobs, "history ends");
        if (const auto usual = history.usual()) {
            JobTasks next{{TaskSample{.tasks = 10}}, usual};
            check(fuzz::accepted([&] { validate(next, "next"); }), "what is learned is accepted");
            check_estimate(*estimate_usual(next));
        }
    }
    const int free = static_cast<int>(size % 300);
    const std::vector<int> given = share_free_gpus(claims, free);
    long long all = 0, waiting = 0;
    for (std::size_t j = 0; j < claims.size(); ++j) {
        check(given[j] >= 0 && given[j] <= claims[j].waiting, "nobody begins what does not wait", given[j]);
        all += given[j];
        waiting += claims[j].waiting;
    }
    check(all == std::min<long long>(free, waiting), "free GPUs are used", static_cast<double>(all));
    return 0;
}
