#ifndef GOODPUT_PARALLEL_PARALLEL_FIT_HPP
#define GOODPUT_PARALLEL_PARALLEL_FIT_HPP

// The constants of parallel/plan_score.hpp from training runs that were measured.
//
// Few runs of large models are ever measured, so few constants are fitted, the same for all runs: what timing
// a layer by itself adds, what a message between stages costs beside its link, the slowdown of the gradient
// reduction, the factor on activations; and for each platform the bytes that its software takes on every
// GPU. Each starts from a belief (ParallelFitOptions::start) and leaves it only as far as runs say:
//
//     minimise  sum over runs  rho( ln(predicted / measured seconds) / deviation )
//                            + rho( ln(predicted / measured bytes) / deviation )
//             + sum over constants  ((constant - start) / its deviation)^2,       constants at least 0
//
// rho(r) = c^2 ln(1 + r^2 / c^2) with c = 2 (Cauchy): published runs are not always what their files say, and
// a run that is off by ten deviations must not move the others: a residual stands there as the root of its
// rho, with its sign. Levenberg-Marquardt (fit/least_squares.hpp); derivatives by differences, as the
// score takes largest stages.

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

namespace goodput {

/// A training run that was measured. Model and cluster must be there until the fit is done.
struct ParallelRun {
    std::string name{};                        ///< for messages
    const LayeredModel* model = nullptr;       ///< what was trained
    const ParallelCluster* cluster = nullptr;  ///< where
    ParallelPlan plan{};                       ///< how
    std::size_t platform = 0;  ///< runs of one platform share its software's bytes, ParallelFit::fixed_bytes
    std::optional<double> iteration_seconds{};  ///< positive
    std::optional<double> most_bytes{};         ///< on the fullest GPU at the peak, positive
};

/// How far constants may lie from the start: standard deviations, all positive.
struct ParallelDeviations {
    double layer_overhead_seconds = 5e-4;     ///< a layer
    double message_seconds = 2e-3;            ///< a message
    double message_seconds_per_byte = 2e-10;  ///< a byte
    double reduce_factor = 1.5;               ///< of the reduction's factor
    double activation_factor = 0.2;           ///< of the activations' factor
    double fixed_bytes = 2e9;                 ///< of each platform's software
};

/// What is believed beforehand, and how far off measurements may be.
struct ParallelFitOptions {
    ParallelConstants start{};        ///< kept where runs say nothing; those not named above stay as they are
    ParallelDeviations deviations{};  ///< of the constants around the start
    double time_deviation = 0.05;     ///< standard, of ln(iteration), in (0, 1]
    double bytes_deviation = 0.03;    ///< standard, of ln(bytes), in (0, 1]
    int max_iterations = 100;         ///< of Levenberg and Marquardt's method, at most
};

/// Constants, and how well they explain the runs.
struct ParallelFit {
    ParallelConstants constants{};      ///< those of platform 0
    std::vector<double> fixed_bytes{};  ///< by platform: ParallelConstants::fixed_bytes_parallel
    double fixed_bytes_apart = 0;  ///< by how much fixed_bytes was above fixed_bytes_parallel at the start
    std::vector<double> time_errors{};   ///< by run: predicted / measured - 1; 0 where not measured
    std::vector<double> bytes_errors{};  ///< the same of the fullest GPU's bytes
    /// Standard deviations of what was fitted, by ParallelDeviations' order and then platforms: what the runs
    /// left of the start's.
    std::vector<double> deviations{};
    FitStatus status = FitStatus::prior_kept;  ///< how the fit ended
    int iterations = 0;                        ///< so many it took

    /// The constants on a platform of the runs (others: std::invalid_argument).
    [[nodiscard]] ParallelConstants on(std::size_t platform) const;
};

/// Which constants explain these runs? Without runs: the start. Refuses runs without a model or cluster, with
/// measurements that are not positive, platforms above 29, plans that have no score (std::invalid_argument
/// naming the run), and deviations outside their ranges.
/// `minimise` minimises.
[[nodiscard]] ParallelFit fit_parallel_constants(std::span<const ParallelRun> runs,
                                                 const ParallelFitOptions& options = {},
                                                 Minimise minimise = minimise_with_tiny_solver);

/// What a run should have come to: seconds of an iteration and bytes on the fullest GPU.
[[nodiscard]] inline std::pair<double, double> predict_run(const ParallelRun& run,
                                                           const ParallelConstants& constants) {
    const PlanScore score = score_plan(*run.model, *run.cluster, run.plan, constants);
    double bytes = 0;
    for (const StageScore& stage : score.stages) bytes = std::max(bytes, stage.memory_bytes);
    return {score.iteration_seconds, bytes};
}

namespace detail {

/// `constants` with the fixed bytes of a platform: with and without tensor parallelism they differ by as much
/// as they did.
inline ParallelConstants with_fixed_bytes(ParallelConstants constants, double parallel) {
    constants.fixed_bytes = std::max(constants.fixed_bytes + parallel - constants.fixed_bytes_parallel, 0.0);
    constants.fixed_bytes_parallel = parallel;
    return constants;
}

/// The residuals above; x: how many deviations each constant lies from the start.
class ParallelResiduals {
public:
    static constexpr int shared = 5;

    ParallelResiduals(std::span<const ParallelRun> runs, const ParallelFitOptions& options,
                      std::size_t platforms)
        : runs_(runs), options_(options), platforms_(static_cast<int>(platforms)) {
        for (const ParallelRun& run : runs)
            measured_ += (run.iteration_seconds ? 1 : 0) + (run.most_bytes ? 1 : 0);
    }

    [[nodiscard]] int parameters() const { return shared + platforms_; }
    [[nodiscard]] int count() const { return parameters() + measured_; }

    [[nodiscard]] double fixed_bytes(const double* x, std::size_t platform) const {
        return std::max(
            options_.start.fixed_bytes_parallel + options_.deviations.fixed_bytes * x[shared + platform],
            0.0);
    }

    [[nodiscard]] ParallelConstants constants(const double* x, std::size_t platform) const {
        ParallelConstants made = options_.start;
        const ParallelDeviations& by = options_.deviations;
        const auto move = [](double& constant, double steps, double least) {
            constant = std::max(constant + steps, least);
        };
        move(made.layer_overhead_seconds, by.layer_overhead_seconds * x[0], 0);
        move(made.message_seconds, by.message_seconds * x[1], 0);
        move(made.message_seconds_per_byte, by.message_seconds_per_byte * x[2], 0);
        move(made.reduce_factor, by.reduce_factor * x[3], 0);
        move(made.activation_factor, by.activation_factor * x[4], 1e-3);
        return with_fixed_bytes(made, fixed_bytes(x, platform));
    }

    void operator()(const double* x, double* residuals, double* jacobian) const {
        find(x, residuals);
        if (!jacobian) return;
        FitParameters moved{};
        std::copy_n(x, parameters(), moved.begin());
        for (std::size_t i = 0; i < static_cast<std::size_t>(parameters()); ++i) {
            double* const column = jacobian + i * static_cast<std::size_t>(count());
            moved[i] += step;  // forward: a constant at 0 has no other side
            find(moved.data(), column);
            moved[i] = x[i];
            for (int r = 0; r < count(); ++r) column[r] = (column[r] - residuals[r]) / step;
        }
    }

private:
    static constexpr double step = 1e-5;

    /// The root of rho, with the sign of the residual.
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

/// Refuses what fit_parallel_constants says; the number of platforms.
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
    check("layer_overhead_seconds", options.deviations.layer_overhead_seconds);
    check("message_seconds", options.deviations.message_seconds);
    check("message_seconds_per_byte", options.deviations.message_seconds_per_byte);
    check("reduce_factor", options.deviations.reduce_factor);
    check("activation_factor", options.deviations.activation_factor);
    check("fixed_bytes", options.deviations.fixed_bytes);
    for (const auto& [field, deviation] : {std::pair{"time_deviation", options.time_deviation},
                                           std::pair{"bytes_deviation", options.bytes_deviation}})
        if (!(deviation > 0 && deviation <= 1))
            bad_input("parallel fit", field, deviation, "above 0 and at most 1");
    return platforms;
}

}  // namespace detail

inline ParallelConstants ParallelFit::on(std::size_t platform) const {
    if (platform >= fixed_bytes.size())
        bad_input("parallel fit", "platform", platform,
                  "below the number of platforms, " + text_of(fixed_bytes.size()));
    // Not from the constants of platform 0, whose fixed_bytes may be 0 because less is not possible.
    ParallelConstants made = constants;
    made.fixed_bytes_parallel = fixed_bytes[platform];
    made.fixed_bytes = std::max(fixed_bytes[platform] + fixed_bytes_apart, 0.0);
    return made;
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
    fit.constants = problem.constants(x.data(), 0);
    fit.fixed_bytes_apart = options.start.fixed_bytes - options.start.fixed_bytes_parallel;
    for (std::size_t p = 0; p < platforms; ++p) fit.fixed_bytes.push_back(problem.fixed_bytes(x.data(), p));
    for (const ParallelRun& run : runs) {
        const auto [seconds, bytes] = predict_run(run, problem.constants(x.data(), run.platform));
        fit.time_errors.push_back(run.iteration_seconds ? seconds / *run.iteration_seconds - 1 : 0);
        fit.bytes_errors.push_back(run.most_bytes ? bytes / *run.most_bytes - 1 : 0);
    }
    // The prior alone makes J^T J positive definite; where a residual's slope is no number, it says nothing.
    Linearisation& there = buffers.there;
    there.find(problem, x.data());
    const bool decomposed = there.decompose();
    const ParallelDeviations& by = options.deviations;
    const std::array units{by.layer_overhead_seconds, by.message_seconds, by.message_seconds_per_byte,
                           by.reduce_factor, by.activation_factor};
    for (std::size_t i = 0; i < x.size(); ++i) {
        const auto at = static_cast<Eigen::Index>(i);
        fit.deviations.push_back(std::sqrt(decomposed ? there.covariance_column(at)[at] : 1) *
                                 (i < problem.shared ? units[i] : by.fixed_bytes));
    }
    return fit;
}

}  // namespace goodput

#endif
