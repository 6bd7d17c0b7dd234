#ifndef GOODPUT_ALLOT_DETAIL_PRICE_MASTER_HPP
#define GOODPUT_ALLOT_DETAIL_PRICE_MASTER_HPP

// The small linear program that is solved between two evaluations of all options. The groups of jobs are
// dealt to blocks. An evaluation at some prices chooses an option for each job. For each block this gives a
// "column" with total value V_i and total usage U_i. Over the columns seen so far the program is as
// follows. x_i is the weight of column i. s_r are the units of resource r that are left, and e_r the units
// in excess of its capacity C_r, each of which costs ceiling_r.
//
//     max  sum_i V_i x_i - sum_r ceiling_r e_r
//     s.t. sum_i U_ir x_i + s_r - e_r = C_r  (price_r),   sum_i x_i = 1 over each block's columns (constant),
//          x, s, e >= 0
//
// Its multipliers are the prices at which the columns' upper envelope is least, with 0 <= price <= ceiling.
//
// The primal simplex method solves it with an explicit inverse of the basis, which has a row for each
// resource and each block. It restarts from the last basis, so few pivots follow each evaluation. After
// every pivot the weights are a mixture of choices that later pivots only improve, so the method may stop
// after any pivot. It stops when time has run out, or when the pivots have read 2^30 numbers. A cold start
// with about a hundred resources reads that many.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

class PriceMaster {
public:
    PriceMaster() = default;
    /// `most_work`: the numbers that all pivots together may read before the program is exhausted().
    /// `least_gain`: a variable that gains no more than this stays out of the basis.
    PriceMaster(std::size_t most_work, double least_gain) : most_work_(most_work), least_gain_(least_gain) {}

    /// Begins a new program. The caller then adds a first column for every block, in order, and calls
    /// begin().
    void reset(std::span<const double> capacity, std::span<const double> ceiling, std::size_t blocks) {
        resources_ = capacity.size();
        rows_ = resources_ + blocks;
        unit_.clear();
        right_.clear();
        for (const double units : capacity) {
            unit_.push_back(units != 0 ? std::ldexp(1.0, std::ilogb(units)) : 1);
            right_.push_back(units / unit_.back());
        }
        right_.resize(rows_, 1);
        move_ceilings(ceiling);
        columns_.clear();
        entries_.clear();
        work_ = 0;
    }
    /// Starts from the mixture in which every block has its first column.
    void begin() {
        basis_.assign(rows_, Variable{});
        inverse_.assign(rows_ * rows_, 0);
        in_use_.assign(resources_, 0);
        for (std::size_t i = 0; i < columns(); ++i)
            for (const Entry& entry : entries_of(i))
                in_use_[entry.resource] += entry.units / columns_[i].share;
        for (std::size_t r = 0; r < resources_; ++r) {
            const bool exceeds = in_use_[r] > right_[r];
            basis_[r] = {exceeds ? Kind::excess : Kind::slack, r};
            at(r, r) = exceeds ? -1 : 1;
        }
        for (std::size_t i = 0; i < columns(); ++i) {
            const std::size_t row = resources_ + i;
            basis_[row] = {Kind::column, i};
            at(row, row) = 1 / columns_[i].share;
            for (const Entry& entry : entries_of(i))
                at(entry.resource, row) =
                    -at(entry.resource, entry.resource) * entry.units / columns_[i].share;
        }
        update_solution();
    }
    void reserve(std::size_t columns, std::size_t entries) {
        columns_.reserve(columns);
        entries_.reserve(entries);
    }
    /// Adds a column to a block. Returns false if the block already has this column.
    bool add_column(std::size_t block, double value, std::span<const double> usage) {
        double most = 0;
        for (std::size_t r = 0; r < resources_; ++r) most = std::max(most, usage[r] / unit_[r]);
        const double share = most > far_beyond ? std::ldexp(1.0, -std::ilogb(most)) : 1;
        const std::size_t first = entries_.size();
        for (std::size_t r = 0; r < resources_; ++r)
            if (usage[r] != 0)
                entries_.push_back({static_cast<std::uint32_t>(r), usage[r] / unit_[r] * share});
        const Column column{value * share, share, block, first, entries_.size()};
        for (std::size_t i = 0; i < columns(); ++i)
            if (columns_[i].block == block && columns_[i].value == column.value &&
                std::ranges::equal(entries_of(i), std::span(entries_).subspan(first))) {
                entries_.resize(first);
                return false;
            }
        columns_.push_back(column);
        return true;
    }
    /// Returns what a column of this block would add to the objective at the present multipliers.
    [[nodiscard]] double gain(std::size_t block, double value, std::span<const double> usage) const {
        double gain = value - multipliers_[resources_ + block];
        for (std::size_t r = 0; r < resources_; ++r) gain -= prices_[r] * usage[r];
        return gain;
    }
    /// Changes the ceilings. The basis stays feasible, because only the objective changes.
    void move_ceilings(std::span<const double> ceiling) {
        ceiling_.resize(resources_);
        for (std::size_t r = 0; r < resources_; ++r) ceiling_[r] = ceiling[r] * unit_[r];
    }

    /// Solves to optimality over the columns so far, unless time runs out or exhausted() becomes true.
    void solve(Clock& clock) {
        double best = 0;
        std::size_t idle = 0;  // number of pivots since the objective last rose
        bool anew = false;     // whether this call has renewed the inverse because of idle pivots
        bool renewed = false;  // whether the inverse was renewed since the last pivot
        const std::size_t work_of_pivot = entries_.size() + 2 * columns() + 3 * rows_ * rows_;
        update_multipliers();
        offered_.clear();
        least_offered_ = std::numeric_limits<double>::infinity();
        for (std::size_t pivot = 0; pivot < 200 * rows_ + 1000; ++pivot) {
            if (exhausted() || clock.late(work_of_pivot)) break;
            work_ += work_of_pivot;
            const double now = objective();
            const bool risen = pivot == 0 || now > best + 1e-12 * std::abs(best);
            idle = risen ? 0 : idle + 1;
            if (risen) best = now;
            if (idle > 20 * rows_) {  // rounding makes the pivots go in circles
                if (anew || !renew(clock)) break;
                anew = true;
                idle = 0;
                continue;
            }
            if (residual() > 1e-9 && !std::exchange(renewed, true) && renew(clock)) continue;
            renewed = false;
            // Bland's rule takes the first variable for entering and leaving, and cannot cycle.
            const bool first = idle > 4 * rows_;
            const Variable entering = best_entering(first, idle > rows_ / 2 ? 1e-11 : 1e-13);
            if (entering.kind == Kind::nothing) break;
            direction_of(entering);
            const std::size_t leaving = ratio_test(first);
            if (leaving == rows_) break;  // cannot happen: the convexity row bounds every column
            pivot_on(leaving, entering);
        }
        update_multipliers();
        update_solution();
    }

    /// Solves again with a freshly computed inverse, which removes the rounding of many pivots from the
    /// answer.
    void polish(Clock& clock) {
        solve(clock);
        if (renew(clock)) solve(clock);
    }
    /// Returns whether the limit of work is reached, so that no further pivot is made.
    [[nodiscard]] bool exhausted() const { return work_ >= most_work_; }

    [[nodiscard]] std::span<const double> prices() const { return prices_; }
    /// Returns the objective over the columns so far: a lower bound on the least value of the dual
    /// function.
    [[nodiscard]] double objective() const {
        double sum = 0;
        for (std::size_t row = 0; row < rows_; ++row) sum += multipliers_[row] * right_[row];
        return sum;
    }
    [[nodiscard]] std::size_t columns() const { return columns_.size(); }

    /// Returns whether the optimal mixture exceeds no capacity.
    [[nodiscard]] bool feasible() const {
        for (std::size_t row = 0; row < rows_; ++row)
            if (basis_[row].kind == Kind::excess && solution_[row] > 1e-9 * (1 + right_[basis_[row].index]))
                return false;
        return true;
    }

    /// Calls visit(column, weight) for the columns of the optimal mixture. The weights of a block sum to 1.
    template <class Visit>
    void for_each_weight(Visit visit) const {
        for (std::size_t row = 0; row < rows_; ++row)
            if (basis_[row].kind == Kind::column && solution_[row] > 0)
                visit(basis_[row].index, solution_[row] * columns_[basis_[row].index].share);
    }

    /// Calls visit(column) for the columns in the basis.
    template <class Visit>
    void for_each_basic_column(Visit visit) const {
        for (std::size_t row = 0; row < rows_; ++row)
            if (basis_[row].kind == Kind::column) visit(basis_[row].index);
    }

private:
    enum class Kind { nothing, column, slack, excess };
    struct Variable {
        Kind kind = Kind::nothing;
        std::size_t index = 0;
    };

    struct Column {
        double value, share;
        std::size_t block, first, end;  // first, end: range of its entries
    };
    struct Entry {
        std::uint32_t resource;
        double units;
        bool operator==(const Entry&) const = default;
    };
    [[nodiscard]] std::span<const Entry> entries_of(std::size_t column) const {
        return {entries_.data() + columns_[column].first, entries_.data() + columns_[column].end};
    }

    /// Calls visit(row, coefficient) for each row of the program in which `variable` has a coefficient.
    template <class Visit>
    void for_each_coefficient(Variable variable, Visit visit) const {
        if (variable.kind != Kind::column)
            return visit(variable.index, variable.kind == Kind::slack ? 1.0 : -1.0);
        for (const Entry& entry : entries_of(variable.index)) visit(entry.resource, entry.units);
        const Column& column = columns_[variable.index];
        visit(resources_ + column.block, column.share);
    }

    double& at(std::size_t row, std::size_t column) { return inverse_[row * rows_ + column]; }

    [[nodiscard]] double cost(Variable variable) const {
        switch (variable.kind) {
            case Kind::column:
                return columns_[variable.index].value;
            case Kind::excess:
                return -ceiling_[variable.index];
            case Kind::slack:
            case Kind::nothing:
                break;
        }
        return 0;
    }

    void update_multipliers() {
        multipliers_.assign(rows_, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            const double c = cost(basis_[row]);
            if (c == 0) continue;
            for (std::size_t column = 0; column < rows_; ++column)
                multipliers_[column] += c * at(row, column);
        }
        prices_.resize(resources_);
        for (std::size_t r = 0; r < resources_; ++r) prices_[r] = multipliers_[r] / unit_[r];
    }

    void update_solution() {
        solution_.assign(rows_, 0);
        for (std::size_t row = 0; row < rows_; ++row)
            for (std::size_t column = 0; column < rows_; ++column)
                solution_[row] += at(row, column) * right_[column];
    }

    /// Returns the variable of largest reduced cost or, with `first`, the first positive one (Bland's
    /// rule). A reduced cost counts as rounding up to `tolerance` times the sum of its terms' sizes.
    [[nodiscard]] Variable best_entering(bool first, double tolerance) {
        Variable best;
        double largest = 0;
        const auto offer = [&](Kind kind, std::size_t index, double reduced, double scale) {
            if (reduced <= tolerance * scale + least_gain_ || (first && best.kind != Kind::nothing) ||
                reduced <= largest)
                return;
            // After many pivots, rounding may make a variable of the basis look as if it should enter.
            const auto is_offered = [&](Variable basic) {
                return basic.kind == kind && basic.index == index;
            };
            if (std::any_of(basis_.begin(), basis_.end(), is_offered)) return;
            largest = reduced;
            best = {kind, index};
        };
        const auto offer_column = [&](std::size_t i) {
            const Column& column = columns_[i];
            const double own = multipliers_[resources_ + column.block] * column.share;
            double reduced = column.value - own, scale = std::abs(column.value) + std::abs(own);
            for (const Entry& entry : entries_of(i)) {
                const double paid = multipliers_[entry.resource] * entry.units;
                reduced -= paid;
                scale += std::abs(paid);
            }
            offer(Kind::column, i, reduced, scale);
            return reduced;
        };
        for (std::size_t r = 0; r < resources_; ++r) {
            const double scale = std::abs(multipliers_[r]);
            // Compare in units of the whole capacity, so that single prices compare with whole columns.
            const double unit = std::max(right_[r], 1.0);
            offer(Kind::slack, r, -multipliers_[r] * unit, scale * unit);
            offer(Kind::excess, r, (multipliers_[r] - ceiling_[r]) * unit, (scale + ceiling_[r]) * unit);
        }
        if (first || columns() <= few_columns) {
            for (std::size_t i = 0; i < columns(); ++i) offer_column(i);
            return best;
        }
        // For some pivots it suffices to examine the columns that gained much. Examining all columns takes
        // as long as a pivot.
        for (const std::size_t i : offered_) offer_column(i);
        if (largest > least_offered_) return best;
        gains_.clear();
        for (std::size_t i = 0; i < columns(); ++i) gains_.push_back(offer_column(i));
        least_offered_ = 0.3 * largest;
        offered_.clear();
        for (std::size_t i = 0; i < columns(); ++i)
            if (gains_[i] > least_offered_) offered_.push_back(i);
        return best;
    }

    void direction_of(Variable entering) {
        direction_.assign(rows_, 0);
        for_each_coefficient(entering, [&](std::size_t column, double coefficient) {
            for (std::size_t row = 0; row < rows_; ++row) direction_[row] += at(row, column) * coefficient;
        });
    }

    /// Returns the row that leaves the basis. If several ratios are equal up to rounding, this is the row
    /// with the largest pivot, because large pivots keep the inverse accurate. With `first` it is the row
    /// of the first variable (Bland's rule).
    [[nodiscard]] std::size_t ratio_test(bool first) const {
        constexpr double least_pivot = 1e-11, rounding = 1e-12;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t row = 0; row < rows_; ++row)
            if (direction_[row] > least_pivot)
                least = std::min(least, (std::max(solution_[row], 0.0) + rounding) / direction_[row]);
        std::size_t leaving = rows_;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (direction_[row] <= least_pivot || solution_[row] > least * direction_[row]) continue;
            if (leaving == rows_ ||
                (first ? rank(basis_[row]) < rank(basis_[leaving]) : direction_[row] > direction_[leaving]))
                leaving = row;
        }
        return leaving;
    }
    /// Returns the place of a variable in Bland's order, which is the order of best_entering().
    [[nodiscard]] std::size_t rank(Variable variable) const {
        return variable.kind == Kind::column  ? 2 * resources_ + variable.index
               : variable.kind == Kind::slack ? 2 * variable.index
                                              : 2 * variable.index + 1;
    }

    /// Returns by how much the solution misses the right side, which measures the rounding in the inverse.
    [[nodiscard]] double residual() {
        residual_.assign(right_.begin(), right_.end());
        for (std::size_t row = 0; row < rows_; ++row)
            for_each_coefficient(basis_[row], [&](std::size_t missed_row, double coefficient) {
                residual_[missed_row] -= solution_[row] * coefficient;
            });
        double most = 0;
        for (const double missed : residual_) most = std::max(most, std::abs(missed));
        return most;
    }

    /// Computes the inverse anew to remove the rounding of many pivots, if there is time. Returns whether
    /// it did.
    bool renew(Clock& clock) {
        if (exhausted() || clock.late(4 * rows_ * rows_ * rows_)) return false;
        refactor();
        return true;
    }

    /// Computes the inverse of the basis from its columns, by Gauss-Jordan elimination with row pivoting.
    /// Leaves the inverse as it is if that fails.
    void refactor() {
        const std::size_t width = 2 * rows_;
        elimination_.assign(rows_ * width, 0);
        const auto cell = [&](std::size_t row, std::size_t column) -> double& {
            return elimination_[row * width + column];
        };
        for (std::size_t column = 0; column < rows_; ++column) {
            for_each_coefficient(basis_[column], [&](std::size_t row, double coefficient) {
                cell(row, column) = coefficient;
            });
            cell(column, rows_ + column) = 1;
        }
        for (std::size_t step = 0; step < rows_; ++step) {
            std::size_t pivot = step;
            for (std::size_t row = step + 1; row < rows_; ++row)
                if (std::abs(cell(row, step)) > std::abs(cell(pivot, step))) pivot = row;
            if (!(std::abs(cell(pivot, step)) > 1e-12)) return;
            for (std::size_t column = 0; column < width; ++column)
                std::swap(cell(step, column), cell(pivot, column));
            const double divisor = cell(step, step);
            for (std::size_t column = 0; column < width; ++column) cell(step, column) /= divisor;
            for (std::size_t row = 0; row < rows_; ++row) {
                const double factor = cell(row, step);
                if (row == step || factor == 0) continue;
                for (std::size_t column = 0; column < width; ++column)
                    cell(row, column) -= factor * cell(step, column);
            }
        }
        for (std::size_t row = 0; row < rows_; ++row)
            for (std::size_t column = 0; column < rows_; ++column)
                at(row, column) = cell(row, rows_ + column);
        update_solution();
        update_multipliers();
    }

    /// Updates multipliers and solution along with the inverse. When solve() ends, it computes them anew.
    void pivot_on(std::size_t leaving, Variable entering) {
        const double pivot = direction_[leaving];
        double gain = cost(entering);  // gain per unit of the entering variable
        for (std::size_t row = 0; row < rows_; ++row) gain -= direction_[row] * cost(basis_[row]);
        for (std::size_t column = 0; column < rows_; ++column) {
            at(leaving, column) /= pivot;
            multipliers_[column] += gain * at(leaving, column);
        }
        const double amount = solution_[leaving] / pivot;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (row == leaving || direction_[row] == 0) continue;
            solution_[row] -= direction_[row] * amount;
            for (std::size_t column = 0; column < rows_; ++column)
                at(row, column) -= direction_[row] * at(leaving, column);
        }
        solution_[leaving] = amount;
        basis_[leaving] = entering;
    }

    // A column that takes more than this many times a capacity is scaled down until it takes the capacity
    // about once. Otherwise the small part of it that fits would be lost in rounding.
    static constexpr double far_beyond = 1 << 20;
    static constexpr std::size_t few_columns = 64;
    std::size_t resources_ = 0, rows_ = 0, work_ = 0, most_work_ = std::size_t{1} << 30;
    double least_gain_ = std::numeric_limits<double>::min();
    // By resource: a power of two near its capacity. The program counts in this unit, so that its
    // tolerances do not depend on the caller's units.
    std::vector<double> unit_;
    std::vector<double> right_, ceiling_, prices_, in_use_;
    std::vector<Column> columns_;
    std::vector<Entry> entries_;        // entries of each column
    std::vector<std::size_t> offered_;  // columns that gained more than least_offered_ when last examined
    double least_offered_ = 0;
    std::vector<double> gains_;
    std::vector<Variable> basis_;
    std::vector<double> inverse_, multipliers_, solution_, direction_, residual_, elimination_;
};

}  // namespace goodput::inline v0_1::detail

#endif
