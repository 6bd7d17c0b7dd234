#ifndef GOODPUT_EXAMPLES_SLURM_PLANNER_HPP
#define GOODPUT_EXAMPLES_SLURM_PLANNER_HPP

// Decides what every elastic job should have, from the state of Slurm. This is where the library is called.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "goodput/availability/restart_cost.hpp"
#include "goodput/deadlines/promised_scheduler.hpp"
#include "goodput/policy/goodput_policy.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "job_request.hpp"
#include "state.hpp"
#include "training_files.hpp"

namespace slurm {

/// What a job should have until the next round.
struct Goal {
    Share share{};  ///< empty for nothing
    goodput::BatchPlan batch{};
    std::string why{};
    std::string promise{};  ///< for a job with a deadline: "kept", "refused: ...", "broken: ..."
};

struct Round {
    std::map<std::string, Goal> goals{};  ///< by job, except jobs that are paused or held by an operator
    std::map<std::string, std::string>
        refused{};         ///< by job: what is wrong with its comment, its state or its reports
    std::string report{};  ///< one line
};

class Planner {
public:
    /// `round_seconds` is the time from one round to the next.
    explicit Planner(double usual_restart_seconds, double round_seconds = 60)
        : usual_restart_seconds_(usual_restart_seconds) {
        set_round_seconds(round_seconds);
    }
    /// Sets the time from the next round to the round after it, above 0.
    void set_round_seconds(double seconds) { scheduler_.set_round_seconds(seconds); }

    /// Plans a round. After a restart, it reads again what it remembers about the jobs (their reports and
    /// models) from their folders.
    Round plan(const State& state);

    /// Returns when a job was first seen, in seconds. Slurm's own time of submission is that of the last
    /// requeue.
    static double first_seen(const Job& job);
    /// Returns the text that keeps this time in the job's AdminComment.
    static std::string note_of(const Job& job);

private:
    struct Training {
        ReportReader reader{};
        std::optional<goodput::GradientStatistics> gradient{};
        std::optional<double> work{}, done{};  // useful examples, as the comment and its reports say
        bool restart_known = false;            // from the comment, which counts more than reported starts
        goodput::RestartReports starts{};
    };

    void name_nodes(const State& state);
    /// Records since when jobs have been ending on nodes.
    void note_ending(const State& state);
    /// Whether Slurm starts jobs on the node, or soon will.
    [[nodiscard]] bool takes_new(const State& state, const Node& node) const;
    void add_elastic(const State& state, const Job& job, goodput::Job request);
    void add_fixed(const Job& job);
    /// Throws std::invalid_argument for a running job whose nodes are unknown.
    void require_known_holding(const Job& job) const;
    [[nodiscard]] std::optional<std::size_t> node_called(const std::string& name) const;
    /// Returns where a share lies; empty if one of its nodes does not exist, or no longer has that many
    /// GPUs.
    [[nodiscard]] goodput::Placement place(const std::vector<std::string>& nodes,
                                           const std::vector<int>& gpus) const;
    void occupy(const goodput::Placement& placement);
    [[nodiscard]] bool all_answer(const State& state, const goodput::Placement& placement) const;
    /// Whether each of its nodes accepts new jobs.
    [[nodiscard]] bool all_take_new(const goodput::Placement& placement) const;
    /// Reads what the job has reported since the last round.
    [[nodiscard]] goodput::JobNews hear(const Job& job);
    [[nodiscard]] Share share_of(const goodput::Placement& placement) const;

    double usual_restart_seconds_;
    std::vector<std::string> gpu_types_{};  // in the order in which they were seen, because models refer to
                                            // them by index
    goodput::Snapshot snapshot_{};
    std::vector<int> free_{};                       // by node of the snapshot
    std::map<std::string, double> ending_since_{};  // by node, as far as the rounds have seen
    std::map<std::string, Training> training_{};
    std::vector<goodput::JobNews> news_{};  // by job of the snapshot
    std::vector<std::string> planned_{};    // the jobs of the last plan
    goodput::JobMemory memory_{};
    /// The deadlines of jobs in the snapshot, whose memory has been taken in.
    [[nodiscard]] std::vector<goodput::Deadline> deadlines() const;

    goodput::PromisedScheduler<goodput::Scheduler<goodput::GoodputPolicy>> scheduler_{
        goodput::Scheduler<goodput::GoodputPolicy>({}, {.deadline = std::chrono::seconds(1)})};
    std::map<std::string, double> deadline_of_{};  // by job of the snapshot that has a deadline
};

}  // namespace slurm

#endif
