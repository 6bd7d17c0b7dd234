#ifndef GOODPUT_ALLOT_DETAIL_TREE_ROWS_HPP
#define GOODPUT_ALLOT_DETAIL_TREE_ROWS_HPP

// The rows that a PriceTree (price_tree.hpp) adds to its root: covers (cover_rows.hpp) and rows by rounding
// (rounding_rows.hpp) that cut off the amounts of the relaxation.

#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/cover_rows.hpp"
#include "goodput/allot/detail/dual_simplex.hpp"
#include "goodput/allot/detail/further_rows.hpp"
#include "goodput/allot/detail/rounding_rows.hpp"

namespace goodput::inline v0_1::detail {

/// Adds rows to a simplex method, and drops them. Keeps its memory.
class TreeRows {
public:
    /// Begins with the problem's own rows.
    void begin(const CompactProblem& problem, DualSimplex& simplex) {
        rows_.clear();
        rounding_.begin(problem);
        simplex.assign(problem, rows_);
    }
    [[nodiscard]] const RoundingRows& rounding() const { return rounding_; }
    /// Returns how many numbers were read and written since the last call.
    [[nodiscard]] std::size_t take_work() { return std::exchange(work_, 0); }

    /// Adds covers and rounding rows that the amounts violate, and drops rows that do not bind. A log that
    /// writes is told the covers; then there are no rounding rows, and no row is dropped. Returns whether
    /// there are new rows.
    template <class Log>
    bool add(const CompactProblem& problem, DualSimplex& simplex, std::span<const double> amounts, Log& log) {
        const std::size_t resources = problem.resources();
        keep(problem, [&](std::size_t i) { return Log::writes || simplex.binds(resources + i); });
        const std::size_t known = rows_.size();
        for (std::size_t r = 0; r < resources; ++r) {
            if (!simplex.binds(r) || !covers_.find(problem, r, amounts)) continue;
            log.cut(covers_.cover());
            CoverSearch::add_row(problem, covers_.cover(), rows_);
            row_before_.push_back(new_row);
        }
        if constexpr (!Log::writes) {
            // The simplex method still has the earlier rows.
            for (std::size_t row = 0; row < simplex.rows(); ++row) {
                if (!rounding_.find(problem, before_, simplex, row, amounts)) continue;
                rows_.add(rounding_.row());
                row_before_.push_back(new_row);
            }
            work_ += simplex.rows() * (problem.uses.size() + problem.count);
        }
        work_ += resources * problem.count;
        if (rows_.size() == known && rows_.size() == simplex.rows() - resources) return false;
        begin_like_before(problem, simplex);
        return rows_.size() > known;
    }

    /// Drops the rounding rows: their allowance for rounding may exceed what a proof still lacks. Returns
    /// whether there were any.
    bool drop_rounding_rows(const CompactProblem& problem, DualSimplex& simplex) {
        keep(problem, [&](std::size_t i) { return before_[i].whole; });
        const bool any = rows_.size() < before_.size();
        if (any) begin_like_before(problem, simplex);
        return any;
    }

private:
    static constexpr std::size_t new_row = std::numeric_limits<std::size_t>::max();

    /// Keeps the rows for which holds(index) is true. Then before_ holds the earlier rows, and row_before_
    /// the index that each row had in the simplex method.
    template <class Holds>
    void keep(const CompactProblem& problem, Holds holds) {
        std::swap(rows_, before_);
        rows_.clear();
        row_before_.resize(problem.resources());
        std::iota(row_before_.begin(), row_before_.end(), std::size_t{0});
        for (std::size_t i = 0; i < before_.size(); ++i) {
            if (!holds(i)) continue;
            rows_.add(before_[i]);
            row_before_.push_back(problem.resources() + i);
        }
    }
    /// Continues the simplex method with the present rows, from the basis that it had with the earlier
    /// rows.
    void begin_like_before(const CompactProblem& problem, DualSimplex& simplex) {
        std::swap(simplex, other_);
        work_ += other_.work();
        simplex.assign(problem, rows_);
        simplex.begin_like(other_, row_before_);
    }

    CoverSearch covers_;
    RoundingRows rounding_;
    FurtherRows rows_, before_;
    std::vector<std::size_t> row_before_;  // earlier index of each row, or new_row
    DualSimplex other_;
    std::size_t work_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#endif
