// Half of the jobs of a trace have deadlines. How many deadlines are met, and how long do the other jobs
// take, if promises are given and kept, and if they are not?
//
// usage: deadlines_in_sia WORKLOAD.csv PROFILES-FOLDER LOAD [stated|published [MEASURED PROJECTED]]
//
// for example deadlines_in_sia DATA/sia/workloads/philly/workload-1.csv DATA/sia/profiles 1, on the
// replay's default cluster. LOAD divides the times of submission. MEASURED and PROJECTED are the fractions
// of a predicted goodput that promises count on (default: PromiseMargins).
//
// Every second job in order of submission has a deadline. It is between 1.5 and 4 times (drawn at random,
// the same on every machine) as long after its submission as the job would take alone with a quarter of the
// cluster (FairShares). Jobs learn their speed while they run, and declare the work that they have left.
// Until a job has measured its own gradient statistics, promises use those that the policy expects.
//
// In Sia's public simulator progress is slower than steps imply, and restarts take longer than the
// scheduler is told, by constants that no measurement shows:
//
//     stated      owners know them: restarts take as long as stated, and declared work includes the rest
//     published   neither owners nor the scheduler know them
//
// All run in the same world, and all else is decided by the policy `goodput`:
//
//     goodput     no promises: deadlines are met by chance
//     one by one  a promise is given if a plan is found job by job, each with its minimum satisfactory
//                 share: ElasticFlow's rule (Gu et al. 2023) on several GPU types, and kinder than it:
//                 several orders are tried, restarts are planned, and a refused job runs without a promise
//                 and asks again in each round
//     promises    a promise is given if admit() finds any plan
//
// Prints a line for each: jobs with deadlines, promises given, deadlines met, those of them without a
// promise, promises not kept at the end (each with the reason given, if any), promises that were called
// broken on the way, average completion time in hours of jobs without a deadline and of all jobs, restarts
// per job, and seconds of CPU time that all decisions took.

#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../cpu_time.hpp"
#include "goodput/availability/lost_time.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/model/goodput_predictor.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/sim/metrics.hpp"
#include "goodput/sim/sia_world.hpp"
#include "replay/scene.hpp"

namespace {

using namespace goodput;

/// Predicts options with the gradient statistics that the policy expects.
struct AsThePolicyExpects {
    GoodputPredictor predict{};
    void operator()(const Job& job, const JobModel& model, std::span<Option> options) {
        predict(job, model, options, GoodputPolicy().expected_gradient(job));
    }
};

/// The outcome of a job with a deadline.
struct Fate {
    std::size_t job = 0;  ///< index in the trace
    double deadline_seconds = 0;
    double work_factor = 1;  ///< factor on the work that the job declares
    bool promised = false, broken = false;
    std::string why{};  ///< reason when its promise was first called broken
};
using Fates = std::map<std::string, Fate>;  // by job's name

Fates drawn_deadlines(const cli::Scene& scene, bool stated) {
    Fates fates;
    std::mt19937_64 random(1);
    for (std::size_t job = 1; job < scene.submissions.size(); job += 2) {
        const double unit = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
        const double alone = scene.shares.isolated_seconds(job, 4);
        const Submission& submission = scene.submissions[job];
        const double slowdown = scene.applications[submission.application].slowdown;
        fates[submission.name] = {.job = job,
                                  .deadline_seconds = submission.time_seconds + (1.5 + 2.5 * unit) * alone,
                                  .work_factor = stated ? slowdown : 1};
    }
    return fates;
}

/// Plans rounds, and records the outcome of deadlines.
template <class S>
class DeadlinePlanner {
public:
    DeadlinePlanner(S scheduler, Fates& fates, bool promises)
        : scheduler_(std::move(scheduler)), fates_(&fates), promises_(promises) {}

    const Plan& plan(const Snapshot& snapshot) {
        deadlines_.clear();
        for (std::size_t j = 0; promises_ && j < snapshot.jobs.size(); ++j)
            if (const auto fate = fates_->find(snapshot.jobs[j].name); fate != fates_->end())
                deadlines_.push_back(
                    {.job = j,
                     .deadline_seconds = fate->second.deadline_seconds,
                     .work = *snapshot.jobs[j].remaining_examples * fate->second.work_factor});
        const Plan& plan = scheduler_.plan(snapshot, deadlines_);
        for (std::size_t k = 0; k < deadlines_.size(); ++k) {
            Fate& fate = fates_->at(snapshot.jobs[deadlines_[k].job].name);
            const PromiseAnswer& answer = scheduler_.answers()[k];
            fate.promised |= answer.promise == Promise::kept;
            if (answer.promise == Promise::broken && !std::exchange(fate.broken, true))
                fate.why = text_of(snapshot.time_seconds) + " s: " + answer.why;
        }
        return plan;
    }

private:
    S scheduler_;
    Fates* fates_;
    bool promises_;
    std::vector<Deadline> deadlines_{};
};

void replay_and_print(const cli::Scene& scene, const char* name, Fates fates, bool promises,
                      AdmissionOptions admission, PromiseMargins margins) {
    const ReplayOptions options{.moves_restart = false};
    SiaWorld<> world(scene.cluster, scene.applications, scene.submissions);
    PromisedScheduler promised(Scheduler<GoodputPolicy>().counting(LostTime()), {.margins = margins},
                               AsThePolicyExpects());
    promised.promises().options().admission = admission;
    promised.set_round_seconds(options.interval_seconds);
    double milliseconds = 0;
    const ReplayResult result =
        replay(scene.cluster, world, DeadlinePlanner(std::move(promised), fates, promises), options,
               [&](double, const Snapshot&, auto make_plan) {
                   const double begin = benchmarks::cpu_milliseconds();
                   make_plan();
                   milliseconds += benchmarks::cpu_milliseconds() - begin;
               });

    std::size_t given = 0, met = 0, by_chance = 0, not_kept = 0, called_broken = 0;
    std::vector<char> has_deadline(result.jobs.size(), 0);
    std::string reasons;
    for (const auto& [job_name, fate] : fates) {
        has_deadline[fate.job] = 1;
        const std::optional<double> end = result.jobs[fate.job].completed_seconds;
        const bool in_time = end && *end <= fate.deadline_seconds;
        given += fate.promised;
        met += in_time;
        by_chance += in_time && !fate.promised;
        called_broken += fate.broken;
        if (!fate.promised || in_time) continue;
        ++not_kept;
        reasons += "    " + job_name + " ended " +
                   (end ? rounded_text_of(*end - fate.deadline_seconds) + " s late; " : "never; ") +
                   fate.why + "\n";
    }
    double others_hours = 0, others = 0;
    for (std::size_t job = 0; job < result.jobs.size(); ++job) {
        const JobOutcome& of = result.jobs[job];
        if (has_deadline[job]) continue;
        if (!of.completed_seconds) throw std::logic_error("a job without a deadline did not end");
        others_hours += (*of.completed_seconds - of.submitted_seconds) / 3600;
        ++others;
    }
    const ReplayMetrics metrics = metrics_of(result);
    std::printf("%-10s %9zu %8zu %4zu %9zu %8zu %6zu %9.3f %6.3f %8.2f %7.1f\n%s", name, fates.size(), given,
                met, by_chance, not_kept, called_broken, others_hours / others, metrics.average_hours,
                metrics.restarts_per_job, milliseconds / 1000, reasons.c_str());
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::string constants = argc > 4 ? argv[4] : "stated";
    if (argc < 4 || argc > 7 || argc == 6 || (constants != "stated" && constants != "published")) {
        std::cerr << "usage: " << argv[0]
                  << " WORKLOAD.csv PROFILES-FOLDER LOAD [stated|published [MEASURED PROJECTED]]\n";
        return 2;
    }
    cli::ReplayCommand command;
    command.workload = argv[1];
    command.profiles = argv[2];
    command.load = std::stod(argv[3]);
    if (!(command.load > 0)) throw std::invalid_argument("LOAD must be above 0");
    PromiseMargins margins;
    if (argc == 7) {
        margins.measured = std::stod(argv[5]);
        margins.projected = std::stod(argv[6]);
    }
    cli::Scene scene = make_scene(command);
    const bool stated = constants == "stated";
    for (Application& application : scene.applications)
        if (stated) application.restart_cost_seconds = application.restart_seconds;
    const Fates fates = drawn_deadlines(scene, stated);
    std::puts(
        "           deadlines promised  met by chance not kept broken  others h  all h restarts   CPU s");
    replay_and_print(scene, "goodput", fates, false, {}, margins);
    replay_and_print(scene, "one by one", fates, true, {.most_rounds = 0}, margins);
    replay_and_print(scene, "promises", fates, true, {}, margins);
} catch (const std::exception& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 1;
}
