#ifndef GOODPUT_SIM_FAIR_SHARE_HPP
#define GOODPUT_SIM_FAIR_SHARE_HPP

// Computes how long a job would take alone with an equal share of the cluster. This is the yardstick of
// finish-time fairness,
//     rho = (completion time) / T(N),
//
// where N is the average number of jobs in the cluster during the job's life, and T(N) the time that it
// takes with 1/N of the cluster (Mahajan et al., Themis, NSDI 2020; there T(N) = N T(1)). If rho is above
// 1, the job would have been better off with its share. Here, exactly:
//
//     T(N) = sum_e w_e / max_k r_ke min(1, C_k / (N g_k))
//
// The sum is over epochs e with work w_e. The maximum is over the allotments k that schedulers may give:
// g_k GPUs of a pool with C_k GPUs, on which the job truly makes progress r_ke per second at the best batch
// size. So a job whose share is smaller than an allotment holds the allotment for a part of the time. The
// job uses one GPU type at a time, knows its own speed from the start, and never waits or restarts, so no
// scheduler can give all jobs rho = 1. T is computed from the ground truth, whether or not the policy
// adapts jobs, so that only N differs between policies. Cost: allotments times epochs times `candidates`
// per application, and allotments times epochs per T(N). Batch sizes are on a grid.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "goodput/core/cluster.hpp"
#include "goodput/core/configuration.hpp"
#include "goodput/core/job.hpp"
#include "goodput/model/efficiency.hpp"
#include "goodput/schedule/makers.hpp"
#include "goodput/sim/application.hpp"

namespace goodput::inline v0_1 {

/// The times of an application alone on a cluster.
class FairShare {
public:
    /// `most_gpus` is the largest number of GPUs that a job may hold. `cluster` is what the sharers divide.
    FairShare(const Application& application, const Cluster& cluster, int most_gpus);

    /// Returns T(sharers) in seconds, for at least one sharer; infinity if the application does not run
    /// there.
    [[nodiscard]] double seconds(double sharers) const {
        return sum([sharers](const Holding& holding) {
            return std::min(1.0, holding.gpus_of_pool / (sharers * holding.gpus));
        });
    }
    /// Returns the time on one GPU of the fastest type for the application.
    [[nodiscard]] double one_gpu_seconds() const {
        return sum([](const Holding& holding) { return holding.gpus == 1 ? 1.0 : 0.0; });
    }

private:
    static constexpr int candidates = 24;  // number of batch sizes examined

    struct Holding {
        int gpus = 0;
        int gpus_of_pool = 0;
    };

    /// Returns the sum, over epochs, of the work divided by the largest rate * factor(holding) of any
    /// holding. An epoch without work takes no time.
    template <class Factor>
    [[nodiscard]] double sum(Factor factor) const {
        double seconds = 0;
        for (std::size_t epoch = 0; epoch < work_.size(); ++epoch) {
            if (work_[epoch] <= 0) continue;
            double rate = 0;
            for (std::size_t k = 0; k < holdings_.size(); ++k)
                rate = std::max(rate, rates_[epoch * holdings_.size() + k] * factor(holdings_[k]));
            seconds += work_[epoch] / rate;
        }
        return seconds;
    }

    std::vector<Holding> holdings_;
    std::vector<double> work_;   // by epoch
    std::vector<double> rates_;  // by epoch and holding
};

/// The fair shares of the jobs of a trace, computed from the true speeds of their applications. It is an
/// IsolatedTimes, an argument of metrics_of().
class FairShares {
public:
    /// Begins without any jobs.
    FairShares() = default;
    /// `cluster` is what the sharers divide; its GPU types must be those of the applications, in the same
    /// order. `most_gpus` is the largest number of GPUs that a job may hold.
    FairShares(std::span<const Application> applications, std::span<const Submission> submissions,
               const Cluster& cluster, int most_gpus = 64) {
        for (const Application& application : applications) of_.emplace_back(application, cluster, most_gpus);
        for (const Submission& submission : submissions) application_.push_back(submission.application);
    }

    /// Returns the seconds that the job takes with the share of one of `sharers` jobs.
    [[nodiscard]] double isolated_seconds(std::size_t job, double sharers) const {
        return of_[application_[job]].seconds(sharers);
    }
    /// Returns the seconds that the job takes on one GPU of the type that is fastest for it.
    [[nodiscard]] double one_gpu_seconds(std::size_t job) const {
        return of_[application_[job]].one_gpu_seconds();
    }

private:
    std::vector<FairShare> of_;             // by application
    std::vector<std::size_t> application_;  // by job
};

// ---------------------------------------------------------------------------------------------------------

inline FairShare::FairShare(const Application& application, const Cluster& cluster, int most_gpus) {
    const TrainingCurve& curve = application.curve;
    const std::vector<Pool> pools = pools_of(cluster);
    Job job{.max_gpus = most_gpus};
    for (const ApplicationOnType& type : application.types)
        job.types.push_back({type.min_atomic_batch, type.max_atomic_batch, 1, type.max_nodes, 0});
    std::vector<Option> options;
    append_options(
        job, pools, [](std::size_t) { return std::numeric_limits<int>::max(); }, options);

    struct Trial {
        double total, iteration_seconds;
    };
    std::vector<std::vector<Trial>> trials;  // by holding
    for (const Option& option : options) {
        const PoolShare& part = option.configuration.first();
        const ApplicationOnType& type = application.types[part.gpu_type];
        const BatchLimits limits{curve.initial_batch(), curve.max_batch(), type.min_atomic_batch,
                                 std::min(type.largest_batch(part.shape), type.max_atomic_batch), true};
        const double least = std::max(limits.initial_batch, part.shape.gpus * limits.min_atomic_batch);
        const double most = limits.max_batch;
        if (least > most) continue;
        std::vector<Trial>& of_option = trials.emplace_back();
        BatchPlan last;
        for (int i = 0; i < candidates; ++i) {
            const double total = least * std::pow(most / least, i / (candidates - 1.0));
            const BatchPlan plan =
                detail::share_of(static_cast<int>(std::floor(total + 1e-9)), part.shape, limits);
            if (plan == last) continue;
            last = plan;
            of_option.push_back({static_cast<double>(plan.total(part.shape.gpus)),
                                 type.seconds(part.shape, plan.atomic_batch).iteration(plan)});
        }
        const std::size_t pool = find_pool(pools, part);
        holdings_.push_back({part.occupied_gpus(), pools[pool].gpus()});
    }

    double before = 0;
    for (std::size_t epoch = 0; epoch < curve.epochs(); ++epoch) {
        work_.push_back(curve.progress_after(epoch) - before);
        before = curve.progress_after(epoch);
        for (const std::vector<Trial>& of_option : trials) {
            double best = 0;
            for (const Trial& trial : of_option) {
                const NoiseScaleEfficiency efficiency{static_cast<double>(curve.initial_batch()),
                                                      curve.gradient(trial.total, epoch)};
                const double gain = efficiency.efficiency(trial.total) * trial.total / curve.initial_batch();
                best = std::max(best, gain / trial.iteration_seconds / application.slowdown);
            }
            rates_.push_back(best);
        }
    }
}

}  // namespace goodput::inline v0_1

#endif
