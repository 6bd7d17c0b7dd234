#ifndef GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP
#define GOODPUT_DEADLINES_PROMISED_SCHEDULER_HPP

// Rounds in which jobs may have deadlines. Before each round promises are kept and given (promises.hpp). Then
// the policy decides as ever. If all promises can still be kept after a round of what it wants, that is the
// plan. If not, it decides again, and in this round a promised job must run where its own plan says so, and
// is offered only what does as much as that; the rest of the cluster still goes to whom the policy says.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/deadlines/admission_change.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/scheduler.hpp"

namespace goodput {

/// How promises are given and kept in rounds.
struct PromisedRoundOptions {
    double round_seconds = 60;  ///< until the next round, above 0: plans change GPUs at whole rounds
    /// Rounds before its deadline at which a job is planned to end, at least 0: rounds may be late.
    double reserve_rounds = 1;
    AskingOrder order = AskingOrder::first_come;  ///< of newcomers
    PromiseMargins margins{};                     ///< what promises count on
};

/// What promises ask of a round, by job's name.
struct PromisedRound {
    /// Of one job.
    struct Of {
        DeadlineJob job{};       ///< as promises count on it
        PromiseAnswer answer{};  ///< how it stands
        bool never = false;      ///< refused, and not to run without a promise
    };
    std::map<std::string, Of> jobs{};  ///< those that have a deadline
    double round_seconds = 60;         ///< until the next round
    bool enforced = false;  ///< promised jobs have what their plans say, whatever the policy thinks
};

/// Offers a promised job what keeps its plan of what the inner maker offers, and nothing to one that is not
/// to run without a promise.
template <OptionMaker Inner>
class PromiseMaker : public MakerAround<Inner> {
public:
    /// Around this maker; `round` is read at every call.
    PromiseMaker(Inner inner, std::shared_ptr<const PromisedRound> round)
        : MakerAround<Inner>(std::move(inner)), round_(std::move(round)) {}

    /// Appends what a job may have. Of a promised job that what its plan says for now does not fit to any
    /// shape: all that the inner maker lists.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const auto found = round_->jobs.find(job.name);
        const PromisedRound::Of* of = found == round_->jobs.end() ? nullptr : &found->second;
        if (of && of->never) return;
        if (!of || !round_->enforced || of->answer.promise != Promise::kept || !of->answer.now)
            return MakerAround<Inner>::list(round, job, most_gpus, options);
        const std::size_t first = options.size();
        // Its plan may need more than the policy lets it grow to.
        std::vector<int> most(most_gpus.begin(), most_gpus.end());
        int& its = most[of->answer.now->gpu_type];
        its = std::max(its, of->answer.now->gpus);
        MakerAround<Inner>::list(round, job, most, options);
        const Configuration held = round.held_by(job);
        const auto keeps = [&](const Option& option) { return keeps_its_plan(*of, option, held); };
        const auto begin = options.begin() + static_cast<std::ptrdiff_t>(first);
        if (std::none_of(begin, options.end(), keeps)) return;
        options.erase(std::remove_if(begin, options.end(), [&](const Option& each) { return !keeps(each); }),
                      options.end());
    }
    /// Why a job is offered nothing.
    [[nodiscard]] std::string why_none(const Round& round, const Job& job) {
        const auto found = round_->jobs.find(job.name);
        if (found != round_->jobs.end() && found->second.never)
            return "it is not to run without a promise, and " + found->second.answer.why;
        if constexpr (ReasonMaker<Inner>) return MakerAround<Inner>::why_none(round, job);
        return {};
    }

private:
    [[nodiscard]] bool keeps_its_plan(const PromisedRound::Of& of, const Option& option,
                                      const Configuration& held) const {
        if (!option.configuration.is_single()) return false;
        const PoolShare& part = option.configuration.first();
        if (of.answer.now == HeldGpus{part.gpu_type, part.shape.gpus}) return true;
        return keeps_plan(of.job, of.answer, promised_speed(of.job, {part.gpu_type, part.shape.gpus}),
                          option.configuration.same_gpus(held), round_->round_seconds);
    }

    std::shared_ptr<const PromisedRound> round_;
};

/// A scheduler around which promises are given and kept. `S`: a Scheduler; `Predictor`: what promises count
/// on.
template <class S, OptionPredictor Predictor = GoodputPredictor>
class PromisedScheduler {
    using Maker = PromiseMaker<std::remove_cvref_t<decltype(std::declval<const S&>().maker())>>;
    using Inner = decltype(std::declval<const S&>().offering(std::declval<Maker>()));

public:
    /// Around this scheduler. Refuses a round that is not above 0 seconds, a reserve below 0, and margins
    /// outside their ranges (std::invalid_argument).
    explicit PromisedScheduler(const S& scheduler, PromisedRoundOptions options = {},
                               Predictor predictor = Predictor())
        : options_(options),
          predictor_(std::move(predictor)),
          scheduler_(scheduler.offering(Maker(scheduler.maker(), round_))) {
        validate(options.margins);
        require_at_least("promised rounds", "reserve_rounds", options.reserve_rounds, 0);
        set_round_seconds(options.round_seconds);
        promises_.options().order = options.order;
    }

    /// What it remembers of promises moves with it.
    PromisedScheduler(PromisedScheduler&&) noexcept = default;
    /// See the constructor.
    PromisedScheduler& operator=(PromisedScheduler&&) noexcept = default;

    /// How long it is from one round to the next, above 0 (std::invalid_argument).
    void set_round_seconds(double seconds) {
        require_positive("promised rounds", "round_seconds", seconds);
        options_.round_seconds = round_->round_seconds = seconds;
        promises_.options().admission.slot_seconds = seconds;
        promises_.options().reserve_seconds = options_.reserve_rounds * seconds;
    }

    /// When nodes are announced to be there, by node of the next snapshots; empty: all the time. A node that
    /// is to come, or has gone, has to be drained in the snapshot.
    void set_node_times(std::vector<NodeTimes> times) { times_ = std::move(times); }

    /// The plan for a snapshot in which these jobs have deadlines; valid until the next call. What becomes of
    /// the deadlines is in answers(). A deadline that is not finite, of an unknown job, or the second one of
    /// a job is refused, as are node times of another number of nodes, and what Scheduler::plan() refuses
    /// (std::invalid_argument). `step(PlanStep)` is called after each step.
    template <class AfterStep>
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines, AfterStep step) {
        if (!times_.empty() && times_.size() != snapshot.cluster.nodes.size())
            bad_input("promised rounds", "number of node times", times_.size(),
                      "that of nodes, " + text_of(snapshot.cluster.nodes.size()));
        snapshot_ = snapshot;
        answer(deadlines);
        for (const Deadline& deadline : deadlines) {
            Job& job = snapshot_.jobs[deadline.job];
            if (const auto of = round_->jobs.find(job.name); of != round_->jobs.end() && of->second.never)
                for (TypeLimits& type : job.types) type.max_atomic_batch = 0;
        }
        round_->enforced = false;
        const Plan& wanted = scheduler_.plan(snapshot_, step);
        if (still_kept_after(wanted)) return wanted;
        round_->enforced = true;
        for (std::size_t k = 0; k < deadlines.size(); ++k)
            snapshot_.jobs[deadlines[k].job].must_run =
                answers_[k].promise == Promise::kept && answers_[k].now.has_value();
        return scheduler_.plan(snapshot_, step);
    }
    /// The same without a call after each step.
    const Plan& plan(const Snapshot& snapshot, std::span<const Deadline> deadlines) {
        return plan(snapshot, deadlines, [](PlanStep) {});
    }

    /// In the last plan promised jobs had to have what their plans say, because not all promises would have
    /// been kept after a round of what the policy wanted.
    [[nodiscard]] bool enforced() const { return round_->enforced; }
    /// Of the last plan, by deadline. Times are on the clock of the snapshot.
    [[nodiscard]] const std::vector<PromiseAnswer>& answers() const { return answers_; }
    /// What would have to change so that a deadline that was refused or is broken in the last plan could be
    /// kept beside all promises, in words; empty where nothing was found. Takes some ten times as long as to
    /// find out that it is refused.
    [[nodiscard]] std::string what_would_help(std::size_t deadline) const {
        std::vector<DeadlineJob> jobs;
        for (const std::string& name : promises_.kept()) jobs.push_back(round_->jobs.at(name).job);
        const auto asks = round_->jobs.find(snapshot_.jobs[deadlines_[deadline].job].name);
        if (asks == round_->jobs.end()) return {};
        jobs.push_back(asks->second.job);
        return goodput::what_would_help(cluster_, jobs, jobs.size() - 1, promises_.options().admission);
    }
    /// Why every job of the last plan has what it has (schedule/explain_plan.hpp), and what it was promised.
    [[nodiscard]] std::vector<DecisionExplanation> explain() const {
        std::vector<DecisionExplanation> all = explain_plan(scheduler_, snapshot_);
        for (std::size_t k = 0; k < answers_.size(); ++k) {
            const PromiseAnswer& of = answers_[k];
            if (of.promise != Promise::kept) continue;
            std::string note = "promised: its end " +
                               rounded_text_of(deadlines_[k].deadline_seconds - of.done_by_seconds) +
                               " s before its deadline";
            if (round_->enforced && of.now)
                note += ", and for that at least " + text_of(of.now->gpus) + " " +
                        snapshot_.cluster.gpu_types[of.now->gpu_type] + " for " +
                        rounded_text_of(of.until_seconds - snapshot_.time_seconds) + " s";
            all[deadlines_[k].job].notes.push_back(std::move(note));
        }
        return all;
    }

    /// The scheduler inside.
    [[nodiscard]] Inner& scheduler() { return scheduler_; }
    /// The promises that are kept.
    [[nodiscard]] Promises& promises() { return promises_; }

private:
    void answer(std::span<const Deadline> deadlines) {
        const std::vector<Job>& jobs = snapshot_.jobs;
        deadlines_.assign(deadlines.begin(), deadlines.end());
        answers_.assign(deadlines.size(), {});
        round_->jobs.clear();
        std::vector<Pool> pools = pools_of(snapshot_.cluster);
        std::erase_if(pools, [](const Pool& pool) { return pool.spot; });
        std::vector<char> has_promise(jobs.size(), 0);
        std::vector<DeadlineJob> asking;
        std::vector<std::size_t> of;  // by asking job: its deadline
        std::vector<char> seen(jobs.size(), 0);
        for (std::size_t k = 0; k < deadlines.size(); ++k) {
            const Deadline& deadline = deadlines[k];
            if (deadline.job >= jobs.size())
                bad_input("deadline", "job", deadline.job,
                          "below the number of jobs, " + text_of(jobs.size()));
            const Job& job = jobs[deadline.job];
            if (!std::isfinite(deadline.deadline_seconds))
                bad_input("job '" + job.name + "'", "deadline_seconds", deadline.deadline_seconds, "finite");
            if (std::exchange(seen[deadline.job], 1))
                bad_input("job '" + job.name + "'", "deadline_seconds", std::string_view("given twice"),
                          "given once");
            if (!job.set_aside.empty()) {
                answers_[k].why = "it is set aside";
                continue;
            }
            const std::optional<double> work = promised_work(job, deadline, options_.margins);
            if (!work) {
                answers_[k].why = "how much work it has left is neither declared nor known from other jobs";
                continue;
            }
            DeadlineJob promised = promised_job(snapshot_, pools, deadline, *work, predictor_,
                                                options_.margins, options_.round_seconds);
            if (job.keeps_what_it_holds() && !job.preemptible) {
                answer_pinned(job, promised, answers_[k]);
                continue;
            }
            has_promise[deadline.job] = 1;
            asking.push_back(std::move(promised));
            of.push_back(k);
        }
        cluster_ = promised_cluster(snapshot_, has_promise, options_.round_seconds, times_);
        const std::vector<PromiseAnswer> answers = promises_.plan(snapshot_.time_seconds, cluster_, asking);
        for (std::size_t i = 0; i < asking.size(); ++i) {
            const PromiseAnswer& found = answers_[of[i]] = answers[i];
            round_->jobs[asking[i].name] = {asking[i], found,
                                            found.promise != Promise::kept && deadlines[of[i]].or_never};
        }
    }
    /// Whether all promises can be kept from the next round on if this plan is carried out now, by what
    /// promises count on. Jobs in the middle of a restart then still hold what they have now.
    bool still_kept_after(const Plan& plan) {
        if (std::none_of(answers_.begin(), answers_.end(),
                         [](const PromiseAnswer& answer) { return answer.promise == Promise::kept; }))
            return true;
        const double round = options_.round_seconds, later = snapshot_.time_seconds + round;
        const std::vector<PromiseAnswer> before = answers_;
        Snapshot then{.time_seconds = later, .cluster = snapshot_.cluster, .jobs = snapshot_.jobs};
        for (std::size_t j = 0; j < then.jobs.size(); ++j) {
            then.jobs[j].placement = plan.decisions[j].placement;
            then.jobs[j].restarting = plan.decisions[j].starts && then.jobs[j].restart_cost_seconds > round;
        }
        std::vector<DeadlineJob> jobs;
        std::vector<char> has_promise(then.jobs.size(), 0);
        for (std::size_t k = 0; k < answers_.size(); ++k) {
            const std::size_t j = deadlines_[k].job;
            const auto of = round_->jobs.find(then.jobs[j].name);
            if (answers_[k].promise != Promise::kept || of == round_->jobs.end()) continue;
            has_promise[j] = 1;
            DeadlineJob job = of->second.job;
            job.deadline_seconds -= round;
            job.holds = held_gpus(then, j);
            const double restart = plan.decisions[j].starts ? job.restart_seconds : 0;
            const double speed = job.holds ? promised_speed(job, *job.holds) : 0;
            answers_[k].done_by_seconds =
                speed > 0 ? snapshot_.time_seconds + restart + job.work_left / speed : later;
            // What is left of a restart counts as work.
            job.work_left = std::max(0.0, job.work_left - speed * (round - restart));
            jobs.push_back(std::move(job));
        }
        if (jobs.empty()) return true;
        if (!promises_.keep_from(later, promised_cluster(then, has_promise, round, times_), jobs)) {
            answers_ = before;
            return false;
        }
        std::size_t next = 0;
        for (std::size_t k = 0; k < answers_.size(); ++k) {
            if (answers_[k].promise != Promise::kept ||
                !round_->jobs.contains(then.jobs[deadlines_[k].job].name))
                continue;
            if (const DeadlineJob& job = jobs[next++]; job.work_left > 0)
                answers_[k].done_by_seconds = promises_.done_by(later, job);
        }
        return true;
    }

    /// Nobody can give or take anything: it ends when it ends.
    void answer_pinned(const Job& job, const DeadlineJob& promised, PromiseAnswer& answer) {
        const double speed = promised.holds ? promised.speed_on(*promised.holds) : 0;
        const double seconds =
            speed > 0 ? promised.work_left / speed : std::numeric_limits<double>::infinity();
        if (seconds <= promised.deadline_seconds) {
            answer.promise = Promise::kept;
            answer.done_by_seconds = snapshot_.time_seconds + seconds;
        } else {
            answer.why = "job '" + job.name + "' keeps what it holds, and is not known to end there in time";
        }
    }

    PromisedRoundOptions options_;
    Predictor predictor_;
    Promises promises_{};
    std::shared_ptr<PromisedRound> round_ = std::make_shared<PromisedRound>();
    Inner scheduler_;
    Snapshot snapshot_{};
    ClusterOverTime cluster_{};
    std::vector<NodeTimes> times_{};
    std::vector<Deadline> deadlines_{};
    std::vector<PromiseAnswer> answers_{};
};

}  // namespace goodput

#endif
