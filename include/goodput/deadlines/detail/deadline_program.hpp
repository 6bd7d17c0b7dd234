#ifndef GOODPUT_DEADLINES_DETAIL_DEADLINE_PROGRAM_HPP
#define GOODPUT_DEADLINES_DETAIL_DEADLINE_PROGRAM_HPP

// Decides whether a mixture of configurations in each interval does all the work.
//
// A configuration says which jobs have how many GPUs at the same time. Let x_c be the part of its interval
// that configuration c lasts, L the length of the interval in seconds, speed_jc the work per second of job
// j in configuration c, work_j the work of job j, and s_j the part of it that remains undone:
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
// The search looks for configurations at prices half way between those of the present mixture and those of
// the best bound so far. So it needs fewer configurations (smoothing, Wentges 1997). If no configuration
// gains at these prices, it uses the prices of the present mixture (best_configurations.hpp). PriceMaster,
// which finds the prices of GPUs in an allotment, also solves the program over the configurations found so
// far. In its terms, an interval is a block, and the block's first column is to be idle. A job is a
// resource with a capacity of -1. A configuration that does a part of the job's work uses minus that part.
// s_j is the excess, at a ceiling of 1.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/price_master.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/deadlines/detail/best_configurations.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::inline v0_1::detail {

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
    /// `most_rounds` rounds that look for new configurations, and begins none once `clock` is late.
    DeadlineOutcome solve(std::span<const double> work, std::size_t most_rounds, Clock& clock);

    /// All configurations. parts() says what part of its interval each lasts, after solve().
    [[nodiscard]] const std::vector<Configured>& configurations() const { return configurations_; }
    [[nodiscard]] std::vector<double> parts() const;

    /// The prices per unit of work, by job, that gave the largest bound so far. bound() is this lower bound
    /// on the sum of all s_j.
    [[nodiscard]] const std::vector<double>& work_prices() const { return best_price_; }
    [[nodiscard]] double bound() const { return bound_; }
    [[nodiscard]] std::size_t rounds() const { return rounds_; }

private:
    static constexpr double least_gain = 1e-10;  // a smaller gain counts as none
    void begin(std::span<const double> work);
    void use_of(const Configured& configuration);
    bool find_configurations(double smoothing, Clock& clock);
    [[nodiscard]] double shortfall() const { return -master_.objective(); }

    const TimeGrid& grid_;
    BestConfigurations best_of_;
    PriceMaster master_{std::numeric_limits<std::size_t>::max(), least_gain};
    std::vector<Configured> configurations_;  // in the order of their columns, which follow the idle ones
    std::vector<double> work_, price_, best_price_, usage_;
    std::vector<std::size_t> row_of_;  // by job
    double bound_ = 0;
    std::size_t rounds_ = 0;
};

inline void DeadlineProgram::begin(std::span<const double> work) {
    work_.assign(work.begin(), work.end());
    price_.assign(work.size(), 0);
    best_price_.assign(work.size(), 0);
    row_of_.assign(work.size(), 0);
    bound_ = -std::numeric_limits<double>::infinity();
    const std::size_t jobs = grid_.order.size();
    for (std::size_t k = 0; k < jobs; ++k) row_of_[grid_.order[k]] = k;
    master_.reset(std::vector<double>(jobs, -1), std::vector<double>(jobs, 1), grid_.intervals.size());
    usage_.assign(jobs, 0);
    for (std::size_t i = 0; i < grid_.intervals.size(); ++i) master_.add_column(i, 0, usage_);
    master_.begin();
    for (const Configured& configuration : configurations_) {
        use_of(configuration);
        master_.add_column(configuration.interval, 0, usage_);
    }
}

/// Fills usage_ with what a configuration uses if it lasts for its whole interval.
inline void DeadlineProgram::use_of(const Configured& configuration) {
    const double seconds = grid_.intervals[configuration.interval].seconds();
    usage_.assign(usage_.size(), 0);
    for (const JobChoice& choice : configuration.jobs)
        usage_[row_of_[choice.job]] = -choice.speed * seconds / work_[choice.job];
}

/// Adds the best configurations that gain, priced at the present mixture's prices or between these and the
/// best prices so far. Updates the bound with these prices. Returns whether any configuration gained.
inline bool DeadlineProgram::find_configurations(double smoothing, Clock& clock) {
    double bound = 0;
    for (const std::size_t job : grid_.order) {
        const double present = std::clamp(master_.prices()[row_of_[job]], 0.0, 1.0);
        const double price = (1 - smoothing) * present + smoothing * best_price_[job] * work_[job];
        bound += price;
        price_[job] = price / work_[job];
    }
    const std::vector<BestConfiguration>* best = best_of_(price_, clock);
    if (!best) return false;
    const std::size_t before = configurations_.size();
    for (std::size_t i = 0; i < best->size(); ++i) {
        bound -= grid_.intervals[i].seconds() * (*best)[i].bound;
        Configured configuration{i, (*best)[i].jobs};
        use_of(configuration);
        if (master_.gain(i, 0, usage_) > least_gain && master_.add_column(i, 0, usage_))
            configurations_.push_back(std::move(configuration));
    }
    if (bound > bound_) {
        bound_ = bound;
        best_price_ = price_;
    }
    return configurations_.size() > before;
}

inline DeadlineOutcome DeadlineProgram::solve(std::span<const double> work, std::size_t most_rounds,
                                              Clock& clock) {
    begin(work);
    for (std::size_t round = 0; round < most_rounds && !clock.late(); ++round, ++rounds_) {
        master_.solve(clock);
        if (shortfall() <= deadline_tolerance) {
            master_.polish(clock);
            if (shortfall() <= deadline_tolerance) return DeadlineOutcome::possible;
        }
        if (clock.late()) break;
        bool found = std::isfinite(bound_) && find_configurations(0.5, clock);
        if (!found && bound_ <= deadline_tolerance) found = find_configurations(0, clock);
        if (bound_ > deadline_tolerance) return DeadlineOutcome::impossible;
        if (!found) return DeadlineOutcome::unknown;
    }
    return DeadlineOutcome::unknown;
}

inline std::vector<double> DeadlineProgram::parts() const {
    std::vector<double> parts(configurations_.size(), 0.0);
    const std::size_t idle = grid_.intervals.size();
    master_.for_each_weight([&](std::size_t column, double weight) {
        if (column >= idle) parts[column - idle] = std::min(weight, 1.0);
    });
    return parts;
}

}  // namespace goodput::inline v0_1::detail

#endif
