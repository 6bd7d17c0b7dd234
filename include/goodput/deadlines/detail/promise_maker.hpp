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
        DeadlineJob job{};         ///< the job as promises count on it; its GPU types are indices into
                                   ///< `pools`
        PromiseAnswer answer{};    ///< the state of its deadline, with the same GPU types
        bool may_not_run = false;  ///< it was refused, and must not run without a promise
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
};

/// Changes the options that another maker (`inner`, an OptionMaker) lists. If plans are enforced, a
/// promised job is offered only options that keep its plan. A job that is held back is offered only the
/// GPUs that it holds, and a job that must not run without a promise nothing. `round` is read at every
/// call.
struct PromiseMaker {
    MakerJoint inner{};
    const PromisedRound* round = nullptr;

    [[nodiscard]] MakerJoint joint() {
        MakerJoint joint{.part = this};
        joint.list = [](void* part, const Round& now, const Job& job, std::span<const int> most_gpus,
                        std::vector<Option>& options) {
            static_cast<PromiseMaker*>(part)->list(now, job, most_gpus, options);
        };
        joint.begin_round = [](void* part, const Round& now) {
            const MakerJoint& inside = static_cast<PromiseMaker*>(part)->inner;
            if (inside.begin_round) inside.begin_round(inside.part, now);
        };
        if (inner.list_kept)
            joint.list_kept = [](void* part, const Round& now, const Job& job, std::vector<Option>& options) {
                const MakerJoint& inside = static_cast<PromiseMaker*>(part)->inner;
                inside.list_kept(inside.part, now, job, options);
            };
        if (inner.ask)
            joint.ask = [](void* part, const Round& now, const Job& job, std::span<const int> most_gpus,
                           const AtPrices& at, double least, std::vector<Option>& options) {
                const MakerJoint& inside = static_cast<PromiseMaker*>(part)->inner;
                return inside.ask(inside.part, now, job, most_gpus, at, least, options);
            };
        if (inner.predict)
            joint.predict = [](void* part, const Job& job, const std::optional<GradientStatistics>& gradient,
                               std::span<Option> options, const AskPredictor& ask) {
                const MakerJoint& inside = static_cast<PromiseMaker*>(part)->inner;
                inside.predict(inside.part, job, gradient, options, ask);
            };
        joint.why_none = [](void* part, const Round& now, const Job& job) {
            return static_cast<PromiseMaker*>(part)->why_none(now, job);
        };
        joint.lets_wait = [](void* part, const Job& job) {
            const auto& self = *static_cast<PromiseMaker*>(part);
            return self.lets_wait(job) ||
                   (self.inner.lets_wait && self.inner.lets_wait(self.inner.part, job));
        };
        return joint;
    }

private:
    /// Appends the options that a job may have. If no shape matches what a promised job's plan needs now,
    /// appends everything that the inner maker lists.
    void list(const Round& now, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options) {
        const PromisedRound::PromisedJob* promised = round->find(job.name);
        if (lets_wait(job)) return;
        if (round->held_back.contains(job.name)) {
            const std::size_t first = options.size();
            inner.list(inner.part, now, job, most_gpus, options);
            const Configuration held = now.held_by(job);
            options.erase(
                std::remove_if(options.begin() + static_cast<std::ptrdiff_t>(first), options.end(),
                               [&](const Option& each) { return !each.configuration.same_gpus(held); }),
                options.end());
            return;
        }
        if (!promised || !round->enforced || promised->answer.promise == Promise::refused ||
            !promised->answer.now)
            return inner.list(inner.part, now, job, most_gpus, options);
        const std::size_t first = options.size();
        // The job's plan may need more GPUs than the policy lets the job grow to.
        std::vector<int> most(most_gpus.begin(), most_gpus.end());
        int& most_of_type = most[round->pools[promised->answer.now->gpu_type].gpu_type];
        most_of_type = std::max(most_of_type, promised->answer.now->gpus);
        inner.list(inner.part, now, job, most, options);
        const Configuration held = now.held_by(job);
        const auto keeps = [&](const Option& option) { return keeps_its_plan(*promised, option, held); };
        const auto begin = options.begin() + static_cast<std::ptrdiff_t>(first);
        if (std::none_of(begin, options.end(), keeps)) return;
        options.erase(std::remove_if(begin, options.end(), [&](const Option& each) { return !keeps(each); }),
                      options.end());
    }
    /// Returns whether promises are the reason that a job is offered nothing. The job then waits, because a
    /// later round may offer it more.
    [[nodiscard]] bool lets_wait(const Job& job) const {
        const auto* promised = round->find(job.name);
        return (promised && promised->may_not_run) ||
               (job.placement.empty() && round->held_back.contains(job.name));
    }
    /// Returns why a job is offered nothing.
    [[nodiscard]] std::string why_none(const Round& now, const Job& job) {
        if (const auto* promised = round->find(job.name); promised && promised->may_not_run)
            return "it is not to run without a promise, and " + promised->answer.why;
        if (round->held_back.contains(job.name))
            return "it could not be moved once it had begun, and promised jobs need its GPUs later";
        return inner.why_none ? inner.why_none(inner.part, now, job) : std::string();
    }

    [[nodiscard]] bool keeps_its_plan(const PromisedRound::PromisedJob& promised, const Option& option,
                                      const Configuration& held) const {
        if (!option.configuration.is_single()) return false;
        const PoolShare& part = option.configuration.first();
        const HeldGpus gpus{pool_index(round->pools, part), part.shape.gpus};
        if (gpus.gpu_type == round->pools.size()) return false;
        if (promised.answer.now == gpus) return true;
        PromiseAnswer answer = promised.answer;
        answer.promise = Promise::kept;
        return keeps_plan(promised.job, answer, promised_speed(promised.job, gpus),
                          option.configuration.same_gpus(held), round->round_seconds);
    }
};

}  // namespace goodput::inline v0_1::detail

#endif
