#ifndef GOODPUT_SCHEDULE_JOB_SIZES_HPP
#define GOODPUT_SCHEDULE_JOB_SIZES_HPP

// How much is a job still likely to need? Nobody declares it; but jobs of one kind (detail/kind_of.hpp) are
// mostly runs of one program, and those that have ended have shown how long such runs are.
//
// Sizes are counted in useful examples (examples times statistical efficiency), because these do not depend
// on what a job ran on. A job that reports its own is believed; for the others the goodput that was predicted
// of what they held is added up, restarts taken off. What is wrong with that prediction is mostly wrong with
// the whole kind, and cancels.
//
// Of a job that has done x, others of its kind have ended at the sizes S > x, and those that still run have
// come to x' > x without an end. Expected is what the Gittins index makes of these residuals,
//
//     min over d of  E[min(S - x, d)] / P(S - x <= d)
//
// examples for every completion that they bring: the order in which serving jobs of unknown sizes gives the
// least sum of completion times on one server (Gittins 1979; Aalto, Ayesta and Righter, QUESTA 2009). Where
// all sizes are alike it is what is left. A job that has outlived all others of its kind is expected nothing
// of, and neither is anybody before one of a kind has ended: the policy has to think of something.

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

namespace goodput {

namespace detail {
struct SavedFields;
}

/// What jobs that have ended say of those that have not. Tell it every round: expect() before the plan,
/// note() after it, each with a snapshot made anew: what expect() filled in is no report of the jobs
/// (JobMemory takes it back by itself).
class JobSizes {
public:
    /// Sizes that are remembered of a kind, the last ones: a good estimate, and programs change.
    static constexpr std::size_t most_sizes = 64;
    /// Kinds that are remembered, those that were met last.
    static constexpr std::size_t most_kinds = 1024;
    /// Runs of one program differ by about this part of their size, and predictions of goodput err by as
    /// much: a job is not believed to be nearer to its end than that.
    static constexpr double spread = 0.1;

    /// Fills in Job::expected_examples where the jobs' kinds have shown something, and takes it away
    /// elsewhere; Job::usual_gradient likewise; and Job::done_examples of jobs that do not report it. Jobs of
    /// earlier rounds that are no longer there are taken as complete: end() says which are not. O(jobs) where
    /// the jobs are those of the last round, else O(jobs log jobs), and most_sizes steps for every job that
    /// has done something.
    void expect(Snapshot& snapshot);

    /// Remembers what the jobs of the last expect() hold from now on, for those that do not report what they
    /// have done.
    void note(const Snapshot& snapshot, const Plan& plan);

    /// A job was cancelled, or has failed for good: its size says nothing of others. To be said before
    /// expect().
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
        std::vector<double> sizes{};                   ///< of those that ended, in the order of their ends
        std::vector<double> sorted{};                  ///< the same, ascending
        std::vector<double> reached{};                 ///< by those that have not ended, ascending
        std::optional<GradientStatistics> gradient{};  ///< the first that one of them measured
        std::string gradient_of{};                     ///< the name of that job
        std::size_t gradient_round = 0;                ///< when it did
        std::optional<double> fresh{};                 ///< expected of one that has done nothing yet
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
        double rate = 0;             ///< useful examples/s of what it holds, as predicted
        double restart_seconds = 0;  ///< left of the restart under way

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

    /// Brings jobs_ into the order of the snapshot's jobs, with new ones, and learns of those that are gone.
    void match(std::span<const Job> jobs, double passed);

    /// Its index, new if the name is.
    std::size_t kind_called(const std::string& name);

    /// Leaves most_kinds of them, or as many as jobs that are there need.
    void forget_kinds();

    /// One more job of a kind has ended.
    static void learn(Kind& kind, double size);

    /// The first one counts; of those of one round that of the job whose name comes first.
    void see_gradient(Kind& kind, const Job& job) const;

    void look_at_kinds();

    /// Leaves most_sizes numbers of a sorted list, evenly.
    static void thin(std::vector<double>& sorted);

    [[nodiscard]] std::optional<double> expected(const Kind& kind, double done) {
        return done > 0 ? residual(kind, done) : kind.fresh;
    }

    /// The index above, upside down, from the residuals of the kind's others; none where nobody has come
    /// that far.
    [[nodiscard]] std::optional<double> residual(const Kind& kind, double done);

    std::vector<Progress> jobs_;  // in the order of the last snapshot's
    std::vector<Kind> kinds_;
    std::map<std::string, std::size_t> index_of_kind_;
    double time_seconds_ = 0;
    std::size_t rounds_ = 0;
    std::vector<double> residuals_;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_sizes.hpp"
#endif

#endif
