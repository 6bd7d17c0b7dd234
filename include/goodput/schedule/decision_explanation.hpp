#ifndef GOODPUT_SCHEDULE_DECISION_EXPLANATION_HPP
#define GOODPUT_SCHEDULE_DECISION_EXPLANATION_HPP

// Why one job has what a plan gives it, in numbers and in one line of plain words. explain_plan.hpp makes
// them.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/shape.hpp"
#include "goodput/core/verdict.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Why a job has what a plan gives it.
enum class DecisionReason {
    best_offered,   ///< it got the option that is worth most to it
    priced_out,     ///< what it wanted costs more than what it got by more than it is worth more
    no_room,        ///< the prices are not against what it wanted, but the others leave too little
    within_gap,     ///< what it wanted would fit: the allotment is only proven to its gap, or not at all
    node_full,      ///< the allotment gave it more beside its GPUs, but its nodes have too little of that
    keeps,          ///< it is restarting, not preemptible, or everything failed for it
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
    bool restarting = false;           ///< keeps: the reason; else it is not preemptible
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
    /// What the round's factors have to say of what it got, a sentence each (goodput_factor.hpp).
    std::vector<std::string> notes{};

    /// One line in plain words.
    [[nodiscard]] std::string report(const Cluster& cluster) const;

private:
    [[nodiscard]] std::string reason_report(const Cluster& cluster) const;
};

namespace detail {

/// Four digits, rounded down: a price that still does.
inline std::string text_rounded_down(double number) {
    if (!(number > 0)) return "0";
    const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
    return rounded_text_of(std::floor(number / unit + 1e-6) * unit);
}

/// "at less than 0.12 per A100, or with 12% more goodput there"; the goodput only where a job might reach it.
inline std::string ways_to(const Alternative& alternative, const std::string& type) {
    const std::string price = text_rounded_down(alternative.price_needed);
    std::string text = price == "0" ? "" : "at less than " + price + " per " + type;
    if (!alternative.goodput_needed || *alternative.goodput_needed > 4)
        return text.empty() ? "not even at a price of 0 per " + type + " as things are" : text;
    const double percent = std::round((*alternative.goodput_needed - 1) * 1000) / 10;
    return text + (text.empty() ? "with " : ", or with ") + rounded_text_of(percent) +
           "% more goodput there,";
}

inline std::string proven_within(double gap) {
    return "the allotment is proven to be within " + rounded_text_of(gap) + " of the best";
}

inline std::string text_of_limit(const SizeLimit& limit) {
    std::string text;
    if (limit.by_job()) text = "it may have at most " + text_of(limit.most_by_job);
    if (limit.by_policy())
        text += (text.empty() ? "the policy" : " and the policy") + std::string(" lets it grow to at most ") +
                text_of(limit.most_by_policy) + " this round";
    return text;
}

inline std::string room_needed(const Alternative& alternative, const std::string& type, double gap) {
    std::string missing =
        alternative.gpus_short == 0 ? "" : text_of(alternative.gpus_short) + " more " + type;
    for (const LimitShortage& shortage : alternative.limits_short)
        missing += (missing.empty() ? "" : " and ") + rounded_text_of(shortage.units) + " more " +
                   (shortage.unit.empty() ? "" : shortage.unit + " ") + "in " + shortage.limit;
    if (missing.empty()) return "and there is room: " + proven_within(gap);
    return "but the others leave too few: " + missing + " would make room";
}

}  // namespace detail

inline std::string DecisionExplanation::report(const Cluster& cluster) const {
    std::string text = reason_report(cluster);
    for (const std::string& note : notes) text += "; " + note;
    return text;
}

inline std::string DecisionExplanation::reason_report(const Cluster& cluster) const {
    const auto type_of = [&](const Alternative& a) {
        const PoolShare& part = a.configuration.first();
        return (part.spot ? "spot " : "") + cluster.gpu_types[part.gpu_type];
    };
    const auto priced = [&](const Alternative& a) {
        return a.limit.empty() ? type_of(a) : "unit of " + a.limit;
    };
    const auto worth = [&](const Alternative& a) {
        return describe(cluster, a.configuration) + " would be worth " + rounded_text_of(a.value) + " to it";
    };
    std::string text;
    if (outcome == Outcome::waits) text = "waits: ";
    if (outcome == Outcome::impossible) text = "impossible: ";
    if (!got.empty()) text = describe(cluster, got) + (on_drained ? ", where it stays on drained nodes" : "");
    const std::string next = got.empty()      ? ""
                             : best_at_prices ? ", its best choice at present prices; "
                                              : "; ";
    switch (reason) {
        case DecisionReason::best_offered:
            text += ": it got its preferred option";
            if (!detail.empty()) text += "; " + detail;
            if (limit)
                text += "; " + text_of(limit->gpus) + " are not offered, as " + detail::text_of_limit(*limit);
            return text;
        case DecisionReason::priced_out:
            text += next + worth(*wanted) + ", but cost" + (wanted->configuration.gpus() == 1 ? "s " : " ") +
                    rounded_text_of(wanted->price);
            if (!nearest)
                return text + ": " + detail::ways_to(*wanted, priced(*wanted)) + " it would choose that";
            text += "; nearest is " + describe(cluster, nearest->configuration) + ", worth " +
                    rounded_text_of(nearest->value) + " at a price of " + rounded_text_of(nearest->price);
            if (nearest->worth_its_price())
                return text + ", " + detail::room_needed(*nearest, type_of(*nearest), gap);
            return text + ": " + detail::ways_to(*nearest, priced(*nearest)) +
                   " it would rather run than wait";
        case DecisionReason::no_room:
            return text + next + worth(*wanted) + " at a price of " + rounded_text_of(wanted->price) + ", " +
                   detail::room_needed(*wanted, type_of(*wanted), gap);
        case DecisionReason::within_gap:
            return text + next + worth(*wanted) +
                   " and would fit beside the others: " + detail::proven_within(gap);
        case DecisionReason::node_full:
            return text + ": its nodes have less for it beside its GPUs than the allotment gave it";
        case DecisionReason::keeps:
            if (has_failed) return text + ": it keeps what it holds, as the policy failed for it";
            return text + ": it keeps what it holds, being " +
                   (restarting ? "in a restart" : "not preemptible");
        case DecisionReason::set_aside:
            return text + (got.empty() ? "" : ": ") + detail;
        case DecisionReason::not_placed:
        case DecisionReason::worth_nothing:
        case DecisionReason::no_batch_plan:
        case DecisionReason::no_shape:
        case DecisionReason::beyond_limit:
            break;
    }
    return text + detail;
}

}  // namespace goodput

#endif
