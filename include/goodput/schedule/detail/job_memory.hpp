#ifndef GOODPUT_SCHEDULE_DETAIL_JOB_MEMORY_HPP
#define GOODPUT_SCHEDULE_DETAIL_JOB_MEMORY_HPP

// Implements job_memory.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/schedule/detail/news_slips.hpp"
#include "goodput/schedule/detail/saved_text.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/job_memory.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

namespace detail {

inline constexpr std::string_view saved_title = "goodput job memory 2";
inline constexpr std::string_view earlier_title = "goodput job memory 1";

}  // namespace detail

GOODPUT_BODY JobMemory::JobMemory(KindHistories histories) : histories_(std::move(histories)) {}

GOODPUT_BODY void JobMemory::take_in(Snapshot& snapshot, std::span<const JobNews> news,
                                     std::span<const std::string> cancelled) {
    if (!news.empty() && news.size() != snapshot.jobs.size())
        bad_input("job memory", "news", news.size(), "one for each of the snapshot's jobs, or none");
    undo();
    take_back(snapshot);
    before_ = learned_;
    histories_.begin_trial();
    on_trial_ = true;
    const JobNews nothing;
    snapshot.warnings.clear();
    if (last_time_ && snapshot.time_seconds < *last_time_)
        snapshot.warnings.push_back("time goes back: it is " + text_of(snapshot.time_seconds) +
                                    " s, and was " + text_of(*last_time_) + " s in the round before");
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        Job& job = snapshot.jobs[j];
        if (!job.set_aside.empty()) continue;
        try {
            learn(job, news.empty() ? nothing : news[j]);
            if (!news.empty()) detail::warn_of_news(job, news[j], snapshot.cluster, snapshot.warnings);
        } catch (const std::invalid_argument& error) {
            if (snapshot.strict) throw;
            job.set_aside = filled_[job.name].set_aside = error.what();
        }
    }
    for (const std::string& name : cancelled) {
        learned_.sizes.end(name);
        for (const Job& job : snapshot.jobs)
            if (job.name == name)
                snapshot.warnings.push_back("job '" + name +
                                            "': named as cancelled, and still among the jobs");
    }
    // By job: whether the caller reported its progress, and the running plan that the caller gave.
    std::vector<std::pair<bool, BatchPlan>> said;
    for (const Job& job : snapshot.jobs) said.emplace_back(job.done_examples, job.running_plan);
    for (Job& job : snapshot.jobs) {
        if (!(job.minimum_run_seconds > 0)) continue;
        const auto started = learned_.started.find(job.name);
        job.just_started = started != learned_.started.end() &&
                           snapshot.time_seconds < started->second + job.minimum_run_seconds;
    }
    learned_.sizes.expect(snapshot);
    learned_.running.fill(snapshot);
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        Filled& filled = filled_[job.name];
        if (!said[j].first) filled.done_examples = job.done_examples;
        if (job.running_plan != said[j].second) filled.running_plan = job.running_plan;
    }
    snapshot.models.resize(snapshot.jobs.size());
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        if (!news.empty() && news[j].brings_model) continue;
        if (!job.set_aside.empty()) {
            snapshot.models[j] = {};
            continue;
        }
        histories_.refit(job);
        snapshot.models[j] = histories_.of(job).model();
    }
}

GOODPUT_BODY void JobMemory::keep(const Snapshot& snapshot, const Plan& plan) {
    learned_.sizes.note(snapshot, plan);
    learned_.running.note(snapshot, plan);
    learned_.sharing.clear();
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) {
        const Job& job = snapshot.jobs[j];
        if (plan.decisions[j].shares_with) learned_.sharing.insert(job.name);
        if (!job.set_aside.empty()) continue;
        if (plan.decisions[j].placement.empty() || !(job.minimum_run_seconds > 0))
            learned_.started.erase(job.name);
        else if (plan.decisions[j].starts)
            learned_.started[job.name] = snapshot.time_seconds;
    }
    names_.clear();
    for (const Job& job : snapshot.jobs) names_.push_back(job.name);
    std::sort(names_.begin(), names_.end());
    const auto still_there = [&](const std::string& name) {
        return std::binary_search(names_.begin(), names_.end(), name);
    };
    std::erase_if(learned_.used_batch, [&](const auto& entry) { return !still_there(entry.first); });
    std::erase_if(learned_.started, [&](const auto& entry) { return !still_there(entry.first); });
    histories_.forget_unless(still_there);
    last_time_ = snapshot.time_seconds;
    on_trial_ = false;
}

GOODPUT_BODY std::string JobMemory::save() const {
    JobMemory kept = *this;
    kept.undo();
    detail::TextWriter writer(detail::saved_title);
    writer(kept.last_time_, kept.learned_, kept.histories_);
    return std::move(writer).text();
}

GOODPUT_BODY void JobMemory::load(std::string_view saved) {
    JobMemory other(histories_);
    detail::TextReader reader(detail::saved_title, detail::earlier_title, saved);
    reader(other.last_time_, other.learned_, other.histories_);
    reader.end();
    if (!std::isfinite(other.last_time_.value_or(0)))
        bad_input("saved memory", "time", *other.last_time_, "finite");
    *this = std::move(other);
}

GOODPUT_BODY void JobMemory::undo() {
    if (!on_trial_) return;
    histories_.undo();
    learned_ = before_;
    on_trial_ = false;
}

GOODPUT_BODY void JobMemory::take_back(Snapshot& snapshot) {
    if (filled_.empty()) return;
    for (Job& job : snapshot.jobs) {
        const auto found = filled_.find(job.name);
        if (found == filled_.end()) continue;
        if (job.set_aside == found->second.set_aside) job.set_aside.clear();
        if (job.done_examples == found->second.done_examples) job.done_examples.reset();
        if (job.running_plan == found->second.running_plan) job.running_plan = {};
    }
    filled_.clear();
}

GOODPUT_BODY void JobMemory::learn(Job& job, const JobNews& news) {
    // Check all samples before any is learned, so that nothing of a job that is set aside stays.
    for (const NewSample& each : news.samples) {
        validate(each.sample, "job '" + job.name + "'");
        if (each.gpu_type >= job.types.size())
            bad_input("job '" + job.name + "'", "samples.gpu_type", each.gpu_type,
                      "below the number of GPU types, " + text_of(job.types.size()));
    }
    limit_batch(job, news);
    histories_.meet(job);
    // The job was slower while it shared its GPUs, and the model of the pair already accounts for that.
    if (learned_.sharing.contains(job.name)) return;
    for (const NewSample& each : news.samples) {
        learned_.running.note(job.name, each.gpu_type, each.sample);
        histories_.add(job, each.gpu_type, each.sample);
    }
}

GOODPUT_BODY void JobMemory::limit_batch(Job& job, const JobNews& news) {
    if (news.samples.empty() && !news.wanted_batch) return;
    const auto known = learned_.used_batch.find(job.name);
    std::int64_t used = known == learned_.used_batch.end() ? 0 : known->second;
    for (const NewSample& each : news.samples)
        used = std::max(used, each.sample.plan.total(each.sample.shape.gpus));
    if (news.wanted_batch && job.adaptivity == Adaptivity::batch) {
        const std::int64_t most = std::max<std::int64_t>(*news.wanted_batch, used);
        if (most < job.initial_batch)
            bad_input("job '" + job.name + "'", "wanted_batch", *news.wanted_batch,
                      "at least initial_batch, " + text_of(job.initial_batch));
        job.wanted_batch = static_cast<int>(std::min<std::int64_t>(most, 1 << 30));
    }
    learned_.used_batch[job.name] = used;
}

}  // namespace goodput::inline v0_1

#endif
