#ifndef GOODPUT_SCHEDULE_SNAPSHOT_HPP
#define GOODPUT_SCHEDULE_SNAPSHOT_HPP

// What a decision is made from, and the decision.

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/allot/result.hpp"
#include "goodput/core/cluster.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/option.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/core/verdict.hpp"
#include "goodput/model/job_model.hpp"

namespace goodput {

/// Everything at one moment: a plan is a function of this and nothing else.
struct Snapshot {
    double time_seconds = 0;         ///< now, on the clock of Job::submitted_seconds
    Cluster cluster{};               ///< the healthy nodes
    std::vector<Job> jobs{};         ///< those that run and those that wait, of different names
    std::vector<JobModel> models{};  ///< by job; may be left empty where nothing has been measured
    /// Refuse the snapshot (std::invalid_argument) where a job or a node makes no sense, instead of setting
    /// that one aside (Plan::warnings).
    bool strict = false;
};

/// What has been measured of the job of that index; an empty model where nothing has.
[[nodiscard]] inline const JobModel& model_of(const Snapshot& snapshot, std::size_t job) {
    static const JobModel nothing_known;
    return snapshot.models.empty() ? nothing_known : snapshot.models[job];
}

/// What one job gets, and why.
struct Decision {
    Option option{};        ///< empty allotment: nothing this round
    double value = 0;       ///< of the option, under the policy
    Placement placement{};  ///< empty: nothing this round
    bool starts = false;    ///< starts, or continues with other GPUs than it holds
    Verdict verdict{};      ///< runs, waits or impossible, with the reason
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
    [[nodiscard]] inline std::string report() const;
};

/// Jobs that keep what they hold take more of a row than there is. Nobody else gets anything of it.
struct LimitConflict {
    std::size_t limit = 0;            ///< index into Plan::limits
    double kept = 0;                  ///< units that they take together
    std::vector<std::size_t> jobs{};  ///< indices of those that take any, ascending

    /// One line with the names of limit and jobs, and what would end it.
    [[nodiscard]] inline std::string report(const LimitUse& limit_use, std::span<const Job> all_jobs) const;
};

/// Something that the policy, the predictor, the maker or a limit of a plan did wrong: it threw, or answered
/// with NaN or infinity.
struct PlanFault {
    std::optional<std::size_t> job{};  ///< index of the job that it was asked about; none: of all jobs
    Configuration configuration{};     ///< the option that is left out for it; empty: every option of the job
    std::string what{};                ///< the exception's text, or the number

    /// One line for a log.
    [[nodiscard]] inline std::string report(const Snapshot& snapshot) const;
};

/// Who gets what, where, and how good that is.
struct Plan {
    std::vector<Decision> decisions{};  ///< by job
    std::vector<PlanFault> faults{};    ///< of the policy and the predictor; empty if all is well
    /// Jobs and nodes that make no sense, one sentence each. Such a job keeps what it holds, or waits, and
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
    [[nodiscard]] std::string report() const {
        std::size_t running = 0, starting = 0;
        for (const Decision& decision : decisions) {
            running += decision.placement.empty() ? 0 : 1;
            starting += decision.starts ? 1 : 0;
        }
        std::string text = text_of(running);
        text.append(" of ").append(text_of(decisions.size())).append(" jobs run, ");
        text.append(text_of(starting)).append(" of them (re)start; value ");
        text.append(rounded_text_of(objective)).append(", at most ");
        text.append(rounded_text_of(bound)).append(" possible");
        const auto append_count = [&](std::size_t count, const char* of_what) {
            if (count > 0) text.append("; ").append(text_of(count)).append(of_what);
        };
        append_count(conflicts.size(), " limits exceeded by what is kept");
        append_count(faults.size(), " faults of the policy");
        append_count(warnings.size(), " jobs or nodes set aside");
        return text;
    }
};

/// Appends what goes with a GPU in words: "12 cores and 64 GiB a GPU"; nothing where nothing is counted.
inline void append_description(std::string& text, const HostShare& share) {
    if (share.empty()) return;
    if (share.counts_cores())
        text.append(rounded_text_of(share.cores_per_gpu))
            .append(share.cores_per_gpu == 1 ? " core" : " cores");
    if (share.counts_cores() && share.counts_memory()) text.append(" and ");
    if (share.counts_memory()) text.append(rounded_text_of(share.memory_gib_per_gpu)).append(" GiB");
    text.append(" a GPU");
}
/// Appends a configuration in words: "8 A100 on 1 node", "8 A100 on 1 node with 12 cores a GPU".
inline void append_description(std::string& text, const Cluster& cluster,
                               const Configuration& configuration) {
    bool first = true;
    for (const PoolShare& part : configuration.parts()) {
        if (!std::exchange(first, false)) text.append(" and ");
        text.append(text_of(part.shape.gpus)).append(part.spot ? " spot " : " ");
        text.append(cluster.gpu_types[part.gpu_type]);
        text.append(" on ").append(text_of(part.shape.nodes));
        text.append(part.shape.nodes == 1 ? " node" : " nodes");
    }
    if (configuration.host().empty()) return;
    text.append(" with ");
    append_description(text, configuration.host());
}
/// A configuration in words.
[[nodiscard]] inline std::string describe(const Cluster& cluster, const Configuration& configuration) {
    std::string text;
    append_description(text, cluster, configuration);
    return text;
}

inline std::string LimitUse::report() const {
    const std::string amount = rounded_text_of(capacity) + (unit.empty() ? "" : " " + unit);
    const std::string level = name + ": " + rounded_text_of(used) + " of " + amount + " used";
    if (!(price > 0)) return level;
    return level + "; one more would be worth " +
           (most_of_one_more ? "at most " + rounded_text_of(*most_of_one_more)
                             : "about " + rounded_text_of(price));
}

inline std::string LimitConflict::report(const LimitUse& limit_use, std::span<const Job> all_jobs) const {
    std::string names;
    for (const std::size_t job : jobs) names += (names.empty() ? "'" : ", '") + all_jobs[job].name + "'";
    const std::string unit = limit_use.unit.empty() ? "" : " " + limit_use.unit;
    return limit_use.name + " is " + rounded_text_of(limit_use.capacity) + unit + ", but " +
           (jobs.size() == 1 ? "job " : "jobs ") + names + (jobs.size() == 1 ? " keeps " : " keep ") +
           rounded_text_of(kept) + unit + ": nobody else gets any until " +
           rounded_text_of(kept - limit_use.capacity) + " are given back, or the limit is raised by as much";
}

inline std::string PlanFault::report(const Snapshot& snapshot) const {
    if (!job) return "all jobs: " + what;
    const std::string subject = "job '" + snapshot.jobs[*job].name + "'";
    return subject + (configuration.empty() ? "" : ", " + describe(snapshot.cluster, configuration)) + ": " +
           what;
}

/// The steps of a plan, for whoever times them.
enum class PlanStep { value, allot, place };

}  // namespace goodput

#endif
