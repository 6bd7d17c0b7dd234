#ifndef GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP
#define GOODPUT_SCHEDULE_EXPLAIN_PLAN_HPP

// Why every job has what the last plan gives it, and what would change that.
//
// With prices pi of the pools, option k of a job is worth v_k to it and costs pi_r(k) u_k, where u_k are the
// GPUs that it takes of its pool r(k). allot/explain_job.hpp says which option w the job wanted most and
// whether a price or the room stood in between; here are the numbers in units that a user can act on, all
// else as it is:
//
//  - the price a GPU of r(w) up to which no other option k of the job is better,
//
//        min over k with less of r(w), and over going without, of (v_w - v_k + pi_r' u_k) / (u_w - u_k)
//
//    where the u_k counts, and r' is missing, in the pool of w itself, and u_k does not, in another one;
//  - the factor on the goodput of w from which on it is the job's best option: by bisection, if the policy
//    values jobs one by one (a policy that values the whole round may answer with other values for all);
//  - the GPUs of r(w) that are missing beside what the others hold. With so many more, the best allotment is
//    worth at least v_w - (what the job has now) more; who will get them is another question.
//
// A job that waits also wants to know what is nearest: the option with the largest v_k over its price.
// Prices are those of the relaxation: at them a job's best option is not always what it gets, because options
// are whole. O(options) a job, the bisection some thirty times that.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "goodput/allot/explain_job.hpp"
#include "goodput/policy/concepts.hpp"
#include "goodput/schedule/decision_explanation.hpp"
#include "goodput/schedule/options.hpp"
#include "goodput/schedule/scheduler.hpp"
#include "goodput/schedule/snapshot.hpp"

namespace goodput {

/// Explains the last plan of a Scheduler, made from this snapshot, job by job. A snapshot with another number
/// of jobs, and a Scheduler that has made no plan, get std::invalid_argument.
template <class AnyScheduler>
[[nodiscard]] std::vector<DecisionExplanation> explain_plan(const AnyScheduler& scheduler,
                                                            const Snapshot& snapshot);

namespace detail {

template <class AnyScheduler>
class PlanExplainer {
public:
    PlanExplainer(const AnyScheduler& scheduler, const Snapshot& snapshot)
        : scheduler_(scheduler),
          snapshot_(snapshot),
          problem_(scheduler.problem()),
          prices_(scheduler.allotted().prices),
          taken_(units_taken(problem_, scheduler.allotted().choice)) {}

    [[nodiscard]] DecisionExplanation operator()(std::size_t j) const {
        const Job& job = snapshot_.jobs[j];
        const Decision& decision = scheduler_.last_plan().decisions[j];
        const JobExplanation found = explain_job(problem_, scheduler_.allotted(), j, taken_);
        DecisionExplanation answer;
        answer.job = job.name;
        answer.gap = std::max(scheduler_.allotted().gap(), 0.0);
        answer.outcome = decision.verdict.outcome;
        answer.got = decision.option.allotment;
        if (found.got != no_option && decision.placement.empty()) {
            answer.reason = DecisionReason::not_placed;
            answer.detail = describe(snapshot_.cluster, scheduler_.options_of(j)[found.got].allotment) +
                            " found no nodes: " + decision.verdict.reason;
            return answer;
        }
        answer.value = value(j, found.got);
        answer.price = found.pays;
        answer.best_at_prices = reduced(j, found.got) >= best_reduced(j, no_option) - rounding(found);
        answer.on_drained =
            std::any_of(decision.placement.begin(), decision.placement.end(),
                        [&](const NodeShare& share) { return snapshot_.cluster.nodes[share.node].drained; });
        if (problem_.must(j)) {
            answer.reason = DecisionReason::keeps;
            answer.restarting = job.restarting;
            answer.left_alone = scheduler_.left_alone(j);
            return answer;
        }
        switch (found.reason) {
            case JobReason::nothing_offered:
            case JobReason::too_large:
                answer.reason = DecisionReason::no_shape;
                answer.detail = decision.verdict.reason;
                return answer;
            case JobReason::got_wanted:
                if (found.got == no_option)
                    say_nothing_wanted(j, answer);
                else
                    answer.limit = size_limit(j, answer.got);
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
        answer.wanted = alternative(j, found.wanted, found.got, true);
        if (found.got == no_option && answer.reason == DecisionReason::priced_out)
            if (const std::size_t k = nearest(j); k != found.wanted)
                answer.nearest = alternative(j, k, found.got, false);
        return answer;
    }

private:
    [[nodiscard]] Use use(std::size_t j, std::size_t k) const { return problem_.uses(j, k).front(); }
    [[nodiscard]] double value(std::size_t j, std::size_t k) const {
        return k == no_option ? 0 : problem_.value(j, k);
    }
    [[nodiscard]] double price(std::size_t j, std::size_t k) const {
        return k == no_option ? 0 : price_of(problem_.uses(j, k), prices_);
    }
    [[nodiscard]] double reduced(std::size_t j, std::size_t k) const { return value(j, k) - price(j, k); }
    static double rounding(const JobExplanation& found) {
        return 1e-9 * (std::abs(found.wanted_value) + found.wanted_price + found.pays);
    }
    /// Over all options but one, and over going without.
    [[nodiscard]] double best_reduced(std::size_t j, std::size_t except) const {
        double best = 0;
        for (std::size_t k = 0; k < problem_.options_of(j); ++k)
            if (k != except) best = std::max(best, reduced(j, k));
        return best;
    }

    [[nodiscard]] Alternative alternative(std::size_t j, std::size_t k, std::size_t got, bool of_all) const {
        Alternative answer;
        answer.allotment = scheduler_.options_of(j)[k].allotment;
        answer.value = value(j, k);
        answer.price = price(j, k);
        answer.price_needed = price_needed(j, k, of_all);
        answer.goodput_needed = goodput_needed(j, k, of_all);
        const Use wanted = use(j, k);
        double room = problem_.capacity[wanted.resource] - taken_[wanted.resource];
        if (got != no_option && use(j, got).resource == wanted.resource) room += use(j, got).units;
        answer.gpus_short = static_cast<int>(std::max(std::ceil(wanted.units - room - 1e-6), 0.0));
        return answer;
    }

    [[nodiscard]] double price_needed(std::size_t j, std::size_t wanted, bool of_all) const {
        const Use of = use(j, wanted);
        if (of.units <= 0) return prices_[of.resource];
        double needed = std::min(prices_[of.resource], value(j, wanted) / of.units);
        if (!of_all) return needed;
        for (std::size_t k = 0; k < problem_.options_of(j); ++k) {
            const Use other = use(j, k);
            const bool same = other.resource == of.resource;
            const double units = of.units - (same ? other.units : 0);
            // As many of the same and no more worth, or more of them: a lower price does not help it.
            if (k == wanted || units <= 0) continue;
            needed = std::min(needed, (value(j, wanted) - (same ? value(j, k) : reduced(j, k))) / units);
        }
        return std::max(needed, 0.0);
    }

    [[nodiscard]] std::optional<double> goodput_needed(std::size_t j, std::size_t wanted, bool of_all) const {
        const auto& policy = scheduler_.policy();
        using P = std::remove_cvref_t<decltype(policy)>;
        if constexpr (RoundPolicy<P>) {
            return std::nullopt;
        } else {
            const std::span<const Option> options = scheduler_.options_of(j);
            std::vector<Option> changed(options.begin(), options.end());
            std::vector<double> values(options.size());
            const std::vector<Row> rows{{snapshot_.jobs[j], changed, values}};
            const auto chosen = [&](double factor) {
                changed[wanted].goodput = options[wanted].goodput * factor;
                if (!contained([&] {
                        value_rows(policy, scheduler_.round_of(snapshot_), std::span<const Row>(rows));
                    }))
                    return false;
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
            // The policy's values may jump anywhere: what is said has been tried.
            const double rounded = std::ceil(high * 1000) / 1000;
            return chosen(rounded) ? std::optional(rounded) : std::nullopt;
        }
    }

    /// The option with the largest value over its price; of those without a price the one worth most.
    [[nodiscard]] std::size_t nearest(std::size_t j) const {
        std::size_t best = 0;
        std::pair<double, double> most{-std::numeric_limits<double>::infinity(), 0};
        for (std::size_t k = 0; k < problem_.options_of(j); ++k) {
            const double costs = price(j, k);
            const double ratio = value(j, k) <= 0 ? -std::numeric_limits<double>::infinity()
                                 : costs > 0      ? value(j, k) / costs
                                                  : std::numeric_limits<double>::infinity();
            if (std::pair(ratio, value(j, k)) <= most) continue;
            most = {ratio, value(j, k)};
            best = k;
        }
        return best;
    }

    /// The smallest shape above what the job got in its pool, if only a limit kept it from being offered.
    [[nodiscard]] std::optional<SizeLimit> size_limit(std::size_t j, const Allotment& got) const {
        for (const Option& option : scheduler_.options_of(j))
            if (option.allotment.gpu_type == got.gpu_type &&
                option.allotment.gpus_per_node == got.gpus_per_node &&
                option.allotment.shape.gpus > got.shape.gpus)
                return std::nullopt;
        Job freed = snapshot_.jobs[j];
        if (freed.adaptivity == Adaptivity::none) return std::nullopt;
        freed.max_gpus = std::numeric_limits<int>::max();
        const std::size_t pool = find_pool(scheduler_.pools(), got.gpu_type, got.gpus_per_node);
        int next = std::numeric_limits<int>::max();
        for_each_shape(freed, scheduler_.pools()[pool], [&](Shape shape) {
            if (shape.gpus > got.shape.gpus) next = std::min(next, shape.gpus);
        });
        if (next == std::numeric_limits<int>::max()) return std::nullopt;
        SizeLimit limit{next, snapshot_.jobs[j].max_gpus, std::numeric_limits<int>::max()};
        contained([&] { limit.most_by_policy = most_gpus(scheduler_.policy(), snapshot_, j, got.gpu_type); });
        return limit.by_job() || limit.by_policy() ? std::optional(limit) : std::nullopt;
    }

    void say_nothing_wanted(std::size_t j, DecisionExplanation& answer) const {
        const std::span<const Option> options = scheduler_.options_of(j);
        const bool any = std::any_of(options.begin(), options.end(),
                                     [](const Option& option) { return option.goodput > 0; });
        answer.reason = any ? DecisionReason::worth_nothing : DecisionReason::no_batch_plan;
        answer.detail = scheduler_.last_plan().decisions[j].verdict.reason;
    }

    const AnyScheduler& scheduler_;
    const Snapshot& snapshot_;
    const AllotmentProblem& problem_;
    std::span<const double> prices_;
    std::vector<double> taken_;
};

}  // namespace detail

template <class AnyScheduler>
std::vector<DecisionExplanation> explain_plan(const AnyScheduler& scheduler, const Snapshot& snapshot) {
    const bool planned = scheduler.problem().jobs() > 0 || !scheduler.last_plan().prices.empty();
    if (!planned && !snapshot.jobs.empty())
        bad_input("explanation", "last plan", "none", "that of this snapshot: no plan was made yet");
    require_between("explanation", "number of jobs", static_cast<long long>(snapshot.jobs.size()),
                    static_cast<long long>(scheduler.problem().jobs()),
                    static_cast<long long>(scheduler.problem().jobs()));
    detail::require_result_of(scheduler.problem(), scheduler.allotted());
    const detail::PlanExplainer<AnyScheduler> explain(scheduler, snapshot);
    std::vector<DecisionExplanation> answer;
    for (std::size_t j = 0; j < snapshot.jobs.size(); ++j) answer.push_back(explain(j));
    return answer;
}

}  // namespace goodput

#endif
