#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_ASKING_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_ASKING_HPP

// Decides what to offer a large model at prices. Asks the planner for curves and single configurations
// until no other configuration can be worth more than is asked for, or until the effort is spent. The
// answer is an upper bound on what the configurations that are not offered can be worth.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/large_job.hpp"

namespace goodput::inline v0_1::detail {

/// Answers once, at given prices, for one job.
template <class Finder, class Settings>
class PlanAsking {
public:
    PlanAsking(LargeModels<Finder>& large, const Settings& settings, const Job& job, LargeJob& state,
               const AtPrices& at, double least, std::vector<Option>& options)
        : large_(large),
          settings_(settings),
          job_(job),
          state_(state),
          at_(at),
          least_(least),
          options_(options) {}

    double answer() {
        double top = 0;
        std::size_t groups = 0;  // sets of pools that are asked about together
        for_each_pools(state_.pools.size(), settings_.most_pools,
                       [&](const std::vector<std::size_t>& chosen) {
                           top = std::max(top, state_.ceiling(state_.gpus_of(chosen)));
                           ++groups;
                       });
        if (top <= 0) return -std::numeric_limits<double>::infinity();
        if (!std::isfinite(top)) throw std::runtime_error("no bound on its plans was found in time");
        find_examples();
        state_.values.read(at_, state_.choices, state_.held, top * examples_);
        state_.values.prepare(at_, top * examples_);
        look_at_offered();
        const auto value = [&](double throughput) {
            return state_.values.at_most(at_, throughput * examples_);
        };
        search_.start(value);
        steps_ = settings_.most_steps;
        const double negligible = settings_.tolerance * std::abs(state_.values.exact(at_, top * examples_));
        for (std::size_t n = 0; n < settings_.most_curves * groups; ++n) {
            if (!advance(value)) return left();
            if (leaves_.top().bound - std::max(best_, least_) <= negligible) break;
            if (!ask_at_prices(leaves_.top())) break;
        }
        // Only near the best allotment: while prices still move, questions at prices teach more.
        for (std::size_t n = 0; n < settings_.most_single && least_ < best_ && advance(value);)
            n += look_at_top() ? 1 : 0;
        advance(value);
        return left();
    }

private:
    using Leaf = ConfigurationSearch::Leaf;
    struct Less {
        bool operator()(const Leaf& a, const Leaf& b) const {
            return a.bound != b.bound ? a.bound < b.bound : a.choice < b.choice;
        }
    };

    /// Finds the goodput of one iteration per second, as the predictor computes it.
    void find_examples() {
        if (!state_.known.empty()) {
            Option option{state_.known, {}, 0, Knowledge::unknown};
            at_.evaluate(option);
            examples_ = option.goodput / large_.best_on(job_.name, state_.known).throughput;
        }
        if (!(examples_ > 0 && std::isfinite(examples_)))
            throw std::runtime_error("its plans have no goodput");
    }

    /// Earlier offers may be worth their price now.
    void look_at_offered() {
        for (const Configuration& configuration : state_.offered)
            best_ = std::max(best_, append_if_worth(configuration));
    }
    double append_if_worth(const Configuration& configuration) {
        Option option{configuration, {}, 0, Knowledge::unknown};
        const double gain = at_.evaluate(option);
        if (gain > least_ && option.goodput > 0) options_.push_back(std::move(option));
        return gain;
    }
    void offer(const Configuration& configuration) {
        if (contains(state_.offered, configuration) || !state_.may_hold(configuration)) return;
        append_if_worth(configuration);
        state_.offered.push_back(configuration);  // it may be worth more at other prices
    }

    /// Asks at these prices about the pools of the configuration that may be worth most. The reward fits
    /// the best plan known there, or, if that was asked before, the configuration. Returns false if both
    /// were asked before.
    bool ask_at_prices(const Leaf& leaf) {
        std::vector<std::size_t> chosen;
        for (std::size_t p = 0; p < leaf.choice.size(); ++p)
            if (leaf.choice[p] > 0) chosen.push_back(p);
        for (std::size_t p = 0; p < leaf.choice.size() && chosen.size() < settings_.most_pools; ++p)
            if (leaf.choice[p] == 0) chosen.push_back(p);
        std::sort(chosen.begin(), chosen.end());
        const double ceiling = ceiling_of(leaf), known = best_throughput_on(chosen);
        return (known > 0 && ask_at_prices(chosen, known)) || ask_at_prices(chosen, ceiling);
    }
    /// Returns the iterations per second of the offered configuration on these pools that is worth most.
    double best_throughput_on(const std::vector<std::size_t>& chosen) {
        double best = -std::numeric_limits<double>::infinity(), throughput = 0;
        for (const Configuration& configuration : state_.offered) {
            const std::vector<int> gpus = state_.gpus_by_pool(configuration), all = state_.gpus_of(chosen);
            if (configuration.same_gpus(state_.held) ||
                !std::equal(gpus.begin(), gpus.end(), all.begin(), std::less_equal<>()))
                continue;
            Option option{configuration, {}, 0, Knowledge::unknown};
            const double gain = at_.evaluate(option);
            if (gain <= best) continue;
            best = gain;
            throughput = large_.best_on(job_.name, configuration).throughput;
        }
        return throughput;
    }
    /// Asks with a reward that is worth the same as the job's value at this throughput, and grows as fast.
    /// Returns false if that was asked before.
    bool ask_at_prices(const std::vector<std::size_t>& chosen, double throughput) {
        const auto worth = [&](double iterations) {
            return state_.values.exact(at_, iterations * examples_);
        };
        constexpr double step = 0.02, hardly_any = 1e-9;
        const double here = worth(throughput);
        const double slope = (worth(throughput * (1 + step)) - here) / (throughput * step);
        const double gained = here - worth(throughput * hardly_any);
        if (!(gained > 0) || !std::isfinite(gained)) return false;
        PlanQuestion question;
        question.objective = PlanObjective::reward;
        // A value that grows less than proportionally stays below this curve everywhere, as long as its
        // power falls.
        question.power = std::clamp(slope * throughput / gained, 0.05, 1.0);
        question.reward = gained / std::pow(throughput, question.power);
        std::vector<double> price(state_.pools.size(), std::numeric_limits<double>::infinity());
        for (const std::size_t p : chosen) {
            price[p] = state_.values.prices()[p];
            question.price.push_back(price[p]);
        }
        const AskedReward asked{question.reward, question.power, price};
        if (std::find(state_.asked.begin(), state_.asked.end(), asked) != state_.asked.end()) return false;
        state_.asked.push_back(asked);
        const PlanAnswer answer = large_.ask(job_.name, state_.parts_of(chosen), question);
        if (answer.status != PlanStatus::none && std::isfinite(answer.bound))
            state_.ceiling.add_curve(question.reward, question.power, price, answer.bound);
        const Configuration found =
            state_.note(large_, job_.name, answer.plan, answer.score.throughput(), chosen);
        if (found.empty()) return true;
        if (settings_.settles && state_.may_hold(found)) state_.learn(large_, job_.name, found);
        offer(found);
        // A plan with some replicas more or fewer is hardly worse at these prices, and may fit better with
        // other jobs. The plan itself stays on offer.
        if (!settings_.settles)
            large_.for_each_resized(
                job_.name, state_.parts_of(chosen), answer.plan,
                [&](const ParallelPlan& plan, double resized_throughput) {
                    offer(state_.note(large_, job_.name, plan, resized_throughput, chosen));
                });
        return true;
    }

    /// Moves the configuration that may be worth most to the top of leaves_. Returns false if no
    /// configuration that is not offered can be worth more than `least`.
    template <class Value>
    bool advance(Value value) {
        Leaf leaf;
        while (true) {
            if (!leaves_.empty()) {
                leaf = leaves_.top();
                if (const double now = refined(leaf); now < leaf.bound) {
                    leaves_.pop();
                    keep(std::move(leaf), now);
                    continue;
                }
            }
            const double most = leaves_.empty() ? least_ : std::max(least_, leaves_.top().bound);
            if (!search_.next(value, most, steps_, leaf)) break;
            const double now = refined(leaf);
            keep(std::move(leaf), std::min(now, leaf.bound));
        }
        return !leaves_.empty() && leaves_.top().bound > least_;
    }
    void keep(Leaf leaf, double bound) {
        leaf.bound = bound;
        if (bound == -std::numeric_limits<double>::infinity() ||
            is_settled(leaf, search_.configuration_of(leaf.choice)))
            return;
        leaves_.push(std::move(leaf));
    }
    /// Whether no plan on these GPUs is better than the offered one.
    [[nodiscard]] bool is_settled(const Leaf& leaf, const Configuration& configuration) const {
        return contains(state_.offered, configuration) &&
               ceiling_of(leaf) <= large_.best_on(job_.name, configuration).throughput * (1 + 1e-8);
    }
    [[nodiscard]] double ceiling_of(const Leaf& leaf) const {
        return state_.ceiling(search_.gpus_of(leaf.choice));
    }
    [[nodiscard]] double refined(const Leaf& leaf) const {
        const double throughput = ceiling_of(leaf);
        if (!(throughput > 0)) return -std::numeric_limits<double>::infinity();
        double price = 0;
        for (std::size_t p = 0; p < leaf.choice.size(); ++p)
            price += state_.values.prices()[p] * state_.choices[p][leaf.choice[p]].occupied_gpus();
        return state_.values.exact(at_, throughput * examples_) - price;
    }

    /// Asks about the top of leaves_, the configuration that may be worth most. Returns false if its answer
    /// was known.
    bool look_at_top() {
        Leaf leaf = leaves_.top();
        leaves_.pop();
        const Configuration configuration = search_.configuration_of(leaf.choice);
        const bool is_new = !contains(state_.learned, configuration);
        if (!state_.learn(large_, job_.name, configuration).plan.stages.empty()) offer(configuration);
        leaf.bound = std::min(leaf.bound, refined(leaf));
        // A better plan than the offered one may exist there, so its bound stays in the answer.
        if (!is_settled(leaf, configuration)) resolved_ = std::max(resolved_, leaf.bound);
        return is_new;
    }
    [[nodiscard]] double left() const {
        const double of_leaves =
            leaves_.empty() ? -std::numeric_limits<double>::infinity() : leaves_.top().bound;
        return std::max({search_.bound(), of_leaves, resolved_});
    }

    LargeModels<Finder>& large_;
    const Settings& settings_;
    const Job& job_;
    LargeJob& state_;
    const AtPrices& at_;
    double least_;
    std::vector<Option>& options_;
    double examples_ = 0;
    double best_ = 0;  // most that any offer is worth beyond its price; at least 0
    ConfigurationSearch search_{state_.choices, state_.ceiling, state_.values.prices(),
                                state_.least,   state_.most,    settings_.most_pools};
    std::priority_queue<Leaf, std::vector<Leaf>, Less> leaves_;
    double resolved_ = -std::numeric_limits<double>::infinity();
    std::size_t steps_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
