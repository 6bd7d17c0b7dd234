#ifndef GOODPUT_SCHEDULE_SNAPSHOT_HPP
#define GOODPUT_SCHEDULE_SNAPSHOT_HPP

// What a decision is made from, and the decision.

#include <optional>
#include <span>
#include <string>
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
};

/// What one job gets, and why.
struct Decision {
    Option option{};        ///< empty allotment: nothing this round
    double value = 0;       ///< of the option, under the policy
    Placement placement{};  ///< empty: nothing this round
    bool starts = false;    ///< starts, or continues with other GPUs than it holds
    Verdict verdict{};      ///< runs, waits or impossible, with the reason
};

/// What a GPU of a pool is worth, in units of the policy's values: a number between the worth of one more and
/// the loss of one fewer, of the allotment's linear relaxation (AllotResult::prices).
struct PoolPrice {
    std::size_t gpu_type = 0;  ///< index into Cluster::gpu_types
    int gpus_per_node = 0;     ///< size of the pool's nodes
    double price = 0;          ///< at least 0
};

/// Who gets what, where, and how good that is.
struct Plan {
    std::vector<Decision> decisions{};          ///< by job
    std::vector<PoolPrice> prices{};            ///< by pool, in the order of pools_of(cluster)
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
        return text_of(running) + " of " + text_of(decisions.size()) + " jobs run, " + text_of(starting) +
               " of them (re)start; value " + rounded_text_of(objective) + ", at most " +
               rounded_text_of(bound) + " possible";
    }
};

/// An allotment in words: "8 A100 on 1 node".
[[nodiscard]] inline std::string describe(const Cluster& cluster, const Allotment& allotment) {
    return text_of(allotment.shape.gpus) + " " + cluster.gpu_types[allotment.gpu_type] + " on " +
           text_of(allotment.shape.nodes) + (allotment.shape.nodes == 1 ? " node" : " nodes");
}

/// The steps of a plan, for whoever times them.
enum class Step { value, allot, place };

}  // namespace goodput

#endif
