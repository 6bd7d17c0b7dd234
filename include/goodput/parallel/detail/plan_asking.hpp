#ifndef GOODPUT_PARALLEL_DETAIL_PLAN_ASKING_HPP
#define GOODPUT_PARALLEL_DETAIL_PLAN_ASKING_HPP

// What a large model is offered at prices: curves and single configurations are asked for until nothing that
// is not offered can be worth more than is wanted, or the effort is spent. What can is the answer.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <queue>
#include <stdexcept>
#include <utility>
#include <vector>

#include "goodput/parallel/detail/large_job.hpp"

namespace goodput::detail {

/// One answer at prices about one job.
template <class Finder, class Settings>
class PlanAsking {
public:
    PlanAsking(LargeModels<Finder>& large, const Settings& settings, const Job& job, LargeJob& of,
               const AtPrices& at, double least, std::vector<Option>& options)
        : large_(large), settings_(settings), job_(job), of_(of), at_(at), least_(least), options_(options) {}

    double answer() {
        double top = 0;
        std::size_t groups = 0;  // of pools that are asked about together
        for_each_pools(of_.pools.size(), settings_.most_pools, [&](const std::vector<std::size_t>& chosen) {
            top = std::max(top, of_.ceiling(of_.gpus_of(chosen)));
            ++groups;
        });
        if (top <= 0) return -std::numeric_limits<double>::infinity();
        if (!std::isfinite(top)) throw std::runtime_error("no bound on its plans was found in time");
        find_examples();
        of_.values.read(at_, of_.choices, of_.held, top * examples_);
        of_.values.prepare(at_, top * examples_);
        look_at_offered();
        const auto value = [&](double throughput) { return of_.values.at_most(at_, throughput * examples_); };
        search_.start(value);
        steps_ = settings_.most_steps;
        const double negligible = settings_.tolerance * std::abs(of_.values.exact(at_, top * examples_));
        for (std::size_t n = 0; n < settings_.most_curves * groups; ++n) {
            if (!advance(value)) return left();
            if (leaves_.top().bound - std::max(best_, least_) <= negligible) break;
            if (!ask_at_prices(leaves_.top())) break;
        }
        // Only near the best allotment: as long as prices move, questions at prices teach more.
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

    /// Goodput of one iteration a second, as the predictor takes it.
    void find_examples() {
        if (!of_.known.empty()) {
            Option option{of_.known, {}, 0, Knowledge::unknown};
            at_.evaluate(option);
            examples_ = option.goodput / large_.best_on(job_.name, of_.known).throughput;
        }
        if (!(examples_ > 0 && std::isfinite(examples_)))
            throw std::runtime_error("its plans have no goodput");
    }

    /// What was offered before may be worth its price now.
    void look_at_offered() {
        for (const Configuration& configuration : of_.offered)
            best_ = std::max(best_, append_if_worth(configuration));
    }
    double append_if_worth(const Configuration& configuration) {
        Option option{configuration, {}, 0, Knowledge::unknown};
        const double gain = at_.evaluate(option);
        if (gain > least_ && option.goodput > 0) options_.push_back(std::move(option));
        return gain;
    }
    void offer(const Configuration& configuration) {
        if (contains(of_.offered, configuration) || !of_.may_hold(configuration)) return;
        append_if_worth(configuration);
        of_.offered.push_back(configuration);  // it may be worth more at other prices
    }

    /// A question at these prices about the pools of the configuration that may be worth most, with the
    /// reward of the best plan that is known there, or else of that configuration; false if both were asked
    /// before.
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
    /// Iterations a second of what is offered on these pools and worth most.
    double best_throughput_on(const std::vector<std::size_t>& chosen) {
        double best = -std::numeric_limits<double>::infinity(), throughput = 0;
        for (const Configuration& configuration : of_.offered) {
            const std::vector<int> gpus = of_.gpus_by_pool(configuration), all = of_.gpus_of(chosen);
            if (configuration.same_gpus(of_.held) ||
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
    /// The same with a reward that at this throughput is worth what the job's is, and grows as fast; false if
    /// that was asked before.
    bool ask_at_prices(const std::vector<std::size_t>& chosen, double throughput) {
        const auto worth = [&](double at) { return of_.values.exact(at_, at * examples_); };
        constexpr double step = 0.02, hardly_any = 1e-9;
        const double here = worth(throughput);
        const double slope = (worth(throughput * (1 + step)) - here) / (throughput * step);
        const double gained = here - worth(throughput * hardly_any);
        if (!(gained > 0) || !std::isfinite(gained)) return false;
        PlanQuestion question;
        question.objective = PlanObjective::reward;
        // A value that grows less than in proportion is no more than this anywhere, as long as its power
        // falls.
        question.power = std::clamp(slope * throughput / gained, 0.05, 1.0);
        question.reward = gained / std::pow(throughput, question.power);
        std::vector<double> price(of_.pools.size(), std::numeric_limits<double>::infinity());
        for (const std::size_t p : chosen) {
            price[p] = of_.values.prices()[p];
            question.price.push_back(price[p]);
        }
        const AskedReward asked{chosen, question.reward, question.power, price};
        if (std::find(of_.asked.begin(), of_.asked.end(), asked) != of_.asked.end()) return false;
        of_.asked.push_back(asked);
        const PlanAnswer answer = large_.ask(job_.name, of_.parts_of(chosen), question);
        if (answer.status != PlanStatus::none && std::isfinite(answer.bound))
            of_.ceiling.add_curve(question.reward, question.power, price, answer.bound);
        const Configuration found =
            of_.note(large_, job_.name, answer.plan, answer.score.throughput(), chosen);
        if (found.empty()) return true;
        if (settings_.settles && of_.may_hold(found)) of_.learn(large_, job_.name, found);
        offer(found);
        // What is best at these prices is hardly worse on more or fewer GPUs, which may fit better beside
        // others; but as it is offered, it stays.
        if (!settings_.settles)
            large_.for_each_resized(job_.name, of_.parts_of(chosen), answer.plan,
                                    [&](const ParallelPlan& plan, double its) {
                                        offer(of_.note(large_, job_.name, plan, its, chosen));
                                    });
        return true;
    }

    /// Finds the configuration that may be worth most, the top of leaves_; false where none that is not
    /// offered can be worth more than `least`.
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
    /// Nothing is better on these GPUs than the plan that is offered.
    [[nodiscard]] bool is_settled(const Leaf& leaf, const Configuration& configuration) const {
        return contains(of_.offered, configuration) &&
               ceiling_of(leaf) <= large_.best_on(job_.name, configuration).throughput * (1 + 1e-8);
    }
    [[nodiscard]] double ceiling_of(const Leaf& leaf) const {
        return of_.ceiling(search_.gpus_of(leaf.choice));
    }
    [[nodiscard]] double refined(const Leaf& leaf) const {
        const double throughput = ceiling_of(leaf);
        if (!(throughput > 0)) return -std::numeric_limits<double>::infinity();
        double price = 0;
        for (std::size_t p = 0; p < leaf.choice.size(); ++p)
            price += of_.values.prices()[p] * of_.choices[p][leaf.choice[p]].occupied_gpus();
        return of_.values.exact(at_, throughput * examples_) - price;
    }

    /// Asks about the configuration that may be worth most, the top of leaves_; false if that was known.
    bool look_at_top() {
        Leaf leaf = leaves_.top();
        leaves_.pop();
        const Configuration configuration = search_.configuration_of(leaf.choice);
        const bool is_new = !contains(of_.learned, configuration);
        if (!of_.learn(large_, job_.name, configuration).plan.stages.empty()) offer(configuration);
        leaf.bound = std::min(leaf.bound, refined(leaf));
        // More than what is offered there is known to be possible, or less than what is wanted.
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
    LargeJob& of_;
    const AtPrices& at_;
    double least_;
    std::vector<Option>& options_;
    double examples_ = 0;
    double best_ = 0;  // that anything offered is worth less its price, or nothing at all
    ConfigurationSearch search_{of_.choices, of_.ceiling, of_.values.prices(),
                                of_.least,   of_.most,    settings_.most_pools};
    std::priority_queue<Leaf, std::vector<Leaf>, Less> leaves_;
    double resolved_ = -std::numeric_limits<double>::infinity();
    std::size_t steps_ = 0;
};

}  // namespace goodput::detail

#endif
