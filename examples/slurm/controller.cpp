// Makes the GPU jobs of a Slurm cluster elastic: every round it asks Slurm how things are, makes one plan,
// and has Slurm carry it out. Slurm stays in charge: it starts, stops and accounts for jobs as always, and
// GPUs are never given twice because Slurm itself gives them. The controller keeps nothing that it could not
// read again, so it may be stopped, killed and started at any time.
//
//     job is                and should have          so
//     held                  something                scontrol update (nodes, GPUs a node), release
//     released, waiting     something else           scontrol uhold; the rest when it is held
//     requeued by Slurm     what it had              scontrol update StartTime=now
//     running               something else           scontrol requeuehold; the rest when it is held
//     ending                -                        later
//
// Each step is taken from what Slurm says at that moment, some seconds apart, so that one that failed, or
// that a crash has cut off, is simply taken again.

#include <atomic>
#include <chrono>
#include <csignal>
#include <exception>
#include <fstream>
#include <iostream>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "planner.hpp"
#include "state.hpp"
#include "training_files.hpp"

namespace {

using Json = nlohmann::ordered_json;

std::atomic<bool> stop_asked = false;

struct Settings {
    double interval_seconds = 60;
    double poll_seconds = 2;
    double restart_seconds = 30;
    int rounds = 0;
    bool dry_run = false;
    std::string log{};
};

/// One JSON document a line, to standard error or a file.
class Log {
public:
    explicit Log(const std::string& file) {
        if (!file.empty()) file_.open(file, std::ios::app);
        if (!file.empty() && !file_) throw std::runtime_error("cannot write " + file);
    }
    void operator()(Json entry) {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        entry["time_s"] = std::chrono::duration<double>(now).count();
        (file_.is_open() ? file_ : std::cerr)
            << entry.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
    }

private:
    std::ofstream file_{};
};

Json json_of(const slurm::Share& share) {
    return {{"nodes", share.nodes}, {"gpus_per_node", share.gpus_per_node}};
}

/// Has Slurm do what a round wants, step by step.
class Hands {
public:
    Hands(const Settings& settings, Log& log) : settings_(settings), log_(log) {}

    void take_next_steps(const slurm::State& state, const slurm::Round& round) {
        for (const slurm::Job& job : state.jobs) {
            const auto goal = round.goals.find(job.id);
            if (goal != round.goals.end()) take_next_step(job, goal->second);
        }
    }

private:
    void take_next_step(const slurm::Job& job, const slurm::Goal& goal) {
        using slurm::JobState;
        if (job.state == JobState::ending) return;
        if (!job.admin_comment.starts_with("goodput ")) remember(job);
        if (job.state == JobState::running && job.holds == goal.share) tell_batch(job, goal);
        if (job.state == JobState::running && job.holds != goal.share)
            scontrol(job, goal, {"requeuehold", job.id});
        if (job.state == JobState::pending && job.asks != goal.share)
            scontrol(job, goal, {"uhold", job.id});
        else if (job.state == JobState::pending && job.delayed)
            scontrol(job, goal, {"update", "JobId=" + job.id, "StartTime=now"});
        if (job.state == JobState::held && !job.held_by_admin && !goal.share.empty()) start(job, goal);
    }

    void start(const slurm::Job& job, const slurm::Goal& goal) {
        std::string names;
        for (const std::string& node : goal.share.nodes) names += (names.empty() ? "" : ",") + node;
        const std::string nodes = std::to_string(goal.share.nodes.size());
        const std::string type = job.gpu_type.empty() ? "" : job.gpu_type + ":";
        tell_batch(job, goal);
        // A requeued job would wait two minutes for its begin time.
        if (scontrol(
                job, goal,
                {"update", "JobId=" + job.id, "NumNodes=" + nodes, "NumTasks=" + nodes, "NumCPUs=" + nodes,
                 "ReqNodeList=" + names,
                 "TresPerNode=gres:gpu:" + type + std::to_string(goal.share.gpus_per_node), "StartTime=now"}))
            scontrol(job, goal, {"release", job.id});
    }

    void remember(const slurm::Job& job) {
        scontrol(job, {}, {"update", "JobId=" + job.id, "AdminComment=" + slurm::Planner::note_of(job)});
    }

    void tell_batch(const slurm::Job& job, const slurm::Goal& goal) {
        if (settings_.dry_run || goal.batch.atomic_batch == 0) return;
        try {
            write_plan(job, goal.batch);
        } catch (const std::exception& error) {
            log_({{"job", job.id}, {"error", error.what()}});
        }
    }

    bool scontrol(const slurm::Job& job, const slurm::Goal& goal, std::vector<std::string> arguments) {
        if (settings_.dry_run) return true;
        Json entry{{"job", job.id}, {"action", arguments.front()}, {"goal", json_of(goal.share)}};
        arguments.insert(arguments.begin(), "scontrol");
        const slurm::CommandResult result = slurm::run_command(arguments);
        if (result.status != 0) entry["error"] = result.error;
        log_(std::move(entry));
        return result.status == 0;
    }

    const Settings& settings_;
    Log& log_;
};

Json json_of(const slurm::Round& round) {
    Json goals = Json::object();
    for (const auto& [id, goal] : round.goals) {
        Json& entry = goals[id] = json_of(goal.share);
        entry["local_batch"] = goal.batch.atomic_batch;
        entry["accumulation"] = goal.batch.accumulation_steps;
        entry["why"] = goal.why;
    }
    Json entry{{"round", round.report}, {"goals", std::move(goals)}};
    if (!round.refused.empty()) entry["refused"] = round.refused;
    return entry;
}

void print(const slurm::Round& round) {
    for (const auto& [id, goal] : round.goals)
        std::cout << "job " << id << ": " << text_of(goal.share) << "\n    " << goal.why << "\n";
    for (const auto& [id, why] : round.refused) std::cout << "job " << id << ": refused\n    " << why << "\n";
    std::cout << round.report << "\n";
}

int run(const Settings& settings) {
    using Clock = std::chrono::steady_clock;
    using Seconds = std::chrono::duration<double>;
    Log log(settings.log);
    slurm::Planner planner(settings.restart_seconds);
    Hands hands(settings, log);
    slurm::Round round;
    int rounds = 0;
    auto next_round = Clock::now();
    while (!stop_asked) {
        try {
            const slurm::State state = slurm::ask_slurm();
            if (Clock::now() >= next_round && (settings.rounds == 0 || rounds < settings.rounds)) {
                next_round = Clock::now() +
                             std::chrono::duration_cast<Clock::duration>(Seconds(settings.interval_seconds));
                round = planner.plan(state);
                ++rounds;
                settings.dry_run ? print(round) : log(json_of(round));
            }
            hands.take_next_steps(state, round);
        } catch (const std::exception& error) {
            // Slurm may be restarting; what was planned stays as it is until it answers.
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
    app.add_option("--rounds", settings.rounds, "End after so many plans; 0: go on")
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
