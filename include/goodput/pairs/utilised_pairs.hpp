#ifndef GOODPUT_PAIRS_UTILISED_PAIRS_HPP
#define GOODPUT_PAIRS_UTILISED_PAIRS_HPP

// How fast two jobs are on the same GPU if nobody has measured them together, from how busy each of them
// keeps it alone. Drivers report that: the part of the time in which any kernel runs.
//
// It leaves open what a job does while the GPU is idle. Either its gaps are slack: it launches kernels ahead,
// and a slower GPU fills the gaps before the job notices. Then the two share the GPU max-min: each gets what
// it needs, or half, and what one leaves the other takes. Or its gaps are work of its own, which waits until
// the GPU is done. Then its kernels wait whenever they meet the other's, as in a queue of two customers.
// These are bounds, and the estimate is their middle.
//
// While both have kernels to run, the GPU does less than one job alone would if they take turns, as it
// switches between processes: two jobs that keep an H100 busy do 0.90 of one, whichever they are. With MPS
// kernels of both run at once, and it does more, since a busy GPU is rarely a full one: utilisation is time,
// not the part of the multiprocessors. No utilisation says how much more.
//
// A job differs from its utilisation in two numbers: how much more than expected it is slowed, and how much
// more it slows others, both as logarithms of the extra time of a step. Both are 0 beforehand. Pairs that
// were seen correct them, by linear regression with that prior.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include "goodput/core/error.hpp"
#include "goodput/pairs/pair_model.hpp"

namespace goodput::inline v0_1 {

/// How two processes share a GPU.
enum class GpuSharing {
    time_slicing,  ///< in turns, the default of the driver
    mps,           ///< kernels of both at once, through NVIDIA's Multi-Process Service
};

/// A job that may be in pairs.
struct UtilisedJob {
    std::string name{};  ///< for messages
    /// Part of the time in which the GPU is busy while the job runs alone, in [0, 1]; none: not known.
    std::optional<double> utilisation{};
};

/// Two jobs that were seen together: speeds as parts of those alone.
struct SeenPair {
    std::array<std::size_t, 2> jobs{};  ///< indices, may be the same: two jobs alike
    std::array<double, 2> parts{};      ///< speeds of the first and the second job
};

/// Which part of its speed alone each of two jobs is expected to keep on the same GPU, in [0, 1], if they
/// keep it busy for these parts of the time alone. Jobs that keep it busier lose more, and so do their
/// partners. Throws std::invalid_argument for a utilisation outside [0, 1].
[[nodiscard]] std::array<double, 2> parts_by_utilisation(std::array<double, 2> utilisation,
                                                         GpuSharing sharing);

/// Whether two jobs on the same GPU probably do more than in turns: their parts add up to more than 1 by 0.84
/// standard deviations, so that four in five such estimates are right.
[[nodiscard]] inline bool gain_is_likely(const PairEstimate& together) {
    constexpr double deviations_wide = 0.84;
    return together.parts[0] + together.parts[1] - 1 >
           deviations_wide * std::hypot(together.deviations[0], together.deviations[1]);
}

/// Estimates the speeds of any two of some jobs on the same GPU of one type.
class UtilisedPairs {
public:
    /// Learns from pairs that were seen; those with a part of 0 say nothing. A job of unknown utilisation
    /// counts as the mean of those known; if none is, as one that explains the mean part of the pairs seen,
    /// or without these as one that always keeps the GPU busy. Throws std::invalid_argument for a utilisation
    /// outside [0, 1], for parts outside [0, 2], and for pairs of jobs that there are not.
    UtilisedPairs(std::span<const UtilisedJob> jobs, std::span<const SeenPair> seen, GpuSharing sharing);

    /// How fast two jobs are together; of one job: two alike. Exchanging the two exchanges the answer's.
    /// Whether their memory fits is not looked at. Throws std::invalid_argument for jobs that there are not.
    [[nodiscard]] PairEstimate estimate(std::array<std::size_t, 2> jobs) const;

    /// As what jobs of unknown utilisation count.
    [[nodiscard]] double assumed_utilisation() const { return assumed_; }

private:
    /// What a job differs by from its utilisation, as known: mean and variance.
    struct Correction {
        double mean = 0, variance = 0;
    };
    /// A job seen beside another: by how much the logarithm of its extra time exceeds the expected one.
    struct Row {
        std::size_t own = 0, other = 0;
        double excess = 0, variance = 0;
    };
    struct UsedJob {
        double utilisation = 0;
        Correction slowed{}, slows{};
    };

    [[nodiscard]] std::array<double, 2> expected(std::array<std::size_t, 2> jobs) const;
    [[nodiscard]] double usual_variance(bool known) const;
    [[nodiscard]] double noise() const { return sharing_ == GpuSharing::mps ? 0.06 : 0.03; }
    void learn(std::span<const SeenPair> seen);
    void set_means(std::span<const Row> rows);

    GpuSharing sharing_;
    double assumed_ = 1;
    std::vector<UsedJob> jobs_;
};

// ---------------------------------------------------------------------------------------------------------

namespace detail {

/// What a GPU does while two jobs both have kernels to run, relative to one job.
inline double done_together(GpuSharing sharing) { return sharing == GpuSharing::mps ? 1.2 : 0.9; }

/// Part of its speed that a job keeps beside another if its gaps are slack.
inline double part_with_slack(double own, double other, double together) {
    return std::min(1.0, std::max(together / 2, together - other) / std::max(own, 1e-9));
}

/// The same if its gaps are work. A job's kernels take 1 + k b times as long, with k = 2 / together - 1 and b
/// the part of the time in which the other has kernels to run. That is v y / (1 - v + v y) for a job of
/// utilisation v whose kernels take y times as long. So k b is the larger root of a quadratic equation.
inline double part_without_slack(double own, double other, double together) {
    const double k = 2 / together - 1;
    const double square = own + k * own * other, linear = 1 - k * k * own * other;
    const double constant = k * other * (1 + k * own);
    const double root = linear + std::sqrt(linear * linear + 4 * square * constant);
    return 1 / (1 + own * (root > 0 ? 2 * constant / root : 0));
}

/// The logarithm of the extra time of a step, as a part of the time alone. Nobody is quite undisturbed.
inline double log_extra_time(double part) { return std::log(std::max(1 / part - 1, 0.02)); }

inline void require_utilisation(const UtilisedJob& job) {
    if (job.utilisation)
        require_between([&] { return "job '" + job.name + "'"; }, "gpu_utilisation", *job.utilisation, 0, 1);
}

/// The utilisation of two jobs alike that keep this part of their speeds.
inline double utilisation_of(double part, GpuSharing sharing) {
    double low = 0, high = 1;
    for (int halving = 0; halving < 40; ++halving) {
        const double middle = (low + high) / 2;
        (parts_by_utilisation({middle, middle}, sharing)[0] > part ? low : high) = middle;
    }
    return high;
}

}  // namespace detail

inline std::array<double, 2> parts_by_utilisation(std::array<double, 2> utilisation, GpuSharing sharing) {
    for (const double of_job : utilisation) require_between("pair of jobs", "gpu_utilisation", of_job, 0, 1);
    const double together = detail::done_together(sharing);
    const auto part = [&](double own, double other) {
        return (detail::part_with_slack(own, other, together) +
                detail::part_without_slack(own, other, together)) /
               2;
    };
    return {part(utilisation[0], utilisation[1]), part(utilisation[1], utilisation[0])};
}

inline UtilisedPairs::UtilisedPairs(std::span<const UtilisedJob> jobs, std::span<const SeenPair> seen,
                                    GpuSharing sharing)
    : sharing_(sharing), jobs_(jobs.size()) {
    double sum = 0, count = 0;
    for (const UtilisedJob& job : jobs) {
        detail::require_utilisation(job);
        if (job.utilisation) sum += *job.utilisation, count += 1;
    }
    double parts = 0, rates = 0;
    for (const SeenPair& pair : seen) {
        for (const std::size_t job : pair.jobs)
            if (job >= jobs.size()) bad_input("pair seen", "jobs", job, "an index into the jobs");
        for (std::size_t i = 0; i < 2; ++i)
            require_between([&] { return "job '" + jobs[pair.jobs[i]].name + "' in a pair seen"; }, "part",
                            pair.parts[i], 0, 2);
        if (std::ranges::min(pair.parts) > 0) parts += pair.parts[0] + pair.parts[1], rates += 2;
    }
    if (count > 0)
        assumed_ = sum / count;
    else if (rates > 0)
        assumed_ = detail::utilisation_of(parts / rates, sharing);
    for (std::size_t j = 0; j < jobs.size(); ++j) {
        const Correction usual{0, usual_variance(jobs[j].utilisation.has_value())};
        jobs_[j] = {jobs[j].utilisation.value_or(assumed_), usual, usual};
    }
    learn(seen);
}

/// How far jobs are off what their utilisation says: under MPS a job of large kernels holds its own against
/// one of small kernels, and no utilisation tells them apart.
inline double UtilisedPairs::usual_variance(bool known) const {
    const double deviation = !known ? 0.6 : sharing_ == GpuSharing::mps ? 0.5 : 0.3;
    return deviation * deviation;
}

inline std::array<double, 2> UtilisedPairs::expected(std::array<std::size_t, 2> jobs) const {
    const auto parts =
        parts_by_utilisation({jobs_[jobs[0]].utilisation, jobs_[jobs[1]].utilisation}, sharing_);
    return {detail::log_extra_time(parts[0]), detail::log_extra_time(parts[1])};
}

/// Finds the lowest point of the squares: those of rows, and those of the numbers themselves, which are 0
/// beforehand.
inline void UtilisedPairs::set_means(std::span<const Row> rows) {
    const auto slowed = [](std::size_t job) { return static_cast<int>(2 * job); };
    const auto slows = [](std::size_t job) { return static_cast<int>(2 * job + 1); };
    const auto numbers = static_cast<Eigen::Index>(2 * jobs_.size());
    std::vector<Eigen::Triplet<double>> entries;
    Eigen::VectorXd told = Eigen::VectorXd::Zero(numbers);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        entries.emplace_back(slowed(j), slowed(j), 1 / jobs_[j].slowed.variance);
        entries.emplace_back(slows(j), slows(j), 1 / jobs_[j].slows.variance);
    }
    for (const Row& row : rows)
        for (const int a : {slowed(row.own), slows(row.other)}) {
            told[a] += row.excess / row.variance;
            for (const int b : {slowed(row.own), slows(row.other)})
                entries.emplace_back(a, b, 1 / row.variance);
        }
    Eigen::SparseMatrix<double> weights(numbers, numbers);
    weights.setFromTriplets(entries.begin(), entries.end());
    Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper> solver;
    solver.setTolerance(1e-10);
    solver.setMaxIterations(1000);
    const Eigen::VectorXd means = solver.compute(weights).solve(told);
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
        jobs_[j].slowed.mean = means[slowed(j)];
        jobs_[j].slows.mean = means[slows(j)];
    }
}

/// Variances pass from job to job along the rows, each without what the row itself said: exact unless pairs
/// form circles.
inline void UtilisedPairs::learn(std::span<const SeenPair> seen) {
    constexpr double least = 0.02, most = 0.98;  // beyond, a part says little of its logarithm
    constexpr int hops = 4;
    std::vector<Row> rows;
    for (const SeenPair& pair : seen) {
        if (!(std::ranges::min(pair.parts) > 0)) continue;
        const std::array<double, 2> usual = expected(pair.jobs);
        for (std::size_t i = 0; i < 2; ++i) {
            const double part = std::clamp(pair.parts[i], least, most);
            const double error = noise() / (part * (1 - part));
            rows.push_back(
                {pair.jobs[i], pair.jobs[1 - i], std::log(1 / part - 1) - usual[i], error * error});
        }
    }
    if (rows.empty()) return;
    std::vector<std::vector<std::size_t>> as_own(jobs_.size()), as_other(jobs_.size());  // rows by job
    for (std::size_t r = 0; r < rows.size(); ++r) {
        as_own[rows[r].own].push_back(r);
        as_other[rows[r].other].push_back(r);
    }
    set_means(rows);
    // By row: the variance of either number in it as far as other rows say.
    std::vector<double> of_own, of_other;
    for (const Row& row : rows) {
        of_own.push_back(jobs_[row.own].slowed.variance);
        of_other.push_back(jobs_[row.other].slows.variance);
    }
    const auto pass_on = [&](const std::vector<std::size_t>& its, double usual,
                             const std::vector<double>& partner, std::vector<double>& out) {
        double weight = 1 / usual;
        for (const std::size_t r : its) weight += 1 / (rows[r].variance + partner[r]);
        for (const std::size_t r : its)
            out[r] = 1 / std::max(weight - 1 / (rows[r].variance + partner[r]), 1 / usual);
        return 1 / weight;
    };
    std::vector<UsedJob> surer = jobs_;
    for (int hop = 0; hop < hops; ++hop) {
        const std::vector<double> own_before = of_own, other_before = of_other;
        for (std::size_t j = 0; j < jobs_.size(); ++j) {
            surer[j].slowed.variance = pass_on(as_own[j], jobs_[j].slowed.variance, other_before, of_own);
            surer[j].slows.variance = pass_on(as_other[j], jobs_[j].slows.variance, own_before, of_other);
        }
    }
    jobs_ = std::move(surer);
}

inline PairEstimate UtilisedPairs::estimate(std::array<std::size_t, 2> jobs) const {
    for (const std::size_t job : jobs)
        if (job >= jobs_.size()) bad_input("pair", "jobs", job, "an index into the jobs");
    constexpr double most = 30;  // beyond, a job stands still
    const std::array<double, 2> usual = expected(jobs);
    PairEstimate together{.fits = true};
    for (std::size_t i = 0; i < 2; ++i) {
        const Correction &own = jobs_[jobs[i]].slowed, &other = jobs_[jobs[1 - i]].slows;
        const double part = 1 / (1 + std::exp(std::min(usual[i] + own.mean + other.mean, most)));
        together.parts[i] = part;
        together.deviations[i] =
            std::hypot(part * (1 - part) * std::sqrt(own.variance + other.variance), noise());
    }
    return together;
}

}  // namespace goodput::inline v0_1

#endif
