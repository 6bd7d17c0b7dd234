// Measures how much sooner jobs of many tasks complete if their own first tasks reveal how long the tasks
// are. Jobs are random: logarithms of task seconds are normal around the job's mean (variance within), and
// these means are normal around that of all (variance between, default 1). Prints for each setting how far
// estimates are off, and the average completion time under each rule, over that of shortest-first by history.
//
//     task_durations [SEEDS]          default 10; takes about ten minutes
//
// plot_durations.py draws the sweep of variances from this output.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/tasks.hpp"
#include "goodput/sim/task_world.hpp"
#include "goodput/tasks/pilots.hpp"
#include "goodput/tasks/task_durations.hpp"
#include "goodput/tasks/task_history.hpp"
#include "sim/task_slots.hpp"
#include "support/random.hpp"

using namespace goodput;
using support::Random;
using support::SlotJob;

namespace {

struct Setting {
    std::string name{};
    double within = 0.2, between = 1;         // variances of logarithms
    double load = 0.8;                        // task seconds that arrive per second, over GPUs
    int fewest_tasks = 20, most_tasks = 400;  // uniform in the logarithm
    double pareto = 0;  // positive: tasks are Pareto with this exponent instead of log-normal
    double drift = 0;   // change of the mean logarithm over the trace; the history is from its start
    int kinds = 1;      // kinds of jobs, whose mean logarithms are 1 apart
    int gpus = 64, jobs = 300;
    bool all_at_once = false;
};

double normal(Random& random) {
    const double radius = std::sqrt(-2 * std::log(1 - random.unit()));
    return radius * std::cos(2 * std::acos(-1.0) * random.unit());
}

struct Trace {
    std::vector<TaskJob> jobs{};
    std::vector<double> mean_log{};  // of each job's distribution
    std::map<std::string, TaskHistory> history{};
};

double task_seconds(const Setting& setting, Random& random, double mean_log) {
    if (setting.pareto > 0)  // the mean logarithm of a Pareto with least value 1 is 1 / exponent
        return std::exp(mean_log - std::log(1 - random.unit()) / setting.pareto - 1 / setting.pareto);
    return std::exp(mean_log + std::sqrt(setting.within) * normal(random));
}

Trace make_trace(const Setting& setting, std::uint64_t seed) {
    Random random(seed);
    Trace trace;
    constexpr double usual_log = 4;  // a minute
    const auto draw = [&](int kind, double shift, double& mean_log) {
        TaskJob job{.kind = std::to_string(kind)};
        mean_log = usual_log + kind - (setting.kinds - 1) / 2.0 + shift +
                   std::sqrt(setting.between) * normal(random);
        const double tasks =
            std::exp(random.between(std::log(setting.fewest_tasks), std::log(setting.most_tasks + 1)));
        job.task_seconds.resize(
            static_cast<std::size_t>(std::min(std::floor(tasks), setting.most_tasks * 1.0)));
        for (double& seconds : job.task_seconds) seconds = task_seconds(setting, random, mean_log);
        return job;
    };
    double mean_log = 0;
    for (int kind = 0; kind < setting.kinds; ++kind)
        for (int i = 0; i < 64; ++i) {
            const TaskJob earlier = draw(kind, 0, mean_log);
            JobTasks past{{TaskSample{.tasks = static_cast<int>(earlier.task_seconds.size())}}, {}};
            for (const double seconds : earlier.task_seconds) past.strata[0].finish(seconds);
            trace.history[earlier.kind].add(past);
        }
    double work = 0;
    for (int j = 0; j < setting.jobs; ++j) {
        const double shift = setting.drift * j / setting.jobs;
        trace.jobs.push_back(draw(random.integer(0, setting.kinds - 1), shift, mean_log));
        trace.mean_log.push_back(mean_log);
        trace.jobs.back().name = std::to_string(j);
        for (const double seconds : trace.jobs.back().task_seconds) work += seconds;
    }
    // Jobs arrive so that their actual work equals the load: chance in the largest jobs does not change it.
    double time = 0;
    for (TaskJob& job : trace.jobs) {
        job.submitted_seconds = time;
        if (!setting.all_at_once)
            time -= std::log(1 - random.unit()) * work / (setting.jobs * setting.gpus * setting.load);
    }
    return trace;
}

constexpr std::array names{"history", "fifo", "fair", "own", "combined", "oracle"};
enum Rule : std::size_t { history, fifo, fair, own, combined, oracle };

/// Returns the average completion time in seconds.
double average(const Trace& trace, const Setting& setting, Rule rule, double pilots = 1) {
    const Pilots policy{.estimates = rule == own       ? TaskEstimates::own
                                     : rule == history ? TaskEstimates::usual
                                                       : TaskEstimates::combined};
    const auto priority = [&](const SlotJob& job) -> TaskPriority {
        switch (rule) {
            case fifo:
                return {0, 0, job.truth->submitted_seconds};
            case fair:
                return {0, 0, static_cast<double>(job.runs.size())};
            case oracle:
                return {0, 0, job.left_seconds};
            default:
                break;
        }
        TaskPriority found = policy.priority(job.tasks);
        if (pilots != 1 && job.tasks.usual) {  // this many times the number considered best
            const int best = best_pilots(job.tasks.tasks(), *job.tasks.usual);
            const int begun = job.tasks.finished() + job.tasks.running();
            const int asked = std::min(static_cast<int>(std::lround(pilots * best)), job.tasks.tasks());
            found.pilots = std::max(asked - begun, 0);
        }
        return found;
    };
    const std::vector<double> completed =
        support::complete_slots(trace.jobs, setting.gpus, priority, trace.history);
    double sum = 0;
    for (std::size_t j = 0; j < completed.size(); ++j) sum += completed[j] - trace.jobs[j].submitted_seconds;
    return sum / static_cast<double>(completed.size());
}

/// Root mean squares of the errors of a job's estimated mean, in logarithms.
struct Errors {
    double history = 0, own = 0, combined = 0, theory_own = 0;
    double pilots = 0;
};

Errors errors(const Setting& setting, int seeds) {
    Errors found;
    double count = 0;
    for (int seed = 1; seed <= seeds; ++seed) {
        const Trace trace = make_trace(setting, static_cast<std::uint64_t>(seed));
        for (const TaskJob& job : trace.jobs) {
            const int tasks = static_cast<int>(job.task_seconds.size()), pilots = published_pilots(tasks);
            if (pilots == 0) continue;
            double sum = 0;
            for (const double seconds : job.task_seconds) sum += seconds;
            const double truth = std::log(sum / tasks);
            JobTasks known{{TaskSample{.tasks = tasks}}, trace.history.at(job.kind).usual()};
            const auto squared = [&](const std::optional<DurationEstimate>& estimate) {
                const double off = std::log(estimate->mean_seconds()) - truth;
                return off * off;
            };
            found.history += squared(estimate_usual(known));
            for (int t = 0; t < pilots; ++t)
                known.strata[0].finish(job.task_seconds[static_cast<std::size_t>(t)]);
            found.own += squared(estimate_own(known));
            found.combined += squared(estimate_combined(known));
            const double part = (1 - static_cast<double>(pilots) / tasks) / pilots;
            found.theory_own += std::log1p(std::expm1(setting.within) * part);
            found.pilots += pilots;
            ++count;
        }
    }
    for (double* sum : {&found.history, &found.own, &found.combined, &found.theory_own})
        *sum = std::sqrt(*sum / count);
    found.pilots /= count;
    return found;
}

using Row = std::array<double, names.size()>;

/// Returns average completion times relative to history's; the first entry is history's in seconds.
Row completions(const Setting& setting, int seeds) {
    Row sums{};
    for (int seed = 1; seed <= seeds; ++seed) {
        const Trace trace = make_trace(setting, static_cast<std::uint64_t>(seed));
        for (std::size_t rule = 0; rule < names.size(); ++rule)
            sums[rule] += average(trace, setting, static_cast<Rule>(rule)) / seeds;
    }
    for (std::size_t rule = 1; rule < names.size(); ++rule) sums[rule] /= sums[0];
    return sums;
}

constexpr std::array ratios{0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0};

/// Returns where a monotone curve crosses `level` between the ratios, in the logarithm; 0 if nowhere.
double crossing(const std::vector<double>& curve, double level) {
    for (std::size_t i = 1; i < curve.size(); ++i) {
        const double before = curve[i - 1] - level, after = curve[i] - level;
        if (before < 0 && after >= 0)
            return std::exp(std::log(ratios[i - 1]) +
                            std::log(ratios[i] / ratios[i - 1]) * before / (before - after));
    }
    return 0;
}

void print_errors(int seeds) {
    std::puts("Errors of a job's mean seconds, root mean square of logarithms; published number of pilots");
    std::puts("  within/between   history      own   theory  combined");
    std::vector<double> measured, theory;
    for (const double ratio : ratios) {
        const Errors found = errors({.within = ratio}, seeds);
        std::printf("  %14.2f  %8.3f %8.3f %8.3f  %8.3f\n", ratio, found.history, found.own, found.theory_own,
                    found.combined);
        measured.push_back(found.own / found.history);
        theory.push_back(found.theory_own);
    }
    std::printf("own tasks are better up to %.2f; by theory up to %.2f (own variance = between)\n\n",
                crossing(measured, 1), crossing(theory, 1));
}

void print_header() {
    std::printf("  %-44s %10s", "", "history s");
    for (std::size_t rule = 1; rule < names.size(); ++rule) std::printf(" %9s", names[rule]);
    std::puts("");
}
Row print_row(const Setting& setting, int seeds) {
    const Row row = completions(setting, seeds);
    std::printf("  %-44s %10.0f", setting.name.c_str(), row[0]);
    for (std::size_t rule = 1; rule < names.size(); ++rule) std::printf(" %9.3f", row[rule]);
    std::puts("");
    std::fflush(stdout);
    return row;
}

void print_sweep(int seeds, double load) {
    std::printf("Average completion time over that of history, load %g\n", load);
    print_header();
    std::vector<double> published, ours;
    for (const double ratio : ratios) {
        const Row row =
            print_row({.name = "within/between " + text_of(ratio), .within = ratio, .load = load}, seeds);
        published.push_back(row[own]);
        ours.push_back(row[combined]);
    }
    std::printf("own tasks are better up to %.2f, combined up to %.2f (0: everywhere)\n\n",
                crossing(published, 1), crossing(ours, 1));
}

void print_others(int seeds) {
    std::puts("A fifth within (0.2), between 1, load 0.8, unless said otherwise");
    print_header();
    std::vector<Setting> settings;
    for (const double load : {0.3, 0.5, 0.7, 0.9, 1.1})
        settings.push_back({.name = "load " + text_of(load), .load = load});
    settings.push_back({.name = "all at once", .all_at_once = true});
    settings.push_back({.name = "few tasks: 3 to 12", .fewest_tasks = 3, .most_tasks = 12, .jobs = 3000});
    settings.push_back(
        {.name = "many tasks: 1000 to 4000", .fewest_tasks = 1000, .most_tasks = 4000, .jobs = 100});
    settings.push_back({.name = "all jobs of 100 tasks", .fewest_tasks = 100, .most_tasks = 100});
    settings.push_back({.name = "heavy tails: Pareto 2.5", .pareto = 2.5});
    settings.push_back({.name = "heavy tails: Pareto 1.5", .pareto = 1.5});
    settings.push_back({.name = "jobs alike: between 0.05, within 0.2", .between = 0.05});
    settings.push_back({.name = "jobs alike: between 0.05, within 1", .within = 1, .between = 0.05});
    settings.push_back({.name = "five kinds", .kinds = 5});
    settings.push_back({.name = "five kinds, jobs alike: between 0.05", .between = 0.05, .kinds = 5});
    settings.push_back({.name = "wrong history: jobs grow by e^2, b. 0.05", .between = 0.05, .drift = 2});
    settings.push_back({.name = "wrong history, five kinds", .between = 0.05, .drift = 2, .kinds = 5});
    settings.push_back({.name = "16 GPUs", .gpus = 16});
    settings.push_back({.name = "256 GPUs", .gpus = 256});
    for (const Setting& setting : settings) print_row(setting, seeds);
    std::puts("");
}

void print_pilots(int seeds) {
    constexpr std::array times{0.0, 0.25, 0.5, 1.0, 2.0, 4.0};
    std::puts(
        "Combined with other numbers of pilots than the rule's, average completion over that of the rule");
    std::printf("  %-30s %8s", "", "pilots");
    for (const double factor : times) std::printf("   x %-5g", factor);
    std::puts("");
    for (const double load : {0.5, 0.8, 1.1})
        for (const double ratio : {0.05, 0.2, 1.0, 3.0}) {
            const Setting setting{.within = ratio, .load = load};
            std::array<double, times.size()> sums{};
            for (int seed = 1; seed <= seeds; ++seed) {
                const Trace trace = make_trace(setting, static_cast<std::uint64_t>(seed));
                for (std::size_t i = 0; i < times.size(); ++i)
                    sums[i] += average(trace, setting, combined, times[i]);
            }
            std::printf("  load %-4g within/between %-6g %4d/100", load, ratio,
                        best_pilots(100, {.between = 1, .within = ratio, .work = 1.75}));
            for (const double sum : sums) std::printf("  %7.3f", sum / sums[3]);
            std::puts("");
            std::fflush(stdout);
        }
}

}  // namespace

int main(int argc, char** argv) {
    const int seeds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 10;
    print_errors(seeds);
    for (const double load : {0.5, 0.8, 1.1}) print_sweep(seeds, load);
    print_others(seeds);
    print_pilots(seeds);
}
