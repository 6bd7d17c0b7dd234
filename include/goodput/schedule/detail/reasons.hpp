#ifndef GOODPUT_SCHEDULE_DETAIL_REASONS_HPP
#define GOODPUT_SCHEDULE_DETAIL_REASONS_HPP

// Says why a job gets nothing, in one sentence (step 11 of a round).

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "goodput/allot/detail/units.hpp"
#include "goodput/model/job_model.hpp"
#include "goodput/schedule/detail/offers.hpp"
#include "goodput/schedule/detail/rows.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Appends which other users would get the missing resources: "to others", and the names of the limits
/// among these resources.
inline void append_who_asks(std::string& reason, const Rows& rows, std::span<const ResourceUse> uses,
                            std::span<const double> prices) {
    for (const ResourceUse& use : uses) {
        if (rows.limit_of(use.resource) >= rows.limits().size() || prices[use.resource] * use.units <= 0)
            continue;
        const LimitRow& limit = rows.limits()[rows.limit_of(use.resource)];
        reason.append(", ").append(rounded_text_of(prices[use.resource] * use.units));
        reason.append(" of that for ").append(limit.name);
    }
}

/// Appends for example " would take 8 of the quota of team vision, which is 6 GPUs".
inline void append_excess(std::string& text, const LimitRow& limit, double units, double capacity) {
    text.append(" would take ").append(rounded_text_of(units)).append(" of ").append(limit.name);
    text.append(", which is ").append(rounded_text_of(capacity));
    if (!limit.unit.empty()) text.append(" ").append(limit.unit);
}

/// Says why a job gets nothing: everything failed for it, it has no option, or none is worth its price.
inline Outcome why_not(const Snapshot& snapshot, std::size_t j, const OpenNodes& open, const Offers& offers,
                       const Rows& rows, std::span<const double> prices, std::string& reason) {
    const std::span<const Option> options = offers.options_of(j);
    if (offers.has_failed(j)) {
        reason = "the policy failed for it";
        return Outcome::waits;
    }
    if (options.empty()) {
        reason = why_no_option(snapshot.jobs[j], snapshot.cluster, open.pools_for(snapshot.jobs[j]));
        return Outcome::impossible;
    }
    std::size_t best = options.size();
    double best_reduced = -std::numeric_limits<double>::infinity(), best_price = 0;
    for (std::size_t k = 0; k < options.size(); ++k) {
        if (options[k].goodput <= 0) continue;
        const double price = price_of(rows.problem.uses(j, k), prices);
        if (rows.problem.value(j, k) - price <= best_reduced) continue;
        best_reduced = rows.problem.value(j, k) - price;
        best_price = price;
        best = k;
    }
    if (best == options.size()) {
        reason = "no batch plan respects its limits on any option";
        // There is no plan either if the model is unusable (model/job_model.hpp).
        contained([&] { validate(model_of(snapshot, j), "it", snapshot.cluster.gpu_types); },
                  [&](const std::string& what) { reason = "no model: " + what; });
        return Outcome::impossible;
    }
    const double value = rows.problem.value(j, best);
    const auto append_wanted = [&] {
        append_description(reason, snapshot.cluster, options[best].configuration);
    };
    if (value <= 0) {
        reason = "the policy offers it nothing this round (";
        append_wanted();
        reason.append(" has value ").append(rounded_text_of(value)).append(")");
        return Outcome::waits;
    }
    for (const ResourceUse& use : rows.problem.uses(j, best)) {
        const double capacity = rows.problem.capacity[use.resource];
        if (use.resource < rows.pools() || use.units <= capacity * (1 + 1e-9)) continue;
        append_wanted();
        append_excess(reason, rows.describe(use.resource, snapshot.cluster, open), use.units, capacity);
        return Outcome::waits;
    }
    if (best_reduced <= 0) {
        append_wanted();
        reason.append(" would be worth ").append(rounded_text_of(value));
        reason.append(" to it, but ").append(rounded_text_of(best_price)).append(" to others");
        append_who_asks(reason, rows, rows.problem.uses(j, best), prices);
    } else {
        reason = "its best option, ";
        append_wanted();
        reason.append(", does not fit together with those of other jobs in this round");
    }
    return Outcome::waits;
}

}  // namespace goodput::inline v0_1::detail

#endif
