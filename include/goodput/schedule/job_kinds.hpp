#ifndef GOODPUT_SCHEDULE_JOB_KINDS_HPP
#define GOODPUT_SCHEDULE_JOB_KINDS_HPP

// What jobs of one kind learn from each other of their speed. People run the same program again and again, so
// what one run has measured is what the next one should expect: jobs of one kind share one history
// (JobHistory), and so one model. A job that turns out to be another program after all, because a step of its
// takes a fourth longer or less than its kind says, leaves the kind and is remembered by itself from then on.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/schedule/job_history.hpp"

namespace goodput {

namespace detail {
struct SavedFields;
}

/// The histories of all jobs, by kind.
class KindHistories {
public:
    /// Kinds that are remembered without a job that is there: as many programs as a large group of people
    /// runs again and again.
    static constexpr std::size_t most_kinds = 1024;
    /// A measurement that the model says to this part, on a shape that was measured before, teaches nothing.
    static constexpr double known_to = 0.02;
    /// A step that takes so many times longer or less than its kind says is one of another program.
    static constexpr double largest_deviation = 1.25;

    /// Refined models of all GPU types together (JobFitter): what our own policies rely on.
    KindHistories() = default;
    /// Models of each GPU type by itself, by `fitter`. Where jobs do not share, each has a history of its
    /// own, of nothing but its measurements.
    explicit KindHistories(SeparateFitter fitter, bool jobs_share = true);

    /// Meets a job, new or not, and takes in the rates that it declares, whenever they come. A job whose
    /// description changes is of another kind from then on, which starts with what the old one has shown. An
    /// initial batch beyond 2^30 is refused (std::invalid_argument).
    void meet(const Job& job);

    /// Adds a measurement of a job that was met on a GPU type (std::invalid_argument for a bad one). One that
    /// the kind's model says already is left out, so that models of kinds with many jobs are not fitted anew
    /// without end. One with other cores and memory counts as it would have been at factor 1 of Job::host.
    void add(const Job& job, std::size_t gpu_type, const ThroughputSample& measured);

    /// Fits what changed in the history of a job's kind.
    void refit(const Job& job);

    /// What is known of a job: the history of its kind, or its own.
    [[nodiscard]] JobHistory& of(const Job& job);

    /// What is known of the job of that name, which was met: null if it was not, or is forgotten.
    [[nodiscard]] const JobHistory* find(const std::string& name) const;

    /// From now on everything is on trial, until the next call of this or of undo().
    void begin_trial();
    /// Forgets what came since begin_trial(), as if it had not come.
    void undo();

    /// Forgets all jobs but those for which keep(name) holds. What their kinds have shown stays, the
    /// most_kinds of them that were needed last.
    void forget_unless(const std::function<bool(const std::string& name)>& keep);

private:
    struct Member {
        std::string key;  ///< of its history
        Job described{};  ///< what same_kind() reads of it

        template <class Self, class Visit>
        static void fields(Self& self, Visit& visit) {
            visit(self.key, self.described.kind, self.described.adaptivity, self.described.initial_batch,
                  self.described.target_batch, self.described.types);
        }
    };

    friend struct detail::SavedFields;
    template <class Self, class Visit>
    static void fields(Self& self, Visit& visit) {
        visit(self.time_, self.last_needed_, self.members_, self.histories_);
    }
    void complete_saved();

    [[nodiscard]] std::string key_of(const Job& job) const;
    void join(const Job& job, const std::string& key);
    JobHistory& leave_kind(const Job& job);
    void end_trial();
    /// Remembers an entry as it was before the trial, once.
    template <class Value>
    void touch(const std::map<std::string, Value>& all, const std::string& key,
               std::map<std::string, std::optional<Value>>& before) const;

    std::map<std::string, Member> members_;        // by job name
    std::map<std::string, JobHistory> histories_;  // by key: a kind, or a job that left its kind
    std::map<std::string, std::size_t> last_needed_;
    std::size_t time_ = 0;
    bool on_trial_ = false;
    std::map<std::string, std::optional<Member>> members_before_;
    std::map<std::string, std::optional<JobHistory>> histories_before_;
    JobFitter fitter_;
    SeparateFitter separate_;  // fits instead of fitter_, where there is one
    bool jobs_share_ = true;
};

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/job_kinds.hpp"
#endif

#endif
