#ifndef GOODPUT_SCHEDULE_SNAPSHOT_HPP
#define GOODPUT_SCHEDULE_SNAPSHOT_HPP

// What a decision is made from, and the decision.
//
// A plan is carried out in two steps, because one job may be given GPUs that another one still holds: first
// every job is stopped whose Decision::stops() is true, whatever its place in the list; when these GPUs are
// free, every job is started whose Decision::starts is true.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

/// Everything at one moment: a plan is a function of this and nothing else.
struct Snapshot {
    double time_seconds = 0;         ///< now, on the clock of Job::submitted_seconds
    Cluster cluster{};               ///< its nodes, those that are lost or drained marked as drained
    std::vector<Job> jobs{};         ///< those that run and those that wait, of different names
    std::vector<JobModel> models{};  ///< by job; may be left empty where nothing has been measured
    /// Refuse the snapshot (std::invalid_argument) where a job or a node makes no sense, instead of setting
    /// that one aside (Plan::warnings).
    bool strict = false;
    /// What was noticed while the snapshot was made (JobMemory, readers of formats), one sentence each: the
    /// plan repeats it (Plan::warnings).
    std::vector<std::string> warnings{};
};

/// What has been measured of the job of that index; an empty model where nothing has.
[[nodiscard]] inline const JobModel& model_of(const Snapshot& snapshot, std::size_t job) {
    static const JobModel nothing_known;
    return snapshot.models.empty() ? nothing_known : snapshot.models[job];
}

/// What whoever runs the jobs has to do with one of them.
enum class Action {
    wait,     ///< nothing: it holds no GPU and gets none
    start,    ///< start it: it held nothing
    stay,     ///< let it go on with the GPUs that it holds; its batch may be another one
    move,     ///< stop it, and start it on other nodes in the same shapes of the same GPU types
    restart,  ///< stop it, and start it with other GPUs, or over another number of nodes
    stop      ///< stop it: it gets nothing this round
};

/// What leads from the GPUs that a job holds to those that it is given; both on nodes of the cluster.
[[nodiscard]] Action action_of(const Placement& held, const Placement& given, const Cluster& cluster);

/// What one job gets, and why.
struct Decision {
    Option option{};               ///< empty allotment: nothing this round
    double value = 0;              ///< of the option, under the policy
    Placement placement{};         ///< empty: nothing this round
    Action action = Action::wait;  ///< what to do so that it holds the placement
    bool starts = false;           ///< the action is start, move or restart
    Verdict verdict{};             ///< runs, waits or impossible, with the reason
    /// Index of the job that has the same GPUs at the same time (pairs/paired_scheduler.hpp); mostly none.
    std::optional<std::size_t> shares_with{};
    double part_of_speed = 1;  ///< that it has beside that job, of its speed alone

    /// The action is move, restart or stop: the job has to give up its GPUs before any job of the plan is
    /// started.
    [[nodiscard]] bool stops() const {
        return action == Action::move || action == Action::restart || action == Action::stop;
    }
};

/// The mechanism by which a job saves its state with an option, chosen among those that it has
/// (core/job.hpp).
[[nodiscard]] inline CheckpointMechanism checkpoint_of(const Job& job, const Option& option) {
    const std::size_t chosen = option.checkpointing.mechanism;
    return chosen < job.checkpoints.size() ? job.checkpoints[chosen] : assumed_checkpoint(job);
}

/// What a GPU of a pool is worth, in units of the policy's values: a number between the worth of one more and
/// the loss of one fewer, of the allotment's linear relaxation (AllotResult::prices).
struct PoolPrice {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    double price = 0;          ///< at least 0
    bool spot = false;         ///< of spot nodes
    int group = 0;             ///< Node::group; below 0 where dollars are limited and its nodes cost unlike
};

/// A row of the plan that is no GPU pool: a quota, a budget (schedule/limits.hpp).
struct LimitUse {
    std::string name{};   ///< in words: "the quota of team vision"
    std::string unit{};   ///< of the numbers: "GPUs"
    double capacity = 0;  ///< what there is
    double used = 0;      ///< by all jobs together
    double price = 0;     ///< what a unit is worth, as PoolPrice::price
    /// With one unit more no plan is worth more above the objective than this, whole options and all: weak
    /// duality, price + (bound at the prices - objective). None where the price is 0, or options are not all
    /// listed.
    std::optional<double> most_of_one_more{};

    /// One line: how much is used, and what one more would be worth.
    [[nodiscard]] std::string report() const;
};

struct Plan;

/// Jobs that keep what they hold take more of a row than there is. Nobody else gets anything of it.
struct LimitConflict {
    std::size_t limit = 0;            ///< index into Plan::limits
    double kept = 0;                  ///< units that they take together
    std::vector<std::size_t> jobs{};  ///< indices of those that take any, ascending

    /// One line with the names of limit and jobs, and what would end it.
    [[nodiscard]] std::string report(const Snapshot& snapshot, const Plan& plan) const;
};

/// Something that the policy, the predictor, the maker or a limit of a plan did wrong: it threw, or answered
/// with NaN or infinity.
struct PlanFault {
    std::optional<std::size_t> job{};  ///< index of the job that it was asked about; none: of all jobs
    Configuration configuration{};     ///< the option that is left out for it; empty: every option of the job
    std::string what{};                ///< the exception's text, or the number

    /// One line for a log.
    [[nodiscard]] std::string report(const Snapshot& snapshot) const;
};

/// Who gets what, where, and how good that is.
struct Plan {
    std::vector<Decision> decisions{};  ///< by job
    std::vector<PlanFault> faults{};    ///< of the policy and the predictor; empty if all is well
    /// Jobs and nodes that make no sense, and what in the snapshot or the limits probably is a slip, one
    /// sentence each; none of it is an error. A job that makes no sense keeps what it holds, or waits, and
    /// its verdict says why; such a node takes nobody new, and who holds something there keeps it.
    std::vector<std::string> warnings{};
    std::vector<PoolPrice> prices{};            ///< by pool, in the order of pools_of(cluster)
    std::vector<LimitUse> limits{};             ///< by row of the limits
    std::vector<LimitConflict> conflicts{};     ///< limits that are exceeded by what is kept; mostly none
    double objective = 0;                       ///< sum of the values of what is given
    double bound = 0;                           ///< no plan is worth more
    AllotStatus status = AllotStatus::optimal;  ///< what is proven of the allotment
    double move_cost_seconds = 0;  ///< lost by jobs that had to move although they keep their shape

    /// One line for a log.
    [[nodiscard]] std::string report() const;
};

/// Fills in the actions of a plan's decisions, by what the snapshot's jobs hold and what they are given.
void find_actions(const Snapshot& snapshot, Plan& plan);

/// Appends what goes with a GPU in words: "12 cores and 64 GiB a GPU"; nothing where nothing is counted.
void append_description(std::string& text, const HostShare& share);
/// Appends a configuration in words: "8 A100 on 1 node", "8 A100 on 1 node with 12 cores a GPU".
void append_description(std::string& text, const Cluster& cluster, const Configuration& configuration);
/// A configuration in words.
[[nodiscard]] std::string describe(const Cluster& cluster, const Configuration& configuration);

/// The steps of a plan, for whoever times them.
enum class PlanStep { value, allot, place };

/// Is called after each step of a plan.
using AfterStep = std::function<void(PlanStep)>;

// The border of a plan: what is wrong with a snapshot is named here, before anything is decided.
//
// One job or node that makes no sense is no reason to plan nothing for the others. Unless the snapshot is
// strict, the round is made of a copy in which such a node takes nobody new, and in which such a job is one
// that is not preemptible, needs no batch and no model, and holds what it holds, as far as that is there.
// Where jobs hold more of a node than there is, nobody new comes to that node: who of them is wrong cannot be
// known, and what one of them gives back may not be free.

/// Finds what is wrong with snapshots. Keeps its buffers.
class SnapshotCheck {
public:
    /// The snapshot, or the copy of it to plan instead; valid until the next call. `warnings` become those of
    /// the snapshot, one sentence for each job or node that is set aside, and what probably is a slip.
    /// Refuses (std::invalid_argument naming job or node, field and value) what is no matter of single jobs
    /// or nodes, and in strict snapshots these as well. `topology`: the placer knows one.
    const Snapshot& operator()(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// The job of that index is set aside in the last snapshot.
    [[nodiscard]] bool is_set_aside(std::size_t job) const {
        return std::any_of(set_aside_.begin(), set_aside_.end(),
                           [&](const SetAside& each) { return each.job == job; });
    }

    /// Makes the decisions of jobs that are set aside what they hold, all of it that is on nodes that are
    /// there.
    void give_what_is_held(const Snapshot& given, Plan& plan) const;

private:
    struct SetAside {
        std::size_t job = 0;
        std::string why{};
        Placement held{};  ///< on nodes that are there, as given
    };

    static bool is_planned(const Job& job) { return job.set_aside.empty(); }

    static void check_whole(const Snapshot& snapshot);

    void check_each(const Snapshot& snapshot, bool topology);

    /// Counts what it holds, unless it is refused.
    void check_job(const Job& job, const Cluster& cluster, bool topology);

    /// What `check` refuses, in words; empty where it refuses nothing.
    template <class Check>
    static std::string refusal(Check check) {
        try {
            check();
            return {};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    }

    /// Refuses no name, and one that another has.
    static void require_own_name(const char* kind, const std::string& name, std::set<std::string>& names);

    void set_nodes_aside(const Cluster& cluster, std::vector<std::string>& warnings);

    void set_jobs_aside(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// Numbers that are possible and yet hardly meant, of jobs that are not set aside.
    void warn_of_slips(const Snapshot& snapshot, std::vector<std::string>& warnings) const;

    [[nodiscard]] Placement on_nodes_that_are_there(Placement placement) const;

    /// A job that keeps of these shares what is left of their nodes.
    [[nodiscard]] Job stand_in_for(const Job& job, const Placement& shares);

    std::vector<const std::string*> names_;
    std::vector<int> held_;          // GPUs, by node
    std::vector<char> makes_sense_;  // by node
    Snapshot copy_;                  // where anything is set aside
    std::vector<SetAside> set_aside_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/snapshot.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"
#endif

#endif
