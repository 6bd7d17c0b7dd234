#ifndef GOODPUT_SCHEDULE_JOB_MEMORY_HPP
#define GOODPUT_SCHEDULE_JOB_MEMORY_HPP

// What a scheduler remembers of its jobs from one round to the next: how fast they are (job_kinds.hpp), how
// much they are likely to need (job_sizes.hpp), which batch plan each one runs with (RunningPlans), and
// how large a batch it was seen to use. A round is a snapshot, what was heard of its jobs, and a plan:
//
//     memory.take_in(snapshot, news);                 // fills in models, expected sizes, running plans
//     const Plan& plan = scheduler.plan(snapshot);
//     memory.keep(snapshot, plan);                    // or else the round was never there

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

namespace goodput {

// Which batch plan every job runs with, from round to round: the one that it was told, or where it was told
// none for the GPUs that it has, the one that it was measured with. A measurement may be older than what was
// told.

namespace detail {
struct SavedFields;
}

/// Remembers batch plans by job name. A value: a copy is what was known when it was made.
class RunningPlans {
public:
    /// A measurement of a job on a GPU type.
    void note(std::string_view job, std::size_t gpu_type, const ThroughputSample& sample);
    /// What a plan tells the jobs that it gives GPUs of one pool. Everybody else is forgotten.
    void note(const Snapshot& snapshot, const Plan& plan);
    /// Fills in Job::running_plan of the jobs that hold what their plan is of.
    void fill(Snapshot& snapshot) const;

private:
    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.plans_);
    }

    struct Running {
        std::size_t gpu_type = 0;
        Shape shape{};  // in replicas, as of samples
        BatchPlan plan{};
        bool planned = false;

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.gpu_type, self.shape, self.plan, self.planned);
        }
        void check_saved() const { detail::require_configuration("saved memory", shape, plan); }
    };
    /// What a job holds may be wrong still: nobody has checked the snapshot.
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

/// The memory itself, a value.
class JobMemory {
public:
    /// A memory without jobs, with refined models by kind, which our own policies rely on.
    JobMemory() = default;
    /// The same with other histories.
    explicit JobMemory(KindHistories histories);

    /// Takes in a round; what a round before it has said counts only if it was kept. `news` by job of the
    /// snapshot (std::invalid_argument for another number), or empty where nothing was heard; `cancelled`
    /// names jobs that are gone without having ended. Fills in the jobs' models, but for those that bring
    /// their own, what JobSizes and RunningPlans say, Job::wanted_batch of jobs whose owners say so, and
    /// Job::just_started. A job with news that make no sense is set aside for this round (Job::set_aside), or
    /// refused if Snapshot::strict (std::invalid_argument). Nothing is learned of jobs that are set aside,
    /// and no speed of jobs that share their GPUs by the last plan.
    /// Makes Snapshot::warnings what probably is a slip: a time before that of the last round, cancelled jobs
    /// that are still there, and measurements that are hardly meant (detail/news_slips.hpp).
    ///
    /// The caller may keep one snapshot over all rounds or make a new one for each: what the last call filled
    /// in is taken back first, so that it never counts as the caller's word.
    void take_in(Snapshot& snapshot, std::span<const JobNews> news = {},
                 std::span<const std::string> cancelled = {});

    /// The round counts, with this plan. Jobs that are no longer there are forgotten, but for what they have
    /// shown of their kinds.
    void keep(const Snapshot& snapshot, const Plan& plan);

    /// What is known of jobs' speed: `histories().find(name)->model()` is the model of a job, and `fits()`
    /// what a Forecast makes intervals of.
    [[nodiscard]] const KindHistories& histories() const { return histories_; }

    /// Everything that it knows of rounds that were kept, as text that load() reads: a scheduler that is
    /// stopped and started again plans as if it had gone on.
    [[nodiscard]] std::string save() const;
    /// Knows from now on what save() has written, and nothing else; a snapshot that it has filled in before
    /// must not be shown to it again. What is no such text is refused, and changes nothing
    /// (std::invalid_argument).
    void load(std::string_view saved);

private:
    /// Where the last round was not kept, everything is as before it.
    void undo();

    /// Takes back what the last take_in() filled in that would otherwise count as the caller's word. Where a
    /// field has another value by now, the caller has written it.
    void take_back(Snapshot& snapshot);

    void learn(Job& job, const JobNews& news);

    void limit_batch(Job& job, const JobNews& news);

    /// What is copied for a trial; histories have a trial of their own, because they are large.
    struct Learned {
        JobSizes sizes{};
        RunningPlans running{};
        std::map<std::string, std::int64_t> used_batch{};  ///< largest total batch by job
        std::map<std::string, double> started{};           ///< when jobs with a minimum run time were started
        std::set<std::string> sharing{};                   ///< jobs that share GPUs by the last plan

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.sizes, self.running, self.used_batch, self.started, self.sharing);
        }
    };
    /// What the last take_in() has written into a job's fields that callers write, too.
    struct Filled {
        std::string set_aside{};
        std::optional<double> done_examples{};
        BatchPlan running_plan{};
    };

    KindHistories histories_{};
    Learned learned_{}, before_{};
    std::map<std::string, Filled> filled_{};  // by job name
    bool on_trial_ = false;
    std::optional<double> last_time_{};  // of the last round that was kept
    std::vector<std::string> names_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_memory.hpp"
#include "goodput/schedule/detail/running_plans.hpp"
#endif

#endif
