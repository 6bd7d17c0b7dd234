#ifndef GOODPUT_PAIRS_DETAIL_PAIR_INTERIOR_POINT_HPP
#define GOODPUT_PAIRS_DETAIL_PAIR_INTERIOR_POINT_HPP

// The program of interior_point.hpp with columns that tie two groups of jobs to each other: a pair takes time
// of both and has a rate for both. The jobs no longer fall apart at the types' prices, so that the linear
// system of an iteration has a row for the time and one for the rate of every group (pair_factor.hpp).
//
// With c a column, an amount x_c of it and l a level that all want to be high:
//
//     max  sum_c value_c x_c + sum_g copies_g u_g(e_g) + reward l      e_g = sum_c rate_cg x_c
//     s.t. sum_c time_cg x_c <= 1,   e_g >= slope_g l + floor_g,   sum_{c on t} use_c x_c <= 1
//
// by Mehrotra's predictor-corrector method. As there, the rate of the column that a group mostly runs with is
// taken off all of its rates, so that its two rows do not cancel where they leave it no choice.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "goodput/pairs/detail/pair_factor.hpp"
#include "goodput/share/share_time.hpp"

namespace goodput::detail {

/// An amount of time on a GPU type, of one group of jobs or of two together.
struct PairColumn {
    std::array<Eigen::Index, 2> group{};  ///< the second is -1 for a column of one group
    Eigen::Index type = 0;
    std::array<double, 2> time{}, rate{};  ///< of the average job of each group, for each unit
    double use = 0;                        ///< of the type's capacity
    double value = 0;
};

/// The program above; lists by group of jobs.
struct PairColumns {
    std::size_t types = 0;
    std::vector<PairColumn> columns{};
    std::vector<double> copies{};  ///< how many jobs are alike
    std::vector<double> slope{};   ///< of the level
    std::vector<double> floor{};   ///< of the rate
    bool utility = false;          ///< every group has one
    double reward = 0;             ///< for the level

    [[nodiscard]] std::size_t groups() const { return copies.size(); }
};

/// Solves a program of PairColumns; a utility is as for InteriorPoint.
template <class Utility = NoUtility>
class PairInteriorPoint {
public:
    explicit PairInteriorPoint(const PairColumns& program, Utility utility = {})
        : program_(program),
          utility_(std::move(utility)),
          groups_(static_cast<Index>(program.groups())),
          rows_(2 * groups_ + static_cast<Index>(program.types)),
          columns_(static_cast<Index>(program.columns.size())),
          slopes_(Array::Zero(rows_)),
          limits_(Array::Ones(rows_)),
          has_(Array::Ones(rows_)),
          values_(columns_) {
        for (Index g = 0; g < groups_; ++g) {
            const auto at = static_cast<std::size_t>(g);
            slopes_(rate_row(g)) = program.slope[at];
            limits_(rate_row(g)) = -program.floor[at];
            has_(rate_row(g)) = program.utility || program.slope[at] > 0 || program.floor[at] > 0 ? 1 : 0;
        }
        for (Index c = 0; c < columns_; ++c) values_(c) = column(c).value;
        shift_.setZero(groups_);
        std::vector<std::pair<Index, Index>> meets;
        for (Index c = 0; c < columns_; ++c) {
            const auto [first, second] = column(c).group;
            for (const Index g : {first, second}) {
                if (g < 0) continue;
                meets.insert(meets.end(), {{time_row(g), rate_row(g)},
                                           {time_row(g), type_row(column(c).type)},
                                           {rate_row(g), type_row(column(c).type)}});
            }
            if (second < 0) continue;
            for (const Index row : {time_row(first), rate_row(first)})
                for (const Index other : {time_row(second), rate_row(second)}) meets.emplace_back(row, other);
        }
        factor_.pose(rows_, std::move(meets));
        start();
        if (columns_ == 0) row_price_.setZero();
    }

    /// Goes on from where it is. Answers whether it came to an end; what is found is of use in any case.
    bool solve(double accuracy = 1e-9) {
        if (columns_ == 0) return true;
        return follow_centre(*this, accuracy, 0.2 * accuracy, iterations_);
    }

    /// How high it is, where there is a reward for that.
    [[nodiscard]] double level() const { return level_; }
    /// Amount of a column.
    [[nodiscard]] double amount(std::size_t c) const { return amount_(static_cast<Index>(c)); }
    /// Of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return row_price_(type_row(static_cast<Index>(t))); }
    /// Of the time of one of a group's jobs.
    [[nodiscard]] double time_price(std::size_t g) const {
        return row_price_(time_row(static_cast<Index>(g))) / program_.copies[g];
    }
    /// Of the rate of one of a group's jobs.
    [[nodiscard]] double rate_price(std::size_t g) const {
        const Index row = rate_row(static_cast<Index>(g));
        return has_(row) * row_price_(row) / program_.copies[g];
    }
    [[nodiscard]] auto rate_prices() const {
        return [this](std::size_t g) { return rate_price(g); };
    }
    /// By how much the rate of a group's jobs is above what is asked of it.
    [[nodiscard]] double rate_slack(std::size_t g) const { return slack_(rate_row(static_cast<Index>(g))); }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    template <class Method>
    friend bool follow_centre(Method& method, double accuracy, double most_error, std::size_t& iterations);

    using Index = Eigen::Index;
    using Array = Eigen::ArrayXd;

    static constexpr double reach = 0.995;    // of the way to the border
    static constexpr double most_used = 0.9;  // of a type, at the start
    static constexpr double most_time = 0.8;  // of a job's
    static constexpr double margin = 0.3;     // of what columns cost above what they are worth

    static Index time_row(Index group) { return 2 * group; }
    static Index rate_row(Index group) { return 2 * group + 1; }
    [[nodiscard]] Index type_row(Index type) const { return 2 * groups_ + type; }
    [[nodiscard]] const PairColumn& column(Index c) const {
        return program_.columns[static_cast<std::size_t>(c)];
    }
    [[nodiscard]] double utility_slope(Index g) const {
        const auto at = static_cast<std::size_t>(g);
        return program_.copies[at] * utility_.slope(at, slack_(rate_row(g)));
    }

    /// Calls visit(row, coefficient) for the entries of a column, rates shifted.
    template <class Visit>
    void entries(Index c, Visit visit) const {
        const PairColumn& of = column(c);
        for (std::size_t i = 0; i < 2; ++i) {
            const Index g = of.group[i];
            if (g < 0) continue;
            visit(time_row(g), of.time[i]);
            visit(rate_row(g), -has_(rate_row(g)) * (of.rate[i] - shift_(g) * of.time[i]));
        }
        visit(type_row(of.type), of.use);
    }
    /// Rows that columns add up to.
    [[nodiscard]] Array rows_of(const Array& amounts) const {
        Array rows = Array::Zero(rows_);
        for (Index c = 0; c < columns_; ++c)
            entries(c, [&](Index row, double coefficient) { rows(row) += coefficient * amounts(c); });
        return rows;
    }
    /// What columns cost at prices of the rows.
    [[nodiscard]] Array costs_of(const Array& prices) const {
        Array costs(columns_);
        for (Index c = 0; c < columns_; ++c) {
            double sum = 0;
            entries(c, [&](Index row, double coefficient) { sum += coefficient * prices(row); });
            costs(c) = sum;
        }
        return costs;
    }

    /// Everybody's time and most of what there is of each type in equal parts, and prices at which every
    /// column costs more than it is worth.
    void start() {
        shift_.setZero();
        Array columns_of = Array::Zero(groups_);
        for (Index c = 0; c < columns_; ++c)
            for (std::size_t i = 0; i < 2; ++i)
                if (column(c).group[i] >= 0) columns_of(column(c).group[i]) += column(c).time[i];
        amount_.resize(columns_);
        for (Index c = 0; c < columns_; ++c) {
            double most = 0;
            for (const Index g : column(c).group)
                if (g >= 0) most = std::max(most, columns_of(g));
            amount_(c) = most_time / most;
        }
        const Array used = rows_of(amount_);
        for (Index c = 0; c < columns_; ++c)
            amount_(c) *= std::min(1.0, most_used / used(type_row(column(c).type)));
        const Array sums = rows_of(amount_);
        slack_ = limits_ - sums;
        for (Index g = 0; g < groups_; ++g) {
            const double rate = -sums(rate_row(g));
            slack_(rate_row(g)) = std::max(rate - std::max(-limits_(rate_row(g)), 0.0), 0.1 * rate);
            if (program_.utility) slack_(rate_row(g)) = rate;
            if (has_(rate_row(g)) == 0) slack_(rate_row(g)) = 0;
        }
        damount_ = dreduced_ = Array::Zero(columns_);
        dslack_ = dprice_ = Array::Zero(rows_);
        products_ = static_cast<double>(columns_ + rows_ - groups_);
        if (!program_.utility) products_ += rate_sum(has_);

        double worth = (values_ * amount_).sum();
        row_price_ = Array::Ones(rows_);
        if (program_.utility)
            for (Index g = 0; g < groups_; ++g) {
                row_price_(rate_row(g)) = utility_slope(g);
                worth += row_price_(rate_row(g)) * slack_(rate_row(g));
            }
        const double ratios = (slopes_ / slack_.max(1e-300)).sum();
        const double product = ratios > 0 ? program_.reward / ratios : std::max(worth, 1e-30) / products_;
        for (Index g = 0; g < groups_ && !program_.utility; ++g)
            if (has_(rate_row(g)) > 0) row_price_(rate_row(g)) = product / slack_(rate_row(g));
        // A type's price is what its time is worth on average; then time costs what is above that.
        Array worths(columns_), of_type = Array::Zero(rows_);
        for (Index c = 0; c < columns_; ++c) {
            worths(c) = values_(c);
            for (std::size_t i = 0; i < 2; ++i)
                if (const Index g = column(c).group[i]; g >= 0)
                    worths(c) += column(c).rate[i] * has_(rate_row(g)) * row_price_(rate_row(g));
            of_type(type_row(column(c).type)) += worths(c) * amount_(c);
        }
        for (Index t = 2 * groups_; t < rows_; ++t) {
            const bool full = sums(t) >= 0.999 * most_used;
            row_price_(t) = full && of_type(t) > 0 ? of_type(t) / sums(t) : product / slack_(t);
        }
        for (Index g = 0; g < groups_; ++g) row_price_(time_row(g)) = product;
        for (Index c = 0; c < columns_; ++c) {
            const double gain = worths(c) - column(c).use * row_price_(type_row(column(c).type));
            const double parts = column(c).group[1] >= 0 ? 2 : 1;
            for (std::size_t i = 0; i < 2; ++i) {
                const Index g = column(c).group[i];
                if (g < 0) continue;
                double& price = row_price_(time_row(g));
                price = std::max(price, (std::max(gain, 0.0) + margin * std::max(worths(c), product)) /
                                            parts / column(c).time[i]);
            }
        }
        reduced_ = costs_of(row_price_) - values_;
    }

    template <class Expression>
    [[nodiscard]] double rate_sum(const Expression& of_rows) const {
        double sum = 0;
        for (Index g = 0; g < groups_; ++g) sum += of_rows(rate_row(g));
        return sum;
    }

    /// Takes the step of the last direction, and looks how far from the end that is.
    void measure() {
        const double primal = std::exchange(step_primal_, 0), dual = std::exchange(step_dual_, 0);
        level_ += primal * dlevel_;
        amount_ += primal * damount_;
        slack_ += primal * dslack_;
        reduced_ += dual * dreduced_;
        row_price_ += dual * dprice_;
        shift_.setZero();
        const Array sums = rows_of(amount_);
        missing_ = has_ * (limits_ - sums - slopes_ * level_ - slack_);
        residual_ = values_ + reduced_ - costs_of(row_price_);
        level_error_ = program_.reward - (slopes_ * row_price_).sum();
        error_ = 0;
        for (Index row = 0; row < rows_; ++row) {
            const bool of_rate = row < 2 * groups_ && row % 2 == 1;
            const double size =
                of_rate ? std::abs(limits_(row)) + slopes_(row) * std::abs(level_) - sums(row) : 1;
            error_ = std::max(error_, std::abs(missing_(row)) / std::max(size, 1e-300));
        }
        // Where floors leave next to nothing for the level, prices are as exact as rounding lets them be in
        // sums that the floors are in.
        worth_ = program_.reward * std::abs(level_) + (values_ * amount_).sum() +
                 rate_sum(has_ * row_price_ * (-limits_).max(0.0));
        if (program_.utility)
            for (Index g = 0; g < groups_; ++g) {
                error_ = std::max(error_, std::abs(utility_slope(g) / row_price_(rate_row(g)) - 1));
                worth_ += row_price_(rate_row(g)) * slack_(rate_row(g));
            }
        centre_ = products_after(0, 0) / products_;
    }
    /// A utility ties the price of a rate to it: their product is not one that is to vanish.
    [[nodiscard]] double products_after(double primal, double dual) const {
        const Array of_rows = has_ * (slack_ + primal * dslack_) * (row_price_ + dual * dprice_);
        const double sum =
            ((amount_ + primal * damount_) * (reduced_ + dual * dreduced_)).sum() + of_rows.sum();
        return program_.utility ? sum - rate_sum(of_rows) : sum;
    }
    [[nodiscard]] double centre_after_step() const {
        return products_after(step_primal_, step_dual_) / products_;
    }

    /// The part of an iteration that all directions share; answers whether the system can be solved.
    bool factor() {
        ratio_ = amount_ / reduced_;
        spread_ = slack_ / row_price_;
        // Not of a job that has time enough: its rows do not cancel.
        Array most(groups_);
        for (Index g = 0; g < groups_; ++g) most(g) = spread_(time_row(g));
        for (Index c = 0; c < columns_; ++c)
            for (std::size_t i = 0; i < 2; ++i) {
                const Index g = column(c).group[i];
                if (g < 0) continue;
                const double time = column(c).time[i], weight = ratio_(c) * time * time;
                if (weight <= most(g)) continue;
                most(g) = weight;
                shift_(g) = column(c).rate[i] / time;
            }
        for (Index g = 0; g < groups_; ++g) {
            shift_(g) *= has_(rate_row(g));
            if (program_.utility)
                spread_(rate_row(g)) /= utility_.elasticity(static_cast<std::size_t>(g), slack_(rate_row(g)));
            if (has_(rate_row(g)) == 0) spread_(rate_row(g)) = 1;
        }
        factor_.clear();
        for (Index c = 0; c < columns_; ++c) {
            std::array<std::pair<Index, double>, 5> of{};
            std::size_t entries_of = 0;
            entries(c, [&](Index row, double coefficient) { of[entries_of++] = {row, coefficient}; });
            for (std::size_t i = 0; i < entries_of; ++i)
                for (std::size_t k = 0; k <= i; ++k)
                    factor_.add(of[i].first, of[k].first, ratio_(c) * of[i].second * of[k].second);
        }
        for (Index row = 0; row < rows_; ++row) factor_.add(row, row, spread_(row));
        for (Index g = 0; g < groups_; ++g) {
            const double spread = shift_(g) * spread_(time_row(g));
            factor_.add(rate_row(g), time_row(g), spread);
            factor_.add(rate_row(g), rate_row(g), shift_(g) * spread);
        }
        // Where the other prices determine one, rounding should not leave less than nothing for it.
        for (double more = 1e-15; more < 1e-8; more *= 100)
            if (factor_.compute(1 + more)) {
                of_level_ = factor_.solve(slopes_.matrix()).array();
                return true;
            }
        return false;
    }

    /// The direction towards products of `aim`, less the products of the last direction's changes as far as
    /// those are to be `trusted`, and how far it may go.
    void find_direction(double aim, double trusted) {
        const Array wanted = aim - (damount_ * dreduced_).max(-trusted).min(trusted);
        const Array row_wanted = has_ * (aim - (dslack_ * dprice_).max(-trusted).min(trusted));
        const Array gained = wanted / reduced_ - amount_ + ratio_ * residual_;
        Array row_gained = row_wanted / row_price_ - slack_;
        if (program_.utility)
            for (Index g = 0; g < groups_; ++g) {
                const Index row = rate_row(g);
                row_gained(row) = spread_(row) * (utility_slope(g) - row_price_(row));
            }
        const Array of_spread = has_ * spread_;
        Array own = row_gained - missing_;
        for (Index g = 0; g < groups_; ++g)
            own(rate_row(g)) = has_(rate_row(g)) * (own(rate_row(g)) + shift_(g) * own(time_row(g)));
        Array change = factor_.solve((rows_of(gained) + own).matrix()).array();
        dlevel_ = 0;
        if (program_.reward > 0) {
            dlevel_ = (level_error_ - (slopes_ * change).sum()) / (slopes_ * of_level_).sum();
            change += dlevel_ * of_level_;
        }
        dreduced_ = costs_of(change) - residual_;
        damount_ = wanted / reduced_ - amount_ - ratio_ * dreduced_;
        for (Index g = 0; g < groups_; ++g) change(time_row(g)) += shift_(g) * change(rate_row(g));
        dprice_ = has_ * change;
        // The rows hold to the last digit where that is little beside what they leave; where rounding makes
        // more of it, the next pass sees to it.
        const Array by_price = has_ * (row_gained - of_spread * dprice_);
        const Array shift = std::exchange(shift_, Array::Zero(groups_));
        const Array by_row = has_ * (missing_ - rows_of(damount_) - slopes_ * dlevel_);
        shift_ = shift;
        dslack_ = ((by_row - by_price).abs() <= 0.1 * slack_).select(by_row, by_price);

        double primal = -reach, dual = -reach;  // the largest relative fall
        primal =
            std::min({primal, (damount_ / amount_).minCoeff(), (dslack_ / slack_.max(1e-300)).minCoeff()});
        dual = std::min({dual, (dreduced_ / reduced_).minCoeff(), (dprice_ / row_price_).minCoeff()});
        step_primal_ = -reach / primal;
        step_dual_ = -reach / dual;
        if (program_.utility) step_primal_ = step_dual_ = std::min(step_primal_, step_dual_);
    }

    const PairColumns& program_;
    Utility utility_;
    Index groups_, rows_, columns_;
    Array slopes_, limits_;  // of the level, and what the rows add up to at most
    Array has_;              // 1 or 0: there is such a row
    Array values_;

    // Where it is. What a column costs more than it is worth is its reduced cost.
    Array amount_, reduced_, damount_, dreduced_;
    Array slack_, row_price_, dslack_, dprice_;
    double level_ = 0, dlevel_ = 0;
    double products_ = 0;  // number of those that are to vanish
    double centre_ = 0, worth_ = 0, error_ = 0, level_error_ = 0;
    Array missing_, residual_;  // of rows, of columns

    // The system of an iteration.
    Array ratio_, spread_;
    Array shift_;  // by group: rate a time of its main column
    PairFactor factor_;
    Array of_level_;  // solution for a change of the level

    double step_primal_ = 0, step_dual_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::detail

#endif
