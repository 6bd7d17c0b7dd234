#ifndef GOODPUT_EXAMPLES_SLURM_HANDS_HPP
#define GOODPUT_EXAMPLES_SLURM_HANDS_HPP

// Makes Slurm do what a round wants, step by step, and logs the steps. The controller next to Slurm and the
// plugin inside it differ in how they ask Slurm and how they carry out a change. Both take these steps:
//
//     job is                and should have          so
//     held                  something                ask for it (nodes, GPUs a node), release
//     released, waiting     something else           hold; the rest when it is held
//     requeued by Slurm     what it had              start now
//     running               something else           requeue held; the rest when it is held
//     ending                -                        later
//
// Each step follows from what Slurm says at that moment, and steps are some seconds apart. So a step that
// failed, or that a crash interrupted, is simply repeated.

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "planner.hpp"
#include "state.hpp"
#include "training_files.hpp"

namespace slurm {

using LogEntry = nlohmann::ordered_json;

/// Writes one JSON document per line, to standard error or a file.
class Log {
public:
    explicit Log(const std::string& file) {
        if (!file.empty()) file_.open(file, std::ios::app);
        if (!file.empty() && !file_) throw std::runtime_error("cannot write " + file);
    }
    void operator()(LogEntry entry) {
        entry["time_s"] = seconds_since_1970();
        (file_.is_open() ? file_ : std::cerr)
            << entry.dump(-1, ' ', false, LogEntry::error_handler_t::replace) << std::endl;
    }

private:
    std::ofstream file_{};
};

inline LogEntry json_of(const Share& share) {
    return {{"nodes", share.nodes}, {"gpus_per_node", share.gpus_per_node}};
}

inline LogEntry json_of(const Round& round) {
    LogEntry goals = LogEntry::object();
    for (const auto& [id, goal] : round.goals) {
        LogEntry& entry = goals[id] = json_of(goal.share);
        entry["local_batch"] = goal.batch.atomic_batch;
        entry["accumulation"] = goal.batch.accumulation_steps;
        entry["why"] = goal.why;
        if (!goal.promise.empty()) entry["promise"] = goal.promise;
    }
    LogEntry entry{{"round", round.report}, {"goals", std::move(goals)}};
    if (!round.refused.empty()) entry["refused"] = round.refused;
    return entry;
}

/// A change of one job that Slurm is to make.
enum class Change {
    ask,           ///< sets what it is to be started with: nodes and GPUs per node, at once
    release,       ///< lets it start
    hold,          ///< keeps it from starting
    requeue_held,  ///< ends it, and keeps it waiting
    start_now,     ///< lets it start without the wait after a requeue
    note           ///< sets its AdminComment
};

/// Returns the name of a change in the log.
inline const char* name_of(Change change) {
    constexpr const char* names[] = {"ask", "release", "hold", "requeue held", "start now", "note"};
    return names[static_cast<int>(change)];
}

/// Takes the next step for every job. carry_out(change, job, goal) returns Slurm's objection, or an empty
/// text if Slurm made the change.
template <class CarryOut>
class Hands {
public:
    Hands(CarryOut carry_out, Log& log) : carry_out_(std::move(carry_out)), log_(log) {}

    /// Returns the number of changes that Slurm has made.
    int take_next_steps(const State& state, const Round& round) {
        changes_ = 0;
        for (const Job& job : state.jobs) {
            const auto goal = round.goals.find(job.id);
            if (goal != round.goals.end()) take_next_step(job, goal->second);
        }
        return changes_;
    }

private:
    void take_next_step(const Job& job, const Goal& goal) {
        if (job.state == JobState::ending) return;
        // A job is not stopped for holding too little if what it holds is unknown.
        if (job.state == JobState::running && (job.holds.empty() || !job.unclear.empty())) return;
        if (!job.admin_comment.starts_with("goodput ")) change(Change::note, job, goal);
        if (job.state == JobState::running && job.holds == goal.share) tell_batch(job, goal);
        if (job.state == JobState::running && job.holds != goal.share)
            change(Change::requeue_held, job, goal);
        if (job.state == JobState::pending && job.asks != goal.share)
            change(Change::hold, job, goal);
        else if (job.state == JobState::pending && job.delayed)
            change(Change::start_now, job, goal);
        if (job.state == JobState::held && !job.held_by_admin && !goal.share.empty()) {
            tell_batch(job, goal);
            if (change(Change::ask, job, goal)) change(Change::release, job, goal);
        }
    }

    void tell_batch(const Job& job, const Goal& goal) {
        if (goal.batch.atomic_batch == 0) return;
        try {
            write_plan(job, goal.batch);
        } catch (const std::exception& error) {
            log_({{"job", job.id}, {"error", error.what()}});
        }
    }

    bool change(Change what, const Job& job, const Goal& goal) {
        LogEntry entry{{"job", job.id}, {"action", name_of(what)}, {"goal", json_of(goal.share)}};
        const std::string error = carry_out_(what, job, goal);
        if (!error.empty()) entry["error"] = error;
        log_(std::move(entry));
        changes_ += error.empty();
        return error.empty();
    }

    CarryOut carry_out_;
    Log& log_;
    int changes_ = 0;
};

/// Returns "gres:gpu:a100:4", with the beginning of the job's own request.
inline std::string gres_of(const Job& job, const Share& share) {
    return job.gres_word + "gpu:" + (job.gpu_type.empty() ? "" : job.gpu_type + ":") +
           std::to_string(share.gpus_per_node);
}

}  // namespace slurm

#endif
