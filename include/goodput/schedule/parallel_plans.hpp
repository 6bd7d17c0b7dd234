#ifndef GOODPUT_SCHEDULE_PARALLEL_PLANS_HPP
#define GOODPUT_SCHEDULE_PARALLEL_PLANS_HPP

// Large models with parallelism plans among ordinary jobs. ParallelPlans offers them configurations with
// plans, PlannedGoodput says how good they are; both share a book of the large models:
//
//     LargeModels large(description, cluster.gpu_types);
//     large.add("llama", {model, 512});
//     Scheduler(policy, options, placer, solver, PlannedGoodput(large)).offering(ParallelPlans(large))
//     large.plan_of("llama", decision.option.configuration)
//
// A configuration has one part a pool, in a shape that always packs, so that no tensor-parallel group lies
// over two nodes (schedule/makers.hpp, LargeModels). Few are listed; for the others the maker answers at
// prices. It reads the price of a GPU of each pool off AtPrices::suppose and asks the planner for the plan of
// largest
//
//     reward * iterations/s - price * GPUs         reward: what one more iteration/s is worth, at the best
//     plan
//
// whose answer is a line that bounds all plans at all later prices (detail/configuration_search.hpp). The
// value of an option is taken to be a function of its goodput that never falls, less a price that is a sum
// over its GPUs, unless the job holds it already: so with all policies that value options or rows and with
// both of ours, and with all limits of schedule/cluster_limits.hpp and TeamQuotas. Where that is not so, the
// maker fails (Plan::faults), and the plan's bound covers what is listed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <queue>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "goodput/schedule/detail/configuration_search.hpp"
#include "goodput/schedule/detail/part_options.hpp"
#include "goodput/schedule/detail/plan_values.hpp"
#include "goodput/schedule/large_models.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/schedule/planned_goodput.hpp"

namespace goodput {

/// Offers large models configurations that they have plans for, and others at prices; other jobs get what the
/// inner maker offers. A policy's limit on growth does not count for large models: what they do on more GPUs
/// is known from their profile. Job::min_gpus, Job::max_gpus, TypeLimits::max_nodes and types without an
/// atomic batch do count.
template <PlanFinder Finder = PlanSearcher, OptionMaker Inner = ListedShapes>
class ParallelPlans {
public:
    /// How much is asked of the planner.
    struct Settings {
        int halvings = 1;  ///< listed are plans for all GPUs and so many halves, of all pools and of each
        std::size_t most_lines = 2;     ///< questions at prices, each time that a job is asked
        std::size_t most_single = 4;    ///< and of single configurations, for allotments near the best
        bool settles = true;            ///< what is found at prices is made the best on its GPUs at once
        std::size_t most_steps = 4000;  ///< of the search through configurations, each time
        double tolerance = 1e-3;        ///< of a job's largest value: no question for so little
    };

    /// Shares the book.
    explicit ParallelPlans(LargeModels<Finder> large, Settings settings = {}, Inner inner = {})
        : large_(std::move(large)), settings_(settings), inner_(std::move(inner)) {}

    /// Appends plans for the whole cluster and for parts of it, and what the job holds.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options);

    /// Appends options at prices; see PricedOptionMaker.
    double ask(const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
               double least, std::vector<Option>& options);

    /// Why a large model is offered nothing, in one sentence; empty for other jobs.
    [[nodiscard]] std::string why_none(const Job& job) const {
        const auto known = rounds_.find(job.name);
        if (known == rounds_.end() || !large_.find(job.name)) return {};
        std::string all;
        for (const std::string& sentence : known->second.why) all += (all.empty() ? "" : "; ") + sentence;
        return all;
    }

private:
    /// What a round has shown of a job.
    struct OfRound {
        detail::PoolChoices choices{};
        std::vector<PoolShare> pools{};  // all open GPUs that it may use
        detail::ThroughputCeiling ceiling{};
        std::vector<Configuration> offered{};                         // listed, or appended at prices
        std::vector<Configuration> learned{};                         // asked about one by one
        Configuration known{};                                        // one that has a plan
        std::vector<std::pair<double, std::vector<double>>> asked{};  // reward and prices
        detail::PlanValues values{};
        std::vector<std::string> why{};
        Configuration held{};
        int least = 0, most = 0;  // GPUs
    };

    /// Finds the GPUs that a job may use.
    void look_around(const Round& round, const Job& job, OfRound& of) const;
    /// What the planner answered holds as long as there are no more GPUs.
    static void keep_answers(OfRound before, OfRound& of) {
        constexpr std::size_t most = 200;
        const auto no_larger = [](const PoolShare& now, const PoolShare& then) {
            return now.same_pool(then) && now.shape.gpus <= then.shape.gpus;
        };
        if (before.learned.size() + before.asked.size() > most ||
            !std::equal(of.pools.begin(), of.pools.end(), before.pools.begin(), before.pools.end(),
                        no_larger))
            return;
        of.ceiling = std::move(before.ceiling);
        of.learned = std::move(before.learned);
        of.asked = std::move(before.asked);
    }
    /// Lists plans for all GPUs of some pools and for halves of them.
    void list_halves(const Job& job, OfRound& of, std::vector<int> gpus, std::vector<Option>& options);
    /// Asks about a configuration, and learns what that says of smaller ones.
    const KnownPlan& learn(const std::string& job, OfRound& of, const Configuration& configuration);
    /// Notes a plan that was answered for all pools, and the smallest configuration that holds it.
    Configuration note(const std::string& job, OfRound& of, const PlanAnswer& answer);
    class Asking;

    static bool may_hold(const OfRound& of, const Configuration& configuration) {
        return configuration.gpus() >= of.least && configuration.gpus() <= of.most;
    }
    static bool has(const std::vector<Configuration>& list, const Configuration& configuration) {
        return std::find(list.begin(), list.end(), configuration) != list.end();
    }
    static void offer(OfRound& of, const Configuration& configuration, std::vector<Option>& options) {
        if (has(of.offered, configuration)) return;
        of.offered.push_back(configuration);
        options.push_back({configuration, {}, 0, Knowledge::unknown});
    }
    static std::vector<int> gpus_by_pool(const OfRound& of, const Configuration& configuration);
    /// The smallest configuration that holds these GPUs by pool.
    static Configuration around(const OfRound& of, std::span<const int> gpus);

    LargeModels<Finder> large_;
    Settings settings_{};
    Inner inner_{};
    std::map<std::string, OfRound> rounds_{};
};

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::look_around(const Round& round, const Job& job, OfRound& of) const {
    Job any = job;  // a part may have any number of GPUs
    any.adaptivity = Adaptivity::gpus;
    any.min_gpus = 1;
    any.max_gpus = std::max(job.max_gpus, 2);
    for (TypeLimits& type : any.types) type.gpus_per_replica = 1;
    of.held = round.held_by(job);
    of.most = job.max_gpus;
    of.least = detail::has_fixed_gpus(job) ? job.max_gpus : job.min_gpus;
    for (const Pool& pool : round.pools) {
        if (!large_.knows(pool.gpu_type)) continue;
        std::vector<PoolShare> choices{{pool.gpu_type, pool.gpus_per_node, {0, 0}}};
        detail::for_each_shape(any, pool, [&](Shape shape) {
            if (shape.gpus <= of.most) choices.push_back({pool.gpu_type, pool.gpus_per_node, shape});
        });
        if (choices.size() < 2) continue;
        of.pools.push_back(choices.back());
        of.choices.push_back(std::move(choices));
    }
}

template <PlanFinder Finder, OptionMaker Inner>
std::vector<int> ParallelPlans<Finder, Inner>::gpus_by_pool(const OfRound& of,
                                                            const Configuration& configuration) {
    std::vector<int> gpus(of.pools.size());
    for (const PoolShare& part : configuration.parts())
        for (std::size_t p = 0; p < gpus.size(); ++p)
            if (of.pools[p].same_pool(part)) gpus[p] += part.shape.gpus;
    return gpus;
}

template <PlanFinder Finder, OptionMaker Inner>
Configuration ParallelPlans<Finder, Inner>::around(const OfRound& of, std::span<const int> gpus) {
    std::vector<PoolShare> parts;
    for (std::size_t p = 0; p < gpus.size(); ++p)
        parts.push_back(*std::find_if(of.choices[p].begin(), of.choices[p].end(),
                                      [&](const PoolShare& part) { return part.shape.gpus >= gpus[p]; }));
    return Configuration(std::move(parts));
}

template <PlanFinder Finder, OptionMaker Inner>
const KnownPlan& ParallelPlans<Finder, Inner>::learn(const std::string& job, OfRound& of,
                                                     const Configuration& configuration) {
    const KnownPlan& known =
        large_.settle(job, configuration, configuration.same_gpus(of.held) || has(of.offered, configuration));
    if (!has(of.learned, configuration)) {
        of.learned.push_back(configuration);
        of.ceiling.add_limit(gpus_by_pool(of, configuration), known.bound);
    }
    return known;
}

template <PlanFinder Finder, OptionMaker Inner>
Configuration ParallelPlans<Finder, Inner>::note(const std::string& job, OfRound& of,
                                                 const PlanAnswer& answer) {
    if (answer.plan.stages.empty()) return {};
    std::vector<int> gpus(of.pools.size());
    for (const PlanStage& stage : answer.plan.stages)
        for (const ReplicaGroup& group : stage.replicas)
            gpus[group.gpu_type] += group.count * group.tensor_parallel;
    const Configuration found = around(of, gpus);
    if (!found.same_gpus(of.held)) large_.note(job, found, answer.plan, of.pools, answer.score.throughput());
    return found;
}

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::list_halves(const Job& job, OfRound& of, std::vector<int> gpus,
                                               std::vector<Option>& options) {
    for (int left = settings_.halvings + 1; left > 0;) {
        const Configuration configuration = around(of, gpus);
        if (may_hold(of, configuration)) {
            --left;
            if (!learn(job.name, of, configuration).plan.stages.empty()) offer(of, configuration, options);
        }
        const std::vector<int> before = gpus;
        for (int& count : gpus) count = count > 1 ? count / 2 : count;
        if (gpus == before) break;
    }
}

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::list(const Round& round, const Job& job, std::span<const int> most_gpus,
                                        std::vector<Option>& options) {
    if (!large_.find(job.name)) {
        inner_.list(round, job, most_gpus, options);
        return;
    }
    OfRound& of = rounds_[job.name];
    OfRound before = std::exchange(of, {});
    look_around(round, job, of);
    keep_answers(std::move(before), of);
    const std::size_t first = options.size();
    if (of.pools.empty()) {
        of.why = {"no open node has GPUs that it can use and that were profiled"};
    } else {
        // All pools together, then each by itself.
        const std::vector<int> all = gpus_by_pool(of, Configuration(of.pools));
        list_halves(job, of, all, options);
        for (std::size_t p = 0; p < all.size() && all.size() > 1; ++p) {
            std::vector<int> one(all.size());
            one[p] = all[p];
            list_halves(job, of, one, options);
        }
        if (options.size() == first || !std::isfinite(of.ceiling(all))) {
            // Nothing fits anywhere, or all GPUs together are more than it may hold, but bound what it may.
            const KnownPlan& whole = learn(job.name, of, Configuration(of.pools));
            of.why = whole.why;
            if (!whole.plan.stages.empty()) of.known = Configuration(of.pools);
        }
    }
    if (!of.held.empty() && !large_.best_on(job.name, of.held).plan.stages.empty())
        offer(of, of.held, options);
    if (!of.offered.empty()) of.known = of.offered.front();
    detail::sort_options(options, first);
}

/// One answer at prices.
template <PlanFinder Finder, OptionMaker Inner>
class ParallelPlans<Finder, Inner>::Asking {
public:
    Asking(ParallelPlans& maker, const Job& job, OfRound& of, const AtPrices& at, double least,
           std::vector<Option>& options)
        : maker_(maker),
          job_(job),
          of_(of),
          at_(at),
          least_(least),
          options_(options),
          all_(gpus_by_pool(of, Configuration(of.pools))) {}

    double answer() {
        const double top = of_.ceiling(all_);
        if (top <= 0) return -std::numeric_limits<double>::infinity();
        if (!std::isfinite(top)) throw std::runtime_error("no bound on its plans was found in time");
        find_examples();
        of_.values.read(at_, of_.choices, of_.held, top * examples_);
        of_.values.prepare(at_, top * examples_);
        look_at_offered();
        const auto value = [&](double throughput) { return of_.values.at_most(at_, throughput * examples_); };
        search_.start(value);
        steps_ = maker_.settings_.most_steps;
        const double negligible =
            maker_.settings_.tolerance * std::abs(of_.values.exact(at_, top * examples_));
        for (std::size_t n = 0; n < maker_.settings_.most_lines; ++n) {
            if (!advance(value)) return left();
            if (leaves_.top().bound - std::max(best_, least_) <= negligible) break;
            ask_at_prices(n == 0 && best_throughput_ > 0 ? best_throughput_ : ceiling_of(leaves_.top()));
        }
        // Only near the best allotment: as long as prices move, lines teach more.
        for (std::size_t n = 0; n < maker_.settings_.most_single && least_ < best_ && advance(value);)
            n += look_at_top() ? 1 : 0;
        advance(value);
        return left();
    }

private:
    using Leaf = detail::ConfigurationSearch::Leaf;
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
            examples_ = option.goodput / maker_.large_.best_on(job_.name, of_.known).throughput;
        }
        if (!(examples_ > 0 && std::isfinite(examples_)))
            throw std::runtime_error("its predictor knows no goodput of its plans: PlannedGoodput does");
    }

    /// What was offered before may be worth its price now.
    void look_at_offered() {
        double best_of_new = 0;
        for (const Configuration& configuration : of_.offered) {
            const double gain = append_if_worth(configuration);
            best_ = std::max(best_, gain);
            if (gain <= best_of_new || configuration.same_gpus(of_.held)) continue;
            best_of_new = gain;
            best_throughput_ = maker_.large_.best_on(job_.name, configuration).throughput;
        }
    }
    double append_if_worth(const Configuration& configuration) {
        Option option{configuration, {}, 0, Knowledge::unknown};
        const double gain = at_.evaluate(option);
        if (gain > least_ && option.goodput > 0) options_.push_back(std::move(option));
        return gain;
    }
    void offer(const Configuration& configuration) {
        if (has(of_.offered, configuration) || !may_hold(of_, configuration)) return;
        if (append_if_worth(configuration) > least_) of_.offered.push_back(configuration);
    }

    /// A question at these prices, with the reward that one more iteration a second has there.
    void ask_at_prices(double throughput) {
        const auto worth = [&](double at) { return of_.values.exact(at_, at * examples_); };
        constexpr double step = 0.02;
        double reward = (worth(throughput * (1 + step)) - worth(throughput)) / (throughput * step);
        if (!(reward > 0)) reward = worth(throughput) / throughput;
        if (!(reward > 0) || !std::isfinite(reward)) return;
        PlanQuestion question;
        question.objective = PlanObjective::reward;
        question.reward = reward;
        question.price = of_.values.prices();
        if (std::find(of_.asked.begin(), of_.asked.end(), std::pair{reward, question.price}) !=
            of_.asked.end())
            return;
        of_.asked.emplace_back(reward, question.price);
        const PlanAnswer answer = maker_.large_.ask(job_.name, of_.pools, question);
        if (answer.status != PlanStatus::none && std::isfinite(answer.bound))
            of_.ceiling.add_line(reward, question.price, answer.bound);
        const Configuration found = maker_.note(job_.name, of_, answer);
        if (found.empty()) return;
        if (maker_.settings_.settles && may_hold(of_, found)) maker_.learn(job_.name, of_, found);
        offer(found);
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
        return has(of_.offered, configuration) &&
               ceiling_of(leaf) <= maker_.large_.best_on(job_.name, configuration).throughput * (1 + 1e-8);
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
        const bool is_new = !has(of_.learned, configuration);
        if (!maker_.learn(job_.name, of_, configuration).plan.stages.empty()) offer(configuration);
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

    ParallelPlans& maker_;
    const Job& job_;
    OfRound& of_;
    const AtPrices& at_;
    double least_;
    std::vector<Option>& options_;
    std::vector<int> all_;
    double examples_ = 0;
    double best_ = 0;             // that anything offered is worth less its price, or nothing at all
    double best_throughput_ = 0;  // of what is best and not held
    detail::ConfigurationSearch search_{of_.choices, of_.ceiling, of_.values.prices(), of_.least, of_.most};
    std::priority_queue<Leaf, std::vector<Leaf>, Less> leaves_;
    double resolved_ = -std::numeric_limits<double>::infinity();
    std::size_t steps_ = 0;
};

template <PlanFinder Finder, OptionMaker Inner>
double ParallelPlans<Finder, Inner>::ask(const Round& round, const Job& job, std::span<const int> most_gpus,
                                         const AtPrices& at, double least, std::vector<Option>& options) {
    if (large_.find(job.name)) return Asking(*this, job, rounds_.at(job.name), at, least, options).answer();
    if constexpr (PricedOptionMaker<Inner>) return inner_.ask(round, job, most_gpus, at, least, options);
    return -std::numeric_limits<double>::infinity();
}

static_assert(PricedOptionMaker<ParallelPlans<>> && ReasonMaker<ParallelPlans<>>);

}  // namespace goodput

#endif
