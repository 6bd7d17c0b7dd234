#ifndef GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_BODIES_HPP
#define GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_BODIES_HPP

// The bodies behind detail/steady_choice.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "goodput/allot/problem.hpp"
#include "goodput/core/bodies.hpp"
#include "goodput/schedule/detail/steady_choice.hpp"

namespace goodput::detail {

GOODPUT_BODY double SteadyChoice::objective_of(const AllotmentProblem& problem,
                                               std::span<const std::size_t> choice) {
    double objective = 0;
    for (std::size_t j = 0; j < problem.jobs(); ++j) objective += value_of(problem, j, choice[j]);
    return objective;
}

GOODPUT_BODY void SteadyChoice::move(const AllotmentProblem& problem, Change& change, std::size_t option) {
    take(problem, change.job, change.now, -1);
    take(problem, change.job, option, 1);
    change.now = option;
}

GOODPUT_BODY bool SteadyChoice::put_all_back(const AllotmentProblem& problem, double gap, double bound,
                                             double objective) {
    for (Change& change : changes_) move(problem, change, change.held);
    bool fits = true;
    for (std::size_t r = 0; r < left_.size(); ++r) fits &= has_room(problem, r);
    if (fits) {
        change_where_free(problem);
        double concerned = 0, least = std::numeric_limits<double>::infinity(), loss = 0;
        for (const Change& change : changes_) {
            const double given = value_of(problem, change.job, change.given);
            loss += given - value_of(problem, change.job, change.now);
            if (change.now != change.held || given <= 0) continue;
            concerned += given;
            least = std::min(least, given);
        }
        if (loss <= tie * concerned) return true;
        if (loss <= little * least && bound - (objective - loss) <= gap * std::abs(bound)) return true;
    }
    for (Change& change : changes_) move(problem, change, change.given);
    return false;
}

GOODPUT_BODY void SteadyChoice::change_where_free(const AllotmentProblem& problem) {
    bool any = true;
    for (std::size_t pass = 0; any && pass < most_passes; ++pass) {
        any = false;
        for (Change& change : changes_) {
            if (change.now != change.held) continue;
            const double given = value_of(problem, change.job, change.given),
                         held = value_of(problem, change.job, change.held);
            if (given - held <= tie * std::max(std::abs(given), std::abs(held))) continue;
            move(problem, change, change.given);
            const std::span<const ResourceUse> uses = problem.uses(change.job, change.given);
            if (std::all_of(uses.begin(), uses.end(),
                            [&](const ResourceUse& use) { return has_room(problem, use.resource); }))
                any = true;
            else
                move(problem, change, change.held);
        }
    }
}

}  // namespace goodput::detail

#endif
