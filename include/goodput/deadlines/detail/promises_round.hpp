#ifndef GOODPUT_DEADLINES_DETAIL_PROMISES_ROUND_HPP
#define GOODPUT_DEADLINES_DETAIL_PROMISES_ROUND_HPP

// Rounds in which jobs may have deadlines. Before each round, promises are kept and given (promises.hpp).
// Then the policy decides as usual. If all promises can still be kept after a round in which jobs get what
// the policy wants, that is the plan. Otherwise the policy decides again, at most twice. Then a promised
// job must run if its plan says so, and is offered only options that do as much for it as its plan. The
// policy distributes the rest of the cluster.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission_change.hpp"
#include "goodput/deadlines/detail/after_round.hpp"
#include "goodput/deadlines/detail/promise_maker.hpp"
#include "goodput/deadlines/detail/round_holdings.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/deadlines/promises_engine.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Plans a round until all promises can be kept after it. Remembers the promises from round to round.
class PromisesRound {
public:
    explicit PromisesRound(const PromisedRoundOptions& options) : options_(options) {
        validate(options.margins);
        require_at_least("promised rounds", "reserve_rounds", options.reserve_rounds, 0);
        set_round_seconds(options.round_seconds);
        promises_.options().order = options.order;
        // A round cannot wait for every proof, so the search is short.
        promises_.options().admission.most_orders = 4;
        promises_.options().admission.most_rounds = 40;
        promises_.options().admission.most_repairs = 2;
    }

    void set_round_seconds(double seconds) {
        require_positive("promised rounds", "round_seconds", seconds);
        holdings_.round_seconds = round_->round_seconds = seconds;
        promises_.options().admission.slot_seconds = seconds;
        promises_.options().reserve_seconds = options_.reserve_rounds * seconds;
    }

    void set_node_times(std::vector<NodeTimes> times) { holdings_.times = std::move(times); }

    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines,
                     const PromisedParts& parts, const AfterStep& step) {
        parts_ = parts;
        maker_ = {parts.joints.maker, round_.get()};
        Joints joints = parts.joints;
        joints.maker = maker_.joint();
        std::vector<std::string> repeated;  // dropped: the engine inside gives these warnings again
        once_ = snapshot;
        for (const SharingJobs& sharing : parts.sharing) hold_once(once_, sharing.jobs, deadlines);
        checked_ = &check_(once_, true, repeated);
        if (!holdings_.times.empty() && holdings_.times.size() != snapshot.cluster.nodes.size())
            bad_input("promised rounds", "number of node times", holdings_.times.size(),
                      "that of nodes, " + text_of(snapshot.cluster.nodes.size()));
        snapshot_ = snapshot;
        clock_ = Clock(parts.options.deadline);
        round_->enforced = false;
        round_->held_back.clear();
        alone_.clear();
        check_deadlines(checked_->jobs, deadlines);
        deadlines_.assign(deadlines.begin(), deadlines.end());
        answer();
        parts_.after_promises();
        // Attempt 0 is what the policy wants. Attempt 1 makes promised jobs run where their plans say.
        // Attempt 2 also keeps promised jobs in place that continue on the GPUs that they hold, and no other
        // job begins or restarts if it could not be moved in the next round.
        constexpr int attempts = 3;
        for (int attempt = 0;; ++attempt) {
            if (attempt > 0) enforce(attempt > 1);
            AllotOptions options = parts.options;
            options.deadline = part_of_time(attempts - attempt);
            const Plan& plan = parts.plan(snapshot_, joints, options, alone_, step);
            const bool kept = still_kept_after(plan);
            parts_.after_promises();
            if (!kept && attempt + 1 < attempts) continue;
            holdings_.end(snapshot_.jobs, plan);
            return plan;
        }
    }

    [[nodiscard]] bool enforced() const { return round_->enforced; }
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const { return answers_; }
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const {
        const std::string& name = snapshot_.jobs[deadlines_[deadline].job].name;
        const PromisedRound::PromisedJob* asking = round_->find(name);
        if (!asking || asking->job.deadline_seconds <= 0) return {};
        std::vector<DeadlineJob> jobs;
        for (const std::string& kept : promises_.kept())
            if (const auto* promised = round_->find(kept); promised && kept != name) {
                jobs.push_back(promised->job);
                const double early = promises_.with_reserve(jobs.back().deadline_seconds);
                if (promised->answer.done_by_seconds - snapshot_.time_seconds <= early)
                    jobs.back().deadline_seconds = early;
            }
        jobs.push_back(asking->job);
        jobs.back().deadline_seconds = promises_.with_reserve(jobs.back().deadline_seconds);
        AdmissionOptions admission = promises_.options().admission;
        admission.most_orders = jobs.size() > 100 ? 1 : 2;
        admission.most_rounds = jobs.size() > 100 ? 0 : 10;
        admission.most_repairs = 1;
        admission.deadline = part_of_time(2);
        if (admission.deadline && admission.deadline->count() == 0) return {};
        // A deadline within the next round needs no reserve, but a later one does.
        const double spared = jobs.back().deadline_seconds -
                              (asking->job.deadline_seconds - promises_.options().reserve_seconds);
        // Try the change with a full call of plan(), in which refused jobs ask again.
        const auto keeps = [&](const TriedChange& change) {
            std::vector<DeadlineJob> changed = asking_;
            if (change.without)
                std::erase_if(changed,
                              [&](const DeadlineJob& job) { return job.name == jobs[*change.without].name; });
            for (DeadlineJob& job : changed)
                if (job.name == name) job.deadline_seconds += change.seconds_later;
            Promises trial = before_;
            trial.options().admission.deadline = part_of_time(8);
            const std::vector<PromiseAnswer> found =
                trial.plan(snapshot_.time_seconds, change.cluster, changed);
            for (std::size_t i = 0; i < changed.size(); ++i)
                if (changed[i].name == name) return found[i].promise == Promise::kept;
            return false;
        };
        return goodput::what_would_help(cluster_, jobs, jobs.size() - 1, admission, spared, keeps);
    }

    void add_notes(std::vector<DecisionExplanation>& all) const {
        for (std::size_t k = 0; k < answers_.size(); ++k) {
            const PromiseAnswer& answer = answers_[k];
            if (answer.promise != Promise::kept) continue;
            std::string note = "promised: its end " +
                               rounded_text_of(deadlines_[k].deadline_seconds - answer.done_by_seconds) +
                               " s before its deadline";
            if (round_->enforced && answer.now)
                note += ", and for that at least " + text_of(answer.now->gpus) + " " +
                        snapshot_.cluster.gpu_types[answer.now->gpu_type] + " for " +
                        rounded_text_of(answer.until_seconds - snapshot_.time_seconds) + " s";
            all[deadlines_[k].job].notes.push_back(std::move(note));
        }
    }

    [[nodiscard]] const Snapshot& planned() const { return snapshot_; }
    [[nodiscard]] Promises& promises() { return promises_; }

private:
    [[nodiscard]] std::optional<std::chrono::nanoseconds> part_of_time(int parts) const {
        const auto left = clock_.left();
        if (!left) return std::nullopt;
        return *left / parts;
    }
    static void check_deadlines(const std::vector<Job>& jobs, std::span<const Deadline> deadlines) {
        std::vector<char> seen(jobs.size(), 0);
        for (const Deadline& deadline : deadlines) {
            if (deadline.job >= jobs.size())
                bad_input("deadline", "job", deadline.job,
                          "below the number of jobs, " + text_of(jobs.size()));
            const std::string subject = "job '" + jobs[deadline.job].name + "'";
            if (!std::isfinite(deadline.deadline_seconds))
                bad_input(subject, "deadline_seconds", deadline.deadline_seconds, "finite");
            if (deadline.work && !(std::isfinite(*deadline.work) && *deadline.work >= 0))
                bad_input(subject, "work", *deadline.work, "a finite number of at least 0");
            if (std::exchange(seen[deadline.job], 1))
                bad_input(subject, "deadline_seconds", std::string_view("given twice"), "given once");
        }
    }

    /// Forgets the promises of jobs whose names now belong to other jobs, submitted at other times.
    void forget_replaced(const std::vector<Job>& jobs) {
        std::map<std::string, double> submitted;
        std::set<std::string> same;
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const auto before = submitted_.find(jobs[j].name);
            const bool known = before != submitted_.end();
            // While a job is set aside, nothing in its description counts.
            const double now = known && check_.is_set_aside(j) ? before->second : jobs[j].submitted_seconds;
            submitted.try_emplace(jobs[j].name, now);
            if (known && before->second != now)
                holdings_.forget(jobs[j].name);
            else
                same.insert(jobs[j].name);
        }
        promises_.keep_only(same);
        submitted_ = std::move(submitted);
    }

    /// Finds what promises count on in this round, and answers all deadlines.
    void answer() {
        const std::vector<Job>& jobs = checked_->jobs;
        answers_.assign(deadlines_.size(), {});
        round_->jobs.clear();
        round_->pools = promised_pools(checked_->cluster);
        forget_replaced(jobs);
        holdings_.begin(*checked_, check_, parts_.sharing);
        std::vector<std::size_t> deadline_of(jobs.size(), deadlines_.size());
        for (std::size_t k = 0; k < deadlines_.size(); ++k) deadline_of[deadlines_[k].job] = k;
        asking_.clear();
        std::vector<Reservation> reservations;
        bool may_get_more_gpus = false;  // a job that is set aside may be movable once it is valid again
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const bool is_due = deadline_of[j] < deadlines_.size();
            // A second job of a name is set aside. What is known of the name is of the first.
            const bool is_second = round_->jobs.contains(jobs[j].name);
            std::string why = is_second ? "it is set aside" : "";
            std::optional<DeadlineJob> promised;
            if (!is_second) promised = ask(j, is_due ? &deadlines_[deadline_of[j]] : nullptr, why);
            if (is_due) answers_[deadline_of[j]].why = why;
            const auto partner = holdings_.partner_of(j);
            holdings_.reserve(reservations, jobs[j], promised ? &*promised : nullptr, holdings_.comes_back(j),
                              holdings_.restart_left_here(j), partner && holdings_.is_bound(*partner));
            may_get_more_gpus |= !promised && check_.is_set_aside(j) && !jobs[j].placement.empty();
            if ((!promised && !is_due) || is_second) continue;
            PromisedRound::PromisedJob& known = round_->jobs[jobs[j].name];
            known.index = j;
            known.deadline = deadline_of[j];
            known.answer.why = std::move(why);
            if (!promised) continue;
            known.job = *promised;
            asking_.push_back(std::move(*promised));
        }
        cluster_ = promised_cluster(*checked_, round_->pools, reservations, holdings_.times);
        promises_.options().may_get_more_gpus = may_get_more_gpus;
        promises_.options().admission.deadline = part_of_time(2);
        before_ = promises_;
        const std::vector<PromiseAnswer> found = promises_.plan(snapshot_.time_seconds, cluster_, asking_);
        for (std::size_t i = 0; i < asking_.size(); ++i) {
            PromiseAnswer& answer = round_->jobs[asking_[i].name].answer;
            // The reason why no plan can count on a job says more than that no plan was found.
            std::string why = std::exchange(answer, found[i]).why;
            if (answer.promise == Promise::refused && !why.empty()) answer.why = std::move(why);
        }
        for (auto& [name, promised] : round_->jobs)
            if (promised.deadline < deadlines_.size()) note_answer(promised);
    }
    /// Takes a job's answer as that of its deadline, and finds whether the job may run.
    void note_answer(PromisedRound::PromisedJob& promised) {
        const Deadline& deadline = deadlines_[promised.deadline];
        const Job& job = checked_->jobs[promised.index];
        PromiseAnswer& answer = answers_[promised.deadline] = promised.answer;
        if (answer.now) answer.now->gpu_type = round_->pools[answer.now->gpu_type].gpu_type;
        // A job whose promise is broken continues if it has done some of its work.
        promised.may_not_run =
            deadline.or_never && (answer.promise == Promise::broken
                                      ? job.placement.empty() && job.attained_gpu_seconds <= 0
                                      : answer.promise == Promise::refused && !is_held_in_place(job));
        if (!promised.may_not_run) return;
        for (TypeLimits& type : snapshot_.jobs[promised.index].types) type.max_atomic_batch = 0;
    }
    /// Returns a job as promises count on it. Returns nothing if it has neither a deadline nor a promise,
    /// or if its remaining work is unknown; `why` then gives the reason. If nothing is known about a
    /// promised job in this round, returns the state that it should have by now.
    [[nodiscard]] std::optional<DeadlineJob> ask(std::size_t j, const Deadline* deadline, std::string& why) {
        const Job& job = checked_->jobs[j];
        std::optional<DeadlineJob> promised;
        const bool aside = check_.is_set_aside(j);
        const std::optional<double> work =
            deadline && !aside ? promised_work(job, *deadline, options_.margins) : std::nullopt;
        if (work) {
            promised = promised_job(*checked_, round_->pools, *deadline, *work, parts_.predictor,
                                    options_.margins, why);
        } else if (deadline || aside) {
            promised = promises_.expected(job.name, checked_->time_seconds);
            if (promised && promised->speed.size() != round_->pools.size()) promised.reset();
            if (promised && deadline)
                promised->deadline_seconds = deadline->deadline_seconds - checked_->time_seconds;
            if (!promised)
                why = aside ? "it is set aside"
                            : "how much work it has left is neither declared nor known from other jobs";
        }
        if (!promised) return promised;
        slow_down(*promised, holdings_.tied_part(j));
        holdings_.hold(*promised, *checked_, job, round_->pools, holdings_.restart_left(j),
                       aside             ? holdings_.round_seconds
                       : job.preemptible ? holdings_.whole_rounds(holdings_.restart_left_here(j))
                                         : std::numeric_limits<double>::infinity());
        if (!promised->holds && !job.placement.empty() && !job.preemptible && !aside)
            why =
                "it cannot be moved from GPUs that plans over time do not count on: "
                "spot nodes, or nodes of several sizes";
        return promised;
    }

    /// Makes promised jobs run where their plans say, and drops minimum run times. `strictly`: promised
    /// jobs that continue on their GPUs stay there, and a job that could not be moved in the next round
    /// does not begin or restart, unless its plan says so.
    void enforce(bool strictly) {
        round_->enforced = true;
        for (Job& job : snapshot_.jobs) job.just_started = false;
        for (const auto& [name, promised] : round_->jobs) {
            if (promised.deadline == deadlines_.size() || !promised.answer.now) continue;
            const std::size_t j = promised.index;
            Job& job = snapshot_.jobs[j];
            job.must_run = true;
            alone_.push_back(j);
            if (strictly && !holdings_.partner_of(j) && promised.job.holds == promised.answer.now)
                job.preemptible = false;
        }
        if (!strictly) return;
        for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j)
            if (round_->kept(checked_->jobs[j].name, j)) alone_.push_back(j);
        for (const Job& job : snapshot_.jobs)
            if (const auto* promised = round_->find(job.name);
                (!job.preemptible || job.restart_cost_seconds > holdings_.round_seconds) &&
                !is_held_in_place(job) &&
                !(promised && promised->answer.promise == Promise::kept && promised->answer.now))
                round_->held_back.insert(job.name);
    }

    /// Returns whether all promises can be kept from the next round on if this plan is carried out now, and
    /// jobs are as fast as promises count on. If so, the answers say when jobs end under this plan.
    bool still_kept_after(const Plan& plan) {
        const double later = snapshot_.time_seconds + holdings_.round_seconds;
        std::optional<AfterRound> after = AfterRoundFinder{*checked_, *round_, holdings_, deadlines_}(plan);
        if (!after) return false;
        promises_.options().admission.deadline = part_of_time(2);
        if (!after->jobs.empty() && !promises_.keep_from(later, after->cluster, after->jobs)) return false;
        for (std::size_t i = 0; i < after->jobs.size(); ++i) {
            if (after->deadline_of[i] == deadlines_.size()) continue;
            double& done_by = answers_[after->deadline_of[i]].done_by_seconds;
            if (std::isfinite(after->ends[i]))
                done_by = after->ends[i];
            else if (after->jobs[i].work_left > 0)
                done_by = promises_.done_by(later, after->jobs[i]);
        }
        return true;
    }

    PromisedRoundOptions options_;
    PromisedParts parts_{};              // parts of the plan that is being made
    Promises promises_{}, before_{};     // before_: the promises before the last plan
    std::vector<DeadlineJob> asking_{};  // jobs that asked in the last plan
    std::unique_ptr<PromisedRound> round_ = std::make_unique<PromisedRound>();  // the maker reads it
    PromiseMaker maker_{};
    SnapshotCheck check_{};
    Clock clock_{};  // of the plan that is being made
    RoundHoldings holdings_{};
    std::map<std::string, double> submitted_{};  // by name: when the last round's job was submitted
    Snapshot once_{};                    // the snapshot as given, except that no two jobs hold the same GPU
    const Snapshot* checked_ = nullptr;  // once_ without its invalid jobs and nodes
    Snapshot snapshot_{};                // the snapshot that is planned
    std::vector<std::size_t> alone_{};   // jobs that must share their GPUs with no other job
    ClusterOverTime cluster_{};
    std::vector<Deadline> deadlines_{};
    std::vector<PromiseAnswer> answers_{};
};

}  // namespace goodput::inline v0_1::detail

namespace goodput::inline v0_1 {

GOODPUT_BODY PromisesEngine::PromisesEngine(const PromisedRoundOptions& options)
    : round_(std::make_unique<detail::PromisesRound>(options)) {}
GOODPUT_BODY
PromisesEngine::PromisesEngine(PromisesEngine&&) noexcept = default;
GOODPUT_BODY PromisesEngine& PromisesEngine::operator=(PromisesEngine&&) noexcept = default;
GOODPUT_BODY PromisesEngine::~PromisesEngine() = default;

GOODPUT_BODY void PromisesEngine::set_round_seconds(double seconds) { round_->set_round_seconds(seconds); }
GOODPUT_BODY void PromisesEngine::set_node_times(std::vector<NodeTimes> times) {
    round_->set_node_times(std::move(times));
}
GOODPUT_BODY const Plan& PromisesEngine::plan(const Snapshot& snapshot, std::span<const Deadline> deadlines,
                                              const PromisedParts& parts, const AfterStep& step) {
    return round_->plan(snapshot, deadlines, parts, step);
}
GOODPUT_BODY bool PromisesEngine::enforced() const { return round_->enforced(); }
GOODPUT_BODY const std::vector<PromiseAnswer>& PromisesEngine::answers() const { return round_->answers(); }
GOODPUT_BODY std::string PromisesEngine::what_would_help(std::size_t deadline) const {
    return round_->what_would_help(deadline);
}
GOODPUT_BODY void PromisesEngine::add_notes(std::vector<DecisionExplanation>& all) const {
    round_->add_notes(all);
}
GOODPUT_BODY const Snapshot& PromisesEngine::planned() const { return round_->planned(); }
GOODPUT_BODY Promises& PromisesEngine::promises() { return round_->promises(); }

}  // namespace goodput::inline v0_1

#endif
