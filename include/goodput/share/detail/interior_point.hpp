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
// by Mehrotra's predictor-corrector method (1992), an interior-point method. A job's two rows are a 2 x 2
// system, which leaves one linear system in the types' prices and the level: an iteration is a few passes
// over the jobs, and there are some fifteen to twenty of them, few jobs or many. It ends near the middle of
// all optimal answers, so that equal jobs get equal shares, and a price is above 0 wherever it is so in any
// optimal answer.
//
// Where a job's two rows leave it no choice, the terms of its 2 x 2 system cancel but for some parts in 1e16.
// So the rate of the type that it mostly runs on is taken off all of its rates, by subtracting the row of its
// time from that of its rate, and the determinant is a sum of products of differences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace goodput::detail {

/// The program above; lists by group of jobs, or by group and type.
struct BlockProgram {
    std::size_t types = 0;
    std::vector<double> copies{};  ///< how many jobs are alike
    std::vector<double> use{};     ///< of a type's capacity; 0: the group cannot run there
    std::vector<double> rate{};    ///< 0 where it cannot run
    std::vector<double> value{};   ///< of the shares; empty: none
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

/// What is left of a limit and the price of that limit, of which one is 0 in the end, and how they change.
struct SlackAndPrice {
    double slack = 0, price = 1, dslack = 0, dprice = 0;
    double wanted = 0;   ///< what their product should become, but for the product of their changes
    double inverse = 1;  ///< of the price, at the beginning of the iteration

    [[nodiscard]] double product() const { return slack * price; }
    [[nodiscard]] double ratio() const { return slack * inverse; }
    /// Change of the slack at an unchanged price.
    [[nodiscard]] double gain() const { return wanted * inverse - slack; }
};

/// Solves a BlockProgram. `utility.slope(group, rate)` is u', above 0 and falling, and
/// `utility.elasticity(group, rate)` is -rate u'' / u', above 0.
template <class Utility = NoUtility>
class InteriorPoint {
public:
    InteriorPoint(const BlockProgram& program, const Utility& utility = {})
        : program_(program), utility_(utility), types_(program.types) {}

    /// Answers whether it came to an end; what is found is of use in any case.
    bool solve(double accuracy = 1e-9) {
        begin();
        if (program_.groups() == 0) {  // what nobody can use has no price
            for (Capacity& capacity : capacities_) capacity.left.price = 0;
            return true;
        }
        for (iterations_ = 0; iterations_ < most_iterations; ++iterations_) {
            measure();
            if (centre_ <= accuracy * worth_ / products_ && error_ <= 10 * accuracy) return true;
            // Rows that rounding keeps from holding so well hold no better later.
            if (centre_ <= 1e-20 * worth_ / products_) return false;
            factor();
            // Straight to the end, to see how far that goes; then with what was learned from it.
            find_direction([](const SlackAndPrice&) { return 0.0; });
            const double part = std::clamp(centre_after_step() / centre_, 0.0, 1.0);
            const double aim = centre_ * part * part * part;
            // Where the first step goes nowhere near, what was learned is not worth much.
            find_direction([&](const SlackAndPrice& of) {
                return aim - std::clamp(of.dslack * of.dprice, -3 * centre_, 3 * centre_);
            });
            if (!std::isfinite(centre_after_step())) return false;
            if (centre_after_step() <= 2 * centre_ || centre_ > 1e-4 * worth_ / products_) continue;
            // What was learned leads back: without it.
            find_direction([&](const SlackAndPrice&) { return 0.3 * centre_; });
            // Where there is no room between limits, rounding has the last word: better stop than go back.
            if (!(centre_after_step() <= 2 * centre_)) return false;
        }
        return false;
    }

    /// Goes to the middle of all shares that keep the limits, whatever they are worth: the program must have
    /// neither values nor a reward. Answers whether it got there.
    bool centre() {
        begin();
        for_each_product([](SlackAndPrice& of, double) { of.price = 1 / of.slack; });
        bool whole_step = false;
        for (iterations_ = 0; iterations_ < most_iterations; ++iterations_) {
            measure();
            double off = error_;
            for_each_product(
                [&](const SlackAndPrice& of, double) { off = std::max(off, std::abs(of.product() - 1)); });
            if (whole_step && off <= 1e-9) return true;
            factor();
            find_direction([](const SlackAndPrice&) { return 1.0; });
            whole_step = std::min(step_primal_, step_dual_) >= 0.999;
        }
        return false;
    }

    [[nodiscard]] double share(std::size_t g, std::size_t t) const {
        return cells_[g * types_ + t].share.slack;
    }
    /// Of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return capacities_[t].left.price; }
    [[nodiscard]] double rate_price(std::size_t g) const { return jobs_[g].rate.price; }
    /// What a group's rate is above what is required.
    [[nodiscard]] double rate_slack(std::size_t g) const { return jobs_[g].rate.slack; }
    [[nodiscard]] double level() const { return level_; }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    static constexpr std::size_t most_iterations = 200;
    static constexpr double reach = 0.995;  // of the way to the border

    /// Of a group on a type. The price of the share is what one more of it would lose.
    struct Cell {
        SlackAndPrice share{};
        double base = 0;               // change of the share at unchanged prices, but for its wanted product
        double first = 0, second = 0;  // what it gives way by to the rows of its job's time and rate
    };
    struct Job {
        SlackAndPrice time{}, rate{};
        double a = 0, b = 0, e = 0;  // its 2 x 2 system, inverted
        double shift = 0;            // rate of the type that it mostly runs on
        double spread = 0;           // -(change of the rate's slack) / (change of its price)
        double time_over = 0, rate_missing = 0;
        double h1 = 0, h2 = 0;  // right side
        bool row = false;       // something is asked of its rate
    };
    struct Capacity {
        SlackAndPrice left{};
        double over = 0;
    };

    /// Calls visit(product, copies) for all products that are to vanish.
    template <class Visit>
    void for_each_product(Visit visit) {
        for (Capacity& capacity : capacities_) visit(capacity.left, 1.0);
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            const double copies = program_.copies[g];
            visit(jobs_[g].time, copies);
            if (jobs_[g].row && !program_.utility) visit(jobs_[g].rate, copies);
            for (std::size_t t = 0; t < types_; ++t)
                if (Cell& cell = cells_[g * types_ + t]; cell.share.slack > 0) visit(cell.share, copies);
        }
    }

    void begin() {
        const std::size_t n = types_, m = program_.groups();
        cells_.assign(m * n, {});
        jobs_.assign(m, {});
        capacities_.assign(n, {});
        matrix_.assign(n * n, 0);
        pair_.assign(n * n, 0);
        step_primal_ = step_dual_ = dlevel_ = 0;
        column_.assign(n, 0);
        right_.assign(n, 0);
        // Equal shares of nearly all that is there.
        std::vector<double> share(n, 0);
        for (std::size_t g = 0; g < m; ++g)
            for (std::size_t t = 0; t < n; ++t) share[t] += program_.copies[g] * program_.use[g * n + t];
        for (std::size_t t = 0; t < n; ++t) {
            const double used = share[t];
            share[t] = std::min((1 - 0.01) / std::max(used, 1e-300), 0.8 / static_cast<double>(n));
            capacities_[t].left.slack = 1 - share[t] * used;
        }
        level_ = 0;
        double worth = 0, ratios = 0;
        products_ = static_cast<double>(n);
        for (std::size_t g = 0; g < m; ++g) {
            Job& job = jobs_[g];
            job.row = program_.utility || program_.slope[g] > 0 || program_.floor[g] > 0;
            double time = 0, rate = 0;
            const double copies = program_.copies[g];
            for (std::size_t t = 0; t < n; ++t) {
                if (program_.use[g * n + t] <= 0) continue;
                cells_[g * n + t].share.slack = share[t];
                time += share[t];
                rate += program_.rate[g * n + t] * share[t];
                if (!program_.value.empty()) worth += copies * program_.value[g * n + t] * share[t];
                products_ += copies;
            }
            job.time.slack = 1 - time;
            products_ += copies;
            if (!job.row) {
                job.rate.price = 0;
                continue;
            }
            job.rate.slack = std::max(rate - program_.floor[g], 0.1 * rate);
            ratios += copies * program_.slope[g] / job.rate.slack;
            if (program_.utility)
                worth += copies * utility_.slope(g, rate) * rate;
            else
                products_ += copies;
        }
        // Every product is the same; with a level, the prices of rates add up to its reward.
        const double product = ratios > 0 ? program_.reward / ratios : std::max(worth, 1e-30) / products_;
        std::vector<double> worths(n, 0), uses(n, 0);
        const auto worth_of = [&](std::size_t g, std::size_t t) {
            return value(g * n + t) + jobs_[g].rate.price * program_.rate[g * n + t];
        };
        for (std::size_t g = 0; g < m; ++g) {
            Job& job = jobs_[g];
            job.time.price = product / job.time.slack;
            if (job.row)
                job.rate.price =
                    program_.utility ? utility_.slope(g, job.rate.slack) : product / job.rate.slack;
            for (std::size_t t = 0; t < n; ++t) {
                const double x = program_.copies[g] * cells_[g * n + t].share.slack;
                worths[t] += x * worth_of(g, t);
                uses[t] += x * program_.use[g * n + t];
            }
        }
        // A type's price is what its time is worth on average.
        for (std::size_t t = 0; t < n; ++t)
            if (uses[t] > 0 && worths[t] > 0 && share[t] < 0.8 / static_cast<double>(n))
                capacities_[t].left.price = worths[t] / uses[t];
            else
                capacities_[t].left.price = product / capacities_[t].left.slack;
        // A job's price of time is what makes all of its shares cost more than they are worth.
        for (std::size_t g = 0; g < m; ++g) {
            double gain = 0, most = 0;
            for (std::size_t t = 0; t < n; ++t) {
                if (cells_[g * n + t].share.slack <= 0) continue;
                most = std::max(most, worth_of(g, t));
                gain = std::max(gain, worth_of(g, t) - program_.use[g * n + t] * capacities_[t].left.price);
            }
            jobs_[g].time.price = gain + 0.3 * std::max(most, product);
            for (std::size_t t = 0; t < n; ++t)
                if (SlackAndPrice& share = cells_[g * n + t].share; share.slack > 0)
                    share.price = program_.use[g * n + t] * capacities_[t].left.price + jobs_[g].time.price -
                                  worth_of(g, t);
        }
    }

    void step(SlackAndPrice& of) const {
        of.slack += step_primal_ * of.dslack;
        of.price += step_dual_ * of.dprice;
        of.inverse = 1 / of.price;
    }
    /// Takes the step of the last direction, and looks how far from the end that is: the mean product, and
    /// how much rows are violated, relatively.
    void measure() {
        const std::size_t n = types_;
        level_ += step_primal_ * dlevel_;
        for (Capacity& capacity : capacities_) step(capacity.left);
        double sum = 0;
        worth_ = program_.reward * std::abs(level_);
        error_ = 0;
        level_error_ = program_.reward;
        for (Capacity& capacity : capacities_) capacity.over = 1 - capacity.left.slack;
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double copies = program_.copies[g], slope = program_.slope[g], floor = program_.floor[g];
            step(job.time);
            if (job.row) step(job.rate);
            double time = 0, rate = 0, products = job.time.product();
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t at = g * n + t;
                Cell& cell = cells_[at];
                if (cell.share.slack <= 0) continue;
                step(cell.share);
                const double x = cell.share.slack;
                products += cell.share.product();
                time += x;
                rate += program_.rate[at] * x;
                capacities_[t].over -= copies * program_.use[at] * x;
                worth_ += copies * value(at) * x;
                cell.base = -x - cell.share.ratio() * residual_of(at, job, capacities_[t].left.price);
            }
            job.time_over = time - 1;
            error_ = std::max(error_, std::abs(job.time_over + job.time.slack));
            if (job.row) {
                const double missing = floor + slope * level_ + job.rate.slack - rate;
                job.rate_missing = missing;
                level_error_ -= copies * slope * job.rate.price;
                error_ = std::max(error_, std::abs(missing) / (floor + slope * std::abs(level_) + rate));
                if (program_.utility) {
                    error_ =
                        std::max(error_, std::abs(utility_.slope(g, job.rate.slack) / job.rate.price - 1));
                    worth_ += copies * job.rate.product();
                } else {
                    products += job.rate.product();
                }
            }
            sum += copies * products;
        }
        for (const Capacity& capacity : capacities_) {
            sum += capacity.left.product();
            error_ = std::max(error_, std::abs(capacity.over));
        }
        centre_ = sum / products_;
    }
    [[nodiscard]] double value(std::size_t at) const {
        return program_.value.empty() ? 0 : program_.value[at];
    }
    /// Of the dual equation of a share.
    [[nodiscard]] double residual_of(std::size_t at, const Job& job, double price) const {
        return program_.use[at] * price + job.time.price - value(at) - job.rate.price * program_.rate[at] -
               cells_[at].share.price;
    }

    /// The part of an iteration that all directions share.
    void factor() {
        const std::size_t n = types_;
        std::fill(matrix_.begin(), matrix_.end(), 0.0);
        std::fill(column_.begin(), column_.end(), 0.0);
        corner_ = 0;
        work_.resize(2 * n);
        double *d = work_.data(), *rate = d + n;
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double alpha = job.time.ratio();
            double beta = 1;
            if (job.row) {
                const double elastic = program_.utility ? utility_.elasticity(g, job.rate.slack) : 1;
                beta = job.spread = job.rate.ratio() / elastic;
            }
            double most = 0;
            job.shift = 0;
            for (std::size_t t = 0; t < n; ++t) {
                const SlackAndPrice& share = cells_[g * n + t].share;
                d[t] = share.ratio();
                if (!job.row || d[t] <= most) continue;
                most = d[t];
                job.shift = program_.rate[g * n + t];
            }
            const double shift = job.shift;
            double a = alpha, b = -alpha * shift, e = alpha * shift * shift + beta, squares = 0;
            for (std::size_t t = 0; t < n; ++t) {
                const double own = job.row ? program_.rate[g * n + t] : 0;
                rate[t] = own - shift;
                a += d[t];
                b += rate[t] * d[t];
                e += rate[t] * rate[t] * d[t];
                squares += own * own * d[t];
            }
            double determinant = a * beta + squares * alpha;
            for (std::size_t t = 1; t < n; ++t)
                for (std::size_t k = 0; k < t; ++k) {
                    const double pair = d[t] * d[k] * (rate[t] - rate[k]) * (rate[t] - rate[k]);
                    pair_[t * n + k] = pair;
                    determinant += pair;
                }
            const double scale = 1 / std::max(determinant, 1e-300);
            job.a = a * scale;
            job.b = b * scale;
            job.e = e * scale;
            const double copies = program_.copies[g], slope = program_.slope[g];
            corner_ += copies * slope * slope * job.a;
            for (std::size_t t = 0; t < n; ++t) {
                if (d[t] == 0) continue;
                const double own = rate[t] + shift;
                double first = beta + alpha * shift * own, second = -alpha * own;
                double rest_time = 0, rest_rate = 0, pairs = 0;
                for (std::size_t k = 0; k < n; ++k) {
                    if (k == t) continue;
                    first += d[k] * rate[k] * (rate[k] - rate[t]);
                    second += d[k] * (rate[k] - rate[t]);
                    rest_time += d[k];
                    rest_rate += (rate[k] + shift) * (rate[k] + shift) * d[k];
                    for (std::size_t i = 0; i < k; ++i)
                        if (i != t) pairs += pair_[k * n + i];
                }
                Cell& cell = cells_[g * n + t];
                cell.first = d[t] * first * scale;
                cell.second = d[t] * second * scale;
                const double use = copies * program_.use[g * n + t];
                column_[t] += use * cell.second * slope;
                matrix_[t * n + t] += use * program_.use[g * n + t] * d[t] *
                                      (pairs + beta * rest_time + alpha * rest_rate + alpha * beta) * scale;
                for (std::size_t k = 0; k < t; ++k)
                    matrix_[t * n + k] -=
                        use * program_.use[g * n + k] * d[k] * (cell.first - cell.second * rate[k]);
            }
        }
        for (std::size_t t = 0; t < n; ++t) {
            matrix_[t * n + t] += capacities_[t].left.ratio();
            for (std::size_t k = 0; k <= t && corner_ > 0; ++k)
                matrix_[t * n + k] += column_[t] * column_[k] / corner_;
        }
        // Cholesky's factor in place.
        for (std::size_t t = 0; t < n; ++t) {
            const double before = matrix_[t * n + t];
            for (std::size_t k = 0; k <= t; ++k) {
                double sum = matrix_[t * n + k];
                for (std::size_t i = 0; i < k; ++i) sum -= matrix_[t * n + i] * matrix_[k * n + i];
                matrix_[t * n + k] =
                    k < t ? sum / matrix_[k * n + k] : std::sqrt(std::max(sum, 1e-15 * before));
            }
        }
    }

    /// What the slack of a rate changes by at an unchanged price.
    [[nodiscard]] double rate_gain(std::size_t g, const Job& job) const {
        return program_.utility ? job.spread * (utility_.slope(g, job.rate.slack) - job.rate.price)
                                : job.rate.gain();
    }

    /// The direction towards the products wanted(of), and how far it may go.
    template <class Wanted>
    void find_direction(Wanted wanted) {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n; ++t) {
            Capacity& capacity = capacities_[t];
            capacity.left.wanted = wanted(capacity.left);
            right_[t] = capacity.left.gain() - capacity.over;
        }
        double level_right = level_error_;
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double copies = program_.copies[g];
            job.time.wanted = wanted(job.time);
            if (job.row) job.rate.wanted = wanted(job.rate);
            double h1 = job.time_over + job.time.slack + job.time.gain();
            double h2 = job.shift * h1;
            for (std::size_t t = 0; t < n; ++t) {
                Cell& cell = cells_[g * n + t];
                if (cell.share.slack <= 0) continue;
                cell.share.wanted = wanted(cell.share);
                const double gained = cell.base + cell.share.wanted * cell.share.inverse;
                h1 += gained;
                h2 -= (program_.rate[g * n + t] - job.shift) * gained;
                right_[t] += copies * program_.use[g * n + t] * gained;
            }
            if (job.row) {
                h2 += job.rate_missing + rate_gain(g, job);
                level_right -= copies * program_.slope[g] * (job.b * h1 + job.a * h2);
            } else {
                h2 = 0;
            }
            job.h1 = h1;
            job.h2 = h2;
            for (std::size_t t = 0; t < n; ++t) {
                const Cell& cell = cells_[g * n + t];
                right_[t] -= copies * program_.use[g * n + t] * (cell.first * h1 + cell.second * h2);
            }
        }
        solve_for_prices(level_right);
        follow_prices();
    }

    void solve_for_prices(double level_right) {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n && corner_ > 0; ++t) right_[t] -= column_[t] * level_right / corner_;
        for (std::size_t t = 0; t < n; ++t) {
            for (std::size_t k = 0; k < t; ++k) right_[t] -= matrix_[t * n + k] * right_[k];
            right_[t] /= matrix_[t * n + t];
        }
        for (std::size_t t = n; t-- > 0;) {
            for (std::size_t k = t + 1; k < n; ++k) right_[t] -= matrix_[k * n + t] * right_[k];
            right_[t] /= matrix_[t * n + t];
        }
        dlevel_ = 0;
        if (corner_ <= 0) return;
        dlevel_ = level_right / corner_;
        for (std::size_t t = 0; t < n; ++t) dlevel_ += column_[t] * right_[t] / corner_;
    }

    /// The direction of everything else.
    void follow_prices() {
        const std::size_t n = types_;
        double primal = -reach, dual = -reach;  // the largest relative fall
        product_ = cross_primal_ = cross_dual_ = cross_both_ = 0;
        const auto limit = [&](const SlackAndPrice& of) {
            if (of.dslack < primal * of.slack) primal = of.dslack / of.slack;
            if (of.dprice < dual * of.price) dual = of.dprice / of.price;
        };
        const auto count = [&](const SlackAndPrice& of, double copies) {
            limit(of);
            product_ += copies * of.product();
            cross_primal_ += copies * of.dslack * of.price;
            cross_dual_ += copies * of.slack * of.dprice;
            cross_both_ += copies * of.dslack * of.dprice;
        };
        for (std::size_t t = 0; t < n; ++t) {
            SlackAndPrice& left = capacities_[t].left;
            left.dprice = right_[t];
            left.dslack = left.gain() - left.ratio() * left.dprice;
            count(left, 1);
        }
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            double h1 = job.h1, h2 = job.h2;
            for (std::size_t t = 0; t < n; ++t) {
                const SlackAndPrice& share = cells_[g * n + t].share;
                const double change = program_.use[g * n + t] * share.ratio() * right_[t];
                h1 -= change;
                h2 += (program_.rate[g * n + t] - job.shift) * change;
            }
            h2 = job.row ? h2 + program_.slope[g] * dlevel_ : 0;
            const double shifted = job.e * h1 + job.b * h2;  // change of the price of time, less the shift
            if (job.row) {
                job.rate.dprice = job.b * h1 + job.a * h2;
                job.rate.dslack = rate_gain(g, job) - job.spread * job.rate.dprice;
            }
            job.time.dprice = shifted + job.shift * job.rate.dprice;
            double time = 0, rate = 0, largest = 0;
            std::size_t most = n;  // type of the largest ratio, whose rounding counts
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t at = g * n + t;
                Cell& cell = cells_[at];
                SlackAndPrice& share = cell.share;
                if (share.slack <= 0) continue;
                const double priced = program_.use[at] * right_[t];
                share.dslack = cell.base + (share.wanted - share.slack * priced) * share.inverse -
                               cell.first * h1 - cell.second * h2;
                share.dprice = priced + shifted - job.rate.dprice * (program_.rate[at] - job.shift) +
                               residual_of(at, job, capacities_[t].left.price);
                time += share.dslack;
                rate += program_.rate[at] * share.dslack;
                if (most == n || share.ratio() > largest) {
                    largest = share.ratio();
                    most = t;
                }
            }
            // The rows hold to the last digit, whatever rounding makes of the products.
            if (job.row) {
                const double wanted = job.rate_missing + program_.slope[g] * dlevel_ + job.rate.dslack;
                const double change = (wanted - rate) / program_.rate[g * n + most];
                cells_[g * n + most].share.dslack += change;
                time += change;
            }
            job.time.dslack = -job.time_over - job.time.slack - time;
            const double copies = program_.copies[g];
            count(job.time, copies);
            if (job.row) program_.utility ? limit(job.rate) : count(job.rate, copies);
            for (std::size_t t = 0; t < n; ++t)
                if (const SlackAndPrice& share = cells_[g * n + t].share; share.slack > 0)
                    count(share, copies);
        }
        step_primal_ = -reach / primal;
        step_dual_ = -reach / dual;
        // A utility ties rates and prices together.
        if (program_.utility) step_primal_ = step_dual_ = std::min(step_primal_, step_dual_);
    }

    [[nodiscard]] double centre_after_step() const {
        return (product_ + step_primal_ * cross_primal_ + step_dual_ * cross_dual_ +
                step_primal_ * step_dual_ * cross_both_) /
               products_;
    }

    const BlockProgram& program_;
    const Utility& utility_;
    std::size_t types_;
    std::vector<Cell> cells_;  // by group and type
    std::vector<Job> jobs_;    // by group
    std::vector<Capacity> capacities_;
    double level_ = 0, dlevel_ = 0;
    std::vector<double> matrix_, column_, right_, work_, pair_;  // the system in the types' prices
    double corner_ = 0, level_error_ = 0;
    double centre_ = 0, worth_ = 0, error_ = 0, products_ = 0;
    double step_primal_ = 0, step_dual_ = 0;
    double product_ = 0, cross_primal_ = 0, cross_dual_ = 0, cross_both_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::detail

#endif
