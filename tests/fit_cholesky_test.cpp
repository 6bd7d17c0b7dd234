// Symmetric positive definite matrices: factors, solutions and inverses against Eigen's.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/LU>

#include "goodput/fit/detail/cholesky.hpp"
#include "support/random.hpp"

#include <doctest/doctest.h>

using namespace goodput;

TEST_CASE("Solutions and inverses are Eigen's, also of matrices that are nearly singular") {
    support::Random random(11);
    for (int round = 0; round < 300; ++round) {
        const int n = random.integer(1, 40);
        const auto size = static_cast<std::size_t>(n);
        Eigen::MatrixXd root(n, n);
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) root(i, j) = random.between(-1, 1);
        const double ridge = round % 3 == 0 ? 1e-6 : 0.1;
        const Eigen::MatrixXd a = root * root.transpose() + ridge * Eigen::MatrixXd::Identity(n, n);
        std::vector<double> ours(a.data(), a.data() + a.size());
        // Only the lower triangle may be read.
        for (std::size_t i = 0; i < size; ++i)
            for (std::size_t j = i + 1; j < size; ++j)
                ours[i * size + j] = std::numeric_limits<double>::quiet_NaN();
        Eigen::VectorXd right(n);
        for (int i = 0; i < n; ++i) right[i] = random.between(-1, 1);
        std::vector<double> x(right.data(), right.data() + n);
        CAPTURE(round);
        REQUIRE(detail::factorise(ours, size));
        detail::solve_lower(ours, x);
        detail::solve_upper(ours, x);
        const Eigen::Map<const Eigen::VectorXd> solution(x.data(), n);
        CHECK((a * solution - right).norm() < 1e-8 * (1 + right.norm()));
        detail::invert_factorised(ours, size);
        const Eigen::Map<const Eigen::MatrixXd> inverse(ours.data(), n, n);
        const Eigen::MatrixXd theirs = a.llt().solve(Eigen::MatrixXd::Identity(n, n));
        CHECK((inverse - theirs).norm() < 1e-7 * theirs.norm());
        CHECK((inverse - inverse.transpose()).norm() == 0);
    }
}

TEST_CASE("A matrix that is not positive definite is told, and so is one that is no matrix of numbers") {
    std::vector<double> indefinite{1, 0, 2, 1}, none{std::numeric_limits<double>::quiet_NaN()}, zero{0};
    std::vector<double> infinite{std::numeric_limits<double>::infinity()};
    CHECK_FALSE(detail::factorise(indefinite, 2));
    CHECK_FALSE(detail::factorise(none, 1));
    CHECK_FALSE(detail::factorise(zero, 1));
    CHECK_FALSE(detail::factorise(infinite, 1));
}
