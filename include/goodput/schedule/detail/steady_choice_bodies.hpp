#ifndef GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_BODIES_HPP
#define GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_BODIES_HPP

// The bodies behind detail/steady_choice.hpp.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
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
            if (all_fit(problem, problem.uses(change.job, change.given)))
                any = true;
            else
                move(problem, change, change.held);
        }
    }
}

GOODPUT_BODY void SteadyChoice::use_fewer_nodes(
    const AllotmentProblem& problem, std::span<const std::size_t> held,
    const std::function<const Option&(std::size_t job, std::size_t option)>& option_of,
    AllotResult& allotted) {
    changes_.clear();
    for (std::size_t j = 0; j < problem.jobs(); ++j) {
        const std::size_t given = allotted.choice[j];
        if (given == no_option || problem.value(j, given) <= 0) continue;
        const Configuration& gpus = option_of(j, given).configuration;
        if (gpus.nodes() > 1 &&
            (held[j] == no_option || !gpus.same_gpus(option_of(j, held[j]).configuration)))
            changes_.push_back({j, given, held[j], given});
    }
    if (changes_.empty()) return;
    left_.assign(problem.capacity.begin(), problem.capacity.end());
    for (std::size_t j = 0; j < problem.jobs(); ++j) take(problem, j, allotted.choice[j], 1);
    bool any = false;
    for (Change& change : changes_) {
        for (std::size_t k = 0; k < problem.options_of(change.job); ++k) {
            const std::size_t best = change.now;
            const Option &other = option_of(change.job, k), &now = option_of(change.job, best);
            if (other.configuration.nodes() >= now.configuration.nodes() ||
                other.configuration.occupied_gpus() > now.configuration.occupied_gpus() ||
                other.goodput < now.goodput || problem.value(change.job, k) < problem.value(change.job, best))
                continue;
            move(problem, change, k);
            if (!all_fit(problem, problem.uses(change.job, k))) move(problem, change, best);
        }
        any |= change.now != change.given;
        allotted.choice[change.job] = change.now;
    }
    if (!any) return;
    allotted.objective = objective_of(problem, allotted.choice);
    allotted.bound = std::max(allotted.bound, allotted.objective);
}

}  // namespace goodput::detail

#endif
