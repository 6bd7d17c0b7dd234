#ifndef GOODPUT_PARALLEL_PARALLEL_PLANS_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANS_HPP

// Large models with parallelism plans among ordinary jobs. ParallelPlans offers them configurations with
// plans, and says how good they are:
//
//     LargeModels large(description, cluster.gpu_types);
//     large.add("llama", {model, 512});
//     Scheduler(policy).offering(ParallelPlans(large))
//     large.plan_of("llama", decision.option.configuration)
//
// A configuration has one part a pool, in a shape that always packs, so that no tensor-parallel group lies
// over two nodes (schedule/makers.hpp, LargeModels). Few are listed; for the others the maker answers at
// prices. It reads the price of a GPU of each pool off AtPrices::suppose and asks the planner for the plan of
// largest
//
//     reward * (iterations/s)^power - price * GPUs        reward, power: as the job's value at the best plan
//
// whose answer is a curve that bounds all plans at all later prices (detail/configuration_search.hpp). The
// value of an option is taken to be a function of its goodput that never falls, less a price that is a sum
// over its GPUs, unless the job holds it already: so with all policies that value options or rows and with
// both of ours, and with all limits of schedule/cluster_limits.hpp and TeamQuotas. Where that is not so, the
// maker fails (Plan::faults), and the plan's bound covers what is listed.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/model/efficiency.hpp"
#include "goodput/parallel/detail/plan_asking.hpp"
#include "goodput/parallel/large_models.hpp"
#include "goodput/schedule/makers.hpp"

namespace goodput {

/// Offers large models configurations that they have plans for, and others at prices; other jobs get what the
/// inner maker offers. A policy's limit on growth does not count for large models: what they do on more GPUs
/// is known from their profile. Job::min_gpus, Job::max_gpus, TypeLimits::max_nodes and types without an
/// atomic batch do count. They are
/// worth what their plans reach: iterations/s * samples an iteration * what a sample is worth at that batch
/// (NoiseScaleEfficiency, 1 without gradient statistics).
template <PlanFinder Finder = PlanSearcher, OptionMaker Inner = ListedShapes>
class ParallelPlans : public MakerAround<Inner> {
public:
    /// How much is asked of the planner.
    struct Settings {
        int halvings = 1;  ///< listed are plans for all GPUs and so many halves, of all pools and of each
        /// Of so many pools may a plan have GPUs that is asked for at prices. All plans of several GPU types
        /// take far longer to bound than those of each type by itself, and hardly gain anything where other
        /// jobs want the GPUs. The bound holds for these plans, and for what is listed.
        std::size_t most_pools = 1;
        std::size_t most_curves = 2;  ///< questions at prices for each so many pools, each time
        std::size_t most_single = 4;  ///< and of single configurations, for allotments near the best
        /// Whether what is found at prices is made the best on its GPUs at once, a question each; otherwise
        /// it is offered as it is, and with more and fewer replicas.
        bool settles = true;
        std::size_t most_steps = 4000;  ///< of the search through configurations, each time
        double tolerance = 1e-3;        ///< of a job's largest value: no question for so little
    };

    /// Shares the book.
    explicit ParallelPlans(LargeModels<Finder> large, Settings settings = {}, Inner inner = Inner())
        : MakerAround<Inner>(std::move(inner)), large_(std::move(large)), settings_(settings) {}

    /// Appends plans for the whole cluster and for parts of it, and what the job holds.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options);

    /// Appends what a job holds and keeps, as the inner maker does; what a large model holds as it is.
    void list_kept(const Round& round, const Job& job,
                   std::vector<Option>& options) requires KeptMaker<Inner> {
        if (large_.find(job.name))
            options.push_back({round.held_by(job), {}, 0, Knowledge::unknown});
        else
            this->inner_.list_kept(round, job, options);
    }

    /// Appends options at prices; see PricedOptionMaker.
    double ask(const Round& round, const Job& job, std::span<const int> most_gpus, const AtPrices& at,
               double least, std::vector<Option>& options);

    /// Fills in all options of a job.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask);

    /// Why a large model is offered nothing, in one sentence; for other jobs what the inner maker says, if it
    /// says anything.
    [[nodiscard]] std::string why_none(const Round& round, const Job& job) {
        if constexpr (ReasonMaker<Inner>)
            if (!large_.find(job.name)) return this->inner_.why_none(round, job);
        const auto known = rounds_.find(job.name);
        if (known == rounds_.end() || !large_.find(job.name)) return {};
        std::string all;
        for (const std::string& sentence : known->second.why) all += (all.empty() ? "" : "; ") + sentence;
        return all;
    }

private:
    /// Lists plans for all GPUs of some pools and for halves of them.
    void list_halves(const Job& job, detail::LargeJob& of, std::vector<int> gpus,
                     std::vector<Option>& options);

    LargeModels<Finder> large_;
    Settings settings_{};
    std::map<std::string, detail::LargeJob> rounds_{};
};

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::list_halves(const Job& job, detail::LargeJob& of, std::vector<int> gpus,
                                               std::vector<Option>& options) {
    for (int left = settings_.halvings + 1; left > 0;) {
        const Configuration configuration = of.around(gpus);
        if (of.may_hold(configuration)) {
            --left;
            if (!of.learn(large_, job.name, configuration).plan.stages.empty())
                of.offer(configuration, options);
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
        this->inner_.list(round, job, most_gpus, options);
        return;
    }
    std::erase_if(rounds_, [&](const auto& of_job) { return !large_.find(of_job.first); });
    detail::LargeJob& of = rounds_[job.name];
    detail::LargeJob before = std::exchange(of, {});
    of.look_around(large_, round, job);
    of.keep_answers(std::move(before));
    const std::size_t first = options.size();
    if (of.pools.empty()) {
        of.why = {"no open node has GPUs that it can use and that were profiled"};
    } else {
        // Each pool by itself, then all together: the planner begins with what is known.
        const std::vector<int> all = of.gpus_by_pool(Configuration(of.pools));
        for (std::size_t p = 0; p < all.size() && all.size() > 1; ++p) {
            std::vector<int> one(all.size());
            one[p] = all[p];
            list_halves(job, of, one, options);
        }
        list_halves(job, of, all, options);
        // More than it may hold, but bound what it may.
        detail::for_each_pools(all.size(), settings_.most_pools, [&](const std::vector<std::size_t>& chosen) {
            if (const std::vector<int> gpus = of.gpus_of(chosen); !std::isfinite(of.ceiling(gpus)))
                of.learn(large_, job.name, of.around(gpus));
        });
        if (options.size() == first) {
            const KnownPlan& whole = of.learn(large_, job.name, Configuration(of.pools));
            of.why = whole.why;
            if (!whole.plan.stages.empty()) of.known = Configuration(of.pools);
        }
    }
    if (!of.held.empty() && !large_.best_on(job.name, of.held).plan.stages.empty())
        of.offer(of.held, options);
    if (!of.offered.empty()) of.known = of.offered.front();
    detail::sort_options(options, first);
}

template <PlanFinder Finder, OptionMaker Inner>
double ParallelPlans<Finder, Inner>::ask(const Round& round, const Job& job, std::span<const int> most_gpus,
                                         const AtPrices& at, double least, std::vector<Option>& options) {
    if (large_.find(job.name))
        return detail::PlanAsking(large_, settings_, job, rounds_.at(job.name), at, least, options).answer();
    if constexpr (PricedOptionMaker<Inner>)
        return this->inner_.ask(round, job, most_gpus, at, least, options);
    return -std::numeric_limits<double>::infinity();
}

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::predict(const Job& job, const std::optional<GradientStatistics>& gradient,
                                           std::span<Option> options, const AskPredictor& ask) {
    const LargeModel* of = large_.find(job.name);
    if (!of) return predict_options(this->inner_, job, gradient, options, ask);
    const double batch = of->global_batch;
    const NoiseScaleEfficiency efficiency{static_cast<double>(job.initial_batch),
                                          gradient.value_or(GradientStatistics{})};
    for (Option& option : options) {
        const KnownPlan& known = large_.best_on(job.name, option.configuration);
        option.plan = {};
        if (!known.plan.stages.empty()) option.plan = {known.plan.microbatch, known.plan.microbatches() - 1};
        option.goodput = known.throughput * batch * efficiency.efficiency(batch);
        option.knowledge = Knowledge::measured;
    }
}

static_assert(PricedOptionMaker<ParallelPlans<>> && PredictingMaker<ParallelPlans<>> &&
              ReasonMaker<ParallelPlans<>>);

}  // namespace goodput

#endif
