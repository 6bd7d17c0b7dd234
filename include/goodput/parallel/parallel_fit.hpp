#ifndef GOODPUT_PARALLEL_PARALLEL_FIT_HPP
#define GOODPUT_PARALLEL_PARALLEL_FIT_HPP

// Fits the constants of parallel/plan_score.hpp to measured training runs.
//
// Few runs of large models are ever measured, so only a few constants are fitted, the same for all runs.
// They are the time that timing a layer separately adds, the cost of a message between stages in addition
// to its link, the slowdown of the gradient reduction, the factor on activations, and, for each platform,
// the bytes that its software takes on every GPU. Each constant starts at a prior value
// (ParallelFitOptions::start), and leaves it only as far as the runs require:
//
//     minimise  sum over runs  rho( ln(predicted / measured seconds) / deviation )
//                            + rho( ln(predicted / measured bytes) / deviation )
//             + sum over constants  ((constant - start) / its deviation)^2,       constants at least 0
//
// rho(r) = c^2 ln(1 + r^2 / c^2) with c = 2 (Cauchy). Published runs do not always match their files, and a
// run that is off by ten deviations must not move the others. The residual is therefore the root of its
// rho, with its sign. The method is Levenberg-Marquardt (fit/least_squares.hpp) with derivatives by
// differences, because the score contains maxima over stages.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"
#include "goodput/fit/least_squares.hpp"
#include "goodput/fit/minimise.hpp"
#include "goodput/parallel/plan_score.hpp"

namespace goodput::inline v0_1 {

/// A measured training run. The model and the cluster must outlive the fit.
struct ParallelRun {
    std::string name{};                        ///< name for messages
    const LayeredModel* model = nullptr;       ///< model that was trained
    const ParallelCluster* cluster = nullptr;  ///< cluster on which it was trained
    ParallelPlan plan{};                       ///< plan with which it was trained
    /// Runs of one platform share the bytes of its software, ParallelFit::fixed_bytes.
    std::size_t platform = 0;
    std::optional<double> iteration_seconds{};  ///< positive
    std::optional<double> most_bytes{};         ///< peak on the fullest GPU, positive
};

/// The prior's standard deviations of the constants around the start, all positive.
struct ParallelDeviations {
    double layer_overhead_seconds = 5e-4;     ///< per layer
    double message_seconds = 2e-3;            ///< per message
    double message_seconds_per_byte = 2e-10;  ///< per byte
    double reduce_factor = 1.5;               ///< deviation of the factor on reductions
    double activation_factor = 0.2;           ///< deviation of the factor on activations
    double fixed_bytes = 2e9;                 ///< deviation of the bytes of each platform's software
};

/// The prior, and how inaccurate measurements may be.
struct ParallelFitOptions {
    /// Starting values, kept if the runs say nothing. Constants that ParallelDeviations does not name stay
    /// as they are.
    ParallelConstants start{};
    ParallelDeviations deviations{};  ///< of the constants around the start
    double time_deviation = 0.05;     ///< standard deviation of ln(iteration), in (0, 1]
    double bytes_deviation = 0.03;    ///< standard deviation of ln(bytes), in (0, 1]
    int max_iterations = 100;         ///< largest number of Levenberg-Marquardt iterations
};

/// The fitted constants, and how well they explain the runs.
struct ParallelFit {
    std::vector<ParallelConstants> constants{};  ///< by platform
    std::vector<double> time_errors{};           ///< by run: predicted / measured - 1; 0 if not measured
    std::vector<double> bytes_errors{};          ///< the same for the fullest GPU's bytes
    /// Posterior standard deviations of the fitted constants, in the order of ParallelDeviations, then by
    /// platform.
    std::vector<double> deviations{};
    FitStatus status = FitStatus::prior_kept;  ///< how the fit ended
    int iterations = 0;                        ///< number of iterations

    /// Returns the constants on a platform of the runs. Throws std::invalid_argument for other platforms.
    [[nodiscard]] const ParallelConstants& on(std::size_t platform) const;
};

/// Returns the constants that explain these runs, or the start if there are no runs. `minimise` minimises
/// the residuals. Throws std::invalid_argument for runs without a model or cluster, measurements that are
/// not positive, platforms above 29, plans that have no score (naming the run), and deviations outside
/// their ranges.
[[nodiscard]] ParallelFit fit_parallel_constants(std::span<const ParallelRun> runs,
                                                 const ParallelFitOptions& options = {},
                                                 Minimise minimise = minimise_with_tiny_solver);

/// Returns the predicted seconds per iteration and bytes on the fullest GPU of a run.
[[nodiscard]] inline std::pair<double, double> predict_run(const ParallelRun& run,
                                                           const ParallelConstants& constants) {
    const PlanScore score = score_plan(*run.model, *run.cluster, run.plan, constants);
    double bytes = 0;
    for (const StageScore& stage : score.stages) bytes = std::max(bytes, stage.memory_bytes);
    return {score.iteration_seconds, bytes};
}

namespace detail {

/// A constant that all platforms share, how far the runs may move it, and its smallest value.
struct SharedConstant {
    const char* name;
    double ParallelConstants::*constant;
    double ParallelDeviations::*deviation;
    double least;
};
inline constexpr std::array shared_constants{
    SharedConstant{"layer_overhead_seconds", &ParallelConstants::layer_overhead_seconds,
                   &ParallelDeviations::layer_overhead_seconds, 0},
    SharedConstant{"message_seconds", &ParallelConstants::message_seconds,
                   &ParallelDeviations::message_seconds, 0},
    SharedConstant{"message_seconds_per_byte", &ParallelConstants::message_seconds_per_byte,
                   &ParallelDeviations::message_seconds_per_byte, 0},
    SharedConstant{"reduce_factor", &ParallelConstants::reduce_factor, &ParallelDeviations::reduce_factor, 0},
    SharedConstant{"activation_factor", &ParallelConstants::activation_factor,
                   &ParallelDeviations::activation_factor, 1e-3}};

/// Returns `constants` with the fixed bytes of a platform. The difference between those with and without
/// tensor parallelism stays.
inline ParallelConstants with_fixed_bytes(ParallelConstants constants, double parallel) {
    constants.fixed_bytes = std::max(constants.fixed_bytes + parallel - constants.fixed_bytes_parallel, 0.0);
    constants.fixed_bytes_parallel = parallel;
    return constants;
}

/// The residuals above. x says how many deviations each constant lies from the start.
class ParallelResiduals {
public:
    static constexpr std::size_t shared = shared_constants.size();

    ParallelResiduals(std::span<const ParallelRun> runs, const ParallelFitOptions& options,
                      std::size_t platforms)
        : runs_(runs), options_(options), platforms_(static_cast<int>(platforms)) {
        for (const ParallelRun& run : runs)
            measured_ += (run.iteration_seconds ? 1 : 0) + (run.most_bytes ? 1 : 0);
    }

    [[nodiscard]] int parameters() const { return static_cast<int>(shared) + platforms_; }
    [[nodiscard]] int count() const { return parameters() + measured_; }

    [[nodiscard]] ParallelConstants constants(const double* x, std::size_t platform) const {
        ParallelConstants made = options_.start;
        const ParallelDeviations& by = options_.deviations;
        for (std::size_t i = 0; i < shared; ++i) {
            const auto& [name, constant, deviation, least] = shared_constants[i];
            made.*constant = std::max(made.*constant + by.*deviation * x[i], least);
        }
        return with_fixed_bytes(
            made, std::max(made.fixed_bytes_parallel + by.fixed_bytes * x[shared + platform], 0.0));
    }

    void operator()(const double* x, double* residuals, double* jacobian) const {
        find(x, residuals);
        if (!jacobian) return;
        FitParameters moved{};
        std::copy_n(x, parameters(), moved.begin());
        for (std::size_t i = 0; i < static_cast<std::size_t>(parameters()); ++i) {
            double* const column = jacobian + i * static_cast<std::size_t>(count());
            moved[i] += step;  // forward difference, because a constant may be 0 and not negative
            find(moved.data(), column);
            moved[i] = x[i];
            for (int r = 0; r < count(); ++r) column[r] = (column[r] - residuals[r]) / step;
        }
    }

private:
    static constexpr double step = 1e-5;

    /// Returns the root of rho, with the sign of the residual.
    [[nodiscard]] static double tamed(double residual) {
        constexpr double scale = 2;
        return std::copysign(scale * std::sqrt(std::log1p(residual * residual / (scale * scale))), residual);
    }

    void find(const double* x, double* residuals) const {
        residuals = std::copy_n(x, parameters(), residuals);
        for (const ParallelRun& run : runs_) {
            const auto [seconds, bytes] = predict_run(run, constants(x, run.platform));
            if (run.iteration_seconds)
                *residuals++ = tamed(std::log(std::max(seconds, 1e-12) / *run.iteration_seconds) /
                                     options_.time_deviation);
            if (run.most_bytes)
                *residuals++ =
                    tamed(std::log(std::max(bytes, 1.0) / *run.most_bytes) / options_.bytes_deviation);
        }
    }

    std::span<const ParallelRun> runs_;
    const ParallelFitOptions& options_;
    int platforms_;
    int measured_ = 0;
};

/// Checks the input as described at fit_parallel_constants(). Returns the number of platforms.
inline std::size_t check_runs(std::span<const ParallelRun> runs, const ParallelFitOptions& options) {
    std::size_t platforms = 1;
    for (const ParallelRun& run : runs) {
        const auto subject = [&] { return "run '" + run.name + "'"; };
        if (run.model == nullptr || run.cluster == nullptr)
            bad_input(subject(), "model or cluster", "missing", "given");
        run.model->validate();
        run.cluster->validate();
        require_between(subject, "platform", static_cast<long long>(run.platform), 0, 29);
        if (run.iteration_seconds) require_positive(subject, "iteration_seconds", *run.iteration_seconds);
        if (run.most_bytes) require_positive(subject, "most_bytes", *run.most_bytes);
        const auto [seconds, bytes] = predict_run(run, options.start);
        if (!std::isfinite(seconds) || !(bytes > 0))
            bad_input(subject(), "plan", "one without a score", "measured layers, known sizes and links");
        platforms = std::max(platforms, run.platform + 1);
    }
    const auto check = [](const char* field, double value) {
        require_positive("parallel fit", field, value);
    };
    for (const SharedConstant& each : shared_constants) check(each.name, options.deviations.*each.deviation);
    check("fixed_bytes", options.deviations.fixed_bytes);
    for (const auto& [field, deviation] : {std::pair{"time_deviation", options.time_deviation},
                                           std::pair{"bytes_deviation", options.bytes_deviation}})
        if (!(deviation > 0 && deviation <= 1))
            bad_input("parallel fit", field, deviation, "above 0 and at most 1");
    return platforms;
}

}  // namespace detail

inline const ParallelConstants& ParallelFit::on(std::size_t platform) const {
    if (platform >= constants.size())
        bad_input("parallel fit", "platform", platform,
                  "below the number of platforms, " + text_of(constants.size()));
    return constants[platform];
}

inline ParallelFit fit_parallel_constants(std::span<const ParallelRun> runs,
                                          const ParallelFitOptions& options, Minimise minimise) {
    const std::size_t platforms = detail::check_runs(runs, options);
    const detail::ParallelResiduals problem(runs, options, platforms);
    FitParameters values{};
    const std::span<double> x = std::span(values).first(static_cast<std::size_t>(problem.parameters()));
    MinimiserBuffers buffers;
    ParallelFit fit;
    if (!runs.empty()) {
        const Minimisation result = minimise(problem, x, {.max_iterations = options.max_iterations}, buffers);
        fit.status = result.status;
        fit.iterations = result.iterations;
        if (!is_fitted(fit.status)) values.fill(0);
    }
    for (std::size_t p = 0; p < platforms; ++p) fit.constants.push_back(problem.constants(x.data(), p));
    for (const ParallelRun& run : runs) {
        const auto [seconds, bytes] = predict_run(run, fit.on(run.platform));
        fit.time_errors.push_back(run.iteration_seconds ? seconds / *run.iteration_seconds - 1 : 0);
        fit.bytes_errors.push_back(run.most_bytes ? bytes / *run.most_bytes - 1 : 0);
    }
    // The prior alone makes J^T J positive definite. A residual whose slope is not a number is ignored.
    Linearisation& there = buffers.there;
    there.find(problem, x.data());
    const bool decomposed = there.decompose();
    const ParallelDeviations& by = options.deviations;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        fit.deviations.push_back(
            std::sqrt(decomposed ? there.covariance_column(at)[at] : 1) *
            (i < problem.shared ? by.*detail::shared_constants[i].deviation : by.fixed_bytes));
    }
    return fit;
}

}  // namespace goodput::inline v0_1

#endif
