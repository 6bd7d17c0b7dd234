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
#include "goodput/deadlines/detail/promise_maker.hpp"
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
        options_.round_seconds = round_->round_seconds = seconds;
        promises_.options().admission.slot_seconds = seconds;
        promises_.options().reserve_seconds = options_.reserve_rounds * seconds;
    }

    void set_node_times(std::vector<NodeTimes> times) { times_ = std::move(times); }

    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines,
                     const PromisedParts& parts, const AfterStep& step) {
        parts_ = parts;
        maker_ = {parts.joints.maker, round_.get()};
        Joints joints = parts.joints;
        joints.maker = maker_.joint();
        std::vector<std::string> repeated;  // dropped: the engine inside gives these warnings again
        once_ = snapshot;
        for (const SharingJobs& sharing : parts.sharing) hold_once(once_, sharing.jobs, deadlines);
        const Snapshot& checked = check_(once_, true, repeated);
        if (!times_.empty() && times_.size() != snapshot.cluster.nodes.size())
            bad_input("promised rounds", "number of node times", times_.size(),
                      "that of nodes, " + text_of(snapshot.cluster.nodes.size()));
        snapshot_ = snapshot;
        clock_ = Clock(parts.options.deadline);
        round_->enforced = false;
        round_->held_back.clear();
        alone_.clear();
        answer(checked, deadlines);
        for (const auto& [name, promised] : round_->jobs)
            if (promised.may_not_run)
                for (TypeLimits& type : snapshot_.jobs[deadlines_[promised.deadline].job].types)
                    type.max_atomic_batch = 0;
        after_promises_();
        // Attempt 0 is what the policy wants. Attempt 1 makes promised jobs run where their plans say.
        // Attempt 2 also keeps promised jobs in place that continue on the GPUs that they hold, and no other
        // job begins or restarts if it could not be moved in the next round.
        constexpr int attempts = 3;
        for (int attempt = 0;; ++attempt) {
            if (attempt > 0) enforce(attempt > 1);
            AllotOptions options = parts.options;
            options.deadline = part_of_time(attempts - attempt);
            const Plan& plan = parts.plan(snapshot_, joints, options, alone_, step);
            const bool kept = still_kept_after(checked, plan);
            after_promises_();
            if (!kept && attempt + 1 < attempts) continue;
            note_starts(plan);
            return plan;
        }
    }
    /// Sets the function to call after each step that concerns promises.
    void after_promises(std::function<void()> call) { after_promises_ = std::move(call); }

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
    /// Returns whether a job cannot be moved now, not even for a promise. A minimum run time does not
    /// count, because promises come before it.
    [[nodiscard]] static bool is_held_in_place(const Job& job) {
        return !job.placement.empty() && (!job.preemptible || job.restarting);
    }
    /// Returns the seconds until a restarting job can be moved again.
    [[nodiscard]] double restart_left(const Job& job) const {
        const auto began = began_.find(job.name);
        if (began == began_.end()) return 0;
        return std::max(0.0, began->second + job.restart_cost_seconds - snapshot_.time_seconds);
    }
    [[nodiscard]] double whole_rounds(double seconds) const {
        return std::max(1.0, std::ceil(seconds / options_.round_seconds - 1e-9)) * options_.round_seconds;
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
                began_.erase(jobs[j].name);
            else
                same.insert(jobs[j].name);
        }
        promises_.keep_only(same);
        submitted_ = std::move(submitted);
    }

    /// If two jobs hold the same GPUs, makes one of them hold the GPUs for both, as promises see it: the
    /// job with a deadline, or else the first. That job cannot be moved if the other one cannot.
    static void hold_once(Snapshot& snapshot, const std::array<std::size_t, 2>& jobs,
                          std::span<const Deadline> deadlines) {
        const auto is_due = [&](std::size_t job) {
            return std::ranges::count(deadlines, job, &Deadline::job) > 0;
        };
        auto [holder, other] = jobs;
        if (is_due(other) && !is_due(holder)) std::swap(holder, other);
        Job& holds = snapshot.jobs[holder];
        holds.preemptible &= snapshot.jobs[other].preemptible;
        holds.restarting |= snapshot.jobs[other].restarting;
        snapshot.jobs[other].placement.clear();
    }
    /// Returns whether a job cannot be stopped before it ends. One that is set aside for this round alone can
    /// be stopped in the next.
    [[nodiscard]] bool is_bound(const std::vector<Job>& jobs, std::size_t j) const {
        return !jobs[j].preemptible && !comes_back(j);
    }
    /// Returns whether two jobs that share GPUs cannot be separated before one of them ends.
    [[nodiscard]] bool are_tied(const std::vector<Job>& jobs, const std::array<std::size_t, 2>& both) const {
        return is_bound(jobs, both[0]) || is_bound(jobs, both[1]);
    }
    /// Returns the pair in which a job shares its GPUs now, or null if it shares with no job.
    [[nodiscard]] const SharingJobs* sharing_of(std::size_t j) const {
        const auto at = std::ranges::find_if(parts_.sharing, [&](const SharingJobs& sharing) {
            return std::ranges::count(sharing.jobs, j) > 0;
        });
        return at == parts_.sharing.end() ? nullptr : &*at;
    }
    /// Returns the job that shares a job's GPUs now, if any.
    [[nodiscard]] std::optional<std::size_t> partner_now(std::size_t j) const {
        const SharingJobs* sharing = sharing_of(j);
        return sharing ? std::optional(sharing->jobs[sharing->jobs[0] == j]) : std::nullopt;
    }
    /// Returns the seconds until neither a job nor the job that shares its GPUs is restarting.
    [[nodiscard]] double restart_left_here(const std::vector<Job>& jobs, std::size_t j) const {
        const auto partner = partner_now(j);
        return std::max(restart_left(jobs[j]), partner ? restart_left(jobs[*partner]) : 0);
    }
    /// Returns which fraction of its speed alone a job has while it is bound to the job that shares its
    /// GPUs; 1 means its full speed.
    [[nodiscard]] double tied_part(const std::vector<Job>& jobs, std::size_t j) const {
        const SharingJobs* sharing = sharing_of(j);
        return sharing && are_tied(jobs, sharing->jobs) ? sharing->parts[sharing->jobs[1] == j] : 1;
    }
    static void slow_down(DeadlineJob& job, double part) {
        for (std::vector<double>& speeds : job.speed)
            for (double& speed : speeds) speed *= part;
        for (SpeedWith& size : job.other_sizes) size.speed *= part;
    }

    /// Answers for this round. `checked` is the snapshot without its invalid jobs and nodes.
    void answer(const Snapshot& checked, std::span<const Deadline> deadlines) {
        const std::vector<Job>& jobs = checked.jobs;
        check_deadlines(jobs, deadlines);
        deadlines_.assign(deadlines.begin(), deadlines.end());
        answers_.assign(deadlines.size(), {});
        round_->jobs.clear();
        round_->pools = promised_pools(checked.cluster);
        forget_replaced(jobs);
        std::set<std::string> names;
        for (const Job& job : jobs) {
            names.insert(job.name);
            if (job.restarting) began_.try_emplace(job.name, checked.time_seconds - options_.round_seconds);
        }
        std::erase_if(began_, [&](const auto& began) { return !names.contains(began.first); });

        std::vector<std::size_t> deadline_of(jobs.size(), deadlines.size());
        for (std::size_t k = 0; k < deadlines.size(); ++k) deadline_of[deadlines[k].job] = k;
        std::vector<DeadlineJob> asking;
        reservations_.clear();
        bool may_get_more_gpus = false;  // a job that is set aside may be movable once it is valid again
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const Job& job = jobs[j];
            std::optional<DeadlineJob> promised =
                ask(checked, j, deadline_of[j] < deadlines.size() ? &deadlines_[deadline_of[j]] : nullptr,
                    deadline_of[j] < deadlines.size() ? &answers_[deadline_of[j]].why : nullptr);
            const auto partner = partner_now(j);
            reserve(job, promised ? &*promised : nullptr, comes_back(j), restart_left_here(jobs, j),
                    partner && is_bound(jobs, *partner));
            may_get_more_gpus |= !promised && check_.is_set_aside(j) && !job.placement.empty();
            if (!promised && deadline_of[j] < deadlines.size()) {
                PromisedRound::PromisedJob& unknown = round_->jobs[job.name];
                unknown.deadline = deadline_of[j];
                unknown.answer.why = answers_[deadline_of[j]].why;
                unknown.may_not_run = deadlines_[deadline_of[j]].or_never && !is_held_in_place(job);
            }
            if (!promised) continue;
            if (round_->jobs.contains(job.name)) continue;  // a second job of this name, which is set aside
            round_->jobs[job.name] = {*promised, {}, false, deadline_of[j]};
            asking.push_back(std::move(*promised));
        }
        cluster_ = promised_cluster(checked, round_->pools, reservations_, times_);
        promises_.options().may_get_more_gpus = may_get_more_gpus;
        promises_.options().admission.deadline = part_of_time(2);
        before_ = promises_;
        const std::vector<PromiseAnswer> found = promises_.plan(snapshot_.time_seconds, cluster_, asking);
        for (std::size_t i = 0; i < asking.size(); ++i) {
            PromisedRound::PromisedJob& promised = round_->jobs[asking[i].name];
            promised.answer = found[i];
            if (promised.deadline == deadlines.size()) continue;
            PromiseAnswer& answer = answers_[promised.deadline];
            std::string why = std::move(answer.why);  // reason of a job that no plan can count on
            answer = found[i];
            const Job& job = jobs[deadlines_[promised.deadline].job];
            if (answer.promise == Promise::refused) {
                if (!why.empty()) answer.why = promised.answer.why = why;
                promised.may_not_run = deadlines_[promised.deadline].or_never && !is_held_in_place(job);
            }
            // A job whose promise is broken continues if it has done some of its work.
            if (answer.promise == Promise::broken)
                promised.may_not_run = deadlines_[promised.deadline].or_never && job.placement.empty() &&
                                       job.attained_gpu_seconds <= 0;
            if (answer.now) answer.now->gpu_type = round_->pools[answer.now->gpu_type].gpu_type;
        }
        asking_ = std::move(asking);
    }
    /// Returns a job as promises count on it. Returns nothing if it has neither a deadline nor a promise,
    /// or if its remaining work is unknown; `why` then gives the reason. If nothing is known about a
    /// promised job in this round, returns the state that it should have by now.
    [[nodiscard]] std::optional<DeadlineJob> ask(const Snapshot& checked, std::size_t j,
                                                 const Deadline* deadline, std::string* why) {
        const Job& job = checked.jobs[j];
        std::optional<DeadlineJob> promised;
        const bool aside = check_.is_set_aside(j);
        const std::optional<double> work =
            deadline && !aside ? promised_work(job, *deadline, options_.margins) : std::nullopt;
        if (work) {
            promised = promised_job(checked, round_->pools, *deadline, *work, parts_.predictor,
                                    options_.margins, *why);
        } else if (deadline || aside) {
            promised = promises_.expected(job.name, checked.time_seconds);
            if (promised && promised->speed.size() != round_->pools.size()) promised.reset();
            if (promised) promised->holds = held_gpus(checked, round_->pools, job.placement);
            if (promised && deadline)
                promised->deadline_seconds = deadline->deadline_seconds - checked.time_seconds;
            if (why && !promised)
                *why = aside ? "it is set aside"
                             : "how much work it has left is neither declared nor known from other jobs";
        }
        if (!promised) return promised;
        slow_down(*promised, tied_part(checked.jobs, j));
        promised->restart_left_seconds = promised->holds ? restart_left(job) : 0;
        promised->held_until_seconds = stay_seconds(job.placement, checked.time_seconds);
        if (is_held_in_place(job)) {
            const double from = aside             ? options_.round_seconds
                                : job.preemptible ? whole_rounds(restart_left_here(checked.jobs, j))
                                                  : std::numeric_limits<double>::infinity();
            promised->from_seconds = std::min(from, promised->held_until_seconds);
        }
        return promised;
    }
    /// Returns the seconds from `time_seconds` until the first of these nodes leaves. A node that should
    /// have left but is still there counts as staying.
    [[nodiscard]] double stay_seconds(const Placement& placement, double time_seconds) const {
        double stay = std::numeric_limits<double>::infinity();
        for (const NodeShare& share : placement)
            if (share.node < times_.size() && times_[share.node].until_seconds > time_seconds)
                stay = std::min(stay, times_[share.node].until_seconds - time_seconds);
        return stay;
    }
    /// Returns whether a job that could be moved in the round before is now set aside (as invalid). Such a
    /// job is assumed to be valid again in the next round.
    [[nodiscard]] bool comes_back(std::size_t j) const {
        return check_.is_set_aside(j) && movable_.contains(snapshot_.jobs[j].name);
    }
    /// Returns the GPUs that a job holds, and those GPUs of its nodes that are unusable because the job has
    /// the cores or the memory that go with them.
    [[nodiscard]] Placement with_host_gpus(const Job& job) const {
        Placement taken = job.placement;
        for (NodeShare& share : taken) {
            if (!job.host || share.node >= snapshot_.cluster.nodes.size()) continue;
            const Node& node = snapshot_.cluster.nodes[share.node];
            const int held = share.gpus;
            const auto take = [&](double has, double needs) {
                if (!(has > 0)) return;
                const double gpus = std::ceil(needs * held * node.gpus / has - 1e-9);
                share.gpus = std::max(share.gpus, static_cast<int>(std::min<double>(gpus, node.gpus)));
            };
            take(node.cores, job.host->least.cores_per_gpu);
            take(node.memory_gib, job.host->least.memory_gib_per_gpu);
        }
        return taken;
    }
    /// Reserves what a job holds until the job can be moved, or until its end if it is promised an end on
    /// these GPUs. `partner_stays`: another job has the same GPUs and cannot be moved.
    void reserve(const Job& job, const DeadlineJob* promised, bool comes_back, double restart_seconds_left,
                 bool partner_stays) {
        if (!is_held_in_place(job)) return;
        double until = std::numeric_limits<double>::infinity();
        if (promised && !partner_stays) {
            until = promised->from_seconds;
            if (std::isinf(until))
                if (const double end = done_after(*promised, {}); std::isfinite(end))
                    until = whole_rounds(end);
        } else if (!partner_stays && (job.preemptible || comes_back)) {
            until = whole_rounds(restart_seconds_left);
        }
        reservations_.push_back({with_host_gpus(job), until});
    }

    /// Makes promised jobs run where their plans say, and drops minimum run times. `strictly`: promised
    /// jobs that continue on their GPUs stay there, and a job that could not be moved in the next round
    /// does not begin or restart, unless its plan says so.
    void enforce(bool strictly) {
        round_->enforced = true;
        for (Job& job : snapshot_.jobs) job.just_started = false;
        for (const auto& [name, promised] : round_->jobs) {
            if (promised.deadline == deadlines_.size() || promised.answer.promise == Promise::refused ||
                promised.answer.promise == Promise::broken || !promised.answer.now)
                continue;
            const std::size_t j = deadlines_[promised.deadline].job;
            Job& job = snapshot_.jobs[j];
            job.must_run = true;
            alone_.push_back(j);
            if (strictly && !sharing_of(j) && promised.job.holds == promised.answer.now)
                job.preemptible = false;
        }
        if (!strictly) return;
        for (std::size_t j = 0; j < snapshot_.jobs.size(); ++j)
            if (is_kept(snapshot_.jobs[j])) alone_.push_back(j);
        for (const Job& job : snapshot_.jobs)
            if (const auto* promised = round_->find(job.name);
                (!job.preemptible || job.restart_cost_seconds > options_.round_seconds) &&
                !is_held_in_place(job) &&
                !(promised && promised->answer.promise == Promise::kept && promised->answer.now))
                round_->held_back.insert(job.name);
    }

    /// Returns the seconds of restart that a job has ahead of it once this decision is carried out.
    [[nodiscard]] double restart_after(const Job& job, const Decision& decision) const {
        return decision.starts              ? job.restart_cost_seconds
               : decision.placement.empty() ? 0
                                            : restart_left(job);
    }
    /// Returns whether the job's promise has been kept so far.
    [[nodiscard]] bool is_kept(const Job& job) const {
        const auto* promised = round_->find(job.name);
        return promised && promised->answer.promise == Promise::kept;
    }

    /// Returns whether all promises can be kept from the next round on if this plan is carried out now, and
    /// jobs are as fast as promises count on.
    bool still_kept_after(const Snapshot& checked, const Plan& plan) {
        const double round = options_.round_seconds, later = snapshot_.time_seconds + round;
        const std::vector<PromiseAnswer> before = answers_;
        Snapshot then{.time_seconds = later, .cluster = checked.cluster, .jobs = checked.jobs};
        for (std::size_t j = 0; j < then.jobs.size(); ++j)
            then.jobs[j].placement = plan.decisions[j].placement;
        std::vector<char> newly_tied(then.jobs.size()), partner_stays(then.jobs.size());
        for (std::size_t j = 0; j < then.jobs.size(); ++j) {
            const auto& partner = plan.decisions[j].shares_with;
            if (!partner) continue;
            newly_tied[j] = partner_now(j) != *partner && are_tied(checked.jobs, {j, *partner});
            partner_stays[j] = is_bound(checked.jobs, *partner);
            // Both jobs would need a promised end while they share these GPUs.
            if (newly_tied[j] && is_kept(then.jobs[j]) && is_kept(then.jobs[*partner])) return false;
            if (*partner > j) hold_once(then, {j, *partner}, deadlines_);
        }
        reservations_.clear();
        std::vector<DeadlineJob> jobs;
        std::vector<std::size_t> deadline_of;
        for (std::size_t j = 0; j < then.jobs.size(); ++j) {
            Job& job = then.jobs[j];
            const Decision& decision = plan.decisions[j];
            const double restart = restart_after(job, decision);
            const double stays = stay_seconds(decision.placement, snapshot_.time_seconds);
            if (stays <= round) job.placement.clear();
            const auto& partner = decision.shares_with;
            const double held =
                std::max(restart, partner ? restart_after(then.jobs[*partner], plan.decisions[*partner]) : 0);
            job.restarting = held > round && !job.placement.empty();
            const auto* promised = round_->find(job.name);
            if (comes_back(j) || (is_kept(job) && check_.is_set_aside(j))) job.preemptible = true;
            std::optional<DeadlineJob> left;
            if (is_kept(job)) {
                left = promised->job;
                if (newly_tied[j]) slow_down(*left, decision.part_of_speed);
                left->deadline_seconds -= round;
                left->holds = held_gpus(then, round_->pools, job.placement);
                const std::optional<HeldGpus> holds = held_gpus(then, round_->pools, decision.placement);
                left->restart_left_seconds = left->holds ? std::max(0.0, restart - round) : 0;
                left->held_until_seconds = stay_seconds(job.placement, later);
                left->from_seconds = 0;
                if (is_held_in_place(job))
                    left->from_seconds = std::min(left->held_until_seconds,
                                                  job.preemptible ? whole_rounds(held - round)
                                                                  : std::numeric_limits<double>::infinity());
                double speed = holds ? left->speed_on(*holds) : 0;
                // The job may hold a size that it was not offered before, or that it cannot use. Plans can
                // count on such a size only if they know that the job stays on it.
                if (holds && speed == 0 && decision.option.goodput > 0) {
                    speed = promised_speed(*left, *holds);
                    if (!job.preemptible || why_not_planned(job, then.cluster, round_->pools[holds->gpu_type],
                                                            decision.option.configuration.first())
                                                .empty())
                        left->other_sizes.push_back({*holds, speed});
                }
                // The speed of tied jobs already includes the slowdown.
                if (partner && !are_tied(checked.jobs, {j, *partner})) speed *= decision.part_of_speed;
                const double seconds = std::min({round, stays, promised->job.deadline_seconds});
                const double work = speed * std::max(0.0, seconds - restart);
                const bool ends = work >= left->work_left * (1 - detail::deadline_tolerance);
                if (promised->deadline < answers_.size() && ends && left->work_left > 0)
                    answers_[promised->deadline].done_by_seconds =
                        snapshot_.time_seconds + (speed > 0 ? restart + left->work_left / speed : 0);
                if (!ends && left->deadline_seconds <= 0) {
                    answers_ = before;
                    return false;
                }
                left->work_left = ends ? 0 : left->work_left - work;
                deadline_of.push_back(promised->deadline);
            }
            reserve(job, left ? &*left : nullptr, false, held - round, partner_stays[j]);
            if (left) jobs.push_back(std::move(*left));
        }
        if (jobs.empty()) return true;
        promises_.options().admission.deadline = part_of_time(2);
        const ClusterOverTime cluster = promised_cluster(then, round_->pools, reservations_, times_);
        if (!promises_.keep_from(later, cluster, jobs)) {
            answers_ = before;
            return false;
        }
        for (std::size_t i = 0; i < jobs.size(); ++i)
            if (jobs[i].work_left > 0 && deadline_of[i] < answers_.size())
                answers_[deadline_of[i]].done_by_seconds = promises_.done_by(later, jobs[i]);
        return true;
    }

    /// Remembers when the restarts that this plan orders began, and which jobs can be moved.
    void note_starts(const Plan& plan) {
        movable_.clear();
        for (std::size_t j = 0; j < plan.decisions.size(); ++j) {
            const std::string& name = snapshot_.jobs[j].name;
            if (!check_.is_set_aside(j) && snapshot_.jobs[j].preemptible) movable_.insert(name);
            if (plan.decisions[j].starts)
                began_[name] = snapshot_.time_seconds;
            else if (plan.decisions[j].placement.empty())
                began_.erase(name);
        }
    }

    PromisedRoundOptions options_;
    PromisedParts parts_{};              // parts of the plan that is being made
    Promises promises_{}, before_{};     // before_: the promises before the last plan
    std::vector<DeadlineJob> asking_{};  // jobs that asked in the last plan
    std::unique_ptr<PromisedRound> round_ = std::make_unique<PromisedRound>();  // the maker reads it
    PromiseMaker maker_{};
    SnapshotCheck check_{};
    Clock clock_{};  // of the plan that is being made
    std::function<void()> after_promises_ = [] {};
    std::map<std::string, double>
        began_{};  // when jobs began the restart that they are in, or their last one
    std::map<std::string, double> submitted_{};  // by name: when the last round's job was submitted
    std::set<std::string> movable_{};            // movable jobs of the last round
    std::vector<Reservation> reservations_{};
    Snapshot once_{};                   // the snapshot as given, except that no two jobs hold the same GPU
    Snapshot snapshot_{};               // the snapshot that is planned
    std::vector<std::size_t> alone_{};  // jobs that must share their GPUs with no other job
    ClusterOverTime cluster_{};
    std::vector<NodeTimes> times_{};
    std::vector<Deadline> deadlines_{};
    std::vector<PromiseAnswer> answers_{};
};

}  // namespace goodput::inline v0_1::detail

namespace goodput::inline v0_1 {

GOODPUT_BODY PromisesEngine::PromisesEngine(const PromisedRoundOptions& options)
    : round_(std::make_unique<detail::PromisesRound>(options)) {}
GOODPUT_BODY PromisesEngine::PromisesEngine(PromisesEngine&&) noexcept = default;
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
GOODPUT_BODY void PromisesEngine::after_promises(std::function<void()> call) {
    round_->after_promises(std::move(call));
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
