#ifndef GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP
#define GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP

// Solves a GroupProgram (group_program.hpp) by Mehrotra's predictor-corrector method (central_path.hpp).
// The two rows of a job form a 2 x 2 system. Eliminating these systems leaves one linear system in the types'
// prices and the level, so an iteration is a few passes over the jobs. Ten to thirty iterations suffice for
// any number of jobs. The method ends near the middle of all optimal answers, so that equal jobs get equal
// shares, and every price that is above 0 in any optimal answer is above 0.
//
// Two groups may also have columns in common: a pair of jobs takes time of both groups and has a rate for
// each. Groups that are linked by pairs cannot be eliminated one by one. With pairs, the linear system of
// an iteration therefore has one row for the time and one for the rate of every group (pair_factor.hpp).
// Few pairs are in use in the end, and the others need no part in the steps as long as they cost more than
// they are worth. So the method begins with one pair for each group, and prices all. A pair joins when a
// step would make it cheap faster than the products of slack and price shrink (constraint reduction; Tits,
// Absil and Woessner, 2006). No step makes a pair cheaper than it is worth, so the bound needs no repair.
//
// If a job's two rows leave it no choice, the terms of its 2 x 2 system cancel to some parts in 1e16. So
// the job's rate on the type where it mostly runs (the shift) is subtracted from all of its rates: the row
// of its time, times the shift, is subtracted from the row of its rate. The determinant then is a sum of
// products of differences.
//
// Arrays have one row per group of jobs and one column per type. Entries that do not exist (shares of types
// where a group cannot run, rows of rates for which nothing is required) always have slack 0 and price 1.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include "goodput/share/detail/central_path.hpp"
#include "goodput/share/detail/group_program.hpp"
#include "goodput/share/detail/pair_factor.hpp"

namespace goodput::inline v0_1::detail {

/// Solves a GroupProgram. `utility.slope(group, rate)` is u', above 0 and decreasing, and
/// `utility.elasticity(group, rate)` is -rate u'' / u', above 0.
template <class Utility = NoUtility>
class InteriorPoint {
public:
    /// `all_pairs`: all pairs take part from the start.
    explicit InteriorPoint(const GroupProgram& program, Utility utility = {}, bool all_pairs = false)
        : utility_(std::move(utility)),
          has_utility_(program.utility),
          reward_(program.reward),
          copies_(by_group(program.copies)),
          slopes_(by_group(program.slope)),
          floors_(by_group(program.floor)),
          uses_(by_group_and_type(program, program.use)),
          rates_(by_group_and_type(program, program.rate)),
          values_(by_group_and_type(program, program.value)),
          can_run_((uses_ > 0).template cast<double>()),
          has_row_((slopes_ > 0 || floors_ > 0).template cast<double>().max(has_utility_ ? 1 : 0)),
          all_pairs_(program.pairs) {
        rates_.colwise() *= has_row_;
        if (has_pairs()) choose_pairs(all_pairs);
        start();
        if (copies_.size() == 0) left_.price.setZero();  // without jobs, capacity has no price
    }

    /// Continues from the present point. Returns whether it converged; the answer is usable in any case.
    bool solve(double accuracy = 1e-9) {
        if (copies_.size() == 0) return true;
        return follow_centre(*this, accuracy, (has_pairs() ? 0.2 : 10) * accuracy, iterations_);
    }

    /// Whether some pairs were left out of all steps.
    [[nodiscard]] bool lacks_pairs() const { return pairs_.size() < all_pairs_.size(); }

    /// The level reached, if there is a reward for it.
    [[nodiscard]] double level() const { return level_; }

    [[nodiscard]] double share(std::size_t g, std::size_t t) const {
        return share_.slack(index(g), index(t));
    }
    /// The share of a type's time, summed over all pairs of a column.
    [[nodiscard]] double amount(std::size_t pair) const {
        const std::size_t place = place_[pair];
        return place == absent ? 0 : pairs_[place].copies * pair_.slack(index(place));
    }
    /// Price of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return left_.price(index(t)); }
    /// Price of the time of one of a group's jobs.
    [[nodiscard]] double time_price(std::size_t g) const { return time_.price(index(g)); }
    /// Price of the rate of one of a group's jobs.
    [[nodiscard]] double rate_price(std::size_t g) const {
        return has_row_(index(g)) * rate_.price(index(g));
    }
    [[nodiscard]] auto rate_prices() const {
        return [this](std::size_t g) { return rate_price(g); };
    }
    /// By how much the rate of a group's jobs exceeds what is asked of it.
    [[nodiscard]] double rate_slack(std::size_t g) const { return rate_.slack(index(g)); }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    template <class Method>
    friend bool follow_centre(Method& method, double accuracy, double most_error, std::size_t& iterations);

    using Index = Eigen::Index;
    using Array = Eigen::ArrayXd;
    using Array2 = Eigen::ArrayXXd;

    static constexpr std::size_t absent = static_cast<std::size_t>(-1);
    static constexpr std::size_t patience = 50;  // from this iteration on, all pairs take part
    static constexpr double least_kept = 0.1;    // part of what an absent pair costs that a step leaves
    static constexpr double reach = 0.995;       // part of the way to the nearest limit that a step takes
    static constexpr double most_used = 0.99;    // fraction of a type in use at the start
    static constexpr double most_time = 0.8;     // fraction of a job's time in use at the start
    static constexpr double margin = 0.3;        // how much more shares cost than they are worth at the start

    static Index index(std::size_t number) { return static_cast<Index>(number); }
    static Array by_group(const std::vector<double>& list) {
        return Eigen::Map<const Array>(list.data(), index(list.size()));
    }
    [[nodiscard]] bool has_pairs() const { return !all_pairs_.empty(); }
    static Array2 by_group_and_type(const GroupProgram& program, const std::vector<double>& list) {
        const Index groups = index(program.groups()), types = index(program.types);
        return Eigen::Map<const Array2>(list.data(), types, groups).transpose();
    }
    /// Sums over all jobs, by type.
    template <class Expression>
    [[nodiscard]] Array by_type(const Expression& of_jobs) const {
        return (of_jobs.matrix().transpose() * copies_.matrix()).array();
    }
    [[nodiscard]] Array utility_slopes(const Array& rates) const {
        return Array::NullaryExpr(
            rates.size(), [&](Index g) { return utility_.slope(static_cast<std::size_t>(g), rates(g)); });
    }

    /// Chooses the pairs of the first steps: for each group, the one in which its jobs do most; or all.
    void choose_pairs(bool all);
    /// Lets a pair take part, unless it does already.
    void add_pair(std::size_t k) {
        if (place_[k] != absent) return;
        place_[k] = pairs_.size();
        pairs_.push_back(all_pairs_[k]);
        for (std::size_t i = 0; i < 2; ++i) pairs_.back().rate[i] *= has_row_(index(pairs_.back().group[i]));
    }
    /// Declares which rows meet: those of a group, those of a group and of the types, and those of two
    /// groups with pairs.
    void pose_pairs();
    /// Lets pairs take part that the step would make too cheap, and limits the step so that none of them
    /// becomes so cheap.
    void let_pairs_join(double centre);
    /// Gives the pairs from this place on shares and prices in the middle, as far as time is left.
    void place_new_pairs(Index before, double centre, const Array& change);
    /// Adds the times of pairs to the time and the rate of each group's average job, and to the use of
    /// types.
    void add_pairs(const Array2& times, Array& time, Array& rate, Array& used, const Array& shift) const;
    /// Returns what a pair costs at prices of time, rates and types.
    [[nodiscard]] static Array costs_of(std::span<const PairColumn> pairs, const Array& time,
                                        const Array& rate, const Array& type, const Array& shift) {
        Array costs(index(pairs.size()));
        for (Index k = 0; k < costs.size(); ++k) {
            const PairColumn& pair = pairs[static_cast<std::size_t>(k)];
            costs(k) = pair.use * type(index(pair.type));
            for (std::size_t i = 0; i < 2; ++i) {
                const Index g = index(pair.group[i]);
                costs(k) += time(g) - (pair.rate[i] - shift(g)) * rate(g);
            }
        }
        return costs;
    }
    /// Returns the worth of a pair's time: its own value, and its rates at their prices.
    [[nodiscard]] double worth_of(const PairColumn& pair) const {
        return pair.value + pair.rate[0] * rate_price(pair.group[0]) +
               pair.rate[1] * rate_price(pair.group[1]);
    }

    /// Sets the starting point: equal shares of nearly all capacity, and prices at which every share costs
    /// more than it is worth. All limits are kept, but floors may be missed.
    void start() {
        const Index types = uses_.cols();
        share_.reset(copies_, types);
        time_.reset(copies_, 1);
        rate_.reset(copies_, 1);
        left_.reset(Array::Ones(types), 1);
        Array of_pairs(index(pairs_.size())), columns = Array::Constant(copies_.size(), double(types));
        pair_values_.resize(of_pairs.size());
        for (std::size_t k = 0; k < pairs_.size(); ++k) {
            const PairColumn& pair = pairs_[k];
            of_pairs(index(k)) = pair.copies;
            pair_values_(index(k)) = pair.value;
            for (const std::size_t g : pair.group) columns(index(g)) += pair.copies / copies_(index(g));
        }
        pair_.reset(of_pairs, 1);
        shift_.setZero(copies_.size());
        level_ = step_primal_ = step_dual_ = dlevel_ = 0;
        share_.slack = can_run_.colwise() * (most_time / columns);
        for (Index k = 0; k < of_pairs.size(); ++k) {
            const auto [a, b] = pairs_[static_cast<std::size_t>(k)].group;
            pair_.slack(k) = most_time / std::max(columns(index(a)), columns(index(b)));
        }
        Array time = Array::Zero(copies_.size()), rates = time, used = by_type(uses_ * share_.slack);
        add_pairs(pair_.slack, time, rates, used, shift_);
        const Array part = (most_used / used.max(1e-300)).min(1);
        share_.slack.rowwise() *= part.transpose();
        for (Index k = 0; k < of_pairs.size(); ++k)
            pair_.slack(k) *= part(index(pairs_[static_cast<std::size_t>(k)].type));
        left_.slack = 1 - part * used;
        time = share_.slack.rowwise().sum();
        rates = (rates_ * share_.slack).rowwise().sum();
        add_pairs(pair_.slack, time, rates, used, shift_);
        time_.slack = 1 - time;
        rate_.slack = (rates - floors_).max(0.1 * rates);
        products_ =
            left_.weights.sum() + copies_.sum() + of_pairs.sum() + (can_run_.rowwise().sum() * copies_).sum();
        if (!has_utility_) products_ += (has_row_ * copies_).sum();

        // Choose the initial size of products so that the prices of rates add up to the reward of the level
        // or, without a level, to the worth of the shares.
        double worth =
            by_type(values_ * share_.slack).sum() + (of_pairs * pair_values_ * pair_.slack.col(0)).sum();
        if (has_utility_) worth += (copies_ * utility_slopes(rates) * rates).sum();
        const double ratios = (copies_ * slopes_ / rate_.slack.max(1e-300)).sum();
        const double product = ratios > 0 ? reward_ / ratios : std::max(worth, 1e-30) / products_;
        if (has_utility_)
            rate_.price = utility_slopes(rate_.slack);
        else
            rate_.price = (has_row_ > 0).select(product / rate_.slack.max(1e-300), 1);
        const Array2 worths = values_ + rates_.colwise() * rate_.price.col(0);
        // If a type is scarce, its price is the average worth of its time.
        Array of_type = by_type(share_.slack * worths), in_use = by_type(share_.slack * uses_);
        for (Index k = 0; k < of_pairs.size(); ++k) {
            const PairColumn& pair = pairs_[static_cast<std::size_t>(k)];
            of_type(index(pair.type)) += pair.copies * pair_.slack(k) * worth_of(pair);
            in_use(index(pair.type)) += pair.copies * pair_.slack(k) * pair.use;
        }
        left_.price = (of_type > 0 && left_.slack.col(0) <= 1.001 * (1 - most_used))
                          .select(of_type / in_use.max(1e-300), product / left_.slack.col(0));
        // A job's price of time makes each of its shares cost more than it is worth.
        const Array2 gains = worths - uses_.rowwise() * left_.price.col(0).transpose();
        for (Index g = 0; g < copies_.size(); ++g)
            time_.price(g) =
                std::max(gains.row(g).maxCoeff(), 0.0) + margin * std::max(worths.row(g).maxCoeff(), product);
        for (const PairColumn& pair : all_pairs_) {
            const double worth_of_time = worth_of(pair);
            const double gain = std::max(worth_of_time - pair.use * left_.price(index(pair.type)), 0.0);
            for (const std::size_t g : pair.group)
                time_.price(index(g)) =
                    std::max(time_.price(index(g)), 0.5 * (gain + margin * std::max(worth_of_time, product)));
        }
        share_.price = (can_run_ > 0).select((-gains).colwise() + time_.price.col(0), 1);
        pair_.price = costs_of(pairs_, time_.price, rate_.price, left_.price, shift_) - pair_values_;
    }

    /// Takes the step of the last direction, then measures the distance from the end: the mean product, and
    /// how much rows are violated, relatively.
    void measure() {
        const double primal = std::exchange(step_primal_, 0), dual = std::exchange(step_dual_, 0);
        level_ += primal * dlevel_;
        for (SlacksAndPrices* kind : {&share_, &time_, &rate_, &left_, &pair_}) {
            kind->slack += primal * kind->dslack;
            kind->price += dual * kind->dprice;
        }
        Array time = share_.slack.rowwise().sum(), rates = (rates_ * share_.slack).rowwise().sum();
        Array used = by_type(uses_ * share_.slack);
        shift_.setZero(copies_.size());
        add_pairs(pair_.slack, time, rates, used, shift_);
        over_ = 1 - left_.slack.col(0) - used;
        time_over_ = time - 1;
        missing_ = floors_ + slopes_ * level_ + rate_.slack.col(0) - rates;
        residual_ = uses_.rowwise() * left_.price.col(0).transpose() - values_ - share_.price -
                    rates_.colwise() * rate_.price.col(0);
        residual_.colwise() += time_.price.col(0);
        pair_residual_ = costs_of(pairs_, time_.price, rate_.price, left_.price, shift_) - pair_values_ -
                         pair_.price.col(0);
        base_ = -share_.slack - share_.ratio() * residual_;
        level_error_ = reward_ - (copies_ * slopes_ * rate_.price.col(0)).sum();
        if (lacks_pairs()) {
            absent_costs_ =
                costs_of(all_pairs_, time_.price, has_row_ * rate_.price.col(0), left_.price, shift_);
            for (std::size_t k = 0; k < all_pairs_.size(); ++k)
                absent_costs_(index(k)) -= all_pairs_[k].value;
        }
        const Array size = floors_ + slopes_ * std::abs(level_) + rates;
        error_ = std::max({(time_over_ + time_.slack.col(0)).abs().maxCoeff(), over_.abs().maxCoeff(),
                           (missing_ / size.max(1e-300)).abs().maxCoeff()});
        // If floors leave next to nothing for the level, prices are only as exact as rounding allows in
        // sums that include the floors.
        worth_ = reward_ * std::abs(level_) + by_type(values_ * share_.slack).sum() +
                 (pair_.weights * pair_values_ * pair_.slack.col(0)).sum() +
                 (copies_ * has_row_ * rate_.price.col(0) * floors_).sum();
        if (has_utility_) {
            const Array off = utility_slopes(rate_.slack) / rate_.price.col(0) - 1;
            error_ = std::max(error_, off.abs().maxCoeff());
            worth_ += rate_.products(0, 0);
        }
        centre_ = products_after(0, 0) / products_;
    }
    /// With a utility, the price of a rate follows from the rate. Their product does not have to vanish, so
    /// it is left out.
    [[nodiscard]] double products_after(double primal, double dual) const {
        const double sum = share_.products(primal, dual) + time_.products(primal, dual) +
                           left_.products(primal, dual) + pair_.products(primal, dual);
        return has_utility_ ? sum : sum + rate_.products(primal, dual);
    }
    [[nodiscard]] double centre_after_step() const {
        return products_after(step_primal_, step_dual_) / products_;
    }

    /// Does the part of an iteration that all directions share. Returns whether the system can be solved.
    bool factor() {
        spread_ = rate_.ratio();
        if (has_utility_)
            for (Index g = 0; g < copies_.size(); ++g)
                spread_(g) /= utility_.elasticity(static_cast<std::size_t>(g), rate_.slack(g));
        return has_pairs() ? factor_pairs() : factor_blocks();
    }
    /// Sets up and factors the linear system in the changes of the prices of time, rates and types.
    bool factor_pairs();
    /// Returns the changes of all prices that change each group's rows and those of the types by these
    /// amounts.
    [[nodiscard]] Eigen::VectorXd solved(const Array& time, const Array& rate, const Array& types) const {
        Eigen::VectorXd right(2 * time.size() + types.size());
        for (Index g = 0; g < time.size(); ++g) {
            right(2 * g) = copies_(g) * time(g);
            right(2 * g + 1) = has_row_(g) * copies_(g) * rate(g);
        }
        right.tail(types.size()) = types.matrix();
        return factor_of_pairs_.solve(right);
    }
    /// Sets up and factors the linear system that remains after eliminating all jobs. Its unknowns are the
    /// changes of the types' prices and, if there is one, of the level:
    ///
    ///     matrix dprice - column dlevel = right,   column . dprice + corner dlevel = level_right.
    bool factor_blocks() {
        const Index types = uses_.cols();
        const Array2 ratios = share_.ratio();
        const Array alpha = time_.ratio();
        const Array beta = spread_ + 1 - has_row_;
        main_type_.resize(copies_.size());
        shift_.resize(copies_.size());
        for (Index g = 0; g < copies_.size(); ++g) {
            ratios.row(g).maxCoeff(&main_type_(g));
            shift_(g) = rates_(g, main_type_(g));
        }
        shifted_ = rates_.colwise() - shift_;
        const auto pair = [&](Index t, Index k) -> Array {
            return ratios.col(t) * ratios.col(k) * (shifted_.col(t) - shifted_.col(k)).square();
        };
        a_ = alpha + ratios.rowwise().sum();
        Array determinant = a_ * beta + alpha * (rates_.square() * ratios).rowwise().sum();
        for (Index t = 1; t < types; ++t)
            for (Index k = 0; k < t; ++k) determinant += pair(t, k);
        const Array scale = 1 / determinant.max(1e-300);
        a_ *= scale;
        b_ = scale * ((shifted_ * ratios).rowwise().sum() - alpha * shift_);
        e_ = scale * (alpha * shift_.square() + beta + (shifted_.square() * ratios).rowwise().sum());

        first_.resize(copies_.size(), types);
        second_.resize(copies_.size(), types);
        corner_ = (copies_ * slopes_.square() * a_).sum();
        column_.resize(types);
        Eigen::MatrixXd matrix(types, types);  // its lower half
        for (Index t = 0; t < types; ++t) {
            Array first = beta + alpha * shift_ * rates_.col(t), second = -alpha * rates_.col(t);
            Array rest = alpha * beta;
            for (Index k = 0; k < types; ++k) {
                if (k == t) continue;
                first += ratios.col(k) * shifted_.col(k) * (shifted_.col(k) - shifted_.col(t));
                second += ratios.col(k) * (shifted_.col(k) - shifted_.col(t));
                rest += ratios.col(k) * (beta + alpha * rates_.col(k).square());
                for (Index i = 0; i < k; ++i)
                    if (i != t) rest += pair(k, i);
            }
            first_.col(t) = ratios.col(t) * first * scale;
            second_.col(t) = ratios.col(t) * second * scale;
            const Array used = copies_ * uses_.col(t);
            column_(t) = (used * second_.col(t) * slopes_).sum();
            matrix(t, t) =
                (used * uses_.col(t) * ratios.col(t) * rest * scale).sum() + left_.slack(t) / left_.price(t);
            for (Index k = 0; k < t; ++k)
                matrix(t, k) = -(used * uses_.col(k) * ratios.col(k) *
                                 (first_.col(t) - second_.col(t) * shifted_.col(k)))
                                    .sum();
        }
        if (corner_ > 0) matrix.selfadjointView<Eigen::Lower>().rankUpdate(column_, 1 / corner_);
        // If the other prices determine one price, rounding must not make its diagonal entry negative.
        matrix.diagonal() *= 1 + 1e-15;
        factor_.compute(matrix);
        return true;
    }

    /// Finds the direction towards products of `aim`, corrected by the products of the last direction's
    /// changes, each at most `trusted` in absolute value. Also finds how far the step may go.
    void find_direction(double aim, double trusted) {
        for (SlacksAndPrices* kind : {&share_, &time_, &rate_, &left_, &pair_})
            kind->wanted = aim - (kind->dslack * kind->dprice).max(-trusted).min(trusted);
        share_.wanted *= can_run_;
        rate_.wanted *= has_row_;
        const Array pair_gained = pair_.wanted.col(0) / pair_.price.col(0) - pair_.slack.col(0) -
                                  pair_.ratio().col(0) * pair_residual_;
        Array pair_time = Array::Zero(copies_.size()), pair_rate = pair_time,
              pair_used = Array::Zero(uses_.cols());
        add_pairs(pair_gained, pair_time, pair_rate, pair_used, shift_);
        Array rate_gain = rate_.gain();
        if (has_utility_) rate_gain = spread_ * (utility_slopes(rate_.slack) - rate_.price.col(0));
        const Array2 gained = base_ + share_.wanted / share_.price;
        const Array of_time = time_over_ + time_.slack.col(0) + time_.gain().col(0);
        Array h1 = of_time + gained.rowwise().sum() + pair_time;
        Array h2 = shift_ * of_time - (shifted_ * gained).rowwise().sum() - pair_rate + missing_ + rate_gain;
        if (has_pairs())
            find_with_pairs(gained, pair_gained, h1, h2,
                            left_.gain().col(0) - over_ + by_type(uses_ * gained) + pair_used, rate_gain);
        else
            find_in_blocks(gained, h1, h2, rate_gain);

        double primal = -reach, dual = -reach;  // the largest relative decrease
        for (const SlacksAndPrices* kind : {&share_, &time_, &rate_, &left_, &pair_}) {
            if (kind->slack.size() == 0) continue;
            primal = std::min(primal, (kind->dslack / kind->slack.max(1e-300)).minCoeff());
            dual = std::min(dual, (kind->dprice / kind->price).minCoeff());
        }
        step_primal_ = -reach / primal;
        step_dual_ = -reach / dual;
        if (has_utility_) step_primal_ = step_dual_ = std::min(step_primal_, step_dual_);
    }
    /// Sets the changes that change the rows of jobs by `h1` and `h2`, and those of types by `of_types`.
    void find_with_pairs(const Array2& gained, const Array& pair_gained, const Array& h1, const Array& h2,
                         const Array& of_types, const Array& rate_gain);
    /// The same without pairs that tie groups to each other.
    void find_in_blocks(const Array2& gained, Array h1, Array h2, const Array& rate_gain) {
        const Array2 given_way = first_.colwise() * h1 + second_.colwise() * h2;
        Eigen::VectorXd change =
            left_.gain().col(0) - over_ + by_type(uses_ * gained) - by_type(uses_ * given_way);
        const double level_right = level_error_ - (copies_ * slopes_ * (b_ * h1 + a_ * h2)).sum();
        if (corner_ > 0) change -= column_ * (level_right / corner_);
        factor_.solveInPlace(change);
        dlevel_ = corner_ > 0 ? (level_right + column_.dot(change)) / corner_ : 0;

        left_.dprice = change.array();
        left_.dslack = left_.gain() - left_.ratio() * left_.dprice;
        const Array2 priced = uses_.rowwise() * left_.dprice.col(0).transpose();
        const Array2 lost = priced * share_.ratio();
        h1 -= lost.rowwise().sum();
        h2 += (shifted_ * lost).rowwise().sum() + slopes_ * dlevel_;
        const Array of_shifted = e_ * h1 + b_ * h2;  // change of the price of time, without the shift
        rate_.dprice = has_row_ * (b_ * h1 + a_ * h2);
        rate_.dslack = rate_gain - spread_ * rate_.dprice.col(0);
        time_.dprice = of_shifted + shift_ * rate_.dprice.col(0);
        share_.dslack = gained - lost - (first_.colwise() * h1 + second_.colwise() * h2);
        share_.dprice = priced + residual_ - shifted_.colwise() * rate_.dprice.col(0);
        share_.dprice.colwise() += of_shifted;
        share_.dprice *= can_run_;
        // Make the rows hold to the last digit, whatever rounding does to the products.
        const Array short_of =
            missing_ + slopes_ * dlevel_ + rate_.dslack.col(0) - (rates_ * share_.dslack).rowwise().sum();
        for (Index g = 0; g < copies_.size(); ++g)
            if (has_row_(g) > 0) share_.dslack(g, main_type_(g)) += short_of(g) / rates_(g, main_type_(g));
        time_.dslack = -time_over_ - time_.slack.col(0) - share_.dslack.rowwise().sum();
    }

    Utility utility_;
    bool has_utility_;
    double reward_;
    Array copies_, slopes_, floors_;
    Array2 uses_, rates_, values_;
    Array2 can_run_;  // 1 or 0
    Array has_row_;   // 1 or 0: whether anything is asked of its rate
    std::span<const PairColumn> all_pairs_;
    std::vector<PairColumn> pairs_;   // those that take part
    std::vector<std::size_t> place_;  // by pair: its index among them, or absent
    Array pair_values_;

    // The present point. The price of a share is the loss per additional unit of it.
    SlacksAndPrices share_, time_, rate_, left_, pair_;
    double level_ = 0;
    double products_ = 0;  // number of products that should vanish, counted per job
    double centre_ = 0, worth_ = 0, error_ = 0, level_error_ = 0;
    Array over_, time_over_, missing_;  // how far the rows of types, times and rates are off
    Array2 residual_;                   // error of the dual equation of each share
    Array pair_residual_;               // the same of each pair
    Array absent_costs_;                // by pair: what it costs more than it is worth
    Array2 base_;                       // change of the share at unchanged prices, without its target

    // The system of an iteration.
    Eigen::Array<Index, Eigen::Dynamic, 1> main_type_;
    Array shift_;            // rate on that type
    Array2 shifted_;         // rates less the shift
    Array spread_;           // -(change of the rate's slack) / (change of its price)
    Array a_, b_, e_;        // inverses of the 2 x 2 systems
    Array2 first_, second_;  // how a share responds to the rows of its job's time and rate
    Eigen::VectorXd column_;
    double corner_ = 0;  // 0: no level
    Eigen::LDLT<Eigen::MatrixXd> factor_;
    PairFactor factor_of_pairs_;
    Eigen::VectorXd of_level_;  // changes of all prices per unit of the level, with pairs

    // The last direction.
    double dlevel_ = 0, step_primal_ = 0, step_dual_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::inline v0_1::detail

#include "goodput/share/detail/steps_with_pairs.hpp"

#endif
