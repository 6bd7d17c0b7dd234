// The plugin's thread. Every few seconds it reads slurmctld's jobs and nodes, plans if a round is due, and
// takes the next step for every job. It keeps nothing that it could not read again. No exception leaves
// this file.

#include "rounds.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include "../hands.hpp"
#include "../job_request.hpp"
#include "../planner.hpp"
#include "../state.hpp"
#include "slurm_side.h"

namespace {

/// Reads a number of seconds from SchedulerParameters.
double seconds_of(const char* name, double usual) { return slurm_side_number(name, usual); }

struct Reading {
    slurm::State state{};
    std::exception_ptr failed{};
};

/// Called by Slurm's C code. Exceptions are kept until that code has returned.
template <class Read>
void keep(void* context, Read read) noexcept {
    auto& reading = *static_cast<Reading*>(context);
    try {
        read(reading.state);
    } catch (...) {
        reading.failed = std::current_exception();
    }
}

slurm::State read_slurm() {
    Reading reading;
    slurm_side_read(
        &reading,
        [](void* context, const slurm_side_node* node) {
            keep(context, [&](slurm::State& state) {
                if (!node->up) return;
                auto known = slurm::node_of(node->name, node->gres, node->drained, node->answers);
                if (!known) return;
                known->ending = node->ending;
                state.nodes.push_back(*std::move(known));
            });
        },
        [](void* context, const slurm_side_job* job) {
            keep(context, [&](slurm::State& state) {
                slurm::JobWords words;
                words.id = job->id;
                words.state = job->state;
                words.reason = job->reason;
                words.comment = job->comment;
                words.admin_comment = job->admin_comment;
                words.folder = job->folder;
                words.tres_per_node = job->tres_per_node;
                words.required_nodes = job->required_nodes;
                words.nodes = job->nodes;
                words.priority = job->priority;
                words.submitted_seconds = static_cast<double>(job->submitted);
                words.started_seconds = static_cast<double>(job->started);
                words.deadline_seconds = static_cast<double>(job->deadline);
                words.restarts = static_cast<int>(job->restarts);
                for (std::uint32_t i = 0; i < job->held_count; ++i)
                    words.held.emplace_back(job->held_nodes[i], job->held_gres[i] ? job->held_gres[i] : "");
                state.jobs.push_back(slurm::job_of(words));
            });
        });
    if (reading.failed) std::rethrow_exception(reading.failed);
    std::sort(reading.state.nodes.begin(), reading.state.nodes.end(),
              [](const slurm::Node& a, const slurm::Node& b) { return a.name < b.name; });
    slurm::sort_jobs(reading.state.jobs);
    reading.state.time_seconds = slurm::seconds_since_1970();
    return std::move(reading.state);
}

/// Has slurmctld make a change.
struct InSlurm {
    std::string operator()(slurm::Change change, const slurm::Job& job, const slurm::Goal& goal) const {
        const auto id = static_cast<std::uint32_t>(std::stoul(job.id));
        const char* refused = carry_out(change, id, job, goal);
        return refused ? refused : "";
    }

private:
    static const char* carry_out(slurm::Change change, std::uint32_t id, const slurm::Job& job,
                                 const slurm::Goal& goal) {
        switch (change) {
            case slurm::Change::ask:
                return slurm_side_ask(id, slurm::names_of(goal.share).c_str(),
                                      static_cast<std::uint32_t>(goal.share.nodes.size()),
                                      slurm::gres_of(job, goal.share).c_str());
            case slurm::Change::release:
                return slurm_side_release(id);
            case slurm::Change::hold:
                return slurm_side_hold(id);
            case slurm::Change::requeue_held:
                return slurm_side_requeue_held(id);
            case slurm::Change::start_now:
                return slurm_side_start_now(id);
            case slurm::Change::note:
                break;
        }
        return slurm_side_note(id, slurm::Planner::note_of(job).c_str());
    }
};

class Rounds {
public:
    Rounds() : thread_([this] { run(); }) {}
    ~Rounds() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }
    Rounds(const Rounds&) = delete;
    Rounds& operator=(const Rounds&) = delete;

private:
    void run() noexcept {
        try {
            char* const file = slurm_side_text("goodput_log");
            slurm::Log log(file ? file : "/dev/null");
            std::free(file);
            slurm::Planner planner(seconds_of("goodput_restart", 30));
            slurm::Hands hands(InSlurm{}, log);
            slurm::Round round;
            settle();
            auto next_round = std::chrono::steady_clock::now();
            while (!stopped_after(seconds_of("goodput_poll", 2)))
                look(planner, hands, round, log, next_round);
        } catch (const std::exception& error) {
            slurm_side_log(error.what());
        }
    }

    /// Holds the jobs that were released earlier, because Slurm would start them.
    static void hold_back(const slurm::State& state) {
        for (const slurm::Job& job : state.jobs)
            if (job.state == slurm::JobState::pending && slurm::is_elastic(job))
                InSlurm{}(slurm::Change::hold, job, {});
    }

    /// A slurmctld that is killed forgets its last seconds. A job that it started in them still runs, and
    /// ends only when the nodes register. If that job is started on the same node before then, the node is
    /// drained.
    void settle() {
        const double seconds = seconds_of("goodput_settle", 60);
        const auto begin = std::chrono::steady_clock::now();
        do {
            if (stopped_after(seconds_of("goodput_poll", 2))) return;
            try {
                const slurm::State state = read_slurm();
                if (state.jobs.empty()) return;
                hold_back(state);
            } catch (const std::exception& error) {
                slurm_side_log(error.what());
            }
        } while (std::chrono::steady_clock::now() - begin < std::chrono::duration<double>(seconds));
    }

    template <class Time>
    static void look(slurm::Planner& planner, slurm::Hands<InSlurm>& hands, slurm::Round& round,
                     slurm::Log& log, Time& next_round) {
        try {
            const slurm::State state = read_slurm();
            if (const auto now = std::chrono::steady_clock::now(); now >= next_round) {
                const double interval = std::max(0.001, seconds_of("goodput_interval", 60));
                next_round = now + std::chrono::milliseconds(static_cast<long long>(1000 * interval));
                planner.set_round_seconds(interval);
                round = planner.plan(state);
                log(slurm::json_of(round));
            }
            // Slurm itself would save only some seconds later. If it were killed before that, it would
            // forget new jobs. It would also count a requeued job as running, and the end of that job as a
            // failure.
            if (hands.take_next_steps(state, round) > 0) slurm_side_save();
        } catch (const std::exception& error) {
            slurm_side_log(error.what());
        }
    }

    bool stopped_after(double seconds) {
        std::unique_lock lock(mutex_);
        return wake_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return stop_; });
    }

    std::mutex mutex_{};
    std::condition_variable wake_{};
    bool stop_ = false;
    std::thread thread_;
};

std::optional<Rounds> rounds;

}  // namespace

extern "C" int rounds_start(void) {
    try {
        rounds.emplace();
        return 0;
    } catch (const std::system_error& error) {
        slurm_side_log(error.what());
        return 1;
    }
}

extern "C" void rounds_stop(void) { rounds.reset(); }
