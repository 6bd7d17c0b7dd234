#ifndef GOODPUT_SCHEDULE_SNAPSHOT_HPP
#define GOODPUT_SCHEDULE_SNAPSHOT_HPP

// A snapshot is the input of a decision, and a plan is its outcome.
//
// A plan is carried out in two steps, because a job may be given GPUs that another job still holds. First
// stop every job whose Decision::stops() is true, in any order. When these GPUs are free, start every job
// whose Decision::starts is true.

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

namespace goodput::inline v0_1 {

/// The state of cluster and jobs at one moment. A plan depends on nothing else, except the scheduler's
/// settings.
struct Snapshot {
    double time_seconds = 0;         ///< now, on the clock of Job::submitted_seconds
    Cluster cluster{};               ///< nodes and GPU types; lost and drained nodes are marked as drained
    std::vector<Job> jobs{};         ///< running and waiting jobs, with different names
    std::vector<JobModel> models{};  ///< model of each job; may be empty if nothing has been measured
    /// If true, an invalid job or node makes the plan throw std::invalid_argument. Otherwise it is set
    /// aside (Plan::warnings).
    bool strict = false;
    /// Remarks made while the snapshot was built (by JobMemory or the readers of formats), one sentence
    /// each. The plan repeats them in Plan::warnings.
    std::vector<std::string> warnings{};
};

/// Returns the model of the job with that index. It is empty if nothing has been measured.
[[nodiscard]] inline const JobModel& model_of(const Snapshot& snapshot, std::size_t job) {
    static const JobModel nothing_known;
    return snapshot.models.empty() ? nothing_known : snapshot.models[job];
}

/// The action on one job with which the caller carries out a plan.
enum class Action {
    wait,     ///< nothing: the job holds no GPU and gets none
    start,    ///< start it: it held nothing
    stay,     ///< let it go on with the GPUs that it holds; its batch may change
    move,     ///< stop it, and start it on other nodes with the same shapes on the same GPU types
    restart,  ///< stop it, and start it with other GPUs, or over a different number of nodes
    stop      ///< stop it: it gets nothing this round
};

/// Returns the action that leads from the GPUs that a job holds to those that it is given. Both placements
/// must be on nodes of the cluster.
[[nodiscard]] Action action_of(const Placement& held, const Placement& given, const Cluster& cluster);

/// The decision for one job: its option, its nodes, and the reason.
struct Decision {
    Option option{};               ///< what it gets; the allotment is empty if that is nothing this round
    double value = 0;              ///< value of the option under the policy
    Placement placement{};         ///< nodes of the option; empty if it gets nothing this round
    Action action = Action::wait;  ///< what to do so that the job holds the placement
    bool starts = false;           ///< whether the action is start, move or restart
    Verdict verdict{};             ///< outcome (runs, waits or impossible) with the reason
    /// Index of the job that runs on the same GPUs at the same time (pairs/paired_scheduler.hpp). Empty for
    /// most jobs.
    std::optional<std::size_t> shares_with{};
    double part_of_speed = 1;  ///< speed while it shares GPUs with that job, as a fraction of its speed alone

    /// Whether the action is move, restart or stop. The job must then give up its GPUs before any job of
    /// the plan is started.
    [[nodiscard]] bool stops() const {
        return action == Action::move || action == Action::restart || action == Action::stop;
    }
};

/// Returns the mechanism by which a job with this option saves its state: one of Job::checkpoints, or the
/// assumed one.
[[nodiscard]] inline CheckpointMechanism checkpoint_of(const Job& job, const Option& option) {
    const std::size_t chosen = option.checkpointing.mechanism;
    return chosen < job.checkpoints.size() ? job.checkpoints[chosen] : assumed_checkpoint(job);
}

/// The worth of one GPU of a pool, in units of the policy's values. This is the dual price of the pool in
/// the allotment's linear relaxation: it lies between the gain from one GPU more and the loss from one GPU
/// fewer (AllotResult::prices).
struct PoolPrice {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    double price = 0;          ///< at least 0
    bool spot = false;         ///< whether the nodes are spot nodes
    /// Group of the pool's nodes (Node::group). It is below 0 if the scheduler has grouped the nodes by
    /// price, because a limit counts dollars.
    int group = 0;
};

/// The use of a row of the plan that is not a GPU pool, for example a quota or a budget
/// (schedule/limits.hpp).
struct LimitUse {
    std::string name{};   ///< the row in words: "the quota of team vision"
    std::string unit{};   ///< unit of the numbers: "GPUs"
    double capacity = 0;  ///< units available
    double used = 0;      ///< units that all jobs together use
    double price = 0;     ///< worth of one unit, as in PoolPrice::price
    /// Upper bound on the gain from one unit more: no plan with it can exceed the objective by more than
    /// this, even though options cannot be divided (weak duality: price + (bound at the prices -
    /// objective)). Empty if the price is 0, or if not all options are listed.
    std::optional<double> most_of_one_more{};

    /// Returns one line: how much is used, and what one more unit would be worth.
    [[nodiscard]] std::string report() const;
};

struct Plan;

/// A conflict of a limit: jobs that keep what they hold take more of a row than its capacity. No other job
/// gets anything of that row.
struct LimitConflict {
    std::size_t limit = 0;            ///< index into Plan::limits
    double kept = 0;                  ///< units that the jobs take together
    std::vector<std::size_t> jobs{};  ///< indices of jobs that take any units, ascending

    /// Returns one line with the names of the limit and the jobs, and what would end the conflict.
    [[nodiscard]] std::string report(const Snapshot& snapshot, const Plan& plan) const;
};

/// A failure of the policy, the predictor, the maker or a limit: it threw an exception, or returned NaN or
/// infinity.
struct PlanFault {
    /// Index of the job about which the part was asked; empty if it was asked about all jobs.
    std::optional<std::size_t> job{};
    /// Option that is left out for the job; empty if all its options are left out.
    Configuration configuration{};
    std::string what{};  ///< text of the exception, or the number

    /// Returns one line for a log.
    [[nodiscard]] std::string report(const Snapshot& snapshot) const;
};

/// The decisions for all jobs, the value of the allotment, and what is proven about it.
struct Plan {
    std::vector<Decision> decisions{};  ///< decision for each job, in the order of the snapshot
    std::vector<PlanFault> faults{};    ///< failures of the parts; empty if all is well
    /// Remarks on invalid jobs and nodes, and on probable mistakes in the snapshot or the limits, one
    /// sentence each. None of them is an error of the plan. An invalid job keeps what it holds, or waits,
    /// and its verdict says why. An invalid node accepts no new job, and the jobs that hold something there
    /// keep it.
    std::vector<std::string> warnings{};
    std::vector<PoolPrice> prices{};  ///< price of each pool, in the order of pools_of(cluster)
    std::vector<LimitUse> limits{};   ///< use of each row of the limits
    /// Limits that are exceeded by jobs that keep what they hold; mostly empty.
    std::vector<LimitConflict> conflicts{};
    double objective = 0;                       ///< sum of the values of all options given
    double bound = 0;                           ///< upper bound on the objective of any plan
    AllotStatus status = AllotStatus::optimal;  ///< what is proven about the allotment
    double move_cost_seconds = 0;  ///< seconds lost by jobs that move although they keep their shape

    /// Returns one line for a log.
    [[nodiscard]] std::string report() const;
};

/// Fills in the actions of a plan's decisions, from what the snapshot's jobs hold and what they are given.
void find_actions(const Snapshot& snapshot, Plan& plan);

/// Appends the host resources per GPU in words: "12 cores and 64 GiB a GPU". Appends nothing if the share
/// counts neither.
void append_description(std::string& text, const HostShare& share);
/// Appends a configuration in words: "8 A100 on 1 node", "8 A100 on 1 node with 12 cores a GPU".
void append_description(std::string& text, const Cluster& cluster, const Configuration& configuration);
/// Describes a configuration in words.
[[nodiscard]] std::string describe(const Cluster& cluster, const Configuration& configuration);

/// The steps of a plan, for callers that time them.
enum class PlanStep { value, allot, place };

/// A function that is called after each step of a plan.
using AfterStep = std::function<void(PlanStep)>;

// Checks a snapshot before anything is decided, and says what is wrong with it.
//
// One invalid job or node must not stop the planning of all others. A strict snapshot is refused. Otherwise
// the round is planned on a copy of the snapshot. In the copy, an invalid node accepts no new job. An
// invalid job is replaced by a stand-in that is not preemptible, needs neither batch nor model, and keeps
// those of its GPUs that exist. If jobs together hold more GPUs of a node than it has, no new job is placed
// there: it is unknown which of the jobs is wrong, and GPUs that one of them releases may still be in use.

/// Finds what is wrong with snapshots. It keeps its buffers.
class SnapshotCheck {
public:
    /// Returns the snapshot, or the copy to plan instead; valid until the next call. Sets `warnings` to
    /// those of the snapshot, followed by one sentence for each job or node that is set aside and for each
    /// probable mistake. Throws std::invalid_argument (naming job or node, field and value) for faults that
    /// do not belong to single jobs or nodes. In strict snapshots, it also throws for invalid jobs and
    /// nodes. `topology` says whether the placer knows a topology.
    const Snapshot& operator()(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// Whether the job with that index is set aside in the last snapshot.
    [[nodiscard]] bool is_set_aside(std::size_t job) const {
        return std::any_of(set_aside_.begin(), set_aside_.end(),
                           [&](const SetAside& each) { return each.job == job; });
    }

    /// Gives each job that is set aside what it holds, as far as its nodes exist.
    void give_what_is_held(const Snapshot& given, Plan& plan) const;

private:
    struct SetAside {
        std::size_t job = 0;
        std::string why{};
        Placement held{};  ///< shares on nodes that exist, as given
    };

    static bool is_planned(const Job& job) { return job.set_aside.empty(); }

    static void check_whole(const Snapshot& snapshot);

    void check_each(const Snapshot& snapshot, bool topology);

    /// Checks a job. If the job is valid, adds its GPUs to held_.
    void check_job(const Job& job, const Cluster& cluster, bool topology);

    /// Returns the message of the exception that `check` throws, or an empty text if it does not throw.
    template <class Check>
    static std::string refusal(Check check) {
        try {
            check();
            return {};
        } catch (const std::invalid_argument& error) {
            return error.what();
        }
    }

    /// Refuses an empty name, and one that another job or node has.
    static void require_own_name(const char* kind, const std::string& name, std::set<std::string>& names);

    void set_nodes_aside(const Cluster& cluster, std::vector<std::string>& warnings);

    void set_jobs_aside(const Snapshot& snapshot, bool topology, std::vector<std::string>& warnings);

    /// Warns of numbers that are possible but implausible. Jobs that are set aside are skipped.
    void warn_of_slips(const Snapshot& snapshot, std::vector<std::string>& warnings) const;

    [[nodiscard]] Placement on_nodes_that_are_there(Placement placement) const;

    /// Returns a job that keeps those of these shares that fit what is left of their nodes.
    [[nodiscard]] Job stand_in_for(const Job& job, const Placement& shares);

    std::vector<const std::string*> names_;
    std::vector<int> held_;          // GPUs, by node
    std::vector<char> makes_sense_;  // whether the node is valid, by node
    Snapshot copy_;                  // used if anything is set aside
    std::vector<SetAside> set_aside_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/snapshot.hpp"
#include "goodput/schedule/detail/snapshot_check.hpp"
#endif

#endif
