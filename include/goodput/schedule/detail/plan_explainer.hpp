#ifndef GOODPUT_SCHEDULE_DETAIL_PLAN_EXPLAINER_HPP
#define GOODPUT_SCHEDULE_DETAIL_PLAN_EXPLAINER_HPP

// Computes from a round what would change a decision (explain_plan.hpp).
//
// With prices pi of the rows (GPU pools and limits), option k of a job has value v_k, takes a_kr of row r,
// and costs pi . a_k. allot/explain.hpp finds the option w that the job wanted most (largest value minus
// price), whether a price or a lack of room prevented it, and the row r that contributes most to this. This
// file adds numbers in units that a user can act on, with everything else unchanged:
//
//  - the highest price per unit of r at which no other option k of the job is better than w:
//
//        min over k with less of r, and over going without, of
//            (v_w - v_k - sum over the other rows s of pi_s (a_ws - a_ks)) / (a_wr - a_kr)
//
//    If an option that takes as much of r as w, or more, is better than w at this price, no price of r
//    alone is low enough.
//
//  - the smallest factor on the goodput of w with which w is the job's best option. It is found by
//    bisection, and only if the policy values each job on its own: otherwise the values of all jobs may
//    change.
//
//  - the amount of each row that is missing for w, given what the other jobs take. If each row had its
//    missing amount in addition, the value of the best allotment would rise by at least v_w - (value of
//    what the job has now). That allotment may give the additional amounts to another job.
//
// For a waiting job there is also the nearest option, which has the largest v_k relative to its price.
// Prices are those of the linear relaxation. A job does not always get its best option at these prices,
// because options cannot be divided. Takes O(options) time per job; the bisection repeats this about thirty
// times.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "goodput/allot/explain.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/concepts.hpp"
#include "goodput/schedule/detail/contained.hpp"
#include "goodput/schedule/detail/reasons.hpp"
#include "goodput/schedule/explain_plan.hpp"
#include "goodput/schedule/joints.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/round_engine.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput::inline v0_1::detail {

/// Explains the last plan of an engine, job by job.
class PlanExplainer {
public:
    PlanExplainer(const RoundEngine& round, const Snapshot& snapshot, const PolicyJoint& policy,
                  const NotesOf& notes)
        : round_(round),
          snapshot_(snapshot),
          policy_(policy),
          notes_(notes),
          problem_(round.problem()),
          prices_(round.allotted().prices),
          taken_(units_taken(problem_, choices_with_nodes(round))) {}

    [[nodiscard]] DecisionExplanation operator()(std::size_t j) const {
        const Job& job = snapshot_.jobs[j];
        const Decision& decision = round_.last_plan().decisions[j];
        const JobExplanation found = explain(problem_, prices_, j, round_.chosen()[j], taken_);
        DecisionExplanation answer;
        answer.job = job.name;
        answer.gap = std::max(round_.allotted().gap(), 0.0);
        answer.outcome = decision.verdict.outcome;
        answer.got = decision.option.configuration;
        if (round_.is_set_aside(j)) {
            answer.reason = DecisionReason::set_aside;
            answer.detail = decision.verdict.reason;
            return answer;
        }
        if (found.got != no_option && decision.placement.empty()) {
            answer.reason = DecisionReason::not_placed;
            answer.detail = describe(snapshot_.cluster, round_.options_of(j)[found.got].configuration) +
                            " found no nodes: " + decision.verdict.reason;
            return answer;
        }
        answer.value = value(j, found.got);
        answer.price = found.pays;
        answer.best_at_prices = reduced(j, found.got) >= best_reduced(j) - rounding(found);
        answer.on_drained = on_drained(decision.placement, snapshot_.cluster);
        if (found.got != no_option) {
            const std::span<const Option> options = round_.options_of(j);
            const auto row = [this](std::size_t index) { return round_.row_of(snapshot_, index); };
            Option given = decision.option;
            answer.notes = notes_({job, given, options, found.got, problem_.values(j),
                                   OptionUses(problem_.uses(j), problem_.use_offsets(j)), problem_.capacity,
                                   taken_, prices_, pools(), row});
        }
        if (problem_.must(j) && (!job.must_run || job.keeps_what_it_holds() || round_.has_failed(j))) {
            answer.reason = DecisionReason::keeps;
            answer.restarting = job.restarting;
            answer.just_started = job.just_started && job.preemptible;
            answer.has_failed = round_.has_failed(j);
            return answer;
        }
        if (found.got != no_option && found.reason != JobReason::got_wanted &&
            value(j, found.got) < value(j, round_.allotted().choice[j])) {
            answer.reason = DecisionReason::node_full;
            return answer;
        }
        switch (found.reason) {
            case JobReason::nothing_offered:
            case JobReason::too_large:
                answer.reason =
                    found.reason == JobReason::too_large && round_.problem().capacity.size() > pools()
                        ? DecisionReason::beyond_limit
                        : DecisionReason::no_shape;
                answer.detail = decision.verdict.reason;
                return answer;
            case JobReason::got_wanted:
                if (found.got == no_option)
                    say_nothing_wanted(j, answer);
                else
                    say_what_limits_size(j, found, answer);
                return answer;
            case JobReason::priced_out:
                answer.reason = DecisionReason::priced_out;
                break;
            case JobReason::no_room:
                answer.reason = DecisionReason::no_room;
                break;
            case JobReason::within_gap:
                answer.reason = DecisionReason::within_gap;
                break;
        }
        answer.wanted = alternative(j, found.wanted, found.got, true, found.resource);
        if (const std::size_t k = found.nearest; k != no_option && k != found.wanted)
            answer.nearest = alternative(j, k, found.got, false, dearest(j, k));
        return answer;
    }

private:
    /// Returns the chosen option of each job, or no_option if the job has no nodes.
    static std::vector<std::size_t> choices_with_nodes(const RoundEngine& round) {
        std::vector<std::size_t> choices(round.chosen().begin(), round.chosen().end());
        for (std::size_t j = 0; j < choices.size(); ++j)
            if (round.last_plan().decisions[j].placement.empty()) choices[j] = no_option;
        return choices;
    }
    [[nodiscard]] double units(std::size_t j, std::size_t k, std::size_t row) const {
        return units_of(uses_of(problem_, j, k), row);
    }
    [[nodiscard]] std::size_t pools() const { return round_.pools().size(); }
    /// Returns the row that contributes most to the price of an option, or no_resource if it costs nothing.
    [[nodiscard]] std::size_t dearest(std::size_t j, std::size_t k) const {
        return largest_resource(prices_.size(),
                                [&](std::size_t row) { return prices_[row] * units(j, k, row); });
    }
    [[nodiscard]] double value(std::size_t j, std::size_t k) const { return value_of(problem_, j, k); }
    [[nodiscard]] double price(std::size_t j, std::size_t k) const {
        return price_of(uses_of(problem_, j, k), prices_);
    }
    [[nodiscard]] double reduced(std::size_t j, std::size_t k) const {
        return reduced_value(problem_, j, k, prices_);
    }
    static double rounding(const JobExplanation& found) {
        return 1e-9 * (std::abs(found.wanted_value) + found.wanted_price + found.pays);
    }
    /// Returns the largest value minus price over all options and over going without.
    [[nodiscard]] double best_reduced(std::size_t j) const {
        return std::max(0.0, best_reduced_value(problem_, j, prices_));
    }

    [[nodiscard]] Alternative alternative(std::size_t j, std::size_t k, std::size_t got, bool of_all,
                                          std::size_t in_the_way) const {
        Alternative answer;
        answer.configuration = round_.options_of(j)[k].configuration;
        answer.value = value(j, k);
        answer.price = price(j, k);
        const std::span<const ResourceUse> uses = problem_.uses(j, k);
        const std::size_t row = in_the_way != no_resource ? in_the_way
                                : uses.empty()            ? std::size_t{0}
                                                          : uses.front().resource;
        if (row >= pools()) answer.limit = round_.row_of(snapshot_, row).name;
        answer.price_needed = price_needed(j, k, row, of_all);
        answer.goodput_needed = goodput_needed(j, k, of_all);
        for (const ResourceUse& use : uses) {
            const double room =
                problem_.capacity[use.resource] - taken_[use.resource] + units(j, got, use.resource);
            const double missing = use.units - room;
            if (missing <= 1e-6 * std::max(1.0, use.units)) continue;
            if (use.resource < pools()) {
                answer.gpus_short += static_cast<int>(std::ceil(missing - 1e-6));
            } else {
                const LimitRow limit = round_.row_of(snapshot_, use.resource);
                answer.limits_short.push_back({limit.name, limit.unit, missing});
            }
        }
        return answer;
    }

    [[nodiscard]] double price_needed(std::size_t j, std::size_t wanted, std::size_t row, bool of_all) const {
        const double units_wanted = units(j, wanted, row);
        if (units_wanted <= 0) return prices_[row];
        // Value minus price, with the price of this row left out.
        const auto besides = [&](std::size_t k) { return reduced(j, k) + prices_[row] * units(j, k, row); };
        double needed = std::min(prices_[row], besides(wanted) / units_wanted), least = 0;
        for (std::size_t k = 0; of_all && k < problem_.options_of(j); ++k) {
            const double more = units_wanted - units(j, k, row), ahead = besides(wanted) - besides(k);
            if (k == wanted) continue;
            if (more > 0) needed = std::min(needed, ahead / more);
            // An option that takes as much of the row, or more, gains at least as much from a lower price.
            if (more < 0) least = std::max(least, ahead / more);
            if (more == 0 && ahead < 0) return 0;
        }
        return needed > least ? needed : 0;
    }

    [[nodiscard]] std::optional<double> goodput_needed(std::size_t j, std::size_t wanted, bool of_all) const {
        if (policy_.by_round) return std::nullopt;
        const std::span<const Option> options = round_.options_of(j);
        std::vector<Option> changed(options.begin(), options.end());
        std::vector<double> values(options.size());
        const std::vector<OptionRow> rows{
            {snapshot_.jobs[j], changed, values, OptionUses(problem_.uses(j), problem_.use_offsets(j))}};
        const auto chosen = [&](double factor) {
            changed[wanted].goodput = options[wanted].goodput * factor;
            bool failed = false;
            policy_.values(policy_.part, round_.round_of(snapshot_), rows,
                           [&](std::size_t, std::size_t, const std::string&) { failed = true; });
            if (failed) return false;
            double best = 0;
            for (std::size_t k = 0; of_all && k < options.size(); ++k)
                if (k != wanted && options[k].goodput > 0) best = std::max(best, values[k] - price(j, k));
            return values[wanted] - price(j, wanted) >= best;
        };
        constexpr double most = 1000;
        if (options[wanted].goodput <= 0 || !chosen(most)) return std::nullopt;
        if (chosen(1)) return 1;
        double low = 1, high = most;
        while (high > low * (1 + 1e-6)) {
            const double middle = std::sqrt(low * high);
            (chosen(middle) ? high : low) = middle;
        }
        // The policy's values need not grow steadily with the goodput, so check that the rounded factor
        // suffices, too.
        const double rounded = std::ceil(high * 1000) / 1000;
        return chosen(rounded) ? std::optional(rounded) : std::nullopt;
    }

    /// Returns the smallest shape above what the job got in its pool, if only a limit kept it from being
    /// offered.
    [[nodiscard]] std::optional<SizeLimit> size_limit(std::size_t j, const Configuration& got) const {
        for (const Option& option : round_.options_of(j))
            if (option.configuration.first().same_pool(got.first()) &&
                option.configuration.gpus() > got.gpus())
                return std::nullopt;
        Job freed = snapshot_.jobs[j];
        if (freed.adaptivity == Adaptivity::none) return std::nullopt;
        freed.max_gpus = std::numeric_limits<int>::max();
        const std::size_t pool = find_pool(round_.pools(), got.first());
        int next = std::numeric_limits<int>::max();
        for_each_shape(freed, round_.pools()[pool], [&](Shape shape) {
            if (shape.gpus > got.gpus()) next = std::min(next, shape.gpus);
        });
        if (next == std::numeric_limits<int>::max()) return std::nullopt;
        SizeLimit limit{next, snapshot_.jobs[j].max_gpus, std::numeric_limits<int>::max()};
        contained([&] {
            std::vector<int> most;
            find_most_gpus(policy_, snapshot_, j, most);
            limit.most_by_policy = most[got.first().gpu_type];
        });
        return limit.by_job() || limit.by_policy() ? std::optional(limit) : std::nullopt;
    }

    /// Says why there was no larger option: a limit that a more valuable option exceeds even if no other
    /// job runs, or the sizes that the job may have.
    void say_what_limits_size(std::size_t j, const JobExplanation& found, DecisionExplanation& answer) const {
        answer.limit = size_limit(j, round_.options_of(j)[found.got].configuration);
        std::size_t best = no_option;
        for (std::size_t k = 0; found.options_too_large > 0 && k < problem_.options_of(j); ++k)
            if (value(j, k) > value(j, best == no_option ? found.got : best) &&
                !fits_alone(problem_.uses(j, k), problem_.capacity))
                best = k;
        if (best == no_option) return;
        for (const ResourceUse& use : problem_.uses(j, best)) {
            if (use.resource < pools() || use.units <= problem_.capacity[use.resource] * (1 + 1e-9)) continue;
            const LimitRow limit = round_.row_of(snapshot_, use.resource);
            answer.detail = describe(snapshot_.cluster, round_.options_of(j)[best].configuration);
            append_excess(answer.detail, limit, use.units, limit.capacity);
            return;
        }
    }

    void say_nothing_wanted(std::size_t j, DecisionExplanation& answer) const {
        const std::span<const Option> options = round_.options_of(j);
        const bool any = std::any_of(options.begin(), options.end(),
                                     [](const Option& option) { return option.goodput > 0; });
        answer.reason = any ? DecisionReason::worth_nothing : DecisionReason::no_batch_plan;
        answer.detail = round_.last_plan().decisions[j].verdict.reason;
    }

    const RoundEngine& round_;
    const Snapshot& snapshot_;
    const PolicyJoint& policy_;
    const NotesOf& notes_;
    const AllotmentProblem& problem_;
    std::span<const double> prices_;
    std::vector<double> taken_;
};

/// Explains all decisions of the last plan of an engine. The plan must be made from this snapshot.
inline std::vector<DecisionExplanation> explain_round(const RoundEngine& round, const Snapshot& snapshot,
                                                      const PolicyJoint& policy, const NotesOf& notes) {
    const bool planned = round.problem().jobs() > 0 || !round.last_plan().prices.empty();
    if (!planned && !snapshot.jobs.empty())
        bad_input("explanation", "last plan", "none", "that of this snapshot: no plan was made yet");
    require_between("explanation", "number of jobs", static_cast<long long>(snapshot.jobs.size()),
                    static_cast<long long>(round.problem().jobs()),
                    static_cast<long long>(round.problem().jobs()));
    require_result_of(round.problem(), round.allotted());
    const PlanExplainer explain(round, snapshot, policy, notes);
    std::vector<DecisionExplanation> answer;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) answer.push_back(explain(j));
    return answer;
}

}  // namespace goodput::inline v0_1::detail

#endif
