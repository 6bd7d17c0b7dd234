#ifndef GOODPUT_SHARE_DETAIL_INTERIOR_STATE_HPP
#define GOODPUT_SHARE_DETAIL_INTERIOR_STATE_HPP

// Where the method of interior_point.hpp is, and where it begins.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "goodput/share/detail/block_program.hpp"

namespace goodput::detail {

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

/// Everything that the method moves.
struct InteriorState {
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

    /// Equal shares of nearly all that there is, and prices that make every share cost more than it is worth:
    /// all limits are kept, but floors may be missed.
    template <class Utility>
    void start(const BlockProgram& program, const Utility& utility) {
        start_prices(program, utility, start_shares(program, utility));
    }

    std::size_t types = 0;
    std::vector<Cell> cells{};  ///< by group and type
    std::vector<Job> jobs{};    ///< by group
    std::vector<Capacity> capacities{};
    double level = 0;
    double products = 0;  ///< number of those that are to vanish, every job for itself

private:
    static constexpr double most_used = 0.99;  // of a type
    static constexpr double most_time = 0.8;   // of a job's
    static constexpr double margin = 0.3;      // of what shares cost above what they are worth

    /// Answers the size of products to begin with: such that, with a level, the prices of rates that follow
    /// add up to its reward, and without one that they add up to what the shares are worth.
    template <class Utility>
    double start_shares(const BlockProgram& program, const Utility& utility) {
        const std::size_t n = program.types, m = program.groups();
        types = n;
        cells.assign(m * n, {});
        jobs.assign(m, {});
        capacities.assign(n, {});
        std::vector<double> share(n, 0);
        for (std::size_t g = 0; g < m; ++g)
            for (std::size_t t = 0; t < n; ++t) share[t] += program.copies[g] * program.use[g * n + t];
        for (std::size_t t = 0; t < n; ++t) {
            const double used = share[t];
            share[t] = std::min(most_used / std::max(used, 1e-300), most_time / static_cast<double>(n));
            capacities[t].left.slack = 1 - share[t] * used;
        }
        level = 0;
        double worth = 0, ratios = 0;
        products = static_cast<double>(n);
        for (std::size_t g = 0; g < m; ++g) {
            Job& job = jobs[g];
            job.row = program.utility || program.slope[g] > 0 || program.floor[g] > 0;
            double time = 0, rate = 0;
            const double copies = program.copies[g];
            for (std::size_t t = 0; t < n; ++t) {
                if (program.use[g * n + t] <= 0) continue;
                cells[g * n + t].share.slack = share[t];
                time += share[t];
                rate += program.rate[g * n + t] * share[t];
                if (!program.value.empty()) worth += copies * program.value[g * n + t] * share[t];
                products += copies;
            }
            job.time.slack = 1 - time;
            products += copies;
            if (!job.row) {
                job.rate.price = 0;
                continue;
            }
            job.rate.slack = std::max(rate - program.floor[g], 0.1 * rate);
            ratios += copies * program.slope[g] / job.rate.slack;
            if (program.utility)
                worth += copies * utility.slope(g, rate) * rate;
            else
                products += copies;
        }
        return ratios > 0 ? program.reward / ratios : std::max(worth, 1e-30) / products;
    }

    template <class Utility>
    void start_prices(const BlockProgram& program, const Utility& utility, double product) {
        const std::size_t n = program.types, m = program.groups();
        std::vector<double> worths(n, 0), uses(n, 0);
        const auto worth_of = [&](std::size_t g, std::size_t t) {
            return program.value_of(g * n + t) + jobs[g].rate.price * program.rate[g * n + t];
        };
        for (std::size_t g = 0; g < m; ++g) {
            Job& job = jobs[g];
            if (job.row)
                job.rate.price =
                    program.utility ? utility.slope(g, job.rate.slack) : product / job.rate.slack;
            for (std::size_t t = 0; t < n; ++t) {
                const double x = program.copies[g] * cells[g * n + t].share.slack;
                worths[t] += x * worth_of(g, t);
                uses[t] += x * program.use[g * n + t];
            }
        }
        // What a type's time is worth on average is its price, if there is too little of it.
        for (std::size_t t = 0; t < n; ++t) {
            SlackAndPrice& left = capacities[t].left;
            const bool scarce = worths[t] > 0 && left.slack <= 1.001 * (1 - most_used);
            left.price = scarce ? worths[t] / uses[t] : product / left.slack;
        }
        // A job's price of time is what makes all of its shares cost more than they are worth.
        for (std::size_t g = 0; g < m; ++g) {
            double gain = 0, most = 0;
            for (std::size_t t = 0; t < n; ++t) {
                if (cells[g * n + t].share.slack <= 0) continue;
                most = std::max(most, worth_of(g, t));
                gain = std::max(gain, worth_of(g, t) - program.use[g * n + t] * capacities[t].left.price);
            }
            jobs[g].time.price = gain + margin * std::max(most, product);
            for (std::size_t t = 0; t < n; ++t)
                if (SlackAndPrice& share = cells[g * n + t].share; share.slack > 0)
                    share.price = program.use[g * n + t] * capacities[t].left.price + jobs[g].time.price -
                                  worth_of(g, t);
        }
    }
};

}  // namespace goodput::detail

#endif
