#ifndef GOODPUT_EXAMPLES_CLI_PEERS_POLLUX_RESIDUALS_HPP
#define GOODPUT_EXAMPLES_CLI_PEERS_POLLUX_RESIDUALS_HPP

// The residuals of Pollux's throughput model (model/pollux.hpp) and their derivatives, a LeastSquaresProblem.
// Each sample has two: with a the modelled computing time, w the synchronising time and T the step,
//
//     r_c = rho_c (ln a - ln measured computing),   r_s = rho_s (ln T - ln measured step)
//
// and one more stands for what is believed of the overlap beforehand, omega (gamma - 1). With p = alpha_c /
// a, v = alpha / w and the shares S_a = a^gamma / (a^gamma + w^gamma), S_w = 1 - S_a the derivatives are
//
//     of ln a by ln alpha_c, ln beta_c    p, 1 - p
//     of ln T by the same                 S_a p, S_a (1 - p)
//     of ln T by ln alpha, ln beta        S_w v, S_w (1 - v)            of the block that the sample is in
//     of ln T by gamma                    (S_w (ln w - ln a) - (ln T - ln a)) / gamma
//
// Coordinates: alphas and betas in units in which computing takes about one, and 1 / gamma, because the
// problem is nearly linear in it (two equal times take 2^(1/gamma) as long as one). The box: alphas and betas
// at least 1e-12, which stands for zero and keeps the logarithms finite; gamma in [1, 10].

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

#include "goodput/fit/detail/log_step.hpp"
#include "goodput/model/pollux.hpp"
#include "peers/least_squares.hpp"

namespace goodput::peers {

inline constexpr int gamma_index = 6;

using PolluxNormalEquations = NormalEquations<7>;

/// Parameters by index: alphas and betas of computing, several nodes, one node; gamma.
inline std::array<double, 7> parameters_of(const PolluxThroughput& m) {
    return {m.alpha_c, m.beta_c, m.alpha_n, m.beta_n, m.alpha_r, m.beta_r, m.gamma};
}
inline PolluxThroughput model_of(const std::array<double, 7>& p) {
    return {p[0], p[1], p[2], p[3], p[4], p[5], p[6]};
}

/// rho_c of a sample like any other. Half the weight (squared) of the step, which is what options are judged
/// by; computing alone matters in accumulation only.
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

struct PolluxResiduals {
    PolluxRows rows{};
    std::array<double, 6> scale{};  ///< of alphas and betas: as much as computing takes, in their own unit
    std::array<bool, 7> held{};     ///< not to be moved: no derivatives by these
    double gamma_weight = 0;        ///< omega

    [[nodiscard]] double squares(const Point<7>& x) const { return squares_of(natural(x)); }

    [[nodiscard]] double squares_of(const PolluxThroughput& model) const {
        const auto [compute, step] = parts(model);
        return compute + step + square(gamma_weight * (model.gamma - 1));
    }

    [[nodiscard]] PolluxNormalEquations linearise(const Point<7>& x) const {
        const PolluxThroughput model = natural(x);
        PolluxNormalEquations normal = linearise_by_logarithms(model);
        Point<7> slope;  // d ln(alpha or beta) / dx, d gamma / dx
        slope.head<6>() = x.head<6>().cwiseInverse();
        slope[gamma_index] = -square(model.gamma);
        normal.gradient.array() *= slope.array();
        normal.hessian.array().colwise() *= slope.array();
        normal.hessian.array().rowwise() *= slope.transpose().array();
        return normal;
    }

    [[nodiscard]] PolluxThroughput natural(const Point<7>& x) const {
        const auto value = [&](int i) { return scale[static_cast<std::size_t>(i)] * x[i]; };
        return {value(0), value(1), value(2), value(3), value(4), value(5), 1 / x[gamma_index]};
    }

    [[nodiscard]] Point<7> coordinates(const PolluxThroughput& model) const {
        const std::array<double, 7> values = parameters_of(model);
        Point<7> x;
        for (int i = 0; i < 6; ++i)
            x[i] = std::max(values[static_cast<std::size_t>(i)] / scale[static_cast<std::size_t>(i)], least);
        x[gamma_index] = 1 / model.gamma;
        return x;
    }

    /// Where the coordinates may be; those held stay at what `model` says.
    [[nodiscard]] Box<7> box(const PolluxThroughput& model) const {
        Box<7> box;
        box.lower.setConstant(least);
        box.upper.setConstant(1e9);  // of the mean computing time: no measurement is that far off
        box.lower[gamma_index] = 0.1;
        box.upper[gamma_index] = 1;
        const Point<7> at = coordinates(model);
        for (int i = 0; i < 7; ++i)
            if (held[static_cast<std::size_t>(i)]) box.lower[i] = box.upper[i] = at[i];
        return box;
    }

    /// The value of an alpha or beta that is meant to be zero.
    [[nodiscard]] double zero(std::size_t i) const { return least * scale[i]; }

    /// J^T J, J^T r and r^T r by the logarithms of alphas and betas and by gamma itself, nothing held.
    [[nodiscard]] PolluxNormalEquations linearise_by_logarithms(const PolluxThroughput& model) const {
        PolluxNormalEquations normal;
        auto& h = normal.hessian;
        auto& gradient = normal.gradient;
        gradient[6] = square(gamma_weight) * (model.gamma - 1);
        h(6, 6) = square(gamma_weight);
        normal.squares = gradient[6] * (model.gamma - 1);
        double pp = 0, pq = 0, qq = 0, rp = 0, rq = 0;
        const auto add_compute = [&](double p, double weight, double weighted_error) {
            const double q = 1 - p, weighted_p = weight * p;
            pp += weighted_p * p;
            pq += weighted_p * q;
            qq += weight * q * q;
            rp += weighted_error * p;
            rq += weighted_error * q;
        };
        for (const PolluxRow& row : rows.single) {
            const double a = model.alpha_c + model.beta_c * row.batch, log_a = std::log(a);
            const double weight_c = square(row.weight_compute), weight_s = square(row.weight_step);
            const double error_c = log_a - row.log_compute, error_s = log_a - row.log_step;
            normal.squares += weight_c * error_c * error_c + weight_s * error_s * error_s;
            add_compute(model.alpha_c / a, weight_c + weight_s, weight_c * error_c + weight_s * error_s);
        }
        const auto add_block = [&](std::span<const PolluxRow> block, double alpha, double beta, int at) {
            // Sums by pairs of v = d ln T by alpha, u by beta, p and q by the computing parameters, g by
            // gamma.
            double vv = 0, vu = 0, uu = 0, pv = 0, pu = 0, qv = 0, qu = 0, vg = 0, ug = 0, gg = 0, pg = 0,
                   qg = 0;
            double rv = 0, ru = 0, rg = 0;
            for (const PolluxRow& row : block) {
                const double a = model.alpha_c + model.beta_c * row.batch, log_a = std::log(a);
                const double w = alpha + beta * row.further, log_ratio = std::log(w) - log_a;
                const goodput::detail::LogStep step(log_ratio, model.gamma);
                const double weight_c = square(row.weight_compute), weight_s = square(row.weight_step);
                const double error_c = log_a - row.log_compute;
                const double error_s = log_a + step.excess - row.log_step;
                normal.squares += weight_c * error_c * error_c + weight_s * error_s * error_s;
                const double share_w = step.sync_share, share_a = 1 - share_w;
                const double constant = model.alpha_c / a;
                add_compute(constant, weight_c + weight_s * share_a * share_a,
                            weight_c * error_c + weight_s * share_a * error_s);
                const double p = share_a * constant, q = share_a - p;
                const double v = share_w * alpha / w, u = share_w - v;
                const double g = (share_w * log_ratio - step.excess) / model.gamma;
                const double weighted_v = weight_s * v, weighted_u = weight_s * u, weighted_g = weight_s * g;
                vv += weighted_v * v;
                vu += weighted_v * u;
                uu += weighted_u * u;
                pv += weighted_v * p;
                pu += weighted_u * p;
                qv += weighted_v * q;
                qu += weighted_u * q;
                vg += weighted_g * v;
                ug += weighted_g * u;
                pg += weighted_g * p;
                qg += weighted_g * q;
                gg += weighted_g * g;
                rv += weighted_v * error_s;
                ru += weighted_u * error_s;
                rg += weighted_g * error_s;
            }
            h.col(at).head<2>() << pv, qv;
            h.col(at + 1).head<2>() << pu, qu;
            h(at, at) = vv;
            h(at, at + 1) = vu;
            h(at + 1, at + 1) = uu;
            h(at, 6) = vg;
            h(at + 1, 6) = ug;
            h(0, 6) += pg;
            h(1, 6) += qg;
            h(6, 6) += gg;
            gradient[at] = rv;
            gradient[at + 1] = ru;
            gradient[6] += rg;
        };
        add_block(rows.network, model.alpha_n, model.beta_n, 2);
        add_block(rows.node, model.alpha_r, model.beta_r, 4);
        h(0, 0) = pp;
        h(0, 1) = pq;
        h(1, 1) = qq;
        gradient[0] = rp;
        gradient[1] = rq;
        for (int i = 1; i < 7; ++i)
            for (int j = 0; j < i; ++j) h(i, j) = h(j, i);
        return normal;
    }

    /// Sums of the squares of r_c and of r_s over all rows.
    [[nodiscard]] std::array<double, 2> parts(const PolluxThroughput& model) const {
        std::array<double, 2> sums{};
        for_each_row(model, [&](const PolluxRow& row, double error_compute, double error_step) {
            sums[0] += square(row.weight_compute * error_compute);
            sums[1] += square(row.weight_step * error_step);
        });
        return sums;
    }

    /// Calls visit(row, ln a - ln measured, ln T - ln measured) for every row.
    template <class Visit>
    void for_each_row(const PolluxThroughput& model, Visit&& visit) const {
        for (const PolluxRow& row : rows.single) {
            const double log_a = std::log(model.alpha_c + model.beta_c * row.batch);
            visit(row, log_a - row.log_compute, log_a - row.log_step);
        }
        const auto shared = [&](std::span<const PolluxRow> block, double alpha, double beta) {
            for (const PolluxRow& row : block) {
                const double log_a = std::log(model.alpha_c + model.beta_c * row.batch);
                const goodput::detail::LogStep step(std::log(alpha + beta * row.further) - log_a,
                                                    model.gamma);
                visit(row, log_a - row.log_compute, log_a + step.excess - row.log_step);
            }
        };
        shared(rows.node, model.alpha_r, model.beta_r);
        shared(rows.network, model.alpha_n, model.beta_n);
    }

private:
    static constexpr double least = 1e-12;
};

}  // namespace goodput::peers

#endif
