#ifndef GOODPUT_PAIRS_DETAIL_USE_FIT_HPP
#define GOODPUT_PAIRS_DETAIL_USE_FIT_HPP

// Fits a few numbers for each kind of job to measurements of pairs of kinds. All kinds are fitted together:
// least squares with a prior for each kind, by Levenberg-Marquardt. The mean of a kind's prior follows from
// what is known about the kind beforehand (its features). How it follows, and how wide the prior is, is
// learned from all measured kinds, in rounds: each one fits, then estimates how the kinds differ (empirical
// Bayes).

#include <ceres/tiny_solver.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/fit/minimise.hpp"

namespace goodput::inline v0_1::detail {

/// One number measured for a kind (`own`) while it shared with another (`other`).
struct UseRow {
    std::size_t own = 0, other = 0;
    double measured = 0;
};

/// The error of a row, in its own unit, and its derivatives with respect to the numbers of both kinds.
template <int K>
struct UseError {
    double error = 0;
    std::array<double, static_cast<std::size_t>(K)> by_own{}, by_other{};
};

/// Normal distribution of a kind's numbers.
template <int K>
struct UseLaw {
    Eigen::Matrix<double, K, 1> mean = Eigen::Matrix<double, K, 1>::Zero();
    Eigen::Matrix<double, K, K> covariance = Eigen::Matrix<double, K, K>::Identity();
};

/// What to fit.
template <class Terms>
struct UseProblem {
    Terms terms{};
    std::vector<UseRow> rows{};
    Eigen::MatrixXd features{};                   ///< one row per kind; the first column is 1
    std::vector<UseLaw<Terms::numbers>> known{};  ///< by kind, if any is known: replaces what features say
    std::vector<bool> is_known{};                 ///< by kind: whether `known` has it
    std::vector<std::size_t> families{};          ///< by kind; empty: no kind has one
    std::size_t family_count = 0;

    /// Index of the numbers of a kind's family, after those of all kinds. For a kind without a family, a
    /// known kind and a family it is past the end.
    [[nodiscard]] std::size_t family_of(std::size_t kind) const {
        const bool has_no_family = kind >= families.size() || (kind < is_known.size() && is_known[kind]);
        return static_cast<std::size_t>(features.rows()) + (has_no_family ? family_count : families[kind]);
    }
};

/// The residuals of rows and priors, as ceres::TinySolver wants them.
template <class Terms>
class UseResiduals {
public:
    using Scalar = double;
    enum { NUM_RESIDUALS = Eigen::Dynamic, NUM_PARAMETERS = Eigen::Dynamic };
    static constexpr int K = Terms::numbers;

    /// `priors` has those of kinds, without what they have in common with their families, then those of
    /// families.
    UseResiduals(const UseProblem<Terms>& problem, const std::vector<UseLaw<K>>& priors, double scatter)
        : problem_(problem), priors_(priors), scatter_(scatter) {
        for (const UseLaw<K>& prior : priors)
            roots_.push_back(prior.covariance.llt().matrixL().solve(Eigen::Matrix<double, K, K>::Identity()));
    }
    [[nodiscard]] int NumParameters() const { return static_cast<int>(priors_.size()) * K; }
    [[nodiscard]] int NumResiduals() const {
        return static_cast<int>(problem_.rows.size()) + NumParameters();
    }
    bool operator()(const double* x, double* residuals, double* jacobian) const {
        const Eigen::Index height = NumResiduals(), width = NumParameters();
        Eigen::Map<Eigen::VectorXd> out(residuals, height);
        Eigen::Map<Eigen::MatrixXd> slopes(jacobian, jacobian ? height : 0, jacobian ? width : 0);
        slopes.setZero();
        Eigen::Index line = 0;
        for (const UseRow& row : problem_.rows) {
            const Eigen::Index own = column(row.own), other = column(row.other);
            const UseError<K> at = problem_.terms.error(x + own, x + other, row.measured);
            out[line] = at.error / scatter_;
            for (Eigen::Index k = 0; k < K && jacobian; ++k) {
                slopes(line, own + k) += at.by_own[static_cast<std::size_t>(k)] / scatter_;
                slopes(line, other + k) += at.by_other[static_cast<std::size_t>(k)] / scatter_;
            }
            ++line;
        }
        for (std::size_t i = 0; i < priors_.size(); ++i, line += K) {
            Eigen::Matrix<double, K, 1> off = Eigen::Map<const Eigen::Matrix<double, K, 1>>(x + column(i));
            off -= priors_[i].mean;
            if (jacobian) slopes.block<K, K>(line, column(i)) = roots_[i];
            if (const std::size_t family = problem_.family_of(i); family < priors_.size()) {
                off -= Eigen::Map<const Eigen::Matrix<double, K, 1>>(x + column(family));
                if (jacobian) slopes.block<K, K>(line, column(family)) = -roots_[i];
            }
            out.segment<K>(line) = roots_[i] * off;
        }
        return true;
    }
    [[nodiscard]] static Eigen::Index column(std::size_t kind) { return static_cast<Eigen::Index>(kind) * K; }

private:
    const UseProblem<Terms>& problem_;
    const std::vector<UseLaw<K>>& priors_;
    double scatter_;
    std::vector<Eigen::Matrix<double, K, K>> roots_{};
};

/// The fitted numbers of all kinds.
template <int K>
struct UseFit {
    std::vector<UseLaw<K>> uses{};
    double scatter = 0;                        ///< standard deviation of rows about the model
    FitStatus status = FitStatus::prior_kept;  ///< how the fit ended
};

/// Sums of squares of pairs have several minima. Takes a few steps from several starts around `begin`,
/// drawn from a fixed sequence, and returns the best point.
template <class Solver, class Residuals>
Eigen::VectorXd best_start(Solver& solver, const Residuals& residuals, const Eigen::VectorXd& begin,
                           int starts) {
    if (starts < 2) return begin;
    constexpr double width = 0.6;
    solver.options.max_num_iterations = 16;
    std::minstd_rand lot(1);
    Eigen::VectorXd best = begin;
    double least = std::numeric_limits<double>::infinity();
    for (int start = 0; start < starts; ++start) {
        Eigen::VectorXd x = begin;
        for (double& number : x)
            number += width * (2 * static_cast<double>(lot()) / std::minstd_rand::max() - 1);
        solver.Solve(residuals, &x);
        if (!(solver.summary.final_cost < least)) continue;
        least = solver.summary.final_cost;
        best = x;
    }
    return best;
}

/// Fits all kinds. The first round begins at the priors' means, each later one where the last one ended.
template <class Terms>
UseFit<Terms::numbers> fit_uses(const UseProblem<Terms>& problem) {
    constexpr int K = Terms::numbers, rounds = 6;
    constexpr double worth = 1;  // weight of what is believed beforehand, in kinds or rows
    const Eigen::Index kinds = problem.features.rows(), width = problem.features.cols();
    std::vector<bool> seen = problem.is_known;
    seen.resize(static_cast<std::size_t>(kinds), false);
    for (const UseRow& row : problem.rows) seen[row.own] = seen[row.other] = true;

    using Vector = Eigen::Matrix<double, K, 1>;
    using Matrix = Eigen::Matrix<double, K, K>;
    Eigen::MatrixXd start = Eigen::MatrixXd::Zero(width, K);  // by feature
    start.row(0) = problem.terms.usual().mean;
    Eigen::MatrixXd by_feature = start;
    Matrix spread = problem.terms.usual().covariance, family_spread = spread;
    UseFit<K> fit{.scatter = problem.terms.usual_scatter};
    Eigen::VectorXd x;
    ceres::TinySolver<UseResiduals<Terms>> solver;
    for (int round = 0; round < rounds; ++round) {
        std::vector<UseLaw<K>> priors;
        for (Eigen::Index i = 0; i < kinds; ++i) {
            const auto kind = static_cast<std::size_t>(i);
            const bool known = kind < problem.is_known.size() && problem.is_known[kind];
            priors.push_back(known ? problem.known[kind]
                                   : UseLaw<K>{(problem.features.row(i) * by_feature).transpose(), spread});
        }
        priors.resize(priors.size() + problem.family_count, {Vector::Zero(), family_spread});
        const UseResiduals<Terms> residuals(problem, priors, fit.scatter);
        if (round == 0) {
            Eigen::VectorXd begin(residuals.NumParameters());
            for (std::size_t i = 0; i < priors.size(); ++i)
                begin.template segment<K>(residuals.column(i)) = priors[i].mean;
            x = best_start(solver, residuals, begin, Terms::starts);
        }
        solver.options.max_num_iterations = 20;
        solver.Solve(residuals, &x);
        Eigen::VectorXd values(residuals.NumResiduals());
        Eigen::MatrixXd slopes(values.size(), x.size());
        residuals(x.data(), values.data(), slopes.data());
        if (!x.allFinite() || !values.allFinite() || !slopes.allFinite()) {
            fit.uses.assign(priors.begin(), priors.begin() + kinds);
            fit.status = FitStatus::prior_kept;
            return fit;
        }
        const Eigen::LLT<Eigen::MatrixXd> hessian(slopes.transpose() * slopes);
        const Eigen::MatrixXd left = hessian.solve(Eigen::MatrixXd::Identity(x.size(), x.size()));
        const Eigen::VectorXd gradient = slopes.transpose() * values;
        fit.status = problem.rows.empty()                                 ? FitStatus::prior_kept
                     : gradient.dot(left * gradient) < negligible_squares ? FitStatus::converged
                                                                          : FitStatus::iteration_limit;
        fit.uses.clear();
        for (std::size_t i = 0; i < static_cast<std::size_t>(kinds); ++i) {
            const Eigen::Index at = residuals.column(i);
            fit.uses.push_back({x.template segment<K>(at), left.template block<K, K>(at, at)});
        }
        if (round + 1 == rounds) break;

        // How the measured kinds differ: regress them on the features, with the weight of one kind on the
        // start. A kind is the sum of what its features say, what its family has in common, and a rest.
        const auto law_of = [&](std::size_t kind, bool of_family) {
            const Eigen::Index own = residuals.column(kind);
            const std::size_t family = problem.family_of(kind);
            UseLaw<K> law = fit.uses[kind];
            if (family >= priors.size()) return law;
            const Eigen::Index at = residuals.column(family);
            const Matrix both = left.template block<K, K>(own, at);
            const Matrix family_covariance = left.template block<K, K>(at, at);
            if (of_family) return UseLaw<K>{x.template segment<K>(at), family_covariance};
            law.mean -= x.template segment<K>(at);
            law.covariance += family_covariance - both - both.transpose();
            return law;
        };
        Eigen::MatrixXd squares = worth * Eigen::MatrixXd::Identity(width, width);
        Eigen::MatrixXd products = Eigen::MatrixXd::Zero(width, K);
        for (Eigen::Index i = 0; i < kinds; ++i) {
            const auto kind = static_cast<std::size_t>(i);
            if (!seen[kind]) continue;
            const Eigen::RowVectorXd feature_row = problem.features.row(i);
            squares += feature_row.transpose() * feature_row;
            products +=
                feature_row.transpose() * (law_of(kind, false).mean.transpose() - feature_row * start);
        }
        by_feature = start + squares.llt().solve(products);
        spread = family_spread = worth * problem.terms.usual().covariance;
        double weight = worth, family_weight = worth;
        std::vector<bool> family_seen(problem.family_count, false);
        for (Eigen::Index i = 0; i < kinds; ++i) {
            const auto kind = static_cast<std::size_t>(i);
            if (!seen[kind]) continue;
            const UseLaw<K> law = law_of(kind, false);
            const Vector off = law.mean - (problem.features.row(i) * by_feature).transpose();
            spread += off * off.transpose() + law.covariance;
            weight += 1;
            const std::size_t family = problem.family_of(kind) - static_cast<std::size_t>(kinds);
            if (family >= problem.family_count || family_seen[family]) continue;
            family_seen[family] = true;
            const UseLaw<K> common = law_of(kind, true);
            family_spread += common.mean * common.mean.transpose() + common.covariance;
            family_weight += 1;
        }
        spread /= weight;
        family_spread /= family_weight;
        if constexpr (Terms::scatters) {
            const auto rows = static_cast<Eigen::Index>(problem.rows.size());
            const auto measured = slopes.topRows(rows);
            // Number of unknowns that the rows determine, not the priors.
            const double told = (measured * left).cwiseProduct(measured).sum();
            const double usual = problem.terms.usual_scatter;
            const double sum = values.head(rows).squaredNorm() * fit.scatter * fit.scatter;
            fit.scatter = std::sqrt((sum + worth * usual * usual) /
                                    (worth + std::max(static_cast<double>(rows) - told, 0.0)));
        }
    }
    return fit;
}

}  // namespace goodput::inline v0_1::detail

#endif
