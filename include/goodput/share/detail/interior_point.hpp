#ifndef GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP
#define GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP

// The program behind every objective of this folder. With j a group of equal jobs (copies_j of them), t a GPU
// type, x a share of time, l a level that all want to be high, and u_j a concave utility of the rate,
//
//     max  sum_j copies_j (sum_t value_jt x_jt + u_j(e_j)) + reward l        e_j = sum_t rate_jt x_jt
//     s.t. sum_t x_jt <= 1                          (price of the job's time)
//          e_j >= slope_j l + floor_j               (price of its rate; jobs that have a floor, a slope or u)
//          sum_j copies_j use_jt x_jt <= 1          (price of the type)
//
// solved by Mehrotra's predictor-corrector method (1992), an interior-point method. A job's two rows are a 2
// x 2 system, which leaves one linear system in the types' prices and the level: an iteration is a few passes
// over the jobs, and there are ten to thirty of them, few jobs or many. It ends near the middle of all
// optimal answers, so that equal jobs get equal shares, and a price is above 0 wherever it is so in any
// optimal answer.
//
// Where a job's two rows leave it no choice, the terms of its 2 x 2 system cancel but for some parts in 1e16.
// So the rate of the type that it mostly runs on is taken off all of its rates, by subtracting the row of its
// time from that of its rate, and the determinant is a sum of products of differences.
//
// Arrays have a row for each group of jobs and a column for each type. What there is not (shares of types
// where a group cannot run, rows of rates of which nothing is asked) has slack 0 and price 1 all the time.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace goodput::detail {

/// The program above; lists by group of jobs, or by group and type.
struct BlockProgram {
    std::size_t types = 0;
    std::vector<double> copies{};  ///< how many jobs are alike
    std::vector<double> use{};     ///< of a type's capacity; 0: the group cannot run there
    std::vector<double> rate{};    ///< 0 where it cannot run
    std::vector<double> value{};   ///< of the shares
    std::vector<double> slope{};   ///< of the level
    std::vector<double> floor{};   ///< of the rate
    bool utility = false;          ///< every group has one
    double reward = 0;             ///< for the level

    [[nodiscard]] std::size_t groups() const { return copies.size(); }
};

/// Groups without a utility.
struct NoUtility {
    [[nodiscard]] double slope(std::size_t, double) const { return 0; }
    [[nodiscard]] double elasticity(std::size_t, double) const { return 1; }
};

/// What is left of limits of one kind and their prices, of each two of which one is 0 in the end, and how
/// they change.
struct SlacksAndPrices {
    Eigen::ArrayXXd slack{}, price{}, dslack{}, dprice{};
    Eigen::ArrayXXd wanted{};  ///< what the products should become, but for those of the changes
    Eigen::ArrayXd weights{};  ///< by row: for how many jobs it stands

    void reset(const Eigen::ArrayXd& of_rows, Eigen::Index columns) {
        weights = of_rows;
        slack = dslack = dprice = Eigen::ArrayXXd::Zero(of_rows.size(), columns);
        price = Eigen::ArrayXXd::Ones(of_rows.size(), columns);
    }
    /// Sum of all products after steps of that size.
    [[nodiscard]] double products(double primal, double dual) const {
        return (((slack + primal * dslack) * (price + dual * dprice)).rowwise().sum() * weights).sum();
    }
    [[nodiscard]] Eigen::ArrayXXd ratio() const { return slack / price; }
    /// Change of the slack at an unchanged price.
    [[nodiscard]] Eigen::ArrayXXd gain() const { return wanted / price - slack; }
};

/// Mehrotra's steps of a method, from where it is. Answers whether it came to an end: products of that
/// accuracy, and rows that are violated by `most_error` at most, both relatively.
template <class Method>
bool follow_centre(Method& method, double accuracy, double most_error, std::size_t& iterations) {
    constexpr std::size_t most_iterations = 200;
    for (; iterations < most_iterations; ++iterations) {
        const double error_before = method.error_;
        method.measure();
        const double centre = method.centre_, size = method.worth_ / method.products_;
        if (centre <= accuracy * size && method.error_ <= most_error) return true;
        // Rows that rounding keeps from holding so well hold no better later, but worse.
        if (centre <= 0.1 * accuracy * size && method.error_ >= 0.5 * error_before) return false;
        if (!method.factor()) return false;
        // Straight to the end, to see how far that goes; then with what was learned from it.
        method.find_direction(0, 0);
        const double part = std::clamp(method.centre_after_step() / centre, 0.0, 1.0);
        // Where the first step goes nowhere near, what was learned is not worth much.
        method.find_direction(centre * part * part * part, 3 * centre);
        if (!std::isfinite(method.centre_after_step())) return false;
        if (method.centre_after_step() <= 2 * centre || centre > 1e-4 * size) continue;
        // What was learned leads back: without it.
        method.find_direction(0.3 * centre, 0);
        // Where there is no room between limits, rounding has the last word: better stop than go back.
        if (!(method.centre_after_step() <= 2 * centre)) return false;
    }
    return false;
}

/// Solves a BlockProgram. `utility.slope(group, rate)` is u', above 0 and falling, and
/// `utility.elasticity(group, rate)` is -rate u'' / u', above 0.
template <class Utility = NoUtility>
class InteriorPoint {
public:
    explicit InteriorPoint(const BlockProgram& program, Utility utility = {})
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
          has_row_((slopes_ > 0 || floors_ > 0).template cast<double>().max(has_utility_ ? 1 : 0)) {
        rates_.colwise() *= has_row_;
    }

    /// Answers whether it came to an end; what is found is of use in any case.
    bool solve(double accuracy = 1e-9) {
        start();
        if (copies_.size() == 0) {  // what nobody can use has no price
            left_.price.setZero();
            return true;
        }
        iterations_ = 0;
        return follow_centre(*this, accuracy, 10 * accuracy, iterations_);
    }

    [[nodiscard]] double share(std::size_t g, std::size_t t) const {
        return share_.slack(index(g), index(t));
    }
    /// Of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return left_.price(index(t)); }
    [[nodiscard]] double rate_price(std::size_t g) const {
        return has_row_(index(g)) * rate_.price(index(g));
    }
    [[nodiscard]] auto rate_prices() const {
        return [this](std::size_t g) { return rate_price(g); };
    }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    template <class Method>
    friend bool follow_centre(Method& method, double accuracy, double most_error, std::size_t& iterations);

    using Index = Eigen::Index;
    using Array = Eigen::ArrayXd;
    using Array2 = Eigen::ArrayXXd;

    static constexpr double reach = 0.995;     // of the way to the border
    static constexpr double most_used = 0.99;  // of a type, at the start
    static constexpr double most_time = 0.8;   // of a job's
    static constexpr double margin = 0.3;      // of what shares cost above what they are worth

    static Index index(std::size_t number) { return static_cast<Index>(number); }
    static Array by_group(const std::vector<double>& list) {
        return Eigen::Map<const Array>(list.data(), index(list.size()));
    }
    static Array2 by_group_and_type(const BlockProgram& program, const std::vector<double>& list) {
        const Index groups = index(program.groups()), types = index(program.types);
        return Eigen::Map<const Array2>(list.data(), types, groups).transpose();
    }
    /// Sums over all jobs.
    template <class Expression>
    [[nodiscard]] Array by_type(const Expression& of_jobs) const {
        return (of_jobs.matrix().transpose() * copies_.matrix()).array();
    }
    [[nodiscard]] Array utility_slopes(const Array& rates) const {
        return Array::NullaryExpr(
            rates.size(), [&](Index g) { return utility_.slope(static_cast<std::size_t>(g), rates(g)); });
    }

    /// Equal shares of nearly all that there is, and prices that make every share cost more than it is worth:
    /// all limits are kept, but floors may be missed.
    void start() {
        const Index types = uses_.cols();
        share_.reset(copies_, types);
        time_.reset(copies_, 1);
        rate_.reset(copies_, 1);
        left_.reset(Array::Ones(types), 1);
        level_ = step_primal_ = step_dual_ = dlevel_ = 0;
        const Array used = by_type(uses_);
        const Array part = (most_used / used.max(1e-300)).min(most_time / static_cast<double>(types));
        left_.slack = 1 - part * used;
        share_.slack = can_run_.rowwise() * part.transpose();
        time_.slack = 1 - share_.slack.rowwise().sum();
        const Array rates = (rates_ * share_.slack).rowwise().sum();
        rate_.slack = (rates - floors_).max(0.1 * rates);
        products_ = left_.weights.sum() + copies_.sum() + (can_run_.rowwise().sum() * copies_).sum();
        if (!has_utility_) products_ += (has_row_ * copies_).sum();

        // The size of products to begin with: such that, with a level, the prices of rates that follow add up
        // to its reward, and without one that they add up to what the shares are worth.
        double worth = by_type(values_ * share_.slack).sum();
        if (has_utility_) worth += (copies_ * utility_slopes(rates) * rates).sum();
        const double ratios = (copies_ * slopes_ / rate_.slack.max(1e-300)).sum();
        const double product = ratios > 0 ? reward_ / ratios : std::max(worth, 1e-30) / products_;
        if (has_utility_)
            rate_.price = utility_slopes(rate_.slack);
        else
            rate_.price = (has_row_ > 0).select(product / rate_.slack.max(1e-300), 1);
        const Array2 worths = values_ + rates_.colwise() * rate_.price.col(0);
        // What a type's time is worth on average is its price, if there is too little of it.
        const Array of_type = by_type(share_.slack * worths), in_use = by_type(share_.slack * uses_);
        left_.price = (of_type > 0 && left_.slack.col(0) <= 1.001 * (1 - most_used))
                          .select(of_type / in_use.max(1e-300), product / left_.slack.col(0));
        // A job's price of time is what makes all of its shares cost more than they are worth.
        const Array2 gains = worths - uses_.rowwise() * left_.price.col(0).transpose();
        for (Index g = 0; g < copies_.size(); ++g)
            time_.price(g) =
                std::max(gains.row(g).maxCoeff(), 0.0) + margin * std::max(worths.row(g).maxCoeff(), product);
        share_.price = (can_run_ > 0).select((-gains).colwise() + time_.price.col(0), 1);
    }

    /// Takes the step of the last direction, and looks how far from the end that is: the mean product, and
    /// how much rows are violated, relatively.
    void measure() {
        level_ += step_primal_ * dlevel_;
        for (SlacksAndPrices* of : {&share_, &time_, &rate_, &left_}) {
            of->slack += step_primal_ * of->dslack;
            of->price += step_dual_ * of->dprice;
        }
        const Array rates = (rates_ * share_.slack).rowwise().sum();
        over_ = 1 - left_.slack.col(0) - by_type(uses_ * share_.slack);
        time_over_ = share_.slack.rowwise().sum() - 1;
        missing_ = floors_ + slopes_ * level_ + rate_.slack.col(0) - rates;
        residual_ = uses_.rowwise() * left_.price.col(0).transpose() - values_ - share_.price -
                    rates_.colwise() * rate_.price.col(0);
        residual_.colwise() += time_.price.col(0);
        base_ = -share_.slack - share_.ratio() * residual_;
        level_error_ = reward_ - (copies_ * slopes_ * rate_.price.col(0)).sum();
        const Array size = floors_ + slopes_ * std::abs(level_) + rates;
        error_ = std::max({(time_over_ + time_.slack.col(0)).abs().maxCoeff(), over_.abs().maxCoeff(),
                           (missing_ / size.max(1e-300)).abs().maxCoeff()});
        worth_ = reward_ * std::abs(level_) + by_type(values_ * share_.slack).sum();
        if (has_utility_) {
            const Array off = utility_slopes(rate_.slack) / rate_.price.col(0) - 1;
            error_ = std::max(error_, off.abs().maxCoeff());
            worth_ += rate_.products(0, 0);
        }
        centre_ = products_after(0, 0) / products_;
    }
    /// A utility ties the price of a rate to it: their product is not one that is to vanish.
    [[nodiscard]] double products_after(double primal, double dual) const {
        const double sum =
            share_.products(primal, dual) + time_.products(primal, dual) + left_.products(primal, dual);
        return has_utility_ ? sum : sum + rate_.products(primal, dual);
    }
    [[nodiscard]] double centre_after_step() const {
        return products_after(step_primal_, step_dual_) / products_;
    }

    /// The part of an iteration that all directions share: the linear system that is left of all jobs, in the
    /// changes of the types' prices, and of the level where there is one,
    ///
    ///     matrix dprice - column dlevel = right,   column . dprice + corner dlevel = level_right.
    bool factor() {
        const Index types = uses_.cols();
        const Array2 ratios = share_.ratio();
        const Array alpha = time_.ratio();
        spread_ = rate_.ratio();
        if (has_utility_)
            for (Index g = 0; g < copies_.size(); ++g)
                spread_(g) /= utility_.elasticity(static_cast<std::size_t>(g), rate_.slack(g));
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
        // Where the other prices determine one, rounding should not leave less than nothing for it.
        matrix.diagonal() *= 1 + 1e-15;
        factor_.compute(matrix);
        return true;
    }

    /// The direction towards products of `aim`, less the products of the last direction's changes as far as
    /// those are to be `trusted`, and how far it may go.
    void find_direction(double aim, double trusted) {
        for (SlacksAndPrices* of : {&share_, &time_, &rate_, &left_})
            of->wanted = aim - (of->dslack * of->dprice).max(-trusted).min(trusted);
        share_.wanted *= can_run_;
        rate_.wanted *= has_row_;
        Array rate_gain = rate_.gain();
        if (has_utility_) rate_gain = spread_ * (utility_slopes(rate_.slack) - rate_.price.col(0));
        const Array2 gained = base_ + share_.wanted / share_.price;
        const Array of_time = time_over_ + time_.slack.col(0) + time_.gain().col(0);
        Array h1 = of_time + gained.rowwise().sum();
        Array h2 = shift_ * of_time - (shifted_ * gained).rowwise().sum() + missing_ + rate_gain;
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
        const Array of_shifted = e_ * h1 + b_ * h2;  // change of the price of time, less the shift
        rate_.dprice = has_row_ * (b_ * h1 + a_ * h2);
        rate_.dslack = rate_gain - spread_ * rate_.dprice.col(0);
        time_.dprice = of_shifted + shift_ * rate_.dprice.col(0);
        share_.dslack = gained - lost - (first_.colwise() * h1 + second_.colwise() * h2);
        share_.dprice = priced + residual_ - shifted_.colwise() * rate_.dprice.col(0);
        share_.dprice.colwise() += of_shifted;
        share_.dprice *= can_run_;
        // The rows hold to the last digit, whatever rounding makes of the products.
        const Array short_of =
            missing_ + slopes_ * dlevel_ + rate_.dslack.col(0) - (rates_ * share_.dslack).rowwise().sum();
        for (Index g = 0; g < copies_.size(); ++g)
            if (has_row_(g) > 0) share_.dslack(g, main_type_(g)) += short_of(g) / rates_(g, main_type_(g));
        time_.dslack = -time_over_ - time_.slack.col(0) - share_.dslack.rowwise().sum();

        double primal = -reach, dual = -reach;  // the largest relative fall
        for (const SlacksAndPrices* of : {&share_, &time_, &rate_, &left_}) {
            primal = std::min(primal, (of->dslack / of->slack.max(1e-300)).minCoeff());
            dual = std::min(dual, (of->dprice / of->price).minCoeff());
        }
        step_primal_ = -reach / primal;
        step_dual_ = -reach / dual;
        if (has_utility_) step_primal_ = step_dual_ = std::min(step_primal_, step_dual_);
    }

    Utility utility_;
    bool has_utility_;
    double reward_;
    Array copies_, slopes_, floors_;
    Array2 uses_, rates_, values_;
    Array2 can_run_;  // 1 or 0
    Array has_row_;   // 1 or 0: something is asked of its rate

    // Where it is. The price of a share is what one more of it would lose.
    SlacksAndPrices share_, time_, rate_, left_;
    double level_ = 0;
    double products_ = 0;  // number of those that are to vanish, every job for itself
    double centre_ = 0, worth_ = 0, error_ = 0, level_error_ = 0;
    Array over_, time_over_, missing_;  // of types, of jobs' time, of their rates
    Array2 residual_;                   // of the dual equation of each share
    Array2 base_;                       // change of the share at unchanged prices, but for its wanted product

    // The system of an iteration.
    Eigen::Array<Index, Eigen::Dynamic, 1> main_type_;
    Array shift_;            // rate of that type
    Array2 shifted_;         // rates less the shift
    Array spread_;           // -(change of the rate's slack) / (change of its price)
    Array a_, b_, e_;        // the 2 x 2 systems, inverted
    Array2 first_, second_;  // what a share gives way by to the rows of its job's time and rate
    Eigen::VectorXd column_;
    double corner_ = 0;  // 0: no level
    Eigen::LDLT<Eigen::MatrixXd> factor_;

    // The last direction.
    double dlevel_ = 0, step_primal_ = 0, step_dual_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::detail

#endif
