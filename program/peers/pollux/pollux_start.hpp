#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_START_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_START_HPP

// Computes the start of the fit of Pollux's throughput model in closed form, and finds the parameters that
// the samples leave open. Computing times lie on a line in the batch. For a given gamma, a sample's
// synchronising time is w = (t^gamma - c^gamma)^(1/gamma), and these times lie on a line in K - 2. An error
// of w changes ln t by S_w / w (S_w = 1 - (c/t)^gamma), which gives the weights. A few gammas are tried, and
// the one with the smallest residuals is taken.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "goodput/fit/detail/line.hpp"
#include "goodput/fit/detail/refined_problem.hpp"
#include "peers/pollux/pollux_residuals.hpp"

namespace goodput::peers {

inline constexpr double free_seconds = 1e-8;  ///< the published rule's value for "takes no time"

using goodput::Line;
using goodput::LineSums;

inline bool all_equal(std::span<const PolluxRow> rows, double PolluxRow::*field) {
    return std::all_of(rows.begin(), rows.end(),
                       [&](const PolluxRow& row) { return row.*field == rows.front().*field; });
}

/// Whether the two synchronising blocks have more than `count` kinds of rows (replicas and batch); `count`
/// is at most 4.
inline bool more_sorts_than(const PolluxRows& rows, std::size_t count) {
    struct Sort {
        bool network;
        double further, batch;
        bool operator==(const Sort&) const = default;
    };
    std::array<Sort, 5> seen{};
    std::size_t sorts = 0;
    const auto look = [&](std::span<const PolluxRow> block, bool network) {
        for (const PolluxRow& row : block) {
            if (sorts > count) return;
            const Sort sort{network, row.further, row.batch};
            const auto end = seen.begin() + static_cast<std::ptrdiff_t>(sorts);
            if (std::find(seen.begin(), end, sort) == end) seen[sorts++] = sort;
        }
    };
    look(rows.node, false);
    look(rows.network, true);
    return sorts > count;
}

/// By parameter: whether the samples leave it open, so that the prior decides (the rules of
/// throughput_fit.hpp).
inline std::array<bool, 7> left_open(const PolluxRows& rows) {
    const auto one_batch = [&] {
        double batch = 0;
        for (const std::span<const PolluxRow> block : {rows.single, rows.node, rows.network})
            for (const PolluxRow& row : block) {
                if (batch != 0 && row.batch != batch) return false;
                batch = row.batch;
            }
        return true;
    };
    std::array<bool, 7> open{};
    open[0] = one_batch();
    open[2] = rows.network.empty();
    open[3] = all_equal(rows.network, &PolluxRow::further);
    open[4] = rows.node.empty();
    open[5] = all_equal(rows.node, &PolluxRow::further);
    const std::ptrdiff_t fitted = std::count(open.begin() + 2, open.begin() + 6, false);
    open[6] = !more_sorts_than(rows, static_cast<std::size_t>(fitted));
    return open;
}

/// Returns the start's computing parameters. Everything else is at the published rule's "free", without
/// overlap.
inline PolluxThroughput computing_start(const PolluxRows& rows, bool half_is_constant) {
    LineSums sums;
    double log_seconds = 0, log_batches = 0;
    for (const std::span<const PolluxRow> block : {rows.single, rows.node, rows.network})
        for (const PolluxRow& row : block) {
            sums.add(1 / square(row.compute), row.batch, row.compute);
            log_seconds += row.log_compute;
            log_batches += std::log(row.batch);
        }
    const double count = static_cast<double>(rows.single.size() + rows.node.size() + rows.network.size());
    PolluxThroughput model{0, 0, free_seconds, free_seconds, free_seconds, free_seconds, 1};
    if (half_is_constant) {
        model.alpha_c = std::exp(log_seconds / count) / 2;
        model.beta_c = model.alpha_c / std::exp(log_batches / count);
    } else {
        const auto [intercept, slope] = sums.line();
        model.alpha_c = intercept;
        model.beta_c = slope;
    }
    return model;
}

/// Returns alpha and beta of a block from its synchronising times at `gamma`. beta is 0 if it is not free.
inline Line synchronising_start(std::span<const PolluxRow> block, double gamma, bool beta_open) {
    LineSums sums;
    for (const PolluxRow& row : block) {
        const double part =
            gamma == 1 ? row.compute / row.step : std::exp(gamma * (row.log_compute - row.log_step));
        const double share = std::max(1 - part, 0.0);
        const double sync = row.step * (gamma == 1 ? share : std::pow(share, 1 / gamma));
        const double slope = sync > 0 ? share / sync : 0;
        // Never exactly zero: even samples without any synchronising time say that there is none.
        sums.add(std::max(square(slope), 1e-6 / square(row.step)), beta_open ? 0 : row.further, sync);
    }
    return sums.line();
}

/// Restarts a block whose synchronising has gone to zero. With gamma > 1 the residuals have no slope there,
/// so no descent leads back. Starts it anew from the samples if that fits better. Returns whether it did.
inline bool restart_synchronising(const PolluxResiduals& residuals, PolluxThroughput& model) {
    const auto dead = [&](std::size_t alpha, double alpha_value, double beta_value) {
        return !residuals.held[alpha] && alpha_value < 1e-6 * residuals.scale[alpha] &&
               beta_value < 1e-6 * residuals.scale[alpha + 1];
    };
    const bool network = dead(2, model.alpha_n, model.beta_n), node = dead(4, model.alpha_r, model.beta_r);
    if ((!network && !node) || model.gamma == 1) return false;
    PolluxThroughput other = model;
    if (network) {
        const auto [alpha, beta] =
            synchronising_start(residuals.rows.network, model.gamma, residuals.held[3]);
        other.alpha_n = std::max(alpha, model.alpha_n);
        if (!residuals.held[3]) other.beta_n = std::max(beta, model.beta_n);
    }
    if (node) {
        const auto [alpha, beta] = synchronising_start(residuals.rows.node, model.gamma, residuals.held[5]);
        other.alpha_r = std::max(alpha, model.alpha_r);
        if (!residuals.held[5]) other.beta_r = std::max(beta, model.beta_r);
    }
    if (!(residuals.squares_of(other) < (1 - 1e-6) * residuals.squares_of(model))) return false;
    model = other;
    return true;
}

/// Returns the best of a few closed-form starts, with the computing parameters of `by_line`.
inline PolluxThroughput cold_start(const PolluxResiduals& residuals, const PolluxThroughput& by_line) {
    const auto with_gamma = [&](double gamma) {
        PolluxThroughput model = by_line;
        model.gamma = gamma;
        if (!residuals.held[2]) {
            const auto [alpha, beta] = synchronising_start(residuals.rows.network, gamma, residuals.held[3]);
            model.alpha_n = alpha;
            if (!residuals.held[3]) model.beta_n = beta;
        }
        if (!residuals.held[4]) {
            const auto [alpha, beta] = synchronising_start(residuals.rows.node, gamma, residuals.held[5]);
            model.alpha_r = alpha;
            if (!residuals.held[5]) model.beta_r = beta;
        }
        return model;
    };
    if (residuals.held[gamma_index]) return with_gamma(1);
    PolluxThroughput best = with_gamma(1);
    double least = residuals.squares_of(best);
    for (const double gamma : {1.5, 3.0}) {
        const PolluxThroughput model = with_gamma(gamma);
        const double squares = residuals.squares_of(model);
        if (squares < least) {
            least = squares;
            best = model;
        }
    }
    return best;
}

}  // namespace goodput::peers

#endif
