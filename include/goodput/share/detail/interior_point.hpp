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
        for (iterations_ = 0; iterations_ < most_iterations; ++iterations_) {
            measure();
            if (centre_ <= accuracy * worth_ / products_ && error_ <= 10 * accuracy) return true;
            factor();
            direction(0, false);
            const double part = std::clamp(centre_after_step() / centre_, 0.0, 1.0);
            direction(centre_ * part * part * part, true);
            advance();
        }
        return false;
    }

    [[nodiscard]] double share(std::size_t g, std::size_t t) const { return cells_[g * types_ + t].x; }
    /// Of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return capacities_[t].price; }
    [[nodiscard]] double rate_price(std::size_t g) const { return jobs_[g].y; }
    /// What a group's rate is above what is required.
    [[nodiscard]] double rate_slack(std::size_t g) const { return jobs_[g].q; }
    [[nodiscard]] double level() const { return level_; }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    static constexpr std::size_t most_iterations = 60;
    static constexpr double reach = 0.995;  // of the way to the border

    /// Of a group on a type. x is its share, z what one more of it would lose.
    struct Cell {
        double x = 0, z = 1, dx = 0, dz = 0;
        double inverse = 0;           // 1 / z
        double base = 0;              // what the share changes by at unchanged prices, but for products
        double first = 0, second = 0;  // what it gives way by to its time's and its rate's rows
    };
    /// p is time left, q rate above what is required, y its price.
    struct Job {
        double p = 0, time = 0, q = 0, y = 0, dp = 0, dtime = 0, dq = 0, dy = 0;
        double a = 0, b = 0, e = 0;        // its 2 x 2 system, inverted
        double shift = 0;                  // rate of the type that it mostly runs on
        double spread = 0;                 // dq / dy
        double time_base = 0, rate_base = 0;
        double h1 = 0, h2 = 0;
        bool row = false;
    };
    struct Capacity {
        double left = 1, price = 0, dleft = 0, dprice = 0, over = 0;
    };

    void begin() {
        const std::size_t n = types_, m = program_.groups();
        cells_.assign(m * n, {});
        jobs_.assign(m, {});
        capacities_.assign(n, {});
        matrix_.assign(n * n, 0);
        column_.assign(n, 0);
        right_.assign(n, 0);
        // Equal shares of half of what is there.
        std::vector<double> share(n, 0);
        for (std::size_t g = 0; g < m; ++g)
            for (std::size_t t = 0; t < n; ++t) share[t] += program_.copies[g] * program_.use[g * n + t];
        for (std::size_t t = 0; t < n; ++t) {
            const double used = share[t];
            share[t] = std::min(0.5 / std::max(used, 1e-300), 0.8 / static_cast<double>(n));
            capacities_[t].left = 1 - share[t] * used;
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
                cells_[g * n + t].x = share[t];
                time += share[t];
                rate += program_.rate[g * n + t] * share[t];
                if (!program_.value.empty()) worth += copies * program_.value[g * n + t] * share[t];
                products_ += copies;
            }
            job.p = 1 - time;
            products_ += copies;
            if (!job.row) continue;
            job.q = std::max(rate - program_.floor[g], 0.1 * rate);
            ratios += copies * program_.slope[g] / job.q;
            if (program_.utility)
                worth += copies * utility_.slope(g, rate) * rate;
            else
                products_ += copies;
        }
        // Every complementary product is the same; with a level, the prices of rates add up to its reward.
        const double product = ratios > 0 ? program_.reward / ratios : std::max(worth, 1e-30) / products_;
        for (std::size_t g = 0; g < m; ++g) {
            Job& job = jobs_[g];
            job.time = product / job.p;
            if (job.row) job.y = program_.utility ? utility_.slope(g, job.q) : product / job.q;
            for (std::size_t t = 0; t < n; ++t)
                if (Cell& cell = cells_[g * n + t]; cell.x > 0) cell.z = product / cell.x;
        }
        for (Capacity& capacity : capacities_) capacity.price = product / capacity.left;
    }

    /// How far from the end: the mean complementary product, and how much rows are violated, relatively.
    void measure() {
        const std::size_t n = types_;
        double sum = 0;
        worth_ = program_.reward * std::abs(level_);
        error_ = 0;
        level_error_ = program_.reward;
        for (Capacity& capacity : capacities_) {
            sum += capacity.left * capacity.price;
            capacity.over = 1 - capacity.left;
        }
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double copies = program_.copies[g], slope = program_.slope[g], floor = program_.floor[g];
            double time = 0, rate = 0, products = job.p * job.time;
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t at = g * n + t;
                Cell& cell = cells_[at];
                if (cell.x <= 0) continue;
                products += cell.x * cell.z;
                time += cell.x;
                rate += program_.rate[at] * cell.x;
                capacities_[t].over -= copies * program_.use[at] * cell.x;
                const double value = program_.value.empty() ? 0 : program_.value[at];
                worth_ += copies * value * cell.x;
                cell.inverse = 1 / cell.z;
                const double residual = residual_of(at, job, capacities_[t].price);
                cell.base = -cell.x - cell.x * cell.inverse * residual;
            }
            job.time_base = time - 1;
            error_ = std::max(error_, std::abs(1 - time - job.p));
            if (job.row) {
                const double missing = floor + slope * level_ + job.q - rate;
                job.rate_base = missing;
                level_error_ -= copies * slope * job.y;
                error_ = std::max(error_, std::abs(missing) / (floor + slope * std::abs(level_) + rate));
                if (program_.utility) {
                    error_ = std::max(error_, std::abs(utility_.slope(g, job.q) / job.y - 1));
                    worth_ += copies * job.y * job.q;
                } else {
                    products += job.q * job.y;
                }
            }
            sum += copies * products;
        }
        for (const Capacity& capacity : capacities_) error_ = std::max(error_, std::abs(capacity.over));
        centre_ = sum / products_;
    }
    /// Of the dual equation of a share.
    [[nodiscard]] double residual_of(std::size_t at, const Job& job, double price) const {
        const double value = program_.value.empty() ? 0 : program_.value[at];
        return program_.use[at] * price + job.time - value - job.y * program_.rate[at] - cells_[at].z;
    }

    /// The part of an iteration that both directions share.
    void factor() {
        const std::size_t n = types_;
        std::fill(matrix_.begin(), matrix_.end(), 0.0);
        std::fill(column_.begin(), column_.end(), 0.0);
        corner_ = 0;
        work_.resize(2 * n);
        double *d = work_.data(), *rate = d + n;
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double alpha = job.p / job.time;
            double beta = 1;
            if (job.row) beta = job.spread = job.q / job.y / elasticity(g, job.q);
            double most = 0;
            job.shift = 0;
            for (std::size_t t = 0; t < n; ++t) {
                const Cell& cell = cells_[g * n + t];
                d[t] = cell.x * cell.inverse;
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
                for (std::size_t k = 0; k < t; ++k)
                    determinant += d[t] * d[k] * (rate[t] - rate[k]) * (rate[t] - rate[k]);
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
                        if (i != t) pairs += d[i] * d[k] * (rate[i] - rate[k]) * (rate[i] - rate[k]);
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
            matrix_[t * n + t] += capacities_[t].left / capacities_[t].price;
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
    [[nodiscard]] double elasticity(std::size_t g, double rate) const {
        return program_.utility ? utility_.elasticity(g, rate) : 1;
    }

    /// What a slack changes by at an unchanged price; the products of the last direction correct it.
    static double gain(double slack, double price, double product, double aim) {
        return (aim - product) / price - slack;
    }
    [[nodiscard]] double rate_gain(std::size_t g, const Job& job, double aim, bool correct) const {
        if (program_.utility) return job.spread * (utility_.slope(g, job.q) - job.y);
        return gain(job.q, job.y, correct ? job.dq * job.dy : 0, aim);
    }

    /// A direction towards complementary products of the size `aim`.
    void direction(double aim, bool correct) {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n; ++t) {
            const Capacity& capacity = capacities_[t];
            right_[t] = gain(capacity.left, capacity.price, correct ? capacity.dleft * capacity.dprice : 0,
                             aim) -
                        capacity.over;
        }
        double level_right = level_error_;
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double copies = program_.copies[g];
            double h1 = job.time_base + job.p + gain(job.p, job.time, correct ? job.dp * job.dtime : 0, aim);
            double h2 = job.shift * h1;
            for (std::size_t t = 0; t < n; ++t) {
                const Cell& cell = cells_[g * n + t];
                if (cell.x <= 0) continue;
                const double gained = cell.base + (correct ? aim - cell.dx * cell.dz : aim) * cell.inverse;
                h1 += gained;
                h2 -= (program_.rate[g * n + t] - job.shift) * gained;
                right_[t] += copies * program_.use[g * n + t] * gained;
            }
            if (job.row) {
                h2 += job.rate_base + rate_gain(g, job, aim, correct);
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
        move(aim, correct);
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

    /// The direction of everything else, and how far it may go.
    void move(double aim, bool correct) {
        const std::size_t n = types_;
        double primal = -reach, dual = -reach;  // the largest relative fall
        product_ = cross_primal_ = cross_dual_ = cross_both_ = 0;
        const auto count = [&](double copies, double slack, double price, double dslack, double dprice) {
            product_ += copies * slack * price;
            cross_primal_ += copies * dslack * price;
            cross_dual_ += copies * slack * dprice;
            cross_both_ += copies * dslack * dprice;
        };
        const auto fall = [](double value, double change, double& most) {
            if (change < most * value) most = change / value;
        };
        for (std::size_t t = 0; t < n; ++t) {
            Capacity& capacity = capacities_[t];
            const double gained =
                gain(capacity.left, capacity.price, correct ? capacity.dleft * capacity.dprice : 0, aim);
            capacity.dprice = right_[t];
            capacity.dleft = gained - capacity.left / capacity.price * capacity.dprice;
            fall(capacity.left, capacity.dleft, primal);
            fall(capacity.price, capacity.dprice, dual);
            count(1, capacity.left, capacity.price, capacity.dleft, capacity.dprice);
        }
        for (std::size_t g = 0; g < jobs_.size(); ++g) {
            Job& job = jobs_[g];
            const double copies = program_.copies[g];
            double h1 = job.h1, h2 = job.h2;
            for (std::size_t t = 0; t < n; ++t) {
                const Cell& cell = cells_[g * n + t];
                const double change =
                    program_.use[g * n + t] * cell.x * cell.inverse * capacities_[t].dprice;
                h1 -= change;
                h2 += (program_.rate[g * n + t] - job.shift) * change;
            }
            h2 = job.row ? h2 + program_.slope[g] * dlevel_ : 0;
            const double time_gain = gain(job.p, job.time, correct ? job.dp * job.dtime : 0, aim);
            const double shifted = job.e * h1 + job.b * h2;  // change of the price of time
            double dy = 0;
            if (job.row) {
                const double gained = rate_gain(g, job, aim, correct);
                dy = job.b * h1 + job.a * h2;
                job.dq = gained - job.spread * dy;
                fall(job.q, job.dq, primal);
                fall(job.y, dy, dual);
                if (!program_.utility) count(copies, job.q, job.y, job.dq, dy);
            }
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t at = g * n + t;
                Cell& cell = cells_[at];
                if (cell.x <= 0) continue;
                const double gained = cell.base + (correct ? aim - cell.dx * cell.dz : aim) * cell.inverse;
                const double priced = program_.use[at] * capacities_[t].dprice;
                cell.dx = gained - cell.x * cell.inverse * priced - cell.first * h1 - cell.second * h2;
                cell.dz = priced + shifted - dy * (program_.rate[at] - job.shift) +
                          residual_of(at, job, capacities_[t].price);
                fall(cell.x, cell.dx, primal);
                fall(cell.z, cell.dz, dual);
                count(copies, cell.x, cell.z, cell.dx, cell.dz);
            }
            job.dtime = shifted + job.shift * dy;
            job.dp = time_gain - job.p / job.time * job.dtime;
            job.dy = dy;
            fall(job.p, job.dp, primal);
            fall(job.time, job.dtime, dual);
            count(copies, job.p, job.time, job.dp, job.dtime);
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

    void advance() {
        for (Capacity& capacity : capacities_) {
            capacity.left += step_primal_ * capacity.dleft;
            capacity.price += step_dual_ * capacity.dprice;
        }
        for (Job& job : jobs_) {
            job.p += step_primal_ * job.dp;
            job.q += step_primal_ * job.dq;
            job.time += step_dual_ * job.dtime;
            job.y += step_dual_ * job.dy;
        }
        for (Cell& cell : cells_) {
            cell.x += step_primal_ * cell.dx;
            cell.z += step_dual_ * cell.dz;
        }
        level_ += step_primal_ * dlevel_;
    }

    const BlockProgram& program_;
    const Utility& utility_;
    std::size_t types_;
    std::vector<Cell> cells_;  // by group and type
    std::vector<Job> jobs_;    // by group
    std::vector<Capacity> capacities_;
    double level_ = 0, dlevel_ = 0;
    std::vector<double> matrix_, column_, right_, work_;  // the system in the types' prices
    double corner_ = 0, level_error_ = 0;
    double centre_ = 0, worth_ = 0, error_ = 0, products_ = 0;
    double step_primal_ = 0, step_dual_ = 0;
    double product_ = 0, cross_primal_ = 0, cross_dual_ = 0, cross_both_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::detail

#endif
