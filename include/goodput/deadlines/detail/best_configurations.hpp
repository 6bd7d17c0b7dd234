#ifndef GOODPUT_DEADLINES_DETAIL_BEST_CONFIGURATIONS_HPP
#define GOODPUT_DEADLINES_DETAIL_BEST_CONFIGURATIONS_HPP

// Finds the configuration of each interval that is worth most at given prices of work: which job has how
// many GPUs, in sizes at which the job can run. time_grid.hpp explains the intervals and the rows, which
// limit GPUs and blocks of GPUs.
//
// With one row, and not very many GPUs and jobs, this is dynamic programming over the GPUs. A job that can
// use the whole of an interval can use all intervals before it, unless it cannot be moved yet. Jobs
// therefore enter the table one by one, the latest deadline first, and one table serves all intervals. The
// other jobs of an interval enter a copy of the table. With several rows, each interval is a separate
// allotment problem.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/allot.hpp"
#include "goodput/core/detail/clock.hpp"
#include "goodput/deadlines/detail/time_grid.hpp"

namespace goodput::inline v0_1::detail {

/// The option of one job in a configuration.
struct JobChoice {
    std::size_t job = 0;
    std::size_t option = 0;  ///< index into TimeGrid::options
    double speed = 0;        ///< work per second of the interval; a job may use only a part of the interval
};

/// The best that an interval can do at given prices.
struct BestConfiguration {
    std::vector<JobChoice> jobs{};
    double value = 0;  ///< price times work, per second
    double bound = 0;  ///< no configuration is worth more
};

/// Finds the best configurations. Keeps its buffers between calls.
class BestConfigurations {
public:
    explicit BestConfigurations(const TimeGrid& grid);

    /// Returns the best configurations by interval. `price` is the price per unit of work by job, at least
    /// 0. The result is valid until the next call. Returns null if `clock` was late before all were found.
    const std::vector<BestConfiguration>* operator()(std::span<const double> price, Clock& clock) {
        if (by_table_)
            by_table(price);
        else if (!by_allotment(price, clock))
            return nullptr;
        return &best_;
    }

private:
    /// A job whose options are in the table.
    struct Layer {
        std::size_t job = 0;
        double part = 1;
        std::vector<std::uint8_t> choice{};  ///< by number of GPUs: option + 1, or 0 for no option
    };

    void by_table(std::span<const double> price);
    bool by_allotment(std::span<const double> price, Clock& clock);
    /// Adds a job to a table.
    void take_in(std::size_t job, double part, double price, std::vector<double>& table, std::size_t layer);
    void read(std::size_t interval, std::size_t layers, double value);

    const TimeGrid& grid_;
    bool by_table_ = false;
    std::size_t gpus_ = 0;  // largest number of GPUs of any interval
    std::vector<BestConfiguration> best_;
    std::vector<double> table_, partial_table_, before_;
    std::vector<Layer> layers_;
    std::vector<AllotmentProblem> problems_;  // by interval
    Allotter<> allotter_;
};

inline BestConfigurations::BestConfigurations(const TimeGrid& grid)
    : grid_(grid), best_(grid.intervals.size()) {
    if (grid.rows.size() == 1) {
        for (const GridInterval& interval : grid.intervals)
            gpus_ = std::max(gpus_, static_cast<std::size_t>(interval.capacity[0]));
        by_table_ = gpus_ * std::max<std::size_t>(grid.order.size(), 1) <= std::size_t{1} << 22;
    }
    if (by_table_) return;
    for (const GridInterval& interval : grid.intervals) {
        AllotmentProblem& problem = problems_.emplace_back();
        problem.capacity = interval.capacity;
        for (std::size_t k = 0; k < TimeGrid::users(interval); ++k)
            grid.add_to(problem, grid.user(interval, k).job, [](const DeadlineOption&) { return 0; });
    }
}

inline void BestConfigurations::take_in(std::size_t job, double part, double price,
                                        std::vector<double>& table, std::size_t layer) {
    if (layers_.size() <= layer) layers_.emplace_back();
    Layer& entered = layers_[layer];
    entered.job = job;
    entered.part = part;
    entered.choice.assign(table.size(), 0);
    before_ = table;
    const std::vector<DeadlineOption>& options = grid_.options[job];
    for (std::size_t option = 0; option < options.size(); ++option) {
        const auto gpus = static_cast<std::size_t>(grid_.blocks_of(options[option].held, 0));
        const double value = price * part * options[option].speed;
        const auto mark = static_cast<std::uint8_t>(option + 1);
        for (std::size_t used = gpus; used < table.size(); ++used)
            if (before_[used - gpus] + value > table[used]) {
                table[used] = before_[used - gpus] + value;
                entered.choice[used] = mark;
            }
    }
}

inline void BestConfigurations::read(std::size_t interval, std::size_t layers, double value) {
    BestConfiguration& best = best_[interval];
    best.jobs.clear();
    best.value = best.bound = value;
    auto used = static_cast<std::size_t>(grid_.intervals[interval].capacity[0]);
    for (std::size_t layer = layers; layer-- > 0;) {
        const Layer& entered = layers_[layer];
        if (entered.choice[used] == 0) continue;
        const std::size_t option = entered.choice[used] - std::size_t{1};
        const DeadlineOption& chosen = grid_.options[entered.job][option];
        best.jobs.push_back({entered.job, option, entered.part * chosen.speed});
        used -= static_cast<std::size_t>(grid_.blocks_of(chosen.held, 0));
    }
}

inline void BestConfigurations::by_table(std::span<const double> price) {
    table_.assign(gpus_ + 1, 0);
    std::size_t taken = 0, layers = 0;
    for (std::size_t interval = grid_.intervals.size(); interval-- > 0;) {
        const GridInterval& grid_interval = grid_.intervals[interval];
        for (; taken < grid_interval.full_jobs; ++taken) {
            const std::size_t job = grid_.order[taken];
            if (price[job] > 0) take_in(job, 1, price[job], table_, layers++);
        }
        const auto gpus = static_cast<std::size_t>(grid_interval.capacity[0]);
        if (grid_interval.partial_jobs.empty()) {
            read(interval, layers, table_[gpus]);
            continue;
        }
        partial_table_ = table_;
        std::size_t more = layers;
        for (const PartialJob& partial : grid_interval.partial_jobs)
            if (price[partial.job] > 0)
                take_in(partial.job, partial.part, price[partial.job], partial_table_, more++);
        read(interval, more, partial_table_[gpus]);
    }
}

inline bool BestConfigurations::by_allotment(std::span<const double> price, Clock& clock) {
    for (std::size_t interval = 0; interval < problems_.size(); ++interval) {
        if (clock.late()) return false;
        const GridInterval& grid_interval = grid_.intervals[interval];
        AllotmentProblem& problem = problems_[interval];
        for (std::size_t k = 0; k < problem.jobs(); ++k) {
            const auto [job, part] = grid_.user(grid_interval, k);
            for (std::size_t option = 0; option < grid_.options[job].size(); ++option)
                problem.set_value(k, option, price[job] * part * grid_.options[job][option].speed);
        }
        const AllotResult& result = allotter_(problem, {.gap = 1e-9, .most_states = std::size_t{1} << 10});
        BestConfiguration& best = best_[interval];
        best.jobs.clear();
        best.value = result.objective;
        best.bound = result.bound;
        for (std::size_t k = 0; k < problem.jobs(); ++k) {
            if (result.choice[k] == no_option) continue;
            const auto [job, part] = grid_.user(grid_interval, k);
            best.jobs.push_back({job, result.choice[k], part * grid_.options[job][result.choice[k]].speed});
        }
    }
    return true;
}

}  // namespace goodput::inline v0_1::detail

#endif
