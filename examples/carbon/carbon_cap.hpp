#ifndef GOODPUT_EXAMPLES_CARBON_CARBON_CAP_HPP
#define GOODPUT_EXAMPLES_CARBON_CARBON_CAP_HPP

#include "goodput/schedule/limits.hpp"
#include "grid.hpp"

namespace carbon {

/// Limits the emissions of all jobs together. Like any other limit, it makes a row, has a price, and
/// appears in reasons.
struct CarbonCap {
    Grid grid{};
    double grams_per_hour = 0;

    void rows(const goodput::Round&, goodput::LimitRows& rows) const {
        rows.add("the carbon cap", grams_per_hour, "grams an hour");
    }
    void uses(const goodput::Round& round, const goodput::Job&, const goodput::Option& option,
              goodput::LimitUses& uses) const {
        uses.add(0, grid.grams_per_hour(option.configuration, round.time_seconds));
    }
};
static_assert(goodput::Limit<CarbonCap>);
}  // namespace carbon

#endif
