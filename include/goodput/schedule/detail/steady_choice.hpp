#ifndef GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_HPP
#define GOODPUT_SCHEDULE_DETAIL_STEADY_CHOICE_HPP

// Among allotments of equal worth, chooses the one that changes least: jobs keep what they hold if that
// costs nothing. This is needed because the solver does not know which jobs run, and distributes the
// options of equal jobs arbitrarily.
//
// A job is changed in two cases: it was given something other than what it holds, or it was given something
// and holds nothing that it could keep.
//
// 1. Put all changed jobs back on what they hold, or on nothing, except those that gain by their change and
//    take nothing from any other job. If the result is worth as much, it is the answer. If it is worth
//    less, it is still the answer if the gap allows the loss and the loss is small compared with what each
//    of these jobs was given. The second condition is needed because the gap is relative to the value of
//    the whole cluster, of which one job is always a small part. This step suffices in every round in which
//    nothing has happened.
//
// 2. Otherwise solve the allotment again among the changed jobs, with a bonus on what they hold that is too
//    small to matter. This finds exchanges of two jobs, cycles of many, and several small jobs for a large
//    one. The answer is used if more jobs then keep what they hold.
//
// If several options have the same GPUs, a job keeps what it holds with any of them. Step 1 puts it back on
// the one with the largest value. A job is never put back on an option without value, unless it must run.
//
// Then, if a job changes and several options are worth the same to it, it gets the one on the fewest nodes
// that fits next to what the other jobs have.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/problem.hpp"
#include "goodput/allot/result.hpp"
#include "goodput/core/configuration.hpp"

namespace goodput::inline v0_1::detail {

/// The step after the solver that the opening comment describes. It keeps its buffers from round to round.
class SteadyChoice {
public:
    /// Values whose relative difference is at most this are treated as equal. Policies break ties by a
    /// millionth.
    static constexpr double tie = 2e-6;
    /// The largest accepted loss, as a fraction of the value that any of the affected jobs was given,
    /// however wide the gap is.
    static constexpr double little = 0.005;

    /// Changes choice and objective of `allotted`, the solver's answer to the problem. `held` contains the
    /// option that each job holds (no_option if none). A job also keeps what it holds with any other option
    /// for which is_same(job, option, held) is true, and its entry of `held` is then set to that option.
    /// The bound changes only if rounding put it below the new objective. If the deadline passes, step 2
    /// ends with the best that it has.
    template <class IsSame>
    void keep(const AllotmentProblem& problem, std::span<std::size_t> held, IsSame is_same, double gap,
              AllotResult& allotted, std::optional<std::chrono::nanoseconds> deadline = {}) {
        find_changes(problem, held, is_same, allotted.choice);
        if (changes_.empty()) return;
        const double objective = objective_of(problem, allotted.choice);
        if (!put_all_back(problem, gap, allotted.bound, objective) &&
            !allot_again(problem, is_same, deadline))
            return;
        for (const Change& change : changes_) {
            allotted.choice[change.job] = change.now;
            if (keeps(change, is_same)) held[change.job] = change.now;
        }
        allotted.objective = objective_of(problem, allotted.choice);
        allotted.bound = std::max(allotted.bound, allotted.objective);
    }

    /// Gives jobs that change, or that hold nothing, the option on the fewest nodes that fits next to what
    /// the other jobs have. The option must be worth no less, be no slower, and occupy no more GPUs. `held`
    /// is as after keep().
    void use_fewer_nodes(const AllotmentProblem& problem, std::span<const std::size_t> held,
                         const std::function<const Option&(std::size_t job, std::size_t option)>& option_of,
                         AllotResult& allotted);

private:
    static constexpr std::size_t most_passes = 4;
    // States of the search; takes some milliseconds.
    static constexpr std::size_t most_states = std::size_t{1} << 12;

    /// A changed job. `now` is what it has at present, at first the same as `given`.
    struct Change {
        std::size_t job = 0, given = no_option, held = no_option, now = no_option;
    };

    static double objective_of(const AllotmentProblem& problem, std::span<const std::size_t> choice);

    template <class IsSame>
    static bool keeps(const Change& change, IsSame is_same) {
        return change.held != no_option && change.now != no_option &&
               (change.now == change.held || is_same(change.job, change.now, change.held));
    }

    template <class IsSame>
    void find_changes(const AllotmentProblem& problem, std::span<std::size_t> held, IsSame is_same,
                      std::span<const std::size_t> choice) {
        changes_.clear();
        left_.assign(problem.capacity.begin(), problem.capacity.end());
        for (std::size_t j = 0; j < problem.jobs(); ++j) {
            take(problem, j, choice[j], 1);
            const std::size_t first = held[j];
            for (std::size_t k = 0; first != no_option && k < problem.options_of(j); ++k)
                if (problem.value(j, k) > problem.value(j, held[j]) && is_same(j, k, first)) held[j] = k;
            if (first != no_option && choice[j] != no_option && is_same(j, choice[j], first))
                held[j] = choice[j];
            std::size_t keeps = held[j];
            if (keeps != no_option && !problem.must(j) && problem.value(j, keeps) <= 0) keeps = no_option;
            if (keeps == choice[j] || (keeps == no_option && problem.must(j))) continue;
            changes_.push_back({j, choice[j], keeps, choice[j]});
        }
    }
    void take(const AllotmentProblem& problem, std::size_t job, std::size_t option, double sign) {
        if (option == no_option) return;
        for (const ResourceUse& use : problem.uses(job, option)) left_[use.resource] -= sign * use.units;
    }
    void move(const AllotmentProblem& problem, Change& change, std::size_t option);
    /// Whether these uses fit next to what all other jobs have.
    [[nodiscard]] bool all_fit(const AllotmentProblem& problem, std::span<const ResourceUse> uses) const {
        return std::all_of(uses.begin(), uses.end(),
                           [&](const ResourceUse& use) { return has_room(problem, use.resource); });
    }
    [[nodiscard]] bool has_room(const AllotmentProblem& problem, std::size_t resource) const {
        return left_[resource] >= -capacity_tolerance(problem.capacity[resource]);
    }

    /// Step 1. Together the jobs that are put back may lose only a small part of what any one of them was
    /// given.
    bool put_all_back(const AllotmentProblem& problem, double gap, double bound, double objective);

    /// Lets jobs keep their change if they gain by it and take nothing from any other job.
    void change_where_free(const AllotmentProblem& problem);

    /// Step 2. Returns false if no more jobs keep what they hold than before.
    template <class IsSame>
    bool allot_again(const AllotmentProblem& problem, IsSame is_same,
                     std::optional<std::chrono::nanoseconds> deadline) {
        if (std::all_of(changes_.begin(), changes_.end(),
                        [](const Change& change) { return change.held == no_option; }))
            return false;
        for (const Change& change : changes_) take(problem, change.job, change.given, -1);
        among_.clear();
        among_.capacity.clear();
        for (const double left : left_) among_.capacity.push_back(std::max(left, 0.0));
        options_.clear();
        double before = 0;
        for (const Change& change : changes_) {
            among_.add_job(problem.must(change.job));
            const double given = value_of(problem, change.job, change.given),
                         held = value_of(problem, change.job, change.held);
            before += given;
            for (std::size_t k = 0; k < problem.options_of(change.job); ++k) {
                const bool same = change.held != no_option && is_same(change.job, k, change.held);
                const double value = problem.value(change.job, k);
                if (value <= 0 && !problem.must(change.job)) continue;
                among_.add_option(value + (same ? tie * std::max(given, held) : 0),
                                  problem.uses(change.job, k));
                options_.push_back(k);
            }
        }
        const AllotResult& found = solver_(among_, {.gap = 0.1 * tie / static_cast<double>(changes_.size()),
                                                    .deadline = deadline,
                                                    .most_states = most_states});
        if (!found_allotment(found.status)) return false;
        bool any = false;
        std::size_t first = 0;
        for (std::size_t c = 0; c < changes_.size(); ++c) {
            Change& change = changes_[c];
            const std::size_t choice = found.choice[c];
            change.now = choice == no_option ? no_option : options_[first + choice];
            any |= keeps(change, is_same);
            first += among_.options_of(c);
        }
        return any && found.objective >= before * (1 - 1e-9);
    }

    std::vector<Change> changes_;
    std::vector<double> left_;          // by row: what is left next to what all jobs have now
    AllotmentProblem among_;            // problem of step 2
    std::vector<std::size_t> options_;  // its options, job by job, as indices of the whole problem's
    Allotter<> solver_;
};

inline double SteadyChoice::objective_of(const AllotmentProblem& problem,
                                         std::span<const std::size_t> choice) {
    double objective = 0;
    for (std::size_t j = 0; j < problem.jobs(); ++j) objective += value_of(problem, j, choice[j]);
    return objective;
}

inline void SteadyChoice::move(const AllotmentProblem& problem, Change& change, std::size_t option) {
    take(problem, change.job, change.now, -1);
    take(problem, change.job, option, 1);
    change.now = option;
}

inline bool SteadyChoice::put_all_back(const AllotmentProblem& problem, double gap, double bound,
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

inline void SteadyChoice::change_where_free(const AllotmentProblem& problem) {
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

inline void SteadyChoice::use_fewer_nodes(
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

}  // namespace goodput::inline v0_1::detail

#endif
