#ifndef GOODPUT_DEADLINES_DETAIL_PROMISE_MAKER_HPP
#define GOODPUT_DEADLINES_DETAIL_PROMISE_MAKER_HPP

// What promises require of a round, and the options that jobs are offered in it.

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/deadlines/deadline_job.hpp"
#include "goodput/deadlines/promised_jobs.hpp"
#include "goodput/deadlines/promises.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/joints.hpp"

namespace goodput::inline v0_1::detail {

/// The requirements of promises on a round.
struct PromisedRound {
    /// A job with a deadline.
    struct PromisedJob {
        DeadlineJob job{};       ///< the job as promises count on it; its GPU types are indices into `pools`
        PromiseAnswer answer{};  ///< the state of its deadline, with the same GPU types
        bool may_not_run = false;  ///< it was refused, and must not run without a promise
        std::size_t index = 0;     ///< index into Snapshot::jobs
        /// Index of the job's deadline, or the number of deadlines if the caller gave none.
        std::size_t deadline = 0;
    };
    std::map<std::string, PromisedJob> jobs{};  ///< jobs that have a deadline or a promise
    std::vector<Pool> pools{};                  ///< pools that promises count on
    double round_seconds = 60;                  ///< time until the next round
    bool enforced = false;  ///< promised jobs get what their plans say, whatever the policy prefers
    /// Jobs that must neither begin nor change GPUs now, because they could not be moved for some time
    /// afterwards.
    std::set<std::string> held_back{};

    /// Returns the job with a deadline, or null if it has none.
    [[nodiscard]] const PromisedJob* find(const std::string& name) const {
        const auto found = jobs.find(name);
        return found == jobs.end() ? nullptr : &found->second;
    }
    /// Returns the job of this name and index if its promise has been kept so far, or else null.
    [[nodiscard]] const PromisedJob* kept(const std::string& name, std::size_t index) const {
        const PromisedJob* job = find(name);
        return job && job->index == index && job->answer.promise == Promise::kept ? job : nullptr;
    }
};

/// Changes the options that another maker (`inner`, an OptionMaker) lists. If plans are enforced, a
/// promised job is offered only options that keep its plan. A job that is held back is offered only the
/// GPUs that it holds, and a job that must not run without a promise nothing. `round` is read at every
/// call.
struct PromiseMaker {
    MakerJoint inner{};
    const PromisedRound* round = nullptr;

    [[nodiscard]] MakerJoint joint() {
        MakerJoint joint = maker_joint(*this);
        if (!inner.list_kept) joint.list_kept = nullptr;
        if (!inner.predict) joint.predict = nullptr;
        return joint;
    }

    void begin_round(const Round& now) const {
        if (inner.begin_round) inner.begin_round(inner.part, now);
    }
    /// Appends the options that a job may have. If no shape matches what a promised job's plan needs now,
    /// appends everything that the inner maker lists.
    void list(const Round& now, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        if (must_wait(job)) return;
        const PromisedRound::PromisedJob* promised = round->find(job.name);
        const bool held_back = round->held_back.contains(job.name);
        const bool is_planned = !held_back && round->enforced && promised && promised->answer.now;
        // The job's plan may need more GPUs than the policy lets the job grow to.
        std::vector<int> most(most_gpus.begin(), most_gpus.end());
        if (is_planned) {
            int& most_of_type = most[round->pools[promised->answer.now->gpu_type].gpu_type];
            most_of_type = std::max(most_of_type, promised->answer.now->gpus);
        }
        const auto first = static_cast<std::ptrdiff_t>(options.size());
        inner.list(inner.part, now, job, most, options);
        if (!held_back && !is_planned) return;
        const Configuration held = now.held_by(job);
        const auto is_unfit = [&](const Option& option) {
            return held_back ? !option.configuration.same_gpus(held)
                             : !keeps_its_plan(*promised, option, held);
        };
        const auto begin = options.begin() + first;
        if (is_planned && std::all_of(begin, options.end(), is_unfit)) return;
        options.erase(std::remove_if(begin, options.end(), is_unfit), options.end());
    }
    void list_kept(const Round& now, const Job& job, std::vector<Option>& options) const {
        inner.list_kept(inner.part, now, job, options);
    }
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask) const {
        inner.predict(inner.part, job, gradient, options, ask);
    }
    [[nodiscard]] bool lets_wait(const Job& job) const {
        return must_wait(job) || (inner.lets_wait && inner.lets_wait(inner.part, job));
    }
    /// Returns why a job is offered nothing.
    [[nodiscard]] std::string why_none(const Round& now, const Job& job) const {
        if (const auto* promised = round->find(job.name); promised && promised->may_not_run)
            return "it is not to run without a promise, and " + promised->answer.why;
        if (round->held_back.contains(job.name))
            return "it could not be moved once it had begun, and promised jobs need its GPUs later";
        return inner.why_none ? inner.why_none(inner.part, now, job) : std::string();
    }

private:
    /// Returns whether promises are the reason that a job is offered nothing. The job then waits, because a
    /// later round may offer it more.
    [[nodiscard]] bool must_wait(const Job& job) const {
        const auto* promised = round->find(job.name);
        return (promised && promised->may_not_run) ||
               (job.placement.empty() && round->held_back.contains(job.name));
    }
    [[nodiscard]] bool keeps_its_plan(const PromisedRound::PromisedJob& promised, const Option& option,
                                      const Configuration& held) const {
        if (!option.configuration.is_single()) return false;
        const PoolShare& part = option.configuration.first();
        const HeldGpus gpus{pool_index(round->pools, part), part.shape.gpus};
        if (gpus.gpu_type == round->pools.size()) return false;
        if (promised.answer.now == gpus) return true;
        return keeps_plan(promised.job, promised.answer, promised_speed(promised.job, gpus),
                          option.configuration.same_gpus(held), round->round_seconds);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
