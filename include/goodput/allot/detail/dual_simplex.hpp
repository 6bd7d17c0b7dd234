#ifndef GOODPUT_ALLOT_DETAIL_DUAL_SIMPLEX_HPP
#define GOODPUT_ALLOT_DETAIL_DUAL_SIMPLEX_HPP

// Solves the linear relaxation of an allotment problem in which options are forbidden or required, again
// and again as these limits change. x_k is the number of copies (equal jobs of a group) that take option k,
// v_k the option's value, a_rk its units of row r, C_r the capacity of row r, and s_r what is left of it:
//
//     max  sum_k v_k x_k   s.t.  sum_k a_rk x_k + s_r = C_r,   sum of x over a group's options = its copies,
//          least_k <= x_k <= most_k,   0 <= s_r <= C_r
//
// The method is the dual simplex method with generalized upper bounds (Dantzig and Van Slyke 1967). Every
// group has a key option, which is in the basis. The rest of the basis is one option or slack per row (a
// resource or a further row), so the size of the inverse does not depend on the number of jobs. A change of
// limits leaves the last basis dual feasible, so few pivots follow it. All variables have both limits, so
// any basis becomes dual feasible once each variable whose reduced cost has the wrong sign is set to its
// other limit. The method can therefore begin anywhere.
//
// Every pivot reads all options once and yields prices. These yield a bound by weak duality, whatever
// rounding has made of the inverse. The solution is recomputed at every pivot, so only the inverse drifts,
// and it is renewed from time to time.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "goodput/allot/detail/compact.hpp"
#include "goodput/allot/detail/further_rows.hpp"
#include "goodput/core/detail/clock.hpp"

namespace goodput::inline v0_1::detail {

class DualSimplex {
public:
    enum class End {
        optimal,     ///< amounts are an optimum
        closed,      ///< the bound does not exceed the threshold
        infeasible,  ///< no amounts keep the limits, and the prices prove it
        unfinished   ///< stopped by time, by rounding or by the limit of pivots; the bound still holds
    };

    /// Place of a variable: at one of its limits, in a row of the basis, or the key of its group.
    enum class Place : std::uint8_t { least, most, basic, key };

    /// Takes a problem and further rows. Call begin() or begin_like() next.
    void assign(const CompactProblem& problem, const FurtherRows& further) {
        problem_ = &problem;
        rows_ = problem.resources() + further.size();
        options_ = problem.count;
        lay_out_uses(problem, further);
        least_.assign(options_ + rows_, 0);
        most_.assign(options_ + rows_, 0);
        group_of_.resize(options_);
        largest_value_ = 0;
        for (std::uint32_t g = 0; g < problem.groups(); ++g)
            for (std::uint32_t k = problem.first[g]; k < problem.first[g + 1]; ++k) {
                group_of_[k] = g;
                most_[k] = problem.copies(g);
                largest_value_ = std::max(largest_value_, std::abs(problem.value[k]));
            }
        for (std::size_t r = 0; r < rows_; ++r) most_[options_ + r] = capacity_[r];
        place_.assign(options_ + rows_, Place::least);
        key_.assign(problem.groups(), none);
        basis_.resize(rows_);
        inverse_.resize(rows_ * rows_);
        pivots_ = work_ = 0;
    }
    /// Begins with a basis for these amounts and prices. For each group that is split between several
    /// options, all of them are in the basis, in rows whose price is above 0.
    void begin(std::span<const double> amounts, std::span<const double> prices) {
        wanted_.clear();
        std::fill(place_.begin(), place_.end(), Place::least);
        for (std::size_t g = 0; g < key_.size(); ++g) {
            std::uint32_t key = problem_->first[g];
            for (std::uint32_t k = key; k < problem_->first[g + 1]; ++k)
                if (amounts[k] > amounts[key]) key = k;
            key_[g] = key;
            place_[key] = Place::key;
            for (std::uint32_t k = problem_->first[g]; k < problem_->first[g + 1]; ++k)
                if (k != key && amounts[k] > 1e-9) wanted_.push_back(k);
        }
        free_.assign(rows_, 1);
        for (std::size_t r = 0; r < prices.size(); ++r) free_[r] = prices[r] > 0 ? 1 : 0;
        make_basis();
    }
    /// Begins with the basis of another simplex method over the same problem, which had some of the rows.
    /// `row_before`: index of each row there, or other.rows() or more if it is new.
    void begin_like(const DualSimplex& other, std::span<const std::size_t> row_before) {
        wanted_.clear();
        free_.assign(rows_, 0);
        key_ = other.key_;
        std::copy_n(other.place_.begin(), options_, place_.begin());
        for (std::uint32_t k = 0; k < options_; ++k)
            if (place_[k] == Place::basic) wanted_.push_back(k);
        for (std::size_t r = 0; r < rows_; ++r) {
            if (row_before[r] >= other.rows_) continue;
            const Place before = other.place_[options_ + row_before[r]];
            free_[r] = before != Place::basic ? 1 : 0;
            if (before == Place::most) place_[options_ + r] = Place::most;
        }
        make_basis();
    }

    /// Requires that at least `least` and at most `most` copies take an option.
    void limit(std::uint32_t option, double least, double most) {
        least_[option] = least;
        most_[option] = most;
    }
    /// Requires that at least `least` and at most `most` units of a row's capacity are left.
    void limit_left(std::size_t row, double least, double most) {
        least_[options_ + row] = least / unit_[row];
        most_[options_ + row] = most / unit_[row];
    }
    [[nodiscard]] double least_left(std::size_t row) const { return least_[options_ + row] * unit_[row]; }
    [[nodiscard]] double most_left(std::size_t row) const { return most_[options_ + row] * unit_[row]; }
    /// Returns the units of a row's capacity that an optimum leaves.
    [[nodiscard]] double left(std::size_t row) const {
        const std::size_t slack = options_ + row;
        return (place_[slack] == Place::basic ? amount_of_basic_[slack] : at_limit(slack)) * unit_[row];
    }
    [[nodiscard]] double least(std::uint32_t option) const { return least_[option]; }
    [[nodiscard]] double most(std::uint32_t option) const { return most_[option]; }

    /// A basis to return to later.
    struct Basis {
        std::vector<std::uint32_t> key;
        std::vector<std::size_t> rows;
        std::vector<Place> place;
        std::vector<double> inverse;
    };
    void save(Basis& basis) const {
        basis.key = key_;
        basis.rows = basis_;
        basis.place = place_;
        basis.inverse = inverse_;
    }
    void restore(const Basis& basis) {
        key_ = basis.key;
        basis_ = basis.rows;
        place_ = basis.place;
        inverse_ = basis.inverse;
    }

    /// Solves within the limits. Stops early once the bound does not exceed `threshold`, or after
    /// `most_pivots_asked` pivots.
    End solve(double threshold, Clock& clock, std::size_t most_pivots_asked = 1 << 20) {
        constexpr std::size_t pivots_between_inverses = 64;
        best_bound_ = std::numeric_limits<double>::infinity();
        update_prices();
        make_dual_feasible();
        const std::size_t most_pivots = std::min(most_pivots_asked, 500 + 20 * rows_);
        bool fresh = false;
        for (std::size_t pivot = 0;; ++pivot) {
            const std::size_t work = 2 * uses_.size() + 3 * rows_ * rows_ + options_;
            work_ += work;
            if (clock.late(work)) return End::unfinished;
            if (++pivots_ % pivots_between_inverses == 0) make_basis_anew();
            update_prices();
            update_amounts();
            const Leaving leaving = choose_leaving();
            look(leaving);
            if (best_bound_ <= threshold) return End::closed;
            if (leaving.kind == Leaving::nothing) return End::optimal;
            if (pivot == most_pivots) return End::unfinished;
            const std::size_t entering = choose_entering();
            if (entering == no_variable) {
                if (proves_infeasible(leaving, threshold)) return End::infeasible;
                return leaving.by < 1e-6 ? End::optimal : End::unfinished;
            }
            if (pivot_on(leaving, entering)) {
                fresh = false;
            } else if (fresh) {
                return End::unfinished;
            } else {
                make_basis_anew();
                fresh = true;
            }
        }
    }

    /// Returns a bound: by prices(), no allotment within the limits is worth more.
    [[nodiscard]] double bound() const { return best_bound_; }
    [[nodiscard]] std::span<const double> prices() const { return best_prices_; }
    /// Returns, after an optimum, a bound from which regret() (an option's reduced cost) can be subtracted:
    /// the difference bounds the value of allotments in which a copy takes that option. Holds for groups of
    /// one copy.
    [[nodiscard]] double bound_of_regrets() const { return last_bound_; }
    /// Gets the prices that belong to bound_of_regrets() and the regrets.
    void prices_of_regrets(std::vector<double>& prices) const { write_prices(prices); }
    [[nodiscard]] double regret(std::uint32_t option) const {
        return best_reduced_[group_of_[option]] - reduced_[option];
    }
    /// Returns how many copies take an option in the optimum.
    [[nodiscard]] double amount(std::uint32_t option) const {
        switch (place_[option]) {
            case Place::key:
                return key_amount_[group_of_[option]];
            case Place::basic:
                return amount_of_basic_[option];
            default:
                return at_limit(option);
        }
    }
    /// Returns each group's key option.
    [[nodiscard]] std::span<const std::uint32_t> keys() const { return key_; }
    /// Gets, by row, the multipliers that produce row `row` of the inverse, if its amount is not whole in
    /// the optimum. The amount is that of an option, or what is left of a row that is `whole`. Returns
    /// false if the amount is whole.
    bool row_of_split(std::size_t row, std::span<const std::uint8_t> whole,
                      std::vector<double>& multipliers) const {
        double amount = amounts_[row];
        if (basis_[row] >= options_) {
            if (!whole[basis_[row] - options_]) return false;
            amount *= unit_[basis_[row] - options_];
        }
        const double part = amount - std::floor(amount);
        if (part < 0.01 || part > 0.99) return false;
        multipliers.resize(rows_);
        const double unit = basis_[row] < options_ ? 1 : unit_[basis_[row] - options_];
        for (std::size_t r = 0; r < rows_; ++r) multipliers[r] = inverse_[row * rows_ + r] / unit_[r] * unit;
        return true;
    }
    /// Returns whether the optimum uses a row up.
    [[nodiscard]] bool binds(std::size_t row) const { return place_[options_ + row] != Place::basic; }
    [[nodiscard]] std::size_t rows() const { return rows_; }
    /// Returns how many numbers were read and written since assign().
    [[nodiscard]] std::size_t work() const { return work_; }

private:
    static constexpr std::size_t no_variable = std::numeric_limits<std::size_t>::max();

    /// The variable that leaves the basis: the one in a row of the inverse, or the key of a group that has
    /// no other option in the basis.
    struct Leaving {
        enum Kind { nothing, basic, lonely_key } kind = nothing;
        std::size_t at = 0;  // index of the row, or of the group
        bool above = false;  // whether its amount is above its upper limit; if false, below the lower one
        double by = 0;
    };

    void lay_out_uses(const CompactProblem& problem, const FurtherRows& further) {
        const std::size_t resources = problem.resources();
        unit_.clear();
        capacity_.clear();
        const auto add = [&](double capacity) {
            unit_.push_back(capacity > 0 ? std::ldexp(1.0, std::ilogb(capacity)) : 1);
            capacity_.push_back(capacity / unit_.back());
        };
        for (const double capacity : problem.capacity) add(capacity);
        for (std::size_t i = 0; i < further.size(); ++i) add(further[i].capacity);
        next_term_.assign(further.size(), 0);
        first_use_.resize(options_ + 1);
        uses_.clear();
        for (std::uint32_t k = 0; k < options_; ++k) {
            first_use_[k] = static_cast<std::uint32_t>(uses_.size());
            for (const ResourceUse& use : problem.uses_of(k))
                uses_.push_back({use.resource, use.units / unit_[use.resource]});
            for (std::size_t i = 0; i < further.size(); ++i) {
                const std::span<const FurtherRow::Term> terms = further[i].terms;
                std::size_t& next = next_term_[i];
                if (next == terms.size() || terms[next].option != k) continue;
                uses_.push_back(
                    {static_cast<std::uint32_t>(resources + i), terms[next++].units / unit_[resources + i]});
            }
        }
        first_use_[options_] = static_cast<std::uint32_t>(uses_.size());
    }

    [[nodiscard]] std::span<const ResourceUse> uses_of(std::size_t option) const {
        return {uses_.data() + first_use_[option], uses_.data() + first_use_[option + 1]};
    }
    [[nodiscard]] double at_limit(std::size_t variable) const {
        return place_[variable] == Place::most ? most_[variable] : least_[variable];
    }
    double& at(std::size_t row, std::size_t column) { return inverse_[row * rows_ + column]; }
    [[nodiscard]] std::span<const double> inverse_row(std::size_t row) const {
        return {inverse_.data() + row * rows_, rows_};
    }

    /// Calls visit(row, units) for the column of a variable. The column of an option is what it takes in
    /// excess of its group's key option.
    template <class Visit>
    void for_each_unit(std::size_t variable, Visit visit) const {
        if (variable >= options_) return visit(variable - options_, 1.0);
        for (const ResourceUse& use : uses_of(variable)) visit(use.resource, use.units);
        for (const ResourceUse& use : uses_of(key_[group_of_[variable]])) visit(use.resource, -use.units);
    }
    /// Fills direction_, the variable's column in terms of the basis.
    void find_direction(std::size_t variable) {
        column_.assign(rows_, 0);
        for_each_unit(variable, [&](std::size_t r, double units) { column_[r] += units; });
        direction_.assign(rows_, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            for (std::size_t r = 0; r < rows_; ++r) sum += inverse_[row * rows_ + r] * column_[r];
            direction_[row] = sum;
        }
    }
    void change_inverse(std::size_t leaving) {
        const double pivot = direction_[leaving];
        double* const leaving_row = inverse_.data() + leaving * rows_;
        for (std::size_t column = 0; column < rows_; ++column) leaving_row[column] /= pivot;
        for (std::size_t row = 0; row < rows_; ++row) {
            const double factor = direction_[row];
            if (row == leaving || factor == 0) continue;
            double* const here = inverse_.data() + row * rows_;
            for (std::size_t column = 0; column < rows_; ++column)
                here[column] -= factor * leaving_row[column];
        }
    }

    /// Makes the basis of the keys, the options in wanted_, and the slacks of the other rows. A wanted
    /// option replaces the slack of a row that is free_. It is left out if no such row suits it.
    void make_basis() {
        std::fill(inverse_.begin(), inverse_.end(), 0.0);
        for (std::size_t row = 0; row < rows_; ++row) {
            basis_[row] = options_ + row;
            at(row, row) = 1;
        }
        for (const std::uint32_t option : wanted_) {
            find_direction(option);
            std::size_t best = rows_;
            for (std::size_t row = 0; row < rows_; ++row)
                if (free_[row] && (best == rows_ || std::abs(direction_[row]) > std::abs(direction_[best])))
                    best = row;
            place_[option] = Place::least;
            if (best == rows_ || std::abs(direction_[best]) < 1e-9) continue;
            place_[option] = Place::basic;
            basis_[best] = option;
            free_[best] = 0;
            change_inverse(best);
        }
        for (std::size_t row = 0; row < rows_; ++row) {
            const std::size_t slack = options_ + row;
            if (basis_[row] == slack)
                place_[slack] = Place::basic;
            else if (place_[slack] == Place::basic)
                place_[slack] = Place::least;
        }
    }
    void make_basis_anew() {
        wanted_.clear();
        free_.assign(rows_, 1);
        for (const std::size_t variable : basis_)
            if (variable < options_)
                wanted_.push_back(static_cast<std::uint32_t>(variable));
            else
                free_[variable - options_] = 0;
        work_ += wanted_.size() * rows_ * rows_ * 2;
        make_basis();
    }

    /// Updates multipliers_ by row, and key_value_ by group, which is the reduced value of the key.
    void update_prices() {
        multipliers_.assign(rows_, 0);
        for (std::size_t row = 0; row < rows_; ++row) {
            if (basis_[row] >= options_) continue;
            const auto option = static_cast<std::uint32_t>(basis_[row]);
            const double gain = problem_->value[option] - problem_->value[key_[group_of_[option]]];
            if (gain == 0) continue;
            const double* const row_of_inverse = inverse_.data() + row * rows_;
            for (std::size_t r = 0; r < rows_; ++r) multipliers_[r] += gain * row_of_inverse[r];
        }
        key_value_.resize(key_.size());
        for (std::size_t g = 0; g < key_.size(); ++g) key_value_[g] = left_of_value(key_[g]);
    }
    [[nodiscard]] double left_of_value(std::uint32_t option) const {
        double left = problem_->value[option];
        for (const ResourceUse& use : uses_of(option)) left -= multipliers_[use.resource] * use.units;
        return left;
    }
    [[nodiscard]] double tolerance() const { return 1e-9 * largest_value_; }

    /// Makes the basis dual feasible. A group without another option in the basis gets its best option as
    /// key. In other groups, options better than the key are set to their upper limits, worse ones to their
    /// lower limits.
    void make_dual_feasible() {
        in_basis_.assign(key_.size(), 0);
        for (const std::size_t variable : basis_)
            if (variable < options_) in_basis_[group_of_[variable]] = 1;
        for (std::uint32_t g = 0; g < key_.size(); ++g) {
            const std::uint32_t first = problem_->first[g], end = problem_->first[g + 1];
            if (!in_basis_[g] && problem_->copies(g) == 1) {
                std::uint32_t best = none;
                double most = 0;
                for (std::uint32_t k = first; k < end; ++k) {
                    if (most_[k] == 0) continue;
                    const double left = left_of_value(k);
                    if (best == none || left > most || (left == most && k == key_[g])) {
                        best = k;
                        most = left;
                    }
                }
                if (best == none) continue;
                place_[key_[g]] = Place::least;
                key_[g] = best;
                place_[best] = Place::key;
                key_value_[g] = most;
                for (std::uint32_t k = first; k < end; ++k)
                    if (k != best) place_[k] = Place::least;
                continue;
            }
            for (std::uint32_t k = first; k < end; ++k)
                if (place_[k] == Place::least || place_[k] == Place::most)
                    set_by_price(k, left_of_value(k) - key_value_[g]);
        }
        for (std::size_t r = 0; r < rows_; ++r)
            if (place_[options_ + r] != Place::basic) set_by_price(options_ + r, -multipliers_[r]);
    }
    void set_by_price(std::size_t variable, double reduced) {
        if (reduced > tolerance())
            place_[variable] = Place::most;
        else if (reduced < -tolerance())
            place_[variable] = Place::least;
    }

    /// Updates amounts_ by row of the basis, and key_amount_ by group.
    void update_amounts() {
        column_.assign(capacity_.begin(), capacity_.end());
        key_amount_.resize(key_.size());
        for (std::uint32_t g = 0; g < key_.size(); ++g) {
            double left = problem_->copies(g);
            for (std::uint32_t k = problem_->first[g]; k < problem_->first[g + 1]; ++k) {
                if (place_[k] == Place::key || place_[k] == Place::basic) continue;
                const double amount = at_limit(k);
                if (amount == 0) continue;
                left -= amount;
                for (const ResourceUse& use : uses_of(k)) column_[use.resource] -= amount * use.units;
            }
            key_amount_[g] = left;
            for (const ResourceUse& use : uses_of(key_[g])) column_[use.resource] -= left * use.units;
        }
        for (std::size_t r = 0; r < rows_; ++r)
            if (place_[options_ + r] != Place::basic) column_[r] -= at_limit(options_ + r);
        amounts_.resize(rows_);
        amount_of_basic_.resize(options_ + rows_);
        for (std::size_t row = 0; row < rows_; ++row) {
            double sum = 0;
            for (std::size_t r = 0; r < rows_; ++r) sum += inverse_[row * rows_ + r] * column_[r];
            amounts_[row] = sum;
            amount_of_basic_[basis_[row]] = sum;
            if (basis_[row] < options_) key_amount_[group_of_[basis_[row]]] -= sum;
        }
    }

    /// Returns by how much an amount misses its limits.
    [[nodiscard]] double missed(std::size_t variable, double amount) const {
        return std::max(least_[variable] - amount, amount - most_[variable]);
    }
    /// Returns the variable that misses its limits most, relative to the length of its row of the inverse.
    /// A key variable first changes places with another option of its group in the basis, if there is one.
    Leaving choose_leaving() {
        constexpr double feasible = 1e-9;
        Leaving leaving;
        double largest = 0;
        for (std::size_t row = 0; row < rows_; ++row) {
            const double by = missed(basis_[row], amounts_[row]);
            if (by <= feasible) continue;
            double norm = 0;
            for (const double number : inverse_row(row)) norm += number * number;
            if (by * by <= largest * norm) continue;
            largest = by * by / norm;
            leaving = {Leaving::basic, row, amounts_[row] > most_[basis_[row]], by};
        }
        std::size_t worst = key_.size();
        double most = feasible;
        for (std::size_t g = 0; g < key_.size(); ++g)
            if (const double by = missed(key_[g], key_amount_[g]); by > most) {
                most = by;
                worst = g;
            }
        if (worst == key_.size()) return leaving;
        bool lonely = true;
        row_.assign(rows_, 0);
        std::size_t first = rows_;
        for (std::size_t row = 0; row < rows_; ++row) {
            if (basis_[row] >= options_ || group_of_[basis_[row]] != worst) continue;
            lonely = false;
            if (first == rows_) first = row;
            for (std::size_t r = 0; r < rows_; ++r) row_[r] -= inverse_[row * rows_ + r];
        }
        const bool above = key_amount_[worst] > most_[key_[worst]];
        if (lonely) return {Leaving::lonely_key, worst, above, most};
        double norm = 0;
        for (const double number : row_) norm += number * number;
        if (most * most <= largest * norm) return leaving;
        // The key's row of the inverse takes the place of the other option's row.
        const auto other = static_cast<std::uint32_t>(basis_[first]);
        std::copy(row_.begin(), row_.end(), inverse_.begin() + static_cast<std::ptrdiff_t>(first * rows_));
        basis_[first] = key_[worst];
        place_[key_[worst]] = Place::basic;
        place_[other] = Place::key;
        std::swap(key_amount_[worst], amounts_[first]);
        key_[worst] = other;
        amount_of_basic_[basis_[first]] = amounts_[first];
        key_value_[worst] = left_of_value(other);
        return {Leaving::basic, first, above, most};
    }

    /// Reads all options: fills reduced_ by option, computes the bound at these prices, and collects the
    /// variables that may enter when `leaving` leaves.
    void look(const Leaving& leaving) {
        candidates_.clear();
        reduced_.resize(options_);
        best_reduced_.resize(key_.size());
        const bool basic = leaving.kind == Leaving::basic;
        const double sign = leaving.above ? 1 : -1;
        const double* const row = basic ? inverse_.data() + leaving.at * rows_ : nullptr;
        double bound = 0, size = 0;
        for (std::size_t r = 0; r < rows_; ++r) {
            // A negative price is a price on the units left, which are limited as well.
            const std::size_t slack = options_ + r;
            const double paid =
                multipliers_[r] * (capacity_[r] - (multipliers_[r] > 0 ? least_[slack] : most_[slack]));
            bound += paid;
            size += std::abs(paid);
            if (basic && place_[options_ + r] != Place::basic)
                offer(options_ + r, -multipliers_[r], sign * row[r]);
        }
        for (std::uint32_t g = 0; g < key_.size(); ++g) {
            const std::uint32_t first = problem_->first[g], end = problem_->first[g + 1];
            const bool one = problem_->copies(g) == 1;
            double of_key = 0;
            if (basic)
                for (const ResourceUse& use : uses_of(key_[g])) of_key += row[use.resource] * use.units;
            double best = most_[key_[g]] > 0 ? 0 : -std::numeric_limits<double>::infinity(), above = 0;
            for (std::uint32_t k = first; k < end; ++k) {
                if (most_[k] == 0 && place_[k] != Place::most) continue;
                double left = problem_->value[k], units = 0;
                if (basic)
                    for (const ResourceUse& use : uses_of(k)) {
                        left -= multipliers_[use.resource] * use.units;
                        units += row[use.resource] * use.units;
                    }
                else
                    left = left_of_value(k);
                const double reduced = left - key_value_[g];
                reduced_[k] = reduced;
                if (one)
                    best = most_[k] > 0 ? std::max(best, reduced) : best;
                else
                    above += reduced > 0 ? reduced * most_[k] : reduced * least_[k];
                if (place_[k] != Place::least && place_[k] != Place::most) continue;
                if (basic)
                    offer(k, reduced, sign * (units - of_key));
                else if (leaving.kind == Leaving::lonely_key && leaving.at == g)
                    offer(k, reduced, sign);
            }
            const double worth = one ? key_value_[g] + best : problem_->copies(g) * key_value_[g] + above;
            best_reduced_[g] = best;
            bound += worth;
            if (!std::isinf(worth)) size += std::abs(worth);  // otherwise the group has no option left
        }
        // If prices are so high that values are lost next to what is paid, allow for rounding.
        if (size > 4 * problem_->magnitude) bound += 1e-15 * (static_cast<double>(options_) + 16) * size;
        last_bound_ = bound;
        if (!(bound < best_bound_)) return;
        best_bound_ = bound;
        write_prices(best_prices_);
    }
    /// Writes the multipliers in the caller's units.
    void write_prices(std::vector<double>& prices) const {
        prices.resize(rows_);
        for (std::size_t r = 0; r < rows_; ++r) prices[r] = std::max(multipliers_[r], 0.0) / unit_[r];
    }

    struct Entering {
        std::size_t variable;
        double reduced, units;
    };
    /// Adds a variable to the candidates if, when it moves off its limit, the leaving variable moves
    /// towards the limit that it violates.
    void offer(std::size_t variable, double reduced, double units) {
        if (least_[variable] == most_[variable]) return;
        const bool up = place_[variable] == Place::least;
        if (up ? units > 1e-9 : units < -1e-9)
            candidates_.push_back(
                {variable, up ? std::max(-reduced, 0.0) : std::max(reduced, 0.0), std::abs(units)});
    }
    /// Among the variables whose reduced costs reach 0 first, up to rounding, chooses the one with the
    /// largest pivot (Harris 1973).
    [[nodiscard]] std::size_t choose_entering() const {
        double least = std::numeric_limits<double>::infinity();
        for (const Entering& candidate : candidates_)
            least = std::min(least, (candidate.reduced + 0.1 * tolerance()) / candidate.units);
        const Entering* best = nullptr;
        for (const Entering& candidate : candidates_)
            if (candidate.reduced <= least * candidate.units &&
                (best == nullptr || candidate.units > best->units))
                best = &candidate;
        return best == nullptr ? no_variable : best->variable;
    }

    /// Exchanges the two variables. Returns false if the inverse has become too inexact.
    bool pivot_on(const Leaving& leaving, std::size_t entering) {
        const Place side = leaving.above ? Place::most : Place::least;
        if (leaving.kind == Leaving::lonely_key) {
            place_[key_[leaving.at]] = side;
            key_[leaving.at] = static_cast<std::uint32_t>(entering);
            place_[entering] = Place::key;
            return true;
        }
        find_direction(entering);
        const double pivot = direction_[leaving.at];
        double wanted = 0;
        for_each_unit(entering, [&](std::size_t r, double units) {
            wanted += inverse_[leaving.at * rows_ + r] * units;
        });
        if (std::abs(pivot) < 1e-9 || std::abs(pivot - wanted) > 1e-6 * std::abs(pivot)) return false;
        place_[basis_[leaving.at]] = side;
        basis_[leaving.at] = entering;
        place_[entering] = Place::basic;
        change_inverse(leaving.at);
        return true;
    }

    /// Returns whether prices far along the row of the leaving variable prove a bound below the threshold.
    /// No variable can take its place, so the bound falls without end in that direction.
    bool proves_infeasible(const Leaving& leaving, double threshold) {
        if (leaving.kind != Leaving::basic) {
            best_bound_ = -std::numeric_limits<double>::infinity();  // the group has no option left
            return true;
        }
        row_.assign(inverse_row(leaving.at).begin(), inverse_row(leaving.at).end());
        from_ = multipliers_;
        const double sign = leaving.above ? 1 : -1;
        double largest = 0;
        for (const double number : row_) largest = std::max(largest, std::abs(number));
        for (double step = largest_value_ / largest; step < 1e12 * largest_value_ / largest; step *= 16) {
            for (std::size_t r = 0; r < rows_; ++r) multipliers_[r] = from_[r] - sign * step * row_[r];
            for (std::size_t g = 0; g < key_.size(); ++g) key_value_[g] = left_of_value(key_[g]);
            look({});
            if (best_bound_ <= threshold) return true;
        }
        return false;
    }

    const CompactProblem* problem_ = nullptr;
    std::size_t rows_ = 0, options_ = 0, pivots_ = 0, work_ = 0;
    double largest_value_ = 0, last_bound_ = 0, best_bound_ = 0;
    // By row: a power of two near its capacity, the unit in which it is counted.
    std::vector<double> unit_, capacity_;
    std::vector<std::uint32_t> first_use_;
    std::vector<ResourceUse> uses_;
    std::vector<std::uint32_t> group_of_;
    std::vector<double> least_, most_;  // by variable: all options, then the slacks of all rows
    std::vector<Place> place_;
    std::vector<std::uint32_t> key_;  // key option of each group
    std::vector<std::size_t> basis_;  // variable of each row
    std::vector<double> inverse_, multipliers_, key_value_, amounts_, key_amount_, amount_of_basic_;
    std::vector<double> reduced_, best_reduced_, column_, direction_, row_, from_, best_prices_;
    std::vector<Entering> candidates_;
    std::vector<std::uint32_t> wanted_;
    std::vector<std::uint8_t> free_, in_basis_;
    std::vector<std::size_t> next_term_;
};

}  // namespace goodput::inline v0_1::detail

#endif
