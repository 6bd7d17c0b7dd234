#ifndef GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP
#define GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP

// Explains why every job has what the last plan gives it, and what would change that
// (detail/plan_explainer.hpp). A price is the worth of one unit of a limited resource (PoolPrice). "Wanted"
// means the option with the largest value minus price.

#include <optional>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {

/// The reason why a job has what a plan gives it.
enum class DecisionReason {
    best_offered,  ///< it got the option that it wanted
    /// The option that it wanted costs more than the one it got, and has too little more value for that.
    priced_out,
    no_room,  ///< the prices would allow what it wanted, but the other jobs leave too little
    /// The option that it wanted would fit, but the allotment is proven only up to its gap, or not at all.
    within_gap,
    /// The allotment gave it a better option with cores or memory that its nodes do not have, so it got
    /// another one.
    node_full,
    /// It keeps what it holds or waits: it is restarting, has just started or is not preemptible, or the
    /// policy or another part failed for it.
    keeps,
    not_placed,     ///< the allotment's option found no nodes
    worth_nothing,  ///< the policy values none of its options above 0
    no_batch_plan,  ///< no batch size respects its limits on any option
    no_shape,       ///< the open nodes have no shape that it may hold, or it can run nowhere
    beyond_limit,   ///< each of its options takes more of a limit than there is
    set_aside       ///< the job or its placement is invalid, so it is left as it is
};

/// A limit that has too little left, given what the other jobs take.
struct LimitShortage {
    std::string limit{};  ///< name of the limit
    std::string unit{};   ///< unit of the missing amount
    double units = 0;     ///< missing amount, above 0
};

/// An option that a job did not get.
struct Alternative {
    Configuration configuration{};  ///< GPUs of the option
    double value = 0;               ///< value for the job, in units of the policy's values
    double price = 0;               ///< price of all GPUs that it takes
    /// Price per GPU of its pool, or per unit of `limit`, below which the job would choose it. At most the
    /// present price.
    double price_needed = 0;
    /// Factor by which its goodput would have to grow so that the job chooses it; at least 1, rounded up to
    /// thousandths. Empty if a factor of 1000 is not enough, or if the policy values all jobs of a round
    /// together.
    std::optional<double> goodput_needed{};
    int gpus_short = 0;  ///< GPUs of its pools that are missing, given what the other jobs hold
    /// The limit that adds most to the option's price. Empty if the GPUs of its pool add most.
    std::string limit{};
    std::vector<LimitShortage> limits_short{};  ///< limits that have too little left

    /// Whether the option's value is at least its price.
    [[nodiscard]] bool worth_its_price() const { return value >= price - 1e-9 * (value + price); }
};

/// The next larger shape that a job was not offered, because of its own limit, the policy's limit, or both.
struct SizeLimit {
    int gpus = 0;            ///< GPUs of the shape
    int most_by_job = 0;     ///< largest number of GPUs that the job may have
    int most_by_policy = 0;  ///< number of GPUs to which the policy lets it grow this round

    /// Whether the job's own limit rules it out.
    [[nodiscard]] bool by_job() const { return gpus > most_by_job; }
    /// Whether the policy's limit of this round rules it out.
    [[nodiscard]] bool by_policy() const { return gpus > most_by_policy; }
};

/// The explanation of one decision.
struct DecisionExplanation {
    std::string job{};                                     ///< name of the job
    DecisionReason reason = DecisionReason::best_offered;  ///< the reason as a constant
    Outcome outcome = Outcome::runs;                       ///< as in the plan
    Configuration got{};                                   ///< what the job got; empty if nothing
    double value = 0;  ///< value of what it got, in units of the policy's values
    double price = 0;  ///< price of all GPUs that it got
    /// Whether neither another option nor getting nothing has a larger value minus price.
    bool best_at_prices = false;
    bool on_drained = false;  ///< whether it stays on a drained node
    bool restarting = false;  ///< reason for `keeps`: it is restarting
    /// Reason for `keeps`: it has just started. If has_failed, restarting and just_started are all false,
    /// it is not preemptible.
    bool just_started = false;
    /// Reason for `keeps`, which takes precedence over the other two: the policy or another part failed for
    /// it.
    bool has_failed = false;
    std::optional<SizeLimit> limit{};  ///< for best_offered: why there was no larger shape in its pool
    /// For priced_out, no_room and within_gap: the option that it wanted most. Its price_needed and
    /// goodput_needed are those at which the job would choose it before all its other options.
    std::optional<Alternative> wanted{};
    /// For a waiting job that is priced out: the option with the largest value relative to its price. Its
    /// price_needed and goodput_needed are those at which it would be better than getting nothing.
    std::optional<Alternative> nearest{};
    double gap = 0;  ///< value that the whole allotment may lack compared with the best
    /// For not_placed, worth_nothing, no_batch_plan, no_shape, beyond_limit and set_aside: the reason in
    /// the plan's words. For best_offered: a limit that rules out a larger option, if there is one.
    std::string detail{};
    /// What the round's factors say about what it got, one sentence each (concepts.hpp).
    std::vector<std::string> notes{};

    /// Returns the explanation as one line in plain words.
    [[nodiscard]] std::string report(const Snapshot& snapshot) const;
    /// The same for callers that have only the cluster.
    [[nodiscard]] std::string report(const Cluster& cluster) const;

private:
    [[nodiscard]] std::string reason_report(const Cluster& cluster) const;
};

namespace detail {

/// Returns a price with four digits, rounded down so that it still suffices.
std::string text_rounded_down(double number);

/// Returns "at less than 0.12 per A100, or with 12% more goodput there". The goodput is named only if the
/// job might reach it.
std::string ways_to(const Alternative& alternative, const std::string& type);

inline std::string proven_within(double gap) {
    return "the allotment is proven to be within " + rounded_text_of(gap) + " of the best";
}

std::string text_of_limit(const SizeLimit& limit);

std::string room_needed(const Alternative& alternative, const std::string& type, double gap);

}  // namespace detail

}  // namespace goodput::inline v0_1

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/decision_explanation.hpp"
#endif

namespace goodput::inline v0_1 {

/// Explains the last plan of a Scheduler job by job. The plan must be made from this snapshot. Throws
/// std::invalid_argument if the number of jobs differs, or if the Scheduler has made no plan.
template <class AnyScheduler>
[[nodiscard]] std::vector<DecisionExplanation> explain_plan(const AnyScheduler& scheduler,
                                                            const Snapshot& snapshot) {
    return scheduler.explain(snapshot);
}

}  // namespace goodput::inline v0_1

#endif
