#ifndef GOODPUT_PROGRAM_PEERS_GAVEL_MIDDLE_SHARES_HPP
#define GOODPUT_PROGRAM_PEERS_GAVEL_MIDDLE_SHARES_HPP

// Finds the middle of all shares that keep the limits of a program (share/detail/interior_point.hpp),
// whatever they are worth. That is the analytic centre, where the product of all shares and of all that the
// limits leave is largest, found with Newton's method. A group's part of the Hessian has the size of the
// types, and groups meet only in the types' capacities.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/share/detail/interior_point.hpp"

namespace goodput::peers {

/// The quantities of one group after another, in columns.
class MiddleShares {
public:
    /// Begins with the shares `start`, by type and group. They keep all limits, leave something of each,
    /// and are 0 where a group cannot run.
    MiddleShares(const goodput::detail::GroupProgram& program, Eigen::MatrixXd start)
        : program_(program),
          rate_(matrix_of(program.rate)),
          use_(matrix_of(program.use)),
          shares_(std::move(start)) {
        for (int steps = 0; steps < 200; ++steps) {
            const double decrement = find_direction();
            double step = 1;
            while (step > 1e-9 &&
                   !(log_product(shares_ + step * change_) >= log_product(shares_) + 0.1 * step * decrement))
                step /= 2;
            if (!(step > 1e-9)) return;  // rounding limits further progress
            shares_ += step * change_;
            if (decrement < 1e-12) return;
        }
    }

    [[nodiscard]] double share(std::size_t group, std::size_t type) const {
        return shares_(index(type), index(group));
    }

private:
    static Eigen::Index index(std::size_t number) { return static_cast<Eigen::Index>(number); }
    [[nodiscard]] Eigen::MatrixXd matrix_of(const std::vector<double>& by_group_and_type) const {
        return Eigen::Map<const Eigen::MatrixXd>(by_group_and_type.data(), index(program_.types),
                                                 index(program_.groups()));
    }
    [[nodiscard]] double copies(Eigen::Index group) const {
        return program_.copies[static_cast<std::size_t>(group)];
    }
    [[nodiscard]] double floor(Eigen::Index group) const {
        return program_.floor[static_cast<std::size_t>(group)];
    }
    [[nodiscard]] Eigen::VectorXd capacity_left(const Eigen::MatrixXd& shares) const {
        const Eigen::Map<const Eigen::VectorXd> all(program_.copies.data(), index(program_.groups()));
        return Eigen::VectorXd::Ones(shares.rows()) - use_.cwiseProduct(shares) * all;
    }

    /// Returns NaN or minus infinity beyond a limit.
    [[nodiscard]] double log_product(const Eigen::MatrixXd& shares) const {
        double sum = capacity_left(shares).array().log().sum();
        for (Eigen::Index g = 0; g < shares.cols(); ++g) {
            double of_one = std::log(1 - shares.col(g).sum());
            if (floor(g) > 0) of_one += std::log(rate_.col(g).dot(shares.col(g)) - floor(g));
            for (Eigen::Index t = 0; t < shares.rows(); ++t)
                if (use_(t, g) > 0) of_one += std::log(shares(t, g));
            sum += copies(g) * of_one;
        }
        return sum;
    }

    /// Sets the Newton direction. Returns the slope of the product's logarithm along it.
    double find_direction() {
        const Eigen::Index types = shares_.rows(), groups = shares_.cols();
        const Eigen::VectorXd left = capacity_left(shares_);
        Eigen::MatrixXd between = left.array().square().matrix().asDiagonal();
        Eigen::VectorXd right = left;
        Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(types, groups);  // of a single group
        std::vector<Eigen::MatrixXd> inverse;
        for (Eigen::Index g = 0; g < groups; ++g) {
            const double time = 1 - shares_.col(g).sum();
            const double rate = floor(g) > 0 ? rate_.col(g).dot(shares_.col(g)) - floor(g) : 0;
            Eigen::MatrixXd hessian = Eigen::MatrixXd::Identity(types, types);
            Eigen::VectorXd of_time = Eigen::VectorXd::Zero(types), of_rate = of_time;
            for (Eigen::Index t = 0; t < types; ++t) {
                if (use_(t, g) <= 0) continue;
                hessian(t, t) = 1 / (shares_(t, g) * shares_(t, g));
                of_time(t) = 1 / time;
                of_rate(t) = rate > 0 ? rate_(t, g) / rate : 0;
                slopes(t, g) = 1 / shares_(t, g) - of_time(t) + of_rate(t);
            }
            hessian += of_time * of_time.transpose() + of_rate * of_rate.transpose();
            inverse.push_back(hessian.llt().solve(Eigen::MatrixXd::Identity(types, types)));
            const Eigen::MatrixXd used = use_.col(g).asDiagonal() * inverse.back();
            between += copies(g) * used * use_.col(g).asDiagonal();
            right += copies(g) * used * slopes.col(g);
        }
        const Eigen::VectorXd prices = between.ldlt().solve(right);
        double rise = 0;
        change_.resize(types, groups);
        for (Eigen::Index g = 0; g < groups; ++g) {
            change_.col(g) =
                inverse[static_cast<std::size_t>(g)] * (slopes.col(g) - use_.col(g).cwiseProduct(prices));
            rise += copies(g) * change_.col(g).dot(slopes.col(g) - use_.col(g).cwiseQuotient(left));
        }
        return rise;
    }

    const goodput::detail::GroupProgram& program_;
    Eigen::MatrixXd rate_, use_, shares_, change_;
};

}  // namespace goodput::peers

#endif
