#ifndef GOODPUT_SCHEDULE_DETAIL_DECISION_EXPLANATION_HPP
#define GOODPUT_SCHEDULE_DETAIL_DECISION_EXPLANATION_HPP

// Implements DecisionExplanation of explain_plan.hpp.

#include <cmath>
#include <string>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/detail/bodies.hpp"
#include "goodput/core/error.hpp"
#include "goodput/core/placement.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1 {
namespace detail {

GOODPUT_BODY std::string text_rounded_down(double number) {
    if (!(number > 0)) return "0";
    const double unit = std::pow(10.0, std::floor(std::log10(number)) - 3);
    return rounded_text_of(std::floor(number / unit + 1e-6) * unit);
}

GOODPUT_BODY std::string ways_to(const Alternative& alternative, const std::string& type) {
    const std::string price = text_rounded_down(alternative.price_needed);
    std::string text = price == "0" ? "" : "at less than " + price + " per " + type;
    if (!alternative.goodput_needed || *alternative.goodput_needed > 4)
        return text.empty() ? "not even at a price of 0 per " + type + " as things are" : text;
    const double percent = std::round((*alternative.goodput_needed - 1) * 1000) / 10;
    return text + (text.empty() ? "with " : ", or with ") + rounded_text_of(percent) +
           "% more goodput there,";
}

GOODPUT_BODY std::string text_of_limit(const SizeLimit& limit) {
    std::string text;
    if (limit.by_job()) text = "it may have at most " + text_of(limit.most_by_job);
    if (limit.by_policy())
        text += (text.empty() ? "the policy" : " and the policy") + std::string(" lets it grow to at most ") +
                text_of(limit.most_by_policy) + " this round";
    return text;
}

GOODPUT_BODY std::string room_needed(const Alternative& alternative, const std::string& type, double gap) {
    std::string missing =
        alternative.gpus_short == 0 ? "" : text_of(alternative.gpus_short) + " more " + type;
    for (const LimitShortage& shortage : alternative.limits_short)
        missing += (missing.empty() ? "" : " and ") + rounded_text_of(shortage.units) + " more " +
                   (shortage.unit.empty() ? "" : shortage.unit + " ") + "in " + shortage.limit;
    if (missing.empty()) return "and there is room: " + proven_within(gap);
    return "but the others leave too few: " + missing + " would make room";
}

}  // namespace detail

GOODPUT_BODY std::string DecisionExplanation::report(const Snapshot& snapshot) const {
    return report(snapshot.cluster);
}

GOODPUT_BODY std::string DecisionExplanation::report(const Cluster& cluster) const {
    std::string text = reason_report(cluster);
    for (const std::string& note : notes) text += "; " + note;
    return text;
}

GOODPUT_BODY std::string DecisionExplanation::reason_report(const Cluster& cluster) const {
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
                   " and would fit with the other jobs: " + detail::proven_within(gap);
        case DecisionReason::node_full:
            return text + ": its nodes have fewer cores or less memory for it than the allotment gave it";
        case DecisionReason::keeps:
            if (has_failed) return text + ": it keeps what it holds, as the policy failed for it";
            return text + ": it keeps what it holds, being " +
                   (restarting     ? "in a restart"
                    : just_started ? "within its minimum run time"
                                   : "not preemptible");
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

}  // namespace goodput::inline v0_1

#endif
