#ifndef GOODPUT_DEADLINES_DETAIL_DEADLINE_PROGRAM_HPP
#define GOODPUT_DEADLINES_DETAIL_DEADLINE_PROGRAM_HPP

// Decides whether a mixture of configurations in each interval does all the work.
//
// Let x_c be the part of its interval that configuration c lasts, L the length of the interval in seconds,
// and s_j the part of job j's work that remains undone:
//
//     min sum s_j   s.t.   sum of L speed_jc x_c / work_j + s_j >= 1  for every job,
//                          sum of x_c over the configurations of an interval <= 1,   x, s >= 0
//
// A plan exists if and only if the minimum is 0, because configurations can follow each other within an
// interval in any order. By duality, prices p_j between 0 and 1 for a job's whole work prove that
//
//     sum s_j  >=  sum p_j - sum over intervals of L times the most that a second is worth at these prices
//
// which is above 0 if no plan exists. Configurations enter by column generation (Dantzig and Wolfe 1960).
// The search prices them half way between the prices of the present mixture and those of the best bound so
// far, which needs fewer configurations (smoothing, Wentges 1997). If none of these gains, it uses the
// prices of the present mixture (best_configurations.hpp). A basic solution has at most as many
// configurations as there are jobs and intervals together.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <Eigen/Core>
#include <Eigen/LU>

#include "goodput/deadlines/detail/best_configurations.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::detail {

/// All results are exact to this part of a job's work.
inline constexpr double deadline_tolerance = 1e-8;

/// A configuration of an interval.
struct Configured {
    std::size_t interval = 0;
    std::vector<JobChoice> jobs{};
};

/// The outcome of a search.
enum class DeadlineOutcome { possible, impossible, unknown };

/// The linear program with all configurations found so far. Keeps its buffers between calls.
class DeadlineProgram {
public:
    explicit DeadlineProgram(const TimeGrid& grid) : grid_(grid), best_of_(grid) {}

    /// Solves for this much work per job, above 0 for the jobs in TimeGrid::order. Runs at most
    /// `most_rounds` rounds that look for new configurations, and begins none after `stop`.
    DeadlineOutcome solve(std::span<const double> work, std::size_t most_rounds,
                          std::optional<std::chrono::steady_clock::time_point> stop = {});

    /// All configurations. parts() says what part of its interval each lasts, after solve().
    [[nodiscard]] const std::vector<Configured>& configurations() const { return columns_; }
    [[nodiscard]] std::vector<double> parts() const;

    /// The prices per unit of work, by job, that gave the largest bound so far. bound() is that bound on
    /// the sum of s.
    [[nodiscard]] const std::vector<double>& work_prices() const { return best_price_; }
    [[nodiscard]] double bound() const { return bound_; }
    [[nodiscard]] std::size_t rounds() const { return rounds_; }
    [[nodiscard]] std::size_t pivots() const { return pivots_; }

private:
    using Stop = std::optional<std::chrono::steady_clock::time_point>;
    static constexpr double least_gain = 1e-10;  // a smaller gain counts as none
    enum class Kind { shortfall, surplus, idle, configuration };
    struct Variable {
        Kind kind = Kind::shortfall;
        std::size_t index = 0;  // row of a job, interval, or configuration
    };

    void begin(std::span<const double> work);
    void append_entries(const Configured& column);
    [[nodiscard]] double gain(std::size_t column) const;
    void fill(const Variable& variable, Eigen::VectorXd& column) const;
    void find_prices();
    bool pivot();
    bool find_configurations(double smoothing, Stop stop);
    void enter(const Variable& variable, double gained);
    void refresh();
    [[nodiscard]] double shortfall() const;
    [[nodiscard]] std::size_t jobs() const { return grid_.order.size(); }
    [[nodiscard]] std::size_t rows() const { return jobs() + grid_.intervals.size(); }
    static Eigen::Index at(std::size_t row) { return static_cast<Eigen::Index>(row); }

    const TimeGrid& grid_;
    BestConfigurations best_of_;
    struct Entry {
        Eigen::Index row = 0;
        double weight = 0;
    };
    std::vector<Configured> columns_;
    std::vector<Entry> entries_;        // entries of all columns, one column after the other
    std::vector<std::size_t> offered_;  // columns that gained much when all were last examined
    double least_offered_ = 0;          // the smallest gain among these
    // where the entries of each column begin, and where those of the last column end
    std::vector<std::size_t> ends_;
    std::vector<double> work_, price_, best_price_, gains_;
    std::vector<std::size_t> row_of_;  // by job
    double bound_ = 0;
    std::size_t rounds_ = 0, pivots_ = 0, since_refresh_ = 0;
    std::vector<Variable> basis_;
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> inverse_;
    Eigen::VectorXd amount_, dual_, column_, direction_;
};

inline void DeadlineProgram::begin(std::span<const double> work) {
    work_.assign(work.begin(), work.end());
    price_.assign(work.size(), 0);
    best_price_.assign(work.size(), 0);
    row_of_.assign(work.size(), 0);
    for (std::size_t k = 0; k < jobs(); ++k) row_of_[grid_.order[k]] = k;
    entries_.clear();
    ends_.assign(1, 0);
    for (const Configured& column : columns_) append_entries(column);
    bound_ = -std::numeric_limits<double>::infinity();
    basis_.clear();
    for (std::size_t k = 0; k < jobs(); ++k) basis_.push_back({Kind::shortfall, k});
    for (std::size_t i = 0; i < grid_.intervals.size(); ++i) basis_.push_back({Kind::idle, i});
    inverse_ = Eigen::MatrixXd::Identity(at(rows()), at(rows()));
    amount_ = Eigen::VectorXd::Ones(at(rows()));
    since_refresh_ = 0;
}

/// Appends what a configuration that lasts for its whole interval does, by the rows of its jobs, as parts
/// of their work.
inline void DeadlineProgram::append_entries(const Configured& column) {
    const double seconds = grid_.intervals[column.interval].seconds();
    for (const JobChoice& choice : column.jobs)
        entries_.push_back({at(row_of_[choice.job]), choice.speed * seconds / work_[choice.job]});
    entries_.push_back({at(jobs() + column.interval), 1});
    ends_.push_back(entries_.size());
}

inline double DeadlineProgram::gain(std::size_t column) const {
    double sum = 0;
    for (std::size_t k = ends_[column]; k < ends_[column + 1]; ++k)
        sum += dual_[entries_[k].row] * entries_[k].weight;
    return sum;
}

inline void DeadlineProgram::fill(const Variable& variable, Eigen::VectorXd& column) const {
    column.setZero(at(rows()));
    switch (variable.kind) {
        case Kind::shortfall:
            column[at(variable.index)] = 1;
            break;
        case Kind::surplus:
            column[at(variable.index)] = -1;
            break;
        case Kind::idle:
            column[at(jobs() + variable.index)] = 1;
            break;
        case Kind::configuration:
            for (std::size_t k = ends_[variable.index]; k < ends_[variable.index + 1]; ++k)
                column[entries_[k].row] = entries_[k].weight;
    }
}

/// Computes the prices of the rows. Once no variable gains, those of jobs are at most 1 and those of
/// intervals at most 0.
inline void DeadlineProgram::find_prices() {
    dual_.setZero(at(rows()));
    for (std::size_t row = 0; row < rows(); ++row)
        if (basis_[row].kind == Kind::shortfall) dual_ += inverse_.row(at(row)).transpose();
}

inline double DeadlineProgram::shortfall() const {
    double sum = 0;
    for (std::size_t row = 0; row < rows(); ++row)
        if (basis_[row].kind == Kind::shortfall) sum += std::max(0.0, amount_[at(row)]);
    return sum;
}

/// Brings the variable with the largest gain into the basis. Returns false if none gains.
inline bool DeadlineProgram::pivot() {
    Variable entering;
    double most = least_gain;
    const auto offer = [&](Kind kind, std::size_t index, double gained) {
        if (gained > most) {
            most = gained;
            entering = {kind, index};
        }
    };
    for (std::size_t k = 0; k < jobs(); ++k) {
        offer(Kind::surplus, k, -dual_[at(k)]);
        offer(Kind::shortfall, k, dual_[at(k)] - 1);
    }
    for (std::size_t i = 0; i < grid_.intervals.size(); ++i) offer(Kind::idle, i, dual_[at(jobs() + i)]);
    // Columns that gained much suffice for some steps, because examining all columns takes as long as a
    // step.
    for (const std::size_t c : offered_) offer(Kind::configuration, c, gain(c));
    if (most <= least_offered_) {
        gains_.resize(columns_.size());
        for (std::size_t c = 0; c < columns_.size(); ++c) offer(Kind::configuration, c, gains_[c] = gain(c));
        least_offered_ = 0.3 * most;
        offered_.clear();
        for (std::size_t c = 0; c < columns_.size(); ++c)
            if (gains_[c] > least_offered_) offered_.push_back(c);
    }
    if (most <= least_gain) return false;
    enter(entering, most);
    return true;
}

inline void DeadlineProgram::enter(const Variable& variable, double gained) {
    fill(variable, column_);
    if (variable.kind == Kind::configuration) {
        direction_.setZero(at(rows()));
        for (Eigen::Index row = 0; row < direction_.size(); ++row)
            for (std::size_t k = ends_[variable.index]; k < ends_[variable.index + 1]; ++k)
                direction_[row] += inverse_(row, entries_[k].row) * entries_[k].weight;
    } else {
        direction_.noalias() = inverse_ * column_;
    }
    // The row that reaches 0 first leaves; among ties, one with a large element.
    double step = std::numeric_limits<double>::infinity();
    for (Eigen::Index row = 0; row < amount_.size(); ++row)
        if (direction_[row] > 1e-9) step = std::min(step, std::max(0.0, amount_[row]) / direction_[row]);
    if (std::isinf(step)) return;
    Eigen::Index leaving = -1;
    for (Eigen::Index row = 0; row < amount_.size(); ++row)
        if (direction_[row] > 1e-9 &&
            std::max(0.0, amount_[row]) / direction_[row] <= step * (1 + 1e-12) + 1e-14 &&
            (leaving < 0 || direction_[row] > direction_[leaving]))
            leaving = row;
    amount_ -= step * direction_;
    amount_[leaving] = step;
    inverse_.row(leaving) /= direction_[leaving];
    for (Eigen::Index row = 0; row < direction_.size(); ++row)
        if (row != leaving && direction_[row] != 0)
            inverse_.row(row) -= direction_[row] * inverse_.row(leaving);
    dual_ -= gained * inverse_.row(leaving).transpose();
    basis_[static_cast<std::size_t>(leaving)] = variable;
    ++pivots_;
    if (++since_refresh_ >= 1000) {
        refresh();
        find_prices();
    }
}

/// Removes the rounding errors of many pivots.
inline void DeadlineProgram::refresh() {
    Eigen::MatrixXd matrix(at(rows()), at(rows()));
    for (std::size_t row = 0; row < rows(); ++row) {
        fill(basis_[row], column_);
        matrix.col(at(row)) = column_;
    }
    inverse_ = matrix.partialPivLu().inverse();
    amount_ = inverse_ * Eigen::VectorXd::Ones(at(rows()));
    since_refresh_ = 0;
}

/// Adds the best configurations that gain, priced at the present mixture's prices or between these and the
/// best prices so far. Updates the bound with these prices. Returns whether any configuration gained.
inline bool DeadlineProgram::find_configurations(double smoothing, Stop stop) {
    double bound = 0;
    for (const std::size_t job : grid_.order) {
        const double present = std::clamp(dual_[at(row_of_[job])], 0.0, 1.0);
        const double price = (1 - smoothing) * present + smoothing * best_price_[job] * work_[job];
        bound += price;
        price_[job] = price / work_[job];
    }
    const std::vector<BestConfiguration>* found = best_of_(price_, stop);
    if (!found) return false;
    const std::vector<BestConfiguration>& best = *found;
    const std::size_t before = columns_.size();
    for (std::size_t i = 0; i < best.size(); ++i) {
        bound -= grid_.intervals[i].seconds() * best[i].bound;
        columns_.push_back({i, best[i].jobs});
        append_entries(columns_.back());
        if (gain(columns_.size() - 1) > least_gain) continue;
        columns_.pop_back();
        entries_.resize(ends_[columns_.size()]);
        ends_.pop_back();
    }
    if (bound > bound_) {
        bound_ = bound;
        best_price_ = price_;
    }
    return columns_.size() > before;
}

inline DeadlineOutcome DeadlineProgram::solve(std::span<const double> work, std::size_t most_rounds,
                                              std::optional<std::chrono::steady_clock::time_point> stop) {
    begin(work);
    const std::size_t most_pivots = 50 * rows() + 1000;
    for (std::size_t round = 0; round < most_rounds; ++round, ++rounds_) {
        if (stop && std::chrono::steady_clock::now() >= *stop) break;
        find_prices();
        least_offered_ = std::numeric_limits<double>::infinity();
        offered_.clear();
        for (std::size_t k = 0; k < most_pivots && shortfall() > deadline_tolerance && pivot(); ++k)
            if (stop && std::chrono::steady_clock::now() >= *stop) return DeadlineOutcome::unknown;
        if (shortfall() <= deadline_tolerance) {
            refresh();
            if (shortfall() <= deadline_tolerance) return DeadlineOutcome::possible;
        }
        find_prices();
        bool found = std::isfinite(bound_) && find_configurations(0.5, stop);
        if (!found && bound_ <= deadline_tolerance) found = find_configurations(0, stop);
        if (bound_ > deadline_tolerance) return DeadlineOutcome::impossible;
        if (!found) return DeadlineOutcome::unknown;
    }
    return DeadlineOutcome::unknown;
}

inline std::vector<double> DeadlineProgram::parts() const {
    std::vector<double> parts(columns_.size(), 0.0);
    for (std::size_t row = 0; row < rows(); ++row)
        if (basis_[row].kind == Kind::configuration)
            parts[basis_[row].index] = std::clamp(amount_[at(row)], 0.0, 1.0);
    return parts;
}

}  // namespace goodput::detail

#endif
