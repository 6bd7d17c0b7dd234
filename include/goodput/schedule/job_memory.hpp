#ifndef GOODPUT_SCHEDULE_JOB_MEMORY_HPP
#define GOODPUT_SCHEDULE_JOB_MEMORY_HPP

// What a scheduler remembers of its jobs from one round to the next: how fast they are (job_kinds.hpp), how
// much they are likely to need (job_sizes.hpp), which batch plan each one runs with (running_plans.hpp), and
// how large a batch it was seen to use. A round is a snapshot, what was heard of its jobs, and a plan:
//
//     memory.take_in(snapshot, news);                 // fills in models, expected sizes, running plans
//     const Plan& plan = scheduler.plan(snapshot);
//     memory.keep(snapshot, plan);                    // or else the round was never there

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/core/job.hpp"
#include "goodput/core/sample.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/detail/news_slips.hpp"
#include "goodput/schedule/detail/saved_text.hpp"
#include "goodput/schedule/job_kinds.hpp"
#include "goodput/schedule/job_sizes.hpp"
#include "goodput/schedule/running_plans.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// What remembers the measurements of jobs and fits their models: meets a job of the round, adds a
/// measurement of one that it has met, fits what changed for a job, and says what is known of it. What comes
/// after begin_trial() is forgotten by undo(), and so are jobs, when told which of them are still there.
/// Satisfied by KindHistories.
template <class H>
concept JobHistories = requires(H& histories, const Job& job, std::size_t gpu_type,
                                const ThroughputSample& sample, bool (*keep)(const std::string& name)) {
    histories.meet(job);
    histories.add(job, gpu_type, sample);
    histories.refit(job);
    { histories.of(job).model() } -> std::convertible_to<const JobModel&>;
    histories.begin_trial();
    histories.undo();
    histories.forget_unless(keep);
};

/// The memory itself, a value.
template <JobHistories Histories = KindHistories>
class BasicJobMemory {
public:
    /// A memory without jobs.
    BasicJobMemory() = default;
    /// The same with histories of one's own.
    explicit BasicJobMemory(Histories histories) : histories_(std::move(histories)) {}

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
                 std::span<const std::string> cancelled = {}) {
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
        std::vector<std::pair<bool, BatchPlan>> said;  // by job: whether it reports its progress; its plan
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

    /// The round counts, with this plan. Jobs that are no longer there are forgotten, but for what they have
    /// shown of their kinds.
    void keep(const Snapshot& snapshot, const Plan& plan) {
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

    /// What is known of jobs' speed. With KindHistories, `histories().find(name)->model()` is the model of a
    /// job, and `fits()` what a Forecast makes intervals of.
    [[nodiscard]] const Histories& histories() const { return histories_; }

    /// Everything that it knows of rounds that were kept, as text that load() reads: a scheduler that is
    /// stopped and started again plans as if it had gone on.
    [[nodiscard]] std::string save() const {
        BasicJobMemory kept = *this;
        kept.undo();
        detail::TextWriter writer(saved_title);
        writer(kept.last_time_, kept.learned_, kept.histories_);
        return std::move(writer).text();
    }
    /// Knows from now on what save() has written, and nothing else; a snapshot that it has filled in before
    /// must not be shown to it again. What is no such text is refused, and changes nothing
    /// (std::invalid_argument).
    void load(std::string_view saved) {
        BasicJobMemory other(histories_);
        detail::TextReader reader(saved_title, saved);
        reader(other.last_time_, other.learned_, other.histories_);
        reader.end();
        if (!std::isfinite(other.last_time_.value_or(0)))
            bad_input("saved memory", "time", *other.last_time_, "finite");
        *this = std::move(other);
    }

private:
    static constexpr std::string_view saved_title = "goodput job memory 1";

    /// Where the last round was not kept, everything is as before it.
    void undo() {
        if (!on_trial_) return;
        histories_.undo();
        learned_ = before_;
        on_trial_ = false;
    }

    /// Takes back what the last take_in() filled in that would otherwise count as the caller's word. Where a
    /// field has another value by now, the caller has written it.
    void take_back(Snapshot& snapshot) {
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

    void learn(Job& job, const JobNews& news) {
        // All of it before any is learned: of a job that is set aside nothing stays.
        for (const NewSample& each : news.samples) {
            validate(each.sample, "job '" + job.name + "'");
            if (each.gpu_type >= job.types.size())
                bad_input("job '" + job.name + "'", "samples.gpu_type", each.gpu_type,
                          "below the number of GPU types, " + text_of(job.types.size()));
        }
        limit_batch(job, news);
        histories_.meet(job);
        // Beside another job on the same GPUs it was slower, by what the pair says already.
        if (learned_.sharing.contains(job.name)) return;
        for (const NewSample& each : news.samples) {
            learned_.running.note(job.name, each.gpu_type, each.sample);
            histories_.add(job, each.gpu_type, each.sample);
        }
    }

    void limit_batch(Job& job, const JobNews& news) {
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

    Histories histories_{};
    Learned learned_{}, before_{};
    std::map<std::string, Filled> filled_{};  // by job name
    bool on_trial_ = false;
    std::optional<double> last_time_{};  // of the last round that was kept
    std::vector<std::string> names_;
};

/// Memory with refined models by kind, which our own policies rely on.
using JobMemory = BasicJobMemory<>;

}  // namespace goodput

#endif
