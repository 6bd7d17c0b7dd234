#ifndef GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP
#define GOODPUT_SHARE_DETAIL_INTERIOR_POINT_HPP

// Solves the program of block_program.hpp by Mehrotra's predictor-corrector method (1992), an interior-point
// method. A job's two rows are a 2 x 2 system, which leaves one linear system in the types' prices and the
// level: an iteration is a few passes over the jobs, and there are ten to thirty of them, few jobs or many.
// It ends near the middle of all optimal answers, so that equal jobs get equal shares, and a price is above 0
// wherever it is so in any optimal answer.
//
// Where a job's two rows leave it no choice, the terms of its 2 x 2 system cancel but for some parts in 1e16.
// So the rate of the type that it mostly runs on is taken off all of its rates, by subtracting the row of its
// time from that of its rate, and the determinant is a sum of products of differences.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "goodput/share/detail/block_program.hpp"
#include "goodput/share/detail/interior_state.hpp"
#include "goodput/share/detail/price_system.hpp"

namespace goodput::detail {

/// Solves a BlockProgram. `utility.slope(group, rate)` is u', above 0 and falling, and
/// `utility.elasticity(group, rate)` is -rate u'' / u', above 0.
template <class Utility = NoUtility>
class InteriorPoint {
public:
    explicit InteriorPoint(const BlockProgram& program, Utility utility = {})
        : program_(program), utility_(std::move(utility)), types_(program.types) {}

    /// Answers whether it came to an end; what is found is of use in any case.
    bool solve(double accuracy = 1e-9) {
        begin();
        if (program_.groups() == 0) {  // what nobody can use has no price
            for (InteriorState::Capacity& capacity : now_.capacities) capacity.left.price = 0;
            return true;
        }
        for (iterations_ = 0; iterations_ < most_iterations; ++iterations_) {
            const double error_before = error_;
            measure();
            if (centre_ <= accuracy * worth_ / now_.products && error_ <= 10 * accuracy) return true;
            // Rows that rounding keeps from holding so well hold no better later, but worse.
            if (centre_ <= 0.1 * accuracy * worth_ / now_.products && error_ >= 0.5 * error_before)
                return false;
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
            if (centre_after_step() <= 2 * centre_ || centre_ > 1e-4 * worth_ / now_.products) continue;
            // What was learned leads back: without it.
            find_direction([&](const SlackAndPrice&) { return 0.3 * centre_; });
            // Where there is no room between limits, rounding has the last word: better stop than go back.
            if (!(centre_after_step() <= 2 * centre_)) return false;
        }
        return false;
    }

    [[nodiscard]] double share(std::size_t g, std::size_t t) const {
        return now_.cells[g * types_ + t].share.slack;
    }
    /// Of all of a type's capacity.
    [[nodiscard]] double price(std::size_t t) const { return now_.capacities[t].left.price; }
    [[nodiscard]] double rate_price(std::size_t g) const { return now_.jobs[g].rate.price; }
    /// What a group's rate is above what is required.
    [[nodiscard]] double rate_slack(std::size_t g) const { return now_.jobs[g].rate.slack; }
    [[nodiscard]] double level() const { return now_.level; }
    [[nodiscard]] std::size_t iterations() const { return iterations_; }

private:
    void begin() {
        now_.start(program_, utility_);
        right_.assign(types_, 0);
        work_.assign(2 * types_, 0);
        pair_.assign(types_ * types_, 0);
        step_primal_ = step_dual_ = dlevel_ = 0;
    }

    static Eigen::Index index(std::size_t type) { return static_cast<Eigen::Index>(type); }

    static constexpr std::size_t most_iterations = 200;
    static constexpr double reach = 0.995;  // of the way to the border

    void step(SlackAndPrice& of) const {
        of.slack += step_primal_ * of.dslack;
        of.price += step_dual_ * of.dprice;
        of.inverse = 1 / of.price;
    }
    /// Takes the step of the last direction, and looks how far from the end that is: the mean product, and
    /// how much rows are violated, relatively.
    void measure() {
        const std::size_t n = types_;
        now_.level += step_primal_ * dlevel_;
        for (InteriorState::Capacity& capacity : now_.capacities) step(capacity.left);
        double sum = 0;
        worth_ = program_.reward * std::abs(now_.level);
        error_ = 0;
        level_error_ = program_.reward;
        for (InteriorState::Capacity& capacity : now_.capacities) capacity.over = 1 - capacity.left.slack;
        for (std::size_t g = 0; g < now_.jobs.size(); ++g) {
            InteriorState::Job& job = now_.jobs[g];
            const double copies = program_.copies[g], slope = program_.slope[g], floor = program_.floor[g];
            step(job.time);
            if (job.row) step(job.rate);
            double time = 0, rate = 0, products = job.time.product();
            for (std::size_t t = 0; t < n; ++t) {
                const std::size_t at = g * n + t;
                InteriorState::Cell& cell = now_.cells[at];
                if (cell.share.slack <= 0) continue;
                step(cell.share);
                const double x = cell.share.slack;
                products += cell.share.product();
                time += x;
                rate += program_.rate[at] * x;
                now_.capacities[t].over -= copies * program_.use[at] * x;
                worth_ += copies * program_.value_of(at) * x;
                cell.base = -x - cell.share.ratio() * residual_of(at, job, now_.capacities[t].left.price);
            }
            job.time_over = time - 1;
            error_ = std::max(error_, std::abs(job.time_over + job.time.slack));
            if (job.row) {
                const double missing = floor + slope * now_.level + job.rate.slack - rate;
                job.rate_missing = missing;
                level_error_ -= copies * slope * job.rate.price;
                error_ = std::max(error_, std::abs(missing) / (floor + slope * std::abs(now_.level) + rate));
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
        for (const InteriorState::Capacity& capacity : now_.capacities) {
            sum += capacity.left.product();
            error_ = std::max(error_, std::abs(capacity.over));
        }
        centre_ = sum / now_.products;
    }
    /// Of the dual equation of a share.
    [[nodiscard]] double residual_of(std::size_t at, const InteriorState::Job& job, double price) const {
        return program_.use[at] * price + job.time.price - program_.value_of(at) -
               job.rate.price * program_.rate[at] - now_.cells[at].share.price;
    }

    /// The part of an iteration that all directions share.
    void factor() {
        const std::size_t n = types_;
        system_.reset(index(n));
        double *d = work_.data(), *rate = d + n;
        for (std::size_t g = 0; g < now_.jobs.size(); ++g) {
            InteriorState::Job& job = now_.jobs[g];
            const double alpha = job.time.ratio();
            double beta = 1;
            if (job.row) {
                const double elastic = program_.utility ? utility_.elasticity(g, job.rate.slack) : 1;
                beta = job.spread = job.rate.ratio() / elastic;
            }
            double most = 0;
            job.shift = 0;
            for (std::size_t t = 0; t < n; ++t) {
                const SlackAndPrice& share = now_.cells[g * n + t].share;
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
            system_.corner += copies * slope * slope * job.a;
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
                InteriorState::Cell& cell = now_.cells[g * n + t];
                cell.first = d[t] * first * scale;
                cell.second = d[t] * second * scale;
                const double use = copies * program_.use[g * n + t];
                system_.column[index(t)] += use * cell.second * slope;
                system_.matrix(index(t), index(t)) +=
                    use * program_.use[g * n + t] * d[t] *
                    (pairs + beta * rest_time + alpha * rest_rate + alpha * beta) * scale;
                for (std::size_t k = 0; k < t; ++k)
                    system_.matrix(index(t), index(k)) -=
                        use * program_.use[g * n + k] * d[k] * (cell.first - cell.second * rate[k]);
            }
        }
        for (std::size_t t = 0; t < n; ++t)
            system_.matrix(index(t), index(t)) += now_.capacities[t].left.ratio();
        system_.factor();
    }

    /// What the slack of a rate changes by at an unchanged price.
    [[nodiscard]] double rate_gain(std::size_t g, const InteriorState::Job& job) const {
        return program_.utility ? job.spread * (utility_.slope(g, job.rate.slack) - job.rate.price)
                                : job.rate.gain();
    }

    /// The direction towards the products wanted(of), and how far it may go.
    template <class Wanted>
    void find_direction(Wanted wanted) {
        const std::size_t n = types_;
        for (std::size_t t = 0; t < n; ++t) {
            InteriorState::Capacity& capacity = now_.capacities[t];
            capacity.left.wanted = wanted(capacity.left);
            right_[t] = capacity.left.gain() - capacity.over;
        }
        double level_right = level_error_;
        for (std::size_t g = 0; g < now_.jobs.size(); ++g) {
            InteriorState::Job& job = now_.jobs[g];
            const double copies = program_.copies[g];
            job.time.wanted = wanted(job.time);
            if (job.row) job.rate.wanted = wanted(job.rate);
            double h1 = job.time_over + job.time.slack + job.time.gain();
            double h2 = job.shift * h1;
            for (std::size_t t = 0; t < n; ++t) {
                InteriorState::Cell& cell = now_.cells[g * n + t];
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
                const InteriorState::Cell& cell = now_.cells[g * n + t];
                right_[t] -= copies * program_.use[g * n + t] * (cell.first * h1 + cell.second * h2);
            }
        }
        dlevel_ = system_.solve(right_, level_right);
        follow_prices();
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
            SlackAndPrice& left = now_.capacities[t].left;
            left.dprice = right_[t];
            left.dslack = left.gain() - left.ratio() * left.dprice;
            count(left, 1);
        }
        for (std::size_t g = 0; g < now_.jobs.size(); ++g) {
            InteriorState::Job& job = now_.jobs[g];
            double h1 = job.h1, h2 = job.h2;
            for (std::size_t t = 0; t < n; ++t) {
                const SlackAndPrice& share = now_.cells[g * n + t].share;
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
                InteriorState::Cell& cell = now_.cells[at];
                SlackAndPrice& share = cell.share;
                if (share.slack <= 0) continue;
                const double priced = program_.use[at] * right_[t];
                share.dslack = cell.base + (share.wanted - share.slack * priced) * share.inverse -
                               cell.first * h1 - cell.second * h2;
                share.dprice = priced + shifted - job.rate.dprice * (program_.rate[at] - job.shift) +
                               residual_of(at, job, now_.capacities[t].left.price);
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
                now_.cells[g * n + most].share.dslack += change;
                time += change;
            }
            job.time.dslack = -job.time_over - job.time.slack - time;
            const double copies = program_.copies[g];
            count(job.time, copies);
            if (job.row) program_.utility ? limit(job.rate) : count(job.rate, copies);
            for (std::size_t t = 0; t < n; ++t)
                if (const SlackAndPrice& share = now_.cells[g * n + t].share; share.slack > 0)
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
               now_.products;
    }

    const BlockProgram& program_;
    Utility utility_;
    std::size_t types_;
    InteriorState now_;
    double dlevel_ = 0;
    PriceSystem system_;
    std::vector<double> right_, work_, pair_;
    double centre_ = 0, worth_ = 0, error_ = 0, level_error_ = 0;
    double step_primal_ = 0, step_dual_ = 0;
    double product_ = 0, cross_primal_ = 0, cross_dual_ = 0, cross_both_ = 0;
    std::size_t iterations_ = 0;
};

}  // namespace goodput::detail

#endif
