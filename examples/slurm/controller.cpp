// Makes the GPU jobs of a Slurm cluster elastic. Every round, it asks Slurm for the state, makes one plan,
// and has Slurm carry it out. Slurm stays in charge: it starts, stops and accounts for jobs as always. GPUs
// are never given twice because Slurm itself gives them. The controller keeps nothing that it could not
// read again, so it may be stopped, killed and started at any time. hands.hpp says what it does to a job,
// and when.

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>

#include "command.hpp"
#include "hands.hpp"
#include "planner.hpp"
#include "state.hpp"

namespace {

std::atomic<bool> stop_asked = false;

struct Settings {
    double interval_seconds = 60;
    double poll_seconds = 2;
    double restart_seconds = 30;
    double answer_seconds = slurm::usual_answer_seconds;
    int rounds = 0;
    bool dry_run = false;
    std::string log{};
};

/// Has scontrol make a change.
struct Scontrol {
    double answer_seconds = slurm::usual_answer_seconds;

    std::string operator()(slurm::Change change, const slurm::Job& job, const slurm::Goal& goal) const {
        const slurm::CommandResult result = slurm::run_command(words(change, job, goal), answer_seconds);
        return result.status == 0 ? "" : result.error;
    }

private:
    static std::vector<std::string> words(slurm::Change change, const slurm::Job& job,
                                          const slurm::Goal& goal) {
        const std::string nodes = std::to_string(goal.share.nodes.size());
        switch (change) {
            case slurm::Change::ask:
                // A requeued job would otherwise wait two minutes for its begin time.
                return {"scontrol",
                        "update",
                        "JobId=" + job.id,
                        "NumNodes=" + nodes,
                        "NumTasks=" + nodes,
                        "NumCPUs=" + nodes,
                        "ReqNodeList=" + slurm::names_of(goal.share),
                        "TresPerNode=" + slurm::gres_of(job, goal.share),
                        "StartTime=now"};
            case slurm::Change::release:
                return {"scontrol", "release", job.id};
            case slurm::Change::hold:
                return {"scontrol", "uhold", job.id};
            case slurm::Change::requeue_held:
                // Slurm would restart a job that has completed since we looked at it.
                return {"scontrol", "requeuehold", "Incomplete", job.id};
            case slurm::Change::start_now:
                return {"scontrol", "update", "JobId=" + job.id, "StartTime=now"};
            case slurm::Change::note:
                break;
        }
        return {"scontrol", "update", "JobId=" + job.id, "AdminComment=" + slurm::Planner::note_of(job)};
    }
};

void print(const slurm::Round& round) {
    for (const auto& [id, goal] : round.goals)
        std::cout << "job " << id << ": " << text_of(goal.share) << "\n    " << goal.why << "\n"
                  << (goal.promise.empty() ? "" : "    promise of its end in time: " + goal.promise + "\n");
    for (const auto& [id, why] : round.refused) std::cout << "job " << id << ": refused\n    " << why << "\n";
    std::cout << round.report << "\n";
}

int run(const Settings& settings) {
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    slurm::Log log(settings.log);
    slurm::Planner planner(settings.restart_seconds, settings.interval_seconds);
    slurm::Hands hands(Scontrol{settings.answer_seconds}, log);
    slurm::Round round;
    int rounds = 0;
    auto next_round = Clock::now();
    while (!stop_asked) {
        try {
            const slurm::State state = slurm::ask_slurm(settings.answer_seconds);
            if (Clock::now() >= next_round && (settings.rounds == 0 || rounds < settings.rounds)) {
                next_round = Clock::now() +
                             std::chrono::duration_cast<Clock::duration>(Seconds(settings.interval_seconds));
                round = planner.plan(state);
                ++rounds;
                if (settings.dry_run)
                    print(round);
                else
                    log(slurm::json_of(round));
            }
            if (!settings.dry_run) hands.take_next_steps(state, round);
        } catch (const std::exception& error) {
            if (settings.dry_run) throw;  // a dry run does not wait for a second answer
            // Slurm may be restarting. The last plan stays in force until it answers.
            log({{"error", error.what()}});
        }
        if (settings.rounds > 0 && rounds == settings.rounds) break;
        std::this_thread::sleep_for(Seconds(settings.poll_seconds));
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    Settings settings;
    CLI::App app(
        "Makes the GPU jobs of a Slurm cluster elastic. Jobs are those whose comment begins with the word "
        "goodput, see docs/slurm.md.",
        "goodput-slurm");
    app.add_option("--interval", settings.interval_seconds, "Seconds between two plans")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--poll", settings.poll_seconds, "Seconds between two looks at Slurm")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--restart", settings.restart_seconds,
                   "Seconds that a restart costs a job that does not say")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_option("--timeout", settings.answer_seconds, "Seconds within which Slurm has to answer a call")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    app.add_option("--rounds", settings.rounds, "End after this many plans; 0: go on")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    app.add_flag("--dry-run", settings.dry_run, "Change nothing: print one plan and why it is so, and end");
    app.add_option("--log", settings.log, "Append to this file instead of writing to standard error");
    CLI11_PARSE(app, argc, argv);
    if (settings.dry_run) settings.rounds = 1;
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { stop_asked = true; });
    try {
        return run(settings);
    } catch (const std::exception& error) {
        std::cerr << "goodput-slurm: " << error.what() << "\n";
        return 1;
    }
}
