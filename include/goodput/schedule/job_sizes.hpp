#ifndef GOODPUT_SCHEDULE_JOB_SIZES_HPP
#define GOODPUT_SCHEDULE_JOB_SIZES_HPP

// Estimates how much work a job still needs. Owners do not declare it, but jobs of one kind
// (detail/kind_of.hpp) are mostly runs of one program, so the runs that have ended show how long the next
// ones will be.
//
// Sizes are counted in useful examples (examples times statistical efficiency), because these do not depend
// on the GPUs that a job ran on. If a job reports its useful examples (Job::done_examples), the report
// counts. For other jobs the predicted goodput of what they held is summed over time, without restarts. If
// that prediction is wrong, it is mostly wrong by the same factor for all jobs of a kind, and the error
// cancels.
//
// Consider a job that has done x examples. Jobs of its kind that ended had sizes S, and some that still run
// have reached more than x; these are assumed to end at about twice what they have reached. Let P be the
// distribution of the sizes S above x. The job is expected to need its Gittins index:
//
//     min over d of  E[min(S - x, d)] / P(S - x <= d)
//
// in examples. If one server serves jobs of unknown sizes, and always serves the job with the least index,
// the sum of completion times is least (Gittins 1979; Aalto, Ayesta and Righter, QUESTA 2009). If all sizes
// are alike, the index is the work that is left. There is no expectation before a job of the kind has
// ended, nor for a job that has done far more (a fifth or more) than all others of its kind. The policy
// must then make its own assumption.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "goodput/core/job.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {
struct SavedFields;
}

/// Predicts sizes of unfinished jobs from those that have ended. In every round, call expect() before the
/// plan and note() after it. Pass a new snapshot each time, because values that an earlier expect() filled
/// in would count as reports of the jobs. (JobMemory removes them by itself.)
class JobSizes {
public:
    /// Largest number of sizes that are remembered per kind: the latest ones. They suffice for a good
    /// estimate, and older ones may come from an older version of the program.
    static constexpr std::size_t most_sizes = 64;
    /// Largest number of kinds that are remembered: those that were met last.
    static constexpr std::size_t most_kinds = 1024;
    /// Runs of one program differ by about this fraction of their size, and predictions of goodput have
    /// errors of the same order. Therefore the work left is never assumed to be less than this fraction of
    /// an earlier size.
    static constexpr double spread = 0.1;

    /// Fills in Job::expected_examples and Job::usual_gradient if other jobs of the kind have shown them,
    /// and clears them otherwise. Fills in Job::done_examples of jobs that do not report it. Jobs of
    /// earlier rounds that are no longer there are assumed to be complete, unless end() was called. Takes
    /// O(jobs) time if the jobs are those of the last round, else O(jobs log jobs), plus O(most_sizes) for
    /// every job that has done something.
    void expect(Snapshot& snapshot);

    /// Remembers what the jobs of the last expect() hold from now on, for jobs that do not report what they
    /// have done.
    void note(const Snapshot& snapshot, const Plan& plan);

    /// Tells it that a job was cancelled or has failed for good, so that its size says nothing about
    /// others. Call it before expect().
    void end(std::string_view name) {
        std::erase_if(jobs_, [&](const Progress& job) { return job.name == name; });
    }

private:
    static constexpr double most_examples = std::numeric_limits<double>::max();

    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.time_seconds_, self.rounds_, self.jobs_, self.kinds_);
    }
    void complete_saved();

    struct Kind {
        std::string name{};
        std::vector<double> sizes{};    ///< sizes of jobs that ended, in the order of their ends
        std::vector<double> sorted{};   ///< the same, ascending
        std::vector<double> reached{};  ///< work done by jobs that have not ended, ascending
        /// The first gradient statistics that a job of the kind has reported.
        std::optional<GradientStatistics> gradient{};
        std::string gradient_of{};       ///< name of that job
        std::size_t gradient_round = 0;  ///< round in which that job reported them
        std::optional<double> fresh{};   ///< expectation for a job that has done nothing yet
        std::size_t last_met = 0;

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.name, self.last_met, self.gradient, self.gradient_of, self.gradient_round, self.sizes);
        }
        void check_saved() const;
    };

    struct Progress {
        std::string name{};
        std::size_t kind = 0;        ///< index into kinds_
        double done = 0;             ///< useful examples
        double rate = 0;             ///< predicted useful examples per second of what it holds
        double restart_seconds = 0;  ///< seconds left of the restart under way

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.name, self.kind, self.done, self.rate, self.restart_seconds);
        }
        void check_saved() const;

        void advance(double seconds) {
            const double restarting = std::min(restart_seconds, seconds);
            restart_seconds -= restarting;
            done = std::min(done + rate * (seconds - restarting), most_examples);
        }
    };

    /// Brings jobs_ into the order of the snapshot's jobs, adds new ones, and learns from those that are
    /// gone.
    void match(std::span<const Job> jobs, double passed);

    /// Returns the index of the kind with that name, and adds the kind if it is new.
    std::size_t kind_called(const std::string& name);

    /// Forgets kinds until most_kinds are left, or those that present jobs need.
    void forget_kinds();

    /// Learns from one more job of a kind that has ended.
    static void learn(Kind& kind, double size);

    /// The first measurement counts. Among those of one round, it is that of the job whose name comes
    /// first.
    void see_gradient(Kind& kind, const Job& job) const;

    void look_at_kinds();

    /// Thins a sorted list to most_sizes evenly spaced numbers.
    static void thin(std::vector<double>& sorted);

    [[nodiscard]] std::optional<double> expected(const Kind& kind, double done) {
        return done > 0 ? residual(kind, done) : kind.fresh;
    }

    /// Returns the index of the opening comment, from the sizes of the other jobs of the kind. Empty if
    /// there is no basis for it.
    [[nodiscard]] std::optional<double> residual(const Kind& kind, double done);

    std::vector<Progress> jobs_;  // in the order of the last snapshot's jobs
    std::vector<Kind> kinds_;
    std::map<std::string, std::size_t> index_of_kind_;
    double time_seconds_ = 0;
    std::size_t rounds_ = 0;
    std::vector<double> residuals_;
};

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_sizes.hpp"
#endif

#endif
