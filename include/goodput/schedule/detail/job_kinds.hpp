#ifndef GOODPUT_SCHEDULE_DETAIL_JOB_KINDS_HPP
#define GOODPUT_SCHEDULE_DETAIL_JOB_KINDS_HPP

// Implements KindHistories of job_kinds.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/detail/kind_of.hpp"
#include "goodput/schedule/job_kinds.hpp"

namespace goodput::inline v0_1 {

namespace detail {

inline bool has_left_kind(const std::string& key) { return key.starts_with("job "); }

/// Whether the model already predicts the measurement.
inline bool is_known(const JobHistory& history, const Job& job, std::size_t type,
                     const ThroughputSample& sample) {
    // Treat every measurement of a pipeline job as new, because the job's model also stores the plan of its
    // newest measurement.
    if (type < job.types.size() && job.types[type].gpus_per_replica > 1) return false;
    const JobModel& model = history.model();
    if (type >= model.types.size() || !model.types[type].fitted) return false;
    if (history.measured_batches(type, sample.shape) < 2) return false;
    const auto says = [](double predicted, double seconds) {
        return std::abs(predicted - seconds) <= KindHistories::known_to * seconds;
    };
    const std::optional<double> compute = sample.compute_seconds();
    return says(model.types[type].iteration_seconds(sample.shape, sample.timed_plan()),
                sample.step_seconds) &&
           (!compute || says(model.types[type].compute_seconds(sample.plan.atomic_batch), *compute));
}

/// Returns whether the measurement differs so much from an earlier one of the same shape and batch that it
/// must come from a different program.
inline bool contradicts(const JobHistory& history, std::size_t type, const ThroughputSample& sample) {
    const ThroughputSample* known =
        history.measured(type, sample.shape, sample.plan.atomic_batch, sample.microbatches());
    return known && std::max(sample.step_seconds, known->step_seconds) >
                        KindHistories::largest_deviation * std::min(sample.step_seconds, known->step_seconds);
}

}  // namespace detail

GOODPUT_BODY KindHistories::KindHistories(SeparateFitter fitter, bool jobs_share)
    : separate_(std::move(fitter)), jobs_share_(jobs_share) {}

GOODPUT_BODY std::string KindHistories::key_of(const Job& job) const {
    return jobs_share_ ? kind_of(job) : "job " + job.name;
}

GOODPUT_BODY void KindHistories::meet(const Job& job) {
    // All jobs of a kind use the first job's initial batch, so an absurd initial batch must be refused.
    if (job.initial_batch > 1 << 30)
        bad_input("job '" + job.name + "'", "initial_batch", job.initial_batch, "at most 2^30");
    const auto known = members_.find(job.name);
    const bool is_new = known == members_.end();
    if (is_new || (!detail::has_left_kind(known->second.key) && !same_kind(known->second.described, job))) {
        const std::string key = key_of(job);
        touch(members_, job.name, members_before_);
        if (!histories_.contains(key)) {
            touch(histories_, key, histories_before_);
            if (is_new)
                histories_.try_emplace(key, job.types.size());
            else
                histories_[key] = histories_[known->second.key];
        }
        join(job, key);
    }
    const std::string& key = members_[job.name].key;
    JobHistory& history = histories_[key];
    if (!jobs_share_ || history.has_begun_with(job)) return;
    touch(histories_, key, histories_before_);
    history.begin(job);
}

GOODPUT_BODY void KindHistories::add(const Job& job, std::size_t gpu_type, const ThroughputSample& measured) {
    const std::string subject = "job '" + job.name + "'";
    validate(measured, subject);
    const ThroughputSample sample = at_factor_one(measured, job.host);
    JobHistory* history = &of(job);
    if (jobs_share_) {
        if (detail::contradicts(*history, gpu_type, sample)) history = &leave_kind(job);
        if (detail::is_known(*history, job, gpu_type, sample)) return;
    }
    touch(histories_, members_[job.name].key, histories_before_);
    history->add(gpu_type, sample, subject);
}

GOODPUT_BODY void KindHistories::refit(const Job& job) {
    JobHistory& history = of(job);
    if (history.has_changed()) touch(histories_, members_[job.name].key, histories_before_);
    // Composing a name takes time, and most jobs have no new measurement in a round.
    const std::string subject = history.has_changed() ? "job '" + job.name + "'" : std::string();
    if (separate_)
        history.refit(separate_, subject);
    else
        history.refit(fitter_, subject);
}

GOODPUT_BODY JobHistory& KindHistories::of(const Job& job) {
    const auto known = members_.find(job.name);
    if (known != members_.end()) return histories_[known->second.key];
    const std::string key = key_of(job);
    touch(members_, job.name, members_before_);
    touch(histories_, key, histories_before_);
    join(job, key);
    return histories_[key];
}

GOODPUT_BODY const JobHistory* KindHistories::find(const std::string& name) const {
    const auto known = members_.find(name);
    return known == members_.end() ? nullptr : &histories_.at(known->second.key);
}

GOODPUT_BODY void KindHistories::begin_trial() {
    end_trial();
    on_trial_ = true;
}

GOODPUT_BODY void KindHistories::undo() {
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

GOODPUT_BODY void KindHistories::forget_unless(const std::function<bool(const std::string& name)>& keep) {
    std::erase_if(members_, [&](const auto& entry) { return !keep(entry.first); });
    end_trial();
    ++time_;
    for (const auto& [name, member] : members_) last_needed_[member.key] = time_;
    // The history of a job that left its kind says nothing about other jobs.
    for (auto own = histories_.lower_bound("job ");
         own != histories_.end() && detail::has_left_kind(own->first);) {
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

GOODPUT_BODY void KindHistories::complete_saved() {
    end_trial();
    for (const auto& [name, member] : members_) histories_.try_emplace(member.key);
}

GOODPUT_BODY void KindHistories::join(const Job& job, const std::string& key) {
    Member& member = members_[job.name];
    member.key = key;
    member.described.kind = job.kind;
    member.described.adaptivity = job.adaptivity;
    member.described.initial_batch = job.initial_batch;
    member.described.target_batch = job.target_batch;
    member.described.types = job.types;
}

/// Gives the job its own history from now on, empty at first.
GOODPUT_BODY JobHistory& KindHistories::leave_kind(const Job& job) {
    const std::string own = "job " + job.name;
    if (members_[job.name].key == own) return histories_[own];
    touch(members_, job.name, members_before_);
    touch(histories_, own, histories_before_);
    join(job, own);
    JobHistory& history = histories_[own] = JobHistory(job.types.size());
    history.begin(job);
    return history;
}

GOODPUT_BODY void KindHistories::end_trial() {
    on_trial_ = false;
    members_before_.clear();
    histories_before_.clear();
}

template <class Value>
void KindHistories::touch(const std::map<std::string, Value>& all, const std::string& key,
                          std::map<std::string, std::optional<Value>>& before) const {
    if (!on_trial_ || before.contains(key)) return;
    const auto found = all.find(key);
    before.emplace(key, found == all.end() ? std::nullopt : std::optional<Value>(found->second));
}

}  // namespace goodput::inline v0_1

#endif
