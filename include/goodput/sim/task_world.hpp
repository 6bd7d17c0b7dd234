#ifndef GOODPUT_SIM_TASK_WORLD_HPP
#define GOODPUT_SIM_TASK_WORLD_HPP

// Jobs with many tasks (sweeps, trials) on equal GPUs. A job may hold any number of GPUs, each of which
// runs one of its tasks at a time, from beginning to end.
//
//   Tasks begin in the order of the trace, as soon as their job holds a GPU that is not busy.
//   A decision follows whenever a task ends or a job is submitted, so no GPU waits for the end of a round:
//   a round lasts until the next of these, at most ReplayOptions::interval_seconds.
//   If a job is left with fewer GPUs than it runs tasks, it loses the tasks that began last; these begin
//   anew later. Policies that know about tasks (tasks/pilots.hpp) never cause that, because Job::min_gpus
//   says how many GPUs the running tasks need. If the job or one of its nodes fails, it loses all running
//   tasks.
//
// Tasks are counted, not placed: it does not matter which of equal GPUs runs which task. Every change of a
// job's number of GPUs counts as a start in the replay's figures, and costs nothing.
//
// Jobs tell the scheduler which tasks have ended and which run (Job::tasks), and what earlier jobs of their
// kind took. The world remembers the latter from jobs that are complete. An example is a second of a task.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/tasks.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/sim/world.hpp"
#include "goodput/sim/world_parts.hpp"
#include "goodput/tasks/task_history.hpp"

namespace goodput::inline v0_1 {

/// A job with many tasks.
struct TaskJob {
    std::string name{};                  ///< unique name
    std::string kind{};                  ///< jobs of one kind are expected to be similar
    double submitted_seconds = 0;        ///< from the start of the trace
    std::vector<double> task_seconds{};  ///< seconds of each task, in the order in which tasks begin; at
                                         ///< least one task
    std::vector<int> strata{};           ///< by task, from 0 on: tasks of one stratum are similar; if
                                         ///< empty, all are
};

/// Returns a cluster of `gpus` GPUs, each on its own node, so that jobs are offered any number of them.
[[nodiscard]] inline Cluster cluster_of_single_gpus(int gpus) {
    Cluster cluster{{"gpu"}, {}};
    for (int i = 0; i < gpus; ++i) cluster.nodes.push_back({"gpu-" + text_of(i), 0, 1});
    return cluster;
}

/// The jobs of a trace, for one replay.
class TaskWorld {
public:
    /// Takes the jobs in the order of their submission, on nodes of one GPU type with one GPU each.
    /// `earlier` says, by kind, what is known before the first job. `declares_work`: jobs report how many
    /// task seconds they have left, for policies that use this. Throws std::invalid_argument, with job,
    /// field and value, for other clusters, jobs without tasks, invalid seconds, and strata that are not
    /// numbered from 0 on or not as many as tasks. replay() checks times and names.
    TaskWorld(const Cluster& cluster, std::vector<TaskJob> jobs,
              std::map<std::string, TaskHistory> earlier = {}, bool declares_work = false)
        : truth_(std::move(jobs)), declares_work_(declares_work) {
        if (cluster.gpu_types.size() != 1)
            bad_input("cluster", "number of GPU types", cluster.gpu_types.size(), "1");
        for (const Node& node : cluster.nodes)
            if (node.gpus != 1) bad_input("node '" + node.name + "'", "gpus", node.gpus, "1");
        gpus_ = static_cast<int>(cluster.nodes.size());
        for (auto& [kind, history] : earlier) kinds_[kind] = {history, history.usual()};
        for (const TaskJob& job : truth_) {
            courses_.push_back(course_of(job));
            jobs_.push_back(known(job));
            kinds_[job.kind];
        }
    }

    // The functions of a world (world.hpp).

    /// Returns the jobs as a scheduler first knows them.
    [[nodiscard]] const std::vector<Job>& jobs() const { return jobs_; }
    /// Gives the job these GPUs from now on. Starts take no time.
    double start(std::size_t job, const Configuration& held) {
        courses_[job].gpus = held.gpus();
        return 0;
    }
    /// Takes the job's GPUs. The job may get others afterwards.
    void save(std::size_t job) { courses_[job].gpus = 0; }
    /// Stops the running tasks, which begin anew later.
    void fail(std::size_t job) {
        stop_beyond(courses_[job], 0);
        courses_[job].gpus = 0;
    }
    /// Returns the next end of a task, among the tasks that run or begin then, or the next submission or
    /// event.
    [[nodiscard]] double round_until(const RoundAhead& round) const {
        if (round.running.empty()) return round.idle_until();
        const double begin = round.begin_seconds;
        double next = std::numeric_limits<double>::infinity();
        for (std::size_t j = 0; j < courses_.size(); ++j) {
            const Course& course = courses_[j];
            if (course.gpus == 0) continue;
            const std::size_t kept = std::min(static_cast<std::size_t>(course.gpus), course.running.size());
            for (std::size_t i = 0; i < kept; ++i) next = std::min(next, ends(j, course.running[i]));
            const std::size_t idle = idle_gpus(course);
            for (std::size_t i = 0; i < std::min(idle, course.waiting.size()); ++i)
                next = std::min(next, begin + truth_[j].task_seconds[course.waiting[i]]);
        }
        return std::clamp(std::min(next, round.next_seconds), begin, round.latest_seconds);
    }
    /// Begins, runs and ends tasks.
    std::optional<double> train(std::size_t job, const Configuration& held, double begin, double seconds) {
        if (seconds <= 0) return std::nullopt;
        Course& course = courses_[job];
        course.gpus = held.gpus();
        stop_beyond(course, static_cast<std::size_t>(course.gpus));
        const double until = begin + seconds;
        now_ = std::max(now_, until);
        begin_tasks(course, begin);
        // If the round ends with a task, `until` differs from that end by rounding.
        const double rounding = 1e-12 * std::abs(until), latest = until + rounding;
        for (;;) {
            const auto first = std::min_element(
                course.running.begin(), course.running.end(),
                [&](const Running& a, const Running& b) { return ends(job, a) < ends(job, b); });
            if (first == course.running.end() || ends(job, *first) > latest) break;
            const double end = std::max(ends(job, *first), begin);
            const double took = truth_[job].task_seconds[first->task];
            course.tasks.strata[stratum_of(job, first->task)].finish(took);
            course.done_seconds += took;
            course.running.erase(first);
            if (course.unfinished() == 0) {
                Kind& kind = kinds_.at(truth_[job].kind);
                kind.history.add(course.tasks);
                kind.usual = kind.history.usual();
                return end;
            }
            if (end < until - rounding) begin_tasks(course, end);
        }
        return std::nullopt;
    }
    /// Returns the fraction of its task seconds that belongs to ended tasks.
    [[nodiscard]] double done(std::size_t job) const {
        const Course& course = courses_[job];
        return course.unfinished() == 0 ? 1 : std::min(course.done_seconds / course.all_seconds, 1 - 1e-12);
    }
    /// Reports its tasks, and what earlier jobs took.
    void report(std::size_t job, Job& known, JobModel& model) {
        Course& course = courses_[job];
        // A decision that gives a job other GPUs first takes the old ones. Only now is it certain that the
        // job has none.
        if (course.gpus == 0) stop_beyond(course, 0);
        known.tasks = course.tasks;
        known.tasks->usual = kinds_.at(truth_[job].kind).usual;
        double running = 0;
        for (const Running& task : course.running) {
            const double seconds = std::max(now_ - task.began_seconds, 0.0);
            known.tasks->strata[stratum_of(job, task.task)].running_seconds.push_back(seconds);
            running += std::min(seconds, truth_[job].task_seconds[task.task]);
        }
        known.min_gpus = std::max(static_cast<int>(course.running.size()), 1);
        known.max_gpus = std::max(course.unfinished(), 1);
        known.done_examples = course.done_seconds + running;
        if (declares_work_)
            known.remaining_examples = std::max(course.all_seconds - course.done_seconds - running, 0.0);
        model.types.clear();
    }
    /// Returns the predictor: a GPU does one task second per second.
    [[nodiscard]] auto predictor() const {
        return known_goodput([](const Job&, const Option& option) { return option.configuration.gpus(); });
    }
    /// Returns the earliest end of the last task with the job's part of the GPUs, at least one.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        const double part = gpus_ / sharers;
        const auto slots = static_cast<std::size_t>(std::max(std::floor(part), 1.0));
        std::priority_queue<double, std::vector<double>, std::greater<>> free;
        double last = 0;
        for (const double seconds : truth_[job].task_seconds) {
            double begin = 0;
            if (free.size() == slots) {
                begin = free.top();
                free.pop();
            }
            free.push(begin + seconds);
            last = std::max(last, begin + seconds);
        }
        return last / std::min(part, 1.0);
    }
    /// Returns the seconds for all its tasks one after another.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const { return courses_[job].all_seconds; }

private:
    struct Running {
        std::size_t task = 0;
        double began_seconds = 0;
    };
    struct Course {
        JobTasks tasks{};                    ///< tasks that have ended
        std::vector<std::size_t> waiting{};  ///< in the order in which they begin
        std::vector<Running> running{};      ///< in the order in which they began
        int gpus = 0;
        double done_seconds = 0, all_seconds = 0;

        [[nodiscard]] int unfinished() const { return static_cast<int>(waiting.size() + running.size()); }
    };
    struct Kind {
        TaskHistory history{};
        std::optional<UsualTasks> usual{};
    };

    [[nodiscard]] double ends(std::size_t job, const Running& task) const {
        return task.began_seconds + truth_[job].task_seconds[task.task];
    }
    [[nodiscard]] std::size_t stratum_of(std::size_t job, std::size_t task) const {
        return truth_[job].strata.empty() ? 0 : static_cast<std::size_t>(truth_[job].strata[task]);
    }
    [[nodiscard]] static std::size_t idle_gpus(const Course& course) {
        const auto gpus = static_cast<std::size_t>(course.gpus);
        return gpus - std::min(gpus, course.running.size());
    }
    static void begin_tasks(Course& course, double time) {
        const std::size_t count = std::min(idle_gpus(course), course.waiting.size());
        for (std::size_t i = 0; i < count; ++i) course.running.push_back({course.waiting[i], time});
        course.waiting.erase(course.waiting.begin(),
                             course.waiting.begin() + static_cast<std::ptrdiff_t>(count));
    }
    static void stop_beyond(Course& course, std::size_t gpus) {
        while (course.running.size() > gpus) {
            course.waiting.insert(course.waiting.begin(), course.running.back().task);
            course.running.pop_back();
        }
    }

    [[nodiscard]] static Course course_of(const TaskJob& job) {
        const auto subject = [&] { return "job '" + job.name + "'"; };
        require_between(subject, "number of tasks", static_cast<long long>(job.task_seconds.size()), 1,
                        most_tasks);
        if (!job.strata.empty() && job.strata.size() != job.task_seconds.size())
            bad_input(subject(), "number of tasks with a stratum", job.strata.size(),
                      "none or that of tasks, " + text_of(job.task_seconds.size()));
        Course course;
        for (std::size_t t = 0; t < job.task_seconds.size(); ++t) {
            require_between(subject, "seconds of a task", job.task_seconds[t], least_task_seconds,
                            most_task_seconds);
            const int stratum = job.strata.empty() ? 0 : job.strata[t];
            require_between(subject, "stratum of a task", stratum, 0,
                            static_cast<long long>(job.task_seconds.size()) - 1);
            const auto index = static_cast<std::size_t>(stratum);
            if (course.tasks.strata.size() <= index) course.tasks.strata.resize(index + 1);
            ++course.tasks.strata[index].tasks;
            course.waiting.push_back(t);
            course.all_seconds += job.task_seconds[t];
        }
        for (const TaskSample& sample : course.tasks.strata)
            if (sample.tasks == 0) bad_input(subject(), "tasks of a stratum", 0, "at least 1");
        return course;
    }
    [[nodiscard]] Job known(const TaskJob& truth) const {
        Job job{.name = truth.name, .kind = truth.kind};
        job.submitted_seconds = truth.submitted_seconds;
        job.max_gpus = static_cast<int>(truth.task_seconds.size());
        job.adaptivity = Adaptivity::gpus;
        job.initial_batch = job.target_batch = 1;  // a second of a task counts as an example
        job.types = {{.max_atomic_batch = 1}};
        if (declares_work_) job.remaining_examples = courses_.back().all_seconds;
        return job;
    }

    std::vector<TaskJob> truth_;
    bool declares_work_;
    int gpus_ = 0;  // GPUs of the cluster
    std::vector<Course> courses_;
    std::vector<Job> jobs_;
    std::map<std::string, Kind> kinds_;
    double now_ = 0;
};

}  // namespace goodput::inline v0_1

#endif
