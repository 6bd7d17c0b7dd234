#ifndef GOODPUT_SCHEDULE_DETAIL_PART_OPTIONS_HPP
#define GOODPUT_SCHEDULE_DETAIL_PART_OPTIONS_HPP

// Predicts configurations of several parts, for all makers that list such configurations (makers.hpp).

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

/// Returns the prediction for one part of a configuration by itself.
template <class Ask>
Option predict_part(PoolShare part, const Ask& ask) {
    Option option{Configuration(part), {}, 0, Knowledge::unknown};
    ask(std::span<Option>(&option, 1));
    return option;
}

/// Fills in an option of several parts. For each part, predicts all GPUs as if they were of that part's
/// type, over the same number of nodes. The goodput is the least of these, times `factor`, because all
/// workers wait for the slowest in every step. The plan is that of the slowest part. The knowledge is the
/// least certain one of all parts.
template <class Ask>
void predict_at_slowest(Option& option, const Ask& ask, double factor = 1) {
    const Shape all{option.configuration.nodes(), option.configuration.gpus()};
    option.goodput = std::numeric_limits<double>::infinity();
    option.knowledge = Knowledge::measured;
    for (PoolShare part : option.configuration.parts()) {
        part.shape = all;
        const Option alone = predict_part(part, ask);
        option.knowledge = std::max(option.knowledge, alone.knowledge);
        const double goodput = alone.goodput * factor;
        if (!(goodput < option.goodput)) continue;
        option.plan = alone.plan;
        option.goodput = goodput;
    }
}

/// Fills in options. Passes those for which single(option) holds to `ask`, in consecutive runs, and each of
/// the others to `fill`.
template <class Ask, class Single, class Fill>
void predict_parts(std::span<Option> options, const Ask& ask, Single single, Fill fill) {
    for (std::size_t first = 0; first < options.size();) {
        std::size_t last = first;
        while (last < options.size() && single(options[last])) ++last;
        if (last > first) ask(options.subspan(first, last - first));
        if (last < options.size()) fill(options[last++]);
        first = last;
    }
}

}  // namespace goodput::inline v0_1::detail

#endif
