#ifndef GOODPUT_SCHEDULE_JOB_MEMORY_HPP
#define GOODPUT_SCHEDULE_JOB_MEMORY_HPP

// The memory of a scheduler about its jobs, from one round to the next: how fast they are (job_kinds.hpp),
// how much they are likely to need (job_sizes.hpp), which batch plan each one runs with (RunningPlans), and
// how large a batch it was seen to use. A round consists of a snapshot, news of its jobs, and a plan:
//
//     memory.take_in(snapshot, news);                 // fills in models, expected sizes, running plans
//     const Plan& plan = scheduler.plan(snapshot);
//     memory.keep(snapshot, plan);                    // without this, the round does not count

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

// RunningPlans remembers which batch plan every job runs with: the last plan that the job was given for its
// present GPUs, or else the plan with which it was measured. A given plan takes precedence, because a
// measurement may be older.

namespace detail {
struct SavedFields;
}

/// Remembers batch plans by job name. It is a value: a copy holds what was known when it was made.
class RunningPlans {
public:
    /// Notes a measurement of a job on a GPU type.
    void note(std::string_view job, std::size_t gpu_type, const ThroughputSample& sample);
    /// Notes the batch plans of jobs to which a plan gives GPUs of one pool. All other jobs are forgotten.
    void note(const Snapshot& snapshot, const Plan& plan);
    /// Fills in Job::running_plan of jobs that still hold GPUs of the type and shape for which their plan
    /// was noted.
    void fill(Snapshot& snapshot) const;

private:
    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.plans_);
    }

    struct Running {
        std::size_t gpu_type = 0;
        Shape shape{};  // counted in replicas, as in samples
        BatchPlan plan{};
        bool planned = false;

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.gpu_type, self.shape, self.plan, self.planned);
        }
        void check_saved() const { detail::require_configuration("saved memory", shape, plan); }
    };
    /// Placements may still be invalid here, because the snapshot has not been checked.
    static bool on_known_nodes(const Job& job, const Cluster& cluster) {
        return std::all_of(job.placement.begin(), job.placement.end(),
                           [&](const NodeShare& share) { return share.node < cluster.nodes.size(); });
    }
    static Running of_job(const Job& job, const PoolShare& part, BatchPlan plan) {
        const int replicas = part.shape.gpus / job.types[part.gpu_type].gpus_per_replica;
        return {part.gpu_type, {std::min(part.shape.nodes, replicas), replicas}, plan, true};
    }

    std::map<std::string, Running> plans_;
};

/// The memory of a scheduler. It is a value: a copy holds what was known when it was made.
class JobMemory {
public:
    /// Makes a memory without jobs, with refined models shared by kind. The library's own policies rely on
    /// these.
    JobMemory() = default;
    /// The same with other histories.
    explicit JobMemory(KindHistories histories);

    /// Takes in a round. What an earlier call learned counts only if keep() was called after it. `news` has
    /// one entry per job of the snapshot, or is empty if there are none; any other number throws
    /// std::invalid_argument. `cancelled` names jobs that are gone without having ended. Fills in the
    /// models of jobs that do not bring their own, the fields of JobSizes and RunningPlans,
    /// Job::wanted_batch of jobs whose news contain one, and Job::just_started. A job with invalid news is
    /// set aside for this round (Job::set_aside); if Snapshot::strict, the call throws
    /// std::invalid_argument. Nothing is learned from jobs that are set aside. Measurements of jobs that
    /// share their GPUs by the last plan are ignored.
    ///
    /// Replaces Snapshot::warnings by probable mistakes: a time before that of the last round, cancelled
    /// jobs that are still there, and implausible measurements (detail/news_slips.hpp).
    ///
    /// The caller may keep one snapshot over all rounds or make a new one for each. The values that the
    /// last call filled in are removed first, so that they are not taken for the caller's.
    void take_in(Snapshot& snapshot, std::span<const JobNews> news = {},
                 std::span<const std::string> cancelled = {});

    /// Keeps the round, with this plan. Jobs that are no longer there are forgotten, except for what they
    /// have shown about their kinds.
    void keep(const Snapshot& snapshot, const Plan& plan);

    /// The histories of all jobs. `histories().find(name)->model()` is the model of a job, and `fits()` is
    /// the input of a Forecast.
    [[nodiscard]] const KindHistories& histories() const { return histories_; }

    /// Returns everything that it knows of kept rounds, as text that load() reads. A scheduler that is
    /// stopped and started again then plans as if it had never stopped.
    [[nodiscard]] std::string save() const;
    /// Replaces everything it knows by what save() has written. A snapshot that this memory filled in
    /// before the call must not be passed to it again. Throws std::invalid_argument, and changes nothing,
    /// if the text does not come from save().
    void load(std::string_view saved);

private:
    /// If the last round was not kept, restores the state before it.
    void undo();

    /// Removes the values that the last take_in() filled in and that would otherwise be taken for the
    /// caller's. A field that has another value by now was written by the caller, and stays.
    void take_back(Snapshot& snapshot);

    void learn(Job& job, const JobNews& news);

    void limit_batch(Job& job, const JobNews& news);

    /// The state that is copied so that undo() can restore it. Histories are too large to copy; they have a
    /// trial mode of their own.
    struct Learned {
        JobSizes sizes{};
        RunningPlans running{};
        std::map<std::string, std::int64_t> used_batch{};  ///< largest total batch seen, by job
        std::map<std::string, double> started{};           ///< start times of jobs with a minimum run time
        std::set<std::string> sharing{};                   ///< jobs that share GPUs by the last plan

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.sizes, self.running, self.used_batch, self.started, self.sharing);
        }
    };
    /// Values that the last take_in() wrote into fields that callers write, too.
    struct Filled {
        std::string set_aside{};
        std::optional<double> done_examples{};
        BatchPlan running_plan{};
    };

    KindHistories histories_{};
    Learned learned_{}, before_{};
    std::map<std::string, Filled> filled_{};  // by job name
    bool on_trial_ = false;
    std::optional<double> last_time_{};  // time of the last kept round
    std::vector<std::string> names_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_memory.hpp"
#include "goodput/schedule/detail/running_plans.hpp"
#endif

#endif
