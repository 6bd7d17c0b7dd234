#ifndef GOODPUT_FIT_DETAIL_REFINED_START_HPP
#define GOODPUT_FIT_DETAIL_REFINED_START_HPP

// The start of a fit of RefinedThroughput in closed form: computing times on a straight line in the batch,
// and the synchronising times that the steps then imply at one of three overlaps.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/detail/refined_problem.hpp"
#include "goodput/fit/model_fit.hpp"
#include "goodput/fit/refined_fit.hpp"

namespace goodput::inline v0_1::detail {

/// Fits a line with neither parameter negative to the computing times, by relative least squares, and twice
/// again with less weight for outliers. If no computing time was measured, the steps of the fewest replicas
/// stand in for them. A single batch determines no slope; then half of the time at the reference batch is
/// constant, as in the prior.
inline Line line_of_computing(const RefinedProblem& samples, double reference_batch) {
    int most_replicas = 0;
    if (std::ranges::none_of(samples.residuals.rows, &RefinedRow::split))
        most_replicas = samples.fewest_replicas();
    const auto counts = [&](const RefinedRow& row) {
        return row.split || row.features.shape.shape.gpus <= most_replicas;
    };
    double log_seconds = 0, count = 0, smallest = std::numeric_limits<double>::infinity(), largest = 0;
    for (const RefinedRow& row : samples.residuals.rows) {
        if (!counts(row)) continue;
        log_seconds += row.log_compute;
        count += 1;
        smallest = std::min(smallest, row.features.batch.batch);
        largest = std::max(largest, row.features.batch.batch);
    }
    const double middle_seconds = std::exp(log_seconds / count);
    if (smallest == largest) {
        const double constant = middle_seconds / (1 + smallest / reference_batch);
        return {constant, constant / reference_batch};
    }
    Line line;
    for (int round = 0; round < 3; ++round) {
        LineSums sums;
        for (const RefinedRow& row : samples.residuals.rows) {
            if (!counts(row)) continue;
            const double batch = row.features.batch.batch;
            double weight = 1;
            if (round > 0) {
                const double error = row.log_compute - std::log(line.at(batch));
                weight = std::min(1.0, 0.04 / (error * error));
            }
            const double seconds = std::exp(row.log_compute);
            sums.add(weight / (seconds * seconds), batch, seconds);
        }
        const Line next = sums.line();
        if (!(next.at(1) > 0)) break;  // no sample is near enough to the previous line
        line = next;
    }
    if (line.at(1) > 0) return line;
    return {middle_seconds, 0};
}

/// ln of factors on the line: how computing depends on the number of replicas.
struct ScalingStart {
    double level = 0;       ///< ln of the factor of several replicas
    double straggling = 0;  ///< exponent of the number of replicas
    double alone = 0;       ///< ln of the factor of a single replica
};

/// Returns how computing depends on the replicas if that is far from the prior, else nothing. Uses measured
/// computing times, and steps that are shorter than computing would be on the line.
inline std::optional<ScalingStart> unexpected_scaling(const RefinedProblem& samples, const Line& line) {
    LineSums several;
    double single = 0, singles = 0;
    for (const RefinedRow& row : samples.residuals.rows) {
        const RefinedShape& shape = row.features.shape;
        const double off = row.log_compute - std::log(line.at(row.features.batch.batch));
        if (shape.alone()) {
            single += off;
            singles += 1;
        } else if (row.split || off < 0) {
            several.add(1, shape.log_replicas, off);
        }
    }
    if (several.weight == 0) return std::nullopt;
    ScalingStart start;
    const Line scaling = several.free_line();
    start.straggling = scaling.slope;
    start.level = scaling.intercept;
    if (singles > 0) start.alone = single / singles - start.level;
    const auto unexpected = [&](RefinedParameter at, double value) {
        return std::abs(value - samples.residuals.mean[at]) >
               unlikely_deviations * samples.residuals.deviation[at];
    };
    if (unexpected(straggling_exponent, start.straggling) || unexpected(alone_factor, start.alone))
        return start;
    return std::nullopt;
}

/// Sets the coordinates of computing to a line, with neither parameter 0.
inline void set_line(const RefinedProblem& samples, const Line& line, FitParameters& x) {
    const double middle = samples.middle_batch(), least = 1e-3 * line.at(middle);
    x[computing_constant] = std::log(std::max(line.intercept, least));
    x[computing_slope] = std::log(std::max(line.slope, least / middle));
}

/// Returns the start of a fit: computing from the line, and synchronising from what the steps then imply at
/// each of three overlaps. Returns the prior's mean if that explains the samples better.
inline FitParameters cold_start(const RefinedProblem& samples, const Line& line) {
    FitParameters best = samples.residuals.mean;
    double least_squares = samples.residuals.squares(best);
    const auto consider = [&](const ScalingStart& scaling) {
        FitParameters x = samples.residuals.mean;
        set_line(samples, line, x);
        x[computing_constant] += scaling.level;
        x[computing_slope] += scaling.level;
        if (scaling.straggling != 0) x[straggling_exponent] = scaling.straggling;
        if (scaling.alone != 0) x[alone_factor] = scaling.alone;
        for (const double overlap : {0.25, 1.0, 3.0}) {
            const double gamma = 1 + overlap;
            FitParameters candidate = x;
            candidate[overlap_level] = std::log(overlap);
            std::array<double, 2> sum{}, count{};
            for (const RefinedRow& row : samples.residuals.rows) {
                const RefinedShape& shape = row.features.shape;
                if (shape.alone()) continue;
                const double log_compute = row.split
                                               ? row.log_compute
                                               : std::log(line.at(row.features.batch.batch)) + scaling.level +
                                                     scaling.straggling * shape.log_replicas;
                // The last step of an iteration. It takes at least as long as computing.
                const double log_step =
                    row.log_step +
                    std::log(std::max(1 - row.further_steps * std::exp(log_compute - row.log_step),
                                      std::exp(log_compute - row.log_step)));
                const double part = std::exp(gamma * (log_compute - log_step));
                // If computing hides nearly all synchronisation, the step time reveals only that
                // synchronisation is short.
                const double log_sync = log_step + std::log(std::max(1 - part, 1e-3)) / gamma;
                const double law = shape.network() ? x[network_gpus_exponent] * shape.log_per_node +
                                                         x[network_nodes_exponent] * shape.log_half_nodes +
                                                         x[network_over_node]
                                                   : x[node_gpus_exponent] * shape.log_half_replicas;
                sum[shape.network()] += log_sync - law;
                count[shape.network()] += 1;
            }
            if (count[0] > 0) candidate[node_level] = sum[0] / count[0];
            if (count[1] > 0) {
                if (count[0] > 0)
                    candidate[network_over_node] += sum[1] / count[1] - candidate[node_level];
                else
                    candidate[node_level] = sum[1] / count[1];
            }
            const double squares = samples.residuals.squares(candidate);
            if (squares < least_squares) {
                least_squares = squares;
                best = candidate;
            }
        }
    };
    consider({});
    if (const auto scaling = unexpected_scaling(samples, line)) consider(*scaling);
    return best;
}

}  // namespace goodput::inline v0_1::detail

#endif
