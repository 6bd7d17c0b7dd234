#ifndef GOODPUT_STATISTICS_PROFILE_RUNS_HPP
#define GOODPUT_STATISTICS_PROFILE_RUNS_HPP

// Chooses profile runs: the configurations that a job should run next to learn as much as possible per
// GPU-second.
//
// The knowledge about a job is a normal distribution of ln T, where T is the time of an iteration
// (statistics/detail/joint_posterior.hpp). Therefore the uncertainty after a run does not depend on the
// result of the run. A run that measures y with the scatter s subtracts from K, the covariance of ln T of
// the options,
//
//     u u^T,    u = cov(ln T, y) / sqrt(var y + s^2)          once for ln of computing, once for the step
//
// Options are the configurations that the scheduler may use later, with weights w that add up to one.
// Candidates are the configurations that could be run. If runs remove r_k of the variance of option k,
// their gain is, for one of two criteria,
//
//     variance   sum_k w_k r_k                 Bayesian I-optimal design (Chaloner and Verdinelli 1995)
//     regret     sum_k w_k loss(D_k, r_k)      D_k = value_best - value_k, value = goodput - price,
//                loss(D, r) = sqrt(r) phi(D / sqrt r) - D Phi(-D / sqrt r)      r of value_best - value_k
//
// where phi and Phi are the density and the distribution function of the standard normal distribution. The
// loss is the value of information (Raiffa and Schlaifer 1961; Frazier, Powell and Dayanik 2009): how much
// more the truly better of two options is worth than the one believed better. The two options are the best
// one and another one drawn with the weights, and the loss is a fraction of the best option's goodput. A
// run that cannot change the decision is worth next to nothing.
//
// Method: greedy. Take the run with the largest gain per GPU-second (per run, if only the number of runs is
// limited), update the covariance, and repeat. A run costs GPUs x (start-up + iterations x predicted time).
// The search computes K once, and then takes O(candidates * options + rows^2) per chosen run, with
// options + 2 candidates rows.
//
// Guarantees: the covariance after the runs is exact for the normal model, and more runs never gain less.
// The greedy choice is not proven optimal. Variance reduction is not submodular in general (Das and Kempe
// 2011 bound it by the correlation of the candidates). The loss grows slowly at first, so two runs may be
// worth their cost together even if neither is alone. On small random lists the greedy choice has on
// average 97 % of the gain of the best subset; on a single list it may have only three quarters
// (tests/statistics/profile_runs_test.cpp).
//
// Limits: the method does not question the form of the model or the scatter (which includes errors that all
// measurements of a run share). It promises more about other GPU types than fits achieve, because fits pass
// on parameters one by one. It plans all runs before the first one. To use the results of some runs, fit
// and call again. The new choice need not be better: a synchronising time that turned out to be hidden
// stays uncertain in the fit, so the same kind of run looks promising again. A replica is one GPU.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <Eigen/Core>

#include "goodput/core/configuration.hpp"
#include "goodput/core/error.hpp"
#include "goodput/fit/job_fit.hpp"
#include "goodput/statistics/detail/joint_posterior.hpp"
#include "goodput/statistics/detail/profile_design.hpp"

namespace goodput::inline v0_1 {

/// The question that profile runs are to answer.
enum class ProfileCriterion {
    variance,  ///< mean variance of ln of the options' iteration times
    /// Expected goodput lost by choosing the wrong option, as a fraction of the best option's goodput.
    regret
};

/// The reason why no more runs were chosen.
enum class ProfileStop {
    known,         ///< the remaining uncertainty is within the tolerance
    not_worth_it,  ///< no affordable run has a gain that is worth its cost
    budget_spent,  ///< candidates are left, but the budget does not allow any of them
    none_left      ///< every candidate is chosen
};

/// The budget and the purpose of runs.
struct ProfileRunOptions {
    ProfileCriterion criterion = ProfileCriterion::variance;       ///< measure of gain
    double gpu_seconds = std::numeric_limits<double>::infinity();  ///< budget of all runs together
    std::size_t runs = std::numeric_limits<std::size_t>::max();    ///< maximum number of runs
    double startup_seconds = 30;  ///< seconds of a run before its first iteration
    int iterations = 30;          ///< iterations per run
    /// GPU-seconds that one unit of gain is worth. If infinite, every run with a gain is worth its cost.
    double worth = std::numeric_limits<double>::infinity();
    /// No more runs are chosen once no option's ln T has a standard deviation above this. With the regret
    /// criterion, none are chosen once runs can remove at most this much regret.
    double tolerance = 0.02;
    /// Weights of the options, >= 0, not all 0, in any unit; equal if empty.
    std::span<const double> weights{};
    /// Prices of the options in units of goodput; free if empty; used by `regret` only.
    std::span<const double> prices{};
    RefinedPopulation population{};  ///< how similar GPU types are; must be the same as the JobFitter's
};

/// A chosen run, and the reason for it.
struct ProfileRun {
    std::size_t candidate = 0;  ///< index into the candidates
    double gain = 0;            ///< in the criterion's unit, in addition to the earlier runs
    double gpu_seconds = 0;     ///< GPUs times its predicted duration
    std::size_t option = 0;     ///< option that contributes most to the gain
    double before = 0;          ///< standard deviation of this option's ln T before the run
    double after = 0;           ///< standard deviation of this option's ln T after the run
};

/// The runs that are worth their cost, and the uncertainty that they leave.
struct ProfileRuns {
    std::vector<ProfileRun> runs{};  ///< runs in the order in which they were chosen
    double before = 0;               ///< what can be learnt before the runs, in the criterion's unit
    double after = 0;                ///< what can be learnt after the runs
    double gpu_seconds = 0;          ///< total of all runs
    /// Standard deviations of the options' ln T after the runs, without the scatter of a measurement.
    std::vector<double> deviations{};
    ProfileStop stop = ProfileStop::known;  ///< why no more runs were chosen

    /// Returns one line: the runs, their cost and gain, and why there are no more.
    [[nodiscard]] std::string report() const;
};

/// Chooses runs for many jobs. Keeps its buffers.
class ProfileRunChooser {
public:
    /// Chooses from `candidates` the runs by which the job should learn how much `options` are worth.
    /// `types[t]` is what is known about the job on GPU type t (from JobFitter). The result does not depend
    /// on the order of either list. A candidate is chosen at most once, or twice if it is listed twice. The
    /// goodput of options is used only by `regret`; the goodput of candidates is not used. Throws
    /// std::invalid_argument for invalid input.
    [[nodiscard]] ProfileRuns operator()(std::span<const Option> candidates, std::span<const Option> options,
                                         std::span<const TypeFit> types,
                                         const ProfileRunOptions& settings = {});

private:
    struct CandidateRun {
        std::size_t index = 0;
        double gpu_seconds = 0;
        detail::ProfileMeasurement measurement{};
        bool chosen = false;
    };

    void read_options(std::span<const Option> options, const ProfileRunOptions& settings);
    void read_candidates(std::span<const Option> candidates, std::span<const TypeFit> types,
                         const ProfileRunOptions& settings);
    [[nodiscard]] bool known(double tolerance) const;

    detail::JointPosterior posterior_{};
    detail::ProfileDesign design_{};
    /// The options in an order that does not depend on the caller's order.
    std::vector<std::size_t> order_{};
    std::vector<CandidateRun> candidates_{};
};

/// Chooses once, as ProfileRunChooser does.
[[nodiscard]] inline ProfileRuns choose_profile_runs(std::span<const Option> candidates,
                                                     std::span<const Option> options,
                                                     std::span<const TypeFit> types,
                                                     const ProfileRunOptions& settings = {}) {
    return ProfileRunChooser()(candidates, options, types, settings);
}

namespace detail {

inline void validate_configuration(const Option& option, std::size_t types, std::string_view list) {
    const PoolShare& part = option.configuration.first();
    const std::string subject = "profile runs: " + std::string(list);
    require_between(subject, "gpu_type", static_cast<long long>(part.gpu_type), 0,
                    static_cast<long long>(types) - 1);
    require_configuration(subject, part.shape, option.plan);
    require_between(subject, "gpus_per_node", part.gpus_per_node, 1, 1 << 10);
    require_between(subject, "gpus", part.shape.gpus, part.shape.nodes,
                    static_cast<long long>(part.shape.nodes) * part.gpus_per_node);
    require_at_least(subject, "goodput", option.goodput, 0);
}

inline void validate(const ProfileRunOptions& settings, std::size_t options) {
    constexpr std::string_view subject = "profile runs";
    if (options == 0) bad_input(subject, "options", "empty", "at least one configuration");
    for (const std::span<const double> list : {settings.weights, settings.prices})
        if (!list.empty() && list.size() != options)
            bad_input(subject, "number of weights or prices", list.size(),
                      "that of options, " + text_of(options));
    for (const double weight : settings.weights) require_at_least(subject, "weights", weight, 0);
    for (const double price : settings.prices)
        if (!std::isfinite(price)) bad_input(subject, "prices", price, "finite");
    if (!(settings.gpu_seconds >= 0)) bad_input(subject, "gpu_seconds", settings.gpu_seconds, "at least 0");
    if (!(settings.worth >= 0)) bad_input(subject, "worth", settings.worth, "at least 0");
    require_at_least(subject, "startup_seconds", settings.startup_seconds, 0);
    require_between(subject, "iterations", settings.iterations, 1, 1 << 30);
    require_at_least(subject, "tolerance", settings.tolerance, 0);
}

}  // namespace detail

inline ProfileRuns ProfileRunChooser::operator()(std::span<const Option> candidates,
                                                 std::span<const Option> options,
                                                 std::span<const TypeFit> types,
                                                 const ProfileRunOptions& settings) {
    detail::validate(settings, options.size());
    for (const Option& option : options) detail::validate_configuration(option, types.size(), "options");
    for (const Option& option : candidates)
        detail::validate_configuration(option, types.size(), "candidates");
    posterior_.read(types, settings.population);
    read_options(options, settings);
    read_candidates(candidates, types, settings);
    posterior_.covariance(design_.covariance);
    design_.start();

    const bool by_number = std::isinf(settings.gpu_seconds) && settings.runs < candidates.size();
    ProfileRuns result;
    result.before = design_.left();
    while (true) {
        result.stop = ProfileStop::known;
        if (known(settings.tolerance)) break;
        result.stop = ProfileStop::none_left;
        CandidateRun* next = nullptr;
        double best_rate = 0, best_gain = 0;
        for (CandidateRun& candidate : candidates_) {
            if (candidate.chosen) continue;
            if (result.runs.size() >= settings.runs ||
                result.gpu_seconds + candidate.gpu_seconds > settings.gpu_seconds) {
                if (result.stop == ProfileStop::none_left) result.stop = ProfileStop::budget_spent;
                continue;
            }
            result.stop = ProfileStop::not_worth_it;
            const double gain = design_.gain(candidate.measurement);
            // A smaller gain is a rounding error.
            if (!(gain > 1e-12 * result.before) || gain * settings.worth < candidate.gpu_seconds) continue;
            const double rate = by_number ? gain : gain / candidate.gpu_seconds;
            if (rate <= best_rate) continue;
            best_rate = rate;
            best_gain = gain;
            next = &candidate;
        }
        if (!next) break;
        next->chosen = true;
        result.gpu_seconds += next->gpu_seconds;
        const detail::ProfileDesign::Taken most = design_.take(next->measurement);
        result.runs.push_back(
            {next->index, best_gain, next->gpu_seconds, order_[most.target], most.before, most.after});
    }
    result.after = design_.left();
    result.deviations.resize(options.size());
    for (std::size_t k = 0; k < order_.size(); ++k) result.deviations[order_[k]] = design_.deviation(k);
    return result;
}

inline void ProfileRunChooser::read_options(std::span<const Option> options,
                                            const ProfileRunOptions& settings) {
    const auto weight = [&](std::size_t i) { return settings.weights.empty() ? 1 : settings.weights[i]; };
    const auto value = [&](std::size_t i) {
        return options[i].goodput - (settings.prices.empty() ? 0 : settings.prices[i]);
    };
    const auto key = [&](std::size_t i) {
        return std::tuple(options[i].configuration, options[i].plan, options[i].goodput, weight(i), value(i),
                          i);
    };
    order_.resize(options.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    design_.targets.assign(options.size(), {});
    design_.regret = settings.criterion == ProfileCriterion::regret;
    design_.best = order_.size();
    double weights = 0;
    for (std::size_t k = 0; k < order_.size(); ++k) {
        const std::size_t i = order_[k];
        const PoolShare& part = options[i].configuration.first();
        posterior_.add_iteration(part.gpu_type, part.shape, options[i].plan);
        weights += weight(i);
        if (weight(i) > 0 && (design_.best == order_.size() || value(i) > value(order_[design_.best])))
            design_.best = k;
    }
    require_positive("profile runs", "sum of weights", weights);
    const std::size_t best = order_[design_.best];
    if (design_.regret) require_positive("profile runs", "goodput of the best option", options[best].goodput);
    for (std::size_t k = 0; k < order_.size(); ++k) {
        const std::size_t i = order_[k];
        detail::ProfileTarget& target = design_.targets[k];
        target.weight = weight(i) / weights;
        if (!design_.regret) continue;
        target.goodput = options[i].goodput / options[best].goodput;
        target.shortfall = std::max(value(best) - value(i), 0.0) / options[best].goodput;
    }
}

inline void ProfileRunChooser::read_candidates(std::span<const Option> candidates,
                                               std::span<const TypeFit> types,
                                               const ProfileRunOptions& settings) {
    const auto key = [&](const CandidateRun& candidate) {
        return std::tuple(candidates[candidate.index].configuration, candidates[candidate.index].plan,
                          candidate.index);
    };
    candidates_.clear();
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates_.push_back({.index = i});
    std::sort(candidates_.begin(), candidates_.end(),
              [&](const CandidateRun& a, const CandidateRun& b) { return key(a) < key(b); });
    auto rows = static_cast<Eigen::Index>(order_.size());
    for (CandidateRun& candidate : candidates_) {
        const PoolShare& part = candidates[candidate.index].configuration.first();
        const BatchPlan& plan = candidates[candidate.index].plan;
        const RefinedFit& fit = types[part.gpu_type].fit;
        const double iteration = fit.model.iteration_seconds(part.shape, plan);
        candidate.gpu_seconds =
            part.occupied_gpus() * (settings.startup_seconds + settings.iterations * iteration);
        // On a single replica only the step can be measured.
        candidate.measurement = {rows, part.shape.gpus > 1 ? 2 : 1, fit.step_deviation};
        rows += candidate.measurement.rows;
        if (candidate.measurement.rows == 2) posterior_.add_compute(part.gpu_type, part.shape, plan);
        posterior_.add_step(part.gpu_type, part.shape, plan);
    }
}

inline bool ProfileRunChooser::known(double tolerance) const {
    if (design_.regret) return design_.left() <= tolerance;
    for (std::size_t k = 0; k < order_.size(); ++k)
        if (design_.targets[k].weight > 0 && design_.deviation(k) > tolerance) return false;
    return true;
}

inline std::string ProfileRuns::report() const {
    const std::string_view why = stop == ProfileStop::known          ? "the rest is known well enough"
                                 : stop == ProfileStop::not_worth_it ? "no further run is worth its cost"
                                 : stop == ProfileStop::budget_spent ? "the budget is spent"
                                                                     : "there are no further candidates";
    std::string line = text_of(runs.size()) + " runs for " + rounded_text_of(gpu_seconds) +
                       " GPU-seconds, what can be learnt falls from " + rounded_text_of(before) + " to " +
                       rounded_text_of(after) + "; " + std::string(why);
    std::string_view separator = "; candidates ";
    for (const ProfileRun& run : runs) {
        line.append(separator).append(text_of(run.candidate));
        line += " (option " + text_of(run.option) + ": deviation " + rounded_text_of(run.before) + " to " +
                rounded_text_of(run.after) + ")";
        separator = ", ";
    }
    return line;
}

}  // namespace goodput::inline v0_1

#endif
