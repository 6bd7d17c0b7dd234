#ifndef GOODPUT_PARALLEL_PARALLEL_PLANS_HPP
#define GOODPUT_PARALLEL_PARALLEL_PLANS_HPP

// Schedules large models with parallelism plans together with ordinary jobs. ParallelPlans offers large
// models configurations with plans, and predicts their goodput:
//
//     LargeModels large(description, cluster.gpu_types);
//     large.add("llama", {model, 512});
//     Scheduler(policy).offering(ParallelPlans(large))
//     large.plan_of("llama", decision.option.configuration)
//
// A configuration has one part per pool, in a shape for which nodes can always be found, so that no
// tensor-parallel group spans two nodes (schedule/makers.hpp, LargeModels). Only a few configurations are
// listed. For the others, the maker answers questions at prices. It reads the price of a GPU of each pool
// from AtPrices::suppose, and asks the planner for the plan with the largest
//
//     reward * (iterations/s)^power - price * GPUs        reward, power: as the job's value at the best plan
//
// The answer is a curve that bounds all plans at all later prices (detail/configuration_search.hpp). The
// maker assumes that an option's value is a nondecreasing function of its goodput, less a price that is a
// sum over its GPUs unless the job already holds it. This holds for all policies that value options or
// rows, for both policies of this toolkit, and for all limits of schedule/cluster_limits.hpp and
// TeamQuotas. If it does not hold, the maker fails (Plan::faults), and the plan's bound covers only the
// listed configurations.

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

namespace goodput::inline v0_1 {

/// Offers large models configurations for which they have plans, and others at prices. Other jobs get what
/// the inner maker offers. A policy's limit on growth does not apply to large models, because their profile
/// shows what they do on more GPUs. Job::min_gpus, Job::max_gpus, TypeLimits::max_nodes and types without
/// an atomic batch do apply. The goodput of a large model is its plan's iterations/s * samples per
/// iteration * the value of a sample at that batch (NoiseScaleEfficiency, or 1 without gradient
/// statistics).
template <PlanFinder Finder = PlanSearcher, OptionMaker Inner = ListedShapes>
class ParallelPlans : public MakerAround<Inner> {
public:
    /// Limits on the questions to the planner.
    struct Settings {
        /// Plans are listed for all GPUs and for this many successive halves, of all pools together and of
        /// each pool.
        int halvings = 1;
        /// The largest number of pools in a plan found at prices. Plans over several GPU types take far
        /// longer to bound than plans on one type, and gain hardly anything if other jobs want the GPUs.
        /// The bound holds for these plans and for the listed ones.
        std::size_t most_pools = 1;
        std::size_t most_curves = 2;  ///< questions at prices per set of pools, each time
        std::size_t most_single = 4;  ///< questions about single configurations, for allotments near the
                                      ///< best
        /// Whether a plan found at prices is made the best on its GPUs at once, with one question each.
        /// Otherwise it is offered as it is, and with more and fewer replicas.
        bool settles = true;
        std::size_t most_steps = 4000;  ///< steps of each search through configurations
        double tolerance = 1e-3;        ///< part of a job's largest value that is not worth a question
    };

    /// Uses the records of `large`, and adds to them.
    explicit ParallelPlans(LargeModels<Finder> large, Settings settings = {}, Inner inner = Inner())
        : MakerAround<Inner>(std::move(inner)), large_(std::move(large)), settings_(settings) {}

    /// Appends plans for the whole cluster and for parts of it, and what the job holds.
    void list(const Round& round, const Job& job, std::span<const int> most_gpus,
              std::vector<Option>& options);

    /// Appends what a job holds and keeps, as the inner maker does. A large model keeps exactly what it
    /// holds.
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

    /// Predicts all options of a job.
    void predict(const Job& job, const std::optional<GradientStatistics>& gradient, std::span<Option> options,
                 const AskPredictor& ask);

    /// Returns why a large model is offered nothing, in one sentence. For other jobs, returns the inner
    /// maker's reason, if it gives one.
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
    void list_halves(const Job& job, detail::LargeJob& large_job, std::vector<int> gpus,
                     std::vector<Option>& options);

    LargeModels<Finder> large_;
    Settings settings_{};
    std::map<std::string, detail::LargeJob> rounds_{};
};

template <PlanFinder Finder, OptionMaker Inner>
void ParallelPlans<Finder, Inner>::list_halves(const Job& job, detail::LargeJob& large_job,
                                               std::vector<int> gpus, std::vector<Option>& options) {
    for (int left = settings_.halvings + 1; left > 0;) {
        const Configuration configuration = large_job.around(gpus);
        if (large_job.may_hold(configuration)) {
            --left;
            if (!large_job.learn(large_, job.name, configuration).plan.stages.empty())
                large_job.offer(configuration, options);
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
    detail::LargeJob& large_job = rounds_[job.name];
    detail::LargeJob before = std::exchange(large_job, {});
    large_job.look_around(large_, round, job);
    large_job.keep_answers(std::move(before));
    const std::size_t first = options.size();
    if (large_job.pools.empty()) {
        large_job.why = {"no open node has GPUs that it can use and that were profiled"};
    } else {
        // Each pool by itself, then all together: the planner begins with what is known.
        const std::vector<int> all = large_job.gpus_by_pool(Configuration(large_job.pools));
        for (std::size_t p = 0; p < all.size() && all.size() > 1; ++p) {
            std::vector<int> one(all.size());
            one[p] = all[p];
            list_halves(job, large_job, one, options);
        }
        list_halves(job, large_job, all, options);
        // This may be more than the job may hold, but it bounds what the job may hold.
        detail::for_each_pools(all.size(), settings_.most_pools, [&](const std::vector<std::size_t>& chosen) {
            if (const std::vector<int> gpus = large_job.gpus_of(chosen);
                !std::isfinite(large_job.ceiling(gpus)))
                large_job.learn(large_, job.name, large_job.around(gpus));
        });
        if (options.size() == first) {
            const KnownPlan& whole = large_job.learn(large_, job.name, Configuration(large_job.pools));
            large_job.why = whole.why;
            if (!whole.plan.stages.empty()) large_job.known = Configuration(large_job.pools);
        }
    }
    if (!large_job.held.empty() && !large_.best_on(job.name, large_job.held).plan.stages.empty())
        large_job.offer(large_job.held, options);
    if (!large_job.offered.empty()) large_job.known = large_job.offered.front();
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
    const LargeModel* large_model = large_.find(job.name);
    if (!large_model) return predict_options(this->inner_, job, gradient, options, ask);
    const double batch = large_model->global_batch;
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

}  // namespace goodput::inline v0_1

#endif
