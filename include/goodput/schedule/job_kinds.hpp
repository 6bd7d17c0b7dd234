#ifndef GOODPUT_SCHEDULE_JOB_KINDS_HPP
#define GOODPUT_SCHEDULE_JOB_KINDS_HPP

// What jobs of one kind learn from each other of their speed. People run the same program again and again, so
// what one run has measured is what the next one should expect: jobs of one kind share one history
// (JobHistory), and so one model. A job that turns out to be another program after all, because a step of its
// takes a fourth longer or less than its kind says, leaves the kind and is remembered by itself from then on.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/schedule/job_history.hpp"
#include "goodput/schedule/kind_of.hpp"

namespace goodput {

namespace detail {
struct SavedFields;
}

/// The histories of all jobs, by kind. `Fitter`: JobFitter, or a SeparateFitter (job_history.hpp).
template <class Fitter = JobFitter>
class BasicKindHistories {
public:
    /// Kinds that are remembered without a job that is there: as many programs as a large group of people
    /// runs again and again.
    static constexpr std::size_t most_kinds = 1024;
    /// A measurement that the model says to this part, on a shape that was measured before, teaches nothing.
    static constexpr double known_to = 0.02;
    /// A step that takes so many times longer or less than its kind says is one of another program.
    static constexpr double largest_deviation = 1.25;

    /// Meets a job, new or not, and takes in the rates that it declares, whenever they come. A job whose
    /// description changes is of another kind from then on, which starts with what the old one has shown. An
    /// initial batch beyond 2^30 is refused (std::invalid_argument).
    void meet(const Job& job) {
        // What a kind begins with is for all of its jobs: one that makes no sense would spoil them all.
        if (job.initial_batch > 1 << 30)
            bad_input("job '" + job.name + "'", "initial_batch", job.initial_batch, "at most 2^30");
        const auto known = members_.find(job.name);
        const bool is_new = known == members_.end();
        if (is_new || (!has_left_kind(known->second.key) && !same_kind(known->second.described, job))) {
            const std::string key = kind_of(job);
            touch(members_, job.name, members_before_);
            if (!histories_.contains(key)) {
                touch(histories_, key, histories_before_);
                if (!is_new) histories_[key] = histories_[known->second.key];
            }
            join(job, key);
        }
        const std::string& key = members_[job.name].key;
        JobHistory& history = histories_[key];
        if (history.has_begun_with(job)) return;
        touch(histories_, key, histories_before_);
        history.begin(job);
    }

    /// Adds a measurement of a job that was met on a GPU type (std::invalid_argument for a bad one). One that
    /// the kind's model says already is left out, so that models of kinds with many jobs are not fitted anew
    /// without end. One with other cores and memory counts as it would have been at factor 1 of Job::host.
    void add(const Job& job, std::size_t gpu_type, const ThroughputSample& measured) {
        const std::string subject = "job '" + job.name + "'";
        validate(measured, subject);
        const ThroughputSample sample = at_factor_one(measured, job.host);
        JobHistory* history = &of(job);
        if (contradicts(*history, gpu_type, sample)) history = &leave_kind(job);
        if (is_known(*history, job, gpu_type, sample)) return;
        touch(histories_, members_[job.name].key, histories_before_);
        history->add(gpu_type, sample, subject);
    }

    /// Fits what changed in the history of a job's kind.
    void refit(const Job& job) {
        JobHistory& history = of(job);
        if (history.has_changed()) touch(histories_, members_[job.name].key, histories_before_);
        // Most jobs have nothing new, round after round, and need no name in a message.
        history.refit(fitter_, history.has_changed() ? "job '" + job.name + "'" : std::string());
    }

    /// What is known of a job: the history of its kind, or its own.
    [[nodiscard]] JobHistory& of(const Job& job) {
        const auto known = members_.find(job.name);
        if (known != members_.end()) return histories_[known->second.key];
        const std::string key = kind_of(job);
        touch(members_, job.name, members_before_);
        touch(histories_, key, histories_before_);
        join(job, key);
        return histories_[key];
    }

    /// What is known of the job of that name, which was met: null if it was not, or is forgotten.
    [[nodiscard]] const JobHistory* find(const std::string& name) const {
        const auto known = members_.find(name);
        return known == members_.end() ? nullptr : &histories_.at(known->second.key);
    }

    /// From now on everything is on trial, until the next call of this or of undo().
    void begin_trial() {
        end_trial();
        on_trial_ = true;
    }
    /// Forgets what came since begin_trial(), as if it had not come.
    void undo() {
        for (auto& [name, member] : members_before_) {
            if (member)
                members_[name] = std::move(*member);
            else
                members_.erase(name);
        }
        for (auto& [key, history] : histories_before_) {
            if (history)
                histories_[key] = std::move(*history);
            else
                histories_.erase(key);
        }
        end_trial();
    }

    /// Forgets all jobs but those for which keep(name) holds. What their kinds have shown stays, the
    /// most_kinds of them that were needed last.
    template <class Keep>
    void forget_unless(Keep keep) {
        std::erase_if(members_, [&](const auto& entry) { return !keep(entry.first); });
        end_trial();
        ++time_;
        for (const auto& [name, member] : members_) last_needed_[member.key] = time_;
        // What a job has shown that left its kind says nothing of others.
        for (auto own = histories_.lower_bound("job ");
             own != histories_.end() && has_left_kind(own->first);) {
            const auto needed = last_needed_.find(own->first);
            if (needed != last_needed_.end() && needed->second == time_) {
                ++own;
                continue;
            }
            if (needed != last_needed_.end()) last_needed_.erase(needed);
            own = histories_.erase(own);
        }
        if (histories_.size() <= most_kinds) return;
        std::vector<std::pair<std::size_t, const std::string*>> by_need;
        for (const auto& [key, history] : histories_)
            if (last_needed_[key] != time_) by_need.emplace_back(last_needed_[key], &key);
        std::sort(by_need.begin(), by_need.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first < b.first : *a.second < *b.second;
        });
        for (std::size_t i = 0; i < by_need.size() && histories_.size() > most_kinds; ++i) {
            const std::string key = *by_need[i].second;
            histories_.erase(key);
            last_needed_.erase(key);
        }
    }

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
    void complete_saved() {
        end_trial();
        for (const auto& [name, member] : members_) histories_.try_emplace(member.key);
    }

    void join(const Job& job, const std::string& key) {
        Member& member = members_[job.name];
        member.key = key;
        member.described.kind = job.kind;
        member.described.adaptivity = job.adaptivity;
        member.described.initial_batch = job.initial_batch;
        member.described.target_batch = job.target_batch;
        member.described.types = job.types;
    }

    static bool differs(double seconds, double expected) {
        return seconds > largest_deviation * expected || expected > largest_deviation * seconds;
    }

    static bool is_known(const JobHistory& history, const Job& job, std::size_t type,
                         const ThroughputSample& sample) {
        // A pipeline keeps the plan of its newest measurement.
        if (type < job.types.size() && job.types[type].gpus_per_replica > 1) return false;
        const JobModel& model = history.model();
        if (type >= model.types.size() || !model.types[type].fitted) return false;
        if (history.measured_batches(type, sample.shape) < 2) return false;
        const auto says = [](double predicted, double seconds) {
            return std::abs(predicted - seconds) <= known_to * seconds;
        };
        const std::optional<double> compute = sample.compute_seconds();
        return says(model.types[type].iteration_seconds(sample.shape, sample.timed_plan()),
                    sample.step_seconds) &&
               (!compute || says(model.types[type].compute_seconds(sample.plan.atomic_batch), *compute));
    }

    static bool contradicts(const JobHistory& history, std::size_t type, const ThroughputSample& sample) {
        const ThroughputSample* known =
            history.measured(type, sample.shape, sample.plan.atomic_batch, sample.microbatches());
        return known && differs(sample.step_seconds, known->step_seconds);
    }

    void end_trial() {
        on_trial_ = false;
        members_before_.clear();
        histories_before_.clear();
    }

    /// Remembers an entry as it was before the trial, once.
    template <class Value>
    void touch(const std::map<std::string, Value>& all, const std::string& key,
               std::map<std::string, std::optional<Value>>& before) const {
        if (!on_trial_ || before.contains(key)) return;
        const auto found = all.find(key);
        before.emplace(key, found == all.end() ? std::nullopt : std::optional<Value>(found->second));
    }

    static bool has_left_kind(const std::string& key) { return key.starts_with("job "); }

    /// The job's own history from now on, empty at first.
    JobHistory& leave_kind(const Job& job) {
        const std::string own = "job " + job.name;
        if (members_[job.name].key == own) return histories_[own];
        touch(members_, job.name, members_before_);
        touch(histories_, own, histories_before_);
        join(job, own);
        JobHistory& history = histories_[own] = JobHistory(job.types.size());
        history.begin(job);
        return history;
    }

    std::map<std::string, Member> members_;        // by job name
    std::map<std::string, JobHistory> histories_;  // by key: a kind, or a job that left its kind
    std::map<std::string, std::size_t> last_needed_;
    std::size_t time_ = 0;
    bool on_trial_ = false;
    std::map<std::string, std::optional<Member>> members_before_;
    std::map<std::string, std::optional<JobHistory>> histories_before_;
    Fitter fitter_;
};

/// Histories by kind with refined models of all GPU types together: what our own policies rely on.
using KindHistories = BasicKindHistories<>;

}  // namespace goodput

#endif
