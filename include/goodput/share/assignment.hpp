#ifndef GOODPUT_SHARE_ASSIGNMENT_HPP
#define GOODPUT_SHARE_ASSIGNMENT_HPP

// Least-cost assignment: every row takes one column, a column serves as many rows as it has places,
//
//     min sum over rows i of c(i, column of i)       at most places_j rows in column j
//
// by shortest augmenting paths (Jonker and Volgenant, Computing 38, 1987), with columns of several places
// instead of equal columns side by side. The duals u, v prove the optimum:
//
//     u_i + v_j <= c(i, j),   v_j <= 0         so no assignment costs less than   sum u_i + sum places_j v_j

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "goodput/core/error.hpp"

namespace goodput {

/// Who takes which column, and the proof that nothing costs less.
struct Assignment {
    std::vector<std::size_t> column{};  ///< by row
    double cost = 0;                    ///< sum of the costs of what is taken
    double bound = 0;                   ///< no assignment costs less; equal to the cost but for rounding
    std::vector<double> row_dual{};     ///< u, by row: least c(i, j) - v_j of the columns with places
    std::vector<double> column_dual{};  ///< v, by column: at most 0, and 0 where places are left
};

/// What a pair of a row and a column costs.
template <class Cost>
concept AssignmentCost = requires(const Cost& cost, std::size_t row, std::size_t column) {
    { cost(row, column) } -> std::convertible_to<double>;
};

/// The least-cost assignment of `rows` rows to columns with `places` places each, at least 0. Costs may be
/// negative, at most 1e150 either way. O(rows^2 columns) calls of `cost` at worst. Refuses fewer places than
/// rows and costs that are not such numbers (std::invalid_argument naming row, column and value). Of several
/// optima always the same one.
template <AssignmentCost Cost>
[[nodiscard]] Assignment least_cost_assignment(std::size_t rows, std::span<const std::size_t> places,
                                               const Cost& cost);

/// The same with one place a column, at least as many columns as rows.
template <AssignmentCost Cost>
[[nodiscard]] Assignment least_cost_assignment(std::size_t rows, std::size_t columns, const Cost& cost) {
    return least_cost_assignment(rows, std::vector<std::size_t>(columns, 1), cost);
}

namespace detail {

/// Assigns one row after another along a shortest path of reduced costs c - u - v.
template <AssignmentCost Cost>
class ShortestAugmentingPaths {
public:
    ShortestAugmentingPaths(std::size_t rows, std::span<const std::size_t> places, const Cost& cost)
        : cost_(cost),
          places_(places),
          taken_by_(places.size()),
          distance_(places.size()),
          reached_from_(places.size()),
          scanned_(places.size()) {
        found_.column.assign(rows, none);
        found_.row_dual.assign(rows, 0);
        found_.column_dual.assign(places.size(), 0);
    }

    Assignment solve() && {
        for (std::size_t row = 0; row < found_.column.size(); ++row) assign(row);
        // Sums along the way have rounded: the largest duals of rows that the columns' allow are exact.
        for (std::size_t row = 0; row < found_.column.size(); ++row) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t j = 0; j < places_.size(); ++j)
                if (places_[j] > 0) least = std::min(least, cost_of(row, j) - found_.column_dual[j]);
            found_.row_dual[row] = least;
            found_.bound += least;
            found_.cost += cost_of(row, found_.column[row]);
        }
        for (std::size_t j = 0; j < places_.size(); ++j)
            found_.bound += static_cast<double>(places_[j]) * found_.column_dual[j];
        return std::move(found_);
    }

private:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    [[nodiscard]] double cost_of(std::size_t row, std::size_t column) const {
        return static_cast<double>(cost_(row, column));
    }

    void assign(std::size_t row) {
        std::fill(distance_.begin(), distance_.end(), std::numeric_limits<double>::infinity());
        std::fill(scanned_.begin(), scanned_.end(), char{0});
        order_.clear();
        relax(row, 0);
        std::size_t end = nearest();
        while (taken_by_[end].size() == places_[end]) {
            scanned_[end] = 1;
            order_.push_back(end);
            for (const std::size_t its : taken_by_[end]) relax(its, distance_[end]);
            end = nearest();
        }
        const double length = distance_[end];
        found_.row_dual[row] += length;
        for (const std::size_t column : order_) {
            const double rise = length - distance_[column];
            found_.column_dual[column] -= rise;
            for (const std::size_t its : taken_by_[column]) found_.row_dual[its] += rise;
        }
        for (std::size_t column = end; column != none;) {
            const std::size_t mover = reached_from_[column];
            const std::size_t before = found_.column[mover];
            if (before != none) std::erase(taken_by_[before], mover);
            taken_by_[column].push_back(mover);
            found_.column[mover] = column;
            column = before;
        }
    }

    /// Columns that a row at `distance` leads to.
    void relax(std::size_t row, double distance) {
        const double base = distance - found_.row_dual[row];
        for (std::size_t j = 0; j < places_.size(); ++j) {
            if (scanned_[j] || places_[j] == 0) continue;
            const double through = base + cost_of(row, j) - found_.column_dual[j];
            if (through >= distance_[j]) continue;
            distance_[j] = through;
            reached_from_[j] = row;
        }
    }

    /// Of equally near ones the first that has places left, else the first.
    [[nodiscard]] std::size_t nearest() const {
        std::size_t best = none;
        bool best_is_free = false;
        for (std::size_t j = 0; j < places_.size(); ++j) {
            if (scanned_[j] || places_[j] == 0) continue;
            const bool is_free = taken_by_[j].size() < places_[j];
            if (best != none && (distance_[j] > distance_[best] ||
                                 (distance_[j] == distance_[best] && (best_is_free || !is_free))))
                continue;
            best = j;
            best_is_free = is_free;
        }
        return best;
    }

    const Cost& cost_;
    std::span<const std::size_t> places_;
    Assignment found_;
    std::vector<std::vector<std::size_t>> taken_by_;  // by column: its rows
    std::vector<double> distance_;                    // by column, from the row that is being assigned
    std::vector<std::size_t> reached_from_;           // by column: the row before it on the path
    std::vector<char> scanned_;                       // by column
    std::vector<std::size_t> order_;                  // the scanned ones
};

}  // namespace detail

template <AssignmentCost Cost>
Assignment least_cost_assignment(std::size_t rows, std::span<const std::size_t> places, const Cost& cost) {
    std::size_t room = 0;
    for (const std::size_t of_column : places) room += std::min(of_column, rows);
    if (room < rows)
        bad_input("assignment", "places of all columns", room, "at least the rows, " + text_of(rows));
    constexpr double largest = 1e150;
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < places.size(); ++j)
            if (const auto value = static_cast<double>(cost(i, j)); !(value >= -largest && value <= largest))
                bad_input("assignment", "cost of row " + text_of(i) + " in column " + text_of(j), value,
                          "a number of at most 1e150 either way");
    return detail::ShortestAugmentingPaths<Cost>(rows, places, cost).solve();
}

}  // namespace goodput

#endif
