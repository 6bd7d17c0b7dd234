#ifndef GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP
#define GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP

// Why every job has what the last plan gives it, and what would change that (detail/plan_explainer.hpp).

#include <optional>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Why a job has what a plan gives it.
enum class DecisionReason {
    best_offered,   ///< it got the option that is worth most to it
    priced_out,     ///< what it wanted costs more than what it got by more than it is worth more
    no_room,        ///< the prices are not against what it wanted, but the others leave too little
    within_gap,     ///< what it wanted would fit: the allotment is only proven to its gap, or not at all
    node_full,      ///< the allotment gave it more beside its GPUs, but its nodes have too little of that
    keeps,          ///< it is restarting, just started, not preemptible, or everything failed for it
    not_placed,     ///< the allotment found no nodes
    worth_nothing,  ///< the policy values none of its options above 0
    no_batch_plan,  ///< no batch size respects its limits on any option
    no_shape,       ///< the open nodes have no shape that it may hold, or it can run nowhere
    beyond_limit,   ///< each of its options takes more of a limit than there is
    set_aside       ///< it, or what it holds, makes no sense: it is left as it is
};

/// What is missing of a limit beside what the others take.
struct LimitShortage {
    std::string limit{};  ///< its name
    std::string unit{};   ///< of the number
    double units = 0;     ///< above 0
};

/// Something that a job did not get.
struct Alternative {
    Configuration configuration{};  ///< what it would have been
    double value = 0;               ///< to the job, in units of the policy's values
    double price = 0;               ///< of all GPUs that it takes
    /// Price of one GPU of its pool, or of one unit of `limit`, below which the job would choose it;
    /// at most the present one.
    double price_needed = 0;
    /// Factor on its goodput with which the job would choose it, at least 1, rounded up to thousandths; none:
    /// not even 1000 would do, or the policy does not value jobs one by one.
    std::optional<double> goodput_needed{};
    int gpus_short = 0;  ///< GPUs of its pools that are missing beside what the others hold
    /// The limit that is most in its way by price; empty: the GPUs of its pool are.
    std::string limit{};
    std::vector<LimitShortage> limits_short{};  ///< limits of which something is missing

    /// Prices are not what stood in the way.
    [[nodiscard]] bool worth_its_price() const { return value >= price - 1e-9 * (value + price); }
};

/// A larger shape that a job was not offered, because of its own limit, the policy's, or both.
struct SizeLimit {
    int gpus = 0;            ///< the shape's
    int most_by_job = 0;     ///< GPUs that the job may have at most
    int most_by_policy = 0;  ///< GPUs that the policy lets it grow to this round

    /// The job's own limit rules it out.
    [[nodiscard]] bool by_job() const { return gpus > most_by_job; }
    /// The policy's limit of this round rules it out.
    [[nodiscard]] bool by_policy() const { return gpus > most_by_policy; }
};

/// Why a job has what it has.
struct DecisionExplanation {
    std::string job{};                                     ///< its name
    DecisionReason reason = DecisionReason::best_offered;  ///< in one word
    Outcome outcome = Outcome::runs;                       ///< as in the plan
    Configuration got{};                                   ///< empty: nothing
    double value = 0;                  ///< of what it got, in units of the policy's values
    double price = 0;                  ///< of what it got, all GPUs
    bool best_at_prices = false;       ///< nothing else has a larger value - price; nor has going without
    bool on_drained = false;           ///< it stays on a drained node
    bool restarting = false;           ///< keeps: the reason
    bool just_started = false;         ///< keeps: the reason; without any it is not preemptible
    bool has_failed = false;           ///< keeps: the reason, before others: the policy failed for it
    std::optional<SizeLimit> limit{};  ///< best_offered: why there was nothing larger in its pool
    /// What it wanted most: chosen means better than all its other options. In priced_out, no_room,
    /// within_gap.
    std::optional<Alternative> wanted{};
    /// A job that waits, priced out: nearest to its price. Chosen means better than going without.
    std::optional<Alternative> nearest{};
    double gap = 0;  ///< what the whole allotment may be worth less than the best
    /// not_placed, worth_nothing, no_batch_plan, no_shape, beyond_limit, set_aside: the plan's own words.
    /// best_offered: a limit that rules out a larger option, if one does.
    std::string detail{};
    /// What the round's factors have to say of what it got, a sentence each (concepts.hpp).
    std::vector<std::string> notes{};

    /// One line in plain words.
    [[nodiscard]] std::string report(const Snapshot& snapshot) const;
    /// The same, for whoever has the cluster alone.
    [[nodiscard]] std::string report(const Cluster& cluster) const;

private:
    [[nodiscard]] std::string reason_report(const Cluster& cluster) const;
};

namespace detail {

/// Four digits, rounded down: a price that still does.
std::string text_rounded_down(double number);

/// "at less than 0.12 per A100, or with 12% more goodput there"; the goodput only where a job might reach it.
std::string ways_to(const Alternative& alternative, const std::string& type);

inline std::string proven_within(double gap) {
    return "the allotment is proven to be within " + rounded_text_of(gap) + " of the best";
}

std::string text_of_limit(const SizeLimit& limit);

std::string room_needed(const Alternative& alternative, const std::string& type, double gap);

}  // namespace detail

}  // namespace goodput

#if !defined(GOODPUT_COMPILED) || defined(GOODPUT_IMPLEMENTATION)
#include "goodput/schedule/detail/decision_explanation.hpp"
#endif

namespace goodput {

/// Explains the last plan of a Scheduler, made from this snapshot, job by job. A snapshot with another number
/// of jobs, and a Scheduler that has made no plan, get std::invalid_argument.
template <class AnyScheduler>
[[nodiscard]] std::vector<DecisionExplanation> explain_plan(const AnyScheduler& scheduler,
                                                            const Snapshot& snapshot) {
    return scheduler.explain(snapshot);
}

}  // namespace goodput

#endif
