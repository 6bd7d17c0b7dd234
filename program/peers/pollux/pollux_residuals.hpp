#ifndef GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_RESIDUALS_HPP
#define GOODPUT_PROGRAM_PEERS_POLLUX_POLLUX_RESIDUALS_HPP

// The residuals of Pollux's throughput model (model/throughput.hpp) and their derivatives (Residuals of
// fit/least_squares.hpp). Let a be the modelled computing time, w the synchronising time and T the step.
// Each sample has two residuals,
//
//     r_c = rho_c (ln a - ln measured computing),   r_s = rho_s (ln T - ln measured step)
//
// and omega (gamma - 1) is one more, for the prior of the overlap. With p = alpha_c / a, v = alpha / w and
// the shares S_a = a^gamma / (a^gamma + w^gamma), S_w = 1 - S_a the derivatives are
//
//     of ln a by ln alpha_c, ln beta_c    p, 1 - p
//     of ln T by the same                 S_a p, S_a (1 - p)
//     of ln T by ln alpha, ln beta        S_w v, S_w (1 - v)            of the block that the sample is in
//     of ln T by gamma                    (S_w (ln w - ln a) - (ln T - ln a)) / gamma
//
// The coordinates are alphas and betas in units in which computing takes about one, and 1 / gamma, because
// the problem is nearly linear in it (two equal times take 2^(1/gamma) as long as one). The box keeps
// alphas and betas at least at 1e-12, which represents zero and keeps the logarithms finite, and gamma in
// [1, 10].

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include <Eigen/Core>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/model/throughput.hpp"

namespace goodput::peers {

using goodput::detail::square;

inline constexpr int gamma_index = 6;

using PolluxPoint = Eigen::Matrix<double, 7, 1>;

/// Bounds of the parameters. A parameter whose bounds are equal is held.
struct PolluxBox {
    PolluxPoint lower, upper;
};

/// Parameters by index: alphas and betas of computing, several nodes, one node; gamma.
inline std::array<double, 7> parameters_of(const PolluxThroughput& m) {
    return {m.alpha_c, m.beta_c, m.alpha_n, m.beta_n, m.alpha_r, m.beta_r, m.gamma};
}
inline PolluxThroughput model_of(const std::array<double, 7>& p) {
    return {p[0], p[1], p[2], p[3], p[4], p[5], p[6]};
}

/// rho_c of an ordinary sample. It has half the (squared) weight of the step, because options are judged by
/// their steps; computing alone matters only in accumulation.
inline constexpr double compute_weight = 0.7071067811865476;

/// A sample as the residuals need it.
struct PolluxRow {
    double batch = 0;
    double further = 0;  ///< replicas beyond two
    double compute = 0;  ///< s, measured
    double step = 0;     ///< s, measured
    double log_compute = 0;
    double log_step = 0;
    double weight_compute = compute_weight;  ///< rho_c
    double weight_step = 1;                  ///< rho_s
};

/// Rows in three blocks: one replica, several on one node, several nodes.
struct PolluxRows {
    std::span<const PolluxRow> single{}, node{}, network{};
};

/// A model's prediction for a row, and its distance from the measurement.
struct PolluxErrors {
    int block = 0;                                 ///< index of its alpha; 0 for a single replica
    double compute_seconds = 0, sync_seconds = 0;  ///< a, w
    double sync_share = 0;                         ///< S_w
    double by_gamma = 0;                           ///< derivative of ln T
    double compute = 0, step = 0;                  ///< ln a - ln measured, ln T - ln measured
};

/// Residuals (fit/least_squares.hpp) of samples.
struct PolluxResiduals {
    PolluxRows rows{};
    std::array<double, 6> scale{};  ///< scale of alphas and betas: the computing time, in their own unit
    std::array<bool, 7> held{};     ///< parameters that are held
    double gamma_weight = 0;        ///< omega

    [[nodiscard]] double squares_of(const PolluxThroughput& model) const {
        const auto [compute, step] = parts(model);
        return compute + step + square(gamma_weight * (model.gamma - 1));
    }

    static constexpr int parameters() { return 7; }
    /// Two per row, and one for gamma.
    [[nodiscard]] int count() const {
        return 2 * static_cast<int>(rows.single.size() + rows.node.size() + rows.network.size()) + 1;
    }
    /// Writes the residuals at x and, unless null, their derivatives, column by column. Treats no parameter
    /// as held.
    void operator()(const double* x, double* residuals, double* derivatives) const {
        const Eigen::Map<const PolluxPoint> at(x);
        const PolluxThroughput model = natural(at);
        const std::array<double, 7> values = parameters_of(model);
        Eigen::Matrix<double, Eigen::Dynamic, 7> jacobian;
        if (derivatives) jacobian.setZero(count(), 7);
        int next = 0;
        for_each_row(model, [&](const PolluxRow& row, const PolluxErrors& errors) {
            residuals[next] = row.weight_compute * errors.compute;
            residuals[next + 1] = row.weight_step * errors.step;
            if (derivatives) {
                const double constant = values[0] / errors.compute_seconds, share = errors.sync_share;
                jacobian.row(next).head<2>() << constant, 1 - constant;
                jacobian.row(next + 1).head<2>() = (1 - share) * jacobian.row(next).head<2>();
                if (errors.block > 0) {
                    const double first = values[static_cast<std::size_t>(errors.block)] / errors.sync_seconds;
                    jacobian.row(next + 1).segment<2>(errors.block) << share * first, share * (1 - first);
                    jacobian(next + 1, gamma_index) = errors.by_gamma;
                }
                jacobian.row(next) *= row.weight_compute;
                jacobian.row(next + 1) *= row.weight_step;
            }
            next += 2;
        });
        residuals[next] = gamma_weight * (model.gamma - 1);
        if (!derivatives) return;
        jacobian(next, gamma_index) = gamma_weight;
        PolluxPoint slope;  // d ln(alpha or beta) / dx, d gamma / dx
        slope << at.head<6>().cwiseInverse(), -square(model.gamma);
        Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, 7>>(derivatives, count(), 7) =
            jacobian * slope.asDiagonal();
    }

    [[nodiscard]] PolluxThroughput natural(const PolluxPoint& x) const {
        const auto value = [&](int i) { return scale[static_cast<std::size_t>(i)] * x[i]; };
        return {value(0), value(1), value(2), value(3), value(4), value(5), 1 / x[gamma_index]};
    }

    [[nodiscard]] PolluxPoint coordinates(const PolluxThroughput& model) const {
        const std::array<double, 7> values = parameters_of(model);
        PolluxPoint x;
        for (int i = 0; i < 6; ++i)
            x[i] = std::max(values[static_cast<std::size_t>(i)] / scale[static_cast<std::size_t>(i)], least);
        x[gamma_index] = 1 / model.gamma;
        return x;
    }

    /// Returns the bounds of the coordinates. Those held stay at the values of `model`.
    [[nodiscard]] PolluxBox box(const PolluxThroughput& model) const {
        PolluxBox box;
        box.lower.setConstant(least);
        box.upper.setConstant(1e9);  // in mean computing times: no measurement is that far off
        box.lower[gamma_index] = 0.1;
        box.upper[gamma_index] = 1;
        const PolluxPoint at = coordinates(model);
        for (int i = 0; i < 7; ++i)
            if (held[static_cast<std::size_t>(i)]) box.lower[i] = box.upper[i] = at[i];
        return box;
    }

    /// The value of an alpha or beta that represents zero.
    [[nodiscard]] double zero(std::size_t i) const { return least * scale[i]; }

    /// Returns the sums of squares of r_c and of r_s over all rows.
    [[nodiscard]] std::array<double, 2> parts(const PolluxThroughput& model) const {
        std::array<double, 2> sums{};
        for_each_row(model, [&](const PolluxRow& row, const PolluxErrors& errors) {
            sums[0] += square(row.weight_compute * errors.compute);
            sums[1] += square(row.weight_step * errors.step);
        });
        return sums;
    }

    /// Calls visit(row, PolluxErrors) for every row.
    template <class Visit>
    void for_each_row(const PolluxThroughput& model, Visit&& visit) const {
        const auto look = [&](std::span<const PolluxRow> rows_of_block, int block, double alpha,
                              double beta) {
            for (const PolluxRow& row : rows_of_block) {
                PolluxErrors errors{.block = block};
                errors.compute_seconds = model.alpha_c + model.beta_c * row.batch;
                const double log_compute = std::log(errors.compute_seconds);
                errors.compute = log_compute - row.log_compute;
                errors.step = log_compute - row.log_step;
                if (block > 0) {
                    errors.sync_seconds = alpha + beta * row.further;
                    const double log_ratio = std::log(errors.sync_seconds) - log_compute;
                    const goodput::detail::LogStep step(log_ratio, model.gamma);
                    errors.step += step.excess;
                    errors.sync_share = step.sync_share;
                    errors.by_gamma = (step.sync_share * log_ratio - step.excess) / model.gamma;
                }
                visit(row, errors);
            }
        };
        look(rows.single, 0, 0, 0);
        look(rows.node, 4, model.alpha_r, model.beta_r);
        look(rows.network, 2, model.alpha_n, model.beta_n);
    }

private:
    static constexpr double least = 1e-12;
};

}  // namespace goodput::peers

#endif
