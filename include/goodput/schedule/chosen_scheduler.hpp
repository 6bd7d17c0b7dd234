#ifndef GOODPUT_SCHEDULE_CHOSEN_SCHEDULER_HPP
#define GOODPUT_SCHEDULE_CHOSEN_SCHEDULER_HPP

// Policies and schedulers that are chosen at run time, for example by a name in a file. ChosenPolicy and
// ChosenScheduler are one type each, whatever parts they hold. A round takes as long as with a Scheduler of
// the same parts.

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// A policy that holds any other policy behind one type. Copies share the policy inside.
class ChosenPolicy {
public:
    /// The scheduler must not apply the jobs' weights, because the policy inside has applied them.
    static constexpr bool weights_count = false;

    /// Holds this policy.
    template <Policy P>
    requires(!std::same_as<P, ChosenPolicy>) explicit ChosenPolicy(P policy)
        : ChosenPolicy(std::make_shared<const P>(std::move(policy))) {}

    /// Whether a replay runs jobs with the GPUs and batch size for which their owners asked
    /// (policy/concepts.hpp).
    [[nodiscard]] bool is_rigid() const { return is_rigid_; }
    /// The joint of the policy inside: a pointer to it and to its functions (joints.hpp).
    [[nodiscard]] const PolicyJoint& joint() const { return joint_; }
    /// Fills all rows as the policy inside does. If that throws, this throws std::runtime_error with its
    /// message; the type of the exception is lost.
    void value_round(const Round& round, std::span<const OptionRow> rows) const {
        joint_.values(joint_.part, round, rows, [](std::size_t, std::size_t, const std::string& what) {
            throw std::runtime_error("the policy " + what);
        });
    }

private:
    template <class P>
    explicit ChosenPolicy(std::shared_ptr<const P> policy)
        : joint_(policy_joint(*policy)), is_rigid_(runs_rigid_jobs<P>), policy_(std::move(policy)) {}

    PolicyJoint joint_;
    bool is_rigid_;
    std::shared_ptr<const void> policy_;
};

/// Returns the joint of the policy inside, with all optional functions that this policy has.
[[nodiscard]] inline PolicyJoint policy_joint(const ChosenPolicy& policy) { return policy.joint(); }

/// A scheduler of any parts behind one type. Copies share the parts, and must not plan at the same time.
class ChosenScheduler {
public:
    /// Makes a scheduler of these parts.
    template <class... Types>
    explicit ChosenScheduler(SchedulerParts<Types...> parts) {
        static_assert(parts_fit<Types...>());
        if constexpr (requires { parts.policy.validate(); }) parts.policy.validate();
        const auto kept = std::make_shared<SchedulerParts<Types...>>(std::move(parts));
        options_ = kept->options;
        joints_ = joints_of(*kept);
        notes_ = [kept](const GivenOption& given) { return kept->factor.notes(given); };
    }

    /// Makes a scheduler of the same parts as another one.
    template <class... Types>
    explicit ChosenScheduler(const Scheduler<Types...>& scheduler) : ChosenScheduler(scheduler.parts()) {}

    /// Returns the plan for a snapshot, as Scheduler::plan() does. It is valid until the next call.
    const Plan& plan(
        const Snapshot& snapshot, const AfterStep& step = [](PlanStep) {}) & {
        return engine_.plan(snapshot, joints_, options_, step);
    }
    /// The same for a temporary scheduler: the caller owns the plan.
    Plan plan(const Snapshot& snapshot) && { return plan(snapshot); }

    /// The gap and deadline for the allotments of the next plans.
    [[nodiscard]] AllotOptions& options() { return options_; }
    /// The engine, which knows what the last plan was made from.
    [[nodiscard]] const RoundEngine& engine() const { return engine_; }
    /// Explains why every job has what the last plan gives it (explain_plan.hpp). The plan must be made
    /// from this snapshot.
    [[nodiscard]] std::vector<DecisionExplanation> explain(const Snapshot& snapshot) const {
        return engine_.explain(snapshot, joints_.policy, notes_);
    }

private:
    Joints joints_;
    AllotOptions options_;
    NotesOf notes_;  // owns the parts
    RoundEngine engine_;
};

}  // namespace goodput::inline v0_1

#endif
